/*
 * Running a frame. Per operator: are the inputs there and do they look as they did last time? If
 * not, infer shapes. Then give the outputs type, shape, LoD and memory, and call the kernel.
 *
 * An output that is one of the inputs (sgd's ParamOut) keeps its memory. Where that memory is held
 * elsewhere (a reply on its way), it is copied first; where the shape changes, the kernel reads the
 * old value from a shadow variable. A LoD that inference did not share is cleared, as 1.8.5 leaves
 * outputs without one.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "desc/names.h"
#include "desc/query.h"
#include "exec/frame.h"

/* seen.kind of an argument that was bound to no variable. */
enum { ABSENT = -1 };

static const struct fl_tensor *value_of(const struct fl_var *var)
{
	return var->kind == FL_SELECTED_ROWS ? &var->rows.value : &var->tensor;
}

/* Did the input look like that? Notes how it looks now. Arrays are never taken for unchanged. */
static bool look(struct seen *seen, const struct fl_var *var)
{
	const struct fl_tensor *t = value_of(var);
	int64_t height = var->kind == FL_SELECTED_ROWS ? var->rows.height : 0;
	bool same = seen->kind == var->kind && seen->dtype == t->dtype && seen->rank == t->rank &&
		!memcmp(seen->dims, t->dims, (size_t)t->rank * sizeof *t->dims) &&
		fl_lod_equal(&seen->lod, &t->lod) && var->kind != FL_LOD_TENSOR_ARRAY &&
		seen->height == height;

	if (same)
		return true;
	seen->kind = var->kind;
	seen->dtype = t->dtype;
	seen->rank = t->rank;
	memcpy(seen->dims, t->dims, (size_t)t->rank * sizeof *t->dims);
	fl_lod_copy(&seen->lod, &t->lod);
	seen->height = height;
	return false;
}

static bool lacks_value(const struct fl_var *var)
{
	return (var->kind == FL_LOD_TENSOR || var->kind == FL_SELECTED_ROWS) && !fl_var_has_value(var);
}

/* Old gradient operators list intermediates that the forward operator fills only sometimes (the
 * MaxIndex of sequence_pool): without a value they are absent. */
static bool may_be_empty(const struct side *s, size_t arg)
{
	size_t i = 0;

	while (arg >= s->first[i + 1])
		i++;
	return (s->defs[i].flags & (FL_OPT | FL_MID)) == (FL_OPT | FL_MID);
}

static enum fl_code check_inputs(const struct fl_frame *f, struct node *n, struct fl_err *err)
{
	for (size_t i = 0; i < n->in.n; i++) {
		struct fl_var *var = n->in.bound[i];

		if (var && lacks_value(var) && may_be_empty(&n->in, i))
			var = NULL;
		n->in.vars[i] = var;
		if (!var) {
			/* Absent by now: other inputs give the shape. */
			if (n->seen[i].kind != ABSENT)
				n->inferred = false;
			n->seen[i].kind = ABSENT;
			continue;
		}
		if (lacks_value(var))
			return fl_err_set(err, FL_ESTATE,
				"input '%s' (variable '%s'): expected a value, found none",
				fl_side_slot_name(&n->in, i), f->slots[n->in.slot[i]].name);
		if (!look(&n->seen[i], var))
			n->inferred = false;
	}
	return FL_OK;
}

/* ---- inference ------------------------------------------------------------------------------- */

static int declared_dtype(const struct fl_frame *f, int slot)
{
	const fl_pb_var *decl = f->slots[slot].decl;

	return decl ? fl_var_dtype(decl) : -1;
}

/* The input whose LoD inference gave to an output: by its place, since variables may be rebound. */
static int find_lod(const struct node *n, const struct fl_lod *lod)
{
	for (size_t i = 0; lod && i < n->in.n; i++)
		if (n->in.vars[i] && n->in.meta[i].lod == lod)
			return (int)i;
	return -1;
}

static void start_metas(struct node *n)
{
	for (size_t i = 0; i < n->in.n; i++) {
		n->in.meta_at[i] = n->in.vars[i] ? &n->in.meta[i] : NULL;
		if (n->in.vars[i])
			fl_var_meta(n->in.vars[i], &n->in.meta[i]);
	}
	for (size_t i = 0; i < n->out.n; i++)
		if (n->out.vars[i])
			n->out.meta[i] = (struct fl_meta){ .kind = n->out.vars[i]->kind,
				.dtype = -1, .rank = -1 };
}

static enum fl_code infer(const struct fl_frame *f, struct node *n, struct fl_err *err)
{
	struct fl_infer c = { .def = n->def, .op = n->op, .run_time = true, .in = n->in.metas,
		.out = n->out.metas, .n_in = n->in.n_slots, .n_out = n->out.n_slots };

	start_metas(n);
	if (n->def->infer)
		FL_TRY(n->def->infer(&c, err));
	for (size_t i = 0; i < n->out.n; i++) {
		struct fl_meta *m = &n->out.meta[i];

		if (!n->out.vars[i])
			continue;
		if (m->rank >= 0 && m->dtype < 0)
			m->dtype = declared_dtype(f, n->out.slot[i]);
		n->lod_from[i] = find_lod(n, m->lod);
		m->lod = NULL;
	}
	n->inferred = true;
	return FL_OK;
}

/* ---- outputs --------------------------------------------------------------------------------- */

static bool fits(const struct fl_tensor *t, const struct fl_meta *m)
{
	return t->mem && t->dtype == m->dtype && t->rank == m->rank &&
		!memcmp(t->dims, m->dims, (size_t)m->rank * sizeof *m->dims);
}

/* Own memory for a value that others hold, too. */
static enum fl_code unshare(struct fl_tensor *t, struct fl_err *err)
{
	struct fl_mem *old = fl_mem_hold(t->mem);
	const char *from = fl_data(t);
	enum fl_code code = fl_tensor_resize(t, t->dtype, t->dims, t->rank, err);

	if (code == FL_OK)
		memcpy(fl_data(t), from, fl_tensor_bytes(t));
	fl_mem_rele(old);
	return code;
}

static void show_shadow(struct node *n, size_t out, struct fl_var *instead)
{
	for (size_t i = 0; i < n->in.n; i++)
		if (n->in.slot[i] == n->out.slot[out])
			n->in.vars[i] = instead;
}

static enum fl_code in_place(struct node *n, size_t i, struct fl_err *err)
{
	struct fl_tensor *t = &n->out.vars[i]->tensor;
	const struct fl_meta *m = &n->out.meta[i];
	struct fl_var *shadow = &n->shadow[i];

	if (fits(t, m)) {
		if (atomic_load_explicit(&t->mem->refs, memory_order_acquire) != 1)
			return unshare(t, err);
		return FL_OK;
	}
	shadow->name = n->out.vars[i]->name;
	fl_tensor_share(&shadow->tensor, t);
	show_shadow(n, i, shadow);
	return fl_tensor_resize(t, m->dtype, m->dims, m->rank, err);
}

static void set_lod(struct node *n, size_t i, struct fl_tensor *t)
{
	int from = n->lod_from[i];

	if (from < 0)
		fl_lod_clear(&t->lod);
	else
		fl_lod_copy(&t->lod, &value_of(n->in.vars[from])->lod);
}

static enum fl_code prepare_output(struct node *n, size_t i, struct fl_err *err)
{
	struct fl_var *var = n->out.vars[i];
	const struct fl_meta *m = &n->out.meta[i];

	if (m->kind >= 0 && m->kind != var->kind) {
		if (n->alias[i] >= 0)
			return fl_err_set(err, FL_EUNSUPPORTED,
				"it would change its kind while it is an input, too");
		fl_var_set_kind(var, m->kind);
	}
	if (var->kind == FL_SELECTED_ROWS && m->rank > 0)
		var->rows.height = m->dims[0];
	if (var->kind != FL_LOD_TENSOR || m->rank < 0 || (n->def->flags & FL_OP_DYNAMIC))
		return FL_OK;
	if (n->alias[i] >= 0 && var->tensor.mem)
		FL_TRY(in_place(n, i, err));
	else
		FL_TRY(fl_tensor_resize(&var->tensor, m->dtype, m->dims, m->rank, err));
	set_lod(n, i, &var->tensor);
	return FL_OK;
}

static enum fl_code prepare_outputs(const struct fl_frame *f, struct node *n, struct fl_err *err)
{
	for (size_t i = 0; i < n->out.n; i++) {
		if (!n->out.vars[i])
			continue;
		if (prepare_output(n, i, err) != FL_OK)
			return fl_err_wrap(err, "output '%s' (variable '%s')",
				fl_side_slot_name(&n->out, i), f->slots[n->out.slot[i]].name);
	}
	return FL_OK;
}

static void drop_shadows(struct node *n)
{
	for (size_t i = 0; i < n->out.n; i++) {
		if (!n->shadow[i].tensor.mem)
			continue;
		show_shadow(n, i, n->out.vars[i]);
		fl_tensor_clear(&n->shadow[i].tensor);
	}
}

/* ---- NaN and infinity ------------------------------------------------------------------------ */

/* Position of the first element that is not finite, or -1. */
static int64_t find_not_finite(const struct fl_tensor *t)
{
	int64_t n = fl_numel(t);

	if (t->dtype == FL_FP32) {
		const float *v = n ? fl_data(t) : NULL;

		for (int64_t i = 0; i < n; i++)
			if (!isfinite(v[i]))
				return i;
	} else if (t->dtype == FL_FP64) {
		const double *v = n ? fl_data(t) : NULL;

		for (int64_t i = 0; i < n; i++)
			if (!isfinite(v[i]))
				return i;
	}
	return -1;
}

static double element(const struct fl_tensor *t, int64_t i)
{
	return t->dtype == FL_FP32 ? (double)((const float *)fl_data(t))[i]
				   : ((const double *)fl_data(t))[i];
}

static enum fl_code check_finite(const struct fl_frame *f, const struct node *n, struct fl_err *err)
{
	for (size_t i = 0; i < n->out.n; i++) {
		const struct fl_var *var = n->out.vars[i];
		int64_t at = -1;

		if (var && (var->kind == FL_LOD_TENSOR || var->kind == FL_SELECTED_ROWS))
			at = find_not_finite(value_of(var));
		if (at >= 0)
			return fl_err_set(err, FL_ESTATE,
				"output '%s' (variable '%s'): element %" PRId64 " is %g",
				fl_side_slot_name(&n->out, (size_t)i), f->slots[n->out.slot[i]].name, at,
				element(value_of(var), at));
	}
	return FL_OK;
}

/* ---- running --------------------------------------------------------------------------------- */

static enum fl_code run_node(struct fl_frame *f, struct node *n, struct fl_err *err)
{
	enum fl_code code = FL_OK;

	if (!n->k.def)
		return FL_OK;
	if (!(n->def->flags & FL_OP_HOST)) {
		FL_TRY(check_inputs(f, n, err));
		if (!n->inferred)
			FL_TRY(infer(f, n, err));
		code = prepare_outputs(f, n, err);
	}
	if (code == FL_OK)
		code = n->k.def->run(&n->k, err);
	drop_shadows(n);
	if (code == FL_OK && f->env.check_nan_inf)
		code = check_finite(f, n, err);
	return code;
}

enum fl_code fl_frame_run(struct fl_frame *frame, struct fl_err *err)
{
	for (size_t i = 0; i < frame->n; i++) {
		if (run_node(frame, &frame->nodes[i], err) != FL_OK)
			return fl_frame_wrap(frame, i, err);
	}
	return FL_OK;
}
