/*
 * fluidc transpile: writes the programs of every role. All are made in memory first; then they are
 * written into a folder of another name, which gets its name when it is complete (a folder that
 * exists already: each file is moved into it). So a refusal or a full disk leaves nothing behind.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/pool.h"
#include "cmd.h"
#include "common/term.h"
#include "file.h"
#include "roles.h"

/* Roles are made in parallel; each needs memory for its programs, so not by more than these. */
#define MAX_THREADS 4
#define SMALL 5000 /* operators */

struct output {
	char *name;
	struct fl_buf bytes;
};

struct outputs {
	struct output *at;
	size_t n, cap;
};

static struct output *add_output(struct outputs *out, char *name)
{
	struct output *o;

	fl_grow(&out->at, &out->cap, out->n + 1, sizeof *out->at);
	o = &out->at[out->n++];
	o->name = name;
	fl_buf_init(&o->bytes);
	return o;
}

static void release_outputs(struct outputs *out)
{
	for (size_t i = 0; i < out->n; i++) {
		fl_free(out->at[i].name);
		fl_buf_release(&out->at[i].bytes);
	}
	fl_free(out->at);
}

/* ---- roles --------------------------------------------------------------------------------------- */

/* One role: a trainer's or a server's number. */
struct role {
	bool server;
	size_t id;
};

static enum fl_code find_role(const struct roles *r, const char *text, struct role *role,
	struct fl_err *err)
{
	const struct fl_transpile_opts *o = &r->opts;
	const char *colon = strchr(text, ':');
	int64_t id;

	role->server = !strncmp(text, "pserver:", 8);
	if (!colon || (!role->server && strncmp(text, "trainer:", 8)))
		return fl_err_set(err, FL_EINVAL, "option '--role': '%s' is none; write trainer:I, "
						  "pserver:K or pserver:HOST:PORT", text);
	for (size_t i = 0; role->server && i < o->n_pservers; i++)
		if (!strcmp(colon + 1, o->pservers[i])) {
			role->id = i;
			return FL_OK;
		}
	if (!opt_number(colon + 1, &id) || id < 0 ||
		id >= (role->server ? (int64_t)o->n_pservers : o->trainers))
		return fl_err_set(err, FL_EINVAL,
			"option '--role': there is no '%s' among %d trainers and %zu servers", text,
			o->trainers, o->n_pservers);
	role->id = (size_t)id;
	return FL_OK;
}

/* One role's work, done by any thread. */
struct job {
	struct role role;
	struct output *out; /* main, startup */
	enum fl_code code;
	struct fl_err err;
};

struct work {
	const struct fl_transpiler *t;
	struct job *jobs;
};

static void write_role(const struct fl_transpiler *t, struct job *job)
{
	const struct role *role = &job->role;
	struct fl_role_programs progs;

	job->code = role->server ? fl_transpile_pserver(t, role->id, &progs, &job->err)
				 : fl_transpile_trainer(t, (int)role->id, &progs, &job->err);
	if (job->code != FL_OK)
		return;
	fl_program_pack(progs.main, &job->out[0].bytes);
	fl_program_pack(progs.startup, &job->out[1].bytes);
	fl_role_programs_free(&progs);
}

static void write_some(void *arg, size_t begin, size_t end)
{
	struct work *w = arg;

	for (size_t i = begin; i < end; i++)
		write_role(w->t, &w->jobs[i]);
}

/* The roles that are wanted, all where none is named. */
static enum fl_code choose_roles(const struct roles *r, const struct opt_list *wanted,
	struct job *jobs, size_t n, struct fl_err *err)
{
	size_t trainers = (size_t)r->opts.trainers;

	for (size_t i = 0; i < n; i++) {
		struct role *role = &jobs[i].role;

		role->server = i >= trainers;
		role->id = role->server ? i - trainers : i;
		if (wanted->n)
			FL_TRY(find_role(r, wanted->at[i], role, err));
	}
	return FL_OK;
}

static enum fl_code run_jobs(const struct fl_transpiler *t, struct job *jobs, size_t n,
	int threads, struct outputs *out, struct fl_err *err)
{
	struct fl_pool *pool = threads > 1 ? fl_pool_new(threads) : NULL;
	struct work work = { t, jobs };

	for (size_t i = 0; i < n; i++) {
		const char *kind = jobs[i].role.server ? "pserver" : "trainer";

		add_output(out, fl_xstrfmt("%s-%zu.main.pb", kind, jobs[i].role.id));
		add_output(out, fl_xstrfmt("%s-%zu.startup.pb", kind, jobs[i].role.id));
	}
	for (size_t i = 0; i < n; i++)
		jobs[i].out = &out->at[2 * i];
	fl_pool_for(pool, n, 1, write_some, &work);
	fl_pool_free(pool);
	for (size_t i = 0; i < n; i++)
		if (jobs[i].code != FL_OK) {
			*err = jobs[i].err;
			return jobs[i].code;
		}
	return FL_OK;
}

static enum fl_code write_roles(const struct fl_transpiler *t, const struct roles *r,
	const struct opt_list *wanted, int threads, struct outputs *out, struct fl_err *err)
{
	size_t n = wanted->n ? wanted->n : (size_t)r->opts.trainers + r->opts.n_pservers;
	struct job *jobs = FL_NEW_N(struct job, n);
	enum fl_code code = choose_roles(r, wanted, jobs, n, err);

	if (code == FL_OK)
		code = run_jobs(t, jobs, n, n > 2 ? threads : 1, out, err);
	fl_free(jobs);
	if (code == FL_OK)
		fl_plan_json(t, &add_output(out, fl_xstrdup("plan.json"))->bytes);
	return code;
}

/* ---- files --------------------------------------------------------------------------------------- */

static enum fl_code write_into(const char *dir, const struct outputs *out, struct fl_err *err)
{
	enum fl_code code = FL_OK;

	for (size_t i = 0; code == FL_OK && i < out->n; i++) {
		char *path = fl_xstrfmt("%s/%s", dir, out->at[i].name);

		code = fl_file_write(path, fl_buf_str(&out->at[i].bytes), out->at[i].bytes.len, err);
		fl_free(path);
	}
	return code;
}

static void remove_made(const char *dir, const struct outputs *out)
{
	for (size_t i = 0; i < out->n; i++) {
		char *path = fl_xstrfmt("%s/%s", dir, out->at[i].name);

		unlink(path);
		fl_free(path);
	}
	rmdir(dir);
}

static enum fl_code move_into(const char *from, const char *to, const struct outputs *out,
	struct fl_err *err)
{
	enum fl_code code = FL_OK;

	for (size_t i = 0; code == FL_OK && i < out->n; i++) {
		char *a = fl_xstrfmt("%s/%s", from, out->at[i].name);
		char *b = fl_xstrfmt("%s/%s", to, out->at[i].name);

		if (rename(a, b))
			code = fl_err_set(err, FL_EIO, "cannot write '%s': %s", b, strerror(errno));
		fl_free(a);
		fl_free(b);
	}
	return code;
}

/* "out/" -> "out": a name beside it must not fall into it. */
static char *without_slash(const char *dir)
{
	size_t n = strlen(dir);

	while (n > 1 && dir[n - 1] == '/')
		n--;
	return fl_xstrndup(dir, n);
}

static enum fl_code write_files(const char *target, const struct outputs *out, struct fl_err *err)
{
	char *dir = without_slash(target);
	bool exists = fl_is_dir(dir);
	char *made = exists ? fl_xstrfmt("%s/.part-%ld", dir, (long)getpid())
			    : fl_xstrfmt("%s.part-%ld", dir, (long)getpid());
	enum fl_code code = fl_mkdirs_for(made, err);

	if (code == FL_OK && mkdir(made, 0777))
		code = fl_err_set(err, FL_EIO, "cannot make folder '%s': %s", made, strerror(errno));
	if (code == FL_OK) {
		code = write_into(made, out, err);
		if (code == FL_OK && exists)
			code = move_into(made, dir, out, err);
		else if (code == FL_OK && rename(made, dir))
			code = fl_err_set(err, FL_EIO, "cannot write '%s': %s", dir, strerror(errno));
		if (code != FL_OK || exists)
			remove_made(made, out);
	}
	fl_free(made);
	fl_free(dir);
	return code;
}

/* ---- command ------------------------------------------------------------------------------------- */

static void say(const struct fl_transpiler *t, const char *dir, size_t files)
{
	struct fl_buf text = FL_BUF_INIT;
	const struct fl_field fields[] = { FL_STR("dir", dir), FL_INT("files", files) };

	fl_plan_summary(t, &text);
	fl_buf_addf(&text, "%zu files in %s", files, dir);
	fl_log_event(term_log(), FL_LOG_INFO, "done", fl_buf_str(&text), fields, 2);
	fl_buf_release(&text);
}

/* Small programs are done before threads are there. */
static int threads_for(const struct fl_program *main)
{
	int n = fl_cpu_count() < MAX_THREADS ? fl_cpu_count() : MAX_THREADS;

	return main->pb->blocks[0]->n_ops < SMALL ? 1 : n;
}

static int transpile(const struct roles *r, const struct opt_list *wanted, const char *dir,
	const struct fl_program *main, const struct fl_program *startup)
{
	struct fl_transpiler *t;
	struct outputs out = { 0 };
	struct fl_err err;
	enum fl_code code = fl_transpiler_new(main, startup, &r->opts, &t, &err);

	if (code != FL_OK)
		return term_fail(code == FL_EINVAL ? EXIT_USAGE : EXIT_FAILED, &err);
	code = write_roles(t, r, wanted, threads_for(main), &out, &err);
	if (code == FL_OK)
		code = write_files(dir, &out, &err);
	if (code == FL_OK)
		say(t, dir, out.n);
	release_outputs(&out);
	fl_transpiler_free(t);
	if (code == FL_OK)
		return EXIT_OK;
	return term_fail(code == FL_EINVAL ? EXIT_USAGE : EXIT_FAILED, &err);
}

static int load_and_run(struct roles *r, const struct opt_list *wanted, const char *dir,
	const char *path)
{
	char *startup_path = roles_startup(r, path);
	struct fl_program *main = NULL, *startup = NULL;
	struct fl_err err;
	int code = EXIT_USAGE;

	if (!startup_path) {
		fl_err_set(&err, FL_EINVAL,
			"there is no startup program beside '%s'; name it with --startup", path);
		return term_fail(EXIT_USAGE, &err);
	}
	if (file_load(path, &main) && file_load(startup_path, &startup))
		code = transpile(r, wanted, dir, main, startup);
	fl_program_free(main);
	fl_program_free(startup);
	fl_free(startup_path);
	return code;
}

int cmd_transpile(int argc, char **argv)
{
	struct roles r = ROLES_INIT;
	struct opt_common common = { 0 };
	struct opt_list files = { 0 }, wanted = { 0 };
	const char *dir = NULL;
	struct fl_err err;
	const struct opt table[] = {
		{ OPT_STR, "out", 'o', "DIR", &dir, "folder for the programs of all roles", 0, 0 },
		ROLES_OPTIONS(&r),
		{ OPT_HEADING, "Output", 0, NULL, NULL, NULL, 0, 0 },
		{ OPT_LIST, "role", 0, "ROLE", &wanted,
			"only trainer:I, pserver:K or pserver:HOST:PORT (may be repeated)", 0, 0 },
		OPT_COMMON(&common),
	};
	int code = file_options(table, &common, argc, argv, "transpile [options] -o DIR MAIN",
		"Writes the programs that trainers and parameter servers run.", &files, 1, 1);

	if (code < 0 && (!dir || !*dir)) {
		fl_err_set(&err, FL_EINVAL, "'-o' is missing: the folder for the programs");
		code = term_fail(EXIT_USAGE, &err);
	}
	if (code < 0 && roles_options(&r, &err) != FL_OK)
		code = term_fail(EXIT_USAGE, &err);
	if (code < 0)
		code = load_and_run(&r, &wanted, dir, files.at[0]);
	roles_release(&r);
	opt_list_release(&wanted);
	opt_list_release(&files);
	return code;
}
