/*
 * A batch of calls that are on their way at once and are waited for together; used by client.c.
 */
#ifndef FL_RPC_BATCH_H
#define FL_RPC_BATCH_H

#include <grpc/grpc.h>
#include <stdatomic.h>

#include "base/log.h"
#include "rpc/varmsg.h"

/* A server and our channel to it. */
struct fl_rpc_target {
	char *name; /* owned */
	grpc_channel *channel;
	atomic_bool answered; /* has been reached: from now on "unreachable" means lost */
};

/* A kind of call: its path, how it reads in messages ("getting"), whether it may be made again
 * when the server is unreachable, whether its reply is a variable. */
struct fl_rpc_kind {
	const char *path, *verb;
	bool retry, reply_var;
};

struct fl_rpc_request {
	const struct fl_rpc_kind *kind;
	struct fl_rpc_target *target;
	const char *name;     /* of the variable, for messages; borrowed */
	struct fl_varmsg msg; /* the header; owned by the batch from fl_batch_run on */
	struct fl_var *var;   /* borrowed; sent or filled; NULL: the header is all */
	uint64_t number;      /* in FL_KEY_REQUEST */
};

/* What all calls of a client share. */
struct fl_rpc_caller {
	uint64_t id; /* in FL_KEY_REQUEST */
	int64_t trainer_id;
	uint64_t fingerprint; /* in FL_KEY_FINGERPRINT; 0: none */
	int deadline_ms, retry_times;
	const struct fl_log *log;
	bool (*stopped)(void); /* NULL: never; see struct fl_client_opts */
};

/* How often `stopped` is asked while calls are waited for. */
#define FL_RPC_STOP_MS 200

/* Makes the n calls and returns when all have ended; the first failure cancels the others and is
 * what *err says. Errors: rpc/client.h. */
enum fl_code fl_batch_run(const struct fl_rpc_caller *caller, struct fl_rpc_request *requests,
	size_t n, struct fl_err *err);

#endif
