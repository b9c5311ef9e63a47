/* fluidc show: prints a program. */
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "base/near.h"
#include "cmd.h"
#include "common/term.h"
#include "file.h"
#include "inspect/show.h"

enum format { TEXT, JSON, PROTO, DOT, FORMATS };

static const char *const formats[FORMATS] = { "text", "json", "proto", "dot" };

static enum fl_code find_format(const char *name, enum format *format, struct fl_err *err)
{
	struct fl_near near;

	fl_near_init(&near, name);
	for (int i = 0; i < FORMATS; i++) {
		if (!strcmp(name, formats[i])) {
			*format = (enum format)i;
			return FL_OK;
		}
		fl_near_try(&near, formats[i]);
	}
	if (near.best)
		return fl_err_set(err, FL_EINVAL, "unknown format '%s', did you mean '%s'?", name,
			near.best);
	return fl_err_set(err, FL_EINVAL, "unknown format '%s', it is text, json, proto or dot", name);
}

/* On a terminal: headings bold, persistable variables and types of operators in colour. */
static void paint_line(struct fl_buf *out, const char *s, size_t len)
{
	size_t indent = strspn(s, " "), type = indent, end;

	if (!strncmp(s + indent, "block ", 6) || !strncmp(s, "program ", 8)) {
		fl_buf_addf(out, "\033[1m%.*s\033[0m\n", (int)len, s);
		return;
	}
	if (strncmp(s + indent, "op ", 3) != 0) {
		bool kept = len > 11 && !strncmp(s + len - 11, "persistable", 11);

		fl_buf_addf(out, kept ? "\033[33m%.*s\033[0m\n" : "%.*s\n", (int)len, s);
		return;
	}
	type += 3 + strspn(s + indent + 3, "0123456789");
	type += strspn(s + type, " ");
	end = type + strcspn(s + type, " \n");
	fl_buf_addf(out, "%.*s\033[36m%.*s\033[0m%.*s\n", (int)type, s, (int)(end - type), s + type,
		(int)(len - end), s + end);
}

static void paint(struct fl_buf *text)
{
	struct fl_buf out = FL_BUF_INIT;
	const char *s = fl_buf_str(text);

	while (*s) {
		size_t len = strcspn(s, "\n");

		paint_line(&out, s, len);
		s += len + (s[len] == '\n');
	}
	fl_buf_release(text);
	*text = out;
}

static int print(const struct fl_program *prog, const struct fl_show *what, enum format format,
	bool stat)
{
	struct fl_program *part = fl_show_part(prog, what);
	struct fl_buf out = FL_BUF_INIT;
	int code;

	if (stat)
		fl_show_stat(prog->pb, what, &out);
	else if (format == TEXT)
		fl_show_text(prog->pb, what, &out);
	else if (format == DOT)
		fl_show_dot(prog->pb, what, &out);
	else if (format == JSON)
		fl_show_json(part->pb, &out);
	else
		fl_show_proto(part->pb, &out);
	if (!stat && format == TEXT && term_fancy(1))
		paint(&out);
	code = file_print(&out);
	fl_buf_release(&out);
	fl_program_free(part);
	return code;
}

int cmd_show(int argc, char **argv)
{
	const char *format_name = "text";
	struct opt_common common = { 0 };
	struct opt_list files = { 0 };
	struct fl_show what = { .block = -1 };
	struct fl_program *prog;
	enum format format = TEXT;
	int64_t block = -1;
	bool stat = false;
	struct fl_err err;
	const struct opt table[] = {
		{ OPT_STR, "format", 'f', "FORMAT", &format_name,
			"text, json (lossless), proto (protobuf text) or dot (Graphviz) [text]", 0, 0 },
		{ OPT_INT, "block", 'b', "N", &block, "only this block", 0, INT32_MAX },
		{ OPT_STR, "op", 0, "TYPE", &what.op, "only operators of this type", 0, 0 },
		{ OPT_FLAG, "stat", 0, NULL, &stat, "counts of operators, variables, bytes", 0, 0 },
		OPT_COMMON(&common),
	};
	const char *path;
	int code = file_options(table, &common, argc, argv, "show [options] FILE",
		"Prints a serialized program; FILE may be - (standard input).", &files, 1, 1);

	if (code >= 0)
		return code;
	path = files.at[0];
	opt_list_release(&files);
	if (find_format(format_name, &format, &err) != FL_OK)
		return term_fail(EXIT_USAGE, &err);
	if (!file_load(path, &prog))
		return EXIT_USAGE;
	what.block = (int32_t)block;
	if (fl_show_check(prog->pb, &what, path, &err) != FL_OK)
		code = term_fail(EXIT_FAILED, &err);
	else
		code = print(prog, &what, format, stat);
	fl_program_free(prog);
	return code;
}
