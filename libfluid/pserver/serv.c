/* The server without its transport: what both loops share. */
#include "pserver/mode.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "desc/fingerprint.h"
#include "desc/query.h"

/* A connection that is gone may come back within this: a trainer reconnects with its next call. */
#define GRACE_S 5.0

/* Sync or async, by distributed_mode, in older programs by sync_mode (runtime.md 4.1). */
static const struct fl_serv_mode *mode_of(const fl_pb_op *op)
{
	if (fl_op_attr(op, "distributed_mode"))
		return fl_attr_int(op, "distributed_mode", 0) == 0 ? &fl_serv_sync : &fl_serv_async;
	return fl_attr_bool(op, "sync_mode", true) ? &fl_serv_sync : &fl_serv_async;
}

static enum fl_code check_op(const fl_pb_op *op, struct fl_err *err)
{
	int64_t fanin = fl_attr_int(op, "Fanin", 1);

	if (fanin < 1 || fanin > 100000)
		return fl_err_set(err, FL_EINVAL, "'listen_and_serv' has Fanin %" PRId64, fanin);
	if (fl_attr_bool(op, "dc_asgd", false))
		return fl_err_set(err, FL_EUNSUPPORTED,
			"'listen_and_serv' asks for dc_asgd, which this server does not offer");
	if (fl_attr_int(op, "distributed_mode", 0) == 3)
		return fl_err_set(err, FL_EUNSUPPORTED,
			"'listen_and_serv' asks for geo mode, which this server does not offer");
	return FL_OK;
}

static enum fl_code make_pipe(int fds[2], struct fl_err *err)
{
	if (pipe(fds) < 0)
		return fl_err_set(err, FL_EIO, "a pipe: %s", strerror(errno));
	for (int i = 0; i < 2; i++) {
		fcntl(fds[i], F_SETFD, FD_CLOEXEC);
		fcntl(fds[i], F_SETFL, O_NONBLOCK);
	}
	return FL_OK;
}

/* A record that cannot be read is none: only our own programs have one at all. */
static uint64_t fingerprint_of(const struct fl_program *prog)
{
	struct fl_fingerprint fp;
	struct fl_err ignored;

	return fl_fingerprint_get(prog, &fp, &ignored) == FL_OK ? fp.hash : 0;
}

static enum fl_code serv_init(struct fl_serv *serv, const struct fl_program *prog,
	const fl_pb_op *op, struct fl_scope *scope, const struct fl_exec_env *env,
	const struct fl_pserver_opts *opts, struct fl_err *err)
{
	FL_TRY(check_op(op, err));
	FL_TRY(make_pipe(serv->wake, err));
	serv->log = opts->log;
	serv->env = *env;
	serv->own_pool = !env->pool;
	serv->pool = env->pool ? env->pool : fl_pool_new(opts->threads);
	serv->env.pool = serv->pool;
	serv->continue_on_lost = opts->continue_on_lost;
	serv->grace = GRACE_S;
	serv->fingerprint = fingerprint_of(prog);
	fl_trainers_init(&serv->trainers, (int)fl_attr_int(op, "Fanin", 1));
	FL_TRY(fl_table_init(&serv->table, prog, op, scope, &serv->env, err));
	serv->mode = mode_of(op);
	serv->state = fl_xcalloc(1, serv->mode->state_size);
	return serv->mode->init(serv, err);
}

enum fl_code fl_serv_new(const struct fl_program *prog, const fl_pb_op *op, struct fl_scope *scope,
	const struct fl_exec_env *env, const struct fl_pserver_opts *opts, struct fl_serv **out,
	struct fl_err *err)
{
	struct fl_serv *serv = FL_NEW(struct fl_serv);
	enum fl_code code;

	serv->wake[0] = serv->wake[1] = -1;
	pthread_mutex_init(&serv->lock, NULL);
	pthread_cond_init(&serv->idle, NULL);
	code = serv_init(serv, prog, op, scope, env, opts, err);
	if (code != FL_OK)
		fl_serv_free(serv);
	else
		*out = serv;
	return code;
}

void fl_serv_free(struct fl_serv *serv)
{
	if (!serv)
		return;
	if (serv->own_pool)
		fl_pool_free(serv->pool);
	if (serv->state)
		serv->mode->release(serv);
	fl_free(serv->state);
	fl_table_release(&serv->table);
	fl_trainers_release(&serv->trainers);
	for (int i = 0; i < 2; i++)
		if (serv->wake[i] >= 0)
			close(serv->wake[i]);
	pthread_cond_destroy(&serv->idle);
	pthread_mutex_destroy(&serv->lock);
	fl_free(serv);
}

void fl_serv_call(struct fl_serv *serv, struct fl_req *req)
{
	struct fl_reqs out = { NULL, NULL, 0 };

	if (!serv->fingerprint || !req->fingerprint || serv->fingerprint == req->fingerprint) {
		serv->mode->call(serv, req);
		return;
	}
	fl_req_refuse(req, FL_STATUS_FAILED_PRECONDITION,
		"the trainer's program is of another transpilation (fingerprint %016" PRIx64
		") than this server's (%016" PRIx64
		"); transpile once, and give every role its programs of that", req->fingerprint,
		serv->fingerprint);
	fl_reqs_push(&out, req);
	fl_reqs_reply(&out);
}

/* ---- tasks and the end ----------------------------------------------------------------------- */

void fl_serv_submit(struct fl_serv *serv, void (*fn)(void *arg), void *arg)
{
	serv->tasks++;
	fl_pool_submit(serv->pool, fn, arg);
}

void fl_serv_done(struct fl_serv *serv)
{
	pthread_mutex_lock(&serv->lock);
	if (--serv->tasks == 0)
		pthread_cond_broadcast(&serv->idle);
	pthread_mutex_unlock(&serv->lock);
}

void fl_serv_end(struct fl_serv *serv, enum fl_code code, const char *fmt, ...)
{
	va_list ap;

	if (serv->ending)
		return;
	serv->ending = true;
	serv->end.code = code;
	va_start(ap, fmt);
	vsnprintf(serv->end.msg, sizeof serv->end.msg, fmt, ap);
	va_end(ap);
	/* The pipe is empty: one byte always fits. */
	if (write(serv->wake[1], "", 1) < 0)
		FL_BUG("a full pipe");
}

void fl_serv_refuse_ending(struct fl_req *req)
{
	fl_req_refuse(req, FL_STATUS_UNAVAILABLE, "the server ends");
}

/* All trainers completed: what runs is let run out first. Else what waits is refused first. */
void fl_serv_stop(struct fl_serv *serv, enum fl_code code, const char *why)
{
	struct fl_reqs out = { NULL, NULL, 0 };

	pthread_mutex_lock(&serv->lock);
	fl_serv_end(serv, code, "%s", why);
	if (serv->end.code != FL_OK)
		serv->mode->drain(serv, &out);
	while (serv->tasks)
		pthread_cond_wait(&serv->idle, &serv->lock);
	serv->mode->drain(serv, &out);
	for (struct fl_req *req = out.head; req; req = req->next)
		if (serv->end.code != FL_OK)
			fl_req_refuse(
				req, FL_STATUS_UNAVAILABLE, "the server ends: %s", serv->end.msg);
	pthread_mutex_unlock(&serv->lock);
	fl_reqs_reply(&out);
}

/* ---- for both loops -------------------------------------------------------------------------- */

bool fl_serv_complete(struct fl_serv *serv, struct fl_req *req)
{
	struct fl_trainer *t = fl_trainer_real(req->trainer);
	struct fl_buf who = FL_BUF_INIT;
	struct fl_field field = FL_INT("trainer", t->id);

	if (t->completed)
		return false;
	t->completed = true;
	fl_trainer_describe(t, &who);
	fl_buf_addf(&who, " has completed, %d to go", fl_trainers_live(&serv->trainers));
	fl_log_event(serv->log, FL_LOG_INFO, "completed", fl_buf_str(&who), &field, 1);
	fl_buf_release(&who);
	if (fl_trainers_live(&serv->trainers) == 0)
		fl_serv_end(serv, FL_OK, "all trainers have completed");
	return true;
}

void fl_serv_give(struct fl_serv *serv, struct fl_req *req)
{
	if (req->kind == FL_REQ_PREFETCH)
		fl_prefetch_give(serv, req);
	else if (req->msg->table_name && *req->msg->table_name)
		fl_req_refuse(req, FL_STATUS_UNIMPLEMENTED,
			"'%s': a table's changed rows (geo) are not offered by this server",
			req->name);
	else
		fl_req_give(req, fl_scope_find(serv->table.scope, req->name));
}
