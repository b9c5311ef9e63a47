/* Requests: what they ask for, and their answers. Names are those of Fluid 1.8.5 (runtime.md 3). */
#include "pserver/request.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "desc/names.h"

int64_t fl_trainer_suffix(const char *name, size_t *base_len)
{
	size_t len = strlen(name), infix = strlen(FL_TRAINER_INFIX), digits = 0;
	int64_t n = 0;

	if (base_len)
		*base_len = len;
	while (digits < len && name[len - 1 - digits] >= '0' && name[len - 1 - digits] <= '9')
		digits++;
	if (!digits || digits > 9 || len <= digits + infix)
		return -1;
	if (memcmp(name + len - digits - infix, FL_TRAINER_INFIX, infix) != 0)
		return -1;
	for (size_t i = len - digits; i < len; i++)
		n = n * 10 + (name[i] - '0');
	if (base_len)
		*base_len = len - digits - infix;
	return n;
}

static enum fl_req_kind kind_of(enum fl_method method, const char *name)
{
	switch (method) {
	case FL_SEND_VARIABLE:
		if (strcmp(name, FL_MSG_BATCH_BARRIER) == 0)
			return FL_REQ_BATCH;
		if (strcmp(name, FL_MSG_COMPLETE) == 0)
			return FL_REQ_COMPLETE;
		/* Never sent so by Fluid, but plain in its meaning. */
		if (strcmp(name, FL_MSG_FETCH_BARRIER) == 0)
			return FL_REQ_FETCH;
		return FL_REQ_GRAD;
	case FL_GET_VARIABLE:
		if (strcmp(name, FL_MSG_FETCH_BARRIER) == 0)
			return FL_REQ_FETCH;
		return FL_REQ_GET;
	case FL_GET_VARIABLE_NO_BARRIER: return FL_REQ_GET_NOW;
	case FL_PREFETCH_VARIABLE: return FL_REQ_PREFETCH;
	case FL_DISTRIBUTE_NOTIFY: return FL_REQ_NOTIFY;
	default: return FL_REQ_CHECKPOINT;
	}
}

struct fl_req *fl_req_new(const struct fl_req_ops *ops, void *call, enum fl_method method,
	const struct fl_varmsg *msg, const char *peer)
{
	struct fl_req *req = FL_NEW(struct fl_req);
	size_t len = strlen(msg->varname), tail = strlen(FL_MSG_WITHOUT_BARRIER);

	req->ops = ops;
	req->call = call;
	req->method = method;
	req->msg = msg;
	req->peer = fl_xstrdup(peer);
	req->told_trainer = -1;
	req->kind = kind_of(method, msg->varname);
	if (len > tail && strcmp(msg->varname + len - tail, FL_MSG_WITHOUT_BARRIER) == 0)
		len -= tail;
	req->name = fl_xstrndup(msg->varname, len);
	return req;
}

void fl_reqs_push(struct fl_reqs *list, struct fl_req *req)
{
	req->next = NULL;
	if (list->tail)
		list->tail->next = req;
	else
		list->head = req;
	list->tail = req;
	list->n++;
}

struct fl_req *fl_reqs_pop(struct fl_reqs *list)
{
	struct fl_req *req = list->head;

	if (!req)
		return NULL;
	list->head = req->next;
	if (!list->head)
		list->tail = NULL;
	list->n--;
	req->next = NULL;
	return req;
}

void fl_reqs_move(struct fl_reqs *to, struct fl_reqs *from)
{
	if (!from->head)
		return;
	if (to->tail)
		to->tail->next = from->head;
	else
		to->head = from->head;
	to->tail = from->tail;
	to->n += from->n;
	*from = (struct fl_reqs){ NULL, NULL, 0 };
}

void fl_req_refuse(struct fl_req *req, int status, const char *fmt, ...)
{
	va_list ap;

	req->status = status;
	va_start(ap, fmt);
	vsnprintf(req->text, sizeof req->text, fmt, ap);
	va_end(ap);
}

void fl_req_give(struct fl_req *req, const struct fl_var *var)
{
	struct fl_err err = { 0 };

	if (!var) {
		fl_req_refuse(req, FL_STATUS_INVALID_ARGUMENT,
			"variable '%s' is not on this server", req->name);
		return;
	}
	if (!fl_var_has_value(var)) {
		fl_req_refuse(
			req, FL_STATUS_INVALID_ARGUMENT, "variable '%s' holds no value", req->name);
		return;
	}
	req->value = fl_var_new(var->name, var->kind);
	if (var->kind == FL_LOD_TENSOR)
		fl_tensor_share(&req->value->tensor, &var->tensor);
	else if (fl_var_copy(req->value, var, &err) != FL_OK)
		fl_req_refuse(req, FL_STATUS_INTERNAL, "variable '%s': %s", req->name, err.msg);
}

static void reply(struct fl_req *req)
{
	/* The name goes with the reply; the message dies with the call. */
	const char *out = req->msg->out_varname;

	if (req->status)
		req->ops->reply_error(req->call, req->status, req->text);
	else if (req->value)
		req->ops->reply_var(req->call, out && *out ? out : req->name, req->value);
	else
		req->ops->reply_void(req->call);
	if (req->value)
		fl_var_free(req->value);
	if (req->var)
		fl_var_free(req->var);
	fl_free(req->peer);
	fl_free(req->name);
	fl_free(req);
}

void fl_reqs_reply(struct fl_reqs *list)
{
	struct fl_req *req;

	while ((req = fl_reqs_pop(list)))
		reply(req);
}
