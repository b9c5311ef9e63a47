/* Comparing files of variables, by the two measures of the recordings' descriptions. */
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "desc/proto.h"
#include "recordings/recordings.h"
#include "tensor/dtype.h"
#include "tensor/stream.h"

static double half(uint16_t h)
{
	int exponent = h >> 10 & 31, mantissa = h & 1023;
	double v = exponent == 31 ? (mantissa ? NAN : INFINITY) :
		exponent	  ? ldexp(mantissa + 1024, exponent - 25) :
				    ldexp(mantissa, -24);

	return h >> 15 ? -v : v;
}

static double value_at(const struct fl_tensor *t, int64_t i)
{
	const void *p = fl_data(t);

	switch (t->dtype) {
	case FL_FP16: return half(((const uint16_t *)p)[i]);
	case FL_FP32: return ((const float *)p)[i];
	case FL_FP64: return ((const double *)p)[i];
	default: return NAN;
	}
}

/* Type, shape and LoD; words when they differ. */
static bool same_form(const struct fl_tensor *g, const struct fl_tensor *w, const char *label,
	struct fl_buf *why)
{
	bool dims = g->rank == w->rank;

	for (int i = 0; dims && i < w->rank; i++)
		dims = g->dims[i] == w->dims[i];
	if (g->dtype != w->dtype)
		fl_buf_addf(why, "%s has type %d, not %d; ", label, g->dtype, w->dtype);
	else if (!dims)
		fl_buf_addf(why, "%s has another shape; ", label);
	else if (!fl_lod_equal(&g->lod, &w->lod))
		fl_buf_addf(why, "%s has another LoD; ", label);
	else
		return true;
	return false;
}

static bool within(double g, double w, double rtol, double atol)
{
	if (isnan(g) || isnan(w))
		return isnan(g) && isnan(w);
	if (isinf(g) || isinf(w))
		return g == w;
	return fabs(g - w) <= atol + rtol * fabs(w);
}

static void near_tensor(const struct fl_tensor *g, const struct fl_tensor *w, double rtol,
	double atol, const char *label, struct fl_buf *why)
{
	int64_t n, bad = 0, first = 0;

	if (!same_form(g, w, label, why) || !w->mem || !g->mem)
		return;
	n = fl_numel(w);
	if (!fl_dtype_is_float(w->dtype)) {
		if (memcmp(fl_data(g), fl_data(w), fl_tensor_bytes(w)) != 0)
			fl_buf_addf(why, "%s has other whole numbers; ", label);
		return;
	}
	for (int64_t i = 0; i < n; i++)
		if (!within(value_at(g, i), value_at(w, i), rtol, atol) && !bad++)
			first = i;
	if (bad)
		fl_buf_addf(why, "%s differs in %" PRId64 " of %" PRId64 ", e.g. %.9g not %.9g; ",
			label, bad, n, value_at(g, first), value_at(w, first));
}

static int kind_of(const char *kind)
{
	if (!strcmp(kind, "selected_rows"))
		return FL_SELECTED_ROWS;
	/* a rank table is written as a plain tensor */
	return strcmp(kind, "lod_tensor_array") ? FL_LOD_TENSOR : FL_LOD_TENSOR_ARRAY;
}

void rec_near(const char *kind, const char *got, const char *want, double rtol, double atol,
	const char *label, struct fl_buf *why)
{
	struct fl_var *g = fl_var_new(label, kind_of(kind)), *w = fl_var_new(label, kind_of(kind));
	struct fl_err err = { 0 };
	size_t extra;

	if (fl_load_var(got, g, NULL, &err) || fl_load_var(want, w, &extra, &err)) {
		fl_buf_addf(why, "%s: %s; ", label, err.msg);
	} else if (w->kind == FL_SELECTED_ROWS) {
		if (g->rows.height != w->rows.height || g->rows.n != w->rows.n ||
			(w->rows.n && memcmp(g->rows.rows, w->rows.rows, w->rows.n * 8)))
			fl_buf_addf(why, "%s has other rows; ", label);
		else
			near_tensor(&g->rows.value, &w->rows.value, rtol, atol, label, why);
	} else if (w->kind == FL_LOD_TENSOR_ARRAY) {
		if (g->array.n != w->array.n)
			fl_buf_addf(why, "%s has %zu items, not %zu; ", label, g->array.n, w->array.n);
		for (size_t i = 0; i < g->array.n && i < w->array.n; i++)
			near_tensor(&g->array.items[i], &w->array.items[i], rtol, atol, label, why);
	} else {
		near_tensor(&g->tensor, &w->tensor, rtol, atol, label, why);
	}
	fl_var_free(g);
	fl_var_free(w);
}

double rec_far(const double *got, size_t n_got, const double *want, size_t n_want, double floor)
{
	double sum = 0, most = 0;
	size_t finite = 0;

	if (n_got != n_want)
		return INFINITY;
	for (size_t i = 0; i < n_want; i++)
		if (isfinite(want[i])) {
			sum += fabs(want[i]);
			finite++;
		}
	if (!(floor > 0))
		floor = finite && sum > 0 ? sum / (double)finite : 1e-30;
	for (size_t i = 0; i < n_want; i++) {
		if (!isfinite(want[i])) {
			if (!within(got[i], want[i], 0, 0))
				return INFINITY;
			continue;
		}
		if (!isfinite(got[i]))
			return INFINITY;
		most = fmax(most, fabs(got[i] - want[i]) / (fabs(want[i]) + floor));
	}
	return most;
}

static double far_tensor(const struct fl_tensor *g, const struct fl_tensor *w, double floor)
{
	size_t n = w->mem ? (size_t)fl_numel(w) : 0;
	double *a, *b, far;

	if (!n)
		return 0;
	if (!fl_dtype_is_float(w->dtype))
		return memcmp(fl_data(g), fl_data(w), fl_tensor_bytes(w)) ? INFINITY : 0;
	a = FL_NEW_N(double, n);
	b = FL_NEW_N(double, n);
	for (size_t i = 0; i < n; i++) {
		a[i] = value_at(g, (int64_t)i);
		b[i] = value_at(w, (int64_t)i);
	}
	far = rec_far(a, n, b, n, floor);
	fl_free(a);
	fl_free(b);
	return far;
}

double rec_far_file(const char *got, const char *want, double floor, const char *label,
	struct fl_buf *why)
{
	struct fl_var *g = fl_var_new(label, FL_LOD_TENSOR), *w = fl_var_new(label, FL_LOD_TENSOR);
	struct fl_err err = { 0 };
	double far = 0;
	size_t extra;

	if (fl_load_var(got, g, NULL, &err) || fl_load_var(want, w, &extra, &err))
		fl_buf_addf(why, "%s: %s; ", label, err.msg);
	else if (same_form(&g->tensor, &w->tensor, label, why))
		far = far_tensor(&g->tensor, &w->tensor, floor);
	fl_var_free(g);
	fl_var_free(w);
	return far;
}
