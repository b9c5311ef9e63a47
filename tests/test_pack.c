/* desc/pack: the serialized form, and what programs share. */
#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "desc/edit.h"
#include "desc/names.h"
#include "desc/pack.h"
#include "desc/query.h"
#include "fltest.h"

Suite *suite_pack(void);

/* The same bytes as protobuf-c makes of the same messages. */
static void same_as_protobuf_c(const struct fl_program *p)
{
	size_t n = paddle__framework__proto__program_desc__get_packed_size(p->pb);
	uint8_t *wanted = fl_xcalloc(n + 1, 1);
	struct fl_buf got = FL_BUF_INIT;

	paddle__framework__proto__program_desc__pack(p->pb, wanted);
	fl_program_pack(p, &got);
	ck_assert_uint_eq(got.len, n);
	ck_assert(!memcmp(got.data, wanted, n));
	ck_assert_int_eq(got.data[n], 0);
	fl_buf_release(&got);
	fl_free(wanted);
}

static size_t try_folder(const char *dir)
{
	DIR *d = opendir(dir);
	const struct dirent *e;
	struct fl_err err;
	size_t n = 0;

	ck_assert_ptr_nonnull(d);
	while ((e = readdir(d))) {
		struct fl_program *p;
		char path[1024];

		snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
		if (!strstr(e->d_name, ".pb") || fl_program_load(path, &p, &err) != FL_OK)
			continue;
		same_as_protobuf_c(p);
		fl_program_free(p);
		n++;
	}
	closedir(d);
	return n;
}

START_TEST(test_pack_equals_protobuf_c)
{
	ck_assert_uint_gt(try_folder("testdata/programs"), 5);
}
END_TEST

/* Every type of attribute, with values whose encodings are long, and unknown fields. */
START_TEST(test_pack_equals_protobuf_c_on_every_attribute)
{
	static const char *const strs[] = { "", "a", "gr\xc3\xbc\xc3\x9f" };
	static const int32_t ints[] = { 0, -1, INT32_MAX, INT32_MIN };
	static const int64_t longs[] = { 0, -1, INT64_MAX, INT64_MIN };
	ProtobufCMessageUnknownField u = { 99, PROTOBUF_C_WIRE_TYPE_VARINT, 1, (uint8_t *)"\x07" };
	struct fl_program *p = fl_program_new(1008005);
	fl_pb_op *op = fl_new_op(p, "op");

	fl_op_set_int(p, op, "i", -5);
	fl_op_set_long(p, op, "l", INT64_MIN);
	fl_op_set_bool(p, op, "b", true);
	fl_op_set_float(p, op, "f", -0.0f);
	fl_op_set_str(p, op, "s", "");
	fl_op_set_block(p, op, "block", 0);
	fl_op_set_ints(p, op, "is", ints, 4);
	fl_op_set_longs(p, op, "ls", longs, 4);
	fl_op_set_blocks(p, op, "bs", ints, 1);
	fl_op_set_strs(p, op, "ss", strs, 3);
	fl_op_set_input(p, op, "X", strs, 3);
	fl_push_op(p, p->pb->blocks[0], op);
	op->base.unknown_fields = &u;
	op->base.n_unknown_fields = 1;
	same_as_protobuf_c(p);
	fl_program_free(p);
}
END_TEST

static struct fl_program *two_ops(void)
{
	struct fl_program *p = fl_program_new(1008005);
	const char *x = "x";

	fl_add_var(p, p->pb->blocks[0], "x", FL_LOD_TENSOR);
	fl_add_var(p, p->pb->blocks[0], "y", FL_LOD_TENSOR);
	for (int i = 0; i < 2; i++) {
		fl_pb_op *op = fl_new_op(p, i ? "second" : "first");

		fl_op_set_int(p, op, "z", 1);
		fl_op_set_int(p, op, "a", 2);
		fl_op_set_input(p, op, "X", &x, 1);
		fl_push_op(p, p->pb->blocks[0], op);
	}
	return p;
}

START_TEST(test_pack_shared_programs_differ_where_they_were_changed_only)
{
	struct fl_program *p = two_ops(), *a, *b;
	struct fl_shared *s = fl_shared_new(p);
	fl_pb_op *own;

	a = fl_shared_program(s);
	b = fl_shared_program(s);
	own = fl_share_op(a, a->pb->blocks[0]->ops[1]);
	fl_op_set_int(a, own, "z", 77);
	own->inputs[0]->arguments[0] = fl_arena_strdup(a->arena, "y");
	a->pb->blocks[0]->ops[1] = own;
	a->pb->blocks[0]->n_vars = 1;
	same_as_protobuf_c(a);
	same_as_protobuf_c(b);
	ck_assert_int_eq(fl_attr_int(a->pb->blocks[0]->ops[1], "z", 0), 77);
	ck_assert_int_eq(fl_attr_int(b->pb->blocks[0]->ops[1], "z", 0), 1);
	ck_assert_str_eq(fl_op_in(b->pb->blocks[0]->ops[1], "X", 0), "x");
	ck_assert_uint_eq(b->pb->blocks[0]->n_vars, 2);
	ck_assert(!fl_shared_has(s, own));
	ck_assert(fl_shared_has(s, b->pb->blocks[0]->ops[1]));
	ck_assert_str_eq(b->pb->blocks[0]->ops[0]->attrs[0]->name, "a");
	ck_assert_str_eq(p->pb->blocks[0]->ops[0]->attrs[0]->name, "z");
	fl_program_free(a);
	fl_program_free(b);
	fl_shared_free(s);
	fl_program_free(p);
}
END_TEST

START_TEST(test_pack_operators_that_are_alike_are_set_apart_by_setting)
{
	struct fl_program *p = two_ops();
	fl_pb_op *a = p->pb->blocks[0]->ops[0], *b = fl_op_like(p, a);

	fl_push_op(p, p->pb->blocks[0], b);
	ck_assert_ptr_eq(a->attrs[0], b->attrs[0]);
	ck_assert_uint_eq(b->n_inputs, 0);
	fl_op_set_int(p, b, "z", 9);
	ck_assert_int_eq(fl_attr_int(a, "z", 0), 1);
	ck_assert_int_eq(fl_attr_int(b, "z", 0), 9);
	same_as_protobuf_c(p);
	fl_program_free(p);
}
END_TEST

Suite *suite_pack(void)
{
	Suite *s = suite_create("pack");
	TCase *tc = tcase_create("pack");

	tcase_set_timeout(tc, FT_TIMEOUT);
	tcase_add_test(tc, test_pack_equals_protobuf_c);
	tcase_add_test(tc, test_pack_equals_protobuf_c_on_every_attribute);
	tcase_add_test(tc, test_pack_shared_programs_differ_where_they_were_changed_only);
	tcase_add_test(tc, test_pack_operators_that_are_alike_are_set_apart_by_setting);
	suite_add_tcase(s, tc);
	return s;
}
