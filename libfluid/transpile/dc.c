/*
 * DC-ASGD (spec section 13): a gradient was computed with parameters that other trainers' updates have
 * left behind. The server keeps what it last gave to each trainer, and corrects by first order:
 *
 *	ref_by_trainer_id X=[w.trainer_0_bak, ..] -> w.local_bak
 *	g' = g + g * g * (w - w.local_bak)
 */
#include "base/mem.h"
#include "desc/edit.h"
#include "desc/query.h"
#include "transpile/internal.h"

#define TRAINER_ID "@TRAINER_ID@"

static const char *backup_name(struct fl_program *prog, const char *param, int trainer)
{
	return fl_arena_strfmt(prog->arena, "%s" FL_TRAINER_INFIX "%d_bak", param, trainer);
}

void tp_dc_vars(const struct fl_transpiler *t, struct tp_builder *b, const char *param)
{
	const fl_pb_var *v = tp_var(b, param);

	for (int i = 0; i < t->opts.trainers; i++)
		tp_make_var(b, backup_name(b->prog, param, i), v, NULL, 0, 0, false);
}

static void local_var(struct tp_builder *b, fl_pb_block *into, const char *name, int dtype,
	const int64_t *dims, size_t rank)
{
	fl_pb_var *v = fl_add_var(b->prog, into, name, FL_LOD_TENSOR);

	fl_var_set_tensor(b->prog, v, dtype, dims, rank, 0);
	fl_var_set_persistable(v, false);
}

/* out = x (op) y, element by element; returns out's name, a new temporary of the block. */
static const char *compute(struct tp_builder *b, fl_pb_block *into, const char *type, const char *x,
	const char *y, const fl_pb_tensor *like, int *temps)
{
	const char *out = fl_arena_strfmt(b->prog->arena, "tmp_dc_output_%d", (*temps)++);
	fl_pb_op *op = tp_op(b, type, FL_ROLE_FORWARD);

	local_var(b, into, out, (int)like->data_type, like->dims, like->n_dims);
	fl_op_set_input(b->prog, op, "X", &x, 1);
	fl_op_set_input(b->prog, op, "Y", &y, 1);
	fl_op_set_output(b->prog, op, "Out", &out, 1);
	fl_op_set_int(b->prog, op, "axis", -1);
	fl_op_set_bool(b->prog, op, "use_mkldnn", false);
	fl_op_set_str(b->prog, op, "x_data_format", "");
	fl_op_set_str(b->prog, op, "y_data_format", "");
	fl_op_sort_attrs(op);
	fl_push_op(b->prog, into, op);
	return out;
}

const char *tp_dc_compensate(const struct fl_transpiler *t, struct tp_builder *b, fl_pb_block *into,
	const char *param, const char *grad, int *temps)
{
	static const int64_t one = 1;
	size_t n = (size_t)t->opts.trainers;
	const fl_pb_tensor *like = fl_var_tensor(tp_var(b, param));
	const char **backups = FL_ARENA_NEW_N(b->prog->arena, const char *, n);
	const char *local = fl_arena_strfmt(b->prog->arena, "%s.local_bak", param);
	const char *id = TRAINER_ID, *d;
	fl_pb_op *op = tp_op(b, "ref_by_trainer_id", FL_ROLE_FORWARD);

	for (size_t i = 0; i < n; i++)
		backups[i] = backup_name(b->prog, param, (int)i);
	local_var(b, into, local, (int)like->data_type, like->dims, like->n_dims);
	local_var(b, into, id, FL_INT64, &one, 1);
	fl_op_set_input(b->prog, op, "X", backups, n);
	fl_op_set_input(b->prog, op, "TrainerId", &id, 1);
	fl_op_set_output(b->prog, op, "Out", &local, 1);
	fl_op_sort_attrs(op);
	fl_push_op(b->prog, into, op);
	d = compute(b, into, "elementwise_sub", param, local, like, temps);
	d = compute(b, into, "elementwise_mul", d, grad, like, temps);
	d = compute(b, into, "elementwise_mul", d, grad, like, temps);
	return compute(b, into, "elementwise_add", grad, d, like, temps);
}

void tp_dc_startup(const struct fl_transpiler *t, struct tp_builder *b, const char *param)
{
	for (int i = 0; i < t->opts.trainers; i++) {
		const char *backup = backup_name(b->prog, param, i);
		fl_pb_op *op = tp_op(b, "assign", FL_ROLE_FORWARD);

		fl_op_set_input(b->prog, op, "X", &param, 1);
		fl_op_set_output(b->prog, op, "Out", &backup, 1);
		fl_op_sort_attrs(op);
		fl_push_op(b->prog, b->block, op);
	}
}
