/*
 * The optimizers with accumulators of the parameter's shape (operators.md 5): each is a rule, a loop
 * over elements of parameter, accumulators and gradient, in place. A sparse gradient is merged first;
 * then its rows alone are updated, or every row, with g = 0 where the gradient has none.
 *
 * Fluid 1.8.5 reads behind the row list in sparse adam, and misses rows in rmsprop when they are not
 * sorted; here the rows are sorted and bounded. What it documents by its numbers is kept: adam with
 * sparse gradients advances the powers of beta before it uses them, adadelta steps with the new
 * average.
 */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "kernels/internal.h"
#include "kernels/update.h"

enum sparse { DENSE_ONLY, TOUCHED_ROWS, ALL_ROWS };
#define MAX_STATES 3

struct step;
struct rule {
	const char *type;
	int rate;   /* input of LearningRate; -1: none */
	int state;  /* the accumulators are the inputs from here on, and the outputs from 1 on */
	int states; /* how many */
	enum sparse sparse;
	void (*f32)(const struct step *s, float *p, float *a, float *b, float *c, const float *g,
		int64_t n);
	void (*f64)(const struct step *s, double *p, double *a, double *b, double *c, const double *g,
		int64_t n);
	/* Decodes attributes, before each run; and what is left to do after the loop. May be NULL. */
	enum fl_code (*begin)(struct fl_kernel *k, struct step *s, struct fl_err *err);
	void (*end)(struct fl_kernel *k, struct step *s);
};

struct step {
	const struct rule *rule;
	int dtype;
	enum sparse sparse;
	double lr, c[5]; /* numbers of the rule, in the order its begin sets them */
	bool variant;	 /* centered */
	int64_t n, width; /* elements; of one row */
	char *p, *a[MAX_STATES];
	const char *g;
	const struct fl_selected_rows *rows; /* merged, ascending; NULL: dense */
	struct fl_selected_rows own;
	struct fl_scratch order, zeros, extra;
};

#define FL_TEMPLATE "kernels/update_t.h"
#include "kernels/types.h"

/* ---- shared with optimizer.c ----------------------------------------------------------------- */

double fl_k_one(const struct fl_tensor *t)
{
	return t->dtype == FL_FP32 ? (double)*(const float *)fl_data(t)
				   : *(const double *)fl_data(t);
}

static void set_one(struct fl_tensor *t, double v)
{
	if (t->dtype == FL_FP32)
		*(float *)fl_data(t) = (float)v;
	else
		*(double *)fl_data(t) = v;
}

/* ---- what the rules need --------------------------------------------------------------------- */

/* Powers of beta: what they are now, and advanced into their outputs where there are some. */
static void advance(struct fl_kernel *k, int in, int out, double beta, bool first, double *now)
{
	struct fl_tensor *from = fl_in(k, in, 0), *to = fl_out(k, out, 0);

	*now = fl_k_one(from);
	if (!to)
		return;
	set_one(to, from->dtype == FL_FP32 ? (double)((float)*now * (float)beta) : *now * beta);
	if (first && from == to)
		*now = fl_k_one(to);
}

static double beta_of(struct fl_kernel *k, int tensor, const char *attr)
{
	const struct fl_tensor *t = fl_in(k, tensor, 0);

	return t ? fl_k_one(t) : fl_k_num(k, attr);
}

static enum fl_code begin_adam(struct fl_kernel *k, struct step *s, struct fl_err *err)
{
	double pow1, pow2;

	(void)err;
	s->c[0] = beta_of(k, 7, "beta1");
	s->c[1] = beta_of(k, 8, "beta2");
	s->c[2] = fl_k_num(k, "epsilon");
	advance(k, 5, 3, s->c[0], s->rows != NULL, &pow1);
	advance(k, 6, 4, s->c[1], s->rows != NULL, &pow2);
	s->lr *= sqrt(1 - pow2) / (1 - pow1);
	if (s->rows && fl_k_bool(k, "lazy_mode"))
		s->sparse = TOUCHED_ROWS;
	return FL_OK;
}

static enum fl_code begin_adamax(struct fl_kernel *k, struct step *s, struct fl_err *err)
{
	(void)err;
	s->c[0] = fl_k_num(k, "beta1");
	s->c[1] = fl_k_num(k, "beta2");
	s->c[2] = fl_k_num(k, "epsilon");
	s->lr /= 1 - fl_k_one(fl_in(k, 5, 0));
	return FL_OK;
}

static enum fl_code begin_adagrad(struct fl_kernel *k, struct step *s, struct fl_err *err)
{
	(void)err;
	s->c[0] = 1;
	s->c[1] = 1;
	s->c[2] = fl_k_num(k, "epsilon");
	return FL_OK;
}

static enum fl_code begin_decayed(struct fl_kernel *k, struct step *s, struct fl_err *err)
{
	(void)err;
	s->c[0] = fl_k_num(k, "decay");
	s->c[1] = 1 - s->c[0];
	s->c[2] = fl_k_num(k, "epsilon");
	return FL_OK;
}

static enum fl_code begin_adadelta(struct fl_kernel *k, struct step *s, struct fl_err *err)
{
	(void)err;
	s->c[0] = fl_k_num(k, "rho");
	s->c[1] = fl_k_num(k, "epsilon");
	return FL_OK;
}

static enum fl_code begin_rmsprop(struct fl_kernel *k, struct step *s, struct fl_err *err)
{
	s->c[0] = fl_k_num(k, "decay");
	s->c[1] = fl_k_num(k, "momentum");
	s->c[2] = fl_k_num(k, "epsilon");
	s->variant = fl_k_bool(k, "centered");
	if (s->variant && !s->a[2])
		return fl_err_set(err, FL_EINVAL, "'MeanGrad' is absent, expected it when 'centered' is true");
	return FL_OK;
}

static enum fl_code begin_ftrl(struct fl_kernel *k, struct step *s, struct fl_err *err)
{
	(void)err;
	s->c[0] = fl_k_num(k, "l1");
	s->c[1] = fl_k_num(k, "l2");
	s->c[2] = fl_k_num(k, "lr_power");
	return FL_OK;
}

static enum fl_code begin_proximal(struct fl_kernel *k, struct step *s, struct fl_err *err)
{
	(void)err;
	s->c[0] = fl_k_num(k, "l1");
	s->c[1] = fl_k_num(k, "l2");
	return FL_OK;
}

static double norm(const struct step *s, const char *v)
{
	return sqrt(s->dtype == FL_FP32 ? squares_f32((const float *)(const void *)v, s->n)
					: squares_f64((const double *)(const void *)v, s->n));
}

/* The rate of this layer: as long as both norms are there, in proportion to them. */
static enum fl_code begin_lars(struct fl_kernel *k, struct step *s, struct fl_err *err)
{
	double p = norm(s, s->p), g = norm(s, s->g);

	(void)err;
	s->c[0] = fl_k_num(k, "mu");
	s->c[1] = fl_k_num(k, "lars_weight_decay");
	if (p > 0 && g > 0)
		s->lr *= fl_k_num(k, "lars_coeff") * p / (g + s->c[1] * p);
	return FL_OK;
}

/* The loop leaves the step of each element in working memory; its length needs all of them. */
static enum fl_code begin_lamb(struct fl_kernel *k, struct step *s, struct fl_err *err)
{
	FL_TRY(fl_scratch_need(&s->extra, (size_t)s->n, fl_dtype_size(s->dtype), err));
	s->a[2] = s->extra.data;
	s->c[0] = fl_k_num(k, "beta1");
	s->c[1] = fl_k_num(k, "beta2");
	s->c[2] = fl_k_num(k, "epsilon");
	s->c[3] = fl_k_num(k, "weight_decay");
	return FL_OK;
}

static void end_lamb(struct fl_kernel *k, struct step *s)
{
	double p = norm(s, s->p), r = norm(s, s->a[2]);
	double lr = s->lr * (p > 0 && r > 0 ? p / r : 1);

	(void)k;
	if (s->dtype == FL_FP32)
		descend_f32((float *)(void *)s->p, (const float *)(const void *)s->a[2], (float)lr, s->n);
	else
		descend_f64((double *)(void *)s->p, (const double *)(const void *)s->a[2], lr, s->n);
}

#define LOOPS(name) .f32 = name##_f32, .f64 = name##_f64

static const struct rule rules[] = {
	{ "adam", 2, 3, 2, ALL_ROWS, LOOPS(adam), .begin = begin_adam },
	{ "adamax", 2, 3, 2, DENSE_ONLY, LOOPS(adamax), .begin = begin_adamax },
	{ "adagrad", 2, 3, 1, TOUCHED_ROWS, LOOPS(adagrad), .begin = begin_adagrad },
	{ "decayed_adagrad", 2, 3, 1, DENSE_ONLY, LOOPS(adagrad), .begin = begin_decayed },
	{ "adadelta", -1, 2, 2, DENSE_ONLY, LOOPS(adadelta), .begin = begin_adadelta },
	{ "rmsprop", 2, 3, 3, ALL_ROWS, LOOPS(rmsprop), .begin = begin_rmsprop },
	{ "ftrl", 2, 3, 2, DENSE_ONLY, LOOPS(ftrl), .begin = begin_ftrl },
	{ "proximal_gd", 2, 3, 0, DENSE_ONLY, LOOPS(proximal_gd), .begin = begin_proximal },
	{ "proximal_adagrad", 2, 3, 1, DENSE_ONLY, LOOPS(proximal_adagrad), .begin = begin_proximal },
	{ "lars_momentum", 2, 3, 1, DENSE_ONLY, LOOPS(lars), .begin = begin_lars },
	{ "lamb", 2, 3, 2, ALL_ROWS, LOOPS(lamb), .begin = begin_lamb, .end = end_lamb },
};

/* ---- running a rule -------------------------------------------------------------------------- */

static void apply(const struct step *s, size_t at, const char *g, int64_t n)
{
	void *p = s->p + at, *a[MAX_STATES];
	const void *from = g;

	for (int i = 0; i < MAX_STATES; i++)
		a[i] = s->a[i] ? s->a[i] + at : NULL;
	if (s->dtype == FL_FP32)
		s->rule->f32(s, p, a[0], a[1], a[2], from, n);
	else
		s->rule->f64(s, p, a[0], a[1], a[2], from, n);
}

static void dense_part(void *arg, size_t begin, size_t end)
{
	const struct step *s = arg;
	size_t at = begin * fl_dtype_size(s->dtype);

	apply(s, at, s->g + at, (int64_t)(end - begin));
}

static void touched_rows(void *arg, size_t begin, size_t end)
{
	const struct step *s = arg;
	size_t bytes = (size_t)s->width * fl_dtype_size(s->dtype);

	for (size_t i = begin; i < end; i++)
		apply(s, (size_t)s->rows->rows[i] * bytes, s->g + i * bytes, s->width);
}

static void all_rows(void *arg, size_t begin, size_t end)
{
	const struct step *s = arg;
	size_t bytes = (size_t)s->width * fl_dtype_size(s->dtype);
	size_t next = fl_rows_lower_bound(s->rows, (int64_t)begin);

	for (size_t r = begin; r < end; r++) {
		bool present = next < s->rows->n && s->rows->rows[next] == (int64_t)r;

		apply(s, r * bytes, present ? s->g + next * bytes : s->zeros.data, s->width);
		next += present;
	}
}

/* The output holds what the input does, and is worked on. */
static enum fl_code open_state(struct fl_kernel *k, int in, int out, char **at, struct fl_err *err)
{
	const struct fl_tensor *from = fl_in(k, in, 0);
	struct fl_tensor *to = fl_out(k, out, 0);

	*at = NULL;
	if (!from)
		return FL_OK;
	if (!to)
		return fl_err_set(err, FL_EINVAL, "'%s' is absent, expected a tensor",
			k->op_def->outputs[out].name);
	if (from != to)
		memmove(fl_data(to), fl_data(from), fl_tensor_bytes(from));
	*at = fl_data(to);
	return FL_OK;
}

static enum fl_code open_rows(struct step *s, const struct fl_selected_rows *rows, int64_t height,
	struct fl_err *err)
{
	size_t size = fl_dtype_size(s->dtype);

	s->rows = &s->own;
	s->own.n = 0;
	if (!rows->n)
		return FL_OK;
	FL_TRY(fl_need_rows(rows, height, err));
	FL_TRY(fl_merge_rows(&rows, 1, false, &s->own, &s->order, err));
	s->g = fl_data(&s->own.value);
	FL_TRY(fl_scratch_need(&s->zeros, (size_t)s->width, size, err));
	memset(s->zeros.data, 0, (size_t)s->width * size);
	return FL_OK;
}

static enum fl_code run(struct fl_kernel *k, struct fl_err *err)
{
	struct step *s = k->state;
	const struct rule *r = s->rule;
	const struct fl_tensor *p = fl_in(k, 0, 0);
	const struct fl_var *grad = fl_in_var(k, 1, 0);

	s->dtype = p->dtype;
	s->n = fl_numel(p);
	s->width = fl_dims_product(p->dims, 1, p->rank);
	s->sparse = r->sparse;
	s->rows = NULL;
	s->lr = r->rate < 0 ? 0 : fl_k_one(fl_in(k, r->rate, 0));
	FL_TRY(open_state(k, 0, 0, &s->p, err));
	for (int i = 0; i < r->states; i++)
		FL_TRY(open_state(k, r->state + i, 1 + i, &s->a[i], err));
	if (grad->kind == FL_SELECTED_ROWS)
		FL_TRY(open_rows(s, &grad->rows, p->dims[0], err));
	else
		s->g = fl_data(&grad->tensor);
	if (s->rows && !s->rows->n) /* nothing moves, the powers of beta neither */
		return FL_OK;
	FL_TRY(r->begin(k, s, err));
	if (!s->rows)
		fl_pool_for(k->pool, (size_t)s->n, FL_GRAIN, dense_part, s);
	else if (s->sparse == TOUCHED_ROWS)
		fl_pool_for(k->pool, s->rows->n, fl_grain(s->width), touched_rows, s);
	else
		fl_pool_for(k->pool, (size_t)p->dims[0], fl_grain(s->width), all_rows, s);
	if (r->end)
		r->end(k, s);
	return FL_OK;
}

static enum fl_code prepare(struct fl_kernel *k, struct fl_err *err)
{
	struct step *s = k->state;

	fl_selected_rows_init(&s->own);
	for (size_t i = 0; i < FL_COUNT(rules); i++)
		if (!strcmp(rules[i].type, k->op_def->type))
			s->rule = &rules[i];
	return s->rule ? FL_OK : fl_err_set(err, FL_EUNSUPPORTED, "no rule for '%s'", k->op_def->type);
}

static void release(struct fl_kernel *k)
{
	struct step *s = k->state;

	fl_selected_rows_release(&s->own);
	fl_free(s->order.data);
	fl_free(s->zeros.data);
	fl_free(s->extra.data);
}

#define ROW(name, ins, outs)                                                                       \
	{ .type = name, .in = ins, .out = outs, .state_size = sizeof(struct step),                 \
		.prepare = prepare, .run = run, .release = release }

const struct fl_kernel_def fl_kernels_update[] = {
	ROW("adam", "Param Grad LearningRate Moment1 Moment2 Beta1Pow Beta2Pow Beta1Tensor Beta2Tensor",
		"ParamOut Moment1Out Moment2Out Beta1PowOut Beta2PowOut"),
	ROW("adamax", "Param Grad LearningRate Moment InfNorm Beta1Pow",
		"ParamOut MomentOut InfNormOut"),
	ROW("adagrad", "Param Grad LearningRate Moment", "ParamOut MomentOut"),
	ROW("decayed_adagrad", "Param Grad LearningRate Moment", "ParamOut MomentOut"),
	ROW("adadelta", "Param Grad AvgSquaredGrad AvgSquaredUpdate",
		"ParamOut AvgSquaredGradOut AvgSquaredUpdateOut"),
	ROW("rmsprop", "Param Grad LearningRate MeanSquare Moment MeanGrad",
		"ParamOut MeanSquareOut MomentOut MeanGradOut"),
	ROW("ftrl", "Param Grad LearningRate SquaredAccumulator LinearAccumulator",
		"ParamOut SquaredAccumOut LinearAccumOut"),
	ROW("proximal_gd", "Param Grad LearningRate", "ParamOut"),
	ROW("proximal_adagrad", "Param Grad LearningRate Moment", "ParamOut MomentOut"),
	ROW("lars_momentum", "Param Grad LearningRate Velocity", "ParamOut VelocityOut"),
	ROW("lamb", "Param Grad LearningRate Moment1 Moment2 Beta1Pow Beta2Pow",
		"ParamOut Moment1Out Moment2Out"),
	{ .type = NULL },
};
