/*
 * The server on gRPC core. All events (a new call, its message, its end, a reply that is out) come
 * from one completion queue, which `threads` threads read. Calls are taken unregistered and told
 * apart by path, so that health checks and unknown methods need no machinery of their own.
 *
 * Life of a call: armed (waiting for a client) -> new: path known, receive message and close ->
 * message: decode, handler->call -> reply, now or later, from any thread. It is freed when the
 * reply is out, the close event is in, and no callback runs: each holds a reference.
 */
#include "rpc/server.h"

#include <errno.h>
#include <grpc/grpc_security.h>
#include <grpc/slice.h>
#include <grpc/status.h>
#include <grpc/support/alloc.h>
#include <grpc/support/time.h>
#include <netdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/wire.h"
#include "rpc/bytes.h"
#include "rpc/conns.h"
#include "rpc/handed.h"

enum { KEEPALIVE_MS = 20000, KEEPALIVE_TIMEOUT_MS = 20000, STOP_GRACE_S = 5, MAX_KEYS = 4 };

enum event { EV_NEW, EV_MESSAGE, EV_CLOSE, EV_REPLIED, EV_SHUTDOWN };

struct tag {
	enum event event;
	void *of; /* the call, or the server */
};

static struct tag *give(struct tag *tag)
{
	fl_handed_over(tag);
	return tag;
}

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

struct fl_rpc_server {
	struct fl_rpc_handler handler;
	const struct fl_log *log;
	grpc_server *server;
	grpc_completion_queue *cq;
	grpc_resource_quota *quota;
	struct fl_conns *conns; /* NULL: nobody wants to know */
	int port;
	pthread_t *threads;
	int n_threads;
	atomic_bool ready;
	struct tag shutdown;
	pthread_mutex_t lock; /* guards stopped */
	pthread_cond_t wake;
	bool stopped;
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
	struct tag arrived, message, closed, replied;
	atomic_int refs;
	atomic_uint state;
	atomic_bool answered;
	int cancelled; /* written by gRPC before EV_CLOSE */
	int method;
	char *peer; /* gRPC's */
	struct key keys[MAX_KEYS];
	int n_keys;
	struct fl_bytes bytes;
	struct fl_varmsg msg;
};

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
	if (call->call)
		grpc_call_unref(call->call);
	fl_free(call);
}

/* Waits for one more call. */
static void arm(struct fl_rpc_server *server)
{
	struct fl_rpc_call *call = FL_NEW(struct fl_rpc_call);

	call->server = server;
	call->arrived = (struct tag){ EV_NEW, call };
	call->message = (struct tag){ EV_MESSAGE, call };
	call->closed = (struct tag){ EV_CLOSE, call };
	call->replied = (struct tag){ EV_REPLIED, call };
	atomic_init(&call->refs, 1);
	grpc_call_details_init(&call->details);
	grpc_metadata_array_init(&call->metadata);
	if (grpc_server_request_call(server->server, &call->call, &call->details, &call->metadata,
		    server->cq, server->cq, give(&call->arrived)) != GRPC_CALL_OK)
		call_rele(call);
}

/* Replies once: the second and later ones are dropped. `message` NULL: none. */
static void reply(struct fl_rpc_call *call, grpc_byte_buffer *message, int status,
	const char *text)
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
		if (grpc_call_start_batch(call->call, ops, n, give(&call->replied), NULL) != GRPC_CALL_OK)
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
			call->keys[call->n_keys++] = (struct key){ fl_slice_str(m->key),
				fl_slice_str(m->value) };
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

	arm(call->server);
	call->method = find_method(call->details.method);
	call->peer = grpc_call_get_peer(call->call);
	keep_metadata(call);
	if (call->server->conns)
		fl_conns_seen(call->server->conns, call->peer);
	close.data.recv_close_on_server.cancelled = &call->cancelled;
	atomic_fetch_add(&call->refs, 1);
	if (grpc_call_start_batch(call->call, &close, 1, give(&call->closed), NULL) != GRPC_CALL_OK)
		call_rele(call);
	if (call->method == METHOD_UNKNOWN) {
		reply(call, NULL, GRPC_STATUS_UNIMPLEMENTED, "");
		return;
	}
	recv.data.recv_message.recv_message = &call->bytes.buffer;
	if (grpc_call_start_batch(call->call, &recv, 1, give(&call->message), NULL) != GRPC_CALL_OK)
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
			known = !f.len || (f.len == sizeof ours - 1 && !memcmp(f.bytes, ours, f.len));
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

/* ---- the server ------------------------------------------------------------------------------ */

static void on_shutdown(struct fl_rpc_server *server)
{
	pthread_mutex_lock(&server->lock);
	server->stopped = true;
	pthread_cond_signal(&server->wake);
	pthread_mutex_unlock(&server->lock);
}

static void dispatch(struct tag *tag, bool ok)
{
	fl_got_back(tag);
	switch (tag->event) {
	case EV_NEW:
		if (ok)
			on_new(tag->of);
		else
			call_rele(tag->of); /* the server ends */
		break;
	case EV_MESSAGE: on_message(tag->of); break;
	case EV_CLOSE: on_close(tag->of); break;
	case EV_REPLIED: call_rele(tag->of); break;
	case EV_SHUTDOWN: on_shutdown(tag->of); break;
	}
}

static void *serve(void *arg)
{
	struct fl_rpc_server *server = arg;

	for (;;) {
		grpc_event event = grpc_completion_queue_next(server->cq,
			gpr_inf_future(GPR_CLOCK_REALTIME), NULL);

		if (event.type == GRPC_QUEUE_SHUTDOWN)
			return NULL;
		dispatch(event.tag, event.success);
	}
}

/* Tries to bind by ourselves to learn the reason that gRPC keeps to itself. */
static enum fl_code bind_error(const char *address, bool tls, struct fl_err *err)
{
	const char *else_why = tls ? "the TLS certificate or key is not usable" : "gRPC refuses it";
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE }, *list;
	const char *colon = strrchr(address, ':');
	size_t n = (size_t)(colon - address);
	bool bracket = n >= 2 && address[0] == '[' && address[n - 1] == ']';
	char *host = fl_xstrndup(address + bracket, n - 2 * bracket);
	int rc = getaddrinfo(*host ? host : NULL, colon + 1, &hints, &list);
	const char *why = rc ? gai_strerror(rc) : else_why;

	fl_free(host);
	if (!rc) {
		int fd = socket(list->ai_family, SOCK_STREAM, 0), one = 1;

		if (fd >= 0)
			setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
		if (fd < 0 || bind(fd, list->ai_addr, list->ai_addrlen) || listen(fd, 1))
			why = strerror(errno);
		if (fd >= 0)
			close(fd);
		freeaddrinfo(list);
	}
	return fl_err_set(err, FL_EIO, "cannot listen on '%s': %s", address, why);
}

static enum fl_code credentials(const struct fl_rpc_server_opts *opts,
	grpc_server_credentials **out, struct fl_err *err)
{
	grpc_ssl_pem_key_cert_pair pair = { opts->tls_key, opts->tls_cert };

	if (!opts->tls_cert && !opts->tls_key && !opts->tls_ca) {
		*out = grpc_insecure_server_credentials_create();
		return FL_OK;
	}
	if (!opts->tls_cert || !opts->tls_key)
		return fl_err_set(err, FL_EINVAL, "a server with TLS needs a certificate and its key");
	*out = grpc_ssl_server_credentials_create_ex(opts->tls_ca, &pair, 1,
		opts->tls_ca ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY :
			       GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE,
		NULL);
	if (!*out)
		return fl_err_set(err, FL_EINVAL, "the TLS certificate or key is not usable");
	return FL_OK;
}

/* So much memory may lie in gRPC's hands: sixteen of the largest messages on their way, which a
 * hostile crowd cannot exceed, and never so little that small models feel it. */
static size_t quota_bytes(size_t max_message)
{
	size_t bytes, least = (size_t)1 << 30;

	if (!max_message || !fl_mul_size(max_message, 16, &bytes))
		bytes = 16 * FL_VARMSG_MAX;
	return bytes > least ? bytes : least;
}

/* Our pings tell us that a machine has fallen silent; clients may ping as they like. */
static void server_args(struct fl_grpc_args *a, struct fl_rpc_server *server, size_t max_message)
{
	grpc_arg *quota;

	fl_grpc_args_init(a, max_message);
	fl_grpc_args_int(a, GRPC_ARG_ALLOW_REUSEPORT, 0);
	fl_grpc_args_int(a, GRPC_ARG_KEEPALIVE_TIME_MS, KEEPALIVE_MS);
	fl_grpc_args_int(a, GRPC_ARG_KEEPALIVE_TIMEOUT_MS, KEEPALIVE_TIMEOUT_MS);
	fl_grpc_args_int(a, GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
	fl_grpc_args_int(a, GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
	fl_grpc_args_int(a, GRPC_ARG_HTTP2_MIN_SENT_PING_INTERVAL_WITHOUT_DATA_MS, KEEPALIVE_MS / 2);
	fl_grpc_args_int(a, GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 1000);
	fl_grpc_args_int(a, GRPC_ARG_ENABLE_CHANNELZ, 1);
	server->quota = grpc_resource_quota_create("fluid");
	grpc_resource_quota_resize(server->quota, quota_bytes(max_message));
	quota = &a->at[a->args.num_args++];
	quota->type = GRPC_ARG_POINTER;
	quota->key = (char *)(uintptr_t)GRPC_ARG_RESOURCE_QUOTA;
	quota->value.pointer.p = server->quota;
	quota->value.pointer.vtable = grpc_resource_quota_arg_vtable();
}

static enum fl_code check_address(const char *address, struct fl_err *err)
{
	const char *colon = address ? strrchr(address, ':') : NULL;
	size_t digits = colon ? strspn(colon + 1, "0123456789") : 0;

	if (!digits || digits > 5 || colon[1 + digits] || strtol(colon + 1, NULL, 10) > 65535)
		return fl_err_set(err, FL_EINVAL, "address '%s' is not HOST:PORT",
			address ? address : "");
	return FL_OK;
}

static enum fl_code listen_on(struct fl_rpc_server *server, const struct fl_rpc_server_opts *opts,
	struct fl_err *err)
{
	grpc_server_credentials *creds;
	struct fl_grpc_args args;

	FL_TRY(credentials(opts, &creds, err));
	server_args(&args, server, opts->max_message);
	server->server = grpc_server_create(&args.args, NULL);
	grpc_server_register_completion_queue(server->server, server->cq, NULL);
	server->port = grpc_server_add_http2_port(server->server, opts->address, creds);
	grpc_server_credentials_release(creds);
	return server->port > 0 ? FL_OK : bind_error(opts->address, opts->tls_cert != NULL, err);
}

static void start(struct fl_rpc_server *server, int threads)
{
	grpc_server_start(server->server);
	if (server->handler.closed)
		server->conns = fl_conns_new(server->handler.closed, server->handler.arg);
	server->threads = FL_NEW_N(pthread_t, (size_t)threads);
	for (int i = 0; i < 2 * threads; i++)
		arm(server);
	for (; server->n_threads < threads; server->n_threads++)
		if (pthread_create(&server->threads[server->n_threads], NULL, serve, server))
			FL_BUG("no thread can be made");
}

enum fl_code fl_rpc_server_new(const struct fl_rpc_server_opts *opts,
	const struct fl_rpc_handler *handler, struct fl_rpc_server **out, struct fl_err *err)
{
	struct fl_rpc_server *server;
	enum fl_code code;

	FL_TRY(check_address(opts->address, err));
	fl_grpc_hold();
	server = FL_NEW(struct fl_rpc_server);
	server->handler = *handler;
	server->log = opts->log;
	server->shutdown = (struct tag){ EV_SHUTDOWN, server };
	pthread_mutex_init(&server->lock, NULL);
	pthread_cond_init(&server->wake, NULL);
	server->cq = grpc_completion_queue_create_for_next(NULL);
	code = listen_on(server, opts, err);
	if (code) {
		fl_rpc_server_free(server);
		return code;
	}
	start(server, opts->threads > 1 ? opts->threads : 1);
	*out = server;
	return FL_OK;
}

int fl_rpc_server_port(const struct fl_rpc_server *server)
{
	return server->port;
}

void fl_rpc_server_set_ready(struct fl_rpc_server *server, bool ready)
{
	atomic_store(&server->ready, ready);
}

/* Waits until the last call has ended; cuts off what has not after a while. */
static void wait_stopped(struct fl_rpc_server *server)
{
	struct timespec at;

	clock_gettime(CLOCK_REALTIME, &at);
	at.tv_sec += STOP_GRACE_S;
	pthread_mutex_lock(&server->lock);
	while (!server->stopped && !pthread_cond_timedwait(&server->wake, &server->lock, &at))
		;
	if (!server->stopped) {
		pthread_mutex_unlock(&server->lock);
		grpc_server_cancel_all_calls(server->server);
		pthread_mutex_lock(&server->lock);
	}
	while (!server->stopped)
		pthread_cond_wait(&server->wake, &server->lock);
	pthread_mutex_unlock(&server->lock);
}

/* A server that never started has no threads: its queue is read here. */
static void drain(struct fl_rpc_server *server)
{
	grpc_completion_queue_shutdown(server->cq);
	if (!server->n_threads)
		serve(server);
	for (int i = 0; i < server->n_threads; i++)
		pthread_join(server->threads[i], NULL);
}

void fl_rpc_server_free(struct fl_rpc_server *server)
{
	if (!server)
		return;
	if (server->server) {
		grpc_server_shutdown_and_notify(server->server, server->cq,
			give(&server->shutdown));
		if (server->n_threads)
			wait_stopped(server);
	}
	drain(server);
	fl_conns_free(server->conns);
	if (server->server)
		grpc_server_destroy(server->server);
	grpc_completion_queue_destroy(server->cq);
	if (server->quota)
		grpc_resource_quota_unref(server->quota);
	pthread_mutex_destroy(&server->lock);
	pthread_cond_destroy(&server->wake);
	fl_free(server->threads);
	fl_free(server);
	fl_grpc_rele();
}
