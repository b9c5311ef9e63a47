/* Changing element types. */
#ifndef FL_TENSOR_CONVERT_H
#define FL_TENSOR_CONVERT_H

#include <stdbool.h>
#include <stddef.h>

#include "tensor/dtype.h"

/* Can values of one type be converted to the other at all? (FP16 only to itself.) */
bool fl_can_convert(int to, int from);
/* Converts n elements, each times scale. Returns the index of the first whole number that does not
 * fit (the rest is not written), or n. Fractions are cut off. */
size_t fl_convert(int to, void *dst, int from, const void *src, size_t n, double scale);

#endif
