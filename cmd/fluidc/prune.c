/* fluidc prune: keeps what some variables need. */
#include <string.h>

#include "base/mem.h"
#include "cmd.h"
#include "common/term.h"
#include "file.h"
#include "inspect/prune.h"

/* "a,b" into list; the parts live in *text, a copy that the caller frees. */
static void split(const char *names, char **text, struct opt_list *list)
{
	char *at = *text = fl_xstrdup(names), *comma;

	for (; at; at = comma ? comma + 1 : NULL) {
		comma = strchr(at, ',');
		if (comma)
			*comma = 0;
		if (*at)
			opt_list_add(list, at);
	}
}

static int prune(const char *path, const char *out, const struct fl_prune *what, bool model)
{
	struct fl_program *prog;
	struct fl_err err;
	int code = EXIT_OK;
	size_t before;

	if (!file_load(path, &prog))
		return EXIT_USAGE;
	before = prog->pb->blocks[0]->n_ops;
	if (fl_prune(prog, what, &err) != FL_OK) {
		fl_err_wrap(&err, "'%s'", path);
		code = term_fail(EXIT_FAILED, &err);
		fl_program_free(prog);
		return code;
	}
	if (model)
		fl_prune_model(prog, what);
	if (fl_program_save(prog, out, &err) != FL_OK) {
		code = term_fail(EXIT_FAILED, &err);
	} else {
		fl_logf(term_log(), FL_LOG_INFO, "%zu of %zu operators are left",
			prog->pb->blocks[0]->n_ops, before);
	}
	fl_program_free(prog);
	return code;
}

int cmd_prune(int argc, char **argv)
{
	const char *targets = "", *feeds = "", *out = NULL;
	struct opt_list files = { 0 }, target_list = { 0 }, feed_list = { 0 };
	struct opt_common common = { 0 };
	char *target_text = NULL, *feed_text = NULL;
	struct fl_prune what;
	bool model = false;
	struct fl_err err;
	const struct opt table[] = {
		{ OPT_STR, "target", 't', "NAMES", &targets, "variables to compute, with commas", 0, 0 },
		{ OPT_STR, "feed", 0, "NAMES", &feeds, "variables given from outside", 0, 0 },
		{ OPT_FLAG, "model", 0, NULL, &model,
			"with feed and fetch operators, as save_inference_model writes __model__", 0, 0 },
		{ OPT_STR, "output", 'o', "FILE", &out, "where to write; - is standard output", 0, 0 },
		OPT_COMMON(&common),
	};
	int code = file_options(table, &common, argc, argv,
		"prune --target NAME[,NAME] [--feed NAME,...] -o FILE MAIN",
		"Keeps the operators and variables that the targets need, for inference.", &files, 1, 1);

	if (code < 0 && (!*targets || !out)) {
		fl_err_set(&err, FL_EINVAL, "option '--%s' is missing", out ? "target" : "output");
		code = term_fail(EXIT_USAGE, &err);
	}
	if (code < 0) {
		split(targets, &target_text, &target_list);
		split(feeds, &feed_text, &feed_list);
		what = (struct fl_prune){ target_list.at, target_list.n, feed_list.at, feed_list.n };
		code = prune(files.at[0], out, &what, model);
	}
	fl_free(target_text);
	fl_free(feed_text);
	opt_list_release(&target_list);
	opt_list_release(&feed_list);
	opt_list_release(&files);
	return code;
}
