/* One run of fluidrun: what its parts share. */
#ifndef CMD_FLUIDRUN_RUN_H
#define CMD_FLUIDRUN_RUN_H

#include "desc/program.h"
#include "exec/prepared.h"
#include "options.h"
#include "rpc/client.h"

struct run {
	const struct options *opt;
	struct fl_program *startup, *main, *eval; /* owned; startup and eval may be NULL */
	struct fl_scope *root;			  /* owned */
	struct fl_pool *pool;			  /* owned; NULL with one thread */
	struct fl_client *client;		  /* owned; NULL: no program talks to servers */
	struct fl_host host;
	struct fl_exec_env env;
	uint64_t seed_source;
	int threads;
	int64_t trainer, trainers; /* the shard: of the options, else of the program; -1: not known */
	uint64_t fingerprint; /* of the program's record; 0: none */
	int stop_fd;
	bool serves; /* MAIN has listen_and_serv */
	bool bad_input; /* what failed was an option's value or a file: exit code 2 */
	bool sends;  /* MAIN talks to servers: a trainer's program */
	void *server; /* what the serve callback needs; owned */
	char *params; /* folder or combined file of a saved model's parameters; owned; or NULL */
};

/* Notes that a failure is one of the input; returns the code. */
static inline enum fl_code run_input(struct run *r, enum fl_code code)
{
	r->bad_input |= code != FL_OK;
	return code;
}

/* ---- program.c: programs, and what is read from them ----------------------------------------- */

/* Loads MAIN (a file or the folder of a saved model), --startup and --eval, and rewrites endpoints.
 * An error here is unreadable input. */
enum fl_code run_load_programs(struct run *r, struct fl_err *err);
/* Finds out which trainer this is: the options say it, else the program's fingerprint record;
 * r->trainer, not r->trainers, also from the operators that send. EFORMAT: a damaged record. */
enum fl_code run_find_trainer(struct run *r, struct fl_err *err);
/* Does an operator of that type stand in block 0? NULL: no. */
const fl_pb_op *program_find_op(const fl_pb_program *pb, const char *type);
/* The endpoints that operators of both programs talk to, each once; owned array of borrowed
 * strings. */
size_t run_servers(const struct run *r, const char ***out);
/* The declaration in block 0, or ENOTFOUND with a "did you mean"; `what` begins the message. */
enum fl_code program_need_var(const fl_pb_program *pb, const char *what, const char *name,
	const fl_pb_var **out, struct fl_err *err);
/* Names that block 0 reads before it writes them, not persistable: its data. Borrowed strings in
 * an owned array. */
size_t program_data_vars(const fl_pb_program *pb, const char ***out);
/* Does block 0 read anything that it has not written? */
bool program_reads_outside(const fl_pb_program *pb);

/* ---- load.c: --load, --save ------------------------------------------------------------------ */

/* Makes the program's persistable variables in the root scope. */
void run_declare(struct run *r);
enum fl_code run_load(struct run *r, struct fl_err *err);
enum fl_code run_save(struct run *r, struct fl_err *err);
/* --save-every after step `step`. */
enum fl_code run_save_step(struct run *r, int64_t step, struct fl_err *err);
/* May a variable of that name be a file below a folder? EINVAL: "..", a leading "/". */
enum fl_code check_file_name(const char *name, struct fl_err *err);

/* ---- loop.c: the steps ----------------------------------------------------------------------- */

enum fl_code run_steps(struct run *r, struct fl_err *err);

#endif
