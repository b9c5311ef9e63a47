#include "desc/query.h"

#include <string.h>

#include "base/wire.h"
#include "desc/names.h"

fl_pb_var *fl_block_var(const fl_pb_block *block, const char *name)
{
	for (size_t i = 0; i < block->n_vars; i++)
		if (!strcmp(block->vars[i]->name, name))
			return block->vars[i];
	return NULL;
}

#define OLD_VERSION_FIELD 2

int64_t fl_program_version(const fl_pb_program *pb)
{
	int64_t version = 0;

	if (pb->version)
		return pb->version->version;
	for (unsigned i = 0; i < pb->base.n_unknown_fields; i++) {
		const ProtobufCMessageUnknownField *u = &pb->base.unknown_fields[i];
		struct fl_wire w = { u->data, u->data + u->len };
		struct fl_wire_field f;
		uint64_t len;

		if (u->tag != OLD_VERSION_FIELD || (int)u->wire_type != FL_WIRE_LEN ||
			!fl_wire_varint(&w, &len))
			continue;
		while (fl_wire_next(&w, &f) == 1)
			if (f.number == 1 && f.type == FL_WIRE_VARINT)
				version = (int64_t)f.value;
	}
	return version;
}

int32_t fl_block_parent(const fl_pb_program *pb, int32_t block_idx)
{
	int32_t parent;

	if (block_idx <= 0 || (size_t)block_idx >= pb->n_blocks)
		return -1;
	parent = pb->blocks[block_idx]->parent_idx;
	return parent >= 0 && (size_t)parent < pb->n_blocks ? parent : -1;
}

fl_pb_var *fl_find_var(const fl_pb_program *pb, int32_t block_idx, const char *name)
{
	while (block_idx >= 0 && (size_t)block_idx < pb->n_blocks) {
		fl_pb_var *v = fl_block_var(pb->blocks[block_idx], name);

		if (v)
			return v;
		block_idx = fl_block_parent(pb, block_idx);
	}
	return NULL;
}

void fl_index_vars(const fl_pb_block *block, struct fl_map *index)
{
	fl_map_init(index);
	for (size_t i = 0; i < block->n_vars; i++)
		fl_map_put(index, block->vars[i]->name, block->vars[i]);
}

static const fl_pb_slot *find_slot(fl_pb_slot *const *slots, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (slots[i]->n_arguments && !strcmp(slots[i]->parameter, name))
			return slots[i];
	return NULL;
}

const fl_pb_slot *fl_op_input(const fl_pb_op *op, const char *slot)
{
	return find_slot(op->inputs, op->n_inputs, slot);
}

const fl_pb_slot *fl_op_output(const fl_pb_op *op, const char *slot)
{
	return find_slot(op->outputs, op->n_outputs, slot);
}

const char *fl_op_in(const fl_pb_op *op, const char *slot, size_t i)
{
	const fl_pb_slot *s = fl_op_input(op, slot);

	return s && i < s->n_arguments ? s->arguments[i] : NULL;
}

const char *fl_op_out(const fl_pb_op *op, const char *slot, size_t i)
{
	const fl_pb_slot *s = fl_op_output(op, slot);

	return s && i < s->n_arguments ? s->arguments[i] : NULL;
}

static bool mentions(fl_pb_slot *const *slots, size_t n, const char *var)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < slots[i]->n_arguments; k++)
			if (!strcmp(slots[i]->arguments[k], var))
				return true;
	return false;
}

bool fl_op_reads(const fl_pb_op *op, const char *var)
{
	return mentions(op->inputs, op->n_inputs, var);
}

bool fl_op_writes(const fl_pb_op *op, const char *var)
{
	return mentions(op->outputs, op->n_outputs, var);
}

const fl_pb_attr *fl_op_attr(const fl_pb_op *op, const char *name)
{
	for (size_t i = 0; i < op->n_attrs; i++)
		if (!strcmp(op->attrs[i]->name, name))
			return op->attrs[i];
	return NULL;
}

int64_t fl_attr_int(const fl_pb_op *op, const char *name, int64_t fallback)
{
	const fl_pb_attr *a = fl_op_attr(op, name);

	if (!a)
		return fallback;
	switch ((int)a->type) {
	case FL_ATTR_INT: return a->i;
	case FL_ATTR_LONG: return a->l;
	case FL_ATTR_BOOLEAN: return a->b != 0;
	case FL_ATTR_BLOCK: return a->block_idx;
	}
	return fallback;
}

double fl_attr_num(const fl_pb_op *op, const char *name, double fallback)
{
	const fl_pb_attr *a = fl_op_attr(op, name);

	if (!a)
		return fallback;
	switch ((int)a->type) {
	case FL_ATTR_FLOAT: return a->f;
	case FL_ATTR_FLOAT64: return a->float64;
	case FL_ATTR_INT: return a->i;
	case FL_ATTR_LONG: return (double)a->l;
	}
	return fallback;
}

bool fl_attr_bool(const fl_pb_op *op, const char *name, bool fallback)
{
	return fl_attr_int(op, name, fallback) != 0;
}

const char *fl_attr_str(const fl_pb_op *op, const char *name, const char *fallback)
{
	const fl_pb_attr *a = fl_op_attr(op, name);

	if (!a || (int)a->type != FL_ATTR_STRING)
		return fallback;
	return a->s.data ? (const char *)a->s.data : "";
}

size_t fl_attr_len(const fl_pb_op *op, const char *name)
{
	const fl_pb_attr *a = fl_op_attr(op, name);

	if (!a)
		return 0;
	switch ((int)a->type) {
	case FL_ATTR_INTS: return a->n_ints;
	case FL_ATTR_FLOATS: return a->n_floats;
	case FL_ATTR_STRINGS: return a->n_strings;
	case FL_ATTR_BOOLEANS: return a->n_bools;
	case FL_ATTR_BLOCKS: return a->n_blocks_idx;
	case FL_ATTR_LONGS: return a->n_longs;
	case FL_ATTR_FLOAT64S: return a->n_float64s;
	}
	return 0;
}

int64_t fl_attr_int_at(const fl_pb_op *op, const char *name, size_t i)
{
	const fl_pb_attr *a = fl_op_attr(op, name);

	if (i >= fl_attr_len(op, name))
		return 0;
	switch ((int)a->type) {
	case FL_ATTR_INTS: return a->ints[i];
	case FL_ATTR_LONGS: return a->longs[i];
	case FL_ATTR_BOOLEANS: return a->bools[i] != 0;
	case FL_ATTR_BLOCKS: return a->blocks_idx[i];
	}
	return 0;
}

double fl_attr_num_at(const fl_pb_op *op, const char *name, size_t i)
{
	const fl_pb_attr *a = fl_op_attr(op, name);

	if (i >= fl_attr_len(op, name))
		return 0;
	switch ((int)a->type) {
	case FL_ATTR_FLOATS: return a->floats[i];
	case FL_ATTR_FLOAT64S: return a->float64s[i];
	}
	return (double)fl_attr_int_at(op, name, i);
}

const char *fl_attr_str_at(const fl_pb_op *op, const char *name, size_t i)
{
	const fl_pb_attr *a = fl_op_attr(op, name);

	if (!a || (int)a->type != FL_ATTR_STRINGS || i >= a->n_strings)
		return NULL;
	return a->strings[i].data ? (const char *)a->strings[i].data : "";
}

int fl_op_role(const fl_pb_op *op)
{
	return (int)fl_attr_int(op, FL_ATTR_ROLE, FL_ROLE_FORWARD);
}

const fl_pb_tensor *fl_var_tensor(const fl_pb_var *var)
{
	switch ((int)var->type->type) {
	case FL_LOD_TENSOR: return var->type->lod_tensor ? var->type->lod_tensor->tensor : NULL;
	case FL_SELECTED_ROWS: return var->type->selected_rows;
	case FL_LOD_TENSOR_ARRAY:
		return var->type->tensor_array ? var->type->tensor_array->tensor : NULL;
	}
	return NULL;
}

int fl_var_dtype(const fl_pb_var *var)
{
	const fl_pb_tensor *t = fl_var_tensor(var);

	return t ? (int)t->data_type : -1;
}

int fl_var_lod_level(const fl_pb_var *var)
{
	switch ((int)var->type->type) {
	case FL_LOD_TENSOR: return var->type->lod_tensor ? var->type->lod_tensor->lod_level : 0;
	case FL_LOD_TENSOR_ARRAY:
		return var->type->tensor_array ? var->type->tensor_array->lod_level : 0;
	}
	return 0;
}

bool fl_var_persistable(const fl_pb_var *var)
{
	return var->has_persistable && var->persistable;
}
