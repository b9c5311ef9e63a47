/* A Graphviz picture: a box an operator, an ellipse a variable, a cluster a block. */
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
};

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
	fl_buf_adds(d->out, v && fl_var_persistable(v) ? ", style=filled, fillcolor=lightgrey];\n"
						       : "];\n");
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

static const char *color(int role)
{
	if (role & FL_ROLE_RPC)
		return "orange";
	if (role & (FL_ROLE_OPTIMIZE | FL_ROLE_LRSCHED))
		return "lightblue";
	return role & FL_ROLE_BACKWARD ? "lightpink" : "lightgreen";
}

static void op_node(const struct dot *d, const fl_pb_block *block, size_t i, struct fl_map *seen)
{
	const fl_pb_op *op = block->ops[i];

	fl_buf_addf(d->out, "    \"op %d.%zu\" [shape=box, style=filled, fillcolor=%s, label=",
		block->idx, i, color(fl_op_role(op)));
	quoted(d->out, op->type);
	fl_buf_adds(d->out, "];\n");
	edges(d, block->idx, i, op->inputs, op->n_inputs, true, seen);
	edges(d, block->idx, i, op->outputs, op->n_outputs, false, seen);
	for (size_t k = 0; k < op->n_attrs; k++)
		if ((int)op->attrs[k]->type == FL_ATTR_BLOCK)
			fl_buf_addf(d->out, "    \"op %d.%zu\" -> \"block %d\" [style=dashed];\n",
				block->idx, i, op->attrs[k]->block_idx);
}

void fl_show_dot(const fl_pb_program *pb, const struct fl_show *what, struct fl_buf *out)
{
	struct dot d = { pb, what, out, FL_NEW_N(struct fl_map, pb->n_blocks + 1) };
	struct fl_map seen = FL_MAP_INIT;

	for (size_t b = 0; b < pb->n_blocks; b++)
		fl_index_vars(pb->blocks[b], &d.vars[b]);

	fl_buf_adds(out, "digraph program {\n  node [fontname=\"sans-serif\"];\n");
	for (size_t b = 0; b < pb->n_blocks; b++) {
		const fl_pb_block *block = pb->blocks[b];

		if (what->block >= 0 && (size_t)what->block != b)
			continue;
		fl_buf_addf(out, "  subgraph cluster_%zu {\n    label=\"block %zu\";\n", b, b);
		fl_buf_addf(out, "    \"block %zu\" [shape=plaintext];\n", b);
		for (size_t i = 0; i < block->n_ops; i++)
			if (!what->op || !strcmp(what->op, block->ops[i]->type))
				op_node(&d, block, i, &seen);
		fl_buf_adds(out, "  }\n");
	}
	fl_buf_adds(out, "}\n");
	for (size_t b = 0; b < pb->n_blocks; b++)
		fl_map_release(&d.vars[b]);
	fl_free(d.vars);
	fl_map_release(&seen);
}
