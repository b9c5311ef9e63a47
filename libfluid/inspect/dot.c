/*
 * A Graphviz picture: a box an operator, an ellipse a variable. Clusters: blocks, and in them, where there
 * are several, what operators are for (their role), each with the variables that it names first. Parameters
 * (what an optimizer updates, or has a gradient of its own) are golden, other persistable variables grey.
 */
#include <stdbool.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "desc/names.h"
#include "desc/query.h"
#include "inspect/show.h"
#include "inspect/text.h"

#define DEPTH_MAX 64 /* levels of blocks that are looked through for a name */

struct dot {
	const fl_pb_program *pb;
	const struct fl_show *what;
	struct fl_buf *out;
	struct fl_map *vars; /* of each block, by name */
	struct fl_map params, grads; /* names in Param slots; names of variables */
};

/* What operators are for, in the order in which they run. */
static const struct {
	const char *title, *color, *back;
} roles[] = {
	{ "learning rate", "plum", "#f7eef7" },
	{ "forward", "lightgreen", "#effaef" },
	{ "backward", "lightpink", "#fdf0f2" },
	{ "optimize", "lightblue", "#eef6fa" },
	{ "send and receive", "orange", "#fdf5e6" },
};
enum { R_RATE, R_FORWARD, R_BACKWARD, R_OPTIMIZE, R_RPC, N_ROLES };

static int role_of(const fl_pb_op *op)
{
	int role = fl_op_role(op);

	if (role & (FL_ROLE_RPC | FL_ROLE_DIST))
		return R_RPC;
	if (role & FL_ROLE_LRSCHED)
		return R_RATE;
	if (role & FL_ROLE_OPTIMIZE)
		return R_OPTIMIZE;
	return role & FL_ROLE_BACKWARD ? R_BACKWARD : R_FORWARD;
}

static bool is_param(const struct dot *d, const fl_pb_var *v)
{
	char *grad;
	bool has;

	if (!v || !fl_var_persistable(v))
		return false;
	if (fl_map_has(&d->params, v->name))
		return true;
	grad = fl_xstrfmt("%s" FL_GRAD_SUFFIX, v->name);
	has = fl_map_has(&d->grads, grad);
	fl_free(grad);
	return has;
}

/* Every variable's name, and every name in a slot Param. */
static void find_params(struct dot *d)
{
	for (size_t b = 0; b < d->pb->n_blocks; b++) {
		const fl_pb_block *block = d->pb->blocks[b];

		for (size_t i = 0; i < block->n_vars; i++)
			fl_map_put(&d->grads, block->vars[i]->name, d);
		for (size_t i = 0; i < block->n_ops; i++) {
			const char *param = fl_op_in(block->ops[i], "Param", 0);

			if (param)
				fl_map_put(&d->params, param, d);
		}
	}
}

/* Graphviz strings know \" and \\ only as escapes; control characters are left out. */
static void quoted(struct fl_buf *b, const char *s)
{
	fl_buf_addc(b, '"');
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			fl_buf_addc(b, '\\');
		if ((unsigned char)*s >= ' ')
			fl_buf_addc(b, *s);
	}
	fl_buf_addc(b, '"');
}

/* The block that holds the variable: the same name in another block is another node. */
static int32_t owner_of(const struct dot *d, int32_t block, const char *name)
{
	int32_t at = block;

	for (int depth = 0; at >= 0 && depth < DEPTH_MAX; depth++, at = fl_block_parent(d->pb, at))
		if (fl_map_has(&d->vars[at], name))
			return at;
	return block;
}

static void var_id(const struct dot *d, int32_t block, const char *name)
{
	struct fl_buf id = FL_BUF_INIT;

	fl_buf_addf(&id, "b%d:%s", owner_of(d, block, name), name);
	quoted(d->out, fl_buf_str(&id));
	fl_buf_release(&id);
}

static void var_node(const struct dot *d, int32_t block, const char *name, struct fl_map *seen)
{
	const fl_pb_var *v = fl_map_get(&d->vars[owner_of(d, block, name)], name);
	const fl_pb_tensor *t = v ? fl_var_tensor(v) : NULL;
	struct fl_buf label = FL_BUF_INIT;

	fl_buf_addf(&label, "%d:%s", owner_of(d, block, name), name);
	if (fl_map_put(seen, fl_buf_str(&label), seen)) {
		fl_buf_release(&label);
		return;
	}
	fl_buf_clear(&label);
	fl_buf_adds(&label, name);
	if (t) {
		fl_buf_addc(&label, ' ');
		fl_text_dims(&label, t->dims, t->n_dims);
	}
	fl_buf_adds(d->out, "    ");
	var_id(d, block, name);
	fl_buf_adds(d->out, " [label=");
	quoted(d->out, fl_buf_str(&label));
	fl_buf_adds(d->out, is_param(d, v) ? ", style=\"filled,bold\", fillcolor=gold];\n"
			    : v && fl_var_persistable(v) ? ", style=filled, fillcolor=lightgrey];\n"
							 : ", style=filled, fillcolor=white];\n");
	fl_buf_release(&label);
}

static void edges(const struct dot *d, int32_t block, size_t op, fl_pb_slot *const *slots, size_t n,
	bool in, struct fl_map *seen)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < slots[i]->n_arguments; k++) {
			const char *name = slots[i]->arguments[k];

			if (!strcmp(name, FL_EMPTY_VAR))
				continue;
			var_node(d, block, name, seen);
			fl_buf_adds(d->out, "    ");
			if (!in)
				fl_buf_addf(d->out, "\"op %d.%zu\" -> ", block, op);
			var_id(d, block, name);
			if (in)
				fl_buf_addf(d->out, " -> \"op %d.%zu\"", block, op);
			fl_buf_adds(d->out, " [label=");
			quoted(d->out, slots[i]->parameter);
			fl_buf_adds(d->out, "];\n");
		}
}

static void op_node(const struct dot *d, const fl_pb_block *block, size_t i, struct fl_map *seen)
{
	const fl_pb_op *op = block->ops[i];

	fl_buf_addf(d->out, "    \"op %d.%zu\" [shape=box, style=filled, fillcolor=%s, label=",
		block->idx, i, roles[role_of(op)].color);
	quoted(d->out, op->type);
	fl_buf_adds(d->out, "];\n");
	edges(d, block->idx, i, op->inputs, op->n_inputs, true, seen);
	edges(d, block->idx, i, op->outputs, op->n_outputs, false, seen);
	for (size_t k = 0; k < op->n_attrs; k++)
		if ((int)op->attrs[k]->type == FL_ATTR_BLOCK)
			fl_buf_addf(d->out, "    \"op %d.%zu\" -> \"block %d\" [style=dashed];\n",
				block->idx, i, op->attrs[k]->block_idx);
}

/* Block i's operators of one role, in a cluster where there are others. */
static void role_cluster(const struct dot *d, const fl_pb_block *block, int role, bool alone,
	struct fl_map *seen)
{
	bool any = false;

	for (size_t i = 0; i < block->n_ops; i++) {
		if (role_of(block->ops[i]) != role ||
			(d->what->op && strcmp(d->what->op, block->ops[i]->type)))
			continue;
		if (!any && !alone)
			fl_buf_addf(d->out, "    subgraph cluster_%d_%d {\n    label=\"%s\"; "
					    "style=filled; color=\"%s\";\n",
				block->idx, role, roles[role].title, roles[role].back);
		any = true;
		op_node(d, block, i, seen);
	}
	if (any && !alone)
		fl_buf_adds(d->out, "    }\n");
}

static void block_cluster(const struct dot *d, const fl_pb_block *block, struct fl_map *seen)
{
	size_t of_role[N_ROLES] = { 0 };
	bool alone = false;

	fl_buf_addf(d->out, "  subgraph cluster_%d {\n    label=\"block %d\";\n", block->idx,
		block->idx);
	fl_buf_addf(d->out, "    \"block %d\" [shape=point, style=invis];\n", block->idx);
	for (size_t i = 0; i < block->n_ops; i++)
		of_role[role_of(block->ops[i])]++;
	for (int r = 0; r < N_ROLES; r++)
		alone = alone || of_role[r] == block->n_ops;
	for (int r = 0; r < N_ROLES; r++)
		if (of_role[r])
			role_cluster(d, block, r, alone, seen);
	fl_buf_adds(d->out, "  }\n");
}

void fl_show_dot(const fl_pb_program *pb, const struct fl_show *what, struct fl_buf *out)
{
	struct dot d = { pb, what, out, FL_NEW_N(struct fl_map, pb->n_blocks + 1),
		FL_MAP_INIT, FL_MAP_INIT };
	struct fl_map seen = FL_MAP_INIT;

	for (size_t b = 0; b < pb->n_blocks; b++)
		fl_index_vars(pb->blocks[b], &d.vars[b]);
	find_params(&d);
	fl_buf_adds(out, "digraph program {\n  node [fontname=\"sans-serif\"];\n");
	for (size_t b = 0; b < pb->n_blocks; b++)
		if (what->block < 0 || (size_t)what->block == b)
			block_cluster(&d, pb->blocks[b], &seen);
	fl_buf_adds(out, "}\n");
	for (size_t b = 0; b < pb->n_blocks; b++)
		fl_map_release(&d.vars[b]);
	fl_free(d.vars);
	fl_map_release(&d.params);
	fl_map_release(&d.grads);
	fl_map_release(&seen);
}
