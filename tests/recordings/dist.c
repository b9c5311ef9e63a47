/*
 * Trainings with parameter servers, every role a process of ours: the local program is transpiled,
 * each server starts from the recorded values, each trainer gets its recorded batches.
 */
#include <arpa/inet.h>
#include <math.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "recordings/recordings.h"

#define MAX_ROLES 16

/* Ports that nobody listens on now: bound together, so that they differ, then let go. */
static bool free_ports(int *port, int n)
{
	int fd[MAX_ROLES], opened = 0;
	bool ok = true;

	for (; opened < n && ok; opened++) {
		struct sockaddr_in to = { .sin_family = AF_INET,
			.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
		socklen_t len = sizeof to;

		fd[opened] = socket(AF_INET, SOCK_STREAM, 0);
		ok = fd[opened] >= 0 && !bind(fd[opened], (struct sockaddr *)&to, sizeof to) &&
			!getsockname(fd[opened], (struct sockaddr *)&to, &len);
		port[opened] = ntohs(to.sin_port);
	}
	while (opened--)
		close(fd[opened]);
	return ok;
}

struct training {
	const struct rec_case *c;
	cJSON *config;
	int servers, trainers;
	int port[MAX_ROLES];
	struct rec_proc proc[2 * MAX_ROLES];
	size_t n;
};

static void start(struct training *t, const char *role, int i)
{
	const struct rec_case *c = t->c;
	bool server = !strcmp(role, "pserver");
	const cJSON *v;
	struct rec_args a = { 0 };
	const char *tag = fl_arena_strfmt(c->arena, "%s-%d", role, i);
	int k = 0;

	rec_arg(&a, rec_fluidrun);
	cJSON_ArrayForEach(v, cJSON_GetObjectItemCaseSensitive(t->config, "endpoints")) rec_arg2(&a,
		"--endpoint", fl_arena_strfmt(c->arena, "%s=127.0.0.1:%d", cJSON_GetStringValue(v),
				      t->port[k++]));
	rec_arg2(&a, "--startup", rec_tmp(c, "p/%s.startup.pb", tag));
	if (server) {
		rec_arg2(&a, "--load", rec_in(c, "%s/init", tag));
	} else {
		rec_arg2(&a, "--feed-dir", rec_in(c, "%s/feed", tag));
		rec_arg2(&a, "--log", "json");
		rec_arg2(&a, "--fetch", rec_str(t->config, "loss", ""));
		cJSON_ArrayForEach(v, cJSON_GetObjectItemCaseSensitive(t->config, "fetch"))
			rec_arg2(&a, "--fetch", cJSON_GetStringValue(v));
	}
	rec_arg2(&a, "--save", rec_tmp(c, "final/%s", tag));
	rec_arg(&a, rec_tmp(c, "p/%s.main.pb", tag));
	rec_start(&t->proc[t->n++], tag, c->tmp, NULL, rec_tmp(c, "%s.err", tag), &a);
}

static void compare_losses(struct training *t, int i, const cJSON *drift, struct fl_buf *why)
{
	cJSON *losses = rec_json(rec_in(t->c, "trainer-%d/losses.json", i), why);
	struct fl_buf log = FL_BUF_INIT;
	struct fl_err err = { 0 };
	struct rec_series g, w;
	double tol = fmax(1e-5, 3 * rec_num(drift, "loss", 0)), far;

	if (fl_file_read(rec_tmp(t->c, "trainer-%d.err", i), 0, &log, &err))
		fl_buf_adds(why, err.msg);
	rec_series_of_log(fl_buf_str(&log), rec_str(t->config, "loss", ""), &g);
	rec_series_of_json(cJSON_GetObjectItemCaseSensitive(losses, "loss"), &w);
	far = w.n_steps == g.n_steps && w.n ? rec_far(g.at, g.n, w.at, w.n, 1e-3) : INFINITY;
	if (!(far <= tol))
		fl_buf_addf(why, "trainer %d: losses of %zu steps (%zu) are off by %.2g; ", i,
			g.n_steps, w.n_steps, far);
	rec_series_release(&g);
	rec_series_release(&w);
	fl_buf_release(&log);
	cJSON_Delete(losses);
}

/* Received gradients, rates and counters are left where they happen to be. */
static bool compared(const char *var)
{
	return !strstr(var, "@GRAD") && !strstr(var, "tmp") && !strstr(var, "COUNTER") &&
		strncmp(var, "_generated_var", 14) != 0;
}

/* Optimizers that divide by the gradient's size show rounding where that is tiny. */
static bool divides(const char *optimizer)
{
	return !strncmp(optimizer, "ada", 3) || !strncmp(optimizer, "rmsprop", 7) ||
		!strncmp(optimizer, "decayed", 7) || !strncmp(optimizer, "lamb", 4);
}

static void compare_final(struct training *t, const char *role, int i, const cJSON *drift,
	struct fl_buf *why)
{
	double tol = divides(rec_str(t->config, "optimizer", "")) ? 1e-2 : 1e-4;
	size_t n;
	char **names = rec_files(t->c, rec_in(t->c, "%s-%d/final", role, i), &n);

	for (size_t k = 0; k < n; k++) {
		double allow, far;

		if (!compared(names[k]))
			continue;
		allow = fmax(tol,
			3 * rec_num(cJSON_GetObjectItemCaseSensitive(drift, "final"), names[k], 0));
		far = rec_far_file(rec_tmp(t->c, "final/%s-%d/%s", role, i, names[k]),
			rec_in(t->c, "%s-%d/final/%s", role, i, names[k]), 1e-3, names[k], why);
		if (!(far <= allow))
			fl_buf_addf(why, "%s %d: %s is off by %.2g; ", role, i, names[k], far);
	}
}

static void compare(struct training *t, struct fl_buf *why)
{
	struct fl_buf unused = FL_BUF_INIT;
	cJSON *drift = fl_is_file(rec_in(t->c, "drift.json")) ?
		rec_json(rec_in(t->c, "drift.json"), &unused) : NULL;

	fl_buf_release(&unused);
	for (int i = 0; i < t->trainers; i++) {
		compare_losses(t, i, drift, why);
		compare_final(t, "trainer", i, drift, why);
	}
	for (int k = 0; k < t->servers; k++)
		compare_final(t, "pserver", k, drift, why);
	cJSON_Delete(drift);
}

bool rec_dist(const struct rec_case *c, struct fl_buf *why)
{
	struct training t = { .c = c, .config = rec_json(rec_in(c, "config.json"), why) };
	struct fl_buf said = FL_BUF_INIT;
	struct rec_args a = { 0 };
	int code;

	t.servers = (int)rec_num(t.config, "pservers", 0);
	t.trainers = (int)rec_num(t.config, "trainers", 0);
	if (t.servers < 1 || t.trainers < 1 || t.servers > MAX_ROLES || t.trainers > MAX_ROLES ||
		!free_ports(t.port, t.servers)) {
		fl_buf_adds(why, "no configuration, or no ports");
		cJSON_Delete(t.config);
		return true;
	}
	rec_transpile_args(c, t.config, rec_in(c, "local."), rec_tmp(c, "p"), &a);
	code = rec_run(c, c->tmp, NULL, &a, 60, &said);
	if (code) {
		fl_buf_adds(why, "transpile: ");
		rec_said(why, code, fl_buf_str(&said));
	} else {
		for (int k = 0; k < t.servers; k++)
			start(&t, "pserver", k);
		for (int i = 0; i < t.trainers; i++)
			start(&t, "trainer", i);
		if (rec_wait(t.proc, t.n, 60, why))
			compare(&t, why);
	}
	fl_buf_release(&said);
	cJSON_Delete(t.config);
	return true;
}
