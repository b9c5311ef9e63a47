/*
 * The real transpiler's programs: ours are the same, by `fluidc diff`, or the input is refused and
 * nothing is left. Recordings that show a quirk of the real one are repaired by ours: they pass
 * `fluidc check`, and differ only in what the repair touches.
 */
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "recordings/recordings.h"

static void refused(const struct rec_case *c, int code, const char *said, struct fl_buf *why)
{
	size_t n;

	rec_files(c, rec_tmp(c, "out"), &n);
	if (code != 1 && code != 2)
		rec_said(why, code, said);
	else if (!*said)
		fl_buf_adds(why, "refused without a word");
	else if (n)
		fl_buf_adds(why, "refused, but files are left");
}

static bool quirk(const cJSON *config, const char *name)
{
	const cJSON *q;

	cJSON_ArrayForEach(q, cJSON_GetObjectItemCaseSensitive(config, "quirks")) if (
		!strcmp(cJSON_GetStringValue(q), name)) return true;
	return false;
}

/* Every recorded file has one of ours that says the same. */
static void equal(const struct rec_case *c, const char *ignore, struct fl_buf *why)
{
	struct fl_buf said = FL_BUF_INIT;
	size_t n, files = 0;
	char **names = rec_files(c, c->dir, &n);

	for (size_t i = 0; i < n && why->len < 300; i++) {
		const char *dot = strrchr(names[i], '.');
		struct rec_args a = { 0 };
		int code;

		if (!dot || strcmp(dot, ".pb") != 0)
			continue;
		files++;
		rec_arg2(&a, rec_fluidc, "diff");
		if (ignore)
			rec_arg2(&a, "--ignore-attr", ignore);
		rec_arg2(&a, rec_in(c, "%s", names[i]), rec_tmp(c, "out/%s", names[i]));
		code = rec_run(c, c->tmp, rec_tmp(c, "diff"), &a, 60, &said);
		if (code == 1) {
			fl_buf_addf(why, "%s differs; ", names[i]);
		} else if (code) {
			fl_buf_addf(why, "%s: ", names[i]);
			rec_said(why, code, fl_buf_str(&said));
		}
	}
	if (!files)
		fl_buf_adds(why, "the recording has no programs");
	fl_buf_release(&said);
}

static void repaired(const struct rec_case *c, const cJSON *config, struct fl_buf *why)
{
	struct fl_buf said = FL_BUF_INIT;
	struct rec_args a = { 0 };
	size_t n;
	char **names = rec_files(c, c->dir, &n);
	int code;

	rec_arg2(&a, rec_fluidc, "check");
	rec_arg(&a, rec_tmp(c, "out"));
	code = rec_run(c, c->tmp, NULL, &a, 60, &said);
	if (code) {
		fl_buf_adds(why, "check: ");
		rec_said(why, code, fl_buf_str(&said));
	}
	for (size_t i = 0; i < n && !why->len; i++)
		if (strstr(names[i], ".pb") && !fl_is_file(rec_tmp(c, "out/%s", names[i])))
			fl_buf_addf(why, "no %s", names[i]);
	if (!why->len && quirk(config, "mode-mismatch"))
		equal(c, "distributed_mode", why);
	fl_buf_release(&said);
}

bool rec_transpile(const struct rec_case *c, struct fl_buf *why)
{
	cJSON *config = rec_json(rec_in(c, "config.json"), why);
	const char *slash = strrchr(c->dir, '/');
	struct fl_buf said = FL_BUF_INIT;
	struct rec_args a = { 0 };
	int code;

	if (!config)
		return true;
	rec_transpile_args(c, config,
		fl_arena_strfmt(c->arena, "%.*s/", (int)(slash - c->dir), c->dir),
		rec_tmp(c, "out"), &a);
	code = rec_run(c, c->tmp, NULL, &a, 60, &said);
	if (fl_is_file(rec_in(c, "error.txt")))
		refused(c, code, fl_buf_str(&said), why);
	else if (code)
		rec_said(why, code, fl_buf_str(&said));
	else if (cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(config, "quirks")) &&
		!quirk(config, "patched-table"))
		repaired(c, config, why);
	else
		equal(c, NULL, why);
	fl_buf_release(&said);
	cJSON_Delete(config);
	return true;
}
