/*
 * Stream files (formats in stream.h). Sizes are checked against the bytes there are before memory
 * is taken, so a file cannot ask for more memory than its own length. Follows Fluid 1.8.5's
 * TensorFromStream, DeserializeFromStream (lod_tensor.cc, selected_rows.cc), but refuses what is
 * cut short, where that leaves the rest undefined.
 */
#include "tensor/stream.h"

#include <inttypes.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/wire.h"
#include "tensor/readers.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "stream files are read and written as the little-endian bytes they are"
#endif

static enum fl_code bad(const struct fl_stream *s, struct fl_err *err, const char *what)
{
	return fl_err_set(err, FL_EFORMAT, "'%s': %s at byte %zu", s->name, what, s->pos);
}

/* The next n bytes, or NULL when there are fewer. */
static const uint8_t *take(struct fl_stream *s, size_t n)
{
	const uint8_t *p = s->p;

	if (n > s->left)
		return NULL;
	s->p += n;
	s->left -= n;
	s->pos += n;
	return p;
}

static enum fl_code read_u32(struct fl_stream *s, const char *what, uint32_t *v, struct fl_err *err)
{
	const uint8_t *p = take(s, sizeof *v);

	if (!p)
		return fl_err_set(err, FL_EFORMAT, "'%s': cut short in the %s, at byte %zu", s->name,
			what, s->pos);
	memcpy(v, p, sizeof *v);
	return FL_OK;
}

static enum fl_code read_u64(struct fl_stream *s, const char *what, uint64_t *v, struct fl_err *err)
{
	const uint8_t *p = take(s, sizeof *v);

	if (!p)
		return fl_err_set(err, FL_EFORMAT, "'%s': cut short in the %s, at byte %zu", s->name,
			what, s->pos);
	memcpy(v, p, sizeof *v);
	return FL_OK;
}

/* A pickle of fluid.save is the most likely wrong file. */
static enum fl_code read_version(struct fl_stream *s, const char *what, struct fl_err *err)
{
	bool pickle = s->pos == 0 && s->left >= 2 && s->p[0] == 0x80 && s->p[1] >= 2 && s->p[1] <= 5;
	uint32_t version = 0;

	if (pickle)
		return fl_err_set(err, FL_EFORMAT,
			"'%s' is a Python pickle (as fluid.save and paddle.save write), not a tensor stream",
			s->name);
	FL_TRY(read_u32(s, what, &version, err));
	if (version)
		return fl_err_set(err, FL_EFORMAT, "'%s': %s %" PRIu32 " at byte %zu, expected 0",
			s->name, what, version, s->pos - sizeof version);
	return FL_OK;
}

/* ---- reading --------------------------------------------------------------------------------- */

struct tensor_desc {
	int dtype;
	int rank;
	int64_t dims[FL_MAX_RANK];
};

static bool add_dim(struct tensor_desc *d, uint64_t v)
{
	if (d->rank == FL_MAX_RANK)
		return false;
	d->dims[d->rank++] = (int64_t)v;
	return true;
}

/* dims come one by one (proto2's default) or packed. */
static bool read_desc_field(const struct fl_wire_field *f, struct tensor_desc *d)
{
	struct fl_wire w = { f->bytes, f->bytes + f->len };
	uint64_t v;

	if (f->number == 1 && f->type == FL_WIRE_VARINT) {
		d->dtype = f->value <= INT32_MAX ? (int)f->value : -1;
		return true;
	}
	if (f->number != 2)
		return true;
	if (f->type == FL_WIRE_VARINT)
		return add_dim(d, f->value);
	if (f->type != FL_WIRE_LEN)
		return false;
	while (w.p < w.end)
		if (!fl_wire_varint(&w, &v) || !add_dim(d, v))
			return false;
	return true;
}

static enum fl_code read_desc(struct fl_stream *s, struct tensor_desc *d, struct fl_err *err)
{
	struct fl_wire_field f;
	struct fl_wire w;
	const uint8_t *p;
	uint32_t n = 0;
	int got;

	FL_TRY(read_u32(s, "size of the tensor description", &n, err));
	p = n > INT32_MAX ? NULL : take(s, n);
	if (!p)
		return bad(s, err, "the tensor description is larger than the file");
	*d = (struct tensor_desc){ .dtype = -1 };
	w = (struct fl_wire){ p, p + n };
	while ((got = fl_wire_next(&w, &f)) > 0)
		if (!read_desc_field(&f, d))
			return bad(s, err, "malformed dimensions in the tensor description");
	if (got < 0)
		return bad(s, err, "malformed tensor description");
	if (d->dtype < 0)
		return bad(s, err, "no element type in the tensor description");
	return FL_OK;
}

/* T. The LoD of t is left alone. */
static enum fl_code read_tensor(struct fl_stream *s, struct fl_tensor *t, struct fl_err *err)
{
	struct tensor_desc d;
	char text[FL_DIMS_STR];
	size_t bytes;

	FL_TRY(read_version(s, "tensor version", err));
	FL_TRY(read_desc(s, &d, err));
	if (fl_shape_bytes(d.dtype, d.dims, d.rank, &bytes, err) != FL_OK)
		return fl_err_wrap(err, "'%s'", s->name);
	if (bytes > s->left)
		return fl_err_set(err, FL_EFORMAT,
			"'%s': cut short: %s of shape %s needs %zu bytes at byte %zu, %zu are there",
			s->name, fl_dtype_name(d.dtype), fl_dims_str(d.dims, d.rank, text, sizeof text),
			bytes, s->pos, s->left);
	if (fl_tensor_resize(t, d.dtype, d.dims, d.rank, err) != FL_OK)
		return fl_err_wrap(err, "'%s'", s->name);
	if (bytes)
		memcpy(fl_data(t), take(s, bytes), bytes);
	return FL_OK;
}

static enum fl_code read_lod_level(struct fl_stream *s, struct fl_lod *lod, struct fl_err *err)
{
	uint64_t bytes = 0;
	uint64_t *off;
	enum fl_code code;
	const uint8_t *p;

	FL_TRY(read_u64(s, "size of a LoD level", &bytes, err));
	if (bytes % sizeof *off)
		return fl_err_set(err, FL_EFORMAT,
			"'%s': a LoD level of %" PRIu64 " bytes at byte %zu, no multiple of 8", s->name,
			bytes, s->pos);
	p = bytes > s->left ? NULL : take(s, (size_t)bytes);
	if (!p)
		return bad(s, err, "a LoD level is larger than the file");
	/* The bytes of a file are not aligned. */
	off = FL_NEW_N(uint64_t, bytes / sizeof *off);
	memcpy(off, p, (size_t)bytes);
	code = fl_lod_push(lod, off, (size_t)bytes / sizeof *off, err);
	fl_free(off);
	return code == FL_OK ? FL_OK : fl_err_wrap(err, "'%s'", s->name);
}

/* dim 0 of the tensor is what the last level counts. */
static enum fl_code check_lod(const struct fl_stream *s, const struct fl_tensor *t,
	struct fl_err *err)
{
	if (!t->lod.n)
		return FL_OK;
	if (fl_lod_check(&t->lod, t->rank ? t->dims[0] : 1, err) != FL_OK) {
		err->code = FL_EFORMAT;
		return fl_err_wrap(err, "'%s'", s->name);
	}
	return FL_OK;
}

enum fl_code fl_read_lod_tensor(struct fl_stream *s, struct fl_tensor *t, struct fl_err *err)
{
	uint64_t levels = 0;

	FL_TRY(read_version(s, "LoDTensor version", err));
	FL_TRY(read_u64(s, "number of LoD levels", &levels, err));
	if (levels > FL_MAX_LOD)
		return fl_err_set(err, FL_EFORMAT,
			"'%s': %" PRIu64 " LoD levels, at most %d are possible", s->name, levels,
			FL_MAX_LOD);
	fl_lod_clear(&t->lod);
	for (uint64_t i = 0; i < levels; i++)
		FL_TRY(read_lod_level(s, &t->lod, err));
	FL_TRY(read_tensor(s, t, err));
	return check_lod(s, t, err);
}

static enum fl_code read_row_numbers(struct fl_stream *s, struct fl_selected_rows *r,
	struct fl_err *err)
{
	const uint8_t *p;
	size_t bytes;
	uint64_t n = 0;

	FL_TRY(read_u64(s, "number of rows", &n, err));
	p = fl_mul_size((size_t)n, sizeof *r->rows, &bytes) ? take(s, bytes) : NULL;
	if (!p)
		return fl_err_set(err, FL_EFORMAT,
			"'%s': %" PRIu64 " row numbers at byte %zu, the file ends before", s->name, n,
			s->pos);
	fl_selected_rows_resize(r, (size_t)n);
	if (n)
		memcpy(r->rows, p, bytes);
	return FL_OK;
}

enum fl_code fl_read_selected_rows(struct fl_stream *s, struct fl_selected_rows *r,
	struct fl_err *err)
{
	uint64_t height = 0;

	FL_TRY(read_version(s, "SelectedRows version", err));
	FL_TRY(read_row_numbers(s, r, err));
	FL_TRY(read_u64(s, "height", &height, err));
	r->height = (int64_t)height;
	if (r->height < 0)
		return bad(s, err, "a negative height");
	FL_TRY(read_tensor(s, &r->value, err));
	if (r->n && (!r->value.rank || (uint64_t)r->value.dims[0] < r->n))
		return fl_err_set(err, FL_EFORMAT, "'%s': %zu row numbers, but only %" PRId64 " rows",
			s->name, r->n, r->value.rank ? r->value.dims[0] : 0);
	return FL_OK;
}

static enum fl_code read_array(struct fl_stream *s, struct fl_tensor_array *a, struct fl_err *err)
{
	for (size_t i = 0; i < a->n; i++)
		fl_tensor_release(&a->items[i]);
	a->n = 0;
	while (s->left) {
		fl_grow(&a->items, &a->cap, a->n + 1, sizeof *a->items);
		fl_tensor_init(&a->items[a->n++]);
		FL_TRY(fl_read_lod_tensor(s, &a->items[a->n - 1], err));
	}
	return FL_OK;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void put_u32(struct fl_buf *b, uint32_t v)
{
	fl_buf_add(b, &v, sizeof v);
}

static void put_u64(struct fl_buf *b, uint64_t v)
{
	fl_buf_add(b, &v, sizeof v);
}

static void write_tensor(struct fl_buf *b, const struct fl_tensor *t)
{
	struct fl_buf desc = FL_BUF_INIT;
	size_t bytes = fl_tensor_bytes(t);

	fl_wire_put_tag(&desc, 1, FL_WIRE_VARINT);
	fl_wire_put_varint(&desc, (uint64_t)t->dtype);
	for (int i = 0; i < t->rank; i++) {
		fl_wire_put_tag(&desc, 2, FL_WIRE_VARINT);
		fl_wire_put_varint(&desc, (uint64_t)t->dims[i]);
	}
	put_u32(b, 0);
	put_u32(b, (uint32_t)desc.len);
	fl_buf_add(b, fl_buf_str(&desc), desc.len);
	if (bytes)
		fl_buf_add(b, fl_data(t), bytes);
	fl_buf_release(&desc);
}

void fl_write_lod_tensor(struct fl_buf *b, const struct fl_tensor *t)
{
	put_u32(b, 0);
	put_u64(b, (uint64_t)t->lod.n);
	for (int i = 0; i < t->lod.n; i++) {
		const struct fl_lod_level *l = &t->lod.level[i];

		put_u64(b, l->n * sizeof *l->off);
		fl_buf_add(b, l->off, l->n * sizeof *l->off);
	}
	write_tensor(b, t);
}

void fl_write_selected_rows(struct fl_buf *b, const struct fl_selected_rows *r)
{
	put_u32(b, 0);
	put_u64(b, r->n);
	if (r->n)
		fl_buf_add(b, r->rows, r->n * sizeof *r->rows);
	put_u64(b, (uint64_t)r->height);
	write_tensor(b, &r->value);
}

/* ---- variables and files --------------------------------------------------------------------- */

static enum fl_code no_stream(const struct fl_var *var, struct fl_err *err)
{
	const char *kind = fl_type_name(var->kind);

	return fl_err_set(err, FL_EUNSUPPORTED, "variable '%s' is of kind %s, which has no file form",
		var->name, kind ? kind : "unknown");
}

enum fl_code fl_read_var(struct fl_stream *s, struct fl_var *var, struct fl_err *err)
{
	switch (var->kind) {
	case FL_LOD_TENSOR: return fl_read_lod_tensor(s, &var->tensor, err);
	case FL_SELECTED_ROWS: return fl_read_selected_rows(s, &var->rows, err);
	case FL_LOD_TENSOR_ARRAY: return read_array(s, &var->array, err);
	default: return no_stream(var, err);
	}
}

enum fl_code fl_write_var(struct fl_buf *b, const struct fl_var *var, struct fl_err *err)
{
	if (!fl_var_has_value(var) && (var->kind == FL_LOD_TENSOR || var->kind == FL_SELECTED_ROWS))
		return fl_err_set(err, FL_ESTATE, "variable '%s' holds no value", var->name);
	switch (var->kind) {
	case FL_LOD_TENSOR: fl_write_lod_tensor(b, &var->tensor); return FL_OK;
	case FL_SELECTED_ROWS: fl_write_selected_rows(b, &var->rows); return FL_OK;
	case FL_LOD_TENSOR_ARRAY:
		for (size_t i = 0; i < var->array.n; i++)
			fl_write_lod_tensor(b, &var->array.items[i]);
		return FL_OK;
	default: return no_stream(var, err);
	}
}

/* Version 0, a small number of levels: no other format here begins with four zero bytes. */
bool fl_is_lod_stream(const void *p, size_t n)
{
	uint64_t levels;
	uint32_t version;

	if (n < sizeof version + sizeof levels)
		return false;
	memcpy(&version, p, sizeof version);
	memcpy(&levels, (const char *)p + sizeof version, sizeof levels);
	return !version && levels <= FL_MAX_LOD;
}

enum fl_code fl_load_var(const char *path, struct fl_var *var, size_t *extra, struct fl_err *err)
{
	struct fl_buf b = FL_BUF_INIT;
	struct fl_stream s;
	enum fl_code code = fl_file_read(path, 0, &b, err);

	if (code == FL_OK) {
		s = (struct fl_stream){ (const uint8_t *)fl_buf_str(&b), b.len, 0, path };
		code = fl_read_var(&s, var, err);
		if (extra)
			*extra = s.left;
		else if (code == FL_OK && s.left)
			code = fl_err_set(err, FL_EFORMAT, "'%s': %zu bytes after the value of '%s'",
				path, s.left, var->name);
	}
	fl_buf_release(&b);
	return code;
}

enum fl_code fl_save_var(const char *path, const struct fl_var *var, struct fl_err *err)
{
	struct fl_buf b = FL_BUF_INIT;
	enum fl_code code = fl_write_var(&b, var, err);

	if (code == FL_OK)
		code = fl_mkdirs_for(path, err);
	if (code == FL_OK)
		code = fl_file_write(path, fl_buf_str(&b), b.len, err);
	fl_buf_release(&b);
	return code;
}
