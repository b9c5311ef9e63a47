/* Data files: formats, specs, batches, orders. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/file.h"
#include "base/mem.h"
#include "desc/edit.h"
#include "fltest.h"
#include "tensor/dataset.h"
#include "tensor/readers.h"
#include "tensor/stream.h"

Suite *suite_dataset(void);

/* A scratch file that holds these bytes; its name is static. */
static const char *scratch(const void *p, size_t n)
{
	static char name[64];
	struct fl_err err;

	snprintf(name, sizeof name, "/tmp/fl_dataset_%ld", (long)getpid());
	FT_OK(fl_file_write(name, p, n, &err));
	return name;
}

/* A data variable 'x'. */
static fl_pb_var *declare(struct fl_program *prog, int dtype, const int64_t *dims, size_t rank,
	int lod_level)
{
	fl_pb_var *v = fl_add_var(prog, prog->pb->blocks[0], "x", FL_LOD_TENSOR);

	fl_var_set_tensor(prog, v, dtype, dims, rank, lod_level);
	return v;
}

static enum fl_code open_data(const char *options, const fl_pb_var *decl, struct fl_data **d,
	struct fl_err *err)
{
	char *text = fl_xstrfmt("x=/tmp/fl_dataset_%ld%s", (long)getpid(), options);
	struct fl_data_spec spec;
	enum fl_code code = fl_data_spec_parse(&spec, text, err);

	if (code == FL_OK)
		code = fl_data_open(&spec, decl, d, err);
	fl_data_spec_release(&spec);
	fl_free(text);
	return code;
}

static const char idx[] = "\0\0\x08\x03\0\0\0\x03\0\0\0\x02\0\0\0\x02"
	"\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\xff";

START_TEST(test_idx_to_scaled_floats)
{
	struct fl_program *prog = fl_program_new(0);
	int64_t flat[] = { -1, 4 }, picture[] = { -1, 1, 2, 2 }, at[] = { 2, 0 };
	struct fl_tensor t;
	struct fl_data *d;
	struct fl_err err;

	fl_tensor_init(&t);
	scratch(idx, sizeof idx - 1);
	FT_OK(open_data(",scale=1/255", declare(prog, FL_FP32, flat, 2, 0), &d, &err));
	ck_assert_int_eq(fl_data_samples(d), 3);
	FT_OK(fl_data_batch(d, at, 2, &t, &err));
	ck_assert_int_eq(t.rank, 2);
	ck_assert_int_eq(t.dims[0], 2);
	ck_assert_int_eq(t.dims[1], 4);
	ck_assert_float_eq(((float *)fl_data(&t))[3], 1);
	ck_assert_float_eq_tol(((float *)fl_data(&t))[5], 1 / 255.f, 1e-7f);
	fl_data_close(d);
	FT_OK(open_data("", declare(prog, FL_FP32, picture, 4, 0), &d, &err));
	FT_OK(fl_data_batch(d, at, 1, &t, &err));
	ck_assert_int_eq(t.rank, 4);
	ck_assert_int_eq(t.dims[2], 2);
	ck_assert_float_eq(((float *)fl_data(&t))[0], 8);
	fl_data_close(d);
	fl_tensor_release(&t);
	fl_program_free(prog);
}
END_TEST

START_TEST(test_shape_and_dtype_are_checked)
{
	struct fl_program *prog = fl_program_new(0);
	int64_t five[] = { -1, 5 };
	static const char npy[] = "\x93NUMPY\x01\0\x3c\0"
		"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 5), }\n"
		"\0\0\xc0\x3f\0\0\0\x40\0\0\0\0\0\0\0\0\0\0\0\0";
	struct fl_data *d;
	struct fl_err err;
	int64_t at[] = { 0 };
	struct fl_tensor t;

	fl_tensor_init(&t);
	scratch(idx, sizeof idx - 1);
	FT_FAIL(open_data("", declare(prog, FL_FP32, five, 2, 0), &d, &err), FL_EINVAL);
	FT_SAYS("'x': expected [-1, 5] of float32, found [3, 2, 2] of uint8");
	FT_FAIL(open_data(",dtype=int64", declare(prog, FL_FP32, five, 2, 0), &d, &err), FL_EINVAL);
	FT_SAYS("declares float32");
	scratch(npy, sizeof npy - 1);
	FT_FAIL(open_data("", declare(prog, FL_INT64, five, 2, 0), &d, &err), FL_EINVAL);
	FT_SAYS("dtype=int64");
	FT_OK(open_data(",dtype=int64", declare(prog, FL_INT64, five, 2, 0), &d, &err));
	FT_OK(fl_data_batch(d, at, 1, &t, &err));
	ck_assert_int_eq(((int64_t *)fl_data(&t))[0], 1);
	ck_assert_int_eq(((int64_t *)fl_data(&t))[1], 2);
	fl_data_close(d);
	FT_FAIL(open_data(",skip=2", declare(prog, FL_FP32, five, 2, 0), &d, &err), FL_EINVAL);
	FT_FAIL(open_data(",columns=1", declare(prog, FL_FP32, five, 2, 0), &d, &err), FL_EINVAL);
	fl_tensor_release(&t);
	fl_program_free(prog);
}
END_TEST

START_TEST(test_gzip_two_members)
{
	struct fl_program *prog = fl_program_new(0);
	int64_t flat[] = { -1, 4 };
	const char *name = scratch("", 0);
	gzFile z = gzopen(name, "wb");
	struct fl_buf packed = FL_BUF_INIT, out = FL_BUF_INIT;
	struct fl_data *d;
	struct fl_err err;

	gzwrite(z, idx, 10);
	gzclose(z);
	z = gzopen(name, "ab");
	gzwrite(z, idx + 10, sizeof idx - 1 - 10);
	gzclose(z);
	FT_OK(open_data("", declare(prog, FL_FP32, flat, 2, 0), &d, &err));
	ck_assert_int_eq(fl_data_samples(d), 3);
	fl_data_close(d);
	FT_OK(fl_file_read(name, 0, &packed, &err));
	for (size_t n = 3; n < packed.len; n++) {
		fl_buf_clear(&out);
		if (fl_gunzip(packed.data, n, 1000, "f", &out, &err) == FL_OK)
			ck_assert_uint_eq(out.len, 10); /* the cut is between the members */
		else
			FT_SAYS("cut short");
	}
	fl_buf_clear(&out);
	FT_FAIL(fl_gunzip(packed.data, packed.len, 5, "f", &out, &err), FL_ELIMIT);
	packed.data[14] ^= 0x55;
	fl_buf_clear(&out);
	FT_FAIL(fl_gunzip(packed.data, packed.len, 1000, "f", &out, &err), FL_EFORMAT);
	fl_buf_release(&packed);
	fl_buf_release(&out);
	fl_program_free(prog);
}
END_TEST

START_TEST(test_npy_headers)
{
	static const struct {
		const char *header;
		bool good;
	} rows[] = {
		{ "{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }", true },
		{ "{\"shape\": (2, 1), \"descr\": \"<i8\", \"fortran_order\": False}", true },
		{ "{'descr': '>i8', 'fortran_order': True, 'shape': (2,), }", true },
		{ "{'descr': '<i8', 'fortran_order': True, 'shape': (2, 1), }", false },
		{ "{'descr': '<c8', 'fortran_order': False, 'shape': (2,), }", false },
		{ "{'descr': '<i8', 'fortran_order': False, 'shape': (3,), }", false },
		{ "{'descr': '<i8', 'fortran_order': False, 'shape': (-2,), }", false },
		{ "{'descr': '<i8', 'fortran_order': False, 'shape': (2", false },
		{ "{'descr': '<i8', 'fortran_order': False, 'shape': (99999999999999999999,)}", false },
		{ "{'descr': '<i8', 'shape': (2,), }", false },
		{ "{'fortran_order': False, 'shape': (2,), }", false },
		{ "", false },
	};
	struct fl_tensor t;
	struct fl_err err;

	fl_tensor_init(&t);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		for (int version = 1; version <= 2; version++) {
			struct fl_buf b = FL_BUF_INIT;
			size_t n = strlen(rows[i].header);

			fl_buf_add(&b, "\x93NUMPY", 6);
			fl_buf_addc(&b, (char)version);
			fl_buf_addc(&b, 0);
			fl_buf_add(&b, (char[]){ (char)n, 0, 0, 0 }, version == 1 ? 2 : 4);
			fl_buf_adds(&b, rows[i].header);
			fl_buf_add(&b, "\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0", 16);
			ck_assert_msg((fl_read_npy(b.data, b.len, "f", &t, &err) == FL_OK) == rows[i].good,
				"row %zu: %s", i, err.msg);
			fl_buf_release(&b);
		}
	fl_tensor_release(&t);
}
END_TEST

START_TEST(test_text_formats)
{
	static const struct {
		const char *text, *options;
		int64_t rows, width;
		double last;
	} rows[] = {
		{ "1,2,3\n4,5,6\n", "", 2, 3, 6 },
		{ "1\t2\n3\t4.5", "", 2, 2, 4.5 },
		{ "  1   2\r\n\r\n 3 4e2 \r\n", "", 2, 2, 400 },
		{ "a;b\n1;2\n3;\"4\"\n", ",skip=1", 2, 2, 4 },
		{ "0,1,2,3\n4,5,6,7\n", ",columns=1-2+0", 2, 3, 4 },
		{ "7\n8\n", "", 2, 1, 8 },
	};
	struct fl_program *prog = fl_program_new(0);
	struct fl_tensor t;
	struct fl_err err;

	fl_tensor_init(&t);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		int64_t dims[] = { -1, rows[i].width }, at[] = { 0, 1 };
		struct fl_data *d;

		scratch(rows[i].text, strlen(rows[i].text));
		FT_OK(open_data(rows[i].options, declare(prog, FL_FP64, dims, 2, 0), &d, &err));
		ck_assert_int_eq(fl_data_samples(d), rows[i].rows);
		FT_OK(fl_data_batch(d, at, 2, &t, &err));
		ck_assert_double_eq(((double *)fl_data(&t))[fl_numel(&t) - 1], rows[i].last);
		fl_data_close(d);
	}
	fl_tensor_release(&t);
	fl_program_free(prog);
}
END_TEST

START_TEST(test_text_refuses)
{
	static const struct {
		const char *text, *options, *says;
	} rows[] = {
		{ "1,2\n3,x\n", "", "line 2, column 1: expected a number, found 'x'" },
		{ "1,2\n3\n", "", "line 2: expected 2 columns, found 1" },
		{ "1,\n", "", "found ''" },
		{ "\n\n", "", "no line" },
		{ "1,2\n", ",columns=2", "column 2 is wanted" },
		{ "1,2\n", ",columns=1-", "joined by" },
		{ "1,2\n", ",columns=2-1", "joined by" },
		{ "1,2\n", ",skip=5", "no line" },
		{ "1e999,2\n", "", "found '1e999'" },
	};
	struct fl_program *prog = fl_program_new(0);
	int64_t dims[] = { -1, 2 };
	struct fl_data *d;
	struct fl_err err;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		scratch(rows[i].text, strlen(rows[i].text));
		ck_assert(open_data(rows[i].options, declare(prog, FL_FP32, dims, 2, 0), &d, &err) !=
			FL_OK);
		FT_SAYS(rows[i].says);
	}
	scratch("1,2.5\n", 6);
	FT_FAIL(open_data("", declare(prog, FL_INT64, dims, 2, 0), &d, &err), FL_EFORMAT);
	FT_SAYS("whole number");
	scratch("1,2\0\n", 5);
	FT_FAIL(open_data("", declare(prog, FL_FP32, dims, 2, 0), &d, &err), FL_EFORMAT);
	FT_SAYS("zero byte");
	fl_program_free(prog);
}
END_TEST

/* Samples of a stream with LoD are sequences; the batch's LoD is theirs. */
START_TEST(test_sequences)
{
	struct fl_program *prog = fl_program_new(0);
	int64_t dims[] = { 6, 1 }, decl[] = { -1, 1 }, at[] = { 2, 0 };
	uint64_t outer[] = { 0, 2, 2, 3 }, inner[] = { 0, 1, 4, 6 };
	struct fl_buf b = FL_BUF_INIT;
	struct fl_tensor t, out;
	struct fl_data *d;
	struct fl_err err;

	fl_tensor_init(&t);
	fl_tensor_init(&out);
	FT_OK(fl_tensor_resize(&t, FL_INT64, dims, 2, &err));
	for (int i = 0; i < 6; i++)
		((int64_t *)fl_data(&t))[i] = i;
	FT_OK(fl_lod_push(&t.lod, outer, 4, &err));
	FT_OK(fl_lod_push(&t.lod, inner, 4, &err));
	fl_write_lod_tensor(&b, &t);
	scratch(b.data, b.len);
	FT_OK(open_data("", declare(prog, FL_INT64, decl, 2, 2), &d, &err));
	ck_assert_int_eq(fl_data_samples(d), 3);
	FT_OK(fl_data_batch(d, at, 2, &out, &err));
	FT_OK(fl_lod_check(&out.lod, out.dims[0], &err));
	ck_assert_int_eq(out.dims[0], 6);
	ck_assert_int_eq(((int64_t *)fl_data(&out))[0], 4);
	ck_assert_int_eq(((int64_t *)fl_data(&out))[2], 0);
	ck_assert_uint_eq(out.lod.level[0].off[1], 1);
	ck_assert_uint_eq(out.lod.level[1].off[1], 2);
	fl_data_close(d);
	FT_FAIL(open_data("", declare(prog, FL_INT64, decl, 2, 3), &d, &err), FL_EINVAL);
	FT_SAYS("LoD level 3");
	fl_buf_release(&b);
	fl_tensor_release(&t);
	fl_tensor_release(&out);
	fl_program_free(prog);
}
END_TEST

START_TEST(test_spec_refuses)
{
	static const char *const rows[] = { "x", "=f", "x=", "x=,dtype=int8", "x=f,dtype=int65",
		"x=f,scale=1/0", "x=f,scale=a", "x=f,shape=2x", "x=f,shape=2y3", "x=f,skip=-1",
		"x=f,skip=", "x=f,colums=1", "x=f,columns=", "x=f,," };
	struct fl_data_spec s;
	struct fl_err err;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		FT_FAIL(fl_data_spec_parse(&s, rows[i], &err), FL_EINVAL);
		if (strstr(rows[i], "colums"))
			FT_SAYS("did you mean 'columns'");
		fl_data_spec_release(&s);
	}
	FT_OK(fl_data_spec_parse(&s, "x@a=f,shape=1x28x28,skip=3,dtype=f4", &err));
	ck_assert_str_eq(s.name, "x@a");
	ck_assert_int_eq(s.rank, 3);
	ck_assert_int_eq(s.shape[2], 28);
	fl_data_spec_release(&s);
}
END_TEST

START_TEST(test_order_shards_and_shuffles)
{
	struct fl_order a, b;
	int seen[11] = { 0 };

	for (int64_t trainer = 0; trainer < 3; trainer++) {
		fl_order_init(&a, 11, trainer, 3);
		fl_order_shuffle(&a, 7, 2);
		for (size_t i = 0; i < a.n; i++) {
			ck_assert_int_eq(a.at[i] % 3, trainer);
			seen[a.at[i]]++;
		}
		fl_order_release(&a);
	}
	for (int i = 0; i < 11; i++)
		ck_assert_int_eq(seen[i], 1);
	fl_order_init(&a, 100, 0, 1);
	fl_order_init(&b, 100, 0, 1);
	fl_order_shuffle(&b, 7, 0);
	fl_order_shuffle(&b, 7, 1);
	fl_order_shuffle(&a, 7, 1);
	ck_assert(!memcmp(a.at, b.at, 100 * sizeof *a.at));
	fl_order_shuffle(&b, 7, 2);
	ck_assert(memcmp(a.at, b.at, 100 * sizeof *a.at));
	fl_order_release(&a);
	fl_order_release(&b);
	fl_order_init(&a, 1, 2, 3);
	ck_assert_uint_eq(a.n, 0);
	fl_order_release(&a);
}
END_TEST

static void remove_scratch(void)
{
	unlink(scratch("", 0));
}

Suite *suite_dataset(void)
{
	Suite *s = suite_create("dataset");
	TCase *c = tcase_create("dataset");

	tcase_set_timeout(c, FT_TIMEOUT);
	tcase_add_checked_fixture(c, NULL, remove_scratch);
	tcase_add_test(c, test_idx_to_scaled_floats);
	tcase_add_test(c, test_shape_and_dtype_are_checked);
	tcase_add_test(c, test_gzip_two_members);
	tcase_add_test(c, test_npy_headers);
	tcase_add_test(c, test_text_formats);
	tcase_add_test(c, test_text_refuses);
	tcase_add_test(c, test_sequences);
	tcase_add_test(c, test_spec_refuses);
	tcase_add_test(c, test_order_shards_and_shuffles);
	suite_add_tcase(s, c);
	return s;
}
