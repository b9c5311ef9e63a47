/*
 * The synchronous loop: numbered rounds, sets of trainers, parked calls (runtime.md 5).
 *
 *   START  nothing has come yet. The first message decides: a Get or FETCH_BARRIER begins round 0,
 *          in which the trainers fetch the initial parameters; a gradient begins round 1.
 *   SEND   gradients of this round are stored, the last one of a name wins; BATCH_BARRIER marks its
 *          trainer. When all live ones are marked:
 *   RUN    the learning-rate block, then groups of optimize blocks with equal parent, the blocks of
 *          a group in parallel on the pool.
 *   GET    parameters are given; FETCH_BARRIER marks its trainer. When all live ones are marked the
 *          next round's SEND begins.
 *
 * What is early is parked in order of arrival and looked at again when the phase turns; nothing
 * blocks a thread. What is late or comes twice is answered and changes nothing. As in 1.8.5 a
 * BATCH_BARRIER is answered at once and Gets wait for the round; unlike it, a gradient of a trainer
 * that has left is absent from the sum instead of frozen in it (5.5), and a dense variable that
 * nobody sent in a round gets no update instead of the last one again.
 */
#include "pserver/mode.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/mem.h"
#include "desc/query.h"

enum phase { START, SEND, RUN, GET };

/* A round that takes longer than this says whom it waits for, then again every so often. */
#define WAIT_S       3.0
#define WAIT_AGAIN_S 15.0
#define INFO_S       10.0

struct job {
	struct sync *s;
	struct fl_block *block;
};

struct sync {
	struct fl_serv *serv;
	struct job *jobs;  /* owned; one a block, in the order in which they run */
	size_t *group_end; /* owned; job number behind each group */
	size_t n_groups;
	/* Guarded by serv->lock: */
	enum phase phase;
	int64_t round; /* that SEND collects, RUN computes, GET serves */
	bool initial;  /* there was a round 0 */
	double since;  /* when the phase began */
	double first;  /* when the first trainer arrived in it; 0: none has */
	double told;   /* when "waiting" was last said; 0: not in this phase */
	double info;   /* when "round" was last said at level info */
	struct fl_reqs parked;
	size_t group, left; /* of RUN: group that runs, its jobs that are not over */
	int64_t rounds, updates;
};

static void admit(struct sync *s, struct fl_req *req, struct fl_reqs *out);
static void run_group(struct sync *s);
static void end_run(struct sync *s, struct fl_reqs *out);

/* ---- phases ---------------------------------------------------------------------------------- */

static void enter(struct sync *s, enum phase phase, int64_t round, struct fl_reqs *out)
{
	struct fl_reqs again = s->parked;
	struct fl_req *req;

	s->phase = phase;
	s->round = round;
	s->since = fl_now();
	s->first = s->told = 0;
	s->parked = (struct fl_reqs){ NULL, NULL, 0 };
	while ((req = fl_reqs_pop(&again)))
		admit(s, req, out);
}

/* Gradients of those who left before they had sent everything are no part of the round. */
static void drop_departed(struct sync *s, struct fl_err *err)
{
	struct fl_trainers *ts = &s->serv->trainers;

	for (size_t i = 0; i < ts->n; i++) {
		const struct fl_trainer *t = ts->at[i];

		if (t->into || t->id < 0 || fl_trainer_live(t) || fl_trainer_sent(t, s->round))
			continue;
		for (size_t j = 0; j < s->serv->table.n_grads; j++) {
			struct fl_grad *g = &s->serv->table.grads[j];

			if (g->trainer != t->id || !g->arrived)
				continue;
			g->arrived = false;
			fl_grad_clear(g, err);
		}
	}
}

static void begin_run(struct sync *s, struct fl_reqs *out)
{
	struct fl_err err = { 0 };

	s->phase = RUN;
	s->since = fl_now();
	s->group = 0;
	drop_departed(s, &err);
	if (err.code)
		fl_serv_end(s->serv, err.code, "round %" PRId64 ": %s", s->round, err.msg);
	else if (s->n_groups)
		run_group(s);
	else
		end_run(s, out);
}

/* Turns the phase as long as all live trainers have arrived. */
static void advance(struct sync *s, struct fl_reqs *out)
{
	const struct fl_trainers *ts = &s->serv->trainers;

	while (!s->serv->ending) {
		if (s->phase == SEND && fl_trainers_all(ts, fl_trainer_sent, s->round)) {
			begin_run(s, out);
			return;
		}
		if (s->phase != GET || !fl_trainers_all(ts, fl_trainer_fetched, s->round))
			return;
		enter(s, SEND, s->round + 1, out);
	}
}

static void say_round(struct sync *s, double seconds)
{
	const struct fl_log *log = s->serv->log;
	bool info = s->since - s->info >= INFO_S;
	char text[96];
	struct fl_field fields[] = { FL_INT("round", s->round), FL_INT("updates", s->updates),
		FL_NUM("seconds", seconds),
		FL_INT("trainers", fl_trainers_live(&s->serv->trainers)) };

	if (info)
		s->info = s->since;
	snprintf(text, sizeof text, "round %" PRId64 " computed in %.3f s", s->round, seconds);
	fl_log_event(
		log, info ? FL_LOG_INFO : FL_LOG_DEBUG, "round", text, fields, FL_COUNT(fields));
}

static void end_run(struct sync *s, struct fl_reqs *out)
{
	double began = s->since;
	struct fl_err err = { 0 };

	for (size_t i = 0; i < s->serv->table.n_grads; i++) {
		struct fl_grad *g = &s->serv->table.grads[i];

		if (g->arrived && fl_grad_clear(g, &err) != FL_OK)
			fl_serv_end(s->serv, err.code, "%s", err.msg);
		g->arrived = false;
	}
	s->rounds++;
	enter(s, GET, s->round, out);
	say_round(s, s->since - began);
	advance(s, out);
}

/* ---- computing ------------------------------------------------------------------------------- */

/* Shows the block the gradients that are there. One whose gradients are all absent makes no update:
 * false. */
static bool bind(const struct fl_block *b)
{
	bool any = b->n_grads == 0;

	for (size_t i = 0; i < b->n_grads; i++) {
		struct fl_grad *g = b->grads[i];
		bool there = fl_var_has_value(g->var);

		if (g->slot >= 0)
			fl_frame_rebind(b->frame, g->slot, there ? g->var : NULL);
		any |= there;
	}
	return any;
}

static void run_job(void *arg)
{
	struct job *job = arg;
	struct sync *s = job->s;
	struct fl_serv *serv = s->serv;
	struct fl_err err = { 0 };
	struct fl_reqs out = { NULL, NULL, 0 };
	bool work = bind(job->block);

	if (work)
		fl_frame_run(job->block->frame, &err);
	pthread_mutex_lock(&serv->lock);
	if (err.code)
		fl_serv_end(serv, err.code, "round %" PRId64 ": %s", s->round, err.msg);
	s->updates += work && !err.code && job->block->n_grads;
	if (--s->left == 0 && !serv->ending) {
		if (++s->group < s->n_groups)
			run_group(s);
		else
			end_run(s, &out);
	}
	pthread_mutex_unlock(&serv->lock);
	fl_reqs_reply(&out);
	fl_serv_done(serv);
}

static void run_group(struct sync *s)
{
	size_t begin = s->group ? s->group_end[s->group - 1] : 0, end = s->group_end[s->group];

	s->left = end - begin;
	for (size_t i = begin; i < end; i++)
		fl_serv_submit(s->serv, run_job, &s->jobs[i]);
}

/* ---- requests -------------------------------------------------------------------------------- */

static void park(struct sync *s, struct fl_req *req)
{
	fl_reqs_push(&s->parked, req);
}

/* The value becomes this round's; the one that it replaces goes back to the spares. */
static void store(struct fl_req *req, struct fl_reqs *out)
{
	fl_grad_swap(req->grad, req->var);
	fl_grad_recycle(req->grad, req->var);
	req->var = NULL;
	req->grad->arrived = true;
	fl_reqs_push(out, req);
}

static void admit_grad(struct sync *s, struct fl_req *req, struct fl_reqs *out)
{
	struct fl_trainer *t = fl_trainer_real(req->trainer);

	switch (s->phase) {
	case START:
	case SEND:
		t->ever_sent = true;
		/* Who has sent his barrier means the next round; where trainers share a connection
		 * the barrier may have been another's. */
		if (fl_trainer_live(t) && fl_trainer_sent(t, s->round) &&
			!fl_trainers_shared(&s->serv->trainers, t))
			park(s, req);
		else
			store(req, out);
		break;
	case GET:
		/* Some begin by sending: they want no initial parameters. */
		if (s->round == 0 && !t->ever_sent && t->fetched_round < 0)
			t->fetched_round = 0;
		park(s, req);
		break;
	case RUN: park(s, req); break;
	}
}

/* Whose next message a BATCH_BARRIER can be. */
static bool may_batch(const struct fl_trainer *t, int64_t round)
{
	return !fl_trainer_sent(t, round);
}

static bool may_fetch(const struct fl_trainer *t, int64_t round)
{
	return !fl_trainer_fetched(t, round);
}

static void arrive(struct sync *s, int64_t *round)
{
	if (*round < s->round)
		*round = s->round;
	if (s->first == 0)
		s->first = fl_now();
}

static void admit_batch(struct sync *s, struct fl_req *req, struct fl_reqs *out)
{
	struct fl_trainers *ts = &s->serv->trainers;
	struct fl_trainer *t;

	if (s->phase == GET) {
		t = fl_trainers_pick(ts, req, fl_trainer_fetched, s->round);
		if (s->round == 0 && t->fetched_round < 0)
			t->fetched_round = 0;
		if (fl_trainer_live(t) && fl_trainer_fetched(t, s->round)) {
			park(s, req);
			return;
		}
	} else if (s->phase != RUN) {
		t = fl_trainers_pick(ts, req, may_batch, s->round);
		t->ever_sent = true;
		/* A lost one who has come back is awaited again from here on. */
		t->lost = false;
		arrive(s, &t->sent_round);
	}
	fl_reqs_push(out, req);
}

/* A Get that belongs to no round: of the initial parameters by one who starts late in a job that
 * had no round 0, or of one who is not awaited. To let him wait would be a deadlock. */
static bool outside(const struct sync *s, const struct fl_trainer *t)
{
	if (t && !fl_trainer_live(t))
		return true;
	return s->round == 1 && !s->initial && (!t || !t->ever_sent);
}

static void admit_get(struct sync *s, struct fl_req *req, struct fl_reqs *out)
{
	const struct fl_trainer *t = fl_trainer_real(req->trainer);

	if (s->phase == RUN || (s->phase == SEND && !outside(s, t))) {
		park(s, req);
		return;
	}
	fl_serv_give(s->serv, req);
	fl_reqs_push(out, req);
}

static void admit_fetch(struct sync *s, struct fl_req *req, struct fl_reqs *out)
{
	struct fl_trainers *ts = &s->serv->trainers;
	struct fl_trainer *t;

	if (s->phase == GET) {
		t = fl_trainers_pick(ts, req, may_fetch, s->round);
		t->lost = false;
		arrive(s, &t->fetched_round);
	} else {
		t = fl_trainers_pick(ts, req, fl_trainer_sent, s->round);
		if (fl_trainer_live(t) &&
			(fl_trainer_sent(t, s->round) || fl_trainers_shared(ts, t))) {
			park(s, req);
			return;
		}
	}
	fl_reqs_push(out, req);
}

/* The first message that belongs to a round begins the first one. */
static void begin(struct sync *s, const struct fl_req *req, struct fl_reqs *out)
{
	if (s->phase != START)
		return;
	if (req->kind == FL_REQ_GET || req->kind == FL_REQ_FETCH) {
		s->initial = true;
		enter(s, GET, 0, out);
	} else if (req->kind == FL_REQ_GRAD || req->kind == FL_REQ_BATCH) {
		enter(s, SEND, 1, out);
	}
}

/* Answers the request, into *out, or parks it. */
static void admit(struct sync *s, struct fl_req *req, struct fl_reqs *out)
{
	begin(s, req, out);
	switch (req->kind) {
	case FL_REQ_GRAD: admit_grad(s, req, out); return;
	case FL_REQ_BATCH: admit_batch(s, req, out); return;
	case FL_REQ_GET: admit_get(s, req, out); return;
	case FL_REQ_FETCH: admit_fetch(s, req, out); return;
	case FL_REQ_GET_NOW:
	case FL_REQ_PREFETCH:
		if (s->phase == RUN) {
			park(s, req);
			return;
		}
		fl_serv_give(s->serv, req);
		break;
	case FL_REQ_COMPLETE: fl_serv_complete(s->serv, req); break;
	case FL_REQ_NOTIFY:
		fl_req_refuse(req, FL_STATUS_INVALID_ARGUMENT,
			"'%s': a synchronous server counts its rounds itself", req->name);
		break;
	default: fl_req_refuse(req, FL_STATUS_UNIMPLEMENTED, "not offered by this server"); break;
	}
	fl_reqs_push(out, req);
}

/* Decodes outside of the lock. False: refused. */
static bool take(struct fl_serv *serv, struct fl_req *req)
{
	if (req->kind == FL_REQ_PREFETCH)
		return fl_prefetch_take(req);
	if (req->kind != FL_REQ_GRAD)
		return true;
	req->grad = fl_table_grad(
		&serv->table, req->name, req->msg->has_trainer_id ? req->msg->trainer_id : -1);
	if (!req->grad) {
		fl_req_refuse(req, FL_STATUS_INVALID_ARGUMENT,
			"variable '%s' is not received by this server", req->name);
		return false;
	}
	return fl_grad_take(req->grad, req) == FL_OK;
}

static void sync_call(struct fl_serv *serv, struct fl_req *req)
{
	struct sync *s = serv->state;
	struct fl_reqs out = { NULL, NULL, 0 };
	bool taken = take(serv, req);

	pthread_mutex_lock(&serv->lock);
	if (taken && serv->ending)
		fl_serv_refuse_ending(req);
	if (req->status || !fl_trainers_identify(&serv->trainers, req, fl_now())) {
		fl_reqs_push(&out, req);
	} else {
		admit(s, req, &out);
		advance(s, &out);
	}
	pthread_mutex_unlock(&serv->lock);
	fl_reqs_reply(&out);
}

/* ---- the seam -------------------------------------------------------------------------------- */

/* Groups: the learning-rate block alone, then runs of blocks with the same parent (5.3). */
static void make_groups(struct sync *s)
{
	struct fl_table *table = &s->serv->table;
	size_t n = 0;

	s->jobs = FL_NEW_N(struct job, table->n_blocks);
	s->group_end = FL_NEW_N(size_t, table->n_blocks);
	if (table->lr) {
		s->jobs[n++] = (struct job){ s, table->lr };
		s->group_end[s->n_groups++] = n;
	}
	for (size_t i = 0; i < table->n_blocks; i++) {
		struct fl_block *b = &table->blocks[i];

		if (b == table->lr)
			continue;
		if (s->n_groups && s->jobs[n - 1].block != table->lr &&
			s->jobs[n - 1].block->parent == b->parent)
			s->n_groups--;
		s->jobs[n++] = (struct job){ s, b };
		s->group_end[s->n_groups++] = n;
	}
}

static enum fl_code sync_init(struct fl_serv *serv, struct fl_err *err)
{
	struct sync *s = serv->state;

	s->serv = serv;
	s->since = s->info = fl_now();
	make_groups(s);
	for (size_t i = 0; i < serv->table.n_grads; i++)
		FL_TRY(fl_grad_clear(&serv->table.grads[i], err));
	return FL_OK;
}

static void sync_release(struct fl_serv *serv)
{
	struct sync *s = serv->state;

	fl_free(s->jobs);
	fl_free(s->group_end);
}

static void sync_shrunk(struct fl_serv *serv, struct fl_reqs *out)
{
	advance(serv->state, out);
}

static void sync_tick(struct fl_serv *serv, double now)
{
	struct sync *s = serv->state;
	fl_trainer_pred *arrived = s->phase == SEND ? fl_trainer_sent : fl_trainer_fetched;
	struct fl_buf who = FL_BUF_INIT;
	char *text;

	if ((s->phase != SEND && s->phase != GET) || s->first == 0 || now - s->first < WAIT_S ||
		(s->told != 0 && now - s->told < WAIT_AGAIN_S))
		return;
	s->told = now;
	fl_trainers_missing(&serv->trainers, arrived, s->round, now, &who);
	text = fl_xstrfmt("round %" PRId64 ": waiting for %s of %s since %.1f s", s->round,
		s->phase == SEND ? "the gradients" : "the fetches", fl_buf_str(&who),
		now - s->first);
	fl_log_event(serv->log, FL_LOG_WARN, "waiting", text,
		(struct fl_field[]){ FL_INT("round", s->round), FL_NUM("seconds", now - s->first),
			FL_STR("for", s->phase == SEND ? "send" : "get"),
			FL_STR("trainers", fl_buf_str(&who)) },
		4);
	fl_free(text);
	fl_buf_release(&who);
}

static void sync_drain(struct fl_serv *serv, struct fl_reqs *out)
{
	struct sync *s = serv->state;
	struct fl_req *req;

	while ((req = fl_reqs_pop(&s->parked))) {
		fl_serv_refuse_ending(req);
		fl_reqs_push(out, req);
	}
}

static void sync_count(struct fl_serv *serv, int64_t *rounds, int64_t *updates)
{
	struct sync *s = serv->state;

	*rounds = s->rounds;
	*updates = s->updates;
}

const struct fl_serv_mode fl_serv_sync = {
	.name = "sync",
	.state_size = sizeof(struct sync),
	.init = sync_init,
	.release = sync_release,
	.call = sync_call,
	.shrunk = sync_shrunk,
	.tick = sync_tick,
	.drain = sync_drain,
	.count = sync_count,
};
