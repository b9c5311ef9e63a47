/*
 * A request as the loops see it: what it is about, whose it is, and how it will be answered. The
 * loops never talk to the transport: they set an answer under the server's lock, and the request is
 * replied to after the lock is let go. Behind `ops` is rpc's call, or a test's.
 */
#ifndef FL_PSERVER_REQUEST_H
#define FL_PSERVER_REQUEST_H

#include "rpc/server.h"

struct fl_trainer;
struct fl_grad;

/* What a request asks for, by its method and its variable's name (runtime.md section 3). */
enum fl_req_kind {
	FL_REQ_GRAD,     /* SendVariable of a variable */
	FL_REQ_BATCH,    /* BATCH_BARRIER: all gradients of the round were sent */
	FL_REQ_COMPLETE, /* the trainer has ended */
	FL_REQ_GET,      /* GetVariable of a variable */
	FL_REQ_FETCH,    /* FETCH_BARRIER: all parameters of the round were fetched */
	FL_REQ_GET_NOW,  /* GetVariableNoBarrier */
	FL_REQ_PREFETCH,
	FL_REQ_NOTIFY, /* DistributeNotify */
	FL_REQ_CHECKPOINT,
	FL_REQ_KIND_COUNT
};

/* gRPC's status numbers that the server uses. */
enum {
	FL_STATUS_INVALID_ARGUMENT = 3,
	FL_STATUS_ALREADY_EXISTS = 6,
	FL_STATUS_RESOURCE_EXHAUSTED = 8,
	FL_STATUS_FAILED_PRECONDITION = 9,
	FL_STATUS_UNIMPLEMENTED = 12,
	FL_STATUS_INTERNAL = 13,
	FL_STATUS_UNAVAILABLE = 14
};

/* How a call is taken from and answered; each reply ends the call. */
struct fl_req_ops {
	enum fl_code (*take)(void *call, struct fl_var *var, struct fl_err *err);
	void (*reply_void)(void *call);
	void (*reply_var)(void *call, const char *name, const struct fl_var *var);
	void (*reply_error)(void *call, int status, const char *text);
};

struct fl_req {
	const struct fl_req_ops *ops;
	void *call;                  /* dead after the reply */
	const struct fl_varmsg *msg; /* borrowed, valid until the reply */
	enum fl_method method;
	enum fl_req_kind kind;
	char *peer; /* owned: the connection */
	char *name; /* owned: varname without the suffix of GetVariableNoBarrier */

	int64_t told_trainer;       /* FL_KEY_TRAINER of the call; -1 none */
	uint64_t request_id;        /* hash of FL_KEY_REQUEST; 0 none */
	uint64_t fingerprint;       /* FL_KEY_FINGERPRINT of the call; 0 none */
	uint64_t client;            /* hash of its first part, the process; 0 none */
	bool duplicate;             /* a second try of one that has been queued */
	struct fl_trainer *trainer; /* borrowed; NULL: nobody's */
	struct fl_grad *grad;       /* borrowed; what a FL_REQ_GRAD is for */
	struct fl_var *var;         /* owned while set: its decoded value */
	struct fl_req *next;        /* in the one list that it is in */

	/* The answer: a status with text, or a value, or nothing (void). */
	int status;
	char text[FL_ERR_MAX];
	struct fl_var *value; /* owned: shares the memory of what it was taken from */
};

/* A list in order of arrival. */
struct fl_reqs {
	struct fl_req *head, *tail;
	size_t n;
};

/* A request for the call; peer is copied, msg borrowed. */
struct fl_req *fl_req_new(const struct fl_req_ops *ops, void *call, enum fl_method method,
	const struct fl_varmsg *msg, const char *peer);
/* Appends; takes the first one away (NULL when there is none). */
void fl_reqs_push(struct fl_reqs *list, struct fl_req *req);
struct fl_req *fl_reqs_pop(struct fl_reqs *list);
/* Moves all of `from` behind those of `to`. */
void fl_reqs_move(struct fl_reqs *to, struct fl_reqs *from);

/* Sets the answer; replied to by fl_reqs_reply. */
void fl_req_refuse(struct fl_req *req, int status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Answers with the variable as it is now: its memory is held, not copied; the executor gives an
 * operator that writes in place a new block while a reply holds the old one. Refuses when it is
 * NULL or holds no value. */
void fl_req_give(struct fl_req *req, const struct fl_var *var);

/* Replies to each request in order and frees it. Must not be called under a lock. */
void fl_reqs_reply(struct fl_reqs *list);

/* N of a name that ends in ".trainer_N", else -1. *base_len: length of the name without it. */
int64_t fl_trainer_suffix(const char *name, size_t *base_len);

#endif
