/*
 * Rows of a table by their numbers (operators.md 4.8): lookup_table and lookup_table_v2, whose ids
 * differ in shape alone, with dense or sparse gradients. A padding id gives zeros, and its row gets no
 * dense gradient; sparse gradients keep every id, in order, as all versions of Fluid do.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "desc/query.h"
#include "kernels/internal.h"

enum { TABLE, IDS, GRAD };

struct held {
	int64_t row;
	size_t at;
};

struct lookup {
	int64_t padding; /* -1: none */
	struct fl_scratch held;
};

static enum fl_code prepare(struct fl_kernel *k, struct fl_err *err)
{
	struct lookup *l = k->state;

	l->padding = fl_k_int(k, "padding_idx");
	if (fl_k_bool(k, "remote_prefetch") && fl_attr_len(k->op, "epmap"))
		return fl_err_set(err, FL_EUNSUPPORTED,
			"attribute 'remote_prefetch' is true, expected the table to be here");
	return FL_OK;
}

static void release(struct fl_kernel *k)
{
	struct lookup *l = k->state;

	fl_free(l->held.data);
}

static int by_row(const void *a, const void *b)
{
	const struct held *x = a, *y = b;

	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static enum fl_code sort_rows(struct lookup *l, const struct fl_selected_rows *rows, struct fl_err *err)
{
	struct held *h;

	FL_TRY(fl_scratch_need(&l->held, rows->n, sizeof *h, err));
	h = l->held.data;
	for (size_t i = 0; i < rows->n; i++)
		h[i] = (struct held){ rows->rows[i], i };
	qsort(h, rows->n, sizeof *h, by_row);
	return FL_OK;
}

/* Where a table that holds some rows has this one; -1: it has not. */
static int64_t find_row(const struct lookup *l, size_t n, int64_t row)
{
	const struct held *h = l->held.data;
	size_t low = 0, high = n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (h[mid].row < row)
			low = mid + 1;
		else
			high = mid;
	}
	return low < n && h[low].row == row ? (int64_t)h[low].at : -1;
}

static enum fl_code run(struct fl_kernel *k, struct fl_err *err)
{
	struct lookup *l = k->state;
	const struct fl_var *table = fl_in_var(k, TABLE, 0);
	bool sparse = table->kind == FL_SELECTED_ROWS;
	const struct fl_tensor *w = sparse ? &table->rows.value : &table->tensor, *ids = fl_in(k, IDS, 0);
	const int64_t *id = fl_data(ids);
	size_t bytes = (size_t)fl_dims_product(w->dims, 1, w->rank) * fl_dtype_size(w->dtype);
	int64_t n = fl_numel(ids);
	char *to = fl_data(fl_out(k, 0, 0));

	if (sparse)
		FL_TRY(sort_rows(l, &table->rows, err));
	for (int64_t i = 0; i < n; i++, to += bytes) {
		int64_t at = id[i];

		if (l->padding != -1 && at == l->padding) {
			memset(to, 0, bytes);
			continue;
		}
		if (sparse && (at = find_row(l, table->rows.n, at)) < 0)
			return fl_err_set(err, FL_EINVAL, "'Ids' element %" PRId64 " is %" PRId64
				", expected a row that 'W' holds", i, id[i]);
		if (at < 0 || at >= w->dims[0])
			return fl_k_bad_element("Ids", i, at, w->dims[0] - 1, err);
		memcpy(to, (const char *)fl_data(w) + (size_t)at * bytes, bytes);
	}
	return FL_OK;
}

static void add_row(int dtype, void *to, const void *from, int64_t n)
{
	if (dtype == FL_FP32)
		for (int64_t i = 0; i < n; i++)
			((float *)to)[i] += ((const float *)from)[i];
	else
		for (int64_t i = 0; i < n; i++)
			((double *)to)[i] += ((const double *)from)[i];
}

static enum fl_code need_ids(const struct fl_tensor *ids, int64_t height, struct fl_err *err)
{
	const int64_t *id = fl_data(ids);
	int64_t n = fl_numel(ids);

	for (int64_t i = 0; i < n; i++)
		if (id[i] < 0 || id[i] >= height)
			return fl_k_bad_element("Ids", i, id[i], height - 1, err);
	return FL_OK;
}

/* The ids are the rows, the gradient their values. */
static enum fl_code sparse_grad(struct fl_selected_rows *out, const struct fl_tensor *ids,
	const struct fl_tensor *g, int64_t width, struct fl_err *err)
{
	int64_t n = fl_numel(ids);

	FL_TRY(fl_tensor_resize(&out->value, g->dtype, (const int64_t[]){ n, width }, 2, err));
	fl_selected_rows_resize(out, (size_t)n);
	if (!n)
		return FL_OK;
	memcpy(out->rows, fl_data(ids), (size_t)n * sizeof *out->rows);
	memcpy(fl_data(&out->value), fl_data(g), fl_tensor_bytes(g));
	return FL_OK;
}

static enum fl_code run_grad(struct fl_kernel *k, struct fl_err *err)
{
	struct lookup *l = k->state;
	const struct fl_tensor *ids = fl_in(k, IDS, 0), *g = fl_in(k, GRAD, 0);
	struct fl_var *to = fl_out_var(k, 0, 0);
	bool sparse = to && to->kind == FL_SELECTED_ROWS;
	const int64_t *id = fl_data(ids);
	int64_t n = fl_numel(ids), width = g->dims[g->rank - 1];
	size_t bytes = (size_t)width * fl_dtype_size(g->dtype);

	if (!to)
		return FL_OK;
	FL_TRY(need_ids(ids, sparse ? to->rows.height : to->tensor.dims[0], err));
	if (sparse)
		return sparse_grad(&to->rows, ids, g, width, err);
	memset(fl_data(&to->tensor), 0, fl_tensor_bytes(&to->tensor));
	for (int64_t i = 0; i < n; i++)
		if (l->padding == -1 || id[i] != l->padding)
			add_row(g->dtype, (char *)fl_data(&to->tensor) + (size_t)id[i] * bytes,
				(const char *)fl_data(g) + (size_t)i * bytes, width);
	return FL_OK;
}

#define ROWS(name)                                                                                 \
	{ .type = name, .in = "W Ids", .out = "Out", .state_size = sizeof(struct lookup),          \
		.prepare = prepare, .run = run, .release = release },                              \
	{ .type = name "_grad", .in = "W Ids Out@GRAD", .out = "W@GRAD",                           \
		.state_size = sizeof(struct lookup), .prepare = prepare, .run = run_grad,          \
		.release = release }

const struct fl_kernel_def fl_kernels_lookup[] = {
	ROWS("lookup_table"),
	ROWS("lookup_table_v2"),
	{ .type = NULL },
};
