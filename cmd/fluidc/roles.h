/* What `transpile` and `plan` share: their options, and the programs that they start from. */
#ifndef CMD_FLUIDC_ROLES_H
#define CMD_FLUIDC_ROLES_H

#include "common/opt.h"
#include "transpile/transpile.h"

struct roles {
	const char *mode, *startup, *pservers, *method, *lr_steps;
	int64_t trainers, min_block_size, geo, seed;
	bool no_slice, dc_asgd, runtime_split;
	struct fl_transpile_opts opts; /* endpoints owned */
};

#define ROLES_INIT                                                                                 \
	{ .mode = "sync", .method = "RoundRobin", .lr_steps = "global", .trainers = -1,            \
		.min_block_size = FL_MIN_BLOCK_SIZE, .geo = 100 }

/* Rows of an option table. */
#define ROLES_OPTIONS(r)                                                                           \
	{ OPT_STR, "mode", 'm', "MODE", &(r)->mode, "sync, async, half-async or geo [sync]", 0, 0 },  \
	{ OPT_STR, "startup", 's', "FILE", &(r)->startup,                                          \
		"startup program [X.startup.pb beside X.main.pb, startup.pb beside main.pb]", 0, 0 }, \
	{ OPT_STR, "pservers", 'p', "LIST", &(r)->pservers,                                        \
		"endpoints of the servers, in order: HOST:PORT,HOST:PORT", 0, 0 },                 \
	{ OPT_INT, "trainers", 't', "N", &(r)->trainers, "how many trainers", INT32_MIN, INT32_MAX }, \
	{ OPT_HEADING, "How parameters are cut and placed", 0, NULL, NULL, NULL, 0, 0 },           \
	{ OPT_FLAG, "no-slice-var-up", 0, NULL, &(r)->no_slice,                                    \
		"never cut a parameter; their order is shuffled", 0, 0 },                          \
	{ OPT_INT, "min-block-size", 0, "N", &(r)->min_block_size,                                 \
		"least elements of a block [8192]", INT64_MIN, INT64_MAX },                        \
	{ OPT_STR, "split-method", 0, "NAME", &(r)->method,                                        \
		"RoundRobin, or HashName: by a hash of the block's name [RoundRobin]", 0, 0 },     \
	{ OPT_INT, "random-seed", 0, "N", &(r)->seed,                                              \
		"the program's random seed, for --no-slice-var-up [0]", 0, UINT32_MAX },           \
	{ OPT_HEADING, "Asynchronous training", 0, NULL, NULL, NULL, 0, 0 },                       \
	{ OPT_FLAG, "enable-dc-asgd", 0, NULL, &(r)->dc_asgd,                                      \
		"compensate the delay of gradients (--mode async)", 0, 0 },                        \
	{ OPT_FLAG, "runtime-split-send-recv", 0, NULL, &(r)->runtime_split,                       \
		"the communicator splits and merges, at run time", 0, 0 },                         \
	{ OPT_INT, "geo-need-push-nums", 0, "N", &(r)->geo,                                        \
		"steps between two pushes (--mode geo) [100]", INT32_MIN, INT32_MAX },             \
	{ OPT_STR, "lr-steps", 0, "POLICY", &(r)->lr_steps,                                        \
		"what the learning-rate schedule counts: global or per-trainer [global]", 0, 0 }

/* Turns the texts into r->opts; EINVAL with "did you mean". */
enum fl_code roles_options(struct roles *r, struct fl_err *err);
void roles_release(struct roles *r);

/* The startup program's path for `main`: as given, or where commands.md says; owned by the caller.
 * NULL: none was given and none is there. */
char *roles_startup(const struct roles *r, const char *main);

#endif
