/*
 * Limits of values and norms (operators.md 4.14): clip, clip_by_norm, squared_l2_norm. Rows of a
 * sparse tensor are merged first.
 *
 * Fluid 1.8.5 gives NaN for clip_by_norm of a tensor of norm 0; here it stays as it is.
 */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "kernels/internal.h"
#include "kernels/update.h"

struct clip {
	double low, high;
	struct fl_selected_rows merged;
	struct fl_scratch order;
};

#define FL_TEMPLATE "kernels/clip_t.h"
#include "kernels/types.h"

static enum fl_code prepare(struct fl_kernel *k, struct fl_err *err)
{
	struct clip *c = k->state;

	(void)err;
	fl_selected_rows_init(&c->merged);
	return FL_OK;
}

static void release(struct fl_kernel *k)
{
	struct clip *c = k->state;

	fl_selected_rows_release(&c->merged);
	fl_free(c->order.data);
}

/* A tensor of the limit goes before the attribute. */
static enum fl_code find_limits(struct fl_kernel *k, int low, int high, struct fl_err *err)
{
	struct clip *c = k->state;
	const struct fl_tensor *min = fl_in(k, low, 0), *max = fl_in(k, high, 0);

	c->low = min ? fl_k_one(min) : fl_k_num(k, "min");
	c->high = max ? fl_k_one(max) : fl_k_num(k, "max");
	if (c->low < c->high)
		return FL_OK;
	return fl_err_set(err, FL_EINVAL, "'min' is %g and 'max' is %g, expected 'min' below 'max'",
		c->low, c->high);
}

/* The tensors to read and to write; sparse ones after merging, which gives Out its rows. */
static enum fl_code open_values(struct fl_kernel *k, const struct fl_tensor **x,
	struct fl_tensor **out, struct fl_err *err)
{
	struct clip *c = k->state;
	struct fl_var *from = fl_in_var(k, 0, 0), *to = fl_out_var(k, 0, 0);
	const struct fl_selected_rows *rows = &from->rows;

	*x = &from->tensor;
	*out = &to->tensor;
	if (from->kind != FL_SELECTED_ROWS)
		return FL_OK;
	FL_TRY(fl_merge_rows(&rows, 1, true, &c->merged, &c->order, err));
	FL_TRY(fl_selected_rows_copy(&to->rows, &c->merged, err));
	*x = *out = &to->rows.value;
	return FL_OK;
}

static enum fl_code run_clip(struct fl_kernel *k, struct fl_err *err)
{
	struct clip *c = k->state;
	const struct fl_tensor *x;
	struct fl_tensor *out;

	FL_TRY(find_limits(k, 1, 2, err));
	FL_TRY(open_values(k, &x, &out, err));
	if (x->dtype == FL_FP32)
		clip_f32(fl_data(x), fl_data(out), fl_numel(x), (float)c->low, (float)c->high);
	else
		clip_f64(fl_data(x), fl_data(out), fl_numel(x), c->low, c->high);
	return FL_OK;
}

static enum fl_code run_clip_grad(struct fl_kernel *k, struct fl_err *err)
{
	struct clip *c = k->state;
	const struct fl_tensor *x = fl_in(k, 0, 0), *g = fl_in(k, 1, 0);
	struct fl_tensor *out = fl_out(k, 0, 0);

	FL_TRY(find_limits(k, 2, 3, err));
	if (!out)
		return FL_OK;
	if (x->dtype == FL_FP32)
		clip_grad_f32(fl_data(x), fl_data(g), fl_data(out), fl_numel(x), (float)c->low,
			(float)c->high);
	else
		clip_grad_f64(fl_data(x), fl_data(g), fl_data(out), fl_numel(x), c->low, c->high);
	return FL_OK;
}

static double squares(const struct fl_tensor *x)
{
	return x->dtype == FL_FP32 ? clip_squares_f32(fl_data(x), fl_numel(x))
				   : clip_squares_f64(fl_data(x), fl_numel(x));
}

static void scale(const struct fl_tensor *x, struct fl_tensor *out, double by)
{
	if (x->dtype == FL_FP32)
		clip_scale_f32(fl_data(x), fl_data(out), fl_numel(x), (float)by);
	else
		clip_scale_f64(fl_data(x), fl_data(out), fl_numel(x), by);
}

static enum fl_code run_clip_by_norm(struct fl_kernel *k, struct fl_err *err)
{
	double max = fl_k_num(k, "max_norm"), norm;
	const struct fl_tensor *x;
	struct fl_tensor *out;

	if (!(max > 0))
		return fl_err_set(err, FL_EINVAL, "attribute 'max_norm' is %g, expected a positive one",
			max);
	FL_TRY(open_values(k, &x, &out, err));
	norm = sqrt(squares(x));
	scale(x, out, norm > max ? max / norm : 1);
	return FL_OK;
}

static enum fl_code run_squared_norm(struct fl_kernel *k, struct fl_err *err)
{
	const struct fl_tensor *x = fl_in(k, 0, 0);
	double sum = squares(x);

	(void)err;
	if (x->dtype == FL_FP32)
		*(float *)fl_data(fl_out(k, 0, 0)) = (float)sum;
	else
		*(double *)fl_data(fl_out(k, 0, 0)) = sum;
	return FL_OK;
}

static enum fl_code run_squared_norm_grad(struct fl_kernel *k, struct fl_err *err)
{
	(void)err;
	if (fl_out(k, 0, 0))
		scale(fl_in(k, 0, 0), fl_out(k, 0, 0), 2 * fl_k_one(fl_in(k, 1, 0)));
	return FL_OK;
}

#define ROW(name, ins, outs, fn)                                                                   \
	{ .type = name, .in = ins, .out = outs, .state_size = sizeof(struct clip),                 \
		.prepare = prepare, .run = fn, .release = release }

const struct fl_kernel_def fl_kernels_clip[] = {
	ROW("clip", "X Min Max", "Out", run_clip),
	ROW("clip_grad", "X Out@GRAD Min Max", "X@GRAD", run_clip_grad),
	ROW("clip_by_norm", "X", "Out", run_clip_by_norm),
	ROW("squared_l2_norm", "X", "Out", run_squared_norm),
	ROW("squared_l2_norm_grad", "X Out@GRAD", "X@GRAD", run_squared_norm_grad),
	{ .type = NULL },
};
