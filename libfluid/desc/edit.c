/*
 * protobuf-c's lists are a pointer and a length. The capacity of a list that grows is kept beside
 * the program, in a table from the place of the list's head (&block->ops) to what was allocated; an
 * entry whose array is not the list's any more is stale and counts as no spare room.
 */
#include "desc/edit.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "desc/copy.h"

struct capacity {
	const void *head; /* the address of the list's pointer; NULL: free */
	const void *array;
	size_t cap;
};

/* Open addressing, at most half full; lives in the program's arena. */
struct fl_program_lists {
	struct capacity *table;
	size_t size, used;
};

static size_t place_of(const struct fl_program_lists *l, const void *head)
{
	size_t at = (size_t)(((uint64_t)(uintptr_t)head >> 3) * 0x9e3779b97f4a7c15u >> 20);

	for (at &= l->size - 1; l->table[at].head && l->table[at].head != head;)
		at = (at + 1) & (l->size - 1);
	return at;
}

static void grow_table(struct fl_program *prog, struct fl_program_lists *l)
{
	struct fl_program_lists old = *l;

	l->size = old.size ? 2 * old.size : 16;
	l->table = FL_ARENA_NEW_N(prog->arena, struct capacity, l->size);
	for (size_t i = 0; i < old.size; i++)
		if (old.table[i].head)
			l->table[place_of(l, old.table[i].head)] = old.table[i];
}

static struct capacity *capacity_of(struct fl_program *prog, const void *head)
{
	struct fl_program_lists *l = prog->lists;
	size_t at;

	if (!l)
		prog->lists = l = FL_ARENA_NEW(prog->arena, struct fl_program_lists);
	if (2 * (l->used + 1) > l->size)
		grow_table(prog, l);
	at = place_of(l, head);
	if (!l->table[at].head) {
		l->table[at].head = head;
		l->used++;
	}
	return &l->table[at];
}

/* Makes room for one more in the list at `head` and returns the (possibly moved) array. */
static void *room_for_one(struct fl_program *prog, const void *head, void *array, size_t n)
{
	struct capacity *c = capacity_of(prog, head);
	size_t cap = n < 4 ? 8 : 2 * n;
	void **moved;

	if (c->array && c->array == array && n < c->cap)
		return array;
	moved = FL_ARENA_NEW_N(prog->arena, void *, cap);
	if (n)
		memcpy(moved, array, n * sizeof(void *));
	c->array = moved;
	c->cap = cap;
	return moved;
}

/* A copy of a short list of pointers with one more place; for lists that stay short. */
static void *one_longer(struct fl_program *prog, const void *array, size_t n)
{
	void **p = FL_ARENA_NEW_N(prog->arena, void *, n + 1);

	if (n)
		memcpy(p, array, n * sizeof(void *));
	return p;
}

static void *copy_bytes(struct fl_program *prog, const void *p, size_t size)
{
	void *q = fl_arena_alloc(prog->arena, size);

	if (size)
		memcpy(q, p, size);
	return q;
}

fl_pb_block *fl_add_block(struct fl_program *prog, int32_t parent_idx)
{
	fl_pb_program *pb = prog->pb;
	fl_pb_block *b = FL_ARENA_NEW(prog->arena, fl_pb_block);

	paddle__framework__proto__block_desc__init(b);
	b->idx = (int32_t)pb->n_blocks;
	b->parent_idx = parent_idx;
	pb->blocks = room_for_one(prog, &pb->blocks, pb->blocks, pb->n_blocks);
	pb->blocks[pb->n_blocks++] = b;
	return b;
}

/* ---- variables ------------------------------------------------------------------------------- */

fl_pb_var *fl_add_var(struct fl_program *prog, fl_pb_block *block, const char *name, int type)
{
	fl_pb_var *v = FL_ARENA_NEW(prog->arena, fl_pb_var);

	paddle__framework__proto__var_desc__init(v);
	v->name = fl_arena_strdup(prog->arena, name);
	v->type = FL_ARENA_NEW(prog->arena, fl_pb_var_type);
	paddle__framework__proto__var_type__init(v->type);
	v->type->type = (Paddle__Framework__Proto__VarType__Type)type;
	fl_push_var(prog, block, v);
	return v;
}

static fl_pb_tensor *new_tensor(struct fl_program *prog, int dtype, const int64_t *dims,
	size_t rank)
{
	fl_pb_tensor *t = FL_ARENA_NEW(prog->arena, fl_pb_tensor);

	paddle__framework__proto__var_type__tensor_desc__init(t);
	t->data_type = (Paddle__Framework__Proto__VarType__Type)dtype;
	t->dims = copy_bytes(prog, dims, rank * sizeof *dims);
	t->n_dims = rank;
	return t;
}

void fl_var_set_tensor(struct fl_program *prog, fl_pb_var *var, int dtype, const int64_t *dims,
	size_t rank, int lod_level)
{
	fl_pb_tensor *t = new_tensor(prog, dtype, dims, rank);

	switch ((int)var->type->type) {
	case FL_LOD_TENSOR:
		var->type->lod_tensor = FL_ARENA_NEW(prog->arena, fl_pb_lod_tensor);
		paddle__framework__proto__var_type__lo_dtensor_desc__init(var->type->lod_tensor);
		var->type->lod_tensor->tensor = t;
		var->type->lod_tensor->has_lod_level = lod_level != 0;
		var->type->lod_tensor->lod_level = lod_level;
		break;
	case FL_SELECTED_ROWS: var->type->selected_rows = t; break;
	case FL_LOD_TENSOR_ARRAY:
		var->type->tensor_array = FL_ARENA_NEW(prog->arena, fl_pb_tensor_array);
		paddle__framework__proto__var_type__lo_dtensor_array_desc__init(
			var->type->tensor_array);
		var->type->tensor_array->tensor = t;
		var->type->tensor_array->has_lod_level = lod_level != 0;
		var->type->tensor_array->lod_level = lod_level;
		break;
	}
}

void fl_var_set_persistable(fl_pb_var *var, bool persistable)
{
	var->has_persistable = 1;
	var->persistable = persistable;
}

fl_pb_var *fl_copy_var(struct fl_program *prog, const fl_pb_var *var)
{
	return fl_pb_copy(prog->arena, &var->base);
}

void fl_push_var(struct fl_program *prog, fl_pb_block *block, fl_pb_var *var)
{
	block->vars = room_for_one(prog, &block->vars, block->vars, block->n_vars);
	block->vars[block->n_vars++] = var;
}

void fl_push_op(struct fl_program *prog, fl_pb_block *block, fl_pb_op *op)
{
	block->ops = room_for_one(prog, &block->ops, block->ops, block->n_ops);
	block->ops[block->n_ops++] = op;
}

void fl_set_ops(struct fl_program *prog, fl_pb_block *block, fl_pb_op *const *ops, size_t n)
{
	block->ops = copy_bytes(prog, ops, n * sizeof *ops);
	block->n_ops = n;
}

void fl_set_vars(struct fl_program *prog, fl_pb_block *block, fl_pb_var *const *vars, size_t n)
{
	block->vars = copy_bytes(prog, vars, n * sizeof *vars);
	block->n_vars = n;
}

/* ---- operators ------------------------------------------------------------------------------- */

fl_pb_op *fl_new_op(struct fl_program *prog, const char *type)
{
	fl_pb_op *op = FL_ARENA_NEW(prog->arena, fl_pb_op);

	paddle__framework__proto__op_desc__init(op);
	op->type = fl_arena_strdup(prog->arena, type);
	return op;
}

static fl_pb_slot **share_slots(struct fl_program *prog, fl_pb_slot *const *slots, size_t n)
{
	fl_pb_slot **copy = FL_ARENA_NEW_N(prog->arena, fl_pb_slot *, n);

	for (size_t i = 0; i < n; i++) {
		copy[i] = copy_bytes(prog, slots[i], sizeof **slots);
		copy[i]->arguments = copy_bytes(prog, slots[i]->arguments,
			slots[i]->n_arguments * sizeof *slots[i]->arguments);
	}
	return copy;
}

fl_pb_op *fl_share_op(struct fl_program *prog, const fl_pb_op *op)
{
	fl_pb_op *copy = fl_op_like(prog, op);

	copy->inputs = share_slots(prog, op->inputs, op->n_inputs);
	copy->n_inputs = op->n_inputs;
	copy->outputs = share_slots(prog, op->outputs, op->n_outputs);
	copy->n_outputs = op->n_outputs;
	return copy;
}

fl_pb_op *fl_op_like(struct fl_program *prog, const fl_pb_op *like)
{
	fl_pb_op *op = copy_bytes(prog, like, sizeof *like);

	op->attrs = copy_bytes(prog, like->attrs, like->n_attrs * sizeof *like->attrs);
	op->inputs = op->outputs = NULL;
	op->n_inputs = op->n_outputs = 0;
	return op;
}

static fl_pb_slot *slot_for(struct fl_program *prog, fl_pb_slot ***slots, size_t *n,
	const char *name)
{
	size_t at = 0;
	fl_pb_slot *s;

	while (at < *n && strcmp((*slots)[at]->parameter, name) < 0)
		at++;
	for (size_t i = 0; i < *n; i++)
		if (!strcmp((*slots)[i]->parameter, name))
			return (*slots)[i];
	s = FL_ARENA_NEW(prog->arena, fl_pb_slot);
	paddle__framework__proto__op_desc__var__init(s);
	s->parameter = fl_arena_strdup(prog->arena, name);
	*slots = one_longer(prog, *slots, *n);
	memmove(*slots + at + 1, *slots + at, (*n - at) * sizeof **slots);
	(*slots)[at] = s;
	++*n;
	return s;
}

static void set_args(struct fl_program *prog, fl_pb_slot *s, const char *const *args, size_t n)
{
	char **copy = FL_ARENA_NEW_N(prog->arena, char *, n);

	for (size_t i = 0; i < n; i++)
		copy[i] = fl_arena_strdup(prog->arena, args[i]);
	s->arguments = copy;
	s->n_arguments = n;
}

void fl_op_set_input(struct fl_program *prog, fl_pb_op *op, const char *slot,
	const char *const *args, size_t n)
{
	set_args(prog, slot_for(prog, &op->inputs, &op->n_inputs, slot), args, n);
}

void fl_op_set_output(struct fl_program *prog, fl_pb_op *op, const char *slot,
	const char *const *args, size_t n)
{
	set_args(prog, slot_for(prog, &op->outputs, &op->n_outputs, slot), args, n);
}

fl_pb_attr *fl_op_set_attr(struct fl_program *prog, fl_pb_op *op, const char *name, int type)
{
	fl_pb_attr *a = FL_ARENA_NEW(prog->arena, fl_pb_attr);
	size_t i = 0;

	paddle__framework__proto__op_desc__attr__init(a);
	a->type = (Paddle__Framework__Proto__AttrType)type;
	while (i < op->n_attrs && strcmp(op->attrs[i]->name, name))
		i++;
	if (i == op->n_attrs) {
		op->attrs = one_longer(prog, op->attrs, op->n_attrs++);
		a->name = fl_arena_strdup(prog->arena, name);
	} else {
		a->name = op->attrs[i]->name;
	}
	op->attrs[i] = a;
	return a;
}

void fl_op_del_attr(fl_pb_op *op, const char *name)
{
	size_t kept = 0;

	for (size_t i = 0; i < op->n_attrs; i++)
		if (strcmp(op->attrs[i]->name, name))
			op->attrs[kept++] = op->attrs[i];
	op->n_attrs = kept;
}

void fl_op_set_int(struct fl_program *prog, fl_pb_op *op, const char *name, int32_t v)
{
	fl_pb_attr *a = fl_op_set_attr(prog, op, name, FL_ATTR_INT);

	a->has_i = 1;
	a->i = v;
}

void fl_op_set_long(struct fl_program *prog, fl_pb_op *op, const char *name, int64_t v)
{
	fl_pb_attr *a = fl_op_set_attr(prog, op, name, FL_ATTR_LONG);

	a->has_l = 1;
	a->l = v;
}

void fl_op_set_bool(struct fl_program *prog, fl_pb_op *op, const char *name, bool v)
{
	fl_pb_attr *a = fl_op_set_attr(prog, op, name, FL_ATTR_BOOLEAN);

	a->has_b = 1;
	a->b = v;
}

void fl_op_set_float(struct fl_program *prog, fl_pb_op *op, const char *name, float v)
{
	fl_pb_attr *a = fl_op_set_attr(prog, op, name, FL_ATTR_FLOAT);

	a->has_f = 1;
	a->f = v;
}

static ProtobufCBinaryData bytes_of(struct fl_program *prog, const char *s)
{
	size_t n = strlen(s);

	return (ProtobufCBinaryData){ .len = n, .data = copy_bytes(prog, s, n) };
}

void fl_op_set_str(struct fl_program *prog, fl_pb_op *op, const char *name, const char *v)
{
	fl_pb_attr *a = fl_op_set_attr(prog, op, name, FL_ATTR_STRING);

	a->has_s = 1;
	a->s = bytes_of(prog, v);
}

void fl_op_set_block(struct fl_program *prog, fl_pb_op *op, const char *name, int32_t v)
{
	fl_pb_attr *a = fl_op_set_attr(prog, op, name, FL_ATTR_BLOCK);

	a->has_block_idx = 1;
	a->block_idx = v;
}

void fl_op_set_ints(struct fl_program *prog, fl_pb_op *op, const char *name, const int32_t *v,
	size_t n)
{
	fl_pb_attr *a = fl_op_set_attr(prog, op, name, FL_ATTR_INTS);

	a->ints = copy_bytes(prog, v, n * sizeof *v);
	a->n_ints = n;
}

void fl_op_set_longs(struct fl_program *prog, fl_pb_op *op, const char *name, const int64_t *v,
	size_t n)
{
	fl_pb_attr *a = fl_op_set_attr(prog, op, name, FL_ATTR_LONGS);

	a->longs = copy_bytes(prog, v, n * sizeof *v);
	a->n_longs = n;
}

void fl_op_set_blocks(struct fl_program *prog, fl_pb_op *op, const char *name, const int32_t *v,
	size_t n)
{
	fl_pb_attr *a = fl_op_set_attr(prog, op, name, FL_ATTR_BLOCKS);

	a->blocks_idx = copy_bytes(prog, v, n * sizeof *v);
	a->n_blocks_idx = n;
}

void fl_op_set_strs(struct fl_program *prog, fl_pb_op *op, const char *name,
	const char *const *v, size_t n)
{
	fl_pb_attr *a = fl_op_set_attr(prog, op, name, FL_ATTR_STRINGS);

	a->strings = FL_ARENA_NEW_N(prog->arena, ProtobufCBinaryData, n);
	a->n_strings = n;
	for (size_t i = 0; i < n; i++)
		a->strings[i] = bytes_of(prog, v[i]);
}

void fl_op_cut_list(struct fl_program *prog, fl_pb_op *op, const char *name, size_t from, size_t n)
{
	for (size_t i = 0; i < op->n_attrs; i++) {
		fl_pb_attr *a;

		if (strcmp(op->attrs[i]->name, name))
			continue;
		op->attrs[i] = a = copy_bytes(prog, op->attrs[i], sizeof *a);
		switch ((int)a->type) {
		case FL_ATTR_INTS: a->ints += from; a->n_ints = n; break;
		case FL_ATTR_FLOATS: a->floats += from; a->n_floats = n; break;
		case FL_ATTR_STRINGS: a->strings += from; a->n_strings = n; break;
		case FL_ATTR_BOOLEANS: a->bools += from; a->n_bools = n; break;
		case FL_ATTR_BLOCKS: a->blocks_idx += from; a->n_blocks_idx = n; break;
		case FL_ATTR_LONGS: a->longs += from; a->n_longs = n; break;
		case FL_ATTR_FLOAT64S: a->float64s += from; a->n_float64s = n; break;
		}
	}
}

#define FEW_ATTRS 64

static int by_name(const void *x, const void *y)
{
	const fl_pb_attr *const *a = x, *const *b = y;

	return strcmp((*a)->name, (*b)->name);
}

void fl_op_sort_attrs(fl_pb_op *op)
{
	if (op->n_attrs > FEW_ATTRS) {
		qsort(op->attrs, op->n_attrs, sizeof *op->attrs, by_name);
		return;
	}
	for (size_t i = 1; i < op->n_attrs; i++) { /* most lists are nearly sorted */
		fl_pb_attr *a = op->attrs[i];
		size_t at = i;

		for (; at && strcmp(op->attrs[at - 1]->name, a->name) > 0; at--)
			op->attrs[at] = op->attrs[at - 1];
		op->attrs[at] = a;
	}
}
