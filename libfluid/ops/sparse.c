/* SelectedRows and ids, apart and together (Fluid 1.8.5, merge_selected_rows_op, split_ids_op, ...). */
#include "ops/schema.h"

static enum fl_code need_rows(const struct fl_infer *c, struct fl_err *err)
{
	const struct fl_meta *x = fl_meta_in(c, 0, 0);

	if (x && x->kind >= 0 && x->kind != FL_SELECTED_ROWS)
		return fl_infer_bad(c, err, "'X' holds no SelectedRows, expected some");
	return FL_OK;
}

static enum fl_code infer_merge_rows(struct fl_infer *c, struct fl_err *err)
{
	FL_TRY(need_rows(c, err));
	fl_set_like(c, 0, 0);
	return FL_OK;
}

/* As many rows as there happen to be. */
static enum fl_code infer_values(struct fl_infer *c, struct fl_err *err)
{
	const struct fl_meta *x = fl_meta_in(c, 0, 0);
	struct fl_meta *out = fl_meta_out(c, 0, 0);

	FL_TRY(need_rows(c, err));
	if (out && x) {
		out->kind = FL_LOD_TENSOR;
		out->dtype = x->dtype;
	}
	return FL_OK;
}

const struct fl_op_def fl_ops_sparse[] = {
	{
		.type = "merge_selected_rows",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.infer = infer_merge_rows,
		.flags = FL_OP_KERNEL,
		.doc = "Out = X, equal rows added up",
	},
	{
		.type = "get_tensor_from_selected_rows",
		.inputs = SLOTS({ "X", 0 }),
		.outputs = SLOTS({ "Out", 0 }),
		.infer = infer_values,
		.flags = FL_OP_KERNEL | FL_OP_DYNAMIC,
		.doc = "Out = the values of X",
	},
	{
		.type = "split_ids",
		.inputs = SLOTS({ "Ids", FL_DUP }),
		.outputs = SLOTS({ "Out", FL_DUP }),
		.flags = FL_OP_KERNEL | FL_OP_DYNAMIC,
		.doc = "Out[i] = the ids with remainder i",
	},
	{
		.type = "merge_ids",
		.inputs = SLOTS({ "Ids", FL_DUP }, { "Rows", FL_DUP }, { "X", FL_DUP }),
		.outputs = SLOTS({ "Out", FL_DUP }),
		.flags = FL_OP_KERNEL | FL_OP_DYNAMIC,
		.doc = "Out[i] = the rows of X, in the order of Ids[i]",
	},
	{ .type = NULL },
};
