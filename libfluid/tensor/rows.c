/* SelectedRows: some rows of a taller table. */
#include "tensor/tensor.h"

#include <string.h>

#include "base/mem.h"

void fl_selected_rows_init(struct fl_selected_rows *s)
{
	memset(s, 0, sizeof *s);
	fl_tensor_init(&s->value);
}

void fl_selected_rows_release(struct fl_selected_rows *s)
{
	fl_free(s->rows);
	fl_tensor_release(&s->value);
	fl_selected_rows_init(s);
}

void fl_selected_rows_resize(struct fl_selected_rows *s, size_t n)
{
	fl_grow(&s->rows, &s->cap, n, sizeof *s->rows);
	s->n = n;
}

enum fl_code fl_selected_rows_copy(struct fl_selected_rows *dst, const struct fl_selected_rows *src,
	struct fl_err *err)
{
	if (dst == src)
		return FL_OK;
	FL_TRY(fl_tensor_copy(&dst->value, &src->value, err));
	fl_selected_rows_resize(dst, src->n);
	if (src->n)
		memcpy(dst->rows, src->rows, src->n * sizeof *src->rows);
	dst->height = src->height;
	return FL_OK;
}
