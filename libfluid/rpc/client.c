/*
 * The endpoints of a client and the calls of Fluid's protocol over them. Upstream's client waits
 * for each variable before it sends the next (runtime.md 5.1); here one operator's variables
 * travel together, which a server cannot tell from a fast trainer.
 *
 * A dead process closes its connection, which is noticed at once. A machine that fell silent is
 * noticed by what it does not acknowledge within 20 s (TCP's user timeout, which gRPC sets where
 * keep-alive is on), or by the deadline of a call that waits for it. Keep-alive pings themselves
 * are of little use here: a stock server (gRPC 1.10) closes a connection that is pinged more often
 * than every 5 minutes.
 */
#include "rpc/client.h"

#include <grpc/grpc_security.h>
#include <grpc/support/time.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "desc/names.h"
#include "rpc/batch.h"
#include "rpc/bytes.h"

enum { WAITING_AFTER_S = 2, KEEPALIVE_MS = 360000, KEEPALIVE_TIMEOUT_MS = 20000 };

static const struct fl_rpc_kind send_kind = { "/sendrecv.SendRecvService/SendVariable", "sending",
	true, false };
static const struct fl_rpc_kind notify_kind = { "/sendrecv.SendRecvService/DistributeNotify",
	"sending", true, false };
static const struct fl_rpc_kind get_kind = { "/sendrecv.SendRecvService/GetVariable", "getting",
	true, true };
static const struct fl_rpc_kind get_now_kind = { "/sendrecv.SendRecvService/GetVariableNoBarrier",
	"getting", true, true };
/* BATCH_BARRIER and COMPLETE; FETCH_BARRIER. */
static const struct fl_rpc_kind signal_kind = { "/sendrecv.SendRecvService/SendVariable", "sending",
	false, false };
static const struct fl_rpc_kind fetch_kind = { "/sendrecv.SendRecvService/GetVariable", "sending",
	false, false };

struct fl_client {
	struct fl_client_opts opts;
	struct fl_rpc_caller caller;
	atomic_uint_fast64_t requests; /* numbers given so far */
	pthread_mutex_t lock;          /* guards targets and creds */
	struct fl_map targets;         /* endpoint to struct fl_rpc_target, in order of first use */
	grpc_channel_credentials *creds; /* NULL until the first endpoint */
};

/* Random, so that a server never takes a restarted trainer's request for a repeated one. */
static uint64_t random_id(void)
{
	uint64_t seed[3] = { 0, (uint64_t)fl_now_ns(), (uint64_t)getpid() };
	FILE *f = fopen("/dev/urandom", "rb");

	if (f) {
		if (fread(seed, sizeof *seed, 1, f) != 1)
			seed[0] = 0;
		fclose(f);
	}
	return fl_hash(seed, sizeof seed);
}

struct fl_client *fl_client_new(const struct fl_client_opts *opts)
{
	struct fl_client *client = FL_NEW(struct fl_client);

	client->opts = *opts;
	client->caller = (struct fl_rpc_caller){ .id = random_id(),
		.trainer_id = opts->trainer_id,
		.fingerprint = opts->fingerprint,
		.deadline_ms = opts->deadline_ms,
		.retry_times = opts->retry_times,
		.log = opts->log,
		.stopped = opts->stopped };
	pthread_mutex_init(&client->lock, NULL);
	fl_map_init(&client->targets);
	return client;
}

void fl_client_free(struct fl_client *client)
{
	if (!client)
		return;
	FL_MAP_EACH (e, &client->targets) {
		struct fl_rpc_target *target = e->value;

		grpc_channel_destroy(target->channel);
		fl_free(target->name);
		fl_free(target);
	}
	fl_map_release(&client->targets);
	if (client->creds) {
		grpc_channel_credentials_release(client->creds);
		fl_grpc_rele();
	}
	pthread_mutex_destroy(&client->lock);
	fl_free(client);
}

/* ---- endpoints ------------------------------------------------------------------------------- */

static enum fl_code make_creds(struct fl_client *client, struct fl_err *err)
{
	const struct fl_client_opts *o = &client->opts;
	grpc_ssl_pem_key_cert_pair pair = { o->tls_key, o->tls_cert };

	if (!o->tls_cert != !o->tls_key)
		return fl_err_set(err, FL_EINVAL, "a TLS certificate and its key go together");
	fl_grpc_hold();
	if (o->tls_ca || o->tls_cert)
		client->creds = grpc_ssl_credentials_create_ex(
			o->tls_ca, o->tls_cert ? &pair : NULL, NULL, NULL);
	else
		client->creds = grpc_insecure_credentials_create();
	if (client->creds)
		return FL_OK;
	fl_grpc_rele();
	return fl_err_set(err, FL_EINVAL, "the TLS certificate or key is not usable");
}

static struct fl_rpc_target *make_target(struct fl_client *client, const char *endpoint)
{
	struct fl_rpc_target *target = FL_NEW(struct fl_rpc_target);
	struct fl_grpc_args args;

	fl_grpc_args_init(&args, 0);
	fl_grpc_args_int(&args, GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
	fl_grpc_args_int(&args, GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
	fl_grpc_args_int(&args, GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5000);
	fl_grpc_args_int(&args, GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
	fl_grpc_args_int(&args, GRPC_ARG_KEEPALIVE_TIME_MS, KEEPALIVE_MS);
	fl_grpc_args_int(&args, GRPC_ARG_KEEPALIVE_TIMEOUT_MS, KEEPALIVE_TIMEOUT_MS);
	fl_grpc_args_int(&args, GRPC_ARG_ENABLE_RETRIES, 0);
	fl_grpc_args_int(&args, GRPC_ARG_ENABLE_HTTP_PROXY, 0);
	target->name = fl_xstrdup(endpoint);
	target->channel = grpc_channel_create(endpoint, client->creds, &args.args);
	return target;
}

static enum fl_code find_target(struct fl_client *client, const char *endpoint,
	struct fl_rpc_target **out, struct fl_err *err)
{
	enum fl_code code = FL_OK;

	pthread_mutex_lock(&client->lock);
	*out = fl_map_get(&client->targets, endpoint);
	if (!*out && !client->creds)
		code = make_creds(client, err);
	if (!*out && !code) {
		*out = make_target(client, endpoint);
		fl_map_put(&client->targets, endpoint, *out);
	}
	pthread_mutex_unlock(&client->lock);
	return code;
}

/* ---- requests -------------------------------------------------------------------------------- */

static enum fl_code fill_request(struct fl_client *client, struct fl_rpc_request *r,
	const struct fl_rpc_kind *kind, const char *endpoint, const char *name, struct fl_err *err)
{
	*r = (struct fl_rpc_request){ .kind = kind, .name = name };
	FL_TRY(find_target(client, endpoint, &r->target, err));
	r->number = atomic_fetch_add(&client->requests, 1);
	r->msg.varname = fl_xstrdup(name);
	return FL_OK;
}

/* Upstream's NeedSend. */
static bool need_send(const struct fl_var *var)
{
	return fl_var_has_value(var) && (var->kind != FL_SELECTED_ROWS || var->rows.n);
}

static enum fl_code send_all(struct fl_client *client, const struct fl_rpc_kind *kind,
	const struct fl_remote *r, size_t n, struct fl_err *err)
{
	struct fl_rpc_request *requests = FL_NEW_N(struct fl_rpc_request, n);
	enum fl_code code = FL_OK;
	size_t count = 0;

	for (size_t i = 0; i < n && !code; i++) {
		struct fl_rpc_request *q = &requests[count];

		if (!need_send(r[i].var))
			continue;
		code = fill_request(client, q, kind, r[i].endpoint, r[i].name, err);
		q->var = r[i].var;
		q->msg.trainer_id = client->opts.trainer_id;
		count++;
	}
	if (!code)
		code = fl_batch_run(&client->caller, requests, count, err);
	for (size_t i = 0; i < count; i++)
		fl_varmsg_release(&requests[i].msg);
	fl_free(requests);
	return code;
}

static enum fl_code host_send(void *arg, const struct fl_remote *r, size_t n, struct fl_err *err)
{
	return send_all(arg, &send_kind, r, n, err);
}

static enum fl_code host_notify(void *arg, const struct fl_remote *r, size_t n, struct fl_err *err)
{
	return send_all(arg, &notify_kind, r, n, err);
}

static enum fl_code host_get(
	void *arg, const struct fl_remote *r, size_t n, bool with_barrier, struct fl_err *err)
{
	struct fl_client *client = arg;
	struct fl_rpc_request *requests = FL_NEW_N(struct fl_rpc_request, n);
	const struct fl_rpc_kind *kind = with_barrier ? &get_kind : &get_now_kind;
	enum fl_code code = FL_OK;

	for (size_t i = 0; i < n && !code; i++) {
		struct fl_rpc_request *q = &requests[i];

		code = fill_request(client, q, kind, r[i].endpoint, r[i].name, err);
		q->var = r[i].var;
		q->msg.trainer_id = client->opts.trainer_id;
		q->msg.out_varname = fl_xstrdup(r[i].local ? r[i].local : r[i].name);
		if (!with_barrier && !code) {
			fl_free(q->msg.varname);
			q->msg.varname = fl_xstrfmt("%s%s", r[i].name, FL_MSG_WITHOUT_BARRIER);
		}
	}
	if (!code)
		code = fl_batch_run(&client->caller, requests, n, err);
	for (size_t i = 0; i < n; i++)
		fl_varmsg_release(&requests[i].msg);
	fl_free(requests);
	return code;
}

/* A name alone, to each endpoint once. */
static enum fl_code signal_all(struct fl_client *client, const struct fl_rpc_kind *kind,
	const char *name, int64_t trainer_id, const char *const *endpoints, size_t n,
	struct fl_err *err)
{
	struct fl_rpc_request *requests = FL_NEW_N(struct fl_rpc_request, n);
	enum fl_code code = FL_OK;
	size_t count = 0;

	for (size_t i = 0; i < n && !code; i++) {
		bool twice = false;

		for (size_t j = 0; j < i; j++)
			twice = twice || !strcmp(endpoints[i], endpoints[j]);
		if (twice)
			continue;
		code = fill_request(client, &requests[count], kind, endpoints[i], name, err);
		requests[count++].msg.trainer_id = trainer_id;
	}
	if (!code)
		code = fl_batch_run(&client->caller, requests, count, err);
	for (size_t i = 0; i < count; i++)
		fl_varmsg_release(&requests[i].msg);
	fl_free(requests);
	return code;
}

/* Upstream sets no trainer id in barriers; ours is in the metadata. */
static enum fl_code host_barrier(
	void *arg, bool batch, const char *const *endpoints, size_t n, struct fl_err *err)
{
	if (batch)
		return signal_all(arg, &signal_kind, FL_MSG_BATCH_BARRIER, 0, endpoints, n, err);
	return signal_all(arg, &fetch_kind, FL_MSG_FETCH_BARRIER, 0, endpoints, n, err);
}

void fl_client_host(struct fl_client *client, struct fl_host *host)
{
	host->arg = client;
	host->send = host_send;
	host->notify = host_notify;
	host->get = host_get;
	host->barrier = host_barrier;
}

enum fl_code fl_client_complete(struct fl_client *client, struct fl_err *err)
{
	const char **endpoints;
	enum fl_code code;
	size_t n = 0;

	pthread_mutex_lock(&client->lock);
	endpoints = FL_NEW_N(const char *, client->targets.live);
	FL_MAP_EACH (e, &client->targets)
		endpoints[n++] = ((struct fl_rpc_target *)e->value)->name;
	pthread_mutex_unlock(&client->lock);
	code = signal_all(
		client, &signal_kind, FL_MSG_COMPLETE, client->opts.trainer_id, endpoints, n, err);
	fl_free(endpoints);
	return code;
}

/* ---- waiting for servers --------------------------------------------------------------------- */

struct wait {
	struct fl_client *client;
	grpc_completion_queue *cq;
	double began;
	bool said; /* which endpoint is awaited, for the current one */
};

static void say_waiting(struct wait *w, const char *endpoint)
{
	char *text;

	if (w->said || fl_now() - w->began < WAITING_AFTER_S)
		return;
	w->said = true;
	text = fl_xstrfmt("waiting for server '%s'", endpoint);
	fl_log_event(w->client->opts.log, FL_LOG_INFO, "waiting", text,
		(struct fl_field[]){ FL_STR("endpoint", endpoint) }, 1);
	fl_free(text);
}

/* Seconds till the next thing is due: the message, the end of the wait, a look for a stop. */
static double patience(const struct wait *w)
{
	double passed = fl_now() - w->began, left = w->client->opts.wait_servers_s - passed;

	if (!w->said && passed < WAITING_AFTER_S && WAITING_AFTER_S - passed < left)
		left = WAITING_AFTER_S - passed;
	if (w->client->opts.stopped && left > FL_RPC_STOP_MS / 1000.)
		left = FL_RPC_STOP_MS / 1000.;
	return left;
}

/* The channel's state, watched rather than asked of the server: stock ones have no health service.
 * It is ready when the server has greeted us in HTTP/2. */
static enum fl_code wait_one(struct wait *w, struct fl_rpc_target *target, struct fl_err *err)
{
	w->said = false;
	for (;;) {
		grpc_connectivity_state state =
			grpc_channel_check_connectivity_state(target->channel, 1);
		double left = patience(w);

		if (state == GRPC_CHANNEL_READY) {
			atomic_store(&target->answered, true);
			return FL_OK;
		}
		say_waiting(w, target->name);
		if (w->client->opts.stopped && w->client->opts.stopped())
			return fl_err_set(err, FL_ECANCELED, "stopped while waiting for server '%s'",
				target->name);
		if (left <= 0)
			return fl_err_set(err, FL_EDEADLINE,
				"server '%s' did not answer within %g s", target->name,
				w->client->opts.wait_servers_s);
		grpc_channel_watch_connectivity_state(target->channel, state,
			gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
				gpr_time_from_millis((int64_t)(left * 1000) + 1, GPR_TIMESPAN)),
			w->cq, w);
		grpc_completion_queue_next(w->cq, gpr_inf_future(GPR_CLOCK_REALTIME), NULL);
	}
}

enum fl_code fl_client_wait(
	struct fl_client *client, const char *const *endpoints, size_t n, struct fl_err *err)
{
	struct wait w = { .client = client, .began = fl_now() };
	struct fl_rpc_target **targets;
	enum fl_code code = FL_OK;

	if (!n)
		return FL_OK;
	targets = FL_NEW_N(struct fl_rpc_target *, n);
	/* All begin to connect before the first is waited for. */
	for (size_t i = 0; i < n && !code; i++) {
		code = find_target(client, endpoints[i], &targets[i], err);
		if (!code)
			grpc_channel_check_connectivity_state(targets[i]->channel, 1);
	}
	if (!code) {
		w.cq = grpc_completion_queue_create_for_next(NULL);
		for (size_t i = 0; i < n && !code; i++)
			code = wait_one(&w, targets[i], err);
		grpc_completion_queue_shutdown(w.cq);
		while (grpc_completion_queue_next(w.cq, gpr_inf_future(GPR_CLOCK_REALTIME), NULL)
				.type != GRPC_QUEUE_SHUTDOWN)
			;
		grpc_completion_queue_destroy(w.cq);
	}
	fl_free(targets);
	return code;
}
