/* desc/scan: what is wrong with a program file, and where. */
#include "fltest.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/wire.h"
#include "desc/edit.h"
#include "desc/program.h"
#include "desc/query.h"
#include "desc/scan.h"

Suite *suite_scan(void);

/* block 0 with a variable 'x' and an op 'mul' that has a slot and an attribute. */
static struct fl_program *make(void)
{
	struct fl_program *prog = fl_program_new(1008005);
	fl_pb_block *b = prog->pb->blocks[0];
	fl_pb_var *v = fl_add_var(prog, b, "x", FL_LOD_TENSOR);
	fl_pb_op *op = fl_new_op(prog, "mul");
	const char *x = "x";

	fl_var_set_tensor(prog, v, FL_FP32, (const int64_t[]){ -1, 3 }, 2, 0);
	fl_op_set_input(prog, op, "X", &x, 1);
	fl_op_set_int(prog, op, "axis", 7);
	fl_push_op(prog, b, op);
	return prog;
}

static void pack(struct fl_buf *out)
{
	struct fl_program *prog = make();

	fl_program_pack(prog, out);
	fl_program_free(prog);
}

/* The place of the only occurrence of a text in the bytes. */
static char *find(struct fl_buf *b, const char *text)
{
	size_t n = strlen(text);

	for (size_t i = 0; i + n <= b->len; i++)
		if (!memcmp(b->data + i, text, n))
			return b->data + i;
	ck_abort_msg("'%s' is not in the program", text);
	return NULL;
}

static enum fl_code scan(const void *p, size_t n, struct fl_err *err)
{
	return fl_scan_program(p, n, "f.pb", err);
}

START_TEST(test_scan_accepts)
{
	struct fl_buf b = FL_BUF_INIT;
	struct fl_err err;

	pack(&b);
	FT_OK(scan(b.data, b.len, &err));
	fl_buf_release(&b);
}
END_TEST

/* Every shorter file is refused, with the byte where it ends or where its message ends; the few
 * cuts at the end of a block are programs. */
START_TEST(test_scan_cut_files)
{
	struct fl_buf b = FL_BUF_INIT;
	struct fl_err err;
	size_t ok = 0;

	pack(&b);
	for (size_t n = 0; n < b.len; n++) {
		char *copy = malloc(n + 1);

		memcpy(copy, b.data, n);
		if (scan(copy, n, &err) == FL_OK) {
			ok++;
		} else {
			ck_assert_int_eq(err.code, FL_EFORMAT);
			ck_assert_ptr_nonnull(strstr(err.msg, n ? "byte" : "empty"));
		}
		free(copy);
	}
	ck_assert_uint_eq(ok, 1); /* without the version */
	fl_buf_release(&b);
}
END_TEST

START_TEST(test_scan_names_the_place)
{
	struct fl_buf b = FL_BUF_INIT;
	struct fl_err err;
	size_t cut;

	pack(&b);
	cut = (size_t)(find(&b, "axis") - b.data) + 2;
	FT_FAIL(scan(b.data, cut, &err), FL_EFORMAT);
	FT_SAYS("block 0, op 0 'mul', attr");
	cut = (size_t)(find(&b, "mul") - b.data) + 1;
	FT_FAIL(scan(b.data, cut, &err), FL_EFORMAT);
	FT_SAYS("block 0, op 0: field 'type'");
	fl_buf_release(&b);
}
END_TEST

START_TEST(test_scan_missing_fields)
{
	struct fl_buf b = FL_BUF_INIT;
	struct fl_err err;

	pack(&b);
	/* the attribute's name becomes an unknown field of the same length */
	find(&b, "axis")[-2] = (char)(9 << 3 | FL_WIRE_LEN);
	FT_FAIL(scan(b.data, b.len, &err), FL_EFORMAT);
	FT_SAYS("block 0, op 0 'mul', attr 0: its 'name' is missing");
	fl_buf_release(&b);
}
END_TEST

START_TEST(test_scan_zero_bytes)
{
	struct fl_buf b = FL_BUF_INIT;
	struct fl_program *prog, *back;
	struct fl_err err;

	pack(&b);
	find(&b, "axis")[1] = 0;
	FT_FAIL(scan(b.data, b.len, &err), FL_EFORMAT);
	FT_SAYS("field 'name' is a name with a zero byte in it");
	fl_buf_clear(&b);
	/* but an attribute's value may hold one */
	prog = make();
	fl_op_set_str(prog, prog->pb->blocks[0]->ops[0], "text", "a?b");
	prog->pb->blocks[0]->ops[0]->attrs[1]->s.data[1] = 0;
	fl_program_pack(prog, &b);
	FT_OK(fl_program_parse(b.data, b.len, "f.pb", &back, &err));
	ck_assert_uint_eq(fl_op_attr(back->pb->blocks[0]->ops[0], "text")->s.len, 3);
	fl_program_free(prog);
	fl_program_free(back);
	fl_buf_release(&b);
}
END_TEST

START_TEST(test_scan_twice_and_wrong_types)
{
	struct fl_buf b = FL_BUF_INIT, op = FL_BUF_INIT, block = FL_BUF_INIT;
	struct fl_err err;

	fl_wire_put_bytes(&op, 3, "mul", 3);
	fl_wire_put_bytes(&op, 3, "mul", 3);
	fl_buf_add(&block, "\x08\x00\x10\x00", 4);
	fl_wire_put_bytes(&block, 4, op.data, op.len);
	fl_wire_put_bytes(&b, 1, block.data, block.len);
	FT_FAIL(scan(b.data, b.len, &err), FL_EFORMAT);
	FT_SAYS("block 0, op 0 'mul': field 'type' is given twice");
	FT_FAIL(scan("\x0a\x02\x0d\x00", 4, &err), FL_EFORMAT);
	FT_FAIL(scan("\x0a\x07\x0d\x00\x00\x00\x00\x10\x00", 9, &err), FL_EFORMAT);
	FT_SAYS("field 'idx' is stored as 32 bits, expected a varint");
	FT_FAIL(scan("\x0a\x08\x08\xff\xff\xff\xff\x7f\x10\x00", 10, &err), FL_EFORMAT);
	FT_SAYS("more than 32 bits");
	FT_FAIL(scan("\x0a\x05\x08\x00\x10\x00\x0b", 7, &err), FL_EFORMAT);
	FT_SAYS("wire type that is not in use");
	fl_buf_release(&b);
	fl_buf_release(&op);
	fl_buf_release(&block);
}
END_TEST

START_TEST(test_scan_says_what_a_file_is)
{
	static const struct {
		const char *bytes;
		size_t n;
		const char *says;
	} rows[] = {
		{ "", 0, "is empty" },
		{ "\x80\x02}q\x01.", 6, "python pickle" },
		{ "\x1f\x8b\x08\x00", 4, "gzip" },
		{ "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x02\0\0\0\x08\x05", 22, "tensor stream" },
		{ "hello, world\n", 13, "looks like text" },
		{ "{\"blocks\": []}", 14, "JSON" },
		{ "\x93NUMPY\x01", 7, "numpy" },
		{ "\x22\x00", 2, "no block" },
		{ "\x0a\x21\x08\x00\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x1a\x12\x0a\x02ww\x10\x01"
		  "\x1a\x08\x0a\x04\x08\x05\x10\x01\x10\x01\x28\x01", 35, "0.11" },
	};
	struct fl_err err;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		FT_FAIL(scan(rows[i].bytes, rows[i].n, &err), FL_EFORMAT);
		FT_SAYS(rows[i].says);
	}
}
END_TEST

Suite *suite_scan(void)
{
	Suite *s = suite_create("scan");
	TCase *tc = tcase_create("scan");

	tcase_set_timeout(tc, FT_TIMEOUT);
	tcase_add_test(tc, test_scan_accepts);
	tcase_add_test(tc, test_scan_cut_files);
	tcase_add_test(tc, test_scan_names_the_place);
	tcase_add_test(tc, test_scan_missing_fields);
	tcase_add_test(tc, test_scan_zero_bytes);
	tcase_add_test(tc, test_scan_twice_and_wrong_types);
	tcase_add_test(tc, test_scan_says_what_a_file_is);
	suite_add_tcase(s, tc);
	return s;
}
