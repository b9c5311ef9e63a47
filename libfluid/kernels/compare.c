/*
 * Comparison, logic, and whether there is anything at all (operators.md 6.7). Floats are equal when
 * they differ by less than 1e-8; infinities of one sign and NaN are not.
 */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "kernels/internal.h"
#include "ops/broadcast.h"

enum order { LESS_THAN, LESS_EQUAL, GREATER_THAN, GREATER_EQUAL, EQUAL, NOT_EQUAL };
static const char *const orders[] = { "less_than", "less_equal", "greater_than", "greater_equal",
	"equal", "not_equal" };

struct compare {
	enum order order;
};

static enum fl_code prepare_compare(struct fl_kernel *k, struct fl_err *err)
{
	struct compare *c = k->state;

	(void)err;
	for (size_t i = 0; i < FL_COUNT(orders); i++)
		if (!strcmp(orders[i], k->op_def->type))
			c->order = (enum order)i;
	return FL_OK;
}

static bool compare_real(enum order order, double a, double b)
{
	switch (order) {
	case LESS_THAN: return a < b;
	case LESS_EQUAL: return a <= b;
	case GREATER_THAN: return a > b;
	case GREATER_EQUAL: return a >= b;
	case EQUAL: return fabs(a - b) < 1e-8;
	default: return !(fabs(a - b) < 1e-8);
	}
}

static bool compare_whole(enum order order, int64_t a, int64_t b)
{
	switch (order) {
	case LESS_THAN: return a < b;
	case LESS_EQUAL: return a <= b;
	case GREATER_THAN: return a > b;
	case GREATER_EQUAL: return a >= b;
	case EQUAL: return a == b;
	default: return a != b;
	}
}

/* Differences of floats are those of their own type. */
static bool compare_at(enum order order, const struct fl_tensor *x, int64_t i,
	const struct fl_tensor *y, int64_t j)
{
	const void *a = fl_data(x), *b = fl_data(y);

	switch (x->dtype) {
	case FL_FP32: {
		float u = ((const float *)a)[i], v = ((const float *)b)[j];

		if (order == EQUAL || order == NOT_EQUAL)
			return compare_real(order, (double)(u - v), 0);
		return compare_real(order, (double)u, (double)v);
	}
	case FL_FP64: return compare_real(order, ((const double *)a)[i], ((const double *)b)[j]);
	case FL_BOOL: return compare_whole(order, ((const uint8_t *)a)[i], ((const uint8_t *)b)[j]);
	default: return compare_whole(order, fl_k_element(x, i), fl_k_element(y, j));
	}
}

/* Places in X and Y of an element of the result. */
static void places(const struct fl_broadcast *b, int64_t at, int64_t *i, int64_t *j)
{
	int64_t step_x = 1, step_y = 1;

	*i = at;
	*j = b->simple ? at / b->post % b->n : 0;
	if (b->simple)
		return;
	*i = 0;
	for (int d = b->rank - 1; d >= 0; d--) {
		int64_t x = at % b->out[d];

		*i += b->x[d] == 1 ? 0 : x * step_x;
		*j += b->y[d] == 1 ? 0 : x * step_y;
		step_x *= b->x[d];
		step_y *= b->y[d];
		at /= b->out[d];
	}
}

static enum fl_code run_compare(struct fl_kernel *k, struct fl_err *err)
{
	const struct compare *c = k->state;
	const struct fl_tensor *x = fl_in(k, 0, 0), *y = fl_in(k, 1, 0);
	struct fl_tensor *out = fl_out(k, 0, 0);
	int64_t n = fl_numel(out), i, j;
	struct fl_broadcast b;

	if (x->dtype != FL_FP32 && x->dtype != FL_FP64 && x->dtype != FL_INT32 &&
		x->dtype != FL_INT64 && x->dtype != FL_BOOL)
		return fl_k_bad_dtype(k, "X", x->dtype, err);
	fl_broadcast_of(x->dims, x->rank, y->dims, y->rank, fl_k_int(k, "axis"), &b);
	for (int64_t at = 0; at < n; at++) {
		places(&b, at, &i, &j);
		((uint8_t *)fl_data(out))[at] = compare_at(c->order, x, i, y, j);
	}
	return FL_OK;
}

/* ---- logic ----------------------------------------------------------------------------------- */

#define LOGIC(name, expr)                                                                          \
	static enum fl_code run_##name(struct fl_kernel *k, struct fl_err *err)                    \
	{                                                                                          \
		const uint8_t *x = fl_data(fl_in(k, 0, 0)), *y = fl_data(fl_in(k, 1, 0));          \
		uint8_t *out = fl_data(fl_out(k, 0, 0));                                           \
		int64_t n = fl_numel(fl_in(k, 0, 0));                                              \
		(void)err;                                                                         \
		for (int64_t i = 0; i < n; i++) {                                                  \
			bool a = x[i] != 0, b = y[i] != 0;                                         \
			out[i] = (expr);                                                           \
		}                                                                                  \
		return FL_OK;                                                                      \
	}

LOGIC(and, a && b)
LOGIC(or, a || b)
LOGIC(xor, a != b)

static enum fl_code run_not(struct fl_kernel *k, struct fl_err *err)
{
	const uint8_t *x = fl_data(fl_in(k, 0, 0));
	uint8_t *out = fl_data(fl_out(k, 0, 0));
	int64_t n = fl_numel(fl_in(k, 0, 0));

	(void)err;
	for (int64_t i = 0; i < n; i++)
		out[i] = !x[i];
	return FL_OK;
}

static enum fl_code run_is_empty(struct fl_kernel *k, struct fl_err *err)
{
	(void)err;
	*(uint8_t *)fl_data(fl_out(k, 0, 0)) = fl_numel(fl_in(k, 0, 0)) == 0;
	return FL_OK;
}

#define COMPARE(name)                                                                              \
	{ .type = name, .in = "X Y", .out = "Out", .state_size = sizeof(struct compare),           \
		.prepare = prepare_compare, .run = run_compare }

const struct fl_kernel_def fl_kernels_compare[] = {
	COMPARE("less_than"), COMPARE("less_equal"), COMPARE("greater_than"), COMPARE("greater_equal"),
	COMPARE("equal"), COMPARE("not_equal"),
	{ .type = "logical_and", .in = "X Y", .out = "Out", .run = run_and },
	{ .type = "logical_or", .in = "X Y", .out = "Out", .run = run_or },
	{ .type = "logical_xor", .in = "X Y", .out = "Out", .run = run_xor },
	{ .type = "logical_not", .in = "X", .out = "Out", .run = run_not },
	{ .type = "is_empty", .in = "X", .out = "Out", .run = run_is_empty },
	{ .type = NULL },
};
