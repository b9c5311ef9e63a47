/* A look at serialized bytes before they are parsed: says what is wrong, and where. */
#ifndef FL_DESC_SCAN_H
#define FL_DESC_SCAN_H

#include <stddef.h>

#include "base/err.h"

/* Walks the message tree of a ProgramDesc. EFORMAT: what the bytes look like where they are no
 * program at all (a pickle, a tensor, gzip, text), else the place: "block 0, op 3 'mul', attr 'x':
 * ... at byte N of M". */
enum fl_code fl_scan_program(const void *bytes, size_t len, const char *name, struct fl_err *err);

#endif
