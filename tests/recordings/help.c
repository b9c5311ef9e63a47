/* Paths, JSON, command lines and processes of the recordings' runners. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "recordings/recordings.h"

static const char *path_of(const struct rec_case *c, const char *dir, const char *fmt, va_list ap)
	__attribute__((format(printf, 3, 0)));
static const char *path_of(const struct rec_case *c, const char *dir, const char *fmt, va_list ap)
{
	char name[1024];

	vsnprintf(name, sizeof name, fmt, ap);
	return fl_arena_strfmt(c->arena, "%s/%s", dir, name);
}

const char *rec_in(const struct rec_case *c, const char *fmt, ...)
{
	const char *path;
	va_list ap;

	va_start(ap, fmt);
	path = path_of(c, c->dir, fmt, ap);
	va_end(ap);
	return path;
}

const char *rec_tmp(const struct rec_case *c, const char *fmt, ...)
{
	const char *path;
	va_list ap;

	va_start(ap, fmt);
	path = path_of(c, c->tmp, fmt, ap);
	va_end(ap);
	return path;
}

cJSON *rec_json(const char *path, struct fl_buf *why)
{
	struct fl_buf b = FL_BUF_INIT;
	struct fl_err err = { 0 };
	cJSON *o = NULL;

	if (fl_file_read(path, 0, &b, &err))
		fl_buf_adds(why, err.msg);
	else if (!(o = cJSON_ParseWithLength(fl_buf_str(&b), b.len)))
		fl_buf_addf(why, "'%s' is no JSON", path);
	fl_buf_release(&b);
	return o;
}

const char *rec_str(const cJSON *o, const char *key, const char *otherwise)
{
	const char *s = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(o, key));

	return s ? s : otherwise;
}

double rec_num(const cJSON *o, const char *key, double otherwise)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);

	return cJSON_IsNumber(v) ? v->valuedouble : otherwise;
}

bool rec_true(const cJSON *o, const char *key)
{
	return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(o, key));
}

/* ---- files ---- */

struct names {
	char **at;
	size_t n, cap;
};

static void list(const struct rec_case *c, const char *root, const char *below, struct names *out)
{
	const char *dir = *below ? fl_arena_strfmt(c->arena, "%s/%s", root, below) : root;
	struct dirent **d;
	int n = scandir(dir, &d, NULL, alphasort);

	for (int i = 0; i < n; i++) {
		const char *name = d[i]->d_name;
		char *sub = *below ? fl_arena_strfmt(c->arena, "%s/%s", below, name) :
				     fl_arena_strdup(c->arena, name);

		if (!strcmp(name, ".") || !strcmp(name, "..")) {
			/* not below it */
		} else if (fl_is_dir(fl_arena_strfmt(c->arena, "%s/%s", root, sub))) {
			list(c, root, sub, out);
		} else {
			fl_grow(&out->at, &out->cap, out->n + 1, sizeof *out->at);
			out->at[out->n++] = sub;
		}
		free(d[i]);
	}
	if (n >= 0)
		free(d);
}

char **rec_files(const struct rec_case *c, const char *dir, size_t *n)
{
	struct names out = { 0 };
	char **kept;

	list(c, dir, "", &out);
	kept = FL_ARENA_NEW_N(c->arena, char *, out.n + 1);
	if (out.n)
		memcpy(kept, out.at, out.n * sizeof *kept);
	fl_free(out.at);
	*n = out.n;
	return kept;
}

void rec_copy_file(const char *from, const char *to, struct fl_buf *why)
{
	struct fl_buf b = FL_BUF_INIT;
	struct fl_err err = { 0 };

	if (fl_file_read(from, 0, &b, &err) || fl_mkdirs_for(to, &err) ||
		fl_file_write(to, fl_buf_str(&b), b.len, &err))
		fl_buf_adds(why, err.msg);
	fl_buf_release(&b);
}

/* ---- command lines ---- */

void rec_arg(struct rec_args *a, const char *s)
{
	if (a->n + 1 >= FL_COUNT(a->v))
		FL_BUG("a command line of the recordings is too long");
	a->v[a->n++] = s;
	a->v[a->n] = NULL;
}

void rec_arg2(struct rec_args *a, const char *option, const char *value)
{
	rec_arg(a, option);
	rec_arg(a, value);
}

static const char *mode_of(const cJSON *config)
{
	bool half = rec_true(config, "half_async");

	if (rec_true(config, "geo"))
		return "geo";
	if (rec_true(config, "sync") || (half && rec_true(config, "not_async")))
		return "sync";
	return half ? "half-async" : "async";
}

static const char *whole_number(const struct rec_case *c, const cJSON *o, const char *key)
{
	return fl_arena_strfmt(c->arena, "%lld", (long long)rec_num(o, key, 0));
}

void rec_transpile_args(const struct rec_case *c, const cJSON *config, const char *from,
	const char *out, struct rec_args *a)
{
	const cJSON *endpoints = cJSON_GetObjectItemCaseSensitive(config, "endpoints"), *e;
	const char *seed = cJSON_HasObjectItem(config, "random_seed") ? "random_seed" : "seed";
	const char *list_of = "";

	cJSON_ArrayForEach(e, endpoints) list_of = fl_arena_strfmt(c->arena, "%s%s%s", list_of,
		*list_of ? "," : "", cJSON_GetStringValue(e));
	rec_arg2(a, rec_fluidc, "transpile");
	rec_arg2(a, "--startup", fl_arena_strfmt(c->arena, "%sstartup.pb", from));
	rec_arg2(a, "--mode", mode_of(config));
	rec_arg2(a, "--pservers", list_of);
	rec_arg2(a, "--trainers", whole_number(c, config, "trainers"));
	rec_arg2(a, "--min-block-size", whole_number(c, config, "min_block_size"));
	rec_arg2(a, "--split-method", rec_str(config, "dispatcher", "RoundRobin"));
	rec_arg2(a, "--random-seed", whole_number(c, config, seed));
	rec_arg2(a, "-o", out);
	if (!rec_true(config, "slice_var_up"))
		rec_arg(a, "--no-slice-var-up");
	if (rec_true(config, "dc_asgd"))
		rec_arg(a, "--enable-dc-asgd");
	if (rec_true(config, "runtime_split"))
		rec_arg(a, "--runtime-split-send-recv");
	if (rec_true(config, "geo"))
		rec_arg2(a, "--geo-need-push-nums", whole_number(c, config, "geo_push"));
	rec_arg(a, fl_arena_strfmt(c->arena, "%smain.pb", from));
}

/* ---- processes ---- */

/* Between fork and exec only what may be called from a process with threads. */
static _Noreturn void become(const char *cwd, int out, int log, const struct rec_args *a)
{
	int none = open("/dev/null", O_RDWR);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (dup2(none, 0) < 0 || dup2(out < 0 ? none : out, 1) < 0 || dup2(log, 2) < 0 ||
		chdir(cwd))
		_exit(126);
	execv(a->v[0], (char *const *)a->v);
	_exit(127);
}

void rec_start(struct rec_proc *p, const char *tag, const char *cwd, const char *out,
	const char *log, const struct rec_args *a)
{
	int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
	int log_fd = open(log, flags, 0666), out_fd = out ? open(out, flags, 0666) : -1;

	*p = (struct rec_proc){ .tag = tag, .log = log, .code = 127 };
	p->pid = log_fd < 0 ? -1 : fork();
	if (!p->pid)
		become(cwd, out_fd, log_fd, a);
	if (p->pid < 0)
		p->pid = 0;
	if (log_fd >= 0)
		close(log_fd);
	if (out_fd >= 0)
		close(out_fd);
}

static void ended(struct rec_proc *p, int status)
{
	p->pid = 0;
	p->code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void rec_kill(struct rec_proc *p, size_t n)
{
	int status;

	for (size_t i = 0; i < n; i++) {
		if (!p[i].pid)
			continue;
		kill(p[i].pid, SIGKILL);
		while (waitpid(p[i].pid, &status, 0) < 0 && errno == EINTR)
			;
		ended(&p[i], status);
		p[i].code = 124;
	}
}

void rec_said(struct fl_buf *why, int code, const char *said)
{
	size_t n = strlen(said), keep = n < 250 ? n : 250;

	fl_buf_addf(why, code == 124 ? "no end in time (%d): " : "exit code %d: ", code);
	for (const char *s = said + n - keep; *s; s++)
		fl_buf_addc(why, *s == '\n' ? ' ' : *s);
}

static void say(const struct rec_proc *p, struct fl_buf *why)
{
	struct fl_buf log = FL_BUF_INIT;
	struct fl_err err = { 0 };

	fl_buf_addf(why, "%s%s: ", why->len ? "; " : "", p->tag);
	rec_said(why, p->code, fl_file_read(p->log, 0, &log, &err) ? err.msg : fl_buf_str(&log));
	fl_buf_release(&log);
}

bool rec_wait(struct rec_proc *p, size_t n, double seconds, struct fl_buf *why)
{
	const struct timespec nap = { 0, 1000000 };
	double end = fl_now() + seconds;
	bool ok = true, running = true;

	while (ok && running && fl_now() < end) {
		running = false;
		for (size_t i = 0; i < n; i++) {
			int status;

			if (p[i].pid && waitpid(p[i].pid, &status, WNOHANG) == p[i].pid)
				ended(&p[i], status);
			running |= p[i].pid != 0;
			ok &= p[i].pid || !p[i].code;
		}
		if (ok && running)
			nanosleep(&nap, NULL);
	}
	for (size_t i = 0; i < n; i++)
		if (!p[i].pid && p[i].code)
			say(&p[i], why);
	for (size_t i = 0; i < n; i++)
		if (p[i].pid) {
			rec_kill(&p[i], 1);
			if (ok)
				say(&p[i], why);
		}
	return ok && !running;
}

int rec_run(const struct rec_case *c, const char *cwd, const char *out, const struct rec_args *a,
	double seconds, struct fl_buf *said)
{
	struct fl_buf unused = FL_BUF_INIT;
	struct fl_err err = { 0 };
	const char *log = rec_tmp(c, "stderr");
	struct rec_proc p;

	rec_start(&p, "command", cwd, out, log, a);
	rec_wait(&p, 1, seconds, &unused);
	fl_buf_release(&unused);
	fl_buf_clear(said);
	if (fl_file_read(log, 0, said, &err))
		fl_buf_adds(said, err.msg);
	return p.code;
}
