/*
 * The functions of one tensor that have attributes, or are not in every model (operators.md 4.6):
 * a, b and c are the attributes that the table names, in its order. What a gradient reads, X or Out,
 * stands there, too; steps have none at all.
 */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "kernels/internal.h"

/* name, what the gradient reads, attributes */
#define FUNCTIONS(XX)                                                                              \
	XX(acos, "X", NULL, NULL, NULL)                                                            \
	XX(asin, "X", NULL, NULL, NULL)                                                            \
	XX(atan, "X", NULL, NULL, NULL)                                                            \
	XX(brelu, "X", "t_min", "t_max", NULL)                                                     \
	XX(ceil, "Out@GRAD", NULL, NULL, NULL)                                                     \
	XX(cos, "X", NULL, NULL, NULL)                                                             \
	XX(elu, "X", "alpha", NULL, NULL)                                                          \
	XX(erf, "X", NULL, NULL, NULL)                                                             \
	XX(floor, "Out@GRAD", NULL, NULL, NULL)                                                    \
	XX(gelu, "X", "approximate", NULL, NULL)                                                   \
	XX(hard_shrink, "X", "threshold", NULL, NULL)                                              \
	XX(hard_sigmoid, "Out", "slope", "offset", NULL)                                           \
	XX(hard_swish, "X", "threshold", "scale", "offset")                                        \
	XX(leaky_relu, "Out", "alpha", NULL, NULL)                                                 \
	XX(log1p, "X", NULL, NULL, NULL)                                                           \
	XX(logsigmoid, "X", NULL, NULL, NULL)                                                      \
	XX(mish, "X", "threshold", NULL, NULL)                                                     \
	XX(relu6, "Out", "threshold", NULL, NULL)                                                  \
	XX(round, "Out@GRAD", NULL, NULL, NULL)                                                    \
	XX(selu, "Out", "scale", "alpha", NULL)                                                    \
	XX(sin, "X", NULL, NULL, NULL)                                                             \
	XX(soft_relu, "Out", "threshold", NULL, NULL)                                              \
	XX(softplus, "X", NULL, NULL, NULL)                                                        \
	XX(softshrink, "X", "lambda", NULL, NULL)                                                  \
	XX(softsign, "X", NULL, NULL, NULL)                                                        \
	XX(stanh, "X", "scale_a", "scale_b", NULL)                                                 \
	XX(swish, "X", "beta", NULL, NULL)                                                         \
	XX(tanh_shrink, "X", NULL, NULL, NULL)                                                     \
	XX(thresholded_relu, "X", "threshold", NULL, NULL)

#define FL_TEMPLATE "kernels/function_t.h"
#include "kernels/types.h"

static const struct {
	const char *name, *attr[3];
} names[] = {
#define ROW(name, reads, a, b, c) { #name, { a, b, c } },
	FUNCTIONS(ROW)
#undef ROW
	{ "pow", { "factor" } },
	{ "sign", { NULL } },
};

struct work {
	size_t fn; /* row of the table */
	int dtype;
	double c[3];
	const char *in, *grad;
	char *out;
};

static enum fl_code prepare(struct fl_kernel *k, struct fl_err *err)
{
	struct work *w = k->state;
	const char *type = k->op_def->type;
	size_t n = strlen(type), suffix = strlen("_grad");

	if (n > suffix && !strcmp(type + n - suffix, "_grad"))
		n -= suffix;
	for (size_t i = 0; i < FL_COUNT(names); i++) {
		if (strlen(names[i].name) != n || memcmp(names[i].name, type, n))
			continue;
		w->fn = i;
		for (int a = 0; a < 3 && names[i].attr[a]; a++)
			w->c[a] = strcmp(names[i].attr[a], "approximate") ? fl_k_num(k, names[i].attr[a])
									  : fl_k_bool(k, "approximate");
		return FL_OK;
	}
	return fl_err_set(err, FL_EUNSUPPORTED, "no kernel for '%s'", type);
}

static void map_part(void *arg, size_t begin, size_t end)
{
	const struct work *w = arg;
	size_t at = begin * fl_dtype_size(w->dtype);
	int64_t n = (int64_t)(end - begin);
	const void *in = w->in + at;
	void *out = w->out + at;

	if (w->dtype == FL_FP32)
		functions_f32[w->fn].map(in, out, n, w->c);
	else
		functions_f64[w->fn].map(in, out, n, w->c);
}

static void grad_part(void *arg, size_t begin, size_t end)
{
	const struct work *w = arg;
	size_t at = begin * fl_dtype_size(w->dtype);
	int64_t n = (int64_t)(end - begin);
	const void *in = w->in + at, *grad = w->grad + at;
	void *out = w->out + at;

	if (w->dtype == FL_FP32)
		functions_f32[w->fn].grad(in, grad, out, n, w->c);
	else
		functions_f64[w->fn].grad(in, grad, out, n, w->c);
}

/* The exponent may be a tensor's only element. */
static enum fl_code take_factor(struct fl_kernel *k, int slot, struct fl_err *err)
{
	struct work *w = k->state;
	const struct fl_tensor *t = strcmp(names[w->fn].name, "pow") ? NULL : fl_in(k, slot, 0);

	if (!t)
		return FL_OK;
	if ((t->dtype != FL_FP32 && t->dtype != FL_FP64) || fl_numel(t) != 1)
		return fl_err_set(err, FL_EINVAL, "'FactorTensor' is not one number of FP32 or FP64");
	w->c[0] = t->dtype == FL_FP32 ? (double)*(const float *)fl_data(t)
				      : *(const double *)fl_data(t);
	return FL_OK;
}

static enum fl_code run(struct fl_kernel *k, struct fl_err *err)
{
	struct work *w = k->state;
	const struct fl_tensor *x = fl_in(k, 0, 0);

	FL_TRY(take_factor(k, 1, err));
	w->dtype = x->dtype;
	w->in = fl_data(x);
	w->out = fl_data(fl_out(k, 0, 0));
	fl_pool_for(k->pool, (size_t)fl_numel(x), FL_GRAIN / 8, map_part, w);
	return FL_OK;
}

static enum fl_code run_grad(struct fl_kernel *k, struct fl_err *err)
{
	struct work *w = k->state;
	const struct fl_tensor *v = fl_in(k, 0, 0), *g = fl_in(k, 1, 0);

	if (!v)
		return fl_err_set(err, FL_EINVAL, "'%.3s' is absent, expected a tensor", k->def->in);
	if (!fl_out(k, 0, 0))
		return FL_OK;
	FL_TRY(take_factor(k, 2, err));
	w->dtype = g->dtype;
	w->in = fl_data(v);
	w->grad = fl_data(g);
	w->out = fl_data(fl_out(k, 0, 0));
	fl_pool_for(k->pool, (size_t)fl_numel(g), FL_GRAIN / 8, grad_part, w);
	return FL_OK;
}

#define KERNEL(name, ins, outs, fn)                                                                \
	{ .type = name, .in = ins, .out = outs, .state_size = sizeof(struct work),                 \
		.prepare = prepare, .run = fn }

const struct fl_kernel_def fl_kernels_function[] = {
#define ROW(name, reads, a, b, c)                                                                  \
	KERNEL(#name, "X", "Out", run), KERNEL(#name "_grad", reads " Out@GRAD", "X@GRAD", run_grad),
	FUNCTIONS(ROW)
#undef ROW
	KERNEL("pow", "X FactorTensor", "Out", run),
	KERNEL("pow_grad", "X Out@GRAD FactorTensor", "X@GRAD", run_grad),
	KERNEL("sign", "X", "Out", run),
	{ .type = NULL },
};
