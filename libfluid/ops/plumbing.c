/* Values from nowhere or from elsewhere: constants, random numbers, copies, casts, reshapes (Fluid
 * 1.8.5; operators.md 4.1 and 4.11). */
#include <inttypes.h>
#include <string.h>

#include "desc/query.h"
#include "ops/reshape.h"
#include "ops/schema.h"

static enum fl_code infer_like(struct fl_infer *c, struct fl_err *err)
{
	(void)err;
	fl_set_like(c, 0, 0);
	return FL_OK;
}

#define infer_assign infer_like
#define infer_print  infer_like

static enum fl_code shape_attr(const struct fl_infer *c, int64_t *dims, int *rank, struct fl_err *err)
{
	size_t n = fl_infer_ints(c, "shape", dims, FL_MAX_RANK);

	if (n > FL_MAX_RANK)
		return fl_infer_bad(c, err, "attribute 'shape' has %zu dimensions, expected at most %d", n,
			FL_MAX_RANK);
	*rank = (int)n;
	return FL_OK;
}

static enum fl_code need_positive(const struct fl_infer *c, const int64_t *dims, int rank,
	struct fl_err *err)
{
	char found[FL_DIMS_STR];

	for (int i = 0; i < rank; i++)
		if (dims[i] < 0)
			return fl_infer_bad(c, err, "attribute 'shape' is %s, expected no negative dimension",
				fl_dims_str(dims, rank, found, sizeof found));
	return FL_OK;
}

static enum fl_code need_known_dtype(const struct fl_infer *c, bool floats, struct fl_err *err)
{
	int64_t dtype = fl_infer_int(c, "dtype");
	bool fine = dtype == FL_FP32 || dtype == FL_FP64 ||
		(!floats && (dtype == FL_INT32 || dtype == FL_INT64 || dtype == FL_BOOL));

	if (fine)
		return FL_OK;
	return fl_infer_bad(c, err, "attribute 'dtype' is %s, expected %s",
		fl_type_name((int)dtype) ? fl_type_name((int)dtype) : "unknown",
		floats ? "FP32 or FP64" : "BOOL, INT32, INT64, FP32 or FP64");
}

/* Out stays SelectedRows where it is declared so. */
static void set_filled(struct fl_infer *c, const int64_t *dims, int rank)
{
	struct fl_meta *out = fl_meta_out(c, 0, 0);
	int kind = out ? out->kind : -1;

	fl_set_out(c, 0, 0, (int)fl_infer_int(c, "dtype"), dims, rank);
	if (out && kind == FL_SELECTED_ROWS)
		out->kind = kind;
}

static bool shape_from_tensor(const struct fl_infer *c)
{
	return fl_meta_named(c, "ShapeTensor") || fl_meta_named(c, "ShapeTensorList");
}

static enum fl_code infer_filled(struct fl_infer *c, bool floats, struct fl_err *err)
{
	int64_t dims[FL_MAX_RANK];
	int rank = 0;

	FL_TRY(need_known_dtype(c, floats, err));
	if (shape_from_tensor(c))
		return FL_OK;
	FL_TRY(shape_attr(c, dims, &rank, err));
	FL_TRY(need_positive(c, dims, rank, err));
	set_filled(c, dims, rank);
	return FL_OK;
}

static enum fl_code infer_fill_constant(struct fl_infer *c, struct fl_err *err)
{
	return infer_filled(c, false, err);
}

static enum fl_code infer_random(struct fl_infer *c, struct fl_err *err)
{
	return infer_filled(c, true, err);
}

static enum fl_code infer_assign_value(struct fl_infer *c, struct fl_err *err)
{
	int64_t dims[FL_MAX_RANK], n;
	const char *list;
	int rank = 0;

	FL_TRY(need_known_dtype(c, false, err));
	FL_TRY(shape_attr(c, dims, &rank, err));
	FL_TRY(need_positive(c, dims, rank, err));
	n = fl_dims_product(dims, 0, rank);
	switch (fl_infer_int(c, "dtype")) {
	case FL_BOOL: list = "bool_values"; break;
	case FL_INT32: list = "int32_values"; break;
	case FL_INT64: list = "int64_values"; break;
	case FL_FP32: list = "fp32_values"; break;
	default:
		return fl_infer_bad(c, err, "attribute 'dtype' is FP64, expected BOOL, INT32, INT64 or FP32");
	}
	if ((int64_t)fl_attr_len(c->op, list) != n)
		return fl_infer_bad(c, err, "attribute '%s' has %zu values, expected %" PRId64
			" for the shape", list, fl_attr_len(c->op, list), n);
	fl_set_out(c, 0, 0, (int)fl_infer_int(c, "dtype"), dims, rank);
	return FL_OK;
}

/* For a constant, an input with LoD counts as many items as it has sequences; for random numbers, as
 * many as it has rows. */
static enum fl_code infer_batch_size_like(struct fl_infer *c, struct fl_err *err)
{
	const struct fl_meta *in = fl_meta_in(c, 0, 0);
	int64_t from = fl_infer_int(c, "input_dim_idx"), to = fl_infer_int(c, "output_dim_idx");
	bool random = strstr(c->def->type, "random") != NULL;
	int64_t dims[FL_MAX_RANK];
	int rank = 0;

	FL_TRY(need_known_dtype(c, random, err));
	FL_TRY(shape_attr(c, dims, &rank, err));
	if (to < 0 || to >= rank)
		return fl_infer_bad(c, err, "attribute 'output_dim_idx' is %" PRId64 ", expected 0 to %d", to,
			rank - 1);
	if (!fl_known(in))
		return FL_OK;
	if (from < 0 || from >= in->rank)
		return fl_infer_bad(c, err, "attribute 'input_dim_idx' is %" PRId64 ", expected 0 to %d", from,
			in->rank - 1);
	dims[to] = in->dims[from];
	if (from == 0 && in->lod_level && !random) /* the kernel counts them */
		dims[to] = -1;
	fl_set_out(c, 0, 0, (int)fl_infer_int(c, "dtype"), dims, rank);
	return FL_OK;
}

static enum fl_code infer_cast(struct fl_infer *c, struct fl_err *err)
{
	int64_t dtype = fl_infer_int(c, "out_dtype");
	struct fl_meta *out = fl_meta_out(c, 0, 0);

	if (dtype < 0 || dtype > INT32_MAX || !fl_type_name((int)dtype) ||
		(dtype > FL_FP64 && dtype != FL_UINT8 && dtype != FL_INT8) || dtype == FL_INT16)
		return fl_infer_bad(c, err, "attribute 'out_dtype' is %" PRId64 ", expected the number of an "
			"element type", dtype);
	fl_set_like(c, 0, 0);
	if (out)
		out->dtype = (int)dtype;
	return FL_OK;
}

static enum fl_code infer_increment(struct fl_infer *c, struct fl_err *err)
{
	FL_TRY(fl_need_one(c, "X", err));
	fl_set_like(c, 0, 0);
	return FL_OK;
}

enum fl_code fl_reshape_dims(const int64_t *in, int in_rank, int64_t *shape, int rank,
	struct fl_err *err)
{
	int64_t n = fl_dims_product(in, 0, in_rank), m = 1;
	char found[FL_DIMS_STR], wanted[FL_DIMS_STR];
	int open = -1;

	fl_dims_str(shape, rank, found, sizeof found);
	fl_dims_str(in, in_rank, wanted, sizeof wanted);
	for (int i = 0; i < rank; i++) {
		if (shape[i] == 0 && i >= in_rank)
			return fl_err_set(err, FL_EINVAL, "attribute 'shape' is %s, expected no 0 beyond the "
				"dimensions of 'X', which has shape %s", found, wanted);
		if (shape[i] == 0)
			shape[i] = in[i];
		else if (shape[i] == -1 && open < 0) {
			open = i;
			continue;
		} else if (shape[i] < 0)
			return fl_err_set(err, FL_EINVAL, "attribute 'shape' is %s, expected one -1 at most and "
				"nothing below", found);
		if (shape[i] < 0 || m < 0 || (shape[i] && m > INT64_MAX / shape[i]))
			m = -1;
		else
			m *= shape[i];
	}
	if (n < 0 || m < 0)
		return FL_OK;
	if (open >= 0 && (m == 0 || n % m == 0))
		shape[open] = m ? n / m : 0;
	else if (open >= 0 || m != n)
		return fl_err_set(err, FL_EINVAL, "attribute 'shape' is %s, expected one for the %" PRId64
			" elements of 'X', which has shape %s", found, n, wanted);
	return FL_OK;
}

/* XShape: a 0, then X's shape. */
static void set_xshape(struct fl_infer *c, const struct fl_meta *x)
{
	int slot = fl_slot_index(c->def->outputs, "XShape");
	int64_t dims[FL_MAX_RANK];

	if (slot < 0 || x->rank >= FL_MAX_RANK)
		return;
	dims[0] = 0;
	memcpy(dims + 1, x->dims, (size_t)x->rank * sizeof *dims);
	fl_set_out(c, slot, 0, x->dtype, dims, x->rank + 1);
	fl_share_lod(c, slot, fl_slot_index(c->def->inputs, "X"));
}

static enum fl_code infer_reshape(struct fl_infer *c, struct fl_err *err)
{
	const struct fl_meta *x = fl_meta_named(c, "X");
	int out = fl_slot_index(c->def->outputs, "Out");
	int64_t dims[FL_MAX_RANK];
	int rank = 0;

	if (!fl_known(x))
		return FL_OK;
	set_xshape(c, x);
	if (fl_meta_named(c, "Shape") || fl_meta_named(c, "ShapeTensor"))
		return FL_OK;
	FL_TRY(shape_attr(c, dims, &rank, err));
	if (!rank)
		return fl_infer_bad(c, err, "attribute 'shape' is empty, expected a shape");
	FL_TRY(fl_reshape_dims(x->dims, x->rank, dims, rank, err));
	fl_set_out(c, out, 0, x->dtype, dims, rank);
	if (x->rank > 0 && dims[0] == x->dims[0])
		fl_share_lod(c, out, fl_slot_index(c->def->inputs, "X"));
	return FL_OK;
}

static enum fl_code need_as_many(struct fl_infer *c, const int64_t *dims, int rank,
	struct fl_err *err)
{
	const struct fl_meta *g = fl_meta_named(c, "Out@GRAD");
	char found[FL_DIMS_STR], wanted[FL_DIMS_STR];

	if (!fl_known(g) || fl_dims_product(g->dims, 0, g->rank) < 0 ||
		fl_dims_product(dims, 0, rank) < 0 ||
		fl_dims_product(g->dims, 0, g->rank) == fl_dims_product(dims, 0, rank))
		return FL_OK;
	return fl_infer_bad(c, err, "'Out@GRAD' has shape %s, expected as many elements as %s",
		fl_dims_str(g->dims, g->rank, found, sizeof found),
		fl_dims_str(dims, rank, wanted, sizeof wanted));
}

static enum fl_code infer_reshape_grad(struct fl_infer *c, struct fl_err *err)
{
	const struct fl_meta *x = fl_meta_named(c, "X");

	if (fl_known(x))
		FL_TRY(need_as_many(c, x->dims, x->rank, err));
	return fl_infer_grad_dims(c, err);
}

static enum fl_code infer_xshape_grad(struct fl_infer *c, struct fl_err *err)
{
	const struct fl_meta *shape = fl_meta_named(c, "XShape"), *g = fl_meta_named(c, "Out@GRAD");

	if (!fl_known(shape) || !g)
		return FL_OK;
	FL_TRY(fl_need_rank(c, "XShape", 1, FL_MAX_RANK, err));
	FL_TRY(need_as_many(c, shape->dims + 1, shape->rank - 1, err));
	fl_set_out(c, 0, 0, g->dtype, shape->dims + 1, shape->rank - 1);
	fl_share_lod(c, 0, fl_slot_index(c->def->inputs, "XShape"));
	return FL_OK;
}

const struct fl_op_def fl_ops_plumbing[] = {
	{
		.type = "feed",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(INT_REQ("col")),
		.flags = FL_OP_NO_COMPUTE,
		.doc = "Out = X[col]",
	},
	{
		.type = "fetch",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(INT_REQ("col")),
		.flags = FL_OP_NO_COMPUTE,
		.doc = "Out[col] = X",
	},
	{
		.type = "assign",
		.inputs = SLOTS({ "X", FL_OPT }),
		.outputs = SLOTS({ "Out", 0 }),
		.infer = infer_assign,
		.flags = FL_OP_KERNEL,
		.doc = "Out = X, whatever its kind",
	},
	{
		.type = "assign_value",
		.inputs = NO_SLOTS,
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(INTS_REQ("shape"), INT_REQ("dtype"), INTS("bool_values", ""),
			FLOATS("fp32_values"), INTS("int32_values", ""), LONGS("int64_values", "")),
		.infer = infer_assign_value,
		.flags = FL_OP_KERNEL,
		.doc = "Out = the values of the list that dtype chooses",
	},
	{
		.type = "fill_constant",
		.inputs = SLOTS({ "ValueTensor", FL_OPT }, { "ShapeTensor", FL_OPT },
			{ "ShapeTensorList", FL_DUP | FL_OPT }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(INT("dtype", 5), LONGS("shape", ""), FLOAT("value", 0.0f),
			STR("str_value", ""), BOOL_IGN("force_cpu", false)),
		.infer = infer_fill_constant,
		.flags = FL_OP_KERNEL | FL_OP_DYNAMIC,
		.doc = "Out = value everywhere",
	},
	{
		.type = "fill_constant_batch_size_like",
		.inputs = SLOTS({ "Input", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(INTS_REQ("shape"), INT("input_dim_idx", 0), INT("output_dim_idx", 0),
			INT("dtype", 5), FLOAT("value", 0.0f), STR("str_value", ""),
			BOOL_IGN("force_cpu", false)),
		.infer = infer_batch_size_like,
		.flags = FL_OP_KERNEL | FL_OP_DYNAMIC,
		.doc = "Out = value, with a dimension of Input",
	},
	{
		.type = "fill_zeros_like",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.infer = infer_like,
		.flags = FL_OP_KERNEL,
		.doc = "Out = 0 in the shape of X",
	},
	{
		.type = "uniform_random",
		.inputs = SLOTS({ "ShapeTensor", FL_OPT }, { "ShapeTensorList", FL_DUP | FL_OPT }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(LONGS("shape", ""), FLOAT("min", -1.0f), FLOAT("max", 1.0f),
			INT("seed", 0), INT("diag_num", 0), INT("diag_step", 0),
			FLOAT("diag_val", 1.0f), INT("dtype", 5)),
		.infer = infer_random,
		.flags = FL_OP_KERNEL | FL_OP_DYNAMIC,
		.doc = "Out = U[min, max)",
	},
	{
		.type = "gaussian_random",
		.inputs = SLOTS({ "ShapeTensor", FL_OPT }, { "ShapeTensorList", FL_DUP | FL_OPT }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(LONGS("shape", ""), FLOAT("mean", 0.0f), FLOAT("std", 1.0f),
			INT("seed", 0), INT("dtype", 5), BOOL_IGN("use_mkldnn", false)),
		.infer = infer_random,
		.flags = FL_OP_KERNEL | FL_OP_DYNAMIC,
		.doc = "Out = N(mean, std)",
	},
	{
		.type = "truncated_gaussian_random",
		.inputs = NO_SLOTS,
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(INTS_REQ("shape"), FLOAT("mean", 0.0f), FLOAT("std", 1.0f),
			INT("seed", 0), INT("dtype", 5)),
		.infer = infer_random,
		.flags = FL_OP_KERNEL,
		.doc = "Out = N(mean, std) within two std",
	},
	{
		.type = "uniform_random_batch_size_like",
		.inputs = SLOTS({ "Input", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(INTS_REQ("shape"), INT("input_dim_idx", 0), INT("output_dim_idx", 0),
			FLOAT("min", -1.0f), FLOAT("max", 1.0f), INT("seed", 0), INT("diag_num", 0),
			INT("diag_step", 0), FLOAT("diag_val", 1.0f), INT("dtype", 5)),
		.infer = infer_batch_size_like,
		.flags = FL_OP_KERNEL | FL_OP_DYNAMIC,
		.doc = "Out = U[min, max), with a dimension of Input",
	},
	{
		.type = "gaussian_random_batch_size_like",
		.inputs = SLOTS({ "Input", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(INTS_REQ("shape"), INT("input_dim_idx", 0), INT("output_dim_idx", 0),
			FLOAT("mean", 0.0f), FLOAT("std", 1.0f), INT("seed", 0), INT("dtype", 5)),
		.infer = infer_batch_size_like,
		.flags = FL_OP_KERNEL | FL_OP_DYNAMIC,
		.doc = "Out = N(mean, std), with a dimension of Input",
	},
	{
		.type = "cast",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(INT_REQ("out_dtype"), INT_REQ("in_dtype")),
		.infer = infer_cast,
		.flags = FL_OP_KERNEL,
		.doc = "Out = (out_dtype)X",
	},
	{
		.type = "increment",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(FLOAT("step", 1.0f)),
		.infer = infer_increment,
		.flags = FL_OP_KERNEL,
		.doc = "Out = X + step",
	},
	{
		.type = "reshape",
		.inputs = SLOTS({ "X", 0 }, { "Shape", FL_OPT },
			{ "ShapeTensor", FL_DUP | FL_OPT }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(INTS("shape", "")),
		.infer = infer_reshape,
		.flags = FL_OP_KERNEL | FL_OP_DYNAMIC,
		.doc = "Out = X in another shape",
	},
	{
		.type = "reshape_grad",
		.inputs = SLOTS({ "Out", 0 }, { "Out@GRAD", 0 }, { "Shape", FL_OPT },
			{ "ShapeTensor", FL_DUP | FL_OPT }, { "X", 0 }),
		.outputs = SLOTS({ "Shape@GRAD", FL_OPT }, { "ShapeTensor@GRAD", FL_DUP | FL_OPT },
			{ "X@GRAD", FL_OPT }),
		.attrs = ATTRS(INTS("shape", "")),
		.infer = infer_reshape_grad,
		.flags = FL_OP_KERNEL,
		.doc = "dX = dOut in the shape of X",
	},
	{
		.type = "reshape2",
		.inputs = SLOTS({ "X", 0 }, { "Shape", FL_OPT },
			{ "ShapeTensor", FL_DUP | FL_OPT }),
		.outputs = SLOTS({ "Out", 0 }, { "XShape", FL_MID }),
		.attrs = ATTRS(INTS("shape", ""), BOOL_IGN("use_quantizer", false)),
		.infer = infer_reshape,
		.flags = FL_OP_KERNEL | FL_OP_DYNAMIC,
		.doc = "Out = X in another shape; XShape keeps the old one",
	},
	{
		.type = "reshape2_grad",
		.inputs = SLOTS({ "Out@GRAD", 0 }, { "XShape", 0 }, { "X", FL_OPT },
			{ "Shape", FL_OPT }, { "ShapeTensor", FL_DUP | FL_OPT }, { "Out", FL_OPT },
			{ "XShape@GRAD", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.attrs = ATTRS(INTS("shape", ""), BOOL_IGN("use_quantizer", false)),
		.infer = infer_xshape_grad,
		.flags = FL_OP_KERNEL,
		.doc = "dX = dOut in the shape of X",
	},
	{
		.type = "fake_init",
		.inputs = NO_SLOTS,
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(LONGS_REQ("shape")),
		.flags = FL_OP_KERNEL | FL_OP_HOST,
		.doc = "Out has a shape, and values that come later",
	},
	{
		.type = "print",
		.inputs = SLOTS({ "In", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(INT_REQ("first_n"), STR_REQ("message"), INT_REQ("summarize"),
			BOOL_REQ("print_tensor_name"), BOOL_REQ("print_tensor_type"),
			BOOL_REQ("print_tensor_shape"), BOOL_REQ("print_tensor_lod"),
			STR("print_phase", "BOTH"), BOOL("is_forward", true)),
		.infer = infer_print,
		.flags = FL_OP_KERNEL,
		.doc = "Out = In",
	},
	{ .type = NULL },
};
