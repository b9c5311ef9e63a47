/* fluidc check: what is wrong with programs, and among the programs of a folder. */
#include <stdint.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "cmd.h"
#include "common/term.h"
#include "file.h"
#include "inspect/check.h"
#include "inspect/folder.h"

struct run {
	struct fl_report report;
	bool unreadable;
	size_t files;
};

static struct fl_program *check_file(struct run *r, const char *path, const char *name)
{
	struct fl_program *prog;

	if (!file_load(path, &prog)) {
		r->unreadable = true;
		return NULL;
	}
	r->files++;
	fl_check_program(prog->pb, name, &r->report);
	return prog;
}

/* Roles belong together where they lie in one folder: they are neighbours. */
static size_t same_folder(const struct fl_names *names, size_t from)
{
	const char *slash = strrchr(names->at[from], '/');
	size_t n = slash ? (size_t)(slash - names->at[from]) + 1 : 0, to = from + 1;

	while (to < names->n && !strncmp(names->at[to], names->at[from], n) &&
		!strchr(names->at[to] + n, '/'))
		to++;
	return to;
}

static void check_group(struct run *r, const char *dir, const struct fl_names *names, size_t from,
	size_t to)
{
	struct fl_role_file *files = FL_NEW_N(struct fl_role_file, to - from);
	struct fl_program **progs = FL_NEW_N(struct fl_program *, to - from);
	char **paths = FL_NEW_N(char *, to - from);
	size_t n = 0;

	for (size_t i = from; i < to; i++) {
		paths[n] = fl_path_join(dir, names->at[i]);
		progs[n] = check_file(r, paths[n], paths[n]);
		if (progs[n]) {
			files[n] = (struct fl_role_file){ paths[n], progs[n]->pb };
			n++;
		} else {
			fl_free(paths[n]);
		}
	}
	fl_check_roles(files, n, &r->report);
	for (size_t i = 0; i < n; i++) {
		fl_program_free(progs[i]);
		fl_free(paths[i]);
	}
	fl_free(files);
	fl_free(progs);
	fl_free(paths);
}

static void check_folder(struct run *r, const char *dir)
{
	struct fl_names names;
	struct fl_err err;

	if (fl_folder_programs(dir, &names, &err) == FL_OK && !names.n)
		fl_err_set(&err, FL_ENOTFOUND, "'%s' holds no .pb file", dir);
	if (!names.n) {
		term_fail(EXIT_USAGE, &err);
		r->unreadable = true;
	}
	for (size_t i = 0, to; i < names.n; i = to) {
		to = same_folder(&names, i);
		check_group(r, dir, &names, i, to);
	}
	fl_names_release(&names);
}

static int check_all(struct run *r, const struct opt_list *files, bool quiet)
{
	int code;

	for (size_t i = 0; i < files->n; i++) {
		if (fl_is_dir(files->at[i]))
			check_folder(r, files->at[i]);
		else
			fl_program_free(check_file(r, files->at[i], files->at[i]));
	}
	if (!quiet)
		fl_buf_addf(&r->report.text, "%zu program%s checked: %zu problem%s, %zu note%s\n",
			r->files, r->files == 1 ? "" : "s", r->report.problems,
			r->report.problems == 1 ? "" : "s", r->report.notes,
			r->report.notes == 1 ? "" : "s");
	code = file_print(&r->report.text);
	if (r->unreadable)
		return EXIT_USAGE;
	return code ? code : r->report.problems > 0;
}

int cmd_check(int argc, char **argv)
{
	struct opt_common common = { 0 };
	struct opt_list files = { 0 };
	struct run r = { 0 };
	const struct opt table[] = {
		{ OPT_FLAG, "strict", 0, NULL, &r.report.strict,
			"operators that this build does not know are problems", 0, 0 },
		OPT_COMMON(&common),
	};
	int code = file_options(table, &common, argc, argv, "check [--strict] FILE|DIR...",
		"Checks programs: structure, names, slots, attributes, types, shapes, dataflow; the "
		"programs\nof a folder also across roles. Exit code 1 where there are problems.",
		&files, 1, SIZE_MAX);

	if (code < 0)
		code = check_all(&r, &files, common.quiet);
	opt_list_release(&files);
	fl_report_release(&r.report);
	return code;
}
