/*
 * Random numbers, equal to Fluid 1.8.5's to the bit (operators.md 4.1.1): minstd_rand, a fresh
 * engine per run, std::uniform_real_distribution and the polar method of libstdc++. No fused
 * multiply-add may be used here (-ffp-contract=off).
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "kernels/internal.h"

#define MODULUS 2147483647u

static uint32_t draw(uint32_t *s)
{
	*s = (uint32_t)((uint64_t)*s * 48271u % MODULUS);
	return *s;
}

static uint32_t first_state(uint32_t seed)
{
	uint32_t s = seed % MODULUS;

	return s ? s : 1;
}

static float unit_f32(uint32_t *s)
{
	float u = (float)(draw(s) - 1) / 2147483648.0f;

	return u < 1.0f ? u : nextafterf(1.0f, 0.0f);
}

static double unit_f64(uint32_t *s)
{
	const double range = 2147483646.0;
	double a = (double)(draw(s) - 1), b = (double)(draw(s) - 1);
	double u = (a + b * range) / (range * range);

	return u < 1.0 ? u : nextafter(1.0, 0.0);
}

static void uniform(uint32_t s, double low, double high, struct fl_tensor *t)
{
	int64_t n = fl_numel(t);

	if (t->dtype == FL_FP32) {
		float a = (float)low, b = (float)high;

		for (int64_t i = 0; i < n; i++)
			((float *)fl_data(t))[i] = unit_f32(&s) * (b - a) + a;
	} else {
		for (int64_t i = 0; i < n; i++)
			((double *)fl_data(t))[i] = unit_f64(&s) * (high - low) + low;
	}
}

static void gaussian_f32(uint32_t s, float mean, float std, float *out, int64_t n)
{
	for (int64_t i = 0; i < n; i += 2) {
		float x, y, q, k;

		do {
			x = 2.0f * unit_f32(&s) - 1.0f;
			y = 2.0f * unit_f32(&s) - 1.0f;
			q = x * x + y * y;
		} while (q > 1.0f || q == 0.0f);
		k = sqrtf(-2.0f * logf(q) / q);
		out[i] = y * k * std + mean;
		if (i + 1 < n)
			out[i + 1] = x * k * std + mean;
	}
}

static void gaussian_f64(uint32_t s, double mean, double std, double *out, int64_t n)
{
	for (int64_t i = 0; i < n; i += 2) {
		double x, y, q, k;

		do {
			x = 2.0 * unit_f64(&s) - 1.0;
			y = 2.0 * unit_f64(&s) - 1.0;
			q = x * x + y * y;
		} while (q > 1.0 || q == 0.0);
		k = sqrt(-2.0 * log(q) / q);
		out[i] = y * k * std + mean;
		if (i + 1 < n)
			out[i + 1] = x * k * std + mean;
	}
}

/* Wichura's central branch alone: the tails are never taken in 1.8.5, see operators.md. */
static float inverse_erf(float z)
{
	static const double num[] = { 1.1975323115670912564578, 47.072688112383978012285,
		697.06266534389598238465, 4854.8868893843886794648, 16235.862515167575384252,
		23782.041382114385731252, 11819.493347062294404278, 887.09406962545514830200 };
	static const double den[] = { 1, 42.313330701600911252, 687.18700749205790830,
		5394.1960214247511077, 21213.794301586595867, 39307.895800092710610,
		28729.085735721942674, 5226.4952788528545610 };
	float r = (float)(0.180625 - 0.25 * z * z), a = (float)num[7], b = (float)den[7];

	for (int i = 6; i >= 0; i--) {
		a = a * r + (float)num[i];
		b = b * r + (float)den[i];
	}
	return z * a / b;
}

static void truncated(uint32_t s, float mean, float std, float *out, int64_t n)
{
	float a = (float)((1.0 + erf(-2.0 / sqrt(2.0))) / 2.0);
	float b = (float)((1.0 + erf(2.0 / sqrt(2.0))) / 2.0);

	for (int64_t i = 0; i < n; i++) {
		float v = unit_f32(&s) * (1.0f - FLT_MIN) + FLT_MIN;
		float p = a + (b - a) * v;

		out[i] = (float)(sqrt(2.0) * inverse_erf(2.0f * p - 1.0f) * std + mean);
	}
}

enum kind { UNIFORM, GAUSSIAN, TRUNCATED };

struct random {
	enum kind kind;
	uint32_t seed;
	double a, b; /* min and max, or mean and std */
};

static enum fl_code prepare_random(struct fl_kernel *k, struct fl_err *err)
{
	struct random *s = k->state;
	const char *type = k->op_def->type;

	(void)err;
	s->kind = !strncmp(type, "uniform", 7) ? UNIFORM : *type == 'g' ? GAUSSIAN : TRUNCATED;
	s->seed = (uint32_t)fl_k_int(k, "seed");
	s->a = fl_k_num(k, s->kind == UNIFORM ? "min" : "mean");
	s->b = fl_k_num(k, s->kind == UNIFORM ? "max" : "std");
	return FL_OK;
}

/* Without a seed, each run takes the next number of the process's source. */
static uint32_t seed_of(struct fl_kernel *k, const struct random *s)
{
	uint64_t z;

	if (s->seed || !k->seed_source)
		return s->seed ? s->seed : 1;
	z = *k->seed_source += 0x9e3779b97f4a7c15u;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return (uint32_t)(z >> 32);
}

static enum fl_code fill_random(struct fl_kernel *k, struct fl_tensor *t, struct fl_err *err)
{
	const struct random *s = k->state;
	uint32_t state = first_state(seed_of(k, s));
	int64_t n = fl_numel(t);

	if (t->dtype != FL_FP32 && (t->dtype != FL_FP64 || s->kind == TRUNCATED))
		return fl_k_bad_dtype(k, "Out", t->dtype, err);
	if (s->kind == UNIFORM)
		uniform(state, s->a, s->b, t);
	else if (s->kind == TRUNCATED)
		truncated(state, (float)s->a, (float)s->b, fl_data(t), n);
	else if (t->dtype == FL_FP32)
		gaussian_f32(state, (float)s->a, (float)s->b, fl_data(t), n);
	else
		gaussian_f64(state, s->a, s->b, fl_data(t), n);
	return FL_OK;
}

static enum fl_code run_random(struct fl_kernel *k, struct fl_err *err)
{
	struct fl_tensor *t;

	FL_TRY(fl_k_filled(k, &t, err));
	return fill_random(k, t, err);
}

static enum fl_code run_random_like(struct fl_kernel *k, struct fl_err *err)
{
	FL_TRY(fl_k_batch_size_like(k, false, err));
	return fill_random(k, fl_out(k, 0, 0), err);
}

#define SHAPES "ShapeTensor ShapeTensorList"
#define ROW(name, ins, fn)                                                                         \
	{ .type = name, .in = ins, .out = "Out", .state_size = sizeof(struct random),              \
		.prepare = prepare_random, .run = fn }

const struct fl_kernel_def fl_kernels_random[] = {
	ROW("uniform_random", SHAPES, run_random),
	ROW("gaussian_random", SHAPES, run_random),
	ROW("truncated_gaussian_random", "", run_random),
	ROW("uniform_random_batch_size_like", "Input", run_random_like),
	ROW("gaussian_random_batch_size_like", "Input", run_random_like),
	{ .type = NULL },
};
