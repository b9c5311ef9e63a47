/* fluidc plan: what `transpile` would do, as a table or as JSON, for one or more numbers of servers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cmd.h"
#include "common/term.h"
#include "file.h"
#include "roles.h"

#define MAX_CHOICES 32

/* Numbers of servers to compare, from "pservers=4,8". */
struct choices {
	size_t at[MAX_CHOICES];
	size_t n;
};

static enum fl_code parse_choices(const char *text, struct choices *c, struct fl_err *err)
{
	static const char key[] = "pservers=";
	const char *p = text;

	if (!strncmp(text, key, sizeof key - 1))
		p = text + sizeof key - 1;
	else
		return fl_err_set(err, FL_EINVAL, "option '--what-if' wants pservers=N,N, not '%s'",
			text);
	while (c->n < MAX_CHOICES) {
		char *end;
		long n = strtol(p, &end, 10);

		if (end == p || *p < '0' || *p > '9' || n < 1 || n > FL_MAX_PSERVERS ||
			(*end && *end != ','))
			return fl_err_set(err, FL_EINVAL,
				"option '--what-if' wants numbers of servers from 1 to %d, not '%s'",
				FL_MAX_PSERVERS, p);
		c->at[c->n++] = (size_t)n;
		if (!*end)
			return FL_OK;
		p = end + 1;
	}
	return fl_err_set(err, FL_EINVAL, "option '--what-if' compares at most %d numbers",
		MAX_CHOICES);
}

/* The given servers, and made-up ones after them where more are asked for. */
static const char **endpoints_for(const struct roles *r, size_t n)
{
	enum { NAME_MAX_BYTES = 40 };
	const char **eps = fl_xcalloc(n, sizeof *eps + NAME_MAX_BYTES);
	char *text = (char *)(eps + n);

	for (size_t i = 0; i < n; i++, text += NAME_MAX_BYTES) {
		snprintf(text, NAME_MAX_BYTES, "server-%zu:6174", i);
		eps[i] = i < r->opts.n_pservers ? r->opts.pservers[i] : text;
	}
	return eps;
}

static enum fl_code compare_one(const struct roles *r, const struct fl_program *main,
	const struct fl_program *startup, size_t n, bool json, struct fl_buf *out, struct fl_err *err)
{
	struct fl_transpile_opts o = r->opts;
	const char **eps = endpoints_for(r, n);
	struct fl_transpiler *t = NULL;
	enum fl_code code;

	o.pservers = eps;
	o.n_pservers = n;
	code = fl_transpiler_new(main, startup, &o, &t, err);
	if (code == FL_OK) {
		struct fl_plan p;
		long long percent;

		fl_plan_make(t, &p);
		percent = (long long)(p.imbalance * 100 + 0.5);
		fl_buf_addf(out,
			json ? "{\"pservers\":%zu,\"blocks\":%zu,\"largest_bytes\":%lld,\"imbalance\":"
			       "%lld.%02lld}"
			     : "%8zu  %8zu  %16lld  %9lld.%02lld\n",
			n, p.n_blocks, (long long)p.servers[p.fullest].param_bytes, percent / 100,
			percent % 100);
		fl_plan_release(&p);
	}
	fl_transpiler_free(t);
	fl_free(eps);
	return code;
}

static enum fl_code compare(const struct roles *r, const struct fl_program *main,
	const struct fl_program *startup, const struct choices *c, bool json, struct fl_buf *out,
	struct fl_err *err)
{
	if (!json)
		fl_buf_addf(out, "%8s  %8s  %16s  %12s\n", "PSERVERS", "BLOCKS", "LARGEST (BYTES)",
			"LARGEST/MEAN");
	FL_TRY(compare_one(r, main, startup, r->opts.n_pservers, json, out, err));
	for (size_t i = 0; i < c->n; i++) {
		if (json)
			fl_buf_addc(out, ',');
		FL_TRY(compare_one(r, main, startup, c->at[i], json, out, err));
	}
	return FL_OK;
}

static enum fl_code plan(const struct roles *r, const struct fl_program *main,
	const struct fl_program *startup, const struct choices *c, bool json, struct fl_buf *out,
	struct fl_err *err)
{
	struct fl_transpiler *t;

	FL_TRY(fl_transpiler_new(main, startup, &r->opts, &t, err));
	if (json && c->n)
		fl_buf_adds(out, "{\"plan\":");
	if (json)
		fl_plan_json(t, out);
	else
		fl_plan_table(t, out);
	fl_transpiler_free(t);
	if (!c->n)
		return FL_OK;
	fl_buf_adds(out, json ? ",\"what_if\":[" : "\n");
	FL_TRY(compare(r, main, startup, c, json, out, err));
	if (json)
		fl_buf_adds(out, "]}\n");
	return FL_OK;
}

static int load_and_run(struct roles *r, const char *path, const struct choices *c, bool json)
{
	char *startup_path = roles_startup(r, path);
	struct fl_program *main = NULL, *startup = NULL;
	struct fl_buf out = FL_BUF_INIT;
	struct fl_err err;
	int code = EXIT_USAGE;

	/* The plan does not depend on the startup program. */
	if (!startup_path)
		startup = fl_program_new(0);
	if (file_load(path, &main) && (startup || file_load(startup_path, &startup))) {
		enum fl_code failed = plan(r, main, startup, c, json, &out, &err);

		code = failed == FL_OK ? file_print(&out)
				       : term_fail(failed == FL_EINVAL ? EXIT_USAGE : EXIT_FAILED, &err);
	}
	fl_buf_release(&out);
	fl_program_free(main);
	fl_program_free(startup);
	fl_free(startup_path);
	return code;
}

int cmd_plan(int argc, char **argv)
{
	struct roles r = ROLES_INIT;
	struct opt_common common = { 0 };
	struct opt_list files = { 0 };
	struct choices choices = { 0 };
	const char *what_if = NULL;
	bool json = false;
	struct fl_err err;
	const struct opt table[] = {
		{ OPT_FLAG, "json", 'j', NULL, &json, "JSON, as in plan.json", 0, 0 },
		{ OPT_STR, "what-if", 0, "pservers=N,N", &what_if,
			"compare with other numbers of servers", 0, 0 },
		ROLES_OPTIONS(&r),
		OPT_COMMON(&common),
	};
	int code = file_options(table, &common, argc, argv, "plan [options] MAIN",
		"Shows which server would hold what.", &files, 1, 1);

	if (code < 0 && (roles_options(&r, &err) != FL_OK ||
				(what_if && parse_choices(what_if, &choices, &err) != FL_OK)))
		code = term_fail(EXIT_USAGE, &err);
	if (code < 0)
		code = load_and_run(&r, files.at[0], &choices, json);
	roles_release(&r);
	opt_list_release(&files);
	return code;
}
