/* pool2d and its gradient (operators.md 4.10): planes are independent and run in parallel. */
#include <float.h>
#include <string.h>

#include "kernels/internal.h"
#include "ops/window.h"

struct work {
	struct fl_window window;
	bool max, exclusive;
	bool whole_rows; /* all windows of a row lie inside of the picture, side by side */
	int dtype;
	int64_t in_size[2], out_size[2], channels, step;
	const void *x, *g;
	void *out; /* of a gradient: only read */
	void *dx;  /* NULL: forward */
};

struct span {
	int64_t from, to;
};

/* The part of the input under output position i, along dimension d (0: height). */
static inline struct span span(const struct work *w, int d, int64_t i)
{
	int64_t size = w->in_size[d], out = w->out_size[d], from, to;

	if (w->window.adaptive)
		return (struct span){ i * size / out, ((i + 1) * size + out - 1) / out };
	from = i * w->window.stride[d] - w->window.low[d];
	to = from + w->window.k[d];
	return (struct span){ from < 0 ? 0 : from, to > size ? size : to };
}

static inline int64_t window_size(const struct work *w, struct span a, struct span b)
{
	if (w->exclusive || w->window.adaptive)
		return (a.to - a.from) * (b.to - b.from);
	return w->window.k[0] * w->window.k[1];
}

/* Longest row of the output that is done whole: what a gradient notes of it fits on the stack. */
#define MAX_ROW 512

#define FL_LOWEST (FL_IS_FLOAT ? (double)FLT_MAX : DBL_MAX)
#define FL_TEMPLATE "kernels/pool_t.h"
#include "kernels/types.h"

static void planes(void *arg, size_t begin, size_t end)
{
	const struct work *w = arg;

	if (w->dtype == FL_FP32)
		planes_f32(w, begin, end);
	else
		planes_f64(w, begin, end);
}

static enum fl_code start(struct fl_kernel *k, const struct fl_tensor *x, struct fl_err *err)
{
	struct work *w = k->state;
	struct fl_infer c = fl_k_infer(k);
	int at;

	FL_TRY(fl_window_of(&c, &w->window, err));
	at = w->window.nhwc ? 1 : 2;
	fl_k_ints(k, "ksize", w->window.k, 2);
	FL_TRY(fl_pool_window(&c, &w->window, x->dims + at, err));
	fl_window_size(&w->window, x->dims + at, w->out_size);
	memcpy(w->in_size, x->dims + at, sizeof w->in_size);
	w->channels = x->dims[w->window.nhwc ? 3 : 1];
	w->step = w->window.nhwc ? w->channels : 1;
	w->max = !strcmp(fl_k_str(k, "pooling_type"), "max");
	w->exclusive = fl_k_bool(k, "exclusive");
	w->whole_rows = w->step == 1 && !w->window.adaptive && !w->window.low[1] &&
		w->out_size[1] <= MAX_ROW &&
		(w->out_size[1] - 1) * w->window.stride[1] + w->window.k[1] <= w->in_size[1] &&
		fl_dims_product(w->in_size, 0, 2) <= INT32_MAX;
	w->dtype = x->dtype;
	w->x = fl_data(x);
	return FL_OK;
}

static void run_planes(struct fl_kernel *k, const struct fl_tensor *x)
{
	struct work *w = k->state;

	fl_pool_for(k->pool, (size_t)(x->dims[0] * w->channels), fl_grain(w->in_size[0] * w->in_size[1]),
		planes, w);
}

static enum fl_code run_pool(struct fl_kernel *k, struct fl_err *err)
{
	struct work *w = k->state;

	FL_TRY(start(k, fl_in(k, 0, 0), err));
	w->out = fl_data(fl_out(k, 0, 0));
	w->dx = NULL;
	run_planes(k, fl_in(k, 0, 0));
	return FL_OK;
}

static enum fl_code run_pool_grad(struct fl_kernel *k, struct fl_err *err)
{
	struct work *w = k->state;
	struct fl_tensor *dx = fl_out(k, 0, 0);

	if (!dx)
		return FL_OK;
	FL_TRY(start(k, fl_in(k, 0, 0), err));
	w->out = fl_data(fl_in(k, 1, 0));
	w->g = fl_data(fl_in(k, 2, 0));
	w->dx = fl_data(dx);
	memset(w->dx, 0, fl_tensor_bytes(dx));
	run_planes(k, fl_in(k, 0, 0));
	return FL_OK;
}

const struct fl_kernel_def fl_kernels_pool[] = {
	{ .type = "pool2d", .in = "X", .out = "Out", .state_size = sizeof(struct work), .run = run_pool },
	{ .type = "pool2d_grad", .in = "X Out Out@GRAD", .out = "X@GRAD",
		.state_size = sizeof(struct work), .run = run_pool_grad },
	{ .type = NULL },
};
