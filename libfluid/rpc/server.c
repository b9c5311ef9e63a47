/*
 * The server on gRPC core: its address, credentials and limits, its threads, its end. All events
 * come from one completion queue, which `threads` threads read; what they mean is in call.c. Calls
 * are taken unregistered and told apart by path, so that health checks and unknown methods need no
 * machinery of their own.
 */
#include "rpc/server.h"

#include <errno.h>
#include <grpc/grpc_security.h>
#include <grpc/support/time.h>
#include <netdb.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "rpc/bytes.h"
#include "rpc/call.h"
#include "rpc/handed.h"

enum { KEEPALIVE_MS = 20000, KEEPALIVE_TIMEOUT_MS = 20000, LOOK_EVERY_MS = 50 };

/* Seconds that calls, and clients without calls, are given at the end. */
#define CALLS_S   5.0
#define CLIENTS_S 0.5

static void on_shutdown(struct fl_rpc_server *server)
{
	pthread_mutex_lock(&server->lock);
	server->stopped = true;
	pthread_cond_signal(&server->wake);
	pthread_mutex_unlock(&server->lock);
}

static void *serve(void *arg)
{
	struct fl_rpc_server *server = arg;

	for (;;) {
		grpc_event event = grpc_completion_queue_next(
			server->cq, gpr_inf_future(GPR_CLOCK_REALTIME), NULL);

		if (event.type == GRPC_QUEUE_SHUTDOWN)
			return NULL;
		fl_got_back(event.tag);
		if (((struct fl_rpc_tag *)event.tag)->event == FL_EV_SHUTDOWN)
			on_shutdown(server);
		else
			fl_rpc_call_event(event.tag, event.success);
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

static enum fl_code credentials(
	const struct fl_rpc_server_opts *opts, grpc_server_credentials **out, struct fl_err *err)
{
	grpc_ssl_pem_key_cert_pair pair = { opts->tls_key, opts->tls_cert };

	if (!opts->tls_cert && !opts->tls_key && !opts->tls_ca) {
		*out = grpc_insecure_server_credentials_create();
		return FL_OK;
	}
	if (!opts->tls_cert || !opts->tls_key)
		return fl_err_set(
			err, FL_EINVAL, "a server with TLS needs a certificate and its key");
	*out = grpc_ssl_server_credentials_create_ex(opts->tls_ca, &pair, 1,
		opts->tls_ca ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
			     : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE,
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
	fl_grpc_args_int(
		a, GRPC_ARG_HTTP2_MIN_SENT_PING_INTERVAL_WITHOUT_DATA_MS, KEEPALIVE_MS / 2);
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
		return fl_err_set(
			err, FL_EINVAL, "address '%s' is not HOST:PORT", address ? address : "");
	return FL_OK;
}

static enum fl_code listen_on(
	struct fl_rpc_server *server, const struct fl_rpc_server_opts *opts, struct fl_err *err)
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
		fl_rpc_call_arm(server);
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
	server->shutdown = (struct fl_rpc_tag){ FL_EV_SHUTDOWN, server };
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

/* Ends the connections at once, and with them the calls that are left. The lock is held. */
static void cut_off(struct fl_rpc_server *server)
{
	pthread_mutex_unlock(&server->lock);
	grpc_server_cancel_all_calls(server->server);
	pthread_mutex_lock(&server->lock);
}

/* Waits until all calls have ended and the clients, told that the server goes, have closed their
 * connections: a client that computes reads nothing, so it gets a moment only, calls get more. */
static void wait_stopped(struct fl_rpc_server *server)
{
	double began = fl_now();
	struct timespec at;
	bool cut = false;

	pthread_mutex_lock(&server->lock);
	while (!server->stopped) {
		if (!cut &&
			fl_now() - began >= (atomic_load(&server->live) ? CALLS_S : CLIENTS_S)) {
			cut = true;
			cut_off(server);
			continue;
		}
		clock_gettime(CLOCK_REALTIME, &at);
		at.tv_nsec += LOOK_EVERY_MS * 1000000L;
		at.tv_sec += at.tv_nsec / 1000000000L;
		at.tv_nsec %= 1000000000L;
		pthread_cond_timedwait(&server->wake, &server->lock, &at);
	}
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
		grpc_server_shutdown_and_notify(
			server->server, server->cq, fl_rpc_tag_give(&server->shutdown));
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
