/* Stream files: the spec's fixtures F11 to F13, round trips, and what must be refused. */
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "fltest.h"
#include "tensor/stream.h"

Suite *suite_stream(void);

#define ONE_TO_SIX                                                                                 \
	"\x00\x00\x80\x3f\x00\x00\x00\x40\x00\x00\x40\x40\x00\x00\x80\x40\x00\x00\xa0\x40\x00\x00" \
	"\xc0\x40"
#define U64(c) c "\0\0\0\0\0\0\0"

static const char f11[] = "\0\0\0\0" U64("\0") "\0\0\0\0\x06\0\0\0\x08\x05\x10\x02\x10\x03" ONE_TO_SIX;
static const char f12[] = "\0\0\0\0" U64("\x01") U64("\x18") U64("\0") U64("\x02") U64("\x05")
	"\0\0\0\0\x06\0\0\0\x08\x03\x10\x05\x10\x01"
	U64("\x0a") U64("\x0b") U64("\x0c") U64("\x0d") U64("\x0e");
static const char f13[] = "\0\0\0\0" U64("\x02") U64("\x07") U64("\x2a") U64("\x64")
	"\0\0\0\0\x06\0\0\0\x08\x05\x10\x02\x10\x03" ONE_TO_SIX;

static struct fl_stream stream_of(const void *p, size_t n)
{
	return (struct fl_stream){ p, n, 0, "file" };
}

static void check_bytes(const struct fl_buf *b, const void *want, size_t n)
{
	ck_assert_uint_eq(b->len, n);
	ck_assert(!memcmp(b->data, want, n));
}

START_TEST(test_stream_f11)
{
	struct fl_stream s = stream_of(f11, sizeof f11 - 1);
	struct fl_buf b = FL_BUF_INIT;
	struct fl_tensor t;
	struct fl_err err;

	fl_tensor_init(&t);
	ck_assert_uint_eq(sizeof f11 - 1, 50);
	FT_OK(fl_read_lod_tensor(&s, &t, &err));
	ck_assert_uint_eq(s.left, 0);
	ck_assert_int_eq(t.dtype, FL_FP32);
	ck_assert_int_eq(t.rank, 2);
	ck_assert_int_eq(t.dims[0], 2);
	ck_assert_int_eq(t.dims[1], 3);
	for (int i = 0; i < 6; i++)
		ck_assert_float_eq(((float *)fl_data(&t))[i], (float)i + 1);
	fl_write_lod_tensor(&b, &t);
	check_bytes(&b, f11, sizeof f11 - 1);
	fl_buf_release(&b);
	fl_tensor_release(&t);
}
END_TEST

START_TEST(test_stream_f12)
{
	struct fl_stream s = stream_of(f12, sizeof f12 - 1);
	struct fl_buf b = FL_BUF_INIT;
	struct fl_tensor t;
	struct fl_err err;

	fl_tensor_init(&t);
	FT_OK(fl_read_lod_tensor(&s, &t, &err));
	ck_assert_int_eq(t.lod.n, 1);
	ck_assert_uint_eq(t.lod.level[0].n, 3);
	ck_assert_uint_eq(t.lod.level[0].off[1], 2);
	ck_assert_int_eq(((int64_t *)fl_data(&t))[4], 14);
	fl_write_lod_tensor(&b, &t);
	check_bytes(&b, f12, sizeof f12 - 1);
	fl_buf_release(&b);
	fl_tensor_release(&t);
}
END_TEST

START_TEST(test_stream_f13)
{
	struct fl_stream s = stream_of(f13, sizeof f13 - 1);
	struct fl_buf b = FL_BUF_INIT;
	struct fl_selected_rows r;
	struct fl_err err;

	fl_selected_rows_init(&r);
	FT_OK(fl_read_selected_rows(&s, &r, &err));
	ck_assert_uint_eq(r.n, 2);
	ck_assert_int_eq(r.rows[1], 42);
	ck_assert_int_eq(r.height, 100);
	ck_assert_float_eq(((float *)fl_data(&r.value))[5], 6);
	fl_write_selected_rows(&b, &r);
	check_bytes(&b, f13, sizeof f13 - 1);
	fl_buf_release(&b);
	fl_selected_rows_release(&r);
}
END_TEST

/* Every cut of a good file is refused, with a message that names the file. */
START_TEST(test_stream_cut_short)
{
	struct fl_selected_rows r;
	struct fl_tensor t;
	struct fl_err err;

	fl_tensor_init(&t);
	fl_selected_rows_init(&r);
	for (size_t n = 0; n < sizeof f12 - 1; n++) {
		struct fl_stream s = stream_of(f12, n);

		FT_FAIL(fl_read_lod_tensor(&s, &t, &err), FL_EFORMAT);
		FT_SAYS("'file'");
	}
	for (size_t n = 0; n < sizeof f13 - 1; n++) {
		struct fl_stream s = stream_of(f13, n);

		FT_FAIL(fl_read_selected_rows(&s, &r, &err), FL_EFORMAT);
	}
	fl_tensor_release(&t);
	fl_selected_rows_release(&r);
}
END_TEST

/* One byte of a good file changed. */
START_TEST(test_stream_refuses)
{
	static const struct {
		const char *file;
		size_t size, at;
		char value;
		const char *says;
	} rows[] = {
		{ f11, sizeof f11 - 1, 0, 1, "version 1" },
		{ f11, sizeof f11 - 1, 12, 2, "version 2" },
		{ f11, sizeof f11 - 1, 4, 9, "LoD levels" },
		{ f11, sizeof f11 - 1, 11, 1, "LoD levels" },
		{ f11, sizeof f11 - 1, 16, 100, "larger than the file" },
		{ f11, sizeof f11 - 1, 19, '\xff', "larger than the file" },
		{ f11, sizeof f11 - 1, 21, 99, "unknown" },
		{ f11, sizeof f11 - 1, 23, 100, "needs" },
		{ f11, sizeof f11 - 1, 20, 0x18, "element type" },
		{ f12, sizeof f12 - 1, 12, 0x17, "multiple of 8" },
		{ f12, sizeof f12 - 1, 19, 1, "larger than the file" },
		{ f12, sizeof f12 - 1, 20, 1, "starts with 1" },
		{ f12, sizeof f12 - 1, 28, 6, "falls" },
		{ f12, sizeof f12 - 1, 36, 4, "ends with 4" },
		{ f13, sizeof f13 - 1, 11, 0x20, "row numbers" },
		{ f13, sizeof f13 - 1, 4, 3, "" },
		{ f13, sizeof f13 - 1, 35, '\xff', "negative" },
	};
	struct fl_err err;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		bool sparse = rows[i].file == f13;
		char *copy = fl_xstrndup(rows[i].file, rows[i].size);
		struct fl_stream s = stream_of(copy, rows[i].size);
		struct fl_var *var = fl_var_new("v", sparse ? FL_SELECTED_ROWS : FL_LOD_TENSOR);
		enum fl_code code;

		copy[rows[i].at] = rows[i].value;
		code = fl_read_var(&s, var, &err);
		ck_assert_msg(code != FL_OK, "row %zu is accepted", i);
		FT_SAYS(rows[i].says);
		fl_var_free(var);
		fl_free(copy);
	}
}
END_TEST

START_TEST(test_stream_pickle)
{
	static const char pickle[] = "\x80\x02}q\x00(X\x03\x00\x00\x00";
	struct fl_stream s = stream_of(pickle, sizeof pickle - 1);
	struct fl_tensor t;
	struct fl_err err;

	fl_tensor_init(&t);
	FT_FAIL(fl_read_lod_tensor(&s, &t, &err), FL_EFORMAT);
	FT_SAYS("pickle");
	fl_tensor_release(&t);
}
END_TEST

/* Arrays: one stream after the other; none at all is an empty array. */
START_TEST(test_stream_array)
{
	struct fl_var *var = fl_var_new("a", FL_LOD_TENSOR_ARRAY);
	struct fl_buf two = FL_BUF_INIT, out = FL_BUF_INIT;
	struct fl_stream s;
	struct fl_err err;

	fl_buf_add(&two, f11, sizeof f11 - 1);
	fl_buf_add(&two, f12, sizeof f12 - 1);
	s = stream_of(two.data, two.len);
	FT_OK(fl_read_var(&s, var, &err));
	ck_assert_uint_eq(var->array.n, 2);
	FT_OK(fl_write_var(&out, var, &err));
	check_bytes(&out, two.data, two.len);
	s = stream_of("", 0);
	FT_OK(fl_read_var(&s, var, &err));
	ck_assert_uint_eq(var->array.n, 0);
	fl_buf_release(&two);
	fl_buf_release(&out);
	fl_var_free(var);
}
END_TEST

START_TEST(test_stream_files)
{
	struct fl_var *var = fl_var_new("v", FL_LOD_TENSOR), *back = fl_var_new("v", FL_LOD_TENSOR);
	struct fl_stream s = stream_of(f12, sizeof f12 - 1);
	char *dir = fl_xstrdup("/tmp/fl_streamXXXXXX");
	char *path, *folder;
	struct fl_buf more = FL_BUF_INIT;
	struct fl_err err;
	size_t extra;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	folder = fl_xstrfmt("%s/tower", dir);
	path = fl_xstrfmt("%s/w", folder);
	FT_FAIL(fl_save_var(path, var, &err), FL_ESTATE);
	FT_OK(fl_read_var(&s, var, &err));
	FT_OK(fl_save_var(path, var, &err));
	FT_OK(fl_load_var(path, back, NULL, &err));
	FT_TENSOR_NEAR(&back->tensor, &var->tensor, 0);
	fl_buf_add(&more, f12, sizeof f12 - 1);
	fl_buf_add(&more, "abcd", 4);
	FT_OK(fl_file_write(path, more.data, more.len, &err));
	FT_OK(fl_load_var(path, back, &extra, &err));
	ck_assert_uint_eq(extra, 4);
	FT_FAIL(fl_load_var(path, back, NULL, &err), FL_EFORMAT);
	unlink(path);
	FT_FAIL(fl_load_var(path, back, NULL, &err), FL_ENOTFOUND);
	rmdir(folder);
	rmdir(dir);
	fl_buf_release(&more);
	fl_free(folder);
	fl_free(path);
	fl_free(dir);
	fl_var_free(var);
	fl_var_free(back);
}
END_TEST

Suite *suite_stream(void)
{
	Suite *s = suite_create("stream");
	TCase *c = tcase_create("stream");

	tcase_set_timeout(c, FT_TIMEOUT);
	tcase_add_test(c, test_stream_f11);
	tcase_add_test(c, test_stream_f12);
	tcase_add_test(c, test_stream_f13);
	tcase_add_test(c, test_stream_cut_short);
	tcase_add_test(c, test_stream_refuses);
	tcase_add_test(c, test_stream_pickle);
	tcase_add_test(c, test_stream_array);
	tcase_add_test(c, test_stream_files);
	suite_add_tcase(s, c);
	return s;
}
