/*
 * Option tables: one array of records parses the command line and prints the help, so that the two
 * cannot drift. Rules (commands.md): `--opt value` and `--opt=value`; options before or after file
 * names; `--` ends them; "-" alone is a file name; unknown options get a "did you mean".
 */
#ifndef CMD_COMMON_OPT_H
#define CMD_COMMON_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum opt_kind {
	OPT_FLAG,   /* bool *: set to true */
	OPT_STR,    /* const char **: the last one wins */
	OPT_INT,    /* int64_t *: a whole number in [min, max] */
	OPT_NUM,    /* double *: a number, not negative */
	OPT_LIST,   /* struct opt_list *: may be repeated */
	OPT_HEADING /* only a heading in the help */
};

struct opt {
	enum opt_kind kind;
	const char *name; /* without dashes; heading text of OPT_HEADING; NULL ends the table */
	char letter;	  /* short form, or 0 */
	const char *arg;  /* placeholder in the help ("FILE"); NULL for flags */
	void *dest;
	const char *help; /* one line; the default in brackets */
	int64_t min, max; /* of OPT_INT */
};

struct opt_list {
	const char **at; /* owned array of borrowed strings */
	size_t n, cap;
};

/* Parses argv[1..argc); file names are left in files (borrowed strings). EINVAL with a complete
 * message, ready to be printed. `*help` is set when --help or -h was met; parsing stops there. */
enum fl_code opt_parse(const struct opt *table, int argc, char **argv, struct opt_list *files,
	bool *help, struct fl_err *err);

/* What every command takes; its rows stand at the end of each table (OPT_COMMON). */
struct opt_common {
	bool quiet, verbose;
	const char *log; /* "text" or "json"; NULL: text */
};

#define OPT_COMMON(c)                                                                              \
	{ OPT_HEADING, "General", 0, NULL, NULL, NULL, 0, 0 },                                     \
	{ OPT_FLAG, "quiet", 'q', NULL, &(c)->quiet, "say only what failed", 0, 0 },               \
	{ OPT_FLAG, "verbose", 'v', NULL, &(c)->verbose, "say more", 0, 0 },                       \
	{ OPT_STR, "log", 0, "FORMAT", &(c)->log, "text or json: messages on stderr [text]", 0, 0 }, \
	{ OPT_FLAG, NULL, 0, NULL, NULL, NULL, 0, 0 }

/* Parses a number as OPT_INT and OPT_NUM do: nothing before or after it, no overflow. */
bool opt_number(const char *s, int64_t *v);
bool opt_real(const char *s, double *v);

/* Appends to a list; frees its array. */
void opt_list_add(struct opt_list *list, const char *s);
void opt_list_release(struct opt_list *list);

/* Prints the table's options, aligned, to standard output. */
void opt_help(const struct opt *table);

#endif
