/*
 * The client side: one channel, and so one connection, an endpoint, kept for the life of the
 * client and shared with no other client. It implements the transport that kernels see
 * (struct fl_host: send, get, notify, barrier). All calls of a batch are on their way at once.
 *
 * Every call carries metadata that stock servers ignore: FL_KEY_REQUEST, FL_KEY_TRAINER and
 * FL_KEY_FINGERPRINT (rpc/server.h).
 */
#ifndef FL_RPC_CLIENT_H
#define FL_RPC_CLIENT_H

#include "base/log.h"
#include "kernels/kernel.h"

struct fl_client_opts {
	int64_t trainer_id;
	uint64_t fingerprint;  /* of the program's transpilation, which servers compare; 0: none */
	int deadline_ms;       /* of a call; FLAGS_rpc_deadline, 180000 */
	int retry_times;       /* FLAGS_rpc_retry_times, 3 */
	double wait_servers_s; /* how long to wait for a server's first answer */
	const struct fl_log *log;
	/* PEM texts or NULL: plain text. tls_ca is what servers are checked against; with tls_cert
	 * and tls_key we show who we are. */
	const char *tls_cert, *tls_key, *tls_ca;
	/* True once the process was asked to stop: calls on their way are cancelled, the wait for
	 * servers ends (ECANCELED). Asked several times a second; NULL: never. */
	bool (*stopped)(void);
};

struct fl_client;

/* The log and the TLS texts are borrowed for the life of the client. No connection is made yet. */
struct fl_client *fl_client_new(const struct fl_client_opts *opts);
/* Closes the connections. NULL is allowed. */
void fl_client_free(struct fl_client *client);
/*
 * Puts send, get, notify and barrier into *host (the other members stay). They may be called from
 * several threads. Errors name the variable and the endpoint:
 *   ELOST      the server is gone (noticed at once; tries: see below)
 *   EDEADLINE  no answer within the deadline
 *   EPEER      the server refused, with its status and words; a reply that is none
 * A call to a server that never answered waits for it till the deadline; afterwards an unreachable
 * server is lost. Send, Get and Notify are tried again `retry_times` times when the server is
 * unreachable, after growing, jittered pauses; barriers and COMPLETE are not, as a stock server
 * would count them twice. What holds no value, and SelectedRows without rows, are not sent.
 */
void fl_client_host(struct fl_client *client, struct fl_host *host);

/* Waits until every endpoint accepts connections; after 2 s says which one is awaited (event
 * "waiting"). EDEADLINE names it. */
enum fl_code fl_client_wait(
	struct fl_client *client, const char *const *endpoints, size_t n, struct fl_err *err);
/* COMPLETE to every endpoint that this client has talked to; waits for the answers. */
enum fl_code fl_client_complete(struct fl_client *client, struct fl_err *err);

#endif
