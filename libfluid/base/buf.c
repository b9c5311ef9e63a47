#include "base/buf.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"

void fl_buf_init(struct fl_buf *b)
{
	memset(b, 0, sizeof *b);
}

void fl_buf_release(struct fl_buf *b)
{
	fl_free(b->data);
	fl_buf_init(b);
}

void fl_buf_clear(struct fl_buf *b)
{
	b->len = 0;
	if (b->data)
		b->data[0] = 0;
}

char *fl_buf_reserve(struct fl_buf *b, size_t n)
{
	size_t need;

	if (!fl_add_size(b->len, n, &need) || !fl_add_size(need, 1, &need))
		FL_BUG("buffer too large");
	fl_grow(&b->data, &b->cap, need, 1);
	b->data[b->len + n] = 0;
	return b->data + b->len;
}

void fl_buf_add(struct fl_buf *b, const void *data, size_t n)
{
	char *p = fl_buf_reserve(b, n);

	if (n)
		memcpy(p, data, n);
	b->len += n;
}

void fl_buf_adds(struct fl_buf *b, const char *s)
{
	fl_buf_add(b, s, strlen(s));
}

void fl_buf_addc(struct fl_buf *b, char c)
{
	fl_buf_add(b, &c, 1);
}

void fl_buf_addf(struct fl_buf *b, const char *fmt, ...)
{
	va_list ap;
	char *p;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		FL_BUG("bad format");
	p = fl_buf_reserve(b, (size_t)n);
	va_start(ap, fmt);
	vsnprintf(p, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->len += (size_t)n;
}

const char *fl_buf_str(const struct fl_buf *b)
{
	return b->data ? b->data : "";
}

char *fl_buf_detach(struct fl_buf *b)
{
	char *p;

	fl_buf_reserve(b, 0);
	p = b->data;
	fl_buf_init(b);
	return p;
}
