/* sgd and momentum, for dense and sparse gradients (operators.md 5). */
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "kernels/internal.h"
#include "kernels/update.h"

#define FL_TEMPLATE "kernels/optimizer_t.h"
#include "kernels/types.h"

struct update {
	bool nesterov;
	double mu, lr;
	int dtype;
	const char *p, *g, *v;
	char *p_out, *v_out;
	int64_t width;			      /* of a row, for sparse gradients */
	const struct fl_selected_rows *merged; /* rows ascending; NULL: dense */
	struct fl_selected_rows own;
	struct fl_scratch order;
};

/* A row number of a parameter with so many rows. */
enum fl_code fl_need_rows(const struct fl_selected_rows *g, int64_t rows, struct fl_err *err)
{
	for (size_t i = 0; i < g->n; i++)
		if (g->rows[i] < 0 || g->rows[i] >= rows)
			return fl_err_set(err, FL_EINVAL, "'Grad' row %zu is %" PRId64
				", expected 0 to %" PRId64, i, g->rows[i], rows - 1);
	return FL_OK;
}

/* ---- sgd ------------------------------------------------------------------------------------- */

static void sgd_part(void *arg, size_t begin, size_t end)
{
	const struct update *u = arg;
	size_t at = begin * fl_dtype_size(u->dtype);
	int64_t n = (int64_t)(end - begin);
	const void *p = u->p + at, *g = u->g + at;
	void *out = u->p_out + at;

	if (u->dtype == FL_FP32)
		sgd_f32(p, g, out, n, (float)u->lr);
	else
		sgd_f64(p, g, out, n, u->lr);
}

static void sgd_row(struct update *u, void *row, const void *g)
{
	u->p = u->p_out = row;
	u->g = g;
	sgd_part(u, 0, (size_t)u->width);
}

/* Each listed row in turn, duplicates twice. */
static enum fl_code sgd_sparse(struct update *u, struct fl_tensor *out,
	const struct fl_selected_rows *g, struct fl_err *err)
{
	size_t bytes;

	FL_TRY(fl_need_rows(g, out->dims[0], err));
	u->width = fl_dims_product(out->dims, 1, out->rank);
	bytes = (size_t)u->width * fl_dtype_size(u->dtype);
	for (size_t i = 0; i < g->n; i++)
		sgd_row(u, (char *)fl_data(out) + (size_t)g->rows[i] * bytes,
			(const char *)fl_data(&g->value) + i * bytes);
	return FL_OK;
}

/* A table that holds some rows, found by their numbers. */
static enum fl_code sgd_table(struct update *u, struct fl_selected_rows *p,
	const struct fl_selected_rows *g, struct fl_err *err)
{
	size_t bytes;

	if (!g->n)
		return FL_OK;
	u->width = fl_dims_product(p->value.dims, 1, p->value.rank);
	bytes = (size_t)u->width * fl_dtype_size(u->dtype);
	for (size_t i = 0; i < g->n; i++) {
		size_t r = 0;

		while (r < p->n && p->rows[r] != g->rows[i])
			r++;
		if (r == p->n)
			return fl_err_set(err, FL_EINVAL, "'Grad' row %zu is %" PRId64
				", expected one that 'Param' holds", i, g->rows[i]);
		sgd_row(u, (char *)fl_data(&p->value) + r * bytes,
			(const char *)fl_data(&g->value) + i * bytes);
	}
	return FL_OK;
}

static enum fl_code run_sgd(struct fl_kernel *k, struct fl_err *err)
{
	struct update *u = k->state;
	const struct fl_var *param = fl_in_var(k, 0, 0), *grad = fl_in_var(k, 1, 0);
	struct fl_var *to = fl_out_var(k, 0, 0);
	struct fl_tensor *out = &to->tensor;

	u->lr = fl_k_one(fl_in(k, 2, 0));
	if (param->kind == FL_SELECTED_ROWS) {
		if (param != to)
			FL_TRY(fl_selected_rows_copy(&to->rows, &param->rows, err));
		u->dtype = to->rows.value.dtype;
		return sgd_table(u, &to->rows, &grad->rows, err);
	}
	u->dtype = param->tensor.dtype;
	if (grad->kind == FL_SELECTED_ROWS) {
		if (param != to)
			memcpy(fl_data(out), fl_data(&param->tensor), fl_tensor_bytes(out));
		return sgd_sparse(u, out, &grad->rows, err);
	}
	u->p = fl_data(&param->tensor);
	u->g = fl_data(&grad->tensor);
	u->p_out = fl_data(out);
	fl_pool_for(k->pool, (size_t)fl_numel(out), FL_GRAIN, sgd_part, u);
	return FL_OK;
}

/* ---- momentum -------------------------------------------------------------------------------- */

static void momentum_run(const struct update *u, size_t at, size_t g_at, bool present, int64_t n)
{
	const void *p = u->p + at, *v = u->v + at, *g = present ? u->g + g_at : NULL;
	void *p_out = u->p_out + at, *v_out = u->v_out + at;
	float mu = (float)u->mu, lr = (float)u->lr, nesterov = u->nesterov;

	if (u->dtype == FL_FP32 && present)
		momentum_f32(p, g, v, p_out, v_out, n, lr, mu, nesterov);
	else if (u->dtype == FL_FP32)
		coast_f32(p, v, p_out, v_out, n, lr, mu, nesterov);
	else if (present)
		momentum_f64(p, g, v, p_out, v_out, n, u->lr, u->mu, u->nesterov);
	else
		coast_f64(p, v, p_out, v_out, n, u->lr, u->mu, u->nesterov);
}

static void momentum_part(void *arg, size_t begin, size_t end)
{
	const struct update *u = arg;
	size_t at = begin * fl_dtype_size(u->dtype);

	momentum_run(u, at, at, true, (int64_t)(end - begin));
}

/* First row in the merged gradient that is not below `row`. */
size_t fl_rows_lower_bound(const struct fl_selected_rows *g, int64_t row)
{
	size_t low = 0, high = g->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (g->rows[mid] < row)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Every row moves, with g = 0 where the gradient has none. */
static void momentum_rows(void *arg, size_t begin, size_t end)
{
	const struct update *u = arg;
	size_t bytes = (size_t)u->width * fl_dtype_size(u->dtype);
	size_t next = fl_rows_lower_bound(u->merged, (int64_t)begin);

	for (size_t r = begin; r < end; r++) {
		bool present = next < u->merged->n && u->merged->rows[next] == (int64_t)r;

		momentum_run(u, r * bytes, next * bytes, present, u->width);
		next += present;
	}
}

static enum fl_code prepare_momentum(struct fl_kernel *k, struct fl_err *err)
{
	struct update *u = k->state;

	(void)err;
	u->mu = fl_k_num(k, "mu");
	u->nesterov = fl_k_bool(k, "use_nesterov");
	fl_selected_rows_init(&u->own);
	return FL_OK;
}

static void release_momentum(struct fl_kernel *k)
{
	struct update *u = k->state;

	fl_selected_rows_release(&u->own);
	fl_free(u->order.data);
}

static enum fl_code run_momentum(struct fl_kernel *k, struct fl_err *err)
{
	struct update *u = k->state;
	const struct fl_tensor *p = fl_in(k, 0, 0), *v = fl_in(k, 2, 0);
	const struct fl_var *grad = fl_in_var(k, 1, 0);
	struct fl_tensor *p_out = fl_out(k, 0, 0), *v_out = fl_out(k, 1, 0);
	const struct fl_selected_rows *rows = &grad->rows;

	u->lr = fl_k_one(fl_in(k, 3, 0));
	u->dtype = p->dtype;
	u->p = fl_data(p);
	u->v = fl_data(v);
	u->p_out = fl_data(p_out);
	u->v_out = fl_data(v_out);
	if (grad->kind != FL_SELECTED_ROWS) {
		u->g = fl_data(&grad->tensor);
		fl_pool_for(k->pool, (size_t)fl_numel(p), FL_GRAIN, momentum_part, u);
		return FL_OK;
	}
	FL_TRY(fl_need_rows(rows, p->dims[0], err));
	if (!rows->n) { /* nothing moves */
		memmove(fl_data(p_out), fl_data(p), fl_tensor_bytes(p));
		memmove(fl_data(v_out), fl_data(v), fl_tensor_bytes(v));
		return FL_OK;
	}
	FL_TRY(fl_merge_rows(&rows, 1, false, &u->own, &u->order, err));
	u->merged = &u->own;
	u->g = fl_data(&u->own.value);
	u->width = fl_dims_product(p->dims, 1, p->rank);
	fl_pool_for(k->pool, (size_t)p->dims[0], fl_grain(u->width), momentum_rows, u);
	return FL_OK;
}

const struct fl_kernel_def fl_kernels_optimizer[] = {
	{ .type = "sgd", .in = "Param Grad LearningRate", .out = "ParamOut",
		.state_size = sizeof(struct update), .run = run_sgd },
	{ .type = "momentum", .in = "Param Grad Velocity LearningRate", .out = "ParamOut VelocityOut",
		.state_size = sizeof(struct update), .prepare = prepare_momentum, .run = run_momentum,
		.release = release_momentum },
	{ .type = NULL },
};
