/*
 * Any protobuf-c message as JSON and as protobuf text, driven by the generated descriptors: what
 * the schema declares is what is written, in the order of field numbers (the order of the bytes).
 * JSON is written without a tree in between: a program's tree would take 60 times its file.
 *
 * JSON loses nothing (commands.md): 64-bit integers and floats that are not finite are strings,
 * floats have 9 digits, doubles 17, text that is not UTF-8 or holds a zero byte is
 * {"base64": ...}, absent fields are left out, unknown ones stand in "unknown_fields".
 */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/wire.h"
#include "inspect/reflect.h"
#include "inspect/show.h"

/* How the two forms differ; the walk is the same. */
struct form {
	bool json;
	struct fl_buf *out;
};

static void indent(struct fl_buf *b, int depth)
{
	for (int i = 0; i < depth; i++)
		fl_buf_adds(b, "  ");
}

static void json_bytes(struct fl_buf *b, const void *s, size_t n)
{
	if (fl_utf8_valid(s, n) && !(n && memchr(s, 0, n))) {
		fl_json_str(b, s, n);
		return;
	}
	fl_buf_adds(b, "{\"base64\": \"");
	fl_base64_put(b, s, n);
	fl_buf_adds(b, "\"}");
}

/* As protobuf's own printer: octal escapes for all that is not printable ASCII. */
static void proto_bytes(struct fl_buf *b, const void *s, size_t n)
{
	const unsigned char *p = s;

	fl_buf_addc(b, '"');
	for (size_t i = 0; i < n; i++) {
		switch (p[i]) {
		case '\n': fl_buf_adds(b, "\\n"); break;
		case '\r': fl_buf_adds(b, "\\r"); break;
		case '\t': fl_buf_adds(b, "\\t"); break;
		case '"':
		case '\'':
		case '\\': fl_buf_addf(b, "\\%c", p[i]); break;
		default:
			if (p[i] >= 0x20 && p[i] < 0x7f)
				fl_buf_addc(b, (char)p[i]);
			else
				fl_buf_addf(b, "\\%03o", p[i]);
		}
	}
	fl_buf_addc(b, '"');
}

static void put_bytes(const struct form *form, const void *s, size_t n)
{
	if (form->json)
		json_bytes(form->out, s, n);
	else
		proto_bytes(form->out, s, n);
}

static void put_enum(const struct form *form, const ProtobufCFieldDescriptor *f, int value)
{
	const ProtobufCEnumValue *v = protobuf_c_enum_descriptor_get_value(f->descriptor, value);

	if (v)
		fl_buf_addf(form->out, form->json ? "\"%s\"" : "%s", v->name);
	else
		fl_buf_addf(form->out, "%d", value);
}

/* As protobuf's own printer: few digits where they read back to the same value, else all. */
static void proto_number(struct fl_buf *b, double v, bool single)
{
	char text[40];

	if (!isfinite(v)) {
		fl_buf_adds(b, isnan(v) ? "nan" : v > 0 ? "inf" : "-inf");
		return;
	}
	snprintf(text, sizeof text, "%.*g", single ? 6 : 15, v);
	if (single ? strtof(text, NULL) != (float)v : strtod(text, NULL) != v)
		snprintf(text, sizeof text, "%.*g", single ? 9 : 17, v);
	fl_buf_adds(b, text);
}

static void put_float(const struct form *form, const void *p)
{
	float v;

	memcpy(&v, p, sizeof v);
	if (form->json)
		fl_json_f32(form->out, v);
	else
		proto_number(form->out, (double)v, true);
}

static void put_double(const struct form *form, const void *p)
{
	double v;

	memcpy(&v, p, sizeof v);
	if (form->json)
		fl_json_f64(form->out, v);
	else
		proto_number(form->out, v, false);
}

static void put_scalar(const struct form *form, const ProtobufCFieldDescriptor *f, const void *p)
{
	const ProtobufCBinaryData *bytes = p;
	const char *s;

	switch (f->type) {
	case PROTOBUF_C_TYPE_ENUM: put_enum(form, f, *(const int *)p); break;
	case PROTOBUF_C_TYPE_BOOL:
		fl_buf_adds(form->out, *(const protobuf_c_boolean *)p ? "true" : "false");
		break;
	case PROTOBUF_C_TYPE_INT32: fl_buf_addf(form->out, "%" PRId32, *(const int32_t *)p); break;
	case PROTOBUF_C_TYPE_INT64:
		fl_buf_addf(form->out, form->json ? "\"%" PRId64 "\"" : "%" PRId64, *(const int64_t *)p);
		break;
	case PROTOBUF_C_TYPE_FLOAT: put_float(form, p); break;
	case PROTOBUF_C_TYPE_DOUBLE: put_double(form, p); break;
	case PROTOBUF_C_TYPE_BYTES: put_bytes(form, bytes->data, bytes->len); break;
	case PROTOBUF_C_TYPE_STRING:
		s = *(char *const *)p;
		put_bytes(form, s, strlen(s));
		break;
	default: FL_BUG("a field type that the schemas do not use");
	}
}

static void json_unknown(struct fl_buf *b, const ProtobufCMessage *m, int depth)
{
	indent(b, depth);
	fl_buf_adds(b, "\"unknown_fields\": [");
	for (unsigned i = 0; i < m->n_unknown_fields; i++) {
		const ProtobufCMessageUnknownField *u = &m->unknown_fields[i];

		fl_buf_addf(b, "%s{\"field\": %u, \"wire\": %d, \"base64\": \"", i ? ", " : "", u->tag,
			(int)u->wire_type);
		fl_base64_put(b, u->data, u->len);
		fl_buf_adds(b, "\"}");
	}
	fl_buf_adds(b, "]");
}

static void proto_unknown(struct fl_buf *b, const ProtobufCMessageUnknownField *u)
{
	struct fl_wire w = { u->data, u->data + u->len };
	uint64_t v = 0;

	fl_buf_addf(b, "%u: ", u->tag);
	switch ((int)u->wire_type) {
	case FL_WIRE_VARINT:
		fl_wire_varint(&w, &v);
		fl_buf_addf(b, "%" PRIu64, v);
		break;
	case FL_WIRE_LEN:
		fl_wire_varint(&w, &v);
		proto_bytes(b, w.p, (size_t)(w.end - w.p));
		break;
	default:
		for (size_t i = 0; i < u->len; i++)
			v |= (uint64_t)u->data[i] << (8 * i);
		fl_buf_addf(b, u->len == 4 ? "0x%08" PRIx64 : "0x%016" PRIx64, v);
	}
	fl_buf_addc(b, '\n');
}

static void json_message(struct fl_buf *b, const ProtobufCMessage *m, int depth);

static void json_one(const struct form *form, const ProtobufCFieldDescriptor *f, const void *p,
	int depth)
{
	if (f->type == PROTOBUF_C_TYPE_MESSAGE)
		json_message(form->out, *(ProtobufCMessage *const *)p, depth);
	else
		put_scalar(form, f, p);
}

/* Numbers and names stand in one line, messages on lines of their own. */
static void json_list(const struct form *form, const ProtobufCFieldDescriptor *f,
	const ProtobufCMessage *m, int depth)
{
	size_t n = fl_field_count(m, f);
	bool lines = f->type == PROTOBUF_C_TYPE_MESSAGE;

	fl_buf_addc(form->out, '[');
	for (size_t i = 0; i < n; i++) {
		if (i)
			fl_buf_adds(form->out, lines ? "," : ", ");
		if (lines) {
			fl_buf_addc(form->out, '\n');
			indent(form->out, depth + 1);
		}
		json_one(form, f, fl_field_at(m, f, i), depth + 1);
	}
	if (lines) {
		fl_buf_addc(form->out, '\n');
		indent(form->out, depth);
	}
	fl_buf_addc(form->out, ']');
}

/* Messages without messages in them (dims, slots, attributes) stand in one line. */
static bool one_line(const ProtobufCMessage *m)
{
	for (unsigned i = 0; i < m->descriptor->n_fields; i++)
		if (m->descriptor->fields[i].type == PROTOBUF_C_TYPE_MESSAGE)
			return false;
	return !m->n_unknown_fields;
}

static void json_message(struct fl_buf *b, const ProtobufCMessage *m, int depth)
{
	const struct form form = { true, b };
	bool line = one_line(m);
	size_t mark;

	fl_buf_addc(b, '{');
	mark = b->len;
	for (unsigned i = 0; i < m->descriptor->n_fields; i++) {
		const ProtobufCFieldDescriptor *f = &m->descriptor->fields[i];

		if (!fl_field_count(m, f))
			continue;
		if (b->len > mark)
			fl_buf_adds(b, line ? ", " : ",");
		if (!line) {
			fl_buf_addc(b, '\n');
			indent(b, depth + 1);
		}
		fl_buf_addf(b, "\"%s\": ", f->name);
		if (f->label == PROTOBUF_C_LABEL_REPEATED)
			json_list(&form, f, m, depth + 1);
		else
			json_one(&form, f, fl_field_at(m, f, 0), depth + 1);
	}
	if (m->n_unknown_fields) {
		fl_buf_adds(b, b->len > mark ? ",\n" : "\n");
		json_unknown(b, m, depth + 1);
	}
	if (!line && b->len > mark) {
		fl_buf_addc(b, '\n');
		indent(b, depth);
	}
	fl_buf_addc(b, '}');
}

void fl_show_json(const fl_pb_program *pb, struct fl_buf *out)
{
	json_message(out, &pb->base, 0);
	fl_buf_addc(out, '\n');
}

static void proto_message(struct fl_buf *b, const ProtobufCMessage *m, int depth)
{
	const struct form form = { false, b };

	for (unsigned i = 0; i < m->descriptor->n_fields; i++) {
		const ProtobufCFieldDescriptor *f = &m->descriptor->fields[i];

		for (size_t k = 0; k < fl_field_count(m, f); k++) {
			indent(b, depth);
			fl_buf_adds(b, f->name);
			if (f->type == PROTOBUF_C_TYPE_MESSAGE) {
				fl_buf_adds(b, " {\n");
				proto_message(b, *(ProtobufCMessage *const *)fl_field_at(m, f, k),
					depth + 1);
				indent(b, depth);
				fl_buf_adds(b, "}\n");
			} else {
				fl_buf_adds(b, ": ");
				put_scalar(&form, f, fl_field_at(m, f, k));
				fl_buf_addc(b, '\n');
			}
		}
	}
	for (unsigned i = 0; i < m->n_unknown_fields; i++) {
		indent(b, depth);
		proto_unknown(b, &m->unknown_fields[i]);
	}
}

void fl_show_proto(const fl_pb_program *pb, struct fl_buf *out)
{
	proto_message(out, &pb->base, 0);
}
