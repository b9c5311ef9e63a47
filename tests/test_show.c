/* inspect/show, json, pack. */
#include "fltest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "desc/edit.h"
#include "desc/names.h"
#include "desc/program.h"
#include "inspect/show.h"

Suite *suite_show(void);

static struct fl_program *make(void)
{
	struct fl_program *prog = fl_program_new(1008005);
	fl_pb_block *b = prog->pb->blocks[0];
	fl_pb_op *op = fl_new_op(prog, "no_such_op");
	const char *xs[] = { "b", "a b" };

	fl_add_var(prog, b, "b", FL_RAW);
	fl_var_set_persistable(fl_add_var(prog, b, "a", FL_LOD_TENSOR), true);
	fl_var_set_tensor(prog, b->vars[1], FL_FP32, (const int64_t[]){ -1, 3 }, 2, 1);
	fl_op_set_input(prog, op, "X", xs, 2);
	fl_op_set_output(prog, op, "Out", xs, 1);
	fl_op_set_long(prog, op, "long", INT64_MIN);
	fl_op_set_float(prog, op, "rate", 0.1f);
	fl_op_set_str(prog, op, FL_ATTR_NAMESCOPE, "/");
	fl_op_set_str(prog, op, FL_ATTR_CALLSTACK, "somewhere");
	fl_op_set_int(prog, op, FL_ATTR_ROLE, FL_ROLE_BACKWARD | FL_ROLE_LOSS);
	fl_push_op(prog, b, op);
	return prog;
}

START_TEST(test_show_text)
{
	const struct fl_show what = { .block = -1 };
	struct fl_program *prog = make();
	struct fl_buf b = FL_BUF_INIT;

	fl_show_text(prog->pb, &what, &b);
	ck_assert_str_eq(fl_buf_str(&b),
		"program of version 1.8.5, 1 block\n\n"
		"block 0: 2 variables, 1 operators\n"
		"  var a                                LOD_TENSOR FP32 [-1, 3] lod=1 persistable\n"
		"  var b                                RAW\n"
		"  op 0    no_such_op           X=[b, \"a b\"] -> Out=b {long=-9223372036854775808, rate=0.1} "
		"backward|loss\n");
	fl_buf_release(&b);
	fl_program_free(prog);
}
END_TEST

START_TEST(test_show_refuses_what_is_not_there)
{
	struct fl_program *prog = make();
	struct fl_err err;

	FT_OK(fl_show_check(prog->pb, &(struct fl_show){ 0, "no_such_op" }, "p", &err));
	FT_FAIL(fl_show_check(prog->pb, &(struct fl_show){ 1, NULL }, "p", &err), FL_EINVAL);
	FT_FAIL(fl_show_check(prog->pb, &(struct fl_show){ -1, "no_suc_op" }, "p", &err),
		FL_ENOTFOUND);
	FT_SAYS("did you mean 'no_such_op'?");
	fl_program_free(prog);
}
END_TEST

/* Bytes -> JSON -> bytes. */
static void through_json(const struct fl_program *prog)
{
	struct fl_buf a = FL_BUF_INIT, b = FL_BUF_INIT, json = FL_BUF_INIT;
	struct fl_program *back;
	struct fl_err err;

	fl_show_json(prog->pb, &json);
	FT_OK(fl_pack_json(fl_buf_str(&json), json.len, "j", &back, &err));
	fl_program_pack(prog, &a);
	fl_program_pack(back, &b);
	ck_assert_uint_eq(a.len, b.len);
	ck_assert(!memcmp(a.data, b.data, a.len));
	fl_program_free(back);
	fl_buf_release(&a);
	fl_buf_release(&b);
	fl_buf_release(&json);
}

START_TEST(test_json_loses_nothing)
{
	static const uint32_t bits[] = { 0x7fc00000, 0x7fc00001, 0xffc00000, 0x7f800001, 0x7f800000,
		0xff800000, 0x80000000, 1, 0x7f7fffff };
	struct fl_program *prog = make();
	fl_pb_op *op = prog->pb->blocks[0]->ops[0];
	fl_pb_attr *a = fl_op_set_attr(prog, op, "floats", FL_ATTR_FLOATS);
	ProtobufCMessageUnknownField *u = fl_program_alloc(prog, sizeof *u);

	a->n_floats = sizeof bits / sizeof *bits;
	a->floats = fl_program_alloc(prog, sizeof bits);
	memcpy(a->floats, bits, sizeof bits);
	fl_op_set_str(prog, op, "zero", "a?b");
	op->attrs[op->n_attrs - 1]->s.data[1] = 0;
	fl_op_set_str(prog, op, "latin", "gr\xfcn");
	fl_op_set_str(prog, op, "caf\xe9", "");
	a = fl_op_set_attr(prog, op, "doubles", FL_ATTR_FLOAT64);
	a->has_float64 = 1;
	a->float64 = 0.1;
	fl_op_set_attr(prog, op, "future", 99)->type = (Paddle__Framework__Proto__AttrType)99;
	u->tag = 2;
	u->wire_type = PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED;
	u->data = (uint8_t *)fl_arena_strndup(prog->arena, "\x02\x08\x07", 3);
	u->len = 3;
	prog->pb->base.unknown_fields = u;
	prog->pb->base.n_unknown_fields = 1;
	through_json(prog);
	fl_program_free(prog);
}
END_TEST

#define BLOCK(rest) "{\"blocks\": [{\"idx\": 0, \"parent_idx\": -1" rest "}]}"
#define OP(rest)    BLOCK(", \"ops\": [{\"type\": \"mul\"" rest "}]")
#define ATTR(rest)  OP(", \"attrs\": [{\"name\": \"a\", " rest "}]")

START_TEST(test_pack_refuses)
{
	static const struct {
		const char *json, *says;
	} rows[] = {
		{ "", "malformed JSON at line 1" },
		{ "{\n  \"blocks\": [}", "line 2, column" },
		{ "[]", "an object is expected" },
		{ "{}", "it is empty" },
		{ BLOCK("") " x", "more text" },
		{ "{\"blocks\": {}}", "blocks: a list is expected" },
		{ "{\"blocks\": [{\"parent_idx\": 0}]}", "blocks[0]: 'idx' is missing" },
		{ BLOCK(", \"opps\": []"), "blocks[0]: unknown key 'opps', did you mean 'ops'?" },
		{ BLOCK(", \"idx\": 0"), "blocks[0].idx: the key occurs twice" },
		{ OP(", \"is_target\": 1"), "blocks[0].ops[0].is_target: true or false" },
		{ ATTR("\"type\": \"INTT\""), "did you mean 'INT'?" },
		{ ATTR("\"type\": \"INT\", \"i\": 3000000000"), "attrs[0].i: a whole number of 32 bits" },
		{ ATTR("\"type\": \"INT\", \"i\": 1.5"), "whole number of 32 bits" },
		{ ATTR("\"type\": \"LONG\", \"l\": \"9223372036854775808\""), "64 bits" },
		{ ATTR("\"type\": \"LONG\", \"l\": \" 1\""), "64 bits" },
		{ ATTR("\"type\": \"FLOAT\", \"f\": 1e39"), "32-bit floats" },
		{ ATTR("\"type\": \"FLOAT\", \"f\": \"NaN:7f800000\""), "32-bit floats" },
		{ ATTR("\"type\": \"STRING\", \"s\": \"\\u0000\""), "base64" },
		{ ATTR("\"type\": \"STRING\", \"s\": {\"base64\": \"A\"}"), "base64 text is malformed" },
		{ ATTR("\"type\": \"VAR\", \"var_name\": {\"base64\": \"YQBi\"}"), "zero byte" },
		{ "{\"blocks\": [{\"idx\": 3, \"parent_idx\": -1}]}", "says its index is 3" },
		{ BLOCK("") "\xff", "UTF-8" },
		{ "{\"unknown_fields\": [{\"field\": 1, \"wire\": 0, \"base64\": \"AA==\"}]}",
			"unknown_fields[0]: an unknown field is" },
		{ "{\"unknown_fields\": [{\"field\": 9, \"wire\": 0, \"base64\": \"AAA=\"}]}",
			"one value of that wire type" },
	};
	struct fl_program *prog;
	struct fl_err err;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		FT_FAIL(fl_pack_json(rows[i].json, strlen(rows[i].json), "j", &prog, &err), FL_EFORMAT);
		FT_SAYS(rows[i].says);
	}
}
END_TEST

START_TEST(test_pack_takes_hand_written_numbers)
{
	const char *json = ATTR("\"type\": 9, \"l\": 12");
	struct fl_program *prog;
	struct fl_err err;

	FT_OK(fl_pack_json(json, strlen(json), "j", &prog, &err));
	ck_assert_int_eq(prog->pb->blocks[0]->ops[0]->attrs[0]->l, 12);
	ck_assert_int_eq((int)prog->pb->blocks[0]->ops[0]->attrs[0]->type, FL_ATTR_LONG);
	fl_program_free(prog);
}
END_TEST

Suite *suite_show(void)
{
	Suite *s = suite_create("show");
	TCase *tc = tcase_create("show");

	tcase_set_timeout(tc, FT_TIMEOUT);
	tcase_add_test(tc, test_show_text);
	tcase_add_test(tc, test_show_refuses_what_is_not_there);
	tcase_add_test(tc, test_json_loses_nothing);
	tcase_add_test(tc, test_pack_refuses);
	tcase_add_test(tc, test_pack_takes_hand_written_numbers);
	suite_add_tcase(s, tc);
	return s;
}
