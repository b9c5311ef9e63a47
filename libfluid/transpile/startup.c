/*
 * Startup programs (spec sections 8, 9, 10.4). A trainer's: its own initializers without those that
 * only optimizers need, then the servers' values, so that all start alike. A server's: the
 * initializers of what it owns, with the shape of its part.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "desc/edit.h"
#include "desc/query.h"
#include "transpile/internal.h"

/* ---- trainer ------------------------------------------------------------------------------------ */

static const char **part_vars(struct tp_builder *b, const struct tp_pair *p)
{
	const char **names = FL_ARENA_NEW_N(b->prog->arena, const char *, p->n);

	for (size_t k = 0; k < p->n; k++) {
		names[k] = p->blocks[k].param;
		if (p->split)
			tp_block_var(b, names[k], p->pvar, &p->blocks[k], false);
		else
			tp_clone_var(b, p->pvar, true);
	}
	return names;
}

static void fetch_all(const struct fl_transpiler *t, struct tp_builder *b, int trainer)
{
	const char ***parts = FL_ARENA_NEW_N(b->prog->arena, const char **, t->n_pairs);
	const char *done;

	for (size_t i = 0; i < t->n_pairs; i++) {
		const struct tp_pair *p = &t->pairs[i];

		if (fl_map_has(&t->sparse_tables, p->param))
			continue;
		parts[i] = part_vars(b, p);
		fl_push_op(b->prog, b->block, tp_op_recv(b, NULL, parts[i], p->n,
			tp_endpoints_of(t, b->prog, p), p->n, trainer));
	}
	done = tp_control_var(b);
	fl_push_op(b->prog, b->block, tp_op_fetch_barrier(b, NULL, &done, 1, t->opts.pservers,
		t->opts.n_pservers, trainer));
	for (size_t i = 0; i < t->n_pairs; i++) {
		const struct tp_pair *p = &t->pairs[i];

		if (!p->split || !parts[i])
			continue;
		tp_clone_var(b, p->pvar, true);
		fl_push_op(b->prog, b->block,
			tp_op_concat(b, parts[i], p->n, p->param, FL_ROLE_FORWARD));
	}
}

static bool writes_any(const fl_pb_op *op, const struct fl_map *names)
{
	for (size_t s = 0; s < op->n_outputs; s++)
		for (size_t a = 0; a < op->outputs[s]->n_arguments; a++)
			if (fl_map_has(names, op->outputs[s]->arguments[a]))
				return true;
	return false;
}

static void drop_writers(struct tp_builder *b, const struct fl_map *names)
{
	size_t kept = 0;

	for (size_t i = 0; i < b->block->n_ops; i++)
		if (!writes_any(b->block->ops[i], names))
			b->block->ops[kept++] = b->block->ops[i];
	b->block->n_ops = kept;
}

/* Tables whose rows are fetched by id are not filled: they may be larger than the machine. */
static enum fl_code fake_tables(const struct fl_transpiler *t, struct tp_builder *b,
	struct fl_err *err)
{
	struct fl_map inits;

	if (!t->sparse_tables.live)
		return FL_OK;
	fl_map_init(&inits);
	for (size_t i = 0; i < b->block->n_ops; i++)
		for (size_t s = 0; s < b->block->ops[i]->n_outputs; s++)
			for (size_t a = 0; a < b->block->ops[i]->outputs[s]->n_arguments; a++)
				fl_map_put(&inits, b->block->ops[i]->outputs[s]->arguments[a],
					b->block->ops[i]);
	drop_writers(b, &t->sparse_tables);
	FL_MAP_EACH(e, &t->sparse_tables)
	{
		const fl_pb_op *init = fl_map_get(&inits, e->key);
		const fl_pb_var *var = fl_map_get(&t->vars, e->key);
		const fl_pb_tensor *shape = var ? fl_var_tensor(var) : NULL;
		const char *name = e->key;
		fl_pb_op *op;

		if (!init || !shape) {
			fl_map_release(&inits);
			return fl_err_set(err, FL_EUNSUPPORTED,
				"the startup program does not initialize the embedding table '%s'",
				e->key);
		}
		op = tp_op(b, "fake_init", FL_ROLE_FORWARD);
		fl_op_set_output(b->prog, op, "Out", &name, 1);
		fl_op_set_longs(b->prog, op, "shape", shape->dims, shape->n_dims);
		fl_push_op(b->prog, b->block, op);
	}
	fl_map_release(&inits);
	return FL_OK;
}

/* Each trainer counts its steps from 1; the sum starts at minus their number (spec section 3.2). */
static void start_counters(const struct fl_transpiler *t, struct tp_builder *b)
{
	const fl_pb_var *counter;
	size_t n_old = b->block->n_ops, n = (size_t)t->opts.trainers;
	fl_pb_op **ops;

	if (!t->counter)
		return;
	counter = fl_map_get(&t->vars, t->counter);
	for (size_t i = 0; i < n_old; i++) {
		const fl_pb_op *op = b->block->ops[i];

		if (!strcmp(op->type, "fill_constant") && fl_op_writes(op, t->counter))
			fl_op_set_float(b->prog, tp_own_op(b, i), "value", (float)-t->opts.trainers);
	}
	ops = FL_NEW_N(fl_pb_op *, n_old + n + 1);
	for (size_t i = 0; i < n; i++) {
		const char *name = tp_trainer_name(b->prog, t->counter, (int)i);

		tp_make_var(b, name, counter, NULL, 0, fl_var_lod_level(counter),
			fl_var_persistable(counter));
		ops[n - 1 - i] = tp_op_counter(b, counter, name, t->counter_step);
	}
	if (n_old)
		memcpy(ops + n, b->block->ops, n_old * sizeof *ops);
	fl_set_ops(b->prog, b->block, ops, n_old + n);
	fl_free(ops);
}

static void drop_optimizer_inits(const struct fl_transpiler *t, struct tp_builder *b)
{
	drop_writers(b, &t->optimizer_vars);
	tp_drop_vars(b, &t->optimizer_vars);
}

enum fl_code tp_trainer_startup(const struct fl_transpiler *t, int trainer,
	struct fl_program **out, struct fl_err *err)
{
	struct tp_builder b;
	enum fl_code code = FL_OK;

	tp_builder_share(&b, t->startup_shared, &t->startup_vars);
	start_counters(t, &b);
	fetch_all(t, &b, trainer);
	if (t->opts.mode == FL_MODE_GEO) {
		tp_geo_startup(t, &b);
	} else {
		drop_optimizer_inits(t, &b);
		code = fake_tables(t, &b, err);
	}
	tp_sort_attrs(&b);
	tp_builder_release(&b);
	if (code == FL_OK)
		*out = b.prog;
	else
		fl_program_free(b.prog);
	return code;
}

/* ---- server ------------------------------------------------------------------------------------- */

struct server {
	const struct fl_transpiler *t;
	struct tp_builder b;
	struct fl_map names; /* variables of the startup program -> what they are called here */
	struct fl_map parts; /* names of parts -> struct tp_block */
};

static bool has_shape_attr(const char *type)
{
	static const char *const types[] = { "fill_constant", "gaussian_random",
		"truncated_gaussian_random", "uniform_random" };

	for (size_t i = 0; i < FL_COUNT(types); i++)
		if (!strcmp(types[i], type))
			return true;
	return false;
}

static enum fl_code move_inputs(struct server *s, size_t at, fl_pb_op *op, struct fl_err *err)
{
	for (size_t i = 0; i < op->n_inputs; i++)
		for (size_t k = 0; k < op->inputs[i]->n_arguments; k++) {
			char *to = fl_map_get(&s->names, op->inputs[i]->arguments[k]);

			if (!to)
				return fl_err_set(err, FL_EUNSUPPORTED,
					"startup program, block 0, op %zu '%s': it reads '%s', which the "
					"server does not hold, to initialize what the server holds",
					at, op->type, op->inputs[i]->arguments[k]);
			op->inputs[i]->arguments[k] = to;
		}
	return FL_OK;
}

/* The first argument of each output slot decides; an operator that fills nothing here is left out. */
static bool move_outputs(struct server *s, fl_pb_op *op, const char **first)
{
	size_t kept = 0;

	*first = NULL;
	for (size_t i = 0; i < op->n_outputs; i++) {
		fl_pb_slot *slot = op->outputs[i];
		char *to = slot->n_arguments ? fl_map_get(&s->names, slot->arguments[0]) : NULL;

		if (!to)
			continue;
		slot->arguments[0] = to;
		slot->n_arguments = 1;
		op->outputs[kept++] = slot;
		if (!*first)
			*first = to;
	}
	op->n_outputs = kept;
	return kept;
}

/* Values given one by one: those of the part. Fluid leaves all of them, so that shapes differ. */
static enum fl_code cut_values(struct server *s, size_t at, fl_pb_op *op, const char *param,
	struct fl_err *err)
{
	static const char *const lists[] = { "fp32_values", "int32_values", "int64_values",
		"bool_values" };
	const struct tp_block *b = fl_map_get(&s->parts, param);
	const fl_pb_tensor *shape = fl_var_tensor(tp_var(&s->b, param));
	int32_t *dims;

	if (!b || !shape || strcmp(op->type, "assign_value"))
		return FL_OK;
	for (size_t i = 0; i < FL_COUNT(lists); i++) {
		size_t n = fl_attr_len(op, lists[i]);

		if (n && (uint64_t)(b->offset + b->numel) > n)
			return fl_err_set(err, FL_EUNSUPPORTED,
				"startup program, block 0, op %zu 'assign_value': %zu values are not "
				"enough for '%s'", at, n, param);
		if (n)
			fl_op_cut_list(s->b.prog, op, lists[i], (size_t)b->offset, (size_t)b->numel);
	}
	dims = FL_ARENA_NEW_N(s->b.prog->arena, int32_t, shape->n_dims);
	for (size_t i = 0; i < shape->n_dims; i++)
		dims[i] = (int32_t)shape->dims[i];
	fl_op_set_ints(s->b.prog, op, "shape", dims, shape->n_dims);
	return FL_OK;
}

static enum fl_code copy_init(struct server *s, size_t at, const fl_pb_op *from, struct fl_err *err)
{
	fl_pb_op *op = fl_share_op(s->b.prog, from);
	const char *out;
	const fl_pb_tensor *shape;

	if (!move_outputs(s, op, &out))
		return FL_OK;
	if (tp_has_block(op))
		return fl_err_set(err, FL_EUNSUPPORTED,
			"startup program, block 0, op %zu '%s': it runs a sub-block, which a server's "
			"startup program cannot", at, op->type);
	FL_TRY(move_inputs(s, at, op, err));
	shape = fl_var_tensor(tp_var(&s->b, out));
	if (has_shape_attr(op->type) && shape)
		fl_op_set_longs(s->b.prog, op, "shape", shape->dims, shape->n_dims);
	if (s->t->counter && !strcmp(op->type, "fill_constant") && !strcmp(out, s->t->counter))
		fl_op_set_float(s->b.prog, op, "value", (float)-s->t->opts.trainers);
	FL_TRY(cut_values(s, at, op, out, err));
	tp_complete(s->b.prog, op);
	fl_op_sort_attrs(op);
	fl_push_op(s->b.prog, s->b.block, op);
	return FL_OK;
}

static void start_server_counters(struct server *s)
{
	const struct fl_transpiler *t = s->t;

	for (int i = t->opts.trainers; t->counter && i-- > 0;) {
		const char *name = tp_trainer_name(s->b.prog, t->counter, i);
		fl_pb_op *op = tp_op_counter(&s->b, fl_map_get(&t->vars, t->counter), name,
			t->counter_first);

		fl_op_sort_attrs(op);
		fl_push_op(s->b.prog, s->b.block, op);
	}
}

static int by_index(const void *x, const void *y)
{
	const size_t *a = x, *b = y;

	return *a < *b ? -1 : *a > *b;
}

/* The startup operators that fill anything here, in order, without a walk over all of them. */
static void find_inits(const struct server *s, struct tp_list *out)
{
	size_t kept = 0;

	FL_MAP_EACH(e, &s->names)
	{
		const struct tp_list *ops = fl_map_get(&s->t->inits, e->key);

		for (size_t i = 0; ops && i < ops->n; i++)
			tp_list_add(out, ops->at[i]);
	}
	if (out->n)
		qsort(out->at, out->n, sizeof *out->at, by_index);
	for (size_t i = 0; i < out->n; i++)
		if (!kept || out->at[kept - 1] != out->at[i])
			out->at[kept++] = out->at[i];
	out->n = kept;
}

static void name_vars(struct server *s, size_t server, const fl_pb_block *main)
{
	const struct fl_transpiler *t = s->t;

	for (size_t i = 0; i < main->n_vars; i++) {
		const fl_pb_var *v = main->vars[i];
		int kind = (int)v->type->type;
		bool persistable = kind != FL_RAW && kind != FL_STEP_SCOPES ? true
									   : fl_var_persistable(v);
		fl_pb_var *made = tp_clone_var(&s->b, v, persistable);

		fl_map_put(&s->names, v->name, made->name);
	}
	for (size_t i = 0; i < t->n_owned[server]; i++) {
		const struct tp_pair *p = &t->pairs[t->owned[server][i].pair];
		struct tp_block *b = &p->blocks[t->owned[server][i].block];

		if (p->split)
			fl_map_put(&s->parts, b->param, b);
		fl_map_put(&s->names, p->param, tp_var(&s->b, b->param)->name);
	}
}

enum fl_code tp_pserver_startup(const struct fl_transpiler *t, size_t server,
	const struct fl_program *main, struct fl_program **out, struct fl_err *err)
{
	struct server s = { .t = t };
	struct tp_list ops = { 0 };
	enum fl_code code = FL_OK;

	tp_builder_init(&s.b, fl_program_new(tp_version(t)));
	fl_map_init(&s.names);
	fl_map_init(&s.parts);
	name_vars(&s, server, main->pb->blocks[0]);
	start_server_counters(&s);
	find_inits(&s, &ops);
	for (size_t i = 0; code == FL_OK && i < ops.n; i++)
		code = copy_init(&s, ops.at[i], t->startup->pb->blocks[0]->ops[ops.at[i]], err);
	for (size_t i = 0; t->opts.enable_dc_asgd && i < t->n_owned[server]; i++) {
		const struct tp_owned *o = &t->owned[server][i];

		tp_dc_startup(t, &s.b, t->pairs[o->pair].blocks[o->block].param);
	}
	tp_list_release(&ops);
	fl_map_release(&s.names);
	fl_map_release(&s.parts);
	tp_builder_release(&s.b);
	if (code == FL_OK)
		*out = s.b.prog;
	else
		fl_program_free(s.b.prog);
	return code;
}
