/*
 * rpc/: the server and the client against each other, and against calls made by hand. Port 0
 * everywhere; nothing sleeps: tests wait for what they expect, Check's time limit ends the rest.
 */
#include <check.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/slice.h>
#include <grpc/status.h>
#include <grpc/support/time.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "desc/names.h"
#include "desc/proto.h"
#include "fltest.h"
#include "rpc/bytes.h"
#include "rpc/client.h"
#include "rpc/server.h"
#include "tls_pem.h"

Suite *suite_rpc(void);
const char *__tsan_default_options(void);

/* libgrpc is not instrumented, so what it does in malloc, memcpy and the like looks like races to
 * ThreadSanitizer; our own code is watched in full. Read by the sanitizer, else unused. */
const char *__tsan_default_options(void)
{
	return "ignore_noninstrumented_modules=1";
}

/* ---- a server that keeps variables ----------------------------------------------------------- */

/*
 * Stores what is sent, gives what is asked for. Names with a meaning: "park" waits until "release"
 * is sent; "flaky" is answered UNAVAILABLE twice, then taken; "empty" has an empty reply; "other"
 * one under another name.
 */
struct keeper {
	struct fl_rpc_server *server;
	char address[32];
	pthread_mutex_t lock; /* guards the rest */
	pthread_cond_t changed;
	struct fl_map vars;
	struct fl_rpc_call *parked;
	int n_parked, n_gone, n_closed, flaky_tries, messages;
	char flaky_id[64], peer[64], closed[64], trainer[16];
	enum fl_method method;
};

static void keep(struct keeper *k, struct fl_rpc_call *call)
{
	const char *name = fl_call_msg(call)->varname;
	struct fl_var *var = fl_map_get(&k->vars, name);
	struct fl_err err = { 0 };

	if (!var) {
		var = fl_var_new(name, FL_LOD_TENSOR);
		fl_map_put(&k->vars, name, var);
	}
	if (fl_call_take(call, var, &err))
		fl_call_reply_error(call, fl_rpc_status(err.code), err.msg);
	else if (fl_call_take(call, var, &err) != FL_ESTATE)
		fl_call_reply_error(call, GRPC_STATUS_INTERNAL, "taken twice");
	else
		fl_call_reply_void(call);
}

static void give(struct keeper *k, struct fl_rpc_call *call)
{
	const struct fl_varmsg *m = fl_call_msg(call);
	size_t n = strlen(m->varname), cut = strlen(FL_MSG_WITHOUT_BARRIER);
	char *name = fl_xstrndup(
		m->varname, fl_call_method(call) == FL_GET_VARIABLE_NO_BARRIER ? n - cut : n);
	struct fl_var *var = fl_map_get(&k->vars, name);

	if (!strcmp(name, FL_MSG_FETCH_BARRIER) || !strcmp(name, "empty"))
		fl_call_reply_void(call);
	else if (!var)
		fl_call_reply_error(call, GRPC_STATUS_NOT_FOUND, "no such variable");
	else
		fl_call_reply_var(call, !strcmp(name, "other") ? "another" : m->out_varname, var);
	fl_free(name);
}

static void flaky(struct keeper *k, struct fl_rpc_call *call)
{
	const char *id = fl_call_metadata(call, FL_KEY_REQUEST);

	ck_assert_ptr_nonnull(id);
	if (!k->flaky_tries)
		snprintf(k->flaky_id, sizeof k->flaky_id, "%s", id);
	ck_assert_str_eq(k->flaky_id, id);
	if (k->flaky_tries++ < 2)
		fl_call_reply_error(call, GRPC_STATUS_UNAVAILABLE, "not now");
	else
		fl_call_reply_void(call);
}

static void on_call(void *arg, struct fl_rpc_call *call)
{
	struct keeper *k = arg;
	const char *name = fl_call_msg(call)->varname;
	const char *trainer = fl_call_metadata(call, FL_KEY_TRAINER);

	pthread_mutex_lock(&k->lock);
	k->messages++;
	k->method = fl_call_method(call);
	snprintf(k->peer, sizeof k->peer, "%s", fl_call_peer(call));
	snprintf(k->trainer, sizeof k->trainer, "%s", trainer ? trainer : "");
	if (!strcmp(name, "park")) {
		k->parked = call;
		k->n_parked++;
	} else if (!strcmp(name, "release")) {
		fl_call_reply_var(k->parked, "park", fl_map_get(&k->vars, "w"));
		k->parked = NULL;
		fl_call_reply_void(call);
	} else if (!strcmp(name, "flaky")) {
		flaky(k, call);
	} else if (k->method == FL_GET_VARIABLE || k->method == FL_GET_VARIABLE_NO_BARRIER) {
		give(k, call);
	} else if (strchr(name, '@')) {
		fl_call_reply_void(call);
	} else {
		keep(k, call);
	}
	pthread_cond_broadcast(&k->changed);
	pthread_mutex_unlock(&k->lock);
}

static void on_gone(void *arg, struct fl_rpc_call *call)
{
	struct keeper *k = arg;

	pthread_mutex_lock(&k->lock);
	if (k->parked == call) {
		k->parked = NULL;
		k->n_gone++;
		fl_call_reply_error(call, GRPC_STATUS_CANCELLED, "");
	}
	pthread_cond_broadcast(&k->changed);
	pthread_mutex_unlock(&k->lock);
}

static void on_closed(void *arg, const char *peer)
{
	struct keeper *k = arg;

	pthread_mutex_lock(&k->lock);
	k->n_closed++;
	snprintf(k->closed, sizeof k->closed, "%s", peer);
	pthread_cond_broadcast(&k->changed);
	pthread_mutex_unlock(&k->lock);
}

static struct keeper *keeper_new(struct fl_rpc_server_opts opts)
{
	struct keeper *k = FL_NEW(struct keeper);
	struct fl_rpc_handler handler = { k, on_call, on_gone, on_closed };
	struct fl_err err = { 0 };

	pthread_mutex_init(&k->lock, NULL);
	pthread_cond_init(&k->changed, NULL);
	fl_map_init(&k->vars);
	opts.address = opts.address ? opts.address : "127.0.0.1:0";
	opts.threads = opts.threads ? opts.threads : 2;
	FT_OK(fl_rpc_server_new(&opts, &handler, &k->server, &err));
	snprintf(k->address, sizeof k->address, "127.0.0.1:%d", fl_rpc_server_port(k->server));
	return k;
}

static void keeper_free(struct keeper *k)
{
	fl_rpc_server_free(k->server);
	FL_MAP_EACH (e, &k->vars)
		fl_var_free(e->value);
	fl_map_release(&k->vars);
	pthread_mutex_destroy(&k->lock);
	pthread_cond_destroy(&k->changed);
	fl_free(k);
}

/* Waits until the counter has that value. */
static void await(struct keeper *k, const int *counter, int value)
{
	pthread_mutex_lock(&k->lock);
	while (*counter < value)
		pthread_cond_wait(&k->changed, &k->lock);
	pthread_mutex_unlock(&k->lock);
}

static int count(struct keeper *k, const int *counter)
{
	int n;

	pthread_mutex_lock(&k->lock);
	n = *counter;
	pthread_mutex_unlock(&k->lock);
	return n;
}

static int last_method(struct keeper *k)
{
	int method;

	pthread_mutex_lock(&k->lock);
	method = k->method;
	pthread_mutex_unlock(&k->lock);
	return method;
}

static void assert_text(struct keeper *k, const char *text, const char *want)
{
	pthread_mutex_lock(&k->lock);
	ck_assert_str_eq(text, want);
	pthread_mutex_unlock(&k->lock);
}

/* ---- clients --------------------------------------------------------------------------------- */

static struct fl_client *client_new(int deadline_ms, int retries, struct fl_host *host)
{
	struct fl_client_opts opts = { .trainer_id = 3,
		.deadline_ms = deadline_ms,
		.retry_times = retries,
		.wait_servers_s = 20 };
	struct fl_client *client = fl_client_new(&opts);

	fl_client_host(client, host);
	return client;
}

static struct fl_var *floats(const char *name, int64_t n, float first)
{
	struct fl_var *var = fl_var_new(name, FL_LOD_TENSOR);
	struct fl_err err = { 0 };

	FT_OK(fl_tensor_resize(&var->tensor, FL_FP32, &n, 1, &err));
	for (int64_t i = 0; i < n; i++)
		((float *)fl_data(&var->tensor))[i] = first + (float)(i % 1000);
	return var;
}

/* Sends one variable under a name, or gets one. */
static enum fl_code put(const struct fl_host *host, const struct keeper *k, const char *name,
	struct fl_var *var, struct fl_err *err)
{
	struct fl_remote r = { k->address, name, NULL, var };

	return host->send(host->arg, &r, 1, err);
}

static enum fl_code fetch(const struct fl_host *host, const struct keeper *k, const char *name,
	struct fl_var *var, struct fl_err *err)
{
	struct fl_remote r = { k->address, name, var->name, var };

	return host->get(host->arg, &r, 1, true, err);
}

START_TEST(test_rpc_send_and_get)
{
	struct keeper *k = keeper_new((struct fl_rpc_server_opts){ 0 });
	struct fl_host host = { 0 };
	struct fl_client *client = client_new(20000, 0, &host);
	struct fl_var *w = floats("w", 6, 1), *got = fl_var_new("got", FL_LOD_TENSOR);
	struct fl_remote r = { k->address, "w", "got", got };
	uint64_t lod[] = { 0, 2, 6 };
	struct fl_err err = { 0 };

	FT_OK(fl_lod_push(&w->tensor.lod, lod, 3, &err));
	FT_OK(put(&host, k, "w", w, &err));
	assert_text(k, k->trainer, "3");
	FT_OK(fetch(&host, k, "w", got, &err));
	ck_assert_int_eq(got->tensor.dims[0], 6);
	ck_assert_mem_eq(fl_data(&got->tensor), fl_data(&w->tensor), 24);
	ck_assert(fl_lod_equal(&got->tensor.lod, &w->tensor.lod));
	fl_tensor_clear(&got->tensor);
	FT_OK(host.get(host.arg, &r, 1, false, &err));
	ck_assert_int_eq(last_method(k), FL_GET_VARIABLE_NO_BARRIER);
	ck_assert_mem_eq(fl_data(&got->tensor), fl_data(&w->tensor), 24);
	FT_OK(host.notify(
		host.arg, &(struct fl_remote){ k->address, FL_LR_COUNTER, NULL, w }, 1, &err));
	ck_assert_int_eq(last_method(k), FL_DISTRIBUTE_NOTIFY);
	fl_client_free(client);
	keeper_free(k);
	fl_var_free(w);
	fl_var_free(got);
}
END_TEST

START_TEST(test_rpc_selected_rows)
{
	struct keeper *k = keeper_new((struct fl_rpc_server_opts){ 0 });
	struct fl_host host = { 0 };
	struct fl_client *client = client_new(20000, 0, &host);
	struct fl_var *s = fl_var_new("s", FL_SELECTED_ROWS),
		      *got = fl_var_new("got", FL_LOD_TENSOR);
	int64_t dims[] = { 2, 3 };
	struct fl_err err = { 0 };
	int before;

	s->rows.height = 50;
	FT_OK(fl_tensor_resize(&s->rows.value, FL_FP64, dims, 2, &err));
	memset(fl_data(&s->rows.value), 0x40, 48);
	before = count(k, &k->messages);
	FT_OK(put(&host, k, "s", s, &err)); /* no rows: nothing is sent */
	ck_assert_int_eq(count(k, &k->messages), before);
	fl_selected_rows_resize(&s->rows, 2);
	s->rows.rows[0] = 49;
	s->rows.rows[1] = 0;
	FT_OK(put(&host, k, "s", s, &err));
	FT_OK(fetch(&host, k, "s", got, &err));
	ck_assert_int_eq(got->kind, FL_SELECTED_ROWS);
	ck_assert_int_eq(got->rows.height, 50);
	ck_assert_uint_eq(got->rows.n, 2);
	ck_assert_int_eq(got->rows.rows[0], 49);
	ck_assert_mem_eq(fl_data(&got->rows.value), fl_data(&s->rows.value), 48);
	fl_client_free(client);
	keeper_free(k);
	fl_var_free(s);
	fl_var_free(got);
}
END_TEST

START_TEST(test_rpc_batch_over_two_servers)
{
	struct keeper *k[2] = { keeper_new((struct fl_rpc_server_opts){ 0 }),
		keeper_new((struct fl_rpc_server_opts){ .threads = 1 }) };
	struct fl_host host = { 0 };
	struct fl_client *client = client_new(20000, 0, &host);
	const char *endpoints[] = { k[0]->address, k[1]->address, k[0]->address };
	struct fl_remote r[64];
	struct fl_err err = { 0 };
	char names[64][16];

	FT_OK(fl_client_wait(client, endpoints, 3, &err));
	for (int i = 0; i < 64; i++) {
		snprintf(names[i], sizeof names[i], "v%d", i);
		r[i] = (struct fl_remote){ k[i % 2]->address, names[i], NULL,
			floats(names[i], 100, (float)i) };
	}
	FT_OK(host.send(host.arg, r, 64, &err));
	for (int i = 0; i < 64; i++)
		memset(fl_data(&r[i].var->tensor), 0, 400);
	FT_OK(host.barrier(host.arg, true, endpoints, 3, &err));
	ck_assert_int_eq(count(k[0], &k[0]->messages), 33);
	ck_assert_int_eq(count(k[1], &k[1]->messages), 33);
	FT_OK(host.get(host.arg, r, 64, true, &err));
	FT_OK(host.barrier(host.arg, false, endpoints, 3, &err));
	for (int i = 0; i < 64; i++) {
		ck_assert_float_eq(((float *)fl_data(&r[i].var->tensor))[99], (float)(i + 99));
		fl_var_free(r[i].var);
	}
	FT_OK(fl_client_complete(client, &err));
	ck_assert_int_eq(count(k[0], &k[0]->messages), 33 + 32 + 2);
	fl_client_free(client);
	keeper_free(k[0]);
	keeper_free(k[1]);
}
END_TEST

struct getter {
	const struct fl_host *host;
	struct keeper *k;
	struct fl_var *var;
	enum fl_code code;
	struct fl_err err;
};

static void *get_parked(void *arg)
{
	struct getter *g = arg;

	g->code = fetch(g->host, g->k, "park", g->var, &g->err);
	return NULL;
}

START_TEST(test_rpc_parked_call_is_replied_later)
{
	struct keeper *k = keeper_new((struct fl_rpc_server_opts){ .threads = 1 });
	struct fl_host host = { 0 }, other = { 0 };
	struct fl_client *client = client_new(20000, 0, &host),
			 *second = client_new(20000, 0, &other);
	struct fl_var *w = floats("w", 8, 5), *got = fl_var_new("park", FL_LOD_TENSOR);
	struct getter g = { .host = &host, .k = k, .var = got };
	struct fl_err err = { 0 };
	char first_peer[64];
	pthread_t thread;

	FT_OK(put(&other, k, "w", w, &err));
	pthread_create(&thread, NULL, get_parked, &g);
	await(k, &k->n_parked, 1);
	pthread_mutex_lock(&k->lock);
	memcpy(first_peer, k->peer, sizeof first_peer);
	pthread_mutex_unlock(&k->lock);
	FT_OK(put(&other, k, "release", w, &err));
	pthread_mutex_lock(&k->lock);
	ck_assert_str_ne(first_peer, k->peer); /* each client has a connection of its own */
	pthread_mutex_unlock(&k->lock);
	pthread_join(thread, NULL);
	ck_assert_msg(!g.code, "%s", g.err.msg);
	ck_assert_mem_eq(fl_data(&got->tensor), fl_data(&w->tensor), 32);
	fl_client_free(client);
	fl_client_free(second);
	keeper_free(k);
	fl_var_free(w);
	fl_var_free(got);
}
END_TEST

START_TEST(test_rpc_deadline_and_gone)
{
	struct keeper *k = keeper_new((struct fl_rpc_server_opts){ 0 });
	struct fl_host host = { 0 };
	struct fl_client *client = client_new(200, 3, &host);
	struct fl_var *got = fl_var_new("park", FL_LOD_TENSOR);
	struct fl_err err = { 0 };

	ck_assert_int_eq(fetch(&host, k, "park", got, &err), FL_EDEADLINE);
	ck_assert_msg(strstr(err.msg, k->address) && strstr(err.msg, "'park'") &&
			      strstr(err.msg, "200 ms"),
		"%s", err.msg);
	await(k, &k->n_gone, 1);
	ck_assert_int_eq(count(k, &k->n_parked), 1);
	fl_client_free(client);
	keeper_free(k);
	fl_var_free(got);
}
END_TEST

START_TEST(test_rpc_closed_connection_is_noticed_without_a_parked_call)
{
	struct keeper *k = keeper_new((struct fl_rpc_server_opts){ 0 });
	struct fl_host host = { 0 }, stays = { 0 };
	struct fl_client *client = client_new(20000, 0, &host),
			 *other = client_new(20000, 0, &stays);
	struct fl_var *w = floats("w", 8, 5);
	struct fl_err err = { 0 };

	FT_OK(put(&stays, k, "w", w, &err));
	FT_OK(put(&host, k, "w", w, &err));
	fl_client_free(client);
	await(k, &k->n_closed, 1);
	assert_text(k, k->closed, k->peer);
	ck_assert_int_eq(count(k, &k->n_closed), 1);
	FT_OK(put(&stays, k, "w", w, &err));
	fl_client_free(other);
	await(k, &k->n_closed, 2);
	assert_text(k, k->closed, k->peer);
	keeper_free(k);
	fl_var_free(w);
}
END_TEST

START_TEST(test_rpc_large_message)
{
	struct keeper *k = keeper_new((struct fl_rpc_server_opts){ 0 });
	struct fl_host host = { 0 };
	struct fl_client *client = client_new(60000, 0, &host);
	struct fl_var *w = floats("w", 16 << 20, 1), *got = fl_var_new("got", FL_LOD_TENSOR);
	struct fl_err err = { 0 };

	FT_OK(put(&host, k, "w", w, &err));
	FT_OK(fetch(&host, k, "w", got, &err));
	ck_assert_uint_eq(fl_tensor_bytes(&got->tensor), (size_t)64 << 20);
	ck_assert(!memcmp(fl_data(&got->tensor), fl_data(&w->tensor), (size_t)64 << 20));
	fl_client_free(client);
	keeper_free(k);
	fl_var_free(w);
	fl_var_free(got);
}
END_TEST

START_TEST(test_rpc_receive_limit)
{
	struct keeper *k = keeper_new((struct fl_rpc_server_opts){ .max_message = 100000 });
	struct fl_host host = { 0 };
	struct fl_client *client = client_new(20000, 0, &host);
	struct fl_var *w = floats("w", 20000, 1), *more = floats("w", 30000, 1);
	struct fl_err err = { 0 };

	FT_OK(put(&host, k, "w", w, &err));
	ck_assert_int_eq(put(&host, k, "w", more, &err), FL_EPEER);
	ck_assert_msg(strstr(err.msg, "RESOURCE_EXHAUSTED") != NULL, "%s", err.msg);
	FT_OK(put(&host, k, "w", w, &err));
	fl_client_free(client);
	keeper_free(k);
	fl_var_free(w);
	fl_var_free(more);
}
END_TEST

START_TEST(test_rpc_retries_with_the_same_id)
{
	struct keeper *k = keeper_new((struct fl_rpc_server_opts){ 0 });
	struct fl_host host = { 0 };
	struct fl_client *client = client_new(20000, 2, &host);
	struct fl_var *w = floats("w", 4, 1);
	struct fl_err err = { 0 };

	FT_OK(put(&host, k, "flaky", w, &err));
	ck_assert_int_eq(count(k, &k->flaky_tries), 3);
	fl_client_free(client);
	client = client_new(20000, 1, &host);
	pthread_mutex_lock(&k->lock);
	k->flaky_tries = 0;
	pthread_mutex_unlock(&k->lock);
	ck_assert_int_eq(put(&host, k, "flaky", w, &err), FL_ELOST);
	ck_assert_int_eq(count(k, &k->flaky_tries), 2);
	fl_client_free(client);
	keeper_free(k);
	fl_var_free(w);
}
END_TEST

START_TEST(test_rpc_bad_replies_are_errors)
{
	struct keeper *k = keeper_new((struct fl_rpc_server_opts){ 0 });
	struct fl_host host = { 0 };
	struct fl_client *client = client_new(20000, 0, &host);
	struct fl_var *w = floats("w", 4, 1);
	struct fl_err err = { 0 };

	ck_assert_int_eq(fetch(&host, k, "absent", w, &err), FL_EPEER);
	ck_assert_msg(strstr(err.msg, "NOT_FOUND: no such variable") != NULL, "%s", err.msg);
	ck_assert_int_eq(fetch(&host, k, "empty", w, &err), FL_EPEER);
	ck_assert_msg(strstr(err.msg, "no value for 'empty'") != NULL, "%s", err.msg);
	FT_OK(put(&host, k, "other", w, &err));
	ck_assert_int_eq(fetch(&host, k, "other", w, &err), FL_EPEER);
	ck_assert_msg(strstr(err.msg, "named 'another'") != NULL, "%s", err.msg);
	ck_assert_float_eq(((float *)fl_data(&w->tensor))[3], 4);
	fl_client_free(client);
	keeper_free(k);
	fl_var_free(w);
}
END_TEST

/* ---- a server that dies ---------------------------------------------------------------------- */

/* A process with a server, to be killed. */
struct process {
	pid_t pid;
	int fd; /* it writes its port there, and a byte when a call is parked */
	int port;
};

static void serve_and_tell(int fd)
{
	struct keeper *k = keeper_new((struct fl_rpc_server_opts){ 0 });
	int port = fl_rpc_server_port(k->server);

	if (write(fd, &port, sizeof port) != sizeof port)
		_exit(1);
	await(k, &k->n_parked, 1);
	if (write(fd, "p", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static void process_start(struct process *p)
{
	int fd[2];

	ck_assert_int_eq(pipe(fd), 0);
	p->pid = fork();
	if (!p->pid)
		serve_and_tell(fd[1]);
	close(fd[1]);
	p->fd = fd[0];
	ck_assert_int_eq(read(p->fd, &p->port, sizeof p->port), sizeof p->port);
}

static void *kill_when_parked(void *arg)
{
	struct process *p = arg;
	char byte;

	ck_assert_int_eq(read(p->fd, &byte, 1), 1);
	kill(p->pid, SIGKILL);
	waitpid(p->pid, NULL, 0);
	close(p->fd);
	return NULL;
}

START_TEST(test_rpc_lost_server_is_noticed)
{
	struct keeper away = { 0 };
	struct fl_host host = { 0 };
	struct fl_client *client;
	struct fl_var *got, *w;
	struct fl_err err = { 0 };
	pthread_t thread;
	struct process process;
	double began;

	process_start(&process);
	snprintf(away.address, sizeof away.address, "127.0.0.1:%d", process.port);
	client = client_new(100000, 0, &host);
	got = fl_var_new("park", FL_LOD_TENSOR);
	w = floats("w", 4, 1);
	FT_OK(put(&host, &away, "w", w, &err));
	pthread_create(&thread, NULL, kill_when_parked, &process);
	ck_assert_int_eq(fetch(&host, &away, "park", got, &err), FL_ELOST);
	ck_assert_msg(strstr(err.msg, away.address) != NULL, "%s", err.msg);
	pthread_join(thread, NULL);
	began = fl_now();
	ck_assert_int_eq(put(&host, &away, "w", w, &err), FL_ELOST);
	ck_assert(fl_now() - began < 5);
	fl_client_free(client);
	fl_var_free(got);
	fl_var_free(w);
}
END_TEST

/* A process that reads a port, calls there once, says so, and does nothing more. */
static void call_and_stay(int in, int out)
{
	struct keeper there = { 0 };
	struct fl_host host = { 0 };
	struct fl_client *client;
	struct fl_err err = { 0 };
	int port;

	if (read(in, &port, sizeof port) != sizeof port)
		_exit(1);
	snprintf(there.address, sizeof there.address, "127.0.0.1:%d", port);
	client = client_new(20000, 0, &host);
	if (put(&host, &there, "w", floats("w", 4, 1), &err) || write(out, "c", 1) != 1)
		_exit(1);
	pause();
	fl_client_free(client);
}

START_TEST(test_rpc_server_ends_though_clients_stay)
{
	int to[2], from[2], port;
	struct keeper *k;
	double began;
	pid_t pid;
	char byte;

	ck_assert(!pipe(to) && !pipe(from));
	pid = fork();
	if (!pid)
		call_and_stay(to[0], from[1]);
	k = keeper_new((struct fl_rpc_server_opts){ 0 });
	port = fl_rpc_server_port(k->server);
	ck_assert_int_eq(write(to[1], &port, sizeof port), sizeof port);
	ck_assert_int_eq(read(from[0], &byte, 1), 1);
	/* The client does not poll, so it neither reads the server's farewell nor answers. */
	began = fl_now();
	keeper_free(k);
	ck_assert_msg(fl_now() - began < 2, "%g s", fl_now() - began);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}
END_TEST

/* ---- waiting --------------------------------------------------------------------------------- */

static void note_waiting(void *arg, enum fl_level level, const char *event, const char *text,
	const struct fl_field *fields, size_t n)
{
	(void)level;
	if (!strcmp(event, "waiting") && n == 1)
		snprintf(arg, 128, "%s|%s", text, fields[0].s);
}

START_TEST(test_rpc_wait_names_the_server)
{
	struct keeper *k = keeper_new((struct fl_rpc_server_opts){ 0 });
	char said[128] = "", want[128], dead[32];
	struct fl_log log = { note_waiting, said, FL_LOG_INFO };
	struct fl_client_opts opts = { .deadline_ms = 1000, .wait_servers_s = 2.3, .log = &log };
	struct fl_client *client = fl_client_new(&opts);
	struct fl_err err = { 0 };
	const char *endpoints[] = { k->address, dead };

	FT_OK(fl_client_wait(client, endpoints, 1, &err));
	ck_assert_str_eq(said, "");
	/* A port on which nobody listens: one that was bound and is free again. */
	snprintf(dead, sizeof dead, "127.0.0.1:%d", fl_rpc_server_port(k->server));
	keeper_free(k);
	ck_assert_int_eq(fl_client_wait(client, endpoints + 1, 1, &err), FL_EDEADLINE);
	ck_assert_msg(strstr(err.msg, dead) != NULL, "%s", err.msg);
	snprintf(want, sizeof want, "waiting for server '%s'|%s", dead, dead);
	ck_assert_str_eq(said, want);
	fl_client_free(client);
}
END_TEST

/* Where the client first knocks there is no gRPC; once it has, a server comes to that port. */
struct late {
	int fd; /* listens */
	char address[32];
	struct keeper *k;
};

static void *start_late(void *arg)
{
	struct late *late = arg;
	int knock = accept(late->fd, NULL, NULL);

	ck_assert_int_ge(knock, 0);
	close(knock);
	close(late->fd);
	late->k = keeper_new((struct fl_rpc_server_opts){ .address = late->address });
	return NULL;
}

static void late_listen(struct late *late)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof at;
	int one = 1;

	late->fd = socket(AF_INET, SOCK_STREAM, 0);
	ck_assert_int_eq(setsockopt(late->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one), 0);
	ck_assert_int_eq(bind(late->fd, (struct sockaddr *)&at, sizeof at), 0);
	ck_assert_int_eq(listen(late->fd, 1), 0);
	ck_assert_int_eq(getsockname(late->fd, (struct sockaddr *)&at, &n), 0);
	snprintf(late->address, sizeof late->address, "127.0.0.1:%d", ntohs(at.sin_port));
}

START_TEST(test_rpc_server_that_comes_late_is_waited_for)
{
	struct keeper there = { 0 };
	struct late late;
	struct fl_host host = { 0 };
	struct fl_client *client = client_new(20000, 0, &host);
	struct fl_var *w = floats("w", 4, 1);
	struct fl_err err = { 0 };
	pthread_t thread;

	late_listen(&late);
	memcpy(there.address, late.address, sizeof there.address);
	pthread_create(&thread, NULL, start_late, &late);
	FT_OK(put(&host, &there, "w", w, &err));
	pthread_join(thread, NULL);
	fl_client_free(client);
	keeper_free(late.k);
	fl_var_free(w);
}
END_TEST

/* ---- addresses ------------------------------------------------------------------------------- */

START_TEST(test_rpc_two_servers_on_one_port_are_refused)
{
	struct keeper *k = keeper_new((struct fl_rpc_server_opts){ 0 });
	struct fl_rpc_handler handler = { k, on_call, NULL, NULL };
	struct fl_rpc_server *second = NULL;
	struct fl_rpc_server_opts opts = { .threads = 1 };
	struct fl_err err = { 0 };
	char address[32];

	snprintf(address, sizeof address, "127.0.0.1:%d", fl_rpc_server_port(k->server));
	opts.address = address;
	ck_assert_int_eq(fl_rpc_server_new(&opts, &handler, &second, &err), FL_EIO);
	ck_assert_msg(strstr(err.msg, address) && strstr(err.msg, "in use"), "%s", err.msg);
	opts.address = "127.0.0.1";
	ck_assert_int_eq(fl_rpc_server_new(&opts, &handler, &second, &err), FL_EINVAL);
	opts.address = "127.0.0.1:66000";
	ck_assert_int_eq(fl_rpc_server_new(&opts, &handler, &second, &err), FL_EINVAL);
	opts.address = "nowhere.invalid:0";
	ck_assert_int_eq(fl_rpc_server_new(&opts, &handler, &second, &err), FL_EIO);
	keeper_free(k);
}
END_TEST

START_TEST(test_rpc_tls)
{
	struct fl_rpc_server_opts tls = {
		.tls_cert = tls_server_cert, .tls_key = tls_server_key, .tls_ca = tls_ca
	};
	struct fl_client_opts opts = { .deadline_ms = 20000,
		.wait_servers_s = 20,
		.tls_ca = tls_ca,
		.tls_cert = tls_client_cert,
		.tls_key = tls_client_key };
	struct keeper *k = keeper_new(tls);
	struct fl_client *client = fl_client_new(&opts);
	const char *endpoints[] = { k->address };
	struct fl_var *w = floats("w", 50000, 1), *got = fl_var_new("got", FL_LOD_TENSOR);
	struct fl_host host = { 0 };
	struct fl_err err = { 0 };

	fl_client_host(client, &host);
	FT_OK(fl_client_wait(client, endpoints, 1, &err));
	FT_OK(put(&host, k, "w", w, &err));
	FT_OK(fetch(&host, k, "w", got, &err));
	ck_assert(!memcmp(fl_data(&got->tensor), fl_data(&w->tensor), 200000));
	fl_client_free(client);
	/* Without a certificate, and in plain text, nobody gets in. */
	opts.tls_cert = opts.tls_key = NULL;
	opts.deadline_ms = 1000;
	client = fl_client_new(&opts);
	fl_client_host(client, &host);
	ck_assert_int_ne(put(&host, k, "w", w, &err), FL_OK);
	fl_client_free(client);
	client = client_new(1000, 0, &host);
	ck_assert_int_ne(put(&host, k, "w", w, &err), FL_OK);
	fl_client_free(client);
	ck_assert_int_eq(count(k, &k->messages), 2);
	keeper_free(k);
	fl_var_free(w);
	fl_var_free(got);
}
END_TEST

START_TEST(test_rpc_tls_options_that_do_not_fit)
{
	struct fl_rpc_handler handler = { NULL, on_call, NULL, NULL };
	struct fl_rpc_server_opts opts = { .address = "127.0.0.1:0", .tls_cert = tls_server_cert };
	struct fl_client_opts copts = { .deadline_ms = 1000, .tls_key = tls_client_key };
	struct fl_client *client = fl_client_new(&copts);
	struct fl_rpc_server *server = NULL;
	const char *endpoints[] = { "127.0.0.1:1" };
	struct fl_err err = { 0 };

	ck_assert_int_eq(fl_rpc_server_new(&opts, &handler, &server, &err), FL_EINVAL);
	opts.tls_key = "no key";
	ck_assert_int_ne(fl_rpc_server_new(&opts, &handler, &server, &err), FL_OK);
	ck_assert_int_eq(fl_client_wait(client, endpoints, 1, &err), FL_EINVAL);
	fl_client_free(client);
}
END_TEST

/* ---- calls by hand --------------------------------------------------------------------------- */

struct raw {
	grpc_channel *channel;
	grpc_completion_queue *cq;
	struct fl_bytes reply;
	char *details;
};

static void raw_open(struct raw *raw, const struct keeper *k, const grpc_channel_args *args)
{
	grpc_channel_credentials *creds;

	fl_grpc_hold();
	creds = grpc_insecure_credentials_create();
	*raw = (struct raw){ .channel = grpc_channel_create(k->address, creds, args) };
	grpc_channel_credentials_release(creds);
	raw->cq = grpc_completion_queue_create_for_next(NULL);
}

static void raw_close(struct raw *raw)
{
	fl_bytes_release(&raw->reply);
	fl_free(raw->details);
	grpc_channel_destroy(raw->channel);
	grpc_completion_queue_shutdown(raw->cq);
	while (grpc_completion_queue_next(raw->cq, gpr_inf_future(GPR_CLOCK_REALTIME), NULL).type !=
		GRPC_QUEUE_SHUTDOWN)
		;
	grpc_completion_queue_destroy(raw->cq);
	fl_grpc_rele();
}

/* One call; its status. bytes NULL: no message at all. */
static int raw_call(struct raw *raw, const char *path, const void *bytes, size_t n)
{
	grpc_metadata_array initial, trailing;
	grpc_byte_buffer *message = bytes ? fl_bytes_of(bytes, n) : NULL;
	grpc_status_code status = GRPC_STATUS_OK;
	grpc_slice details = grpc_empty_slice();
	grpc_call *call = grpc_channel_create_call(raw->channel, NULL, GRPC_PROPAGATE_DEFAULTS,
		raw->cq, grpc_slice_from_static_string(path), NULL,
		gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_seconds(10, GPR_TIMESPAN)),
		NULL);
	grpc_op ops[6] = { { .op = GRPC_OP_SEND_INITIAL_METADATA },
		{ .op = GRPC_OP_SEND_CLOSE_FROM_CLIENT }, { .op = GRPC_OP_RECV_INITIAL_METADATA },
		{ .op = GRPC_OP_RECV_MESSAGE }, { .op = GRPC_OP_RECV_STATUS_ON_CLIENT },
		{ .op = GRPC_OP_SEND_MESSAGE } };

	fl_bytes_release(&raw->reply);
	fl_free(raw->details);
	grpc_metadata_array_init(&initial);
	grpc_metadata_array_init(&trailing);
	ops[0].flags = GRPC_INITIAL_METADATA_WAIT_FOR_READY;
	ops[2].data.recv_initial_metadata.recv_initial_metadata = &initial;
	ops[3].data.recv_message.recv_message = &raw->reply.buffer;
	ops[4].data.recv_status_on_client.trailing_metadata = &trailing;
	ops[4].data.recv_status_on_client.status = &status;
	ops[4].data.recv_status_on_client.status_details = &details;
	ops[5].data.send_message.send_message = message;
	ck_assert_int_eq(grpc_call_start_batch(call, ops, bytes ? 6 : 5, raw, NULL), GRPC_CALL_OK);
	grpc_completion_queue_next(raw->cq, gpr_inf_future(GPR_CLOCK_REALTIME), NULL);
	fl_bytes_open(&raw->reply);
	raw->details = fl_slice_str(details);
	grpc_slice_unref(details);
	grpc_metadata_array_destroy(&initial);
	grpc_metadata_array_destroy(&trailing);
	if (message)
		grpc_byte_buffer_destroy(message);
	grpc_call_unref(call);
	return (int)status;
}

#define SEND        "/sendrecv.SendRecvService/SendVariable"
#define GET         "/sendrecv.SendRecvService/GetVariable"
#define CHECK       "/grpc.health.v1.Health/Check"
#define BYTES(text) text, sizeof text - 1

START_TEST(test_rpc_unknown_methods)
{
	struct keeper *k = keeper_new((struct fl_rpc_server_opts){ 0 });
	struct raw raw;

	raw_open(&raw, k, NULL);
	ck_assert_int_eq(
		raw_call(&raw, "/sendrecv.SendRecvService/SendAndRecvVariable", BYTES("\n\1w")),
		GRPC_STATUS_UNIMPLEMENTED);
	ck_assert_int_eq(raw_call(&raw, "/x", BYTES("")), GRPC_STATUS_UNIMPLEMENTED);
	ck_assert_int_eq(raw_call(&raw, SEND, BYTES("\n\022BATCH_BARRIER@RECV")), GRPC_STATUS_OK);
	/* The empty message is a message: a frame of length 0. */
	ck_assert_ptr_nonnull(raw.reply.buffer);
	ck_assert_uint_eq(grpc_byte_buffer_length(raw.reply.buffer), 0);
	raw_close(&raw);
	keeper_free(k);
}
END_TEST

START_TEST(test_rpc_hostile_messages_get_a_status)
{
	struct keeper *k = keeper_new((struct fl_rpc_server_opts){ 0 });
	struct raw raw;

	raw_open(&raw, k, NULL);
	ck_assert_int_eq(raw_call(&raw, SEND, NULL, 0), GRPC_STATUS_INTERNAL);
	ck_assert_int_eq(raw_call(&raw, SEND, BYTES("garbage")), GRPC_STATUS_INTERNAL);
	ck_assert_int_eq(
		raw_call(&raw, GET, BYTES("\n\377\377\377\377\377")), GRPC_STATUS_INTERNAL);
	ck_assert_int_eq(raw_call(&raw, SEND, BYTES("")), GRPC_STATUS_INVALID_ARGUMENT);
	ck_assert_int_eq(raw_call(&raw, SEND, BYTES("\n\1w\030\5\"\1\2B\4abcd")),
		GRPC_STATUS_INVALID_ARGUMENT);
	ck_assert_int_eq(
		raw_call(&raw, SEND,
			BYTES("\n\1w\030\5\"\11\377\377\377\377\377\377\377\377\177B\4abcd")),
		GRPC_STATUS_RESOURCE_EXHAUSTED);
	ck_assert_int_eq(raw_call(&raw, SEND, BYTES("\n\1w\030\5\"\1\1B\4abcd")), GRPC_STATUS_OK);
	ck_assert_int_eq(raw_call(&raw, GET, BYTES("\n\1wR\1v")), GRPC_STATUS_OK);
	ck_assert_uint_eq(grpc_byte_buffer_length(raw.reply.buffer), 14);
	raw_close(&raw);
	keeper_free(k);
}
END_TEST

START_TEST(test_rpc_compressed_messages_are_refused)
{
	struct keeper *k = keeper_new((struct fl_rpc_server_opts){ 0 });
	struct fl_grpc_args args = { .args = { 0, args.at } };
	struct raw raw;
	char zeros[5000] = "";

	fl_grpc_args_int(&args, GRPC_COMPRESSION_CHANNEL_DEFAULT_ALGORITHM, GRPC_COMPRESS_GZIP);
	raw_open(&raw, k, &args.args);
	ck_assert_int_eq(raw_call(&raw, SEND, zeros, sizeof zeros), GRPC_STATUS_UNIMPLEMENTED);
	ck_assert_int_eq(count(k, &k->messages), 0);
	raw_close(&raw);
	keeper_free(k);
}
END_TEST

START_TEST(test_rpc_health)
{
	struct keeper *k = keeper_new((struct fl_rpc_server_opts){ 0 });
	struct raw raw;

	raw_open(&raw, k, NULL);
	ck_assert_int_eq(raw_call(&raw, CHECK, BYTES("")), GRPC_STATUS_OK);
	ck_assert_mem_eq(raw.reply.spans[0].p, "\010\002", 2);
	fl_rpc_server_set_ready(k->server, true);
	ck_assert_int_eq(
		raw_call(&raw, CHECK, BYTES("\n\030sendrecv.SendRecvService")), GRPC_STATUS_OK);
	ck_assert_mem_eq(raw.reply.spans[0].p, "\010\001", 2);
	ck_assert_int_eq(raw_call(&raw, CHECK, BYTES("\n\1x")), GRPC_STATUS_NOT_FOUND);
	ck_assert_int_eq(raw_call(&raw, CHECK, BYTES("\n\5x")), GRPC_STATUS_INTERNAL);
	raw_close(&raw);
	keeper_free(k);
}
END_TEST

/* Many connections, many calls, and a server that ends while clients are there. */
static void *push_many(void *arg)
{
	struct keeper *k = arg;
	struct fl_host host = { 0 };
	struct fl_client *client = client_new(20000, 0, &host);
	struct fl_var *w = floats("w", 500, 1), *got = fl_var_new("got", FL_LOD_TENSOR);
	struct fl_err err = { 0 };

	for (int i = 0; i < 50; i++) {
		FT_OK(put(&host, k, "w", w, &err));
		FT_OK(fetch(&host, k, "w", got, &err));
	}
	fl_client_free(client);
	fl_var_free(w);
	fl_var_free(got);
	return NULL;
}

START_TEST(test_rpc_many_clients)
{
	struct keeper *k = keeper_new((struct fl_rpc_server_opts){ .threads = 3 });
	pthread_t threads[8];

	for (int i = 0; i < 8; i++)
		pthread_create(&threads[i], NULL, push_many, k);
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	ck_assert_int_eq(count(k, &k->messages), 800);
	keeper_free(k);
}
END_TEST

Suite *suite_rpc(void)
{
	Suite *s = suite_create("rpc");
	TCase *t = tcase_create("rpc");

	tcase_set_timeout(t, FT_TIMEOUT);
	tcase_add_test(t, test_rpc_send_and_get);
	tcase_add_test(t, test_rpc_selected_rows);
	tcase_add_test(t, test_rpc_batch_over_two_servers);
	tcase_add_test(t, test_rpc_parked_call_is_replied_later);
	tcase_add_test(t, test_rpc_deadline_and_gone);
	tcase_add_test(t, test_rpc_closed_connection_is_noticed_without_a_parked_call);
	tcase_add_test(t, test_rpc_large_message);
	tcase_add_test(t, test_rpc_receive_limit);
	tcase_add_test(t, test_rpc_retries_with_the_same_id);
	tcase_add_test(t, test_rpc_bad_replies_are_errors);
	tcase_add_test(t, test_rpc_lost_server_is_noticed);
	tcase_add_test(t, test_rpc_server_ends_though_clients_stay);
	tcase_add_test(t, test_rpc_wait_names_the_server);
	tcase_add_test(t, test_rpc_server_that_comes_late_is_waited_for);
	tcase_add_test(t, test_rpc_two_servers_on_one_port_are_refused);
	tcase_add_test(t, test_rpc_tls);
	tcase_add_test(t, test_rpc_tls_options_that_do_not_fit);
	tcase_add_test(t, test_rpc_unknown_methods);
	tcase_add_test(t, test_rpc_hostile_messages_get_a_status);
	tcase_add_test(t, test_rpc_compressed_messages_are_refused);
	tcase_add_test(t, test_rpc_health);
	tcase_add_test(t, test_rpc_many_clients);
	suite_add_tcase(s, t);
	return s;
}
