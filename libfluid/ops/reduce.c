/* Reductions over dimensions (Fluid 1.8.5, operators/reduce_ops). */
#include <inttypes.h>
#include <string.h>

#include "ops/schema.h"

/* Which dimensions go. */
static enum fl_code reduced(const struct fl_infer *c, int rank, bool *gone, struct fl_err *err)
{
	int64_t list[FL_MAX_RANK];
	size_t n = fl_infer_ints(c, "dim", list, FL_MAX_RANK);

	for (int d = 0; d < rank; d++)
		gone[d] = fl_infer_bool(c, "reduce_all") || !n;
	if (n > (size_t)rank && !fl_infer_bool(c, "reduce_all"))
		return fl_infer_bad(c, err, "attribute 'dim' lists %zu dimensions, expected at most %d", n,
			rank);
	for (size_t i = 0; i < n && !fl_infer_bool(c, "reduce_all"); i++) {
		if (list[i] < -rank || list[i] >= rank)
			return fl_infer_bad(c, err, "attribute 'dim' names %" PRId64 ", expected %d to %d",
				list[i], -rank, rank - 1);
		gone[list[i] < 0 ? list[i] + rank : list[i]] = true;
	}
	return FL_OK;
}

static enum fl_code infer_reduce(struct fl_infer *c, struct fl_err *err)
{
	const struct fl_meta *x = fl_meta_in(c, 0, 0);
	int64_t dims[FL_MAX_RANK];
	bool gone[FL_MAX_RANK];
	int rank = 0;

	if (!strcmp(c->def->type, "reduce_all") || !strcmp(c->def->type, "reduce_any"))
		FL_TRY(fl_need_dtype(c, "X", FL_BOOL, err));
	if (!fl_known(x))
		return FL_OK;
	FL_TRY(reduced(c, x->rank, gone, err));
	for (int d = 0; d < x->rank; d++)
		if (!gone[d] || fl_infer_bool(c, "keep_dim"))
			dims[rank++] = gone[d] ? 1 : x->dims[d];
	if (!rank)
		dims[rank++] = 1;
	fl_set_out(c, 0, 0, x->dtype, dims, rank);
	if (x->rank && !gone[0])
		fl_share_lod(c, 0, 0);
	return FL_OK;
}

static enum fl_code infer_reduce_grad(struct fl_infer *c, struct fl_err *err)
{
	const struct fl_meta *x = fl_meta_named(c, "X");
	bool gone[FL_MAX_RANK];

	FL_TRY(fl_need_float(c, "X", err));
	FL_TRY(fl_need_same_dtype(c, "Out@GRAD", "X", err));
	if (fl_known(x))
		FL_TRY(reduced(c, x->rank, gone, err));
	return fl_infer_grad(c, err);
}

const struct fl_op_def fl_ops_reduce[] = {
	{
		.type = "reduce_sum",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(INTS("dim", "0"), BOOL("keep_dim", false), BOOL("reduce_all", false),
			INT("in_dtype", -1), INT("out_dtype", -1)),
		.infer = infer_reduce,
		.flags = FL_OP_KERNEL,
		.doc = "Out = sum of X over dim",
	},
	{
		.type = "reduce_sum_grad",
		.inputs = SLOTS({ "Out@GRAD", 0 }, { "X", 0 }, { "Out", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.attrs = ATTRS(INTS("dim", "0"), BOOL("keep_dim", false), BOOL("reduce_all", false),
			INT("in_dtype", -1), INT("out_dtype", -1)),
		.infer = infer_reduce_grad,
		.flags = FL_OP_KERNEL,
	},
	{
		.type = "reduce_mean",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(INTS("dim", "0"), BOOL("keep_dim", false), BOOL("reduce_all", false),
			INT("in_dtype", -1), INT("out_dtype", -1)),
		.infer = infer_reduce,
		.flags = FL_OP_KERNEL,
		.doc = "Out = mean of X over dim",
	},
	{
		.type = "reduce_mean_grad",
		.inputs = SLOTS({ "Out@GRAD", 0 }, { "X", 0 }, { "Out", FL_OPT }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.attrs = ATTRS(INTS("dim", "0"), BOOL("keep_dim", false), BOOL("reduce_all", false),
			INT("in_dtype", -1), INT("out_dtype", -1)),
		.infer = infer_reduce_grad,
		.flags = FL_OP_KERNEL,
	},
	{
		.type = "reduce_max",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(INTS("dim", "0"), BOOL("keep_dim", false), BOOL("reduce_all", false),
			INT("in_dtype", -1), INT("out_dtype", -1)),
		.infer = infer_reduce,
		.flags = FL_OP_KERNEL,
		.doc = "Out = maximum of X over dim",
	},
	{
		.type = "reduce_max_grad",
		.inputs = SLOTS({ "Out", 0 }, { "Out@GRAD", 0 }, { "X", 0 }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.attrs = ATTRS(INTS("dim", "0"), BOOL("keep_dim", false), BOOL("reduce_all", false),
			INT("in_dtype", -1), INT("out_dtype", -1)),
		.infer = infer_reduce_grad,
		.flags = FL_OP_KERNEL,
	},
	{
		.type = "reduce_min",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(INTS("dim", "0"), BOOL("keep_dim", false), BOOL("reduce_all", false),
			INT("in_dtype", -1), INT("out_dtype", -1)),
		.infer = infer_reduce,
		.flags = FL_OP_KERNEL,
		.doc = "Out = minimum of X over dim",
	},
	{
		.type = "reduce_min_grad",
		.inputs = SLOTS({ "Out", 0 }, { "Out@GRAD", 0 }, { "X", 0 }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.attrs = ATTRS(INTS("dim", "0"), BOOL("keep_dim", false), BOOL("reduce_all", false),
			INT("in_dtype", -1), INT("out_dtype", -1)),
		.infer = infer_reduce_grad,
		.flags = FL_OP_KERNEL,
	},
	{
		.type = "reduce_prod",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(INTS("dim", "0"), BOOL("keep_dim", false), BOOL("reduce_all", false),
			INT("in_dtype", -1), INT("out_dtype", -1)),
		.infer = infer_reduce,
		.flags = FL_OP_KERNEL,
		.doc = "Out = product of X over dim",
	},
	{
		.type = "reduce_prod_grad",
		.inputs = SLOTS({ "Out", 0 }, { "Out@GRAD", 0 }, { "X", 0 }),
		.outputs = SLOTS({ "X@GRAD", FL_OPT }),
		.attrs = ATTRS(INTS("dim", "0"), BOOL("keep_dim", false), BOOL("reduce_all", false),
			INT("in_dtype", -1), INT("out_dtype", -1)),
		.infer = infer_reduce_grad,
		.flags = FL_OP_KERNEL,
	},
	{
		.type = "reduce_all",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(INTS("dim", "0"), BOOL("keep_dim", false), BOOL("reduce_all", false),
			INT("in_dtype", -1), INT("out_dtype", -1)),
		.infer = infer_reduce,
		.flags = FL_OP_KERNEL,
		.doc = "Out = do all of X hold over dim?",
	},
	{
		.type = "reduce_any",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(INTS("dim", "0"), BOOL("keep_dim", false), BOOL("reduce_all", false),
			INT("in_dtype", -1), INT("out_dtype", -1)),
		.infer = infer_reduce,
		.flags = FL_OP_KERNEL,
		.doc = "Out = does one of X hold over dim?",
	},
	{ .type = NULL },
};
