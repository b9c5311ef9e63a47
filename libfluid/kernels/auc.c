/*
 * auc (operators.md 4.13): predictions fall into buckets, counted apart for positive and negative
 * labels; the area goes over the buckets from the highest down. The counts are of all batches
 * (slide_steps 0), or of the last s: s blocks, their sum and a step counter in one row (1.7 on), or s
 * rows, the oldest first (before).
 */
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "kernels/internal.h"

struct auc {
	int64_t slide, buckets;
	struct fl_scratch sum; /* of old rows: positives, then negatives */
};

enum { PREDICT, LABEL, STATES };

static void release(struct fl_kernel *k)
{
	struct auc *a = k->state;

	fl_free(a->sum.data);
}

static double predicted(const struct fl_tensor *p, int64_t row)
{
	int64_t at = row * p->dims[1] + p->dims[1] - 1;

	return p->dtype == FL_FP32 ? (double)((const float *)fl_data(p))[at]
				   : ((const double *)fl_data(p))[at];
}

/* Counts the batch: labels above 0 or equal to it. */
static enum fl_code count(struct fl_kernel *k, int64_t *pos, int64_t *neg, struct fl_err *err)
{
	const struct auc *a = k->state;
	const struct fl_tensor *p = fl_in(k, PREDICT, 0), *label = fl_in(k, LABEL, 0);

	for (int64_t i = 0; i < p->dims[0]; i++) {
		double v = predicted(p, i);
		int64_t want = fl_k_element(label, i), bucket;

		if (!(v >= 0 && v <= 1))
			return fl_err_set(err, FL_EINVAL, "'Predict' row %" PRId64 " is %g, expected 0 to 1",
				i, v);
		bucket = p->dtype == FL_FP32 ? (int64_t)((float)v * (float)(a->buckets - 1))
					     : (int64_t)(v * (double)(a->buckets - 1));
		if (want >= 0)
			(want > 0 ? pos : neg)[bucket]++;
	}
	return FL_OK;
}

/* Where this batch is counted in a window, emptied; the sum loses what was there. */
static int64_t *open_block(const struct auc *a, int64_t *state)
{
	int64_t n = a->buckets, *sum = state + a->slide * n, *block;

	block = state + (int64_t)((uint64_t)sum[n] % (uint64_t)a->slide) * n;
	for (int64_t i = 0; i < n; i++) {
		sum[i] -= block[i];
		block[i] = 0;
	}
	return block;
}

static int64_t *close_block(const struct auc *a, int64_t *state, const int64_t *block)
{
	int64_t *sum = state + a->slide * a->buckets;

	for (int64_t i = 0; i < a->buckets; i++)
		sum[i] += block[i];
	sum[a->buckets] = (int64_t)((uint64_t)sum[a->buckets] + 1);
	return sum;
}

/* The last of s rows; the others move up by one. */
static int64_t *shift_rows(const struct auc *a, int64_t *state)
{
	int64_t n = a->buckets, rest = (a->slide - 1) * n;

	memmove(state, state + n, (size_t)rest * sizeof *state);
	memset(state + rest, 0, (size_t)n * sizeof *state);
	return state + rest;
}

static int64_t *add_rows(const struct auc *a, const int64_t *state, int64_t *sum)
{
	memset(sum, 0, (size_t)a->buckets * sizeof *sum);
	for (int64_t i = 0; i < a->slide * a->buckets; i++)
		sum[i % a->buckets] += state[i];
	return sum;
}

static double area(const struct auc *a, const int64_t *pos, const int64_t *neg)
{
	double all_pos = 0, all_neg = 0, sum = 0;

	for (int64_t i = a->buckets - 1; i >= 0; i--) {
		double p = all_pos + (double)pos[i], n = all_neg + (double)neg[i];

		sum += (n - all_neg) * (p + all_pos) / 2;
		all_pos = p;
		all_neg = n;
	}
	return all_pos > 0 && all_neg > 0 ? sum / all_pos / all_neg : sum;
}

static enum fl_code open_state(struct fl_kernel *k, int i, int64_t **state, bool *rows,
	struct fl_err *err)
{
	const struct auc *a = k->state;
	const struct fl_tensor *from = fl_in(k, STATES + i, 0);
	struct fl_tensor *to = fl_out(k, 1 + i, 0);
	int64_t n = fl_numel(from), want = (a->slide + 1) * a->buckets + 1;
	const char *slot = i ? "StatNeg" : "StatPos";

	*rows = n == (a->slide ? a->slide : 1) * a->buckets;
	if (!*rows && (!a->slide || n != want))
		return fl_err_set(err, FL_EINVAL, "'%s' has %" PRId64 " elements, expected %" PRId64, slot,
			n, a->slide ? want : a->buckets);
	if (!to)
		return fl_err_set(err, FL_EINVAL, "'%sOut' is absent, expected a tensor", slot);
	if (to != from)
		memmove(fl_data(to), fl_data(from), fl_tensor_bytes(from));
	*state = fl_data(to);
	return FL_OK;
}

static enum fl_code run(struct fl_kernel *k, struct fl_err *err)
{
	struct auc *a = k->state;
	int64_t *state[2], *block[2];
	bool rows[2];

	a->slide = fl_k_int(k, "slide_steps");
	a->buckets = fl_k_int(k, "num_thresholds") + 1;
	if (a->slide < 0 || a->slide > 1 << 20 || a->buckets < 2 || a->buckets > 1 << 30)
		return fl_err_set(err, FL_EINVAL, "attributes 'slide_steps' %" PRId64
			" and 'num_thresholds' %" PRId64 " are out of range", a->slide, a->buckets - 1);
	FL_TRY(fl_scratch_need(&a->sum, 2 * (size_t)a->buckets, sizeof(int64_t), err));
	for (int i = 0; i < 2; i++)
		FL_TRY(open_state(k, i, &state[i], &rows[i], err));
	for (int i = 0; i < 2; i++)
		block[i] = !a->slide ? state[i] : rows[i] ? shift_rows(a, state[i])
							  : open_block(a, state[i]);
	FL_TRY(count(k, block[0], block[1], err));
	for (int i = 0; i < 2 && a->slide; i++)
		block[i] = rows[i] ? add_rows(a, state[i], (int64_t *)a->sum.data + i * a->buckets)
				   : close_block(a, state[i], block[i]);
	*(double *)fl_data(fl_out(k, 0, 0)) = area(a, block[0], block[1]);
	return FL_OK;
}

const struct fl_kernel_def fl_kernels_auc[] = {
	{ .type = "auc", .in = "Predict Label StatPos StatNeg", .out = "AUC StatPosOut StatNegOut",
		.state_size = sizeof(struct auc), .run = run, .release = release },
	{ .type = NULL },
};
