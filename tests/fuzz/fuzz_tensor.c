/*
 * Stream files: any bytes, read as a LoDTensor, as SelectedRows and as an array; what is accepted is
 * written and read again, and must be the same bytes.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_kind(const uint8_t *data, size_t size, int kind)
{
	struct fl_var *var = fl_var_new("v", kind), *back = fl_var_new("v", kind);
	struct fl_buf once = FL_BUF_INIT, twice = FL_BUF_INIT;
	struct fl_stream s = { data, size, 0, "file" };
	struct fl_err err;

	if (fl_read_var(&s, var, &err) == FL_OK) {
		if (fl_write_var(&once, var, &err) != FL_OK)
			abort();
		s = (struct fl_stream){ (const uint8_t *)fl_buf_str(&once), once.len, 0, "file" };
		if (fl_read_var(&s, back, &err) != FL_OK || s.left)
			abort();
		if (fl_write_var(&twice, back, &err) != FL_OK || once.len != twice.len ||
			(once.len && memcmp(once.data, twice.data, once.len)))
			abort();
	}
	fl_buf_release(&once);
	fl_buf_release(&twice);
	fl_var_free(var);
	fl_var_free(back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	try_kind(data, size, FL_LOD_TENSOR);
	try_kind(data, size, FL_SELECTED_ROWS);
	try_kind(data, size, FL_LOD_TENSOR_ARRAY);
	return 0;
}
