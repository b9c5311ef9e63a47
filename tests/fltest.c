#include "fltest.h"

#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#include "tensor/dtype.h"

static double element(const struct fl_tensor *t, int64_t i)
{
	const void *p = fl_data(t);

	switch (t->dtype) {
	case FL_FP32: return ((const float *)p)[i];
	case FL_FP64: return ((const double *)p)[i];
	default: return NAN;
	}
}

static int near(double got, double wanted, double tol)
{
	if (isnan(wanted) || isnan(got))
		return isnan(wanted) && isnan(got);
	if (isinf(wanted) || isinf(got))
		return got == wanted;
	return fabs(got - wanted) <= tol * fmax(1, fabs(wanted));
}

#define FAIL_UNLESS(cond, ...)                                                                     \
	do {                                                                                       \
		if (!(cond))                                                                       \
			_ck_assert_failed(file, line, #cond, __VA_ARGS__);                         \
	} while (0)

void ft_tensor_near(const char *file, int line, const struct fl_tensor *got,
	const struct fl_tensor *wanted, double tol)
{
	size_t bytes = fl_tensor_bytes(wanted);

	FAIL_UNLESS(got->dtype == wanted->dtype, "type %d instead of %d", got->dtype, wanted->dtype);
	FAIL_UNLESS(got->rank == wanted->rank, "rank %d instead of %d", got->rank, wanted->rank);
	for (int i = 0; i < wanted->rank; i++)
		FAIL_UNLESS(got->dims[i] == wanted->dims[i], "dim %d is %" PRId64 " instead of %" PRId64,
			i, got->dims[i], wanted->dims[i]);
	FAIL_UNLESS(fl_lod_equal(&got->lod, &wanted->lod), "another LoD");
	FAIL_UNLESS(!got->mem == !wanted->mem, "%s value", got->mem ? "a" : "no");
	if (!bytes)
		return;
	if (!fl_dtype_is_float(wanted->dtype) || fl_dtype_size(wanted->dtype) < 4) {
		FAIL_UNLESS(!memcmp(fl_data(got), fl_data(wanted), bytes), "other values");
		return;
	}
	for (int64_t i = 0; i < fl_numel(wanted); i++)
		FAIL_UNLESS(near(element(got, i), element(wanted, i), tol),
			"element %" PRId64 " is %.9g instead of %.9g", i, element(got, i),
			element(wanted, i));
}
