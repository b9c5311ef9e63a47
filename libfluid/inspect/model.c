/*
 * What save_inference_model adds to a pruned program:
 *
 *	feed(x, col 1) feed(words, col 0) .. scale(target, 1) fetch(col 0)
 */
#include <string.h>

#include "base/mem.h"
#include "desc/edit.h"
#include "desc/names.h"
#include "desc/query.h"
#include "inspect/prune.h"

#define FEED "feed"
#define FETCH "fetch"

static fl_pb_op *op(struct fl_program *prog, const char *type, const char *x, const char *out)
{
	fl_pb_op *made = fl_new_op(prog, type);

	fl_op_set_input(prog, made, "X", &x, 1);
	fl_op_set_output(prog, made, "Out", &out, 1);
	fl_op_set_int(prog, made, FL_ATTR_ROLE, FL_ROLE_FORWARD);
	fl_op_set_strs(prog, made, FL_ATTR_ROLE_VAR, NULL, 0);
	fl_op_set_str(prog, made, FL_ATTR_NAMESCOPE, "/");
	fl_op_set_str(prog, made, FL_ATTR_DEVICE, "");
	return made;
}

static fl_pb_op *column_op(struct fl_program *prog, const char *type, const char *x, const char *out,
	size_t column)
{
	fl_pb_op *made = op(prog, type, x, out);

	fl_op_set_int(prog, made, "col", (int32_t)column);
	fl_op_sort_attrs(made);
	return made;
}

/* A copy of the target under a name of its own; returns that. */
static const char *scale(struct fl_program *prog, fl_pb_block *block, const char *target, size_t i)
{
	const char *name = fl_arena_strfmt(prog->arena, "save_infer_model/scale_%zu.tmp_0", i);
	const fl_pb_var *v = fl_block_var(block, target);
	const fl_pb_tensor *t = v ? fl_var_tensor(v) : NULL;
	fl_pb_var *copy = fl_add_var(prog, block, name, v ? (int)v->type->type : FL_LOD_TENSOR);
	fl_pb_op *made = op(prog, "scale", target, name);

	if (t)
		fl_var_set_tensor(prog, copy, (int)t->data_type, t->dims, t->n_dims,
			fl_var_lod_level(v));
	fl_var_set_persistable(copy, false);
	fl_op_set_float(prog, made, "scale", 1);
	fl_op_set_float(prog, made, "bias", 0);
	fl_op_set_bool(prog, made, "bias_after_scale", true);
	fl_op_sort_attrs(made);
	fl_push_op(prog, block, made);
	return name;
}

static void holder(struct fl_program *prog, fl_pb_block *block, const char *name, int kind)
{
	if (!fl_block_var(block, name))
		fl_var_set_persistable(fl_add_var(prog, block, name, kind), true);
}

void fl_prune_model(struct fl_program *prog, const struct fl_prune *what)
{
	fl_pb_block *block = prog->pb->blocks[0];
	const char **copies = FL_NEW_N(const char *, what->n_targets);
	size_t n = what->n_feeds;
	fl_pb_op **ops;

	for (size_t i = 0; i < what->n_targets; i++)
		copies[i] = scale(prog, block, what->targets[i], i);
	ops = FL_NEW_N(fl_pb_op *, n + block->n_ops + what->n_targets);
	for (size_t i = 0; i < n; i++)
		ops[n - 1 - i] = column_op(prog, FEED, FEED, what->feeds[i], i);
	memcpy(ops + n, block->ops, block->n_ops * sizeof *ops);
	n += block->n_ops;
	for (size_t i = 0; i < what->n_targets; i++)
		ops[n++] = column_op(prog, FETCH, copies[i], FETCH, i);
	fl_set_ops(prog, block, ops, n);
	holder(prog, block, FEED, FL_FEED_MINIBATCH);
	holder(prog, block, FETCH, FL_FETCH_LIST);
	fl_free(copies);
	fl_free(ops);
}
