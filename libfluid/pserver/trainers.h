/*
 * The set of trainers that a server waits for. A trainer is known by the `.trainer_N` suffix of its
 * gradients, by field 12 of its messages, or by our client's metadata. A stock client's barrier
 * carries none of them: it belongs to the trainer last seen on its connection, or, where none was
 * seen there, to the connection itself (an anonymous trainer, which gets its number as soon as a
 * message gives one). So arrivals are sets of trainers, never counts, and a duplicate changes
 * nothing.
 */
#ifndef FL_PSERVER_TRAINERS_H
#define FL_PSERVER_TRAINERS_H

#include "base/buf.h"
#include "pserver/request.h"

/* How many of a trainer's requests are remembered, so that a second try is known as such. */
#define FL_RECENT 256

struct fl_trainer {
	int64_t id;      /* -1: anonymous */
	char *peer;      /* owned: the connection it was last seen on */
	uint64_t seen;   /* number of its last request: larger is later */
	double seen_at;  /* fl_now() then */
	uint64_t client; /* the process that it is; 0: it does not say */
	double gone_at;  /* when its connection was found gone; 0: it is there */
	bool closed;     /* the connection was seen closed, not only a call given up */
	bool completed, lost;
	bool ever_sent;             /* a gradient or a BATCH_BARRIER, in any round */
	int64_t sent_round;         /* last round whose BATCH_BARRIER arrived; -1 none */
	int64_t fetched_round;      /* last round whose FETCH_BARRIER arrived; -1 none */
	uint64_t recent[FL_RECENT]; /* request ids, a ring */
	size_t n_recent;
	struct fl_trainer *into; /* an anonymous one that turned out to be this one */
};

/* All of it is guarded by the server's lock. */
struct fl_trainers {
	struct fl_trainer **at; /* owned; those with `into` set count no more */
	size_t n, cap;
	int fanin;
	uint64_t clock;
};

/* Trainers of a set: a test on one of them. */
typedef bool fl_trainer_pred(const struct fl_trainer *t, int64_t round);

void fl_trainers_init(struct fl_trainers *ts, int fanin);
void fl_trainers_release(struct fl_trainers *ts);

/* Finds whose request it is and sets req->trainer (NULL: an anonymous reader, who is no trainer).
 * False when the request cannot be from a trainer of this job; it is refused then. */
bool fl_trainers_identify(struct fl_trainers *ts, struct fl_req *req, double now);
/* Remembers the request's id; true when it was there before. One without is always new. */
bool fl_trainer_repeats(struct fl_trainer *t, uint64_t request_id);
/* The trainer itself where an anonymous one has become known since; NULL for NULL. */
struct fl_trainer *fl_trainer_real(struct fl_trainer *t);

/* Of the trainers on the request's connection the last seen for which `fits` holds, else
 * req->trainer. Only where several share a connection is there a choice. */
struct fl_trainer *fl_trainers_pick(
	struct fl_trainers *ts, const struct fl_req *req, fl_trainer_pred *fits, int64_t round);
bool fl_trainers_shared(const struct fl_trainers *ts, const struct fl_trainer *t);

bool fl_trainer_live(const struct fl_trainer *t);
/* Trainers still awaited: Fanin without those completed or lost. */
int fl_trainers_live(const struct fl_trainers *ts);
int fl_trainers_completed(const struct fl_trainers *ts);
/* Have all that are awaited arrived? False when none is awaited. */
bool fl_trainers_all(const struct fl_trainers *ts, fl_trainer_pred *arrived, int64_t round);
bool fl_trainer_sent(const struct fl_trainer *t, int64_t round);
bool fl_trainer_fetched(const struct fl_trainer *t, int64_t round);

/* "trainer 1", "the trainer at ipv4:127.0.0.1:4711". */
void fl_trainer_describe(const struct fl_trainer *t, struct fl_buf *out);
/* The live ones that have not arrived, with how long nothing was heard of each; those never heard
 * of by number where the numbers are known. */
void fl_trainers_missing(const struct fl_trainers *ts, fl_trainer_pred *arrived, int64_t round,
	double now, struct fl_buf *out);

#endif
