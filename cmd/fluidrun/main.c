/*
 * fluidrun: runs a program. The startup program once, then MAIN once for each batch; a program with
 * listen_and_serv becomes a parameter server. spec: `fluidrun --help`, fluidrun(1).
 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/mem.h"
#include "common/term.h"
#include "core.h"
#include "kernels/blas.h"
#include "run.h"
#include "serve.h"
#include "signals.h"

static int exit_code(const struct run *r, enum fl_code code)
{
	if (r->bad_input)
		return EXIT_USAGE;
	switch (code) {
	case FL_OK: return EXIT_OK;
	case FL_ECANCELED: return 128 + signals_got();
	case FL_ELOST: return EXIT_PEER_LOST;
	case FL_EDEADLINE: return EXIT_DEADLINE;
	default: return EXIT_FAILED;
	}
}

/* Operators without a seed of their own draw from the clock, as the real one's do; --seed makes
 * the run repeatable. */
static uint64_t first_seed(const struct options *o)
{
	struct timespec ts;

	if (o->seed >= 0)
		return (uint64_t)o->seed;
	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_nsec * 0x9e3779b97f4a7c15u ^ (uint64_t)ts.tv_sec << 20 ^
		(uint64_t)getpid();
}

static void init_run(struct run *r, const struct options *o)
{
	memset(r, 0, sizeof *r);
	r->opt = o;
	r->threads = o->threads ? (int)o->threads : fl_cpu_count();
	fl_blas_set_threads(1); /* the kernels split products over the pool */
	r->root = fl_scope_new(NULL);
	r->seed_source = first_seed(o);
	r->stop_fd = signals_init();
	r->env = (struct fl_exec_env){ .host = &r->host, .log = term_log(),
		.seed_source = &r->seed_source, .check_nan_inf = o->check_nan_inf };
	fl_blas_set_threads(1); /* kernels split products over the pool */
	if (r->threads > 1)
		r->env.pool = r->pool = fl_pool_new(r->threads);
}

static void release_run(struct run *r)
{
	fl_client_free(r->client);
	fl_scope_free(r->root);
	fl_pool_free(r->pool);
	fl_program_free(r->eval);
	fl_program_free(r->startup);
	fl_program_free(r->main);
	fl_free(r->server);
	fl_free(r->params);
}

/* What is persistable goes to the root scope, what is temporary dies with a scope of its own. */
static enum fl_code run_startup(struct run *r, struct fl_err *err)
{
	struct fl_scope *scope = fl_scope_new(r->root);
	struct fl_frame *frame = NULL;
	enum fl_code code = fl_frame_new(r->startup, 0, scope, &r->env, &frame, err);

	if (code == FL_OK)
		code = fl_frame_run(frame, err);
	fl_frame_free(frame);
	fl_scope_free(scope);
	return code == FL_OK ? FL_OK : fl_err_wrap(err, "startup program");
}

static enum fl_code run_server(struct run *r, struct fl_err *err)
{
	struct fl_frame *frame = NULL;
	enum fl_code code;

	if (r->opt->feed.n || r->opt->feed_dir.n || r->opt->fetch.n || r->opt->eval)
		return run_input(r, fl_err_set(err, FL_EINVAL,
			"the program is a parameter server's, which has no data, fetches or evaluation"));
	code = fl_frame_new(r->main, 0, r->root, &r->env, &frame, err);
	if (code == FL_OK)
		code = fl_frame_run(frame, err);
	fl_frame_free(frame);
	return code;
}

/* An orderly stop by a signal ends the steps, what was trained is saved all the same. */
static enum fl_code run_all(struct run *r, const struct tls *tls, struct fl_err *err)
{
	enum fl_code code;

	run_declare(r);
	FL_TRY(run_input(r, run_find_trainer(r, err)));
	FL_TRY(run_connect(r, tls, err));
	if (r->startup)
		FL_TRY(run_startup(r, err));
	FL_TRY(run_input(r, run_load(r, err)));
	code = r->serves ? run_server(r, err) : run_steps(r, err);
	if (code == FL_OK || code == FL_ECANCELED) {
		struct fl_err save_err;

		if (run_save(r, &save_err) != FL_OK) {
			*err = save_err;
			return err->code;
		}
	}
	if (code == FL_OK && r->client)
		FL_TRY(fl_client_complete(r->client, err));
	return code;
}

static int run_program(const struct options *o)
{
	struct fl_err err = { FL_OK, "" };
	double began = fl_now();
	struct tls tls = { FL_BUF_INIT, FL_BUF_INIT, FL_BUF_INIT };
	struct run r;
	enum fl_code code;
	int status;

	init_run(&r, o);
	code = run_input(&r, tls_read(&tls, o, &err));
	if (code == FL_OK)
		code = run_input(&r, run_load_programs(&r, &err));
	if (code == FL_OK) {
		struct fl_field start[] = { FL_STR("program", o->main), FL_INT("threads", r.threads),
			FL_STR("version", FLUID_VERSION) };

		fl_log_event(r.env.log, FL_LOG_INFO, "start", NULL, start, FL_COUNT(start));
		r.serves = program_find_op(r.main->pb, "listen_and_serv") != NULL;
		code = run_all(&r, &tls, &err);
	}
	status = exit_code(&r, code);
	if (code != FL_OK) {
		term_fail(status, &err);
	} else if (!r.serves) { /* a server has said it, with its rounds and updates */
		struct fl_field done[] = { FL_NUM("seconds", fl_now() - began) };

		fl_log_event(r.env.log, FL_LOG_INFO, "done", NULL, done, FL_COUNT(done));
	}
	release_run(&r);
	tls_release(&tls);
	return status;
}

int main(int argc, char **argv)
{
	struct options o;
	struct fl_err err;
	int status = EXIT_OK;

	term_start("fluidrun", argc, argv);
	if (options_parse(&o, argc, argv, &err) != FL_OK)
		status = term_fail(EXIT_USAGE, &err);
	else if (o.help)
		options_help();
	else if (o.version)
		printf("fluidrun %s\n", FLUID_VERSION);
	else if (term_options(&o.common, &err) != FL_OK)
		status = term_fail(EXIT_USAGE, &err);
	else {
		core_choose(argv);
		status = run_program(&o);
	}
	options_release(&o);
	return status;
}
