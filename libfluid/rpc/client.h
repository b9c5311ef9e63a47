/*
 * The client side: one channel an endpoint, kept for the life of the client. It implements the
 * transport that kernels see (struct fl_host: send, get, notify, barrier).
 */
#ifndef FL_RPC_CLIENT_H
#define FL_RPC_CLIENT_H

#include "base/log.h"
#include "kernels/kernel.h"

struct fl_client_opts {
	int64_t trainer_id;
	int deadline_ms;   /* of a call; FLAGS_rpc_deadline, 180000 */
	int retry_times;   /* FLAGS_rpc_retry_times, 3 */
	double wait_servers_s; /* how long to wait for a server's first answer */
	const struct fl_log *log;
	const char *tls_cert, *tls_key, *tls_ca;
};

struct fl_client;

struct fl_client *fl_client_new(const struct fl_client_opts *opts);
void fl_client_free(struct fl_client *client);
/* Puts send, get, notify and barrier into *host (the other members stay). */
void fl_client_host(struct fl_client *client, struct fl_host *host);

/* Waits until every endpoint answers; after 2 s says which one is awaited (event "waiting").
 * EDEADLINE names it. */
enum fl_code fl_client_wait(struct fl_client *client, const char *const *endpoints, size_t n,
	struct fl_err *err);
/* COMPLETE to every endpoint that this client has talked to; waits for the answers. */
enum fl_code fl_client_complete(struct fl_client *client, struct fl_err *err);

#endif
