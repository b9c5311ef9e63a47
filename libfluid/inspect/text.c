#include "inspect/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "desc/names.h"
#include "desc/query.h"
#include "ops/op.h"

#define TYPE_WIDTH 20 /* of the column of operator types */

static bool is_plain(const char *s)
{
	if (!*s)
		return false;
	for (const char *p = s; *p; p++)
		if ((unsigned char)*p <= ' ' || *p == 0x7f || strchr("\"'\\[]{}(),=", *p))
			return false;
	return fl_utf8_valid(s, strlen(s));
}

void fl_text_quoted(struct fl_buf *b, const void *s, size_t n)
{
	const unsigned char *p = s;
	bool utf8 = fl_utf8_valid(s, n);

	fl_buf_addc(b, '"');
	for (size_t i = 0; i < n; i++) {
		if (p[i] == '"' || p[i] == '\\')
			fl_buf_addf(b, "\\%c", p[i]);
		else if (p[i] == '\n')
			fl_buf_adds(b, "\\n");
		else if (p[i] < ' ' || p[i] == 0x7f || (p[i] >= 0x80 && !utf8))
			fl_buf_addf(b, "\\x%02x", p[i]);
		else
			fl_buf_addc(b, (char)p[i]);
	}
	fl_buf_addc(b, '"');
}

void fl_text_name(struct fl_buf *b, const char *s)
{
	if (is_plain(s))
		fl_buf_adds(b, s);
	else
		fl_text_quoted(b, s, strlen(s));
}

void fl_text_f32(struct fl_buf *b, float v)
{
	char text[32];

	for (int digits = 6; digits <= 9; digits++) {
		snprintf(text, sizeof text, "%.*g", digits, (double)v);
		if (strtof(text, NULL) == v)
			break;
	}
	fl_buf_adds(b, text);
}

static void text_f64(struct fl_buf *b, double v)
{
	char text[40];

	for (int digits = 6; digits <= 17; digits++) {
		snprintf(text, sizeof text, "%.*g", digits, v);
		if (strtod(text, NULL) == v)
			break;
	}
	fl_buf_adds(b, text);
}

void fl_text_type(struct fl_buf *b, int type)
{
	const char *name = fl_type_name(type);

	if (name)
		fl_buf_adds(b, name);
	else
		fl_buf_addf(b, "type %d", type);
}

void fl_text_attr_type(struct fl_buf *b, int type)
{
	const char *name = fl_attr_type_name(type);

	if (name)
		fl_buf_adds(b, name);
	else
		fl_buf_addf(b, "type %d", type);
}

/* One element of a list attribute, or the value of a single one. */
static void element(struct fl_buf *b, const fl_pb_attr *a, size_t i)
{
	switch ((int)a->type) {
	case FL_ATTR_INT: fl_buf_addf(b, "%" PRId32, a->i); break;
	case FL_ATTR_FLOAT: fl_text_f32(b, a->f); break;
	case FL_ATTR_STRING: fl_text_quoted(b, a->s.data, a->s.len); break;
	case FL_ATTR_INTS: fl_buf_addf(b, "%" PRId32, a->ints[i]); break;
	case FL_ATTR_FLOATS: fl_text_f32(b, a->floats[i]); break;
	case FL_ATTR_STRINGS: fl_text_quoted(b, a->strings[i].data, a->strings[i].len); break;
	case FL_ATTR_BOOLEAN: fl_buf_adds(b, a->b ? "true" : "false"); break;
	case FL_ATTR_BOOLEANS: fl_buf_adds(b, a->bools[i] ? "true" : "false"); break;
	case FL_ATTR_BLOCK: fl_buf_addf(b, "block %" PRId32, a->block_idx); break;
	case FL_ATTR_LONG: fl_buf_addf(b, "%" PRId64, a->l); break;
	case FL_ATTR_BLOCKS: fl_buf_addf(b, "block %" PRId32, a->blocks_idx[i]); break;
	case FL_ATTR_LONGS: fl_buf_addf(b, "%" PRId64, a->longs[i]); break;
	case FL_ATTR_FLOAT64S: text_f64(b, a->float64s[i]); break;
	case FL_ATTR_VAR: fl_text_name(b, a->var_name ? a->var_name : ""); break;
	case FL_ATTR_VARS: fl_text_name(b, a->vars_name[i]); break;
	case FL_ATTR_FLOAT64: text_f64(b, a->float64); break;
	default: fl_buf_adds(b, "?");
	}
}

static bool list_len(const fl_pb_attr *a, size_t *n)
{
	switch ((int)a->type) {
	case FL_ATTR_INTS: *n = a->n_ints; return true;
	case FL_ATTR_FLOATS: *n = a->n_floats; return true;
	case FL_ATTR_STRINGS: *n = a->n_strings; return true;
	case FL_ATTR_BOOLEANS: *n = a->n_bools; return true;
	case FL_ATTR_BLOCKS: *n = a->n_blocks_idx; return true;
	case FL_ATTR_LONGS: *n = a->n_longs; return true;
	case FL_ATTR_FLOAT64S: *n = a->n_float64s; return true;
	case FL_ATTR_VARS: *n = a->n_vars_name; return true;
	}
	return false;
}

void fl_text_value(struct fl_buf *b, const fl_pb_attr *a)
{
	size_t n;

	if (!list_len(a, &n)) {
		element(b, a, 0);
		return;
	}
	fl_buf_addc(b, '[');
	for (size_t i = 0; i < n; i++) {
		if (i)
			fl_buf_adds(b, ", ");
		element(b, a, i);
	}
	fl_buf_addc(b, ']');
}

void fl_text_role(struct fl_buf *b, int role)
{
	static const struct {
		int bit;
		const char *name;
	} bits[] = { { FL_ROLE_BACKWARD, "backward" }, { FL_ROLE_OPTIMIZE, "optimize" },
		{ FL_ROLE_RPC, "rpc" }, { FL_ROLE_DIST, "dist" }, { FL_ROLE_LRSCHED, "lrsched" },
		{ FL_ROLE_LOSS, "loss" }, { FL_ROLE_NONE, "none" } };
	size_t start = b->len;
	int rest = role;

	if (!(role & ~FL_ROLE_LOSS))
		fl_buf_adds(b, "forward");
	for (size_t i = 0; i < FL_COUNT(bits); i++) {
		if (!(role & bits[i].bit))
			continue;
		fl_buf_addf(b, "%s%s", b->len > start ? "|" : "", bits[i].name);
		rest &= ~bits[i].bit;
	}
	if (rest)
		fl_buf_addf(b, "%s0x%x", b->len > start ? "|" : "", (unsigned)rest);
}

void fl_text_dims(struct fl_buf *b, const int64_t *dims, size_t n)
{
	fl_buf_addc(b, '[');
	for (size_t i = 0; i < n; i++)
		fl_buf_addf(b, "%s%" PRId64, i ? ", " : "", dims[i]);
	fl_buf_addc(b, ']');
}

static void text_tensor(struct fl_buf *b, const fl_pb_tensor *t)
{
	fl_buf_addc(b, ' ');
	fl_text_type(b, (int)t->data_type);
	fl_buf_addc(b, ' ');
	fl_text_dims(b, t->dims, t->n_dims);
}

void fl_text_var(struct fl_buf *b, const fl_pb_var *v)
{
	const fl_pb_tensor *t = fl_var_tensor(v);

	fl_text_type(b, (int)v->type->type);
	if (t)
		text_tensor(b, t);
	if (fl_var_lod_level(v))
		fl_buf_addf(b, " lod=%d", fl_var_lod_level(v));
	if (fl_var_persistable(v))
		fl_buf_adds(b, " persistable");
	if (v->has_need_check_feed && v->need_check_feed)
		fl_buf_adds(b, " need_check_feed");
	if (v->has_is_parameter && v->is_parameter)
		fl_buf_adds(b, " parameter");
	if (v->has_stop_gradient && v->stop_gradient)
		fl_buf_adds(b, " stop_gradient");
}

static int by_parameter(const void *x, const void *y)
{
	const fl_pb_slot *const *a = x, *const *b = y;

	return strcmp((*a)->parameter, (*b)->parameter);
}

static void text_args(struct fl_buf *b, const fl_pb_slot *s)
{
	fl_text_name(b, s->parameter);
	fl_buf_adds(b, s->n_arguments == 1 ? "=" : "=[");
	for (size_t i = 0; i < s->n_arguments; i++) {
		if (i)
			fl_buf_adds(b, ", ");
		fl_text_name(b, s->arguments[i]);
	}
	if (s->n_arguments != 1)
		fl_buf_addc(b, ']');
}

void fl_text_slots(struct fl_buf *b, fl_pb_slot *const *slots, size_t n)
{
	const fl_pb_slot **sorted = FL_NEW_N(const fl_pb_slot *, n + 1);
	bool first = true;

	if (n)
		memcpy(sorted, slots, n * sizeof *sorted);
	qsort(sorted, n, sizeof *sorted, by_parameter);
	for (size_t i = 0; i < n; i++) {
		if (!sorted[i]->n_arguments)
			continue;
		if (!first)
			fl_buf_addc(b, ' ');
		first = false;
		text_args(b, sorted[i]);
	}
	fl_free(sorted);
}

static int by_name(const void *x, const void *y)
{
	const fl_pb_attr *const *a = x, *const *b = y;

	return strcmp((*a)->name, (*b)->name);
}

static void text_attrs(struct fl_buf *b, const fl_pb_op *op)
{
	const fl_pb_attr **sorted = FL_NEW_N(const fl_pb_attr *, op->n_attrs + 1);
	size_t n = 0;

	for (size_t i = 0; i < op->n_attrs; i++)
		if (strcmp(op->attrs[i]->name, FL_ATTR_ROLE) && !fl_attr_is_default(op, op->attrs[i]))
			sorted[n++] = op->attrs[i];
	qsort(sorted, n, sizeof *sorted, by_name);
	if (n)
		fl_buf_adds(b, " {");
	for (size_t i = 0; i < n; i++) {
		if (i)
			fl_buf_adds(b, ", ");
		fl_text_name(b, sorted[i]->name);
		fl_buf_addc(b, '=');
		fl_text_value(b, sorted[i]);
	}
	if (n)
		fl_buf_addc(b, '}');
	fl_free(sorted);
}

void fl_text_column(struct fl_buf *b, size_t start, size_t width)
{
	size_t len = b->len - start;

	fl_buf_addf(b, "%*s", len < width ? (int)(width - len) + 1 : 1, "");
}

void fl_text_op(struct fl_buf *b, const fl_pb_op *op)
{
	size_t mark = b->len;

	fl_text_name(b, op->type);
	fl_text_column(b, mark, TYPE_WIDTH);
	mark = b->len;
	fl_text_slots(b, op->inputs, op->n_inputs);
	fl_buf_adds(b, b->len > mark ? " ->" : "->");
	mark = b->len;
	fl_buf_addc(b, ' ');
	fl_text_slots(b, op->outputs, op->n_outputs);
	if (b->len == mark + 1)
		b->data[--b->len] = 0;
	text_attrs(b, op);
	fl_buf_addc(b, ' ');
	fl_text_role(b, fl_op_role(op));
}

/* "1,1" */
static bool ints_equal(const fl_pb_attr *a, const char *text)
{
	size_t n = 0, count = 0;
	bool longs = (int)a->type == FL_ATTR_LONGS;

	list_len(a, &count);
	while (text && *text) {
		char *end;
		int64_t v = strtoll(text, &end, 10);

		if (end == text || n >= count || v != (longs ? a->longs[n] : a->ints[n]))
			return false;
		n++;
		text = *end ? end + 1 : end;
	}
	return n == count;
}

static bool same_bits(float a, float b)
{
	return !memcmp(&a, &b, sizeof a);
}

static bool equals_default(const fl_pb_attr *a, const struct fl_attr_def *d)
{
	const char *s = d->s ? d->s : "";
	size_t n;

	if ((int)a->type != d->type || (d->flags & FL_REQUIRED))
		return false;
	switch ((int)a->type) {
	case FL_ATTR_INT: return a->i == d->i;
	case FL_ATTR_LONG: return a->l == d->i;
	case FL_ATTR_BOOLEAN: return (a->b != 0) == (d->i != 0);
	case FL_ATTR_FLOAT: return same_bits(a->f, d->f);
	case FL_ATTR_STRING:
		return a->s.len == strlen(s) && (!a->s.len || !memcmp(a->s.data, s, a->s.len));
	case FL_ATTR_INTS:
	case FL_ATTR_LONGS: return ints_equal(a, d->s);
	}
	return list_len(a, &n) && !n;
}

/* The attributes that every operator has, as Fluid writes them without anybody's doing. */
static const struct fl_attr_def everywhere[] = {
	{ .name = FL_ATTR_NAMESCOPE, .type = FL_ATTR_STRING, .s = "/" },
	{ .name = FL_ATTR_DEVICE, .type = FL_ATTR_STRING },
	{ .name = FL_ATTR_ROLE_VAR, .type = FL_ATTR_STRINGS },
	{ .name = "with_quant_attr", .type = FL_ATTR_BOOLEAN },
};

bool fl_attr_is_default(const fl_pb_op *op, const fl_pb_attr *a)
{
	const struct fl_op_def *def = fl_op_find(op->type);
	const struct fl_attr_def *d = NULL;

	if (!strcmp(a->name, FL_ATTR_CALLSTACK))
		return true;
	for (size_t i = 0; i < FL_COUNT(everywhere) && !d; i++)
		if (!strcmp(a->name, everywhere[i].name))
			d = &everywhere[i];
	if (!d && def)
		d = fl_attr_find(def, a->name);
	return d && equals_default(a, d);
}
