/*
 * Merging SelectedRows (operators.md 1.3; Fluid 1.8.5, selected_rows_functor.cc): row numbers are
 * sorted together with the place where they stood, so that equal rows are added in their order.
 */
#include <stdlib.h>
#include <string.h>

#include "kernels/internal.h"

struct place {
	int64_t row;
	size_t seq;	   /* among all rows of all inputs */
	const char *value; /* borrowed */
};

static int by_row(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static int by_seq(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static void add(int dtype, void *to, const void *from, int64_t n)
{
	if (dtype == FL_FP64)
		for (int64_t i = 0; i < n; i++)
			((double *)to)[i] += ((const double *)from)[i];
	else if (dtype == FL_INT64)
		for (int64_t i = 0; i < n; i++)
			((int64_t *)to)[i] += ((const int64_t *)from)[i];
	else if (dtype == FL_INT32)
		for (int64_t i = 0; i < n; i++)
			((int32_t *)to)[i] += ((const int32_t *)from)[i];
	else
		for (int64_t i = 0; i < n; i++)
			((float *)to)[i] += ((const float *)from)[i];
}

static size_t list_places(const struct fl_selected_rows *const *in, size_t n, size_t row_bytes,
	struct place *p)
{
	size_t at = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t r = 0; r < in[i]->n; r++, at++) {
			p[at].row = in[i]->rows[r];
			p[at].seq = at;
			p[at].value = (const char *)fl_data(&in[i]->value) + r * row_bytes;
		}
	return at;
}

static size_t distinct(const struct place *p, size_t n)
{
	size_t m = 0;

	for (size_t i = 0; i < n; i++)
		m += i == 0 || p[i].row != p[i - 1].row;
	return m;
}

/* Out must not be one of the inputs. */
enum fl_code fl_merge_rows(const struct fl_selected_rows *const *in, size_t n, bool keep_order,
	struct fl_selected_rows *out, struct fl_scratch *order, struct fl_err *err)
{
	const struct fl_selected_rows *first = in[0];
	const struct fl_tensor *v = &first->value;
	int64_t dims[FL_MAX_RANK], width = fl_dims_product(v->dims, 1, v->rank);
	size_t total = 0, m, row_bytes = (size_t)width * fl_dtype_size(v->dtype), at = 0;
	struct place *p;

	for (size_t i = 0; i < n; i++)
		total += in[i]->n;
	FL_TRY(fl_scratch_need(order, total, sizeof *p, err));
	p = order->data;
	list_places(in, n, row_bytes, p);
	qsort(p, total, sizeof *p, by_row);
	m = distinct(p, total);
	if (m == total && keep_order)
		qsort(p, total, sizeof *p, by_seq);
	memcpy(dims, v->dims, sizeof dims);
	dims[0] = (int64_t)m;
	FL_TRY(fl_tensor_resize(&out->value, v->dtype, dims, v->rank, err));
	fl_selected_rows_resize(out, m);
	out->height = first->height;
	for (size_t i = 0; i < total; i++) {
		char *to = (char *)fl_data(&out->value) + at * row_bytes;

		if (i && p[i].row == p[i - 1].row) {
			add(v->dtype, to - row_bytes, p[i].value, width);
			continue;
		}
		out->rows[at++] = p[i].row;
		memcpy(to, p[i].value, row_bytes);
	}
	return FL_OK;
}
