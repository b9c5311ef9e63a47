/*
 * Losses, metrics, dropout, quantisation:
 * slots, attributes and defaults as the op makers of Fluid 1.8.5 declare them. Known to the checker and to
 * listings; this build has no kernels for them.
 */
#include "ops/schema.h"

/* One number, and the counts as they are. */
static enum fl_code infer_auc(struct fl_infer *c, struct fl_err *err)
{
	const struct fl_meta *p = fl_meta_named(c, "Predict"), *label = fl_meta_named(c, "Label");

	FL_TRY(fl_need_float(c, "Predict", err));
	FL_TRY(fl_need_rank(c, "Predict", 2, 2, err));
	FL_TRY(fl_need_dtype(c, "Label", FL_INT64, err));
	FL_TRY(fl_need_dtype(c, "StatPos", FL_INT64, err));
	FL_TRY(fl_need_dtype(c, "StatNeg", FL_INT64, err));
	if (fl_known(p) && fl_known(label)) {
		int64_t n = fl_dims_product(label->dims, 0, label->rank);

		if (p->dims[1] == 0)
			return fl_infer_bad(c, err, "'Predict' has no column, expected one at least");
		if (n >= 0 && p->dims[0] >= 0 && n != p->dims[0])
			return fl_infer_bad(c, err, "'Label' has %lld elements, expected %lld",
				(long long)n, (long long)p->dims[0]);
	}
	fl_set_out(c, 0, 0, FL_FP64, (const int64_t[]){ 1 }, 1);
	fl_set_like(c, 1, fl_slot_index(c->def->inputs, "StatPos"));
	fl_set_like(c, 2, fl_slot_index(c->def->inputs, "StatNeg"));
	return FL_OK;
}

const struct fl_op_def fl_ops_learning[] = {
	{
		.type = "auc",
		.inputs = SLOTS({ "Predict", 0 }, { "Label", 0 }, { "StatPos", 0 },
			{ "StatNeg", 0 }),
		.outputs = SLOTS({ "AUC", 0 }, { "StatPosOut", 0 }, { "StatNegOut", 0 }),
		.attrs = ATTRS(STR("curve", "ROC"), INT("num_thresholds", 8191),
			INT("slide_steps", 1)),
		.infer = infer_auc,
		.flags = FL_OP_KERNEL,
		.doc = "AUC = the area under the curve of true over false positives",
	},
	{
		.type = "bce_loss",
		.inputs = SLOTS({ "X", 0 }, { "Label", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
	},
	{
		.type = "bce_loss_grad",
		.inputs = SLOTS({ "Label", 0 }, { "Out@GRAD", 0 }, { "X", 0 }, { "Out", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
	},
	{
		.type = "bpr_loss",
		.inputs = SLOTS({ "X", 0 }, { "Label", 0 }),
		.outputs = SLOTS({ "Y", 0 }),
	},
	{
		.type = "bpr_loss_grad",
		.inputs = SLOTS({ "Label", 0 }, { "X", 0 }, { "Y@GRAD", 0 }, { "Y", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
	},
	{
		.type = "cos_sim",
		.inputs = SLOTS({ "X", 0 }, { "Y", 0 }),
		.outputs = SLOTS({ "Out", 0 }, { "XNorm", FL_MID }, { "YNorm", FL_MID }),
		.attrs = ATTRS(BOOL("@ALL_KERNELS_MUST_COMPUTE_RUNTIME_SHAPE@", true)),
	},
	{
		.type = "cos_sim_grad",
		.inputs = SLOTS({ "Out", 0 }, { "Out@GRAD", 0 }, { "X", 0 }, { "XNorm", 0 },
			{ "Y", 0 }, { "YNorm", 0 }, { "XNorm@GRAD", FL_OPT },
			{ "YNorm@GRAD", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }, { "Y@GRAD", FL_OPT }),
		.attrs = ATTRS(BOOL("@ALL_KERNELS_MUST_COMPUTE_RUNTIME_SHAPE@", true)),
	},
	{
		.type = "dropout",
		.inputs = SLOTS({ "X", 0 }, { "Seed", FL_OPT }),
		.outputs = SLOTS({ "Out", 0 }, { "Mask", FL_MID }),
		.attrs = ATTRS(FLOAT("dropout_prob", 0.5f), BOOL("is_test", false),
			BOOL("fix_seed", false), INT("seed", 0),
			STR("dropout_implementation", "downgrade_in_infer")),
	},
	{
		.type = "dropout_grad",
		.inputs = SLOTS({ "Mask", 0 }, { "Out@GRAD", 0 }, { "X", FL_OPT },
			{ "Seed", FL_OPT }, { "Out", FL_OPT }, { "Mask@GRAD", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.attrs = ATTRS(FLOAT("dropout_prob", 0.5f), BOOL("is_test", false),
			BOOL("fix_seed", false), INT("seed", 0),
			STR("dropout_implementation", "downgrade_in_infer")),
	},
	{
		.type = "fake_quantize_dequantize_moving_average_abs_max",
		.inputs = SLOTS({ "X", 0 }, { "InScale", 0 }, { "InAccum", FL_OPT },
			{ "InState", FL_OPT }),
		.outputs = SLOTS({ "Out", 0 }, { "OutScale", 0 }, { "OutState", FL_OPT },
			{ "OutAccum", FL_OPT }),
		.attrs = ATTRS(FLOAT("moving_rate", 0.9f), INT("bit_length", 8),
			BOOL("is_test", false)),
	},
	{
		.type = "hinge_loss",
		.inputs = SLOTS({ "Logits", 0 }, { "Labels", 0 }),
		.outputs = SLOTS({ "Loss", 0 }),
	},
	{
		.type = "hinge_loss_grad",
		.inputs = SLOTS({ "Labels", 0 }, { "Logits", 0 }, { "Loss@GRAD", 0 },
			{ "Loss", FL_OPT }),
		.outputs = SLOTS({ "Logits@GRAD", FL_OPT }),
	},
	{
		.type = "huber_loss",
		.inputs = SLOTS({ "X", 0 }, { "Y", 0 }),
		.outputs = SLOTS({ "Residual", FL_MID }, { "Out", 0 }),
		.attrs = ATTRS(FLOAT_REQ("delta")),
	},
	{
		.type = "huber_loss_grad",
		.inputs = SLOTS({ "Out@GRAD", 0 }, { "Residual", 0 }, { "X", FL_OPT },
			{ "Y", FL_OPT }, { "Out", FL_OPT }, { "Residual@GRAD", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }, { "Y@GRAD", FL_OPT }),
		.attrs = ATTRS(FLOAT_REQ("delta")),
	},
	{
		.type = "kldiv_loss",
		.inputs = SLOTS({ "X", 0 }, { "Target", 0 }),
		.outputs = SLOTS({ "Loss", 0 }),
		.attrs = ATTRS(STR("reduction", "mean")),
	},
	{
		.type = "kldiv_loss_grad",
		.inputs = SLOTS({ "Loss@GRAD", 0 }, { "Target", 0 }, { "X", 0 },
			{ "Loss", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.attrs = ATTRS(STR("reduction", "mean")),
	},
	{
		.type = "label_smooth",
		.inputs = SLOTS({ "X", 0 }, { "PriorDist", FL_OPT }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(FLOAT("epsilon", 0.0f)),
	},
	{
		.type = "label_smooth_grad",
		.inputs = SLOTS({ "Out@GRAD", 0 }, { "X", FL_OPT }, { "PriorDist", FL_OPT },
			{ "Out", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.attrs = ATTRS(FLOAT("epsilon", 0.0f)),
	},
	{
		.type = "log_loss",
		.inputs = SLOTS({ "Predicted", 0 }, { "Labels", 0 }),
		.outputs = SLOTS({ "Loss", 0 }),
		.attrs = ATTRS(FLOAT_REQ("epsilon")),
	},
	{
		.type = "log_loss_grad",
		.inputs = SLOTS({ "Labels", 0 }, { "Loss@GRAD", 0 }, { "Predicted", 0 },
			{ "Loss", FL_OPT }),
		.outputs = SLOTS({ "Predicted@GRAD", FL_OPT }),
		.attrs = ATTRS(FLOAT_REQ("epsilon")),
	},
	{
		.type = "margin_rank_loss",
		.inputs = SLOTS({ "X1", 0 }, { "X2", 0 }, { "Label", 0 }),
		.outputs = SLOTS({ "Activated", FL_MID }, { "Out", 0 }),
		.attrs = ATTRS(FLOAT("margin", 0.0f)),
	},
	{
		.type = "margin_rank_loss_grad",
		.inputs = SLOTS({ "Activated", 0 }, { "Label", 0 }, { "Out@GRAD", 0 },
			{ "X1", FL_OPT }, { "X2", FL_OPT }, { "Out", FL_OPT },
			{ "Activated@GRAD", FL_OPT }),
		.outputs = SLOTS({ "X1@GRAD", FL_OPT }, { "X2@GRAD", FL_OPT }),
		.attrs = ATTRS(FLOAT("margin", 0.0f)),
	},
	{
		.type = "mean_iou",
		.inputs = SLOTS({ "Predictions", 0 }, { "Labels", 0 },
			{ "InWrongs", FL_DUP | FL_OPT }, { "InCorrects", FL_DUP | FL_OPT },
			{ "InMeanIou", FL_DUP | FL_OPT }),
		.outputs = SLOTS({ "OutMeanIou", 0 }, { "OutWrong", 0 }, { "OutCorrect", 0 }),
		.attrs = ATTRS(INT_REQ("num_classes")),
	},
	{
		.type = "modified_huber_loss",
		.inputs = SLOTS({ "X", 0 }, { "Y", 0 }),
		.outputs = SLOTS({ "IntermediateVal", FL_MID }, { "Out", 0 }),
	},
	{
		.type = "modified_huber_loss_grad",
		.inputs = SLOTS({ "IntermediateVal", 0 }, { "Out@GRAD", 0 }, { "Y", 0 },
			{ "X", FL_OPT }, { "Out", FL_OPT }, { "IntermediateVal@GRAD", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
	},
	{
		.type = "precision_recall",
		.inputs = SLOTS({ "MaxProbs", 0 }, { "Indices", 0 }, { "Labels", 0 },
			{ "Weights", FL_OPT }, { "StatesInfo", FL_OPT }),
		.outputs = SLOTS({ "BatchMetrics", 0 }, { "AccumMetrics", 0 },
			{ "AccumStatesInfo", 0 }),
		.attrs = ATTRS(INT_REQ("class_number")),
	},
	{
		.type = "rank_loss",
		.inputs = SLOTS({ "Label", 0 }, { "Left", 0 }, { "Right", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
	},
	{
		.type = "rank_loss_grad",
		.inputs = SLOTS({ "Label", 0 }, { "Left", 0 }, { "Out@GRAD", 0 }, { "Right", 0 },
			{ "Out", FL_OPT }),
		.outputs = SLOTS({ "Left@GRAD", FL_OPT }, { "Right@GRAD", FL_OPT }),
	},
	{
		.type = "sigmoid_cross_entropy_with_logits",
		.inputs = SLOTS({ "X", 0 }, { "Label", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(BOOL("normalize", false), INT("ignore_index", -100)),
	},
	{
		.type = "sigmoid_cross_entropy_with_logits_grad",
		.inputs = SLOTS({ "Label", 0 }, { "Out@GRAD", 0 }, { "X", 0 }, { "Out", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.attrs = ATTRS(BOOL("normalize", false), INT("ignore_index", -100)),
	},
	{
		.type = "smooth_l1_loss",
		.inputs = SLOTS({ "X", 0 }, { "Y", 0 }, { "InsideWeight", FL_OPT },
			{ "OutsideWeight", FL_OPT }),
		.outputs = SLOTS({ "Diff", FL_MID }, { "Out", 0 }),
		.attrs = ATTRS(FLOAT("sigma", 1.0f)),
	},
	{
		.type = "smooth_l1_loss_grad",
		.inputs = SLOTS({ "Diff", 0 }, { "InsideWeight", FL_OPT }, { "Out@GRAD", 0 },
			{ "OutsideWeight", FL_OPT }, { "X", FL_OPT }, { "Y", FL_OPT },
			{ "Out", FL_OPT }, { "Diff@GRAD", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }, { "Y@GRAD", FL_OPT }),
		.attrs = ATTRS(FLOAT("sigma", 1.0f)),
	},
	{
		.type = "squared_l2_distance",
		.inputs = SLOTS({ "X", 0 }, { "Y", 0 }),
		.outputs = SLOTS({ "sub_result", FL_MID }, { "Out", 0 }),
	},
	{
		.type = "squared_l2_distance_grad",
		.inputs = SLOTS({ "Out@GRAD", 0 }, { "X", 0 }, { "Y", 0 }, { "sub_result", 0 },
			{ "Out", FL_OPT }, { "sub_result@GRAD", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }, { "Y@GRAD", FL_OPT }),
	},
	{
		.type = "teacher_student_sigmoid_loss",
		.inputs = SLOTS({ "X", 0 }, { "Label", 0 }),
		.outputs = SLOTS({ "Y", 0 }),
		.attrs = ATTRS(FLOAT("soft_max_up_bound", 15.0f),
			FLOAT("soft_max_lower_bound", -15.0f)),
	},
	{
		.type = "teacher_student_sigmoid_loss_grad",
		.inputs = SLOTS({ "Label", 0 }, { "X", 0 }, { "Y@GRAD", 0 }, { "Y", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.attrs = ATTRS(FLOAT("soft_max_up_bound", 15.0f),
			FLOAT("soft_max_lower_bound", -15.0f)),
	},
	{ .type = NULL },
};
