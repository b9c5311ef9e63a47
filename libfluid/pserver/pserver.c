/*
 * fl_pserver_run: the server on its transport. Everything is made before the port is bound, the
 * port file appears when calls are answered, and the end is in order whatever the reason: what
 * waits is answered, replies go out, files are removed.
 */
#include "pserver/pserver.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "desc/query.h"
#include "pserver/mode.h"

#define TICK_MS 250

/* ---- rpc's calls as requests ----------------------------------------------------------------- */

static enum fl_code take(void *call, struct fl_var *var, struct fl_err *err)
{
	return fl_call_take(call, var, err);
}

static void reply_void(void *call)
{
	fl_call_reply_void(call);
}

static void reply_var(void *call, const char *name, const struct fl_var *var)
{
	fl_call_reply_var(call, name, var);
}

static void reply_error(void *call, int status, const char *text)
{
	fl_call_reply_error(call, status, text);
}

static const struct fl_req_ops rpc_ops = { take, reply_void, reply_var, reply_error };

static void on_call(void *arg, struct fl_rpc_call *call)
{
	struct fl_req *req = fl_req_new(
		&rpc_ops, call, fl_call_method(call), fl_call_msg(call), fl_call_peer(call));
	const char *trainer = fl_call_metadata(call, FL_KEY_TRAINER);
	const char *id = fl_call_metadata(call, FL_KEY_REQUEST);
	const char *fingerprint = fl_call_metadata(call, FL_KEY_FINGERPRINT);
	char *end;

	if (trainer && *trainer >= '0' && *trainer <= '9') {
		req->told_trainer = strtoll(trainer, &end, 10);
		if (*end)
			req->told_trainer = -1;
	}
	if (id) {
		req->request_id = fl_hash(id, strlen(id)) | 1;
		req->client = fl_hash(id, strcspn(id, "-")) | 1;
	}
	if (fingerprint)
		req->fingerprint = strtoull(fingerprint, NULL, 16);
	fl_serv_call(arg, req);
}

static void on_gone(void *arg, struct fl_rpc_call *call)
{
	fl_serv_gone(arg, fl_call_peer(call), false);
}

static void on_closed(void *arg, const char *peer)
{
	fl_serv_gone(arg, peer, true);
}

/* ---- address and files ----------------------------------------------------------------------- */

static bool is_loopback(const char *address)
{
	static const char *const hosts[] = { "localhost:", "[::1]:", "127." };

	for (size_t i = 0; i < FL_COUNT(hosts); i++)
		if (strncmp(address, hosts[i], strlen(hosts[i])) == 0)
			return hosts[i][0] != '1' ||
			       strspn(address, "0123456789.") == strcspn(address, ":");
	return false;
}

static enum fl_code check_address(
	const char *address, const struct fl_pserver_opts *opts, struct fl_err *err)
{
	const char *colon = strrchr(address, ':');
	char *end = NULL;
	long port = colon && colon[1] >= '0' && colon[1] <= '9' ? strtol(colon + 1, &end, 10) : -1;

	if (!colon || colon == address || !end || *end || port > 65535)
		return fl_err_set(err, FL_EINVAL, "'%s' is no address: host:port", address);
	if (is_loopback(address) || opts->tls_cert)
		return FL_OK;
	if (!opts->insecure)
		return fl_err_set(err, FL_EINVAL,
			"'%s' is open to other machines, and nothing is encrypted: give a "
			"certificate (--tls-cert, --tls-key), or --insecure",
			address);
	fl_logf(opts->log, FL_LOG_WARN,
		"'%s' is open to other machines in plain text: whoever reaches it can read and "
		"change the parameters",
		address);
	return FL_OK;
}

static enum fl_code write_files(
	const struct fl_pserver_opts *opts, const char *address, int port, struct fl_err *err)
{
	struct fl_buf b = FL_BUF_INIT;
	enum fl_code code = FL_OK;

	fl_buf_addf(&b, "%d\n", port);
	if (opts->port_file)
		code = fl_file_write(opts->port_file, b.data, b.len, err);
	fl_buf_clear(&b);
	fl_buf_addf(&b, "%.*s:%d\n", (int)(strrchr(address, ':') - address), address, port);
	if (code == FL_OK && opts->ready_file)
		code = fl_file_write(opts->ready_file, b.data, b.len, err);
	fl_buf_release(&b);
	return code;
}

static void remove_files(const struct fl_pserver_opts *opts)
{
	if (opts->port_file)
		unlink(opts->port_file);
	if (opts->ready_file)
		unlink(opts->ready_file);
}

/* ---- the loop -------------------------------------------------------------------------------- */

/* Waits until the server ends by itself, or is asked to. */
static void watch(struct fl_serv *serv, int stop_fd)
{
	struct pollfd fds[2] = { { .fd = serv->wake[0], .events = POLLIN },
		{ .fd = stop_fd, .events = POLLIN } };

	for (;;) {
		int n = poll(fds, 2, TICK_MS);

		if (n < 0 && errno != EINTR)
			return;
		if (n > 0 && (fds[0].revents || fds[1].revents))
			return;
		fl_serv_tick(serv, fl_now());
	}
}

static void say_start(const struct fl_serv *serv, const char *address)
{
	const struct fl_table *t = &serv->table;
	char *text = fl_xstrfmt("%s server for %d trainer%s: %zu variables received, %zu blocks",
		serv->mode->name, serv->trainers.fanin, serv->trainers.fanin == 1 ? "" : "s",
		t->n_grads, t->n_blocks);

	fl_log_event(serv->log, FL_LOG_INFO, "start", text,
		(struct fl_field[]){ FL_STR("role", "pserver"), FL_STR("mode", serv->mode->name),
			FL_STR("address", address), FL_INT("trainers", serv->trainers.fanin),
			FL_INT("gradients", t->n_grads), FL_INT("blocks", t->n_blocks) },
		6);
	fl_free(text);
}

static void say_ready(const struct fl_serv *serv, const char *address, int port)
{
	char *text = fl_xstrfmt(
		"listening on %.*s:%d", (int)(strrchr(address, ':') - address), address, port);

	fl_log_event(serv->log, FL_LOG_INFO, "ready", text,
		(struct fl_field[]){ FL_INT("port", port), FL_STR("address", address) }, 2);
	fl_free(text);
}

static void say_done(struct fl_serv *serv, double seconds)
{
	int64_t rounds, updates;
	char *text;

	pthread_mutex_lock(&serv->lock);
	serv->mode->count(serv, &rounds, &updates);
	pthread_mutex_unlock(&serv->lock);
	text = fl_xstrfmt("%s: %" PRId64 " rounds, %" PRId64 " updates in %.1f s", serv->end.msg,
		rounds, updates, seconds);
	fl_log_event(serv->log, FL_LOG_INFO, "done", text,
		(struct fl_field[]){ FL_INT("rounds", rounds), FL_INT("updates", updates),
			FL_NUM("seconds", seconds) },
		3);
	fl_free(text);
}

static enum fl_code serve(struct fl_serv *serv, const char *address,
	const struct fl_pserver_opts *opts, struct fl_err *err)
{
	struct fl_rpc_handler handler = {
		.arg = serv, .call = on_call, .gone = on_gone, .closed = on_closed
	};
	struct fl_rpc_server_opts ropts = { .address = address,
		.max_message = serv->table.max_message,
		.threads = opts->threads < 1 ? 1 : opts->threads,
		.log = opts->log,
		.tls_cert = opts->tls_cert,
		.tls_key = opts->tls_key,
		.tls_ca = opts->tls_ca };
	struct fl_rpc_server *rpc = NULL;
	double began = fl_now();
	enum fl_code code;

	say_start(serv, address);
	FL_TRY(fl_rpc_server_new(&ropts, &handler, &rpc, err));
	code = write_files(opts, address, fl_rpc_server_port(rpc), err);
	if (code == FL_OK) {
		fl_rpc_server_set_ready(rpc, true);
		say_ready(serv, address, fl_rpc_server_port(rpc));
		watch(serv, opts->stop_fd);
	}
	fl_serv_stop(serv, FL_ECANCELED, "it was asked to stop");
	fl_rpc_server_set_ready(rpc, false);
	fl_rpc_server_free(rpc);
	remove_files(opts);
	if (code != FL_OK)
		return code;
	if (serv->end.code == FL_OK || serv->end.code == FL_ECANCELED)
		say_done(serv, fl_now() - began);
	return serv->end.code == FL_OK ? FL_OK
				       : fl_err_set(err, serv->end.code, "%s", serv->end.msg);
}

enum fl_code fl_pserver_run(const struct fl_program *prog, const fl_pb_op *listen_and_serv,
	struct fl_scope *scope, const struct fl_exec_env *env, const struct fl_pserver_opts *opts,
	struct fl_err *err)
{
	const char *address =
		opts->address ? opts->address : fl_attr_str(listen_and_serv, "endpoint", "");
	struct fl_serv *serv;
	enum fl_code code;

	FL_TRY(check_address(address, opts, err));
	FL_TRY(fl_serv_new(prog, listen_and_serv, scope, env, opts, &serv, err));
	code = serve(serv, address, opts, err);
	fl_serv_free(serv);
	return code;
}
