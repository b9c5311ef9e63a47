/*
 * Dense tensors with LoD, and SelectedRows. A tensor's bytes lie in a reference counted block, so
 * that a message on its way, a view and the variable can share them; the structs are public
 * because kernels need the fields.
 */
#ifndef FL_TENSOR_TENSOR_H
#define FL_TENSOR_TENSOR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "ops/op.h"
#include "tensor/dtype.h"

/* A counted block of bytes, 64-byte aligned. */
struct fl_mem {
	atomic_size_t refs;
	size_t size;
	void *data; /* owned, or foreign with release */
	void (*release)(void *arg); /* of foreign memory; NULL: fl_free(data) */
	void *arg;
};

/* NULL when there is no memory of that size. The caller owns one reference. */
struct fl_mem *fl_mem_new(size_t size);
struct fl_mem *fl_mem_foreign(void *data, size_t size, void (*release)(void *arg), void *arg);
struct fl_mem *fl_mem_hold(struct fl_mem *mem);
void fl_mem_rele(struct fl_mem *mem); /* NULL is allowed */

/* Levels of sequence offsets, level 0 coarsest: each starts with 0, never falls, and its last
 * offset is the number of items of the next level, in the end dim 0 of the tensor. */
struct fl_lod_level {
	uint64_t *off; /* owned */
	size_t n, cap;
};
#define FL_MAX_LOD 8
struct fl_lod {
	struct fl_lod_level level[FL_MAX_LOD];
	int n;
};

void fl_lod_release(struct fl_lod *lod);
void fl_lod_clear(struct fl_lod *lod); /* no levels; memory is kept */
void fl_lod_copy(struct fl_lod *dst, const struct fl_lod *src);
bool fl_lod_equal(const struct fl_lod *a, const struct fl_lod *b);
/* Appends a level holding a copy of the offsets. FL_ELIMIT beyond FL_MAX_LOD. */
enum fl_code fl_lod_push(struct fl_lod *lod, const uint64_t *off, size_t n, struct fl_err *err);
/* Are the offsets well formed for a tensor of `rows` rows? */
enum fl_code fl_lod_check(const struct fl_lod *lod, int64_t rows, struct fl_err *err);

struct fl_tensor {
	int dtype;
	int rank;
	int64_t dims[FL_MAX_RANK];
	struct fl_mem *mem; /* NULL: holds no value yet */
	size_t offset;	    /* of the first element, in bytes */
	struct fl_lod lod;
};

static inline void *fl_data(const struct fl_tensor *t)
{
	return (char *)t->mem->data + t->offset;
}

void fl_tensor_init(struct fl_tensor *t);
void fl_tensor_release(struct fl_tensor *t);
/* Drops the value: its memory reference, shape and LoD. */
void fl_tensor_clear(struct fl_tensor *t);
/* Elements, and bytes; 0 for a tensor without value. */
int64_t fl_numel(const struct fl_tensor *t);
size_t fl_tensor_bytes(const struct fl_tensor *t);

/* Gives the tensor that type and shape and memory for it. Its block is kept when it is large enough
 * and nobody else holds it; else a new one is taken (contents undefined). The LoD stays.
 * ELIMIT: the size does not fit; ENOMEM. */
enum fl_code fl_tensor_resize(struct fl_tensor *t, int dtype, const int64_t *dims, int rank,
	struct fl_err *err);
/* dst := a copy of src, its LoD included. */
enum fl_code fl_tensor_copy(struct fl_tensor *dst, const struct fl_tensor *src, struct fl_err *err);
/* dst := src's memory shared, its shape and LoD copied. */
void fl_tensor_share(struct fl_tensor *dst, const struct fl_tensor *src);
/* dst := rows [begin, end) of src along dim 0, sharing its memory. */
void fl_tensor_slice(struct fl_tensor *dst, const struct fl_tensor *src, int64_t begin, int64_t end);
/* Bytes of a shape; ELIMIT when dims are negative or the product does not fit. */
enum fl_code fl_shape_bytes(int dtype, const int64_t *dims, int rank, size_t *out,
	struct fl_err *err);

/* Rows of a taller table: value has rows.n rows (or more: only the first rows.n count). */
struct fl_selected_rows {
	int64_t height;
	int64_t *rows; /* owned; may repeat, need not be sorted */
	size_t n, cap;
	struct fl_tensor value;
};

void fl_selected_rows_init(struct fl_selected_rows *s);
void fl_selected_rows_release(struct fl_selected_rows *s);
void fl_selected_rows_resize(struct fl_selected_rows *s, size_t n);
enum fl_code fl_selected_rows_copy(struct fl_selected_rows *dst, const struct fl_selected_rows *src,
	struct fl_err *err);

#endif
