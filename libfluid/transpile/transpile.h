/*
 * From one training program (main and startup, as a user's script leaves it after `minimize`) to the
 * programs of every role of a run with parameter servers. What comes out is what the
 * DistributeTranspiler of Fluid 1.8.5 writes, its defects repaired (fluidc(1) lists them).
 *
 *	struct fl_transpiler *t;
 *	FL_TRY(fl_transpiler_new(main, startup, &options, &t, err));
 *	FL_TRY(fl_transpile_trainer(t, 0, &role, err));      any role, in any order, any number
 *
 * Everything is a pure function of programs and options: control variables are numbered, nothing
 * depends on time, locale or the order of the input's maps.
 */
#ifndef FL_TRANSPILE_TRANSPILE_H
#define FL_TRANSPILE_TRANSPILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "desc/fingerprint.h"
#include "desc/program.h"

enum fl_split_method { FL_ROUND_ROBIN, FL_HASH_NAME, FL_SPLIT_METHOD_COUNT };

/* "sync", "RoundRobin", "global", as the command line spells them. */
const char *fl_dist_mode_name(enum fl_dist_mode mode);
const char *fl_split_method_name(enum fl_split_method method);
const char *fl_lr_steps_name(enum fl_lr_steps steps);

#define FL_MAX_TRAINERS 4096
#define FL_MAX_PSERVERS 4096
#define FL_MIN_BLOCK_SIZE 8192

struct fl_transpile_opts {
	enum fl_dist_mode mode;
	const char *const *pservers; /* borrowed; "host:port", in order */
	size_t n_pservers;
	int trainers;
	bool slice_var_up;
	int64_t min_block_size; /* elements */
	enum fl_split_method split_method;
	bool enable_dc_asgd;
	bool runtime_split_send_recv;
	int64_t geo_need_push_nums;
	int64_t random_seed; /* Program.random_seed, which no file carries */
	enum fl_lr_steps lr_steps;
};

/* Fluid's defaults; pservers and trainers are still to be set. */
void fl_transpile_opts_init(struct fl_transpile_opts *opts);

/* Refuses options that are wrong in themselves (EINVAL): counts, endpoints, combinations. */
enum fl_code fl_transpile_opts_check(const struct fl_transpile_opts *opts, struct fl_err *err);

/* Splits "a:1, b:2" at commas, trims blanks; returns the number of endpoints, *out is owned by the
 * caller: one block of memory, freed by fl_free. */
size_t fl_split_endpoints(const char *list, const char *const **out);

struct fl_transpiler;

/* Checks the options, analyzes the programs, cuts and places the parameters. The programs are
 * borrowed and must outlive *out, which the caller owns. EINVAL: an option is wrong in itself;
 * EUNSUPPORTED and EFORMAT: this program cannot be transpiled, and why. */
enum fl_code fl_transpiler_new(const struct fl_program *main, const struct fl_program *startup,
	const struct fl_transpile_opts *opts, struct fl_transpiler **out, struct fl_err *err);
void fl_transpiler_free(struct fl_transpiler *t);

/* The programs of one role, owned by whoever holds the struct. They share descriptors with each other and
 * with the input, so that the transpiler must outlive them and nothing in them may be changed. */
struct fl_role_programs {
	struct fl_program *main, *startup;
};
void fl_role_programs_free(struct fl_role_programs *role);

enum fl_code fl_transpile_trainer(const struct fl_transpiler *t, int trainer_id,
	struct fl_role_programs *out, struct fl_err *err);
enum fl_code fl_transpile_pserver(const struct fl_transpiler *t, size_t pserver_id,
	struct fl_role_programs *out, struct fl_err *err);

/* ---- the plan: what was cut, and where it lies ----------------------------------------------- */

struct fl_plan_server {
	const char *endpoint;
	size_t blocks;
	int64_t param_bytes; /* parameters held */
	int64_t state_bytes; /* accumulators of their optimizers */
};

struct fl_plan {
	struct fl_plan_server *servers; /* owned */
	size_t n_servers, n_params, n_blocks;
	int64_t param_bytes;
	int64_t send_bytes, recv_bytes; /* one trainer, one step, dense parameters */
	double imbalance;		/* largest server's parameter bytes over the mean; 1 is even */
	size_t fullest;
};

void fl_plan_make(const struct fl_transpiler *t, struct fl_plan *out);
void fl_plan_release(struct fl_plan *plan);
/* Appends the plan: parameters with blocks, servers, offsets and accumulators (what is needed to
 * merge or split saved slices), totals of each server. */
void fl_plan_json(const struct fl_transpiler *t, struct fl_buf *out);
/* Appends a table for people. */
void fl_plan_table(const struct fl_transpiler *t, struct fl_buf *out);
/* Appends a few lines: mode, servers with parameters and bytes, bytes a step, warnings. */
void fl_plan_summary(const struct fl_transpiler *t, struct fl_buf *out);

#endif
