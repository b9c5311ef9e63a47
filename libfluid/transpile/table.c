/*
 * A distributed lookup table (is_distributed=True, spec section 12): its rows lie on all servers, row
 * id on server id mod n, and no trainer ever has it.
 *
 *	trainer   lookup_table ..          -> split_ids prefetch merge_ids
 *	          lookup_table_grad        -> lookup_table_grad split_ids send
 *	server    block a: sum sgd         (optimize; sum: synchronous)
 *	          block b: lookup_sparse_table   (prefetch)
 *	          block c: save                  (checkpoint)
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "desc/edit.h"
#include "desc/query.h"
#include "transpile/internal.h"

#define PATH_VAR "kLookupTablePath"

static bool is_lookup(const fl_pb_op *op)
{
	return !strcmp(op->type, "lookup_table") || !strcmp(op->type, "lookup_table_v2");
}

static enum fl_code add_use(struct fl_transpiler *t, size_t i, const char **name,
	struct fl_err *err)
{
	const fl_pb_op *op = t->block->ops[i];
	const char *w = fl_op_in(op, "W", 0);

	if (!w || !fl_op_in(op, "Ids", 0) || !fl_op_out(op, "Out", 0))
		return tp_refuse(err, t, i, "has no W, Ids or Out");
	if (*name && strcmp(*name, w))
		return tp_refuse(err, t, i,
			"'%s' is a second distributed table beside '%s'; a program can have one, make "
			"the other is_sparse=True alone", w, *name);
	*name = w;
	tp_list_add(&t->table_lookups, i);
	return FL_OK;
}

/* Takes the table's pair out of those that are cut and placed. */
static void take_pair(struct fl_transpiler *t, const struct tp_pair *p)
{
	size_t at = (size_t)(p - t->pairs);

	t->table = FL_ARENA_NEW(t->arena, struct tp_pair);
	*t->table = *p;
	fl_map_remove(&t->pair_of_param, p->param);
	fl_map_remove(&t->pair_of_grad, p->grad);
	memmove(&t->pairs[at], &t->pairs[at + 1], (t->n_pairs - at - 1) * sizeof *t->pairs);
	t->n_pairs--;
	for (size_t i = at; i < t->n_pairs; i++) {
		fl_map_put(&t->pair_of_param, t->pairs[i].param, &t->pairs[i]);
		fl_map_put(&t->pair_of_grad, t->pairs[i].grad, &t->pairs[i]);
	}
}

enum fl_code tp_find_table(struct fl_transpiler *t, struct fl_err *err)
{
	const char *name = NULL;
	const struct tp_pair *p;

	for (size_t i = 0; i < t->block->n_ops; i++)
		if (is_lookup(t->block->ops[i]) &&
			fl_attr_bool(t->block->ops[i], "is_distributed", false))
			FL_TRY(add_use(t, i, &name, err));
	for (size_t i = 0; name && i < t->block->n_ops; i++) {
		const fl_pb_op *op = t->block->ops[i];
		const char *w = is_lookup(op) ? fl_op_in(op, "W", 0) : NULL;

		if (w && !strcmp(w, name) && !fl_attr_bool(op, "is_distributed", false))
			return tp_refuse(err, t, i,
				"'%s' is a distributed table elsewhere; every lookup of it needs "
				"is_distributed=True", name);
	}
	if (!name)
		return FL_OK;
	p = fl_map_get(&t->pair_of_param, name);
	if (!p || fl_var_tensor(p->pvar)->n_dims != 2 || fl_var_tensor(p->pvar)->dims[0] < 1)
		return tp_refuse(err, t, t->table_lookups.at[0],
			"the distributed table '%s' is not trained, or has no rows", name);
	if ((int)p->gvar->type->type != FL_SELECTED_ROWS)
		return tp_refuse(err, t, t->table_lookups.at[0],
			"the gradient of the distributed table '%s' is not sparse; give is_sparse=True",
			name);
	if (t->opts.mode == FL_MODE_GEO)
		return tp_refuse(err, t, t->table_lookups.at[0],
			"in geo mode every trainer has all parameters, so '%s' cannot be distributed",
			name);
	take_pair(t, p);
	fl_map_put(&t->sparse_tables, name, t);
	return FL_OK;
}

/* ---- trainer -------------------------------------------------------------------------------------- */

static const char *part_grad(const struct fl_transpiler *t, struct fl_program *prog, int trainer,
	size_t server)
{
	if (!t->sync)
		return fl_arena_strfmt(prog->arena, "%s.pserver_%zu", t->table->grad, server);
	return fl_arena_strfmt(prog->arena, "%s" FL_TRAINER_INFIX "%d.pserver_%zu", t->table->grad,
		trainer, server);
}

static const char *compress_name(struct fl_program *prog, const char *which, size_t server)
{
	return fl_arena_strfmt(prog->arena, "prefetch_compress_%s_tmp_%zu", which, server);
}

static const char **compress_vars(const struct fl_transpiler *t, struct tp_builder *b,
	const char *which, const char *like)
{
	size_t n = t->opts.n_pservers;
	const char **names = FL_ARENA_NEW_N(b->prog->arena, const char *, n);
	const fl_pb_var *v = fl_map_get(&t->vars, like);

	for (size_t k = 0; k < n; k++) {
		names[k] = compress_name(b->prog, which, k);
		if (v)
			tp_make_var(b, names[k], v, NULL, 0, 0, false);
	}
	return names;
}

void tp_table_lookup(const struct fl_transpiler *t, struct tp_builder *b, fl_pb_op *ops[3])
{
	size_t n = t->table_lookups.n, servers = t->opts.n_pservers;
	const char **ids = FL_ARENA_NEW_N(b->prog->arena, const char *, n);
	const char **outs = FL_ARENA_NEW_N(b->prog->arena, const char *, n);
	const char **in, **out;

	for (size_t i = 0; i < n; i++) {
		ids[i] = fl_op_in(t->block->ops[t->table_lookups.at[i]], "Ids", 0);
		outs[i] = fl_op_out(t->block->ops[t->table_lookups.at[i]], "Out", 0);
	}
	in = compress_vars(t, b, "in", ids[0]);
	out = compress_vars(t, b, "out", outs[0]);
	ops[0] = tp_op(b, "split_ids", FL_ROLE_FORWARD);
	fl_op_set_input(b->prog, ops[0], "Ids", ids, n);
	fl_op_set_output(b->prog, ops[0], "Out", in, servers);
	ops[1] = tp_op(b, "prefetch", FL_ROLE_FORWARD);
	fl_op_set_input(b->prog, ops[1], "X", in, servers);
	fl_op_set_output(b->prog, ops[1], "Out", out, servers);
	fl_op_set_strs(b->prog, ops[1], "epmap", t->opts.pservers, servers);
	fl_op_set_int(b->prog, ops[1], "trainer_id", 0);
	ops[2] = tp_op(b, "merge_ids", FL_ROLE_FORWARD);
	fl_op_set_input(b->prog, ops[2], "Ids", ids, n);
	fl_op_set_input(b->prog, ops[2], "Rows", in, servers);
	fl_op_set_input(b->prog, ops[2], "X", out, servers);
	fl_op_set_output(b->prog, ops[2], "Out", outs, n);
}

void tp_table_send(const struct fl_transpiler *t, struct tp_builder *b, int trainer,
	const char *dummy, fl_pb_op *ops[2])
{
	size_t servers = t->opts.n_pservers;
	const char **parts = FL_ARENA_NEW_N(b->prog->arena, const char *, servers);

	for (size_t k = 0; k < servers; k++) {
		parts[k] = part_grad(t, b->prog, trainer, k);
		tp_make_var(b, parts[k], t->table->gvar, NULL, 0, 0, false);
	}
	ops[0] = tp_op(b, "split_ids", FL_ROLE_DIST);
	fl_op_set_input(b->prog, ops[0], "Ids", &t->table->grad, 1);
	fl_op_set_output(b->prog, ops[0], "Out", parts, servers);
	ops[1] = tp_op_send(b, parts, servers, dummy);
	if (!t->sync)
		fl_op_set_output(b->prog, ops[1], "Out", NULL, 0);
	fl_op_set_strs(b->prog, ops[1], "epmap", t->opts.pservers, servers);
	fl_op_set_int(b->prog, ops[1], "trainer_id", trainer);
	tp_set_role_var(b, ops[1], t->table->param, t->table->grad);
}

/* ---- server --------------------------------------------------------------------------------------- */

static void push(struct tp_builder *b, fl_pb_block *into, fl_pb_op *op)
{
	fl_op_sort_attrs(op);
	fl_push_op(b->prog, into, op);
}

static void table_var(const struct fl_transpiler *t, struct tp_builder *b)
{
	const fl_pb_tensor *w = fl_var_tensor(t->table->pvar);
	int64_t n = (int64_t)t->opts.n_pservers;
	const int64_t dims[2] = { (w->dims[0] + n - 1) / n, w->dims[1] };
	fl_pb_var *v = fl_add_var(b->prog, b->block, t->table->param, FL_SELECTED_ROWS);

	fl_var_set_tensor(b->prog, v, (int)w->data_type, dims, 2, 0);
	fl_var_set_persistable(v, true);
	tp_index_var(b, v->name, v);
}

/* What the server receives: one a trainer, summed but not averaged, or just one. */
static const char *received_grad(const struct fl_transpiler *t, struct tp_builder *b,
	fl_pb_block *into, size_t server)
{
	size_t n = (size_t)t->opts.trainers;
	const char *grad = t->sync ? t->table->grad : part_grad(t, b->prog, 0, server);
	const char **names = FL_ARENA_NEW_N(b->prog->arena, const char *, n);

	tp_make_var(b, grad, t->table->gvar, NULL, 0, 0, true);
	if (!t->sync)
		return grad;
	for (size_t i = 0; i < n; i++) {
		names[i] = part_grad(t, b->prog, (int)i, server);
		tp_make_var(b, names[i], t->table->gvar, NULL, 0, 0, false);
	}
	push(b, into, tp_op_sum(b, names, n, grad));
	return grad;
}

static void optimize(const struct fl_transpiler *t, struct tp_builder *b, fl_pb_block *into,
	const char *grad)
{
	const char *lr = fl_op_in(t->block->ops[t->table->optimizer], "LearningRate", 0);
	const fl_pb_var *v = lr ? fl_map_get(&t->vars, lr) : NULL;
	fl_pb_op *op = tp_op(b, "sgd", FL_ROLE_FORWARD);

	if (v)
		tp_clone_var(b, v, true);
	fl_op_set_input(b->prog, op, "Param", &t->table->param, 1);
	fl_op_set_input(b->prog, op, "Grad", &grad, 1);
	fl_op_set_input(b->prog, op, "LearningRate", &lr, lr ? 1 : 0);
	fl_op_set_output(b->prog, op, "ParamOut", &t->table->param, 1);
	push(b, into, op);
}

/* Rows for ids. Its result is declared as Fluid's shape inference has it: [rank of ids, width]. */
static void prefetch(const struct fl_transpiler *t, struct tp_builder *b, fl_pb_block *into,
	size_t server)
{
	const fl_pb_op *lookup = t->block->ops[t->table_lookups.at[0]];
	const fl_pb_var *ids = fl_map_get(&t->vars, fl_op_in(lookup, "Ids", 0));
	const fl_pb_var *out = fl_map_get(&t->vars, fl_op_out(lookup, "Out", 0));
	const fl_pb_tensor *shape = ids ? fl_var_tensor(ids) : NULL;
	const int64_t dims[2] = { shape ? (int64_t)shape->n_dims : 1,
		fl_var_tensor(t->table->pvar)->dims[1] };
	const char *in_name = compress_name(b->prog, "in", server);
	const char *out_name = compress_name(b->prog, "out", server);
	fl_pb_op *op = tp_op(b, "lookup_sparse_table", FL_ROLE_FORWARD);

	if (ids)
		tp_make_var(b, in_name, ids, NULL, 0, 0, false);
	if (out)
		tp_make_var(b, out_name, out, dims, 2, 0, false);
	fl_op_set_input(b->prog, op, "Ids", &in_name, 1);
	fl_op_set_input(b->prog, op, "W", &t->table->param, 1);
	fl_op_set_output(b->prog, op, "Out", &out_name, 1);
	fl_op_set_long(b->prog, op, "padding_idx", -1);
	fl_op_set_bool(b->prog, op, "auto_grown_table", true);
	fl_op_set_bool(b->prog, op, "is_test", false);
	push(b, into, op);
}

static void checkpoint(const struct fl_transpiler *t, struct tp_builder *b, fl_pb_block *into)
{
	fl_pb_op *op = tp_op(b, "save", FL_ROLE_FORWARD);
	fl_pb_var *path = fl_add_var(b->prog, b->block, PATH_VAR, FL_RAW);

	fl_var_set_persistable(path, true);
	tp_index_var(b, path->name, path);
	fl_op_set_input(b->prog, op, "X", &t->table->param, 1);
	fl_op_set_bool(b->prog, op, "overwrite", true);
	fl_op_set_bool(b->prog, op, "save_as_fp16", false);
	fl_op_set_str(b->prog, op, "file_path", "none");
	push(b, into, op);
}

struct tp_table_blocks tp_table_server(const struct fl_transpiler *t, struct tp_builder *b,
	int32_t parent, size_t server)
{
	struct tp_table_blocks r;
	fl_pb_block *update = fl_add_block(b->prog, parent), *block;
	const char *grad;

	table_var(t, b);
	grad = received_grad(t, b, update, server);
	optimize(t, b, update, grad);
	r.optimize = update->idx;
	r.grad_to_block = fl_arena_strfmt(b->prog->arena, "%s:%d", grad, update->idx);
	block = fl_add_block(b->prog, update->idx);
	prefetch(t, b, block, server);
	r.prefetch = fl_arena_strfmt(b->prog->arena, "%s:%d", compress_name(b->prog, "in", server),
		block->idx);
	block = fl_add_block(b->prog, update->idx);
	checkpoint(t, b, block);
	r.checkpoint = block->idx;
	return r;
}
