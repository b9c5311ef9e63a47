/*
 * Embeddings whose rows the trainers fetch by id (remote_prefetch, spec section 11.2): all lookups of one
 * table become one operator, which stands where the last of the ids is there.
 */
#include "base/mem.h"
#include "desc/edit.h"
#include "desc/query.h"
#include "transpile/internal.h"

void tp_set_rows_of(const struct fl_transpiler *t, struct tp_builder *b, fl_pb_op *op,
	const struct tp_pair *p, const char *eps, int trainer)
{
	int64_t *rows = FL_ARENA_NEW_N(b->prog->arena, int64_t, p->n);

	for (size_t k = 0; k < p->n; k++)
		rows[k] = p->blocks[k].rows;
	fl_op_set_strs(b->prog, op, "table_names", tp_part_names(b->prog, p), p->n);
	fl_op_set_longs(b->prog, op, "height_sections", rows, p->n);
	fl_op_set_strs(b->prog, op, eps, tp_endpoints_of(t, b->prog, p), p->n);
	fl_op_set_int(b->prog, op, "trainer_id", trainer);
}

/* One operator in place of all lookups of the table. */
fl_pb_op *tp_fuse_lookups(const struct fl_transpiler *t, struct tp_builder *b,
	const struct tp_pair *p, const size_t *ops, size_t n, int trainer)
{
	const fl_pb_op *first = t->block->ops[ops[0]];
	fl_pb_op *op = tp_op(b, "distributed_lookup_table", FL_ROLE_FORWARD);
	const char **ids = FL_ARENA_NEW_N(b->prog->arena, const char *, n);
	const char **outs = FL_ARENA_NEW_N(b->prog->arena, const char *, n);

	for (size_t i = 0; i < n; i++) {
		ids[i] = fl_op_in(t->block->ops[ops[i]], "Ids", 0);
		outs[i] = fl_op_out(t->block->ops[ops[i]], "Out", 0);
	}
	fl_op_set_input(b->prog, op, "Ids", ids, n);
	fl_op_set_input(b->prog, op, "W", &p->param, 1);
	fl_op_set_output(b->prog, op, "Outputs", outs, n);
	tp_set_rows_of(t, b, op, p, "endpoints", trainer);
	fl_op_set_long(b->prog, op, "padding_idx", fl_attr_int(first, "padding_idx", -1));
	fl_op_set_str(b->prog, op, "lookup_table_version", first->type);
	fl_op_set_int(b->prog, op, "dtype", FL_FP32);
	return op;
}

struct tp_reach tp_reach_of(const struct fl_transpiler *t, const size_t *ops, size_t n)
{
	struct tp_reach r = { 0, t->block->n_ops };
	struct fl_map ids, outs;

	fl_map_init(&ids);
	fl_map_init(&outs);
	for (size_t i = 0; i < n; i++) {
		fl_map_put(&ids, fl_op_in(t->block->ops[ops[i]], "Ids", 0), &ids);
		fl_map_put(&outs, fl_op_out(t->block->ops[ops[i]], "Out", 0), &outs);
	}
	for (size_t i = 0; i < t->block->n_ops; i++) {
		const fl_pb_op *op = t->block->ops[i];

		for (size_t s = 0; s < op->n_outputs; s++)
			for (size_t a = 0; a < op->outputs[s]->n_arguments; a++)
				if (fl_map_has(&ids, op->outputs[s]->arguments[a]))
					r.after = i + 1;
		for (size_t s = 0; s < op->n_inputs; s++)
			for (size_t a = 0; a < op->inputs[s]->n_arguments; a++)
				if (r.before > i && fl_map_has(&outs, op->inputs[s]->arguments[a]))
					r.before = i;
	}
	fl_map_release(&ids);
	fl_map_release(&outs);
	return r;
}
