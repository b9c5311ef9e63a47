/* A program cut down to what some variables need. */
#ifndef FL_INSPECT_PRUNE_H
#define FL_INSPECT_PRUNE_H

#include <stddef.h>

#include "base/err.h"
#include "desc/program.h"

struct fl_prune {
	const char *const *targets; /* what must be computed; at least one */
	size_t n_targets;
	const char *const *feeds; /* given from outside: what makes them is left out */
	size_t n_feeds;
};

/* Keeps the operators that the targets need, the sub-blocks that these run (renumbered), and the
 * variables that are left in use. Where no backward or optimizer operator is left the program is for
 * inference: attributes `is_test` become true. ENOTFOUND for names that are not in block 0 (with the
 * nearest that is) or that nothing makes; the program is unchanged then. */
enum fl_code fl_prune(struct fl_program *prog, const struct fl_prune *what, struct fl_err *err);

/* The form of `__model__` files, as save_inference_model of Fluid 1.8.5 writes them: operators that feed (the
 * last one first), that copy each target (scale by 1), and that fetch. `prog` is pruned to `what`. */
void fl_prune_model(struct fl_program *prog, const struct fl_prune *what);

#endif
