#include "inspect/show.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/near.h"
#include "desc/names.h"
#include "desc/query.h"
#include "inspect/text.h"

#define NAME_WIDTH 32 /* of the column of variable names */
#define INDENT_MAX 128

static bool shows_block(const struct fl_show *what, size_t idx)
{
	return what->block < 0 || (size_t)what->block == idx;
}

static bool shows_op(const struct fl_show *what, const fl_pb_op *op)
{
	return !what->op || !strcmp(what->op, op->type);
}

enum fl_code fl_show_check(const fl_pb_program *pb, const struct fl_show *what, const char *name,
	struct fl_err *err)
{
	struct fl_near near;

	if (what->block >= 0 && (size_t)what->block >= pb->n_blocks)
		return fl_err_set(err, FL_EINVAL, "'%s' has no block %d, it has %zu", name, what->block,
			pb->n_blocks);
	if (!what->op)
		return FL_OK;
	fl_near_init(&near, what->op);
	for (size_t b = 0; b < pb->n_blocks; b++)
		for (size_t i = 0; i < pb->blocks[b]->n_ops; i++) {
			if (!shows_block(what, b))
				continue;
			if (shows_op(what, pb->blocks[b]->ops[i]))
				return FL_OK;
			fl_near_try(&near, pb->blocks[b]->ops[i]->type);
		}
	if (near.best)
		return fl_err_set(err, FL_ENOTFOUND, "'%s' has no operator '%s', did you mean '%s'?",
			name, what->op, near.best);
	return fl_err_set(err, FL_ENOTFOUND, "'%s' has no operator '%s'", name, what->op);
}

/* ---- text --------------------------------------------------------------------------------------- */

static int by_var_name(const void *x, const void *y)
{
	const fl_pb_var *const *a = x, *const *b = y;

	return strcmp((*a)->name, (*b)->name);
}

static fl_pb_var **sorted_vars(const fl_pb_block *block)
{
	fl_pb_var **vars = FL_NEW_N(fl_pb_var *, block->n_vars + 1);

	if (block->n_vars)
		memcpy(vars, block->vars, block->n_vars * sizeof *vars);
	qsort(vars, block->n_vars, sizeof *vars, by_var_name);
	return vars;
}

static void text_head(const fl_pb_program *pb, struct fl_buf *out)
{
	int64_t v = fl_program_version(pb);

	if (v >= 1000000)
		fl_buf_addf(out, "program of version %" PRId64 ".%" PRId64 ".%" PRId64, v / 1000000,
			v / 1000 % 1000, v % 1000);
	else if (v)
		fl_buf_addf(out, "program of version %" PRId64, v);
	else
		fl_buf_adds(out, "program without version");
	fl_buf_addf(out, ", %zu block%s\n", pb->n_blocks, pb->n_blocks == 1 ? "" : "s");
}

/* Blocks are shown under the operator that runs them, once. */
struct text {
	const fl_pb_program *pb;
	const struct fl_show *what;
	struct fl_buf *out;
	bool *shown; /* by block */
};

static void text_block_head(const fl_pb_block *block, int indent, struct fl_buf *out)
{
	fl_buf_addf(out, "%s%*sblock %d", indent ? "" : "\n", indent, "", block->idx);
	if (block->idx > 0)
		fl_buf_addf(out, ", parent %d", block->parent_idx);
	if (block->has_forward_block_idx && block->forward_block_idx >= 0)
		fl_buf_addf(out, ", forward block %d", block->forward_block_idx);
	fl_buf_addf(out, ": %zu variables, %zu operators\n", block->n_vars, block->n_ops);
}

static void text_vars(const struct text *t, const fl_pb_block *block, int indent)
{
	fl_pb_var **vars = sorted_vars(block);

	for (size_t i = 0; i < block->n_vars; i++) {
		size_t start;

		fl_buf_addf(t->out, "%*s  var ", indent, "");
		start = t->out->len;
		fl_text_name(t->out, vars[i]->name);
		fl_text_column(t->out, start, NAME_WIDTH);
		fl_text_var(t->out, vars[i]);
		fl_buf_addc(t->out, '\n');
	}
	fl_free(vars);
}

static void text_block(struct text *t, size_t b, int indent);

static void text_inner(struct text *t, int32_t b, int indent)
{
	if (b > 0 && (size_t)b < t->pb->n_blocks && !t->shown[b] && indent < INDENT_MAX)
		text_block(t, (size_t)b, indent + 4);
}

static void text_inner_blocks(struct text *t, const fl_pb_op *op, int indent)
{
	for (size_t i = 0; i < op->n_attrs; i++) {
		const fl_pb_attr *a = op->attrs[i];

		if ((int)a->type == FL_ATTR_BLOCK)
			text_inner(t, a->block_idx, indent);
		for (size_t k = 0; (int)a->type == FL_ATTR_BLOCKS && k < a->n_blocks_idx; k++)
			text_inner(t, a->blocks_idx[k], indent);
	}
}

/* Only all blocks with all operators nest: else what is asked for would stand under what is not shown. */
static void text_block(struct text *t, size_t b, int indent)
{
	const fl_pb_block *block = t->pb->blocks[b];
	bool nests = t->what->block < 0 && !t->what->op;

	t->shown[b] = true;
	text_block_head(block, indent, t->out);
	if (!t->what->op)
		text_vars(t, block, indent);
	for (size_t i = 0; i < block->n_ops; i++) {
		if (!shows_op(t->what, block->ops[i]))
			continue;
		fl_buf_addf(t->out, "%*s  op %-4zu ", indent, "", i);
		fl_text_op(t->out, block->ops[i]);
		fl_buf_addc(t->out, '\n');
		if (nests)
			text_inner_blocks(t, block->ops[i], indent);
	}
}

void fl_show_text(const fl_pb_program *pb, const struct fl_show *what, struct fl_buf *out)
{
	struct text t = { pb, what, out, FL_NEW_N(bool, pb->n_blocks + 1) };

	text_head(pb, out);
	for (size_t i = 0; i < pb->n_blocks; i++)
		if (shows_block(what, i) && !t.shown[i])
			text_block(&t, i, 0);
	fl_free(t.shown);
}

/* ---- counts ------------------------------------------------------------------------------------- */

struct count {
	const char *type;
	size_t n;
};

static int by_count(const void *x, const void *y)
{
	const struct count *a = x, *b = y;

	if (a->n != b->n)
		return a->n < b->n ? 1 : -1;
	return strcmp(a->type, b->type);
}

/* The names that optimizer operators take as Param, and what is marked as a parameter. */
static void collect_params(const fl_pb_program *pb, const struct fl_show *what, struct fl_map *params)
{
	for (size_t b = 0; b < pb->n_blocks; b++) {
		const fl_pb_block *block = pb->blocks[b];

		for (size_t i = 0; i < block->n_ops; i++) {
			const char *name = fl_op_in(block->ops[i], "Param", 0);

			if (name && shows_block(what, b))
				fl_map_put(params, name, block->ops[i]);
		}
		for (size_t i = 0; i < block->n_vars; i++)
			if (block->vars[i]->is_parameter && shows_block(what, b))
				fl_map_put(params, block->vars[i]->name, block->vars[i]);
	}
}

static int elem_size(int dtype)
{
	switch (dtype) {
	case FL_BOOL:
	case FL_INT8:
	case FL_UINT8: return 1;
	case FL_INT16:
	case FL_FP16:
	case 22: return 2; /* BF16 */
	case FL_INT32:
	case FL_FP32: return 4;
	case FL_INT64:
	case FL_FP64:
	case FL_SIZE_T:
	case 23: return 8; /* COMPLEX64 */
	case 24: return 16; /* COMPLEX128 */
	}
	return 0;
}

/* Bytes of a tensor whose shape is known; 0 where it is not (or is beyond all measure). */
static uint64_t var_bytes(const fl_pb_var *v)
{
	const fl_pb_tensor *t = fl_var_tensor(v);
	size_t n = t ? (size_t)elem_size((int)t->data_type) : 0;

	for (size_t i = 0; t && i < t->n_dims; i++)
		if (t->dims[i] < 0 || !fl_mul_size(n, (size_t)t->dims[i], &n))
			return 0;
	return n;
}

struct totals {
	size_t vars, persistables, params;
	uint64_t persistable_bytes, param_bytes;
};

static void count_vars(const fl_pb_program *pb, const struct fl_show *what, struct totals *t)
{
	struct fl_map params = FL_MAP_INIT;

	collect_params(pb, what, &params);
	for (size_t b = 0; b < pb->n_blocks; b++)
		for (size_t i = 0; i < pb->blocks[b]->n_vars && shows_block(what, b); i++) {
			const fl_pb_var *v = pb->blocks[b]->vars[i];

			t->vars++;
			if (fl_var_persistable(v)) {
				t->persistables++;
				t->persistable_bytes += var_bytes(v);
			}
			if (fl_map_has(&params, v->name)) {
				t->params++;
				t->param_bytes += var_bytes(v);
			}
		}
	fl_map_release(&params);
}

static void stat_ops(const fl_pb_program *pb, const struct fl_show *what, struct fl_buf *out)
{
	struct fl_map types = FL_MAP_INIT;
	struct count *counts = NULL;
	size_t cap = 0, n = 0, total = 0;

	for (size_t b = 0; b < pb->n_blocks; b++)
		for (size_t i = 0; i < pb->blocks[b]->n_ops && shows_block(what, b); i++) {
			const fl_pb_op *op = pb->blocks[b]->ops[i];
			size_t at = (size_t)(uintptr_t)fl_map_get(&types, op->type);

			if (!shows_op(what, op))
				continue;
			if (!at) {
				fl_grow(&counts, &cap, n + 1, sizeof *counts);
				counts[n++] = (struct count){ op->type, 0 };
				at = n;
				fl_map_put(&types, op->type, (void *)(uintptr_t)at);
			}
			counts[at - 1].n++;
			total++;
		}
	fl_buf_addf(out, "operators %zu, of %zu types\n", total, n);
	if (n)
		qsort(counts, n, sizeof *counts, by_count);
	for (size_t i = 0; i < n; i++) {
		fl_buf_addf(out, "  %6zu ", counts[i].n);
		fl_text_name(out, counts[i].type);
		fl_buf_addc(out, '\n');
	}
	fl_free(counts);
	fl_map_release(&types);
}

static void stat_roles(const fl_pb_program *pb, const struct fl_show *what, struct fl_buf *out)
{
	struct fl_map roles = FL_MAP_INIT;

	for (size_t b = 0; b < pb->n_blocks; b++)
		for (size_t i = 0; i < pb->blocks[b]->n_ops && shows_block(what, b); i++) {
			struct fl_buf role = FL_BUF_INIT;
			uintptr_t n;

			if (shows_op(what, pb->blocks[b]->ops[i])) {
				fl_text_role(&role, fl_op_role(pb->blocks[b]->ops[i]));
				n = (uintptr_t)fl_map_get(&roles, fl_buf_str(&role));
				fl_map_put(&roles, fl_buf_str(&role), (void *)(n + 1));
			}
			fl_buf_release(&role);
		}
	fl_buf_adds(out, "roles\n");
	FL_MAP_EACH(e, &roles)
		fl_buf_addf(out, "  %6zu %s\n", (size_t)(uintptr_t)e->value, e->key);
	fl_map_release(&roles);
}

void fl_show_stat(const fl_pb_program *pb, const struct fl_show *what, struct fl_buf *out)
{
	struct totals t = { 0 };

	text_head(pb, out);
	count_vars(pb, what, &t);
	fl_buf_addf(out, "variables %zu\npersistable %zu, %" PRIu64 " bytes\n", t.vars,
		t.persistables, t.persistable_bytes);
	fl_buf_addf(out, "parameters %zu, %" PRIu64 " bytes\n", t.params, t.param_bytes);
	stat_ops(pb, what, out);
	stat_roles(pb, what, out);
}

/* ---- a part of a program ------------------------------------------------------------------------- */

static bool mentioned(const fl_pb_block *block, const struct fl_map *names, size_t i)
{
	return fl_map_has(names, block->vars[i]->name);
}

static void note_names(struct fl_map *names, fl_pb_slot *const *slots, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < slots[i]->n_arguments; k++)
			fl_map_put(names, slots[i]->arguments[k], NULL);
}

/* A copy of the block's head with the chosen operators and the variables that they mention. */
static fl_pb_block *part_of(struct fl_program *part, const fl_pb_block *block,
	const struct fl_show *what)
{
	fl_pb_block *copy = fl_program_alloc(part, sizeof *copy);
	struct fl_map names = FL_MAP_INIT;

	*copy = *block;
	if (!what->op)
		return copy;
	copy->ops = fl_program_alloc(part, (block->n_ops + 1) * sizeof *copy->ops);
	copy->vars = fl_program_alloc(part, (block->n_vars + 1) * sizeof *copy->vars);
	copy->n_ops = copy->n_vars = 0;
	for (size_t i = 0; i < block->n_ops; i++)
		if (shows_op(what, block->ops[i])) {
			copy->ops[copy->n_ops++] = block->ops[i];
			note_names(&names, block->ops[i]->inputs, block->ops[i]->n_inputs);
			note_names(&names, block->ops[i]->outputs, block->ops[i]->n_outputs);
		}
	for (size_t i = 0; i < block->n_vars; i++)
		if (mentioned(block, &names, i))
			copy->vars[copy->n_vars++] = block->vars[i];
	fl_map_release(&names);
	return copy;
}

struct fl_program *fl_show_part(const struct fl_program *prog, const struct fl_show *what)
{
	struct fl_program *part = fl_program_new(0);
	const fl_pb_program *pb = prog->pb;
	size_t n = 0;

	*part->pb = *pb;
	part->pb->blocks = fl_program_alloc(part, (pb->n_blocks + 1) * sizeof *part->pb->blocks);
	for (size_t i = 0; i < pb->n_blocks; i++)
		if (shows_block(what, i))
			part->pb->blocks[n++] = part_of(part, pb->blocks[i], what);
	part->pb->n_blocks = n;
	return part;
}
