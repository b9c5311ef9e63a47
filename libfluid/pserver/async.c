/*
 * The asynchronous loop: no rounds. Each received gradient is decoded into a variable of its own,
 * queued, applied by the serial executor of its parameter on the shared pool, and answered when it
 * is applied (so a trainer's next Get sees it, as with 1.8.5). Updates of one parameter run one
 * after the other in order of arrival; those of different parameters side by side. Blocks that
 * share state have one executor. There is no thread a gradient, and unlike 1.8.5 no two threads
 * in one parameter (runtime.md 6.2).
 *
 * Reads: a Get that meets a running update waits for its end, without a thread. Otherwise it takes
 * the value's memory along; the executor then gives the next update a new block to write into.
 *
 * Learning rates: the block that computes them runs once at the start and after each
 * DistributeNotify, which adds to the counter of its trainer (6.5). What it writes is read by all
 * executors, so each has a copy of its own, brought up to date before an update.
 */
#include "pserver/mode.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "desc/names.h"
#include "desc/query.h"

/* Gradients of one executor that are decoded ahead; others wait as they came off the wire. */
#define DECODED_MAX 8
/* Calls that may wait for one executor. */
#define QUEUE_MAX 4096
/* Updates that one task makes before others have their turn. */
#define BURST  8
#define INFO_S 10.0

/* A serial executor. */
struct exec {
	struct async *a;
	pthread_mutex_t lock;
	struct fl_reqs queue; /* guarded by lock: gradients */
	struct fl_reqs gets;  /* guarded by lock: wait for the end of the running update */
	bool running;         /* guarded by lock: a task has it */
	int decoded;          /* guarded by lock */
	int64_t updates;      /* guarded by lock */
};

/* A variable of the learning-rate block, and a block's copy of it. */
struct rate {
	struct fl_var *shared, *own; /* borrowed; owned */
	int slot;
};

/* What belongs to one block; used by its executor's task only. */
struct unit {
	struct exec *exec; /* NULL: the block is not bound to a gradient */
	struct rate *rates;
	size_t n_rates;
	int64_t version; /* of the rates copied last */
};

struct async {
	struct fl_serv *serv;
	struct unit *units; /* owned; one a block */
	struct exec *execs; /* owned; the first n_execs are used */
	size_t n_execs;
	struct fl_map owners; /* name of a variable -> its executor */
	pthread_mutex_t rate_lock;
	int64_t version;      /* guarded by rate_lock, as are the variables of the lr block */
	int64_t told_updates; /* guarded by serv->lock */
	double told;
};

static struct unit *unit_of(struct async *a, const struct fl_block *b)
{
	return &a->units[b - a->serv->table.blocks];
}

/* ---- applying -------------------------------------------------------------------------------- */

static enum fl_code refresh_rates(struct async *a, struct unit *u, struct fl_err *err)
{
	enum fl_code code = FL_OK;

	if (!u->n_rates)
		return FL_OK;
	pthread_mutex_lock(&a->rate_lock);
	for (size_t i = 0; i < u->n_rates && u->version != a->version && code == FL_OK; i++)
		code = fl_var_copy(u->rates[i].own, u->rates[i].shared, err);
	if (code == FL_OK)
		u->version = a->version;
	pthread_mutex_unlock(&a->rate_lock);
	return code;
}

/* One update. On failure the request is refused. */
static void apply(struct async *a, struct fl_req *req)
{
	struct fl_block *b = req->grad->block;
	struct unit *u = unit_of(a, b);
	struct fl_err err = { 0 };
	int slot = req->grad->slot;

	if (req->duplicate)
		return;
	if (!req->var && fl_grad_take(req->grad, req) != FL_OK)
		return;
	if (slot >= 0)
		fl_frame_rebind(b->frame, slot, req->var);
	if (refresh_rates(a, u, &err) != FL_OK || fl_frame_run(b->frame, &err) != FL_OK)
		fl_req_refuse(req, FL_STATUS_INTERNAL, "'%s' could not be applied: %s", req->name,
			err.msg);
	if (slot >= 0)
		fl_frame_rebind(b->frame, slot, req->grad->var);
	fl_grad_recycle(req->grad, req->var);
	req->var = NULL;
}

/* Under the executor's lock, between two updates: answers who waited. */
static void give_waiting(struct exec *e, struct fl_reqs *out)
{
	struct fl_req *req;

	while ((req = fl_reqs_pop(&e->gets))) {
		fl_serv_give(e->a->serv, req);
		fl_reqs_push(out, req);
	}
}

/* Takes the next gradient; false: there is none, the executor rests. */
static bool next_update(struct exec *e, struct fl_req **req)
{
	struct fl_reqs out = { NULL, NULL, 0 };

	pthread_mutex_lock(&e->lock);
	give_waiting(e, &out);
	*req = fl_reqs_pop(&e->queue);
	if (!*req)
		e->running = false;
	pthread_mutex_unlock(&e->lock);
	fl_reqs_reply(&out);
	return *req != NULL;
}

static void run_exec(void *arg)
{
	struct exec *e = arg;
	struct fl_serv *serv = e->a->serv;
	struct fl_req *req;

	for (int i = 0; i < BURST; i++) {
		struct fl_reqs out = { NULL, NULL, 0 };
		bool decoded;

		if (!next_update(e, &req)) {
			fl_serv_done(serv);
			return;
		}
		decoded = req->var != NULL;
		apply(e->a, req);
		pthread_mutex_lock(&e->lock);
		e->decoded -= decoded;
		e->updates += req->status == 0 && !req->duplicate;
		pthread_mutex_unlock(&e->lock);
		fl_reqs_push(&out, req);
		fl_reqs_reply(&out);
	}
	pthread_mutex_lock(&serv->lock);
	fl_serv_submit(serv, run_exec, e);
	pthread_mutex_unlock(&serv->lock);
	fl_serv_done(serv);
}

/* ---- requests -------------------------------------------------------------------------------- */

/* Finds the gradient and decodes it, if not too many are decoded already. */
static void take(struct async *a, struct fl_req *req)
{
	struct exec *e;
	bool room;

	req->grad = fl_table_grad(&a->serv->table, req->name, -1);
	if (!req->grad || !req->grad->block) {
		fl_req_refuse(req, FL_STATUS_INVALID_ARGUMENT,
			"variable '%s' is not received by this server", req->name);
		return;
	}
	e = unit_of(a, req->grad->block)->exec;
	pthread_mutex_lock(&e->lock);
	room = e->decoded < DECODED_MAX;
	e->decoded += room;
	pthread_mutex_unlock(&e->lock);
	if (room && fl_grad_take(req->grad, req) != FL_OK) {
		pthread_mutex_lock(&e->lock);
		e->decoded--;
		pthread_mutex_unlock(&e->lock);
	}
}

/* Under serv->lock. True: the request is in the queue. */
static bool enqueue(struct async *a, struct fl_req *req)
{
	struct exec *e = unit_of(a, req->grad->block)->exec;
	bool start = false, full;

	pthread_mutex_lock(&e->lock);
	req->duplicate = fl_trainer_repeats(fl_trainer_real(req->trainer), req->request_id);
	full = e->queue.n >= QUEUE_MAX;
	if (full) {
		e->decoded -= req->var != NULL;
	} else {
		fl_reqs_push(&e->queue, req);
		start = !e->running;
		e->running = true;
	}
	pthread_mutex_unlock(&e->lock);
	if (full)
		fl_req_refuse(req, FL_STATUS_RESOURCE_EXHAUSTED, "%d updates of '%s' wait already",
			QUEUE_MAX, req->grad->name);
	if (start)
		fl_serv_submit(a->serv, run_exec, e);
	return !full;
}

/* True: the Get waits for the end of an update. */
static bool get(struct async *a, struct fl_req *req)
{
	struct exec *e = fl_map_get(
		&a->owners, req->kind == FL_REQ_PREFETCH ? req->msg->table_name : req->name);
	pthread_mutex_t *lock = e ? &e->lock : &a->rate_lock;
	bool wait;

	pthread_mutex_lock(lock);
	wait = e && e->running;
	if (wait)
		fl_reqs_push(&e->gets, req);
	else
		fl_serv_give(a->serv, req);
	pthread_mutex_unlock(lock);
	return wait;
}

static enum fl_code run_rates(struct async *a, struct fl_err *err)
{
	struct fl_block *lr = a->serv->table.lr;

	a->version++;
	return fl_frame_run(lr->frame, err);
}

static enum fl_code add_count(
	struct async *a, struct fl_var *counter, struct fl_var *add, struct fl_err *err)
{
	if (counter->kind != FL_LOD_TENSOR || add->kind != FL_LOD_TENSOR ||
		counter->tensor.dtype != FL_INT64 || add->tensor.dtype != FL_INT64 ||
		fl_numel(&counter->tensor) != 1 || fl_numel(&add->tensor) != 1)
		return fl_err_set(err, FL_EINVAL, "'%s' is one int64 number", counter->name);
	/* The sum is made in the message's own memory: a reply may still hold the counter's.
	 * Unsigned: a peer's numbers must not overflow a signed one. */
	*(uint64_t *)fl_data(&add->tensor) += *(const uint64_t *)fl_data(&counter->tensor);
	fl_tensor_share(&counter->tensor, &add->tensor);
	return run_rates(a, err);
}

/* DistributeNotify: steps of a trainer. */
static void notify(struct async *a, struct fl_req *req)
{
	const struct fl_table *table = &a->serv->table;
	struct fl_err err = { 0 };
	struct fl_var *counter = fl_scope_find(table->scope, req->name), *add;

	if (!table->lr || !counter || strncmp(req->name, FL_LR_COUNTER, strlen(FL_LR_COUNTER)) ||
		!fl_block_needs(table->prog->pb->blocks[table->lr->idx], req->name)) {
		fl_req_refuse(req, FL_STATUS_INVALID_ARGUMENT,
			"'%s' is no counter of this server's learning rate", req->name);
		return;
	}
	add = fl_var_new(req->name, FL_LOD_TENSOR);
	if (req->ops->take(req->call, add, &err) == FL_OK) {
		pthread_mutex_lock(&a->rate_lock);
		add_count(a, counter, add, &err);
		pthread_mutex_unlock(&a->rate_lock);
	}
	if (err.code)
		fl_req_refuse(req,
			err.code == FL_EINVAL ? FL_STATUS_INVALID_ARGUMENT : FL_STATUS_INTERNAL,
			"%s", err.msg);
	fl_var_free(add);
}

/* Under serv->lock. True: the request is parked somewhere. */
static bool admit(struct async *a, struct fl_req *req)
{
	switch (req->kind) {
	case FL_REQ_GRAD: return enqueue(a, req);
	case FL_REQ_GET:
	case FL_REQ_GET_NOW:
	case FL_REQ_PREFETCH: return get(a, req);
	case FL_REQ_COMPLETE: fl_serv_complete(a->serv, req); return false;
	case FL_REQ_CHECKPOINT:
		fl_req_refuse(req, FL_STATUS_UNIMPLEMENTED, "not offered by this server");
		return false;
	case FL_REQ_NOTIFY: /* done when the lock is let go */
		req->duplicate = req->trainer &&
				 fl_trainer_repeats(fl_trainer_real(req->trainer), req->request_id);
		return false;
	default: /* barriers mean nothing here */ return false;
	}
}

static void async_call(struct fl_serv *serv, struct fl_req *req)
{
	struct async *a = serv->state;
	struct fl_reqs out = { NULL, NULL, 0 };
	bool parked = false;

	if (req->kind == FL_REQ_GRAD)
		take(a, req);
	else if (req->kind == FL_REQ_PREFETCH)
		fl_prefetch_take(req);
	pthread_mutex_lock(&serv->lock);
	if (!req->status && serv->ending)
		fl_serv_refuse_ending(req);
	if (!req->status && fl_trainers_identify(&serv->trainers, req, fl_now()))
		parked = admit(a, req);
	pthread_mutex_unlock(&serv->lock);
	if (parked)
		return;
	if (req->kind == FL_REQ_NOTIFY && !req->status && !req->duplicate)
		notify(a, req);
	fl_reqs_push(&out, req);
	fl_reqs_reply(&out);
}

/* ---- making it ------------------------------------------------------------------------------- */

/* Puts the second group of a union into the first. */
static void unite(size_t *group, size_t n, size_t a, size_t b)
{
	size_t from = group[b], to = group[a];

	for (size_t i = 0; i < n; i++)
		if (group[i] == from)
			group[i] = to;
}

static bool bound(const struct fl_serv *serv, const struct fl_block *b)
{
	return b != serv->table.lr && b->n_grads > 0;
}

/* Unites the block with every block that writes one of these variables. */
static void unite_slots(const struct fl_map *writers, fl_pb_slot *const *slots, size_t n_slots,
	size_t *group, size_t n, size_t block)
{
	for (size_t i = 0; i < n_slots; i++) {
		for (size_t j = 0; j < slots[i]->n_arguments; j++) {
			size_t *writer = fl_map_get(writers, slots[i]->arguments[j]);

			if (writer)
				unite(group, n, (size_t)(writer - group), block);
		}
	}
}

/* Blocks of which one writes what the other reads or writes get the same number in group[]. */
static void group_blocks(const struct fl_serv *serv, size_t *group)
{
	const struct fl_table *t = &serv->table;
	struct fl_map writers = FL_MAP_INIT; /* variable -> its writer's place in group[] */

	for (size_t i = 0; i < t->n_blocks; i++) {
		group[i] = i;
		for (size_t j = 0; bound(serv, &t->blocks[i]) && j < t->blocks[i].n_written; j++) {
			const char *name = t->blocks[i].written[j]->name;

			if (!fl_map_has(&writers, name))
				fl_map_put(&writers, name, &group[i]);
		}
	}
	for (size_t i = 0; i < t->n_blocks; i++) {
		const fl_pb_block *pb = t->prog->pb->blocks[t->blocks[i].idx];

		for (size_t j = 0; bound(serv, &t->blocks[i]) && j < pb->n_ops; j++) {
			unite_slots(&writers, pb->ops[j]->inputs, pb->ops[j]->n_inputs, group,
				t->n_blocks, i);
			unite_slots(&writers, pb->ops[j]->outputs, pb->ops[j]->n_outputs, group,
				t->n_blocks, i);
		}
	}
	fl_map_release(&writers);
}

static void make_execs(struct async *a)
{
	struct fl_table *t = &a->serv->table;
	size_t *group = FL_NEW_N(size_t, t->n_blocks);

	a->execs = FL_NEW_N(struct exec, t->n_blocks);
	group_blocks(a->serv, group);
	for (size_t i = 0; i < t->n_blocks; i++) {
		if (!bound(a->serv, &t->blocks[i]))
			continue;
		for (size_t j = 0; j < i && !a->units[i].exec; j++)
			if (group[j] == group[i])
				a->units[i].exec = a->units[j].exec;
		if (!a->units[i].exec) {
			struct exec *e = &a->execs[a->n_execs++];

			e->a = a;
			pthread_mutex_init(&e->lock, NULL);
			a->units[i].exec = e;
		}
		for (size_t j = 0; j < t->blocks[i].n_written; j++)
			fl_map_put(&a->owners, t->blocks[i].written[j]->name, a->units[i].exec);
	}
	fl_free(group);
}

/* The block's copies of what the learning-rate block writes. */
static void make_rates(struct async *a, const struct fl_block *b)
{
	const struct fl_block *lr = a->serv->table.lr;
	struct unit *u = unit_of(a, b);

	if (!lr || !u->exec)
		return;
	u->rates = FL_NEW_N(struct rate, lr->n_written);
	for (size_t i = 0; i < lr->n_written; i++) {
		struct fl_var *v = lr->written[i];
		int slot = fl_frame_slot(b->frame, v->name);

		if (slot < 0)
			continue;
		u->rates[u->n_rates] = (struct rate){ v, fl_var_new(v->name, v->kind), slot };
		fl_frame_rebind(b->frame, slot, u->rates[u->n_rates].own);
		u->n_rates++;
	}
}

/* Blocks bound to no gradient run once (6.2, 6.5). */
static enum fl_code run_once(struct async *a, struct fl_err *err)
{
	struct fl_table *t = &a->serv->table;

	if (t->lr)
		FL_TRY(run_rates(a, err));
	for (size_t i = 0; i < t->n_blocks; i++)
		if (&t->blocks[i] != t->lr && !t->blocks[i].n_grads)
			FL_TRY(fl_frame_run(t->blocks[i].frame, err));
	return FL_OK;
}

static enum fl_code async_init(struct fl_serv *serv, struct fl_err *err)
{
	struct async *a = serv->state;

	a->serv = serv;
	a->told = fl_now();
	pthread_mutex_init(&a->rate_lock, NULL);
	a->units = FL_NEW_N(struct unit, serv->table.n_blocks);
	make_execs(a);
	for (size_t i = 0; i < serv->table.n_blocks; i++)
		make_rates(a, &serv->table.blocks[i]);
	return run_once(a, err);
}

static void async_release(struct fl_serv *serv)
{
	struct async *a = serv->state;

	for (size_t i = 0; a->units && i < serv->table.n_blocks; i++) {
		for (size_t j = 0; j < a->units[i].n_rates; j++)
			fl_var_free(a->units[i].rates[j].own);
		fl_free(a->units[i].rates);
	}
	for (size_t i = 0; i < a->n_execs; i++)
		pthread_mutex_destroy(&a->execs[i].lock);
	fl_free(a->units);
	fl_free(a->execs);
	fl_map_release(&a->owners);
	pthread_mutex_destroy(&a->rate_lock);
}

/* ---- the seam -------------------------------------------------------------------------------- */

static void async_shrunk(struct fl_serv *serv, struct fl_reqs *out)
{
	(void)serv;
	(void)out; /* nobody waits for another trainer here */
}

static int64_t total(struct async *a, size_t *depth)
{
	int64_t n = 0;

	*depth = 0;
	for (size_t i = 0; i < a->n_execs; i++) {
		pthread_mutex_lock(&a->execs[i].lock);
		n += a->execs[i].updates;
		*depth += a->execs[i].queue.n;
		pthread_mutex_unlock(&a->execs[i].lock);
	}
	return n;
}

static void async_tick(struct fl_serv *serv, double now)
{
	struct async *a = serv->state;
	size_t depth;
	int64_t n;
	double rate;
	char text[128];

	if (now - a->told < INFO_S)
		return;
	n = total(a, &depth);
	rate = (double)(n - a->told_updates) / (now - a->told);
	a->told = now;
	if (n == a->told_updates)
		return;
	a->told_updates = n;
	snprintf(text, sizeof text, "%" PRId64 " updates, %.1f a second, %zu waiting", n, rate,
		depth);
	fl_log_event(serv->log, FL_LOG_INFO, "updates", text,
		(struct fl_field[]){
			FL_INT("updates", n), FL_NUM("per_second", rate), FL_INT("queue", depth) },
		3);
}

static void async_drain(struct fl_serv *serv, struct fl_reqs *out)
{
	struct async *a = serv->state;

	for (size_t i = 0; i < a->n_execs; i++) {
		struct fl_reqs all = { NULL, NULL, 0 };
		struct fl_req *req;

		pthread_mutex_lock(&a->execs[i].lock);
		fl_reqs_move(&all, &a->execs[i].queue);
		fl_reqs_move(&all, &a->execs[i].gets);
		pthread_mutex_unlock(&a->execs[i].lock);
		while ((req = fl_reqs_pop(&all))) {
			fl_serv_refuse_ending(req);
			fl_reqs_push(out, req);
		}
	}
}

static void async_count(struct fl_serv *serv, int64_t *rounds, int64_t *updates)
{
	size_t depth;

	*rounds = 0;
	*updates = total(serv->state, &depth);
}

const struct fl_serv_mode fl_serv_async = {
	.name = "async",
	.state_size = sizeof(struct async),
	.init = async_init,
	.release = async_release,
	.call = async_call,
	.shrunk = async_shrunk,
	.tick = async_tick,
	.drain = async_drain,
	.count = async_count,
};
