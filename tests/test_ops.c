/*
 * Operators and kernels: the registries agree; random numbers are Fluid's; and each gradient is the
 * derivative of its forward operator. Gradients are rows of a table, checked in double by central
 * differences of a randomly weighted sum of the output, with primes as shapes. A differentiable
 * kernel without a row fails. The same rows run in float and double with outputs between guard bytes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "desc/edit.h"
#include "desc/query.h"
#include "exec/prepared.h"
#include "fltest.h"
#include "kernels/kernel.h"

Suite *suite_ops(void);

/* ---- registries ------------------------------------------------------------------------------ */

START_TEST(test_ops_found)
{
	const struct fl_op_def *def;
	size_t n = 0;

	for (; (def = fl_op_at(n)); n++) /* a name that is there twice finds the first */
		ck_assert_msg(fl_op_find(def->type) == def, "'%s' is there twice", def->type);
	ck_assert_uint_gt(n, 100);
	ck_assert_ptr_null(fl_op_find("no_such_op"));
	ck_assert_ptr_null(fl_op_find(""));
	ck_assert_str_eq(fl_op_suggest("elementwise_ad"), "elementwise_add");
}
END_TEST

static void check_slots(const char *type, const char *names, const struct fl_slot_def *slots)
{
	char name[64];

	while (*names) {
		size_t n = strcspn(names, " ");

		ck_assert_uint_lt(n, sizeof name);
		memcpy(name, names, n);
		name[n] = 0;
		ck_assert_msg(fl_slot_index(slots, name) >= 0, "'%s' has no slot '%s'", type, name);
		names += n;
		names += strspn(names, " ");
	}
}

START_TEST(test_ops_kernels_fit)
{
	const struct fl_kernel_def *kernel;
	const struct fl_op_def *def;

	for (size_t i = 0; (kernel = fl_kernel_at(i)); i++) {
		ck_assert_ptr_eq(fl_kernel_find(kernel->type), kernel);
		def = fl_op_find(kernel->type);
		ck_assert_msg(def != NULL, "no operator '%s'", kernel->type);
		check_slots(def->type, kernel->in, def->inputs);
		check_slots(def->type, kernel->out, def->outputs);
	}
	for (size_t i = 0; (def = fl_op_at(i)); i++)
		ck_assert_msg(!(def->flags & FL_OP_KERNEL) == !fl_kernel_find(def->type),
			"'%s': flag and kernel differ", def->type);
}
END_TEST

/* ---- running one operator -------------------------------------------------------------------- */

struct bench {
	struct fl_program *prog; /* owned */
	struct fl_scope *scope;	 /* owned */
	struct fl_frame *frame;	 /* owned */
	fl_pb_op *op;
};

/* Attributes as text: "axis=1 scale=2.5 strides=[2,2] soft_label=true pooling_type='max'". */
static void set_attr(struct bench *b, fl_pb_op *op, const char *name, const char *v)
{
	int32_t list[8];
	size_t n = 0;

	if (*v == '[') {
		for (const char *p = v + 1; *p && *p != ']'; p += *p == ',')
			list[n++] = (int32_t)strtol(p, (char **)&p, 10);
		fl_op_set_ints(b->prog, op, name, list, n);
	} else if (*v == '\'') {
		char text[32];

		snprintf(text, sizeof text, "%.*s", (int)strcspn(v + 1, "'"), v + 1);
		fl_op_set_str(b->prog, op, name, text);
	} else if (*v == 't' || *v == 'f') {
		fl_op_set_bool(b->prog, op, name, *v == 't');
	} else if (strchr(v, '.') && strcspn(v, ".") < strcspn(v, " ")) {
		fl_op_set_float(b->prog, op, name, strtof(v, NULL));
	} else {
		fl_op_set_int(b->prog, op, name, (int32_t)strtol(v, NULL, 10));
	}
}

static void set_attrs(struct bench *b, fl_pb_op *op, const char *text)
{
	char name[48];

	while (*text) {
		snprintf(name, sizeof name, "%.*s", (int)strcspn(text, "="), text);
		text += strcspn(text, "=") + 1;
		set_attr(b, op, name, text);
		text += strcspn(text, " ");
		text += strspn(text, " ");
	}
}

static void bench_new(struct bench *b)
{
	memset(b, 0, sizeof *b);
	b->prog = fl_program_new(1008005);
	b->scope = fl_scope_new(NULL);
}

static fl_pb_op *bench_op(struct bench *b, const char *type, const char *attrs)
{
	fl_pb_op *op = fl_new_op(b->prog, type);

	set_attrs(b, op, attrs);
	fl_push_op(b->prog, b->prog->pb->blocks[0], op);
	return op;
}

static void bench_free(struct bench *b)
{
	fl_frame_free(b->frame);
	fl_scope_free(b->scope);
	fl_program_free(b->prog);
}

static void bench_run(struct bench *b)
{
	struct fl_exec_env env = { 0 };
	struct fl_err err;

	if (!b->frame)
		FT_OK(fl_frame_new(b->prog, 0, b->scope, &env, &b->frame, &err));
	FT_OK(fl_frame_run(b->frame, &err));
}

static struct fl_tensor *tensor(struct bench *b, const char *name)
{
	return &fl_scope_var(b->scope, name, FL_LOD_TENSOR)->tensor;
}

/* ---- random numbers -------------------------------------------------------------------------- */

static const struct {
	const char *type, *attrs;
	float want[6];
} draws[] = {
	{ "uniform_random", "shape=[6] min=-1.0 max=1.0 seed=1",
		{ -0.999955058f, -0.829935074f, 0.202705264f, 0.783222556f, 0.935911417f, -0.620620489f } },
	{ "gaussian_random", "shape=[5] mean=0.0 std=1.0 seed=1",
		{ 0.891330183f, 0.230684519f, -2.48654437f, 0.365109444f, 0.890341103f } },
	{ "truncated_gaussian_random", "shape=[5] mean=0.0 std=1.0 seed=1",
		{ -1.9996016f, -1.25956285f, 0.244920671f, 1.14450479f, 1.61333048f } },
};

START_TEST(test_ops_random)
{
	struct bench b;
	const struct fl_tensor *t;
	fl_pb_op *op;

	bench_new(&b);
	op = bench_op(&b, draws[_i].type, draws[_i].attrs);
	fl_op_set_output(b.prog, op, "Out", (const char *[]){ "o" }, 1);
	bench_run(&b);
	t = tensor(&b, "o");
	for (int64_t i = 0; i < fl_numel(t); i++)
		ck_assert_msg(((float *)fl_data(t))[i] == draws[_i].want[i], "element %d: %.9g", (int)i,
			(double)((float *)fl_data(t))[i]);
	bench_free(&b);
}
END_TEST

/* ---- gradients ------------------------------------------------------------------------------- */

/*
 * in: slot:dims, one variable each; "Label:5,1:3" are labels below 3,
 * "X:7,3/2,0,5" are sequences. out: all outputs, the one that
 * is differentiated first. positive: inputs are above 0; SMALL: they lie within (-0.65, 0.65).
 */
enum { SMALL = 2 };

static const struct row {
	const char *type, *attrs, *in, *out;
	int positive;
	const char *grad; /* NULL: type + "_grad" */
} rows[] = {
	{ "mul", "", "X:5,3 Y:3,7", "Out", false, NULL },
	{ "mul", "x_num_col_dims=2 y_num_col_dims=2", "X:2,3,5 Y:5,1,7", "Out", false, NULL },
	{ "mean", "", "X:7,3", "Out", false, NULL },
	{ "concat", "axis=1", "X:3,5,2", "Out", false, NULL },
	{ "reshape", "shape=[7,-1]", "X:2,7,3", "Out", false, NULL },
	{ "reshape2", "shape=[7,-1]", "X:2,7,3", "Out XShape", false, NULL },
	{ "elementwise_add", "axis=1", "X:3,5,7 Y:5", "Out", false, NULL },
	{ "elementwise_add", "", "X:3,1,7 Y:5,1", "Out", false, NULL },
	{ "elementwise_sub", "", "X:3,5 Y:3,5", "Out", false, NULL },
	{ "elementwise_mul", "axis=0", "X:3,5,7 Y:3,5", "Out", false, NULL },
	{ "elementwise_div", "", "X:3,5 Y:5", "Out", true, NULL },
	{ "elementwise_max", "", "X:3,5 Y:1", "Out", false, NULL },
	{ "elementwise_min", "", "X:3,5 Y:5", "Out", false, NULL },
	{ "elementwise_pow", "", "X:3,5 Y:3,1", "Out", true, NULL },
	{ "relu", "", "X:5,17", "Out", false, NULL },
	{ "tanh", "", "X:5,17", "Out", false, NULL },
	{ "sigmoid", "", "X:5,17", "Out", false, NULL },
	{ "square", "", "X:5,17", "Out", false, NULL },
	{ "sqrt", "", "X:5,17", "Out", true, NULL },
	{ "rsqrt", "", "X:5,17", "Out", true, NULL },
	{ "exp", "", "X:5,17", "Out", false, NULL },
	{ "log", "", "X:5,17", "Out", true, NULL },
	{ "abs", "", "X:5,17", "Out", false, NULL },
	{ "reciprocal", "", "X:5,17", "Out", true, NULL },
	{ "atan", "", "X:5,17", "Out", false, NULL },
	{ "ceil", "", "X:5,17", "Out", false, NULL },
	{ "cos", "", "X:5,17", "Out", false, NULL },
	{ "elu", "", "X:5,17", "Out", false, NULL },
	{ "erf", "", "X:5,17", "Out", false, NULL },
	{ "floor", "", "X:5,17", "Out", false, NULL },
	{ "gelu", "", "X:5,17", "Out", false, NULL },
	{ "hard_sigmoid", "", "X:5,17", "Out", false, NULL },
	{ "hard_swish", "", "X:5,17", "Out", false, NULL },
	{ "leaky_relu", "", "X:5,17", "Out", false, NULL },
	{ "log1p", "", "X:5,17", "Out", true, NULL },
	{ "logsigmoid", "", "X:5,17", "Out", false, NULL },
	{ "mish", "", "X:5,17", "Out", false, NULL },
	{ "relu6", "", "X:5,17", "Out", false, NULL },
	{ "round", "", "X:5,17", "Out", false, NULL },
	{ "selu", "", "X:5,17", "Out", false, NULL },
	{ "sin", "", "X:5,17", "Out", false, NULL },
	{ "soft_relu", "", "X:5,17", "Out", false, NULL },
	{ "softplus", "", "X:5,17", "Out", false, NULL },
	{ "softsign", "", "X:5,17", "Out", false, NULL },
	{ "stanh", "", "X:5,17", "Out", false, NULL },
	{ "swish", "", "X:5,17", "Out", false, NULL },
	{ "tanh_shrink", "", "X:5,17", "Out", false, NULL },
	{ "acos", "", "X:5,3", "Out", SMALL, NULL },
	{ "asin", "", "X:5,3", "Out", SMALL, NULL },
	{ "gelu", "approximate=true", "X:5,17", "Out", false, NULL },
	{ "brelu", "t_min=-0.9 t_max=0.8", "X:5,17", "Out", false, NULL },
	{ "hard_shrink", "", "X:5,17", "Out", false, NULL },
	{ "softshrink", "lambda=0.4", "X:5,17", "Out", false, NULL },
	{ "thresholded_relu", "", "X:5,17", "Out", false, NULL },
	{ "pow", "factor=1.5", "X:5,17", "Out", true, NULL },
	{ "clip", "min=-0.9 max=0.8", "X:5,17", "Out", false, NULL },
	{ "squared_l2_norm", "", "X:5,7", "Out", false, NULL },
	{ "lookup_table", "", "W:5,3 Ids:7,1:5", "Out", false, NULL },
	{ "lookup_table_v2", "", "W:5,3 Ids:2,7:5", "Out", false, NULL },
	{ "sequence_pool", "pooltype='SUM'", "X:7,3/2,0,5", "Out MaxIndex", false, NULL },
	{ "sequence_pool", "pooltype='AVERAGE'", "X:7,3/2,0,5", "Out MaxIndex", false, NULL },
	{ "sequence_pool", "pooltype='SQRT'", "X:7,3/2,0,5", "Out MaxIndex", false, NULL },
	{ "sequence_pool", "pooltype='LAST'", "X:7,3/2,0,5", "Out MaxIndex", false, NULL },
	{ "sequence_pool", "pooltype='FIRST'", "X:7,3/2,0,5", "Out MaxIndex", false, NULL },
	{ "sequence_pool", "pooltype='MAX'", "X:7,3/2,0,5", "Out MaxIndex", false, NULL },
	{ "reduce_sum", "dim=[1]", "X:3,5,2", "Out", false, NULL },
	{ "reduce_sum", "reduce_all=true", "X:3,5", "Out", false, NULL },
	{ "reduce_mean", "dim=[0,-1] keep_dim=true", "X:3,5,2", "Out", false, NULL },
	{ "reduce_max", "dim=[-1]", "X:3,5", "Out", false, NULL },
	{ "reduce_min", "dim=[0]", "X:3,5", "Out", false, NULL },
	{ "reduce_prod", "dim=[0]", "X:3,5", "Out", false, NULL },
	{ "softmax", "", "X:5,7", "Out", false, NULL },
	{ "softmax", "axis=1", "X:3,5,2", "Out", false, NULL },
	{ "cross_entropy", "", "X:5,3 Label:5,1:3", "Y", true, NULL },
	{ "cross_entropy2", "", "X:5,3 Label:5,1:3", "Y MatchX XShape", true, "cross_entropy_grad2" },
	{ "softmax_with_cross_entropy", "", "Logits:5,3 Label:5,1:3", "Loss Softmax", false, NULL },
	/* Ignored labels have loss and gradient 0, which 1.8.5's gradient overlooks. */
	{ "cross_entropy", "ignore_index=1", "X:5,3 Label:5,1:3", "Y", true, NULL },
	{ "softmax_with_cross_entropy", "ignore_index=1", "Logits:5,3 Label:5,1:3", "Loss Softmax", false,
		NULL },
	{ "softmax_with_cross_entropy", "axis=1", "Logits:2,5,3 Label:2,1,3:5", "Loss Softmax", false,
		NULL },
	{ "conv2d", "strides=[2,1] paddings=[1,0] groups=1", "Input:2,3,5,7 Filter:2,3,3,2", "Output",
		false, NULL },
	{ "conv2d", "dilations=[2,1] groups=2", "Input:1,4,7,5 Filter:2,2,2,3", "Output", false, NULL },
	{ "depthwise_conv2d", "groups=3 paddings=[1,1]", "Input:2,3,5,5 Filter:3,1,3,3", "Output", false,
		NULL },
	{ "pool2d", "pooling_type='max' ksize=[2,3] strides=[2,1]", "X:2,3,5,7", "Out", false, NULL },
	{ "pool2d", "pooling_type='avg' ksize=[3,3] paddings=[1,1]", "X:2,3,5,7", "Out", false, NULL },
	{ "pool2d", "pooling_type='max' ksize=[3,2] strides=[2,2] paddings=[1,0]", "X:1,2,5,41", "Out",
		false, NULL },
	{ "pool2d", "pooling_type='avg' ksize=[2,3] strides=[1,3]", "X:1,2,5,37", "Out", false, NULL },
	{ "pool2d", "pooling_type='max' ksize=[2,2] paddings=[0,1]", "X:1,2,5,19", "Out", false, NULL },
	{ "pool2d", "pooling_type='max' ksize=[2,3] adaptive=true", "X:2,3,5,7", "Out", false, NULL },
	{ "pool2d", "pooling_type='avg' ksize=[2,3] adaptive=true", "X:2,3,5,7", "Out", false, NULL },
	{ "top_k", "k=3", "X:5,7", "Out Indices", false, NULL },
};

/* Numbers in +-[0.3, 1.3), always the same ones. */
static double next_number(uint32_t *s, int positive)
{
	double v;

	*s = *s * 1664525u + 1013904223u;
	v = 0.3 + (double)(*s >> 8) / 16777216.0;
	*s = *s * 1664525u + 1013904223u;
	if (positive == SMALL)
		v /= 2;
	return positive != true && (*s >> 31) ? -v : v;
}

/* One level of sequences, given by their lengths: "2,0,5". */
static void set_sequences(struct fl_lod *lod, const char *text)
{
	uint64_t off[8] = { 0 };
	struct fl_err err;
	size_t n = 1;

	for (char *p = (char *)(uintptr_t)text; n < FL_COUNT(off); p++, n++) {
		off[n] = off[n - 1] + strtoul(p, &p, 10);
		if (*p != ',')
			break;
	}
	fl_lod_clear(lod);
	FT_OK(fl_lod_push(lod, off, n + 1, &err));
}

static void fill_input(struct fl_tensor *t, const char *dims_text, int positive, uint32_t *s)
{
	int64_t dims[FL_MAX_RANK];
	struct fl_err err;
	char *p = (char *)(uintptr_t)dims_text;
	int rank = 0;
	long classes;

	for (;; p++) {
		dims[rank++] = strtol(p, &p, 10);
		if (*p != ',')
			break;
	}
	classes = *p == ':' ? strtol(p + 1, &p, 10) : 0;
	if (*p == '/')
		set_sequences(&t->lod, p + 1);
	FT_OK(fl_tensor_resize(t, classes ? FL_INT64 : FL_FP64, dims, rank, &err));
	for (int64_t i = 0; i < fl_numel(t); i++) {
		double v = next_number(s, positive);

		if (classes)
			((int64_t *)fl_data(t))[i] = (int64_t)(fabs(v) * 1000) % classes;
		else
			((double *)fl_data(t))[i] = v;
	}
}

typedef void each_fn(struct bench *b, fl_pb_op *op, const char *slot, const char *rest, void *arg);

/* Calls fn for each word "slot" or "slot:rest". */
static void each(struct bench *b, fl_pb_op *op, const char *text, each_fn *fn, void *arg)
{
	char word[64];

	while (*text) {
		size_t n = strcspn(text, " "), colon;

		snprintf(word, sizeof word, "%.*s", (int)n, text);
		colon = strcspn(word, ":");
		if (word[colon])
			word[colon++] = 0;
		fn(b, op, word, word + colon, arg);
		text += n;
		text += strspn(text, " ");
	}
}

/* A slot's variable has the slot's name. */
static void add_in(struct bench *b, fl_pb_op *op, const char *slot, const char *rest, void *arg)
{
	(void)rest;
	(void)arg;
	fl_op_set_input(b->prog, op, slot, (const char *[]){ slot }, 1);
}

static void add_out(struct bench *b, fl_pb_op *op, const char *slot, const char *rest, void *arg)
{
	(void)rest;
	(void)arg;
	fl_op_set_output(b->prog, op, slot, (const char *[]){ slot }, 1);
}

/* The gradient operator reads what its definition knows of the forward variables. */
static void add_grad_in(struct bench *b, fl_pb_op *op, const char *slot, const char *rest, void *arg)
{
	(void)rest;
	(void)arg;
	if (fl_slot_index(fl_op_find(op->type)->inputs, slot) >= 0)
		add_in(b, op, slot, rest, NULL);
}

static void add_grad_out(struct bench *b, fl_pb_op *op, const char *slot, const char *rest, void *arg)
{
	char name[64];

	snprintf(name, sizeof name, "%s@GRAD", slot);
	if (fl_slot_index(fl_op_find(op->type)->outputs, name) >= 0)
		add_out(b, op, name, rest, arg);
}

struct filling {
	const struct row *row;
	uint32_t seed;
};

static void fill_one(struct bench *b, fl_pb_op *op, const char *slot, const char *rest, void *arg)
{
	struct filling *f = arg;

	(void)op;
	fill_input(tensor(b, slot), rest, f->row->positive, &f->seed);
}

static double weighted(struct bench *b, const char *out, const struct fl_tensor *weights)
{
	const struct fl_tensor *t = tensor(b, out);
	double sum = 0;

	bench_run(b);
	for (int64_t i = 0; i < fl_numel(t); i++)
		sum += ((double *)fl_data(t))[i] * ((double *)fl_data(weights))[i];
	return sum;
}

struct comparing {
	struct bench *forward;
	const char *out;
	const struct fl_tensor *weights;
};

static void compare(struct bench *b, fl_pb_op *op, const char *slot, const char *rest, void *arg)
{
	struct comparing *c = arg;
	struct fl_tensor *x = tensor(c->forward, slot);
	const struct fl_tensor *dx;
	char name[64];

	(void)op;
	(void)rest;
	if (x->dtype != FL_FP64)
		return;
	snprintf(name, sizeof name, "%s@GRAD", slot);
	dx = tensor(b, name);
	ck_assert_int_eq(fl_numel(dx), fl_numel(x));
	for (int64_t i = 0; i < fl_numel(x); i++) {
		double *v = (double *)fl_data(x) + i, old = *v, low, high, want;

		*v = old - 1e-5;
		low = weighted(c->forward, c->out, c->weights);
		*v = old + 1e-5;
		high = weighted(c->forward, c->out, c->weights);
		*v = old;
		want = (high - low) / 2e-5;
		ck_assert_msg(fabs(((double *)fl_data(dx))[i] - want) <= 1e-6 * fmax(1, fabs(want)),
			"d%s[%d] is %.10g, expected %.10g", slot, (int)i, ((double *)fl_data(dx))[i], want);
	}
}

static void add_forward(struct bench *b, const struct row *r)
{
	struct filling f = { r, 7 };
	fl_pb_op *op;

	bench_new(b);
	op = bench_op(b, r->type, r->attrs);
	each(b, op, r->in, add_in, NULL);
	each(b, op, r->out, add_out, NULL);
	each(b, op, r->in, fill_one, &f);
}

/* The operator and its gradient's, with some gradient of the output, which looks like `out`. */
static fl_pb_op *add_both(struct bench *b, const struct row *r, const char *out_grad,
	const struct fl_tensor *out)
{
	struct fl_tensor *g;
	struct fl_err err;
	char grad[64];
	fl_pb_op *gop;
	uint32_t seed = 99;

	snprintf(grad, sizeof grad, "%s_grad", r->type);
	add_forward(b, r);
	gop = bench_op(b, r->grad ? r->grad : grad, r->attrs);
	each(b, gop, r->in, add_grad_in, NULL);
	each(b, gop, r->out, add_grad_in, NULL);
	add_in(b, gop, out_grad, NULL, NULL);
	each(b, gop, r->in, add_grad_out, NULL);
	g = tensor(b, out_grad);
	FT_OK(fl_tensor_resize(g, FL_FP64, out->dims, out->rank, &err));
	for (int64_t i = 0; i < fl_numel(g); i++)
		((double *)fl_data(g))[i] = next_number(&seed, false);
	return gop;
}

START_TEST(test_ops_gradient)
{
	const struct row *r = &rows[_i];
	struct bench fwd, bwd;
	char out[32], out_grad[48];
	fl_pb_op *gop;

	snprintf(out, sizeof out, "%.*s", (int)strcspn(r->out, " "), r->out);
	snprintf(out_grad, sizeof out_grad, "%s@GRAD", out);
	add_forward(&fwd, r);
	bench_run(&fwd);
	gop = add_both(&bwd, r, out_grad, tensor(&fwd, out));
	bench_run(&bwd);
	each(&bwd, gop, r->in, compare,
		&(struct comparing){ &fwd, out, tensor(&bwd, out_grad) });
	bench_free(&fwd);
	bench_free(&bwd);
}
END_TEST

/* ---- guard bytes ----------------------------------------------------------------------------- */

enum { GUARD = 64, MAX_GUARDED = 16 };

/* An output whose memory ends where its value ends, between bytes that nobody may touch. */
struct guarded {
	struct fl_tensor *t;
	unsigned char *block, *old;
	size_t bytes;
};

static void keep(void *arg)
{
	(void)arg;
}

static void guard(struct guarded *g, struct fl_tensor *t)
{
	g->t = t;
	g->bytes = fl_tensor_bytes(t);
	g->block = aligned_alloc(GUARD, (g->bytes + 3 * GUARD - 1) / GUARD * GUARD);
	g->old = malloc(g->bytes + 1);
	ck_assert(g->block && g->old);
	memcpy(g->old, fl_data(t), g->bytes);
	memset(g->block, 0xa5, g->bytes + 2 * GUARD);
	fl_mem_rele(t->mem);
	t->mem = fl_mem_foreign(g->block + GUARD, g->bytes, keep, NULL);
	t->mem->release = NULL; /* else a resize would take other memory */
	t->offset = 0;
}

static void check_guarded(const struct guarded *g)
{
	ck_assert_ptr_eq(fl_data(g->t), g->block + GUARD);
	g->t->mem->release = keep;
	ck_assert(!memcmp(fl_data(g->t), g->old, g->bytes));
	for (size_t i = 0; i < GUARD; i++) {
		ck_assert_msg(g->block[i] == 0xa5, "written %zu bytes before the value", GUARD - i);
		ck_assert_msg(g->block[GUARD + g->bytes + i] == 0xa5, "written %zu bytes behind it", i);
	}
}

static size_t guard_outputs(struct bench *b, struct guarded *list)
{
	fl_pb_block *block = b->prog->pb->blocks[0];
	size_t n = 0;

	for (size_t i = 0; i < block->n_ops; i++)
		for (size_t s = 0; s < block->ops[i]->n_outputs; s++) {
			struct fl_tensor *t = tensor(b, block->ops[i]->outputs[s]->arguments[0]);

			if (!fl_tensor_bytes(t))
				continue;
			ck_assert_uint_lt(n, MAX_GUARDED);
			guard(&list[n++], t);
		}
	return n;
}

static void to_float(struct bench *b, fl_pb_op *op, const char *slot, const char *rest, void *arg)
{
	struct fl_tensor *t = tensor(b, slot), f;
	struct fl_err err;

	(void)op;
	(void)rest;
	(void)arg;
	if (t->dtype != FL_FP64)
		return;
	fl_tensor_init(&f);
	FT_OK(fl_tensor_resize(&f, FL_FP32, t->dims, t->rank, &err));
	for (int64_t i = 0; i < fl_numel(t); i++)
		((float *)fl_data(&f))[i] = (float)((double *)fl_data(t))[i];
	fl_lod_copy(&f.lod, &t->lod);
	FT_OK(fl_tensor_copy(t, &f, &err));
	fl_tensor_release(&f);
}

/* Row _i / 2, in double and in float: a second run gives the same and writes nothing else. */
START_TEST(test_ops_guards)
{
	const struct row *r = &rows[_i / 2];
	struct guarded list[MAX_GUARDED];
	struct bench fwd, bwd;
	char out[32], out_grad[48];
	size_t n;

	snprintf(out, sizeof out, "%.*s", (int)strcspn(r->out, " "), r->out);
	snprintf(out_grad, sizeof out_grad, "%s@GRAD", out);
	add_forward(&fwd, r);
	bench_run(&fwd);
	add_both(&bwd, r, out_grad, tensor(&fwd, out));
	if (_i % 2) {
		each(&bwd, NULL, r->in, to_float, NULL);
		each(&bwd, NULL, out_grad, to_float, NULL);
	}
	bench_run(&bwd);
	n = guard_outputs(&bwd, list);
	ck_assert_uint_ge(n, 2);
	bench_run(&bwd);
	for (size_t i = 0; i < n; i++)
		check_guarded(&list[i]);
	bench_free(&fwd);
	bench_free(&bwd);
	for (size_t i = 0; i < n; i++) {
		free(list[i].block);
		free(list[i].old);
	}
}
END_TEST

START_TEST(test_ops_every_gradient_has_a_row)
{
	const struct fl_kernel_def *kernel;

	for (size_t i = 0; (kernel = fl_kernel_at(i)); i++) {
		/* Operators that run blocks are tested as programs. */
		bool found = strstr(kernel->type, "_grad") == NULL ||
			(fl_op_find(kernel->type)->flags & FL_OP_HOST);
		char grad[64];

		for (size_t r = 0; r < FL_COUNT(rows) && !found; r++) {
			snprintf(grad, sizeof grad, "%s_grad", rows[r].type);
			found = !strcmp(rows[r].grad ? rows[r].grad : grad, kernel->type);
		}
		ck_assert_msg(found, "'%s' has no row", kernel->type);
	}
}
END_TEST

Suite *suite_ops(void)
{
	Suite *s = suite_create("ops");
	TCase *t = tcase_create("ops");

	tcase_set_timeout(t, FT_TIMEOUT);
	tcase_add_test(t, test_ops_found);
	tcase_add_test(t, test_ops_kernels_fit);
	tcase_add_loop_test(t, test_ops_random, 0, (int)FL_COUNT(draws));
	tcase_add_loop_test(t, test_ops_gradient, 0, (int)FL_COUNT(rows));
	tcase_add_loop_test(t, test_ops_guards, 0, 2 * (int)FL_COUNT(rows));
	tcase_add_test(t, test_ops_every_gradient_has_a_row);
	suite_add_tcase(s, t);
	return s;
}
