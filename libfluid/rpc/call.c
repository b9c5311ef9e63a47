/*
 * The life of a call: armed (waiting for a client) -> new: path known, receive message and close ->
 * message: decode, handler->call -> reply, now or later, from any thread. It is freed when the
 * reply is out, the close event is in, and no callback runs: each holds a reference.
 */
#include "rpc/call.h"

#include <grpc/slice.h>
#include <grpc/status.h>
#include <grpc/support/alloc.h>
#include <string.h>

#include "base/mem.h"
#include "base/wire.h"
#include "rpc/bytes.h"
#include "rpc/handed.h"

enum { MAX_KEYS = 4 };

enum { METHOD_HEALTH = FL_METHOD_COUNT, METHOD_UNKNOWN };

static const char *const paths[] = {
	[FL_SEND_VARIABLE] = "/sendrecv.SendRecvService/SendVariable",
	[FL_GET_VARIABLE] = "/sendrecv.SendRecvService/GetVariable",
	[FL_GET_VARIABLE_NO_BARRIER] = "/sendrecv.SendRecvService/GetVariableNoBarrier",
	[FL_PREFETCH_VARIABLE] = "/sendrecv.SendRecvService/PrefetchVariable",
	[FL_CHECKPOINT_NOTIFY] = "/sendrecv.SendRecvService/CheckpointNotify",
	[FL_DISTRIBUTE_NOTIFY] = "/sendrecv.SendRecvService/DistributeNotify",
	[METHOD_HEALTH] = "/grpc.health.v1.Health/Check",
};

struct key {
	char *name, *value; /* owned */
};

enum { HANDED = 1, GONE = 2 }; /* bits of call->state */

struct fl_rpc_call {
	struct fl_rpc_server *server;
	grpc_call *call;
	grpc_call_details details;
	grpc_metadata_array metadata;
	struct fl_rpc_tag arrived, message, closed, replied;
	atomic_int refs;
	atomic_uint state;
	atomic_bool answered;
	int cancelled; /* written by gRPC before FL_EV_CLOSE */
	int method;
	char *peer; /* gRPC's */
	struct key keys[MAX_KEYS];
	int n_keys;
	struct fl_bytes bytes;
	struct fl_varmsg msg;
};

struct fl_rpc_tag *fl_rpc_tag_give(struct fl_rpc_tag *tag)
{
	fl_handed_over(tag);
	return tag;
}

/* ---- life of a call -------------------------------------------------------------------------- */

static void call_rele(struct fl_rpc_call *call)
{
	if (atomic_fetch_sub(&call->refs, 1) != 1)
		return;
	for (int i = 0; i < call->n_keys; i++) {
		fl_free(call->keys[i].name);
		fl_free(call->keys[i].value);
	}
	fl_varmsg_release(&call->msg);
	fl_bytes_release(&call->bytes);
	grpc_call_details_destroy(&call->details);
	grpc_metadata_array_destroy(&call->metadata);
	gpr_free(call->peer);
	if (call->call) {
		grpc_call_unref(call->call);
		atomic_fetch_sub(&call->server->live, 1);
	}
	fl_free(call);
}

void fl_rpc_call_arm(struct fl_rpc_server *server)
{
	struct fl_rpc_call *call = FL_NEW(struct fl_rpc_call);

	call->server = server;
	call->arrived = (struct fl_rpc_tag){ FL_EV_NEW, call };
	call->message = (struct fl_rpc_tag){ FL_EV_MESSAGE, call };
	call->closed = (struct fl_rpc_tag){ FL_EV_CLOSE, call };
	call->replied = (struct fl_rpc_tag){ FL_EV_REPLIED, call };
	atomic_init(&call->refs, 1);
	grpc_call_details_init(&call->details);
	grpc_metadata_array_init(&call->metadata);
	if (grpc_server_request_call(server->server, &call->call, &call->details, &call->metadata,
		    server->cq, server->cq, fl_rpc_tag_give(&call->arrived)) != GRPC_CALL_OK)
		call_rele(call);
}

/* Replies once: the second and later ones are dropped. `message` NULL: none. */
static void reply(struct fl_rpc_call *call, grpc_byte_buffer *message, int status, const char *text)
{
	grpc_slice details = grpc_slice_from_copied_string(text);
	grpc_op ops[3] = { { .op = GRPC_OP_SEND_INITIAL_METADATA } };
	size_t n = 1;

	if (!atomic_exchange(&call->answered, true)) {
		if (message) {
			ops[n].op = GRPC_OP_SEND_MESSAGE;
			ops[n++].data.send_message.send_message = message;
		}
		ops[n].op = GRPC_OP_SEND_STATUS_FROM_SERVER;
		ops[n].data.send_status_from_server.status = (grpc_status_code)status;
		ops[n++].data.send_status_from_server.status_details = &details;
		if (grpc_call_start_batch(call->call, ops, n, fl_rpc_tag_give(&call->replied),
			    NULL) != GRPC_CALL_OK)
			call_rele(call);
	}
	if (message)
		grpc_byte_buffer_destroy(message);
	grpc_slice_unref(details);
}

static bool is_ours(grpc_slice key)
{
	return GRPC_SLICE_LENGTH(key) > 6 && !memcmp(GRPC_SLICE_START_PTR(key), "fluid-", 6);
}

static void keep_metadata(struct fl_rpc_call *call)
{
	for (size_t i = 0; i < call->metadata.count && call->n_keys < MAX_KEYS; i++) {
		const grpc_metadata *m = &call->metadata.metadata[i];

		if (is_ours(m->key))
			call->keys[call->n_keys++] =
				(struct key){ fl_slice_str(m->key), fl_slice_str(m->value) };
	}
}

static int find_method(grpc_slice path)
{
	for (size_t i = 0; i < FL_COUNT(paths); i++)
		if (!grpc_slice_str_cmp(path, paths[i]))
			return (int)i;
	return METHOD_UNKNOWN;
}

/* A call has come in: know it, and ask for its message and its end. */
static void on_new(struct fl_rpc_call *call)
{
	grpc_op close = { .op = GRPC_OP_RECV_CLOSE_ON_SERVER };
	grpc_op recv = { .op = GRPC_OP_RECV_MESSAGE };

	atomic_fetch_add(&call->server->live, 1);
	fl_rpc_call_arm(call->server);
	call->method = find_method(call->details.method);
	call->peer = grpc_call_get_peer(call->call);
	keep_metadata(call);
	close.data.recv_close_on_server.cancelled = &call->cancelled;
	atomic_fetch_add(&call->refs, 1);
	if (grpc_call_start_batch(call->call, &close, 1, fl_rpc_tag_give(&call->closed), NULL) !=
		GRPC_CALL_OK)
		call_rele(call);
	if (call->method == METHOD_UNKNOWN) {
		reply(call, NULL, GRPC_STATUS_UNIMPLEMENTED, "");
		return;
	}
	recv.data.recv_message.recv_message = &call->bytes.buffer;
	if (grpc_call_start_batch(call->call, &recv, 1, fl_rpc_tag_give(&call->message), NULL) !=
		GRPC_CALL_OK)
		reply(call, NULL, GRPC_STATUS_INTERNAL, "no message");
}

static void tell_gone(struct fl_rpc_call *call)
{
	const struct fl_rpc_handler *h = &call->server->handler;

	if (h->gone && !atomic_load(&call->answered))
		h->gone(h->arg, call);
}

/* The handler may reply at once, from another thread; our reference keeps the call till then. */
static void hand_over(struct fl_rpc_call *call)
{
	atomic_fetch_add(&call->refs, 1);
	call->server->handler.call(call->server->handler.arg, call);
	/* Only now, when the handler knows whose connection it is: one that is closed already is
	 * then told, instead of being told before anybody cared. A call that gRPC itself turns down
	 * has no peer. */
	if (call->server->conns && strchr(call->peer, ':'))
		fl_conns_seen(call->server->conns, call->peer);
	if (atomic_fetch_or(&call->state, HANDED) & GONE)
		tell_gone(call);
	call_rele(call);
}

/* HealthCheckRequest { string service = 1; }: 1 known, 0 unknown, -1 malformed. */
static int health_service(const struct fl_bytes *bytes)
{
	static const char ours[] = "sendrecv.SendRecvService";
	struct fl_wire_field f;
	struct fl_wire w;
	int got, known = 1;

	if (!bytes->n)
		return 1;
	if (bytes->n > 1)
		return -1;
	w = (struct fl_wire){ bytes->spans[0].p, bytes->spans[0].p + bytes->spans[0].n };
	while ((got = fl_wire_next(&w, &f)) == 1)
		if (f.number == 1 && f.type == FL_WIRE_LEN)
			known = !f.len ||
				(f.len == sizeof ours - 1 && !memcmp(f.bytes, ours, f.len));
	return got ? -1 : known;
}

static void health(struct fl_rpc_call *call)
{
	/* HealthCheckResponse { ServingStatus status = 1; }: SERVING 1, NOT_SERVING 2 */
	uint8_t answer[2] = { 0x08, atomic_load(&call->server->ready) ? 1 : 2 };

	switch (health_service(&call->bytes)) {
	case 1: reply(call, fl_bytes_of(answer, sizeof answer), GRPC_STATUS_OK, ""); break;
	case 0: reply(call, NULL, GRPC_STATUS_NOT_FOUND, "unknown service"); break;
	default: reply(call, NULL, GRPC_STATUS_INTERNAL, "malformed health check"); break;
	}
}

static void on_message(struct fl_rpc_call *call)
{
	struct fl_err err;

	if (!call->bytes.buffer) {
		reply(call, NULL, GRPC_STATUS_INTERNAL, "no message");
		return;
	}
	fl_bytes_open(&call->bytes);
	if (call->method == METHOD_HEALTH) {
		health(call);
		return;
	}
	if (fl_varmsg_decode(call->bytes.spans, call->bytes.n, &call->msg, &err)) {
		/* Upstream's status for what it cannot parse. */
		fl_logf(call->server->log, FL_LOG_WARN, "refused a message from '%s': %s",
			call->peer, err.msg);
		reply(call, NULL, GRPC_STATUS_INTERNAL, err.msg);
		return;
	}
	hand_over(call);
}

static void on_close(struct fl_rpc_call *call)
{
	if (call->cancelled && atomic_fetch_or(&call->state, GONE) & HANDED)
		tell_gone(call);
	call_rele(call);
}

/* ---- what handlers see of a call ------------------------------------------------------------- */

enum fl_method fl_call_method(const struct fl_rpc_call *call)
{
	return (enum fl_method)call->method;
}

const struct fl_varmsg *fl_call_msg(const struct fl_rpc_call *call)
{
	return &call->msg;
}

const char *fl_call_peer(const struct fl_rpc_call *call)
{
	return call->peer;
}

const char *fl_call_metadata(const struct fl_rpc_call *call, const char *key)
{
	for (int i = 0; i < call->n_keys; i++)
		if (!strcmp(call->keys[i].name, key))
			return call->keys[i].value;
	return NULL;
}

enum fl_code fl_call_take(struct fl_rpc_call *call, struct fl_var *var, struct fl_err *err)
{
	return fl_bytes_take(&call->bytes, &call->msg, var, err);
}

void fl_call_reply_void(struct fl_rpc_call *call)
{
	reply(call, fl_bytes_of("", 0), GRPC_STATUS_OK, "");
}

void fl_call_reply_var(struct fl_rpc_call *call, const char *name, const struct fl_var *var)
{
	struct fl_varmsg m = { .varname = fl_xstrdup(name) };
	struct fl_varmsg_parts parts;
	struct fl_err err;

	if (fl_varmsg_encode(&m, var, &parts, &err))
		reply(call, NULL, fl_rpc_status(err.code), err.msg);
	else
		reply(call, fl_bytes_of_parts(&parts), GRPC_STATUS_OK, "");
	fl_varmsg_release(&m);
}

int fl_rpc_status(enum fl_code code)
{
	switch (code) {
	case FL_OK: return GRPC_STATUS_OK;
	case FL_EINVAL: return GRPC_STATUS_INVALID_ARGUMENT;
	case FL_EFORMAT: return GRPC_STATUS_INTERNAL;
	case FL_ENOTFOUND: return GRPC_STATUS_NOT_FOUND;
	case FL_EEXIST: return GRPC_STATUS_ALREADY_EXISTS;
	case FL_ELIMIT:
	case FL_ENOMEM: return GRPC_STATUS_RESOURCE_EXHAUSTED;
	case FL_EUNSUPPORTED: return GRPC_STATUS_INVALID_ARGUMENT;
	case FL_ESTATE: return GRPC_STATUS_FAILED_PRECONDITION;
	case FL_ELOST: return GRPC_STATUS_ABORTED;
	case FL_EDEADLINE: return GRPC_STATUS_DEADLINE_EXCEEDED;
	case FL_ECANCELED: return GRPC_STATUS_CANCELLED;
	default: return GRPC_STATUS_INTERNAL;
	}
}

void fl_call_reply_error(struct fl_rpc_call *call, int status, const char *text)
{
	reply(call, NULL, status, text);
}

/* ---- events ---------------------------------------------------------------------------------- */

void fl_rpc_call_event(struct fl_rpc_tag *tag, bool ok)
{
	switch (tag->event) {
	case FL_EV_NEW:
		if (ok)
			on_new(tag->of);
		else
			call_rele(tag->of); /* the server ends */
		break;
	case FL_EV_MESSAGE: on_message(tag->of); break;
	case FL_EV_CLOSE: on_close(tag->of); break;
	case FL_EV_REPLIED: call_rele(tag->of); break;
	case FL_EV_SHUTDOWN: FL_BUG("no event of a call");
	}
}
