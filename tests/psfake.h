/* A server without a transport: programs made by hand, calls made by the test. */
#ifndef TESTS_PSFAKE_H
#define TESTS_PSFAKE_H

#include <check.h>
#include <pthread.h>

#include "desc/program.h"
#include "pserver/mode.h"

/* How the program of a fake server looks: variables p0, p1, ... of `n` floats, all zero, with
 * gradients pK@GRAD; an sgd block each, rate 1; synchronous ones sum and scale by 1/fanin. */
struct fake_plan {
	int fanin;
	bool sync;
	int params;
	int64_t n;
	bool shared;     /* all gradients change p0 */
	bool sum_suffix; /* one trainer: X lists p0@GRAD, the block sums p0@GRAD.trainer_0 */
	bool continue_on_lost;
	int threads; /* of the pool; 0: 2 */
	const struct fl_log *log;
};

struct fake {
	struct fl_program *prog;
	struct fl_scope *scope;
	struct fl_pool *pool;
	struct fl_exec_env env;
	struct fl_pserver_opts opts;
	struct fl_serv *serv;
	const fl_pb_op *op;
	struct fake_plan plan;
	uint64_t client; /* of the calls from now on; 0: they do not say */
};

/* One call and what became of it. */
struct fake_call {
	struct fl_varmsg msg;
	struct fl_var *payload; /* owned */
	struct fl_var *reply;   /* owned: a view of what was replied; NULL none */
	bool done;
	int status;
	char text[FL_ERR_MAX];
};

/* Program, scope and options alone: f->serv stays NULL. */
void fake_make(struct fake *f, struct fake_plan plan);
void fake_start(struct fake *f, struct fake_plan plan);
/* Stops the server (if it has not ended) and frees all. */
void fake_stop(struct fake *f);
/* A variable of n floats, all `value`; owned by the caller. */
struct fl_var *fake_var(const char *name, int64_t n, float value);
/* Has the server ended by itself? With which code? */
bool fake_ended(struct fake *f, enum fl_code *code);

/* Makes a call over connection `peer`. trainer -1: field 12 absent. value: n floats of that size,
 * NULL none. The call is owned by the test (fake_free). */
struct fake_call *fake_send(struct fake *f, const char *peer, int trainer, const char *name,
	const float *value, int64_t n);
/* All elements are `value`. */
struct fake_call *fake_fill(
	struct fake *f, const char *peer, int trainer, const char *name, float value);
struct fake_call *fake_get(struct fake *f, const char *peer, int trainer, const char *name);
struct fake_call *fake_call_any(struct fake *f, enum fl_method method, const char *peer,
	int trainer, const char *name, struct fl_var *payload, uint64_t request_id);
/* Rows of a table; the numbers are int64. */
struct fake_call *fake_prefetch(
	struct fake *f, const char *peer, const char *table, const int64_t *ids, int64_t n);
bool fake_done(struct fake_call *c);
/* Waits until it is answered; fails the test after 20 s. */
void fake_wait(struct fake_call *c);
void fake_free(struct fake_call *c);

/* Waits, checks that it was answered without error, frees. */
void fake_ok(struct fake_call *c);
/* The same for a Get: the first element of its value; all elements must be equal. */
float fake_value(struct fake_call *c);
/* Waits, checks the status, frees. */
void fake_refused(struct fake_call *c, int status, const char *part_of_text);

#define BATCH    "BATCH_BARRIER@RECV"
#define FETCH    "FETCH_BARRIER@RECV"
#define COMPLETE "COMPLETE@RECV"

#endif
