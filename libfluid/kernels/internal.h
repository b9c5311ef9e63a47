/*
 * What the families of kernels/ share: their arrays, splitting of loops, output help, and the macro
 * that has hot loops compiled for several processors. Nothing outside kernels/ includes this.
 *
 * Loops for float and double are written once, in *_t.h files, which are included once per type
 * with T (the type) and F(name) (its functions' names) defined; see types.h.
 */
#ifndef FL_KERNELS_INTERNAL_H
#define FL_KERNELS_INTERNAL_H

#include "kernels/kernel.h"

/* Each array ends with a NULL type. */
extern const struct fl_kernel_def fl_kernels_plumbing[], fl_kernels_random[], fl_kernels_math[],
	fl_kernels_concat[], fl_kernels_elementwise[], fl_kernels_activation[], fl_kernels_loss[],
	fl_kernels_metric[], fl_kernels_conv[], fl_kernels_pool[], fl_kernels_optimizer[],
	fl_kernels_rpc[], fl_kernels_update[],
	fl_kernels_compare[],
	fl_kernels_function[],
	fl_kernels_clip[],
	fl_kernels_condition[],
	fl_kernels_lookup[],
	fl_kernels_sequence_pool[],
	fl_kernels_reduce[],
	fl_kernels_sparse[],
	fl_kernels_auc[];

/*
 * FL_HOT: one copy of the function per kind of processor, chosen when the program starts. Not with
 * sanitizers, whose runtime is not up yet when the choice is made. The name must be the only one in
 * kernels/, static or not: clang makes the function that chooses a global one.
 */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
	__has_feature(memory_sanitizer)
#define FL_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FL_SANITIZED 1
#endif
#if defined(__x86_64__) && defined(__ELF__) && defined(__GLIBC__) && !defined(FL_SANITIZED)
#define FL_HOT __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define FL_HOT
#endif

/* Elements that are worth a thread's while, for loops bound by memory. */
#define FL_GRAIN 16384

/* How many items of `bytes` work each make one piece of a parallel loop. */
static inline size_t fl_grain(int64_t per_item)
{
	return per_item >= FL_GRAIN ? 1 : (size_t)(FL_GRAIN / (per_item > 0 ? per_item : 1));
}

/* The kernel as rules of ops/ see it: attributes, no metas. */
struct fl_infer fl_k_infer(const struct fl_kernel *k);

/* Threads of the pool, 1 without one. */
int fl_k_threads(const struct fl_kernel *k);

/* Type and shape of an output that the kernel finds itself; its LoD is cleared. */
enum fl_code fl_k_resize(struct fl_kernel *k, int slot, size_t i, int dtype, const int64_t *dims,
	int rank, struct fl_err *err);

/* Gives Out (a tensor, or the value of SelectedRows) dtype and shape of the attributes, or the shape
 * of ShapeTensor or ShapeTensorList, which are inputs 0 and 1 where the kernel has them. */
enum fl_code fl_k_filled(struct fl_kernel *k, struct fl_tensor **out, struct fl_err *err);
/* The same with one dimension of Input (*_batch_size_like), or the number of its sequences. */
enum fl_code fl_k_batch_size_like(struct fl_kernel *k, bool sequences, struct fl_err *err);

/* An integer of a tensor of INT32 or INT64. */
int64_t fl_k_element(const struct fl_tensor *t, int64_t i);

/* EINVAL: "'Label' element 3 is 12, expected 0 to 9". */
enum fl_code fl_k_bad_element(const char *slot, int64_t i, int64_t value, int64_t high,
	struct fl_err *err);

/* Memory that only grows; its contents are undefined. Freed by fl_free. */
struct fl_scratch {
	void *data; /* owned */
	size_t size;
};
enum fl_code fl_scratch_need(struct fl_scratch *s, size_t n, size_t size, struct fl_err *err);

/* Sums duplicates: rows ascending and unique, values added in their order (operators.md 1.3). With
 * `keep_order`, rows that are all distinct stay as they are. `order` is working memory. */
enum fl_code fl_merge_rows(const struct fl_selected_rows *const *in, size_t n, bool keep_order,
	struct fl_selected_rows *out, struct fl_scratch *order, struct fl_err *err);

#endif
