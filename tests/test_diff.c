/* inspect/canon, inspect/diff. */
#include "fltest.h"

#include <string.h>

#include "desc/edit.h"
#include "desc/names.h"
#include "desc/program.h"
#include "inspect/diff.h"

Suite *suite_diff(void);

static void add_op(struct fl_program *prog, const char *type, const char *in, const char *out)
{
	fl_pb_op *op = fl_new_op(prog, type);

	fl_op_set_input(prog, op, "X", &in, 1);
	fl_op_set_output(prog, op, "Out", &out, 1);
	fl_op_set_int(prog, op, "axis", 1);
	fl_op_set_float(prog, op, "scale", 0.0f);
	fl_push_op(prog, prog->pb->blocks[0], op);
}

/* a -> b -> c -> d through mul, relu, mul */
static struct fl_program *make(void)
{
	static const char *const names[] = { "a", "b", "c", "d" };
	struct fl_program *prog = fl_program_new(1008005);
	fl_pb_block *b = prog->pb->blocks[0];

	for (size_t i = 0; i < 4; i++)
		fl_var_set_tensor(prog, fl_add_var(prog, b, names[i], FL_LOD_TENSOR), FL_FP32,
			(const int64_t[]){ 2 }, 1, 0);
	add_op(prog, "mul", "a", "b");
	add_op(prog, "relu", "b", "c");
	add_op(prog, "mul", "c", "d");
	return prog;
}

/* Compares and frees; the listing is appended to *out. */
static struct fl_diff compare(struct fl_program *a, struct fl_program *b, struct fl_buf *out)
{
	struct fl_diff d = { 0 };
	struct fl_err err;

	FT_OK(fl_diff_programs(&d, a->pb, "a", b->pb, "b", out, &err));
	fl_program_free(a);
	fl_program_free(b);
	return d;
}

static void swap_vars(struct fl_program *prog, size_t i, size_t k)
{
	fl_pb_var **v = prog->pb->blocks[0]->vars, *t = v[i];

	v[i] = v[k];
	v[k] = t;
}

START_TEST(test_diff_volatile_things_do_not_count)
{
	struct fl_program *a = make(), *b = make();
	fl_pb_op *op = b->pb->blocks[0]->ops[0];
	struct fl_buf out = FL_BUF_INIT;
	struct fl_diff d;
	fl_pb_attr *t;

	fl_op_set_str(b, op, FL_ATTR_CALLSTACK, "here");
	t = op->attrs[0];
	op->attrs[0] = op->attrs[1];
	op->attrs[1] = t;
	fl_op_set_float(b, op, "scale", -0.0f);
	fl_op_set_input(b, op, "Empty", NULL, 0);
	swap_vars(b, 0, 3);
	d = compare(a, b, &out);
	ck_assert_uint_eq(fl_diff_total(&d), 0);
	ck_assert_uint_eq(out.len, 0);
	fl_buf_release(&out);
}
END_TEST

START_TEST(test_diff_control_variables_by_use)
{
	struct fl_program *a = make(), *b = make();
	struct fl_buf out = FL_BUF_INIT;
	struct fl_diff d;

	fl_add_var(a, a->pb->blocks[0], "__control_var@0.5", FL_LOD_TENSOR);
	fl_add_var(a, a->pb->blocks[0], "__control_var@0.1", FL_LOD_TENSOR);
	fl_add_var(b, b->pb->blocks[0], "__control_var@0.2", FL_LOD_TENSOR);
	fl_add_var(b, b->pb->blocks[0], "__control_var@0.9", FL_LOD_TENSOR);
	add_op(a, "send", "a", "__control_var@0.5");
	add_op(a, "recv", "__control_var@0.5", "d");
	add_op(b, "send", "a", "__control_var@0.2");
	add_op(b, "recv", "__control_var@0.2", "d");
	d = compare(a, b, &out);
	ck_assert_msg(fl_diff_total(&d) == 0, "%s", fl_buf_str(&out));
	/* tied to another operator they differ */
	a = make();
	b = make();
	add_op(a, "send", "a", "__control_var@1");
	add_op(a, "recv", "__control_var@1", "d");
	add_op(b, "send", "a", "__control_var@1");
	add_op(b, "recv", "__control_var@2", "d");
	d = compare(a, b, &out);
	ck_assert_uint_eq(d.ops_changed, 1);
	fl_buf_release(&out);
}
END_TEST

START_TEST(test_diff_one_more_operator_is_one_difference)
{
	struct fl_program *a = make(), *b = make();
	fl_pb_block *block = b->pb->blocks[0];
	struct fl_buf out = FL_BUF_INIT;
	struct fl_diff d;
	fl_pb_op *last;

	add_op(b, "tanh", "c", "c");
	last = block->ops[3];
	memmove(block->ops + 1, block->ops, 3 * sizeof *block->ops);
	block->ops[0] = last;
	d = compare(a, b, &out);
	ck_assert_uint_eq(fl_diff_total(&d), 1);
	ck_assert_uint_eq(d.ops_new, 1);
	ck_assert_str_eq(fl_buf_str(&out),
		"--- a\n+++ b\n@@ block 0, op 0 @@\n+tanh X=[c] -> Out=[c]\n");
	fl_buf_release(&out);
}
END_TEST

START_TEST(test_diff_names_what_changed)
{
	struct fl_program *a = make(), *b = make();
	struct fl_buf out = FL_BUF_INIT;
	struct fl_diff d;

	fl_op_set_int(b, b->pb->blocks[0]->ops[1], "axis", 2);
	fl_op_del_attr(b->pb->blocks[0]->ops[1], "scale");
	fl_var_set_persistable(b->pb->blocks[0]->vars[2], true);
	d = compare(a, b, &out);
	ck_assert_uint_eq(d.ops_changed, 1);
	ck_assert_uint_eq(d.vars_changed, 1);
	ck_assert_str_eq(fl_buf_str(&out),
		"--- a\n+++ b\n@@ block 0, op 1 @@\n relu X=[b] -> Out=[c]\n-  attr axis: INT 1\n"
		"+  attr axis: INT 2\n-  attr scale: FLOAT 0\n@@ block 0, var c @@\n"
		"+  persistable: true\n");
	fl_buf_release(&out);
}
END_TEST

START_TEST(test_diff_skips_and_refuses)
{
	const char *skip = "axis";
	struct fl_diff d = { .skip = &skip, .n_skip = 1 };
	struct fl_program *a = make(), *b = make();
	struct fl_buf out = FL_BUF_INIT;
	struct fl_err err;

	fl_op_set_int(b, b->pb->blocks[0]->ops[1], "axis", 2);
	FT_OK(fl_diff_programs(&d, a->pb, "a", b->pb, "b", &out, &err));
	ck_assert_uint_eq(fl_diff_total(&d), 0);
	fl_add_var(b, b->pb->blocks[0], "a", FL_LOD_TENSOR);
	FT_FAIL(fl_diff_programs(&d, a->pb, "a", b->pb, "b", &out, &err), FL_EFORMAT);
	FT_SAYS("two variables 'a'");
	fl_program_free(a);
	fl_program_free(b);
	fl_buf_release(&out);
}
END_TEST

/* Too many for the table: side by side, with a look ahead. */
START_TEST(test_diff_large_programs)
{
	struct fl_program *a = fl_program_new(0), *b = fl_program_new(0);
	struct fl_buf out = FL_BUF_INIT;
	struct fl_diff d;
	char name[16];

	for (int i = 0; i < 6000; i++) {
		snprintf(name, sizeof name, "v%d", i);
		add_op(a, "relu", i == 0 || i == 5999 ? "first" : name, name);
		add_op(b, "relu", name, name);
		if (i == 3000)
			add_op(b, "tanh", name, name);
	}
	d = compare(a, b, &out);
	ck_assert_uint_eq(d.ops_changed, 2);
	ck_assert_uint_eq(d.ops_new, 1);
	ck_assert_uint_eq(fl_diff_total(&d), 3);
	fl_buf_release(&out);
}
END_TEST

Suite *suite_diff(void)
{
	Suite *s = suite_create("diff");
	TCase *tc = tcase_create("diff");

	tcase_set_timeout(tc, FT_TIMEOUT);
	tcase_add_test(tc, test_diff_volatile_things_do_not_count);
	tcase_add_test(tc, test_diff_control_variables_by_use);
	tcase_add_test(tc, test_diff_one_more_operator_is_one_difference);
	tcase_add_test(tc, test_diff_names_what_changed);
	tcase_add_test(tc, test_diff_skips_and_refuses);
	tcase_add_test(tc, test_diff_large_programs);
	suite_add_tcase(s, tc);
	return s;
}
