/*
 * The walk goes from the last operator of block 0 to the first, with the set of names that are
 * needed; an operator that writes one is kept, and what it and its sub-blocks read is needed, too.
 * A name is never taken out of the set: operators that write only a part (arrays, conditional
 * blocks, in-place updates) have earlier writers that count. Fed names are never in it.
 */
#include "inspect/prune.h"

#include <stdbool.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/near.h"
#include "desc/names.h"
#include "desc/query.h"

struct state {
	struct fl_program *prog;
	struct fl_map needed, fed;
	bool *keep;	  /* operators of block 0 */
	bool *keep_block; /* blocks that kept operators run */
	int32_t *new_idx; /* of kept blocks */
	int32_t *todo;	  /* kept blocks that were not looked into yet */
	size_t n_todo;
};

static enum fl_code check_name(const fl_pb_block *block, const char *name, struct fl_err *err)
{
	struct fl_near near;

	if (fl_block_var(block, name))
		return FL_OK;
	fl_near_init(&near, name);
	for (size_t i = 0; i < block->n_vars; i++)
		fl_near_try(&near, block->vars[i]->name);
	if (near.best)
		return fl_err_set(err, FL_ENOTFOUND,
			"block 0 has no variable '%s', did you mean '%s'?", name, near.best);
	return fl_err_set(err, FL_ENOTFOUND, "block 0 has no variable '%s'", name);
}

static bool is_made(const fl_pb_block *block, const char *name)
{
	const fl_pb_var *v = fl_block_var(block, name);

	for (size_t i = 0; i < block->n_ops; i++)
		if (fl_op_writes(block->ops[i], name))
			return true;
	return v && fl_var_persistable(v);
}

static enum fl_code check_names(const fl_pb_block *block, const struct fl_prune *what,
	struct fl_err *err)
{
	if (!what->n_targets)
		return fl_err_set(err, FL_EINVAL, "no target is given");
	for (size_t i = 0; i < what->n_feeds; i++)
		FL_TRY(check_name(block, what->feeds[i], err));
	for (size_t i = 0; i < what->n_targets; i++) {
		FL_TRY(check_name(block, what->targets[i], err));
		if (!is_made(block, what->targets[i]))
			return fl_err_set(err, FL_ENOTFOUND, "no operator makes the target '%s'",
				what->targets[i]);
	}
	return FL_OK;
}

static void need(struct state *s, const char *name)
{
	if (!fl_map_has(&s->fed, name))
		fl_map_put(&s->needed, name, NULL);
}

static void need_slots(struct state *s, fl_pb_slot *const *slots, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < slots[i]->n_arguments; k++)
			need(s, slots[i]->arguments[k]);
}

static bool writes_needed(const struct state *s, const fl_pb_op *op)
{
	for (size_t i = 0; i < op->n_outputs; i++)
		for (size_t k = 0; k < op->outputs[i]->n_arguments; k++)
			if (fl_map_has(&s->needed, op->outputs[i]->arguments[k]))
				return true;
	return false;
}

static void need_block(struct state *s, int32_t idx)
{
	if (idx <= 0 || (size_t)idx >= s->prog->pb->n_blocks || s->keep_block[idx])
		return;
	s->keep_block[idx] = true;
	s->todo[s->n_todo++] = idx;
}

/* What the operator reads, and what the blocks that it runs read. */
static void need_op(struct state *s, const fl_pb_op *op)
{
	need_slots(s, op->inputs, op->n_inputs);
	for (size_t i = 0; i < op->n_attrs; i++) {
		const fl_pb_attr *a = op->attrs[i];

		if ((int)a->type == FL_ATTR_BLOCK)
			need_block(s, a->block_idx);
		for (size_t k = 0; (int)a->type == FL_ATTR_BLOCKS && k < a->n_blocks_idx; k++)
			need_block(s, a->blocks_idx[k]);
	}
}

/* Each block is looked into once, so that blocks that name each other in a ring end, and deep ones
 * need no deep stack. A block's own variables may shadow outer ones of the same name, which are then
 * kept for nothing. Parents are kept so that names can be looked up in them. */
static void look_into_blocks(struct state *s)
{
	const fl_pb_program *pb = s->prog->pb;

	while (s->n_todo) {
		int32_t idx = s->todo[--s->n_todo];
		const fl_pb_block *block = pb->blocks[idx];

		for (size_t i = 0; i < block->n_ops; i++)
			need_op(s, block->ops[i]);
		need_block(s, fl_block_parent(pb, idx));
		if (block->has_forward_block_idx)
			need_block(s, block->forward_block_idx);
	}
}

static void choose_ops(struct state *s)
{
	const fl_pb_block *block = s->prog->pb->blocks[0];

	for (size_t i = block->n_ops; i-- > 0;)
		if (writes_needed(s, block->ops[i])) {
			s->keep[i] = true;
			need_op(s, block->ops[i]);
			look_into_blocks(s);
		}
}

static void drop_ops(struct state *s)
{
	fl_pb_block *block = s->prog->pb->blocks[0];
	size_t n = 0;

	for (size_t i = 0; i < block->n_ops; i++)
		if (s->keep[i])
			block->ops[n++] = block->ops[i];
	block->n_ops = n;
}

static int32_t renumbered(const struct state *s, int32_t idx)
{
	if (idx <= 0 || (size_t)idx >= s->prog->pb->n_blocks)
		return idx;
	return s->keep_block[idx] ? s->new_idx[idx] : -1;
}

static void renumber_op(const struct state *s, fl_pb_op *op)
{
	for (size_t i = 0; i < op->n_attrs; i++) {
		fl_pb_attr *a = op->attrs[i];

		if ((int)a->type == FL_ATTR_BLOCK)
			a->block_idx = renumbered(s, a->block_idx);
		for (size_t k = 0; (int)a->type == FL_ATTR_BLOCKS && k < a->n_blocks_idx; k++)
			a->blocks_idx[k] = renumbered(s, a->blocks_idx[k]);
	}
}

static void drop_blocks(struct state *s)
{
	fl_pb_program *pb = s->prog->pb;
	size_t n = 0;

	for (size_t i = 0; i < pb->n_blocks; i++)
		if (s->keep_block[i])
			s->new_idx[i] = (int32_t)n++;
	for (size_t i = 0; i < pb->n_blocks; i++) {
		fl_pb_block *block = pb->blocks[i];

		for (size_t k = 0; s->keep_block[i] && k < block->n_ops; k++)
			renumber_op(s, block->ops[k]);
		block->parent_idx = renumbered(s, block->parent_idx);
		if (block->has_forward_block_idx)
			block->forward_block_idx = renumbered(s, block->forward_block_idx);
		block->idx = s->new_idx[i];
	}
	for (size_t i = 0; i < pb->n_blocks; i++)
		if (s->keep_block[i])
			pb->blocks[s->new_idx[i]] = pb->blocks[i];
	pb->n_blocks = n;
}

static void note_used(struct fl_map *used, fl_pb_slot *const *slots, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < slots[i]->n_arguments; k++)
			fl_map_put(used, slots[i]->arguments[k], NULL);
}

static void drop_vars(const struct state *s, const struct fl_prune *what)
{
	const fl_pb_program *pb = s->prog->pb;
	struct fl_map used = FL_MAP_INIT;

	for (size_t b = 0; b < pb->n_blocks; b++)
		for (size_t i = 0; i < pb->blocks[b]->n_ops; i++) {
			note_used(&used, pb->blocks[b]->ops[i]->inputs, pb->blocks[b]->ops[i]->n_inputs);
			note_used(&used, pb->blocks[b]->ops[i]->outputs, pb->blocks[b]->ops[i]->n_outputs);
		}
	for (size_t i = 0; i < what->n_targets; i++)
		fl_map_put(&used, what->targets[i], NULL);
	for (size_t i = 0; i < what->n_feeds; i++)
		fl_map_put(&used, what->feeds[i], NULL);
	for (size_t b = 0; b < pb->n_blocks; b++) {
		fl_pb_block *block = pb->blocks[b];
		size_t n = 0;

		for (size_t i = 0; i < block->n_vars; i++)
			if (fl_map_has(&used, block->vars[i]->name))
				block->vars[n++] = block->vars[i];
		block->n_vars = n;
	}
	fl_map_release(&used);
}

static bool trains(const fl_pb_program *pb)
{
	for (size_t b = 0; b < pb->n_blocks; b++)
		for (size_t i = 0; i < pb->blocks[b]->n_ops; i++)
			if (fl_op_role(pb->blocks[b]->ops[i]) & (FL_ROLE_BACKWARD | FL_ROLE_OPTIMIZE))
				return true;
	return false;
}

static void set_test(fl_pb_program *pb)
{
	for (size_t b = 0; b < pb->n_blocks; b++)
		for (size_t i = 0; i < pb->blocks[b]->n_ops; i++) {
			fl_pb_op *op = pb->blocks[b]->ops[i];

			for (size_t k = 0; k < op->n_attrs; k++)
				if (!strcmp(op->attrs[k]->name, "is_test") &&
					(int)op->attrs[k]->type == FL_ATTR_BOOLEAN) {
					op->attrs[k]->has_b = 1;
					op->attrs[k]->b = 1;
				}
		}
}

enum fl_code fl_prune(struct fl_program *prog, const struct fl_prune *what, struct fl_err *err)
{
	struct state s = { .prog = prog };

	FL_TRY(check_names(prog->pb->blocks[0], what, err));
	s.keep = fl_program_alloc(prog, prog->pb->blocks[0]->n_ops * sizeof *s.keep + 1);
	s.keep_block = fl_program_alloc(prog, prog->pb->n_blocks * sizeof *s.keep_block);
	s.new_idx = fl_program_alloc(prog, prog->pb->n_blocks * sizeof *s.new_idx);
	s.todo = fl_program_alloc(prog, prog->pb->n_blocks * sizeof *s.todo);
	s.keep_block[0] = true;
	for (size_t i = 0; i < what->n_feeds; i++)
		fl_map_put(&s.fed, what->feeds[i], NULL);
	for (size_t i = 0; i < what->n_targets; i++)
		need(&s, what->targets[i]);
	choose_ops(&s);
	drop_ops(&s);
	drop_blocks(&s);
	drop_vars(&s, what);
	if (!trains(prog->pb))
		set_test(prog->pb);
	fl_map_release(&s.needed);
	fl_map_release(&s.fed);
	return FL_OK;
}
