/* Published programs: each is read, shown in every form, and written back byte for byte through
 * JSON; what is no program, or one of another schema, is refused in words. */
#include <string.h>

#include "base/file.h"
#include "recordings/recordings.h"

static int shown(const struct rec_case *c, const char *format, const char *out, struct fl_buf *said)
{
	struct rec_args a = { 0 };

	rec_arg2(&a, rec_fluidc, "show");
	if (!strcmp(format, "--stat"))
		rec_arg(&a, format);
	else
		rec_arg2(&a, "--format", format);
	rec_arg(&a, c->dir);
	return rec_run(c, c->tmp, out, &a, 60, said);
}

/* What could not be a program says so: the layout, or what the file is, and where reading ended. */
static void refused(int code, const struct fl_buf *said, struct fl_buf *why)
{
	if (code != 2 && code != 1)
		rec_said(why, code, fl_buf_str(said));
	else if (!strstr(fl_buf_str(said), "0.11") && !strstr(fl_buf_str(said), "pickle"))
		fl_buf_addf(why, "refused, but not for what it is: %s", fl_buf_str(said));
}

static void same_bytes(const struct rec_case *c, const char *out, struct fl_buf *why)
{
	struct fl_buf a = FL_BUF_INIT, b = FL_BUF_INIT;
	struct fl_err err = { 0 };

	if (fl_file_read(c->dir, 0, &a, &err) || fl_file_read(out, 0, &b, &err))
		fl_buf_adds(why, err.msg);
	else if (a.len != b.len || memcmp(fl_buf_str(&a), fl_buf_str(&b), a.len) != 0)
		fl_buf_addf(why, "%zu bytes came back as %zu other ones", a.len, b.len);
	fl_buf_release(&a);
	fl_buf_release(&b);
}

static void packed(const struct rec_case *c, const char *json, struct fl_buf *said,
	struct fl_buf *why)
{
	struct rec_args a = { 0 };
	int code;

	rec_arg2(&a, rec_fluidc, "pack");
	rec_arg2(&a, json, "-o");
	rec_arg(&a, rec_tmp(c, "out.pb"));
	code = rec_run(c, c->tmp, NULL, &a, 60, said);
	if (code)
		rec_said(why, code, fl_buf_str(said));
	else
		same_bytes(c, rec_tmp(c, "out.pb"), why);
}

bool rec_programs(const struct rec_case *c, struct fl_buf *why)
{
	static const char *const forms[] = { "text", "dot", "proto", "--stat" };
	bool bad = strstr(c->name, "reject") || strstr(c->name, "v011");
	const char *json = rec_tmp(c, "program.json");
	struct fl_buf said = FL_BUF_INIT;
	int code = shown(c, "json", json, &said);

	if (bad)
		refused(code, &said, why);
	else if (code)
		rec_said(why, code, fl_buf_str(&said));
	else
		packed(c, json, &said, why);
	for (size_t i = 0; i < 4 && !bad && !why->len; i++)
		if ((code = shown(c, forms[i], rec_tmp(c, "shown"), &said))) {
			fl_buf_addf(why, "show %s: ", forms[i]);
			rec_said(why, code, fl_buf_str(&said));
		}
	fl_buf_release(&said);
	return true;
}
