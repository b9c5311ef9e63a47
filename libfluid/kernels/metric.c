/* top_k and accuracy (operators.md 4.13). */
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "kernels/internal.h"

/* ---- top_k ----------------------------------------------------------------------------------- */

static double element(const struct fl_tensor *t, int64_t i)
{
	switch (t->dtype) {
	case FL_FP32: return (double)((const float *)fl_data(t))[i];
	case FL_FP64: return ((const double *)fl_data(t))[i];
	default: return (double)fl_k_element(t, i);
	}
}

/* The k largest by insertion, the first place before others of equal value; NaN is never larger. */
static void top_row(const struct fl_tensor *x, int64_t at, int64_t n, int64_t k, int64_t *best)
{
	int64_t have = 0;

	for (int64_t i = 0; i < n; i++) {
		int64_t j = have < k ? have : k - 1;
		double v = element(x, at + i);

		if (have == k && !(v > element(x, at + best[k - 1])))
			continue;
		for (; j > 0 && v > element(x, at + best[j - 1]); j--)
			best[j] = best[j - 1];
		best[j] = i;
		have += have < k;
	}
}

static enum fl_code find_k(struct fl_kernel *k, int64_t n, int64_t *count, struct fl_err *err)
{
	const struct fl_tensor *from = fl_in(k, 1, 0);

	*count = fl_k_int(k, "k");
	if (from && (from->dtype == FL_INT32 || from->dtype == FL_INT64) && fl_numel(from) == 1)
		*count = fl_k_element(from, 0);
	else if (from)
		return fl_err_set(err, FL_EINVAL, "'K' is not one integer");
	if (*count >= 1 && *count <= n)
		return FL_OK;
	return fl_err_set(err, FL_EINVAL, "'K' is %" PRId64 ", expected 1 to %" PRId64, *count, n);
}

static enum fl_code run_top_k(struct fl_kernel *k, struct fl_err *err)
{
	const struct fl_tensor *x = fl_in(k, 0, 0);
	int64_t dims[FL_MAX_RANK], n = x->dims[x->rank - 1], count, rows;
	size_t size = fl_dtype_size(x->dtype);
	struct fl_tensor *out = fl_out(k, 0, 0), *places = fl_out(k, 1, 0);

	if (x->dtype != FL_FP32 && x->dtype != FL_FP64 && x->dtype != FL_INT32 && x->dtype != FL_INT64)
		return fl_k_bad_dtype(k, "X", x->dtype, err);
	FL_TRY(find_k(k, n, &count, err));
	rows = fl_dims_product(x->dims, 0, x->rank - 1);
	memcpy(dims, x->dims, sizeof dims);
	dims[x->rank - 1] = count;
	FL_TRY(fl_k_resize(k, 0, 0, x->dtype, dims, x->rank, err));
	FL_TRY(fl_k_resize(k, 1, 0, FL_INT64, dims, x->rank, err));
	if (!out || !places)
		return fl_err_set(err, FL_EINVAL, "'Out' and 'Indices' are both needed");
	fl_lod_copy(&out->lod, &x->lod);
	fl_lod_copy(&places->lod, &x->lod);
	for (int64_t r = 0; r < rows; r++) {
		int64_t *best = (int64_t *)fl_data(places) + r * count;
		char *to = (char *)fl_data(out) + (size_t)(r * count) * size;

		top_row(x, r * n, n, count, best);
		for (int64_t i = 0; i < count; i++)
			memcpy(to + (size_t)i * size,
				(const char *)fl_data(x) + (size_t)(r * n + best[i]) * size, size);
	}
	return FL_OK;
}

static enum fl_code run_top_k_grad(struct fl_kernel *k, struct fl_err *err)
{
	const struct fl_tensor *places = fl_in(k, 0, 0), *g = fl_in(k, 1, 0);
	struct fl_tensor *out = fl_out(k, 0, 0);
	int64_t n, count = fl_numel(places), each = places->dims[places->rank - 1];
	const int64_t *at = fl_data(places);
	size_t size = fl_dtype_size(g->dtype);

	if (!out)
		return FL_OK;
	n = out->dims[out->rank - 1];
	memset(fl_data(out), 0, fl_tensor_bytes(out));
	for (int64_t i = 0; i < count; i++) {
		if (at[i] < 0 || at[i] >= n)
			return fl_k_bad_element("Indices", i, at[i], n - 1, err);
		memcpy((char *)fl_data(out) + (size_t)(i / each * n + at[i]) * size,
			(const char *)fl_data(g) + (size_t)i * size, size);
	}
	return FL_OK;
}

/* ---- accuracy -------------------------------------------------------------------------------- */

static enum fl_code run_accuracy(struct fl_kernel *k, struct fl_err *err)
{
	const struct fl_tensor *places = fl_in(k, 0, 0), *label = fl_in(k, 1, 0);
	const int64_t *at = fl_data(places), *want = fl_data(label);
	int64_t rows = places->dims[0], each = places->dims[1];
	int32_t correct = 0;

	(void)err;
	for (int64_t r = 0; r < rows; r++)
		for (int64_t i = 0; i < each; i++)
			if (at[r * each + i] == want[r]) {
				correct++;
				break;
			}
	*(float *)fl_data(fl_out(k, 0, 0)) = rows ? (float)correct / (float)rows : 0;
	if (fl_out(k, 1, 0))
		*(int32_t *)fl_data(fl_out(k, 1, 0)) = correct;
	if (fl_out(k, 2, 0))
		*(int32_t *)fl_data(fl_out(k, 2, 0)) = (int32_t)rows;
	return FL_OK;
}

const struct fl_kernel_def fl_kernels_metric[] = {
	{ .type = "top_k", .in = "X K", .out = "Out Indices", .run = run_top_k },
	{ .type = "top_k_grad", .in = "Indices Out@GRAD", .out = "X@GRAD", .run = run_top_k_grad },
	{ .type = "accuracy", .in = "Indices Label", .out = "Accuracy Correct Total",
		.run = run_accuracy },
	{ .type = NULL },
};
