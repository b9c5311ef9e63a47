/*
 * An operator that Fluid copies is made anew by its front end: attributes that the input lacks (an older
 * release wrote it) get the defaults of release 1.8.5, and get its types: INT is widened to LONG,
 * INTS to LONGS, an empty list takes the declared type. Operators that the table does not know keep
 * what they have.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "desc/edit.h"
#include "desc/query.h"
#include "ops/op.h"
#include "transpile/internal.h"

#define MAX_DEFAULT 16

static bool is_list(int type)
{
	switch (type) {
	case FL_ATTR_INTS:
	case FL_ATTR_FLOATS:
	case FL_ATTR_STRINGS:
	case FL_ATTR_BOOLEANS:
	case FL_ATTR_BLOCKS:
	case FL_ATTR_LONGS:
	case FL_ATTR_FLOAT64S: return true;
	}
	return false;
}

static void widen(struct fl_program *prog, fl_pb_op *op, const struct fl_attr_def *def)
{
	const fl_pb_attr *a = fl_op_attr(op, def->name);
	size_t n = fl_attr_len(op, def->name);
	int64_t *v;

	if ((int)a->type == FL_ATTR_INT && def->type == FL_ATTR_LONG) {
		fl_op_set_long(prog, op, def->name, a->i);
	} else if ((int)a->type == FL_ATTR_INTS && def->type == FL_ATTR_LONGS) {
		v = FL_ARENA_NEW_N(prog->arena, int64_t, n);
		for (size_t i = 0; i < n; i++)
			v[i] = fl_attr_int_at(op, def->name, i);
		fl_op_set_longs(prog, op, def->name, v, n);
	} else if (!n && is_list((int)a->type) && is_list(def->type)) {
		fl_op_set_attr(prog, op, def->name, def->type);
	}
}

/* "1,1" -> {1, 1}. */
static size_t parse_ints(const char *s, int64_t *v)
{
	size_t n = 0;

	while (s && *s && n < MAX_DEFAULT) {
		char *end;

		v[n++] = strtoll(s, &end, 10);
		s = *end == ',' ? end + 1 : NULL;
	}
	return n;
}

static void set_default(struct fl_program *prog, fl_pb_op *op, const struct fl_attr_def *def)
{
	int64_t longs[MAX_DEFAULT];
	int32_t ints[MAX_DEFAULT];
	size_t n;

	switch (def->type) {
	case FL_ATTR_INT: fl_op_set_int(prog, op, def->name, (int32_t)def->i); break;
	case FL_ATTR_LONG: fl_op_set_long(prog, op, def->name, def->i); break;
	case FL_ATTR_BOOLEAN: fl_op_set_bool(prog, op, def->name, def->i != 0); break;
	case FL_ATTR_FLOAT: fl_op_set_float(prog, op, def->name, def->f); break;
	case FL_ATTR_STRING: fl_op_set_str(prog, op, def->name, def->s ? def->s : ""); break;
	case FL_ATTR_INTS:
	case FL_ATTR_LONGS:
		n = parse_ints(def->s, longs);
		for (size_t i = 0; i < n; i++)
			ints[i] = (int32_t)longs[i];
		if (def->type == FL_ATTR_INTS)
			fl_op_set_ints(prog, op, def->name, ints, n);
		else
			fl_op_set_longs(prog, op, def->name, longs, n);
		break;
	case FL_ATTR_FLOATS:
	case FL_ATTR_STRINGS:
	case FL_ATTR_BOOLEANS: fl_op_set_attr(prog, op, def->name, def->type); break;
	}
}

void tp_complete(struct fl_program *prog, fl_pb_op *op)
{
	const struct fl_op_def *def = fl_op_find(op->type);

	fl_op_del_attr(op, FL_ATTR_CALLSTACK);
	fl_op_set_str(prog, op, FL_ATTR_NAMESCOPE, "/");
	if (!fl_op_attr(op, FL_ATTR_ROLE))
		fl_op_set_int(prog, op, FL_ATTR_ROLE, FL_ROLE_FORWARD);
	if (!fl_op_attr(op, FL_ATTR_ROLE_VAR))
		fl_op_set_strs(prog, op, FL_ATTR_ROLE_VAR, NULL, 0);
	if (!fl_op_attr(op, FL_ATTR_DEVICE))
		fl_op_set_str(prog, op, FL_ATTR_DEVICE, "");
	for (const struct fl_attr_def *a = def ? def->attrs : NULL; a && a->name; a++) {
		const fl_pb_attr *have = fl_op_attr(op, a->name);

		if (have && (int)have->type != a->type)
			widen(prog, op, a);
		else if (!have && !(a->flags & FL_REQUIRED))
			set_default(prog, op, a);
	}
}
