/* Loops of the functions for one type T (see function.c): x is an element of X; v of what the gradient
 * reads, g of dOut. */
#if FL_IS_FLOAT
#define M(name) name##f
#else
#define M(name) name
#endif

#define MAP(name, expr)                                                                            \
	FL_HOT static void F(fn_##name)(const T *in, T *out, int64_t n, const double *p)           \
	{                                                                                          \
		T a = (T)p[0], b = (T)p[1], c = (T)p[2];                                           \
		(void)a, (void)b, (void)c;                                                         \
		for (int64_t i = 0; i < n; i++) {                                                  \
			T x = in[i];                                                               \
			out[i] = (expr);                                                           \
		}                                                                                  \
	}
#define GRAD(name, expr)                                                                           \
	FL_HOT static void F(fn_##name##_grad)(const T *in, const T *grad, T *out, int64_t n,      \
		const double *p)                                                                   \
	{                                                                                          \
		T a = (T)p[0], b = (T)p[1], c = (T)p[2];                                           \
		(void)a, (void)b, (void)c;                                                         \
		for (int64_t i = 0; i < n; i++) {                                                  \
			T v = in[i], g = grad[i];                                                  \
			(void)v;                                                                   \
			out[i] = (expr);                                                           \
		}                                                                                  \
	}

/* ln(1 + e^x) and its derivative, without overflow. */
static inline T F(softplus_of)(T x)
{
	T high = x > 0 ? x : 0;

	return high + M(log)(M(exp)(-high) + M(exp)(x - high));
}

static inline T F(logistic)(T x)
{
	return 1 / (1 + M(exp)(-x));
}

/* x . the normal distribution up to x, or its fit by tanh; and the derivatives. */
static inline T F(gelu_of)(T x, bool fit)
{
	if (fit)
		return x / 2 * (1 + M(tanh)((T)0.79788456080286535588 * (x + (T)0.044715 * x * x * x)));
	return x / 2 * (1 + M(erf)(x * (T)0.70710678118654752440));
}

static inline T F(gelu_slope)(T x, bool fit)
{
	T k = (T)0.79788456080286535588, t;

	if (!fit)
		return (1 + M(erf)(x * (T)0.70710678118654752440)) / 2 +
			x * (T)0.39894228040143267794 * M(exp)(-x * x / 2);
	t = M(tanh)(k * (x + (T)0.044715 * x * x * x));
	return (1 + t) / 2 + x / 2 * (1 - t * t) * k * (1 + (T)0.134145 * x * x);
}

static inline T F(mish_slope)(T x)
{
	T t = M(tanh)(F(softplus_of)(x));

	return t + x * (1 - t * t) * F(logistic)(x);
}

static inline T F(swish_slope)(T x, T beta)
{
	T s = F(logistic)(beta * x), o = beta * x * s;

	return o + s * (1 - o);
}

static inline T F(hard_swish_slope)(T x, T threshold, T scale, T offset)
{
	if (!(x + offset < threshold))
		return 1;
	return x + offset > 0 ? (2 * x + offset) / scale : 0;
}

static inline T F(clamp)(T x, T low, T high)
{
	return x < low ? low : x > high ? high : x;
}

MAP(acos, M(acos)(x))
GRAD(acos, -g / M(sqrt)(1 - v * v))
MAP(asin, M(asin)(x))
GRAD(asin, g / M(sqrt)(1 - v * v))
MAP(atan, M(atan)(x))
GRAD(atan, g / (1 + v * v))
MAP(brelu, F(clamp)(x, a, b))
GRAD(brelu, v > a && v < b ? g : 0)
MAP(ceil, M(ceil)(x))
GRAD(ceil, 0 * g)
MAP(cos, M(cos)(x))
GRAD(cos, -g * M(sin)(v))
MAP(elu, x > 0 ? x : a * (M(exp)(x) - 1))
/* Both branches as 1.8.5 has them: where e^X overflows, the gradient is NaN. */
GRAD(elu, g * (T)(v > 0) + g * a * M(exp)(v) * (T)(v <= 0))
MAP(erf, M(erf)(x))
GRAD(erf, g * (T)1.12837916709551257390 * M(exp)(-v * v))
MAP(floor, M(floor)(x))
GRAD(floor, 0 * g)
MAP(gelu, F(gelu_of)(x, a != 0))
GRAD(gelu, g * F(gelu_slope)(v, a != 0))
MAP(hard_shrink, x > a || x < -a ? x : 0 * x)
GRAD(hard_shrink, v > a || v < -a ? g : 0)
MAP(hard_sigmoid, F(clamp)(a * x + b, 0, 1))
GRAD(hard_sigmoid, v > 0 && v < 1 ? g * a : 0)
MAP(hard_swish, x * F(clamp)(x + c, 0, a) / b)
GRAD(hard_swish, g * F(hard_swish_slope)(v, a, b, c))
MAP(leaky_relu, x > a * x ? x : a * x)
GRAD(leaky_relu, v > 0 ? g : g * a)
MAP(log1p, M(log1p)(x))
GRAD(log1p, g / (1 + v))
MAP(logsigmoid, -F(softplus_of)(-x))
GRAD(logsigmoid, g * F(logistic)(-v))
MAP(mish, x * M(tanh)(F(softplus_of)(x)))
GRAD(mish, g * F(mish_slope)(v))
MAP(pow, M(pow)(x, a))
GRAD(pow, g * a * M(pow)(v, a - 1))
MAP(relu6, F(clamp)(x, 0, a))
GRAD(relu6, v > 0 && v < a ? g : 0)
MAP(round, M(round)(x))
GRAD(round, 0 * g)
MAP(selu, x > 0 ? a * x : a * (b * M(exp)(x) - b))
GRAD(selu, v > 0 ? g * a : g * (T)(float)(v + a * b)) /* through a float in 1.8.5 */
MAP(sign, x > 0 ? 1 : x < 0 ? -1 : x)
MAP(sin, M(sin)(x))
GRAD(sin, g * M(cos)(v))
MAP(soft_relu, M(log)(1 + M(exp)(F(clamp)(x, -a, a))))
GRAD(soft_relu, v > -a && v < a ? g * (1 - M(exp)(-v)) : 0)
MAP(softplus, F(softplus_of)(x))
GRAD(softplus, g * F(logistic)(v))
MAP(softshrink, x > a ? x - a : x < -a ? x + a : 0 * x)
GRAD(softshrink, v > a || v < -a ? g : 0)
MAP(softsign, x / (1 + M(fabs)(x)))
GRAD(softsign, g / ((1 + M(fabs)(v)) * (1 + M(fabs)(v))))
MAP(stanh, b * M(tanh)(a * x))
GRAD(stanh, g * a * b * (1 - M(tanh)(a * v) * M(tanh)(a * v)))
MAP(swish, x * F(logistic)(a * x))
GRAD(swish, g * F(swish_slope)(v, a))
MAP(tanh_shrink, x - M(tanh)(x))
GRAD(tanh_shrink, g * M(tanh)(v) * M(tanh)(v))
MAP(thresholded_relu, x > a ? x : 0 * x)
GRAD(thresholded_relu, v > a ? g : 0)

static const struct {
	void (*map)(const T *x, T *out, int64_t n, const double *p);
	void (*grad)(const T *v, const T *g, T *out, int64_t n, const double *p);
} F(functions)[] = {
#define ROW(name, reads, a, b, c) { F(fn_##name), F(fn_##name##_grad) },
	FUNCTIONS(ROW)
#undef ROW
	{ F(fn_pow), F(fn_pow_grad) },
	{ F(fn_sign), NULL },
};

#undef MAP
#undef GRAD
#undef M
