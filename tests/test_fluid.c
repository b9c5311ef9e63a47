/* fluid.h: the public interface alone. */
#include <check.h>
#include <string.h>

#include "fluid.h"
#include "desc/edit.h"
#include "fltest.h"

Suite *suite_fluid(void);

/* y = relu(x), as a file. */
static void write_program(const char *path)
{
	struct fl_program *prog = fl_program_new(1008005);
	fl_pb_block *b = prog->pb->blocks[0];
	int64_t dims[] = { -1, 2 };
	struct fl_err err;
	fl_pb_op *op = fl_new_op(prog, "relu");

	fl_var_set_tensor(prog, fl_add_var(prog, b, "x", FL_LOD_TENSOR), FL_FP32, dims, 2, 0);
	fl_var_set_tensor(prog, fl_add_var(prog, b, "y", FL_LOD_TENSOR), FL_FP32, dims, 2, 0);
	fl_op_set_input(prog, op, "X", (const char *const[]){ "x" }, 1);
	fl_op_set_output(prog, op, "Out", (const char *const[]){ "y" }, 1);
	fl_push_op(prog, b, op);
	FT_OK(fl_program_save(prog, path, &err));
	fl_program_free(prog);
}

START_TEST(test_fluid_runs)
{
	char path[] = "/tmp/fl_fluidXXXXXX";
	int fd = mkstemp(path);
	struct fluid_model *m = fluid_new(1);
	const int64_t dims[] = { 1, 2 };
	const float x[] = { -1, 2 };
	struct fluid_view view;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_ne(fluid_run(m), 0);
	ck_assert_str_eq(fluid_error(m), "no program is loaded");
	write_program(path);
	ck_assert_int_eq(fluid_program(m, path), 0);
	ck_assert_int_ne(fluid_run(m), 0);
	ck_assert_ptr_nonnull(strstr(fluid_error(m), "variable 'x'"));
	ck_assert_int_eq(fluid_set(m, "x", FLUID_FLOAT32, dims, 2, x), 0);
	ck_assert_int_eq(fluid_run(m), 0);
	ck_assert_int_eq(fluid_get(m, "y", &view), 0);
	ck_assert_int_eq(view.rank, 2);
	ck_assert_uint_eq(view.bytes, 8);
	ck_assert_float_eq(((const float *)view.data)[0], 0);
	ck_assert_float_eq(((const float *)view.data)[1], 2);
	/* A value goes through a file. */
	ck_assert_int_eq(fluid_save(m, "y", path), 0);
	ck_assert_int_eq(fluid_load(m, "x", path), 0);
	ck_assert_int_eq(fluid_run(m), 0);
	ck_assert_int_ne(fluid_get(m, "z", &view), 0);
	ck_assert_str_eq(fluid_error(m), "there is no variable 'z'");
	ck_assert_int_ne(fluid_program(m, path), 0);
	ck_assert_int_eq(fluid_run(m), 0);
	fluid_free(m);
	remove(path);
}
END_TEST

Suite *suite_fluid(void)
{
	Suite *s = suite_create("fluid");
	TCase *c = tcase_create("fluid");

	tcase_set_timeout(c, FT_TIMEOUT);
	tcase_add_test(c, test_fluid_runs);
	suite_add_tcase(s, c);
	return s;
}
