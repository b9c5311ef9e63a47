/* Softmax, cross entropies, and what counts hits (Fluid 1.8.5, softmax_op.cc, cross_entropy_op.cc,
 * softmax_with_cross_entropy_op.cc, metrics/accuracy_op.cc, top_k_op.cc). */
#include <inttypes.h>
#include <string.h>

#include "ops/schema.h"

static enum fl_code infer_softmax(struct fl_infer *c, struct fl_err *err)
{
	const struct fl_meta *x = fl_meta_in(c, 0, 0);
	int64_t axis = fl_infer_int(c, "axis");

	FL_TRY(fl_need_float(c, "X", err));
	if (fl_known(x))
		FL_TRY(fl_need_axis(c, "axis", x->rank, &axis, err));
	fl_set_like(c, 0, 0);
	return FL_OK;
}

static enum fl_code infer_softmax_grad(struct fl_infer *c, struct fl_err *err)
{
	const struct fl_meta *out = fl_meta_named(c, "Out");
	int64_t axis = fl_infer_int(c, "axis");

	FL_TRY(fl_need_float(c, "Out", err));
	FL_TRY(fl_need_same_dims(c, "Out@GRAD", "Out", err));
	FL_TRY(fl_need_same_dtype(c, "Out@GRAD", "Out", err));
	if (!fl_known(out))
		return FL_OK;
	FL_TRY(fl_need_axis(c, "axis", out->rank, &axis, err));
	fl_set_out(c, 0, 0, out->dtype, out->dims, out->rank); /* without LoD, as Fluid's */
	return FL_OK;
}

/* Labels for scores of shape x: like x where soft, else INT64 with 1 (or nothing) along axis. */
static enum fl_code need_labels(struct fl_infer *c, const char *scores, int64_t axis, bool soft,
	bool may_drop, struct fl_err *err)
{
	const struct fl_meta *x = fl_meta_named(c, scores), *label = fl_meta_named(c, "Label");
	int64_t dims[FL_MAX_RANK];
	int n = 0;

	if (soft) {
		FL_TRY(fl_need_same_dtype(c, "Label", scores, err));
		return fl_need_same_dims(c, "Label", scores, err);
	}
	FL_TRY(fl_need_dtype(c, "Label", FL_INT64, err));
	if (!fl_known(x) || !fl_known(label))
		return FL_OK;
	if (may_drop && label->rank == x->rank - 1) {
		for (int i = 0; i < x->rank; i++)
			if (i != axis)
				dims[n++] = x->dims[i];
		return fl_need_dims(c, "Label", dims, n, err);
	}
	memcpy(dims, x->dims, sizeof dims);
	dims[axis] = 1;
	return fl_need_dims(c, "Label", dims, x->rank, err);
}

static void set_losses(struct fl_infer *c, int out, int scores, int64_t axis)
{
	const struct fl_meta *x = fl_meta_in(c, scores, 0);
	int64_t dims[FL_MAX_RANK];

	memcpy(dims, x->dims, sizeof dims);
	dims[axis] = 1;
	fl_set_out(c, out, 0, x->dtype, dims, x->rank);
	fl_share_lod(c, out, scores);
}

/* Losses of scores x: 1 in place of the classes, or, with labels of one dim less, nothing. */
static int loss_dims(struct fl_infer *c, const struct fl_meta *x, int64_t *dims)
{
	const struct fl_meta *label = fl_meta_named(c, "Label");

	memcpy(dims, x->dims, sizeof x->dims);
	if (fl_known(label) && label->rank == x->rank - 1)
		return x->rank - 1;
	dims[x->rank - 1] = 1;
	return x->rank;
}

static enum fl_code infer_cross_entropy(struct fl_infer *c, struct fl_err *err)
{
	const struct fl_meta *x = fl_meta_named(c, "X");
	int64_t dims[FL_MAX_RANK];
	int rank;

	FL_TRY(fl_need_float(c, "X", err));
	if (!fl_known(x))
		return FL_OK;
	FL_TRY(fl_need_rank(c, "X", 1, FL_MAX_RANK, err));
	FL_TRY(need_labels(c, "X", x->rank - 1, fl_infer_bool(c, "soft_label"), true, err));
	rank = loss_dims(c, x, dims);
	fl_set_out(c, 0, 0, x->dtype, dims, rank);
	fl_share_lod(c, 0, 0);
	return FL_OK;
}

static enum fl_code infer_cross_entropy_grad(struct fl_infer *c, struct fl_err *err)
{
	const struct fl_meta *x = fl_meta_named(c, "X");
	int64_t dims[FL_MAX_RANK];
	int rank;

	FL_TRY(fl_need_float(c, "X", err));
	if (!fl_known(x))
		return FL_OK;
	FL_TRY(fl_need_rank(c, "X", 1, FL_MAX_RANK, err));
	FL_TRY(need_labels(c, "X", x->rank - 1, fl_infer_bool(c, "soft_label"), true, err));
	rank = loss_dims(c, x, dims);
	FL_TRY(fl_need_dims(c, "Y@GRAD", dims, rank, err));
	FL_TRY(fl_need_same_dtype(c, "Y@GRAD", "X", err));
	return fl_infer_grad(c, err);
}

/* XShape: X's shape with a 0 behind it, so that it holds no data. */
static enum fl_code infer_cross_entropy2(struct fl_infer *c, struct fl_err *err)
{
	const struct fl_meta *x = fl_meta_named(c, "X");
	int64_t dims[FL_MAX_RANK];
	int y = fl_slot_index(c->def->outputs, "Y"), match = fl_slot_index(c->def->outputs, "MatchX");
	int shape = fl_slot_index(c->def->outputs, "XShape"), rank;

	FL_TRY(fl_need_float(c, "X", err));
	if (!fl_known(x))
		return FL_OK;
	FL_TRY(fl_need_rank(c, "X", 1, FL_MAX_RANK - 1, err));
	FL_TRY(need_labels(c, "X", x->rank - 1, false, true, err));
	rank = loss_dims(c, x, dims);
	fl_set_out(c, y, 0, x->dtype, dims, rank);
	fl_share_lod(c, y, 0);
	memcpy(dims, x->dims, sizeof dims); /* MatchX has neither X's LoD nor the labels' shape */
	dims[x->rank - 1] = 1;
	fl_set_out(c, match, 0, x->dtype, dims, x->rank);
	memcpy(dims, x->dims, sizeof dims);
	dims[x->rank] = 0;
	fl_set_out(c, shape, 0, x->dtype, dims, x->rank + 1);
	fl_share_lod(c, shape, 0);
	return FL_OK;
}

static enum fl_code infer_cross_entropy2_grad(struct fl_infer *c, struct fl_err *err)
{
	const struct fl_meta *shape = fl_meta_named(c, "XShape"), *g = fl_meta_named(c, "Y@GRAD");
	const struct fl_meta *label = fl_meta_named(c, "Label");
	int64_t dims[FL_MAX_RANK];
	int rank, lost;

	FL_TRY(fl_need_float(c, "Y@GRAD", err));
	FL_TRY(fl_need_dtype(c, "Label", FL_INT64, err));
	FL_TRY(fl_need_same_dtype(c, "MatchX", "Y@GRAD", err));
	if (!fl_known(shape) || !g)
		return FL_OK;
	FL_TRY(fl_need_rank(c, "XShape", 2, FL_MAX_RANK, err));
	rank = shape->rank - 1;
	memcpy(dims, shape->dims, sizeof dims);
	dims[rank - 1] = 1;
	lost = fl_known(label) && label->rank == rank - 1; /* and so have the losses */
	FL_TRY(fl_need_dims(c, "Y@GRAD", dims, rank - lost, err));
	FL_TRY(fl_need_dims(c, "MatchX", dims, rank, err));
	FL_TRY(fl_need_dims(c, "Label", dims, rank - lost, err));
	fl_set_out(c, 0, 0, g->dtype, shape->dims, rank);
	fl_share_lod(c, 0, fl_slot_index(c->def->inputs, "XShape"));
	return FL_OK;
}

static enum fl_code infer_swce(struct fl_infer *c, struct fl_err *err)
{
	const struct fl_meta *x = fl_meta_named(c, "Logits");
	int64_t axis = fl_infer_int(c, "axis");

	FL_TRY(fl_need_float(c, "Logits", err));
	if (!fl_known(x))
		return FL_OK;
	FL_TRY(fl_need_axis(c, "axis", x->rank, &axis, err));
	FL_TRY(need_labels(c, "Logits", axis, fl_infer_bool(c, "soft_label"), false, err));
	fl_set_like(c, fl_slot_index(c->def->outputs, "Softmax"), 0);
	set_losses(c, fl_slot_index(c->def->outputs, "Loss"), 0, axis);
	return FL_OK;
}

static enum fl_code infer_swce_grad(struct fl_infer *c, struct fl_err *err)
{
	const struct fl_meta *x = fl_meta_named(c, "Softmax");
	int64_t axis = fl_infer_int(c, "axis"), dims[FL_MAX_RANK];

	FL_TRY(fl_need_float(c, "Softmax", err));
	FL_TRY(fl_need_same_dtype(c, "Loss@GRAD", "Softmax", err));
	if (!fl_known(x))
		return FL_OK;
	FL_TRY(fl_need_axis(c, "axis", x->rank, &axis, err));
	FL_TRY(need_labels(c, "Softmax", axis, fl_infer_bool(c, "soft_label"), false, err));
	memcpy(dims, x->dims, sizeof dims);
	dims[axis] = 1;
	FL_TRY(fl_need_dims(c, "Loss@GRAD", dims, x->rank, err));
	fl_set_out(c, 0, 0, x->dtype, x->dims, x->rank);
	return FL_OK;
}

static enum fl_code infer_accuracy(struct fl_infer *c, struct fl_err *err)
{
	static const int64_t one[] = { 1 };
	const struct fl_meta *indices = fl_meta_named(c, "Indices"), *label = fl_meta_named(c, "Label");
	int64_t dims[2] = { -1, 1 };
	int accuracy = fl_slot_index(c->def->outputs, "Accuracy");

	FL_TRY(fl_need_dtype(c, "Indices", FL_INT64, err));
	FL_TRY(fl_need_dtype(c, "Label", FL_INT64, err));
	FL_TRY(fl_need_rank(c, "Indices", 2, 2, err));
	FL_TRY(fl_need_rank(c, "Label", 2, 2, err));
	FL_TRY(fl_need_same_dims(c, "Out", "Indices", err));
	if (fl_known(indices) && label) {
		dims[0] = indices->dims[0];
		FL_TRY(fl_need_dims(c, "Label", dims, 2, err));
	}
	fl_set_out(c, accuracy, 0, FL_FP32, one, 1);
	fl_set_out(c, fl_slot_index(c->def->outputs, "Correct"), 0, FL_INT32, one, 1);
	fl_set_out(c, fl_slot_index(c->def->outputs, "Total"), 0, FL_INT32, one, 1);
	fl_share_lod(c, accuracy, fl_slot_index(c->def->inputs, "Out"));
	return FL_OK;
}

/* K as a tensor replaces the attribute; its value is only known to the kernel. */
static enum fl_code infer_top_k(struct fl_infer *c, struct fl_err *err)
{
	const struct fl_meta *x = fl_meta_named(c, "X");
	int64_t k = fl_infer_int(c, "k"), dims[FL_MAX_RANK];
	int out = fl_slot_index(c->def->outputs, "Out");
	int indices = fl_slot_index(c->def->outputs, "Indices");

	if (!fl_known(x))
		return FL_OK;
	FL_TRY(fl_need_rank(c, "X", 1, FL_MAX_RANK, err));
	memcpy(dims, x->dims, sizeof dims);
	if (fl_meta_named(c, "K"))
		k = -1;
	else if (k < 1 || (dims[x->rank - 1] >= 0 && k > dims[x->rank - 1]))
		return fl_infer_bad(c, err, "attribute 'k' is %" PRId64 ", expected 1 to %" PRId64
			", the last dimension of 'X'", k, dims[x->rank - 1]);
	dims[x->rank - 1] = k;
	fl_set_out(c, out, 0, x->dtype, dims, x->rank);
	fl_set_out(c, indices, 0, FL_INT64, dims, x->rank);
	fl_share_lod(c, out, fl_slot_index(c->def->inputs, "X"));
	fl_share_lod(c, indices, fl_slot_index(c->def->inputs, "X"));
	return FL_OK;
}

static enum fl_code infer_top_k_grad(struct fl_infer *c, struct fl_err *err)
{
	const struct fl_meta *x = fl_meta_named(c, "X"), *indices = fl_meta_named(c, "Indices");

	FL_TRY(fl_need_dtype(c, "Indices", FL_INT64, err));
	FL_TRY(fl_need_same_dtype(c, "Out@GRAD", "X", err));
	FL_TRY(fl_need_same_dims(c, "Out@GRAD", "Indices", err));
	if (fl_known(x) && fl_known(indices)) {
		int64_t dims[FL_MAX_RANK];

		memcpy(dims, x->dims, sizeof dims);
		if (indices->rank == x->rank && x->rank > 0)
			dims[x->rank - 1] = indices->dims[x->rank - 1];
		FL_TRY(fl_need_dims(c, "Indices", dims, x->rank, err));
	}
	return fl_infer_grad_dims(c, err);
}

const struct fl_op_def fl_ops_loss[] = {
	{
		.type = "softmax",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(INT("axis", -1), BOOL_IGN("use_cudnn", false),
			STR("data_format", "AnyLayout"), BOOL_IGN("use_mkldnn", false),
			BOOL("is_test", false)),
		.infer = infer_softmax,
		.flags = FL_OP_KERNEL,
		.doc = "Out = e^(X - max) / sum along axis",
	},
	{
		.type = "softmax_grad",
		.inputs = SLOTS({ "Out", 0 }, { "Out@GRAD", 0 }, { "X", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.attrs = ATTRS(INT("axis", -1), BOOL_IGN("use_cudnn", false),
			STR("data_format", "AnyLayout"), BOOL_IGN("use_mkldnn", false),
			BOOL("is_test", false)),
		.infer = infer_softmax_grad,
		.flags = FL_OP_KERNEL,
		.doc = "dX = (dOut - sum(dOut . Out)) . Out",
	},
	{
		.type = "cross_entropy",
		.inputs = SLOTS({ "X", 0 }, { "Label", 0 }),
		.outputs = SLOTS({ "Y", 0 }),
		.attrs = ATTRS(BOOL("soft_label", false), INT("ignore_index", -100)),
		.infer = infer_cross_entropy,
		.flags = FL_OP_KERNEL,
		.doc = "Y = -ln X[label], or -sum(Label . ln X)",
	},
	{
		.type = "cross_entropy_grad",
		.inputs = SLOTS({ "Label", 0 }, { "X", 0 }, { "Y@GRAD", 0 }, { "Y", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.attrs = ATTRS(BOOL("soft_label", false), INT("ignore_index", -100)),
		.infer = infer_cross_entropy_grad,
		.flags = FL_OP_KERNEL,
		.doc = "dX[label] = -dY / X[label]",
	},
	{
		.type = "cross_entropy2",
		.inputs = SLOTS({ "X", 0 }, { "Label", 0 }),
		.outputs = SLOTS({ "Y", 0 }, { "XShape", 0 }, { "MatchX", 0 }),
		.attrs = ATTRS(INT("ignore_index", -100)),
		.infer = infer_cross_entropy2,
		.flags = FL_OP_KERNEL,
		.doc = "Y = -ln X[label], MatchX = X[label]",
	},
	{
		.type = "cross_entropy_grad2",
		.inputs = SLOTS({ "Label", 0 }, { "MatchX", 0 }, { "XShape", 0 }, { "Y@GRAD", 0 },
			{ "X", FL_OPT }, { "Y", FL_OPT }, { "XShape@GRAD", FL_OPT },
			{ "MatchX@GRAD", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.attrs = ATTRS(INT("ignore_index", -100)),
		.infer = infer_cross_entropy2_grad,
		.flags = FL_OP_KERNEL,
		.doc = "dX[label] = -dY / MatchX",
	},
	{
		.type = "softmax_with_cross_entropy",
		.inputs = SLOTS({ "Logits", 0 }, { "Label", 0 }),
		.outputs = SLOTS({ "Softmax", FL_MID }, { "Loss", 0 }),
		.attrs = ATTRS(BOOL("soft_label", false), BOOL("numeric_stable_mode", true),
			INT("ignore_index", -100), INT("axis", -1)),
		.infer = infer_swce,
		.flags = FL_OP_KERNEL,
		.doc = "Loss = -ln softmax(Logits)[label]",
	},
	{
		.type = "softmax_with_cross_entropy_grad",
		.inputs = SLOTS({ "Label", 0 }, { "Loss@GRAD", 0 }, { "Softmax", 0 },
			{ "Logits", FL_OPT }, { "Loss", FL_OPT }, { "Softmax@GRAD", FL_OPT }),
		.outputs = SLOTS({ "Logits@GRAD", FL_OPT }),
		.attrs = ATTRS(BOOL("soft_label", false), BOOL("numeric_stable_mode", true),
			INT("ignore_index", -100), INT("axis", -1)),
		.infer = infer_swce_grad,
		.flags = FL_OP_KERNEL,
		.doc = "dLogits = dLoss . (Softmax - Label)",
	},
	{
		.type = "accuracy",
		.inputs = SLOTS({ "Out", 0 }, { "Indices", 0 }, { "Label", 0 }),
		.outputs = SLOTS({ "Accuracy", 0 }, { "Correct", 0 }, { "Total", 0 }),
		.infer = infer_accuracy,
		.flags = FL_OP_KERNEL,
		.doc = "Accuracy = rows of Indices that hold the Label / rows",
	},
	{
		.type = "top_k",
		.inputs = SLOTS({ "X", 0 }, { "K", FL_OPT }),
		.outputs = SLOTS({ "Out", 0 }, { "Indices", 0 }),
		.attrs = ATTRS(INT("k", 1)),
		.infer = infer_top_k,
		.flags = FL_OP_KERNEL | FL_OP_DYNAMIC,
		.doc = "Out = the k largest of each row, Indices = their places",
	},
	{
		.type = "top_k_grad",
		.inputs = SLOTS({ "Indices", 0 }, { "Out@GRAD", 0 }, { "X", 0 }, { "K", FL_OPT },
			{ "Out", FL_OPT }, { "Indices@GRAD", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.attrs = ATTRS(INT("k", 1)),
		.infer = infer_top_k_grad,
		.flags = FL_OP_KERNEL,
		.doc = "dX[Indices] = dOut",
	},
	{ .type = NULL },
};
