/*
 * The decoder of VariableMessage. Upstream's decoder is a loop over tags that copies the payload
 * straight into the destination, so it needs the header first; ours notes where the payload lies
 * and copies when the handler has found a place for it, after every size was checked. What
 * upstream 1.8.5 does with bad messages (abort, old memory shown as values) is in runtime.md 2.2;
 * here each of them is an error.
 */
#include "rpc/varmsg.h"

#include <string.h>

#include "base/mem.h"
#include "base/wire.h"

/* ---- reading bytes that lie in several pieces ------------------------------------------------ */

struct cursor {
	const struct fl_span *span;      /* the current one */
	size_t spans;                    /* how many are left, the current one included */
	size_t at;                       /* position in it */
	size_t pos, total;               /* position in the message, its length */
	const struct fl_span_drop *drop; /* NULL: nobody wants the pieces back */
};

static struct cursor cursor_at(const struct fl_span *spans, size_t n)
{
	struct cursor c = { .span = spans, .spans = n };

	for (size_t i = 0; i < n; i++)
		c.total += spans[i].n;
	return c;
}

/* Takes n bytes, to dst unless that is NULL. The caller has checked that they are there. */
static void take(struct cursor *c, void *dst, size_t n)
{
	uint8_t *to = dst;

	c->pos += n;
	while (n) {
		size_t piece = c->span->n - c->at;

		if (piece > n)
			piece = n;
		if (to && piece) {
			memcpy(to, c->span->p + c->at, piece);
			to += piece;
		}
		n -= piece;
		c->at += piece;
		if (c->at == c->span->n && c->spans > 1) {
			if (c->drop)
				c->drop->drop(c->drop->arg, c->span);
			c->span++;
			c->spans--;
			c->at = 0;
		}
	}
}

static bool read_varint(struct cursor *c, uint64_t *out)
{
	uint8_t bytes[10];
	size_t n = 0;

	do {
		if (n == sizeof bytes || c->pos == c->total)
			return false;
		take(c, &bytes[n], 1);
	} while (bytes[n++] & 0x80);
	struct fl_wire w = { bytes, bytes + n };
	return fl_wire_varint(&w, out);
}

/* ---- decoding -------------------------------------------------------------------------------- */

struct decoder {
	struct cursor c;
	struct fl_varmsg *m;
	struct fl_buf scratch; /* a field of the header, in one piece */
	size_t header;         /* bytes of such fields so far */
	struct fl_err *err;
};

static enum fl_code bad(struct decoder *d, const char *what)
{
	return fl_err_set(d->err, FL_EFORMAT, "malformed message at byte %zu: %s", d->c.pos, what);
}

/* Reads the length of a field and checks that so many bytes are left. */
static enum fl_code length(struct decoder *d, size_t *out)
{
	uint64_t n;

	if (!read_varint(&d->c, &n))
		return bad(d, "cut or over-long length");
	if (n > d->c.total - d->c.pos)
		return bad(d, "a field is longer than the message");
	*out = (size_t)n;
	return FL_OK;
}

/* Brings a field of the header into one piece. */
static enum fl_code gather(struct decoder *d, struct fl_wire *w)
{
	size_t n;

	FL_TRY(length(d, &n));
	d->header += n;
	if (d->header > FL_VARMSG_MAX_HEADER)
		return fl_err_set(d->err, FL_ELIMIT, "the header of a message is over %zu bytes",
			FL_VARMSG_MAX_HEADER);
	fl_buf_clear(&d->scratch);
	take(&d->c, fl_buf_reserve(&d->scratch, n + 1), n);
	d->scratch.len = n;
	w->p = (const uint8_t *)d->scratch.data;
	w->end = w->p + n;
	return FL_OK;
}

static enum fl_code read_text(struct decoder *d, char **out)
{
	struct fl_wire w;
	size_t n;

	FL_TRY(gather(d, &w));
	n = (size_t)(w.end - w.p);
	if (n > FL_VARMSG_MAX_NAME)
		return fl_err_set(d->err, FL_ELIMIT, "a name in a message has %zu bytes", n);
	if (memchr(w.p, 0, n))
		return bad(d, "a name holds a zero byte");
	fl_free(*out);
	*out = fl_xstrndup((const char *)w.p, n);
	return FL_OK;
}

static enum fl_code read_number(struct decoder *d, int64_t *out)
{
	uint64_t v;

	if (!read_varint(&d->c, &v))
		return bad(d, "cut or over-long number");
	*out = (int64_t)v;
	return FL_OK;
}

static enum fl_code read_small(struct decoder *d, int *out, int max, const char *what)
{
	int64_t v = 0;

	FL_TRY(read_number(d, &v));
	if (v < 0 || v > max)
		return fl_err_set(
			d->err, FL_EINVAL, "%s %lld in a message is unknown", what, (long long)v);
	*out = (int)v;
	return FL_OK;
}

static enum fl_code add_dim(struct decoder *d, uint64_t v)
{
	if (d->m->rank == FL_MAX_RANK)
		return fl_err_set(
			d->err, FL_ELIMIT, "a message has more than %d dimensions", FL_MAX_RANK);
	if (v > INT64_MAX)
		return bad(d, "a negative dimension");
	d->m->dims[d->m->rank++] = (int64_t)v;
	return FL_OK;
}

static enum fl_code read_dims(struct decoder *d, int type)
{
	struct fl_wire w;
	uint64_t v;

	if (type == FL_WIRE_VARINT) {
		if (!read_varint(&d->c, &v))
			return bad(d, "cut or over-long number");
		return add_dim(d, v);
	}
	FL_TRY(gather(d, &w));
	while (w.p < w.end) {
		if (!fl_wire_varint(&w, &v))
			return bad(d, "cut or over-long number");
		FL_TRY(add_dim(d, v));
	}
	return FL_OK;
}

/* LodData { repeated int64 lod_data = 1; }: how many offsets are in it, and where they go. */
static bool lod_offsets(struct fl_wire w, uint64_t *off, size_t *n)
{
	struct fl_wire_field f;
	int got;

	*n = 0;
	while ((got = fl_wire_next(&w, &f)) == 1) {
		struct fl_wire packed;

		if (f.number != 1)
			continue;
		if (f.type == FL_WIRE_VARINT) {
			if (off)
				off[*n] = f.value;
			++*n;
			continue;
		}
		if (f.type != FL_WIRE_LEN)
			return false;
		packed = (struct fl_wire){ f.bytes, f.bytes + f.len };
		while (packed.p < packed.end) {
			uint64_t v;

			if (!fl_wire_varint(&packed, &v))
				return false;
			if (off)
				off[*n] = v;
			++*n;
		}
	}
	return got == 0;
}

static enum fl_code read_lod(struct decoder *d)
{
	struct fl_wire w;
	uint64_t *off;
	enum fl_code code;
	size_t n;

	FL_TRY(gather(d, &w));
	if (!lod_offsets(w, NULL, &n))
		return bad(d, "bad LoD offsets");
	off = FL_NEW_N(uint64_t, n);
	lod_offsets(w, off, &n);
	code = fl_lod_push(&d->m->lod, off, n, d->err);
	fl_free(off);
	return code;
}

/* Field 8 or 9: notes where its bytes are. */
static enum fl_code note_bytes(struct decoder *d, size_t *n, size_t *at)
{
	size_t len;

	if (*n != SIZE_MAX)
		return bad(d, "a second payload");
	FL_TRY(length(d, &len));
	*n = len;
	*at = d->c.pos;
	take(&d->c, NULL, len);
	return FL_OK;
}

static enum fl_code skip(struct decoder *d, int type)
{
	uint64_t v;
	size_t n;

	switch (type) {
	case FL_WIRE_VARINT: return read_varint(&d->c, &v) ? FL_OK : bad(d, "cut number");
	case FL_WIRE_LEN: FL_TRY(length(d, &n)); break;
	case FL_WIRE_I64: n = 8; break;
	case FL_WIRE_I32: n = 4; break;
	default: return bad(d, "unknown wire type");
	}
	if (n > d->c.total - d->c.pos)
		return bad(d, "cut field");
	take(&d->c, NULL, n);
	return FL_OK;
}

/* The wire type a known field must have; -1: both spellings of repeated numbers, or unknown. */
static int wire_type(uint64_t number)
{
	switch (number) {
	case 1:
	case 6:
	case 8:
	case 9:
	case 10:
	case 13: return FL_WIRE_LEN;
	case 2:
	case 3:
	case 5:
	case 7:
	case 11:
	case 12: return FL_WIRE_VARINT;
	}
	return -1;
}

static enum fl_code read_field(struct decoder *d, uint64_t number, int type)
{
	struct fl_varmsg *m = d->m;

	if (wire_type(number) >= 0 && wire_type(number) != type)
		return bad(d, "a field has the wrong wire type");
	if (number <= 7 && (m->payload != SIZE_MAX || m->rows != SIZE_MAX))
		return bad(d, "a field of the header comes after the payload");
	switch (number) {
	case 1: return read_text(d, &m->varname);
	case 2: return read_small(d, &m->type, FL_MSG_NCCL_ID, "kind");
	case 3: return read_small(d, &m->data_type, INT16_MAX, "element type");
	case 4:
		if (type != FL_WIRE_VARINT && type != FL_WIRE_LEN)
			return bad(d, "a field has the wrong wire type");
		return read_dims(d, type);
	case 5: return read_small(d, &m->lod_level, FL_MAX_LOD, "LoD level");
	case 6: return read_lod(d);
	case 7: return read_number(d, &m->slr_height);
	case 8:
		if (!m->varname)
			return bad(d, "the payload comes before the name");
		if (m->rows != SIZE_MAX)
			return bad(d, "the payload comes after the rows");
		return note_bytes(d, &m->payload, &m->payload_at);
	case 9: return note_bytes(d, &m->rows, &m->rows_at);
	case 10: return read_text(d, &m->out_varname);
	case 11: return read_number(d, &m->profile);
	case 12: m->has_trainer_id = true; return read_number(d, &m->trainer_id);
	case 13: return read_text(d, &m->table_name);
	}
	return skip(d, type);
}

static enum fl_code read_fields(struct decoder *d)
{
	while (d->c.pos < d->c.total) {
		uint64_t tag;

		if (!read_varint(&d->c, &tag) || tag >> 3 == 0 || tag >> 3 > 0x1fffffff)
			return bad(d, "bad tag");
		FL_TRY(read_field(d, tag >> 3, (int)(tag & 7)));
	}
	return FL_OK;
}

enum fl_code fl_varmsg_decode(
	const struct fl_span *spans, size_t n, struct fl_varmsg *m, struct fl_err *err)
{
	struct decoder d = { .c = cursor_at(spans, n), .m = m, .err = err };
	enum fl_code code;

	*m = (struct fl_varmsg){ .payload = SIZE_MAX, .rows = SIZE_MAX };
	code = read_fields(&d);
	fl_buf_release(&d.scratch);
	if (code) {
		fl_varmsg_release(m);
		return code;
	}
	if (!m->varname)
		m->varname = fl_xstrdup("");
	if (!m->out_varname)
		m->out_varname = fl_xstrdup("");
	if (!m->table_name)
		m->table_name = fl_xstrdup("");
	return FL_OK;
}

void fl_varmsg_release(struct fl_varmsg *m)
{
	fl_free(m->varname);
	fl_free(m->out_varname);
	fl_free(m->table_name);
	fl_lod_release(&m->lod);
	*m = (struct fl_varmsg){ .payload = SIZE_MAX, .rows = SIZE_MAX };
}

/* ---- from the message into a variable -------------------------------------------------------- */

static size_t bytes_of(size_t field)
{
	return field == SIZE_MAX ? 0 : field;
}

static enum fl_code check_tensor(const struct fl_varmsg *m, struct fl_err *err)
{
	size_t bytes;

	if (!m->rank)
		return fl_err_set(err, FL_EINVAL, "message '%s' carries no value", m->varname);
	if (!fl_dtype_size(m->data_type))
		return fl_err_set(err, FL_EUNSUPPORTED,
			"message '%s' has element type %d, which is unknown", m->varname,
			m->data_type);
	if (fl_shape_bytes(m->data_type, m->dims, m->rank, &bytes, err))
		return fl_err_wrap(err, "message '%s'", m->varname);
	if (bytes != bytes_of(m->payload))
		return fl_err_set(err, FL_EINVAL,
			"message '%s' has %zu bytes of payload, its shape needs %zu", m->varname,
			bytes_of(m->payload), bytes);
	return FL_OK;
}

static enum fl_code check_lod(const struct fl_varmsg *m, struct fl_err *err)
{
	if (m->lod_level && m->lod_level != m->lod.n)
		return fl_err_set(err, FL_EINVAL, "message '%s' has %d LoD levels, it announces %d",
			m->varname, m->lod.n, m->lod_level);
	if (m->lod.n && fl_lod_check(&m->lod, m->dims[0], err))
		return fl_err_wrap(err, "message '%s'", m->varname);
	return FL_OK;
}

static enum fl_code check_rows(
	const struct fl_varmsg *m, const struct fl_span *spans, size_t n, struct fl_err *err)
{
	struct cursor c = cursor_at(spans, n);
	size_t count = bytes_of(m->rows) / sizeof(int64_t);

	if (bytes_of(m->rows) % sizeof(int64_t) || (uint64_t)m->dims[0] != count)
		return fl_err_set(err, FL_EINVAL,
			"message '%s' has %zu bytes of row numbers for %lld rows", m->varname,
			bytes_of(m->rows), (long long)m->dims[0]);
	if (m->slr_height < 0)
		return fl_err_set(err, FL_EINVAL, "message '%s' has height %lld", m->varname,
			(long long)m->slr_height);
	if (!count)
		return FL_OK;
	take(&c, NULL, m->rows_at);
	for (size_t i = 0; i < count; i++) {
		int64_t row;

		take(&c, &row, sizeof row);
		if (row < 0 || row >= m->slr_height)
			return fl_err_set(err, FL_EINVAL,
				"message '%s' has row %lld in a height of %lld", m->varname,
				(long long)row, (long long)m->slr_height);
	}
	return FL_OK;
}

enum fl_code fl_varmsg_check(
	const struct fl_varmsg *m, const struct fl_span *spans, size_t n, struct fl_err *err)
{
	if (m->type == FL_MSG_NCCL_ID)
		return fl_err_set(
			err, FL_EUNSUPPORTED, "message '%s' carries an NCCL id", m->varname);
	FL_TRY(check_tensor(m, err));
	if (m->type == FL_MSG_SELECTED_ROWS)
		return check_rows(m, spans, n, err);
	if (bytes_of(m->rows))
		return fl_err_set(
			err, FL_EINVAL, "message '%s' is dense, but has rows", m->varname);
	return check_lod(m, err);
}

/* The payload's only copy. */
static enum fl_code fill(const struct fl_varmsg *m, const struct fl_span *spans, size_t n,
	const struct fl_span_drop *drop, struct fl_tensor *t, struct fl_err *err)
{
	struct cursor c = cursor_at(spans, n);

	FL_TRY(fl_tensor_resize(t, m->data_type, m->dims, m->rank, err));
	if (!bytes_of(m->payload))
		return FL_OK;
	take(&c, NULL, m->payload_at);
	c.drop = drop;
	take(&c, fl_data(t), m->payload);
	return FL_OK;
}

static void fill_rows(const struct fl_varmsg *m, const struct fl_span *spans, size_t n,
	struct fl_selected_rows *r)
{
	struct cursor c = cursor_at(spans, n);
	size_t bytes = bytes_of(m->rows);

	r->height = m->slr_height;
	fl_selected_rows_resize(r, bytes / sizeof(int64_t));
	if (!bytes)
		return;
	take(&c, NULL, m->rows_at);
	take(&c, r->rows, bytes);
}

static struct fl_tensor *value_of(struct fl_var *var)
{
	return var->kind == FL_SELECTED_ROWS ? &var->rows.value : &var->tensor;
}

enum fl_code fl_varmsg_take(const struct fl_varmsg *m, const struct fl_span *spans, size_t n,
	const struct fl_span_drop *drop, struct fl_var *var, struct fl_err *err)
{
	int kind = m->type == FL_MSG_SELECTED_ROWS ? FL_SELECTED_ROWS : FL_LOD_TENSOR;
	enum fl_code code;

	FL_TRY(fl_varmsg_check(m, spans, n, err));
	if (var->kind == kind) {
		FL_TRY(fill(m, spans, n, drop, value_of(var), err));
	} else {
		/* The old value goes only when there is memory for the new one. */
		struct fl_tensor t;

		fl_tensor_init(&t);
		code = fill(m, spans, n, drop, &t, err);
		if (!code) {
			fl_var_set_kind(var, kind);
			fl_tensor_share(value_of(var), &t);
		}
		fl_tensor_release(&t);
		FL_TRY(code);
	}
	if (kind == FL_LOD_TENSOR) {
		fl_lod_copy(&var->tensor.lod, &m->lod);
	} else {
		fl_lod_clear(&var->rows.value.lod);
		fill_rows(m, spans, n, &var->rows);
	}
	return FL_OK;
}
