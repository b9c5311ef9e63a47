/*
 * Structure, names and dataflow. Files of all releases must pass where they are sound; what they are
 * known to hold and what is therefore no problem: parameters without arguments, tensors without a
 * shape, several unknown dimensions, names that are found only through the forward block of a
 * gradient block, LoD tensors without a description (control variables).
 */
#include "inspect/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/near.h"
#include "desc/names.h"
#include "desc/query.h"
#include "inspect/text.h"
#include "ops/op.h"

#define DEPTH_MAX 64  /* levels of nested blocks */
#define LINES_MAX 1000 /* of a report */
#define FIRST_NEWER 1009000 /* the version after those whose operators are known */

void fl_report_release(struct fl_report *r)
{
	fl_buf_release(&r->text);
	fl_map_release(&r->seen);
}

static void add_place(struct fl_buf *b, const struct fl_place *at)
{
	fl_buf_addf(b, "%s: ", at->name);
	if (at->block < 0)
		return;
	fl_buf_addf(b, "block %d", at->block);
	if (at->op) {
		fl_buf_addf(b, ", op %zu '", at->op_idx);
		fl_text_name(b, at->op->type);
		fl_buf_addc(b, '\'');
	}
	fl_buf_adds(b, ": ");
}

bool fl_report_full(const struct fl_report *r)
{
	return r->problems + r->notes >= LINES_MAX;
}

static void add_line(struct fl_report *r, const struct fl_place *at, bool note, const char *fmt,
	va_list ap) __attribute__((format(printf, 4, 0)));
static void add_line(struct fl_report *r, const struct fl_place *at, bool note, const char *fmt,
	va_list ap)
{
	char text[FL_ERR_MAX];

	if (r->problems + r->notes == LINES_MAX)
		fl_buf_adds(&r->text, "... more is counted below\n");
	if (!fl_report_full(r)) {
		vsnprintf(text, sizeof text, fmt, ap);
		add_place(&r->text, at);
		fl_buf_addf(&r->text, "%s%s\n", note ? "note: " : "", text);
	}
	if (note)
		r->notes++;
	else
		r->problems++;
}

void fl_report_problem(struct fl_report *r, const struct fl_place *at, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_line(r, at, false, fmt, ap);
	va_end(ap);
}

void fl_report_note(struct fl_report *r, const struct fl_place *at, const char *kind,
	const char *fmt, ...)
{
	va_list ap;

	if (fl_map_has(&r->seen, kind))
		return;
	fl_map_put(&r->seen, kind, NULL);
	va_start(ap, fmt);
	add_line(r, at, true, fmt, ap);
	va_end(ap);
}

/* ---- names --------------------------------------------------------------------------------------- */

struct checker {
	const fl_pb_program *pb;
	const char *name;
	struct fl_report *r;
	struct fl_map *vars; /* of each block, by name */
	bool *runs;	     /* blocks that some operator runs, and block 0 */
	bool *steps;	     /* blocks of recurrent operators: outer names are slices there */
	struct fl_map writers, readers; /* name -> how many operators */
};

struct view {
	const struct checker *c;
	int32_t block;
};

static const fl_pb_var *find_up(const struct checker *c, int32_t block, const char *name)
{
	for (int depth = 0; block >= 0 && (size_t)block < c->pb->n_blocks && depth < DEPTH_MAX; depth++) {
		const fl_pb_var *v = fl_map_get(&c->vars[block], name);

		if (v)
			return v;
		block = fl_block_parent(c->pb, block);
	}
	return NULL;
}

/* A gradient block also sees what its forward block saw. */
static const fl_pb_var *find_var(const void *arg, const char *name)
{
	const struct view *view = arg;
	const struct checker *c = view->c;
	int32_t block = view->block;
	const fl_pb_var *v = find_up(c, block, name);

	for (int depth = 0; !v && block >= 0 && depth < DEPTH_MAX; depth++) {
		const fl_pb_block *b = c->pb->blocks[block];

		if (b->has_forward_block_idx && b->forward_block_idx >= 0)
			v = find_up(c, b->forward_block_idx, name);
		block = fl_block_parent(c->pb, block);
	}
	return v;
}

static size_t count_of(const struct fl_map *counts, const char *name)
{
	return (size_t)(uintptr_t)fl_map_get(counts, name);
}

static void count_names(struct fl_map *counts, fl_pb_slot *const *slots, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < slots[i]->n_arguments; k++) {
			const char *name = slots[i]->arguments[k];

			fl_map_put(counts, name, (void *)(uintptr_t)(count_of(counts, name) + 1));
		}
}

static void count_uses(struct checker *c)
{
	for (size_t b = 0; b < c->pb->n_blocks; b++)
		for (size_t i = 0; i < c->pb->blocks[b]->n_ops; i++) {
			const fl_pb_op *op = c->pb->blocks[b]->ops[i];

			count_names(&c->readers, op->inputs, op->n_inputs);
			count_names(&c->writers, op->outputs, op->n_outputs);
		}
}

static const fl_pb_var *find_settled(const void *arg, const char *name)
{
	const struct view *view = arg;
	const fl_pb_var *v = find_var(arg, name);

	if (view->c->steps[view->block] && !fl_map_has(&view->c->vars[view->block], name))
		return NULL;
	if (!v || fl_var_persistable(v))
		return v;
	return count_of(&view->c->writers, name) > 1 ? NULL : v;
}

static bool is_read(const void *arg, const char *name)
{
	const struct view *view = arg;

	return count_of(&view->c->readers, name) > 0;
}

/* ---- structure ----------------------------------------------------------------------------------- */

static void check_nesting(struct checker *c, const struct fl_place *at)
{
	int32_t block = at->block;
	int depth = 0;

	while (block >= 0 && depth <= DEPTH_MAX) {
		block = fl_block_parent(c->pb, block);
		depth++;
	}
	if (depth > DEPTH_MAX)
		fl_report_problem(c->r, at, "blocks are nested deeper than %d", DEPTH_MAX);
}

static void check_vars(struct checker *c, const struct fl_place *at)
{
	const fl_pb_block *block = c->pb->blocks[at->block];
	struct fl_map *vars = &c->vars[at->block];

	for (size_t i = 0; i < block->n_vars; i++) {
		const fl_pb_var *v = block->vars[i];
		const fl_pb_tensor *t = fl_var_tensor(v);

		if (t && !fl_shape_fits(t))
			fl_report_problem(c->r, at, "variable '%.100s' has a shape beyond all measure",
				v->name);
		if (!*v->name)
			fl_report_problem(c->r, at, "variable %zu has no name", i);
		else if (fl_map_get(vars, v->name) != v)
			fl_report_problem(c->r, at, "variable '%.100s' is declared twice", v->name);
		if (!fl_type_name((int)v->type->type))
			fl_report_problem(c->r, at, "variable '%.100s' has a type %d that no release has",
				v->name, (int)v->type->type);
	}
}

static void check_block_idx(struct checker *c, const struct fl_place *at, const char *attr,
	int32_t idx)
{
	if (idx < 0 || (size_t)idx >= c->pb->n_blocks)
		fl_report_problem(c->r, at, "attribute '%.60s' names block %d, the program has %zu", attr,
			idx, c->pb->n_blocks);
	else if (idx == at->block && !strcmp(attr, FL_ATTR_SUB_BLOCK))
		fl_report_problem(c->r, at, "attribute '%.60s' names the operator's own block", attr);
}

static void check_block_attrs(struct checker *c, const struct fl_place *at)
{
	for (size_t i = 0; i < at->op->n_attrs; i++) {
		const fl_pb_attr *a = at->op->attrs[i];

		if ((int)a->type == FL_ATTR_BLOCK)
			check_block_idx(c, at, a->name, a->block_idx);
		for (size_t k = 0; (int)a->type == FL_ATTR_BLOCKS && k < a->n_blocks_idx; k++)
			check_block_idx(c, at, a->name, a->blocks_idx[k]);
	}
}

static void mark_block(struct checker *c, int32_t idx, int32_t *todo, size_t *n)
{
	if (idx < 0 || (size_t)idx >= c->pb->n_blocks || c->runs[idx])
		return;
	c->runs[idx] = true;
	todo[(*n)++] = idx;
}

static bool is_recurrent(const fl_pb_op *op)
{
	return !strcmp(op->type, "recurrent") || !strcmp(op->type, "recurrent_grad");
}

/* Transpiled trainers keep the blocks of deleted schedule operators: nothing runs these. */
static void find_running(struct checker *c)
{
	int32_t *todo = FL_NEW_N(int32_t, c->pb->n_blocks + 1);
	size_t n = 0;

	mark_block(c, 0, todo, &n);
	while (n) {
		const fl_pb_block *block = c->pb->blocks[todo[--n]];

		for (size_t i = 0; i < block->n_ops; i++)
			for (size_t k = 0; k < block->ops[i]->n_attrs; k++) {
				const fl_pb_attr *a = block->ops[i]->attrs[k];

				if ((int)a->type == FL_ATTR_BLOCK)
					mark_block(c, a->block_idx, todo, &n);
				if ((int)a->type == FL_ATTR_BLOCK && is_recurrent(block->ops[i]) &&
					a->block_idx >= 0 && (size_t)a->block_idx < c->pb->n_blocks)
					c->steps[a->block_idx] = true;
				for (size_t b = 0; (int)a->type == FL_ATTR_BLOCKS && b < a->n_blocks_idx; b++)
					mark_block(c, a->blocks_idx[b], todo, &n);
			}
	}
	fl_free(todo);
}

/* ---- dataflow ------------------------------------------------------------------------------------ */

static void undeclared(struct checker *c, const struct fl_place *at, const char *what,
	const char *slot, const char *name)
{
	struct fl_near near;

	if (!c->runs[at->block]) {
		fl_report_note(c->r, at, name, "%s '%.60s': variable '%.100s' is not declared, but no "
			"operator runs this block", what, slot, name);
		return;
	}
	fl_near_init(&near, name);
	for (int32_t b = fl_report_full(c->r) ? -1 : at->block; b >= 0; b = fl_block_parent(c->pb, b))
		for (size_t i = 0; i < c->pb->blocks[b]->n_vars; i++)
			fl_near_try(&near, c->pb->blocks[b]->vars[i]->name);
	fl_report_problem(c->r, at, "%s '%.60s': variable '%.100s' is not declared%s%.100s%s", what,
		slot, name, near.best ? ", did you mean '" : "", near.best ? near.best : "",
		near.best ? "'?" : "");
}

/* A gradient that nobody made: Fluid's gradient operators take an undeclared one for absent. */
static bool absent_grad(const struct fl_place *at, const char *slot)
{
	size_t n = strlen(slot), suffix = strlen(FL_GRAD_SUFFIX), type = strlen(at->op->type);

	return n > suffix && !strcmp(slot + n - suffix, FL_GRAD_SUFFIX) && type > 5 &&
	       !strcmp(at->op->type + type - 5, "_grad");
}

static void check_declared(struct checker *c, const struct fl_place *at, const char *what,
	fl_pb_slot *const *slots, size_t n)
{
	struct view view = { c, at->block };

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < slots[i]->n_arguments; k++) {
			const char *name = slots[i]->arguments[k];

			if (!*name)
				fl_report_problem(c->r, at, "%s '%.60s': argument %zu has no name", what,
					slots[i]->parameter, k);
			else if (!strcmp(name, FL_EMPTY_VAR) || find_var(&view, name))
				continue;
			else if (absent_grad(at, slots[i]->parameter))
				fl_report_note(c->r, at, name, "gradient '%.100s' is not declared", name);
			else
				undeclared(c, at, what, slots[i]->parameter, name);
		}
}

static void note_writes(const fl_pb_op *op, size_t idx, struct fl_map *first_write)
{
	for (size_t i = 0; i < op->n_outputs; i++)
		for (size_t k = 0; k < op->outputs[i]->n_arguments; k++)
			if (!fl_map_has(first_write, op->outputs[i]->arguments[k]))
				fl_map_put(first_write, op->outputs[i]->arguments[k],
					(void *)(uintptr_t)(idx + 1));
}

/* Read before it is written, in the straight line of block 0: persistable variables come from
 * the startup program, and what nothing writes is data from outside. */
static void check_order(struct checker *c, const struct fl_place *at,
	const struct fl_map *first_write)
{
	for (size_t i = 0; i < at->op->n_inputs; i++)
		for (size_t k = 0; k < at->op->inputs[i]->n_arguments; k++) {
			const char *name = at->op->inputs[i]->arguments[k];
			size_t write = (size_t)(uintptr_t)fl_map_get(first_write, name);
			const fl_pb_var *v = fl_map_get(&c->vars[0], name);
			bool dense = v && ((int)v->type->type == FL_LOD_TENSOR ||
					   (int)v->type->type == FL_SELECTED_ROWS);

			if (!write || write - 1 <= at->op_idx || !dense || fl_var_persistable(v) ||
				(v->has_need_check_feed && v->need_check_feed))
				continue;
			fl_report_problem(c->r, at,
				"input '%.60s': variable '%.100s' is read before op %zu '%.60s' makes it",
				at->op->inputs[i]->parameter, name, write - 1,
				c->pb->blocks[0]->ops[write - 1]->type);
		}
}

/* ---- all of it ----------------------------------------------------------------------------------- */

static void check_ops(struct checker *c, struct fl_place *at)
{
	const fl_pb_block *block = c->pb->blocks[at->block];
	struct view view = { c, at->block };
	const struct fl_scope_view scope = { find_settled, is_read, &view };
	struct fl_map first_write = FL_MAP_INIT;

	for (size_t i = 0; i < block->n_ops && at->block == 0; i++)
		note_writes(block->ops[i], i, &first_write);
	for (size_t i = 0; i < block->n_ops; i++) {
		at->op_idx = i;
		at->op = block->ops[i];
		check_block_attrs(c, at);
		check_declared(c, at, "input", at->op->inputs, at->op->n_inputs);
		check_declared(c, at, "output", at->op->outputs, at->op->n_outputs);
		check_order(c, at, &first_write);
		fl_check_op(at, c->r);
		fl_check_shape(at, &scope, c->r);
	}
	at->op = NULL;
	fl_map_release(&first_write);
}

void fl_check_program(const fl_pb_program *pb, const char *name, struct fl_report *r)
{
	struct checker c = { pb, name, r, FL_NEW_N(struct fl_map, pb->n_blocks + 1),
		FL_NEW_N(bool, pb->n_blocks + 1), FL_NEW_N(bool, pb->n_blocks + 1), FL_MAP_INIT,
		FL_MAP_INIT };

	find_running(&c);
	count_uses(&c);
	for (size_t i = 0; i < pb->n_blocks; i++)
		fl_index_vars(pb->blocks[i], &c.vars[i]);
	for (size_t i = 0; i < pb->n_blocks; i++) {
		struct fl_place at = { name, (int)i, 0, NULL,
			fl_program_version(pb) >= FIRST_NEWER };
		const fl_pb_block *b = pb->blocks[i];

		if (b->has_forward_block_idx && b->forward_block_idx >= (int32_t)pb->n_blocks)
			fl_report_problem(r, &at, "its forward block is %d, the program has %zu",
				b->forward_block_idx, pb->n_blocks);
		check_nesting(&c, &at);
		check_vars(&c, &at);
		check_ops(&c, &at);
	}
	for (size_t i = 0; i < pb->n_blocks; i++)
		fl_map_release(&c.vars[i]);
	fl_free(c.vars);
	fl_free(c.runs);
	fl_free(c.steps);
	fl_map_release(&c.writers);
	fl_map_release(&c.readers);
}
