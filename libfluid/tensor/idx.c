/* IDX, the format of MNIST's files (readers.h). */
#include "tensor/readers.h"

#include <string.h>

#include "base/mem.h"

static const struct idx_type {
	uint8_t code;
	int dtype;
} types[] = {
	{ 0x08, FL_UINT8 }, { 0x09, FL_INT8 }, { 0x0b, FL_INT16 }, { 0x0c, FL_INT32 },
	{ 0x0d, FL_FP32 }, { 0x0e, FL_FP64 },
};

static int dtype_of(uint8_t code)
{
	for (size_t i = 0; i < FL_COUNT(types); i++)
		if (types[i].code == code)
			return types[i].dtype;
	return -1;
}

bool fl_is_idx(const void *p, size_t n)
{
	const uint8_t *b = p;

	return n >= 8 && !b[0] && !b[1] && dtype_of(b[2]) >= 0 && b[3] >= 1;
}

void fl_swap_bytes(void *data, size_t n, size_t size)
{
	uint8_t *p = data;

	for (; n--; p += size)
		for (size_t i = 0; i < size / 2; i++) {
			uint8_t c = p[i];

			p[i] = p[size - 1 - i];
			p[size - 1 - i] = c;
		}
}

enum fl_code fl_read_idx(const void *p, size_t n, const char *name, struct fl_tensor *t,
	struct fl_err *err)
{
	const uint8_t *b = p;
	int64_t dims[FL_MAX_RANK];
	size_t at, bytes;
	int dtype;

	if (!fl_is_idx(p, n))
		return fl_err_set(err, FL_EFORMAT, "'%s' is no IDX file", name);
	dtype = dtype_of(b[2]);
	at = 4 + 4 * (size_t)b[3];
	if (b[3] > FL_MAX_RANK || at > n)
		return fl_err_set(err, FL_EFORMAT, "'%s': IDX header of rank %d is cut short or too large",
			name, b[3]);
	for (int i = 0; i < b[3]; i++) {
		const uint8_t *d = b + 4 + 4 * i;

		dims[i] = (int64_t)d[0] << 24 | (int64_t)d[1] << 16 | (int64_t)d[2] << 8 | d[3];
	}
	if (fl_shape_bytes(dtype, dims, b[3], &bytes, err) != FL_OK)
		return fl_err_wrap(err, "'%s'", name);
	if (bytes != n - at)
		return fl_err_set(err, FL_EFORMAT, "'%s': %zu bytes of data, the IDX header needs %zu",
			name, n - at, bytes);
	FL_TRY(fl_tensor_resize(t, dtype, dims, b[3], err));
	memcpy(fl_data(t), b + at, bytes);
	fl_swap_bytes(fl_data(t), (size_t)fl_numel(t), fl_dtype_size(dtype));
	return FL_OK;
}
