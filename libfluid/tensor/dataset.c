/* Opening data files and cutting batches from them (dataset.h). */
#include "tensor/dataset.h"

#include <inttypes.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "desc/query.h"
#include "tensor/convert.h"
#include "tensor/readers.h"
#include "tensor/stream.h"

#define UNPACK_LIMIT ((size_t)16 << 30)

struct fl_data {
	const fl_pb_var *decl; /* borrowed */
	char *file;	       /* owned */
	struct fl_tensor raw;  /* as read */
	double scale;
	int64_t first;	 /* samples that are skipped */
	int64_t samples;
	size_t raw_elems; /* of one row */
	int dtype;	  /* of a batch */
	int rank;	  /* of a batch, dim 0 is the number of rows */
	int64_t dims[FL_MAX_RANK];
};

/* ---- reading --------------------------------------------------------------------------------- */

static enum fl_code read_stream(const void *p, size_t n, const char *name, struct fl_tensor *t,
	struct fl_err *err)
{
	struct fl_stream s = { p, n, 0, name };

	FL_TRY(fl_read_lod_tensor(&s, t, err));
	if (s.left)
		return fl_err_set(err, FL_EFORMAT, "'%s': %zu bytes after the tensor", name, s.left);
	return FL_OK;
}

/* Whole numbers of a text are read as such, so that none loses digits. */
static enum fl_code read_text(const void *p, size_t n, const struct fl_data_spec *s,
	const fl_pb_var *decl, struct fl_tensor *t, struct fl_err *err)
{
	int dtype = s->dtype >= 0 ? s->dtype : fl_var_dtype(decl);
	struct fl_text_opts o = { .columns = s->columns, .skip = s->skip,
		.whole = dtype >= 0 && !fl_dtype_is_float(dtype) && s->scale == 1 };

	return fl_read_text(p, n, s->file, &o, t, err);
}

static enum fl_code read_bytes(const void *p, size_t n, const struct fl_data_spec *s,
	const fl_pb_var *decl, bool *text, struct fl_tensor *t, struct fl_err *err)
{
	*text = false;
	if (fl_is_npy(p, n))
		return fl_read_npy(p, n, s->file, t, err);
	if (fl_is_idx(p, n))
		return fl_read_idx(p, n, s->file, t, err);
	if (fl_is_lod_stream(p, n))
		return read_stream(p, n, s->file, t, err);
	*text = true;
	return read_text(p, n, s, decl, t, err);
}

static enum fl_code read_file(const struct fl_data_spec *s, const fl_pb_var *decl, bool *text,
	struct fl_tensor *t, struct fl_err *err)
{
	struct fl_buf b = FL_BUF_INIT, unpacked = FL_BUF_INIT, *data = &b;
	enum fl_code code = fl_file_read(s->file, 0, &b, err);

	if (code == FL_OK && fl_is_gzip(fl_buf_str(&b), b.len)) {
		code = fl_gunzip(b.data, b.len, UNPACK_LIMIT, s->file, &unpacked, err);
		fl_buf_release(&b);
		data = &unpacked;
	}
	if (code == FL_OK)
		code = read_bytes(fl_buf_str(data), data->len, s, decl, text, t, err);
	fl_buf_release(&b);
	fl_buf_release(&unpacked);
	return code;
}

/* ---- what a batch looks like ----------------------------------------------------------------- */

static enum fl_code mismatch(const struct fl_data *d, const int64_t *dims, int rank, int dtype,
	struct fl_err *err)
{
	char want[FL_DIMS_STR], have[FL_DIMS_STR];

	return fl_err_set(err, FL_EINVAL, "--feed: '%s': expected %s of %s, found %s of %s in '%s'",
		d->decl->name, fl_dims_str(dims, rank, want, sizeof want),
		fl_dtype_name(dtype) ? fl_dtype_name(dtype) : "unknown type",
		fl_dims_str(d->raw.dims, d->raw.rank, have, sizeof have), fl_dtype_name(d->raw.dtype),
		d->file);
}

/* The declared shape without its batch dimension, or that of the option. Returns its rank, or -1:
 * nothing is declared. */
static int wanted_shape(const struct fl_data_spec *s, const fl_pb_var *decl, int64_t *dims)
{
	const fl_pb_tensor *t = fl_var_tensor(decl);

	if (s->rank >= 0) {
		memcpy(dims, s->shape, (size_t)s->rank * sizeof *dims);
		return s->rank;
	}
	if (!t || !t->n_dims || t->n_dims > FL_MAX_RANK)
		return -1;
	for (size_t i = 1; i < t->n_dims; i++)
		dims[i - 1] = t->dims[i];
	return (int)t->n_dims - 1;
}

/* Fills unknown (-1) dimensions: from the file where ranks agree, one alone from the number of
 * elements. False when they cannot be known. */
static bool complete_shape(const struct fl_data *d, int64_t *dims, int rank)
{
	int64_t known = 1;
	int unknown = 0, at = 0;

	for (int i = 0; i < rank; i++) {
		if (dims[i] < 0 && d->raw.rank == rank + 1)
			dims[i] = d->raw.dims[i + 1];
		if (dims[i] < 0)
			unknown++, at = i;
		else if (__builtin_mul_overflow(known, dims[i], &known))
			return false;
	}
	if (unknown == 1 && known > 0 && d->raw_elems % (size_t)known == 0) {
		dims[at] = (int64_t)d->raw_elems / known;
		return true;
	}
	return !unknown && (size_t)known == d->raw_elems;
}

static enum fl_code set_shape(struct fl_data *d, const struct fl_data_spec *s, struct fl_err *err)
{
	int64_t shown[FL_MAX_RANK] = { -1 };
	int rank;

	d->raw_elems = 1;
	for (int i = 1; i < d->raw.rank; i++)
		d->raw_elems *= (size_t)d->raw.dims[i];
	rank = wanted_shape(s, d->decl, d->dims + 1);
	if (rank < 0) {
		d->rank = d->raw.rank;
		memcpy(d->dims, d->raw.dims, sizeof d->dims);
		return FL_OK;
	}
	memcpy(shown + 1, d->dims + 1, (size_t)rank * sizeof *shown);
	d->rank = rank + 1;
	if (!complete_shape(d, d->dims + 1, rank))
		return mismatch(d, shown, rank + 1, d->dtype, err);
	return FL_OK;
}

static enum fl_code set_dtype(struct fl_data *d, const struct fl_data_spec *s, bool text,
	struct fl_err *err)
{
	int declared = fl_var_dtype(d->decl);

	d->dtype = s->dtype >= 0 ? s->dtype : declared >= 0 ? declared : d->raw.dtype;
	if (declared >= 0 && d->dtype != declared)
		return fl_err_set(err, FL_EINVAL,
			"--feed: '%s': dtype=%s, but the program declares %s", d->decl->name,
			fl_dtype_name(d->dtype), fl_dtype_name(declared) ? fl_dtype_name(declared) : "?");
	if (!fl_can_convert(d->dtype, d->raw.dtype))
		return mismatch(d, d->raw.dims, d->raw.rank, d->dtype, err);
	/* Cutting off fractions is done only where it was asked for. */
	if (!text && s->dtype < 0 && s->scale == 1 && fl_dtype_is_float(d->raw.dtype) &&
		!fl_dtype_is_float(d->dtype)) {
		mismatch(d, d->raw.dims, d->raw.rank, d->dtype, err);
		return fl_err_wrap(err, "to cut off fractions say dtype=%s", fl_dtype_name(d->dtype));
	}
	return FL_OK;
}

static enum fl_code set_samples(struct fl_data *d, int64_t skip, struct fl_err *err)
{
	if (!d->raw.rank)
		return fl_err_set(err, FL_EINVAL, "--feed: '%s': '%s' holds a single number, no samples",
			d->decl->name, d->file);
	if (fl_var_lod_level(d->decl) > 0 && d->raw.lod.n < fl_var_lod_level(d->decl))
		return fl_err_set(err, FL_EINVAL,
			"--feed: '%s': expected sequences (LoD level %d), found %d levels in '%s'",
			d->decl->name, fl_var_lod_level(d->decl), d->raw.lod.n, d->file);
	d->samples = d->raw.lod.n ? (int64_t)d->raw.lod.level[0].n - 1 : d->raw.dims[0];
	d->first = skip;
	if (skip > d->samples)
		return fl_err_set(err, FL_EINVAL,
			"--feed: '%s': %" PRId64 " samples are to be skipped, '%s' has %" PRId64,
			d->decl->name, skip, d->file, d->samples);
	d->samples -= skip;
	return FL_OK;
}

enum fl_code fl_data_open(const struct fl_data_spec *s, const fl_pb_var *decl, struct fl_data **out,
	struct fl_err *err)
{
	struct fl_data *d = FL_NEW(struct fl_data);
	bool text = false;
	enum fl_code code;

	d->decl = decl;
	d->file = fl_xstrdup(s->file);
	d->scale = s->scale;
	fl_tensor_init(&d->raw);
	code = read_file(s, decl, &text, &d->raw, err);
	if (code != FL_OK)
		fl_err_wrap(err, "--feed: '%s'", s->name);
	if (code == FL_OK && s->columns && !text)
		code = fl_err_set(err, FL_EINVAL,
			"--feed: '%s': '%s' is no text, it has no columns to choose from", s->name, s->file);
	if (code == FL_OK)
		code = set_samples(d, text ? 0 : s->skip, err);
	if (code == FL_OK)
		code = set_dtype(d, s, text, err);
	if (code == FL_OK)
		code = set_shape(d, s, err);
	if (code != FL_OK) {
		fl_data_close(d);
		return code;
	}
	*out = d;
	return FL_OK;
}

void fl_data_close(struct fl_data *d)
{
	if (!d)
		return;
	fl_tensor_release(&d->raw);
	fl_free(d->file);
	fl_free(d);
}

int64_t fl_data_samples(const struct fl_data *d)
{
	return d->samples;
}

/* ---- batches --------------------------------------------------------------------------------- */

static void push_offset(struct fl_lod_level *l, uint64_t off)
{
	fl_grow(&l->off, &l->cap, l->n + 1, sizeof *l->off);
	l->off[l->n++] = off;
}

/* Appends the sequences of sample k to the LoD of the batch; gives the rows that it covers. */
static void add_sequences(const struct fl_lod *from, struct fl_lod *to, int64_t k, uint64_t *begin,
	uint64_t *end)
{
	*begin = (uint64_t)k;
	*end = *begin + 1;
	for (int i = 0; i < from->n; i++) {
		const uint64_t *off = from->level[i].off;
		struct fl_lod_level *l = &to->level[i];

		for (uint64_t s = *begin; s < *end; s++)
			push_offset(l, l->off[l->n - 1] + off[s + 1] - off[s]);
		*begin = off[*begin];
		*end = off[*end];
	}
}

/* Rows that the samples cover; the LoD of the batch is made on the way. */
static int64_t count_rows(const struct fl_data *d, const int64_t *at, size_t n, struct fl_lod *lod)
{
	uint64_t begin, end;
	int64_t rows = 0;

	lod->n = d->raw.lod.n;
	for (int i = 0; i < lod->n; i++) {
		lod->level[i].n = 0;
		push_offset(&lod->level[i], 0);
	}
	for (size_t i = 0; i < n; i++) {
		add_sequences(&d->raw.lod, lod, d->first + at[i], &begin, &end);
		rows += (int64_t)(end - begin);
	}
	return rows;
}

static void rows_of(const struct fl_lod *lod, int64_t k, uint64_t *begin, uint64_t *end)
{
	*begin = (uint64_t)k;
	*end = *begin + 1;
	for (int i = 0; i < lod->n; i++) {
		*begin = lod->level[i].off[*begin];
		*end = lod->level[i].off[*end];
	}
}

enum fl_code fl_data_batch(const struct fl_data *d, const int64_t *at, size_t n,
	struct fl_tensor *out, struct fl_err *err)
{
	size_t from_row = d->raw_elems * fl_dtype_size(d->raw.dtype);
	size_t to_row = d->raw_elems * fl_dtype_size(d->dtype);
	int64_t dims[FL_MAX_RANK];
	char *to;

	memcpy(dims, d->dims, sizeof dims);
	dims[0] = count_rows(d, at, n, &out->lod);
	if (fl_tensor_resize(out, d->dtype, dims, d->rank, err) != FL_OK)
		return fl_err_wrap(err, "--feed: '%s'", d->decl->name);
	to = fl_data(out);
	for (size_t i = 0; i < n; i++) {
		uint64_t begin, end;
		size_t elems, done;

		rows_of(&d->raw.lod, d->first + at[i], &begin, &end);
		elems = (size_t)(end - begin) * d->raw_elems;
		done = fl_convert(d->dtype, to, d->raw.dtype,
			(const char *)fl_data(&d->raw) + begin * from_row, elems, d->scale);
		if (done < elems)
			return fl_err_set(err, FL_EINVAL,
				"--feed: '%s': a value of sample %" PRId64 " of '%s' does not fit %s",
				d->decl->name, d->first + at[i], d->file, fl_dtype_name(d->dtype));
		to += (size_t)(end - begin) * to_row;
	}
	return FL_OK;
}

/* ---- prepared batches ------------------------------------------------------------------------ */

static bool shape_fits(const fl_pb_tensor *want, const struct fl_tensor *t)
{
	if (want->n_dims != (size_t)t->rank)
		return false;
	for (int i = 0; i < t->rank; i++)
		if (want->dims[i] >= 0 && want->dims[i] != t->dims[i])
			return false;
	return true;
}

enum fl_code fl_data_check(const fl_pb_var *decl, const struct fl_var *value, const char *file,
	struct fl_err *err)
{
	const fl_pb_tensor *want = fl_var_tensor(decl);
	const struct fl_tensor *t = &value->tensor;
	char a[FL_DIMS_STR], b[FL_DIMS_STR];

	if (!decl->need_check_feed || value->kind != FL_LOD_TENSOR || !want)
		return FL_OK;
	if ((int)want->data_type == t->dtype && shape_fits(want, t))
		return FL_OK;
	return fl_err_set(err, FL_EINVAL, "'%s': expected %s of %s, found %s of %s in '%s'",
		decl->name, fl_dims_str(want->dims, (int)want->n_dims, a, sizeof a),
		fl_dtype_name((int)want->data_type) ? fl_dtype_name((int)want->data_type) : "unknown type",
		fl_dims_str(t->dims, t->rank, b, sizeof b), fl_dtype_name(t->dtype), file);
}
