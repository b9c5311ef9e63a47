/*
 * Making and changing programs. Everything made lives in the program's arena; strings given are
 * copied. Appending is amortized O(1).
 */
#ifndef FL_DESC_EDIT_H
#define FL_DESC_EDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "desc/program.h"

/* Appends an empty block; its index is the number of blocks before. */
fl_pb_block *fl_add_block(struct fl_program *prog, int32_t parent_idx);

/* Appends a variable of kind `type` without a description. */
fl_pb_var *fl_add_var(struct fl_program *prog, fl_pb_block *block, const char *name, int type);
/* Gives the variable the tensor description that its kind has (LOD_TENSOR, SELECTED_ROWS,
 * LOD_TENSOR_ARRAY), replacing the one there. lod_level 0 is left out. */
void fl_var_set_tensor(struct fl_program *prog, fl_pb_var *var, int dtype, const int64_t *dims,
	size_t rank, int lod_level);
void fl_var_set_persistable(fl_pb_var *var, bool persistable);
/* Copies of descriptors of another (or the same) program, not yet in any list. The variable is copied
 * whole; the operator has only its lists for itself: strings and attributes stay the other's, which
 * must outlive the copy. Its attributes are changed by the functions below alone, which replace them. */
fl_pb_var *fl_copy_var(struct fl_program *prog, const fl_pb_var *var);
fl_pb_op *fl_share_op(struct fl_program *prog, const fl_pb_op *op);
void fl_push_var(struct fl_program *prog, fl_pb_block *block, fl_pb_var *var);
void fl_push_op(struct fl_program *prog, fl_pb_block *block, fl_pb_op *op);
/* Replaces the block's list of operators (pointers copied). */
void fl_set_ops(struct fl_program *prog, fl_pb_block *block, fl_pb_op *const *ops, size_t n);
void fl_set_vars(struct fl_program *prog, fl_pb_block *block, fl_pb_var *const *vars, size_t n);

/* A new operator in no list. */
fl_pb_op *fl_new_op(struct fl_program *prog, const char *type);
/* The same without slots. */
fl_pb_op *fl_op_like(struct fl_program *prog, const fl_pb_op *like);
/* Sets a slot's arguments (added when absent; slots stay sorted by name, as Fluid writes them). */
void fl_op_set_input(struct fl_program *prog, fl_pb_op *op, const char *slot,
	const char *const *args, size_t n);
void fl_op_set_output(struct fl_program *prog, fl_pb_op *op, const char *slot,
	const char *const *args, size_t n);

/* A new attribute in place of the one of that name, empty and of the given type; added when absent. */
fl_pb_attr *fl_op_set_attr(struct fl_program *prog, fl_pb_op *op, const char *name, int type);
void fl_op_del_attr(fl_pb_op *op, const char *name);
void fl_op_set_int(struct fl_program *prog, fl_pb_op *op, const char *name, int32_t v);
void fl_op_set_long(struct fl_program *prog, fl_pb_op *op, const char *name, int64_t v);
void fl_op_set_bool(struct fl_program *prog, fl_pb_op *op, const char *name, bool v);
void fl_op_set_float(struct fl_program *prog, fl_pb_op *op, const char *name, float v);
void fl_op_set_str(struct fl_program *prog, fl_pb_op *op, const char *name, const char *v);
void fl_op_set_block(struct fl_program *prog, fl_pb_op *op, const char *name, int32_t v);
void fl_op_set_ints(struct fl_program *prog, fl_pb_op *op, const char *name, const int32_t *v,
	size_t n);
void fl_op_set_longs(struct fl_program *prog, fl_pb_op *op, const char *name, const int64_t *v,
	size_t n);
void fl_op_set_blocks(struct fl_program *prog, fl_pb_op *op, const char *name, const int32_t *v,
	size_t n);
void fl_op_set_strs(struct fl_program *prog, fl_pb_op *op, const char *name,
	const char *const *v, size_t n);
/* Keeps elements [from, from + n) of a list attribute, which must have as many. */
void fl_op_cut_list(struct fl_program *prog, fl_pb_op *op, const char *name, size_t from,
	size_t n);
/* Sorts the attributes by name: the order of our own files. */
void fl_op_sort_attrs(fl_pb_op *op);

#endif
