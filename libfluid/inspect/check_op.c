/* One operator against its definition: its slots and attributes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/near.h"
#include "inspect/check.h"
#include "inspect/text.h"
#include "ops/op.h"

static size_t arguments(fl_pb_slot *const *slots, size_t n, const char *name)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		if (!strcmp(slots[i]->parameter, name))
			count += slots[i]->n_arguments;
	return count;
}

/* Releases after 1.8 gave some operators other slots: what does not fit is only a note there. */
static void bad_slot(const struct fl_place *at, struct fl_report *r, const char *text)
{
	struct fl_buf kind = FL_BUF_INIT;

	fl_buf_addf(&kind, "slot %s: %s", at->op->type, text);
	if (at->newer)
		fl_report_note(r, at, fl_buf_str(&kind), "%s", text);
	else
		fl_report_problem(r, at, "%s", text);
	fl_buf_release(&kind);
}

static void unknown_slot(const struct fl_place *at, struct fl_report *r, const char *what,
	const char *name, const struct fl_slot_def *defs)
{
	struct fl_near near;
	char text[160];

	fl_near_init(&near, name);
	for (const struct fl_slot_def *d = defs; d->name; d++)
		fl_near_try(&near, d->name);
	snprintf(text, sizeof text, "it has no %s '%.60s'%s%s%s", what, name,
		near.best ? ", did you mean '" : "", near.best ? near.best : "",
		near.best ? "'?" : "");
	bad_slot(at, r, text);
}

static void check_slots(const struct fl_place *at, struct fl_report *r, const char *what,
	const struct fl_slot_def *defs, fl_pb_slot *const *slots, size_t n)
{
	char text[160];

	for (size_t i = 0; i < n; i++)
		if (slots[i]->n_arguments && fl_slot_index(defs, slots[i]->parameter) < 0)
			unknown_slot(at, r, what, slots[i]->parameter, defs);
	for (const struct fl_slot_def *d = defs; d->name; d++) {
		size_t count = arguments(slots, n, d->name);

		if (!count && !(d->flags & (FL_OPT | FL_MID))) {
			snprintf(text, sizeof text, "%s '%s' is missing", what, d->name);
			bad_slot(at, r, text);
		}
		if (count > 1 && !(d->flags & FL_DUP))
			fl_report_problem(r, at, "%s '%s' takes one variable, %zu are given", what,
				d->name, count);
	}
}

/* Old and new releases write whole numbers in any of these forms, and read all of them. */
static int family(int type)
{
	switch (type) {
	case FL_ATTR_INT:
	case FL_ATTR_LONG:
	case FL_ATTR_BOOLEAN: return FL_ATTR_INT;
	case FL_ATTR_INTS:
	case FL_ATTR_LONGS:
	case FL_ATTR_BOOLEANS: return FL_ATTR_INTS;
	case FL_ATTR_FLOAT:
	case FL_ATTR_FLOAT64: return FL_ATTR_FLOAT;
	case FL_ATTR_FLOATS:
	case FL_ATTR_FLOAT64S: return FL_ATTR_FLOATS;
	}
	return type;
}

static void check_attr_type(const struct fl_place *at, struct fl_report *r, const fl_pb_attr *a,
	const struct fl_attr_def *d)
{
	int found = family((int)a->type), wanted = family(d->type);
	struct fl_buf text = FL_BUF_INIT;

	if (found == wanted)
		return;
	fl_buf_addf(&text, "attribute '%.60s' is of type ", a->name);
	fl_text_attr_type(&text, (int)a->type);
	fl_buf_addf(&text, ", expected %s", fl_attr_type_name(d->type));
	/* releases before 1.0 wrote one number where there is a list now (reduce_mean's dim) */
	if ((found == FL_ATTR_INT && wanted == FL_ATTR_INTS) ||
		(found == FL_ATTR_FLOAT && wanted == FL_ATTR_FLOATS))
		fl_report_note(r, at, fl_buf_str(&text), "%s", fl_buf_str(&text));
	else
		fl_report_problem(r, at, "%s", fl_buf_str(&text));
	fl_buf_release(&text);
}

static void unknown_attr(const struct fl_place *at, struct fl_report *r,
	const struct fl_op_def *def, const char *name)
{
	struct fl_buf kind = FL_BUF_INIT;
	struct fl_near near;

	fl_near_init(&near, name);
	for (const struct fl_attr_def *d = def->attrs; d && d->name; d++)
		fl_near_try(&near, d->name);
	fl_buf_addf(&kind, "attr %s.%s", at->op->type, name);
	if (near.best)
		fl_report_note(r, at, fl_buf_str(&kind),
			"attribute '%.60s' is not known, did you mean '%s'?", name, near.best);
	else
		fl_report_note(r, at, fl_buf_str(&kind), "attribute '%.60s' is not known", name);
	fl_buf_release(&kind);
}

static int by_name(const void *x, const void *y)
{
	return strcmp((*(fl_pb_attr *const *)x)->name, (*(fl_pb_attr *const *)y)->name);
}

static bool same_value(const fl_pb_attr *a, const fl_pb_attr *b)
{
	struct fl_buf x = FL_BUF_INIT, y = FL_BUF_INIT;
	bool same;

	fl_text_value(&x, a);
	fl_text_value(&y, b);
	same = a->type == b->type && !strcmp(fl_buf_str(&x), fl_buf_str(&y));
	fl_buf_release(&x);
	fl_buf_release(&y);
	return same;
}

/* Paddle 2.6 writes some attributes twice with one value; two values are a contradiction. */
static void check_twice(const struct fl_place *at, struct fl_report *r)
{
	size_t n = at->op->n_attrs;
	fl_pb_attr **sorted;

	if (n < 2)
		return;
	sorted = FL_NEW_N(fl_pb_attr *, n);
	memcpy(sorted, at->op->attrs, n * sizeof *sorted);
	qsort(sorted, n, sizeof *sorted, by_name);
	for (size_t i = 1; i < n; i++)
		if (!strcmp(sorted[i - 1]->name, sorted[i]->name) &&
			!same_value(sorted[i - 1], sorted[i]))
			fl_report_problem(r, at, "attribute '%.60s' has two values", sorted[i]->name);
	fl_free(sorted);
}

static const fl_pb_attr *find_attr(const fl_pb_op *op, const char *name)
{
	for (size_t i = 0; i < op->n_attrs; i++)
		if (!strcmp(op->attrs[i]->name, name))
			return op->attrs[i];
	return NULL;
}

static void check_attrs(const struct fl_place *at, struct fl_report *r, const struct fl_op_def *def)
{
	for (size_t i = 0; i < at->op->n_attrs; i++) {
		const fl_pb_attr *a = at->op->attrs[i];
		const struct fl_attr_def *d = fl_attr_find(def, a->name);

		if (d)
			check_attr_type(at, r, a, d);
		else
			unknown_attr(at, r, def, a->name);
	}
	for (const struct fl_attr_def *d = def->attrs; d && d->name; d++)
		if ((d->flags & FL_REQUIRED) && !find_attr(at->op, d->name))
			fl_report_problem(r, at, "attribute '%s' is missing", d->name);
}

static void unknown_op(const struct fl_place *at, struct fl_report *r)
{
	bool told = fl_map_has(&r->seen, at->op->type) || fl_report_full(r);
	const char *near = told ? NULL : fl_op_suggest(at->op->type);
	struct fl_buf text = FL_BUF_INIT;

	fl_buf_adds(&text, "this build does not know the operator");
	if (near)
		fl_buf_addf(&text, ", did you mean '%s'?", near);
	if (r->strict) {
		fl_report_problem(r, at, "%s", fl_buf_str(&text));
		fl_map_put(&r->seen, at->op->type, NULL);
	} else {
		fl_report_note(r, at, at->op->type, "%s", fl_buf_str(&text));
	}
	fl_buf_release(&text);
}

void fl_check_op(const struct fl_place *at, struct fl_report *r)
{
	const struct fl_op_def *def = fl_op_find(at->op->type);

	check_twice(at, r);
	if (!*at->op->type) {
		fl_report_problem(r, at, "the operator has no type");
		return;
	}
	if (!def) {
		unknown_op(at, r);
		return;
	}
	check_slots(at, r, "input", def->inputs, at->op->inputs, at->op->n_inputs);
	check_slots(at, r, "output", def->outputs, at->op->outputs, at->op->n_outputs);
	check_attrs(at, r, def);
}
