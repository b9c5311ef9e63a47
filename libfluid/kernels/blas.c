/* Matrix products by OpenBLAS, split over our own threads: pieces of C depend on the thread count
 * alone, so equal counts give equal bits. */
#include "kernels/blas.h"

#include <cblas.h>
#include <strings.h>
#include <string.h>

#include "desc/proto.h"

void fl_blas_set_threads(int threads)
{
	openblas_set_num_threads(threads > 0 ? threads : 1);
}

/* The cores that OpenBLAS falls back to when a processor is younger than it is. What it then takes
 * for Haswell and SkylakeX are the instruction sets asked for here. */
const char *fl_blas_better_core(void)
{
#if defined(__x86_64__)
	static const char *const fallback[] = { "Prescott", "Core2", "Generic" };
	const char *core = openblas_get_corename();

	bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
	bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
		__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");

	for (size_t i = 0; avx2 && core && i < sizeof fallback / sizeof *fallback; i++)
		if (!strcasecmp(core, fallback[i]))
			return avx512 ? "SkylakeX" : "Haswell";
#endif
	return NULL;
}

/* With no terms to add, C is beta C: BLAS leaves that out where k is 0. */
#define GEMM(T, SUFFIX, fn)                                                                        \
	void fl_gemm_##SUFFIX(bool at, bool bt, int64_t m, int64_t n, int64_t k, T alpha, const T *a, \
		int64_t lda, const T *b, int64_t ldb, T beta, T *c, int64_t ldc)                   \
	{                                                                                          \
		if (m <= 0 || n <= 0)                                                              \
			return;                                                                    \
		if (k <= 0) {                                                                      \
			for (int64_t i = 0; i < m && beta == 0; i++)                               \
				memset(c + i * ldc, 0, (size_t)n * sizeof *c);                     \
			return;                                                                    \
		}                                                                                  \
		fn(CblasRowMajor, at ? CblasTrans : CblasNoTrans, bt ? CblasTrans : CblasNoTrans,  \
			(blasint)m, (blasint)n, (blasint)k, alpha, a, (blasint)lda, b, (blasint)ldb, beta, c, \
			(blasint)ldc);                                                             \
	}

GEMM(float, f32, cblas_sgemm)
GEMM(double, f64, cblas_dgemm)

struct product {
	int dtype;
	bool at, bt, by_rows;
	int64_t m, n, k, lda, ldb, ldc;
	const char *a, *b;
	char *c;
	double beta;
};

static void piece(void *arg, size_t begin, size_t end)
{
	const struct product *p = arg;
	int64_t size = p->dtype == FL_FP32 ? 4 : 8, from = (int64_t)begin, n = (int64_t)(end - begin);
	int64_t m_part = p->by_rows ? n : p->m, n_part = p->by_rows ? p->n : n;
	const char *a = p->a, *b = p->b;
	char *c = p->c + size * (p->by_rows ? from * p->ldc : from);

	if (p->by_rows)
		a += size * (p->at ? from : from * p->lda);
	else
		b += size * (p->bt ? from * p->ldb : from);
	if (p->dtype == FL_FP32)
		fl_gemm_f32(p->at, p->bt, m_part, n_part, p->k, 1, (const float *)(const void *)a, p->lda,
			(const float *)(const void *)b, p->ldb, (float)p->beta, (float *)(void *)c, p->ldc);
	else
		fl_gemm_f64(p->at, p->bt, m_part, n_part, p->k, 1, (const double *)(const void *)a, p->lda,
			(const double *)(const void *)b, p->ldb, p->beta, (double *)(void *)c, p->ldc);
}

/* Multiplications that are worth a thread. */
#define WORK ((int64_t)1 << 18)

void fl_gemm_over(struct fl_pool *pool, int dtype, bool at, bool bt, int64_t m, int64_t n, int64_t k,
	const void *a, int64_t lda, const void *b, int64_t ldb, double beta, void *c, int64_t ldc)
{
	struct product p = { .dtype = dtype, .at = at, .bt = bt, .by_rows = m >= n, .m = m, .n = n,
		.k = k, .lda = lda, .ldb = ldb, .ldc = ldc, .a = a, .b = b, .c = c, .beta = beta };
	int64_t items = p.by_rows ? m : n, each = (p.by_rows ? n : m) * (k > 0 ? k : 1);
	int64_t grain = WORK / (each > 0 ? each : 1) + 1;

	if (m > 0 && n > 0)
		fl_pool_for(pool, (size_t)items, (size_t)grain, piece, &p);
}
