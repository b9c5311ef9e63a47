#include "base/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

/* The length of the well-formed sequence at p, 0 where there is none (Unicode table 3-7). */
static size_t utf8_len(const unsigned char *p, size_t n)
{
	unsigned char c = p[0], low = 0x80, high = 0xbf;
	size_t len;

	if (c < 0x80)
		return 1;
	if (c < 0xc2 || c > 0xf4)
		return 0;
	len = c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
	switch (c) {
	case 0xe0: low = 0xa0; break;
	case 0xed: high = 0x9f; break;
	case 0xf0: low = 0x90; break;
	case 0xf4: high = 0x8f; break;
	}
	if (n < len || p[1] < low || p[1] > high)
		return 0;
	for (size_t i = 2; i < len; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	return len;
}

bool fl_utf8_valid(const void *s, size_t n)
{
	const unsigned char *p = s, *end = p ? p + n : p;

	while (p < end) {
		size_t len = utf8_len(p, (size_t)(end - p));

		if (!len)
			return false;
		p += len;
	}
	return true;
}

static void add_control(struct fl_buf *b, unsigned char c)
{
	switch (c) {
	case '"': fl_buf_adds(b, "\\\""); break;
	case '\\': fl_buf_adds(b, "\\\\"); break;
	case '\n': fl_buf_adds(b, "\\n"); break;
	case '\r': fl_buf_adds(b, "\\r"); break;
	case '\t': fl_buf_adds(b, "\\t"); break;
	default: fl_buf_addf(b, "\\u%04x", c);
	}
}

void fl_json_str(struct fl_buf *b, const void *s, size_t n)
{
	const unsigned char *p = s, *end = p ? p + n : p;

	fl_buf_addc(b, '"');
	while (p < end) {
		const unsigned char *plain = p;
		size_t len = 1;

		while (p < end && *p >= 0x20 && *p < 0x7f && *p != '"' && *p != '\\')
			p++;
		fl_buf_add(b, plain, (size_t)(p - plain));
		if (p == end)
			break;
		if (*p < 0x80)
			add_control(b, *p);
		else if ((len = utf8_len(p, (size_t)(end - p))))
			fl_buf_add(b, p, len);
		else
			fl_buf_adds(b, "\\ufffd");
		p += len ? len : 1;
	}
	fl_buf_addc(b, '"');
}

void fl_json_f32(struct fl_buf *b, float v)
{
	uint32_t bits;

	memcpy(&bits, &v, sizeof bits);
	if (isfinite(v))
		fl_buf_addf(b, "%.9g", (double)v);
	else if (isinf(v))
		fl_buf_adds(b, v > 0 ? "\"Infinity\"" : "\"-Infinity\"");
	else if (bits == 0x7fc00000)
		fl_buf_adds(b, "\"NaN\"");
	else
		fl_buf_addf(b, "\"NaN:%08" PRIx32 "\"", bits);
}

void fl_json_f64(struct fl_buf *b, double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof bits);
	if (isfinite(v))
		fl_buf_addf(b, "%.17g", v);
	else if (isinf(v))
		fl_buf_adds(b, v > 0 ? "\"Infinity\"" : "\"-Infinity\"");
	else if (bits == 0x7ff8000000000000)
		fl_buf_adds(b, "\"NaN\"");
	else
		fl_buf_addf(b, "\"NaN:%016" PRIx64 "\"", bits);
}

static const char digits64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void fl_base64_put(struct fl_buf *b, const void *data, size_t n)
{
	const unsigned char *p = data;

	for (size_t i = 0; i < n; i += 3) {
		uint32_t v = (uint32_t)p[i] << 16;
		char out[4];

		if (i + 1 < n)
			v |= (uint32_t)p[i + 1] << 8;
		if (i + 2 < n)
			v |= p[i + 2];
		out[0] = digits64[v >> 18];
		out[1] = digits64[v >> 12 & 63];
		out[2] = i + 1 < n ? digits64[v >> 6 & 63] : '=';
		out[3] = i + 2 < n ? digits64[v & 63] : '=';
		fl_buf_add(b, out, 4);
	}
}

bool fl_base64_get(const char *s, size_t n, struct fl_buf *out)
{
	uint32_t v = 0;
	size_t bits = 0, pad = 0;

	if (n % 4)
		return false;
	while (n && pad < 2 && s[n - 1] == '=') {
		n--;
		pad++;
	}
	for (size_t i = 0; i < n; i++) {
		const char *d = s[i] ? strchr(digits64, s[i]) : NULL;

		if (!d)
			return false;
		v = v << 6 | (uint32_t)(d - digits64);
		bits += 6;
		if (bits >= 8) {
			bits -= 8;
			fl_buf_addc(out, (char)(v >> bits & 0xff));
		}
	}
	return bits == 2 * pad && !(v & ((1u << bits) - 1));
}
