/* Matrix products: the only door to BLAS. */
#ifndef FL_KERNELS_BLAS_H
#define FL_KERNELS_BLAS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/pool.h"

/* OpenBLAS's own threads. Kernels split products over the pool themselves, so a program with a pool
 * wants 1 here; more is for programs without a pool. Call it before the first product. */
void fl_blas_set_threads(int threads);

/* The value of OPENBLAS_CORETYPE that this processor deserves, where the OpenBLAS at hand has not
 * recognized it and fell back to kernels without AVX (0.3.21, Debian 12's, on processors that are
 * younger); NULL where its own choice is good. OpenBLAS reads the variable when it is loaded. */
const char *fl_blas_better_core(void);

/* C [m, n] = alpha A [m, k] . B [k, n] + beta C, row-major; at, bt: A, B are stored transposed; ld:
 * elements from row to row as stored. Runs in the calling thread. */
void fl_gemm_f32(bool at, bool bt, int64_t m, int64_t n, int64_t k, float alpha, const float *a,
	int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc);
void fl_gemm_f64(bool at, bool bt, int64_t m, int64_t n, int64_t k, double alpha, const double *a,
	int64_t lda, const double *b, int64_t ldb, double beta, double *c, int64_t ldc);

/* The same with rows or columns of C split over the pool. dtype: FL_FP32 or FL_FP64. */
void fl_gemm_over(struct fl_pool *pool, int dtype, bool at, bool bt, int64_t m, int64_t n, int64_t k,
	const void *a, int64_t lda, const void *b, int64_t ldb, double beta, void *c, int64_t ldc);

#endif
