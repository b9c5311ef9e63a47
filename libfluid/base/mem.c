#include "base/mem.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

static void *checked(void *p)
{
	if (!p)
		FL_BUG("out of memory");
	return p;
}

void *fl_xcalloc(size_t n, size_t size)
{
	return checked(calloc(n ? n : 1, size ? size : 1));
}

void *fl_xrealloc(void *p, size_t size)
{
	return checked(realloc(p, size ? size : 1));
}

char *fl_xstrdup(const char *s)
{
	return fl_xstrndup(s, strlen(s));
}

char *fl_xstrndup(const char *s, size_t n)
{
	char *p = fl_xcalloc(1, n + 1);

	memcpy(p, s, n);
	return p;
}

char *fl_xstrfmt(const char *fmt, ...)
{
	va_list ap;
	char *p;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		FL_BUG("bad format");
	p = fl_xcalloc(1, (size_t)n + 1);
	va_start(ap, fmt);
	vsnprintf(p, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return p;
}

void fl_free(void *p)
{
	free(p);
}

void *fl_try_alloc(size_t size)
{
	void *p = NULL;

	/* A whole number of cache lines: vector loops may read to the end of the last one. */
	if (size > SIZE_MAX - 127)
		return NULL;
	if (posix_memalign(&p, 64, size ? (size + 63) & ~(size_t)63 : 64))
		return NULL;
	return p;
}

bool fl_mul_size(size_t a, size_t b, size_t *out)
{
	return !__builtin_mul_overflow(a, b, out);
}

bool fl_add_size(size_t a, size_t b, size_t *out)
{
	return !__builtin_add_overflow(a, b, out);
}

void fl_grow(void *p, size_t *cap, size_t need, size_t elem)
{
	size_t want = *cap ? *cap : 8, bytes;
	void *old;

	if (need <= *cap)
		return;
	while (want < need)
		want += want / 2 + 1;
	if (!fl_mul_size(want, elem, &bytes))
		FL_BUG("array too large");
	memcpy(&old, p, sizeof old);
	old = fl_xrealloc(old, bytes);
	memcpy(p, &old, sizeof old);
	*cap = want;
}
