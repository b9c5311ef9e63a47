/*
 * JSON back to a program: the inverse of json.c. cJSON parses the text; the fields are set by the
 * generated descriptors, strictly: an unknown or repeated key, a missing required one, a number
 * that does not fit its field are refused with their place ("blocks[0].ops[3].type").
 *
 * cJSON's strings end at a zero byte, so the escape of one is refused (such text is written as
 * {"base64": ...}); it passes bytes through unseen, so the text must be UTF-8 to begin with.
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/near.h"
#include "base/wire.h"
#include "inspect/reflect.h"
#include "inspect/show.h"

#define UNKNOWN_KEY "unknown_fields"
#define EXACT_MAX   9007199254740992.0 /* 2^53: whole numbers that a JSON number holds exactly */

struct reader {
	struct fl_program *prog;
	const char *name;
	struct fl_err *err;
};

/* One step from the root to a value. */
struct path {
	const struct path *up;
	const char *key;
	size_t index;
	bool indexed;
};

static void add_path(struct fl_buf *b, const struct path *p)
{
	if (!p)
		return;
	add_path(b, p->up);
	fl_buf_addf(b, "%s%s", b->len ? "." : "", p->key);
	if (p->indexed)
		fl_buf_addf(b, "[%zu]", p->index);
}

static enum fl_code bad(const struct reader *r, const struct path *p, const char *what)
{
	struct fl_buf place = FL_BUF_INIT;
	enum fl_code code;

	add_path(&place, p);
	code = fl_err_set(r->err, FL_EFORMAT, "'%s': %s%s%s", r->name, fl_buf_str(&place),
		place.len ? ": " : "", what);
	fl_buf_release(&place);
	return code;
}

/* {"base64": "..."} or plain text, appended to *out. */
static enum fl_code get_bytes(const struct reader *r, const struct path *p, const cJSON *v,
	struct fl_buf *out)
{
	const cJSON *inner = v->child;

	if (cJSON_IsString(v)) {
		fl_buf_adds(out, v->valuestring);
		return FL_OK;
	}
	if (!cJSON_IsObject(v) || !inner || inner->next || strcmp(inner->string, "base64") ||
		!cJSON_IsString(inner))
		return bad(r, p, "text, or {\"base64\": ...}, is expected");
	if (!fl_base64_get(inner->valuestring, strlen(inner->valuestring), out))
		return bad(r, p, "the base64 text is malformed");
	return FL_OK;
}

static enum fl_code set_bytes(const struct reader *r, const struct path *p, const cJSON *v,
	bool is_name, void *at)
{
	struct fl_buf b = FL_BUF_INIT;
	enum fl_code code = get_bytes(r, p, v, &b);
	char *copy;

	if (code == FL_OK && is_name && b.len && memchr(b.data, 0, b.len))
		code = bad(r, p, "a name cannot hold a zero byte");
	if (code == FL_OK) {
		copy = fl_program_alloc(r->prog, b.len + 1);
		memcpy(copy, fl_buf_str(&b), b.len);
		if (is_name)
			*(char **)at = copy;
		else
			*(ProtobufCBinaryData *)at =
				(ProtobufCBinaryData){ b.len, (uint8_t *)copy };
	}
	fl_buf_release(&b);
	return code;
}

static bool whole(const cJSON *v, double low, double high)
{
	return cJSON_IsNumber(v) && v->valuedouble >= low && v->valuedouble <= high &&
	       v->valuedouble == floor(v->valuedouble);
}

static enum fl_code set_int32(const struct reader *r, const struct path *p, const cJSON *v,
	int32_t *at)
{
	if (!whole(v, INT32_MIN, INT32_MAX))
		return bad(r, p, "a whole number of 32 bits is expected");
	*at = (int32_t)v->valuedouble;
	return FL_OK;
}

static enum fl_code set_int64(const struct reader *r, const struct path *p, const cJSON *v,
	int64_t *at)
{
	const char *s = cJSON_IsString(v) ? v->valuestring : "";
	const char *digits = s + (*s == '-');
	char *end;

	if (whole(v, -EXACT_MAX, EXACT_MAX)) {
		*at = (int64_t)v->valuedouble;
		return FL_OK;
	}
	errno = 0;
	if (*digits >= '0' && *digits <= '9') {
		*at = strtoll(s, &end, 10);
		if (!*end && !errno)
			return FL_OK;
	}
	return bad(r, p, "a whole number of 64 bits is expected, as text (\"-1\")");
}

static enum fl_code set_enum(const struct reader *r, const struct path *p, const cJSON *v,
	const ProtobufCEnumDescriptor *d, int *at)
{
	const ProtobufCEnumValue *value;
	struct fl_buf text = FL_BUF_INIT;
	struct fl_near near;
	enum fl_code code;

	if (!cJSON_IsString(v))
		return set_int32(r, p, v, at);
	value = protobuf_c_enum_descriptor_get_value_by_name(d, v->valuestring);
	if (value) {
		*at = value->value;
		return FL_OK;
	}
	fl_near_init(&near, v->valuestring);
	for (unsigned i = 0; i < d->n_values; i++)
		fl_near_try(&near, d->values[i].name);
	fl_buf_addf(&text, "'%.60s' is no known type", v->valuestring);
	if (near.best)
		fl_buf_addf(&text, ", did you mean '%s'?", near.best);
	code = bad(r, p, fl_buf_str(&text));
	fl_buf_release(&text);
	return code;
}

/* "NaN", "NaN:7fc00001" (as many digits as the type has), "Infinity", "-Infinity". */
static bool special(const char *s, size_t digits, uint64_t nan, uint64_t infinity, uint64_t *bits)
{
	uint64_t sign = (uint64_t)1 << (4 * digits - 1);

	if (!strcmp(s, "NaN"))
		*bits = nan;
	else if (!strcmp(s, "Infinity"))
		*bits = infinity;
	else if (!strcmp(s, "-Infinity"))
		*bits = infinity | sign;
	else if (!strncmp(s, "NaN:", 4) && strlen(s) == 4 + digits &&
		 strspn(s + 4, "0123456789abcdef") == digits)
		*bits = strtoull(s + 4, NULL, 16);
	else
		return false;
	return !(s[0] == 'N' && (*bits & ~sign) <= infinity);
}

static enum fl_code set_float(const struct reader *r, const struct path *p, const cJSON *v,
	void *at)
{
	uint64_t bits;
	uint32_t low;
	float f;

	if (cJSON_IsString(v) && special(v->valuestring, 8, 0x7fc00000, 0x7f800000, &bits)) {
		low = (uint32_t)bits;
		memcpy(at, &low, sizeof low);
		return FL_OK;
	}
	f = cJSON_IsNumber(v) ? (float)v->valuedouble : INFINITY;
	if (!isfinite(f))
		return bad(r, p, "a number of 32-bit floats, or \"NaN\", \"Infinity\", \"-Infinity\", is "
				 "expected");
	memcpy(at, &f, sizeof f);
	return FL_OK;
}

static enum fl_code set_double(const struct reader *r, const struct path *p, const cJSON *v,
	void *at)
{
	uint64_t bits;

	if (cJSON_IsString(v) && special(v->valuestring, 16, 0x7ff8000000000000,
					 0x7ff0000000000000, &bits)) {
		memcpy(at, &bits, sizeof bits);
		return FL_OK;
	}
	if (!cJSON_IsNumber(v) || !isfinite(v->valuedouble))
		return bad(r, p, "a number, or \"NaN\", \"Infinity\", \"-Infinity\", is expected");
	memcpy(at, &v->valuedouble, sizeof v->valuedouble);
	return FL_OK;
}

static enum fl_code read_message(const struct reader *r, const struct path *p, const cJSON *v,
	ProtobufCMessage *m);

static enum fl_code set_message(const struct reader *r, const struct path *p, const cJSON *v,
	const ProtobufCMessageDescriptor *d, ProtobufCMessage **at)
{
	*at = fl_program_alloc(r->prog, d->sizeof_message);
	d->message_init(*at);
	return read_message(r, p, v, *at);
}

static enum fl_code set_value(const struct reader *r, const struct path *p, const cJSON *v,
	const ProtobufCFieldDescriptor *f, void *at)
{
	switch (f->type) {
	case PROTOBUF_C_TYPE_INT32: return set_int32(r, p, v, at);
	case PROTOBUF_C_TYPE_INT64: return set_int64(r, p, v, at);
	case PROTOBUF_C_TYPE_ENUM: return set_enum(r, p, v, f->descriptor, at);
	case PROTOBUF_C_TYPE_FLOAT: return set_float(r, p, v, at);
	case PROTOBUF_C_TYPE_DOUBLE: return set_double(r, p, v, at);
	case PROTOBUF_C_TYPE_STRING: return set_bytes(r, p, v, true, at);
	case PROTOBUF_C_TYPE_BYTES: return set_bytes(r, p, v, false, at);
	case PROTOBUF_C_TYPE_MESSAGE: return set_message(r, p, v, f->descriptor, at);
	case PROTOBUF_C_TYPE_BOOL:
		if (!cJSON_IsBool(v))
			return bad(r, p, "true or false is expected");
		*(protobuf_c_boolean *)at = cJSON_IsTrue(v);
		return FL_OK;
	default: FL_BUG("a field type that the schemas do not use");
	}
}

static size_t count_items(const cJSON *v)
{
	size_t n = 0;

	for (const cJSON *item = v->child; item; item = item->next)
		n++;
	return n;
}

static enum fl_code set_list(const struct reader *r, const struct path *up, const cJSON *v,
	const ProtobufCFieldDescriptor *f, ProtobufCMessage *m)
{
	size_t n = count_items(v), size = fl_field_size(f);
	struct path p = { up, f->name, 0, true };
	char *at;

	if (!cJSON_IsArray(v)) {
		p.indexed = false;
		return bad(r, &p, "a list is expected");
	}
	if (!n)
		return FL_OK;
	at = fl_program_alloc(r->prog, n * size);
	fl_field_set_list(m, f, at, n);
	for (const cJSON *item = v->child; item; item = item->next, p.index++)
		FL_TRY(set_value(r, &p, item, f, at + p.index * size));
	return FL_OK;
}

static enum fl_code set_field(const struct reader *r, const struct path *up, const cJSON *v,
	const ProtobufCFieldDescriptor *f, ProtobufCMessage *m)
{
	struct path p = { up, f->name, 0, false };

	if (f->label == PROTOBUF_C_LABEL_REPEATED)
		return set_list(r, up, v, f, m);
	fl_field_set_present(m, f);
	return set_value(r, &p, v, f, fl_field_at(m, f, 0));
}

/* The bytes must be what the wire type says, and the number one that the schema does not know. */
static bool unknown_is_sound(const ProtobufCMessageDescriptor *d, uint32_t number, int wire,
	const struct fl_buf *data)
{
	struct fl_buf b = FL_BUF_INIT;
	struct fl_wire_field f;
	struct fl_wire w;
	bool ok;

	fl_wire_put_tag(&b, number, wire);
	fl_buf_add(&b, fl_buf_str(data), data->len);
	w = (struct fl_wire){ (const uint8_t *)b.data, (const uint8_t *)b.data + b.len };
	ok = fl_wire_next(&w, &f) == 1 && w.p == w.end &&
	     !protobuf_c_message_descriptor_get_field(d, number);
	fl_buf_release(&b);
	return ok;
}

/* {"field": 2, "wire": 2, "base64": "..."} */
static enum fl_code set_unknown(const struct reader *r, const struct path *p, const cJSON *v,
	const ProtobufCMessageDescriptor *d, ProtobufCMessageUnknownField *u)
{
	const cJSON *number = NULL, *wire = NULL, *text = NULL;
	struct fl_buf data = FL_BUF_INIT;
	bool ok = cJSON_IsObject(v) && count_items(v) == 3;

	for (const cJSON *item = ok ? v->child : NULL; item; item = item->next)
		if (!strcmp(item->string, "field"))
			number = item;
		else if (!strcmp(item->string, "wire"))
			wire = item;
		else if (!strcmp(item->string, "base64"))
			text = item;
	ok = number && wire && text && whole(number, 1, 0x1fffffff) && whole(wire, 0, 5) &&
	     cJSON_IsString(text) &&
	     fl_base64_get(text->valuestring, strlen(text->valuestring), &data) &&
	     unknown_is_sound(d, (uint32_t)number->valuedouble, (int)wire->valuedouble, &data);
	if (ok) {
		u->tag = (uint32_t)number->valuedouble;
		u->wire_type = (ProtobufCWireType)(int)wire->valuedouble;
		u->len = data.len;
		u->data = fl_program_alloc(r->prog, data.len + 1);
		memcpy(u->data, fl_buf_str(&data), data.len);
	}
	fl_buf_release(&data);
	return ok ? FL_OK : bad(r, p, "an unknown field is {\"field\": N, \"wire\": W, \"base64\": "
				      "\"...\"} whose bytes are one value of that wire type");
}

static enum fl_code set_unknowns(const struct reader *r, const struct path *up, const cJSON *v,
	ProtobufCMessage *m)
{
	struct path p = { up, UNKNOWN_KEY, 0, true };
	size_t n = count_items(v);

	if (!cJSON_IsArray(v)) {
		p.indexed = false;
		return bad(r, &p, "a list is expected");
	}
	m->unknown_fields = fl_program_alloc(r->prog, (n + 1) * sizeof *m->unknown_fields);
	for (const cJSON *item = v->child; item; item = item->next, p.index++) {
		FL_TRY(set_unknown(r, &p, item, m->descriptor, &m->unknown_fields[p.index]));
		m->n_unknown_fields++;
	}
	return FL_OK;
}

static enum fl_code bad_key(const struct reader *r, const struct path *p, const char *key,
	const ProtobufCMessageDescriptor *d)
{
	struct fl_buf text = FL_BUF_INIT;
	struct fl_near near;
	enum fl_code code;

	fl_near_init(&near, key);
	for (unsigned i = 0; i < d->n_fields; i++)
		fl_near_try(&near, d->fields[i].name);
	fl_buf_addf(&text, "unknown key '%.60s'", key);
	if (near.best)
		fl_buf_addf(&text, ", did you mean '%s'?", near.best);
	code = bad(r, p, fl_buf_str(&text));
	fl_buf_release(&text);
	return code;
}

static enum fl_code twice(const struct reader *r, const struct path *up, const char *key)
{
	struct path p = { up, key, 0, false };

	return bad(r, &p, "the key occurs twice");
}

static enum fl_code check_required(const struct reader *r, const struct path *p,
	const ProtobufCMessageDescriptor *d, uint64_t seen)
{
	for (unsigned i = 0; i < d->n_fields; i++)
		if (d->fields[i].label == PROTOBUF_C_LABEL_REQUIRED && !(seen >> i & 1)) {
			char text[96];

			snprintf(text, sizeof text, "'%s' is missing", d->fields[i].name);
			return bad(r, p, text);
		}
	return FL_OK;
}

static enum fl_code read_message(const struct reader *r, const struct path *p, const cJSON *v,
	ProtobufCMessage *m)
{
	const ProtobufCMessageDescriptor *d = m->descriptor;
	uint64_t seen = 0, unknown_bit = (uint64_t)1 << 63;

	if (!cJSON_IsObject(v))
		return bad(r, p, "an object is expected");
	for (const cJSON *item = v->child; item; item = item->next) {
		const ProtobufCFieldDescriptor *f =
			protobuf_c_message_descriptor_get_field_by_name(d, item->string);
		bool unknown = !strcmp(item->string, UNKNOWN_KEY);
		uint64_t bit = unknown ? unknown_bit : f ? (uint64_t)1 << (f - d->fields) : 0;

		if (!bit)
			return bad_key(r, p, item->string, d);
		if (seen & bit)
			return twice(r, p, item->string);
		seen |= bit;
		FL_TRY(unknown ? set_unknowns(r, p, item, m) : set_field(r, p, item, f, m));
	}
	return check_required(r, p, d, seen);
}

/* ---- the text ------------------------------------------------------------------------------------ */

static enum fl_code bad_text(const char *name, const char *text, size_t at, const char *what,
	struct fl_err *err)
{
	size_t line = 1, column = 1;

	for (size_t i = 0; i < at; i++, column++)
		if (text[i] == '\n') {
			line++;
			column = 0;
		}
	return fl_err_set(err, FL_EFORMAT, "'%s': %s at line %zu, column %zu", name, what, line,
		column);
}

/* The place of an escaped zero byte, or len. */
static size_t find_zero(const char *text, size_t len)
{
	for (size_t i = 0; i + 1 < len; i++) {
		if (text[i] != '\\')
			continue;
		if (text[i + 1] == 'u' && len - i >= 6 && !memcmp(text + i + 2, "0000", 4))
			return i;
		i++;
	}
	return len;
}

static enum fl_code parse_text(const char *text, size_t len, const char *name, cJSON **root,
	struct fl_err *err)
{
	const char *end = NULL;
	size_t zero = find_zero(text, len);

	if (!fl_utf8_valid(text, len) || memchr(text, 0, len))
		return fl_err_set(err, FL_EFORMAT, "'%s' is no JSON text (it is not UTF-8)", name);
	if (zero < len)
		return bad_text(name, text, zero,
			"a zero byte in text, which is written as {\"base64\": ...},", err);
	*root = cJSON_ParseWithLengthOpts(text, len, &end, 0);
	if (!*root)
		return bad_text(name, text, end && end >= text && end <= text + len ?
			(size_t)(end - text) : 0, "malformed JSON", err);
	end += strspn(end, " \t\r\n");
	if (end == text + len)
		return FL_OK;
	cJSON_Delete(*root);
	return bad_text(name, text, (size_t)(end - text), "more text after the JSON value", err);
}

enum fl_code fl_pack_json(const char *text, size_t len, const char *name, struct fl_program **out,
	struct fl_err *err)
{
	struct reader r = { NULL, name, err };
	struct fl_buf packed = FL_BUF_INIT;
	enum fl_code code;
	cJSON *root = NULL;

	FL_TRY(parse_text(text, len, name, &root, err));
	r.prog = fl_program_new(0);
	paddle__framework__proto__program_desc__init(r.prog->pb);
	code = read_message(&r, NULL, root, &r.prog->pb->base);
	cJSON_Delete(root);
	if (code == FL_OK)
		fl_program_pack(r.prog, &packed);
	fl_program_free(r.prog);
	/* through the parser again, which checks what holds for every program */
	if (code == FL_OK)
		code = fl_program_parse(fl_buf_str(&packed), packed.len, name, out, err);
	fl_buf_release(&packed);
	return code;
}
