/* Everything that can be asked of fluidrun (commands.md). */
#ifndef CMD_FLUIDRUN_OPTIONS_H
#define CMD_FLUIDRUN_OPTIONS_H

#include "common/opt.h"

struct options {
	struct opt_common common;
	bool help, version;
	const char *main; /* MAIN */
	const char *startup;
	const char *load, *load_names, *save, *save_combined;
	int64_t save_every; /* 0: never */

	struct opt_list feed, feed_dir;
	int64_t batch_size, epochs, steps; /* steps -1: as many as there are */
	int64_t seed;			   /* -1: not given */
	bool shuffle, drop_last, no_shard;
	int64_t trainer_id, trainers; /* -1: not given */

	struct opt_list fetch;
	int64_t print_every;
	const char *save_fetch;
	const char *eval;
	struct opt_list eval_feed, eval_fetch;

	struct opt_list endpoint;
	const char *ready_file, *port_file;
	double wait_servers;
	int64_t rpc_deadline, rpc_retry_times;
	const char *on_lost_trainer;
	const char *tls_cert, *tls_key, *tls_ca;
	bool insecure;

	int64_t threads; /* 0: the cores this process may use */
	bool check_nan_inf;
};

/* Parses and checks; EINVAL with a complete message. --help and --version are left to the caller.
 * Release with options_release. */
enum fl_code options_parse(struct options *o, int argc, char **argv, struct fl_err *err);
void options_release(struct options *o);
/* The option table as help text on standard output. */
void options_help(void);

#endif
