/*
 * PrefetchVariable: rows of a table, by their numbers, in the order asked for (runtime.md 7.2). The
 * table is a dense parameter named in field 13; the distributed table of old releases, whose rows
 * come from a block of the program, is not offered.
 */
#include <inttypes.h>
#include <string.h>

#include "pserver/mode.h"

bool fl_prefetch_take(struct fl_req *req)
{
	struct fl_err err = { 0 };

	if (!req->msg->table_name || !*req->msg->table_name) {
		fl_req_refuse(req, FL_STATUS_UNIMPLEMENTED,
			"'%s': rows of a distributed table are not offered by this server",
			req->name);
		return false;
	}
	req->var = fl_var_new(req->name, FL_LOD_TENSOR);
	if (req->ops->take(req->call, req->var, &err) != FL_OK) {
		fl_req_refuse(req, FL_STATUS_INVALID_ARGUMENT, "%s", err.msg);
		return false;
	}
	if (req->var->kind != FL_LOD_TENSOR || req->var->tensor.dtype != FL_INT64) {
		fl_req_refuse(
			req, FL_STATUS_INVALID_ARGUMENT, "'%s': row numbers are int64", req->name);
		return false;
	}
	return true;
}

static enum fl_code gather(const struct fl_tensor *table, const struct fl_tensor *ids,
	struct fl_tensor *out, struct fl_err *err)
{
	int64_t n = fl_numel(ids), dims[FL_MAX_RANK];
	const int64_t *id = n ? fl_data(ids) : NULL;
	size_t row = table->dims[0] ? fl_tensor_bytes(table) / (size_t)table->dims[0] : 0;

	for (int64_t i = 0; i < n; i++)
		if (id[i] < 0 || id[i] >= table->dims[0])
			return fl_err_set(err, FL_EINVAL,
				"row %" PRId64 ", the table has %" PRId64 " rows", id[i],
				table->dims[0]);
	memcpy(dims, table->dims, sizeof dims);
	dims[0] = n;
	FL_TRY(fl_tensor_resize(out, table->dtype, dims, table->rank, err));
	for (int64_t i = 0; i < n; i++)
		memcpy((char *)fl_data(out) + (size_t)i * row,
			(const char *)fl_data(table) + (size_t)id[i] * row, row);
	return FL_OK;
}

void fl_prefetch_give(struct fl_serv *serv, struct fl_req *req)
{
	const char *name = req->msg->table_name;
	const struct fl_var *table = fl_scope_find(serv->table.scope, name);
	struct fl_err err = { 0 };

	if (!table || table->kind != FL_LOD_TENSOR || !fl_var_has_value(table) ||
		table->tensor.rank < 2) {
		fl_req_refuse(
			req, FL_STATUS_INVALID_ARGUMENT, "'%s' is no table of this server", name);
		return;
	}
	req->value = fl_var_new(req->name, FL_LOD_TENSOR);
	if (gather(&table->tensor, &req->var->tensor, &req->value->tensor, &err) != FL_OK)
		fl_req_refuse(req,
			err.code == FL_EINVAL ? FL_STATUS_INVALID_ARGUMENT
					      : FL_STATUS_RESOURCE_EXHAUSTED,
			"'%s': %s", name, err.msg);
}
