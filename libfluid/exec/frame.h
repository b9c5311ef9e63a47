/*
 * What prepared.c (building) and run.c (running) share: a frame is a list of nodes, one an
 * operator; a node's arguments lie flat, in the order of the definition's slots.
 */
#ifndef FL_EXEC_FRAME_H
#define FL_EXEC_FRAME_H

#include "base/map.h"
#include "exec/prepared.h"

/* A name used in the block. */
struct slot {
	const char *name; /* borrowed from the program */
	struct fl_var *var; /* borrowed from the scope, or what it was rebound to */
	const fl_pb_var *decl; /* borrowed; NULL: not declared */
	struct fl_var ***uses; /* owned: where arguments point at var */
	size_t n_uses, cap_uses;
};

/* Inputs or outputs of an operator. All arrays are owned. */
struct side {
	const struct fl_slot_def *defs; /* of the definition; borrowed */
	size_t n_slots, n;	    /* slots; arguments of all of them together */
	size_t *first;		    /* n_slots + 1: where each slot's arguments begin */
	int *slot;		    /* of each argument: index into the frame's slots; -1: absent */
	struct fl_var **bound;	    /* of each argument: what its name means; NULL: absent */
	struct fl_var **vars;	    /* what the kernel sees of them */
	struct fl_meta *meta;	    /* of each argument */
	struct fl_metas *metas;	    /* of each slot: what inference sees */
	struct fl_meta **meta_at;   /* memory of metas[].at */
};

/* What an input looked like when shapes were inferred last. */
struct seen {
	int kind, dtype, rank;
	int64_t dims[FL_MAX_RANK];
	int64_t height;	   /* of SelectedRows */
	struct fl_lod lod; /* owned */
};

struct node {
	const fl_pb_op *op;
	const struct fl_op_def *def;
	struct side in, out;
	struct seen *seen;   /* of each input argument */
	int *alias;	     /* of each output: an input argument with the same variable, or -1 */
	int *lod_from;	     /* of each output: the input argument whose LoD it gets, or -1 */
	struct fl_var *shadow; /* of each output: an in-place input's old value while shapes change */
	bool inferred;
	struct fl_kernel k; /* k.def NULL: nothing to run (feed, fetch) */
};

/* A block that an operator of the frame runs, prepared in a child scope. Several, of forward and
 * backward operators, may share a scope. */
struct child {
	const char *name; /* of the scope; borrowed from the program */
	int block;
	struct fl_scope *scope;	 /* owned by the first child of that name */
	struct fl_frame *frame;	 /* owned; NULL until it is run */
};

struct fl_frame {
	const struct fl_program *prog;
	int block, depth;	 /* depth: blocks around this one that are running */
	struct fl_scope *scope;	 /* borrowed */
	struct child *children;	 /* owned */
	size_t n_children, cap_children;
	struct fl_exec_env env;
	struct slot *slots;
	size_t n_slots, cap_slots;
	struct fl_map index; /* name -> slot + 1 */
	struct node *nodes;
	size_t n;
};

/* "block 0, op 3 'mul'" before the message. */
enum fl_code fl_frame_wrap(const struct fl_frame *f, size_t op, struct fl_err *err);
/* The definition's slot of an argument; its position within the slot does not matter for messages. */
const char *fl_side_slot_name(const struct side *s, size_t arg);

/* Running blocks of blocks (blocks.c). */
extern const struct fl_blocks fl_frame_blocks;
void fl_frame_free_children(struct fl_frame *f);
/* A variable of the frame means another one now: in its children, too, unless it is theirs. */
void fl_frame_rebind_children(struct fl_frame *f, const char *name, struct fl_var *old,
	struct fl_var *var);

#endif
