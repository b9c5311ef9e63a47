/* Loops of elementwise operators for one type T (see elementwise.c). */

/* out = op(x, y) in the form [pre, n, post] with y [n]; whole rows of `post`, or of n where post is
 * 1, so that the inner loops have no index arithmetic. */
#define BINARY(name, expr)                                                                         \
	FL_HOT static void F(name)(const T *x, const T *y, T *out, int64_t n, int64_t step)        \
	{                                                                                          \
		if (step)                                                                          \
			for (int64_t i = 0; i < n; i++) {                                          \
				T a = x[i], b = y[i];                                              \
				out[i] = (expr);                                                   \
			}                                                                          \
		else                                                                               \
			for (int64_t i = 0; i < n; i++) {                                          \
				T a = x[i], b = *y;                                                \
				out[i] = (expr);                                                   \
			}                                                                          \
	}

BINARY(max, a > b ? a : b)
BINARY(min, a < b ? a : b)
#if FL_IS_REAL
BINARY(add, a + b)
BINARY(sub, a - b)
BINARY(mul, a * b)
BINARY(div, a / b)
BINARY(pow, FL_POW(a, b))
BINARY(mod, FL_MOD(a, b))
BINARY(floordiv, (T)(int64_t)(a / b))
#else /* integers wrap around */
BINARY(add, (T)((uint64_t)a + (uint64_t)b))
BINARY(sub, (T)((uint64_t)a - (uint64_t)b))
BINARY(mul, (T)((uint64_t)a * (uint64_t)b))
BINARY(div, b == -1 ? (T)(0 - (uint64_t)a) : b ? a / b : 0)
BINARY(pow, (T)llround(pow((double)a, (double)b)))
BINARY(mod, b && b != -1 ? a % b : 0)
BINARY(floordiv, b == -1 ? (T)(0 - (uint64_t)a) : b ? a / b : 0)
#endif
#undef BINARY

static void (*const F(forward)[])(const T *x, const T *y, T *out, int64_t n, int64_t step) = {
	[ADD] = F(add), [SUB] = F(sub), [MUL] = F(mul), [DIV] = F(div), [MAX] = F(max), [MIN] = F(min),
	[POW] = F(pow), [MOD] = F(mod), [FLOORDIV] = F(floordiv),
};

static void F(spread)(enum op op, const struct fl_broadcast *b, const T *x, const T *y, T *out)
{
	int64_t at[FL_MAX_RANK] = { 0 }, n = fl_dims_product(b->out, 0, b->rank);

	for (int64_t i = 0; i < n; i++) {
		F(forward)[op](x + place(b, b->x, at), y + place(b, b->y, at), out + i, 1, 0);
		step(b, at);
	}
}

static void F(rows)(const struct work *w, size_t begin, size_t end)
{
	const T *x = w->x, *y = w->y;
	T *out = w->out;
	const struct fl_broadcast *b = &w->b;
	int64_t from = (int64_t)begin, to = (int64_t)end;

	if (b->pre == 1 && b->post == 1) {
		F(forward)[w->op](x + from, y + from, out + from, to - from, 1);
		return;
	}
	for (int64_t r = from; r < to; r++)
		if (b->post == 1)
			F(forward)[w->op](x + r * b->n, y, out + r * b->n, b->n, 1);
		else
			F(forward)[w->op](x + r * b->post, y + r % b->n, out + r * b->post, b->post, 0);
}

#if FL_IS_REAL
/* dX = a factor of x, y, out, times g; step 0: one y. */
#define GRAD(name, dx, dy)                                                                         \
	FL_HOT static void F(dx_##name)(const T *x, const T *y, const T *o, const T *g, T *out,    \
		int64_t n, int64_t step)                                                           \
	{                                                                                          \
		for (int64_t i = 0; i < n; i++) {                                                  \
			T a = x[i], b = y[step ? i : 0], c = o[i], d = g[i];                       \
			(void)a, (void)b, (void)c;                                                 \
			out[i] = (dx);                                                             \
		}                                                                                  \
	}                                                                                          \
	FL_HOT static void F(dy_##name)(const T *x, const T *y, const T *o, const T *g, T *sum,    \
		int64_t n)                                                                         \
	{                                                                                          \
		for (int64_t i = 0; i < n; i++) {                                                  \
			T a = x[i], b = y[i], c = o[i], d = g[i];                                  \
			(void)a, (void)b, (void)c;                                                 \
			sum[i] += (dy);                                                            \
		}                                                                                  \
	}                                                                                          \
	FL_HOT static T F(sum_##name)(const T *x, const T *y, const T *o, const T *g, int64_t n)   \
	{                                                                                          \
		T lane[16] = { 0 }, sum = 0, b = *y;                                               \
		int64_t i = 0;                                                                     \
		(void)b;                                                                           \
		for (; i + 16 <= n; i += 16)                                                       \
			for (int64_t j = 0; j < 16; j++) {                                         \
				T a = x[i + j], c = o[i + j], d = g[i + j];                        \
				(void)a, (void)c;                                                  \
				lane[j] += (dy);                                                   \
			}                                                                          \
		for (; i < n; i++) {                                                               \
			T a = x[i], c = o[i], d = g[i];                                            \
			(void)a, (void)c;                                                          \
			lane[0] += (dy);                                                           \
		}                                                                                  \
		for (int j = 0; j < 16; j++)                                                       \
			sum += lane[j];                                                            \
		return sum;                                                                        \
	}

GRAD(add, d, d)
GRAD(sub, d, -d)
GRAD(mul, d * b, d * a)
GRAD(div, d / b, -d * c / b)
GRAD(max, a > b ? d : 0, a > b ? 0 : d)
GRAD(min, a < b ? d : 0, a < b ? 0 : d)
GRAD(pow, d * b * FL_POW(a, b - 1), d * FL_LOG(a) * FL_POW(a, b))
#undef GRAD

static const struct {
	void (*dx)(const T *x, const T *y, const T *o, const T *g, T *out, int64_t n, int64_t step);
	void (*dy)(const T *x, const T *y, const T *o, const T *g, T *sum, int64_t n);
	T (*sum)(const T *x, const T *y, const T *o, const T *g, int64_t n);
} F(backward)[] = {
#define ROW(op, name) [op] = { F(dx_##name), F(dy_##name), F(sum_##name) }
	ROW(ADD, add), ROW(SUB, sub), ROW(MUL, mul), ROW(DIV, div), ROW(MAX, max), ROW(MIN, min),
	ROW(POW, pow),
#undef ROW
};

/* Rows as in rows(). */
static void F(dx)(const struct work *w, size_t begin, size_t end)
{
	const T *x = w->x, *y = w->y, *o = w->o, *g = w->g;
	T *out = w->out;
	const struct fl_broadcast *b = &w->b;
	int64_t from = (int64_t)begin, to = (int64_t)end;

	if (b->pre == 1 && b->post == 1) {
		F(backward)[w->op].dx(x + from, y + from, o + from, g + from, out + from, to - from, 1);
		return;
	}
	for (int64_t r = from; r < to; r++) {
		int64_t at = r * (b->post == 1 ? b->n : b->post);

		F(backward)[w->op].dx(x + at, y + (b->post == 1 ? 0 : r % b->n), o + at, g + at, out + at,
			b->post == 1 ? b->n : b->post, b->post == 1);
	}
}

/* Elements [begin, end) of dY, each summed over all of its places. */
static void F(dy)(const struct work *w, size_t begin, size_t end)
{
	const T *x = w->x, *y = w->y, *o = w->o, *g = w->g;
	T *out = w->out2;
	const struct fl_broadcast *b = &w->b;
	int64_t from = (int64_t)begin, n = (int64_t)(end - begin);

	memset(out + from, 0, (size_t)n * sizeof *out);
	for (int64_t i = 0; i < b->pre; i++) {
		int64_t at = (i * b->n + from) * b->post;

		if (b->post == 1) {
			F(backward)[w->op].dy(x + at, y + from, o + at, g + at, out + from, n);
			continue;
		}
		for (int64_t j = 0; j < n; j++, at += b->post)
			out[from + j] += F(backward)[w->op].sum(x + at, y + from + j, o + at, g + at, b->post);
	}
}

static void F(spread_grad)(const struct work *w)
{
	const struct fl_broadcast *b = &w->b;
	const T *x = w->x, *y = w->y, *o = w->o, *g = w->g;
	int64_t at[FL_MAX_RANK] = { 0 }, n = fl_dims_product(b->out, 0, b->rank);
	T *dx = w->out, *dy = w->out2;

	if (dx)
		memset(dx, 0, (size_t)fl_dims_product(b->x, 0, b->rank) * sizeof *dx);
	if (dy)
		memset(dy, 0, (size_t)fl_dims_product(b->y, 0, b->rank) * sizeof *dy);
	for (int64_t i = 0; i < n; i++, step(b, at)) {
		int64_t px = place(b, b->x, at), py = place(b, b->y, at);
		const T *xp = x == g ? g + i : x + px; /* x stands in where it is not read */
		T d;

		if (dx) {
			F(backward)[w->op].dx(xp, y + py, o + i, g + i, &d, 1, 0);
			dx[px] += d;
		}
		if (dy)
			dy[py] += F(backward)[w->op].sum(xp, y + py, o + i, g + i, 1);
	}
}
#endif
