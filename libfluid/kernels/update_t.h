/* Loops of the rules for one type T (see update.c): p, a, b, c are changed in place, c[] of the step
 * are the rule's numbers in the order of its begin function. */
#if FL_IS_FLOAT
#define SQRT sqrtf
#define POW powf
#define FABS fabsf
#else
#define SQRT sqrt
#define POW pow
#define FABS fabs
#endif

#define RULE(name)                                                                                 \
	FL_HOT static void F(name)(const struct step *s, T *p, T *a, T *b, T *c, const T *g, int64_t n)
#define NUMBERS                                                                                    \
	T lr = (T)s->lr, c0 = (T)s->c[0], c1 = (T)s->c[1], c2 = (T)s->c[2];                        \
	(void)lr, (void)c0, (void)c1, (void)c2, (void)a, (void)b, (void)c

RULE(adam)
{
	NUMBERS;
	T d0 = 1 - c0, d1 = 1 - c1;

	for (int64_t i = 0; i < n; i++) {
		T d = g[i], m = c0 * a[i] + d0 * d, v = c1 * b[i] + d1 * d * d;

		a[i] = m;
		b[i] = v;
		p[i] -= lr * (m / (SQRT(v) + c2));
	}
}

RULE(adamax)
{
	NUMBERS;
	T d0 = 1 - c0;

	for (int64_t i = 0; i < n; i++) {
		T d = g[i], m = c0 * a[i] + d0 * d, u = c1 * b[i] + c2, size = FABS(d);

		a[i] = m;
		b[i] = u = size > u ? size : u;
		p[i] -= lr * (m / u);
	}
}

/* Plain (1, 1) and decayed (decay, 1 - decay). */
RULE(adagrad)
{
	NUMBERS;
	for (int64_t i = 0; i < n; i++) {
		T d = g[i], h = c0 * a[i] + c1 * d * d;

		a[i] = h;
		p[i] -= lr * d / (SQRT(h) + c2);
	}
}

RULE(adadelta)
{
	NUMBERS;
	for (int64_t i = 0; i < n; i++) {
		T d = g[i], h = c0 * a[i] + (1 - c0) * d * d, u = b[i], delta;

		delta = -SQRT((u + c1) / (h + c1)) * d;
		u = c0 * u + (1 - c0) * delta * delta;
		a[i] = h;
		b[i] = u;
		p[i] -= SQRT((u + c1) / (h + c1)) * d;
	}
}

RULE(rmsprop)
{
	NUMBERS;
	T d0 = 1 - c0;

	for (int64_t i = 0; i < n; i++) {
		T d = g[i], h = c0 * a[i] + d0 * d * d, size = h, v;

		if (s->variant) {
			T q = c0 * c[i] + d0 * d;

			c[i] = q;
			size = h - q * q;
		}
		v = c1 * b[i] + lr * d / SQRT(size + c2);
		a[i] = h;
		b[i] = v;
		p[i] -= v;
	}
}

RULE(ftrl)
{
	NUMBERS;
	for (int64_t i = 0; i < n; i++) {
		T d = g[i], old = a[i], now = old + d * d, z, x;
		bool root = s->c[2] == -0.5;
		T was = root ? SQRT(old) : POW(old, -c2), is = root ? SQRT(now) : POW(now, -c2);

		z = b[i] + d - (is - was) / lr * p[i];
		x = (z > 0 ? c0 : z < 0 ? -c0 : 0) - z;
		a[i] = now;
		b[i] = z;
		p[i] = FABS(z) > c0 ? x / (is / lr + 2 * c1) : 0;
	}
}

static T F(proximal)(T q, T lr, T l1, T l2)
{
	T size = FABS(q) - lr * l1;

	if (!(l1 > 0))
		return q / (1 + lr * l2);
	size = size > 0 ? size : 0;
	return (q > 0 ? size : q < 0 ? -size : 0) / (1 + lr * l2);
}

RULE(proximal_gd)
{
	NUMBERS;
	for (int64_t i = 0; i < n; i++)
		p[i] = F(proximal)(p[i] - lr * g[i], lr, c0, c1);
}

RULE(proximal_adagrad)
{
	NUMBERS;
	for (int64_t i = 0; i < n; i++) {
		T h = a[i] + g[i] * g[i];

		a[i] = h;
		p[i] = F(proximal)(p[i] - lr * g[i] / SQRT(h), lr, c0, c1);
	}
}

RULE(lars)
{
	NUMBERS;
	for (int64_t i = 0; i < n; i++) {
		T v = a[i] * c0 + lr * (g[i] + c1 * p[i]);

		a[i] = v;
		p[i] -= v;
	}
}

RULE(lamb)
{
	NUMBERS;
	T d0 = 1 - c0, d1 = 1 - c1, decay = (T)s->c[3];

	for (int64_t i = 0; i < n; i++) {
		T d = g[i], m = c0 * a[i] + d0 * d, v = c1 * b[i] + d1 * d * d;

		a[i] = m;
		b[i] = v;
		c[i] = m / (SQRT(v) + c2) + decay * p[i];
	}
}

FL_HOT static void F(descend)(T *p, const T *r, T lr, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		p[i] -= lr * r[i];
}

/* Eight sums side by side: the order does not depend on threads. */
FL_HOT static double F(squares)(const T *v, int64_t n)
{
	double lane[8] = { 0 }, sum = 0;
	int64_t i = 0;

	for (; i + 8 <= n; i += 8)
		for (int j = 0; j < 8; j++)
			lane[j] += (double)v[i + j] * (double)v[i + j];
	for (; i < n; i++)
		lane[0] += (double)v[i] * (double)v[i];
	for (int j = 0; j < 8; j++)
		sum += lane[j];
	return sum;
}

#undef RULE
#undef NUMBERS
#undef SQRT
#undef POW
#undef FABS
