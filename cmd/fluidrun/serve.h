/* The process as a parameter server, and its part as a trainer: what connects run.h with rpc/ and
 * pserver/. */
#ifndef CMD_FLUIDRUN_SERVE_H
#define CMD_FLUIDRUN_SERVE_H

#include "run.h"

/* PEM texts of --tls-cert, --tls-key, --tls-ca; NULL where not given. */
struct tls {
	struct fl_buf cert, key, ca;
};

enum fl_code tls_read(struct tls *t, const struct options *o, struct fl_err *err);
void tls_release(struct tls *t);

/* Puts into r->host what MAIN needs: the server's loop, or a client of its servers, for which it
 * waits. A local program gets nothing, and gRPC is not started. `tls` must outlive the run. */
enum fl_code run_connect(struct run *r, const struct tls *tls, struct fl_err *err);

#endif
