/* Operators: in/ and the program give out/; mistakes are refused by name. */
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "recordings/recordings.h"

static bool has_steps(const struct rec_case *c)
{
	size_t n;
	char **names = rec_files(c, rec_in(c, "in"), &n);

	for (size_t i = 0; i < n; i++)
		if (!strncmp(names[i], "step-", 5))
			return true;
	return false;
}

/* The working directory: what `load` ops read. */
static void prepare(const struct rec_case *c, struct fl_buf *why)
{
	struct fl_err err = { 0 };
	size_t n;
	char **names = rec_files(c, rec_in(c, "before"), &n);

	if (fl_mkdirs(rec_tmp(c, "cwd"), &err))
		fl_buf_adds(why, err.msg);
	for (size_t i = 0; i < n; i++)
		rec_copy_file(rec_in(c, "before/%s", names[i]), rec_tmp(c, "cwd/%s", names[i]), why);
}

static void compare(const struct rec_case *c, const cJSON *o, struct fl_buf *why)
{
	const cJSON *v;

	cJSON_ArrayForEach(v, cJSON_GetObjectItemCaseSensitive(o, "out"))
		rec_near(cJSON_GetStringValue(v), rec_tmp(c, "out/%s", v->string),
			rec_in(c, "out/%s", v->string), rec_num(o, "rtol", 1e-5),
			rec_num(o, "atol", 1e-6), v->string, why);
	cJSON_ArrayForEach(v, cJSON_GetObjectItemCaseSensitive(o, "after"))
	{
		const char *name = cJSON_GetStringValue(v);
		struct fl_buf a = FL_BUF_INIT, b = FL_BUF_INIT;
		struct fl_err err = { 0 };

		if (fl_file_read(rec_tmp(c, "cwd/%s", name), 0, &a, &err) ||
			fl_file_read(rec_in(c, "after/%s", name), 0, &b, &err))
			fl_buf_addf(why, "%s; ", err.msg);
		else if (a.len != b.len || memcmp(fl_buf_str(&a), fl_buf_str(&b), a.len) != 0)
			fl_buf_addf(why, "file %s differs; ", name);
		fl_buf_release(&a);
		fl_buf_release(&b);
	}
}

bool rec_ops(const struct rec_case *c, struct fl_buf *why)
{
	cJSON *o = rec_json(rec_in(c, "case.json"), why);
	struct fl_buf said = FL_BUF_INIT;
	struct rec_args a = { 0 };
	bool taken = !o || !cJSON_HasObjectItem(o, "wrong");
	int code;

	if (o && taken) {
		prepare(c, why);
		rec_arg2(&a, rec_fluidrun, "--load");
		rec_arg2(&a, rec_in(c, "in"), "--save");
		rec_arg(&a, rec_tmp(c, "out"));
		if (rec_num(o, "runs", 1) > 1) {
			rec_arg2(&a, "--steps",
				fl_arena_strfmt(c->arena, "%d", (int)rec_num(o, "runs", 1)));
			rec_arg2(&a, "--save-every", "1");
			if (has_steps(c))
				rec_arg2(&a, "--feed-dir", rec_in(c, "in"));
		}
		rec_arg(&a, rec_in(c, "main.pb"));
		code = rec_run(c, rec_tmp(c, "cwd"), NULL, &a, 30, &said);
		if (code)
			rec_said(why, code, fl_buf_str(&said));
		else
			compare(c, o, why);
	}
	fl_buf_release(&said);
	cJSON_Delete(o);
	return taken;
}

bool rec_errors(const struct rec_case *c, struct fl_buf *why)
{
	cJSON *o = rec_json(rec_in(c, "case.json"), why);
	struct fl_buf said = FL_BUF_INIT;
	struct rec_args a = { 0 };
	size_t n;
	int code;

	if (!o)
		return true;
	rec_arg2(&a, rec_fluidrun, "--load");
	rec_arg2(&a, rec_in(c, "in"), "--save");
	rec_arg2(&a, rec_tmp(c, "out"), rec_in(c, "main.pb"));
	code = rec_run(c, c->tmp, NULL, &a, 20, &said);
	rec_files(c, rec_tmp(c, "out"), &n);
	if (code == 0 && strstr(rec_str(o, "note", ""), "better"))
		; /* accepting is right, too */
	else if (code != 1)
		rec_said(why, code, code ? fl_buf_str(&said) : "accepted");
	else if (!strstr(fl_buf_str(&said), rec_str(o, "op", "?")) ||
		!strstr(fl_buf_str(&said), "block"))
		fl_buf_addf(why, "block or operator is not named: %s", fl_buf_str(&said));
	else if (n)
		fl_buf_adds(why, "refused, but results are written");
	fl_buf_release(&said);
	cJSON_Delete(o);
	return true;
}
