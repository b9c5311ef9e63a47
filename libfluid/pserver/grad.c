/*
 * The values that trainers send: decoded into spare variables, whose memory goes round, and held
 * against what the program declares. 1.8.5 aborts, or silently uses old memory, where a message
 * does not fit (runtime.md 2.2); here it is refused and nothing changes.
 */
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "pserver/table.h"

static const char *kind_name(int kind)
{
	return kind == FL_SELECTED_ROWS ? "SelectedRows" : "a LoDTensor";
}

static const char *dtype_name(int dtype)
{
	const char *name = fl_dtype_name(dtype);

	return name ? name : "an unknown type";
}

static void put_dims(struct fl_buf *b, const int64_t *dims, int rank)
{
	fl_buf_addc(b, '[');
	for (int i = 0; i < rank; i++)
		fl_buf_addf(b, "%s%" PRId64, i ? ", " : "", dims[i]);
	fl_buf_addc(b, ']');
}

static enum fl_code bad_dims(const struct fl_grad *g, const struct fl_tensor *t, struct fl_err *err)
{
	struct fl_buf b = FL_BUF_INIT;
	enum fl_code code;

	fl_buf_addf(&b, "'%s' has dims ", g->name);
	put_dims(&b, t->dims, t->rank);
	fl_buf_adds(&b, ", expected ");
	if (g->kind == FL_SELECTED_ROWS)
		fl_buf_adds(&b, "rows of ");
	put_dims(&b, g->dims, g->rank);
	code = fl_err_set(err, FL_EINVAL, "%s", fl_buf_str(&b));
	fl_buf_release(&b);
	return code;
}

/* Dims from `first` on must be the declared ones. */
static enum fl_code check_dims(
	const struct fl_grad *g, const struct fl_tensor *t, int first, struct fl_err *err)
{
	bool ok = t->rank == g->rank;

	for (int i = first; ok && i < g->rank; i++)
		ok = g->dims[i] < 0 || t->dims[i] == g->dims[i];
	return ok ? FL_OK : bad_dims(g, t, err);
}

static enum fl_code check_rows(
	const struct fl_grad *g, const struct fl_selected_rows *r, struct fl_err *err)
{
	int64_t height = g->dims[0] < 0 ? r->height : g->dims[0];

	FL_TRY(check_dims(g, &r->value, 1, err));
	if (r->height != height)
		return fl_err_set(err, FL_EINVAL, "'%s' has height %" PRId64 ", expected %" PRId64,
			g->name, r->height, height);
	if (r->value.dims[0] < 0 || (size_t)r->value.dims[0] != r->n)
		return fl_err_set(err, FL_EINVAL, "'%s' has %zu row numbers for %" PRId64 " rows",
			g->name, r->n, r->value.dims[0]);
	for (size_t i = 0; i < r->n; i++)
		if (r->rows[i] < 0 || r->rows[i] >= height)
			return fl_err_set(err, FL_EINVAL,
				"'%s' has row %" PRId64 ", the table has %" PRId64 " rows", g->name,
				r->rows[i], height);
	return FL_OK;
}

static enum fl_code check(const struct fl_grad *g, const struct fl_var *var, struct fl_err *err)
{
	const struct fl_tensor *t = var->kind == FL_SELECTED_ROWS ? &var->rows.value : &var->tensor;

	if (var->kind != g->kind)
		return fl_err_set(err, FL_EINVAL, "'%s' comes as %s, expected %s", g->name,
			kind_name(var->kind), kind_name(g->kind));
	if (t->dtype != g->dtype)
		return fl_err_set(err, FL_EINVAL, "'%s' is of %s, expected %s", g->name,
			dtype_name(t->dtype), dtype_name(g->dtype));
	return var->kind == FL_SELECTED_ROWS ? check_rows(g, &var->rows, err)
					     : check_dims(g, t, 0, err);
}

static struct fl_var *take_spare(struct fl_grad *grad)
{
	struct fl_var *var = NULL;

	pthread_mutex_lock(&grad->lock);
	if (grad->n_spare)
		var = grad->spare[--grad->n_spare];
	pthread_mutex_unlock(&grad->lock);
	return var ? var : fl_var_new(grad->name, grad->kind);
}

enum fl_code fl_grad_take(struct fl_grad *grad, struct fl_req *req)
{
	struct fl_err err = { 0 };
	struct fl_var *var = take_spare(grad);

	if (req->ops->take(req->call, var, &err) != FL_OK || check(grad, var, &err) != FL_OK) {
		fl_grad_recycle(grad, var);
		fl_req_refuse(req,
			err.code == FL_ENOMEM ? FL_STATUS_RESOURCE_EXHAUSTED
					      : FL_STATUS_INVALID_ARGUMENT,
			"%s", err.msg);
		return err.code;
	}
	req->var = var;
	return FL_OK;
}

void fl_grad_recycle(struct fl_grad *grad, struct fl_var *var)
{
	pthread_mutex_lock(&grad->lock);
	fl_grow(&grad->spare, &grad->cap_spare, grad->n_spare + 1, sizeof *grad->spare);
	grad->spare[grad->n_spare++] = var;
	pthread_mutex_unlock(&grad->lock);
}

void fl_grad_swap(struct fl_grad *grad, struct fl_var *var)
{
	struct fl_var old = *grad->var;

	/* The value alone changes hands: name and persistable are the variable's own. */
	grad->var->kind = var->kind;
	grad->var->tensor = var->tensor;
	grad->var->rows = var->rows;
	grad->var->array = var->array;
	var->kind = old.kind;
	var->tensor = old.tensor;
	var->rows = old.rows;
	var->array = old.array;
}

enum fl_code fl_grad_clear(struct fl_grad *grad, struct fl_err *err)
{
	struct fl_selected_rows *r = &grad->var->rows;
	struct fl_var *spare = take_spare(grad);
	int64_t dims[FL_MAX_RANK];

	fl_grad_swap(grad, spare);
	fl_grad_recycle(grad, spare);
	if (grad->kind == FL_LOD_TENSOR) {
		fl_tensor_clear(&grad->var->tensor);
		return FL_OK;
	}
	memcpy(dims, grad->dims, sizeof dims);
	for (int i = 1; i < grad->rank; i++)
		if (dims[i] < 0)
			dims[i] = 0;
	dims[0] = 0;
	r->height = grad->dims[0] < 0 ? 0 : grad->dims[0];
	fl_selected_rows_resize(r, 0);
	return fl_tensor_resize(&r->value, grad->dtype, dims, grad->rank, err);
}
