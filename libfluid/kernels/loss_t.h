/* Loops of softmax and the cross entropies for one type T (see loss.c). The scores are seen as
 * [pre, n, post], n classes; a row is one (pre, post). */
#if FL_IS_FLOAT
#define EXP fl_expf
#define LOG logf
#else
#define EXP exp
#define LOG log
#endif

/* ln with infinities cut to 1e20, as Fluid's TolerableValue. */
static T F(tolerable_log)(T x)
{
	T y = LOG(x);

	return y == (T)INFINITY ? (T)1e20 : y == (T)-INFINITY ? (T)-1e20 : y;
}

/* e^(x - max), x - max cut at -64 below, over the sum; a row with NaN, or without any finite
 * maximum, becomes NaN. */
FL_HOT static void F(softmax_row)(const T *x, T *out, int64_t n)
{
	T lane[16] = { 0 }, max = x[0], sum = 0;
	int64_t i = 0;

	for (int64_t j = 1; j < n; j++)
		max = x[j] > max || x[j] != x[j] ? x[j] : max;
	for (int64_t j = 0; j < n; j++) {
		T z = x[j] - max;

		z = z < -64 ? -64 : z;
		out[j] = EXP(z);
	}
	for (; i + 16 <= n; i += 16)
		for (int64_t j = 0; j < 16; j++)
			lane[j] += out[i + j];
	for (; i < n; i++)
		lane[0] += out[i];
	for (int j = 0; j < 16; j++)
		sum += lane[j];
	sum = 1 / sum;
	for (int64_t j = 0; j < n; j++)
		out[j] *= sum;
}

static void F(softmax)(const struct work *w, size_t begin, size_t end)
{
	const T *x = w->x;
	T *out = w->out;

	for (size_t r = begin; r < end; r++) {
		int64_t at = (int64_t)r / w->post * w->n * w->post + (int64_t)r % w->post;
		T sum = 0, max = x[at];

		if (w->post == 1) {
			F(softmax_row)(x + at, out + at, w->n);
			continue;
		}
		for (int64_t j = 1; j < w->n; j++) {
			T v = x[at + j * w->post];

			max = v > max || v != v ? v : max;
		}
		for (int64_t j = 0; j < w->n; j++) {
			T z = x[at + j * w->post] - max;

			z = z < -64 ? -64 : z;
			sum += out[at + j * w->post] = EXP(z);
		}
		for (int64_t j = 0; j < w->n; j++)
			out[at + j * w->post] /= sum;
	}
}

static void F(softmax_grad)(const struct work *w, size_t begin, size_t end)
{
	const T *o = w->x, *g = w->g;
	T *out = w->out;

	for (size_t r = begin; r < end; r++) {
		int64_t at = (int64_t)r / w->post * w->n * w->post + (int64_t)r % w->post;
		T dot = 0;

		for (int64_t j = 0; j < w->n; j++)
			dot += g[at + j * w->post] * o[at + j * w->post];
		for (int64_t j = 0; j < w->n; j++)
			out[at + j * w->post] = (g[at + j * w->post] - dot) * o[at + j * w->post];
	}
}

/* Losses of probabilities x; match, where it is wanted, gets x[label]. */
static void F(losses)(const struct work *w, size_t begin, size_t end)
{
	const T *x = w->x, *soft = w->soft;
	T *out = w->loss, *match = w->match;

	for (size_t r = begin; r < end; r++) {
		int64_t at = (int64_t)r / w->post * w->n * w->post + (int64_t)r % w->post;
		T y = 0, m = 0;

		if (soft) {
			for (int64_t j = 0; j < w->n; j++)
				y -= soft[at + j * w->post] * F(tolerable_log)(x[at + j * w->post]);
		} else if (w->label[r] != w->ignore) {
			m = x[at + w->label[r] * w->post];
			y = -F(tolerable_log)(m);
		}
		out[r] = y;
		if (match)
			match[r] = m;
	}
}

static void F(cross_entropy_grad)(const struct work *w, size_t begin, size_t end)
{
	const T *x = w->x, *soft = w->soft, *g = w->g, *match = w->match;
	T *out = w->out;

	for (size_t r = begin; r < end; r++) {
		int64_t at = (int64_t)r * w->n;

		if (soft) {
			for (int64_t j = 0; j < w->n; j++)
				out[at + j] = -soft[at + j] * g[r] / x[at + j];
			continue;
		}
		memset(out + at, 0, (size_t)w->n * sizeof *out);
		if (w->label[r] != w->ignore)
			out[at + w->label[r]] = -g[r] / (match ? match[r] : x[at + w->label[r]]);
	}
}

/* x is the softmax; an ignored row's gradient is 0. */
static void F(swce_grad)(const struct work *w, size_t begin, size_t end)
{
	const T *x = w->x, *soft = w->soft, *g = w->g;
	T *out = w->out;

	for (size_t r = begin; r < end; r++) {
		int64_t at = (int64_t)r / w->post * w->n * w->post + (int64_t)r % w->post;
		T d = !soft && w->label[r] == w->ignore ? 0 : g[r];

		for (int64_t j = 0; j < w->n; j++) {
			int64_t i = at + j * w->post;

			out[i] = soft ? (x[i] - soft[i]) * d : x[i] * d;
		}
		if (!soft && w->label[r] != w->ignore)
			out[at + w->label[r] * w->post] -= d;
	}
}
#undef EXP
#undef LOG
