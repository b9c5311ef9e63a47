/* Functions of one tensor (Fluid 1.8.5, activation_op.cc): Out and gradients look like X. */
#include "ops/schema.h"

#include <string.h>

/* Those that take SelectedRows, too: the rows' values are mapped. */
static bool takes_rows(const char *type)
{
	return !strcmp(type, "square") || !strcmp(type, "sqrt") || !strcmp(type, "abs");
}

static enum fl_code infer_act(struct fl_infer *c, struct fl_err *err)
{
	const struct fl_meta *x = fl_meta_in(c, 0, 0);

	if (x && x->kind == FL_SELECTED_ROWS && !takes_rows(c->def->type))
		return fl_infer_bad(c, err, "'X' holds SelectedRows, expected a LoDTensor");
	FL_TRY(fl_need_float(c, "X", err));
	fl_set_like(c, 0, 0);
	return FL_OK;
}

/* Out or X, whichever the gradient reads, must look like dOut. */
static enum fl_code infer_act_grad(struct fl_infer *c, struct fl_err *err)
{
	FL_TRY(fl_need_float(c, "Out@GRAD", err));
	FL_TRY(fl_need_same_dims(c, "Out@GRAD", "X", err));
	FL_TRY(fl_need_same_dims(c, "Out@GRAD", "Out", err));
	FL_TRY(fl_need_same_dtype(c, "Out@GRAD", "X", err));
	FL_TRY(fl_need_same_dtype(c, "Out@GRAD", "Out", err));
	fl_set_like(c, 0, fl_slot_index(c->def->inputs, "Out@GRAD"));
	return FL_OK;
}

const struct fl_op_def fl_ops_activation[] = {
	{
		.type = "abs",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(BOOL_IGN("use_mkldnn", false), BOOL_IGN("use_cudnn", false)),
		.infer = infer_act,
		.flags = FL_OP_KERNEL,
		.doc = "Out = |X|",
	},
	{
		.type = "abs_grad",
		.inputs = SLOTS({ "Out@GRAD", 0 }, { "X", 0 }, { "Out", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.attrs = ATTRS(BOOL_IGN("use_mkldnn", false), BOOL_IGN("use_cudnn", false)),
		.infer = infer_act_grad,
		.flags = FL_OP_KERNEL,
	},
	{
		.type = "acos",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
	},
	{
		.type = "acos_grad",
		.inputs = SLOTS({ "Out@GRAD", 0 }, { "X", 0 }, { "Out", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
	},
	{
		.type = "asin",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
	},
	{
		.type = "asin_grad",
		.inputs = SLOTS({ "Out@GRAD", 0 }, { "X", 0 }, { "Out", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
	},
	{
		.type = "atan",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
	},
	{
		.type = "atan_grad",
		.inputs = SLOTS({ "Out@GRAD", 0 }, { "X", 0 }, { "Out", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
	},
	{
		.type = "ceil",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(BOOL_IGN("use_mkldnn", false), BOOL_IGN("use_cudnn", false)),
	},
	{
		.type = "ceil_grad",
		.inputs = SLOTS({ "Out@GRAD", 0 }, { "X", FL_OPT }, { "Out", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.attrs = ATTRS(BOOL_IGN("use_mkldnn", false), BOOL_IGN("use_cudnn", false)),
	},
	{
		.type = "cos",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(BOOL_IGN("use_mkldnn", false), BOOL_IGN("use_cudnn", false)),
	},
	{
		.type = "cos_grad",
		.inputs = SLOTS({ "Out@GRAD", 0 }, { "X", 0 }, { "Out", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.attrs = ATTRS(BOOL_IGN("use_mkldnn", false), BOOL_IGN("use_cudnn", false)),
	},
	{
		.type = "exp",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(BOOL_IGN("use_mkldnn", false), BOOL_IGN("use_cudnn", false)),
		.infer = infer_act,
		.flags = FL_OP_KERNEL,
		.doc = "Out = e^X",
	},
	{
		.type = "exp_grad",
		.inputs = SLOTS({ "Out", 0 }, { "Out@GRAD", 0 }, { "X", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.attrs = ATTRS(BOOL_IGN("use_mkldnn", false), BOOL_IGN("use_cudnn", false)),
		.infer = infer_act_grad,
		.flags = FL_OP_KERNEL,
	},
	{
		.type = "floor",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(BOOL_IGN("use_mkldnn", false), BOOL_IGN("use_cudnn", false)),
	},
	{
		.type = "floor_grad",
		.inputs = SLOTS({ "Out@GRAD", 0 }, { "X", FL_OPT }, { "Out", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.attrs = ATTRS(BOOL_IGN("use_mkldnn", false), BOOL_IGN("use_cudnn", false)),
	},
	{
		.type = "log",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(BOOL_IGN("use_mkldnn", false), BOOL_IGN("use_cudnn", false)),
		.infer = infer_act,
		.flags = FL_OP_KERNEL,
		.doc = "Out = ln X",
	},
	{
		.type = "log_grad",
		.inputs = SLOTS({ "Out@GRAD", 0 }, { "X", 0 }, { "Out", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.attrs = ATTRS(BOOL_IGN("use_mkldnn", false), BOOL_IGN("use_cudnn", false)),
		.infer = infer_act_grad,
		.flags = FL_OP_KERNEL,
	},
	{
		.type = "log1p",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(BOOL_IGN("use_mkldnn", false), BOOL_IGN("use_cudnn", false)),
	},
	{
		.type = "log1p_grad",
		.inputs = SLOTS({ "Out@GRAD", 0 }, { "X", 0 }, { "Out", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.attrs = ATTRS(BOOL_IGN("use_mkldnn", false), BOOL_IGN("use_cudnn", false)),
	},
	{
		.type = "logsigmoid",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(BOOL_IGN("use_mkldnn", false), BOOL_IGN("use_cudnn", false)),
	},
	{
		.type = "logsigmoid_grad",
		.inputs = SLOTS({ "Out@GRAD", 0 }, { "X", 0 }, { "Out", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.attrs = ATTRS(BOOL_IGN("use_mkldnn", false), BOOL_IGN("use_cudnn", false)),
	},
	{
		.type = "reciprocal",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(BOOL_IGN("use_mkldnn", false), BOOL_IGN("use_cudnn", false)),
		.infer = infer_act,
		.flags = FL_OP_KERNEL,
	},
	{
		.type = "reciprocal_grad",
		.inputs = SLOTS({ "Out", 0 }, { "Out@GRAD", 0 }, { "X", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.attrs = ATTRS(BOOL_IGN("use_mkldnn", false), BOOL_IGN("use_cudnn", false)),
		.infer = infer_act_grad,
		.flags = FL_OP_KERNEL,
	},
	{
		.type = "relu",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(BOOL_IGN("use_mkldnn", false), BOOL_IGN("use_cudnn", false)),
		.infer = infer_act,
		.flags = FL_OP_KERNEL,
		.doc = "Out = max(X, 0)",
	},
	{
		.type = "relu_grad",
		.inputs = SLOTS({ "Out", 0 }, { "Out@GRAD", 0 }, { "X", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.attrs = ATTRS(BOOL_IGN("use_mkldnn", false), BOOL_IGN("use_cudnn", false)),
		.infer = infer_act_grad,
		.flags = FL_OP_KERNEL,
	},
	{
		.type = "round",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(BOOL_IGN("use_mkldnn", false), BOOL_IGN("use_cudnn", false)),
	},
	{
		.type = "round_grad",
		.inputs = SLOTS({ "Out@GRAD", 0 }, { "X", FL_OPT }, { "Out", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.attrs = ATTRS(BOOL_IGN("use_mkldnn", false), BOOL_IGN("use_cudnn", false)),
	},
	{
		.type = "rsqrt",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(BOOL_IGN("use_mkldnn", false), BOOL_IGN("use_cudnn", false)),
		.infer = infer_act,
		.flags = FL_OP_KERNEL,
	},
	{
		.type = "rsqrt_grad",
		.inputs = SLOTS({ "Out", 0 }, { "Out@GRAD", 0 }, { "X", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.attrs = ATTRS(BOOL_IGN("use_mkldnn", false), BOOL_IGN("use_cudnn", false)),
		.infer = infer_act_grad,
		.flags = FL_OP_KERNEL,
	},
	{
		.type = "sigmoid",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(BOOL_IGN("use_mkldnn", false), BOOL_IGN("use_cudnn", false)),
		.infer = infer_act,
		.flags = FL_OP_KERNEL,
		.doc = "Out = 1 / (1 + e^-X)",
	},
	{
		.type = "sigmoid_grad",
		.inputs = SLOTS({ "Out", 0 }, { "Out@GRAD", 0 }, { "X", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.attrs = ATTRS(BOOL_IGN("use_mkldnn", false), BOOL_IGN("use_cudnn", false)),
		.infer = infer_act_grad,
		.flags = FL_OP_KERNEL,
	},
	{
		.type = "sin",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(BOOL_IGN("use_mkldnn", false), BOOL_IGN("use_cudnn", false)),
	},
	{
		.type = "sin_grad",
		.inputs = SLOTS({ "Out@GRAD", 0 }, { "X", 0 }, { "Out", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.attrs = ATTRS(BOOL_IGN("use_mkldnn", false), BOOL_IGN("use_cudnn", false)),
	},
	{
		.type = "softsign",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(BOOL_IGN("use_mkldnn", false), BOOL_IGN("use_cudnn", false)),
	},
	{
		.type = "softsign_grad",
		.inputs = SLOTS({ "Out@GRAD", 0 }, { "X", 0 }, { "Out", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.attrs = ATTRS(BOOL_IGN("use_mkldnn", false), BOOL_IGN("use_cudnn", false)),
	},
	{
		.type = "softplus",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(BOOL_IGN("use_mkldnn", false), BOOL_IGN("use_cudnn", false)),
	},
	{
		.type = "softplus_grad",
		.inputs = SLOTS({ "Out@GRAD", 0 }, { "X", 0 }, { "Out", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.attrs = ATTRS(BOOL_IGN("use_mkldnn", false), BOOL_IGN("use_cudnn", false)),
	},
	{
		.type = "sqrt",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(BOOL_IGN("use_mkldnn", false), BOOL_IGN("use_cudnn", false)),
		.infer = infer_act,
		.flags = FL_OP_KERNEL,
		.doc = "Out = the root of X",
	},
	{
		.type = "sqrt_grad",
		.inputs = SLOTS({ "Out", 0 }, { "Out@GRAD", 0 }, { "X", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.attrs = ATTRS(BOOL_IGN("use_mkldnn", false), BOOL_IGN("use_cudnn", false)),
		.infer = infer_act_grad,
		.flags = FL_OP_KERNEL,
	},
	{
		.type = "square",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(BOOL_IGN("use_mkldnn", false), BOOL_IGN("use_cudnn", false)),
		.infer = infer_act,
		.flags = FL_OP_KERNEL,
		.doc = "Out = X^2",
	},
	{
		.type = "square_grad",
		.inputs = SLOTS({ "Out@GRAD", 0 }, { "X", 0 }, { "Out", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.attrs = ATTRS(BOOL_IGN("use_mkldnn", false), BOOL_IGN("use_cudnn", false)),
		.infer = infer_act_grad,
		.flags = FL_OP_KERNEL,
	},
	{
		.type = "tanh",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(BOOL_IGN("use_mkldnn", false), BOOL_IGN("use_cudnn", false)),
		.infer = infer_act,
		.flags = FL_OP_KERNEL,
		.doc = "Out = tanh X",
	},
	{
		.type = "tanh_grad",
		.inputs = SLOTS({ "Out", 0 }, { "Out@GRAD", 0 }, { "X", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.attrs = ATTRS(BOOL_IGN("use_mkldnn", false), BOOL_IGN("use_cudnn", false)),
		.infer = infer_act_grad,
		.flags = FL_OP_KERNEL,
	},
	{
		.type = "tanh_shrink",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(BOOL_IGN("use_mkldnn", false), BOOL_IGN("use_cudnn", false)),
	},
	{
		.type = "tanh_shrink_grad",
		.inputs = SLOTS({ "Out@GRAD", 0 }, { "X", 0 }, { "Out", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.attrs = ATTRS(BOOL_IGN("use_mkldnn", false), BOOL_IGN("use_cudnn", false)),
	},
	{
		.type = "brelu",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(FLOAT("t_min", 0.0f), FLOAT("t_max", 24.0f)),
	},
	{
		.type = "brelu_grad",
		.inputs = SLOTS({ "Out@GRAD", 0 }, { "X", 0 }, { "Out", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.attrs = ATTRS(FLOAT("t_min", 0.0f), FLOAT("t_max", 24.0f)),
	},
	{
		.type = "elu",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(FLOAT("alpha", 1.0f)),
	},
	{
		.type = "elu_grad",
		.inputs = SLOTS({ "Out@GRAD", 0 }, { "X", 0 }, { "Out", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.attrs = ATTRS(FLOAT("alpha", 1.0f)),
	},
	{
		.type = "erf",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
	},
	{
		.type = "erf_grad",
		.inputs = SLOTS({ "Out@GRAD", 0 }, { "X", 0 }, { "Out", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
	},
	{
		.type = "gelu",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(BOOL("approximate", false), BOOL_IGN("use_mkldnn", false),
			BOOL_IGN("use_cudnn", false)),
	},
	{
		.type = "gelu_grad",
		.inputs = SLOTS({ "Out@GRAD", 0 }, { "X", 0 }, { "Out", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.attrs = ATTRS(BOOL("approximate", false), BOOL_IGN("use_mkldnn", false),
			BOOL_IGN("use_cudnn", false)),
	},
	{
		.type = "hard_shrink",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(FLOAT("threshold", 0.5f)),
	},
	{
		.type = "hard_shrink_grad",
		.inputs = SLOTS({ "Out@GRAD", 0 }, { "X", 0 }, { "Out", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.attrs = ATTRS(FLOAT("threshold", 0.5f)),
	},
	{
		.type = "hard_sigmoid",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(FLOAT("slope", 0.2f), FLOAT("offset", 0.5f)),
	},
	{
		.type = "hard_sigmoid_grad",
		.inputs = SLOTS({ "Out", 0 }, { "Out@GRAD", 0 }, { "X", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.attrs = ATTRS(FLOAT("slope", 0.2f), FLOAT("offset", 0.5f)),
	},
	{
		.type = "hard_swish",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(FLOAT("threshold", 6.0f), FLOAT("scale", 6.0f),
			FLOAT("offset", 3.0f)),
	},
	{
		.type = "hard_swish_grad",
		.inputs = SLOTS({ "Out@GRAD", 0 }, { "X", 0 }, { "Out", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.attrs = ATTRS(FLOAT("threshold", 6.0f), FLOAT("scale", 6.0f),
			FLOAT("offset", 3.0f)),
	},
	{
		.type = "leaky_relu",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(FLOAT("alpha", 0.02f), BOOL_IGN("use_mkldnn", false)),
	},
	{
		.type = "leaky_relu_grad",
		.inputs = SLOTS({ "Out", 0 }, { "Out@GRAD", 0 }, { "X", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.attrs = ATTRS(FLOAT("alpha", 0.02f), BOOL_IGN("use_mkldnn", false)),
	},
	{
		.type = "pow",
		.inputs = SLOTS({ "X", 0 }, { "FactorTensor", FL_OPT }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(FLOAT("factor", 1.0f)),
	},
	{
		.type = "pow_grad",
		.inputs = SLOTS({ "FactorTensor", FL_OPT }, { "Out@GRAD", 0 }, { "X", 0 },
			{ "Out", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.attrs = ATTRS(FLOAT("factor", 1.0f)),
	},
	{
		.type = "relu6",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(FLOAT("threshold", 6.0f)),
	},
	{
		.type = "relu6_grad",
		.inputs = SLOTS({ "Out", 0 }, { "Out@GRAD", 0 }, { "X", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.attrs = ATTRS(FLOAT("threshold", 6.0f)),
	},
	{
		.type = "soft_relu",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(FLOAT("threshold", 4e+01f)),
	},
	{
		.type = "soft_relu_grad",
		.inputs = SLOTS({ "Out", 0 }, { "Out@GRAD", 0 }, { "X", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.attrs = ATTRS(FLOAT("threshold", 4e+01f)),
	},
	{
		.type = "softshrink",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(FLOAT("lambda", 0.5f)),
	},
	{
		.type = "softshrink_grad",
		.inputs = SLOTS({ "Out@GRAD", 0 }, { "X", 0 }, { "Out", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.attrs = ATTRS(FLOAT("lambda", 0.5f)),
	},
	{
		.type = "stanh",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(FLOAT("scale_a", 0.67f), FLOAT("scale_b", 1.7159f)),
	},
	{
		.type = "stanh_grad",
		.inputs = SLOTS({ "Out@GRAD", 0 }, { "X", 0 }, { "Out", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.attrs = ATTRS(FLOAT("scale_a", 0.67f), FLOAT("scale_b", 1.7159f)),
	},
	{
		.type = "swish",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(FLOAT("beta", 1.0f), BOOL_IGN("use_mkldnn", false)),
	},
	{
		.type = "swish_grad",
		.inputs = SLOTS({ "Out@GRAD", 0 }, { "X", 0 }, { "Out", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.attrs = ATTRS(FLOAT("beta", 1.0f), BOOL_IGN("use_mkldnn", false)),
	},
	{
		.type = "thresholded_relu",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(FLOAT("threshold", 1.0f)),
	},
	{
		.type = "thresholded_relu_grad",
		.inputs = SLOTS({ "Out@GRAD", 0 }, { "X", 0 }, { "Out", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.attrs = ATTRS(FLOAT("threshold", 1.0f)),
	},
	{
		.type = "sign",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
	},
	{ .type = NULL },
};
