/* A growing byte buffer that is always followed by a zero byte, so text in it is a C string. */
#ifndef FL_BASE_BUF_H
#define FL_BASE_BUF_H

#include <stddef.h>

struct fl_buf {
	char *data; /* owned; "" (not allocated) while empty */
	size_t len, cap;
};

#define FL_BUF_INIT { NULL, 0, 0 }

void fl_buf_init(struct fl_buf *b);
/* Frees the contents; the buffer may be used again. */
void fl_buf_release(struct fl_buf *b);
/* Empties the buffer, keeping its memory. */
void fl_buf_clear(struct fl_buf *b);
void fl_buf_add(struct fl_buf *b, const void *data, size_t n);
void fl_buf_adds(struct fl_buf *b, const char *s);
void fl_buf_addc(struct fl_buf *b, char c);
void fl_buf_addf(struct fl_buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Makes room for n more bytes and returns where they go; the caller fills them and adds to len. */
char *fl_buf_reserve(struct fl_buf *b, size_t n);
/* The contents as a C string, never NULL; borrowed until the next change. */
const char *fl_buf_str(const struct fl_buf *b);
/* Hands the contents (a C string, never NULL) to the caller, who frees them by fl_free. */
char *fl_buf_detach(struct fl_buf *b);

#endif
