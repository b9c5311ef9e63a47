/*
 * Readers of data file formats, each from bytes in memory into one tensor. All check sizes against
 * the bytes there are. `name` is the file's, for messages.
 */
#ifndef FL_TENSOR_READERS_H
#define FL_TENSOR_READERS_H

#include "base/buf.h"
#include "tensor/tensor.h"

/* Does it begin as that format does? */
bool fl_is_gzip(const void *p, size_t n);
bool fl_is_npy(const void *p, size_t n);
bool fl_is_idx(const void *p, size_t n);
/* A LoDTensor stream: version 0, and a plausible number of levels. */
bool fl_is_lod_stream(const void *p, size_t n);

/* Unpacks all members; ELIMIT when the result passes `limit` bytes. */
enum fl_code fl_gunzip(const void *p, size_t n, size_t limit, const char *name, struct fl_buf *out,
	struct fl_err *err);

/* NumPy's format 1 to 3: C order, either byte order. */
enum fl_code fl_read_npy(const void *p, size_t n, const char *name, struct fl_tensor *t,
	struct fl_err *err);

/* 00 00 type rank | rank u32 dims | data, all big-endian (the format of MNIST). */
enum fl_code fl_read_idx(const void *p, size_t n, const char *name, struct fl_tensor *t,
	struct fl_err *err);

struct fl_text_opts {
	const char *columns; /* "0-12", "1+3"; NULL: all */
	int64_t skip;	     /* lines before the first sample */
	bool whole;	     /* whole numbers (INT64), else FP64 */
};

/* Lines of numbers, separated by tabs, commas, semicolons or blanks: what the first line has. The
 * result is [lines, columns]. Errors name line and column. */
enum fl_code fl_read_text(const void *p, size_t n, const char *name, const struct fl_text_opts *o,
	struct fl_tensor *t, struct fl_err *err);

/* Reverses the bytes of each element. */
void fl_swap_bytes(void *data, size_t n, size_t size);

#endif
