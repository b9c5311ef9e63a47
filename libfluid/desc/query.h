/* Looking things up in a program. All results are borrowed from it. */
#ifndef FL_DESC_QUERY_H
#define FL_DESC_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "desc/program.h"

/* The program's version (major*1000000 + minor*1000 + patch), 0: none. Releases 1.0 to 1.5 kept it
 * in field 2, which no later schema declares. */
int64_t fl_program_version(const fl_pb_program *pb);

/* The block's parent, or -1. The root has none, though old files write 0 there. */
int32_t fl_block_parent(const fl_pb_program *pb, int32_t block_idx);

/* The variable of that name in this block, or in the nearest of its parents; NULL: none. A walk
 * over the lists: for many look-ups make a name index. */
fl_pb_var *fl_block_var(const fl_pb_block *block, const char *name);
fl_pb_var *fl_find_var(const fl_pb_program *pb, int32_t block_idx, const char *name);

/* An index of one block's variables by name; release it with fl_map_release. */
void fl_index_vars(const fl_pb_block *block, struct fl_map *index);

/* The slot of an op, or NULL. A slot without arguments counts as absent. */
const fl_pb_slot *fl_op_input(const fl_pb_op *op, const char *slot);
const fl_pb_slot *fl_op_output(const fl_pb_op *op, const char *slot);
/* The i-th argument of a slot, or NULL. */
const char *fl_op_in(const fl_pb_op *op, const char *slot, size_t i);
const char *fl_op_out(const fl_pb_op *op, const char *slot, size_t i);
bool fl_op_reads(const fl_pb_op *op, const char *var);
bool fl_op_writes(const fl_pb_op *op, const char *var);

/* The attribute, or NULL. */
const fl_pb_attr *fl_op_attr(const fl_pb_op *op, const char *name);

/* Attribute values; any integer form (INT, LONG, BOOLEAN, BLOCK) is taken where an integer is
 * asked for, any number where a float is. The fallback when absent or of another kind. */
int64_t fl_attr_int(const fl_pb_op *op, const char *name, int64_t fallback);
double fl_attr_num(const fl_pb_op *op, const char *name, double fallback);
bool fl_attr_bool(const fl_pb_op *op, const char *name, bool fallback);
/* Text of a STRING attribute (a C string; may hold zero bytes, see the message); fallback when
 * absent. */
const char *fl_attr_str(const fl_pb_op *op, const char *name, const char *fallback);
/* Length, and i-th element, of a list attribute (INTS, LONGS, BOOLEANS, BLOCKS; FLOATS, FLOAT64S;
 * STRINGS). */
size_t fl_attr_len(const fl_pb_op *op, const char *name);
int64_t fl_attr_int_at(const fl_pb_op *op, const char *name, size_t i);
double fl_attr_num_at(const fl_pb_op *op, const char *name, size_t i);
const char *fl_attr_str_at(const fl_pb_op *op, const char *name, size_t i);

int fl_op_role(const fl_pb_op *op);

/* The tensor description that belongs to the variable's kind (its type; other parts are stale), or
 * NULL: kinds without one. lod_level: 0 where the kind has none. */
const fl_pb_tensor *fl_var_tensor(const fl_pb_var *var);
int fl_var_dtype(const fl_pb_var *var); /* -1: none */
int fl_var_lod_level(const fl_pb_var *var);
bool fl_var_persistable(const fl_pb_var *var);

#endif
