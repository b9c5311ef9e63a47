/*
 * Sequences, recurrent layers and arrays of tensors:
 * slots, attributes and defaults as the op makers of Fluid 1.8.5 declare them. Known to the checker and to
 * listings; this build has no kernels for them.
 */
#include <string.h>

#include "ops/schema.h"

/* As many rows as sequences, which the kernel counts. */
static enum fl_code infer_sequence_pool(struct fl_infer *c, struct fl_err *err)
{
	const struct fl_meta *x = fl_meta_in(c, 0, 0);
	int64_t dims[FL_MAX_RANK];

	FL_TRY(fl_need_float(c, "X", err));
	FL_TRY(fl_need_rank(c, "X", 1, FL_MAX_RANK, err));
	if (!fl_known(x))
		return FL_OK;
	memcpy(dims, x->dims, sizeof dims);
	dims[0] = -1;
	fl_set_out(c, 0, 0, x->dtype, dims, x->rank);
	fl_set_out(c, 1, 0, FL_INT32, dims, x->rank);
	return FL_OK;
}

static enum fl_code infer_sequence_pool_grad(struct fl_infer *c, struct fl_err *err)
{
	FL_TRY(fl_need_float(c, "X", err));
	FL_TRY(fl_need_same_dtype(c, "Out@GRAD", "X", err));
	return fl_infer_grad(c, err);
}

const struct fl_op_def fl_ops_sequence[] = {
	{
		.type = "array_to_lod_tensor",
		.inputs = SLOTS({ "X", 0 }, { "RankTable", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
	},
	{
		.type = "beam_search",
		.inputs = SLOTS({ "pre_ids", 0 }, { "pre_scores", 0 }, { "ids", FL_OPT },
			{ "scores", 0 }),
		.outputs = SLOTS({ "selected_ids", 0 }, { "selected_scores", 0 },
			{ "parent_idx", FL_OPT }),
		.attrs = ATTRS(INT_REQ("level"), INT_REQ("beam_size"), INT_REQ("end_id"),
			BOOL("is_accumulated", true)),
	},
	{
		.type = "beam_search_decode",
		.inputs = SLOTS({ "Ids", 0 }, { "Scores", 0 }),
		.outputs = SLOTS({ "SentenceIds", 0 }, { "SentenceScores", 0 }),
		.attrs = ATTRS(INT_REQ("beam_size"), INT_REQ("end_id")),
	},
	{
		.type = "chunk_eval",
		.inputs = SLOTS({ "Inference", 0 }, { "Label", 0 }, { "SeqLength", FL_OPT }),
		.outputs = SLOTS({ "Precision", 0 }, { "Recall", 0 }, { "F1-Score", 0 },
			{ "NumInferChunks", 0 }, { "NumLabelChunks", 0 },
			{ "NumCorrectChunks", 0 }),
		.attrs = ATTRS(INT_REQ("num_chunk_types"), STR("chunk_scheme", "IOB"),
			INTS("excluded_chunk_types", "")),
	},
	{
		.type = "crf_decoding",
		.inputs = SLOTS({ "Emission", 0 }, { "Transition", 0 }, { "Label", FL_OPT },
			{ "Length", FL_OPT }),
		.outputs = SLOTS({ "ViterbiPath", 0 }),
	},
	{
		.type = "ctc_align",
		.inputs = SLOTS({ "Input", 0 }, { "InputLength", FL_OPT }),
		.outputs = SLOTS({ "Output", 0 }, { "OutputLength", FL_OPT }),
		.attrs = ATTRS(INT("blank", 0), BOOL("merge_repeated", true),
			INT("padding_value", 0)),
	},
	{
		.type = "edit_distance",
		.inputs = SLOTS({ "Hyps", 0 }, { "Refs", 0 }, { "HypsLength", FL_OPT },
			{ "RefsLength", FL_OPT }),
		.outputs = SLOTS({ "SequenceNum", 0 }, { "Out", 0 }),
		.attrs = ATTRS(BOOL("normalized", false)),
	},
	{
		.type = "gru",
		.inputs = SLOTS({ "Input", 0 }, { "H0", FL_OPT }, { "Weight", 0 },
			{ "Bias", FL_OPT }),
		.outputs = SLOTS({ "BatchGate", FL_MID }, { "BatchResetHiddenPrev", FL_MID },
			{ "BatchHidden", FL_MID }, { "Hidden", 0 }),
		.attrs = ATTRS(STR("activation", "tanh"), STR("gate_activation", "sigmoid"),
			BOOL("is_reverse", false), BOOL("origin_mode", false)),
	},
	{
		.type = "gru_grad",
		.inputs = SLOTS({ "BatchGate", 0 }, { "BatchHidden", 0 },
			{ "BatchResetHiddenPrev", 0 }, { "Bias", FL_OPT }, { "H0", FL_OPT },
			{ "Hidden", 0 }, { "Hidden@GRAD", 0 }, { "Input", 0 }, { "Weight", 0 },
			{ "BatchGate@GRAD", FL_OPT }, { "BatchResetHiddenPrev@GRAD", FL_OPT },
			{ "BatchHidden@GRAD", FL_OPT }),
		.outputs = SLOTS({ "Bias@GRAD", FL_OPT }, { "H0@GRAD", FL_OPT },
			{ "Input@GRAD", FL_OPT }, { "Weight@GRAD", FL_OPT }),
		.attrs = ATTRS(STR("activation", "tanh"), STR("gate_activation", "sigmoid"),
			BOOL("is_reverse", false), BOOL("origin_mode", false)),
	},
	{
		.type = "gru_unit",
		.inputs = SLOTS({ "Input", 0 }, { "HiddenPrev", 0 }, { "Weight", 0 },
			{ "Bias", FL_OPT }),
		.outputs = SLOTS({ "Gate", FL_MID }, { "ResetHiddenPrev", FL_MID },
			{ "Hidden", 0 }),
		.attrs = ATTRS(INT("activation", 2), INT("gate_activation", 1),
			BOOL("origin_mode", false)),
	},
	{
		.type = "gru_unit_grad",
		.inputs = SLOTS({ "Bias", FL_OPT }, { "Gate", 0 }, { "Hidden@GRAD", 0 },
			{ "HiddenPrev", 0 }, { "Input", 0 }, { "ResetHiddenPrev", 0 },
			{ "Weight", 0 }, { "Hidden", FL_OPT }, { "Gate@GRAD", FL_OPT },
			{ "ResetHiddenPrev@GRAD", FL_OPT }),
		.outputs = SLOTS({ "Bias@GRAD", FL_OPT }, { "HiddenPrev@GRAD", FL_OPT },
			{ "Input@GRAD", FL_OPT }, { "Weight@GRAD", FL_OPT }),
		.attrs = ATTRS(INT("activation", 2), INT("gate_activation", 1),
			BOOL("origin_mode", false)),
	},
	{
		.type = "im2sequence",
		.inputs = SLOTS({ "X", 0 }, { "Y", FL_OPT }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(INTS_REQ("kernels"), INTS("strides", "1,1"),
			INTS("paddings", "0,0,0,0"), INTS("out_stride", "1,1")),
	},
	{
		.type = "im2sequence_grad",
		.inputs = SLOTS({ "Out@GRAD", 0 }, { "X", 0 }, { "Y", FL_OPT }, { "Out", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.attrs = ATTRS(INTS_REQ("kernels"), INTS("strides", "1,1"),
			INTS("paddings", "0,0,0,0"), INTS("out_stride", "1,1")),
	},
	{
		.type = "linear_chain_crf",
		.inputs = SLOTS({ "Emission", 0 }, { "Transition", 0 }, { "Label", 0 },
			{ "Length", FL_OPT }),
		.outputs = SLOTS({ "Alpha", FL_MID }, { "EmissionExps", FL_MID },
			{ "TransitionExps", FL_MID }, { "LogLikelihood", 0 }),
	},
	{
		.type = "linear_chain_crf_grad",
		.inputs = SLOTS({ "Alpha", 0 }, { "Emission", 0 }, { "EmissionExps", 0 },
			{ "Label", 0 }, { "Length", FL_OPT }, { "LogLikelihood@GRAD", 0 },
			{ "Transition", 0 }, { "TransitionExps", 0 }, { "LogLikelihood", FL_OPT },
			{ "Alpha@GRAD", FL_OPT }, { "EmissionExps@GRAD", FL_OPT },
			{ "TransitionExps@GRAD", FL_OPT }),
		.outputs = SLOTS({ "Emission@GRAD", FL_OPT }, { "Transition@GRAD", FL_OPT }),
	},
	{
		.type = "lod_array_length",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
	},
	{
		.type = "lod_rank_table",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(INT("level", 0)),
	},
	{
		.type = "lod_reset",
		.inputs = SLOTS({ "X", 0 }, { "Y", FL_OPT }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(INTS("target_lod", ""), BOOL("append", false)),
	},
	{
		.type = "lod_reset_grad",
		.inputs = SLOTS({ "Out@GRAD", 0 }, { "X", 0 }, { "Y", FL_OPT }, { "Out", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.attrs = ATTRS(INTS("target_lod", ""), BOOL("append", false)),
	},
	{
		.type = "lod_tensor_to_array",
		.inputs = SLOTS({ "X", 0 }, { "RankTable", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
	},
	{
		.type = "lstm",
		.inputs = SLOTS({ "Input", 0 }, { "H0", FL_OPT }, { "C0", FL_OPT }, { "Weight", 0 },
			{ "Bias", 0 }),
		.outputs = SLOTS({ "Hidden", 0 }, { "Cell", 0 }, { "BatchGate", FL_MID },
			{ "BatchCellPreAct", FL_MID }),
		.attrs = ATTRS(BOOL("use_peepholes", true), BOOL("is_reverse", false),
			STR("gate_activation", "sigmoid"), STR("cell_activation", "tanh"),
			STR("candidate_activation", "tanh")),
	},
	{
		.type = "lstm_grad",
		.inputs = SLOTS({ "BatchCellPreAct", 0 }, { "BatchGate", 0 }, { "Bias", 0 },
			{ "C0", FL_OPT }, { "Cell", 0 }, { "H0", FL_OPT }, { "Hidden", 0 },
			{ "Hidden@GRAD", 0 }, { "Input", 0 }, { "Weight", 0 },
			{ "Cell@GRAD", FL_OPT }, { "BatchGate@GRAD", FL_OPT },
			{ "BatchCellPreAct@GRAD", FL_OPT }),
		.outputs = SLOTS({ "Bias@GRAD", FL_OPT }, { "C0@GRAD", FL_OPT },
			{ "H0@GRAD", FL_OPT }, { "Input@GRAD", FL_OPT }, { "Weight@GRAD", FL_OPT }),
		.attrs = ATTRS(BOOL("use_peepholes", true), BOOL("is_reverse", false),
			STR("gate_activation", "sigmoid"), STR("cell_activation", "tanh"),
			STR("candidate_activation", "tanh")),
	},
	{
		.type = "lstm_unit",
		.inputs = SLOTS({ "X", 0 }, { "C_prev", 0 }),
		.outputs = SLOTS({ "C", 0 }, { "H", 0 }),
		.attrs = ATTRS(FLOAT("forget_bias", 0.0f)),
	},
	{
		.type = "lstm_unit_grad",
		.inputs = SLOTS({ "C", 0 }, { "C@GRAD", 0 }, { "C_prev", 0 }, { "H@GRAD", 0 },
			{ "X", 0 }, { "H", FL_OPT }),
		.outputs = SLOTS({ "C_prev@GRAD", FL_OPT }, { "X@GRAD", FL_OPT }),
		.attrs = ATTRS(FLOAT("forget_bias", 0.0f)),
	},
	{
		.type = "lstmp",
		.inputs = SLOTS({ "Input", 0 }, { "H0", FL_OPT }, { "C0", FL_OPT }, { "Weight", 0 },
			{ "ProjWeight", 0 }, { "Bias", 0 }),
		.outputs = SLOTS({ "Projection", 0 }, { "Cell", 0 }, { "BatchGate", FL_MID },
			{ "BatchCellPreAct", FL_MID }, { "BatchHidden", FL_MID }),
		.attrs = ATTRS(BOOL("use_peepholes", true), BOOL("is_reverse", false),
			FLOAT("cell_clip", 0.0f), FLOAT("proj_clip", 0.0f),
			STR("gate_activation", "sigmoid"), STR("cell_activation", "tanh"),
			STR("candidate_activation", "tanh"), STR("proj_activation", "tanh")),
	},
	{
		.type = "lstmp_grad",
		.inputs = SLOTS({ "BatchCellPreAct", 0 }, { "BatchGate", 0 }, { "BatchHidden", 0 },
			{ "Bias", 0 }, { "C0", FL_OPT }, { "Cell", 0 }, { "H0", FL_OPT },
			{ "ProjWeight", 0 }, { "Projection", 0 }, { "Projection@GRAD", 0 },
			{ "Weight", 0 }, { "Input", FL_OPT }, { "Cell@GRAD", FL_OPT },
			{ "BatchGate@GRAD", FL_OPT }, { "BatchCellPreAct@GRAD", FL_OPT },
			{ "BatchHidden@GRAD", FL_OPT }),
		.outputs = SLOTS({ "Bias@GRAD", FL_OPT }, { "C0@GRAD", FL_OPT },
			{ "H0@GRAD", FL_OPT }, { "Input@GRAD", FL_OPT },
			{ "ProjWeight@GRAD", FL_OPT }, { "Weight@GRAD", FL_OPT }),
		.attrs = ATTRS(BOOL("use_peepholes", true), BOOL("is_reverse", false),
			FLOAT("cell_clip", 0.0f), FLOAT("proj_clip", 0.0f),
			STR("gate_activation", "sigmoid"), STR("cell_activation", "tanh"),
			STR("candidate_activation", "tanh"), STR("proj_activation", "tanh")),
	},
	{
		.type = "max_sequence_len",
		.inputs = SLOTS({ "RankTable", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
	},
	{
		.type = "merge_lod_tensor",
		.inputs = SLOTS({ "X", 0 }, { "Mask", 0 }, { "InTrue", 0 }, { "InFalse", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(INT("level", 0)),
	},
	{
		.type = "read_from_array",
		.inputs = SLOTS({ "X", 0 }, { "I", 0 }, { "X_W", FL_OPT }),
		.outputs = SLOTS({ "Out", 0 }),
	},
	{
		.type = "reorder_lod_tensor_by_rank",
		.inputs = SLOTS({ "X", 0 }, { "RankTable", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
	},
	{
		.type = "reorder_lod_tensor_by_rank_grad",
		.inputs = SLOTS({ "RankTable", 0 }, { "X", 0 }, { "Out", FL_OPT },
			{ "Out@GRAD", FL_OPT }),
		.outputs = SLOTS({ "Out", FL_OPT }),
	},
	{
		.type = "row_conv",
		.inputs = SLOTS({ "X", 0 }, { "Filter", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
	},
	{
		.type = "row_conv_grad",
		.inputs = SLOTS({ "Filter", 0 }, { "Out@GRAD", 0 }, { "X", 0 }, { "Out", FL_OPT }),
		.outputs = SLOTS({ "Filter@GRAD", FL_OPT }, { "X@GRAD", FL_OPT }),
	},
	{
		.type = "sequence_concat",
		.inputs = SLOTS({ "X", FL_DUP }),
		.outputs = SLOTS({ "Out", 0 }),
	},
	{
		.type = "sequence_concat_grad",
		.inputs = SLOTS({ "Out@GRAD", 0 }, { "X", FL_DUP }, { "Out", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_DUP | FL_OPT }),
	},
	{
		.type = "sequence_conv",
		.inputs = SLOTS({ "X", 0 }, { "PaddingData", FL_OPT }, { "Filter", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(BOOL("paddingTrainable", false), INT_REQ("contextLength"),
			INT("contextStart", 0), INT("contextStride", 1)),
	},
	{
		.type = "sequence_conv_grad",
		.inputs = SLOTS({ "Filter", 0 }, { "Out@GRAD", 0 }, { "X", 0 },
			{ "PaddingData", FL_OPT }, { "Out", FL_OPT }),
		.outputs = SLOTS({ "Filter@GRAD", FL_OPT }, { "X@GRAD", FL_OPT }),
		.attrs = ATTRS(BOOL("paddingTrainable", false), INT_REQ("contextLength"),
			INT("contextStart", 0), INT("contextStride", 1)),
	},
	{
		.type = "sequence_enumerate",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(INT_REQ("win_size"), INT("pad_value", 0),
			BOOL("@ALL_KERNELS_MUST_COMPUTE_RUNTIME_SHAPE@", false)),
	},
	{
		.type = "sequence_erase",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(INTS_REQ("tokens")),
	},
	{
		.type = "sequence_expand",
		.inputs = SLOTS({ "X", 0 }, { "Y", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(INT("ref_level", -1)),
	},
	{
		.type = "sequence_expand_as",
		.inputs = SLOTS({ "X", 0 }, { "Y", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
	},
	{
		.type = "sequence_expand_as_grad",
		.inputs = SLOTS({ "Out@GRAD", 0 }, { "X", 0 }, { "Y", 0 }, { "Out", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
	},
	{
		.type = "sequence_expand_grad",
		.inputs = SLOTS({ "Out@GRAD", 0 }, { "X", 0 }, { "Y", 0 }, { "Out", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.attrs = ATTRS(INT("ref_level", -1)),
	},
	{
		.type = "sequence_mask",
		.inputs = SLOTS({ "X", 0 }, { "MaxLenTensor", FL_OPT }),
		.outputs = SLOTS({ "Y", 0 }),
		.attrs = ATTRS(INT("maxlen", -1), INT_REQ("out_dtype")),
	},
	{
		.type = "sequence_pad",
		.inputs = SLOTS({ "X", 0 }, { "PadValue", 0 }),
		.outputs = SLOTS({ "Out", 0 }, { "Length", 0 }),
		.attrs = ATTRS(INT("padded_length", -1)),
	},
	{
		.type = "sequence_pad_grad",
		.inputs = SLOTS({ "Out@GRAD", 0 }, { "X", 0 }, { "PadValue", FL_OPT },
			{ "Out", FL_OPT }, { "Length", FL_OPT }, { "Length@GRAD", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.attrs = ATTRS(INT("padded_length", -1)),
	},
	{
		.type = "sequence_pool",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }, { "MaxIndex", FL_MID }),
		.attrs = ATTRS(BOOL("is_test", false), STR("pooltype", "AVERAGE"),
			FLOAT("pad_value", 0.0f)),
		.infer = infer_sequence_pool,
		.flags = FL_OP_KERNEL | FL_OP_DYNAMIC,
		.doc = "Out = sum, average, root average, maximum, first or last row of each sequence",
	},
	{
		.type = "sequence_pool_grad",
		.inputs = SLOTS({ "Out@GRAD", 0 }, { "X", 0 }, { "Out", FL_OPT },
			{ "MaxIndex", FL_OPT | FL_MID }, { "MaxIndex@GRAD", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.attrs = ATTRS(BOOL("is_test", false), STR("pooltype", "AVERAGE"),
			FLOAT("pad_value", 0.0f)),
		.infer = infer_sequence_pool_grad,
		.flags = FL_OP_KERNEL,
	},
	{
		.type = "sequence_reshape",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(INT_REQ("new_dim")),
	},
	{
		.type = "sequence_reshape_grad",
		.inputs = SLOTS({ "Out@GRAD", 0 }, { "X", 0 }, { "Out", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.attrs = ATTRS(INT_REQ("new_dim")),
	},
	{
		.type = "sequence_reverse",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Y", 0 }),
	},
	{
		.type = "sequence_slice",
		.inputs = SLOTS({ "X", 0 }, { "Offset", 0 }, { "Length", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
	},
	{
		.type = "sequence_slice_grad",
		.inputs = SLOTS({ "Length", 0 }, { "Offset", 0 }, { "Out@GRAD", 0 }, { "X", 0 },
			{ "Out", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
	},
	{
		.type = "sequence_softmax",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(BOOL_IGN("use_cudnn", false), STR("data_format", "AnyLayout")),
	},
	{
		.type = "sequence_softmax_grad",
		.inputs = SLOTS({ "Out", 0 }, { "Out@GRAD", 0 }, { "X", 0 }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.attrs = ATTRS(BOOL_IGN("use_cudnn", false), STR("data_format", "AnyLayout")),
	},
	{
		.type = "sequence_unpad",
		.inputs = SLOTS({ "X", 0 }, { "Length", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
	},
	{
		.type = "sequence_unpad_grad",
		.inputs = SLOTS({ "Out@GRAD", 0 }, { "X", 0 }, { "Length", FL_OPT },
			{ "Out", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
	},
	{
		.type = "shrink_rnn_memory",
		.inputs = SLOTS({ "X", 0 }, { "RankTable", 0 }, { "I", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
	},
	{
		.type = "shrink_rnn_memory_grad",
		.inputs = SLOTS({ "Out@GRAD", 0 }, { "X", 0 }, { "RankTable", FL_OPT },
			{ "I", FL_OPT }, { "Out", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
	},
	{
		.type = "split_lod_tensor",
		.inputs = SLOTS({ "X", 0 }, { "Mask", 0 }),
		.outputs = SLOTS({ "OutTrue", 0 }, { "OutFalse", 0 }),
		.attrs = ATTRS(INT("level", 0)),
	},
	{
		.type = "tensor_array_to_tensor",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }, { "OutIndex", 0 }),
		.attrs = ATTRS(INT("axis", 0), BOOL("use_stack", false)),
	},
	{
		.type = "write_to_array",
		.inputs = SLOTS({ "X", 0 }, { "I", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
	},
	{ .type = NULL },
};
