/*
 * Who is who. Fluid 1.8.5 counts barriers; a retried one closes a round for somebody else
 * (runtime.md 16.3). Here each arrival is a trainer's, found by three rules, in this order:
 * the number in the message (suffix, field 12; a Get with field 10 and without 12 is trainer 0's,
 * whose zero is not written), then the trainer last seen on the connection, then the connection.
 */
#include "pserver/trainers.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"

/* Records of connections that named no trainer are bounded by this many beside the trainers. */
#define MAX_ANONYMOUS 256

void fl_trainers_init(struct fl_trainers *ts, int fanin)
{
	*ts = (struct fl_trainers){ .fanin = fanin };
}

void fl_trainers_release(struct fl_trainers *ts)
{
	for (size_t i = 0; i < ts->n; i++) {
		fl_free(ts->at[i]->peer);
		fl_free(ts->at[i]);
	}
	fl_free(ts->at);
	*ts = (struct fl_trainers){ 0 };
}

struct fl_trainer *fl_trainer_real(struct fl_trainer *t)
{
	while (t && t->into)
		t = t->into;
	return t;
}

/* The number that the message itself gives, or -1. */
static int64_t named(const struct fl_req *req)
{
	int64_t id = -1;

	if (req->kind == FL_REQ_GRAD || req->kind == FL_REQ_NOTIFY)
		id = fl_trainer_suffix(req->name, NULL);
	if (id < 0 && req->msg->has_trainer_id)
		id = req->msg->trainer_id;
	if (id < 0)
		id = req->told_trainer;
	if (id < 0 && req->kind == FL_REQ_GET && req->msg->out_varname && *req->msg->out_varname)
		id = 0;
	return id;
}

static struct fl_trainer *by_id(const struct fl_trainers *ts, int64_t id)
{
	for (size_t i = 0; i < ts->n; i++)
		if (!ts->at[i]->into && ts->at[i]->id == id)
			return ts->at[i];
	return NULL;
}

/* The last seen on a connection, of those for which `fits` holds (NULL: all). */
static struct fl_trainer *by_peer(
	const struct fl_trainers *ts, const char *peer, fl_trainer_pred *fits, int64_t round)
{
	struct fl_trainer *best = NULL;

	for (size_t i = 0; i < ts->n; i++) {
		struct fl_trainer *t = ts->at[i];

		if (t->into || strcmp(t->peer, peer) != 0)
			continue;
		if (fits && !(fl_trainer_live(t) && fits(t, round)))
			continue;
		if (!best || t->seen > best->seen)
			best = t;
	}
	return best;
}

static struct fl_trainer *add(struct fl_trainers *ts, int64_t id, const char *peer)
{
	struct fl_trainer *t;

	if (ts->n >= (size_t)ts->fanin + MAX_ANONYMOUS)
		return NULL;
	t = FL_NEW(struct fl_trainer);
	t->id = id;
	t->peer = fl_xstrdup(peer);
	t->sent_round = t->fetched_round = -1;
	fl_grow(&ts->at, &ts->cap, ts->n + 1, sizeof *ts->at);
	ts->at[ts->n++] = t;
	return t;
}

/* What an anonymous trainer did was done by `t`. */
static void merge(struct fl_trainer *t, struct fl_trainer *anon)
{
	anon->into = t;
	t->completed |= anon->completed;
	t->ever_sent |= anon->ever_sent;
	if (anon->sent_round > t->sent_round)
		t->sent_round = anon->sent_round;
	if (anon->fetched_round > t->fetched_round)
		t->fetched_round = anon->fetched_round;
}

static struct fl_trainer *find_named(struct fl_trainers *ts, int64_t id, const char *peer)
{
	struct fl_trainer *t = by_id(ts, id), *anon = NULL;

	for (size_t i = 0; i < ts->n && !anon; i++)
		if (!ts->at[i]->into && ts->at[i]->id < 0 && strcmp(ts->at[i]->peer, peer) == 0)
			anon = ts->at[i];
	if (!t && anon) {
		anon->id = id;
		return anon;
	}
	if (!t)
		return add(ts, id, peer);
	if (anon)
		merge(t, anon);
	return t;
}

/* A message that gives no number. */
static struct fl_trainer *find_unnamed(struct fl_trainers *ts, const struct fl_req *req)
{
	struct fl_trainer *t = by_peer(ts, req->peer, NULL, 0);

	if (t)
		return t;
	/* Trainer 0 leaves its number out, also when it has a new connection. */
	if (req->kind == FL_REQ_COMPLETE && (t = by_id(ts, 0)))
		return t;
	if (req->kind == FL_REQ_GRAD && ts->fanin == 1)
		return find_named(ts, 0, req->peer);
	if (req->kind == FL_REQ_GRAD || req->kind == FL_REQ_BATCH || req->kind == FL_REQ_FETCH ||
		req->kind == FL_REQ_COMPLETE)
		return add(ts, -1, req->peer);
	return NULL;
}

/* Another process with the number of a trainer whose connection stands. One who has completed, was
 * lost, or whose connection is gone, may well have been started anew. */
static bool impostor(const struct fl_trainer *t, const struct fl_req *req)
{
	return t && t->client && req->client && t->client != req->client && fl_trainer_live(t) &&
	       t->gone_at == 0;
}

bool fl_trainers_identify(struct fl_trainers *ts, struct fl_req *req, double now)
{
	int64_t id = named(req);
	struct fl_trainer *t;
	bool reader = req->kind == FL_REQ_GET || req->kind == FL_REQ_GET_NOW ||
		      req->kind == FL_REQ_PREFETCH || req->kind == FL_REQ_CHECKPOINT;

	req->trainer = NULL;
	if (id >= ts->fanin) {
		if (reader)
			return true; /* somebody who looks on */
		fl_req_refuse(req, FL_STATUS_INVALID_ARGUMENT,
			"'%s' is from trainer %" PRId64 ", but this job has %d", req->name, id,
			ts->fanin);
		return false;
	}
	t = id >= 0 ? by_id(ts, id) : NULL;
	if (impostor(t, req)) {
		if (reader)
			return true;
		fl_req_refuse(req, FL_STATUS_ALREADY_EXISTS,
			"'%s' is from a second trainer %" PRId64 ", the first one is at %s",
			req->name, id, t->peer);
		return false;
	}
	t = id >= 0 ? find_named(ts, id, req->peer) : find_unnamed(ts, req);
	if (!t) {
		if (reader || req->kind == FL_REQ_NOTIFY)
			return true;
		fl_req_refuse(req, FL_STATUS_RESOURCE_EXHAUSTED,
			"'%s' names no trainer, and too many connections did so before", req->name);
		return false;
	}
	if (strcmp(t->peer, req->peer) != 0) {
		fl_free(t->peer);
		t->peer = fl_xstrdup(req->peer);
		t->closed = false;
	}
	/* A message that was still on its way over a closed connection says nothing. */
	if (!t->closed)
		t->gone_at = 0;
	if (req->client)
		t->client = req->client;
	t->seen = ++ts->clock;
	t->seen_at = now;
	req->trainer = t;
	return true;
}

bool fl_trainer_repeats(struct fl_trainer *t, uint64_t request_id)
{
	size_t n = t->n_recent < FL_RECENT ? t->n_recent : FL_RECENT;

	if (!request_id)
		return false;
	for (size_t i = 0; i < n; i++)
		if (t->recent[i] == request_id)
			return true;
	t->recent[t->n_recent++ % FL_RECENT] = request_id;
	return false;
}

struct fl_trainer *fl_trainers_pick(
	struct fl_trainers *ts, const struct fl_req *req, fl_trainer_pred *fits, int64_t round)
{
	struct fl_trainer *t = by_peer(ts, req->peer, fits, round);

	return t ? t : fl_trainer_real(req->trainer);
}

bool fl_trainers_shared(const struct fl_trainers *ts, const struct fl_trainer *t)
{
	int n = 0;

	for (size_t i = 0; i < ts->n; i++)
		if (!ts->at[i]->into && strcmp(ts->at[i]->peer, t->peer) == 0)
			n++;
	return n > 1;
}

bool fl_trainer_live(const struct fl_trainer *t)
{
	return !t->into && !t->completed && !t->lost;
}

int fl_trainers_live(const struct fl_trainers *ts)
{
	int n = ts->fanin;

	for (size_t i = 0; i < ts->n; i++)
		if (!ts->at[i]->into && !fl_trainer_live(ts->at[i]))
			n--;
	return n < 0 ? 0 : n;
}

int fl_trainers_completed(const struct fl_trainers *ts)
{
	int n = 0;

	for (size_t i = 0; i < ts->n; i++)
		n += !ts->at[i]->into && ts->at[i]->completed;
	return n;
}

bool fl_trainers_all(const struct fl_trainers *ts, fl_trainer_pred *arrived, int64_t round)
{
	int want = fl_trainers_live(ts), n = 0;

	for (size_t i = 0; i < ts->n; i++)
		n += fl_trainer_live(ts->at[i]) && arrived(ts->at[i], round);
	return want > 0 && n >= want;
}

bool fl_trainer_sent(const struct fl_trainer *t, int64_t round)
{
	return t->sent_round >= round;
}

bool fl_trainer_fetched(const struct fl_trainer *t, int64_t round)
{
	return t->fetched_round >= round;
}

void fl_trainer_describe(const struct fl_trainer *t, struct fl_buf *out)
{
	if (t->id >= 0)
		fl_buf_addf(out, "trainer %" PRId64, t->id);
	else
		fl_buf_addf(out, "the trainer at %s", t->peer);
}

void fl_trainers_missing(const struct fl_trainers *ts, fl_trainer_pred *arrived, int64_t round,
	double now, struct fl_buf *out)
{
	int known = 0, anonymous = 0, unseen;

	for (size_t i = 0; i < ts->n; i++) {
		const struct fl_trainer *t = ts->at[i];

		if (t->into)
			continue;
		known++;
		anonymous += t->id < 0;
		if (!fl_trainer_live(t) || arrived(t, round))
			continue;
		fl_buf_adds(out, out->len ? ", " : "");
		fl_trainer_describe(t, out);
		fl_buf_addf(out, " (last heard %.1f s ago)", now - t->seen_at);
	}
	unseen = ts->fanin - known;
	if (anonymous && unseen > 0)
		fl_buf_addf(out, "%s%d not heard of yet", out->len ? ", " : "", unseen);
	for (int64_t id = 0; !anonymous && unseen > 0 && id < ts->fanin; id++)
		if (!by_id(ts, id))
			fl_buf_addf(out, "%strainer %" PRId64 " (not heard of yet)",
				out->len ? ", " : "", id);
}
