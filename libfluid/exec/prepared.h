/*
 * A prepared block: names resolved to slots, kernels bound, attributes decoded, once. A frame binds
 * the slots to the variables of a scope; running a frame again looks nothing up by name and, once
 * buffers have their size, allocates nothing.
 */
#ifndef FL_EXEC_PREPARED_H
#define FL_EXEC_PREPARED_H

#include "base/log.h"
#include "desc/program.h"
#include "exec/scope.h"
#include "kernels/kernel.h"

struct fl_exec_env {
	struct fl_pool *pool;	    /* borrowed; for kernels; may be NULL */
	const struct fl_host *host; /* borrowed; may be NULL */
	const struct fl_log *log;   /* borrowed; may be NULL */
	uint64_t *seed_source;	    /* borrowed; random seeds of operators with seed 0 */
	bool check_nan_inf;
};

struct fl_frame;

/* Binds block `block` of the program to variables: persistable ones in the root of `scope`, others
 * found from `scope` up, else made in `scope`. The program, env and scope must outlive the frame.
 * Errors name block, operator index and type, and what is unknown or wrong. */
enum fl_code fl_frame_new(const struct fl_program *prog, int block, struct fl_scope *scope,
	const struct fl_exec_env *env, struct fl_frame **out, struct fl_err *err);
void fl_frame_free(struct fl_frame *frame);

/* Runs all operators in order. Errors: "block 0, op 3 'mul': input 'X' (variable 'x'): ...". */
enum fl_code fl_frame_run(struct fl_frame *frame, struct fl_err *err);

/* Makes every use of the variable `name` in the frame mean `var` (a received gradient in its own
 * scope), or absent where `var` is NULL (a gradient that did not come: `sum` leaves it out). Returns
 * a handle >= 0 for fl_frame_rebind, or -1 when the block does not use the name. */
int fl_frame_slot(const struct fl_frame *frame, const char *name);
void fl_frame_rebind(struct fl_frame *frame, int slot, struct fl_var *var);

#endif
