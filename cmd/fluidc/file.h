/* What the subcommands share. */
#ifndef CMD_FLUIDC_FILE_H
#define CMD_FLUIDC_FILE_H

#include "base/buf.h"
#include "common/opt.h"
#include "desc/program.h"

/* Parses the options and deals with --help, the common options, and the number of file names
 * (`files` between min and max). `usage` is the line of the help ("show [options] FILE"), `about`
 * the text below it. Returns -1 to go on, else the exit code. */
int file_options(const struct opt *table, const struct opt_common *common, int argc, char **argv,
	const char *usage, const char *about, struct opt_list *files, size_t min, size_t max);

/* Loads a program; on failure it says so and returns false (exit code 2). */
bool file_load(const char *path, struct fl_program **prog);

/* Prints to standard output; the exit code: 0, or 1 where it cannot be written. */
int file_print(const struct fl_buf *out);

#endif
