/* Rows of tables by their numbers (Fluid 1.8.5, lookup_table_op, lookup_table_v2_op). */
#include <string.h>

#include "ops/schema.h"

/* lookup_table's ids end in a dimension of 1, which lookup_table_v2's do not have. */
static bool is_v2(const struct fl_infer *c)
{
	return strstr(c->def->type, "_v2") != NULL;
}

static enum fl_code need_ids(const struct fl_infer *c, struct fl_err *err)
{
	const struct fl_meta *ids = fl_meta_named(c, "Ids");
	char found[FL_DIMS_STR];

	FL_TRY(fl_need_dtype(c, "Ids", FL_INT64, err));
	FL_TRY(fl_need_rank(c, "Ids", 1, FL_MAX_RANK - 1, err));
	if (is_v2(c) || !fl_known(ids) || ids->dims[ids->rank - 1] == 1 || ids->dims[ids->rank - 1] < 0)
		return FL_OK;
	return fl_infer_bad(c, err, "'Ids' has shape %s, expected the last dimension to be 1",
		fl_dims_str(ids->dims, ids->rank, found, sizeof found));
}

static enum fl_code infer_lookup(struct fl_infer *c, struct fl_err *err)
{
	const struct fl_meta *w = fl_meta_named(c, "W"), *ids = fl_meta_named(c, "Ids");
	int64_t dims[FL_MAX_RANK];
	int rank;

	FL_TRY(need_ids(c, err));
	FL_TRY(fl_need_rank(c, "W", 2, 2, err));
	if (!fl_known(w) || !fl_known(ids))
		return FL_OK;
	rank = is_v2(c) ? ids->rank : ids->rank - 1;
	memcpy(dims, ids->dims, sizeof dims);
	dims[rank] = w->dims[1];
	fl_set_out(c, 0, 0, w->dtype, dims, rank + 1);
	fl_share_lod(c, 0, fl_slot_index(c->def->inputs, "Ids"));
	return FL_OK;
}

/* A row of dOut for each id; dW is sparse where the attribute says so. */
static enum fl_code infer_lookup_grad(struct fl_infer *c, struct fl_err *err)
{
	const struct fl_meta *w = fl_meta_named(c, "W"), *ids = fl_meta_named(c, "Ids");
	struct fl_meta *out = fl_meta_out(c, 0, 0);
	int64_t dims[FL_MAX_RANK];
	int rank;

	FL_TRY(need_ids(c, err));
	FL_TRY(fl_need_float(c, "Out@GRAD", err));
	FL_TRY(fl_need_same_dtype(c, "Out@GRAD", "W", err));
	FL_TRY(fl_need_rank(c, "W", 2, 2, err));
	if (!fl_known(w) || !fl_known(ids))
		return FL_OK;
	rank = is_v2(c) ? ids->rank : ids->rank - 1;
	memcpy(dims, ids->dims, sizeof dims);
	dims[rank] = w->dims[1];
	FL_TRY(fl_need_dims(c, "Out@GRAD", dims, rank + 1, err));
	fl_set_out(c, 0, 0, w->dtype, w->dims, w->rank);
	if (out && fl_infer_bool(c, "is_sparse"))
		out->kind = FL_SELECTED_ROWS;
	return FL_OK;
}

const struct fl_op_def fl_ops_lookup[] = {
	{
		.type = "lookup_table",
		.inputs = SLOTS({ "W", 0 }, { "Ids", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(BOOL("is_sparse", false), BOOL("is_distributed", false),
			LONG("padding_idx", -1), BOOL("grad_inplace", false),
			BOOL("remote_prefetch", false), INT("trainer_id", 0),
			LONGS("height_sections", ""), STRS("epmap"), STRS("table_names")),
		.infer = infer_lookup,
		.flags = FL_OP_KERNEL,
		.doc = "Out = the rows of W that Ids names",
	},
	{
		.type = "lookup_table_grad",
		.inputs = SLOTS({ "Ids", 0 }, { "Out@GRAD", 0 }, { "W", 0 }, { "Out", FL_OPT }),
		.outputs = SLOTS({ "W@GRAD", FL_OPT }),
		.attrs = ATTRS(BOOL("is_sparse", false), BOOL("is_distributed", false),
			LONG("padding_idx", -1), BOOL("grad_inplace", false),
			BOOL("remote_prefetch", false), INT("trainer_id", 0),
			LONGS("height_sections", ""), STRS("epmap"), STRS("table_names")),
		.infer = infer_lookup_grad,
		.flags = FL_OP_KERNEL,
		.doc = "dW = dOut, added up by row, or as SelectedRows",
	},
	{
		.type = "lookup_table_v2",
		.inputs = SLOTS({ "W", 0 }, { "Ids", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.attrs = ATTRS(BOOL("is_sparse", false), BOOL("is_distributed", false),
			LONG("padding_idx", -1), BOOL("remote_prefetch", false),
			INT("trainer_id", 0), LONGS("height_sections", ""), STRS("epmap"),
			STRS("table_names")),
		.infer = infer_lookup,
		.flags = FL_OP_KERNEL,
		.doc = "Out = the rows of W that Ids names",
	},
	{
		.type = "lookup_table_v2_grad",
		.inputs = SLOTS({ "Ids", 0 }, { "Out@GRAD", 0 }, { "W", 0 }, { "Out", FL_OPT }),
		.outputs = SLOTS({ "W@GRAD", FL_OPT }),
		.attrs = ATTRS(BOOL("is_sparse", false), BOOL("is_distributed", false),
			LONG("padding_idx", -1), BOOL("remote_prefetch", false),
			INT("trainer_id", 0), LONGS("height_sections", ""), STRS("epmap"),
			STRS("table_names")),
		.infer = infer_lookup_grad,
		.flags = FL_OP_KERNEL,
	},
	{ .type = NULL },
};
