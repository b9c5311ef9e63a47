/*
 * Who is there. A trainer that only computes is silent for as long as it likes: waiting is no
 * failure (runtime.md 16.2). A trainer whose connection was closed has some seconds to come back;
 * then it is lost, and by policy the server ends or goes on without it.
 */
#include "pserver/mode.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"

void fl_serv_gone(struct fl_serv *serv, const char *peer, bool closed)
{
	double now = fl_now();

	pthread_mutex_lock(&serv->lock);
	for (size_t i = 0; i < serv->trainers.n; i++) {
		struct fl_trainer *t = serv->trainers.at[i];

		if (!fl_trainer_live(t) || strcmp(t->peer, peer) != 0)
			continue;
		if (t->gone_at == 0)
			t->gone_at = now;
		t->closed |= closed;
	}
	pthread_mutex_unlock(&serv->lock);
}

/* Under serv->lock. */
static void lose(struct fl_serv *serv, struct fl_trainer *t, double now)
{
	struct fl_buf text = FL_BUF_INIT;
	int64_t round, updates;

	t->lost = true;
	serv->mode->count(serv, &round, &updates);
	fl_trainer_describe(t, &text);
	fl_buf_addf(
		&text, " is lost: its connection %s closed %.1f s ago", t->peer, now - t->gone_at);
	if (serv->mode == &fl_serv_sync)
		fl_buf_addf(&text, ", after %" PRId64 " rounds", round);
	fl_buf_addf(&text, "; it was last heard %.1f s ago", now - t->seen_at);
	fl_log_event(serv->log, serv->continue_on_lost ? FL_LOG_WARN : FL_LOG_ERROR, "lost",
		fl_buf_str(&text),
		(struct fl_field[]){ FL_INT("trainer", t->id), FL_STR("peer", t->peer),
			FL_INT("rounds", round), FL_INT("updates", updates),
			FL_NUM("since", now - t->gone_at), FL_NUM("last_heard", now - t->seen_at) },
		6);
	if (!serv->continue_on_lost)
		fl_serv_end(serv, FL_ELOST, "%s", fl_buf_str(&text));
	else if (fl_trainers_live(&serv->trainers) == 0)
		fl_serv_end(serv, fl_trainers_completed(&serv->trainers) ? FL_OK : FL_ELOST,
			"no trainer is left: %s", fl_buf_str(&text));
	fl_buf_release(&text);
}

void fl_serv_tick(struct fl_serv *serv, double now)
{
	struct fl_reqs out = { NULL, NULL, 0 };
	bool shrunk = false;

	pthread_mutex_lock(&serv->lock);
	for (size_t i = 0; i < serv->trainers.n && !serv->ending; i++) {
		struct fl_trainer *t = serv->trainers.at[i];

		if (!fl_trainer_live(t) || t->gone_at == 0 || now - t->gone_at < serv->grace)
			continue;
		lose(serv, t, now);
		shrunk = true;
	}
	if (shrunk && !serv->ending)
		serv->mode->shrunk(serv, &out);
	if (!serv->ending)
		serv->mode->tick(serv, now);
	pthread_mutex_unlock(&serv->lock);
	fl_reqs_reply(&out);
}
