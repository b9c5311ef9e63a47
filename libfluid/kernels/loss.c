/* Softmax and cross entropies (operators.md 4.7). Labels are checked before anything is computed:
 * 1.8.5 reads out of bounds for some of them. */
#include <math.h>
#include <string.h>

#include "kernels/exp.h"
#include "kernels/internal.h"

struct work {
	int dtype;
	int64_t pre, n, post;
	const void *x, *g, *soft;
	const int64_t *label;
	int64_t ignore;
	void *out, *loss, *match;
};

#define FL_TEMPLATE "kernels/loss_t.h"
#include "kernels/types.h"

/* A loop body for both types, as fl_pool_for wants it. */
#define PART(name)                                                                                 \
	static void name##_part(void *arg, size_t begin, size_t end)                               \
	{                                                                                          \
		const struct work *w = arg;                                                        \
		if (w->dtype == FL_FP32)                                                           \
			name##_f32(w, begin, end);                                                 \
		else                                                                               \
			name##_f64(w, begin, end);                                                 \
	}
PART(softmax)
PART(softmax_grad)
PART(losses)
PART(cross_entropy_grad)
PART(swce_grad)

static void run_rows(struct fl_kernel *k, struct work *w, void (*fn)(void *arg, size_t b, size_t e))
{
	/* A class costs about as much as eight additions. */
	if (w->n > 0)
		fl_pool_for(k->pool, (size_t)(w->pre * w->post), fl_grain(w->n * 8), fn, w);
}

/* Shape of the scores around the axis; nothing is bound yet. */
static void start(struct work *w, const struct fl_tensor *x, int64_t axis)
{
	memset(w, 0, sizeof *w);
	if (axis < 0)
		axis += x->rank;
	w->dtype = x->dtype;
	w->pre = fl_dims_product(x->dims, 0, (int)axis);
	w->n = x->dims[axis];
	w->post = fl_dims_product(x->dims, (int)axis + 1, x->rank);
	w->x = fl_data(x);
}

static enum fl_code bind_labels(struct fl_kernel *k, struct work *w, const struct fl_tensor *label,
	bool soft, struct fl_err *err)
{
	int64_t rows = w->pre * w->post;

	if (soft) {
		w->soft = fl_data(label);
		return FL_OK;
	}
	w->label = fl_data(label);
	w->ignore = fl_k_int(k, "ignore_index");
	for (int64_t i = 0; i < rows; i++)
		if ((w->label[i] < 0 || w->label[i] >= w->n) && w->label[i] != w->ignore)
			return fl_k_bad_element("Label", i, w->label[i], w->n - 1, err);
	return FL_OK;
}

static enum fl_code run_softmax(struct fl_kernel *k, struct fl_err *err)
{
	struct work *w = k->state;

	(void)err;
	start(w, fl_in(k, 0, 0), fl_k_int(k, "axis"));
	w->out = fl_data(fl_out(k, 0, 0));
	run_rows(k, w, softmax_part);
	return FL_OK;
}

static enum fl_code run_softmax_grad(struct fl_kernel *k, struct fl_err *err)
{
	struct work *w = k->state;

	(void)err;
	if (!fl_out(k, 0, 0))
		return FL_OK;
	start(w, fl_in(k, 0, 0), fl_k_int(k, "axis"));
	w->g = fl_data(fl_in(k, 1, 0));
	w->out = fl_data(fl_out(k, 0, 0));
	run_rows(k, w, softmax_grad_part);
	return FL_OK;
}

/* cross_entropy and cross_entropy2. */
static enum fl_code run_cross_entropy(struct fl_kernel *k, struct fl_err *err)
{
	struct work *w = k->state;
	bool two = !strcmp(k->op_def->type, "cross_entropy2");

	start(w, fl_in(k, 0, 0), -1);
	FL_TRY(bind_labels(k, w, fl_in(k, 1, 0), !two && fl_k_bool(k, "soft_label"), err));
	w->loss = fl_data(fl_out(k, 0, 0));
	w->match = two && fl_out(k, 1, 0) ? fl_data(fl_out(k, 1, 0)) : NULL;
	run_rows(k, w, losses_part);
	return FL_OK;
}

static enum fl_code run_cross_entropy_grad(struct fl_kernel *k, struct fl_err *err)
{
	struct work *w = k->state;

	if (!fl_out(k, 0, 0))
		return FL_OK;
	start(w, fl_in(k, 0, 0), -1);
	FL_TRY(bind_labels(k, w, fl_in(k, 1, 0), fl_k_bool(k, "soft_label"), err));
	w->g = fl_data(fl_in(k, 2, 0));
	w->out = fl_data(fl_out(k, 0, 0));
	run_rows(k, w, cross_entropy_grad_part);
	return FL_OK;
}

/* X is not there: its shape is dX's, x[label] is MatchX. */
static enum fl_code run_cross_entropy2_grad(struct fl_kernel *k, struct fl_err *err)
{
	struct work *w = k->state;

	if (!fl_out(k, 0, 0))
		return FL_OK;
	start(w, fl_out(k, 0, 0), -1);
	FL_TRY(bind_labels(k, w, fl_in(k, 1, 0), false, err));
	w->match = fl_data(fl_in(k, 0, 0));
	w->g = fl_data(fl_in(k, 2, 0));
	w->out = fl_data(fl_out(k, 0, 0));
	run_rows(k, w, cross_entropy_grad_part);
	return FL_OK;
}

static enum fl_code run_swce(struct fl_kernel *k, struct fl_err *err)
{
	struct work *w = k->state;

	if (!fl_out(k, 0, 0))
		return fl_err_set(err, FL_EINVAL, "'Softmax' is absent, expected a variable");
	start(w, fl_in(k, 0, 0), fl_k_int(k, "axis"));
	FL_TRY(bind_labels(k, w, fl_in(k, 1, 0), fl_k_bool(k, "soft_label"), err));
	w->out = fl_data(fl_out(k, 0, 0));
	run_rows(k, w, softmax_part);
	w->x = w->out;
	w->loss = fl_data(fl_out(k, 1, 0));
	run_rows(k, w, losses_part);
	return FL_OK;
}

static enum fl_code run_swce_grad(struct fl_kernel *k, struct fl_err *err)
{
	struct work *w = k->state;

	if (!fl_out(k, 0, 0))
		return FL_OK;
	start(w, fl_in(k, 0, 0), fl_k_int(k, "axis"));
	FL_TRY(bind_labels(k, w, fl_in(k, 1, 0), fl_k_bool(k, "soft_label"), err));
	w->g = fl_data(fl_in(k, 2, 0));
	w->out = fl_data(fl_out(k, 0, 0));
	run_rows(k, w, swce_grad_part);
	return FL_OK;
}

#define ROW(name, ins, outs, fn)                                                                   \
	{ .type = name, .in = ins, .out = outs, .state_size = sizeof(struct work), .run = fn }

const struct fl_kernel_def fl_kernels_loss[] = {
	ROW("softmax", "X", "Out", run_softmax),
	ROW("softmax_grad", "Out Out@GRAD", "X@GRAD", run_softmax_grad),
	ROW("cross_entropy", "X Label", "Y", run_cross_entropy),
	ROW("cross_entropy_grad", "X Label Y@GRAD", "X@GRAD", run_cross_entropy_grad),
	ROW("cross_entropy2", "X Label", "Y MatchX", run_cross_entropy),
	ROW("cross_entropy_grad2", "MatchX Label Y@GRAD", "X@GRAD", run_cross_entropy2_grad),
	ROW("softmax_with_cross_entropy", "Logits Label", "Softmax Loss", run_swce),
	ROW("softmax_with_cross_entropy_grad", "Softmax Label Loss@GRAD", "Logits@GRAD", run_swce_grad),
	{ .type = NULL },
};
