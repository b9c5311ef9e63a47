/* Comparison, logic and emptiness (Fluid 1.8.5, operators/controlflow): the results are BOOL. */
#include "ops/broadcast.h"
#include "ops/schema.h"

static enum fl_code infer_compare(struct fl_infer *c, struct fl_err *err)
{
	const struct fl_meta *x = fl_meta_in(c, 0, 0), *y = fl_meta_in(c, 1, 0);
	char xs[FL_DIMS_STR], ys[FL_DIMS_STR];
	struct fl_broadcast b;

	if (!x || !y)
		return fl_infer_bad(c, err, "'%s' is absent, expected a tensor", x ? "Y" : "X");
	FL_TRY(fl_need_same_dtype(c, "Y", "X", err));
	if (!fl_known(x) || !fl_known(y)) {
		if (fl_meta_out(c, 0, 0))
			fl_meta_out(c, 0, 0)->dtype = FL_BOOL;
		return FL_OK;
	}
	if (!fl_broadcast_of(x->dims, x->rank, y->dims, y->rank, fl_infer_int(c, "axis"), &b))
		return fl_infer_bad(c, err, "'Y' has shape %s, expected one that fits 'X' of shape %s",
			fl_dims_str(y->dims, y->rank, ys, sizeof ys),
			fl_dims_str(x->dims, x->rank, xs, sizeof xs));
	fl_set_out(c, 0, 0, FL_BOOL, b.simple ? x->dims : b.out, b.simple ? x->rank : b.rank);
	fl_share_lod(c, 0, 0);
	return FL_OK;
}

static enum fl_code infer_logical(struct fl_infer *c, struct fl_err *err)
{
	FL_TRY(fl_need_dtype(c, "X", FL_BOOL, err));
	FL_TRY(fl_need_dtype(c, "Y", FL_BOOL, err));
	FL_TRY(fl_need_same_dims(c, "Y", "X", err));
	fl_set_like(c, 0, 0);
	return FL_OK;
}

static enum fl_code infer_is_empty(struct fl_infer *c, struct fl_err *err)
{
	const struct fl_meta *x = fl_meta_in(c, 0, 0);

	if (x && x->kind >= 0 && x->kind != FL_LOD_TENSOR)
		return fl_infer_bad(c, err, "'X' holds no LoDTensor, expected one");
	fl_set_out(c, 0, 0, FL_BOOL, (const int64_t[]){ 1 }, 1);
	return FL_OK;
}

const struct fl_op_def fl_ops_compare[] = {
	{
		.type = "less_than",
		.inputs = SLOTS({ "X", 0 }, { "Y", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(INT("axis", -1), BOOL_IGN("force_cpu", false)),
		.infer = infer_compare,
		.flags = FL_OP_KERNEL,
		.doc = "Out = X < Y",
	},
	{
		.type = "less_equal",
		.inputs = SLOTS({ "X", 0 }, { "Y", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(INT("axis", -1), BOOL_IGN("force_cpu", false)),
		.infer = infer_compare,
		.flags = FL_OP_KERNEL,
		.doc = "Out = X <= Y",
	},
	{
		.type = "greater_than",
		.inputs = SLOTS({ "X", 0 }, { "Y", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(INT("axis", -1), BOOL_IGN("force_cpu", false)),
		.infer = infer_compare,
		.flags = FL_OP_KERNEL,
		.doc = "Out = X > Y",
	},
	{
		.type = "greater_equal",
		.inputs = SLOTS({ "X", 0 }, { "Y", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(INT("axis", -1), BOOL_IGN("force_cpu", false)),
		.infer = infer_compare,
		.flags = FL_OP_KERNEL,
		.doc = "Out = X >= Y",
	},
	{
		.type = "equal",
		.inputs = SLOTS({ "X", 0 }, { "Y", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(INT("axis", -1), BOOL_IGN("force_cpu", false)),
		.infer = infer_compare,
		.flags = FL_OP_KERNEL,
		.doc = "Out = X == Y; floats: |X - Y| < 1e-8",
	},
	{
		.type = "not_equal",
		.inputs = SLOTS({ "X", 0 }, { "Y", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(INT("axis", -1), BOOL_IGN("force_cpu", false)),
		.infer = infer_compare,
		.flags = FL_OP_KERNEL,
		.doc = "Out = X != Y; floats: not |X - Y| < 1e-8",
	},
	{
		.type = "logical_and",
		.inputs = SLOTS({ "X", 0 }, { "Y", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.infer = infer_logical,
		.flags = FL_OP_KERNEL,
		.doc = "Out = X and Y",
	},
	{
		.type = "logical_or",
		.inputs = SLOTS({ "X", 0 }, { "Y", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.infer = infer_logical,
		.flags = FL_OP_KERNEL,
		.doc = "Out = X or Y",
	},
	{
		.type = "logical_xor",
		.inputs = SLOTS({ "X", 0 }, { "Y", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.infer = infer_logical,
		.flags = FL_OP_KERNEL,
		.doc = "Out = X differs from Y",
	},
	{
		.type = "logical_not",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.infer = infer_logical,
		.flags = FL_OP_KERNEL,
		.doc = "Out = not X",
	},
	{
		.type = "is_empty",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.infer = infer_is_empty,
		.flags = FL_OP_KERNEL,
		.doc = "Out = has X no element?",
	},
	{ .type = NULL },
};
