/*
 * The server's state that both loops share, and the seam between them. sync.c and async.c each
 * export one struct fl_serv_mode; the attribute of listen_and_serv picks it, nothing else differs.
 *
 * Locks, in this order, never the other way: serv->lock, then a mode's own, then a gradient's.
 * Replies are made under none of them.
 */
#ifndef FL_PSERVER_MODE_H
#define FL_PSERVER_MODE_H

#include "pserver/pserver.h"
#include "pserver/table.h"
#include "pserver/trainers.h"

struct fl_serv;

struct fl_serv_mode {
	const char *name;
	size_t state_size; /* of serv->state, zeroed */
	/* Makes what the loop needs; all of it before the first call. */
	enum fl_code (*init)(struct fl_serv *serv, struct fl_err *err);
	void (*release)(struct fl_serv *serv);
	/* A request is in; from several threads at a time, under no lock. */
	void (*call)(struct fl_serv *serv, struct fl_req *req);
	/* Under serv->lock: the set of live trainers got smaller. What can be answered now goes to
	 * *out. */
	void (*shrunk)(struct fl_serv *serv, struct fl_reqs *out);
	/* Under serv->lock, some times a second: says what is being waited for. */
	void (*tick)(struct fl_serv *serv, double now);
	/* Under serv->lock: moves every call that waits to *out. */
	void (*drain)(struct fl_serv *serv, struct fl_reqs *out);
	/* Under serv->lock: rounds and updates so far. */
	void (*count)(struct fl_serv *serv, int64_t *rounds, int64_t *updates);
};

extern const struct fl_serv_mode fl_serv_sync, fl_serv_async;

struct fl_serv {
	const struct fl_serv_mode *mode;
	void *state; /* owned: the mode's */
	const struct fl_log *log;
	struct fl_exec_env env;
	struct fl_pool *pool;
	bool own_pool;
	struct fl_table table;
	bool continue_on_lost;
	uint64_t fingerprint; /* of the program's transpilation; 0: the program has no record */
	double grace; /* seconds that a gone connection may take to come back */

	pthread_mutex_t lock;
	struct fl_trainers trainers; /* guarded by lock */
	bool ending;                 /* guarded by lock: nothing is begun any more */
	struct fl_err end;           /* guarded by lock: why; code OK: all trainers completed */
	int tasks;                   /* guarded by lock: submitted and not yet over */
	pthread_cond_t idle;         /* tasks became 0 */
	int wake[2];                 /* a pipe: readable once ending */
};

/* The server of that operator, without a transport: all tables are made. EINVAL, EUNSUPPORTED: what
 * the program asks for and cannot be had. Borrowed: prog, op, scope, env, opts. */
enum fl_code fl_serv_new(const struct fl_program *prog, const fl_pb_op *op, struct fl_scope *scope,
	const struct fl_exec_env *env, const struct fl_pserver_opts *opts, struct fl_serv **out,
	struct fl_err *err);
/* After fl_serv_stop. */
void fl_serv_free(struct fl_serv *serv);

/* A request is in; it is answered now or later, and then freed. From any thread. */
void fl_serv_call(struct fl_serv *serv, struct fl_req *req);
/* The connection is closed, or (closed false) a call over it was given up by its client, which may
 * still come again. From any thread. */
void fl_serv_gone(struct fl_serv *serv, const char *peer, bool closed);
/* To be called some times a second: who is awaited, who is lost. `now` is fl_now()'s time. */
void fl_serv_tick(struct fl_serv *serv, double now);
/* Ends it for the given reason (the first one counts), answers what waits, and waits for what
 * runs. Calls that come later are refused. */
void fl_serv_stop(struct fl_serv *serv, enum fl_code code, const char *why);

/* ---- for the modes --------------------------------------------------------------------------- */

/* Under serv->lock: the server is to end; fl_pserver_run's loop wakes up. */
void fl_serv_end(struct fl_serv *serv, enum fl_code code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Runs fn(arg) on the pool; fn must call fl_serv_done last. Under serv->lock. */
void fl_serv_submit(struct fl_serv *serv, void (*fn)(void *arg), void *arg);
void fl_serv_done(struct fl_serv *serv);
/* Under serv->lock: answers COMPLETE of a known trainer; ends the server after the last. True when
 * the set of live trainers got smaller. */
bool fl_serv_complete(struct fl_serv *serv, struct fl_req *req);
/* Answers a Get or a prefetch from the scope. */
void fl_serv_give(struct fl_serv *serv, struct fl_req *req);
/* Decodes the row numbers of a prefetch; under no lock. False: refused. */
bool fl_prefetch_take(struct fl_req *req);
/* Answers it with the rows. */
void fl_prefetch_give(struct fl_serv *serv, struct fl_req *req);
/* The answer of all calls while the server ends. */
void fl_serv_refuse_ending(struct fl_req *req);

#endif
