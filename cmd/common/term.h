/*
 * What both commands say and how: results on stdout, everything else on stderr; text or, with
 * `--log json`, one object a line with `event` and `t`. Colour and progress only on a terminal, never
 * with NO_COLOR or TERM=dumb.
 */
#ifndef CMD_COMMON_TERM_H
#define CMD_COMMON_TERM_H

#include <stdbool.h>

#include "base/err.h"
#include "base/log.h"
#include "common/opt.h"

/* Exit codes (commands.md). */
enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_PEER_LOST = 170, EXIT_DEADLINE = 171 };

/* Sets up the one sink of the process: prefix of lines ("fluidc transpile"), level, JSON or text.
 * `prefix` is borrowed. Call before threads (a second call replaces the first). The sink writes
 * whole lines and may be called from any thread. */
void term_init(const char *prefix, enum fl_level level, bool json);
/* The start of a command: like term_init, with a look for `--log json` in argv, so that a mistake
 * in the options is reported in the asked form, too. */
void term_start(const char *prefix, int argc, char **argv);
/* Applies the parsed common options; EINVAL for a `--log` that is neither text nor json. */
enum fl_code term_options(const struct opt_common *common, struct fl_err *err);
const struct fl_log *term_log(void);

/* Is stderr (fd 2) or stdout (fd 1) a terminal on which colour and progress may be shown? */
bool term_fancy(int fd);

/* Prints an error (event "error") and returns `code`, so that callers write
 * `return term_fail(EXIT_USAGE, &err)`. */
int term_fail(int code, const struct fl_err *err);

/* A progress line on stderr, redrawn in place; nothing where term_fancy(2) is false. NULL erases. */
void term_progress(const char *text);

#endif
