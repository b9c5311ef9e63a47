/* The table of element types, in one place: number, bytes, spellings. */
#include "tensor/dtype.h"

#include <string.h>
#include <strings.h>

#include "base/mem.h"

static const struct dtype {
	int number;
	size_t size;
	const char *name;  /* the spelling that is printed */
	const char *fluid; /* VarType.Type's */
	const char *numpy; /* kind and size */
	bool is_float;
} dtypes[] = {
	{ FL_BOOL, 1, "bool", "BOOL", "b1", false },
	{ FL_INT16, 2, "int16", "INT16", "i2", false },
	{ FL_INT32, 4, "int32", "INT32", "i4", false },
	{ FL_INT64, 8, "int64", "INT64", "i8", false },
	{ FL_FP16, 2, "float16", "FP16", "f2", true },
	{ FL_FP32, 4, "float32", "FP32", "f4", true },
	{ FL_FP64, 8, "float64", "FP64", "f8", true },
	{ FL_SIZE_T, 8, "size_t", "SIZE_T", "u8", false },
	{ FL_UINT8, 1, "uint8", "UINT8", "u1", false },
	{ FL_INT8, 1, "int8", "INT8", "i1", false },
};

static const struct dtype *find(int number)
{
	for (size_t i = 0; i < FL_COUNT(dtypes); i++)
		if (dtypes[i].number == number)
			return &dtypes[i];
	return NULL;
}

size_t fl_dtype_size(int dtype)
{
	const struct dtype *d = find(dtype);

	return d ? d->size : 0;
}

const char *fl_dtype_name(int dtype)
{
	const struct dtype *d = find(dtype);

	return d ? d->name : NULL;
}

int fl_dtype_parse(const char *name)
{
	for (size_t i = 0; i < FL_COUNT(dtypes); i++) {
		const struct dtype *d = &dtypes[i];

		if (!strcasecmp(name, d->name) || !strcasecmp(name, d->fluid) ||
			!strcmp(name, d->numpy))
			return d->number;
	}
	return -1;
}

bool fl_dtype_is_float(int dtype)
{
	const struct dtype *d = find(dtype);

	return d && d->is_float;
}
