/* Frames: names resolved once, shapes inferred when they change, memory kept, in place or not. */
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "desc/edit.h"
#include "exec/prepared.h"
#include "fltest.h"

Suite *suite_frame(void);

/*
 * Allocations are counted by standing before the C library's functions. Sanitizers do the same, and
 * only one can.
 */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define NO_COUNT
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define NO_COUNT
#endif

static atomic_size_t allocations;

#ifndef NO_COUNT
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t align, size_t size);

void *malloc(size_t size)
{
	atomic_fetch_add(&allocations, 1);
	return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	atomic_fetch_add(&allocations, 1);
	return __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
	atomic_fetch_add(&allocations, 1);
	return __libc_realloc(p, size);
}

int posix_memalign(void **out, size_t align, size_t size)
{
	atomic_fetch_add(&allocations, 1);
	*out = __libc_memalign(align, size);
	return *out ? 0 : 12;
}
#endif

/* ---- programs -------------------------------------------------------------------------------- */

static struct fl_program *prog;
static struct fl_scope *scope;
static struct fl_exec_env env;
static struct fl_err err;

static void setup(void)
{
	prog = fl_program_new(1008005);
	scope = fl_scope_new(NULL);
	env = (struct fl_exec_env){ 0 };
}

static void teardown(void)
{
	fl_scope_free(scope);
	fl_program_free(prog);
}

static void add_var(const char *name, int kind, bool persistable)
{
	int64_t dims[] = { -1, -1 };
	fl_pb_var *v = fl_add_var(prog, prog->pb->blocks[0], name, kind);

	fl_var_set_tensor(prog, v, FL_FP32, dims, 2, 0);
	fl_var_set_persistable(v, persistable);
}

/* Pairs of slot and variable, inputs then outputs, each ended by NULL. */
static fl_pb_op *add_op(const char *type, const char *const *in, const char *const *out)
{
	fl_pb_op *op = fl_new_op(prog, type);

	for (; *in; in += 2)
		fl_op_set_input(prog, op, in[0], &in[1], 1);
	for (; *out; out += 2)
		fl_op_set_output(prog, op, out[0], &out[1], 1);
	fl_push_op(prog, prog->pb->blocks[0], op);
	return op;
}

#define LIST(...) ((const char *const[]){ __VA_ARGS__, NULL })

static struct fl_tensor *fill(const char *name, int64_t rows, int64_t columns, float first)
{
	struct fl_tensor *t = &fl_scope_var(scope, name, FL_LOD_TENSOR)->tensor;
	int64_t dims[] = { rows, columns };

	FT_OK(fl_tensor_resize(t, FL_FP32, dims, 2, &err));
	for (int64_t i = 0; i < rows * columns; i++)
		((float *)fl_data(t))[i] = first + (float)i;
	return t;
}

static struct fl_tensor *fill_one(const char *name, float v)
{
	struct fl_tensor *t = &fl_scope_var(scope, name, FL_LOD_TENSOR)->tensor;
	int64_t one = 1;

	FT_OK(fl_tensor_resize(t, FL_FP32, &one, 1, &err));
	*(float *)fl_data(t) = v;
	return t;
}

static struct fl_frame *frame_of(void)
{
	struct fl_frame *f = NULL;

	FT_OK(fl_frame_new(prog, 0, scope, &env, &f, &err));
	return f;
}

static const float *values(const char *name)
{
	return fl_data(&fl_scope_find(scope, name)->tensor);
}

static void add_relu(void)
{
	add_var("x", FL_LOD_TENSOR, false);
	add_var("y", FL_LOD_TENSOR, false);
	add_op("relu", LIST("X", "x"), LIST("Out", "y"));
}

static void add_sgd(void)
{
	add_var("w", FL_LOD_TENSOR, true);
	add_var("g", FL_LOD_TENSOR, false);
	add_var("lr", FL_LOD_TENSOR, true);
	add_op("sgd", LIST("Param", "w", "Grad", "g", "LearningRate", "lr"), LIST("ParamOut", "w"));
	fill("w", 2, 3, 0);
	fill("g", 2, 3, 1);
	fill_one("lr", 1);
}

/* ---- tests ----------------------------------------------------------------------------------- */

START_TEST(test_frame_follows_shapes_and_lod)
{
	uint64_t off[] = { 0, 2, 5 };
	struct fl_tensor *x, *y;
	struct fl_frame *f;

	add_relu();
	x = fill("x", 2, 3, -2);
	f = frame_of();
	FT_OK(fl_frame_run(f, &err));
	y = &fl_scope_find(scope, "y")->tensor;
	ck_assert_int_eq(y->dims[0], 2);
	ck_assert_float_eq(values("y")[0], 0);
	ck_assert_float_eq(values("y")[5], 3);
	fill("x", 5, 1, 7);
	FT_OK(fl_lod_push(&x->lod, off, 3, &err));
	FT_OK(fl_frame_run(f, &err));
	ck_assert_int_eq(y->dims[0], 5);
	ck_assert_int_eq(y->dims[1], 1);
	ck_assert(fl_lod_equal(&x->lod, &y->lod));
	/* What an output had before does not stay. */
	fl_lod_clear(&x->lod);
	FT_OK(fl_frame_run(f, &err));
	ck_assert_int_eq(y->lod.n, 0);
	fl_frame_free(f);
}
END_TEST

START_TEST(test_frame_in_place)
{
	struct fl_frame *f;
	struct fl_tensor held, *w;
	struct fl_mem *mem;

	add_sgd();
	f = frame_of();
	w = &fl_scope_find(scope, "w")->tensor;
	mem = w->mem;
	FT_OK(fl_frame_run(f, &err));
	ck_assert_ptr_eq(w->mem, mem);
	ck_assert_float_eq(values("w")[4], -1);
	/* A reply on its way holds the memory: it must not see the update. */
	fl_tensor_init(&held);
	fl_tensor_share(&held, w);
	FT_OK(fl_frame_run(f, &err));
	ck_assert_float_eq(((float *)fl_data(&held))[4], -1);
	ck_assert_float_eq(values("w")[4], -6);
	fl_tensor_release(&held);
	fl_frame_free(f);
}
END_TEST

/* x := x * w changes the shape of x while it is read. */
START_TEST(test_frame_in_place_with_new_shape)
{
	struct fl_frame *f;

	add_var("x", FL_LOD_TENSOR, false);
	add_var("w", FL_LOD_TENSOR, true);
	add_op("mul", LIST("X", "x", "Y", "w"), LIST("Out", "x"));
	fill("x", 1, 3, 1);
	fill("w", 3, 2, 1);
	f = frame_of();
	FT_OK(fl_frame_run(f, &err));
	ck_assert_int_eq(fl_numel(&fl_scope_find(scope, "x")->tensor), 2);
	ck_assert_float_eq(values("x")[0], 22);
	ck_assert_float_eq(values("x")[1], 28);
	FT_FAIL(fl_frame_run(f, &err), FL_EINVAL);
	FT_SAYS("block 0, op 0 'mul'");
	fl_frame_free(f);
}
END_TEST

START_TEST(test_frame_steady_state_allocates_nothing)
{
	struct fl_frame *f;
	const void *memory;
	size_t before;

	add_relu();
	add_var("w2", FL_LOD_TENSOR, true);
	add_var("z", FL_LOD_TENSOR, false);
	add_op("mul", LIST("X", "y", "Y", "w2"), LIST("Out", "z"));
	add_sgd();
	fill("x", 4, 3, -2);
	fill("w2", 3, 2, 1);
	f = frame_of();
	for (int i = 0; i < 3; i++)
		FT_OK(fl_frame_run(f, &err));
	memory = values("z");
	before = atomic_load(&allocations);
	for (int i = 0; i < 100; i++)
		if (fl_frame_run(f, &err) != FL_OK)
			break;
	ck_assert_uint_eq(atomic_load(&allocations), before);
	ck_assert_ptr_eq(values("z"), memory);
	ck_assert_float_eq(values("w")[0], -103);
	fl_frame_free(f);
}
END_TEST

START_TEST(test_frame_rebind)
{
	struct fl_var *other = fl_var_new("g@1", FL_LOD_TENSOR);
	int64_t dims[] = { 2, 3 };
	struct fl_frame *f;
	int slot;

	add_sgd();
	f = frame_of();
	ck_assert_int_eq(fl_frame_slot(f, "nothing"), -1);
	slot = fl_frame_slot(f, "g");
	ck_assert_int_ge(slot, 0);
	FT_OK(fl_tensor_resize(&other->tensor, FL_FP32, dims, 2, &err));
	for (int i = 0; i < 6; i++)
		((float *)fl_data(&other->tensor))[i] = 100;
	fl_frame_rebind(f, slot, other);
	FT_OK(fl_frame_run(f, &err));
	ck_assert_float_eq(values("w")[0], -100);
	fl_frame_rebind(f, slot, fl_scope_find(scope, "g"));
	FT_OK(fl_frame_run(f, &err));
	ck_assert_float_eq(values("w")[0], -101);
	fl_frame_free(f);
	fl_var_free(other);
}
END_TEST

START_TEST(test_frame_persistable_in_root)
{
	struct fl_scope *kid;
	struct fl_frame *f = NULL;

	add_var("p", FL_LOD_TENSOR, true);
	add_var("t", FL_LOD_TENSOR, false);
	add_op("relu", LIST("X", "p"), LIST("Out", "t"));
	kid = fl_scope_new(scope);
	FT_OK(fl_frame_new(prog, 0, kid, &env, &f, &err));
	ck_assert_ptr_nonnull(fl_scope_find(scope, "p"));
	ck_assert(fl_scope_find(scope, "p")->persistable);
	ck_assert_ptr_null(fl_scope_find(scope, "t"));
	ck_assert_ptr_nonnull(fl_scope_find(kid, "t"));
	fl_frame_free(f);
	fl_scope_free(kid);
}
END_TEST

START_TEST(test_frame_says_where)
{
	struct fl_frame *f;

	add_relu();
	f = frame_of();
	FT_FAIL(fl_frame_run(f, &err), FL_ESTATE);
	FT_SAYS("block 0, op 0 'relu': input 'X' (variable 'x'): expected a value, found none");
	fl_frame_free(f);
	add_op("reluu", LIST("X", "x"), LIST("Out", "y"));
	FT_FAIL(fl_frame_new(prog, 0, scope, &env, &f, &err), FL_EUNSUPPORTED);
	FT_SAYS("block 0, op 1 'reluu': unknown operator, did you mean 'relu'?");
	FT_FAIL(fl_frame_new(prog, 1, scope, &env, &f, &err), FL_EINVAL);
	FT_SAYS("no block 1");
}
END_TEST

START_TEST(test_frame_missing_slot)
{
	struct fl_frame *f;

	add_var("x", FL_LOD_TENSOR, false);
	add_op("mul", LIST("X", "x"), LIST("Out", "x"));
	FT_FAIL(fl_frame_new(prog, 0, scope, &env, &f, &err), FL_EINVAL);
	FT_SAYS("block 0, op 0 'mul': input 'Y' is missing");
}
END_TEST

START_TEST(test_frame_checks_attributes)
{
	struct fl_frame *f;
	fl_pb_op *op;

	add_var("w", FL_LOD_TENSOR, true);
	op = add_op("momentum", LIST("Param", "w", "Grad", "w", "Velocity", "w", "LearningRate", "w"),
		LIST("ParamOut", "w", "VelocityOut", "w"));
	FT_FAIL(fl_frame_new(prog, 0, scope, &env, &f, &err), FL_EINVAL);
	FT_SAYS("block 0, op 0 'momentum': attribute 'mu' is missing");
	fl_op_set_str(prog, op, "mu", "0.9");
	FT_FAIL(fl_frame_new(prog, 0, scope, &env, &f, &err), FL_EINVAL);
	FT_SAYS("attribute 'mu' is of type STRING, expected FLOAT");
	fl_op_set_float(prog, op, "mu", 0.9f);
	FT_OK(fl_frame_new(prog, 0, scope, &env, &f, &err));
	fl_frame_free(f);
}
END_TEST

START_TEST(test_frame_check_nan_inf)
{
	struct fl_frame *f;

	add_relu();
	env.check_nan_inf = true;
	((float *)fl_data(fill("x", 1, 3, 1)))[2] = INFINITY;
	f = frame_of();
	FT_FAIL(fl_frame_run(f, &err), FL_ESTATE);
	FT_SAYS("block 0, op 0 'relu': output 'Out' (variable 'y'): element 2 is inf");
	fill("x", 1, 3, 1);
	FT_OK(fl_frame_run(f, &err));
	fl_frame_free(f);
}
END_TEST

Suite *suite_frame(void)
{
	Suite *s = suite_create("frame");
	TCase *c = tcase_create("frame");

	tcase_set_timeout(c, FT_TIMEOUT);
	tcase_add_checked_fixture(c, setup, teardown);
	tcase_add_test(c, test_frame_follows_shapes_and_lod);
	tcase_add_test(c, test_frame_in_place);
	tcase_add_test(c, test_frame_in_place_with_new_shape);
	tcase_add_test(c, test_frame_steady_state_allocates_nothing);
	tcase_add_test(c, test_frame_rebind);
	tcase_add_test(c, test_frame_persistable_in_root);
	tcase_add_test(c, test_frame_says_where);
	tcase_add_test(c, test_frame_missing_slot);
	tcase_add_test(c, test_frame_checks_attributes);
	tcase_add_test(c, test_frame_check_nan_inf);
	suite_add_tcase(s, c);
	return s;
}
