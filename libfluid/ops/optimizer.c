/* Updates of parameters (Fluid 1.8.5, operators/optimizers). Outputs are the inputs, in place. */
#include <string.h>

#include "ops/schema.h"

/* Grad has Param's shape; as SelectedRows its height and width are. */
static enum fl_code need_update(struct fl_infer *c, struct fl_err *err)
{
	const struct fl_meta *p = fl_meta_named(c, "Param");

	if (!p)
		return fl_infer_bad(c, err, "'Param' is absent, expected a tensor");
	FL_TRY(fl_need_float(c, "Param", err));
	FL_TRY(fl_need_one(c, "LearningRate", err));
	FL_TRY(fl_need_same_dtype(c, "LearningRate", "Param", err));
	FL_TRY(fl_need_same_dtype(c, "Grad", "Param", err));
	return fl_need_same_dims(c, "Grad", "Param", err);
}

static enum fl_code infer_sgd(struct fl_infer *c, struct fl_err *err)
{
	const struct fl_meta *p = fl_meta_named(c, "Param"), *g = fl_meta_named(c, "Grad");

	FL_TRY(need_update(c, err));
	if (p->kind == FL_SELECTED_ROWS && g && g->kind >= 0 && g->kind != FL_SELECTED_ROWS)
		return fl_infer_bad(c, err,
			"'Grad' holds a LoDTensor, expected SelectedRows as 'Param' holds");
	fl_set_like(c, 0, fl_slot_index(c->def->inputs, "Param"));
	return FL_OK;
}

static enum fl_code infer_momentum(struct fl_infer *c, struct fl_err *err)
{
	const struct fl_meta *p = fl_meta_named(c, "Param");

	FL_TRY(need_update(c, err));
	if (p->kind == FL_SELECTED_ROWS)
		return fl_infer_bad(c, err, "'Param' holds SelectedRows, expected a LoDTensor");
	FL_TRY(fl_need_same_dims(c, "Velocity", "Param", err));
	FL_TRY(fl_need_same_dtype(c, "Velocity", "Param", err));
	fl_set_like(c, 0, fl_slot_index(c->def->inputs, "Param"));
	fl_set_like(c, 1, fl_slot_index(c->def->inputs, "Velocity"));
	return FL_OK;
}

/* "Moment1Out" is what becomes of "Moment1", "SquaredAccumOut" of "SquaredAccumulator". */
static int state_of(const struct fl_infer *c, size_t out)
{
	const char *name = c->def->outputs[out].name;
	size_t n = strlen(name) - strlen("Out");

	for (int i = 0; c->def->inputs[i].name; i++)
		if (!strncmp(c->def->inputs[i].name, name, n))
			return i;
	return -1;
}

static bool takes_rows(const char *type)
{
	static const char *const types[] = { "adam", "adagrad", "rmsprop", "lamb" };

	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (!strcmp(types[i], type))
			return true;
	return false;
}

/* Accumulators have the parameter's shape and type, powers of beta one element. */
static enum fl_code infer_update(struct fl_infer *c, struct fl_err *err)
{
	const struct fl_meta *p = fl_meta_named(c, "Param"), *g = fl_meta_named(c, "Grad");
	static const char *const ones[] = { "Beta1Pow", "Beta2Pow", "Beta1Tensor", "Beta2Tensor" };

	FL_TRY(need_update(c, err));
	if (p->kind == FL_SELECTED_ROWS)
		return fl_infer_bad(c, err, "'Param' holds SelectedRows, expected a LoDTensor");
	if (g && g->kind == FL_SELECTED_ROWS && !takes_rows(c->def->type))
		return fl_infer_bad(c, err, "'Grad' holds SelectedRows, expected a LoDTensor");
	for (size_t i = 0; i < sizeof ones / sizeof *ones; i++) {
		FL_TRY(fl_need_one(c, ones[i], err));
		FL_TRY(fl_need_float(c, ones[i], err));
	}
	for (size_t i = 0; i < c->n_out; i++) {
		int in = state_of(c, i);
		const char *name = c->def->inputs[in].name;

		if (strncmp(name, "Beta", 4)) {
			FL_TRY(fl_need_same_dims(c, name, "Param", err));
			FL_TRY(fl_need_same_dtype(c, name, "Param", err));
		}
		fl_set_like(c, (int)i, in);
	}
	return FL_OK;
}

const struct fl_op_def fl_ops_optimizer[] = {
	{
		.type = "sgd",
		.inputs = SLOTS({ "Param", 0 }, { "LearningRate", 0 }, { "Grad", 0 }),
		.outputs = SLOTS({ "ParamOut", 0 }),
		.infer = infer_sgd,
		.flags = FL_OP_KERNEL,
		.doc = "p = p - lr . g",
	},
	{
		.type = "momentum",
		.inputs = SLOTS({ "Param", 0 }, { "Grad", 0 }, { "Velocity", 0 },
			{ "LearningRate", 0 }),
		.outputs = SLOTS({ "ParamOut", 0 }, { "VelocityOut", 0 }),
		.attrs = ATTRS(FLOAT_REQ("mu"), BOOL("use_nesterov", false)),
		.infer = infer_momentum,
		.flags = FL_OP_KERNEL,
		.doc = "v = mu . v + g; p = p - lr . v, or p - lr . (g + mu . v)",
	},
	{
		.type = "lars_momentum",
		.inputs = SLOTS({ "Param", 0 }, { "Grad", 0 }, { "Velocity", 0 },
			{ "LearningRate", 0 }),
		.outputs = SLOTS({ "ParamOut", 0 }, { "VelocityOut", 0 }),
		.attrs = ATTRS(FLOAT_REQ("mu"), FLOAT("lars_coeff", 0.001f),
			FLOAT("lars_weight_decay", 0.0005f)),
		.infer = infer_update,
		.flags = FL_OP_KERNEL,
		.doc = "l = lr . coeff . |p| / (|g| + wd . |p|); v = mu . v + l . (g + wd . p); p = p - v",
	},
	{
		.type = "adam",
		.inputs = SLOTS({ "Param", 0 }, { "Grad", 0 }, { "LearningRate", 0 },
			{ "Moment1", 0 }, { "Moment2", 0 }, { "Beta1Pow", 0 }, { "Beta2Pow", 0 },
			{ "Beta1Tensor", FL_OPT }, { "Beta2Tensor", FL_OPT }),
		.outputs = SLOTS({ "ParamOut", 0 }, { "Moment1Out", 0 }, { "Moment2Out", 0 },
			{ "Beta1PowOut", 0 }, { "Beta2PowOut", 0 }),
		.attrs = ATTRS(FLOAT("beta1", 0.9f), FLOAT("beta2", 0.999f),
			FLOAT("epsilon", 1e-08f), BOOL("lazy_mode", false),
			LONG("min_row_size_to_use_multithread", 1000)),
		.infer = infer_update,
		.flags = FL_OP_KERNEL,
		.doc = "m1, m2: averages of g, g^2; p = p - lr . sqrt(1 - b2p) / (1 - b1p) . m1 / (sqrt(m2) + eps)",
	},
	{
		.type = "adamax",
		.inputs = SLOTS({ "Param", 0 }, { "Grad", 0 }, { "LearningRate", 0 },
			{ "Moment", 0 }, { "InfNorm", 0 }, { "Beta1Pow", 0 }),
		.outputs = SLOTS({ "ParamOut", 0 }, { "MomentOut", 0 }, { "InfNormOut", 0 }),
		.attrs = ATTRS(FLOAT("beta1", 0.9f), FLOAT("beta2", 0.999f),
			FLOAT("epsilon", 1e-08f)),
		.infer = infer_update,
		.flags = FL_OP_KERNEL,
		.doc = "u = max(|g|, b2 . u + eps); p = p - lr / (1 - b1p) . m / u",
	},
	{
		.type = "adagrad",
		.inputs = SLOTS({ "Param", 0 }, { "Grad", 0 }, { "Moment", 0 },
			{ "LearningRate", 0 }),
		.outputs = SLOTS({ "ParamOut", 0 }, { "MomentOut", 0 }),
		.attrs = ATTRS(FLOAT("epsilon", 1e-06f)),
		.infer = infer_update,
		.flags = FL_OP_KERNEL,
		.doc = "h = h + g^2; p = p - lr . g / (sqrt(h) + eps)",
	},
	{
		.type = "decayed_adagrad",
		.inputs = SLOTS({ "Param", 0 }, { "Grad", 0 }, { "Moment", 0 },
			{ "LearningRate", 0 }),
		.outputs = SLOTS({ "ParamOut", 0 }, { "MomentOut", 0 }),
		.attrs = ATTRS(FLOAT("decay", 0.95f), FLOAT("epsilon", 1e-06f)),
		.infer = infer_update,
		.flags = FL_OP_KERNEL,
		.doc = "h = d . h + (1 - d) . g^2; p = p - lr . g / (sqrt(h) + eps)",
	},
	{
		.type = "adadelta",
		.inputs = SLOTS({ "Param", 0 }, { "Grad", 0 }, { "AvgSquaredGrad", 0 },
			{ "AvgSquaredUpdate", 0 }),
		.outputs = SLOTS({ "ParamOut", 0 }, { "AvgSquaredGradOut", 0 },
			{ "AvgSquaredUpdateOut", 0 }),
		.attrs = ATTRS(FLOAT("rho", 0.95f), FLOAT("epsilon", 1e-06f)),
		.infer = infer_update,
		.flags = FL_OP_KERNEL,
		.doc = "p = p - sqrt((u + eps) / (a + eps)) . g, with averages a of g^2 and u of steps^2",
	},
	{
		.type = "rmsprop",
		.inputs = SLOTS({ "Param", 0 }, { "MeanSquare", 0 }, { "MeanGrad", FL_OPT },
			{ "LearningRate", 0 }, { "Grad", 0 }, { "Moment", 0 }),
		.outputs = SLOTS({ "ParamOut", 0 }, { "MomentOut", 0 }, { "MeanSquareOut", 0 },
			{ "MeanGradOut", 0 }),
		.attrs = ATTRS(FLOAT("epsilon", 1e-10f), FLOAT("decay", 0.9f),
			FLOAT("momentum", 0.0f), BOOL("centered", false)),
		.infer = infer_update,
		.flags = FL_OP_KERNEL,
		.doc = "v = mom . v + lr . g / sqrt(average of g^2 + eps); p = p - v",
	},
	{
		.type = "ftrl",
		.inputs = SLOTS({ "Param", 0 }, { "SquaredAccumulator", 0 },
			{ "LinearAccumulator", 0 }, { "Grad", 0 }, { "LearningRate", 0 }),
		.outputs = SLOTS({ "ParamOut", 0 }, { "SquaredAccumOut", 0 },
			{ "LinearAccumOut", 0 }),
		.attrs = ATTRS(FLOAT("l1", 0.0f), FLOAT("l2", 0.0f), FLOAT("lr_power", -0.5f)),
		.infer = infer_update,
		.flags = FL_OP_KERNEL,
		.doc = "p = (l1 . sign(z) - z) / (n^-lr_power / lr + 2 . l2) where |z| > l1, else 0",
	},
	{
		.type = "lamb",
		.inputs = SLOTS({ "Param", 0 }, { "Grad", 0 }, { "LearningRate", 0 },
			{ "Moment1", 0 }, { "Moment2", 0 }, { "Beta1Pow", 0 }, { "Beta2Pow", 0 }),
		.outputs = SLOTS({ "ParamOut", 0 }, { "Moment1Out", 0 }, { "Moment2Out", 0 }),
		.attrs = ATTRS(FLOAT_REQ("weight_decay"), FLOAT("beta1", 0.9f),
			FLOAT("beta2", 0.999f), FLOAT("epsilon", 1e-06f)),
		.infer = infer_update,
		.flags = FL_OP_KERNEL,
		.doc = "r = m1 / (sqrt(m2) + eps) + wd . p; p = p - lr . |p| / |r| . r",
	},
	{
		.type = "proximal_gd",
		.inputs = SLOTS({ "Param", 0 }, { "Grad", 0 }, { "LearningRate", 0 }),
		.outputs = SLOTS({ "ParamOut", 0 }),
		.attrs = ATTRS(FLOAT("l1", 0.0f), FLOAT("l2", 0.0f)),
		.infer = infer_update,
		.flags = FL_OP_KERNEL,
		.doc = "q = p - lr . g; p = sign(q) . max(|q| - lr . l1, 0) / (1 + lr . l2)",
	},
	{
		.type = "proximal_adagrad",
		.inputs = SLOTS({ "Param", 0 }, { "Moment", 0 }, { "Grad", 0 },
			{ "LearningRate", 0 }),
		.outputs = SLOTS({ "ParamOut", 0 }, { "MomentOut", 0 }),
		.attrs = ATTRS(FLOAT("l1", 0.0f), FLOAT("l2", 0.0f)),
		.infer = infer_update,
		.flags = FL_OP_KERNEL,
		.doc = "h = h + g^2; q = p - lr . g / sqrt(h), then as proximal_gd",
	},
	{
		.type = "average_accumulates",
		.inputs = SLOTS({ "param", 0 }, { "in_sum_1", 0 }, { "in_sum_2", 0 },
			{ "in_sum_3", 0 }, { "in_num_accumulates", 0 },
			{ "in_old_num_accumulates", 0 }, { "in_num_updates", 0 }),
		.outputs = SLOTS({ "out_sum_1", 0 }, { "out_sum_2", 0 }, { "out_sum_3", 0 },
			{ "out_num_accumulates", 0 }, { "out_old_num_accumulates", 0 },
			{ "out_num_updates", 0 }),
		.attrs = ATTRS(FLOAT("average_window", 0.0f), LONG_REQ("max_average_window"),
			LONG("min_average_window", 10000)),
	},
	{
		.type = "dpsgd",
		.inputs = SLOTS({ "Param", 0 }, { "Grad", 0 }, { "LearningRate", 0 }),
		.outputs = SLOTS({ "ParamOut", 0 }),
		.attrs = ATTRS(FLOAT("clip", 1e+01f), FLOAT("batch_size", 16.0f),
			FLOAT("sigma", 1.0f), INT("seed", 0)),
	},
	{ .type = NULL },
};
