/*
 * Blocks that operators run (conditional_block): each is prepared once, in a child scope of the
 * frame's, and run again and again. As in Fluid 1.8.5's Executor, what the block declares itself lives
 * in the child scope; all other names are those of the frame around it.
 */
#include <string.h>

#include "base/mem.h"
#include "desc/query.h"
#include "exec/frame.h"

/* Blocks within blocks: a program that runs itself is refused before the stack is used up. */
#define MAX_DEPTH 64

static struct fl_scope *scope_named(const struct fl_frame *f, const char *name)
{
	for (size_t i = 0; i < f->n_children; i++)
		if (!strcmp(f->children[i].name, name))
			return f->children[i].scope;
	return NULL;
}

/* What the block declares hides the same names outside. */
static void declare(const struct fl_frame *f, int block, struct fl_scope *scope)
{
	const fl_pb_block *b = f->prog->pb->blocks[block];

	for (size_t i = 0; i < b->n_vars; i++)
		if (!fl_var_persistable(b->vars[i]) && b->vars[i]->type)
			fl_scope_var(scope, b->vars[i]->name, (int)b->vars[i]->type->type);
}

/* Names of the frame mean there what they mean here, even if they were bound to other variables. */
static void inherit(const struct fl_frame *f, const struct child *c)
{
	for (size_t i = 0; i < c->frame->n_slots; i++) {
		const struct slot *s = &c->frame->slots[i];
		int outer = fl_frame_slot(f, s->name);
		bool own = s->var && fl_scope_find(c->scope, s->name) == s->var &&
			fl_scope_find(f->scope, s->name) != s->var;

		if (outer >= 0 && !own)
			fl_frame_rebind(c->frame, (int)i, f->slots[outer].var);
	}
}

static enum fl_code child_of(struct fl_frame *f, const char *name, int block, struct child **out,
	struct fl_err *err)
{
	struct fl_scope *scope = scope_named(f, name);
	struct child *c;

	for (size_t i = 0; i < f->n_children; i++)
		if (f->children[i].block == block && !strcmp(f->children[i].name, name)) {
			*out = &f->children[i];
			return FL_OK;
		}
	if (block <= 0 || (size_t)block >= f->prog->pb->n_blocks)
		return fl_err_set(err, FL_EINVAL, "attribute 'sub_block' is %d, expected 1 to %zu", block,
			f->prog->pb->n_blocks - 1);
	if (f->depth >= MAX_DEPTH)
		return fl_err_set(err, FL_ELIMIT, "more than %d blocks run within each other", MAX_DEPTH);
	if (!scope)
		scope = fl_scope_new(f->scope);
	fl_grow(&f->children, &f->cap_children, f->n_children + 1, sizeof *f->children);
	c = &f->children[f->n_children++];
	*c = (struct child){ .name = name, .block = block, .scope = scope };
	*out = c;
	return FL_OK;
}

static enum fl_code prepare(struct fl_frame *f, struct child *c, struct fl_err *err)
{
	if (c->frame)
		return FL_OK;
	declare(f, c->block, c->scope);
	FL_TRY(fl_frame_new(f->prog, c->block, c->scope, &f->env, &c->frame, err));
	c->frame->depth = f->depth + 1;
	inherit(f, c);
	return FL_OK;
}

static enum fl_code run(struct fl_kernel *k, const char *scope, int block, struct fl_err *err)
{
	struct child *c = NULL;

	FL_TRY(child_of(k->frame, scope, block, &c, err));
	FL_TRY(prepare(k->frame, c, err));
	return fl_frame_run(c->frame, err);
}

static struct fl_var *local(struct fl_kernel *k, const char *scope, const char *name)
{
	struct fl_scope *s = scope_named(k->frame, scope);
	struct fl_var *var = s ? fl_scope_find(s, name) : NULL;

	return var && var != fl_scope_find(k->frame->scope, name) ? var : NULL;
}

const struct fl_blocks fl_frame_blocks = { run, local };

void fl_frame_rebind_children(struct fl_frame *f, const char *name, struct fl_var *old,
	struct fl_var *var)
{
	for (size_t i = 0; i < f->n_children; i++) {
		struct fl_frame *frame = f->children[i].frame;
		int slot = frame ? fl_frame_slot(frame, name) : -1;

		if (slot >= 0 && frame->slots[slot].var == old)
			fl_frame_rebind(frame, slot, var);
	}
}

/* Later children may share the scope of an earlier one. */
void fl_frame_free_children(struct fl_frame *f)
{
	for (size_t i = f->n_children; i-- > 0;) {
		bool shared = false;

		fl_frame_free(f->children[i].frame);
		for (size_t j = 0; j < i; j++)
			shared |= f->children[j].scope == f->children[i].scope;
		if (!shared)
			fl_scope_free(f->children[i].scope);
	}
	fl_free(f->children);
}
