/*
 * A program under construction: variables of block 0 by name, numbered control variables, and the
 * attributes that Fluid's front end gives to every operator it makes.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "desc/edit.h"
#include "desc/query.h"
#include "transpile/internal.h"

void tp_builder_init(struct tp_builder *b, struct fl_program *prog)
{
	b->prog = prog;
	b->block = prog->pb->blocks[0];
	b->controls = 0;
	b->base = NULL;
	memset(b->likes, 0, sizeof b->likes);
	fl_map_init(&b->vars);
}

void tp_builder_share(struct tp_builder *b, const struct fl_shared *shared,
	const struct fl_map *vars)
{
	tp_builder_init(b, fl_shared_program(shared));
	b->base = vars;
}

fl_pb_op *tp_own_op(struct tp_builder *b, size_t i)
{
	if (b->prog->shared && fl_shared_has(b->prog->shared, b->block->ops[i]))
		b->block->ops[i] = fl_share_op(b->prog, b->block->ops[i]);
	return b->block->ops[i];
}

void tp_index_var(struct tp_builder *b, const char *name, fl_pb_var *var)
{
	fl_map_put(&b->vars, name, var);
}

void tp_sort_attrs(struct tp_builder *b)
{
	for (size_t i = 0; i < b->block->n_ops; i++)
		if (!b->prog->shared || !fl_shared_has(b->prog->shared, b->block->ops[i]))
			fl_op_sort_attrs(b->block->ops[i]);
}

void tp_builder_release(struct tp_builder *b)
{
	fl_map_release(&b->vars);
}

fl_pb_var *tp_var(const struct tp_builder *b, const char *name)
{
	fl_pb_var *v = fl_map_get(&b->vars, name);

	return v || !b->base || fl_map_has(&b->vars, name) ? v : fl_map_get(b->base, name);
}

fl_pb_var *tp_make_var(struct tp_builder *b, const char *name, const fl_pb_var *like,
	const int64_t *dims, size_t rank, int lod_level, bool persistable)
{
	fl_pb_var *v = tp_var(b, name);
	const fl_pb_tensor *t = fl_var_tensor(like);

	if (v)
		return v;
	v = fl_add_var(b->prog, b->block, name, (int)like->type->type);
	if (t)
		fl_var_set_tensor(b->prog, v, (int)t->data_type, dims ? dims : t->dims,
			dims ? rank : t->n_dims, lod_level);
	fl_var_set_persistable(v, persistable);
	tp_index_var(b, name, v);
	return v;
}

fl_pb_var *tp_clone_var(struct tp_builder *b, const fl_pb_var *like, bool persistable)
{
	return tp_make_var(b, like->name, like, NULL, 0, fl_var_lod_level(like), persistable);
}

fl_pb_var *tp_block_var(struct tp_builder *b, const char *name, const fl_pb_var *like,
	const struct tp_block *block, bool persistable)
{
	const fl_pb_tensor *t = fl_var_tensor(like);
	size_t rank = t ? t->n_dims : 0;
	int64_t *dims = fl_program_alloc(b->prog, (rank + 1) * sizeof *dims);

	for (size_t i = 0; i < rank; i++)
		dims[i] = i ? t->dims[i] : block->rows;
	return tp_make_var(b, name, like, dims, rank, 0, persistable);
}

const char *tp_control_var(struct tp_builder *b)
{
	char name[64];
	fl_pb_var *v;

	do
		snprintf(name, sizeof name, FL_CONTROL_VAR "@%d", b->controls++);
	while (tp_var(b, name));
	v = fl_add_var(b->prog, b->block, name, FL_LOD_TENSOR);
	tp_index_var(b, name, v);
	return v->name;
}

void tp_drop_vars(struct tp_builder *b, const struct fl_map *names)
{
	size_t kept = 0;

	for (size_t i = 0; i < b->block->n_vars; i++) {
		fl_pb_var *v = b->block->vars[i];

		if (fl_map_has(names, v->name))
			tp_index_var(b, v->name, NULL);
		else
			b->block->vars[kept++] = v;
	}
	b->block->n_vars = kept;
}

bool tp_has_block(const fl_pb_op *op)
{
	for (size_t i = 0; i < op->n_attrs; i++)
		if ((int)op->attrs[i]->type == FL_ATTR_BLOCK || (int)op->attrs[i]->type == FL_ATTR_BLOCKS)
			return true;
	return false;
}

const char *tp_trainer_name(struct fl_program *prog, const char *base, int trainer)
{
	return fl_arena_strfmt(prog->arena, "%s" FL_TRAINER_INFIX "%d", base, trainer);
}

const char **tp_part_names(struct fl_program *prog, const struct tp_pair *pair)
{
	const char **names = FL_ARENA_NEW_N(prog->arena, const char *, pair->n);

	for (size_t k = 0; k < pair->n; k++)
		names[k] = pair->blocks[k].param;
	return names;
}

const char **tp_endpoints_of(const struct fl_transpiler *t, struct fl_program *prog,
	const struct tp_pair *pair)
{
	const char **eps = FL_ARENA_NEW_N(prog->arena, const char *, pair->n);

	for (size_t i = 0; i < pair->n; i++)
		eps[i] = t->opts.pservers[pair->blocks[i].server];
	return eps;
}

/* ---- operators: slots, attributes and defaults of spec section 18 ----------------------------- */

fl_pb_op *tp_op(struct tp_builder *b, const char *type, int role)
{
	fl_pb_op *op = fl_new_op(b->prog, type);

	fl_op_set_int(b->prog, op, FL_ATTR_ROLE, role);
	fl_op_set_strs(b->prog, op, FL_ATTR_ROLE_VAR, NULL, 0);
	fl_op_set_str(b->prog, op, FL_ATTR_NAMESCOPE, "/");
	fl_op_set_str(b->prog, op, FL_ATTR_DEVICE, "");
	return op;
}

void tp_set_role_var(struct tp_builder *b, fl_pb_op *op, const char *param, const char *grad)
{
	const char *pair[] = { param, grad };

	fl_op_set_strs(b->prog, op, FL_ATTR_ROLE_VAR, pair, 2);
}

/*
 * What there are thousands of in a program is made from a first one, whose attributes they point to: an
 * attribute takes 250 bytes.
 */
enum { LIKE_SEND, LIKE_RECV, LIKE_CONCAT, LIKE_SPLIT, LIKE_SUM, LIKE_SCALE };

static fl_pb_op *first(struct tp_builder *b, int like, const char *type, int role)
{
	static_assert(LIKE_SCALE < TP_LIKES, "every kind has a place");
	return b->likes[like] = tp_op(b, type, role);
}

static fl_pb_op *another(struct tp_builder *b, int like, int role)
{
	fl_pb_op *op = fl_op_like(b->prog, b->likes[like]);

	if (fl_op_role(op) != role)
		fl_op_set_int(b->prog, op, FL_ATTR_ROLE, role);
	return op;
}

static void first_send(struct tp_builder *b)
{
	fl_pb_op *op = first(b, LIKE_SEND, "send", FL_ROLE_RPC);

	fl_op_set_int(b->prog, op, "trainer_id", 0);
	fl_op_set_longs(b->prog, op, "sections", NULL, 0);
	fl_op_set_strs(b->prog, op, "send_varnames", NULL, 0);
	fl_op_set_int(b->prog, op, "num", 0);
	fl_op_set_bool(b->prog, op, "merge_add", false);
	fl_op_set_bool(b->prog, op, "use_send_handler", true);
	fl_op_sort_attrs(op);
}

fl_pb_op *tp_op_send(struct tp_builder *b, const char *const *x, size_t n, const char *out)
{
	fl_pb_op *op;

	if (!b->likes[LIKE_SEND])
		first_send(b);
	op = another(b, LIKE_SEND, FL_ROLE_RPC);
	fl_op_set_input(b->prog, op, "X", x, n);
	fl_op_set_output(b->prog, op, "Out", &out, 1);
	return op;
}

static void first_recv(struct tp_builder *b, int trainer_id)
{
	fl_pb_op *op = first(b, LIKE_RECV, "recv", FL_ROLE_RPC);

	fl_op_set_int(b->prog, op, "trainer_id", trainer_id);
	fl_op_set_bool(b->prog, op, "with_barrier", true);
	fl_op_set_strs(b->prog, op, "varnames", NULL, 0);
	fl_op_set_strs(b->prog, op, "recv_varnames", NULL, 0);
	fl_op_set_int(b->prog, op, "do_not_run", 0);
	fl_op_sort_attrs(op);
}

fl_pb_op *tp_op_recv(struct tp_builder *b, const char *dep, const char *const *out, size_t n,
	const char *const *epmap, size_t n_ep, int trainer_id)
{
	fl_pb_op *op;

	if (!b->likes[LIKE_RECV])
		first_recv(b, trainer_id);
	op = another(b, LIKE_RECV, FL_ROLE_RPC);
	fl_op_set_input(b->prog, op, "X", &dep, dep ? 1 : 0);
	fl_op_set_output(b->prog, op, "Out", out, n);
	fl_op_set_strs(b->prog, op, "epmap", epmap, n_ep);
	if (fl_attr_int(op, "trainer_id", 0) != trainer_id)
		fl_op_set_int(b->prog, op, "trainer_id", trainer_id);
	return op;
}

static fl_pb_op *barrier(struct tp_builder *b, const char *type, const char *const *endpoints,
	size_t n_ep, int trainer_id)
{
	fl_pb_op *op = tp_op(b, type, FL_ROLE_RPC);

	fl_op_set_strs(b->prog, op, "endpoints", endpoints, n_ep);
	fl_op_set_int(b->prog, op, "trainer_id", trainer_id);
	return op;
}

fl_pb_op *tp_op_send_barrier(struct tp_builder *b, const char *const *x, size_t n, const char *out,
	const char *const *endpoints, size_t n_ep, int trainer_id, bool half_async)
{
	fl_pb_op *op = barrier(b, "send_barrier", endpoints, n_ep, trainer_id);

	fl_op_set_input(b->prog, op, "X", x, n);
	fl_op_set_output(b->prog, op, "Out", &out, 1);
	fl_op_set_bool(b->prog, op, "half_async", half_async);
	return op;
}

fl_pb_op *tp_op_fetch_barrier(struct tp_builder *b, const char *x, const char *const *out, size_t n,
	const char *const *endpoints, size_t n_ep, int trainer_id)
{
	fl_pb_op *op = barrier(b, "fetch_barrier", endpoints, n_ep, trainer_id);

	fl_op_set_input(b->prog, op, "X", &x, x ? 1 : 0);
	fl_op_set_output(b->prog, op, "Out", out, n);
	return op;
}

fl_pb_op *tp_op_concat(struct tp_builder *b, const char *const *x, size_t n, const char *out,
	int role)
{
	fl_pb_op *op = b->likes[LIKE_CONCAT];

	if (!op) {
		op = first(b, LIKE_CONCAT, "concat", role);
		fl_op_set_int(b->prog, op, "axis", 0);
		fl_op_set_bool(b->prog, op, "use_mkldnn", false);
		fl_op_set_bool(b->prog, op, "use_quantizer", false);
		fl_op_sort_attrs(op);
	}
	op = another(b, LIKE_CONCAT, role);
	fl_op_set_input(b->prog, op, "X", x, n);
	fl_op_set_output(b->prog, op, "Out", &out, 1);
	return op;
}

fl_pb_op *tp_op_split(struct tp_builder *b, const fl_pb_var *grad, const char *const *out,
	const struct tp_pair *pair)
{
	bool sparse = (int)grad->type->type == FL_SELECTED_ROWS;
	fl_pb_op *op;
	int32_t *rows = FL_ARENA_NEW_N(b->prog->arena, int32_t, pair->n);
	int64_t *longs = FL_ARENA_NEW_N(b->prog->arena, int64_t, pair->n);
	const char *name = grad->name;

	if (!b->likes[LIKE_SPLIT])
		fl_op_set_int(b->prog, first(b, LIKE_SPLIT, "split_byref", FL_ROLE_DIST), "num", 0);
	op = sparse ? tp_op(b, "split_selected_rows", FL_ROLE_DIST)
		    : another(b, LIKE_SPLIT, FL_ROLE_DIST);
	for (size_t i = 0; i < pair->n; i++) {
		longs[i] = pair->blocks[i].rows;
		rows[i] = (int32_t)longs[i];
	}
	fl_op_set_input(b->prog, op, "X", &name, 1);
	fl_op_set_output(b->prog, op, "Out", out, pair->n);
	if (sparse) {
		fl_op_set_longs(b->prog, op, "height_sections", longs, pair->n);
		return op;
	}
	fl_op_set_ints(b->prog, op, "sections", rows, pair->n);
	return op;
}

fl_pb_op *tp_op_sum(struct tp_builder *b, const char *const *x, size_t n, const char *out)
{
	fl_pb_op *op = b->likes[LIKE_SUM];

	if (!op) {
		op = first(b, LIKE_SUM, "sum", FL_ROLE_FORWARD);
		fl_op_set_bool(b->prog, op, "use_mkldnn", false);
		fl_op_sort_attrs(op);
	}
	op = another(b, LIKE_SUM, FL_ROLE_FORWARD);
	fl_op_set_input(b->prog, op, "X", x, n);
	fl_op_set_output(b->prog, op, "Out", &out, 1);
	return op;
}

fl_pb_op *tp_op_scale(struct tp_builder *b, const char *x, float scale)
{
	fl_pb_op *op = b->likes[LIKE_SCALE];

	if (!op) {
		op = first(b, LIKE_SCALE, "scale", FL_ROLE_FORWARD);
		fl_op_set_float(b->prog, op, "bias", 0);
		fl_op_set_bool(b->prog, op, "bias_after_scale", true);
		fl_op_sort_attrs(op);
	}
	op = another(b, LIKE_SCALE, FL_ROLE_FORWARD);
	fl_op_set_input(b->prog, op, "X", &x, 1);
	fl_op_set_output(b->prog, op, "Out", &x, 1);
	fl_op_set_float(b->prog, op, "scale", scale);
	return op;
}

fl_pb_op *tp_op_counter(struct tp_builder *b, const fl_pb_var *var, const char *name, float value)
{
	fl_pb_op *op = tp_op(b, "fill_constant", FL_ROLE_FORWARD);
	const fl_pb_tensor *t = fl_var_tensor(var);

	fl_op_set_output(b->prog, op, "Out", &name, 1);
	fl_op_set_longs(b->prog, op, "shape", t ? t->dims : NULL, t ? t->n_dims : 0);
	fl_op_set_int(b->prog, op, "dtype", fl_var_dtype(var));
	fl_op_set_float(b->prog, op, "value", value);
	fl_op_set_str(b->prog, op, "str_value", "");
	fl_op_set_bool(b->prog, op, "force_cpu", false);
	return op;
}
