/* Functions of one tensor and their gradients (operators.md 4.6). What a gradient reads, Out or X,
 * stands in the table: programs of old versions made some of them in place, so that only Out is left. */
#include <math.h>
#include <string.h>

#include "kernels/exp.h"
#include "kernels/internal.h"

/* name, what the gradient reads */
#define FUNCTIONS(XX)                                                                              \
	XX(relu, "Out")                                                                            \
	XX(tanh, "Out")                                                                            \
	XX(sigmoid, "Out")                                                                         \
	XX(square, "X")                                                                            \
	XX(sqrt, "Out")                                                                            \
	XX(rsqrt, "Out")                                                                           \
	XX(exp, "Out")                                                                             \
	XX(log, "X")                                                                               \
	XX(abs, "X")                                                                               \
	XX(reciprocal, "Out")

#define FL_TEMPLATE "kernels/activation_t.h"
#include "kernels/types.h"

static const char *const names[] = {
#define ROW(name, reads) #name,
	FUNCTIONS(ROW)
#undef ROW
};

struct work {
	size_t fn; /* row of the table */
	int dtype;
	const void *in, *grad;
	void *out;
};

static enum fl_code prepare(struct fl_kernel *k, struct fl_err *err)
{
	struct work *w = k->state;
	const char *type = k->op_def->type;
	size_t n = strlen(type), suffix = strlen("_grad");

	if (n > suffix && !strcmp(type + n - suffix, "_grad"))
		n -= suffix;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strlen(names[i]) == n && !memcmp(names[i], type, n)) {
			w->fn = i;
			return FL_OK;
		}
	return fl_err_set(err, FL_EUNSUPPORTED, "no kernel for '%s'", type);
}

static void map_part(void *arg, size_t begin, size_t end)
{
	const struct work *w = arg;
	int64_t n = (int64_t)(end - begin);

	if (w->dtype == FL_FP32)
		functions_f32[w->fn].map((const float *)w->in + begin, (float *)w->out + begin, n);
	else
		functions_f64[w->fn].map((const double *)w->in + begin, (double *)w->out + begin, n);
}

static void grad_part(void *arg, size_t begin, size_t end)
{
	const struct work *w = arg;
	int64_t n = (int64_t)(end - begin);

	if (w->dtype == FL_FP32)
		functions_f32[w->fn].grad((const float *)w->in + begin, (const float *)w->grad + begin,
			(float *)w->out + begin, n);
	else
		functions_f64[w->fn].grad((const double *)w->in + begin,
			(const double *)w->grad + begin, (double *)w->out + begin, n);
}

static enum fl_code run(struct fl_kernel *k, struct fl_err *err)
{
	struct work *w = k->state;
	struct fl_var *in = fl_in_var(k, 0, 0), *to = fl_out_var(k, 0, 0);
	const struct fl_tensor *x = &in->tensor;
	struct fl_tensor *out = &to->tensor;

	if (in->kind == FL_SELECTED_ROWS) {
		if (in != to)
			FL_TRY(fl_selected_rows_copy(&to->rows, &in->rows, err));
		x = &in->rows.value;
		out = &to->rows.value;
	}
	w->dtype = x->dtype;
	w->in = fl_data(x);
	w->out = fl_data(out);
	fl_pool_for(k->pool, (size_t)fl_numel(x), FL_GRAIN, map_part, w);
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
	w->dtype = g->dtype;
	w->in = fl_data(v);
	w->grad = fl_data(g);
	w->out = fl_data(fl_out(k, 0, 0));
	fl_pool_for(k->pool, (size_t)fl_numel(g), FL_GRAIN, grad_part, w);
	return FL_OK;
}

const struct fl_kernel_def fl_kernels_activation[] = {
#define ROW(name, reads)                                                                           \
	{ .type = #name, .in = "X", .out = "Out", .state_size = sizeof(struct work),               \
		.prepare = prepare, .run = run },                                                  \
	{ .type = #name "_grad", .in = reads " Out@GRAD", .out = "X@GRAD",                         \
		.state_size = sizeof(struct work), .prepare = prepare, .run = run_grad },
	FUNCTIONS(ROW)
#undef ROW
	{ .type = NULL },
};
