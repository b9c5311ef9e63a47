/* Products, sums, and putting together and taking apart (Fluid 1.8.5, mul_op.cc, sum_op.cc,
 * scale_op.cc, mean_op.cc, concat_op.cc, split_op.cc, split_byref_op.cc). */
#include <inttypes.h>
#include <string.h>

#include "ops/schema.h"

/* Checks that X and Y meet; dims and *rank of the product. *rank -1: shapes are not known. */
static enum fl_code mul_dims(struct fl_infer *c, int64_t *dims, int *rank, struct fl_err *err)
{
	const struct fl_meta *x = fl_meta_named(c, "X"), *y = fl_meta_named(c, "Y");
	int64_t xn = fl_infer_int(c, "x_num_col_dims"), yn = fl_infer_int(c, "y_num_col_dims");
	char xs[FL_DIMS_STR], ys[FL_DIMS_STR];
	int64_t k, l;

	*rank = -1;
	FL_TRY(fl_need_float(c, "X", err));
	FL_TRY(fl_need_same_dtype(c, "Y", "X", err));
	if (!fl_known(x) || !fl_known(y))
		return FL_OK;
	if (xn < 1 || xn >= x->rank)
		return fl_infer_bad(c, err, "'X' has shape %s, expected more than x_num_col_dims = %" PRId64
			" dimensions, at least 1", fl_dims_str(x->dims, x->rank, xs, sizeof xs), xn);
	if (yn < 1 || yn >= y->rank)
		return fl_infer_bad(c, err, "'Y' has shape %s, expected more than y_num_col_dims = %" PRId64
			" dimensions, at least 1", fl_dims_str(y->dims, y->rank, ys, sizeof ys), yn);
	k = fl_dims_product(x->dims, (int)xn, x->rank);
	l = fl_dims_product(y->dims, 0, (int)yn);
	if (k >= 0 && l >= 0 && k != l)
		return fl_infer_bad(c, err, "'Y' has shape %s with %" PRId64 " rows, expected %" PRId64
			" for 'X' of shape %s", fl_dims_str(y->dims, y->rank, ys, sizeof ys), l, k,
			fl_dims_str(x->dims, x->rank, xs, sizeof xs));
	*rank = (int)(xn + y->rank - yn);
	if (*rank > FL_MAX_RANK)
		return fl_infer_bad(c, err, "'Out' has %d dimensions, expected at most %d", *rank,
			FL_MAX_RANK);
	memcpy(dims, x->dims, (size_t)xn * sizeof *dims);
	memcpy(dims + xn, y->dims + yn, (size_t)(y->rank - yn) * sizeof *dims);
	return FL_OK;
}

static enum fl_code infer_mul(struct fl_infer *c, struct fl_err *err)
{
	int64_t dims[FL_MAX_RANK];
	int rank;

	FL_TRY(mul_dims(c, dims, &rank, err));
	if (rank >= 0)
		fl_set_out(c, 0, 0, fl_meta_named(c, "X")->dtype, dims, rank);
	fl_share_lod(c, 0, fl_slot_index(c->def->inputs, "X"));
	return FL_OK;
}

/* dOut may be flattened otherwise than Out: only the number of its elements counts, as in 1.8.5. */
static enum fl_code infer_mul_grad(struct fl_infer *c, struct fl_err *err)
{
	const struct fl_meta *g = fl_meta_named(c, "Out@GRAD");
	char found[FL_DIMS_STR], wanted[FL_DIMS_STR];
	int64_t dims[FL_MAX_RANK];
	int rank;

	FL_TRY(mul_dims(c, dims, &rank, err));
	FL_TRY(fl_need_same_dtype(c, "Out@GRAD", "X", err));
	if (rank >= 0 && fl_known(g) && fl_dims_product(g->dims, 0, g->rank) >= 0 &&
		fl_dims_product(dims, 0, rank) >= 0 &&
		fl_dims_product(g->dims, 0, g->rank) != fl_dims_product(dims, 0, rank))
		return fl_infer_bad(c, err, "'Out@GRAD' has shape %s, expected %s",
			fl_dims_str(g->dims, g->rank, found, sizeof found),
			fl_dims_str(dims, rank, wanted, sizeof wanted));
	return fl_infer_grad(c, err);
}

static bool same_dims(const struct fl_meta *a, const struct fl_meta *b)
{
	if (a->rank != b->rank)
		return false;
	for (int i = 0; i < a->rank; i++)
		if (a->dims[i] != b->dims[i] && a->dims[i] >= 0 && b->dims[i] >= 0)
			return false;
	return true;
}

static enum fl_code sum_differs(struct fl_infer *c, size_t i, const struct fl_meta *m,
	const struct fl_meta *first, struct fl_err *err)
{
	char found[FL_DIMS_STR], wanted[FL_DIMS_STR];

	if (m->dtype >= 0 && first->dtype >= 0 && m->dtype != first->dtype)
		return fl_infer_bad(c, err, "'X'[%zu] is of type %s, expected %s as the first has", i,
			fl_type_name(m->dtype), fl_type_name(first->dtype));
	if (same_dims(m, first))
		return FL_OK;
	return fl_infer_bad(c, err, "'X'[%zu] has shape %s, expected %s as the first has", i,
		fl_dims_str(m->dims, m->rank, found, sizeof found),
		fl_dims_str(first->dims, first->rank, wanted, sizeof wanted));
}

static bool is_empty(const struct fl_meta *m)
{
	return m->kind == FL_LOD_TENSOR && fl_dims_product(m->dims, 0, m->rank) == 0;
}

/* Out is a LoDTensor where any input is one, SelectedRows where all are. Tensors without elements
 * are left out, and SelectedRows that never had a shape. */
static enum fl_code infer_sum(struct fl_infer *c, struct fl_err *err)
{
	struct fl_meta *out = fl_meta_out(c, 0, 0);
	const struct fl_meta *first = NULL, *dense = NULL;
	size_t present = 0;

	for (size_t i = 0; i < c->in[0].n; i++) {
		const struct fl_meta *m = fl_meta_in(c, 0, i);

		if (!m)
			continue;
		present++;
		if (m->kind == FL_LOD_TENSOR_ARRAY) {
			if (out)
				out->kind = FL_LOD_TENSOR_ARRAY, out->rank = -1;
			return FL_OK;
		}
		if (m->kind == FL_LOD_TENSOR && !dense)
			dense = m;
		if (!fl_known(m) || is_empty(m) || (m->kind == FL_SELECTED_ROWS && m->rank == 1))
			continue;
		if (!first)
			first = m;
		FL_TRY(sum_differs(c, i, m, first, err));
	}
	if (!present)
		return fl_infer_bad(c, err, "'X' has no variable with a value, expected at least one");
	if (!first)
		first = dense ? dense : fl_meta_in(c, 0, 0);
	if (!out || !first)
		return FL_OK;
	out->kind = dense ? FL_LOD_TENSOR : FL_SELECTED_ROWS;
	out->dtype = first->dtype;
	out->rank = first->rank;
	memcpy(out->dims, first->dims, sizeof out->dims);
	fl_share_lod(c, 0, 0);
	return FL_OK;
}

static enum fl_code infer_scale(struct fl_infer *c, struct fl_err *err)
{
	FL_TRY(fl_need_one(c, "ScaleTensor", err));
	FL_TRY(fl_need_same_dtype(c, "ScaleTensor", "X", err));
	fl_set_like(c, 0, 0);
	return FL_OK;
}

static enum fl_code infer_mean(struct fl_infer *c, struct fl_err *err)
{
	static const int64_t one[] = { 1 };
	const struct fl_meta *x = fl_meta_in(c, 0, 0);

	FL_TRY(fl_need_float(c, "X", err));
	fl_set_out(c, 0, 0, x ? x->dtype : -1, one, 1);
	return FL_OK;
}

static enum fl_code infer_mean_grad(struct fl_infer *c, struct fl_err *err)
{
	FL_TRY(fl_need_one(c, "Out@GRAD", err));
	FL_TRY(fl_need_float(c, "X", err));
	FL_TRY(fl_need_same_dtype(c, "Out@GRAD", "X", err));
	return fl_infer_grad(c, err);
}

/* Sums the dimension along axis over all inputs; their other dimensions must agree. */
static enum fl_code concat_dims(struct fl_infer *c, int slot, int64_t *axis, struct fl_meta *sum,
	struct fl_err *err)
{
	sum->rank = -1;
	for (size_t i = 0; i < c->in[slot].n; i++) {
		const struct fl_meta *m = fl_meta_in(c, slot, i);
		char found[FL_DIMS_STR], wanted[FL_DIMS_STR];
		struct fl_meta other;

		if (!fl_known(m))
			continue;
		if (sum->rank < 0) {
			*sum = *m;
			FL_TRY(fl_need_axis(c, "axis", m->rank, axis, err));
			continue;
		}
		other = *m;
		if (other.rank == sum->rank)
			other.dims[*axis] = sum->dims[*axis];
		if (!same_dims(&other, sum))
			return fl_infer_bad(c, err, "'X'[%zu] has shape %s, expected %s except in dimension %"
				PRId64, i, fl_dims_str(m->dims, m->rank, found, sizeof found),
				fl_dims_str(sum->dims, sum->rank, wanted, sizeof wanted), *axis);
		if (m->dtype != sum->dtype && m->dtype >= 0)
			return fl_infer_bad(c, err, "'X'[%zu] is of type %s, expected %s as the first has", i,
				fl_type_name(m->dtype), fl_type_name(sum->dtype));
		sum->dims[*axis] = m->dims[*axis] < 0 || sum->dims[*axis] < 0
			? -1
			: sum->dims[*axis] + m->dims[*axis];
	}
	return FL_OK;
}

static enum fl_code infer_concat(struct fl_infer *c, struct fl_err *err)
{
	int64_t axis = fl_infer_int(c, "axis");
	struct fl_meta sum;

	if (fl_meta_named(c, "AxisTensor")) {
		FL_TRY(fl_need_one(c, "AxisTensor", err));
		return FL_OK;
	}
	FL_TRY(concat_dims(c, 0, &axis, &sum, err));
	if (sum.rank < 0)
		return FL_OK;
	fl_set_out(c, 0, 0, sum.dtype, sum.dims, sum.rank);
	fl_share_lod(c, 0, 0);
	return FL_OK;
}

static enum fl_code infer_concat_grad(struct fl_infer *c, struct fl_err *err)
{
	int64_t axis = fl_infer_int(c, "axis");
	struct fl_meta sum;

	if (!fl_meta_named(c, "AxisTensor")) {
		FL_TRY(concat_dims(c, fl_slot_index(c->def->inputs, "X"), &axis, &sum, err));
		if (sum.rank >= 0)
			FL_TRY(fl_need_dims(c, "Out@GRAD", sum.dims, sum.rank, err));
	}
	return fl_infer_grad(c, err);
}

/* Sizes of the parts along axis; one section may be -1: what is left. */
static enum fl_code split_sizes(struct fl_infer *c, int64_t whole, size_t parts, int64_t *sizes,
	struct fl_err *err)
{
	size_t n = fl_infer_ints(c, "sections", sizes, parts);
	int64_t num = fl_infer_int(c, "num"), sum = 0;
	size_t open = parts;

	if (n ? n != parts : num != (int64_t)parts)
		return fl_infer_bad(c, err, "'Out' has %zu variables, expected %" PRId64 " by attribute '%s'",
			parts, n ? (int64_t)n : num, n ? "sections" : "num");
	if (!n && whole >= 0 && whole % num)
		return fl_infer_bad(c, err, "'X' has %" PRId64 " along the axis, expected a multiple of num = %"
			PRId64, whole, num);
	for (size_t i = 0; i < parts; i++) {
		if (!n)
			sizes[i] = whole < 0 ? -1 : whole / num;
		else if (sizes[i] == -1 && open == parts)
			open = i;
		else if (sizes[i] < 0)
			return fl_infer_bad(c, err, "attribute 'sections' holds %" PRId64 ", expected 0 or more",
				sizes[i]);
		else if (sizes[i] > INT32_MAX)
			return fl_infer_bad(c, err, "attribute 'sections' holds %" PRId64 ", expected less",
				sizes[i]);
		if (sizes[i] > 0)
			sum += sizes[i];
	}
	if (open < parts && whole >= 0)
		sizes[open] = whole - sum, sum = whole;
	if (whole >= 0 && (sum != whole || (open < parts && sizes[open] < 0)))
		return fl_infer_bad(c, err, "attribute 'sections' adds up to %" PRId64 ", expected %" PRId64
			" as 'X' has along the axis", sum, whole);
	return FL_OK;
}

#define MAX_PARTS 4096

static enum fl_code infer_split(struct fl_infer *c, struct fl_err *err)
{
	const struct fl_meta *x = fl_meta_named(c, "X");
	bool by_rows = fl_attr_find(c->def, "axis") == NULL;
	int64_t axis = by_rows ? 0 : fl_infer_int(c, "axis"), sizes[MAX_PARTS];
	size_t parts = c->out[0].n;
	int64_t dims[FL_MAX_RANK];

	if (!fl_known(x))
		return FL_OK;
	if (parts > MAX_PARTS)
		return fl_infer_bad(c, err, "'Out' has %zu variables, expected at most %d", parts, MAX_PARTS);
	FL_TRY(fl_need_axis(c, "axis", x->rank, &axis, err));
	if (fl_meta_named(c, "AxisTensor") || (!by_rows && c->n_in > 1 && fl_meta_named(c, "SectionsTensorList")))
		return fl_infer_bad(c, err,
			"'AxisTensor' and 'SectionsTensorList' are not supported, expected attributes");
	FL_TRY(split_sizes(c, x->dims[axis], parts, sizes, err));
	memcpy(dims, x->dims, sizeof dims);
	for (size_t i = 0; i < parts; i++) {
		struct fl_meta *m;

		dims[axis] = sizes[i];
		fl_set_out(c, 0, i, x->dtype, dims, x->rank);
		m = fl_meta_out(c, 0, i);
		if (m && axis)
			m->lod = x->lod, m->lod_level = x->lod_level;
	}
	return FL_OK;
}

const struct fl_op_def fl_ops_math[] = {
	{
		.type = "mul",
		.inputs = SLOTS({ "X", 0 }, { "Y", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(BOOL_IGN("use_mkldnn", false), INT("x_num_col_dims", 1),
			INT("y_num_col_dims", 1), FLOAT_IGN("scale_x", 1.0f), FLOATS_IGN("scale_y"),
			FLOAT_IGN("scale_out", 1.0f), BOOL_IGN("force_fp32_output", false)),
		.infer = infer_mul,
		.flags = FL_OP_KERNEL,
		.doc = "Out = X . Y, both flattened to matrices",
	},
	{
		.type = "mul_grad",
		.inputs = SLOTS({ "Out@GRAD", 0 }, { "X", 0 }, { "Y", 0 }, { "Out", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }, { "Y@GRAD", FL_OPT }),
		.attrs = ATTRS(BOOL_IGN("use_mkldnn", false), INT("x_num_col_dims", 1),
			INT("y_num_col_dims", 1), FLOAT_IGN("scale_x", 1.0f), FLOATS_IGN("scale_y"),
			FLOAT_IGN("scale_out", 1.0f), BOOL_IGN("force_fp32_output", false)),
		.infer = infer_mul_grad,
		.flags = FL_OP_KERNEL,
		.doc = "dX = dOut . Yt, dY = Xt . dOut",
	},
	{
		.type = "matmul",
		.inputs = SLOTS({ "X", 0 }, { "Y", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(BOOL("transpose_X", false), BOOL("transpose_Y", false),
			FLOAT("alpha", 1.0f), BOOL_IGN("use_mkldnn", false),
			INTS("fused_reshape_Out", ""), INTS("fused_transpose_Out", ""),
			BOOL_IGN("use_quantizer", false), FLOAT_IGN("Scale_x", 1.0f),
			FLOAT_IGN("Scale_y", 1.0f), FLOAT_IGN("Scale_out", 1.0f),
			BOOL_IGN("force_fp32_output", false), INT("head_number", 1)),
		.doc = "Out = alpha . op(X) . op(Y), batches in front",
	},
	{
		.type = "matmul_grad",
		.inputs = SLOTS({ "Out@GRAD", 0 }, { "X", 0 }, { "Y", 0 }, { "Out", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }, { "Y@GRAD", FL_OPT }),
		.attrs = ATTRS(BOOL("transpose_X", false), BOOL("transpose_Y", false),
			FLOAT("alpha", 1.0f), BOOL_IGN("use_mkldnn", false),
			INTS("fused_reshape_Out", ""), INTS("fused_transpose_Out", ""),
			BOOL_IGN("use_quantizer", false), FLOAT_IGN("Scale_x", 1.0f),
			FLOAT_IGN("Scale_y", 1.0f), FLOAT_IGN("Scale_out", 1.0f),
			BOOL_IGN("force_fp32_output", false), INT("head_number", 1)),
		.doc = "dX = dOut . op(Y)t, dY = op(X)t . dOut",
	},
	{
		.type = "sum",
		.inputs = SLOTS({ "X", FL_DUP }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(BOOL_IGN("use_mkldnn", false)),
		.infer = infer_sum,
		.flags = FL_OP_KERNEL,
		.doc = "Out = X[0] + X[1] + ...",
	},
	{
		.type = "scale",
		.inputs = SLOTS({ "X", 0 }, { "ScaleTensor", FL_OPT }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(FLOAT("scale", 1.0f), FLOAT("bias", 0.0f),
			BOOL("bias_after_scale", true)),
		.infer = infer_scale,
		.flags = FL_OP_KERNEL,
		.doc = "Out = scale . X + bias, or scale . (X + bias)",
	},
	{
		.type = "mean",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.infer = infer_mean,
		.flags = FL_OP_KERNEL,
		.doc = "Out = sum of X / elements of X",
	},
	{
		.type = "mean_grad",
		.inputs = SLOTS({ "Out@GRAD", 0 }, { "X", 0 }, { "Out", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.infer = infer_mean_grad,
		.flags = FL_OP_KERNEL,
		.doc = "dX = dOut / elements of X",
	},
	{
		.type = "concat",
		.inputs = SLOTS({ "X", FL_DUP }, { "AxisTensor", FL_OPT }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(BOOL_IGN("use_mkldnn", false), INT("axis", 0),
			BOOL_IGN("use_quantizer", false)),
		.infer = infer_concat,
		.flags = FL_OP_KERNEL | FL_OP_DYNAMIC,
		.doc = "Out = the X one after the other along axis",
	},
	{
		.type = "concat_grad",
		.inputs = SLOTS({ "AxisTensor", FL_OPT }, { "Out@GRAD", 0 }, { "X", FL_DUP },
			{ "Out", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_DUP | FL_OPT }),
		.attrs = ATTRS(BOOL_IGN("use_mkldnn", false), INT("axis", 0),
			BOOL_IGN("use_quantizer", false)),
		.infer = infer_concat_grad,
		.flags = FL_OP_KERNEL,
		.doc = "dX[i] = part of dOut",
	},
	{
		.type = "split",
		.inputs = SLOTS({ "X", 0 }, { "AxisTensor", FL_OPT },
			{ "SectionsTensorList", FL_DUP | FL_OPT }),
		.outputs = SLOTS({ "Out", FL_DUP }),
		.attrs = ATTRS(INTS("sections", ""), INT("num", 0), INT("axis", 0)),
		.infer = infer_split,
		.flags = FL_OP_KERNEL,
		.doc = "Out[i] = part of X along axis",
	},
	{
		.type = "split_byref",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", FL_DUP }),
		.attrs = ATTRS(INTS("sections", ""), INT("num", 0)),
		.infer = infer_split,
		.flags = FL_OP_KERNEL,
		.doc = "Out[i] = rows of X",
	},
	{
		.type = "split_selected_rows",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", FL_DUP }),
		.attrs = ATTRS(LONGS("height_sections", "")),
		.flags = FL_OP_KERNEL | FL_OP_DYNAMIC,
		.doc = "Out[i] = the rows of X of section i, counted from its start",
	},
	{ .type = NULL },
};
