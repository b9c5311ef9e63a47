/*
 * Memory for bookkeeping. These abort when the system has none left (the hook may be replaced);
 * sizes that come from files or peers must go through fl_mul_size, a limit, and fl_try_alloc.
 */
#ifndef FL_BASE_MEM_H
#define FL_BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>

/* Zeroed memory, owned by the caller, freed by fl_free. Never NULL. */
void *fl_xcalloc(size_t n, size_t size);
/* Grows or shrinks; new bytes are not zeroed. Never NULL (for size > 0). */
void *fl_xrealloc(void *p, size_t size);
char *fl_xstrdup(const char *s);
char *fl_xstrndup(const char *s, size_t n);
char *fl_xstrfmt(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void fl_free(void *p);

/* 64-byte aligned memory for tensor data, not zeroed; NULL when there is none. Freed by fl_free. */
void *fl_try_alloc(size_t size);

/* *out = a * b; false when it does not fit. */
bool fl_mul_size(size_t a, size_t b, size_t *out);
bool fl_add_size(size_t a, size_t b, size_t *out);

/* Grows the array *p of `elem`-sized items so that it holds at least `need`; *cap is updated. */
void fl_grow(void *p, size_t *cap, size_t need, size_t elem);

#define FL_NEW(type) ((type *)fl_xcalloc(1, sizeof(type)))
#define FL_NEW_N(type, n) ((type *)fl_xcalloc((n), sizeof(type)))
#define FL_COUNT(array) (sizeof(array) / sizeof *(array))

#endif
