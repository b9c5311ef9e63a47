/* Putting together and taking apart: concat, split, split_byref, split_selected_rows (operators.md
 * 4.4; transpiler.md on the blocks of parameters). Whole runs of bytes are copied. */
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "desc/query.h"
#include "kernels/internal.h"

/* Copies a part's columns from or into the whole: `outer` runs of part_run bytes. */
static void copy_runs(char *to, size_t to_step, const char *from, size_t from_step, size_t run,
	int64_t outer)
{
	for (int64_t i = 0; i < outer; i++)
		memcpy(to + (size_t)i * to_step, from + (size_t)i * from_step, run);
}

static size_t run_bytes(const struct fl_tensor *t, int64_t axis)
{
	return (size_t)fl_dims_product(t->dims, (int)axis, t->rank) * fl_dtype_size(t->dtype);
}

static enum fl_code find_axis(const struct fl_kernel *k, int slot, int rank, int64_t *axis,
	struct fl_err *err)
{
	const struct fl_tensor *from = fl_in(k, slot, 0);

	*axis = fl_attr_int(k->op, "axis", 0);
	if (from && (from->dtype == FL_INT32 || from->dtype == FL_INT64) && fl_numel(from) == 1)
		*axis = fl_k_element(from, 0);
	if (*axis < -rank || *axis >= rank)
		return fl_err_set(err, FL_EINVAL, "the axis is %" PRId64 ", expected %d to %d", *axis, -rank,
			rank - 1);
	*axis += *axis < 0 ? rank : 0;
	return FL_OK;
}

/* ---- concat ---------------------------------------------------------------------------------- */

static enum fl_code concat_shape(struct fl_kernel *k, int64_t axis, int64_t *dims, struct fl_err *err)
{
	const struct fl_tensor *first = fl_in(k, 0, 0);

	memcpy(dims, first->dims, sizeof first->dims);
	for (size_t i = 1; i < k->in[0].n; i++) {
		const struct fl_tensor *t = fl_in(k, 0, i);
		bool same = t && t->rank == first->rank && t->dtype == first->dtype;

		for (int d = 0; same && d < t->rank; d++)
			same = d == axis || t->dims[d] == first->dims[d];
		if (!same)
			return fl_err_set(err, FL_EINVAL,
				"'X'[%zu] differs from the first in more than dimension %" PRId64, i, axis);
		dims[axis] += t->dims[axis];
	}
	return FL_OK;
}

/* Along rows, LoDs of all inputs are joined where every one has as many levels as the first. */
static enum fl_code join_lods(struct fl_kernel *k, struct fl_lod *out, struct fl_err *err)
{
	const struct fl_lod *first = &fl_in(k, 0, 0)->lod;

	fl_lod_clear(out);
	for (size_t i = 0; i < k->in[0].n; i++)
		if (fl_in(k, 0, i)->lod.n != first->n)
			return FL_OK;
	for (int l = 0; l < first->n; l++) {
		struct fl_lod_level *level = &out->level[l];

		level->n = 0;
		FL_TRY(fl_lod_push(out, first->level[l].off, first->level[l].n, err));
		for (size_t i = 1; i < k->in[0].n; i++) {
			const struct fl_lod_level *more = &fl_in(k, 0, i)->lod.level[l];
			uint64_t end = level->n ? level->off[level->n - 1] : 0;

			fl_grow(&level->off, &level->cap, level->n + more->n, sizeof *level->off);
			for (size_t j = 1; j < more->n; j++)
				level->off[level->n++] = end + more->off[j];
		}
	}
	return FL_OK;
}

static enum fl_code run_concat(struct fl_kernel *k, struct fl_err *err)
{
	const struct fl_tensor *first = fl_in(k, 0, 0);
	struct fl_tensor *out = fl_out(k, 0, 0);
	int64_t axis, dims[FL_MAX_RANK], outer;
	size_t at = 0, step;

	if (!first || !out)
		return fl_err_set(err, FL_EINVAL, "'%s' is absent, expected a tensor", first ? "Out" : "X");
	for (size_t i = 0; i < k->in[0].n; i++)
		if (i && fl_in(k, 0, i) == out)
			return fl_err_set(err, FL_EUNSUPPORTED, "'Out' is one of 'X', expected another variable");
	if (first->dtype == FL_BOOL)
		return fl_k_bad_dtype(k, "X", first->dtype, err);
	FL_TRY(find_axis(k, 1, first->rank, &axis, err));
	FL_TRY(concat_shape(k, axis, dims, err));
	if (first == out && k->in[0].n > 1)
		return fl_err_set(err, FL_EUNSUPPORTED, "'Out' is one of 'X', expected another variable");
	if (first != out)
		FL_TRY(fl_k_resize(k, 0, 0, first->dtype, dims, first->rank, err));
	outer = fl_dims_product(dims, 0, (int)axis);
	step = run_bytes(out, axis);
	for (size_t i = 0; i < k->in[0].n && first != out; i++) {
		const struct fl_tensor *x = fl_in(k, 0, i);
		size_t run = run_bytes(x, axis);

		if (run)
			copy_runs((char *)fl_data(out) + at, step, fl_data(x), run, run, outer);
		at += run;
	}
	if (axis == 0 && first != out)
		return join_lods(k, &out->lod, err);
	if (first != out)
		fl_lod_copy(&out->lod, &first->lod);
	return FL_OK;
}

static enum fl_code run_concat_grad(struct fl_kernel *k, struct fl_err *err)
{
	const struct fl_tensor *g = fl_in(k, 2, 0);
	int64_t axis, outer;
	size_t at = 0, step;

	FL_TRY(find_axis(k, 1, g->rank, &axis, err));
	outer = fl_dims_product(g->dims, 0, (int)axis);
	step = run_bytes(g, axis);
	for (size_t i = 0; i < k->in[0].n; i++) {
		const struct fl_tensor *x = fl_in(k, 0, i);
		struct fl_tensor *dx = fl_out(k, 0, i);
		size_t run = x ? run_bytes(x, axis) : 0;

		if (at + run > step)
			return fl_err_set(err, FL_EINVAL, "'Out@GRAD' is smaller than all of 'X' together");
		if (dx && run)
			copy_runs(fl_data(dx), run, (const char *)fl_data(g) + at, step, run, outer);
		at += run;
	}
	return FL_OK;
}

/* ---- split ----------------------------------------------------------------------------------- */

static enum fl_code run_split(struct fl_kernel *k, struct fl_err *err)
{
	const struct fl_tensor *x = fl_in(k, 0, 0);
	int64_t axis = fl_attr_int(k->op, "axis", 0), outer;
	size_t at = 0, step;

	(void)err;
	axis += axis < 0 ? x->rank : 0;
	outer = fl_dims_product(x->dims, 0, (int)axis);
	step = run_bytes(x, axis);
	for (size_t i = 0; i < k->out[0].n; i++) {
		struct fl_tensor *out = fl_out(k, 0, i);
		size_t run;

		if (!out)
			return fl_err_set(err, FL_EINVAL, "'Out'[%zu] is absent, expected a variable", i);
		run = run_bytes(out, axis);
		if (run)
			copy_runs(fl_data(out), run, (const char *)fl_data(x) + at, step, run, outer);
		at += run;
	}
	return FL_OK;
}

/* ---- split_selected_rows --------------------------------------------------------------------- */

/* The section that holds a row, and where it begins; -1: beyond all of them. */
static int section_of(const struct fl_kernel *k, int64_t row, int64_t *begin)
{
	size_t n = fl_attr_len(k->op, "height_sections");

	*begin = 0;
	for (size_t i = 0; row >= 0 && i < n; i++) {
		int64_t height = fl_attr_int_at(k->op, "height_sections", i);

		if (row < *begin + height)
			return (int)i;
		*begin += height;
	}
	return -1;
}

static enum fl_code count_rows(struct fl_kernel *k, const struct fl_selected_rows *x,
	struct fl_err *err)
{
	int64_t begin;

	for (size_t i = 0; i < k->out[0].n; i++) {
		struct fl_var *var = fl_out_var(k, 0, i);

		if (!var)
			return fl_err_set(err, FL_EINVAL, "'Out'[%zu] is absent, expected a variable", i);
		if (var == fl_in_var(k, 0, 0))
			return fl_err_set(err, FL_EUNSUPPORTED, "'Out'[%zu] is 'X', expected another variable", i);
		fl_var_set_kind(var, FL_SELECTED_ROWS);
		fl_selected_rows_resize(&var->rows, 0);
		var->rows.height = fl_attr_int_at(k->op, "height_sections", i);
	}
	for (size_t r = 0; r < x->n; r++) {
		int s = section_of(k, x->rows[r], &begin);

		if (s < 0)
			return fl_err_set(err, FL_EINVAL, "'X' row %zu is %" PRId64
				", expected one within 'height_sections'", r, x->rows[r]);
		fl_out_var(k, 0, (size_t)s)->rows.n++;
	}
	return FL_OK;
}

static enum fl_code make_room(struct fl_kernel *k, const struct fl_tensor *value, struct fl_err *err)
{
	int64_t dims[FL_MAX_RANK];

	memcpy(dims, value->dims, sizeof dims);
	for (size_t i = 0; i < k->out[0].n; i++) {
		struct fl_selected_rows *out = &fl_out_var(k, 0, i)->rows;

		dims[0] = (int64_t)out->n;
		FL_TRY(fl_tensor_resize(&out->value, value->dtype, dims, value->rank, err));
		fl_selected_rows_resize(out, out->n);
		out->n = 0;
	}
	return FL_OK;
}

static enum fl_code run_split_rows(struct fl_kernel *k, struct fl_err *err)
{
	const struct fl_var *from = fl_in_var(k, 0, 0);
	const struct fl_selected_rows *x = &from->rows;
	size_t bytes;
	int64_t begin;

	if (from->kind != FL_SELECTED_ROWS || !x->value.mem)
		return fl_err_set(err, FL_EINVAL, "'X' holds no SelectedRows");
	if (fl_attr_len(k->op, "height_sections") != k->out[0].n)
		return fl_err_set(err, FL_EINVAL, "'Out' has %zu variables, expected %zu as 'height_sections'",
			k->out[0].n, fl_attr_len(k->op, "height_sections"));
	FL_TRY(count_rows(k, x, err));
	FL_TRY(make_room(k, &x->value, err));
	bytes = x->n ? run_bytes(&x->value, 1) : 0;
	for (size_t r = 0; r < x->n; r++) {
		int s = section_of(k, x->rows[r], &begin);
		struct fl_selected_rows *out = &fl_out_var(k, 0, (size_t)s)->rows;

		memcpy((char *)fl_data(&out->value) + out->n * bytes,
			(const char *)fl_data(&x->value) + r * bytes, bytes);
		out->rows[out->n++] = x->rows[r] - begin;
	}
	return FL_OK;
}

const struct fl_kernel_def fl_kernels_concat[] = {
	{ .type = "concat", .in = "X AxisTensor", .out = "Out", .run = run_concat },
	{ .type = "concat_grad", .in = "X AxisTensor Out@GRAD", .out = "X@GRAD", .run = run_concat_grad },
	{ .type = "split", .in = "X", .out = "Out", .run = run_split },
	{ .type = "split_byref", .in = "X", .out = "Out", .run = run_split },
	{ .type = "split_selected_rows", .in = "X", .out = "Out", .run = run_split_rows },
	{ .type = NULL },
};
