/*
 * What an operator is: one schema, read by the checker, the executor, the front end and the docs.
 * A family of operators lives in ops/<family>.c, which exports one array; registry.c lists the
 * arrays. Kernels are entries of their own (kernels/kernel.h), bound by the operator's name.
 */
#ifndef FL_OPS_OP_H
#define FL_OPS_OP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "desc/program.h"

#define FL_MAX_RANK 9

enum fl_slot_flags {
	FL_DUP = 1,  /* takes a list of variables */
	FL_OPT = 2,  /* may be absent */
	FL_MID = 4,  /* intermediate: only the gradient operator reads it; of an optional input: may
		      * lack a value, and is absent then */
	FL_NODATA = 8 /* only its shape and LoD are used */
};

struct fl_slot_def {
	const char *name; /* NULL ends a list */
	unsigned flags;
};

enum fl_attr_flags {
	FL_REQUIRED = 1, /* no default */
	FL_IGNORED = 2	 /* known, without meaning here (use_mkldnn, ...) */
};

struct fl_attr_def {
	const char *name; /* NULL ends a list */
	int type;	  /* enum fl_attr_type, as Fluid 1.8.5's op maker declares it */
	unsigned flags;
	int64_t i;	  /* default of INT, LONG, BOOLEAN; lists default to empty unless `list` is set */
	float f;	  /* default of FLOAT */
	const char *s;	  /* default of STRING (NULL: "") or, as "1,1", of INTS and LONGS */
};

/*
 * What is known of a variable while shapes are inferred. Before a run (fluidc check) dims may be
 * -1 = unknown and lod is NULL; at run time all dims are real and lod points at the LoD there is.
 */
struct fl_lod; /* tensor/lod.h */
struct fl_meta {
	int kind;  /* FL_LOD_TENSOR, FL_SELECTED_ROWS, FL_LOD_TENSOR_ARRAY, ...; -1 unknown */
	int dtype; /* -1 unknown */
	int rank;  /* -1: unknown */
	int64_t dims[FL_MAX_RANK];
	int lod_level;
	const struct fl_lod *lod; /* borrowed; NULL: none, or not known yet */
};

struct fl_op_def;

/* One slot's variables as inference sees them; an argument that is absent (`@EMPTY@`) is NULL. */
struct fl_metas {
	struct fl_meta **at;
	size_t n;
};

struct fl_infer {
	const struct fl_op_def *def;
	const fl_pb_op *op;
	bool run_time;
	const struct fl_metas *in; /* in the order of def->inputs */
	struct fl_metas *out;	   /* in the order of def->outputs; inference fills them */
	size_t n_in, n_out;
};

struct fl_op_def {
	const char *type;
	const struct fl_slot_def *inputs, *outputs; /* ended by a NULL name */
	const struct fl_attr_def *attrs;	    /* ended by a NULL name; may be NULL */
	/* Sets dims, dtype, kind and LoD of the outputs, or refuses the inputs with a text that names
	 * the slot, what is expected and what was found. NULL: no inference (host operators). */
	enum fl_code (*infer)(struct fl_infer *c, struct fl_err *err);
	unsigned flags;
	const char *doc; /* the formula, one line */
};

enum fl_op_flags {
	FL_OP_KERNEL = 1,  /* a kernel exists in this build */
	FL_OP_HOST = 2,	   /* talks to other processes or runs blocks; no shapes are inferred */
	FL_OP_DYNAMIC = 4, /* the kernel finds the output's shape itself */
	FL_OP_NO_COMPUTE = 8 /* feed, fetch and their like: the executor does them */
};

/* The definition, or NULL. */
const struct fl_op_def *fl_op_find(const char *type);
/* The i-th of all definitions, which come family by family; NULL after the last. */
const struct fl_op_def *fl_op_at(size_t i);
/* The known name nearest to `type` (edit distance), for "did you mean"; NULL when none is near. */
const char *fl_op_suggest(const char *type);

/* Position of a slot in a list, or -1. */
int fl_slot_index(const struct fl_slot_def *slots, const char *name);
size_t fl_slot_count(const struct fl_slot_def *slots);
/* The attribute's definition: the operator's own, or one that every operator has (op_role,
 * op_namescope, ...); NULL when unknown. */
const struct fl_attr_def *fl_attr_find(const struct fl_op_def *def, const char *name);

/* EINVAL: a required attribute is missing, or one is of a kind that cannot be read as the one it is
 * declared with (integers of all widths and booleans are one kind, numbers another; an empty list is
 * of every list kind). Attributes nobody declares are left alone. */
enum fl_code fl_op_check_attrs(const struct fl_op_def *def, const fl_pb_op *op, struct fl_err *err);

/* ---- for infer functions: attributes with the definition's default --------------------------- */

int64_t fl_infer_int(const struct fl_infer *c, const char *attr);
double fl_infer_num(const struct fl_infer *c, const char *attr);
bool fl_infer_bool(const struct fl_infer *c, const char *attr);
const char *fl_infer_str(const struct fl_infer *c, const char *attr);
/* Reads an integer list, the default where absent, into v[0..max); returns its length, which may
 * be larger than max. */
size_t fl_infer_ints(const struct fl_infer *c, const char *attr, int64_t *v, size_t max);

/* The i-th meta of a slot by its position in the definition; NULL when absent. */
struct fl_meta *fl_meta_in(const struct fl_infer *c, int slot, size_t i);
struct fl_meta *fl_meta_out(const struct fl_infer *c, int slot, size_t i);
/* Sets an output (absent ones are skipped) to a dense tensor of that shape. */
void fl_set_out(struct fl_infer *c, int slot, size_t i, int dtype, const int64_t *dims, int rank);
/* Output := input's dtype, dims, LoD and kind. */
void fl_set_like(struct fl_infer *c, int out, int in);
void fl_share_lod(struct fl_infer *c, int out, int in);
/* EINVAL, with the operator's own words: "'Y' has shape [3, 4], expected [2, ...]". */
enum fl_code fl_infer_bad(const struct fl_infer *c, struct fl_err *err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* "[2, 3]" (or "[]", "?") into a caller's buffer; returns it. */
const char *fl_dims_str(const int64_t *dims, int rank, char *buf, size_t size);
#define FL_DIMS_STR 160

/* Product of dims[from..to); -1 when one is unknown, or when it does not fit. */
int64_t fl_dims_product(const int64_t *dims, int from, int to);

#endif
