/*
 * The canonical form of a program: what it means, without what two runs of the same tool write
 * differently. Left out or put in order: order of attributes, slots and variables, slots without
 * arguments, op_callstack, the names of control variables (numbered by first use), the order in
 * grad_to_block_id of listen_and_serv and of neighbouring fake_init operators (Python sets), and
 * descriptions that do not belong to a variable's kind.
 */
#ifndef FL_INSPECT_CANON_H
#define FL_INSPECT_CANON_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "desc/program.h"

/* One property: "input X" = "[a, b]", "attr axis" = "INT -1", "shape" = "[1, 2]". */
struct fl_canon_entry {
	const char *name, *text;
};

/* An operator or a variable: its entries in order of kind and name. */
struct fl_canon_item {
	const char *title; /* the operator's type, the variable's name */
	const char *line;  /* an operator with its slots */
	struct fl_canon_entry *entries;
	size_t n;
	uint64_t hash; /* of title and entries */
};

struct fl_canon_block {
	int32_t idx, parent, forward;
	struct fl_canon_item *ops, *vars; /* variables sorted by name */
	size_t n_ops, n_vars;
};

struct fl_canon {
	struct fl_arena *arena; /* owned; holds everything below */
	int64_t version;
	struct fl_canon_block *blocks;
	size_t n_blocks;
};

/* `skip` (may be NULL): attributes that are left out, n names. EFORMAT for a variable that occurs
 * twice in a block and for an attribute with two values. The program must outlive the result,
 * which fl_canon_release frees. */
enum fl_code fl_canon_make(const fl_pb_program *pb, const char *const *skip, size_t n,
	const char *name, struct fl_canon *out, struct fl_err *err);
void fl_canon_release(struct fl_canon *c);

#endif
