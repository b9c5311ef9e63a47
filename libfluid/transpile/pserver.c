/*
 * A server's main program (spec section 10): block 0 holds all variables and listen_and_serv; one
 * block for the learning-rate schedule; one for each owned part of a parameter:
 *
 *	block 1, parent 0: increment cast scale ..              (the schedule, with its sub-blocks)
 *	block 2, parent 1: sum scale [decay] momentum           (w.block0; sum and scale: synchronous)
 *	block 3, parent 1: sum scale [decay] momentum           (b)
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "desc/edit.h"
#include "desc/query.h"
#include "transpile/internal.h"

#define RPC_THREADS 12 /* Fluid's default of FLAGS_rpc_*_thread_num */

struct server {
	const struct fl_transpiler *t;
	size_t id;
	struct tp_builder b;
	struct fl_map args;   /* names of parameters and gradients -> names of the owned parts */
	struct tp_list blocks;	/* optimize_blocks */
	const char **inputs;  /* X of listen_and_serv */
	size_t n_inputs;
	const char **grad_to_block, **sparse_grad_to_param;
	size_t n_grads, n_sparse;
	int lr_block; /* -1: none */
	struct tp_table_blocks table;
	int temps;    /* temporaries of dc.c so far */
	bool *copied; /* by block of the input: a part of the schedule already */
};

/* ---- variables ---------------------------------------------------------------------------------- */

static void own_var(struct server *s, const struct tp_pair *p, const struct tp_block *blk)
{
	const struct fl_transpiler *t = s->t;
	fl_pb_var *grad;

	if (p->split)
		tp_block_var(&s->b, blk->param, p->pvar, blk, true);
	else
		tp_clone_var(&s->b, p->pvar, true);
	if (t->opts.mode == FL_MODE_GEO)
		return;
	grad = p->split ? tp_block_var(&s->b, blk->grad, p->gvar, blk, true)
			: tp_make_var(&s->b, blk->grad, p->gvar, NULL, 0, 0, true);
	if (t->opts.enable_dc_asgd)
		tp_dc_vars(t, &s->b, blk->param);
	fl_map_put(&s->args, p->param, (void *)(uintptr_t)blk->param);
	fl_map_put(&s->args, p->grad, (void *)(uintptr_t)blk->grad);
	if (!t->by_sender)
		s->inputs[s->n_inputs++] = blk->grad;
	for (int i = 0; t->by_sender && i < t->opts.trainers; i++) {
		const char *name = tp_trainer_name(s->b.prog, blk->grad, i);

		tp_make_var(&s->b, name, grad, NULL, 0, 0, false);
		s->inputs[s->n_inputs++] = name;
	}
}

static void own_vars(struct server *s)
{
	const struct fl_transpiler *t = s->t;
	size_t n = t->n_owned[s->id], per = t->by_sender ? (size_t)t->opts.trainers : 1;

	s->inputs = FL_ARENA_NEW_N(s->b.prog->arena, const char *, n * per);
	s->grad_to_block = FL_ARENA_NEW_N(s->b.prog->arena, const char *, n + 1);
	s->sparse_grad_to_param = FL_ARENA_NEW_N(s->b.prog->arena, const char *, n);
	for (size_t i = 0; i < n; i++) {
		const struct tp_pair *p = &t->pairs[t->owned[s->id][i].pair];

		own_var(s, p, &p->blocks[t->owned[s->id][i].block]);
	}
}

/* What an argument is called here; variables are copied when they are met first. */
static enum fl_code here(struct server *s, size_t op, const char *name, const char **out,
	struct fl_err *err)
{
	const char *owned = fl_map_get(&s->args, name);
	const fl_pb_var *v;
	int kind;

	*out = owned ? owned : name;
	if (owned || !strcmp(name, FL_EMPTY_VAR) || tp_var(&s->b, name))
		return FL_OK;
	v = fl_map_get(&s->t->vars, name);
	if (!v)
		return tp_refuse(err, s->t, op, "'%s' is no variable of block 0", name);
	kind = (int)v->type->type;
	tp_clone_var(&s->b, v, kind != FL_RAW && kind != FL_STEP_SCOPES ? true
									: fl_var_persistable(v));
	return FL_OK;
}

/* ---- copies of operators ------------------------------------------------------------------------ */

static enum fl_code move_args(struct server *s, size_t op, fl_pb_slot **slots, size_t n,
	struct fl_err *err)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < slots[i]->n_arguments; k++) {
			const char *to;

			FL_TRY(here(s, op, slots[i]->arguments[k], &to, err));
			slots[i]->arguments[k] = (char *)(uintptr_t)to;
		}
	return FL_OK;
}

static fl_pb_op *copy_op(struct server *s, const fl_pb_op *op)
{
	fl_pb_op *copy = fl_share_op(s->b.prog, op);

	tp_complete(s->b.prog, copy);
	tp_rename_role_var(s->b.prog, copy, &s->t->first_grads);
	return copy;
}

static void give_shape(struct server *s, const char *name, const fl_pb_var *from)
{
	fl_pb_var *to = tp_var(&s->b, name);
	const fl_pb_tensor *t = from ? fl_var_tensor(from) : NULL;

	if (to && to != from && t && fl_var_tensor(to))
		fl_var_set_tensor(s->b.prog, to, fl_var_dtype(to), t->dims, t->n_dims,
			fl_var_lod_level(to));
}

/* Decay works element by element, so what it writes has the shape of the part it reads. */
static void infer_shape(struct server *s, const fl_pb_op *op)
{
	static const char *const like_x[] = { "assign", "cast", "clip", "clip_by_norm", "scale",
		"sign", "sum", "elementwise_add", "elementwise_sub", "elementwise_mul",
		"elementwise_div", "square", "sqrt", "abs" };
	const char *x = fl_op_in(op, "X", 0), *out = fl_op_out(op, "Out", 0);

	for (size_t i = 0; x && out && i < FL_COUNT(like_x); i++)
		if (!strcmp(op->type, like_x[i]))
			give_shape(s, out, tp_var(&s->b, x));
}

static enum fl_code copy_plain(struct server *s, fl_pb_block *into, size_t i, struct fl_err *err)
{
	fl_pb_op *op = copy_op(s, s->t->block->ops[i]);

	if (tp_has_block(op))
		return tp_refuse(err, s->t, i,
			"an operator of the optimizer's role that runs a sub-block cannot move to a "
			"server");
	FL_TRY(move_args(s, i, op->inputs, op->n_inputs, err));
	FL_TRY(move_args(s, i, op->outputs, op->n_outputs, err));
	infer_shape(s, op);
	fl_op_sort_attrs(op);
	fl_push_op(s->b.prog, into, op);
	return FL_OK;
}

/* An accumulator keeps its name, one part a server, and gets the part's shape. */
static enum fl_code make_state(struct server *s, size_t i, const char *slot, const char *name,
	const struct tp_block *blk, struct fl_err *err)
{
	const fl_pb_op *op = s->t->block->ops[i];
	const fl_pb_var *v = fl_map_get(&s->t->vars, name);
	const fl_pb_tensor *t = v ? fl_var_tensor(v) : NULL;

	if (fl_map_has(&s->args, name) || tp_var(&s->b, name))
		return FL_OK;
	if (!t)
		return tp_refuse(err, s->t, i, "%s '%s' is no tensor of block 0", slot, name);
	if (tp_is_sliced(op->type, slot))
		tp_block_var(&s->b, name, v, blk, fl_var_persistable(v));
	else
		tp_clone_var(&s->b, v, fl_var_persistable(v));
	return FL_OK;
}

static enum fl_code copy_optimizer(struct server *s, fl_pb_block *into, size_t i,
	const struct tp_block *blk, struct fl_err *err)
{
	fl_pb_op *op = copy_op(s, s->t->block->ops[i]);

	for (size_t k = 0; k < op->n_inputs; k++)
		for (size_t a = 0; a < op->inputs[k]->n_arguments; a++)
			FL_TRY(make_state(s, i, op->inputs[k]->parameter,
				op->inputs[k]->arguments[a], blk, err));
	FL_TRY(move_args(s, i, op->inputs, op->n_inputs, err));
	FL_TRY(move_args(s, i, op->outputs, op->n_outputs, err));
	if (s->t->opts.enable_dc_asgd) {
		const char *grad = tp_dc_compensate(s->t, &s->b, into, blk->param,
			fl_op_in(op, "Grad", 0), &s->temps);

		fl_op_set_input(s->b.prog, op, "Grad", &grad, 1);
	}
	fl_op_sort_attrs(op);
	fl_push_op(s->b.prog, into, op);
	return FL_OK;
}

/* ---- the schedule -------------------------------------------------------------------------------- */

static enum fl_code copy_lr_block(struct server *s, fl_pb_block *into, int32_t from, size_t lr_op,
	struct fl_err *err);

/* A block belongs to one operator; copied once, so that no program makes a larger one. */
static enum fl_code copy_sub_block(struct server *s, fl_pb_block *into, fl_pb_op *op, size_t lr_op,
	struct fl_err *err)
{
	int32_t from = (int32_t)fl_attr_int(op, FL_ATTR_SUB_BLOCK, -1);
	fl_pb_block *sub;

	if (!fl_op_attr(op, FL_ATTR_SUB_BLOCK))
		return FL_OK;
	if (from <= 0 || (size_t)from >= s->t->main->pb->n_blocks || s->copied[from])
		return tp_refuse(err, s->t, lr_op,
			"its sub_block %d is no block of its own of the program", from);
	s->copied[from] = true;
	sub = fl_add_block(s->b.prog, into->idx);
	FL_TRY(copy_lr_block(s, sub, from, lr_op, err));
	fl_op_set_block(s->b.prog, op, FL_ATTR_SUB_BLOCK, sub->idx);
	return FL_OK;
}

/* Variables of block 0 that a block inside the schedule uses are declared in it too. */
static enum fl_code declare(struct server *s, fl_pb_block *into, struct fl_map *own,
	const fl_pb_slot *slot, size_t lr_op, struct fl_err *err)
{
	for (size_t a = 0; a < slot->n_arguments; a++) {
		const char *name = slot->arguments[a];

		if (fl_map_has(own, name) || !fl_map_get(&s->t->vars, name))
			continue;
		fl_map_put(own, name, own);
		FL_TRY(here(s, lr_op, name, &name, err));
		fl_push_var(s->b.prog, into, fl_copy_var(s->b.prog, tp_var(&s->b, name)));
	}
	return FL_OK;
}

/* One operator of a block inside the schedule. */
static enum fl_code copy_inner(struct server *s, fl_pb_block *into, struct fl_map *own,
	const fl_pb_op *from, size_t lr_op, struct fl_err *err)
{
	fl_pb_op *op = copy_op(s, from);

	FL_TRY(copy_sub_block(s, into, op, lr_op, err));
	for (size_t k = 0; k < op->n_inputs; k++)
		FL_TRY(declare(s, into, own, op->inputs[k], lr_op, err));
	for (size_t k = 0; k < op->n_outputs; k++)
		FL_TRY(declare(s, into, own, op->outputs[k], lr_op, err));
	fl_op_sort_attrs(op);
	fl_push_op(s->b.prog, into, op);
	return FL_OK;
}

/* Every operator of a block inside the schedule; the block's own variables come along. */
static enum fl_code copy_lr_block(struct server *s, fl_pb_block *into, int32_t from, size_t lr_op,
	struct fl_err *err)
{
	const fl_pb_block *block = s->t->main->pb->blocks[from];
	struct fl_map own;
	enum fl_code code = FL_OK;

	fl_index_vars(block, &own);
	for (size_t i = 0; i < block->n_vars; i++)
		fl_push_var(s->b.prog, into, fl_copy_var(s->b.prog, block->vars[i]));
	for (size_t i = 0; code == FL_OK && i < block->n_ops; i++)
		code = copy_inner(s, into, &own, block->ops[i], lr_op, err);
	fl_map_release(&own);
	return code;
}

static enum fl_code copy_lr_op(struct server *s, fl_pb_block *into, size_t i, struct fl_err *err)
{
	const fl_pb_op *from = s->t->block->ops[i];
	fl_pb_op *op = copy_op(s, from);

	FL_TRY(move_args(s, i, op->inputs, op->n_inputs, err));
	FL_TRY(move_args(s, i, op->outputs, op->n_outputs, err));
	FL_TRY(copy_sub_block(s, into, op, i, err));
	fl_op_sort_attrs(op);
	fl_push_op(s->b.prog, into, op);
	return FL_OK;
}

/* The counter becomes the less of two. */
static void less_of(struct server *s, fl_pb_block *into, const char *x, const char *y)
{
	fl_pb_op *op = tp_op(&s->b, "elementwise_min", FL_ROLE_LRSCHED);

	fl_op_set_input(s->b.prog, op, "X", &x, 1);
	fl_op_set_input(s->b.prog, op, "Y", &y, 1);
	fl_op_set_output(s->b.prog, op, "Out", &s->t->counter, 1);
	tp_complete(s->b.prog, op);
	fl_op_sort_attrs(op);
	fl_push_op(s->b.prog, into, op);
}

/* In place of the increment: the sum of the trainers' counters, or the least of them. */
static void join_counters(struct server *s, fl_pb_block *into)
{
	const struct fl_transpiler *t = s->t;
	const fl_pb_var *counter = fl_map_get(&t->vars, t->counter);
	const char **names = FL_ARENA_NEW_N(s->b.prog->arena, const char *, t->opts.trainers);
	fl_pb_op *op;

	for (int i = 0; i < t->opts.trainers; i++) {
		names[i] = tp_trainer_name(s->b.prog, t->counter, i);
		tp_make_var(&s->b, names[i], counter, NULL, 0, fl_var_lod_level(counter), true);
	}
	tp_clone_var(&s->b, counter, true);
	if (t->opts.lr_steps == FL_LR_PER_TRAINER && t->opts.trainers > 1) {
		less_of(s, into, names[0], names[1]);
		for (int i = 2; i < t->opts.trainers; i++)
			less_of(s, into, t->counter, names[i]);
		return;
	}
	op = tp_op_sum(&s->b, names, (size_t)t->opts.trainers, t->counter);
	fl_op_set_int(s->b.prog, op, FL_ATTR_ROLE, FL_ROLE_LRSCHED);
	fl_op_sort_attrs(op);
	fl_push_op(s->b.prog, into, op);
}

static enum fl_code schedule(struct server *s, struct fl_err *err)
{
	const struct fl_transpiler *t = s->t;
	fl_pb_block *into;

	s->lr_block = -1;
	if (!t->lr.n || t->opts.mode == FL_MODE_GEO)
		return FL_OK;
	into = fl_add_block(s->b.prog, 0);
	s->lr_block = into->idx;
	tp_list_add(&s->blocks, (size_t)into->idx);
	for (size_t k = 0; k < t->lr.n; k++) {
		size_t i = t->lr.at[k];

		if (t->counter && i == t->counter_op)
			join_counters(s, into);
		else
			FL_TRY(copy_lr_op(s, into, i, err));
	}
	return FL_OK;
}

/* ---- updates ------------------------------------------------------------------------------------- */

static void merge(struct server *s, fl_pb_block *into, const struct tp_block *blk)
{
	const struct fl_transpiler *t = s->t;
	size_t n = (size_t)t->opts.trainers;
	const char **names = FL_ARENA_NEW_N(s->b.prog->arena, const char *, n);
	fl_pb_op *sum, *scale;

	if (!t->by_sender)
		return;
	for (size_t i = 0; i < n; i++)
		names[i] = tp_trainer_name(s->b.prog, blk->grad, (int)i);
	sum = tp_op_sum(&s->b, names, n, blk->grad);
	scale = tp_op_scale(&s->b, blk->grad, (float)(1.0 / (double)n));
	fl_op_sort_attrs(sum);
	fl_op_sort_attrs(scale);
	fl_push_op(s->b.prog, into, sum);
	fl_push_op(s->b.prog, into, scale);
}

/* Is what the optimizer reads sparse? After dense decay of a sparse gradient it is not. */
static bool updates_rows(const struct fl_transpiler *t, const struct tp_pair *p)
{
	const char *grad = fl_op_in(t->block->ops[p->optimizer], "Grad", 0);
	const fl_pb_var *v = fl_map_get(&t->vars, grad);

	return v && (int)v->type->type == FL_SELECTED_ROWS;
}

static enum fl_code update(struct server *s, int32_t parent, const struct tp_pair *p,
	const struct tp_block *blk, struct fl_err *err)
{
	fl_pb_block *into = fl_add_block(s->b.prog, parent);
	bool geo = s->t->opts.mode == FL_MODE_GEO;
	const char *from = geo ? tp_geo_update(&s->b, into, p, blk) : blk->grad;

	tp_list_add(&s->blocks, (size_t)into->idx);
	s->grad_to_block[s->n_grads++] =
		fl_arena_strfmt(s->b.prog->arena, "%s:%d", from, into->idx);
	if (geo ? p->remote : updates_rows(s->t, p))
		s->sparse_grad_to_param[s->n_sparse++] =
			fl_arena_strfmt(s->b.prog->arena, "%s:%s", from, blk->param);
	if (geo)
		return FL_OK;
	merge(s, into, blk);
	for (size_t k = 0; k < p->ops.n; k++)
		FL_TRY(p->ops.at[k] == p->optimizer
				? copy_optimizer(s, into, p->ops.at[k], blk, err)
				: copy_plain(s, into, p->ops.at[k], err));
	return FL_OK;
}

struct turn {
	size_t op;
	struct tp_owned what;
};

static int by_op(const void *x, const void *y)
{
	const struct turn *a = x, *b = y;

	if (a->op != b->op)
		return a->op < b->op ? -1 : 1;
	return a->what.block < b->what.block ? -1 : a->what.block > b->what.block;
}

/* One block for each owned part, in the order of the optimizers' operators. */
static enum fl_code updates(struct server *s, struct fl_err *err)
{
	const struct fl_transpiler *t = s->t;
	size_t n = t->n_owned[s->id];
	struct turn *turns = FL_ARENA_NEW_N(s->b.prog->arena, struct turn, n);
	int32_t parent = (int32_t)s->b.prog->pb->n_blocks - 1;

	for (size_t i = 0; i < n; i++) {
		turns[i].what = t->owned[s->id][i];
		turns[i].op = t->pairs[turns[i].what.pair].optimizer;
	}
	if (n)
		qsort(turns, n, sizeof *turns, by_op);
	for (size_t i = 0; i < n; i++) {
		const struct tp_pair *p = &t->pairs[turns[i].what.pair];

		FL_TRY(update(s, parent, p, &p->blocks[turns[i].what.block], err));
	}
	if (t->table) {
		s->table = tp_table_server(t, &s->b, parent, s->id);
		s->grad_to_block[s->n_grads++] = s->table.grad_to_block;
		tp_list_add(&s->blocks, (size_t)s->table.optimize);
	}
	if (!s->blocks.n)
		tp_list_add(&s->blocks, (size_t)fl_add_block(s->b.prog, parent)->idx);
	return FL_OK;
}

static void serve(struct server *s)
{
	const struct fl_transpiler *t = s->t;
	struct fl_program *prog = s->b.prog;
	fl_pb_op *op = tp_op(&s->b, "listen_and_serv", FL_ROLE_FORWARD);
	int32_t *blocks = FL_ARENA_NEW_N(prog->arena, int32_t, s->blocks.n);

	for (size_t i = 0; i < s->blocks.n; i++)
		blocks[i] = (int32_t)s->blocks.at[i];
	fl_op_set_input(prog, op, "X", s->inputs, s->n_inputs);
	fl_op_set_blocks(prog, op, "optimize_blocks", blocks, s->blocks.n);
	fl_op_set_str(prog, op, "endpoint", t->opts.pservers[s->id]);
	fl_op_set_int(prog, op, "pserver_id",
		t->opts.mode == FL_MODE_GEO ? -1 : (int32_t)s->id);
	fl_op_set_int(prog, op, "Fanin", t->opts.trainers);
	fl_op_set_int(prog, op, "distributed_mode", t->dist_mode);
	fl_op_set_strs(prog, op, "grad_to_block_id", s->grad_to_block, s->n_grads);
	fl_op_set_strs(prog, op, "sparse_grad_to_param", s->sparse_grad_to_param, s->n_sparse);
	fl_op_set_int(prog, op, "lr_decay_block_id", s->lr_block);
	fl_op_set_int(prog, op, "rpc_get_thread_num", RPC_THREADS);
	fl_op_set_int(prog, op, "rpc_send_thread_num", RPC_THREADS);
	fl_op_set_int(prog, op, "rpc_prefetch_thread_num", RPC_THREADS);
	fl_op_set_int(prog, op, "checkpint_block_id", t->table ? s->table.checkpoint : -1);
	fl_op_set_strs(prog, op, "prefetch_var_name_to_block_id", &s->table.prefetch,
		t->table ? 1 : 0);
	fl_op_set_bool(prog, op, "dc_asgd", t->opts.enable_dc_asgd);
	fl_op_sort_attrs(op);
	fl_push_op(prog, s->b.block, op);
}

static enum fl_code write_server(struct server *s, struct fl_err *err)
{
	own_vars(s);
	FL_TRY(schedule(s, err));
	FL_TRY(updates(s, err));
	serve(s);
	return FL_OK;
}

enum fl_code tp_pserver_main(const struct fl_transpiler *t, size_t server, struct fl_program **out,
	struct fl_err *err)
{
	struct server s = { .t = t, .id = server };
	enum fl_code code;

	tp_builder_init(&s.b, fl_program_new(tp_version(t)));
	fl_map_init(&s.args);
	s.copied = fl_program_alloc(s.b.prog, t->main->pb->n_blocks + 1);
	code = write_server(&s, err);
	fl_map_release(&s.args);
	tp_list_release(&s.blocks);
	tp_builder_release(&s.b);
	if (code == FL_OK)
		*out = s.b.prog;
	else
		fl_program_free(s.b.prog);
	return code;
}
