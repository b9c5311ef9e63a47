/*
 * What each operator of block 0 is for, which gradient updates which parameter, and what can
 * not be transpiled (spec sections 3 and 16). Roles decide: 2 is decay or optimizer, 16 and 18 belong to
 * the learning-rate schedule. Clipping has role 2 as well; its name scope tells it apart. Fluid
 * 1.8.5 knows only the scopes of set_gradient_clip ('@CLIP'), so that what `grad_clip=` writes (scope
 * 'gradient_clip') goes astray there; here both stay on the trainers.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "desc/query.h"
#include "transpile/internal.h"

enum fl_code tp_refuse(struct fl_err *err, const struct fl_transpiler *t, size_t op,
	const char *fmt, ...)
{
	char text[FL_ERR_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	return fl_err_set(err, FL_EUNSUPPORTED, "block 0, op %zu '%s': %s", op,
		t->block->ops[op]->type, text);
}

static bool one_of(const char *s, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(s, list[i]))
			return true;
	return false;
}

static enum fl_code check_fresh(const struct fl_transpiler *t, struct fl_err *err)
{
	static const char *const ours[] = { "send", "recv", "send_barrier", "fetch_barrier",
		"listen_and_serv", "prefetch", "distributed_lookup_table", "geo_sgd_send" };

	for (size_t i = 0; i < t->block->n_ops; i++)
		if (one_of(t->block->ops[i]->type, ours, FL_COUNT(ours)))
			return tp_refuse(err, t, i,
				"this program is transpiled already; give the program as it is after "
				"minimize()");
	return FL_OK;
}

static bool is_clip(const fl_pb_op *op)
{
	const char *scope = fl_attr_str(op, FL_ATTR_NAMESCOPE, "");

	return strstr(scope, "@CLIP") || strstr(scope, "gradient_clip");
}

static enum tp_kind kind_of(const fl_pb_op *op)
{
	switch (fl_op_role(op)) {
	case FL_ROLE_OPTIMIZE: return is_clip(op) ? TP_CLIP : TP_OPT;
	case FL_ROLE_LRSCHED:
	case FL_ROLE_OPTIMIZE | FL_ROLE_LRSCHED: return TP_LR;
	}
	return TP_KEEP;
}

/* Names are taken apart again by whoever reads them on the wire and in checkpoints. */
static enum fl_code check_name(const struct fl_transpiler *t, size_t op, const char *name,
	struct fl_err *err)
{
	const char *b = strstr(name, FL_BLOCK_INFIX);
	const char *why = strchr(name, ':')		   ? ":"
			  : strstr(name, FL_TRAINER_INFIX) ? FL_TRAINER_INFIX
							   : NULL;

	for (; b && !why; b = strstr(b + 1, FL_BLOCK_INFIX)) {
		const char *digits = b + strlen(FL_BLOCK_INFIX);

		if (*digits && strspn(digits, "0123456789") == strlen(digits))
			why = b;
	}
	if (!why)
		return FL_OK;
	return tp_refuse(err, t, op,
		"the name '%s' holds '%s', which marks parts and senders of a parameter; rename it",
		name, why);
}

static const fl_pb_var *tensor_var(const struct fl_transpiler *t, const char *name)
{
	const fl_pb_var *v = fl_map_get(&t->vars, name);

	return v && fl_var_tensor(v) ? v : NULL;
}

static enum fl_code add_pair(struct fl_transpiler *t, size_t op, const char *param,
	const char *grad, struct fl_err *err)
{
	struct tp_pair *p = &t->pairs[t->n_pairs];
	const struct tp_pair *other = fl_map_get(&t->pair_of_grad, grad);

	FL_TRY(check_name(t, op, param, err));
	FL_TRY(check_name(t, op, grad, err));
	p->param = param;
	p->grad = grad;
	p->pvar = tensor_var(t, param);
	p->gvar = tensor_var(t, grad);
	p->writer = p->first_writer = SIZE_MAX;
	p->optimizer = SIZE_MAX;
	if (!p->pvar || !p->gvar)
		return tp_refuse(err, t, op, "op_role_var names '%s', which is no tensor of block 0",
			p->pvar ? grad : param);
	if (other)
		return tp_refuse(err, t, op, "gradient '%s' belongs to both '%s' and '%s'", grad,
			other->param, param);
	fl_map_put(&t->pair_of_param, param, p);
	fl_map_put(&t->pair_of_grad, grad, p);
	t->n_pairs++;
	return FL_OK;
}

static enum fl_code add_optimizer(struct fl_transpiler *t, struct tp_pair *p, size_t i,
	struct fl_err *err)
{
	const fl_pb_op *op = t->block->ops[i];

	if (p->optimizer != SIZE_MAX)
		return tp_refuse(err, t, i,
			"parameter '%s' has a second optimizer (the first is op %zu '%s'); a server "
			"updates it once a step", p->param, p->optimizer,
			t->block->ops[p->optimizer]->type);
	if (strcmp(fl_op_in(op, "Param", 0), p->param))
		return tp_refuse(err, t, i, "op_role_var says '%s', but Param is '%s'", p->param,
			fl_op_in(op, "Param", 0));
	if (!tp_can_place(op))
		return tp_refuse(err, t, i,
			"parameter '%s': this optimizer needs more than a part of a parameter (a norm "
			"of the whole, say), so servers cannot apply it; use another one, such as "
			"momentum or adam", p->param);
	p->optimizer = i;
	tp_list_add(&t->optimizers, i);
	return FL_OK;
}

static enum fl_code add_optimize_op(struct fl_transpiler *t, size_t i, struct fl_err *err)
{
	const fl_pb_op *op = t->block->ops[i];
	const char *param = fl_attr_str_at(op, FL_ATTR_ROLE_VAR, 0);
	const char *grad = fl_attr_str_at(op, FL_ATTR_ROLE_VAR, 1);
	struct tp_pair *p;

	if (!param || !grad)
		return tp_refuse(err, t, i,
			"an operator of the optimizer's role without op_role_var: nothing says which "
			"parameter it belongs to");
	if (!fl_map_has(&t->pair_of_param, param))
		FL_TRY(add_pair(t, i, param, grad, err));
	p = fl_map_get(&t->pair_of_param, param);
	tp_list_add(&p->ops, i);
	tp_list_add(&t->opt, i);
	return tp_is_optimizer(op) ? add_optimizer(t, p, i, err) : FL_OK;
}

static enum fl_code sort_ops(struct fl_transpiler *t, struct fl_err *err)
{
	for (size_t i = 0; i < t->block->n_ops; i++) {
		const fl_pb_op *op = t->block->ops[i];

		t->kind[i] = (unsigned char)kind_of(op);
		if (t->kind[i] == TP_OPT)
			FL_TRY(add_optimize_op(t, i, err));
		if (t->kind[i] == TP_LR)
			tp_list_add(&t->lr, i);
	}
	if (!t->optimizers.n)
		return fl_err_set(err, FL_EUNSUPPORTED,
			"the program has no optimizer operators (none of its %zu operators has the "
			"optimizer's role and updates a parameter); call minimize() before it is saved",
			t->block->n_ops);
	for (size_t i = 0; i < t->n_pairs; i++)
		if (t->pairs[i].optimizer == SIZE_MAX)
			return tp_refuse(err, t, t->pairs[i].ops.at[0],
				"parameter '%s' has a gradient but no optimizer that updates it",
				t->pairs[i].param);
	return FL_OK;
}

static enum fl_code find_writers(struct fl_transpiler *t, struct fl_err *err)
{
	for (size_t i = 0; i < t->block->n_ops; i++) {
		const fl_pb_op *op = t->block->ops[i];

		for (size_t s = 0; s < op->n_outputs; s++)
			for (size_t a = 0; a < op->outputs[s]->n_arguments; a++) {
				struct tp_pair *p = fl_map_get(&t->pair_of_grad,
					op->outputs[s]->arguments[a]);

				if (p && p->writer == SIZE_MAX)
					p->first_writer = i;
				if (p)
					p->writer = i;
			}
	}
	for (size_t i = 0; i < t->n_pairs; i++)
		if (t->pairs[i].writer == SIZE_MAX)
			return tp_refuse(err, t, t->pairs[i].optimizer,
				"gradient '%s' of parameter '%s' is written by no operator of block 0",
				t->pairs[i].grad, t->pairs[i].param);
	return FL_OK;
}

/* `G.trainer_I` is what a gradient will be called: no other variable may be. */
static enum fl_code check_suffixes(const struct fl_transpiler *t, struct fl_err *err)
{
	FL_MAP_EACH(e, &t->vars)
	{
		const char *at = strstr(e->key, FL_TRAINER_INFIX);
		const struct tp_pair *p;
		char *base;

		if (!at)
			continue;
		base = fl_xstrndup(e->key, (size_t)(at - e->key));
		p = fl_map_get(&t->pair_of_grad, base);
		fl_free(base);
		if (p)
			return tp_refuse(err, t, p->optimizer,
				"the variable '%s' has the name of a trainer's gradient; rename it",
				e->key);
	}
	return FL_OK;
}

/*
 * Where trainers' counters start. Global: at 1, as in Fluid. Per trainer: at the count of the first
 * step of a run without servers, so that the least of the counters, to which every trainer adds
 * when it has done a step, is the count of the step that the slowest trainer is at.
 */
static enum fl_code find_first_count(struct fl_transpiler *t, struct fl_err *err)
{
	const struct tp_list *inits = fl_map_get(&t->inits, t->counter);
	const fl_pb_block *startup = fl_shared_block(t->startup_shared);
	const fl_pb_op *init = inits ? startup->ops[inits->at[inits->n - 1]] : NULL;

	t->counter_first = t->counter_step = 1;
	if (t->opts.lr_steps == FL_LR_GLOBAL)
		return FL_OK;
	if (!init || strcmp(init->type, "fill_constant"))
		return tp_refuse(err, t, t->counter_op,
			"with --lr-steps per-trainer the startup program must set the schedule's "
			"counter '%s' by fill_constant, which says where it starts", t->counter);
	t->counter_step = (float)fl_attr_num(t->block->ops[t->counter_op], "step", 1);
	t->counter_first = (float)fl_attr_num(init, "value", 0) + t->counter_step;
	return FL_OK;
}

/* Async schedules advance by every trainer's steps: their counter is a sum (spec section 3.2). */
static enum fl_code find_counter(struct fl_transpiler *t, struct fl_err *err)
{
	bool moves = !t->sync && t->opts.mode != FL_MODE_GEO; /* the schedule, to the servers */

	for (size_t i = 0; moves && !t->counter && i < t->lr.n; i++) {
		const fl_pb_op *op = t->block->ops[t->lr.at[i]];

		if (strcmp(op->type, "increment") || !fl_op_out(op, "Out", 0))
			continue;
		t->counter = fl_op_out(op, "Out", 0);
		t->counter_op = t->lr.at[i];
		if (!tensor_var(t, t->counter))
			return tp_refuse(err, t, t->counter_op,
				"the schedule's counter '%s' is no tensor of block 0", t->counter);
	}
	return t->counter ? find_first_count(t, err) : FL_OK;
}

/* Lookups of one table become one operator, or get attributes: their slots must be there. */
static enum fl_code check_lookup(const struct fl_transpiler *t, size_t i, struct fl_err *err)
{
	const fl_pb_op *op = t->block->ops[i];

	if (!strcmp(op->type, "nce") || (fl_op_in(op, "Ids", 0) && fl_op_out(op, "Out", 0)))
		return FL_OK;
	return tp_refuse(err, t, i, "has no Ids or no Out");
}

static enum fl_code add_lookup(struct fl_transpiler *t, size_t i, struct fl_err *err)
{
	static const char *const types[] = { "lookup_table", "lookup_table_v2", "nce" };
	const fl_pb_op *op = t->block->ops[i];
	const char *w;
	struct tp_pair *p;

	if (!one_of(op->type, types, FL_COUNT(types)))
		return FL_OK;
	w = fl_op_in(op, strcmp(op->type, "nce") ? "W" : "Weight", 0);
	if (!w)
		return tp_refuse(err, t, i, "has no table");
	if (t->table && !strcmp(w, t->table->param))
		return FL_OK;
	if (fl_attr_bool(op, "is_sparse", false) && strcmp(op->type, "lookup_table_v2"))
		fl_map_put(&t->sparse_tables, w, t);
	p = fl_map_get(&t->pair_of_param, w);
	if (!p || !fl_attr_bool(op, "remote_prefetch", false))
		return FL_OK;
	FL_TRY(check_lookup(t, i, err));
	tp_list_add(&t->lookups, i);
	if ((int)p->gvar->type->type != FL_SELECTED_ROWS ||
		(t->opts.mode == FL_MODE_GEO && !strcmp(op->type, "nce")))
		return FL_OK;
	p->remote = true;
	fl_map_put(&t->sparse_tables, w, t);
	return FL_OK;
}

/* The correction of dc.c works element by element on whole gradients. */
static enum fl_code check_dense(const struct fl_transpiler *t, struct fl_err *err)
{
	for (size_t i = 0; t->opts.enable_dc_asgd && i < t->n_pairs; i++)
		if ((int)t->pairs[i].gvar->type->type == FL_SELECTED_ROWS)
			return tp_refuse(err, t, t->pairs[i].optimizer,
				"parameter '%s' has a sparse gradient, which --enable-dc-asgd cannot "
				"correct; leave that out, or give is_sparse=False", t->pairs[i].param);
	return FL_OK;
}

enum fl_code tp_analyze(struct fl_transpiler *t, struct fl_err *err)
{
	FL_TRY(check_fresh(t, err));
	FL_TRY(sort_ops(t, err));
	FL_TRY(find_writers(t, err));
	FL_TRY(check_suffixes(t, err));
	FL_TRY(find_counter(t, err));
	FL_TRY(tp_find_table(t, err));
	FL_TRY(check_dense(t, err));
	for (size_t i = 0; i < t->block->n_ops; i++)
		FL_TRY(add_lookup(t, i, err));
	return FL_OK;
}

static void find_optimizer_vars(struct fl_transpiler *t)
{
	struct fl_map *out = &t->optimizer_vars;

	for (size_t k = 0; k < t->opt.n; k++) {
		const fl_pb_op *op = t->block->ops[t->opt.at[k]];

		for (size_t s = 0; s < op->n_inputs; s++)
			for (size_t a = 0; a < op->inputs[s]->n_arguments; a++)
				fl_map_put(out, op->inputs[s]->arguments[a], out);
	}
	for (size_t k = 0; k < t->opt.n; k++) {
		const fl_pb_op *op = t->block->ops[t->opt.at[k]];

		for (size_t i = 0; i < fl_attr_len(op, FL_ATTR_ROLE_VAR); i++)
			fl_map_remove(out, fl_attr_str_at(op, FL_ATTR_ROLE_VAR, i));
	}
}

static bool names_any(const struct fl_map *names, fl_pb_slot *const *slots, size_t n)
{
	for (size_t s = 0; s < n; s++)
		for (size_t a = 0; a < slots[s]->n_arguments; a++)
			if (fl_map_has(names, slots[s]->arguments[a]))
				return true;
	return false;
}

static bool role_names_any(const struct fl_map *names, const fl_pb_op *op)
{
	for (size_t i = 0; i < fl_attr_len(op, FL_ATTR_ROLE_VAR); i++)
		if (fl_map_has(names, fl_attr_str_at(op, FL_ATTR_ROLE_VAR, i)))
			return true;
	return false;
}

void tp_index_changes(struct fl_transpiler *t)
{
	const struct fl_map *names = &t->first_grads;

	find_optimizer_vars(t);
	tp_suffixed_grads(t, t->arena, 0, &t->first_grads);
	for (size_t i = 0; names->live && i < t->block->n_ops; i++) {
		const fl_pb_op *op = t->block->ops[i];

		if (t->kind[i] != TP_OPT && t->kind[i] != TP_LR &&
			(names_any(names, op->inputs, op->n_inputs) ||
				names_any(names, op->outputs, op->n_outputs) ||
				role_names_any(names, op)))
			tp_list_add(&t->renamed, i);
	}
}
