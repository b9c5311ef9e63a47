/* Loops of the functions of one tensor for one type T (see activation.c). */
#if FL_IS_FLOAT
#define EXP fl_expf
#define TANH fl_tanhf
#define SQRT sqrtf
#define LOG logf
#define FABS fabsf
#else
#define EXP exp
#define TANH tanh
#define SQRT sqrt
#define LOG log
#define FABS fabs
#endif

#define MAP(name, expr)                                                                            \
	FL_HOT static void F(name)(const T *in, T *out, int64_t n)                                 \
	{                                                                                          \
		for (int64_t i = 0; i < n; i++) {                                                  \
			T x = in[i];                                                               \
			out[i] = (expr);                                                           \
		}                                                                                  \
	}
/* v is Out or X, whichever the gradient reads. */
#define GRAD(name, expr)                                                                           \
	FL_HOT static void F(name##_grad)(const T *in, const T *grad, T *out, int64_t n)           \
	{                                                                                          \
		for (int64_t i = 0; i < n; i++) {                                                  \
			T v = in[i], g = grad[i];                                                  \
			out[i] = (expr);                                                           \
		}                                                                                  \
	}

MAP(relu, x < 0 ? 0 : x)
GRAD(relu, v > 0 ? g : 0)
MAP(tanh, TANH(x))
GRAD(tanh, g * (1 - v * v))
MAP(sigmoid, 1 / (1 + EXP(-x)))
GRAD(sigmoid, g * v * (1 - v))
MAP(square, x * x)
GRAD(square, 2 * g * v)
MAP(sqrt, SQRT(x))
GRAD(sqrt, g / v / 2)
MAP(rsqrt, 1 / SQRT(x))
GRAD(rsqrt, -g * v * v * v / 2)
MAP(exp, EXP(x))
GRAD(exp, g * v)
MAP(log, LOG(x))
GRAD(log, g / v)
MAP(abs, FABS(x))
GRAD(abs, v > 0 ? g : v < 0 ? -g : 0 * g)
MAP(reciprocal, 1 / x)
GRAD(reciprocal, -g * v * v)
#undef MAP
#undef GRAD

static const struct {
	void (*map)(const T *x, T *out, int64_t n);
	void (*grad)(const T *v, const T *g, T *out, int64_t n);
} F(functions)[] = {
#define ROW(name, reads) { F(name), F(name##_grad) },
	FUNCTIONS(ROW)
#undef ROW
};

#undef EXP
#undef TANH
#undef SQRT
#undef LOG
#undef FABS
