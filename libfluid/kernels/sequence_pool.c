/* One row for each sequence of the last level of LoD (operators.md 4.12). A sequence without rows gives
 * the padding value, and -1 as the place of its maximum. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "kernels/internal.h"

enum pooling { AVERAGE, SUM, SQRT, LAST, FIRST, MAX };
static const char *const names[] = { "AVERAGE", "SUM", "SQRT", "LAST", "FIRST", "MAX" };

struct pool {
	enum pooling how;
	double pad;
	int dtype;
	int64_t width;
	const struct fl_lod_level *level;
	const void *x;	/* X, or dOut */
	void *out;	/* Out, or dX */
	int32_t *place; /* of maxima; NULL: not wanted */
};

/* What a row counts for in a sequence of so many. */
static double weight(enum pooling how, uint64_t n)
{
	return how == AVERAGE ? 1 / (double)n : how == SQRT ? 1 / sqrt((double)n) : 1;
}

#define FL_TEMPLATE "kernels/sequence_pool_t.h"
#include "kernels/types.h"

static enum fl_code prepare(struct fl_kernel *k, struct fl_err *err)
{
	struct pool *p = k->state;
	const char *name = fl_k_str(k, "pooltype");

	p->pad = fl_k_num(k, "pad_value");
	for (size_t i = 0; i < FL_COUNT(names); i++)
		if (!strcmp(names[i], name)) {
			p->how = (enum pooling)i;
			return FL_OK;
		}
	return fl_err_set(err, FL_EINVAL, "attribute 'pooltype' is '%s', expected AVERAGE, SUM, SQRT, "
		"LAST, FIRST or MAX", name);
}

static enum fl_code need_level(struct pool *p, const struct fl_tensor *x, struct fl_err *err)
{
	if (!x->lod.n || !x->lod.level[x->lod.n - 1].n)
		return fl_err_set(err, FL_EINVAL, "'X' has no LoD, expected sequences");
	p->level = &x->lod.level[x->lod.n - 1];
	p->width = fl_dims_product(x->dims, 1, x->rank);
	p->dtype = x->dtype;
	return fl_lod_check(&x->lod, x->dims[0], err);
}

static void pool_part(void *arg, size_t begin, size_t end)
{
	const struct pool *p = arg;

	if (p->dtype == FL_FP32)
		pool_f32(p, begin, end);
	else
		pool_f64(p, begin, end);
}

static void grad_part(void *arg, size_t begin, size_t end)
{
	const struct pool *p = arg;

	if (p->dtype == FL_FP32)
		grad_f32(p, begin, end);
	else
		grad_f64(p, begin, end);
}

static size_t grain(const struct pool *p, size_t n)
{
	return fl_grain(p->width * (int64_t)(p->level->off[n] / (n ? n : 1) + 1));
}

static enum fl_code run(struct fl_kernel *k, struct fl_err *err)
{
	struct pool *p = k->state;
	const struct fl_tensor *x = fl_in(k, 0, 0);
	struct fl_tensor *out = fl_out(k, 0, 0);
	int64_t dims[FL_MAX_RANK];
	size_t n;

	FL_TRY(need_level(p, x, err));
	if (!out)
		return fl_err_set(err, FL_EINVAL, "'Out' is absent, expected a tensor");
	if (p->how == MAX && !fl_out(k, 1, 0))
		return fl_err_set(err, FL_EINVAL, "'MaxIndex' is absent, expected a tensor");
	n = p->level->n - 1;
	memcpy(dims, x->dims, sizeof dims);
	dims[0] = (int64_t)n;
	FL_TRY(fl_k_resize(k, 0, 0, x->dtype, dims, x->rank, err));
	p->place = NULL;
	if (p->how == MAX) {
		FL_TRY(fl_k_resize(k, 1, 0, FL_INT32, dims, x->rank, err));
		p->place = fl_data(fl_out(k, 1, 0));
	} else { /* old gradients name it all the same: it has a value, of no elements */
		FL_TRY(fl_k_resize(k, 1, 0, FL_INT32, (const int64_t[]){ 0 }, 1, err));
	}
	for (int i = 0; i + 1 < x->lod.n; i++)
		FL_TRY(fl_lod_push(&out->lod, x->lod.level[i].off, x->lod.level[i].n, err));
	p->x = fl_data(x);
	p->out = fl_data(out);
	fl_pool_for(k->pool, n, grain(p, n), pool_part, p);
	return FL_OK;
}

static enum fl_code need_places(const struct pool *p, const struct fl_tensor *at, int64_t rows,
	size_t n, struct fl_err *err)
{
	const int32_t *v;
	int64_t count = (int64_t)n * p->width;

	if (!at || at->dtype != FL_INT32 || fl_numel(at) != count)
		return fl_err_set(err, FL_EINVAL, "'MaxIndex' is not one INT32 for each element of 'Out'");
	v = fl_data(at);
	for (int64_t i = 0; i < count; i++)
		if (v[i] < -1 || v[i] >= rows)
			return fl_k_bad_element("MaxIndex", i, v[i], rows - 1, err);
	return FL_OK;
}

static enum fl_code run_grad(struct fl_kernel *k, struct fl_err *err)
{
	struct pool *p = k->state;
	const struct fl_tensor *x = fl_in(k, 0, 0), *g = fl_in(k, 1, 0);
	struct fl_tensor *out = fl_out(k, 0, 0);
	size_t n;

	if (!out)
		return FL_OK;
	FL_TRY(need_level(p, x, err));
	n = p->level->n - 1;
	if (fl_numel(g) != (int64_t)n * p->width)
		return fl_err_set(err, FL_EINVAL, "'Out@GRAD' has %lld elements, expected %lld",
			(long long)fl_numel(g), (long long)((int64_t)n * p->width));
	if (p->how == MAX) {
		FL_TRY(need_places(p, fl_in(k, 2, 0), x->dims[0], n, err));
		p->place = fl_data(fl_in(k, 2, 0));
	}
	p->x = fl_data(g);
	p->out = fl_data(out);
	fl_pool_for(k->pool, n, grain(p, n), grad_part, p);
	return FL_OK;
}

const struct fl_kernel_def fl_kernels_sequence_pool[] = {
	{ .type = "sequence_pool", .in = "X", .out = "Out MaxIndex", .state_size = sizeof(struct pool),
		.prepare = prepare, .run = run },
	{ .type = "sequence_pool_grad", .in = "X Out@GRAD MaxIndex", .out = "X@GRAD",
		.state_size = sizeof(struct pool), .prepare = prepare, .run = run_grad },
	{ .type = NULL },
};
