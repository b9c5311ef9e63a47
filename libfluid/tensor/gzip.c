/* gzip, through zlib. */
#include "tensor/readers.h"

#include <string.h>
#include <zlib.h>

bool fl_is_gzip(const void *p, size_t n)
{
	const uint8_t *b = p;

	return n >= 3 && b[0] == 0x1f && b[1] == 0x8b && b[2] == 8;
}

static enum fl_code inflate_all(z_stream *z, const uint8_t *p, size_t n, size_t limit,
	const char *name, struct fl_buf *out, struct fl_err *err)
{
	size_t step = 1u << 18;
	int status = Z_OK;

	while (n || z->avail_in || status == Z_OK) {
		if (!z->avail_in) {
			z->next_in = (Bytef *)p;
			z->avail_in = n < (1u << 30) ? (uInt)n : 1u << 30;
			p += z->avail_in;
			n -= z->avail_in;
		}
		z->next_out = (Bytef *)fl_buf_reserve(out, step);
		z->avail_out = (uInt)step;
		status = inflate(z, Z_NO_FLUSH);
		out->len += step - z->avail_out;
		if (out->len > limit)
			return fl_err_set(err, FL_ELIMIT, "'%s' unpacks to more than %zu bytes", name,
				limit);
		if (status == Z_STREAM_END) {
			if (!z->avail_in && !n)
				return FL_OK;
			status = inflateReset(z); /* another member */
		} else if (status != Z_OK) {
			return fl_err_set(err, FL_EFORMAT, "'%s': %s", name,
				status == Z_BUF_ERROR ? "the gzip data are cut short"
				: z->msg	      ? z->msg
						      : "damaged gzip data");
		}
		if (step < (16u << 20))
			step *= 2;
	}
	return FL_OK;
}

enum fl_code fl_gunzip(const void *p, size_t n, size_t limit, const char *name, struct fl_buf *out,
	struct fl_err *err)
{
	enum fl_code code;
	z_stream z;

	memset(&z, 0, sizeof z);
	if (inflateInit2(&z, 16 + MAX_WBITS) != Z_OK)
		return fl_err_set(err, FL_ENOMEM, "'%s': cannot start zlib", name);
	code = inflate_all(&z, p, n, limit, name, out, err);
	inflateEnd(&z);
	if (code == FL_OK && out->len)
		out->data[out->len] = 0;
	return code;
}
