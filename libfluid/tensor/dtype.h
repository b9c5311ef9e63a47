/* Element types. Numbers are VarType.Type's. */
#ifndef FL_TENSOR_DTYPE_H
#define FL_TENSOR_DTYPE_H

#include <stdbool.h>
#include <stddef.h>

#include "desc/proto.h"

/* Bytes of one element, or 0 for a number that is no element type we hold. */
size_t fl_dtype_size(int dtype);
/* "float32", "int64", ... (the spelling of data formats and options); NULL when unknown. */
const char *fl_dtype_name(int dtype);
/* Accepts "float32", "FP32", "f4", ...; -1 when unknown. */
int fl_dtype_parse(const char *name);
bool fl_dtype_is_float(int dtype);

#endif
