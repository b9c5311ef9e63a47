/* mul, sum, scale and mean (operators.md 4.2 and 4.4). */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "kernels/blas.h"
#include "kernels/internal.h"

#define FL_TEMPLATE "kernels/math_t.h"
#include "kernels/types.h"
#define FL_IS_REAL 0
#define T int32_t
#define F(name) name##_i32
#include "kernels/math_t.h"
#undef T
#undef F
#define T int64_t
#define F(name) name##_i64
#include "kernels/math_t.h"
#undef T
#undef F
#undef FL_IS_REAL

/* ---- mul ------------------------------------------------------------------------------------- */

struct mul {
	int64_t m, k, n;
};

static struct mul mul_sizes(const struct fl_kernel *k, const struct fl_tensor *x,
	const struct fl_tensor *y)
{
	int xn = (int)fl_k_int(k, "x_num_col_dims"), yn = (int)fl_k_int(k, "y_num_col_dims");

	return (struct mul){ fl_dims_product(x->dims, 0, xn), fl_dims_product(x->dims, xn, x->rank),
		fl_dims_product(y->dims, yn, y->rank) };
}

static enum fl_code run_mul(struct fl_kernel *k, struct fl_err *err)
{
	const struct fl_tensor *x = fl_in(k, 0, 0), *y = fl_in(k, 1, 0);
	struct mul s = mul_sizes(k, x, y);

	(void)err;
	fl_gemm_over(k->pool, x->dtype, false, false, s.m, s.n, s.k, fl_data(x), s.k, fl_data(y), s.n, 0,
		fl_data(fl_out(k, 0, 0)), s.n);
	return FL_OK;
}

static enum fl_code run_mul_grad(struct fl_kernel *k, struct fl_err *err)
{
	const struct fl_tensor *x = fl_in(k, 0, 0), *y = fl_in(k, 1, 0), *g = fl_in(k, 2, 0);
	struct mul s = mul_sizes(k, x, y);

	(void)err;
	if (fl_out(k, 0, 0))
		fl_gemm_over(k->pool, x->dtype, false, true, s.m, s.k, s.n, fl_data(g), s.n, fl_data(y),
			s.n, 0, fl_data(fl_out(k, 0, 0)), s.k);
	if (fl_out(k, 1, 0))
		fl_gemm_over(k->pool, x->dtype, true, false, s.k, s.n, s.m, fl_data(x), s.k, fl_data(g),
			s.n, 0, fl_data(fl_out(k, 1, 0)), s.n);
	return FL_OK;
}

/* ---- sum ------------------------------------------------------------------------------------- */

struct sum {
	struct fl_scratch order;
	const struct fl_selected_rows **rows; /* owned; room for all inputs */
	struct fl_selected_rows merged;
	/* of the loop that is running */
	int dtype;
	const char *x;
	char *out;
};

static enum fl_code prepare_sum(struct fl_kernel *k, struct fl_err *err)
{
	struct sum *s = k->state;

	(void)err;
	s->rows = FL_NEW_N(const struct fl_selected_rows *, k->in[0].n + 1);
	fl_selected_rows_init(&s->merged);
	return FL_OK;
}

static void release_sum(struct fl_kernel *k)
{
	struct sum *s = k->state;

	fl_free(s->order.data);
	fl_free(s->rows);
	fl_selected_rows_release(&s->merged);
}

static void add_part(void *arg, size_t begin, size_t end)
{
	const struct sum *s = arg;
	int64_t n = (int64_t)(end - begin);
	const void *x = s->x + begin * fl_dtype_size(s->dtype);
	void *out = s->out + begin * fl_dtype_size(s->dtype);

	switch (s->dtype) {
	case FL_FP32: add_to_f32(x, out, n); break;
	case FL_FP64: add_to_f64(x, out, n); break;
	case FL_INT32: add_to_i32(x, out, n); break;
	default: add_to_i64(x, out, n);
	}
}

/* Adds row by row; a row outside of the table is refused. */
static enum fl_code scatter(struct sum *s, const struct fl_selected_rows *r, struct fl_tensor *out,
	struct fl_err *err)
{
	int64_t width = fl_dims_product(out->dims, 1, out->rank);
	size_t bytes = (size_t)width * fl_dtype_size(out->dtype);

	for (size_t i = 0; i < r->n; i++) {
		if (r->rows[i] < 0 || r->rows[i] >= out->dims[0])
			return fl_k_bad_element("X", (int64_t)i, r->rows[i], out->dims[0] - 1, err);
		s->x = (const char *)fl_data(&r->value) + i * bytes;
		s->out = (char *)fl_data(out) + (size_t)r->rows[i] * bytes;
		add_part(s, 0, (size_t)width);
	}
	return FL_OK;
}

static enum fl_code sum_dense(struct fl_kernel *k, struct fl_var *to, struct fl_err *err)
{
	struct sum *s = k->state;
	struct fl_tensor *out = &to->tensor;
	bool in_place = fl_in_var(k, 0, 0) == to, started = in_place;

	s->dtype = out->dtype;
	if (s->dtype != FL_FP32 && s->dtype != FL_FP64 && s->dtype != FL_INT32 && s->dtype != FL_INT64)
		return fl_k_bad_dtype(k, "X", s->dtype, err);
	for (size_t i = in_place; i < k->in[0].n; i++) {
		const struct fl_var *x = fl_in_var(k, 0, i);

		if (!x || (x->kind == FL_LOD_TENSOR && !fl_numel(&x->tensor)))
			continue;
		if (!started && x->kind == FL_LOD_TENSOR) {
			memmove(fl_data(out), fl_data(&x->tensor), fl_tensor_bytes(out));
			started = true;
			continue;
		}
		if (!started)
			memset(fl_data(out), 0, fl_tensor_bytes(out));
		started = true;
		if (x->kind == FL_SELECTED_ROWS) {
			FL_TRY(scatter(s, &x->rows, out, err));
			continue;
		}
		s->x = fl_data(&x->tensor);
		s->out = fl_data(out);
		fl_pool_for(k->pool, (size_t)fl_numel(out), FL_GRAIN, add_part, s);
	}
	if (!started)
		memset(fl_data(out), 0, fl_tensor_bytes(out));
	return FL_OK;
}

static enum fl_code sum_rows(struct fl_kernel *k, struct fl_var *to, struct fl_err *err)
{
	struct sum *s = k->state;
	size_t n = 0;
	bool aliased = false;

	for (size_t i = 0; i < k->in[0].n; i++) {
		const struct fl_var *x = fl_in_var(k, 0, i);

		aliased |= x == to;
		if (x && x->rows.n)
			s->rows[n++] = &x->rows;
	}
	if (!n) { /* no rows anywhere: an empty table of the first one's shape */
		const struct fl_selected_rows *first = &fl_in_var(k, 0, 0)->rows;

		fl_selected_rows_resize(&to->rows, 0);
		to->rows.height = first->height;
		return fl_tensor_resize(&to->rows.value, first->value.dtype, (const int64_t[]){ 0 }, 1, err);
	}
	if (!aliased)
		return fl_merge_rows(s->rows, n, true, &to->rows, &s->order, err);
	FL_TRY(fl_merge_rows(s->rows, n, true, &s->merged, &s->order, err));
	return fl_selected_rows_copy(&to->rows, &s->merged, err);
}

/* Arrays are added item by item; the longest gives the length. */
static enum fl_code sum_arrays(struct fl_kernel *k, struct fl_var *to, struct fl_err *err)
{
	struct sum *s = k->state;
	bool in_place = fl_in_var(k, 0, 0) == to;

	if (!in_place)
		FL_TRY(fl_var_copy(to, fl_in_var(k, 0, 0), err));
	for (size_t i = 1; i < k->in[0].n; i++) {
		const struct fl_var *x = fl_in_var(k, 0, i);

		for (size_t j = 0; x && j < x->array.n; j++) {
			struct fl_tensor *have = j < to->array.n ? &to->array.items[j] : NULL;
			const struct fl_tensor *more = &x->array.items[j];

			if (!more->mem)
				continue;
			if (!have || fl_numel(have) != fl_numel(more) || have->dtype != more->dtype)
				return fl_err_set(err, FL_EINVAL,
					"'X'[%zu] item %zu has not the shape of the first one's", i, j);
			s->dtype = have->dtype;
			s->x = fl_data(more);
			s->out = fl_data(have);
			add_part(s, 0, (size_t)fl_numel(have));
		}
	}
	return FL_OK;
}

static enum fl_code run_sum(struct fl_kernel *k, struct fl_err *err)
{
	struct fl_var *to = fl_out_var(k, 0, 0);

	if (!to)
		return FL_OK;
	switch (to->kind) {
	case FL_SELECTED_ROWS: return sum_rows(k, to, err);
	case FL_LOD_TENSOR_ARRAY: return sum_arrays(k, to, err);
	default: return sum_dense(k, to, err);
	}
}

/* ---- scale ----------------------------------------------------------------------------------- */

struct scale {
	double scale, bias;
	bool after;
	int dtype;
	const char *x;
	char *out;
};

static void scale_part(void *arg, size_t begin, size_t end)
{
	const struct scale *s = arg;
	int64_t n = (int64_t)(end - begin);
	const void *x = s->x + begin * fl_dtype_size(s->dtype);
	void *out = s->out + begin * fl_dtype_size(s->dtype);

	switch (s->dtype) {
	case FL_FP32: scale_f32(x, out, n, (float)s->scale, (float)s->bias, s->after); break;
	case FL_FP64: scale_f64(x, out, n, s->scale, s->bias, s->after); break;
	case FL_INT32: scale_i32(x, out, n, (int32_t)s->scale, (int32_t)s->bias, s->after); break;
	default: scale_i64(x, out, n, (int64_t)s->scale, (int64_t)s->bias, s->after);
	}
}

static enum fl_code run_scale(struct fl_kernel *k, struct fl_err *err)
{
	struct scale *s = k->state;
	struct fl_var *in = fl_in_var(k, 0, 0), *to = fl_out_var(k, 0, 0);
	const struct fl_tensor *x = &in->tensor, *by = fl_in(k, 1, 0);
	struct fl_tensor *out = &to->tensor;

	if (in->kind == FL_SELECTED_ROWS) {
		if (in != to)
			FL_TRY(fl_selected_rows_copy(&to->rows, &in->rows, err));
		x = &in->rows.value;
		out = &to->rows.value;
	}
	s->dtype = x->dtype;
	if (s->dtype != FL_FP32 && s->dtype != FL_FP64 && s->dtype != FL_INT32 && s->dtype != FL_INT64)
		return fl_k_bad_dtype(k, "X", s->dtype, err);
	s->scale = fl_k_num(k, "scale");
	if (by)
		s->scale = by->dtype == FL_FP32 ? (double)*(const float *)fl_data(by)
			: by->dtype == FL_FP64	? *(const double *)fl_data(by)
						: (double)fl_k_element(by, 0);
	s->bias = fl_k_num(k, "bias");
	s->after = fl_k_bool(k, "bias_after_scale");
	s->x = fl_data(x);
	s->out = fl_data(out);
	fl_pool_for(k->pool, (size_t)fl_numel(x), FL_GRAIN, scale_part, s);
	return FL_OK;
}

/* ---- mean ------------------------------------------------------------------------------------ */

static enum fl_code run_mean(struct fl_kernel *k, struct fl_err *err)
{
	const struct fl_tensor *x = fl_in(k, 0, 0);
	int64_t n = fl_numel(x);
	void *out = fl_data(fl_out(k, 0, 0));

	(void)err;
	if (x->dtype == FL_FP32)
		*(float *)out = n ? (float)(total_f32(fl_data(x), n) / (double)n) : NAN;
	else
		*(double *)out = n ? total_f64(fl_data(x), n) / (double)n : NAN;
	return FL_OK;
}

static enum fl_code run_mean_grad(struct fl_kernel *k, struct fl_err *err)
{
	const struct fl_tensor *g = fl_in(k, 0, 0);
	struct fl_tensor *out = fl_out(k, 0, 0);
	int64_t n;

	(void)err;
	if (!out)
		return FL_OK;
	n = fl_numel(out);
	if (out->dtype == FL_FP32)
		set_all_f32(fl_data(out), n, *(const float *)fl_data(g) / (float)n);
	else
		set_all_f64(fl_data(out), n, *(const double *)fl_data(g) / (double)n);
	return FL_OK;
}

const struct fl_kernel_def fl_kernels_math[] = {
	{ .type = "mul", .in = "X Y", .out = "Out", .run = run_mul },
	{ .type = "mul_grad", .in = "X Y Out@GRAD", .out = "X@GRAD Y@GRAD", .run = run_mul_grad },
	{ .type = "sum", .in = "X", .out = "Out", .state_size = sizeof(struct sum),
		.prepare = prepare_sum, .run = run_sum, .release = release_sum },
	{ .type = "scale", .in = "X ScaleTensor", .out = "Out", .state_size = sizeof(struct scale),
		.run = run_scale },
	{ .type = "mean", .in = "X", .out = "Out", .run = run_mean },
	{ .type = "mean_grad", .in = "Out@GRAD", .out = "X@GRAD", .run = run_mean_grad },
	{ .type = NULL },
};
