/*
 * Shapes and element types, by the operators' own inference: inputs as they are declared, outputs
 * compared with their declarations. What is not known (-1, no description) agrees with
 * everything; so does a zero (XShape, gradients of control flow), and the height of SelectedRows, which
 * a slice's gradient keeps from the whole.
 *
 * Element types that do not fit are notes: Fluid converts the inputs to the type of the kernel,
 * and published programs rely on it.
 */
#include <string.h>

#include "base/mem.h"
#include "desc/names.h"
#include "desc/query.h"
#include "inspect/check.h"
#include "inspect/text.h"
#include "ops/op.h"

#define ELEMENTS_MAX ((int64_t)1 << 48)
#define OUT_TEXT "output '%s': variable '%.100s' is declared as %s, the operator makes %s"

/* The metas of one side of an operator. */
struct side {
	struct fl_metas *slots;
	struct fl_meta *metas; /* one after the other */
	const char **names;    /* of the same variables */
	struct fl_meta **ptrs;
	size_t n_slots;
};

bool fl_shape_fits(const fl_pb_tensor *t)
{
	int64_t n = 1;

	for (size_t i = 0; i < t->n_dims; i++) {
		int64_t d = t->dims[i] > 0 ? t->dims[i] : 1;

		if (d > ELEMENTS_MAX / n)
			return false;
		n *= d;
	}
	return true;
}

static void fill(struct fl_meta *m, const fl_pb_var *v)
{
	const fl_pb_tensor *t = v ? fl_var_tensor(v) : NULL;

	*m = (struct fl_meta){ .kind = v ? (int)v->type->type : -1, .dtype = -1, .rank = -1 };
	if (!t)
		return;
	m->dtype = (int)t->data_type;
	m->lod_level = fl_var_lod_level(v);
	if (!t->n_dims || t->n_dims > FL_MAX_RANK)
		return;
	m->rank = (int)t->n_dims;
	for (int i = 0; i < m->rank; i++)
		m->dims[i] = t->dims[i] <= 0 ? -1 : t->dims[i];
	if (m->kind == FL_SELECTED_ROWS)
		m->dims[0] = -1;
	/* reported with the variable; inference may multiply what it is given */
	if (!fl_shape_fits(t))
		m->rank = -1;
}

static size_t count_args(fl_pb_slot *const *slots, size_t n)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += slots[i]->n_arguments;
	return count;
}

/* Slots of one name count as one; those that the definition does not have are left out. Inputs are
 * filled from their declarations, outputs are unknown. */
static void make_side(struct side *s, const struct fl_slot_def *defs, fl_pb_slot *const *slots,
	size_t n, const struct fl_scope_view *view, bool in)
{
	size_t total = count_args(slots, n), used = 0;

	s->n_slots = fl_slot_count(defs);
	s->slots = FL_NEW_N(struct fl_metas, s->n_slots + 1);
	s->metas = FL_NEW_N(struct fl_meta, total + 1);
	s->names = FL_NEW_N(const char *, total + 1);
	s->ptrs = FL_NEW_N(struct fl_meta *, total + 1);
	for (size_t d = 0; d < s->n_slots; d++) {
		s->slots[d].at = s->ptrs + used;
		for (size_t i = 0; i < n; i++) {
			if (strcmp(slots[i]->parameter, defs[d].name))
				continue;
			for (size_t k = 0; k < slots[i]->n_arguments && used < total; k++, used++) {
				const char *name = slots[i]->arguments[k];

				s->names[used] = name;
				fill(&s->metas[used], in ? view->find(view->arg, name) : NULL);
				s->ptrs[used] = strcmp(name, FL_EMPTY_VAR) ? &s->metas[used] : NULL;
				s->slots[d].n++;
			}
		}
	}
}

static void free_side(struct side *s)
{
	fl_free(s->slots);
	fl_free(s->metas);
	fl_free(s->names);
	fl_free(s->ptrs);
}

/* 2.x writes a scalar as [] where 1.8 writes [1]: shapes of one element agree. */
static bool one_element(const struct fl_meta *m)
{
	return fl_dims_product(m->dims, 0, m->rank) == 1;
}

static bool dims_agree(const struct fl_meta *a, const struct fl_meta *b)
{
	if (a->rank < 0 || b->rank < 0 || (one_element(a) && one_element(b)))
		return true;
	if (a->rank != b->rank)
		return false;
	for (int i = 0; i < a->rank; i++)
		if (a->dims[i] >= 0 && b->dims[i] >= 0 && a->dims[i] != b->dims[i])
			return false;
	return true;
}

static void compare_dims(const struct fl_place *at, struct fl_report *r, const char *slot,
	const char *name, const struct fl_meta *found, const struct fl_meta *declared, bool is_read)
{
	char x[FL_DIMS_STR], y[FL_DIMS_STR];

	if (dims_agree(found, declared))
		return;
	fl_dims_str(declared->dims, declared->rank, y, sizeof y);
	fl_dims_str(found->dims, found->rank, x, sizeof x);
	/* a shape that nobody relies on breaks nothing */
	if (is_read)
		fl_report_problem(r, at, OUT_TEXT, slot, name, y, x);
	else
		fl_report_note(r, at, name, OUT_TEXT, slot, name, y, x);
}

static void compare_types(const struct fl_place *at, struct fl_report *r, const char *slot,
	const char *name, const struct fl_meta *found, const struct fl_meta *declared)
{
	struct fl_buf a = FL_BUF_INIT, b = FL_BUF_INIT;

	if (found->dtype >= 0 && declared->dtype >= 0 && found->dtype != declared->dtype) {
		fl_text_type(&a, found->dtype);
		fl_text_type(&b, declared->dtype);
		fl_report_note(r, at, name, OUT_TEXT, slot, name, fl_buf_str(&b), fl_buf_str(&a));
	}
	fl_buf_release(&a);
	fl_buf_release(&b);
}

static void compare_outputs(const struct fl_place *at, const struct fl_op_def *def,
	const struct side *out, const struct fl_scope_view *view, struct fl_report *r)
{
	for (size_t d = 0; d < out->n_slots; d++)
		for (size_t k = 0; k < out->slots[d].n; k++) {
			size_t i = (size_t)(out->slots[d].at - out->ptrs) + k;
			struct fl_meta declared;

			if (!out->ptrs[i])
				continue;
			fill(&declared, view->find(view->arg, out->names[i]));
			compare_dims(at, r, def->outputs[d].name, out->names[i], out->ptrs[i], &declared,
				view->is_read(view->arg, out->names[i]));
			compare_types(at, r, def->outputs[d].name, out->names[i], out->ptrs[i], &declared);
		}
}

/* Inference relies on the slots that the definition requires. */
static bool complete(const struct fl_slot_def *defs, const struct side *s)
{
	for (size_t d = 0; d < s->n_slots; d++)
		if (!s->slots[d].n && !(defs[d].flags & (FL_OPT | FL_MID)))
			return false;
	return true;
}

/* Everything that inference has set, taken back; inputs lose their element types. */
static void forget(struct side *in, struct side *out)
{
	for (size_t d = 0; d < in->n_slots; d++)
		for (size_t k = 0; k < in->slots[d].n; k++)
			if (in->slots[d].at[k])
				in->slots[d].at[k]->dtype = -1;
	for (size_t d = 0; d < out->n_slots; d++)
		for (size_t k = 0; k < out->slots[d].n; k++)
			if (out->slots[d].at[k])
				fill(out->slots[d].at[k], NULL);
}

static void infer(const struct fl_place *at, const struct fl_op_def *def, struct side *in,
	struct side *out, const struct fl_scope_view *view, struct fl_report *r)
{
	struct fl_infer c = { .def = def, .op = at->op, .in = in->slots, .out = out->slots,
		.n_in = in->n_slots, .n_out = out->n_slots };
	struct fl_err err, shapes;

	if (def->infer(&c, &err) != FL_OK) {
		forget(in, out);
		if (def->infer(&c, &shapes) != FL_OK) {
			fl_report_problem(r, at, "%s", err.msg);
			return;
		}
		fl_report_note(r, at, err.msg, "%s", err.msg);
	}
	compare_outputs(at, def, out, view, r);
}

void fl_check_shape(const struct fl_place *at, const struct fl_scope_view *view,
	struct fl_report *r)
{
	const struct fl_op_def *def = fl_op_find(at->op->type);
	struct side in, out;

	if (!def || !def->infer || (def->flags & FL_OP_HOST))
		return;
	make_side(&in, def->inputs, at->op->inputs, at->op->n_inputs, view, true);
	make_side(&out, def->outputs, at->op->outputs, at->op->n_outputs, view, false);
	if (complete(def->inputs, &in) && complete(def->outputs, &out))
		infer(at, def, &in, &out, view, r);
	free_side(&in);
	free_side(&out);
}
