/*
 * The parameter server: what a listen_and_serv operator describes. State: the root scope; per
 * parameter block its optimize block (a frame made once), a lock, a queue, counters. One seam,
 * struct fl_serv_mode (pserver/mode.h), with two loops: sync.c and async.c.
 */
#ifndef FL_PSERVER_PSERVER_H
#define FL_PSERVER_PSERVER_H

#include "desc/program.h"
#include "exec/prepared.h"

struct fl_pserver_opts {
	const char *address;   /* replaces the operator's endpoint; NULL: as the program says */
	const char *port_file; /* written whole once bound; NULL: none */
	const char *ready_file;
	bool continue_on_lost; /* --on-lost-trainer continue */
	int threads;           /* of the pool, where env has none, and of the completion queue */
	bool insecure;         /* listen beyond loopback in plain text */
	const char *tls_cert, *tls_key, *tls_ca; /* PEM texts; NULL: plain text (rpc/server.h) */
	const struct fl_log *log;
	/* Becomes readable when the process was asked to stop (a signal): an orderly end. -1:
	 * none. */
	int stop_fd;
};

/* Serves until all trainers have completed (FL_OK), stop_fd (ECANCELED), a lost trainer
 * (ELOST), or an error. The scope holds the variables after the startup program has run. EINVAL:
 * the program lacks something, or the address would be open to all in plain text; EIO: it cannot be
 * bound. The port and ready files are removed at the end. */
enum fl_code fl_pserver_run(const struct fl_program *prog, const fl_pb_op *listen_and_serv,
	struct fl_scope *scope, const struct fl_exec_env *env, const struct fl_pserver_opts *opts,
	struct fl_err *err);

#endif
