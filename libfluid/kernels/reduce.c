/*
 * Sums, means, products and extremes over dimensions (operators.md 4.4, reduce_op of Fluid 1.8.5), and
 * their gradients. One walk over X in its order: the last dimension is the inner loop, the others
 * count along with the place in Out. Sums are kept in double, so that they do not depend on the
 * length of what is summed.
 */
#include <string.h>

#include "base/mem.h"
#include "kernels/internal.h"

enum how { SUM, MEAN, MAX, MIN, PROD, ALL, ANY };
static const char *const names[] = { "reduce_sum", "reduce_mean", "reduce_max", "reduce_min",
	"reduce_prod", "reduce_all", "reduce_any" };

struct reduce {
	enum how how;
	int rank;
	int64_t dims[FL_MAX_RANK];
	int64_t step[FL_MAX_RANK]; /* in Out, 0 where the dimension goes */
	int64_t n, out_n, count;   /* elements of X, of Out; of X for each of Out */
	struct fl_scratch sums;
};

static enum fl_code prepare(struct fl_kernel *k, struct fl_err *err)
{
	struct reduce *r = k->state;
	int64_t out = fl_k_int(k, "out_dtype");

	for (size_t i = 0; i < FL_COUNT(names); i++)
		if (!strncmp(names[i], k->op_def->type, strlen(names[i])))
			r->how = (enum how)i;
	if (out >= 0 && out != fl_k_int(k, "in_dtype"))
		return fl_err_set(err, FL_EUNSUPPORTED,
			"attribute 'out_dtype' is %lld, expected the type of 'X'", (long long)out);
	return FL_OK;
}

static void release(struct fl_kernel *k)
{
	struct reduce *r = k->state;

	fl_free(r->sums.data);
}

/* Which dimensions go: all of them, or those listed, from the end where they are negative. */
static void plan(struct fl_kernel *k, const struct fl_tensor *x)
{
	struct reduce *r = k->state;
	int64_t list[FL_MAX_RANK], step = 1;
	size_t n = fl_k_ints(k, "dim", list, FL_MAX_RANK);
	bool gone[FL_MAX_RANK] = { false }, all = fl_k_bool(k, "reduce_all") || !n;

	for (size_t i = 0; i < n && i < FL_MAX_RANK; i++)
		if (list[i] >= -x->rank && list[i] < x->rank)
			gone[list[i] < 0 ? list[i] + x->rank : list[i]] = true;
	r->rank = x->rank;
	r->count = 1;
	for (int d = x->rank - 1; d >= 0; d--) {
		r->dims[d] = x->dims[d];
		r->step[d] = all || gone[d] ? 0 : step;
		*(all || gone[d] ? &r->count : &step) *= x->dims[d];
	}
	r->n = fl_numel(x);
	r->out_n = step;
}

/* The next row of the last dimension: where it lies in Out. */
static int64_t next_row(const struct reduce *r, int64_t *at, int64_t place)
{
	for (int d = r->rank - 2; d >= 0; d--) {
		place += r->step[d];
		if (++at[d] < r->dims[d])
			return place;
		place -= r->step[d] * r->dims[d];
		at[d] = 0;
	}
	return place;
}

#define FL_TEMPLATE "kernels/reduce_t.h"
#include "kernels/types.h"

#define FL_IS_REAL 0
#define T int32_t
#define F(name) name##_i32
#include "kernels/reduce_t.h"
#undef T
#undef F
#define T int64_t
#define F(name) name##_i64
#include "kernels/reduce_t.h"
#undef T
#undef F
#undef FL_IS_REAL

static void reduce_bool(const struct reduce *r, const uint8_t *x, uint8_t *out)
{
	int64_t at[FL_MAX_RANK] = { 0 }, place = 0, len = r->rank ? r->dims[r->rank - 1] : 1;
	int64_t step = r->rank ? r->step[r->rank - 1] : 0;

	memset(out, r->how == ALL, (size_t)r->out_n);
	for (int64_t i = 0; i < r->n; i += len, place = next_row(r, at, place))
		for (int64_t j = 0; j < len; j++)
			if ((x[i + j] != 0) == (r->how == ANY))
				out[place + j * step] = r->how == ANY;
}

static enum fl_code run(struct fl_kernel *k, struct fl_err *err)
{
	struct reduce *r = k->state;
	const struct fl_tensor *x = fl_in(k, 0, 0);
	void *out = fl_data(fl_out(k, 0, 0));

	plan(k, x);
	if (r->how >= ALL) {
		reduce_bool(r, fl_data(x), out);
		return FL_OK;
	}
	FL_TRY(fl_scratch_need(&r->sums, (size_t)r->out_n, sizeof(double), err));
	switch (x->dtype) {
	case FL_FP32: reduce_f32(r, fl_data(x), out); return FL_OK;
	case FL_FP64: reduce_f64(r, fl_data(x), out); return FL_OK;
	case FL_INT32: reduce_i32(r, fl_data(x), out); return FL_OK;
	case FL_INT64: reduce_i64(r, fl_data(x), out); return FL_OK;
	default: return fl_k_bad_dtype(k, "X", x->dtype, err);
	}
}

static enum fl_code run_grad(struct fl_kernel *k, struct fl_err *err)
{
	struct reduce *r = k->state;
	const struct fl_tensor *x = fl_in(k, 0, 0), *o = fl_in(k, 1, 0), *g = fl_in(k, 2, 0);
	struct fl_tensor *out = fl_out(k, 0, 0);

	if (!out)
		return FL_OK;
	plan(k, x);
	if (fl_numel(g) != r->out_n || (r->how > MEAN && (!o || fl_numel(o) != r->out_n)))
		return fl_err_set(err, FL_EINVAL, "'Out@GRAD' or 'Out' has not the %lld elements of 'Out'",
			(long long)r->out_n);
	if (x->dtype == FL_FP32)
		grad_f32(r, fl_data(x), r->how > MEAN ? fl_data(o) : NULL, fl_data(g), fl_data(out));
	else
		grad_f64(r, fl_data(x), r->how > MEAN ? fl_data(o) : NULL, fl_data(g), fl_data(out));
	return FL_OK;
}

#define ROW(name, ins, outs, fn)                                                                   \
	{ .type = name, .in = ins, .out = outs, .state_size = sizeof(struct reduce),               \
		.prepare = prepare, .run = fn, .release = release }
#define ROWS(name) ROW(name, "X", "Out", run), ROW(name "_grad", "X Out Out@GRAD", "X@GRAD", run_grad)

const struct fl_kernel_def fl_kernels_reduce[] = {
	ROWS("reduce_sum"), ROWS("reduce_mean"), ROWS("reduce_max"), ROWS("reduce_min"),
	ROWS("reduce_prod"), ROW("reduce_all", "X", "Out", run), ROW("reduce_any", "X", "Out", run),
	{ .type = NULL },
};
