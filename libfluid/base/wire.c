#include "base/wire.h"

bool fl_wire_varint(struct fl_wire *w, uint64_t *out)
{
	const uint8_t *p = w->p;
	uint64_t v = 0;

	for (int shift = 0; shift < 70 && p < w->end; shift += 7, p++) {
		if (shift < 64)
			v |= (uint64_t)(*p & 0x7f) << shift;
		if (!(*p & 0x80)) {
			w->p = p + 1;
			*out = v;
			return true;
		}
	}
	return false;
}

static bool fixed(struct fl_wire *w, size_t n, uint64_t *out)
{
	uint64_t v = 0;

	if ((size_t)(w->end - w->p) < n)
		return false;
	for (size_t i = 0; i < n; i++)
		v |= (uint64_t)w->p[i] << (8 * i);
	w->p += n;
	*out = v;
	return true;
}

static bool field_value(struct fl_wire *w, struct fl_wire_field *f)
{
	uint64_t len;

	switch (f->type) {
	case FL_WIRE_VARINT: return fl_wire_varint(w, &f->value);
	case FL_WIRE_I64: return fixed(w, 8, &f->value);
	case FL_WIRE_I32: return fixed(w, 4, &f->value);
	case FL_WIRE_LEN:
		if (!fl_wire_varint(w, &len) || len > (uint64_t)(w->end - w->p))
			return false;
		f->bytes = w->p;
		f->len = (size_t)len;
		w->p += len;
		return true;
	}
	return false;
}

int fl_wire_next(struct fl_wire *w, struct fl_wire_field *f)
{
	struct fl_wire at = *w;
	uint64_t tag;

	if (w->p == w->end)
		return 0;
	*f = (struct fl_wire_field){ 0 };
	if (!fl_wire_varint(&at, &tag) || tag >> 3 == 0 || tag >> 3 > 0x1fffffff)
		return -1;
	f->number = (uint32_t)(tag >> 3);
	f->type = (int)(tag & 7);
	if (!field_value(&at, f))
		return -1;
	*w = at;
	return 1;
}

void fl_wire_put_varint(struct fl_buf *b, uint64_t v)
{
	uint8_t bytes[10];
	size_t n = 0;

	do {
		bytes[n] = (uint8_t)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
		v >>= 7;
		n++;
	} while (v);
	fl_buf_add(b, bytes, n);
}

void fl_wire_put_tag(struct fl_buf *b, uint32_t number, int type)
{
	fl_wire_put_varint(b, (uint64_t)number << 3 | (unsigned)type);
}

void fl_wire_put_bytes(struct fl_buf *b, uint32_t number, const void *data, size_t len)
{
	fl_wire_put_tag(b, number, FL_WIRE_LEN);
	fl_wire_put_varint(b, len);
	fl_buf_add(b, data, len);
}
