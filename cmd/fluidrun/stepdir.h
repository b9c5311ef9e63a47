/* Folders of prepared batches: DIR/step-00/NAME, ... Several folders add to the same steps. */
#ifndef CMD_FLUIDRUN_STEPDIR_H
#define CMD_FLUIDRUN_STEPDIR_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "common/opt.h"

struct stepdir_file {
	char *name; /* of the variable; owned */
	char *path; /* owned */
};

struct stepdir_step {
	int64_t number;
	struct stepdir_file *files; /* owned */
	size_t n, cap;
};

struct stepdir {
	struct stepdir_step *steps; /* by number */
	size_t n, cap;
};

/* Lists the files of all folders. ENOTFOUND: a folder that is not there or has no steps. */
enum fl_code stepdir_list(struct stepdir *s, const struct opt_list *dirs, struct fl_err *err);
void stepdir_release(struct stepdir *s);

#endif
