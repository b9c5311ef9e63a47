/* Help for inference: attributes with their defaults, metas by slot, and the checks that most
 * operators make. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "desc/names.h"
#include "desc/query.h"
#include "ops/schema.h"

/* ---- attributes ------------------------------------------------------------------------------ */

int64_t fl_infer_int(const struct fl_infer *c, const char *attr)
{
	const struct fl_attr_def *def = fl_attr_find(c->def, attr);

	return fl_attr_int(c->op, attr, def ? def->i : 0);
}

double fl_infer_num(const struct fl_infer *c, const char *attr)
{
	const struct fl_attr_def *def = fl_attr_find(c->def, attr);

	return fl_attr_num(c->op, attr, def ? (double)def->f : 0);
}

bool fl_infer_bool(const struct fl_infer *c, const char *attr)
{
	const struct fl_attr_def *def = fl_attr_find(c->def, attr);

	return fl_attr_bool(c->op, attr, def && def->i);
}

const char *fl_infer_str(const struct fl_infer *c, const char *attr)
{
	const struct fl_attr_def *def = fl_attr_find(c->def, attr);

	return fl_attr_str(c->op, attr, def && def->s ? def->s : "");
}

size_t fl_infer_ints(const struct fl_infer *c, const char *attr, int64_t *v, size_t max)
{
	const struct fl_attr_def *def = fl_attr_find(c->def, attr);
	size_t n = 0;

	if (fl_op_attr(c->op, attr)) {
		n = fl_attr_len(c->op, attr);
		for (size_t i = 0; i < n && i < max; i++)
			v[i] = fl_attr_int_at(c->op, attr, i);
		return n;
	}
	for (const char *p = def && def->s ? def->s : ""; *p; n++) {
		char *end;
		long x = strtol(p, &end, 10);

		if (n < max)
			v[n] = x;
		p = *end == ',' ? end + 1 : end;
	}
	return n;
}

/* ---- metas ----------------------------------------------------------------------------------- */

struct fl_meta *fl_meta_in(const struct fl_infer *c, int slot, size_t i)
{
	return slot >= 0 && (size_t)slot < c->n_in && i < c->in[slot].n ? c->in[slot].at[i] : NULL;
}

struct fl_meta *fl_meta_out(const struct fl_infer *c, int slot, size_t i)
{
	return slot >= 0 && (size_t)slot < c->n_out && i < c->out[slot].n ? c->out[slot].at[i] : NULL;
}

struct fl_meta *fl_meta_named(const struct fl_infer *c, const char *slot)
{
	return fl_meta_in(c, fl_slot_index(c->def->inputs, slot), 0);
}

struct fl_meta *fl_meta_out_named(const struct fl_infer *c, const char *slot)
{
	return fl_meta_out(c, fl_slot_index(c->def->outputs, slot), 0);
}

bool fl_known(const struct fl_meta *m)
{
	return m && m->rank >= 0;
}

/* A variable that can only hold a tensor becomes one; SelectedRows are what the operator says. */
void fl_set_out(struct fl_infer *c, int slot, size_t i, int dtype, const int64_t *dims, int rank)
{
	struct fl_meta *m = fl_meta_out(c, slot, i);

	if (!m)
		return;
	m->kind = FL_LOD_TENSOR;
	m->dtype = dtype;
	m->rank = rank;
	for (int d = 0; d < rank; d++)
		m->dims[d] = dims[d];
}

static void copy_shape(struct fl_meta *out, const struct fl_meta *in)
{
	out->dtype = in->dtype;
	out->rank = in->rank;
	for (int d = 0; d < in->rank; d++)
		out->dims[d] = in->dims[d];
}

static void copy_lod(struct fl_meta *out, const struct fl_meta *in)
{
	out->lod = in->lod;
	out->lod_level = in->lod_level;
}

void fl_set_like(struct fl_infer *c, int out, int in)
{
	struct fl_meta *m = fl_meta_out(c, out, 0);
	const struct fl_meta *from = fl_meta_in(c, in, 0);

	if (!m || !from)
		return;
	copy_shape(m, from);
	copy_lod(m, from);
	if (from->kind >= 0)
		m->kind = from->kind;
}

void fl_share_lod(struct fl_infer *c, int out, int in)
{
	struct fl_meta *m = fl_meta_out(c, out, 0);
	const struct fl_meta *from = fl_meta_in(c, in, 0);

	if (m && from)
		copy_lod(m, from);
}

static void grad_like_input(struct fl_infer *c, bool with_lod)
{
	for (size_t s = 0; s < c->n_out; s++) {
		const char *name = c->def->outputs[s].name;
		size_t n = strlen(name) - strlen(FL_GRAD_SUFFIX);
		int in = -1;

		for (int i = 0; c->def->inputs[i].name; i++)
			if (strlen(c->def->inputs[i].name) == n && !memcmp(c->def->inputs[i].name, name, n))
				in = i;
		for (size_t i = 0; i < c->out[s].n; i++) {
			const struct fl_meta *from = fl_meta_in(c, in, i);

			if (!c->out[s].at[i] || !from)
				continue;
			copy_shape(c->out[s].at[i], from);
			if (with_lod)
				copy_lod(c->out[s].at[i], from);
			c->out[s].at[i]->kind = FL_LOD_TENSOR;
		}
	}
}

enum fl_code fl_infer_grad(struct fl_infer *c, struct fl_err *err)
{
	(void)err;
	grad_like_input(c, true);
	return FL_OK;
}

enum fl_code fl_infer_grad_dims(struct fl_infer *c, struct fl_err *err)
{
	(void)err;
	grad_like_input(c, false);
	return FL_OK;
}

/* ---- checks ---------------------------------------------------------------------------------- */

enum fl_code fl_infer_bad(const struct fl_infer *c, struct fl_err *err, const char *fmt, ...)
{
	char text[FL_ERR_MAX];
	va_list ap;

	(void)c;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	return fl_err_set(err, FL_EINVAL, "%s", text);
}

const char *fl_dims_str(const int64_t *dims, int rank, char *buf, size_t size)
{
	size_t at = 0;

	if (rank < 0) {
		snprintf(buf, size, "?");
		return buf;
	}
	at += (size_t)snprintf(buf, size, "[");
	for (int i = 0; i < rank && at + 1 < size; i++)
		at += (size_t)snprintf(buf + at, size - at, i ? ", %" PRId64 : "%" PRId64, dims[i]);
	if (at + 1 < size)
		snprintf(buf + at, size - at, "]");
	return buf;
}

int64_t fl_dims_product(const int64_t *dims, int from, int to)
{
	int64_t n = 1;

	for (int i = from; i < to; i++) {
		if (dims[i] < 0 || (dims[i] > 0 && n > INT64_MAX / dims[i]))
			return -1;
		n *= dims[i];
	}
	return n;
}

static const char *dtype_name(int dtype)
{
	const char *name = fl_type_name(dtype);

	return name ? name : "an unknown type";
}

enum fl_code fl_need_dims(const struct fl_infer *c, const char *slot, const int64_t *dims, int rank,
	struct fl_err *err)
{
	const struct fl_meta *m = fl_meta_named(c, slot);
	char found[FL_DIMS_STR], wanted[FL_DIMS_STR];
	bool same;

	if (!fl_known(m) || rank < 0)
		return FL_OK;
	same = m->rank == rank;
	for (int i = 0; same && i < rank; i++)
		same = m->dims[i] == dims[i] || m->dims[i] < 0 || dims[i] < 0;
	if (same)
		return FL_OK;
	return fl_infer_bad(c, err, "'%s' has shape %s, expected %s", slot,
		fl_dims_str(m->dims, m->rank, found, sizeof found),
		fl_dims_str(dims, rank, wanted, sizeof wanted));
}

enum fl_code fl_need_same_dims(const struct fl_infer *c, const char *slot, const char *like,
	struct fl_err *err)
{
	const struct fl_meta *m = fl_meta_named(c, like);
	char own[FL_DIMS_STR];

	if (!fl_known(m))
		return FL_OK;
	if (fl_need_dims(c, slot, m->dims, m->rank, err) != FL_OK)
		return fl_err_wrap(err, "as '%s' has %s", like,
			fl_dims_str(m->dims, m->rank, own, sizeof own));
	return FL_OK;
}

enum fl_code fl_need_same_dtype(const struct fl_infer *c, const char *slot, const char *like,
	struct fl_err *err)
{
	const struct fl_meta *a = fl_meta_named(c, slot), *b = fl_meta_named(c, like);

	if (!a || !b || a->dtype < 0 || b->dtype < 0 || a->dtype == b->dtype)
		return FL_OK;
	return fl_infer_bad(c, err, "'%s' is of type %s, expected %s, the type of '%s'", slot,
		dtype_name(a->dtype), dtype_name(b->dtype), like);
}

enum fl_code fl_need_dtype(const struct fl_infer *c, const char *slot, int dtype, struct fl_err *err)
{
	const struct fl_meta *m = fl_meta_named(c, slot);

	if (!m || m->dtype < 0 || m->dtype == dtype)
		return FL_OK;
	return fl_infer_bad(c, err, "'%s' is of type %s, expected %s", slot, dtype_name(m->dtype),
		dtype_name(dtype));
}

enum fl_code fl_need_float(const struct fl_infer *c, const char *slot, struct fl_err *err)
{
	const struct fl_meta *m = fl_meta_named(c, slot);

	if (!m || m->dtype < 0 || m->dtype == FL_FP32 || m->dtype == FL_FP64)
		return FL_OK;
	return fl_infer_bad(c, err, "'%s' is of type %s, expected FP32 or FP64", slot,
		dtype_name(m->dtype));
}

enum fl_code fl_need_one(const struct fl_infer *c, const char *slot, struct fl_err *err)
{
	const struct fl_meta *m = fl_meta_named(c, slot);
	char found[FL_DIMS_STR];
	int64_t n;

	if (!fl_known(m))
		return FL_OK;
	n = fl_dims_product(m->dims, 0, m->rank);
	if (n == 1 || n < 0)
		return FL_OK;
	return fl_infer_bad(c, err, "'%s' has shape %s, expected one element", slot,
		fl_dims_str(m->dims, m->rank, found, sizeof found));
}

enum fl_code fl_need_rank(const struct fl_infer *c, const char *slot, int low, int high,
	struct fl_err *err)
{
	const struct fl_meta *m = fl_meta_named(c, slot);
	char found[FL_DIMS_STR];

	if (!fl_known(m) || (m->rank >= low && m->rank <= high))
		return FL_OK;
	fl_dims_str(m->dims, m->rank, found, sizeof found);
	if (low == high)
		return fl_infer_bad(c, err, "'%s' has shape %s, expected %d dimensions", slot, found, low);
	return fl_infer_bad(c, err, "'%s' has shape %s, expected %d to %d dimensions", slot, found, low,
		high);
}

enum fl_code fl_need_axis(const struct fl_infer *c, const char *attr, int rank, int64_t *axis,
	struct fl_err *err)
{
	if (*axis < -rank || *axis >= rank)
		return fl_infer_bad(c, err, "attribute '%s' is %" PRId64 ", expected %d to %d", attr, *axis,
			-rank, rank - 1);
	if (*axis < 0)
		*axis += rank;
	return FL_OK;
}
