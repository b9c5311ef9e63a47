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

struct fl_rpc_call;

enum fl_method fl_call_method(const struct fl_rpc_call *call);
/* The decoded header; borrowed, valid until the reply. */
const struct fl_varmsg *fl_call_msg(const struct fl_rpc_call *call);
/* The peer's address ("ipv4:127.0.0.1:4711"): calls with equal ones came over one connection.
 * Borrowed. */
const char *fl_call_peer(const struct fl_rpc_call *call);
/* A metadata value sent by the client under a key that begins with "fluid-", or NULL. Borrowed.
 * Our client sends FL_KEY_REQUEST with every call, the same for each try of it, FL_KEY_TRAINER, and
 * FL_KEY_FINGERPRINT where its program has a record (desc/fingerprint.h). */
#define FL_KEY_REQUEST "fluid-request-id" /* client's random id, '-', a number that counts up */
#define FL_KEY_TRAINER "fluid-trainer-id" /* decimal */
#define FL_KEY_FINGERPRINT "fluid-fingerprint" /* the record's hash, 16 hexadecimal digits */
const char *fl_call_metadata(const struct fl_rpc_call *call, const char *key);

/* Copies the payload from gRPC's slices into *var, once: kind, dtype, dims, LoD, rows as the header
 * says, after all sizes are checked. EINVAL, EUNSUPPORTED, ELIMIT, ENOMEM: the message is wrong or
 * does not fit; *var is unchanged. The message is freed as it is copied: a second call is ESTATE.
 */
enum fl_code fl_call_take(struct fl_rpc_call *call, struct fl_var *var, struct fl_err *err);

/* Replies, each ends the call (the pointer is dead afterwards). From any thread, at any time. */
void fl_call_reply_void(struct fl_rpc_call *call);
/* Replies with the variable's value under `name`. The memory of the tensor is held until gRPC has
 * sent it, not copied: the caller must not write into that memory meanwhile (fl_tensor_resize
 * takes a new block while the old is held). What cannot be encoded is replied as an error. */
void fl_call_reply_var(struct fl_rpc_call *call, const char *name, const struct fl_var *var);
/* The gRPC status of an error: INVALID_ARGUMENT, NOT_FOUND, RESOURCE_EXHAUSTED, ... */
int fl_rpc_status(enum fl_code code);
/* grpc_status_code and a text. */
void fl_call_reply_error(struct fl_rpc_call *call, int status, const char *text);

struct fl_rpc_handler {
	void *arg;
	/* A request is in. Called from the server's threads, several at a time. The handler replies
	 * now or later. */
	void (*call)(void *arg, struct fl_rpc_call *call);
	/* Nobody waits for a call any more (cancelled, its deadline passed, connection cut); it
	 * must still be replied to. Comes after `call` has returned, and not once a reply was begun
	 * before it; where another thread replies at that very moment, the handler no longer knows
	 * the call and leaves it alone (the pointer is good until gone returns). May be NULL. */
	void (*gone)(void *arg, struct fl_rpc_call *call);
	/* A connection over which calls came has been closed: its process has ended, or lost the
	 * way to us. Within about 0.3 s for a process that died, about 40 s for a machine that fell
	 * silent (keep-alive); parked calls are told at once, by `gone`. From a thread of its own.
	 * A trainer may come again over another connection. May be NULL. */
	void (*closed)(void *arg, const char *peer);
};

struct fl_rpc_server_opts {
	const char *address; /* host:port; port 0: any */
	size_t max_message;  /* bytes; 0: 2 GiB - 1 */
	int threads;         /* completion queue threads, >= 1 */
	const struct fl_log *log;
	/* PEM texts or NULL: plain text. With tls_ca clients must show a certificate signed by it.
	 */
	const char *tls_cert, *tls_key, *tls_ca;
};

struct fl_rpc_server;

/* Binds and starts; *out is owned by the caller. The handler is copied; it is called from now on,
 * so everything that it needs must be there. EIO: the address cannot be bound (taken, unknown),
 * with the reason. EINVAL: no port in it, TLS options that do not fit. SO_REUSEPORT is off. */
enum fl_code fl_rpc_server_new(const struct fl_rpc_server_opts *opts,
	const struct fl_rpc_handler *handler, struct fl_rpc_server **out, struct fl_err *err);
int fl_rpc_server_port(const struct fl_rpc_server *server);
/* Health service: what Check answers; not ready at first. */
void fl_rpc_server_set_ready(struct fl_rpc_server *server, bool ready);
/* Stops accepting, lets replies out (parked calls must have been replied to; after 5 s they are
 * cancelled, and `gone` must reply), joins the threads, frees. NULL is allowed. Not from the
 * server's own threads. */
void fl_rpc_server_free(struct fl_rpc_server *server);

#endif
