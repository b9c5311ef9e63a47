/* Constants, copies, casts and reshapes (operators.md 4.1 and 4.11). */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "desc/query.h"
#include "kernels/internal.h"
#include "ops/reshape.h"

/* ---- shapes ---------------------------------------------------------------------------------- */

static enum fl_code need_ints(const char *slot, const struct fl_tensor *t, struct fl_err *err)
{
	if (t->dtype == FL_INT32 || t->dtype == FL_INT64)
		return FL_OK;
	return fl_err_set(err, FL_EINVAL, "'%s' is of type %s, expected INT32 or INT64", slot,
		fl_dtype_name(t->dtype) ? fl_dtype_name(t->dtype) : "unknown");
}

static enum fl_code shape_of_tensor(const char *slot, const struct fl_tensor *t, int64_t *dims,
	int *rank, struct fl_err *err)
{
	FL_TRY(need_ints(slot, t, err));
	if (fl_numel(t) > FL_MAX_RANK)
		return fl_err_set(err, FL_EINVAL, "'%s' has %" PRId64 " elements, expected at most %d", slot,
			fl_numel(t), FL_MAX_RANK);
	*rank = (int)fl_numel(t);
	for (int i = 0; i < *rank; i++)
		dims[i] = fl_k_element(t, i);
	return FL_OK;
}

static enum fl_code shape_of_list(const char *slot, const struct fl_kernel *k, int in, int64_t *dims,
	int *rank, struct fl_err *err)
{
	size_t n = k->in[in].n;

	if (n > FL_MAX_RANK)
		return fl_err_set(err, FL_EINVAL, "'%s' has %zu variables, expected at most %d", slot, n,
			FL_MAX_RANK);
	for (size_t i = 0; i < n; i++) {
		const struct fl_tensor *t = fl_in(k, in, i);

		if (!t || fl_numel(t) != 1)
			return fl_err_set(err, FL_EINVAL, "'%s'[%zu] has not one element", slot, i);
		FL_TRY(need_ints(slot, t, err));
		dims[i] = fl_k_element(t, 0);
	}
	*rank = (int)n;
	return FL_OK;
}

enum fl_code fl_k_filled(struct fl_kernel *k, struct fl_tensor **out, struct fl_err *err)
{
	int64_t dims[FL_MAX_RANK];
	struct fl_var *var = fl_out_var(k, 0, 0);
	bool from_tensors = strstr(k->def->in, "ShapeTensor") != NULL;
	int rank = 0;

	if (!var)
		return fl_err_set(err, FL_EINVAL, "'Out' is absent, expected a variable");
	if (from_tensors && fl_in(k, 0, 0))
		FL_TRY(shape_of_tensor("ShapeTensor", fl_in(k, 0, 0), dims, &rank, err));
	else if (from_tensors && k->in[1].n)
		FL_TRY(shape_of_list("ShapeTensorList", k, 1, dims, &rank, err));
	else
		rank = (int)fl_k_ints(k, "shape", dims, FL_MAX_RANK);
	if (var->kind != FL_SELECTED_ROWS)
		fl_var_set_kind(var, FL_LOD_TENSOR);
	*out = var->kind == FL_SELECTED_ROWS ? &var->rows.value : &var->tensor;
	fl_lod_clear(&(*out)->lod);
	return fl_tensor_resize(*out, (int)fl_k_int(k, "dtype"), dims, rank, err);
}

enum fl_code fl_k_batch_size_like(struct fl_kernel *k, bool sequences, struct fl_err *err)
{
	const struct fl_tensor *in = fl_in(k, 0, 0);
	int64_t dims[FL_MAX_RANK], from = fl_k_int(k, "input_dim_idx");
	int rank = (int)fl_k_ints(k, "shape", dims, FL_MAX_RANK);
	int64_t to = fl_k_int(k, "output_dim_idx");

	if (sequences && from == 0 && in->lod.n)
		dims[to] = (int64_t)in->lod.level[in->lod.n - 1].n - 1;
	else
		dims[to] = in->dims[from];
	return fl_k_resize(k, 0, 0, (int)fl_k_int(k, "dtype"), dims, rank, err);
}

/* ---- constants ------------------------------------------------------------------------------- */

struct value {
	double number;
	int64_t integer; /* for INT64, exact */
};

static void fill(struct fl_tensor *t, const struct value *v)
{
	int64_t n = fl_numel(t);
	void *data = fl_data(t);

	switch (t->dtype) {
	case FL_FP32:
		for (int64_t i = 0; i < n; i++)
			((float *)data)[i] = (float)v->number;
		return;
	case FL_FP64:
		for (int64_t i = 0; i < n; i++)
			((double *)data)[i] = v->number;
		return;
	case FL_INT64:
		for (int64_t i = 0; i < n; i++)
			((int64_t *)data)[i] = v->integer;
		return;
	case FL_INT32:
		for (int64_t i = 0; i < n; i++)
			((int32_t *)data)[i] = (int32_t)v->integer;
		return;
	default: memset(data, v->number != 0, (size_t)n * fl_dtype_size(t->dtype));
	}
}

/* C's conversion, with what it leaves undefined made zero. */
static int64_t to_int64(double v)
{
	return v >= -9223372036854775808.0 && v < 9223372036854775808.0 ? (int64_t)v : 0;
}

/* str_value wins: it holds large integers, and inf and nan. */
static enum fl_code prepare_fill(struct fl_kernel *k, struct fl_err *err)
{
	struct value *v = k->state;
	const char *s = fl_k_str(k, "str_value");
	char *end = NULL;

	v->number = fl_k_num(k, "value");
	v->integer = to_int64(v->number);
	if (!*s)
		return FL_OK;
	errno = 0;
	v->number = strtod(s, &end);
	v->integer = to_int64(v->number);
	if (end && !*end && fl_k_int(k, "dtype") == FL_INT64) {
		char *stop;
		long long exact = strtoll(s, &stop, 10);

		if (!*stop)
			v->integer = exact;
	}
	if (end == s || *end)
		return fl_err_set(err, FL_EINVAL, "attribute 'str_value' is '%s', expected a number", s);
	return FL_OK;
}

static enum fl_code run_fill_constant(struct fl_kernel *k, struct fl_err *err)
{
	const struct fl_tensor *from = fl_in(k, 2, 0);
	struct value v = *(const struct value *)k->state;
	struct fl_tensor *t;

	FL_TRY(fl_k_filled(k, &t, err));
	if (from) {
		if (fl_numel(from) != 1 || from->dtype != t->dtype)
			return fl_err_set(err, FL_EINVAL,
				"'ValueTensor' is not one element of the type of 'Out'");
		v.number = from->dtype == FL_FP32 ? (double)*(const float *)fl_data(from)
			: from->dtype == FL_FP64  ? *(const double *)fl_data(from)
			: from->dtype == FL_BOOL  ? *(const uint8_t *)fl_data(from)
						  : (double)fl_k_element(from, 0);
		v.integer = from->dtype == FL_INT32 || from->dtype == FL_INT64 ? fl_k_element(from, 0)
									      : to_int64(v.number);
	}
	fill(t, &v);
	return FL_OK;
}

static enum fl_code run_fill_like(struct fl_kernel *k, struct fl_err *err)
{
	FL_TRY(fl_k_batch_size_like(k, true, err));
	fill(fl_out(k, 0, 0), k->state);
	return FL_OK;
}

static enum fl_code run_zeros(struct fl_kernel *k, struct fl_err *err)
{
	struct fl_var *out = fl_out_var(k, 0, 0);

	if (out->kind == FL_SELECTED_ROWS) {
		FL_TRY(fl_selected_rows_copy(&out->rows, &fl_in_var(k, 0, 0)->rows, err));
		memset(fl_data(&out->rows.value), 0, fl_tensor_bytes(&out->rows.value));
	} else {
		memset(fl_data(&out->tensor), 0, fl_tensor_bytes(&out->tensor));
	}
	return FL_OK;
}

static enum fl_code run_assign_value(struct fl_kernel *k, struct fl_err *err)
{
	struct fl_tensor *t = fl_out(k, 0, 0);
	int64_t n = fl_numel(t);
	char *data = fl_data(t);

	(void)err;
	for (int64_t i = 0; i < n; i++)
		switch (t->dtype) {
		case FL_BOOL:
			data[i] = (char)(fl_attr_int_at(k->op, "bool_values", (size_t)i) != 0);
			break;
		case FL_INT32:
			((int32_t *)(void *)data)[i] =
				(int32_t)fl_attr_int_at(k->op, "int32_values", (size_t)i);
			break;
		case FL_INT64:
			((int64_t *)(void *)data)[i] = fl_attr_int_at(k->op, "int64_values", (size_t)i);
			break;
		default:
			((float *)(void *)data)[i] =
				(float)fl_attr_num_at(k->op, "fp32_values", (size_t)i);
		}
	return FL_OK;
}

/* ---- copies ---------------------------------------------------------------------------------- */

static enum fl_code run_assign(struct fl_kernel *k, struct fl_err *err)
{
	const struct fl_var *x = fl_in_var(k, 0, 0);
	struct fl_var *out = fl_out_var(k, 0, 0);

	if (!x || !out || !fl_var_has_value(x))
		return FL_OK;
	return fl_var_copy(out, x, err);
}

static void copy_bytes(struct fl_tensor *out, const struct fl_tensor *x)
{
	size_t n = fl_tensor_bytes(x);

	if (n && fl_data(out) != fl_data(x))
		memmove(fl_data(out), fl_data(x), n);
}

/* dX has its shape already; dOut has as many elements. */
static enum fl_code run_reshape_grad(struct fl_kernel *k, struct fl_err *err)
{
	struct fl_tensor *out = fl_out(k, 0, 0);

	(void)err;
	if (out)
		copy_bytes(out, fl_in(k, 0, 0));
	return FL_OK;
}

static enum fl_code run_reshape(struct fl_kernel *k, struct fl_err *err)
{
	const struct fl_tensor *x = fl_in(k, 0, 0);
	struct fl_tensor *out = fl_out(k, 0, 0), *xshape = NULL;
	bool two = !strcmp(k->op_def->type, "reshape2");
	int64_t dims[FL_MAX_RANK], old[FL_MAX_RANK + 1];
	int rank, n = x->rank;

	if (two && k->in[2].n)
		FL_TRY(shape_of_list("ShapeTensor", k, 2, dims, &rank, err));
	else if (fl_in(k, 1, 0))
		FL_TRY(shape_of_tensor("Shape", fl_in(k, 1, 0), dims, &rank, err));
	else
		rank = (int)fl_k_ints(k, "shape", dims, FL_MAX_RANK);
	FL_TRY(fl_reshape_dims(x->dims, n, dims, rank, err));
	old[0] = 0;
	memcpy(old + 1, x->dims, (size_t)n * sizeof *old);
	xshape = two ? fl_out(k, 1, 0) : NULL;
	if (xshape && n < FL_MAX_RANK) {
		FL_TRY(fl_k_resize(k, 1, 0, x->dtype, old, n + 1, err));
		fl_lod_copy(&xshape->lod, &x->lod);
	}
	if (out == x) {
		memcpy(out->dims, dims, sizeof dims);
		out->rank = rank;
	} else {
		FL_TRY(fl_k_resize(k, 0, 0, x->dtype, dims, rank, err));
		copy_bytes(out, x);
		if (n > 0 && rank > 0 && dims[0] == old[1])
			fl_lod_copy(&out->lod, &x->lod);
	}
	if (out == x && !(n > 0 && rank > 0 && dims[0] == old[1]))
		fl_lod_clear(&out->lod);
	return FL_OK;
}

static enum fl_code run_increment(struct fl_kernel *k, struct fl_err *err)
{
	const struct fl_tensor *x = fl_in(k, 0, 0);
	double step = fl_k_num(k, "step");
	void *out = fl_data(fl_out(k, 0, 0));

	switch (x->dtype) {
	case FL_FP32: *(float *)out = *(const float *)fl_data(x) + (float)step; return FL_OK;
	case FL_FP64: *(double *)out = *(const double *)fl_data(x) + step; return FL_OK;
	case FL_INT64:
		*(int64_t *)out = (int64_t)((uint64_t)fl_k_element(x, 0) + (uint64_t)to_int64(step));
		return FL_OK;
	case FL_INT32:
		*(int32_t *)out = (int32_t)((uint32_t)fl_k_element(x, 0) + (uint32_t)to_int64(step));
		return FL_OK;
	default: return fl_k_bad_dtype(k, "X", x->dtype, err);
	}
}

/* ---- cast ------------------------------------------------------------------------------------ */

#define CAST_FROM(FROM, from)                                                                      \
	for (int64_t i = 0; i < n; i++)                                                            \
		switch (out->dtype) {                                                              \
		case FL_FP32: ((float *)to)[i] = (float)((const FROM *)(from))[i]; break;          \
		case FL_FP64: ((double *)to)[i] = (double)((const FROM *)(from))[i]; break;        \
		case FL_INT64: ((int64_t *)to)[i] = (int64_t)((const FROM *)(from))[i]; break;     \
		case FL_INT32: ((int32_t *)to)[i] = (int32_t)((const FROM *)(from))[i]; break;     \
		case FL_UINT8: ((uint8_t *)to)[i] = (uint8_t)(int64_t)((const FROM *)(from))[i]; break; \
		case FL_INT8: ((int8_t *)to)[i] = (int8_t)(int64_t)((const FROM *)(from))[i]; break; \
		default: ((uint8_t *)to)[i] = ((const FROM *)(from))[i] != 0;                      \
		}

static enum fl_code run_cast(struct fl_kernel *k, struct fl_err *err)
{
	const struct fl_tensor *x = fl_in(k, 0, 0);
	struct fl_tensor *out = fl_out(k, 0, 0);
	const void *from = fl_data(x);
	void *to = fl_data(out);
	int64_t n = fl_numel(x);

	if (out->dtype == FL_FP16)
		return fl_k_bad_dtype(k, "Out", out->dtype, err);
	switch (x->dtype) {
	case FL_FP32: CAST_FROM(float, from) return FL_OK;
	case FL_FP64: CAST_FROM(double, from) return FL_OK;
	case FL_INT64: CAST_FROM(int64_t, from) return FL_OK;
	case FL_INT32: CAST_FROM(int32_t, from) return FL_OK;
	case FL_INT8: CAST_FROM(int8_t, from) return FL_OK;
	case FL_UINT8:
	case FL_BOOL: CAST_FROM(uint8_t, from) return FL_OK;
	default: return fl_k_bad_dtype(k, "X", x->dtype, err);
	}
}

const struct fl_kernel_def fl_kernels_plumbing[] = {
	{ .type = "fill_constant", .in = "ShapeTensor ShapeTensorList ValueTensor", .out = "Out",
		.state_size = sizeof(struct value), .prepare = prepare_fill, .run = run_fill_constant },
	{ .type = "fill_constant_batch_size_like", .in = "Input", .out = "Out",
		.state_size = sizeof(struct value), .prepare = prepare_fill, .run = run_fill_like },
	{ .type = "fill_zeros_like", .in = "X", .out = "Out", .run = run_zeros },
	{ .type = "assign", .in = "X", .out = "Out", .run = run_assign },
	{ .type = "print", .in = "In", .out = "Out", .run = run_assign },
	{ .type = "assign_value", .in = "", .out = "Out", .run = run_assign_value },
	{ .type = "increment", .in = "X", .out = "Out", .run = run_increment },
	{ .type = "cast", .in = "X", .out = "Out", .run = run_cast },
	{ .type = "reshape", .in = "X Shape", .out = "Out", .run = run_reshape },
	{ .type = "reshape2", .in = "X Shape ShapeTensor", .out = "Out XShape", .run = run_reshape },
	{ .type = "reshape_grad", .in = "Out@GRAD", .out = "X@GRAD", .run = run_reshape_grad },
	{ .type = "reshape2_grad", .in = "Out@GRAD", .out = "X@GRAD", .run = run_reshape_grad },
	{ .type = NULL },
};
