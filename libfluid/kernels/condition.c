/*
 * conditional_block and its gradient (operators.md 6.7): a block is run, or not, in a scope that the
 * gradient operator finds again by the name of the Scope variable. Where the block did not run, the
 * gradients are zeros, as in Fluid 1.8.5.
 */
#include <string.h>

#include "base/mem.h"
#include "desc/names.h"
#include "desc/query.h"
#include "kernels/internal.h"

enum { COND, INPUT };

static enum fl_code need_tensor(const struct fl_var *var, const char *slot, struct fl_err *err)
{
	if (!var)
		return fl_err_set(err, FL_EINVAL, "'%s' is absent, expected a tensor", slot);
	if (var->kind == FL_LOD_TENSOR && fl_var_has_value(var))
		return FL_OK;
	return fl_err_set(err, FL_ESTATE, "input '%s' (variable '%s'): expected a value, found none",
		slot, var->name);
}

/* By one condition, or by whether all inputs have elements. */
static enum fl_code wanted(struct fl_kernel *k, bool *yes, struct fl_err *err)
{
	const struct fl_tensor *t = fl_in(k, COND, 0);

	*yes = true;
	if (fl_k_bool(k, "is_scalar_condition")) {
		FL_TRY(need_tensor(fl_in_var(k, COND, 0), "Cond", err));
		if (t->dtype != FL_BOOL || fl_numel(t) != 1)
			return fl_err_set(err, FL_EINVAL,
				"'Cond' has %lld elements of type %s, expected one of type BOOL",
				(long long)fl_numel(t), fl_dtype_name(t->dtype));
		*yes = *(const uint8_t *)fl_data(t) != 0;
		return FL_OK;
	}
	for (size_t i = 0; i < k->in[INPUT].n; i++) {
		FL_TRY(need_tensor(fl_in_var(k, INPUT, i), "Input", err));
		*yes &= fl_numel(fl_in(k, INPUT, i)) != 0;
	}
	return FL_OK;
}

static enum fl_code scope_name(struct fl_kernel *k, const char **name, struct fl_err *err)
{
	*name = fl_op_out(k->op, "Scope", 0);
	if (!*name)
		*name = fl_op_in(k->op, "Scope", 0);
	return *name ? FL_OK : fl_err_set(err, FL_EINVAL, "'Scope' is absent, expected a variable");
}

static enum fl_code run_block(struct fl_kernel *k, const char *scope, struct fl_err *err)
{
	return k->blocks->run(k, scope, (int)fl_k_int(k, "sub_block"), err);
}

static enum fl_code run_conditional(struct fl_kernel *k, struct fl_err *err)
{
	const char *scope;
	bool yes;

	FL_TRY(scope_name(k, &scope, err));
	FL_TRY(wanted(k, &yes, err));
	return yes ? run_block(k, scope, err) : FL_OK;
}

/* Zeros of the input's shape. */
static enum fl_code give_zeros(const struct fl_var *like, struct fl_var *out, struct fl_err *err)
{
	const struct fl_tensor *t = &like->tensor;

	if (like->kind != FL_LOD_TENSOR || !fl_var_has_value(like))
		return FL_OK;
	fl_var_set_kind(out, FL_LOD_TENSOR);
	FL_TRY(fl_tensor_resize(&out->tensor, t->dtype, t->dims, t->rank, err));
	fl_lod_clear(&out->tensor.lod);
	memset(fl_data(&out->tensor), 0, fl_tensor_bytes(&out->tensor));
	return FL_OK;
}

/* What the gradient block left in its scope becomes the gradient outside. */
static enum fl_code run_conditional_grad(struct fl_kernel *k, struct fl_err *err)
{
	const char *scope, *name;
	bool yes;

	FL_TRY(scope_name(k, &scope, err));
	FL_TRY(wanted(k, &yes, err));
	if (yes)
		FL_TRY(run_block(k, scope, err));
	for (size_t i = 0; i < k->out[0].n; i++) {
		struct fl_var *out = fl_out_var(k, 0, i), *in = fl_in_var(k, INPUT, i), *from = NULL;
		char *grad;

		name = fl_op_in(k->op, "Input", i);
		if (!out || !in || !name)
			continue;
		grad = fl_xstrfmt("%s" FL_GRAD_SUFFIX, name);
		if (yes)
			from = k->blocks->local(k, scope, grad);
		fl_free(grad);
		if (from && fl_var_has_value(from))
			FL_TRY(fl_var_copy(out, from, err));
		else if (!yes)
			FL_TRY(give_zeros(in, out, err));
	}
	return FL_OK;
}

/* ---- select_input, select_output: each is the gradient of the other ---------------------------- */

static enum fl_code find_branch(struct fl_kernel *k, size_t n, size_t *at, struct fl_err *err)
{
	const struct fl_tensor *t = fl_in(k, 1, 0);
	int64_t i;

	FL_TRY(need_tensor(fl_in_var(k, 1, 0), "Mask", err));
	if ((t->dtype != FL_INT32 && t->dtype != FL_INT64) || fl_numel(t) != 1)
		return fl_err_set(err, FL_EINVAL, "'Mask' is not one integer");
	i = fl_k_element(t, 0);
	if (i < 0 || (size_t)i >= n)
		return fl_k_bad_element("Mask", 0, i, (int64_t)n - 1, err);
	*at = (size_t)i;
	return FL_OK;
}

/* The other branches may hold no value. */
static enum fl_code copy_branch(struct fl_kernel *k, size_t from, size_t to, struct fl_err *err)
{
	struct fl_var *x = fl_in_var(k, 0, from), *out = fl_out_var(k, 0, to);

	if (!x || !fl_var_has_value(x))
		return fl_err_set(err, FL_ESTATE, "input 'X' (variable '%s'): expected a value, found none",
			x ? x->name : FL_EMPTY_VAR);
	return out ? fl_var_copy(out, x, err) : FL_OK;
}

static enum fl_code run_select_input(struct fl_kernel *k, struct fl_err *err)
{
	size_t at;

	FL_TRY(find_branch(k, k->in[0].n, &at, err));
	return copy_branch(k, at, 0, err);
}

static enum fl_code run_select_output(struct fl_kernel *k, struct fl_err *err)
{
	size_t at;

	FL_TRY(find_branch(k, k->out[0].n, &at, err));
	return copy_branch(k, 0, at, err);
}

const struct fl_kernel_def fl_kernels_condition[] = {
	{ .type = "select_input", .in = "X Mask", .out = "Out", .run = run_select_input },
	{ .type = "select_output", .in = "X Mask", .out = "Out", .run = run_select_output },
	{ .type = "conditional_block", .in = "Cond Input", .out = "Out Scope", .run = run_conditional },
	{ .type = "conditional_block_grad", .in = "Cond Input", .out = "Input@GRAD",
		.run = run_conditional_grad },
	{ .type = NULL },
};
