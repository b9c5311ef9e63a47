/* inspect/check: programs, and roles against each other. */
#include "fltest.h"

#include <string.h>

#include "desc/edit.h"
#include "desc/names.h"
#include "desc/program.h"
#include "inspect/check.h"

Suite *suite_check(void);

static fl_pb_op *add_op(struct fl_program *prog, const char *type, const char *in, const char *out)
{
	fl_pb_op *op = fl_new_op(prog, type);

	if (in)
		fl_op_set_input(prog, op, "X", &in, 1);
	if (out)
		fl_op_set_output(prog, op, "Out", &out, 1);
	fl_push_op(prog, prog->pb->blocks[0], op);
	return op;
}

static void add_vars(struct fl_program *prog, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		fl_var_set_tensor(prog, fl_add_var(prog, prog->pb->blocks[0], names[i], FL_LOD_TENSOR),
			FL_FP32, (const int64_t[]){ 2, 3 }, 2, 0);
}

/* Frees the program; the report holds exactly so many problems, and the text (NULL: none). */
static void found(struct fl_program *prog, bool strict, size_t problems, const char *text)
{
	struct fl_report r = { .strict = strict };

	fl_check_program(prog->pb, "p", &r);
	ck_assert_msg(r.problems == problems, "%zu problems: %s", r.problems, fl_buf_str(&r.text));
	if (text)
		ck_assert_msg(strstr(fl_buf_str(&r.text), text) != NULL, "no '%s' in: %s", text,
			fl_buf_str(&r.text));
	fl_report_release(&r);
	fl_program_free(prog);
}

static struct fl_program *make(void)
{
	struct fl_program *prog = fl_program_new(0);

	add_vars(prog, (const char *const[]){ "first", "second" }, 2);
	return prog;
}

START_TEST(test_check_unknown_operators)
{
	struct fl_program *prog = make();

	add_op(prog, "no_such_op", "first", "second");
	found(prog, false, 0, "p: block 0, op 0 'no_such_op': note: ");
	prog = make();
	add_op(prog, "no_such_op", "first", "second");
	found(prog, true, 1, "does not know the operator");
}
END_TEST

START_TEST(test_check_names)
{
	struct fl_program *prog = make();

	add_op(prog, "no_such_op", "frist", "second");
	found(prog, false, 1, "input 'X': variable 'frist' is not declared, did you mean 'first'?");
	prog = make();
	add_op(prog, "no_such_op", FL_EMPTY_VAR, "second");
	found(prog, false, 0, NULL);
	prog = make();
	add_vars(prog, (const char *const[]){ "first", "" }, 2);
	found(prog, false, 2, "variable 'first' is declared twice");
}
END_TEST

START_TEST(test_check_blocks)
{
	struct fl_program *prog = make();

	fl_op_set_block(prog, add_op(prog, "no_such_op", "first", "second"), FL_ATTR_SUB_BLOCK, 1);
	found(prog, false, 1, "attribute 'sub_block' names block 1, the program has 1");
	prog = make();
	for (int i = 0; i < 70; i++)
		fl_add_block(prog, i);
	found(prog, false, 7, "nested deeper than 64");
}
END_TEST

START_TEST(test_check_order)
{
	struct fl_program *prog = make();

	add_op(prog, "no_such_op", "first", "second");
	add_op(prog, "no_such_op", "second", "first");
	found(prog, false, 1, "variable 'first' is read before op 1 'no_such_op' makes it");
	prog = make();
	fl_var_set_persistable(prog->pb->blocks[0]->vars[0], true);
	add_op(prog, "no_such_op", "first", "second");
	add_op(prog, "no_such_op", "second", "first");
	found(prog, false, 0, NULL);
}
END_TEST

START_TEST(test_check_attribute_with_two_values)
{
	struct fl_program *prog = make();
	fl_pb_op *op = add_op(prog, "no_such_op", "first", "second");

	fl_op_set_int(prog, op, "axis", 1);
	fl_op_set_int(prog, op, "axit", 2);
	op->attrs[1]->name = op->attrs[0]->name;
	found(prog, false, 1, "attribute 'axis' has two values");
}
END_TEST

START_TEST(test_check_reports_are_bounded)
{
	struct fl_program *prog = make();
	struct fl_report r = { 0 };

	for (int i = 0; i < 3000; i++)
		add_op(prog, "no_such_op", "nowhere", "second");
	fl_check_program(prog->pb, "p", &r);
	ck_assert_uint_eq(r.problems, 3000);
	ck_assert_uint_lt(r.text.len, 1002 * 200);
	fl_report_release(&r);
	fl_program_free(prog);
}
END_TEST

/* relu: second = max(first, 0), both of one shape */
START_TEST(test_check_slots_and_attributes)
{
	struct fl_program *prog = make();
	const char *names[] = { "first", "first" };
	fl_pb_op *op;

	add_op(prog, "relu", "first", "second");
	found(prog, true, 0, NULL);
	prog = make();
	add_op(prog, "relu", NULL, "second");
	found(prog, false, 1, "op 0 'relu': input 'X' is missing");
	prog = make();
	op = add_op(prog, "relu", "first", "second");
	fl_op_set_input(prog, op, "X", names, 2);
	found(prog, false, 1, "input 'X' takes one variable, 2 are given");
	prog = make();
	op = add_op(prog, "mul", "first", "second");
	fl_op_set_input(prog, op, "Yy", names, 1);
	found(prog, false, 2, "it has no input 'Yy', did you mean 'Y'?");
	prog = make();
	op = add_op(prog, "mean", "first", "second");
	prog->pb->blocks[0]->vars[1]->type->lod_tensor->tensor->n_dims = 0;
	fl_op_set_str(prog, op, "no_such_attribute", "x");
	found(prog, false, 0, "note: attribute 'no_such_attribute' is not known");
	prog = make();
	op = add_op(prog, "scale", "first", "second");
	fl_op_set_str(prog, op, "scale", "x");
	found(prog, false, 1, "attribute 'scale' is of type STRING, expected FLOAT");
}
END_TEST

START_TEST(test_check_shapes)
{
	struct fl_program *prog = make();

	/* [2, 3] by [2, 3] */
	add_vars(prog, (const char *const[]){ "third" }, 1);
	fl_op_set_input(prog, add_op(prog, "mul", "first", "third"), "Y",
		(const char *const[]){ "second" }, 1);
	found(prog, false, 1, "op 0 'mul': 'Y' has shape [2, 3]");
	/* a declared shape that the operator does not make counts where it is read */
	prog = make();
	prog->pb->blocks[0]->vars[1]->type->lod_tensor->tensor->dims[0] = 5;
	add_op(prog, "relu", "first", "second");
	found(prog, false, 0, "note: output 'Out': variable 'second' is declared as [5, 3]");
	prog = make();
	prog->pb->blocks[0]->vars[1]->type->lod_tensor->tensor->dims[0] = 5;
	add_op(prog, "relu", "first", "second");
	add_op(prog, "no_such_op", "second", NULL);
	found(prog, false, 1, "is declared as [5, 3], the operator makes [2, 3]");
	prog = make();
	prog->pb->blocks[0]->vars[0]->type->lod_tensor->tensor->dims[0] = INT64_MAX;
	add_op(prog, "relu", "first", "second");
	found(prog, false, 1, "'first' has a shape beyond all measure");
}
END_TEST

/* ---- roles --------------------------------------------------------------------------------------- */

#define EP "h:1"

static struct fl_program *make_server(int mode, const char *waits)
{
	struct fl_program *prog = fl_program_new(0);
	const char *entry = "w@GRAD:1";
	fl_pb_op *op;

	fl_add_block(prog, 0);
	add_vars(prog, (const char *const[]){ "w", "w@GRAD", "w@GRAD.trainer_0" }, 3);
	op = add_op(prog, "listen_and_serv", waits, NULL);
	fl_op_set_str(prog, op, "endpoint", EP);
	fl_op_set_int(prog, op, "distributed_mode", mode);
	fl_op_set_int(prog, op, "Fanin", 1);
	fl_op_set_strs(prog, op, "grad_to_block_id", &entry, 1);
	return prog;
}

static struct fl_program *make_trainer(const char *sends, const char *receives, bool barriers)
{
	struct fl_program *prog = fl_program_new(0);
	const char *ep = EP;

	add_vars(prog, (const char *const[]){ "w", "v" }, 2);
	fl_op_set_strs(prog, add_op(prog, "send", sends, NULL), "epmap", &ep, 1);
	if (barriers)
		fl_op_set_strs(prog, add_op(prog, "send_barrier", NULL, NULL), "endpoints", &ep, 1);
	fl_op_set_strs(prog, add_op(prog, "recv", NULL, receives), "epmap", &ep, 1);
	if (barriers)
		fl_op_set_strs(prog, add_op(prog, "fetch_barrier", NULL, NULL), "endpoints", &ep, 1);
	return prog;
}

/* Frees both. */
static void roles(struct fl_program *trainer, struct fl_program *server, size_t problems,
	const char *text)
{
	const struct fl_role_file files[] = { { "d/trainer-0.main.pb", trainer->pb },
		{ "d/pserver-0.main.pb", server->pb } };
	struct fl_report r = { 0 };

	fl_check_roles(files, 2, &r);
	ck_assert_msg(r.problems == problems, "%zu problems: %s", r.problems, fl_buf_str(&r.text));
	if (text)
		ck_assert_msg(strstr(fl_buf_str(&r.text), text) != NULL, "no '%s' in: %s", text,
			fl_buf_str(&r.text));
	fl_report_release(&r);
	fl_program_free(trainer);
	fl_program_free(server);
}

START_TEST(test_roles_that_fit)
{
	roles(make_trainer("w@GRAD.trainer_0", "w", true), make_server(0, "w@GRAD.trainer_0"), 0, NULL);
	roles(make_trainer("w@GRAD", "w", true), make_server(0, "w@GRAD"), 0, NULL);
	roles(make_trainer("w@GRAD", "w", false), make_server(2, "w@GRAD"), 0, NULL);
}
END_TEST

START_TEST(test_roles_that_do_not)
{
	/* the real transpiler's way with one trainer */
	roles(make_trainer("w@GRAD", "w", true), make_server(0, "w@GRAD.trainer_0"), 1,
		"waits for it under another name");
	/* asynchronous trainers, synchronous server */
	roles(make_trainer("w@GRAD", "w", false), make_server(0, "w@GRAD"), 1, "would wait for ever");
	roles(make_trainer("w@GRAD", "w", true), make_server(2, "w@GRAD"), 1, "is not synchronous");
	roles(make_trainer("v@GRAD", "w", false), make_server(2, "w@GRAD"), 2,
		"gradient 'w@GRAD', which d/trainer-0.main.pb does not send");
	roles(make_trainer("w@GRAD", "v", false), make_server(2, "w@GRAD"), 1,
		"'v' is received from h:1, which has no such variable");
}
END_TEST

START_TEST(test_roles_endpoints_and_fanin)
{
	struct fl_program *server = make_server(2, "w@GRAD");
	fl_pb_op *op = server->pb->blocks[0]->ops[0];

	fl_op_set_str(server, op, "endpoint", "h:2");
	roles(make_trainer("w@GRAD", "w", false), server, 3, "goes to 'h:1', where no server is");
	server = make_server(2, "w@GRAD");
	op = server->pb->blocks[0]->ops[0];
	fl_op_set_int(server, op, "Fanin", 2);
	roles(make_trainer("w@GRAD", "w", false), server, 1, "waits for 2 trainers, the folder has 1");
}
END_TEST

Suite *suite_check(void)
{
	Suite *s = suite_create("check");
	TCase *tc = tcase_create("check");

	tcase_set_timeout(tc, FT_TIMEOUT);
	tcase_add_test(tc, test_check_unknown_operators);
	tcase_add_test(tc, test_check_names);
	tcase_add_test(tc, test_check_blocks);
	tcase_add_test(tc, test_check_order);
	tcase_add_test(tc, test_check_attribute_with_two_values);
	tcase_add_test(tc, test_check_reports_are_bounded);
	tcase_add_test(tc, test_check_slots_and_attributes);
	tcase_add_test(tc, test_check_shapes);
	tcase_add_test(tc, test_roles_that_fit);
	tcase_add_test(tc, test_roles_that_do_not);
	tcase_add_test(tc, test_roles_endpoints_and_fanin);
	suite_add_tcase(s, tc);
	return s;
}
