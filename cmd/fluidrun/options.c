#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define ROWS 64

/* The rows hold addresses of one struct, so the table is made anew for each. */
static size_t data_rows(struct options *o, struct opt *t)
{
	const struct opt rows[] = {
		{ OPT_HEADING, "Data", 0, NULL, NULL, NULL, 0, 0 },
		{ OPT_LIST, "feed", 0, "NAME=FILE[,KEY=VALUE...]", &o->feed,
			"data: npy, IDX (.gz), CSV, TSV, LoDTensor; keys dtype scale shape columns skip",
			0, 0 },
		{ OPT_LIST, "feed-dir", 0, "DIR", &o->feed_dir,
			"prepared batches: DIR/step-00/NAME, ...", 0, 0 },
		{ OPT_INT, "batch-size", 0, "N", &o->batch_size, "samples a step [32]", 1,
			INT32_MAX },
		{ OPT_INT, "epochs", 0, "N", &o->epochs, "times over the data [1]", 0, INT32_MAX },
		{ OPT_INT, "steps", 0, "N", &o->steps, "stop after N steps, over all epochs", 0,
			INT64_MAX },
		{ OPT_FLAG, "shuffle", 0, NULL, &o->shuffle, "another order in each epoch", 0, 0 },
		{ OPT_INT, "seed", 0, "N", &o->seed, "of --shuffle and of unseeded operators", 0,
			INT64_MAX },
		{ OPT_FLAG, "drop-last", 0, NULL, &o->drop_last, "leave out an incomplete batch", 0,
			0 },
		{ OPT_INT, "trainer-id", 0, "I", &o->trainer_id, "this process's shard of the data",
			0, INT32_MAX },
		{ OPT_INT, "trainers", 0, "N", &o->trainers, "sample k belongs to trainer k mod N",
			1, INT32_MAX },
		{ OPT_FLAG, "no-shard", 0, NULL, &o->no_shard, "read all data", 0, 0 },
	};

	memcpy(t, rows, sizeof rows);
	return FL_COUNT(rows);
}

static size_t program_rows(struct options *o, struct opt *t)
{
	const struct opt rows[] = {
		{ OPT_HEADING, "Programs and variables", 0, NULL, NULL, NULL, 0, 0 },
		{ OPT_STR, "startup", 0, "FILE", &o->startup, "startup program, run once before", 0,
			0 },
		{ OPT_STR, "load", 0, "PATH", &o->load,
			"variables from a folder of stream files, or from one combined file", 0, 0 },
		{ OPT_STR, "load-names", 0, "A,B|@FILE", &o->load_names,
			"what the combined file holds [all persistables by name]", 0, 0 },
		{ OPT_STR, "save", 0, "DIR", &o->save, "persistable variables after the last step",
			0, 0 },
		{ OPT_STR, "save-combined", 0, "FILE", &o->save_combined, "the same in one file", 0,
			0 },
		{ OPT_INT, "save-every", 0, "N", &o->save_every,
			"also after every N-th step, in DIR/step-KK", 1, INT64_MAX },
	};

	memcpy(t, rows, sizeof rows);
	return FL_COUNT(rows);
}

static size_t result_rows(struct options *o, struct opt *t)
{
	const struct opt rows[] = {
		{ OPT_HEADING, "Results", 0, NULL, NULL, NULL, 0, 0 },
		{ OPT_LIST, "fetch", 0, "NAME", &o->fetch, "print this variable after each step", 0,
			0 },
		{ OPT_INT, "print-every", 0, "N", &o->print_every, "print every N-th step [1]", 1,
			INT64_MAX },
		{ OPT_STR, "save-fetch", 0, "DIR", &o->save_fetch,
			"write fetched variables as DIR/step-KK/NAME", 0, 0 },
		{ OPT_STR, "eval", 0, "FILE", &o->eval, "test program, run after each epoch", 0, 0 },
		{ OPT_LIST, "eval-feed", 0, "NAME=FILE[,KEY=VALUE...]", &o->eval_feed,
			"held-out data", 0, 0 },
		{ OPT_LIST, "eval-fetch", 0, "NAME", &o->eval_fetch,
			"print this variable's mean over the held-out data", 0, 0 },
		{ OPT_FLAG, "check-nan-inf", 0, NULL, &o->check_nan_inf,
			"stop at the first operator that makes a NaN or infinity", 0, 0 },
	};

	memcpy(t, rows, sizeof rows);
	return FL_COUNT(rows);
}

static size_t process_rows(struct options *o, struct opt *t)
{
	const struct opt rows[] = {
		{ OPT_HEADING, "Servers and trainers", 0, NULL, NULL, NULL, 0, 0 },
		{ OPT_LIST, "endpoint", 0, "OLD=NEW", &o->endpoint,
			"use NEW where the program says OLD", 0, 0 },
		{ OPT_STR, "ready-file", 0, "FILE", &o->ready_file, "written once the server is up",
			0, 0 },
		{ OPT_STR, "port-file", 0, "FILE", &o->port_file, "the server's port", 0, 0 },
		{ OPT_NUM, "wait-servers", 0, "SECONDS", &o->wait_servers,
			"how long a trainer waits for its servers [120]", 0, 0 },
		{ OPT_INT, "rpc-deadline", 0, "MS", &o->rpc_deadline,
			"of a call [FLAGS_rpc_deadline, 180000]", 1, INT32_MAX },
		{ OPT_INT, "rpc-retry-times", 0, "N", &o->rpc_retry_times,
			"of a call that found no server [FLAGS_rpc_retry_times, 3]", 0, 1000 },
		{ OPT_STR, "on-lost-trainer", 0, "fail|continue", &o->on_lost_trainer,
			"what a server does without a trainer [fail]", 0, 0 },
		{ OPT_STR, "tls-cert", 0, "FILE", &o->tls_cert, "PEM certificate of this process", 0,
			0 },
		{ OPT_STR, "tls-key", 0, "FILE", &o->tls_key, "its PEM key", 0, 0 },
		{ OPT_STR, "tls-ca", 0, "FILE", &o->tls_ca, "PEM certificates that peers must have",
			0, 0 },
		{ OPT_FLAG, "insecure", 0, NULL, &o->insecure,
			"serve beyond this machine in plain text", 0, 0 },
		{ OPT_INT, "threads", 0, "N", &o->threads,
			"of kernels and of the server [cores of this process]", 1, 1024 },
	};

	memcpy(t, rows, sizeof rows);
	return FL_COUNT(rows);
}

static void make_table(struct options *o, struct opt *t)
{
	const struct opt rest[] = { OPT_COMMON(&o->common) };
	size_t n = program_rows(o, t);

	n += data_rows(o, t + n);
	n += result_rows(o, t + n);
	n += process_rows(o, t + n);
	memcpy(t + n, rest, sizeof rest);
	t[n + FL_COUNT(rest) - 1] = (struct opt){ OPT_FLAG, "version", 0, NULL, &o->version,
		"show the version", 0, 0 };
	memset(&t[n + FL_COUNT(rest)], 0, sizeof *t);
}

static void set_defaults(struct options *o)
{
	memset(o, 0, sizeof *o);
	o->batch_size = 32;
	o->epochs = 1;
	o->steps = o->seed = o->trainer_id = o->trainers = -1;
	o->rpc_deadline = o->rpc_retry_times = -1;
	o->print_every = 1;
	o->wait_servers = 120;
	o->on_lost_trainer = "fail";
}

static enum fl_code need(bool given, const char *what, bool there, const char *needs,
	struct fl_err *err)
{
	if (given && !there)
		return fl_err_set(err, FL_EINVAL, "option '--%s' needs '--%s'", what, needs);
	return FL_OK;
}

static enum fl_code check(const struct options *o, struct fl_err *err)
{
	if (strcmp(o->on_lost_trainer, "fail") && strcmp(o->on_lost_trainer, "continue"))
		return fl_err_set(err, FL_EINVAL,
			"option '--on-lost-trainer' wants fail or continue, not '%s'", o->on_lost_trainer);
	FL_TRY(need(o->load_names, "load-names", o->load, "load", err));
	FL_TRY(need(o->save_every, "save-every", o->save, "save", err));
	FL_TRY(need(o->eval_feed.n, "eval-feed", o->eval, "eval", err));
	FL_TRY(need(o->eval_fetch.n, "eval-fetch", o->eval, "eval", err));
	FL_TRY(need(o->eval, "eval", o->eval_fetch.n, "eval-fetch", err));
	FL_TRY(need(o->trainer_id >= 0, "trainer-id", o->trainers > 0 || o->no_shard, "trainers",
		err));
	FL_TRY(need(o->tls_cert, "tls-cert", o->tls_key, "tls-key", err));
	FL_TRY(need(o->tls_key, "tls-key", o->tls_cert, "tls-cert", err));
	if (o->trainers > 0 && o->trainer_id >= o->trainers)
		return fl_err_set(err, FL_EINVAL,
			"option '--trainer-id' counts from 0: with '--trainers %lld' it is at most %lld",
			(long long)o->trainers, (long long)o->trainers - 1);
	return FL_OK;
}

/* An environment flag of Fluid, where the option was not given. */
static enum fl_code flag(int64_t *v, const char *name, int64_t fallback, struct fl_err *err)
{
	const char *s = *v < 0 ? getenv(name) : NULL;

	if (s && (!opt_number(s, v) || *v < 0 || *v > INT32_MAX))
		return fl_err_set(err, FL_EINVAL, "the environment has %s='%s', which is no number",
			name, s);
	if (*v < 0)
		*v = fallback;
	return FL_OK;
}

/* FLAGS_check_nan_inf and the like: "1", "true", "0", "false", "". */
static bool env_true(const char *name)
{
	const char *s = getenv(name);

	return s && *s && strcmp(s, "0") && strcmp(s, "false") && strcmp(s, "False");
}

enum fl_code options_parse(struct options *o, int argc, char **argv, struct fl_err *err)
{
	struct opt_list files = { 0 };
	struct opt table[ROWS];
	enum fl_code code;

	set_defaults(o);
	make_table(o, table);
	code = opt_parse(table, argc, argv, &files, &o->help, err);
	if (code == FL_OK && !o->help && !o->version && files.n != 1)
		code = files.n ? fl_err_set(err, FL_EINVAL, "one program file is wanted, found %zu ('%s', '%s')",
					 files.n, files.at[0], files.at[1])
			       : fl_err_set(err, FL_EINVAL, "no program file given, see --help");
	o->main = files.n ? files.at[0] : NULL;
	opt_list_release(&files);
	if (code != FL_OK || o->help || o->version)
		return code;
	FL_TRY(flag(&o->rpc_deadline, "FLAGS_rpc_deadline", 180000, err));
	FL_TRY(flag(&o->rpc_retry_times, "FLAGS_rpc_retry_times", 3, err));
	o->check_nan_inf |= env_true("FLAGS_check_nan_inf");
	return check(o, err);
}

void options_release(struct options *o)
{
	opt_list_release(&o->feed);
	opt_list_release(&o->feed_dir);
	opt_list_release(&o->fetch);
	opt_list_release(&o->eval_feed);
	opt_list_release(&o->eval_fetch);
	opt_list_release(&o->endpoint);
}

void options_help(void)
{
	struct opt table[ROWS];
	struct options o;

	set_defaults(&o);
	make_table(&o, table);
	printf("Usage: fluidrun [--startup FILE] [options] MAIN\n\n"
	       "Runs a program: the startup program once, then MAIN once for each batch of data. A\n"
	       "program with listen_and_serv makes the process a parameter server. MAIN may be a\n"
	       "folder with a saved model.\n");
	opt_help(table);
}
