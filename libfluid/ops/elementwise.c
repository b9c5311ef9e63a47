/*
 * Elementwise operators of two tensors (Fluid 1.8.5, elementwise_op.h and elementwise_op_function.h):
 * Y is laid over X from dimension `axis` on, its trailing ones cut off. Where that does not fit,
 * both are padded with ones and stretched, X as well as Y.
 */
#include "ops/broadcast.h"

#include <inttypes.h>
#include <string.h>

#include "ops/schema.h"

static bool fits(int64_t a, int64_t b)
{
	return a == b || a < 0 || b < 0;
}

static bool all_fit(const int64_t *a, const int64_t *b, int n)
{
	for (int i = 0; i < n; i++)
		if (!fits(a[i], b[i]))
			return false;
	return true;
}

/* Y as it stands lies on X from `axis` on. */
static bool lay_over(const int64_t *x, int x_rank, const int64_t *y, int y_rank, int64_t axis,
	struct fl_broadcast *b)
{
	while (y_rank > 0 && y[y_rank - 1] == 1)
		y_rank--;
	if (!y_rank)
		axis = x_rank;
	if (axis + y_rank > x_rank || !all_fit(x + axis, y, y_rank))
		return false;
	b->simple = true;
	b->pre = fl_dims_product(x, 0, (int)axis);
	b->n = fl_dims_product(y, 0, y_rank);
	b->post = fl_dims_product(x, (int)axis + y_rank, x_rank);
	memcpy(b->out, x, (size_t)x_rank * sizeof *x);
	b->rank = x_rank;
	return true;
}

static void pad(int64_t *to, int rank, const int64_t *from, int n, int64_t axis)
{
	for (int i = 0; i < rank; i++)
		to[i] = 1;
	memcpy(to + axis, from, (size_t)n * sizeof *from);
}

static bool stretch(struct fl_broadcast *b)
{
	for (int i = 0; i < b->rank; i++) {
		int64_t x = b->x[i], y = b->y[i];

		if (x == 0 || y == 0 ? x != y : !fits(x, y) && x != 1 && y != 1)
			return false;
		b->out[i] = x < 0 || y < 0 ? (x > 1 ? x : y > 1 ? y : -1) : x > y ? x : y;
	}
	b->simple = false;
	return true;
}

bool fl_broadcast_of(const int64_t *x, int x_rank, const int64_t *y, int y_rank, int64_t axis,
	struct fl_broadcast *b)
{
	int high = x_rank > y_rank ? x_rank : y_rank, low = x_rank + y_rank - high;

	memset(b, 0, sizeof *b);
	if (x_rank == y_rank && !memcmp(x, y, (size_t)x_rank * sizeof *x))
		return lay_over(x, x_rank, y, 0, x_rank, b) &&
			(b->n = b->pre, b->pre = 1, true);
	if (axis < -1 || axis > high)
		return false;
	if (axis == -1)
		axis = high - low;
	if (x_rank >= y_rank && lay_over(x, x_rank, y, y_rank, axis, b) && b->n != 0)
		return true;
	if (axis + low > high)
		return false;
	b->rank = high;
	pad(b->x, high, x, x_rank, x_rank < high ? axis : 0);
	pad(b->y, high, y, y_rank, y_rank < high ? axis : 0);
	return stretch(b);
}

static enum fl_code bad_shapes(struct fl_infer *c, const struct fl_meta *x, const struct fl_meta *y,
	struct fl_err *err)
{
	char xs[FL_DIMS_STR], ys[FL_DIMS_STR];

	return fl_infer_bad(c, err, "'Y' has shape %s, expected one that fits 'X' of shape %s with axis %"
		PRId64, fl_dims_str(y->dims, y->rank, ys, sizeof ys),
		fl_dims_str(x->dims, x->rank, xs, sizeof xs), fl_infer_int(c, "axis"));
}

/* SelectedRows times one number: the clip by global norm. */
static enum fl_code infer_rows(struct fl_infer *c, struct fl_err *err)
{
	if (strcmp(c->def->type, "elementwise_mul"))
		return fl_infer_bad(c, err, "'X' holds SelectedRows, expected a LoDTensor");
	FL_TRY(fl_need_one(c, "Y", err));
	fl_set_like(c, 0, 0);
	return FL_OK;
}

static enum fl_code infer_elementwise(struct fl_infer *c, struct fl_err *err)
{
	const struct fl_meta *x = fl_meta_in(c, 0, 0), *y = fl_meta_in(c, 1, 0);
	struct fl_broadcast b;

	if (!x || !y)
		return fl_infer_bad(c, err, "'%s' is absent, expected a tensor", x ? "Y" : "X");
	FL_TRY(fl_need_same_dtype(c, "Y", "X", err));
	if (x->kind == FL_SELECTED_ROWS)
		return infer_rows(c, err);
	if (!fl_known(x) || !fl_known(y)) {
		if (fl_known(x) && fl_meta_out(c, 0, 0))
			fl_meta_out(c, 0, 0)->dtype = x->dtype;
		return FL_OK;
	}
	if (!fl_broadcast_of(x->dims, x->rank, y->dims, y->rank, fl_infer_int(c, "axis"), &b))
		return bad_shapes(c, x, y, err);
	fl_set_out(c, 0, 0, x->dtype, b.out, b.rank);
	fl_share_lod(c, 0, 0);
	return FL_OK;
}

/* X may be left out where only its shape would be used: it has dOut's then. dX has dOut's LoD, dY has
 * Y's. */
static enum fl_code infer_elementwise_grad(struct fl_infer *c, struct fl_err *err)
{
	const struct fl_meta *x = fl_meta_named(c, "X"), *y = fl_meta_named(c, "Y");
	const struct fl_meta *g = fl_meta_named(c, "Out@GRAD");
	struct fl_broadcast b;
	int dx = fl_slot_index(c->def->outputs, "X@GRAD");

	FL_TRY(fl_need_float(c, "Out@GRAD", err));
	FL_TRY(fl_need_same_dtype(c, "Y", "Out@GRAD", err));
	FL_TRY(fl_need_same_dtype(c, "X", "Out@GRAD", err));
	if (!x)
		x = g;
	if (fl_known(x) && fl_known(y)) {
		if (!fl_broadcast_of(x->dims, x->rank, y->dims, y->rank, fl_infer_int(c, "axis"), &b))
			return bad_shapes(c, x, y, err);
		FL_TRY(fl_need_dims(c, "Out@GRAD", b.out, b.rank, err));
	}
	FL_TRY(fl_infer_grad(c, err));
	if (!fl_meta_named(c, "X") && fl_known(x))
		fl_set_out(c, dx, 0, x->dtype, x->dims, x->rank);
	fl_share_lod(c, dx, fl_slot_index(c->def->inputs, "Out@GRAD"));
	return FL_OK;
}

const struct fl_op_def fl_ops_elementwise[] = {
	{
		.type = "elementwise_add",
		.inputs = SLOTS({ "X", 0 }, { "Y", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(INT("axis", -1), BOOL_IGN("use_mkldnn", false),
			STR_IGN("x_data_format", ""), STR_IGN("y_data_format", "")),
		.infer = infer_elementwise,
		.flags = FL_OP_KERNEL,
		.doc = "Out = X + Y",
	},
	{
		.type = "elementwise_add_grad",
		.inputs = SLOTS({ "Out@GRAD", 0 }, { "X", FL_OPT }, { "Y", 0 }, { "Out", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }, { "Y@GRAD", FL_OPT }),
		.attrs = ATTRS(INT("axis", -1), BOOL_IGN("use_mkldnn", false),
			STR_IGN("x_data_format", ""), STR_IGN("y_data_format", "")),
		.infer = infer_elementwise_grad,
		.flags = FL_OP_KERNEL,
		.doc = "dX = dOut, dY = sum of dOut",
	},
	{
		.type = "elementwise_sub",
		.inputs = SLOTS({ "X", 0 }, { "Y", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(INT("axis", -1), BOOL_IGN("use_mkldnn", false),
			STR_IGN("x_data_format", ""), STR_IGN("y_data_format", "")),
		.infer = infer_elementwise,
		.flags = FL_OP_KERNEL,
		.doc = "Out = X - Y",
	},
	{
		.type = "elementwise_sub_grad",
		.inputs = SLOTS({ "Out@GRAD", 0 }, { "X", FL_OPT }, { "Y", 0 }, { "Out", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }, { "Y@GRAD", FL_OPT }),
		.attrs = ATTRS(INT("axis", -1), BOOL_IGN("use_mkldnn", false),
			STR_IGN("x_data_format", ""), STR_IGN("y_data_format", "")),
		.infer = infer_elementwise_grad,
		.flags = FL_OP_KERNEL,
		.doc = "dX = dOut, dY = -sum of dOut",
	},
	{
		.type = "elementwise_mul",
		.inputs = SLOTS({ "X", 0 }, { "Y", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(INT("axis", -1), BOOL_IGN("use_mkldnn", false),
			STR_IGN("x_data_format", ""), STR_IGN("y_data_format", "")),
		.infer = infer_elementwise,
		.flags = FL_OP_KERNEL,
		.doc = "Out = X . Y",
	},
	{
		.type = "elementwise_mul_grad",
		.inputs = SLOTS({ "Out@GRAD", 0 }, { "X", 0 }, { "Y", 0 }, { "Out", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }, { "Y@GRAD", FL_OPT }),
		.attrs = ATTRS(INT("axis", -1), BOOL_IGN("use_mkldnn", false),
			STR_IGN("x_data_format", ""), STR_IGN("y_data_format", "")),
		.infer = infer_elementwise_grad,
		.flags = FL_OP_KERNEL,
		.doc = "dX = dOut . Y, dY = sum of dOut . X",
	},
	{
		.type = "elementwise_div",
		.inputs = SLOTS({ "X", 0 }, { "Y", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(INT("axis", -1), BOOL_IGN("use_mkldnn", false),
			STR_IGN("x_data_format", ""), STR_IGN("y_data_format", "")),
		.infer = infer_elementwise,
		.flags = FL_OP_KERNEL,
		.doc = "Out = X / Y",
	},
	{
		.type = "elementwise_div_grad",
		.inputs = SLOTS({ "Out", 0 }, { "Out@GRAD", 0 }, { "X", FL_OPT }, { "Y", 0 }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }, { "Y@GRAD", FL_OPT }),
		.attrs = ATTRS(INT("axis", -1), BOOL_IGN("use_mkldnn", false),
			STR_IGN("x_data_format", ""), STR_IGN("y_data_format", "")),
		.infer = infer_elementwise_grad,
		.flags = FL_OP_KERNEL,
		.doc = "dX = dOut / Y, dY = -sum of dOut . Out / Y",
	},
	{
		.type = "elementwise_max",
		.inputs = SLOTS({ "X", 0 }, { "Y", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(INT("axis", -1), BOOL_IGN("use_mkldnn", false),
			STR_IGN("x_data_format", ""), STR_IGN("y_data_format", "")),
		.infer = infer_elementwise,
		.flags = FL_OP_KERNEL,
		.doc = "Out = X > Y ? X : Y",
	},
	{
		.type = "elementwise_max_grad",
		.inputs = SLOTS({ "Out@GRAD", 0 }, { "X", 0 }, { "Y", 0 }, { "Out", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }, { "Y@GRAD", FL_OPT }),
		.attrs = ATTRS(INT("axis", -1), BOOL_IGN("use_mkldnn", false),
			STR_IGN("x_data_format", ""), STR_IGN("y_data_format", "")),
		.infer = infer_elementwise_grad,
		.flags = FL_OP_KERNEL,
		.doc = "dX = dOut where X > Y, dY = sum of dOut where not",
	},
	{
		.type = "elementwise_min",
		.inputs = SLOTS({ "X", 0 }, { "Y", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(INT("axis", -1), BOOL_IGN("use_mkldnn", false),
			STR_IGN("x_data_format", ""), STR_IGN("y_data_format", "")),
		.infer = infer_elementwise,
		.flags = FL_OP_KERNEL,
		.doc = "Out = X < Y ? X : Y",
	},
	{
		.type = "elementwise_min_grad",
		.inputs = SLOTS({ "Out@GRAD", 0 }, { "X", 0 }, { "Y", 0 }, { "Out", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }, { "Y@GRAD", FL_OPT }),
		.attrs = ATTRS(INT("axis", -1), BOOL_IGN("use_mkldnn", false),
			STR_IGN("x_data_format", ""), STR_IGN("y_data_format", "")),
		.infer = infer_elementwise_grad,
		.flags = FL_OP_KERNEL,
		.doc = "dX = dOut where X < Y, dY = sum of dOut where not",
	},
	{
		.type = "elementwise_pow",
		.inputs = SLOTS({ "X", 0 }, { "Y", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(INT("axis", -1), BOOL_IGN("use_mkldnn", false),
			STR_IGN("x_data_format", ""), STR_IGN("y_data_format", "")),
		.infer = infer_elementwise,
		.flags = FL_OP_KERNEL,
		.doc = "Out = X ^ Y",
	},
	{
		.type = "elementwise_pow_grad",
		.inputs = SLOTS({ "Out@GRAD", 0 }, { "X", 0 }, { "Y", 0 }, { "Out", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }, { "Y@GRAD", FL_OPT }),
		.attrs = ATTRS(INT("axis", -1), BOOL_IGN("use_mkldnn", false),
			STR_IGN("x_data_format", ""), STR_IGN("y_data_format", "")),
		.infer = infer_elementwise_grad,
		.flags = FL_OP_KERNEL,
		.doc = "dX = dOut . Y . X^(Y-1), dY = sum of dOut . ln X . X^Y",
	},
	{
		.type = "elementwise_mod",
		.inputs = SLOTS({ "X", 0 }, { "Y", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(INT("axis", -1), BOOL_IGN("use_mkldnn", false),
			STR_IGN("x_data_format", ""), STR_IGN("y_data_format", "")),
		.infer = infer_elementwise,
		.flags = FL_OP_KERNEL,
		.doc = "Out = X mod Y",
	},
	{
		.type = "elementwise_floordiv",
		.inputs = SLOTS({ "X", 0 }, { "Y", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(INT("axis", -1), BOOL_IGN("use_mkldnn", false),
			STR_IGN("x_data_format", ""), STR_IGN("y_data_format", "")),
		.infer = infer_elementwise,
		.flags = FL_OP_KERNEL,
		.doc = "Out = X / Y without remainder",
	},
	{ .type = NULL },
};
