/* inspect/prune. */
#include "fltest.h"

#include <string.h>

#include "desc/edit.h"
#include "desc/names.h"
#include "desc/program.h"
#include "desc/query.h"
#include "inspect/prune.h"

Suite *suite_prune(void);

static fl_pb_op *add_op(struct fl_program *prog, fl_pb_block *b, const char *type, const char *in,
	const char *out)
{
	fl_pb_op *op = fl_new_op(prog, type);

	fl_op_set_input(prog, op, "X", &in, 1);
	fl_op_set_output(prog, op, "Out", &out, 1);
	fl_push_op(prog, b, op);
	return op;
}

/* x -> h -> y, a sub-block (2) that makes z of inner, an idle sub-block (1), an update of h */
static struct fl_program *make(void)
{
	static const char *const names[] = { "x", "h", "y", "z", "inner", "idle" };
	struct fl_program *prog = fl_program_new(0);
	fl_pb_block *b, *sub;
	fl_pb_op *op;

	fl_add_block(prog, 0);
	sub = fl_add_block(prog, 0);
	b = prog->pb->blocks[0];
	for (size_t i = 0; i < 6; i++)
		fl_add_var(prog, b, names[i], FL_LOD_TENSOR);
	add_op(prog, b, "fill", "x", "inner");
	add_op(prog, b, "relu", "x", "h");
	op = add_op(prog, b, "dropout", "h", "y");
	fl_op_set_bool(prog, op, "is_test", false);
	op = add_op(prog, b, "while", "h", "z");
	fl_op_set_block(prog, op, FL_ATTR_SUB_BLOCK, 2);
	op = add_op(prog, b, "while", "x", "idle");
	fl_op_set_block(prog, op, FL_ATTR_SUB_BLOCK, 1);
	op = add_op(prog, b, "sgd", "y", "h");
	fl_op_set_int(prog, op, FL_ATTR_ROLE, FL_ROLE_OPTIMIZE);
	add_op(prog, sub, "assign", "inner", "z");
	return prog;
}

static enum fl_code prune(struct fl_program *prog, const char *target, const char *feed,
	struct fl_err *err)
{
	const struct fl_prune what = { &target, 1, &feed, feed ? 1 : 0 };

	return fl_prune(prog, &what, err);
}

START_TEST(test_prune_keeps_what_is_needed)
{
	struct fl_program *prog = make();
	const fl_pb_block *b = prog->pb->blocks[0];
	struct fl_err err;

	FT_OK(prune(prog, "y", NULL, &err));
	ck_assert_uint_eq(b->n_ops, 2);
	ck_assert_str_eq(b->ops[0]->type, "relu");
	ck_assert_str_eq(b->ops[1]->type, "dropout");
	ck_assert_uint_eq(b->n_vars, 3);
	ck_assert_uint_eq(prog->pb->n_blocks, 1);
	ck_assert(fl_attr_bool(b->ops[1], "is_test", false));
	fl_program_free(prog);
}
END_TEST

START_TEST(test_prune_stops_at_feeds)
{
	struct fl_program *prog = make();
	const fl_pb_block *b = prog->pb->blocks[0];
	struct fl_err err;

	FT_OK(prune(prog, "y", "h", &err));
	ck_assert_uint_eq(b->n_ops, 1);
	ck_assert_ptr_null(fl_block_var(b, "x"));
	ck_assert_ptr_nonnull(fl_block_var(b, "h"));
	fl_program_free(prog);
}
END_TEST

START_TEST(test_prune_renumbers_sub_blocks)
{
	struct fl_program *prog = make();
	const fl_pb_block *b = prog->pb->blocks[0];
	struct fl_err err;

	FT_OK(prune(prog, "z", NULL, &err));
	ck_assert_uint_eq(b->n_ops, 3); /* fill, which only the sub-block reads; relu; while */
	ck_assert_uint_eq(prog->pb->n_blocks, 2);
	ck_assert_int_eq(prog->pb->blocks[1]->idx, 1);
	ck_assert_str_eq(prog->pb->blocks[1]->ops[0]->type, "assign");
	ck_assert_int_eq(fl_attr_int(b->ops[2], FL_ATTR_SUB_BLOCK, -1), 1);
	fl_program_free(prog);
}
END_TEST

START_TEST(test_prune_refuses)
{
	struct fl_program *prog = make();
	struct fl_err err;

	FT_FAIL(prune(prog, "idl", NULL, &err), FL_ENOTFOUND);
	FT_SAYS("did you mean 'idle'?");
	FT_FAIL(prune(prog, "x", NULL, &err), FL_ENOTFOUND);
	FT_SAYS("no operator makes the target 'x'");
	FT_FAIL(prune(prog, "y", "nothing_like_it", &err), FL_ENOTFOUND);
	ck_assert_uint_eq(prog->pb->blocks[0]->n_ops, 6);
	fl_program_free(prog);
}
END_TEST

Suite *suite_prune(void)
{
	Suite *s = suite_create("prune");
	TCase *tc = tcase_create("prune");

	tcase_add_test(tc, test_prune_keeps_what_is_needed);
	tcase_add_test(tc, test_prune_stops_at_feeds);
	tcase_add_test(tc, test_prune_renumbers_sub_blocks);
	tcase_add_test(tc, test_prune_refuses);
	suite_add_tcase(s, tc);
	return s;
}
