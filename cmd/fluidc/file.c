#include "file.h"

#include <stdio.h>

#include "base/file.h"
#include "common/term.h"

static int wrong(struct fl_err *err, struct opt_list *files)
{
	opt_list_release(files);
	return term_fail(EXIT_USAGE, err);
}

int file_options(const struct opt *table, const struct opt_common *common, int argc, char **argv,
	const char *usage, const char *about, struct opt_list *files, size_t min, size_t max)
{
	struct fl_err err;
	bool help;

	if (opt_parse(table, argc, argv, files, &help, &err) != FL_OK)
		return wrong(&err, files);
	if (help) {
		printf("usage: fluidc %s\n\n%s\n", usage, about);
		opt_help(table);
		opt_list_release(files);
		return EXIT_OK;
	}
	if (term_options(common, &err) != FL_OK)
		return wrong(&err, files);
	if (files->n < min || files->n > max) {
		fl_err_set(&err, FL_EINVAL, "%s, usage: fluidc %s",
			files->n < min ? "a file name is missing" : "too many file names", usage);
		return wrong(&err, files);
	}
	return -1;
}

bool file_load(const char *path, struct fl_program **prog)
{
	struct fl_err err;

	if (fl_program_load(path, prog, &err) == FL_OK)
		return true;
	term_fail(EXIT_USAGE, &err);
	return false;
}

int file_print(const struct fl_buf *out)
{
	struct fl_err err;

	if (fl_file_write("-", fl_buf_str(out), out->len, &err) != FL_OK)
		return term_fail(EXIT_FAILED, &err);
	return EXIT_OK;
}
