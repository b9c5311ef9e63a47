/*
 * Elementwise operators of two tensors and their gradients (operators.md 4.3). The usual case, Y laid
 * over X, is rows of loops without index arithmetic; stretching both sides goes element by element.
 * The sums of dY run over its own elements in parallel, so their order never depends on threads.
 */
#include <math.h>
#include <string.h>

#include "kernels/internal.h"
#include "ops/broadcast.h"

enum op { ADD, SUB, MUL, DIV, MAX, MIN, POW, MOD, FLOORDIV, OP_COUNT };
static const char *const names[OP_COUNT] = { "add", "sub", "mul", "div", "max", "min", "pow", "mod",
	"floordiv" };

struct work {
	enum op op;
	int dtype;
	struct fl_broadcast b;
	const void *x, *y, *o, *g;
	void *out, *out2;
};

/* Where a stretched operand has the element at index `at` of the output. */
static int64_t place(const struct fl_broadcast *b, const int64_t *dims, const int64_t *at)
{
	int64_t p = 0;

	for (int i = 0; i < b->rank; i++)
		p = p * dims[i] + (dims[i] == 1 ? 0 : at[i]);
	return p;
}

static void step(const struct fl_broadcast *b, int64_t *at)
{
	for (int i = b->rank - 1; i >= 0 && ++at[i] == b->out[i]; i--)
		at[i] = 0;
}

static float floor_mod_f(float a, float b)
{
	float r = fmodf(a, b);

	return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static double floor_mod(double a, double b)
{
	double r = fmod(a, b);

	return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

#define FL_POW(a, b) _Generic((a), float: powf, default: pow)(a, b)
#define FL_LOG(a)    _Generic((a), float: logf, default: log)(a)
#define FL_MOD(a, b) _Generic((a), float: floor_mod_f, default: floor_mod)(a, b)
#define FL_TEMPLATE "kernels/elementwise_t.h"
#include "kernels/types.h"

#define FL_IS_REAL 0
#define T int32_t
#define F(name) name##_i32
#include "kernels/elementwise_t.h"
#undef T
#undef F
#define T int64_t
#define F(name) name##_i64
#include "kernels/elementwise_t.h"
#undef T
#undef F
#undef FL_IS_REAL

/* ---- forward --------------------------------------------------------------------------------- */

static enum fl_code prepare(struct fl_kernel *k, struct fl_err *err)
{
	struct work *w = k->state;
	const char *name = k->op_def->type + strlen("elementwise_");

	(void)err;
	for (int i = 0; i < OP_COUNT; i++)
		if (!strncmp(name, names[i], strlen(names[i])))
			w->op = (enum op)i;
	return FL_OK;
}

static void rows(void *arg, size_t begin, size_t end)
{
	const struct work *w = arg;

	switch (w->dtype) {
	case FL_FP32: rows_f32(w, begin, end); break;
	case FL_FP64: rows_f64(w, begin, end); break;
	case FL_INT32: rows_i32(w, begin, end); break;
	default: rows_i64(w, begin, end);
	}
}

static void spread(const struct work *w)
{
	switch (w->dtype) {
	case FL_FP32: spread_f32(w->op, &w->b, w->x, w->y, w->out); break;
	case FL_FP64: spread_f64(w->op, &w->b, w->x, w->y, w->out); break;
	case FL_INT32: spread_i32(w->op, &w->b, w->x, w->y, w->out); break;
	default: spread_i64(w->op, &w->b, w->x, w->y, w->out);
	}
}

/* Rows of the simple form, and elements in each. */
static size_t row_count(const struct fl_broadcast *b, int64_t *each)
{
	if (b->pre == 1 && b->post == 1) {
		*each = 1;
		return (size_t)b->n;
	}
	*each = b->post == 1 ? b->n : b->post;
	return (size_t)(b->post == 1 ? b->pre : b->pre * b->n);
}

/* One number over all is a single long row. */
static void flatten(struct fl_broadcast *b)
{
	if (b->simple && b->n == 1) {
		b->post *= b->pre;
		b->pre = 1;
	}
}

static enum fl_code need_divisor(const struct fl_tensor *y, struct fl_err *err)
{
	int64_t n = fl_numel(y);

	if (y->dtype != FL_INT32 && y->dtype != FL_INT64)
		return FL_OK;
	for (int64_t i = 0; i < n; i++)
		if (!fl_k_element(y, i))
			return fl_err_set(err, FL_EINVAL, "'Y' element %lld is 0, expected a divisor",
				(long long)i);
	return FL_OK;
}

static bool has_kernel(const struct work *w)
{
	return w->dtype == FL_FP32 || w->dtype == FL_FP64 || w->dtype == FL_INT32 || w->dtype == FL_INT64;
}

/* Copies rows and height, and gives the tensor of values. */
static enum fl_code open_rows(struct fl_kernel *k, const struct fl_tensor **x, struct fl_tensor **out,
	struct fl_err *err)
{
	struct fl_var *from = fl_in_var(k, 0, 0), *to = fl_out_var(k, 0, 0);

	if (from != to)
		FL_TRY(fl_selected_rows_copy(&to->rows, &from->rows, err));
	*x = &from->rows.value;
	*out = &to->rows.value;
	return FL_OK;
}

static enum fl_code run(struct fl_kernel *k, struct fl_err *err)
{
	struct work *w = k->state;
	const struct fl_tensor *x = fl_in(k, 0, 0), *y = fl_in(k, 1, 0);
	struct fl_tensor *out = fl_out(k, 0, 0);
	size_t n;
	int64_t each;

	if (fl_in_var(k, 0, 0)->kind == FL_SELECTED_ROWS)
		FL_TRY(open_rows(k, &x, &out, err));
	w->dtype = x->dtype;
	if (!has_kernel(w))
		return fl_k_bad_dtype(k, "X", x->dtype, err);
	if (w->op == DIV || w->op == MOD || w->op == FLOORDIV)
		FL_TRY(need_divisor(y, err));
	fl_broadcast_of(x->dims, x->rank, y->dims, y->rank, fl_k_int(k, "axis"), &w->b);
	flatten(&w->b);
	w->x = fl_data(x);
	w->y = fl_data(y);
	w->out = fl_data(out);
	if (!w->b.simple) {
		spread(w);
		return FL_OK;
	}
	n = row_count(&w->b, &each);
	fl_pool_for(k->pool, n, fl_grain(each), rows, w);
	return FL_OK;
}

/* ---- gradients ------------------------------------------------------------------------------- */

static void dx_part(void *arg, size_t begin, size_t end)
{
	const struct work *w = arg;

	if (w->dtype == FL_FP32)
		dx_f32(w, begin, end);
	else
		dx_f64(w, begin, end);
}

static void dy_part(void *arg, size_t begin, size_t end)
{
	const struct work *w = arg;

	if (w->dtype == FL_FP32)
		dy_f32(w, begin, end);
	else
		dy_f64(w, begin, end);
}

/* What the gradient of the operator does not read may be absent: dOut stands in. */
static enum fl_code bind_grad(struct fl_kernel *k, struct work *w, struct fl_err *err)
{
	const struct fl_tensor *x = fl_in(k, 0, 0), *y = fl_in(k, 1, 0), *o = fl_in(k, 2, 0);
	const struct fl_tensor *g = fl_in(k, 3, 0);
	const struct fl_tensor *shape = x ? x : g;

	if (!y || (!x && w->op > SUB && w->op != DIV) || (!o && w->op == DIV))
		return fl_err_set(err, FL_EINVAL, "'%s' is absent, expected a tensor",
			!y ? "Y" : !x ? "X" : "Out");
	if (!fl_broadcast_of(shape->dims, shape->rank, y->dims, y->rank, fl_k_int(k, "axis"), &w->b))
		return fl_err_set(err, FL_EINVAL, "the shape of 'Y' does not fit that of 'X'");
	flatten(&w->b);
	w->dtype = g->dtype;
	w->g = fl_data(g);
	w->x = x && w->op > SUB && w->op != DIV ? fl_data(x) : w->g;
	w->y = fl_data(y);
	w->o = o && w->op == DIV ? fl_data(o) : w->g;
	w->out = fl_out(k, 0, 0) ? fl_data(fl_out(k, 0, 0)) : NULL;
	w->out2 = fl_out(k, 1, 0) ? fl_data(fl_out(k, 1, 0)) : NULL;
	return FL_OK;
}

/* dY first: dX may lie where dOut does. */
static enum fl_code run_grad(struct fl_kernel *k, struct fl_err *err)
{
	struct work *w = k->state;
	size_t n;
	int64_t each;

	FL_TRY(bind_grad(k, w, err));
	if (!w->b.simple) {
		if (w->dtype == FL_FP32)
			spread_grad_f32(w);
		else
			spread_grad_f64(w);
		return FL_OK;
	}
	if (w->out2)
		fl_pool_for(k->pool, (size_t)w->b.n, fl_grain(w->b.pre * w->b.post) + 15, dy_part, w);
	n = row_count(&w->b, &each);
	if (w->out)
		fl_pool_for(k->pool, n, fl_grain(each), dx_part, w);
	return FL_OK;
}

#define ROW(name)                                                                                  \
	{ .type = "elementwise_" name, .in = "X Y", .out = "Out", .state_size = sizeof(struct work), \
		.prepare = prepare, .run = run }
#define GRAD_ROW(name)                                                                             \
	{ .type = "elementwise_" name "_grad", .in = "X Y Out Out@GRAD", .out = "X@GRAD Y@GRAD",   \
		.state_size = sizeof(struct work), .prepare = prepare, .run = run_grad }

const struct fl_kernel_def fl_kernels_elementwise[] = {
	ROW("add"), ROW("sub"), ROW("mul"), ROW("div"), ROW("max"), ROW("min"), ROW("pow"), ROW("mod"),
	ROW("floordiv"), GRAD_ROW("add"), GRAD_ROW("sub"), GRAD_ROW("mul"), GRAD_ROW("div"),
	GRAD_ROW("max"), GRAD_ROW("min"), GRAD_ROW("pow"), { .type = NULL },
};
