/*
 * Convolution and pooling of pictures (Fluid 1.8.5, conv_op.cc and pool_op.cc), in the layouts NCHW
 * and NHWC. fl_window_of also serves the kernels, so both see the same windows.
 */
#include "ops/window.h"

#include <inttypes.h>
#include <string.h>

#include "ops/schema.h"

static bool nhwc(const struct fl_infer *c)
{
	return !strcmp(fl_infer_str(c, "data_format"), "NHWC");
}

static int64_t ceil_div(int64_t a, int64_t b)
{
	return a / b + (a % b > 0);
}

/* SAME and VALID replace the paddings; SAME takes the dilation away, too. */
static void pad_by_algorithm(struct fl_window *w, const int64_t *size)
{
	if (w->algorithm == FL_PAD_EXPLICIT)
		return;
	for (int i = 0; i < 2; i++) {
		int64_t sum = 0;

		if (w->algorithm == FL_PAD_SAME && size[i] >= 0) {
			sum = (ceil_div(size[i], w->stride[i]) - 1) * w->stride[i] + w->k[i] - size[i];
			sum = sum > 0 ? sum : 0;
			w->dilation[i] = 1;
		}
		w->low[i] = sum / 2;
		w->high[i] = sum - sum / 2;
	}
}

void fl_window_size(struct fl_window *w, const int64_t *in, int64_t *out)
{
	pad_by_algorithm(w, in);
	for (int i = 0; i < 2; i++) {
		int64_t room = in[i] - (w->dilation[i] * (w->k[i] - 1) + 1) + w->low[i] + w->high[i];

		if (in[i] < 0)
			out[i] = -1;
		else if (w->adaptive)
			out[i] = w->k[i];
		else if (room < 0)
			out[i] = 0;
		else
			out[i] = (w->ceil ? ceil_div(room, w->stride[i]) : room / w->stride[i]) + 1;
	}
}

static enum fl_code two(const struct fl_infer *c, const char *attr, int64_t low, int64_t *v,
	struct fl_err *err)
{
	size_t n = fl_infer_ints(c, attr, v, 2);

	if (n != 2)
		return fl_infer_bad(c, err, "attribute '%s' has %zu values, expected 2", attr, n);
	for (int i = 0; i < 2; i++)
		if (v[i] < low || v[i] > INT32_MAX)
			return fl_infer_bad(c, err, "attribute '%s' holds %" PRId64
				", expected %" PRId64 " or more", attr, v[i], low);
	return FL_OK;
}

enum fl_code fl_window_of(const struct fl_infer *c, struct fl_window *w, struct fl_err *err)
{
	const char *algorithm = fl_infer_str(c, "padding_algorithm");
	int64_t v[4];
	size_t n = fl_infer_ints(c, "paddings", v, 4);

	memset(w, 0, sizeof *w);
	w->dilation[0] = w->dilation[1] = 1;
	w->nhwc = nhwc(c);
	w->algorithm = !strcmp(algorithm, "SAME") ? FL_PAD_SAME
		: !strcmp(algorithm, "VALID")	  ? FL_PAD_VALID
						  : FL_PAD_EXPLICIT;
	if (w->algorithm == FL_PAD_EXPLICIT && strcmp(algorithm, "EXPLICIT"))
		return fl_infer_bad(c, err, "attribute 'padding_algorithm' is '%s', expected EXPLICIT, "
			"SAME or VALID", algorithm);
	if (n != 2 && n != 4)
		return fl_infer_bad(c, err, "attribute 'paddings' has %zu values, expected 2 or 4", n);
	for (size_t i = 0; i < n; i++)
		if (v[i] < 0 || v[i] > INT32_MAX)
			return fl_infer_bad(c, err, "attribute 'paddings' holds %" PRId64
				", expected 0 or more", v[i]);
	for (int i = 0; i < 2; i++) {
		w->low[i] = n == 4 ? v[2 * i] : v[i];
		w->high[i] = n == 4 ? v[2 * i + 1] : v[i];
	}
	return two(c, "strides", 1, w->stride, err);
}

/* Checks everything; dims[0] is left at -1 where shapes are unknown. */
static enum fl_code conv_dims(struct fl_infer *c, int64_t *dims, struct fl_err *err)
{
	const struct fl_meta *in = fl_meta_named(c, "Input"), *f = fl_meta_named(c, "Filter");
	int64_t groups = fl_infer_int(c, "groups"), size[2], channels;
	struct fl_window w;
	char found[FL_DIMS_STR];

	dims[0] = dims[1] = -2;
	FL_TRY(fl_need_rank(c, "Input", 4, 4, err));
	FL_TRY(fl_need_rank(c, "Filter", 4, 4, err));
	FL_TRY(fl_need_float(c, "Input", err));
	FL_TRY(fl_need_same_dtype(c, "Filter", "Input", err));
	FL_TRY(fl_window_of(c, &w, err));
	FL_TRY(two(c, "dilations", 1, w.dilation, err));
	if (groups < 1)
		return fl_infer_bad(c, err, "attribute 'groups' is %" PRId64 ", expected 1 or more", groups);
	if (fl_meta_named(c, "Bias") || fl_meta_named(c, "ResidualData"))
		return fl_infer_bad(c, err, "'Bias' and 'ResidualData' are for MKL-DNN alone, expected none");
	if (!fl_known(in) || !fl_known(f))
		return FL_OK;
	channels = in->dims[w.nhwc ? 3 : 1];
	if (channels >= 0 && f->dims[1] >= 0 && channels != f->dims[1] * groups)
		return fl_infer_bad(c, err, "'Filter' has shape %s, expected [.., %" PRId64
			", .., ..]: 'Input' has %" PRId64 " channels in %" PRId64 " groups",
			fl_dims_str(f->dims, 4, found, sizeof found), channels / groups, channels, groups);
	if (f->dims[0] % groups)
		return fl_infer_bad(c, err, "'Filter' has shape %s, expected a first dimension that %" PRId64
			" groups divide", fl_dims_str(f->dims, 4, found, sizeof found), groups);
	w.k[0] = f->dims[2];
	w.k[1] = f->dims[3];
	dims[0] = in->dims[0];
	dims[w.nhwc ? 3 : 1] = f->dims[0];
	fl_window_size(&w, in->dims + (w.nhwc ? 1 : 2), size);
	if (size[0] == 0 || size[1] == 0)
		return fl_infer_bad(c, err, "'Filter' has shape %s, expected one that fits the padded 'Input'",
			fl_dims_str(f->dims, 4, found, sizeof found));
	memcpy(dims + (w.nhwc ? 1 : 2), size, sizeof size);
	return FL_OK;
}

static enum fl_code infer_conv(struct fl_infer *c, struct fl_err *err)
{
	int64_t dims[4];

	FL_TRY(conv_dims(c, dims, err));
	if (dims[1] == -2)
		return FL_OK;
	fl_set_out(c, 0, 0, fl_meta_named(c, "Input")->dtype, dims, 4);
	fl_share_lod(c, 0, 0);
	return FL_OK;
}

static enum fl_code infer_conv_grad(struct fl_infer *c, struct fl_err *err)
{
	int64_t dims[4];

	FL_TRY(conv_dims(c, dims, err));
	FL_TRY(fl_need_same_dtype(c, "Output@GRAD", "Input", err));
	if (dims[1] != -2)
		FL_TRY(fl_need_dims(c, "Output@GRAD", dims, 4, err));
	return fl_infer_grad_dims(c, err);
}

enum fl_code fl_pool_window(const struct fl_infer *c, struct fl_window *w, const int64_t *size,
	struct fl_err *err)
{
	w->adaptive = fl_infer_bool(c, "adaptive");
	w->ceil = fl_infer_bool(c, "ceil_mode");
	for (int i = 0; i < 2; i++) {
		if (fl_infer_bool(c, "global_pooling")) {
			w->k[i] = size[i];
			w->low[i] = w->high[i] = 0;
			w->algorithm = FL_PAD_EXPLICIT;
		}
		if (size[i] >= 0 && !w->adaptive && w->algorithm == FL_PAD_EXPLICIT &&
			(w->low[i] >= w->k[i] || w->high[i] >= w->k[i]) && w->low[i] + w->high[i])
			return fl_infer_bad(c, err, "attribute 'paddings' holds %" PRId64
				", expected less than the window's %" PRId64, w->low[i], w->k[i]);
	}
	return FL_OK;
}

static enum fl_code pool_dims(struct fl_infer *c, int64_t *dims, struct fl_err *err)
{
	const struct fl_meta *x = fl_meta_named(c, "X");
	const char *type = fl_infer_str(c, "pooling_type");
	struct fl_window w;
	int at;

	dims[1] = -2;
	FL_TRY(fl_need_rank(c, "X", 4, 4, err));
	FL_TRY(fl_need_float(c, "X", err));
	if (strcmp(type, "max") && strcmp(type, "avg"))
		return fl_infer_bad(c, err, "attribute 'pooling_type' is '%s', expected max or avg", type);
	FL_TRY(fl_window_of(c, &w, err));
	FL_TRY(two(c, "ksize", fl_infer_bool(c, "global_pooling") ? INT32_MIN : 1, w.k, err));
	if (!fl_known(x))
		return FL_OK;
	at = w.nhwc ? 1 : 2;
	FL_TRY(fl_pool_window(c, &w, x->dims + at, err));
	memcpy(dims, x->dims, 4 * sizeof *dims);
	fl_window_size(&w, x->dims + at, dims + at);
	if (dims[at] == 0 || dims[at + 1] == 0) {
		char found[FL_DIMS_STR];

		return fl_infer_bad(c, err, "'X' has shape %s, expected one at least as large as the window",
			fl_dims_str(x->dims, 4, found, sizeof found));
	}
	return FL_OK;
}

static enum fl_code infer_pool(struct fl_infer *c, struct fl_err *err)
{
	int64_t dims[4];

	FL_TRY(pool_dims(c, dims, err));
	if (dims[1] == -2)
		return FL_OK;
	fl_set_out(c, 0, 0, fl_meta_in(c, 0, 0)->dtype, dims, 4);
	fl_share_lod(c, 0, 0);
	return FL_OK;
}

static enum fl_code infer_pool_grad(struct fl_infer *c, struct fl_err *err)
{
	int64_t dims[4];

	FL_TRY(pool_dims(c, dims, err));
	if (dims[1] != -2) {
		FL_TRY(fl_need_dims(c, "Out", dims, 4, err));
		FL_TRY(fl_need_dims(c, "Out@GRAD", dims, 4, err));
	}
	FL_TRY(fl_need_same_dtype(c, "Out", "X", err));
	FL_TRY(fl_need_same_dtype(c, "Out@GRAD", "X", err));
	return fl_infer_grad_dims(c, err);
}

const struct fl_op_def fl_ops_conv[] = {
	{
		.type = "conv2d",
		.inputs = SLOTS({ "Input", 0 }, { "Filter", 0 }, { "Bias", FL_OPT },
			{ "ResidualData", FL_OPT }),
		.outputs = SLOTS({ "Output", 0 }),
		.attrs = ATTRS(BOOL("is_test", false), INTS("strides", "1,1"),
			INTS("paddings", "0,0"), STR("padding_algorithm", "EXPLICIT"),
			INT("groups", 1), INTS("dilations", "1,1"), BOOL_IGN("use_cudnn", false),
			BOOL_IGN("fuse_relu_before_depthwise_conv", false),
			BOOL_IGN("use_mkldnn", false), BOOL_IGN("use_quantizer", false),
			BOOL_IGN("fuse_relu", false), BOOL_IGN("fuse_brelu", false),
			FLOAT_IGN("fuse_brelu_threshold", 6.0f), STR_IGN("fuse_activation", ""),
			FLOAT_IGN("fuse_alpha", 0.0f), FLOAT_IGN("fuse_beta", 0.0f),
			BOOL_IGN("fuse_residual_connection", false), FLOAT_IGN("Scale_in", 1.0f),
			FLOAT_IGN("Scale_out", 1.0f), FLOAT_IGN("Scale_in_eltwise", 1.0f),
			FLOATS_IGN("Scale_weights"), BOOL_IGN("force_fp32_output", false),
			STR("data_format", "NCHW"), INT_IGN("workspace_size_MB", 512),
			BOOL_IGN("exhaustive_search", false)),
		.infer = infer_conv,
		.flags = FL_OP_KERNEL,
		.doc = "Output = Input * Filter",
	},
	{
		.type = "conv2d_grad",
		.inputs = SLOTS({ "Bias", FL_OPT }, { "Filter", 0 }, { "Input", 0 },
			{ "Output@GRAD", 0 }, { "ResidualData", FL_OPT }, { "Output", FL_OPT }),
		.outputs = SLOTS({ "Bias@GRAD", FL_OPT }, { "Filter@GRAD", FL_OPT },
			{ "Input@GRAD", FL_OPT }),
		.attrs = ATTRS(BOOL("is_test", false), INTS("strides", "1,1"),
			INTS("paddings", "0,0"), STR("padding_algorithm", "EXPLICIT"),
			INT("groups", 1), INTS("dilations", "1,1"), BOOL_IGN("use_cudnn", false),
			BOOL_IGN("fuse_relu_before_depthwise_conv", false),
			BOOL_IGN("use_mkldnn", false), BOOL_IGN("use_quantizer", false),
			BOOL_IGN("fuse_relu", false), BOOL_IGN("fuse_brelu", false),
			FLOAT_IGN("fuse_brelu_threshold", 6.0f), STR_IGN("fuse_activation", ""),
			FLOAT_IGN("fuse_alpha", 0.0f), FLOAT_IGN("fuse_beta", 0.0f),
			BOOL_IGN("fuse_residual_connection", false), FLOAT_IGN("Scale_in", 1.0f),
			FLOAT_IGN("Scale_out", 1.0f), FLOAT_IGN("Scale_in_eltwise", 1.0f),
			FLOATS_IGN("Scale_weights"), BOOL_IGN("force_fp32_output", false),
			STR("data_format", "NCHW"), INT_IGN("workspace_size_MB", 512),
			BOOL_IGN("exhaustive_search", false)),
		.infer = infer_conv_grad,
		.flags = FL_OP_KERNEL,
		.doc = "dFilter = dOutput . col(Input)t, dInput = im(Filtert . dOutput)",
	},
	{
		.type = "depthwise_conv2d",
		.inputs = SLOTS({ "Input", 0 }, { "Filter", 0 }, { "Bias", FL_OPT },
			{ "ResidualData", FL_OPT }),
		.outputs = SLOTS({ "Output", 0 }),
		.attrs = ATTRS(BOOL("is_test", false), INTS("strides", "1,1"),
			INTS("paddings", "0,0"), STR("padding_algorithm", "EXPLICIT"),
			INT("groups", 1), INTS("dilations", "1,1"), BOOL_IGN("use_cudnn", false),
			BOOL_IGN("fuse_relu_before_depthwise_conv", false),
			BOOL_IGN("use_mkldnn", false), BOOL_IGN("use_quantizer", false),
			BOOL_IGN("fuse_relu", false), BOOL_IGN("fuse_brelu", false),
			FLOAT_IGN("fuse_brelu_threshold", 6.0f), STR_IGN("fuse_activation", ""),
			FLOAT_IGN("fuse_alpha", 0.0f), FLOAT_IGN("fuse_beta", 0.0f),
			BOOL_IGN("fuse_residual_connection", false), FLOAT_IGN("Scale_in", 1.0f),
			FLOAT_IGN("Scale_out", 1.0f), FLOAT_IGN("Scale_in_eltwise", 1.0f),
			FLOATS_IGN("Scale_weights"), BOOL_IGN("force_fp32_output", false),
			STR("data_format", "NCHW"), INT_IGN("workspace_size_MB", 512),
			BOOL_IGN("exhaustive_search", false)),
		.infer = infer_conv,
		.flags = FL_OP_KERNEL,
		.doc = "Output = Input * Filter, as many groups as channels",
	},
	{
		.type = "depthwise_conv2d_grad",
		.inputs = SLOTS({ "Bias", FL_OPT }, { "Filter", 0 }, { "Input", 0 },
			{ "Output@GRAD", 0 }, { "ResidualData", FL_OPT }, { "Output", FL_OPT }),
		.outputs = SLOTS({ "Bias@GRAD", FL_OPT }, { "Filter@GRAD", FL_OPT },
			{ "Input@GRAD", FL_OPT }),
		.attrs = ATTRS(BOOL("is_test", false), INTS("strides", "1,1"),
			INTS("paddings", "0,0"), STR("padding_algorithm", "EXPLICIT"),
			INT("groups", 1), INTS("dilations", "1,1"), BOOL_IGN("use_cudnn", false),
			BOOL_IGN("fuse_relu_before_depthwise_conv", false),
			BOOL_IGN("use_mkldnn", false), BOOL_IGN("use_quantizer", false),
			BOOL_IGN("fuse_relu", false), BOOL_IGN("fuse_brelu", false),
			FLOAT_IGN("fuse_brelu_threshold", 6.0f), STR_IGN("fuse_activation", ""),
			FLOAT_IGN("fuse_alpha", 0.0f), FLOAT_IGN("fuse_beta", 0.0f),
			BOOL_IGN("fuse_residual_connection", false), FLOAT_IGN("Scale_in", 1.0f),
			FLOAT_IGN("Scale_out", 1.0f), FLOAT_IGN("Scale_in_eltwise", 1.0f),
			FLOATS_IGN("Scale_weights"), BOOL_IGN("force_fp32_output", false),
			STR("data_format", "NCHW"), INT_IGN("workspace_size_MB", 512),
			BOOL_IGN("exhaustive_search", false)),
		.infer = infer_conv_grad,
		.flags = FL_OP_KERNEL,
		.doc = "as conv2d_grad",
	},
	{
		.type = "pool2d",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(STR_REQ("pooling_type"), INTS_REQ("ksize"),
			BOOL("global_pooling", false), INTS("strides", "1,1"),
			INTS("paddings", "0,0"), BOOL("exclusive", true), BOOL("adaptive", false),
			BOOL_IGN("use_cudnn", false), BOOL("ceil_mode", false),
			BOOL_IGN("use_mkldnn", false), BOOL_IGN("use_quantizer", false),
			STR("data_format", "NCHW"), BOOL("is_test", false),
			STR("padding_algorithm", "EXPLICIT")),
		.infer = infer_pool,
		.flags = FL_OP_KERNEL,
		.doc = "Out = largest or mean of each window",
	},
	{
		.type = "pool2d_grad",
		.inputs = SLOTS({ "Out", 0 }, { "Out@GRAD", 0 }, { "X", 0 }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.attrs = ATTRS(STR_REQ("pooling_type"), INTS_REQ("ksize"),
			BOOL("global_pooling", false), INTS("strides", "1,1"),
			INTS("paddings", "0,0"), BOOL("exclusive", true), BOOL("adaptive", false),
			BOOL_IGN("use_cudnn", false), BOOL("ceil_mode", false),
			BOOL_IGN("use_mkldnn", false), BOOL_IGN("use_quantizer", false),
			STR("data_format", "NCHW"), BOOL("is_test", false),
			STR("padding_algorithm", "EXPLICIT")),
		.infer = infer_pool_grad,
		.flags = FL_OP_KERNEL,
		.doc = "dX: dOut to the largest, or spread over the window",
	},
	{ .type = NULL },
};
