/*
 * protobuf-c's parser says only that something is wrong. This walk over the same bytes says what
 * and where. It is driven by the generated message descriptors, so it knows the schema without a
 * table of its own, and it refuses everything that protobuf-c refuses (cut, over-long or misplaced
 * values, missing required fields), and what our structures cannot carry: zero bytes in names
 * (they are C strings; attribute values are bytes) and singular fields that occur twice.
 *
 * A file that ends early makes the outermost message too long. The walk then goes on into what
 * is left of it, so that the innermost place is the one that is named.
 *
 * Recursion is as deep as the schema (8 messages), memory is the stack.
 */
#include "desc/scan.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/wire.h"
#include "desc/proto.h"

#define ROOT   (&paddle__framework__proto__program_desc__descriptor)
#define BLOCK  (&paddle__framework__proto__block_desc__descriptor)
#define OP     (&paddle__framework__proto__op_desc__descriptor)
#define VAR    (&paddle__framework__proto__var_desc__descriptor)
#define ATTR   (&paddle__framework__proto__op_desc__attr__descriptor)
#define SLOT   (&paddle__framework__proto__op_desc__var__descriptor)
#define TAG_MAX 5 /* bytes of a tag, and of a length; as in protobuf-c */
#define LABEL_MAX 48

/* One message on the way from the root to the place. */
struct frame {
	const struct frame *up;
	const ProtobufCMessageDescriptor *desc;
	const char *field; /* as which field of the one above */
	size_t index;	   /* how many of that field came before */
	const uint8_t *start, *end;
	bool cut; /* the file ends before this message does */
};

struct scan {
	const uint8_t *start;
	size_t len;
	struct fl_err *err;
};

static bool packable(const ProtobufCFieldDescriptor *f)
{
	return f->label == PROTOBUF_C_LABEL_REPEATED && f->type != PROTOBUF_C_TYPE_STRING &&
	       f->type != PROTOBUF_C_TYPE_BYTES && f->type != PROTOBUF_C_TYPE_MESSAGE;
}

static int wire_type(const ProtobufCFieldDescriptor *f)
{
	switch (f->type) {
	case PROTOBUF_C_TYPE_FLOAT: return FL_WIRE_I32;
	case PROTOBUF_C_TYPE_DOUBLE: return FL_WIRE_I64;
	case PROTOBUF_C_TYPE_STRING:
	case PROTOBUF_C_TYPE_BYTES:
	case PROTOBUF_C_TYPE_MESSAGE: return FL_WIRE_LEN;
	default: return FL_WIRE_VARINT;
	}
}

/* The text of the field that names a message (an op's type, the others' name), as far as it can
 * be read; bytes that would spoil a terminal become '?'. */
static void label_of(const struct frame *f, char out[LABEL_MAX + 1])
{
	struct fl_wire w = { f->start, f->end };
	struct fl_wire_field v;
	size_t n = 0;

	out[0] = 0;
	while (fl_wire_next(&w, &v) == 1)
		if (v.number == (f->desc == OP ? 3u : 1u) && v.type == FL_WIRE_LEN) {
			for (; n < v.len && n < LABEL_MAX; n++)
				out[n] = v.bytes[n] >= 0x20 && v.bytes[n] != 0x7f ? (char)v.bytes[n] : '?';
			out[n] = 0;
			return;
		}
}

/* "block 0, op 3 'mul', attr 'x', " */
static void add_place(struct fl_buf *b, const struct frame *f)
{
	char label[LABEL_MAX + 1] = "";

	if (!f || f->desc == ROOT)
		return;
	add_place(b, f->up);
	if (f->desc == OP || f->desc == VAR || f->desc == ATTR || f->desc == SLOT)
		label_of(f, label);
	if (f->desc == BLOCK)
		fl_buf_addf(b, "block %zu", f->index);
	else if (f->desc == OP)
		fl_buf_addf(b, "op %zu", f->index);
	else if (f->desc == VAR)
		fl_buf_addf(b, "var %zu", f->index);
	else if (f->desc == SLOT)
		fl_buf_adds(b, strcmp(f->field, "inputs") ? "output" : "input");
	else if (f->desc == ATTR)
		fl_buf_adds(b, "attr");
	else
		fl_buf_adds(b, f->field);
	if (label[0])
		fl_buf_addf(b, " '%s'", label);
	else if (f->desc == SLOT || f->desc == ATTR)
		fl_buf_addf(b, " %zu", f->index);
	fl_buf_adds(b, ", ");
}

static enum fl_code bad(const struct scan *s, const struct frame *f, const uint8_t *at,
	const char *what)
{
	struct fl_buf place = FL_BUF_INIT;
	enum fl_code code;

	add_place(&place, f);
	if (place.len) {
		place.len -= 2;
		place.data[place.len] = 0;
	}
	code = fl_err_set(s->err, FL_EFORMAT, "%s%s%s at byte %zu of %zu", fl_buf_str(&place),
		place.len ? ": " : "", what, (size_t)(at - s->start), s->len);
	fl_buf_release(&place);
	return code;
}

static enum fl_code bad_field(const struct scan *s, const struct frame *f, const uint8_t *at,
	const ProtobufCFieldDescriptor *field, const char *what)
{
	char text[160];

	snprintf(text, sizeof text, "field '%s' %s", field->name, what);
	return bad(s, f, at, text);
}

static const char *cut_text(const struct frame *f)
{
	return f->cut ? "the file ends" : "the message ends inside a field";
}

/* A varint of at most `max` bytes. */
static enum fl_code varint(const struct scan *s, const struct frame *f, struct fl_wire *w,
	size_t max, uint64_t *v)
{
	const uint8_t *at = w->p;

	if (!fl_wire_varint(w, v))
		return bad(s, f, at, w->end - at < 10 ? cut_text(f) : "a number has more than 10 bytes");
	if ((size_t)(w->p - at) > max)
		return bad(s, f, at, "a tag or length has more than 5 bytes");
	return FL_OK;
}

static enum fl_code check_number(const struct scan *s, const struct frame *f, const uint8_t *at,
	const ProtobufCFieldDescriptor *field, uint64_t v)
{
	bool wide = field->type == PROTOBUF_C_TYPE_INT64 || field->type == PROTOBUF_C_TYPE_UINT64;

	if (!wide && ((int64_t)v < INT32_MIN || (int64_t)v > UINT32_MAX))
		return bad_field(s, f, at, field, "holds a number of more than 32 bits");
	return FL_OK;
}

static enum fl_code check_packed(const struct scan *s, const struct frame *f,
	const ProtobufCFieldDescriptor *field, const uint8_t *p, size_t len)
{
	struct fl_wire w = { p, p + len };
	int type = wire_type(field);
	size_t unit = type == FL_WIRE_I32 ? 4 : type == FL_WIRE_I64 ? 8 : 1;
	uint64_t v;

	if (len % unit)
		return bad_field(s, f, p, field, "holds a broken list of numbers");
	while (type == FL_WIRE_VARINT && w.p < w.end) {
		const uint8_t *at = w.p;

		if (!fl_wire_varint(&w, &v))
			return bad_field(s, f, at, field, "holds a broken list of numbers");
		if (field->type == PROTOBUF_C_TYPE_BOOL && *at > 1)
			return bad_field(s, f, at, field, "holds a truth value that is neither 0 nor 1");
		FL_TRY(check_number(s, f, at, field, v));
	}
	return FL_OK;
}

static enum fl_code scan_message(const struct scan *s, const struct frame *f);

/* What a length-delimited field holds; p[0..len) are in bounds. */
static enum fl_code scan_bytes(const struct scan *s, const struct frame *f,
	const ProtobufCFieldDescriptor *field, size_t index, const uint8_t *p, size_t len, bool cut)
{
	struct frame sub = { .up = f, .field = field->name, .index = index, .start = p,
		.end = p + len, .cut = cut };

	if (packable(field))
		return check_packed(s, f, field, p, len);
	if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
		sub.desc = field->descriptor;
		return scan_message(s, &sub);
	}
	if (field->type == PROTOBUF_C_TYPE_STRING && memchr(p, 0, len))
		return bad_field(s, f, p, field, "is a name with a zero byte in it");
	return FL_OK;
}

/* The length says more than there is. Where the file ends too early, what is left of a message is
 * looked through for the innermost place. */
static enum fl_code overrun(const struct scan *s, const struct frame *f, const uint8_t *at,
	const ProtobufCFieldDescriptor *field, size_t index, const uint8_t *p, uint64_t len)
{
	size_t left = (size_t)(f->end - p);
	char what[96];

	if (f->cut && field && field->type == PROTOBUF_C_TYPE_MESSAGE)
		FL_TRY(scan_bytes(s, f, field, index, p, left, true));
	snprintf(what, sizeof what, "says it has %" PRIu64 " bytes, %s after %zu", len,
		f->cut ? "the file ends" : "its message ends", left);
	if (field)
		return bad_field(s, f, at, field, what);
	return bad(s, f, at, f->cut ? cut_text(f) : "an unknown field is longer than its message");
}

static enum fl_code wrong_wire(const struct scan *s, const struct frame *f, const uint8_t *at,
	const ProtobufCFieldDescriptor *field, int wire)
{
	static const char *const names[] = { "a varint", "64 bits", "bytes", "a group", "a group",
		"32 bits" };
	char what[96];

	if (f->desc == VAR && field->id == 2 && wire == FL_WIRE_VARINT)
		return fl_err_set(s->err, FL_EFORMAT,
			"this is the program layout of release 0.11 and before (the type of a variable is "
			"a number there, at byte %zu of %zu); programs of 0.12 and later can be read",
			(size_t)(at - s->start), s->len);
	snprintf(what, sizeof what, "is stored as %s, expected %s", names[wire],
		names[wire_type(field)]);
	return bad_field(s, f, at, field, what);
}

static enum fl_code scan_value(const struct scan *s, const struct frame *f, struct fl_wire *w,
	const uint8_t *at, const ProtobufCFieldDescriptor *field, int wire, size_t index)
{
	const uint8_t *value = w->p;
	uint64_t v;
	size_t n;

	switch (wire) {
	case FL_WIRE_VARINT:
		FL_TRY(varint(s, f, w, 10, &v));
		return field ? check_number(s, f, value, field, v) : FL_OK;
	case FL_WIRE_I32:
	case FL_WIRE_I64:
		n = wire == FL_WIRE_I32 ? 4 : 8;
		if ((size_t)(w->end - w->p) < n)
			return bad(s, f, at, cut_text(f));
		w->p += n;
		return FL_OK;
	}
	FL_TRY(varint(s, f, w, TAG_MAX, &v));
	if (v > (uint64_t)(w->end - w->p))
		return overrun(s, f, at, field, index, w->p, v);
	value = w->p;
	w->p += v;
	return field ? scan_bytes(s, f, field, index, value, (size_t)v, false) : FL_OK;
}

static enum fl_code check_required(const struct scan *s, const struct frame *f,
	const size_t *counts)
{
	char what[96];

	for (unsigned i = 0; i < f->desc->n_fields; i++)
		if (f->desc->fields[i].label == PROTOBUF_C_LABEL_REQUIRED && !counts[i]) {
			snprintf(what, sizeof what, "its '%s' is missing in the message that ends",
				f->desc->fields[i].name);
			return bad(s, f, f->end, what);
		}
	return FL_OK;
}

static enum fl_code scan_message(const struct scan *s, const struct frame *f)
{
	size_t counts[32] = { 0 };
	struct fl_wire w = { f->start, f->end };
	uint64_t tag;

	while (w.p < w.end) {
		const ProtobufCFieldDescriptor *field;
		const uint8_t *at = w.p;
		size_t index = 0;
		int wire;

		FL_TRY(varint(s, f, &w, TAG_MAX, &tag));
		wire = (int)(tag & 7);
		if (tag >> 3 == 0 || tag >> 3 > 0x1fffffff)
			return bad(s, f, at, "a field has a number that is not possible,");
		if (wire != FL_WIRE_VARINT && wire != FL_WIRE_I64 && wire != FL_WIRE_LEN &&
			wire != FL_WIRE_I32)
			return bad(s, f, at, "a field has a wire type that is not in use,");
		field = protobuf_c_message_descriptor_get_field(f->desc, (unsigned)(tag >> 3));
		if (field && wire != wire_type(field) && !(wire == FL_WIRE_LEN && packable(field)))
			return wrong_wire(s, f, at, field, wire);
		if (field)
			index = counts[field - f->desc->fields]++;
		if (index && field->label != PROTOBUF_C_LABEL_REPEATED)
			return bad_field(s, f, at, field, "is given twice");
		FL_TRY(scan_value(s, f, &w, at, field, wire, index));
	}
	/* the rest of a message that is cut is reported by the one above, which knows its length */
	return f->cut && f->up ? FL_OK : check_required(s, f, counts);
}

/* ---- files that are no programs ----------------------------------------------------------------- */

static bool is_text(const uint8_t *p, size_t len)
{
	size_t n = len < 512 ? len : 512;

	for (size_t i = 0; i < n; i++)
		if (p[i] < 0x20 && p[i] != '\n' && p[i] != '\r' && p[i] != '\t')
			return false;
	/* the cut may go through a character */
	for (size_t back = 0; back < 4 && back < n; back++)
		if (fl_utf8_valid(p, n - back))
			return true;
	return false;
}

/* A tensor stream: version 0, levels of LoD (few), ..., version 0 again. */
static bool is_tensor(const uint8_t *p, size_t len)
{
	static const uint8_t zeros[4];

	return len >= 16 && !memcmp(p, zeros, 4) && p[4] < 16 && !memcmp(p + 5, zeros, 3) &&
	       !memcmp(p + 8, zeros, 4);
}

static const struct {
	const char *magic;
	size_t len;
	const char *what;
} magics[] = {
	{ "\x1f\x8b", 2, "gzip-compressed data" },
	{ "PK\x03\x04", 4, "a zip archive" },
	{ "\x93NUMPY", 6, "a numpy array" },
	{ "\x7f" "ELF", 4, "an executable" },
	{ "BZh", 3, "bzip2-compressed data" },
	{ "\xfd" "7zXZ", 5, "xz-compressed data" },
	{ "\x28\xb5\x2f\xfd", 4, "zstd-compressed data" },
	{ "\x89PNG", 4, "a picture" },
	{ "\x89HDF", 4, "an HDF5 file" },
};

/* What the bytes look like where they are no program; NULL: like nothing known. */
static const char *looks_like(const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < sizeof magics / sizeof *magics; i++)
		if (len >= magics[i].len && !memcmp(p, magics[i].magic, magics[i].len))
			return magics[i].what;
	if (len >= 3 && p[0] == 0x80 && p[1] >= 2 && p[1] <= 5 && p[len - 1] == '.')
		return "a python pickle";
	if (len >= 3 && (p[0] == '(' || p[0] == '}') && p[len - 1] == '.')
		return "a python pickle";
	if (is_tensor(p, len))
		return "a tensor stream (a variable's value)";
	if (is_text(p, len))
		return p[0] == '{' ? "JSON text (fluidc pack makes a program of it)" : "text";
	return NULL;
}

/* Does it begin as a program does: a block (field 1, bytes) that begins with its index? */
static bool begins_well(const uint8_t *p, size_t len)
{
	struct fl_wire w = { p + 1, p + len };
	uint64_t n;

	return len >= 3 && p[0] == 0x0a && fl_wire_varint(&w, &n) && w.p < w.end && *w.p == 0x08;
}

static bool has_block(const uint8_t *p, size_t len)
{
	struct fl_wire w = { p, p + len };
	struct fl_wire_field f;

	while (fl_wire_next(&w, &f) == 1)
		if (f.number == 1)
			return true;
	return false;
}

enum fl_code fl_scan_program(const void *bytes, size_t len, const char *name, struct fl_err *err)
{
	const uint8_t *p = bytes;
	struct scan s = { .start = p, .len = len, .err = err };
	struct frame root = { .desc = ROOT, .start = p, .end = p + len, .cut = true };
	const char *what;
	enum fl_code code;

	if (!len)
		return fl_err_set(err, FL_EFORMAT, "'%s' is no program: it is empty", name);
	code = scan_message(&s, &root);
	if (code == FL_OK && !has_block(p, len))
		code = fl_err_set(err, FL_EFORMAT, "it has no block");
	if (code == FL_OK)
		return code;
	what = begins_well(p, len) ? NULL : looks_like(p, len);
	if (what)
		return fl_err_wrap(err, "'%s' is no program, it looks like %s", name, what);
	return fl_err_wrap(err, "'%s'", name);
}
