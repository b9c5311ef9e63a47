/*
 * What server.c (listening, threads, the end) and call.c (the life of one call) share.
 */
#ifndef FL_RPC_CALL_H
#define FL_RPC_CALL_H

#include <grpc/grpc.h>
#include <pthread.h>
#include <stdatomic.h>

#include "rpc/conns.h"
#include "rpc/server.h"

enum fl_rpc_event { FL_EV_NEW, FL_EV_MESSAGE, FL_EV_CLOSE, FL_EV_REPLIED, FL_EV_SHUTDOWN };

/* What is given to gRPC and comes back with an event. */
struct fl_rpc_tag {
	enum fl_rpc_event event;
	void *of; /* the call, or the server */
};

struct fl_rpc_server {
	struct fl_rpc_handler handler;
	const struct fl_log *log;
	grpc_server *server;
	grpc_completion_queue *cq;
	grpc_resource_quota *quota;
	struct fl_conns *conns; /* NULL: nobody wants to know */
	int port;
	pthread_t *threads;
	int n_threads;
	atomic_bool ready;
	atomic_int live; /* calls that have come and not yet ended */
	struct fl_rpc_tag shutdown;
	pthread_mutex_t lock; /* guards stopped */
	pthread_cond_t wake;
	bool stopped;
};

/* Marks the tag as given to gRPC; returns it. */
struct fl_rpc_tag *fl_rpc_tag_give(struct fl_rpc_tag *tag);
/* Waits for one more call. */
void fl_rpc_call_arm(struct fl_rpc_server *server);
/* Goes on with the call that an event is about (all events but FL_EV_SHUTDOWN). */
void fl_rpc_call_event(struct fl_rpc_tag *tag, bool ok);

#endif
