/* Counted memory blocks and dense tensors. */
#include "tensor/tensor.h"

#include <string.h>

#include "base/mem.h"

struct fl_mem *fl_mem_new(size_t size)
{
	void *data = fl_try_alloc(size);
	struct fl_mem *mem;

	if (!data)
		return NULL;
	mem = fl_mem_foreign(data, size, NULL, NULL);
	return mem;
}

struct fl_mem *fl_mem_foreign(void *data, size_t size, void (*release)(void *arg), void *arg)
{
	struct fl_mem *mem = FL_NEW(struct fl_mem);

	atomic_init(&mem->refs, 1);
	mem->size = size;
	mem->data = data;
	mem->release = release;
	mem->arg = arg;
	return mem;
}

struct fl_mem *fl_mem_hold(struct fl_mem *mem)
{
	atomic_fetch_add_explicit(&mem->refs, 1, memory_order_relaxed);
	return mem;
}

void fl_mem_rele(struct fl_mem *mem)
{
	if (!mem || atomic_fetch_sub_explicit(&mem->refs, 1, memory_order_acq_rel) != 1)
		return;
	if (mem->release)
		mem->release(mem->arg);
	else
		fl_free(mem->data);
	fl_free(mem);
}

void fl_tensor_init(struct fl_tensor *t)
{
	memset(t, 0, sizeof *t);
	t->dtype = FL_FP32;
}

void fl_tensor_release(struct fl_tensor *t)
{
	fl_mem_rele(t->mem);
	fl_lod_release(&t->lod);
	fl_tensor_init(t);
}

void fl_tensor_clear(struct fl_tensor *t)
{
	fl_mem_rele(t->mem);
	t->mem = NULL;
	t->offset = 0;
	t->rank = 0;
	fl_lod_clear(&t->lod);
}

int64_t fl_numel(const struct fl_tensor *t)
{
	int64_t n = 1;

	if (!t->mem)
		return 0;
	for (int i = 0; i < t->rank; i++)
		n *= t->dims[i];
	return n;
}

size_t fl_tensor_bytes(const struct fl_tensor *t)
{
	return (size_t)fl_numel(t) * fl_dtype_size(t->dtype);
}

enum fl_code fl_shape_bytes(int dtype, const int64_t *dims, int rank, size_t *out,
	struct fl_err *err)
{
	size_t bytes = fl_dtype_size(dtype);
	char text[FL_DIMS_STR];
	bool zero = false;

	if (!bytes)
		return fl_err_set(err, FL_EUNSUPPORTED, "element type %d is unknown", dtype);
	if (rank < 0 || rank > FL_MAX_RANK)
		return fl_err_set(err, FL_ELIMIT, "a tensor of rank %d, at most %d is possible", rank,
			FL_MAX_RANK);
	for (int i = 0; i < rank; i++)
		zero |= dims[i] == 0;
	for (int i = 0; i < rank; i++) {
		if (dims[i] < 0)
			return fl_err_set(err, FL_ELIMIT, "shape %s has a negative dimension",
				fl_dims_str(dims, rank, text, sizeof text));
		/* A zero must not hide that the others overflow: kernels multiply parts of shapes. */
		if (!fl_mul_size(bytes, dims[i] ? (size_t)dims[i] : 1, &bytes) || bytes > INT64_MAX)
			return fl_err_set(err, FL_ELIMIT, "shape %s of %s is too large",
				fl_dims_str(dims, rank, text, sizeof text), fl_dtype_name(dtype));
	}
	*out = zero ? 0 : bytes;
	return FL_OK;
}

enum fl_code fl_tensor_resize(struct fl_tensor *t, int dtype, const int64_t *dims, int rank,
	struct fl_err *err)
{
	char text[FL_DIMS_STR];
	struct fl_mem *mem;
	size_t bytes;

	FL_TRY(fl_shape_bytes(dtype, dims, rank, &bytes, err));
	if (!t->mem || t->mem->release || t->mem->size < bytes ||
		atomic_load_explicit(&t->mem->refs, memory_order_acquire) != 1) {
		mem = fl_mem_new(bytes);
		if (!mem)
			return fl_err_set(err, FL_ENOMEM, "no memory for %zu bytes, shape %s", bytes,
				fl_dims_str(dims, rank, text, sizeof text));
		fl_mem_rele(t->mem);
		t->mem = mem;
	}
	t->offset = 0;
	t->dtype = dtype;
	memmove(t->dims, dims, (size_t)rank * sizeof *dims);
	t->rank = rank;
	return FL_OK;
}

enum fl_code fl_tensor_copy(struct fl_tensor *dst, const struct fl_tensor *src, struct fl_err *err)
{
	if (dst == src)
		return FL_OK;
	if (!src->mem) {
		fl_tensor_clear(dst);
		return FL_OK;
	}
	FL_TRY(fl_tensor_resize(dst, src->dtype, src->dims, src->rank, err));
	memcpy(fl_data(dst), fl_data(src), fl_tensor_bytes(src));
	fl_lod_copy(&dst->lod, &src->lod);
	return FL_OK;
}

static void share_memory(struct fl_tensor *dst, const struct fl_tensor *src)
{
	struct fl_mem *mem = src->mem ? fl_mem_hold(src->mem) : NULL;

	fl_mem_rele(dst->mem);
	dst->mem = mem;
	dst->offset = src->offset;
	dst->dtype = src->dtype;
	dst->rank = src->rank;
	memmove(dst->dims, src->dims, sizeof src->dims);
}

void fl_tensor_share(struct fl_tensor *dst, const struct fl_tensor *src)
{
	if (dst == src)
		return;
	share_memory(dst, src);
	fl_lod_copy(&dst->lod, &src->lod);
}

void fl_tensor_slice(struct fl_tensor *dst, const struct fl_tensor *src, int64_t begin, int64_t end)
{
	size_t row = fl_dtype_size(src->dtype);

	if (src->rank < 1 || begin < 0 || end < begin || end > src->dims[0])
		FL_BUG("slice outside of the tensor");
	for (int i = 1; i < src->rank; i++)
		row *= (size_t)src->dims[i];
	share_memory(dst, src);
	dst->offset += (size_t)begin * row;
	dst->dims[0] = end - begin;
	fl_lod_clear(&dst->lod);
}
