/* Looking operators, slots and attributes up. */
#include "ops/op.h"

#include <string.h>

#include "base/mem.h"
#include "base/near.h"
#include "desc/query.h"

const char *fl_op_suggest(const char *type)
{
	const struct fl_op_def *def;
	struct fl_near near;

	fl_near_init(&near, type);
	for (size_t i = 0; (def = fl_op_at(i)); i++)
		fl_near_try(&near, def->type);
	return near.best;
}

int fl_slot_index(const struct fl_slot_def *slots, const char *name)
{
	for (int i = 0; slots[i].name; i++)
		if (!strcmp(slots[i].name, name))
			return i;
	return -1;
}

size_t fl_slot_count(const struct fl_slot_def *slots)
{
	size_t n = 0;

	while (slots[n].name)
		n++;
	return n;
}

/* What every operator may carry, whatever its maker declares. */
static const struct fl_attr_def common[] = {
	{ .name = "op_role", .type = FL_ATTR_INT, .flags = FL_IGNORED },
	{ .name = "op_role_var", .type = FL_ATTR_STRINGS, .flags = FL_IGNORED },
	{ .name = "op_namescope", .type = FL_ATTR_STRING, .flags = FL_IGNORED },
	{ .name = "op_callstack", .type = FL_ATTR_STRINGS, .flags = FL_IGNORED },
	{ .name = "op_device", .type = FL_ATTR_STRING, .flags = FL_IGNORED },
	{ .name = "use_mkldnn", .type = FL_ATTR_BOOLEAN, .flags = FL_IGNORED },
	{ .name = "use_cudnn", .type = FL_ATTR_BOOLEAN, .flags = FL_IGNORED },
	{ .name = "use_quantizer", .type = FL_ATTR_BOOLEAN, .flags = FL_IGNORED },
	{ .name = "workspace_size_MB", .type = FL_ATTR_INT, .flags = FL_IGNORED },
	{ .name = "skip_eager_deletion_vars", .type = FL_ATTR_STRINGS, .flags = FL_IGNORED },
	{ .name = "@ALL_KERNELS_MUST_COMPUTE_RUNTIME_SHAPE@", .type = FL_ATTR_BOOLEAN,
		.flags = FL_IGNORED },
};

const struct fl_attr_def *fl_attr_find(const struct fl_op_def *def, const char *name)
{
	for (const struct fl_attr_def *a = def->attrs; a && a->name; a++)
		if (!strcmp(a->name, name))
			return a;
	for (size_t i = 0; i < FL_COUNT(common); i++)
		if (!strcmp(common[i].name, name))
			return &common[i];
	return NULL;
}

/* Kinds that are read as one another. */
enum kind { INTEGER, NUMBER, TEXT, INTEGERS, NUMBERS, TEXTS, OTHER };

static enum kind kind_of(int type)
{
	switch (type) {
	case FL_ATTR_INT:
	case FL_ATTR_LONG:
	case FL_ATTR_BOOLEAN:
	case FL_ATTR_BLOCK: return INTEGER;
	case FL_ATTR_FLOAT:
	case FL_ATTR_FLOAT64: return NUMBER;
	case FL_ATTR_STRING: return TEXT;
	case FL_ATTR_INTS:
	case FL_ATTR_LONGS:
	case FL_ATTR_BOOLEANS:
	case FL_ATTR_BLOCKS: return INTEGERS;
	case FL_ATTR_FLOATS:
	case FL_ATTR_FLOAT64S: return NUMBERS;
	case FL_ATTR_STRINGS: return TEXTS;
	default: return OTHER;
	}
}

static bool readable(const fl_pb_op *op, const fl_pb_attr *a, int wanted)
{
	enum kind have = kind_of((int)a->type), want = kind_of(wanted);
	bool list = have == INTEGERS || have == NUMBERS || have == TEXTS;

	/* 0.12 wrote one number where later versions have a list. */
	if (have == want || (want == INTEGERS && have == INTEGER) || have == OTHER)
		return true;
	if ((want == NUMBER && have == INTEGER) || (want == NUMBERS && have == INTEGERS))
		return true;
	return list && want >= INTEGERS && !fl_attr_len(op, a->name);
}

enum fl_code fl_op_check_attrs(const struct fl_op_def *def, const fl_pb_op *op, struct fl_err *err)
{
	for (const struct fl_attr_def *d = def->attrs; d && d->name; d++) {
		const fl_pb_attr *a = fl_op_attr(op, d->name);

		if (!a && (d->flags & FL_REQUIRED))
			return fl_err_set(err, FL_EINVAL, "attribute '%s' is missing, expected one of type %s",
				d->name, fl_attr_type_name(d->type));
		if (a && !(d->flags & FL_IGNORED) && !readable(op, a, d->type))
			return fl_err_set(err, FL_EINVAL, "attribute '%s' is of type %s, expected %s", d->name,
				fl_attr_type_name((int)a->type), fl_attr_type_name(d->type));
	}
	return FL_OK;
}
