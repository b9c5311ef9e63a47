/* fluidc diff: what two programs, or two folders of programs, differ in. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "cmd.h"
#include "common/term.h"
#include "file.h"
#include "inspect/diff.h"
#include "inspect/folder.h"

struct run {
	struct opt_list skip;
	bool stat;
	bool bad; /* something could not be read */
	struct fl_buf out;
};

static void add_stat(struct fl_buf *out, const char *name, const struct fl_diff *d)
{
	fl_buf_addf(out,
		"%s: operators -%zu +%zu ~%zu, variables -%zu +%zu ~%zu, other differences %zu\n", name,
		d->ops_gone, d->ops_new, d->ops_changed, d->vars_gone, d->vars_new, d->vars_changed,
		d->others);
}

/* Are they different? */
static bool diff_files(struct run *r, const char *a, const char *b)
{
	struct fl_diff d = { .skip = r->skip.at, .n_skip = r->skip.n };
	struct fl_program *x = NULL, *y = NULL;
	struct fl_buf none = FL_BUF_INIT;
	struct fl_err err;
	bool ok = file_load(a, &x) && file_load(b, &y);

	if (ok && fl_diff_programs(&d, x->pb, a, y->pb, b, r->stat ? &none : &r->out, &err) != FL_OK) {
		term_fail(EXIT_USAGE, &err);
		ok = false;
	}
	if (ok && r->stat)
		add_stat(&r->out, b, &d);
	r->bad |= !ok;
	fl_buf_release(&none);
	fl_program_free(x);
	fl_program_free(y);
	return fl_diff_total(&d) > 0;
}

static bool diff_pair(struct run *r, const char *dir_a, const char *dir_b, const char *name)
{
	char *a = fl_path_join(dir_a, name), *b = fl_path_join(dir_b, name);
	bool different = diff_files(r, a, b);

	fl_free(a);
	fl_free(b);
	return different;
}

/* Both lists are in fl_names_order. */
static bool diff_names(struct run *r, const char *a, const char *b, const struct fl_names *x,
	const struct fl_names *y)
{
	size_t i = 0, k = 0, all = 0, differ = 0;

	while (i < x->n || k < y->n) {
		int order = i == x->n ? 1 : k == y->n ? -1 : fl_names_order(x->at[i], y->at[k]);

		if (order)
			fl_buf_addf(&r->out, "only in %s: %s\n", order < 0 ? a : b,
				order < 0 ? x->at[i] : y->at[k]);
		differ += order ? 1 : diff_pair(r, a, b, x->at[i]);
		i += order <= 0;
		k += order >= 0;
		all++;
	}
	fl_buf_addf(&r->out, "%zu of %zu files equal\n", all - differ, all);
	return differ > 0;
}

static bool diff_folders(struct run *r, const char *a, const char *b)
{
	struct fl_names x = { 0 }, y = { 0 };
	struct fl_err err;
	bool different = false;

	if (fl_folder_programs(a, &x, &err) != FL_OK || fl_folder_programs(b, &y, &err) != FL_OK) {
		term_fail(EXIT_USAGE, &err);
		r->bad = true;
	} else if (!x.n && !y.n) {
		fl_err_set(&err, FL_ENOTFOUND, "neither '%s' nor '%s' holds a .pb file", a, b);
		term_fail(EXIT_USAGE, &err);
		r->bad = true;
	} else {
		different = diff_names(r, a, b, &x, &y);
	}
	fl_names_release(&x);
	fl_names_release(&y);
	return different;
}

/* Red what goes, green what comes, on a terminal. */
static int print(const struct fl_buf *out)
{
	struct fl_buf colored = FL_BUF_INIT;
	const char *s = fl_buf_str(out), *end;
	int code;

	if (!term_fancy(1))
		return file_print(out);
	for (; *s; s = *end ? end + 1 : end) {
		const char *color = *s == '-' ? "\033[31m" : *s == '+' ? "\033[32m"
				    : *s == '@' ? "\033[36m" : "";

		end = s + strcspn(s, "\n");
		fl_buf_adds(&colored, color);
		fl_buf_add(&colored, s, (size_t)(end - s));
		fl_buf_adds(&colored, *color ? "\033[0m\n" : "\n");
	}
	code = file_print(&colored);
	fl_buf_release(&colored);
	return code;
}

static int run(struct run *r, const char *a, const char *b)
{
	struct fl_err err;
	bool different;
	int code;

	if (fl_is_dir(a) != fl_is_dir(b)) {
		fl_err_set(&err, FL_EINVAL, "'%s' is a folder and '%s' is none", fl_is_dir(a) ? a : b,
			fl_is_dir(a) ? b : a);
		return term_fail(EXIT_USAGE, &err);
	}
	different = fl_is_dir(a) ? diff_folders(r, a, b) : diff_files(r, a, b);
	code = print(&r->out);
	if (r->bad)
		return EXIT_USAGE;
	return code ? code : different;
}

int cmd_diff(int argc, char **argv)
{
	struct opt_common common = { 0 };
	struct opt_list files = { 0 };
	struct run r = { 0 };
	const struct opt table[] = {
		{ OPT_LIST, "ignore-attr", 0, "NAME", &r.skip,
			"this attribute does not count (repeatable)", 0, 0 },
		{ OPT_FLAG, "stat", 0, NULL, &r.stat, "only counts of differences", 0, 0 },
		OPT_COMMON(&common),
	};
	int code = file_options(table, &common, argc, argv, "diff [options] A B",
		"Compares two programs, or the programs of two folders, by meaning: op_callstack, names "
		"of\ncontrol variables, the order of attributes and variables and empty slots do not "
		"count.\nExit code 0: equal, 1: different, 2: unreadable.",
		&files, 2, 2);

	if (code < 0)
		code = run(&r, files.at[0], files.at[1]);
	opt_list_release(&files);
	opt_list_release(&r.skip);
	fl_buf_release(&r.out);
	return code;
}
