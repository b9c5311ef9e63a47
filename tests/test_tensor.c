/* Element types, tensors, LoD, SelectedRows, variables. */
#include <stdint.h>
#include <string.h>

#include "fltest.h"
#include "tensor/convert.h"
#include "tensor/var.h"

Suite *suite_tensor(void);

START_TEST(test_dtype_names)
{
	static const struct {
		const char *name;
		int dtype;
		size_t size;
	} rows[] = { { "float32", FL_FP32, 4 }, { "FP32", FL_FP32, 4 }, { "f4", FL_FP32, 4 },
		{ "int64", FL_INT64, 8 }, { "i8", FL_INT64, 8 }, { "BOOL", FL_BOOL, 1 },
		{ "uint8", FL_UINT8, 1 }, { "float16", FL_FP16, 2 } };

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		ck_assert_int_eq(fl_dtype_parse(rows[i].name), rows[i].dtype);
		ck_assert_uint_eq(fl_dtype_size(rows[i].dtype), rows[i].size);
	}
	ck_assert_int_eq(fl_dtype_parse("float23"), -1);
	ck_assert_uint_eq(fl_dtype_size(FL_LOD_TENSOR), 0);
	ck_assert_ptr_null(fl_dtype_name(99));
}
END_TEST

START_TEST(test_tensor_resize_keeps_memory)
{
	int64_t big[] = { 4, 5 }, small[] = { 3, 2 };
	struct fl_tensor t, view;
	struct fl_err err;
	struct fl_mem *mem;

	fl_tensor_init(&t);
	fl_tensor_init(&view);
	ck_assert_int_eq(fl_numel(&t), 0);
	FT_OK(fl_tensor_resize(&t, FL_FP32, big, 2, &err));
	mem = t.mem;
	ck_assert_uint_eq((uintptr_t)fl_data(&t) % 64, 0);
	FT_OK(fl_tensor_resize(&t, FL_FP64, small, 2, &err));
	ck_assert_ptr_eq(t.mem, mem);
	ck_assert_uint_eq(fl_tensor_bytes(&t), 48);
	/* Held elsewhere: the other one keeps the old block. */
	fl_tensor_share(&view, &t);
	FT_OK(fl_tensor_resize(&t, FL_FP64, small, 2, &err));
	ck_assert_ptr_ne(t.mem, mem);
	ck_assert_ptr_eq(view.mem, mem);
	fl_tensor_release(&t);
	fl_tensor_release(&view);
}
END_TEST

START_TEST(test_tensor_refuses_shapes)
{
	int64_t huge[] = { INT64_MAX, 3 }, zero[] = { 0, INT64_MAX, INT64_MAX }, negative[] = { 2, -1 };
	struct fl_tensor t;
	struct fl_err err;

	fl_tensor_init(&t);
	FT_FAIL(fl_tensor_resize(&t, FL_FP32, huge, 2, &err), FL_ELIMIT);
	FT_FAIL(fl_tensor_resize(&t, FL_FP32, zero, 3, &err), FL_ELIMIT);
	FT_FAIL(fl_tensor_resize(&t, FL_FP32, negative, 2, &err), FL_ELIMIT);
	FT_FAIL(fl_tensor_resize(&t, FL_RAW, huge, 1, &err), FL_EUNSUPPORTED);
	FT_FAIL(fl_tensor_resize(&t, FL_FP32, huge, FL_MAX_RANK + 1, &err), FL_ELIMIT);
	ck_assert_ptr_null(t.mem);
	fl_tensor_release(&t);
}
END_TEST

START_TEST(test_tensor_slice_shares)
{
	int64_t dims[] = { 5, 3 };
	uint64_t off[] = { 0, 2, 5 };
	struct fl_tensor t, s;
	struct fl_err err;

	fl_tensor_init(&t);
	fl_tensor_init(&s);
	FT_OK(fl_tensor_resize(&t, FL_INT32, dims, 2, &err));
	for (int i = 0; i < 15; i++)
		((int32_t *)fl_data(&t))[i] = i;
	FT_OK(fl_lod_push(&t.lod, off, 3, &err));
	fl_tensor_slice(&s, &t, 2, 4);
	ck_assert_int_eq(s.dims[0], 2);
	ck_assert_int_eq(s.lod.n, 0);
	ck_assert_int_eq(((int32_t *)fl_data(&s))[0], 6);
	ck_assert_ptr_eq(s.mem, t.mem);
	fl_tensor_slice(&s, &s, 1, 2);
	ck_assert_int_eq(((int32_t *)fl_data(&s))[2], 11);
	fl_tensor_release(&t);
	ck_assert_int_eq(((int32_t *)fl_data(&s))[2], 11);
	fl_tensor_release(&s);
}
END_TEST

START_TEST(test_lod_check)
{
	static const struct {
		uint64_t a[4], b[4];
		size_t na, nb;
		int64_t rows;
		bool good;
	} rows[] = {
		{ { 0, 2, 5 }, { 0 }, 3, 0, 5, true },
		{ { 0, 2, 2, 5 }, { 0 }, 4, 0, 5, true },
		{ { 0 }, { 0 }, 1, 0, 0, true },
		{ { 0, 2 }, { 0, 1, 4 }, 2, 3, 4, true },
		{ { 0, 2, 5 }, { 0 }, 3, 0, 6, false },
		{ { 1, 2, 5 }, { 0 }, 3, 0, 5, false },
		{ { 0, 4, 3, 5 }, { 0 }, 4, 0, 5, false },
		{ { 0, 3 }, { 0, 1, 4 }, 2, 3, 4, false },
		{ { 0 }, { 0 }, 0, 0, 0, false },
	};
	struct fl_err err;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct fl_lod lod = { .n = 0 };

		FT_OK(fl_lod_push(&lod, rows[i].a, rows[i].na, &err));
		if (rows[i].nb)
			FT_OK(fl_lod_push(&lod, rows[i].b, rows[i].nb, &err));
		ck_assert_msg((fl_lod_check(&lod, rows[i].rows, &err) == FL_OK) == rows[i].good,
			"row %zu", i);
		fl_lod_release(&lod);
	}
}
END_TEST

START_TEST(test_lod_copy_and_limit)
{
	struct fl_lod a = { .n = 0 }, b = { .n = 0 };
	uint64_t off[] = { 0, 3 };
	struct fl_err err;

	for (int i = 0; i < FL_MAX_LOD; i++)
		FT_OK(fl_lod_push(&a, off, 2, &err));
	FT_FAIL(fl_lod_push(&a, off, 2, &err), FL_ELIMIT);
	fl_lod_copy(&b, &a);
	ck_assert(fl_lod_equal(&a, &b));
	b.level[2].off[1] = 4;
	ck_assert(!fl_lod_equal(&a, &b));
	fl_lod_clear(&b);
	ck_assert(!fl_lod_equal(&a, &b));
	fl_lod_release(&a);
	fl_lod_release(&b);
}
END_TEST

START_TEST(test_var_copy_all_kinds)
{
	static const int kinds[] = { FL_LOD_TENSOR, FL_SELECTED_ROWS, FL_LOD_TENSOR_ARRAY };
	struct fl_err err;
	int64_t dims[] = { 2, 3 };

	for (size_t i = 0; i < 3; i++) {
		struct fl_var *a = fl_var_new("a", kinds[i]), *b = fl_var_new("b", FL_LOD_TENSOR);
		struct fl_tensor *t = kinds[i] == FL_SELECTED_ROWS ? &a->rows.value : &a->tensor;
		struct fl_meta meta;

		FT_OK(fl_tensor_resize(t, FL_FP32, dims, 2, &err));
		memset(fl_data(t), 0, fl_tensor_bytes(t));
		fl_selected_rows_resize(&a->rows, 2);
		a->rows.rows[0] = 7, a->rows.rows[1] = 1;
		a->rows.height = 10;
		FT_OK(fl_var_copy(b, a, &err));
		ck_assert_int_eq(b->kind, kinds[i]);
		ck_assert(fl_var_has_value(b));
		fl_var_meta(b, &meta);
		if (kinds[i] == FL_SELECTED_ROWS) {
			ck_assert_int_eq(b->rows.rows[0], 7);
			ck_assert_int_eq(meta.dims[0], 10);
		}
		fl_var_set_kind(b, FL_RAW);
		ck_assert(!fl_var_has_value(b));
		FT_FAIL(fl_var_copy(a, b, &err), FL_EUNSUPPORTED);
		fl_var_free(a);
		fl_var_free(b);
	}
}
END_TEST

START_TEST(test_convert_all_pairs)
{
	static const int types[] = { FL_BOOL, FL_UINT8, FL_INT8, FL_INT16, FL_INT32, FL_INT64, FL_SIZE_T,
		FL_FP32, FL_FP64 };
	double in[300], out[300];

	for (size_t i = 0; i < 300; i++)
		in[i] = (double)(i % 2);
	for (size_t a = 0; a < 9; a++)
		for (size_t b = 0; b < 9; b++) {
			char x[300 * 8], y[300 * 8];

			ck_assert_uint_eq(fl_convert(types[a], x, FL_FP64, in, 300, 1), 300);
			ck_assert_uint_eq(fl_convert(types[b], y, types[a], x, 300, 1), 300);
			ck_assert_uint_eq(fl_convert(FL_FP64, out, types[b], y, 300, 1), 300);
			ck_assert_msg(!memcmp(in, out, sizeof in), "%s to %s", fl_dtype_name(types[a]),
				fl_dtype_name(types[b]));
		}
	ck_assert(!fl_can_convert(FL_FP32, FL_FP16));
	ck_assert(fl_can_convert(FL_FP16, FL_FP16));
}
END_TEST

START_TEST(test_convert_refuses_what_does_not_fit)
{
	int64_t whole[] = { 1, INT64_MAX, -1, 300 }, kept;
	double real[] = { 1.9, 0x1p63, -0x1p63, NAN };
	int64_t out64[4];
	uint8_t out8[4];

	ck_assert_uint_eq(fl_convert(FL_UINT8, out8, FL_INT64, whole, 4, 1), 1);
	ck_assert_uint_eq(fl_convert(FL_UINT8, out8, FL_INT64, whole + 3, 1, 1), 0);
	ck_assert_uint_eq(fl_convert(FL_INT64, out64, FL_FP64, real, 4, 1), 1);
	ck_assert_int_eq(out64[0], 1);
	ck_assert_uint_eq(fl_convert(FL_INT64, out64, FL_FP64, real + 2, 2, 1), 1);
	ck_assert_int_eq(out64[0], INT64_MIN);
	/* Whole numbers do not pass through doubles. */
	kept = INT64_MAX;
	ck_assert_uint_eq(fl_convert(FL_SIZE_T, out64, FL_INT64, &kept, 1, 1), 1);
	ck_assert_int_eq(out64[0], INT64_MAX);
}
END_TEST

Suite *suite_tensor(void)
{
	Suite *s = suite_create("tensor");
	TCase *c = tcase_create("tensor");

	tcase_set_timeout(c, FT_TIMEOUT);
	tcase_add_test(c, test_dtype_names);
	tcase_add_test(c, test_tensor_resize_keeps_memory);
	tcase_add_test(c, test_tensor_refuses_shapes);
	tcase_add_test(c, test_tensor_slice_shares);
	tcase_add_test(c, test_lod_check);
	tcase_add_test(c, test_lod_copy_and_limit);
	tcase_add_test(c, test_var_copy_all_kinds);
	tcase_add_test(c, test_convert_all_pairs);
	tcase_add_test(c, test_convert_refuses_what_does_not_fit);
	suite_add_tcase(s, c);
	return s;
}
