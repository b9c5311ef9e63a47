/*
 * Fluid's files of one variable, and of several one after the other (runtime.md section 11).
 *
 *   T  u32 version 0 | i32 n | n bytes TensorDesc (08 dtype, 10 dim ...) | data, row-major
 *   L  u32 version 0 | u64 levels | per level: u64 bytes, u64 offsets ... | T      (LoDTensor)
 *   R  u32 version 0 | u64 rows | i64 row ... | i64 height | T                     (SelectedRows)
 *
 * All little-endian. Readers check everything against the bytes there are.
 */
#ifndef FL_TENSOR_STREAM_H
#define FL_TENSOR_STREAM_H

#include "base/buf.h"
#include "tensor/var.h"

/* A reading position in borrowed bytes. */
struct fl_stream {
	const uint8_t *p;
	size_t left;
	size_t pos;	  /* bytes read so far, for messages */
	const char *name; /* of the file, for messages; borrowed */
};

enum fl_code fl_read_lod_tensor(struct fl_stream *s, struct fl_tensor *t, struct fl_err *err);
enum fl_code fl_read_selected_rows(struct fl_stream *s, struct fl_selected_rows *r,
	struct fl_err *err);
void fl_write_lod_tensor(struct fl_buf *b, const struct fl_tensor *t);
void fl_write_selected_rows(struct fl_buf *b, const struct fl_selected_rows *r);

/* One variable by its kind: LoDTensor, SelectedRows, array (L streams to the end of the bytes).
 * EUNSUPPORTED for other kinds. */
enum fl_code fl_read_var(struct fl_stream *s, struct fl_var *var, struct fl_err *err);
enum fl_code fl_write_var(struct fl_buf *b, const struct fl_var *var, struct fl_err *err);

/* A whole file holding one variable. Bytes left over (Fluid's recv_save leaves some) are counted in
 * *extra; an error where that is NULL. */
enum fl_code fl_load_var(const char *path, struct fl_var *var, size_t *extra, struct fl_err *err);
/* Written whole; folders in between are made. */
enum fl_code fl_save_var(const char *path, const struct fl_var *var, struct fl_err *err);

#endif
