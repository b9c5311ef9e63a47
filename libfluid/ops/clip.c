/* Limits of values and norms (Fluid 1.8.5, clip_op, clip_by_norm_op, squared_l2_norm_op). */
#include "ops/schema.h"

static enum fl_code infer_clip(struct fl_infer *c, struct fl_err *err)
{
	FL_TRY(fl_need_float(c, "X", err));
	FL_TRY(fl_need_one(c, "Min", err));
	FL_TRY(fl_need_float(c, "Min", err));
	FL_TRY(fl_need_one(c, "Max", err));
	FL_TRY(fl_need_float(c, "Max", err));
	fl_set_like(c, 0, fl_slot_index(c->def->inputs, "X"));
	return FL_OK;
}

static enum fl_code infer_clip_grad(struct fl_infer *c, struct fl_err *err)
{
	FL_TRY(fl_need_one(c, "Min", err));
	FL_TRY(fl_need_float(c, "Min", err));
	FL_TRY(fl_need_one(c, "Max", err));
	FL_TRY(fl_need_float(c, "Max", err));
	return fl_infer_act_grad(c, err);
}

static enum fl_code infer_squared_norm(struct fl_infer *c, struct fl_err *err)
{
	const struct fl_meta *x = fl_meta_in(c, 0, 0);

	FL_TRY(fl_need_float(c, "X", err));
	fl_set_out(c, 0, 0, x ? x->dtype : -1, (const int64_t[]){ 1 }, 1);
	return FL_OK;
}

static enum fl_code infer_squared_norm_grad(struct fl_infer *c, struct fl_err *err)
{
	FL_TRY(fl_need_float(c, "X", err));
	FL_TRY(fl_need_one(c, "Out@GRAD", err));
	FL_TRY(fl_need_same_dtype(c, "Out@GRAD", "X", err));
	return fl_infer_grad(c, err);
}

const struct fl_op_def fl_ops_clip[] = {
	{
		.type = "clip",
		.inputs = SLOTS({ "X", 0 }, { "Min", FL_OPT }, { "Max", FL_OPT }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(FLOAT_REQ("min"), FLOAT_REQ("max")),
		.infer = infer_clip,
		.flags = FL_OP_KERNEL,
		.doc = "Out = X, at least min, at most max",
	},
	{
		.type = "clip_grad",
		.inputs = SLOTS({ "Max", FL_OPT }, { "Min", FL_OPT }, { "Out@GRAD", 0 }, { "X", 0 },
			{ "Out", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.attrs = ATTRS(FLOAT_REQ("min"), FLOAT_REQ("max")),
		.infer = infer_clip_grad,
		.flags = FL_OP_KERNEL,
		.doc = "dX = min < X < max ? dOut : 0",
	},
	{
		.type = "clip_by_norm",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(FLOAT_REQ("max_norm")),
		.infer = infer_clip,
		.flags = FL_OP_KERNEL,
		.doc = "Out = X, or X . max_norm / |X| where |X| is larger",
	},
	{
		.type = "squared_l2_norm",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.infer = infer_squared_norm,
		.flags = FL_OP_KERNEL,
		.doc = "Out = sum of X^2",
	},
	{
		.type = "squared_l2_norm_grad",
		.inputs = SLOTS({ "Out@GRAD", 0 }, { "X", 0 }, { "Out", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.infer = infer_squared_norm_grad,
		.flags = FL_OP_KERNEL,
		.doc = "dX = 2 . dOut . X",
	},
	{ .type = NULL },
};
