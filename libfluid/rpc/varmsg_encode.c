/*
 * The encoder of VariableMessage: the bytes before the payload and those after it. Upstream lets
 * protobuf write the header and appends 8 and 9 by hand, so 10 to 13 stand before 8; a protobuf
 * library would put them last.
 */
#include "rpc/varmsg.h"

#include <string.h>

#include "base/mem.h"
#include "base/wire.h"

static void put_text(struct fl_buf *b, uint32_t number, const char *s)
{
	if (s && *s)
		fl_wire_put_bytes(b, number, s, strlen(s));
}

static void put_number(struct fl_buf *b, uint32_t number, int64_t v)
{
	if (!v)
		return;
	fl_wire_put_tag(b, number, FL_WIRE_VARINT);
	fl_wire_put_varint(b, (uint64_t)v);
}

static void put_lod_level(struct fl_buf *b, const struct fl_lod_level *level)
{
	struct fl_buf numbers = FL_BUF_INIT, message = FL_BUF_INIT;

	for (size_t i = 0; i < level->n; i++)
		fl_wire_put_varint(&numbers, level->off[i]);
	if (numbers.len)
		fl_wire_put_bytes(&message, 1, numbers.data, numbers.len);
	fl_wire_put_bytes(b, 6, fl_buf_str(&message), message.len);
	fl_buf_release(&message);
	fl_buf_release(&numbers);
}

void fl_varmsg_encode_header(const struct fl_varmsg *m, struct fl_buf *b)
{
	struct fl_buf dims = FL_BUF_INIT;

	put_text(b, 1, m->varname);
	put_number(b, 2, m->type);
	put_number(b, 3, m->data_type);
	for (int i = 0; i < m->rank; i++)
		fl_wire_put_varint(&dims, (uint64_t)m->dims[i]);
	if (dims.len)
		fl_wire_put_bytes(b, 4, dims.data, dims.len);
	fl_buf_release(&dims);
	put_number(b, 5, m->lod_level);
	for (int i = 0; i < m->lod.n; i++)
		put_lod_level(b, &m->lod.level[i]);
	put_number(b, 7, m->slr_height);
	put_text(b, 10, m->out_varname);
	put_number(b, 11, m->profile);
	put_number(b, 12, m->trainer_id);
	put_text(b, 13, m->table_name);
}

/* Fields 2 to 7, from the variable. */
static enum fl_code describe(struct fl_varmsg *m, const struct fl_var *var,
	const struct fl_tensor **value, struct fl_err *err)
{
	const struct fl_tensor *t = &var->tensor;

	if (var->kind != FL_LOD_TENSOR && var->kind != FL_SELECTED_ROWS)
		return fl_err_set(err, FL_EUNSUPPORTED,
			"variable '%s' is neither a tensor nor SelectedRows", var->name);
	if (!fl_var_has_value(var))
		return fl_err_set(err, FL_ESTATE, "variable '%s' holds no value", var->name);
	fl_lod_clear(&m->lod);
	m->type = FL_MSG_LOD_TENSOR;
	m->slr_height = 0;
	if (var->kind == FL_SELECTED_ROWS) {
		t = &var->rows.value;
		m->type = FL_MSG_SELECTED_ROWS;
		m->slr_height = var->rows.height;
	} else {
		fl_lod_copy(&m->lod, &t->lod);
	}
	m->lod_level = m->lod.n;
	m->data_type = t->dtype;
	m->rank = t->rank;
	memcpy(m->dims, t->dims, sizeof m->dims);
	if (var->kind == FL_SELECTED_ROWS && m->rank > 0)
		m->dims[0] = (int64_t)var->rows.n;
	*value = t;
	return FL_OK;
}

static enum fl_code make_parts(const struct fl_varmsg *m, const struct fl_var *var,
	const struct fl_tensor *t, struct fl_varmsg_parts *parts, struct fl_err *err)
{
	size_t bytes, rows = var->kind == FL_SELECTED_ROWS ? var->rows.n * sizeof(int64_t) : 0;

	FL_TRY(fl_shape_bytes(m->data_type, m->dims, m->rank, &bytes, err));
	fl_varmsg_encode_header(m, &parts->head);
	fl_wire_put_tag(&parts->head, 8, FL_WIRE_LEN);
	fl_wire_put_varint(&parts->head, bytes);
	if (var->kind == FL_SELECTED_ROWS)
		fl_wire_put_bytes(&parts->tail, 9, var->rows.rows, rows);
	if (bytes > FL_VARMSG_MAX || parts->head.len + parts->tail.len > FL_VARMSG_MAX - bytes)
		return fl_err_set(err, FL_ELIMIT,
			"variable '%s' makes a message of more than %zu bytes", var->name,
			FL_VARMSG_MAX);
	parts->mem = fl_mem_hold(t->mem);
	parts->payload = fl_data(t);
	parts->n_payload = bytes;
	return FL_OK;
}

enum fl_code fl_varmsg_encode(struct fl_varmsg *m, const struct fl_var *var,
	struct fl_varmsg_parts *parts, struct fl_err *err)
{
	const struct fl_tensor *t = NULL;
	enum fl_code code;

	*parts = (struct fl_varmsg_parts){ 0 };
	FL_TRY(describe(m, var, &t, err));
	code = make_parts(m, var, t, parts, err);
	if (code)
		fl_varmsg_parts_release(parts);
	return code;
}

void fl_varmsg_parts_release(struct fl_varmsg_parts *parts)
{
	fl_buf_release(&parts->head);
	fl_buf_release(&parts->tail);
	fl_mem_rele(parts->mem);
	*parts = (struct fl_varmsg_parts){ 0 };
}
