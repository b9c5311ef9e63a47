/*
 * Kernels with more than dense tensors: the LoD that gradients pass on (what Fluid 1.8.5 does, each
 * input with a LoD of its own), SelectedRows in sgd, momentum, sum and scale, and the operators that
 * talk to other processes, against a host that notes what it is asked for.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "desc/edit.h"
#include "desc/names.h"
#include "exec/prepared.h"
#include "fltest.h"

Suite *suite_kernels(void);

struct bench {
	struct fl_program *prog; /* owned */
	struct fl_scope *scope;	 /* owned */
	struct fl_frame *frame;	 /* owned; NULL before the first run */
	struct fl_exec_env env;
	fl_pb_op *op;
};

static void bench_new(struct bench *b, const char *type)
{
	memset(b, 0, sizeof *b);
	b->prog = fl_program_new(1008005);
	b->scope = fl_scope_new(NULL);
	b->op = fl_new_op(b->prog, type);
	fl_push_op(b->prog, b->prog->pb->blocks[0], b->op);
}

static void bench_free(struct bench *b)
{
	fl_frame_free(b->frame);
	fl_scope_free(b->scope);
	fl_program_free(b->prog);
}

static enum fl_code bench_run(struct bench *b, struct fl_err *err)
{
	if (!b->frame)
		FL_TRY(fl_frame_new(b->prog, 0, b->scope, &b->env, &b->frame, err));
	return fl_frame_run(b->frame, err);
}

static void input(struct bench *b, const char *slot, const char *name)
{
	fl_op_set_input(b->prog, b->op, slot, (const char *[]){ name }, 1);
}

static void output(struct bench *b, const char *slot, const char *name)
{
	fl_op_set_output(b->prog, b->op, slot, (const char *[]){ name }, 1);
}

/* A float tensor of [rows, width] with those values. */
static struct fl_tensor *dense(struct bench *b, const char *name, int64_t rows, int64_t width,
	const float *values)
{
	struct fl_tensor *t = &fl_scope_var(b->scope, name, FL_LOD_TENSOR)->tensor;
	struct fl_err err;

	FT_OK(fl_tensor_resize(t, FL_FP32, (int64_t[]){ rows, width }, width ? 2 : 1, &err));
	memcpy(fl_data(t), values, fl_tensor_bytes(t));
	return t;
}

static struct fl_selected_rows *sparse(struct bench *b, const char *name, int64_t height, size_t n,
	const int64_t *rows, int64_t width, const float *values)
{
	struct fl_selected_rows *s = &fl_scope_var(b->scope, name, FL_SELECTED_ROWS)->rows;
	struct fl_err err;

	fl_selected_rows_resize(s, n);
	if (n)
		memcpy(s->rows, rows, n * sizeof *rows);
	s->height = height;
	FT_OK(fl_tensor_resize(&s->value, FL_FP32, (int64_t[]){ (int64_t)n, width }, 2, &err));
	memcpy(fl_data(&s->value), values, fl_tensor_bytes(&s->value));
	return s;
}

static void check_floats(const struct fl_tensor *t, const float *want, size_t n)
{
	ck_assert_uint_eq((size_t)fl_numel(t), n);
	for (size_t i = 0; i < n; i++)
		ck_assert_msg(fabsf(((const float *)fl_data(t))[i] - want[i]) <= 1e-6f,
			"element %zu is %.9g, expected %.9g", i, (double)((const float *)fl_data(t))[i],
			(double)want[i]);
}

/* ---- the LoD of gradients -------------------------------------------------------------------- */

static const struct {
	const char *type, *in[3]; /* inputs, all of one shape, each with its LoD */
	const char *out, *from;	  /* `from` NULL: no LoD */
	int rank;
} lods[] = {
	{ "relu_grad", { "Out", "Out@GRAD" }, "X@GRAD", "Out@GRAD", 2 },
	{ "tanh_grad", { "Out", "Out@GRAD" }, "X@GRAD", "Out@GRAD", 2 },
	{ "square_grad", { "X", "Out@GRAD" }, "X@GRAD", "Out@GRAD", 2 },
	{ "elementwise_add_grad", { "X", "Y", "Out@GRAD" }, "X@GRAD", "Out@GRAD", 2 },
	{ "elementwise_add_grad", { "X", "Y", "Out@GRAD" }, "Y@GRAD", "Y", 2 },
	{ "elementwise_mul_grad", { "X", "Y", "Out@GRAD" }, "X@GRAD", "Out@GRAD", 2 },
	{ "scale", { "X" }, "Out", "X", 2 },
	{ "softmax_grad", { "Out", "Out@GRAD" }, "X@GRAD", NULL, 2 },
	{ "reshape_grad", { "X", "Out", "Out@GRAD" }, "X@GRAD", NULL, 2 },
	{ "concat_grad", { "X", "Out@GRAD" }, "X@GRAD", "X", 2 },
	{ "pool2d_grad", { "X", "Out", "Out@GRAD" }, "X@GRAD", NULL, 4 },
};

START_TEST(test_kernels_gradient_lod)
{
	int64_t dims[4] = { 5, 4, 1, 1 };
	struct fl_lod *got;
	struct fl_err err;
	struct bench b;

	bench_new(&b, lods[_i].type);
	for (uint64_t i = 0; i < 3 && lods[_i].in[i]; i++) {
		const char *slot = lods[_i].in[i];
		struct fl_tensor *t = &fl_scope_var(b.scope, slot, FL_LOD_TENSOR)->tensor;

		FT_OK(fl_tensor_resize(t, FL_FP32, dims, lods[_i].rank, &err));
		memset(fl_data(t), 0, fl_tensor_bytes(t));
		FT_OK(fl_lod_push(&t->lod, (uint64_t[]){ 0, i + 1, 5 }, 3, &err));
		input(&b, slot, slot);
	}
	output(&b, lods[_i].out, "d");
	fl_op_set_ints(b.prog, b.op, "ksize", (int32_t[]){ 1, 1 }, 2);
	fl_op_set_str(b.prog, b.op, "pooling_type", "max");
	FT_OK(bench_run(&b, &err));
	got = &fl_scope_var(b.scope, "d", FL_LOD_TENSOR)->tensor.lod;
	if (!lods[_i].from)
		ck_assert_int_eq(got->n, 0);
	else
		ck_assert(fl_lod_equal(got,
			&fl_scope_var(b.scope, lods[_i].from, FL_LOD_TENSOR)->tensor.lod));
	bench_free(&b);
}
END_TEST

/* ---- SelectedRows ---------------------------------------------------------------------------- */

static void add_sgd(struct bench *b)
{
	bench_new(b, "sgd");
	input(b, "Param", "p");
	input(b, "Grad", "g");
	input(b, "LearningRate", "lr");
	output(b, "ParamOut", "p");
	dense(b, "p", 4, 2, (float[]){ 1, 2, 3, 4, 5, 6, 7, 8 });
	dense(b, "lr", 1, 0, (float[]){ 0.5f });
}

/* A row that comes twice is subtracted twice; others stay. */
START_TEST(test_kernels_sgd_rows)
{
	struct fl_err err;
	struct bench b;

	add_sgd(&b);
	sparse(&b, "g", 4, 3, (int64_t[]){ 3, 1, 3 }, 2, (float[]){ 1, 2, 10, 20, 4, 8 });
	FT_OK(bench_run(&b, &err));
	check_floats(&fl_scope_var(b.scope, "p", FL_LOD_TENSOR)->tensor,
		(float[]){ 1, 2, -2, -6, 5, 6, 4.5f, 3 }, 8);
	bench_free(&b);
}
END_TEST

START_TEST(test_kernels_rows_out_of_range)
{
	static const int64_t wrong[] = { 4, -1, INT64_MAX, INT64_MIN };
	struct fl_err err;
	struct bench b;

	add_sgd(&b);
	sparse(&b, "g", 4, 2, (int64_t[]){ 0, wrong[_i] }, 2, (float[]){ 1, 1, 1, 1 });
	FT_FAIL(bench_run(&b, &err), FL_EINVAL);
	FT_SAYS("'Grad' row 1");
	check_floats(&fl_scope_var(b.scope, "p", FL_LOD_TENSOR)->tensor,
		(float[]){ 1, 2, 3, 4, 5, 6, 7, 8 }, 8);
	bench_free(&b);
}
END_TEST

/* Rows are merged first; rows without a gradient move by their velocity. */
START_TEST(test_kernels_momentum_rows)
{
	struct fl_err err;
	struct bench b;

	bench_new(&b, "momentum");
	input(&b, "Param", "p");
	input(&b, "Grad", "g");
	input(&b, "Velocity", "v");
	input(&b, "LearningRate", "lr");
	output(&b, "ParamOut", "p");
	output(&b, "VelocityOut", "v");
	fl_op_set_float(b.prog, b.op, "mu", 0.5f);
	dense(&b, "p", 3, 2, (float[]){ 1, 2, 3, 4, 5, 6 });
	dense(&b, "v", 3, 2, (float[]){ 2, 2, 4, 4, 0, 0 });
	dense(&b, "lr", 1, 0, (float[]){ 0.25f });
	sparse(&b, "g", 3, 3, (int64_t[]){ 2, 0, 2 }, 2, (float[]){ 1, 2, 3, 4, 3, 2 });
	FT_OK(bench_run(&b, &err));
	check_floats(&fl_scope_var(b.scope, "v", FL_LOD_TENSOR)->tensor, (float[]){ 4, 5, 2, 2, 4, 4 }, 6);
	check_floats(&fl_scope_var(b.scope, "p", FL_LOD_TENSOR)->tensor,
		(float[]){ 0, 0.75f, 2.5f, 3.5f, 4, 5 }, 6);
	bench_free(&b);
}
END_TEST

static void add_sum(struct bench *b)
{
	bench_new(b, "sum");
	fl_op_set_input(b->prog, b->op, "X", (const char *[]){ "a", "b" }, 2);
	output(b, "Out", "o");
	sparse(b, "b", 3, 2, (int64_t[]){ 2, 2 }, 2, (float[]){ 1, 2, 3, 4 });
}

START_TEST(test_kernels_sum_rows_and_dense)
{
	struct fl_err err;
	struct bench b;

	add_sum(&b);
	dense(&b, "a", 3, 2, (float[]){ 10, 20, 30, 40, 50, 60 });
	FT_OK(bench_run(&b, &err));
	check_floats(&fl_scope_var(b.scope, "o", FL_LOD_TENSOR)->tensor,
		(float[]){ 10, 20, 30, 40, 54, 66 }, 6);
	bench_free(&b);
}
END_TEST

START_TEST(test_kernels_sum_rows)
{
	float table[6] = { 0 };
	const struct fl_var *o;
	struct fl_err err;
	struct bench b;

	add_sum(&b);
	sparse(&b, "a", 3, 1, (int64_t[]){ 0 }, 2, (float[]){ 7, 8 });
	FT_OK(bench_run(&b, &err));
	o = fl_scope_find(b.scope, "o");
	ck_assert_int_eq(o->kind, FL_SELECTED_ROWS);
	ck_assert_int_eq(o->rows.height, 3);
	for (size_t i = 0; i < o->rows.n; i++)
		for (int64_t j = 0; j < 2; j++)
			table[o->rows.rows[i] * 2 + j] += ((float *)fl_data(&o->rows.value))[i * 2 + (size_t)j];
	ck_assert(!memcmp(table, (float[]){ 7, 8, 0, 0, 4, 6 }, sizeof table));
	bench_free(&b);
}
END_TEST

/* Values are scaled; rows stay as they are, twice where they come twice. */
START_TEST(test_kernels_scale_rows)
{
	const struct fl_selected_rows *s;
	struct fl_err err;
	struct bench b;

	bench_new(&b, "scale");
	input(&b, "X", "x");
	output(&b, "Out", "x");
	fl_op_set_float(b.prog, b.op, "scale", 0.5f);
	s = sparse(&b, "x", 9, 3, (int64_t[]){ 5, 1, 5 }, 1, (float[]){ 2, 4, 6 });
	FT_OK(bench_run(&b, &err));
	ck_assert_uint_eq(s->n, 3);
	ck_assert(!memcmp(s->rows, (int64_t[]){ 5, 1, 5 }, 3 * sizeof *s->rows));
	check_floats(&s->value, (float[]){ 1, 2, 3 }, 3);
	bench_free(&b);
}
END_TEST

/* ---- other processes ------------------------------------------------------------------------- */

/* What the host was asked for, a word each: "send:g>a:1". */
struct notes {
	char text[256];
};

static void note(struct notes *n, const char *what, const struct fl_remote *r, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t at = strlen(n->text);

		snprintf(n->text + at, sizeof n->text - at, "%s:%s/%s>%s ", what, r[i].name,
			r[i].local ? r[i].local : "", r[i].endpoint);
	}
}

static enum fl_code note_send(void *arg, const struct fl_remote *r, size_t n, struct fl_err *err)
{
	(void)err;
	note(arg, "send", r, n);
	return FL_OK;
}

static enum fl_code note_notify(void *arg, const struct fl_remote *r, size_t n, struct fl_err *err)
{
	(void)err;
	note(arg, "notify", r, n);
	return FL_OK;
}

static enum fl_code note_get(void *arg, const struct fl_remote *r, size_t n, bool with_barrier,
	struct fl_err *err)
{
	(void)err;
	note(arg, with_barrier ? "get" : "get-now", r, n);
	return FL_OK;
}

static enum fl_code fail_barrier(void *arg, bool batch, const char *const *endpoints, size_t n,
	struct fl_err *err)
{
	(void)arg;
	return fl_err_set(err, FL_EINVAL, "%s %zu %s", batch ? "batch" : "fetch", n, endpoints[0]);
}

static void add_remote(struct bench *b, struct fl_host *host, struct notes *n, const char *type)
{
	memset(n, 0, sizeof *n);
	*host = (struct fl_host){ .arg = n, .send = note_send, .notify = note_notify, .get = note_get,
		.barrier = fail_barrier };
	bench_new(b, type);
	b->env.host = host;
}

/* Control variables, variables without a value and SelectedRows without rows are not sent. */
START_TEST(test_kernels_send)
{
	struct fl_host host;
	struct fl_err err;
	struct notes n;
	struct bench b;

	add_remote(&b, &host, &n, "send");
	fl_op_set_input(b.prog, b.op, "X",
		(const char *[]){ "a", "x" FL_CONTROL_VAR "@1", "unset", "norows", "r" }, 5);
	fl_op_set_strs(b.prog, b.op, "epmap", (const char *[]){ "h:1", "h:2", "h:3", "h:4", "h:5" }, 5);
	dense(&b, "a", 1, 2, (float[]){ 1, 2 });
	dense(&b, "x" FL_CONTROL_VAR "@1", 1, 2, (float[]){ 1, 2 });
	sparse(&b, "norows", 3, 0, (int64_t[]){ 0 }, 2, (float[]){ 0 });
	sparse(&b, "r", 3, 1, (int64_t[]){ 2 }, 2, (float[]){ 3, 4 });
	FT_OK(bench_run(&b, &err));
	ck_assert_str_eq(n.text, "send:a/>h:1 send:r/>h:5 ");
	bench_free(&b);
}
END_TEST

/* Without the send handler each endpoint is told once. */
START_TEST(test_kernels_notify)
{
	struct fl_host host;
	struct fl_err err;
	struct notes n;
	struct bench b;

	add_remote(&b, &host, &n, "send");
	input(&b, "X", "a");
	fl_op_set_strs(b.prog, b.op, "epmap", (const char *[]){ "h:1", "h:2", "h:1" }, 3);
	fl_op_set_bool(b.prog, b.op, "use_send_handler", false);
	dense(&b, "a", 1, 2, (float[]){ 1, 2 });
	FT_OK(bench_run(&b, &err));
	ck_assert_str_eq(n.text, "notify:a/>h:1 notify:a/>h:2 ");
	bench_free(&b);
}
END_TEST

START_TEST(test_kernels_recv)
{
	struct fl_host host;
	struct fl_err err;
	struct notes n;
	struct bench b;

	add_remote(&b, &host, &n, "recv");
	fl_op_set_output(b.prog, b.op, "Out", (const char *[]){ "p", "q" }, 2);
	fl_op_set_strs(b.prog, b.op, "epmap", (const char *[]){ "h:1", "h:2" }, 2);
	fl_op_set_strs(b.prog, b.op, "varnames", (const char *[]){ "p.block0", "q.block7" }, 2);
	fl_op_set_bool(b.prog, b.op, "with_barrier", _i);
	FT_OK(bench_run(&b, &err));
	ck_assert_str_eq(n.text, _i ? "get:p.block0/p>h:1 get:q.block7/q>h:2 "
				    : "get-now:p.block0/p>h:1 get-now:q.block7/q>h:2 ");
	bench_free(&b);
}
END_TEST

/* Fewer endpoints than variables, and a host's failure, come out as errors of that operator. */
START_TEST(test_kernels_remote_errors)
{
	struct fl_host host;
	struct fl_err err;
	struct notes n;
	struct bench b;

	add_remote(&b, &host, &n, "recv");
	fl_op_set_output(b.prog, b.op, "Out", (const char *[]){ "p", "q" }, 2);
	fl_op_set_strs(b.prog, b.op, "epmap", (const char *[]){ "h:1" }, 1);
	FT_FAIL(bench_run(&b, &err), FL_EINVAL);
	FT_SAYS("'epmap' has 1");
	bench_free(&b);
	add_remote(&b, &host, &n, "send_barrier");
	fl_op_set_strs(b.prog, b.op, "endpoints", (const char *[]){ "h:1", "h:2", "h:2" }, 3);
	FT_FAIL(bench_run(&b, &err), FL_EINVAL);
	FT_SAYS("batch 2 h:1");
	FT_SAYS("op 0 'send_barrier'");
	bench_free(&b);
}
END_TEST

Suite *suite_kernels(void)
{
	Suite *s = suite_create("kernels");
	TCase *t = tcase_create("kernels");

	tcase_set_timeout(t, FT_TIMEOUT);
	tcase_add_loop_test(t, test_kernels_gradient_lod, 0, (int)FL_COUNT(lods));
	tcase_add_test(t, test_kernels_sgd_rows);
	tcase_add_loop_test(t, test_kernels_rows_out_of_range, 0, 4);
	tcase_add_test(t, test_kernels_momentum_rows);
	tcase_add_test(t, test_kernels_sum_rows_and_dense);
	tcase_add_test(t, test_kernels_sum_rows);
	tcase_add_test(t, test_kernels_scale_rows);
	tcase_add_test(t, test_kernels_send);
	tcase_add_test(t, test_kernels_notify);
	tcase_add_loop_test(t, test_kernels_recv, 0, 2);
	tcase_add_test(t, test_kernels_remote_errors);
	suite_add_tcase(s, t);
	return s;
}
