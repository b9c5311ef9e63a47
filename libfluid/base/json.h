/*
 * JSON text, written piece by piece: strings, and numbers that read back to the same value
 * (commands.md: floats with 9 digits, doubles with 17, what is not finite as a string).
 */
#ifndef FL_BASE_JSON_H
#define FL_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* Is it well-formed UTF-8 (no surrogates, no over-long forms)? */
bool fl_utf8_valid(const void *s, size_t n);

/* A JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD. */
void fl_json_str(struct fl_buf *b, const void *s, size_t n);
/* A number, or "NaN", "Infinity", "-Infinity"; a NaN that is not the usual quiet one shows its
 * bits, as in "NaN:7fc00001". */
void fl_json_f32(struct fl_buf *b, float v);
void fl_json_f64(struct fl_buf *b, double v);

/* Base64 with padding. Getting is strict: false for anything that putting would not have made
 * (*out may hold a part then). */
void fl_base64_put(struct fl_buf *b, const void *data, size_t n);
bool fl_base64_get(const char *s, size_t n, struct fl_buf *out);

#endif
