/*
 * Geo-SGD (spec section 13): every trainer has the whole optimizer and trains by itself; its
 * communicator pushes how far the parameters moved, and the server adds that up:
 *
 *	trainer   the program as it is, then send X=[ids of sparse tables]
 *	server    for each owned part: sum X=[w, w.delta] -> w
 *
 * Which parameters are split, and where they lie, the communicator reads from the variables and the
 * server's programs; how often it pushes is in the fingerprint record.
 */
#include <string.h>

#include "base/mem.h"
#include "desc/edit.h"
#include "desc/query.h"
#include "transpile/internal.h"

#define DELTA ".delta"
#define INIT_VAR "param_init"
/* Fluid leaves the operator's default; the communicator knows where to send. */
#define NO_ENDPOINT "127.0.0.1:6164"

static const char *delta_name(struct tp_builder *b, const char *param)
{
	return fl_arena_strfmt(b->prog->arena, "%s" DELTA, param);
}

/* The movement of a parameter, or of a part of it: rows of what is looked up by id. */
static void delta_var(struct tp_builder *b, const struct tp_pair *p, const char *param,
	int64_t rows)
{
	const char *name = delta_name(b, param);
	const fl_pb_tensor *t = fl_var_tensor(p->pvar);
	int64_t *dims = FL_ARENA_NEW_N(b->prog->arena, int64_t, t->n_dims);
	fl_pb_var *v;

	if (tp_var(b, name))
		return;
	for (size_t i = 0; i < t->n_dims; i++)
		dims[i] = i ? t->dims[i] : rows;
	v = fl_add_var(b->prog, b->block, name, p->remote ? FL_SELECTED_ROWS : FL_LOD_TENSOR);
	fl_var_set_tensor(b->prog, v, (int)t->data_type, dims, t->n_dims, 0);
	fl_var_set_persistable(v, false);
	tp_index_var(b, name, v);
}

static void whole_delta(struct tp_builder *b, const struct tp_pair *p)
{
	const fl_pb_tensor *t = fl_var_tensor(p->pvar);

	delta_var(b, p, p->param, t->n_dims ? t->dims[0] : 1);
}

static fl_pb_op *send_op(struct tp_builder *b, const char *const *x, const char *const *names,
	size_t n)
{
	const char *ep = NO_ENDPOINT, *dummy = tp_control_var(b);
	fl_pb_op *op = tp_op_send(b, x, n, dummy);

	fl_op_set_int(b->prog, op, FL_ATTR_ROLE, FL_ROLE_FORWARD);
	fl_op_set_strs(b->prog, op, "epmap", &ep, 1);
	fl_op_set_strs(b->prog, op, "send_varnames", names, n);
	fl_op_sort_attrs(op);
	return op;
}

/* All ids of all tables that are looked up by row, each with its table. */
static void send_ids(const struct fl_transpiler *t, struct tp_builder *b)
{
	const char **ids = FL_ARENA_NEW_N(b->prog->arena, const char *, t->lookups.n);
	const char **tables = FL_ARENA_NEW_N(b->prog->arena, const char *, t->lookups.n);
	size_t n = 0;

	for (size_t i = 0; i < t->lookups.n; i++) {
		fl_pb_op *op = tp_own_op(b, t->lookups.at[i]);
		const char *w = fl_op_in(op, "W", 0);

		fl_op_set_bool(b->prog, op, "remote_prefetch", false);
		if (!w)
			continue;
		ids[n] = fl_op_in(op, "Ids", 0);
		tables[n++] = w;
	}
	fl_push_op(b->prog, b->block, send_op(b, ids, tables, n));
}

enum fl_code tp_geo_trainer(const struct fl_transpiler *t, struct fl_program **out)
{
	struct tp_builder b;

	tp_builder_share(&b, t->main_shared, &t->vars);
	for (size_t i = 0; i < t->n_pairs; i++) {
		const struct tp_pair *p = &t->pairs[i];

		whole_delta(&b, p);
		for (size_t k = 0; p->split && k < p->n; k++) {
			tp_block_var(&b, p->blocks[k].param, p->pvar, &p->blocks[k], false);
			delta_var(&b, p, p->blocks[k].param, p->blocks[k].rows);
		}
	}
	/* Fluid's analysis marks the operators of set_gradient_clip as backward in this mode, too. */
	for (size_t i = 0; i < t->block->n_ops; i++)
		if (t->kind[i] == TP_CLIP &&
			strstr(fl_attr_str(t->block->ops[i], FL_ATTR_NAMESCOPE, ""), "@CLIP"))
			fl_op_set_int(b.prog, tp_own_op(&b, i), FL_ATTR_ROLE, FL_ROLE_BACKWARD);
	send_ids(t, &b);
	tp_sort_attrs(&b);
	tp_builder_release(&b);
	*out = b.prog;
	return FL_OK;
}

/* After the parameters came from the servers: the communicator takes them as the point to move from. */
void tp_geo_startup(const struct fl_transpiler *t, struct tp_builder *b)
{
	const char *init = INIT_VAR;

	for (size_t i = 0; i < t->n_pairs; i++)
		whole_delta(b, &t->pairs[i]);
	if (!tp_var(b, init))
		tp_index_var(b, init, fl_add_var(b->prog, b->block, init, FL_LOD_TENSOR));
	fl_push_op(b->prog, b->block, send_op(b, &init, &init, 1));
}

/* The server's block for one part; returns the delta's name. */
const char *tp_geo_update(struct tp_builder *b, fl_pb_block *into, const struct tp_pair *p,
	const struct tp_block *blk)
{
	const char *x[2] = { blk->param, delta_name(b, blk->param) };
	fl_pb_op *op;

	delta_var(b, p, blk->param, blk->rows);
	op = tp_op_sum(b, x, 2, blk->param);
	fl_op_sort_attrs(op);
	fl_push_op(b->prog, into, op);
	return x[1];
}
