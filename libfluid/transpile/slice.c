/*
 * Cuts parameters and gradients into blocks of whole rows (spec section 4): as many as there are
 * servers, but none much smaller than the least size. With slicing off, every one is one block.
 *
 *	k = max(1, numel / min)   n = min(k, servers)   block = ceil(numel / n), up to whole rows
 */
#include <string.h>

#include "base/mem.h"
#include "desc/query.h"
#include "transpile/internal.h"

/* What one message may carry: gRPC's lengths are signed 32-bit numbers; a part is kept for the
 * fields beside the tensor's bytes. */
#define WIRE_LIMIT (((int64_t)1 << 31) - 65536)

/* Elements of a parameter: far more than any machine holds, far less than what sums overflow at. */
#define MAX_NUMEL ((int64_t)1 << 40)

size_t tp_cut(const int64_t *dims, size_t rank, size_t servers, int64_t min, int64_t *block,
	int64_t *numel, int64_t *row)
{
	int64_t n, count;

	*numel = *row = 1;
	for (size_t i = 0; i < rank; i++) {
		if (dims[i] <= 0 || *numel > MAX_NUMEL / dims[i])
			return 0;
		*numel *= dims[i];
		if (i)
			*row *= dims[i];
	}
	n = *numel / min;
	n = n < 1 ? 1 : n;
	n = n > (int64_t)servers ? (int64_t)servers : n;
	*block = (*numel + n - 1) / n;
	if (rank >= 2 && *block % *row)
		*block += *row - *block % *row;
	count = (*numel + *block - 1) / *block;
	return (size_t)count;
}

int64_t tp_dtype_size(int dtype)
{
	switch (dtype) {
	case FL_FP64:
	case FL_INT64:
	case FL_SIZE_T: return 8;
	case FL_FP16:
	case FL_INT16: return 2;
	case FL_BOOL:
	case FL_INT8:
	case FL_UINT8: return 1;
	}
	return 4;
}

static enum fl_code refuse_shape(const struct fl_transpiler *t, const struct tp_pair *p,
	const char *what, const fl_pb_var *var, struct fl_err *err)
{
	return tp_refuse(err, t, p->optimizer,
		"%s '%s' has no complete shape, so it cannot be placed on a server; give every "
		"dimension a positive size", what, var->name);
}

static enum fl_code check_wire(const struct fl_transpiler *t, const struct tp_pair *p,
	int64_t block, struct fl_err *err)
{
	int64_t bytes = block * tp_dtype_size(fl_var_dtype(p->pvar));

	if (bytes <= WIRE_LIMIT || p->remote)
		return FL_OK;
	return tp_refuse(err, t, p->optimizer,
		"a block of parameter '%s' has %lld bytes, but a message carries less than 2 GiB; "
		"%s", p->param, (long long)bytes,
		t->opts.slice_var_up ? "give more servers, or make its rows shorter"
				     : "leave out --no-slice-var-up");
}

/* `name`, or with .blockI where there are several. */
static const char *block_name(const struct fl_transpiler *t, const char *name, size_t i, size_t n)
{
	return n == 1 ? name : fl_arena_strfmt(t->arena, "%s" FL_BLOCK_INFIX "%zu", name, i);
}

static enum fl_code cut_pair(struct fl_transpiler *t, struct tp_pair *p, struct fl_err *err)
{
	const fl_pb_tensor *pt = fl_var_tensor(p->pvar), *gt = fl_var_tensor(p->gvar);
	size_t servers = t->opts.slice_var_up || t->opts.mode == FL_MODE_GEO ? t->opts.n_pservers : 1;
	int64_t min = t->opts.min_block_size, block, numel, row, gblock, gnumel, grow;
	size_t n = pt ? tp_cut(pt->dims, pt->n_dims, servers, min, &block, &numel, &row) : 0;
	size_t gn = gt ? tp_cut(gt->dims, gt->n_dims, servers, min, &gblock, &gnumel, &grow) : 0;

	if (!n)
		return refuse_shape(t, p, "parameter", p->pvar, err);
	if (!gn)
		return refuse_shape(t, p, "gradient", p->gvar, err);
	if (gn != n || gblock != block || gnumel != numel)
		return tp_refuse(err, t, p->optimizer,
			"gradient '%s' has %lld elements and parameter '%s' %lld, so they are not cut "
			"alike", p->grad, (long long)gnumel, p->param, (long long)numel);
	FL_TRY(check_wire(t, p, block < numel ? block : numel, err));
	p->n = n;
	p->split = n > 1;
	p->blocks = FL_ARENA_NEW_N(t->arena, struct tp_block, n);
	for (size_t i = 0; i < n; i++) {
		struct tp_block *b = &p->blocks[i];

		b->offset = (int64_t)i * block;
		b->numel = numel - b->offset < block ? numel - b->offset : block;
		b->rows = pt->n_dims == 0 ? 1 : b->numel / row;
		b->param = block_name(t, p->param, i, n);
		b->grad = block_name(t, p->grad, i, n);
	}
	return FL_OK;
}

/* Names that the blocks need must be free. */
static enum fl_code check_names(const struct fl_transpiler *t, const struct tp_pair *p,
	struct fl_err *err)
{
	for (size_t i = 0; p->split && i < p->n; i++) {
		const struct tp_block *b = &p->blocks[i];
		const char *taken = fl_map_has(&t->vars, b->param)  ? b->param
				    : fl_map_has(&t->vars, b->grad) ? b->grad
								    : NULL;

		if (taken)
			return tp_refuse(err, t, p->optimizer,
				"parameter '%s' is cut into blocks, but a variable '%s' exists already; "
				"rename it, or use --no-slice-var-up", p->param, taken);
	}
	return FL_OK;
}

enum fl_code tp_slice(struct fl_transpiler *t, struct fl_err *err)
{
	for (size_t i = 0; i < t->n_pairs; i++) {
		struct tp_pair *p = &t->pairs[i];

		FL_TRY(cut_pair(t, p, err));
		FL_TRY(check_names(t, p, err));
	}
	return FL_OK;
}
