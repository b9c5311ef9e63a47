/* The registry of kernels, and what kernels call. */
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "desc/query.h"
#include "kernels/internal.h"

static const struct fl_kernel_def *const families[] = {
	fl_kernels_plumbing,
	fl_kernels_random,
	fl_kernels_math,
	fl_kernels_concat,
	fl_kernels_elementwise,
	fl_kernels_activation,
	fl_kernels_loss,
	fl_kernels_metric,
	fl_kernels_conv,
	fl_kernels_pool,
	fl_kernels_optimizer,
	fl_kernels_rpc,
	fl_kernels_update,
	fl_kernels_compare,
	fl_kernels_function,
	fl_kernels_clip,
	fl_kernels_condition,
	fl_kernels_lookup,
	fl_kernels_sequence_pool,
	fl_kernels_reduce,
	fl_kernels_sparse,
	fl_kernels_auc,
};

const struct fl_kernel_def *fl_kernel_at(size_t i)
{
	for (size_t f = 0; f < FL_COUNT(families); f++)
		for (const struct fl_kernel_def *def = families[f]; def->type; def++)
			if (!i--)
				return def;
	return NULL;
}

const struct fl_kernel_def *fl_kernel_find(const char *type)
{
	for (size_t f = 0; f < FL_COUNT(families); f++)
		for (const struct fl_kernel_def *def = families[f]; def->type; def++)
			if (*def->type == *type && !strcmp(def->type, type))
				return def;
	return NULL;
}

/* ---- arguments ------------------------------------------------------------------------------- */

struct fl_var *fl_in_var(const struct fl_kernel *k, int slot, size_t i)
{
	return i < k->in[slot].n ? k->in[slot].at[i] : NULL;
}

struct fl_var *fl_out_var(const struct fl_kernel *k, int slot, size_t i)
{
	return i < k->out[slot].n ? k->out[slot].at[i] : NULL;
}

struct fl_tensor *fl_in(const struct fl_kernel *k, int slot, size_t i)
{
	struct fl_var *var = fl_in_var(k, slot, i);

	return var ? &var->tensor : NULL;
}

struct fl_tensor *fl_out(const struct fl_kernel *k, int slot, size_t i)
{
	struct fl_var *var = fl_out_var(k, slot, i);

	return var ? &var->tensor : NULL;
}

enum fl_code fl_k_resize(struct fl_kernel *k, int slot, size_t i, int dtype, const int64_t *dims,
	int rank, struct fl_err *err)
{
	struct fl_var *var = fl_out_var(k, slot, i);

	if (!var)
		return FL_OK;
	fl_var_set_kind(var, FL_LOD_TENSOR);
	fl_lod_clear(&var->tensor.lod);
	return fl_tensor_resize(&var->tensor, dtype, dims, rank, err);
}

/* ---- attributes ------------------------------------------------------------------------------ */

struct fl_infer fl_k_infer(const struct fl_kernel *k)
{
	return (struct fl_infer){ .def = k->op_def, .op = k->op };
}

int64_t fl_k_int(const struct fl_kernel *k, const char *attr)
{
	struct fl_infer c = fl_k_infer(k);

	return fl_infer_int(&c, attr);
}

double fl_k_num(const struct fl_kernel *k, const char *attr)
{
	struct fl_infer c = fl_k_infer(k);

	return fl_infer_num(&c, attr);
}

bool fl_k_bool(const struct fl_kernel *k, const char *attr)
{
	struct fl_infer c = fl_k_infer(k);

	return fl_infer_bool(&c, attr);
}

const char *fl_k_str(const struct fl_kernel *k, const char *attr)
{
	struct fl_infer c = fl_k_infer(k);

	return fl_infer_str(&c, attr);
}

size_t fl_k_ints(const struct fl_kernel *k, const char *attr, int64_t *v, size_t max)
{
	struct fl_infer c = fl_k_infer(k);

	return fl_infer_ints(&c, attr, v, max);
}

/* ---- the rest -------------------------------------------------------------------------------- */

int fl_k_threads(const struct fl_kernel *k)
{
	return k->pool ? fl_pool_threads(k->pool) : 1;
}

int64_t fl_k_element(const struct fl_tensor *t, int64_t i)
{
	return t->dtype == FL_INT32 ? ((const int32_t *)fl_data(t))[i]
				    : ((const int64_t *)fl_data(t))[i];
}

enum fl_code fl_k_bad_dtype(const struct fl_kernel *k, const char *slot, int dtype,
	struct fl_err *err)
{
	const char *name = fl_dtype_name(dtype);

	(void)k;
	return fl_err_set(err, FL_EUNSUPPORTED, "no kernel for %s in '%s'",
		name ? name : "an unknown type", slot);
}

enum fl_code fl_k_bad_element(const char *slot, int64_t i, int64_t value, int64_t high,
	struct fl_err *err)
{
	return fl_err_set(err, FL_EINVAL, "'%s' element %" PRId64 " is %" PRId64 ", expected 0 to %"
		PRId64, slot, i, value, high);
}

enum fl_code fl_scratch_need(struct fl_scratch *s, size_t n, size_t size, struct fl_err *err)
{
	size_t bytes;

	if (!fl_mul_size(n, size, &bytes))
		return fl_err_set(err, FL_ELIMIT, "working memory for %zu elements does not fit", n);
	if (bytes <= s->size && s->data)
		return FL_OK;
	fl_free(s->data);
	s->size = 0;
	s->data = fl_try_alloc(bytes ? bytes : 1);
	if (!s->data)
		return fl_err_set(err, FL_ENOMEM, "no memory for %zu bytes of working memory", bytes);
	s->size = bytes;
	return FL_OK;
}
