/* fluidc pack: JSON (of `show --format json`) back to the serialized form. */
#include <string.h>

#include "base/file.h"
#include "cmd.h"
#include "common/term.h"
#include "file.h"
#include "inspect/show.h"

#define JSON_MAX ((size_t)1 << 32)

static enum fl_code pack(const char *path, struct fl_program **prog,
	struct fl_err *err)
{
	struct fl_buf text = FL_BUF_INIT;
	enum fl_code code = fl_file_read(path, JSON_MAX, &text, err);

	if (code == FL_OK)
		code = fl_pack_json(fl_buf_str(&text), text.len,
			strcmp(path, "-") ? path : "standard input", prog, err);
	fl_buf_release(&text);
	return code;
}

int cmd_pack(int argc, char **argv)
{
	struct opt_common common = { 0 };
	struct opt_list files = { 0 };
	struct fl_program *prog;
	const char *out = NULL, *path;
	struct fl_err err;
	const struct opt table[] = {
		{ OPT_STR, "output", 'o', "FILE", &out, "where to write; - is standard output", 0, 0 },
		OPT_COMMON(&common),
	};
	int code = file_options(table, &common, argc, argv, "pack FILE.json -o FILE",
		"Makes a serialized program of the JSON that 'fluidc show --format json' prints.",
		&files, 1, 1);

	if (code >= 0)
		return code;
	path = files.at[0];
	opt_list_release(&files);
	if (!out) {
		fl_err_set(&err, FL_EINVAL, "option '-o' is missing (where to write)");
		return term_fail(EXIT_USAGE, &err);
	}
	if (pack(path, &prog, &err) != FL_OK)
		return term_fail(EXIT_USAGE, &err);
	code = fl_program_save(prog, out, &err) == FL_OK ? EXIT_OK : term_fail(EXIT_FAILED, &err);
	fl_program_free(prog);
	return code;
}
