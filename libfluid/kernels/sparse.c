/* Rows by number, apart and together again (operators.md 6.8): merging duplicates, taking the values,
 * spreading ids or rows over parts by remainder, and putting looked up rows in the order of ids. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "kernels/internal.h"

struct sparse {
	struct fl_selected_rows merged;
	struct fl_scratch order;
};

static enum fl_code prepare(struct fl_kernel *k, struct fl_err *err)
{
	struct sparse *s = k->state;

	(void)err;
	fl_selected_rows_init(&s->merged);
	return FL_OK;
}

static void release(struct fl_kernel *k)
{
	struct sparse *s = k->state;

	fl_selected_rows_release(&s->merged);
	fl_free(s->order.data);
}

static enum fl_code run_merge(struct fl_kernel *k, struct fl_err *err)
{
	struct sparse *s = k->state;
	const struct fl_selected_rows *rows = &fl_in_var(k, 0, 0)->rows;

	FL_TRY(fl_merge_rows(&rows, 1, true, &s->merged, &s->order, err));
	return fl_selected_rows_copy(&fl_out_var(k, 0, 0)->rows, &s->merged, err);
}

static enum fl_code run_values(struct fl_kernel *k, struct fl_err *err)
{
	const struct fl_selected_rows *rows = &fl_in_var(k, 0, 0)->rows;
	struct fl_var *out = fl_out_var(k, 0, 0);

	fl_var_set_kind(out, FL_LOD_TENSOR);
	FL_TRY(fl_tensor_copy(&out->tensor, &rows->value, err));
	fl_lod_clear(&out->tensor.lod);
	return FL_OK;
}

/* ---- split_ids ------------------------------------------------------------------------------- */

static int64_t part_of(int64_t id, size_t parts)
{
	int64_t r = id % (int64_t)parts;

	return r < 0 ? r + (int64_t)parts : r;
}

static int ascending(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static size_t drop_repeated(int64_t *id, size_t n)
{
	size_t m = 0;

	for (size_t i = 0; i < n; i++)
		if (!i || id[i] != id[i - 1])
			id[m++] = id[i];
	return m;
}

/* Each part gets its distinct ids, ascending. */
static enum fl_code split_tensors(struct fl_kernel *k, struct fl_err *err)
{
	struct sparse *s = k->state;
	size_t total = 0, at = 0, parts = k->out[0].n;
	int64_t *id;

	for (size_t i = 0; i < k->in[0].n; i++) {
		const struct fl_tensor *t = fl_in(k, 0, i);

		if (!t || t->dtype != FL_INT64)
			return fl_err_set(err, FL_EINVAL, "'Ids' is not of type INT64");
		total += (size_t)fl_numel(t);
	}
	FL_TRY(fl_scratch_need(&s->order, total, sizeof *id, err));
	id = s->order.data;
	for (size_t i = 0; i < k->in[0].n; i++) {
		memcpy(id + at, fl_data(fl_in(k, 0, i)), fl_tensor_bytes(fl_in(k, 0, i)));
		at += (size_t)fl_numel(fl_in(k, 0, i));
	}
	qsort(id, total, sizeof *id, ascending);
	total = drop_repeated(id, total);
	for (size_t p = 0; p < parts; p++) {
		int64_t n = 0, *to;

		for (size_t i = 0; i < total; i++)
			n += part_of(id[i], parts) == (int64_t)p;
		FL_TRY(fl_k_resize(k, 0, p, FL_INT64, (const int64_t[]){ n, 1 }, 2, err));
		to = fl_out(k, 0, p) ? fl_data(fl_out(k, 0, p)) : NULL;
		for (size_t i = 0; i < total && to; i++)
			if (part_of(id[i], parts) == (int64_t)p)
				*to++ = id[i];
	}
	return FL_OK;
}

/* Rows keep number, order and duplicates. */
static enum fl_code split_rows(const struct fl_selected_rows *in, size_t part, size_t parts,
	struct fl_selected_rows *out, struct fl_err *err)
{
	int64_t dims[FL_MAX_RANK];
	size_t n = 0, bytes = (size_t)fl_dims_product(in->value.dims, 1, in->value.rank) *
		fl_dtype_size(in->value.dtype);

	for (size_t i = 0; i < in->n; i++)
		n += part_of(in->rows[i], parts) == (int64_t)part;
	memcpy(dims, in->value.dims, sizeof dims);
	dims[0] = (int64_t)n;
	FL_TRY(fl_tensor_resize(&out->value, in->value.dtype, dims, in->value.rank, err));
	fl_selected_rows_resize(out, n);
	out->height = in->height;
	n = 0;
	for (size_t i = 0; i < in->n; i++) {
		if (part_of(in->rows[i], parts) != (int64_t)part)
			continue;
		out->rows[n] = in->rows[i];
		memcpy((char *)fl_data(&out->value) + n * bytes,
			(const char *)fl_data(&in->value) + i * bytes, bytes);
		n++;
	}
	return FL_OK;
}

static enum fl_code run_split_ids(struct fl_kernel *k, struct fl_err *err)
{
	const struct fl_var *first = fl_in_var(k, 0, 0);
	size_t parts = k->out[0].n;

	if (!first)
		return fl_err_set(err, FL_EINVAL, "'Ids' is absent, expected a tensor or SelectedRows");
	if (first->kind != FL_SELECTED_ROWS)
		return split_tensors(k, err);
	for (size_t p = 0; p < parts; p++) {
		struct fl_var *out = fl_out_var(k, 0, p);

		if (!out)
			continue;
		if (out == first)
			return fl_err_set(err, FL_EINVAL, "'Out' is 'Ids', expected other variables");
		fl_var_set_kind(out, FL_SELECTED_ROWS);
		FL_TRY(split_rows(&first->rows, p, parts, &out->rows, err));
	}
	return FL_OK;
}

/* ---- merge_ids ------------------------------------------------------------------------------- */

struct found {
	int64_t id;
	const char *value; /* borrowed */
};

static int by_id(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

/* All rows of all parts, by number. */
static enum fl_code index_rows(struct fl_kernel *k, size_t *n, int64_t *width, int *dtype,
	struct fl_err *err)
{
	struct sparse *s = k->state;
	struct found *f;
	size_t total = 0, at = 0;

	if (!k->in[1].n || k->in[1].n != k->in[2].n)
		return fl_err_set(err, FL_EINVAL, "'Rows' has %zu variables and 'X' %zu, expected as many",
			k->in[1].n, k->in[2].n);
	for (size_t i = 0; i < k->in[1].n; i++) {
		const struct fl_tensor *rows = fl_in(k, 1, i), *x = fl_in(k, 2, i);

		if (!rows || !x || rows->dtype != FL_INT64 || x->rank != 2 ||
			x->dims[0] != fl_numel(rows) || x->dims[1] != fl_in(k, 2, 0)->dims[1] ||
			x->dtype != fl_in(k, 2, 0)->dtype)
			return fl_err_set(err, FL_EINVAL,
				"'X' %zu does not have one row for each INT64 of 'Rows' %zu", i, i);
		total += (size_t)fl_numel(rows);
	}
	*width = fl_in(k, 2, 0)->dims[1];
	*dtype = fl_in(k, 2, 0)->dtype;
	FL_TRY(fl_scratch_need(&s->order, total, sizeof *f, err));
	f = s->order.data;
	for (size_t i = 0; i < k->in[1].n; i++)
		for (int64_t r = 0; r < fl_numel(fl_in(k, 1, i)); r++)
			f[at++] = (struct found){ fl_k_element(fl_in(k, 1, i), r),
				(const char *)fl_data(fl_in(k, 2, i)) +
					(size_t)(r * *width) * fl_dtype_size(*dtype) };
	qsort(f, total, sizeof *f, by_id);
	*n = total;
	return FL_OK;
}

static enum fl_code run_merge_ids(struct fl_kernel *k, struct fl_err *err)
{
	struct sparse *s = k->state;
	int64_t width = 0;
	size_t n = 0, bytes;
	int dtype = FL_FP32;

	FL_TRY(index_rows(k, &n, &width, &dtype, err));
	if (k->in[0].n != k->out[0].n)
		return fl_err_set(err, FL_EINVAL, "'Ids' has %zu variables and 'Out' %zu, expected as many",
			k->in[0].n, k->out[0].n);
	bytes = (size_t)width * fl_dtype_size(dtype);
	for (size_t i = 0; i < k->in[0].n; i++) {
		const struct fl_tensor *ids = fl_in(k, 0, i);

		if (!ids || ids->dtype != FL_INT64)
			return fl_err_set(err, FL_EINVAL, "'Ids' is not of type INT64");
		FL_TRY(fl_k_resize(k, 0, i, dtype, (const int64_t[]){ fl_numel(ids), width }, 2, err));
		for (int64_t r = 0; r < fl_numel(ids) && fl_out(k, 0, i); r++) {
			struct found key = { fl_k_element(ids, r), NULL }, *f;

			f = bsearch(&key, s->order.data, n, sizeof key, by_id);
			if (!f)
				return fl_err_set(err, FL_EINVAL, "'Ids' element %" PRId64 " is %" PRId64
					", expected one of 'Rows'", r, key.id);
			memcpy((char *)fl_data(fl_out(k, 0, i)) + (size_t)r * bytes, f->value, bytes);
		}
	}
	return FL_OK;
}

#define ROW(name, ins, fn)                                                                         \
	{ .type = name, .in = ins, .out = "Out", .state_size = sizeof(struct sparse),              \
		.prepare = prepare, .run = fn, .release = release }

const struct fl_kernel_def fl_kernels_sparse[] = {
	ROW("merge_selected_rows", "X", run_merge),
	ROW("get_tensor_from_selected_rows", "X", run_values),
	ROW("split_ids", "Ids", run_split_ids),
	ROW("merge_ids", "Ids Rows X", run_merge_ids),
	{ .type = NULL },
};
