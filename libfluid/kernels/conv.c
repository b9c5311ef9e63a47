/*
 * conv2d, depthwise_conv2d and their gradients (operators.md 4.9) by im2col and matrix products. The
 * pictures are cut into as many pieces as there are threads; each piece has columns and a sum of
 * dFilter of its own, and the sums are added in order, so that equal thread counts give equal bits.
 */
#include <string.h>

#include "base/mem.h"
#include "kernels/blas.h"
#include "kernels/internal.h"
#include "ops/window.h"

struct work {
	struct fl_window window;
	int dtype;
	bool direct; /* 1x1 without stride and padding: the picture is its own columns */
	int64_t pictures, pieces, groups, group_in, group_out, depth;
	int64_t in_size[2], out_size[2];
	int64_t in_c, in_y, in_x; /* strides of the input in elements */
	int64_t in_picture, out_picture, filter_size, col_size;
	const void *x, *filter, *dout;
	void *out, *dx, *dfilter;
	struct fl_scratch cols, partial;
};

struct span {
	int64_t from, to;
};

/* Output positions along d whose input, shifted by `shift`, lies inside of the picture. */
static struct span inside(const struct work *w, int d, int64_t shift)
{
	int64_t stride = w->window.stride[d], from = 0, to = w->out_size[d], last;

	if (shift < 0)
		from = (-shift + stride - 1) / stride;
	last = w->in_size[d] - 1 - shift;
	if (last < 0)
		return (struct span){ 0, 0 };
	if (to > last / stride + 1)
		to = last / stride + 1;
	return from < to ? (struct span){ from, to } : (struct span){ 0, 0 };
}

#define FL_TEMPLATE "kernels/conv_t.h"
#include "kernels/types.h"

static void pieces(void *arg, size_t begin, size_t end)
{
	const struct work *w = arg;

	for (size_t p = begin; p < end; p++)
		if (w->dtype == FL_FP32)
			piece_f32(w, (int64_t)p);
		else
			piece_f64(w, (int64_t)p);
}

static void set_sizes(struct work *w, const struct fl_tensor *x, const struct fl_tensor *f)
{
	bool nhwc = w->window.nhwc;
	int64_t channels = x->dims[nhwc ? 3 : 1];

	w->pictures = x->dims[0];
	w->group_in = f->dims[1];
	w->group_out = f->dims[0] / w->groups;
	w->depth = fl_dims_product(f->dims, 1, 4);
	w->filter_size = fl_numel(f);
	w->in_c = nhwc ? 1 : w->in_size[0] * w->in_size[1];
	w->in_x = nhwc ? channels : 1;
	w->in_y = w->in_x * w->in_size[1];
	w->in_picture = channels * w->in_size[0] * w->in_size[1];
	w->out_picture = f->dims[0] * w->out_size[0] * w->out_size[1];
	w->direct = !nhwc && w->depth == w->group_in && w->in_size[0] == w->out_size[0] &&
		w->in_size[1] == w->out_size[1] && w->window.stride[0] == 1 && w->window.stride[1] == 1 &&
		!w->window.low[0] && !w->window.low[1];
	w->col_size = w->direct ? 0 : w->depth * w->out_size[0] * w->out_size[1];
	w->dtype = x->dtype;
	w->x = fl_data(x);
	w->filter = fl_data(f);
}

static enum fl_code start(struct fl_kernel *k, struct fl_err *err)
{
	struct work *w = k->state;
	const struct fl_tensor *x = fl_in(k, 0, 0), *f = fl_in(k, 1, 0);
	struct fl_infer c = fl_k_infer(k);
	int at;

	FL_TRY(fl_window_of(&c, &w->window, err));
	fl_k_ints(k, "dilations", w->window.dilation, 2);
	w->groups = fl_k_int(k, "groups");
	at = w->window.nhwc ? 1 : 2;
	memcpy(w->window.k, f->dims + 2, sizeof w->window.k);
	memcpy(w->in_size, x->dims + at, sizeof w->in_size);
	fl_window_size(&w->window, w->in_size, w->out_size);
	set_sizes(w, x, f);
	w->pieces = fl_k_threads(k) < w->pictures ? fl_k_threads(k) : w->pictures;
	w->pieces = w->pieces < 1 ? 1 : w->pieces;
	w->out = w->dx = w->dfilter = NULL;
	w->dout = NULL;
	return fl_scratch_need(&w->cols, (size_t)(w->col_size * w->pieces), fl_dtype_size(w->dtype), err);
}

static enum fl_code run_conv(struct fl_kernel *k, struct fl_err *err)
{
	struct work *w = k->state;

	FL_TRY(start(k, err));
	w->out = fl_data(fl_out(k, 0, 0));
	fl_pool_for(k->pool, (size_t)w->pieces, 1, pieces, w);
	return FL_OK;
}

static enum fl_code run_conv_grad(struct fl_kernel *k, struct fl_err *err)
{
	struct work *w = k->state;

	FL_TRY(start(k, err));
	w->dout = fl_data(fl_in(k, 2, 0));
	w->dx = fl_out(k, 0, 0) ? fl_data(fl_out(k, 0, 0)) : NULL;
	w->dfilter = fl_out(k, 1, 0) ? fl_data(fl_out(k, 1, 0)) : NULL;
	if (w->dfilter)
		FL_TRY(fl_scratch_need(&w->partial, (size_t)(w->filter_size * w->pieces),
			fl_dtype_size(w->dtype), err));
	fl_pool_for(k->pool, (size_t)w->pieces, 1, pieces, w);
	if (w->dfilter && w->dtype == FL_FP32)
		add_partials_f32(w);
	else if (w->dfilter)
		add_partials_f64(w);
	return FL_OK;
}

static void release(struct fl_kernel *k)
{
	struct work *w = k->state;

	fl_free(w->cols.data);
	fl_free(w->partial.data);
}

#define ROW(name, ins, outs, fn)                                                                   \
	{ .type = name, .in = ins, .out = outs, .state_size = sizeof(struct work), .run = fn,      \
		.release = release }

const struct fl_kernel_def fl_kernels_conv[] = {
	ROW("conv2d", "Input Filter", "Output", run_conv),
	ROW("depthwise_conv2d", "Input Filter", "Output", run_conv),
	ROW("conv2d_grad", "Input Filter Output@GRAD", "Input@GRAD Filter@GRAD", run_conv_grad),
	ROW("depthwise_conv2d_grad", "Input Filter Output@GRAD", "Input@GRAD Filter@GRAD", run_conv_grad),
	{ .type = NULL },
};
