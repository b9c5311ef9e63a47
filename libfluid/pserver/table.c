/*
 * The table of a server. The optimize blocks are those of the attribute optimize_blocks; programs
 * of the first releases have only OptimizeBlock, and mean all blocks but those for prefetching and
 * checkpoints. X lists the variables that arrive. A program for one synchronous trainer, as 1.8.5
 * writes it, lists `w@GRAD` in X and sums `w@GRAD.trainer_0`, which nobody sends; the two are one
 * variable here. A server without variables (more servers than parameters) still counts barriers.
 */
#include "pserver/table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "desc/names.h"
#include "desc/query.h"

/* Room in a message for names, dims and LoD, beside the payload. */
#define HEADER_ROOM ((size_t)1 << 20)
/* A sparse gradient may repeat rows: no bound follows from the table's size alone. */
#define SPARSE_ROOM ((size_t)256 << 20)
#define MESSAGE_MAX ((size_t)INT32_MAX)

bool fl_block_needs(const fl_pb_block *block, const char *name)
{
	for (size_t i = 0; i < block->n_ops; i++) {
		if (fl_op_reads(block->ops[i], name))
			return true;
		if (fl_op_writes(block->ops[i], name))
			return false;
	}
	return false;
}

static struct fl_block *find_block(const struct fl_table *table, int idx)
{
	for (size_t i = 0; i < table->n_blocks; i++)
		if (table->blocks[i].idx == idx)
			return &table->blocks[i];
	return NULL;
}

static const fl_pb_block *pb_block(const struct fl_table *table, int idx)
{
	return table->prog->pb->blocks[idx];
}

/* ---- which blocks ---------------------------------------------------------------------------- */

/* K of the i-th "name:K" of a list attribute; -1 when it is not of that form. */
static int64_t pair_block(const fl_pb_op *op, const char *attr, size_t i, size_t *name_len)
{
	const char *s = fl_attr_str_at(op, attr, i), *colon = s ? strrchr(s, ':') : NULL;
	char *end;
	long v;

	if (!colon || !colon[1])
		return -1;
	v = strtol(colon + 1, &end, 10);
	if (*end || v < 0 || v > INT32_MAX)
		return -1;
	if (name_len)
		*name_len = (size_t)(colon - s);
	return v;
}

static bool other_purpose(const fl_pb_op *op, int64_t idx)
{
	if (idx == fl_attr_int(op, "PrefetchBlock", -1) ||
		idx == fl_attr_int(op, "checkpint_block_id", -1))
		return true;
	for (size_t i = 0; i < fl_attr_len(op, "prefetch_var_name_to_block_id"); i++)
		if (pair_block(op, "prefetch_var_name_to_block_id", i, NULL) == idx)
			return true;
	return false;
}

static enum fl_code add_block(struct fl_table *table, int64_t idx, struct fl_err *err)
{
	struct fl_block *b;

	if (idx < 1 || (uint64_t)idx >= table->prog->pb->n_blocks)
		return fl_err_set(err, FL_EINVAL,
			"'listen_and_serv' names block %" PRId64 ", the program has %zu", idx,
			table->prog->pb->n_blocks);
	if (find_block(table, (int)idx))
		return fl_err_set(err, FL_EINVAL,
			"'listen_and_serv' names optimize block %" PRId64 " twice", idx);
	b = &table->blocks[table->n_blocks++];
	b->idx = (int)idx;
	b->parent = pb_block(table, b->idx)->parent_idx;
	return FL_OK;
}

static enum fl_code list_blocks(struct fl_table *table, const fl_pb_op *op, struct fl_err *err)
{
	size_t n = fl_attr_len(op, "optimize_blocks"), all = table->prog->pb->n_blocks;
	int64_t lr = fl_attr_int(op, "lr_decay_block_id", -1);

	table->blocks = FL_NEW_N(struct fl_block, n + all + 1);
	for (size_t i = 0; i < n; i++)
		FL_TRY(add_block(table, fl_attr_int_at(op, "optimize_blocks", i), err));
	for (size_t i = 1; !fl_op_attr(op, "optimize_blocks") && i < all; i++)
		if (!other_purpose(op, (int64_t)i))
			FL_TRY(add_block(table, (int64_t)i, err));
	if (lr >= 0 && !find_block(table, (int)lr))
		FL_TRY(add_block(table, lr, err));
	table->lr = lr >= 0 ? find_block(table, (int)lr) : NULL;
	return FL_OK;
}

/* ---- which gradients ------------------------------------------------------------------------- */

/* The block that reads the variable: as grad_to_block_id says, else the first that needs it. */
static struct fl_block *reader_of(
	const struct fl_table *table, const fl_pb_op *op, const char *name)
{
	size_t base;
	struct fl_block *b;

	fl_trainer_suffix(name, &base);
	for (size_t i = 0; i < fl_attr_len(op, "grad_to_block_id"); i++) {
		size_t len = 0;
		int64_t idx = pair_block(op, "grad_to_block_id", i, &len);
		const char *s = fl_attr_str_at(op, "grad_to_block_id", i);

		if (idx < 0 || (len != strlen(name) && len != base) || memcmp(s, name, len) != 0)
			continue;
		b = find_block(table, (int)idx);
		if (b && fl_block_needs(pb_block(table, b->idx), name))
			return b;
	}
	for (size_t i = 0; i < table->n_blocks; i++)
		if (fl_block_needs(pb_block(table, table->blocks[i].idx), name))
			return &table->blocks[i];
	return NULL;
}

static enum fl_code declare(
	const struct fl_table *table, struct fl_grad *g, const char *listed, struct fl_err *err)
{
	const fl_pb_var *var = fl_find_var(table->prog->pb, 0, g->name);
	const fl_pb_tensor *t;

	if (!var)
		var = fl_find_var(table->prog->pb, 0, listed);
	t = var ? fl_var_tensor(var) : NULL;
	if (!t)
		return fl_err_set(err, FL_EINVAL,
			"'listen_and_serv' receives '%s', which is not declared as a tensor",
			listed);
	g->kind = (int)var->type->type;
	if (g->kind != FL_LOD_TENSOR && g->kind != FL_SELECTED_ROWS)
		return fl_err_set(err, FL_EINVAL,
			"'listen_and_serv' receives '%s', neither a LoDTensor nor SelectedRows",
			listed);
	g->dtype = fl_var_dtype(var);
	if (t->n_dims > FL_MAX_RANK || (g->kind == FL_SELECTED_ROWS && !t->n_dims))
		return fl_err_set(err, FL_EINVAL, "'%s' has %zu dims", listed, t->n_dims);
	g->rank = (int)t->n_dims;
	for (int i = 0; i < g->rank; i++)
		g->dims[i] = t->dims[i];
	/* Sequences: dim 0 counts their items. */
	if (g->rank && g->kind == FL_LOD_TENSOR && fl_var_lod_level(var) > 0)
		g->dims[0] = -1;
	return FL_OK;
}

/* The largest message that this gradient can need. */
static void bound_message(struct fl_table *table, const struct fl_grad *g)
{
	size_t bytes = fl_dtype_size(g->dtype);

	for (int i = 0; i < g->rank; i++)
		if (g->dims[i] < 0 || !fl_mul_size(bytes, (size_t)g->dims[i], &bytes))
			bytes = MESSAGE_MAX;
	if (g->kind == FL_SELECTED_ROWS && !fl_mul_size(bytes, 4, &bytes))
		bytes = MESSAGE_MAX;
	bytes = bytes < MESSAGE_MAX ? bytes + HEADER_ROOM : MESSAGE_MAX;
	if (g->kind == FL_SELECTED_ROWS)
		bytes += SPARSE_ROOM;
	if (bytes > MESSAGE_MAX)
		bytes = MESSAGE_MAX;
	if (bytes > table->max_message)
		table->max_message = bytes;
}

static enum fl_code add_grad(
	struct fl_table *table, const fl_pb_op *op, const char *listed, struct fl_err *err)
{
	struct fl_grad *g = &table->grads[table->n_grads++];
	char *other;

	pthread_mutex_init(&g->lock, NULL);
	g->name = fl_xstrdup(listed);
	g->block = reader_of(table, op, listed);
	other = fl_xstrfmt("%s" FL_TRAINER_INFIX "0", listed);
	if (!g->block && fl_trainer_suffix(listed, NULL) < 0 &&
		(g->block = reader_of(table, op, other))) {
		fl_free(g->name);
		g->name = fl_xstrdup(other);
	}
	fl_free(other);
	g->trainer = fl_trainer_suffix(g->name, NULL);
	FL_TRY(declare(table, g, listed, err));
	bound_message(table, g);
	fl_map_put(&table->names, g->name, g);
	fl_map_put(&table->names, listed, g);
	g->var = fl_scope_var(fl_scope_root(table->scope), g->name, g->kind);
	fl_var_set_kind(g->var, g->kind);
	if (g->block) {
		size_t cap = g->block->n_grads;

		fl_grow(&g->block->grads, &cap, g->block->n_grads + 1, sizeof *g->block->grads);
		g->block->grads[g->block->n_grads++] = g;
	}
	return FL_OK;
}

/* Gradients that only grad_to_block_id names (of a distributed table in async programs): those that
 * their block reads before it writes them. */
static enum fl_code list_unlisted(struct fl_table *table, const fl_pb_op *op, struct fl_err *err)
{
	for (size_t i = 0; i < fl_attr_len(op, "grad_to_block_id"); i++) {
		size_t len = 0;
		int64_t idx = pair_block(op, "grad_to_block_id", i, &len);
		char *name = fl_xstrndup(fl_attr_str_at(op, "grad_to_block_id", i), len);
		enum fl_code code = FL_OK;

		if (idx >= 0 && !fl_map_has(&table->names, name) && find_block(table, (int)idx) &&
			fl_block_needs(pb_block(table, (int)idx), name))
			code = add_grad(table, op, name, err);
		fl_free(name);
		FL_TRY(code);
	}
	return FL_OK;
}

static enum fl_code list_grads(struct fl_table *table, const fl_pb_op *op, struct fl_err *err)
{
	const fl_pb_slot *x = fl_op_input(op, "X");
	size_t n = x ? x->n_arguments : 0;

	table->grads = FL_NEW_N(struct fl_grad, n + fl_attr_len(op, "grad_to_block_id") + 1);
	for (size_t i = 0; i < n; i++)
		if (!fl_map_has(&table->names, x->arguments[i]))
			FL_TRY(add_grad(table, op, x->arguments[i], err));
	return list_unlisted(table, op, err);
}

struct fl_grad *fl_table_grad(const struct fl_table *table, const char *name, int64_t trainer)
{
	struct fl_grad *g = fl_map_get(&table->names, name);
	size_t base;
	char *other;

	if (g)
		return g;
	if (fl_trainer_suffix(name, &base) >= 0)
		other = fl_xstrndup(name, base);
	else
		other = fl_xstrfmt(
			"%s" FL_TRAINER_INFIX "%" PRId64, name, trainer < 0 ? 0 : trainer);
	g = fl_map_get(&table->names, other);
	fl_free(other);
	return g;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static bool lists(struct fl_var *const *vars, size_t n, const struct fl_var *var)
{
	for (size_t i = 0; i < n; i++)
		if (vars[i] == var)
			return true;
	return false;
}

/* Variables of the server's scope that operators of the block write. */
static void list_written(const struct fl_table *table, struct fl_block *b)
{
	const fl_pb_block *pb = pb_block(table, b->idx);
	size_t cap = 0;

	for (size_t i = 0; i < pb->n_ops; i++) {
		for (size_t j = 0; j < pb->ops[i]->n_outputs; j++) {
			const fl_pb_slot *slot = pb->ops[i]->outputs[j];

			for (size_t k = 0; k < slot->n_arguments; k++) {
				struct fl_var *v = fl_scope_find(table->scope, slot->arguments[k]);

				if (!v || lists(b->written, b->n_written, v))
					continue;
				fl_grow(&b->written, &cap, b->n_written + 1, sizeof *b->written);
				b->written[b->n_written++] = v;
			}
		}
	}
}

static enum fl_code prepare(
	struct fl_table *table, const struct fl_exec_env *env, struct fl_err *err)
{
	for (size_t i = 0; i < table->n_blocks; i++) {
		struct fl_block *b = &table->blocks[i];

		b->scope = fl_scope_new(table->scope);
		FL_TRY(fl_frame_new(table->prog, b->idx, b->scope, env, &b->frame, err));
		for (size_t j = 0; j < b->n_grads; j++)
			b->grads[j]->slot = fl_frame_slot(b->frame, b->grads[j]->name);
	}
	for (size_t i = 0; i < table->n_blocks; i++)
		list_written(table, &table->blocks[i]);
	return FL_OK;
}

enum fl_code fl_table_init(struct fl_table *table, const struct fl_program *prog,
	const fl_pb_op *op, struct fl_scope *scope, const struct fl_exec_env *env,
	struct fl_err *err)
{
	enum fl_code code;

	*table = (struct fl_table){ .prog = prog, .scope = scope };
	code = list_blocks(table, op, err);
	if (code == FL_OK)
		code = list_grads(table, op, err);
	if (code == FL_OK)
		code = prepare(table, env, err);
	if (code != FL_OK)
		fl_table_release(table);
	return code;
}

void fl_table_release(struct fl_table *table)
{
	for (size_t i = 0; i < table->n_blocks; i++) {
		struct fl_block *b = &table->blocks[i];

		fl_frame_free(b->frame);
		if (b->scope)
			fl_scope_free(b->scope);
		fl_free(b->written);
		fl_free(b->grads);
	}
	for (size_t i = 0; i < table->n_grads; i++) {
		struct fl_grad *g = &table->grads[i];

		for (size_t j = 0; j < g->n_spare; j++)
			fl_var_free(g->spare[j]);
		fl_free(g->spare);
		fl_free(g->name);
		pthread_mutex_destroy(&g->lock);
	}
	fl_free(table->blocks);
	fl_free(table->grads);
	fl_map_release(&table->names);
	*table = (struct fl_table){ 0 };
}
