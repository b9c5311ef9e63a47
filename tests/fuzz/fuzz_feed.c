/*
 * Data files: the first byte chooses the reader (npy, IDX, text of reals, text of whole numbers,
 * gzip, or the value of --feed), the rest is its input.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tensor/dataset.h"
#include "tensor/readers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define UNPACK_LIMIT (1u << 20)

static void try_text(const uint8_t *data, size_t size, bool whole, struct fl_tensor *t)
{
	struct fl_text_opts o = { .columns = whole ? "1+0-1" : NULL, .skip = whole, .whole = whole };
	struct fl_err err;

	fl_read_text(data, size, "file", &o, t, &err);
}

static void try_spec(const uint8_t *data, size_t size)
{
	char *text = fl_xstrndup((const char *)data, size);
	struct fl_data_spec spec;
	struct fl_err err;

	fl_data_spec_parse(&spec, text, &err);
	fl_data_spec_release(&spec);
	fl_free(text);
}

static void try_gzip(const uint8_t *data, size_t size)
{
	struct fl_buf b = FL_BUF_INIT;
	struct fl_err err;

	fl_gunzip(data, size, UNPACK_LIMIT, "file", &b, &err);
	fl_buf_release(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fl_tensor t;
	struct fl_err err;

	if (!size)
		return 0;
	fl_tensor_init(&t);
	switch (data[0] % 6) {
	case 0: fl_read_npy(data + 1, size - 1, "file", &t, &err); break;
	case 1: fl_read_idx(data + 1, size - 1, "file", &t, &err); break;
	case 2: try_text(data + 1, size - 1, false, &t); break;
	case 3: try_text(data + 1, size - 1, true, &t); break;
	case 4: try_gzip(data + 1, size - 1); break;
	default: try_spec(data + 1, size - 1); break;
	}
	if (t.mem && (size_t)fl_numel(&t) * fl_dtype_size(t.dtype) > t.mem->size)
		abort();
	fl_tensor_release(&t);
	return 0;
}
