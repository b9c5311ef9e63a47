/* What two programs differ in, by meaning (inspect/canon.h). */
#ifndef FL_INSPECT_DIFF_H
#define FL_INSPECT_DIFF_H

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "desc/program.h"

struct fl_diff {
	const char *const *skip; /* attributes that do not count (borrowed), beside op_callstack */
	size_t n_skip;
	/* set by fl_diff_programs: */
	size_t ops_gone, ops_new, ops_changed; /* only in the first, only in the second, in both */
	size_t vars_gone, vars_new, vars_changed;
	size_t others; /* version, blocks */
};

/* Appends a unified listing to *out: "-" the first program, "+" the second, in program order;
 * nothing where they are equal. The sum of the counts is 0 exactly then. EFORMAT: a program that
 * has no canonical form. */
enum fl_code fl_diff_programs(struct fl_diff *d, const fl_pb_program *a, const char *name_a,
	const fl_pb_program *b, const char *name_b, struct fl_buf *out, struct fl_err *err);
size_t fl_diff_total(const struct fl_diff *d);

#endif
