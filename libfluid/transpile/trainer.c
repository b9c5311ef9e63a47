/*
 * The trainer's main program (spec sections 7, 9, 11). Before and after, synchronous, w cut in two:
 *
 *	forward .. mul_grad(w@GRAD) .. sgd(w)
 *	forward .. mul_grad split_byref send .. send_barrier recv fetch_barrier concat
 *
 * Nothing is inserted into the list of operators while it is read: each insertion is a group hung on
 * the operator it follows, and one walk at the end writes the list. A later group goes before an
 * earlier one at the same place, as repeated insertion at one index would have it.
 */
#include <string.h>

#include "base/mem.h"
#include "desc/edit.h"
#include "desc/query.h"
#include "transpile/internal.h"

struct group {
	fl_pb_op *ops[3];
	size_t n;
	struct group *next;
};

struct trainer {
	const struct fl_transpiler *t;
	int id;
	struct tp_builder b;
	struct group **after; /* [0]: before the first operator; [i + 1]: after operator i */
	bool *dropped;
	const char **dummy; /* by pair: the control variable of its send */
	const char *table_dummy;
	const char **fetched; /* names received, in order */
	size_t n_fetched;
};

static void hang_all(struct trainer *w, size_t after, fl_pb_op *const *ops, size_t n)
{
	struct group *g = FL_ARENA_NEW(w->b.prog->arena, struct group);

	for (size_t i = 0; i < n; i++)
		g->ops[g->n++] = ops[i];
	g->next = w->after[after];
	w->after[after] = g;
}

static void hang(struct trainer *w, size_t after, fl_pb_op *op)
{
	hang_all(w, after, &op, 1);
}

/* ---- names: gradients that are one block carry the trainer's suffix ---------------------------- */

static const char *suffixed(const struct trainer *w, const char *name)
{
	return w->t->suffix ? tp_trainer_name(w->b.prog, name, w->id) : name;
}

/* What the pair's gradient is called in this program. */
static const char *grad_name(const struct trainer *w, const struct tp_pair *p)
{
	return p->split ? p->grad : suffixed(w, p->grad);
}

static void rename_args(const struct fl_map *names, fl_pb_slot **slots, size_t n)
{
	for (size_t s = 0; s < n; s++)
		for (size_t a = 0; a < slots[s]->n_arguments; a++) {
			char *to = fl_map_get(names, slots[s]->arguments[a]);

			if (to)
				slots[s]->arguments[a] = to;
		}
}

void tp_rename_role_var(struct fl_program *prog, fl_pb_op *op, const struct fl_map *names)
{
	size_t n = fl_attr_len(op, FL_ATTR_ROLE_VAR);
	const char **v;
	bool changed = false;

	if (!n)
		return;
	v = FL_ARENA_NEW_N(prog->arena, const char *, n);
	for (size_t i = 0; i < n; i++) {
		const char *old = fl_attr_str_at(op, FL_ATTR_ROLE_VAR, i);
		const char *to = fl_map_get(names, old);

		v[i] = to ? to : old;
		changed = changed || to;
	}
	if (changed)
		fl_op_set_strs(prog, op, FL_ATTR_ROLE_VAR, v, n);
}

void tp_suffixed_grads(const struct fl_transpiler *t, struct fl_arena *arena, int trainer,
	struct fl_map *names)
{
	fl_map_init(names);
	for (size_t i = 0; t->suffix && i < t->n_pairs; i++)
		if (!t->pairs[i].split) {
			fl_map_put(names, t->pairs[i].grad,
				fl_arena_strfmt(arena, "%s" FL_TRAINER_INFIX "%d",
					t->pairs[i].grad, trainer));
		}
}

static void rename_grads(struct trainer *w)
{
	struct fl_map names;

	tp_suffixed_grads(w->t, w->b.prog->arena, w->id, &names);
	for (size_t i = 0; i < w->t->renamed.n; i++) {
		fl_pb_op *op = tp_own_op(&w->b, w->t->renamed.at[i]);

		rename_args(&names, op->inputs, op->n_inputs);
		rename_args(&names, op->outputs, op->n_outputs);
		tp_rename_role_var(w->b.prog, op, &names);
	}
	for (size_t i = 0; names.live && i < w->b.block->n_vars; i++) {
		const fl_pb_var *old = w->b.block->vars[i];
		char *to = fl_map_get(&names, old->name);
		fl_pb_var *v;

		if (!to)
			continue;
		v = fl_copy_var(w->b.prog, old);
		v->name = to;
		w->b.block->vars[i] = v;
		tp_index_var(&w->b, old->name, NULL);
		tp_index_var(&w->b, to, v);
	}
	fl_map_release(&names);
}

/* ---- sends ------------------------------------------------------------------------------------- */

static void make_block_vars(struct trainer *w)
{
	for (size_t i = 0; i < w->t->n_pairs; i++) {
		const struct tp_pair *p = &w->t->pairs[i];

		for (size_t k = 0; p->split && k < p->n; k++) {
			tp_block_var(&w->b, p->blocks[k].param, p->pvar, &p->blocks[k], false);
			tp_block_var(&w->b, suffixed(w, p->blocks[k].grad), p->gvar, &p->blocks[k],
				false);
		}
	}
}

/* The communicator splits by itself: it gets the whole gradient and the names and rows of parts. */
static void tell_communicator(struct trainer *w, fl_pb_op *op, const struct tp_pair *p)
{
	int64_t *rows = FL_ARENA_NEW_N(w->b.prog->arena, int64_t, p->n);
	const char **names = FL_ARENA_NEW_N(w->b.prog->arena, const char *, p->n);

	for (size_t k = 0; k < p->n; k++) {
		rows[k] = p->blocks[k].rows;
		names[k] = w->t->by_sender ? tp_trainer_name(w->b.prog, p->blocks[k].grad, w->id)
					   : p->blocks[k].grad;
	}
	fl_op_set_longs(w->b.prog, op, "sections", rows, p->n);
	fl_op_set_strs(w->b.prog, op, "send_varnames", names, p->n);
}

static void send_grad(struct trainer *w, size_t pair)
{
	const struct tp_pair *p = &w->t->pairs[pair];
	const char *name = grad_name(w, p);
	const char **parts = FL_ARENA_NEW_N(w->b.prog->arena, const char *, p->n);
	fl_pb_op *ops[2], *send;
	size_t n = 0;

	for (size_t k = 0; k < p->n; k++)
		parts[k] = suffixed(w, p->blocks[k].grad);
	if (p->split && !w->t->rs)
		ops[n++] = tp_op_split(&w->b, p->gvar, parts, p);
	w->dummy[pair] = tp_control_var(&w->b);
	send = w->t->rs ? tp_op_send(&w->b, &name, 1, w->dummy[pair])
			: tp_op_send(&w->b, parts, p->n, w->dummy[pair]);
	fl_op_set_strs(w->b.prog, send, "epmap", tp_endpoints_of(w->t, w->b.prog, p), p->n);
	if (w->t->rs)
		tell_communicator(w, send, p);
	tp_set_role_var(&w->b, send, p->param, name);
	ops[n++] = send;
	hang_all(w, p->writer + 1, ops, n);
}

static void push(struct trainer *w, fl_pb_op *op)
{
	hang(w, w->t->block->n_ops + 1, op);
}

/* The schedule's counter goes to all servers, by DistributeNotify. */
static const char *send_counter(struct trainer *w)
{
	const struct fl_transpiler *t = w->t;
	const fl_pb_var *counter = fl_map_get(&t->vars, t->counter);
	const char *name = tp_trainer_name(w->b.prog, t->counter, w->id), *dummy;
	fl_pb_op *op;

	for (int i = 0; i < t->opts.trainers; i++)
		tp_make_var(&w->b, tp_trainer_name(w->b.prog, t->counter, i), counter, NULL, 0,
			fl_var_lod_level(counter), fl_var_persistable(counter));
	dummy = tp_control_var(&w->b);
	op = tp_op_send(&w->b, &name, 1, dummy);
	fl_op_set_strs(w->b.prog, op, "epmap", t->opts.pservers, t->opts.n_pservers);
	if (t->rs)
		fl_op_set_strs(w->b.prog, op, "send_varnames", &name, 1);
	fl_op_set_bool(w->b.prog, op, "merge_add", true);
	fl_op_set_bool(w->b.prog, op, "use_send_handler", false);
	tp_set_role_var(&w->b, op, name, name);
	push(w, op);
	return dummy;
}

/* Returns the control variable that the receives wait for. */
static const char *end_of_sends(struct trainer *w)
{
	const struct fl_transpiler *t = w->t;
	const char **deps = FL_ARENA_NEW_N(w->b.prog->arena, const char *, t->n_pairs + 2);
	const char *out = tp_control_var(&w->b);
	size_t n = t->n_pairs;

	for (size_t i = 0; i < n; i++)
		deps[i] = w->dummy[t->send_order[i]];
	if (t->table)
		deps[n++] = w->table_dummy = tp_control_var(&w->b);
	if (t->counter)
		deps[n++] = send_counter(w);
	if (t->sync || t->half)
		push(w, tp_op_send_barrier(&w->b, deps, n, out, t->opts.pservers,
				t->opts.n_pservers, w->id, !t->sync));
	return out;
}

/* ---- receives ----------------------------------------------------------------------------------- */

static void receive(struct trainer *w, size_t pair, const char *barrier)
{
	const struct tp_pair *p = &w->t->pairs[pair];
	const char **parts = tp_part_names(w->b.prog, p), **eps = tp_endpoints_of(w->t, w->b.prog, p);
	const char *dep = w->t->sync ? barrier : w->dummy[pair];
	bool whole = w->t->rs;
	fl_pb_op *op = tp_op_recv(&w->b, dep, whole ? &p->param : parts, whole ? 1 : p->n, eps, p->n,
		w->id);

	if (whole)
		fl_op_set_strs(w->b.prog, op, "recv_varnames", parts, p->n);
	tp_set_role_var(&w->b, op, p->param, grad_name(w, p));
	push(w, op);
	for (size_t k = 0; k < (whole ? 1 : p->n); k++)
		w->fetched[w->n_fetched++] = whole ? p->param : parts[k];
}

static void receive_all(struct trainer *w, const char *barrier)
{
	const struct fl_transpiler *t = w->t;
	size_t blocks = 0;

	for (size_t i = 0; i < t->n_pairs; i++)
		blocks += t->pairs[i].n;
	w->fetched = FL_ARENA_NEW_N(w->b.prog->arena, const char *, blocks);
	for (size_t i = 0; i < t->n_pairs; i++)
		if (!t->pairs[i].remote)
			receive(w, i, barrier);
	if (t->sync)
		push(w, tp_op_fetch_barrier(&w->b, barrier, w->fetched, w->n_fetched,
				t->opts.pservers, t->opts.n_pservers, w->id));
	for (size_t i = 0; i < t->n_pairs; i++) {
		const struct tp_pair *p = &t->pairs[i];

		if (p->split && !p->remote && !t->rs)
			push(w, tp_op_concat(&w->b, tp_part_names(w->b.prog, p), p->n, p->param, FL_ROLE_DIST));
	}
}

/* ---- embeddings whose rows are fetched by id ------------------------------------------------------ */

static enum fl_code fetch_rows(struct trainer *w, const struct tp_pair *p, const size_t *ops,
	size_t n, struct fl_err *err)
{
	struct tp_reach r;

	if (!strcmp(w->t->block->ops[ops[0]]->type, "nce")) {
		for (size_t i = 0; i < n; i++)
			tp_set_rows_of(w->t, &w->b, tp_own_op(&w->b, ops[i]), p, "epmap", w->id);
		return FL_OK;
	}
	r = tp_reach_of(w->t, ops, n);
	if (r.before < r.after)
		return tp_refuse(err, w->t, ops[0],
			"the lookups of table '%s' cannot become one: an operator uses the result of one "
			"before the ids of another are there", p->param);
	for (size_t i = 0; i < n; i++)
		w->dropped[ops[i]] = true;
	hang(w, r.after, tp_fuse_lookups(w->t, &w->b, p, ops, n, w->id));
	return FL_OK;
}

static enum fl_code fetch_rows_all(struct trainer *w, struct fl_err *err)
{
	const struct fl_transpiler *t = w->t;
	enum fl_code code = FL_OK;

	for (size_t i = 0; code == FL_OK && i < t->n_pairs; i++) {
		struct tp_list ops = { 0 };
		const char *type = NULL;

		for (size_t k = 0; t->pairs[i].remote && k < t->lookups.n; k++) {
			const fl_pb_op *op = t->block->ops[t->lookups.at[k]];

			if (!fl_op_reads(op, t->pairs[i].param) || (type && strcmp(type, op->type)))
				continue;
			type = op->type;
			tp_list_add(&ops, t->lookups.at[k]);
		}
		if (ops.n)
			code = fetch_rows(w, &t->pairs[i], ops.at, ops.n, err);
		tp_list_release(&ops);
	}
	return code;
}

static enum fl_code distribute_table(struct trainer *w, struct fl_err *err)
{
	const struct fl_transpiler *t = w->t;
	const size_t *at = t->table_lookups.at;
	fl_pb_op *lookup[3], *send[2];

	if (!t->table)
		return FL_OK;
	if (tp_reach_of(t, at, t->table_lookups.n).after > at[0])
		return tp_refuse(err, t, at[0],
			"the lookups of table '%s' cannot become one: the ids of a later one are not "
			"there yet", t->table->param);
	tp_table_lookup(t, &w->b, lookup);
	tp_table_send(t, &w->b, w->id, w->table_dummy, send);
	for (size_t i = 0; i < t->table_lookups.n; i++)
		w->dropped[at[i]] = true;
	hang_all(w, at[0] + 1, lookup, 3);
	hang_all(w, t->table->first_writer + 1, send, 2);
	return FL_OK;
}

/* ---- the list ------------------------------------------------------------------------------------ */

static size_t put_groups(const struct group *g, fl_pb_op **ops, size_t n)
{
	for (; g; g = g->next)
		for (size_t i = 0; i < g->n; i++)
			ops[n++] = g->ops[i];
	return n;
}

/* The tail was pushed like the groups, latest first. */
static struct group *reversed(struct group *g)
{
	struct group *r = NULL;

	while (g) {
		struct group *next = g->next;

		g->next = r;
		r = g;
		g = next;
	}
	return r;
}

static void flatten(struct trainer *w)
{
	size_t n_old = w->t->block->n_ops, room = n_old, n;
	fl_pb_op **ops;

	w->after[n_old + 1] = reversed(w->after[n_old + 1]);
	for (size_t i = 0; i < n_old + 2; i++)
		for (struct group *g = w->after[i]; g; g = g->next)
			room += g->n;
	ops = FL_NEW_N(fl_pb_op *, room + 1);
	n = put_groups(w->after[0], ops, 0);
	for (size_t i = 0; i < n_old; i++) {
		if (!w->dropped[i])
			ops[n++] = w->b.block->ops[i];
		n = put_groups(w->after[i + 1], ops, n);
	}
	n = put_groups(w->after[n_old + 1], ops, n);
	fl_set_ops(w->b.prog, w->b.block, ops, n);
	tp_sort_attrs(&w->b);
	fl_free(ops);
}

static void drop_optimizers(struct trainer *w)
{
	const struct fl_transpiler *t = w->t;

	for (size_t i = 0; i < t->block->n_ops; i++) {
		if (t->kind[i] == TP_OPT || t->kind[i] == TP_LR)
			w->dropped[i] = true;
		if (t->kind[i] == TP_CLIP)
			fl_op_set_int(w->b.prog, tp_own_op(&w->b, i), FL_ATTR_ROLE,
				FL_ROLE_BACKWARD);
	}
	tp_drop_vars(&w->b, &t->optimizer_vars);
}

static enum fl_code write_trainer(struct trainer *w, struct fl_err *err)
{
	const struct fl_transpiler *t = w->t;
	const char *barrier;

	rename_grads(w);
	make_block_vars(w);
	for (size_t i = 0; i < t->n_pairs; i++)
		send_grad(w, t->send_order[i]);
	barrier = end_of_sends(w);
	receive_all(w, barrier);
	FL_TRY(fetch_rows_all(w, err));
	FL_TRY(distribute_table(w, err));
	drop_optimizers(w);
	flatten(w);
	return FL_OK;
}

enum fl_code tp_trainer_main(const struct fl_transpiler *t, int trainer, struct fl_program **out,
	struct fl_err *err)
{
	struct trainer w = { .t = t, .id = trainer };
	enum fl_code code;

	tp_builder_share(&w.b, t->main_shared, &t->vars);
	w.after = FL_NEW_N(struct group *, t->block->n_ops + 2);
	w.dropped = FL_NEW_N(bool, t->block->n_ops + 1);
	w.dummy = FL_ARENA_NEW_N(w.b.prog->arena, const char *, t->n_pairs);
	code = write_trainer(&w, err);
	fl_free(w.after);
	fl_free(w.dropped);
	tp_builder_release(&w.b);
	if (code == FL_OK)
		*out = w.b.prog;
	else
		fl_program_free(w.b.prog);
	return code;
}
