/*
 * The server side: an event-driven gRPC server for sendrecv.SendRecvService. No thread is blocked
 * by a call that must wait: the handler keeps the call (parks it) and replies later, from any
 * thread, exactly once.
 */
#ifndef FL_RPC_SERVER_H
#define FL_RPC_SERVER_H

#include "base/log.h"
#include "rpc/varmsg.h"

enum fl_method {
	FL_SEND_VARIABLE,
	FL_GET_VARIABLE,
	FL_GET_VARIABLE_NO_BARRIER,
	FL_PREFETCH_VARIABLE,
	FL_CHECKPOINT_NOTIFY,
	FL_DISTRIBUTE_NOTIFY,
	FL_METHOD_COUNT
};

/* A connection, as the transport names its peer. Two calls with equal `conn` came over one. */
struct fl_rpc_call;

enum fl_method fl_call_method(const struct fl_rpc_call *call);
/* The decoded header; borrowed, valid until the reply. */
const struct fl_varmsg *fl_call_msg(const struct fl_rpc_call *call);
/* The peer's address ("ipv4:127.0.0.1:4711"): one connection has one. Borrowed. */
const char *fl_call_peer(const struct fl_rpc_call *call);
/* A metadata value sent by the client, or NULL. Borrowed. */
const char *fl_call_metadata(const struct fl_rpc_call *call, const char *key);

/* Copies the payload from gRPC's slices into *var, once: kind, dtype, dims, LoD, rows as the header
 * says, after all sizes are checked. EINVAL/ELIMIT: the message is wrong; *var is unchanged. */
enum fl_code fl_call_take(struct fl_rpc_call *call, struct fl_var *var, struct fl_err *err);

/* Replies, each ends the call (the pointer is dead afterwards). */
void fl_call_reply_void(struct fl_rpc_call *call);
/* Replies with the variable's value under `name`. The memory of the tensor is held until gRPC has
 * sent it, not copied: the caller must not write into that memory meanwhile (resize gives it a new
 * block while the old is held; fl_tensor_detach below). */
void fl_call_reply_var(struct fl_rpc_call *call, const char *name, const struct fl_var *var);
/* grpc_status_code and a text. */
void fl_call_reply_error(struct fl_rpc_call *call, int status, const char *text);

struct fl_rpc_handler {
	void *arg;
	/* A request is in. Called from the server's threads, several at a time. The handler replies
	 * now or later. */
	void (*call)(void *arg, struct fl_rpc_call *call);
	/* The client of a parked or running call has gone (cancelled, connection cut); the call must
	 * still be replied to. May be NULL. */
	void (*gone)(void *arg, struct fl_rpc_call *call);
};

struct fl_rpc_server_opts {
	const char *address; /* host:port; port 0: any */
	size_t max_message;  /* bytes; 0: 2 GiB - 1 */
	int threads;	     /* completion queue threads, >= 1 */
	const struct fl_log *log;
	const char *tls_cert, *tls_key, *tls_ca; /* PEM texts or NULL: plain text */
};

struct fl_rpc_server;

/* Binds and starts; *out is owned by the caller. EIO: the address cannot be bound (taken, unknown),
 * with the reason. SO_REUSEPORT is off. */
enum fl_code fl_rpc_server_new(const struct fl_rpc_server_opts *opts,
	const struct fl_rpc_handler *handler, struct fl_rpc_server **out, struct fl_err *err);
int fl_rpc_server_port(const struct fl_rpc_server *server);
/* Health service: what Check answers. */
void fl_rpc_server_set_ready(struct fl_rpc_server *server, bool ready);
/* Stops accepting, lets replies out (parked calls must have been replied to), frees. */
void fl_rpc_server_free(struct fl_rpc_server *server);

#endif
