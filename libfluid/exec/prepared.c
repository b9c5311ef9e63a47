/*
 * Building a frame: every name becomes a slot, every slot one variable, every operator a node with
 * its definition, its kernel and its arguments. Where variables are made follows Fluid 1.8.5's
 * Executor::CreateVariables: persistable ones in the root scope.
 */
#include "exec/prepared.h"

#include <string.h>

#include "base/mem.h"
#include "desc/names.h"
#include "desc/query.h"
#include "exec/frame.h"

enum fl_code fl_frame_wrap(const struct fl_frame *f, size_t op, struct fl_err *err)
{
	return fl_err_wrap(err, "block %d, op %zu '%s'", f->block, op, f->nodes[op].op->type);
}

const char *fl_side_slot_name(const struct side *s, size_t arg)
{
	for (size_t i = 0; i < s->n_slots; i++)
		if (arg < s->first[i + 1])
			return s->defs[i].name;
	return "";
}

/* ---- variables ------------------------------------------------------------------------------- */

static struct fl_var *bind_var(struct fl_scope *scope, const char *name, const fl_pb_var *decl)
{
	int kind = decl && decl->type ? (int)decl->type->type : FL_LOD_TENSOR;
	struct fl_var *var = NULL;

	if (decl && fl_var_persistable(decl)) {
		var = fl_scope_var(fl_scope_root(scope), name, kind);
		var->persistable = true;
	} else {
		var = fl_scope_find(scope, name);
		if (!var)
			var = fl_scope_var(scope, name, kind);
	}
	if (decl && !fl_var_has_value(var))
		fl_var_set_kind(var, kind);
	return var;
}

/* The slot of a name; made when it is new. `decls`: name -> declaration. */
static int slot_of(struct fl_frame *f, struct fl_scope *scope, const struct fl_map *decls,
	const char *name)
{
	uintptr_t at = (uintptr_t)fl_map_get(&f->index, name);
	struct slot *s;

	if (at)
		return (int)(at - 1);
	fl_grow(&f->slots, &f->cap_slots, f->n_slots + 1, sizeof *f->slots);
	s = &f->slots[f->n_slots];
	memset(s, 0, sizeof *s);
	s->name = name;
	s->decl = fl_map_get(decls, name);
	s->var = bind_var(scope, name, s->decl);
	fl_map_put(&f->index, name, (void *)(uintptr_t)++f->n_slots);
	return (int)(f->n_slots - 1);
}

static void add_use(struct slot *s, struct fl_var **at)
{
	fl_grow(&s->uses, &s->cap_uses, s->n_uses + 1, sizeof *s->uses);
	s->uses[s->n_uses++] = at;
}

/* Declarations that a block sees: its own hide those of its parents. */
static void index_decls(const fl_pb_program *pb, int block, struct fl_map *decls)
{
	for (size_t depth = 0; block >= 0 && (size_t)block < pb->n_blocks && depth <= pb->n_blocks;
		depth++) {
		const fl_pb_block *b = pb->blocks[block];

		for (size_t i = 0; i < b->n_vars; i++)
			if (!fl_map_has(decls, b->vars[i]->name))
				fl_map_put(decls, b->vars[i]->name, b->vars[i]);
		if (b->parent_idx == block)
			break;
		block = b->parent_idx;
	}
}

/* ---- operators ------------------------------------------------------------------------------- */

static const fl_pb_slot *find_slot(fl_pb_slot *const *list, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(list[i]->parameter, name))
			return list[i];
	return NULL;
}

static enum fl_code check_slot(const struct fl_slot_def *def, size_t n, bool output,
	struct fl_err *err)
{
	const char *side = output ? "output" : "input";
	unsigned optional = output ? FL_OPT | FL_MID : FL_OPT;

	if (!n && !(def->flags & optional))
		return fl_err_set(err, FL_EINVAL, "%s '%s' is missing", side, def->name);
	if (n > 1 && !(def->flags & FL_DUP))
		return fl_err_set(err, FL_EINVAL, "%s '%s' takes one variable, found %zu", side,
			def->name, n);
	return FL_OK;
}

static enum fl_code make_side(struct side *s, const struct fl_slot_def *defs,
	fl_pb_slot *const *list, size_t n_list, bool output, struct fl_err *err)
{
	s->defs = defs;
	s->n_slots = fl_slot_count(defs);
	s->first = FL_NEW_N(size_t, s->n_slots + 1);
	for (size_t i = 0; i < s->n_slots; i++) {
		const fl_pb_slot *slot = find_slot(list, n_list, defs[i].name);
		size_t n = slot ? slot->n_arguments : 0;

		FL_TRY(check_slot(&defs[i], n, output, err));
		s->first[i + 1] = s->first[i] + n;
	}
	s->n = s->first[s->n_slots];
	s->slot = FL_NEW_N(int, s->n);
	s->bound = FL_NEW_N(struct fl_var *, s->n);
	s->vars = FL_NEW_N(struct fl_var *, s->n);
	s->meta = FL_NEW_N(struct fl_meta, s->n);
	s->metas = FL_NEW_N(struct fl_metas, s->n_slots);
	s->meta_at = FL_NEW_N(struct fl_meta *, s->n);
	return FL_OK;
}

static void fill_side(struct fl_frame *f, struct fl_scope *scope, const struct fl_map *decls,
	struct side *s, fl_pb_slot *const *list, size_t n_list)
{
	for (size_t i = 0; i < s->n_slots; i++) {
		const fl_pb_slot *slot = find_slot(list, n_list, s->defs[i].name);

		s->metas[i].at = s->meta_at + s->first[i];
		s->metas[i].n = s->first[i + 1] - s->first[i];
		for (size_t a = s->first[i]; a < s->first[i + 1]; a++) {
			const char *name = slot->arguments[a - s->first[i]];

			s->slot[a] = -1;
			if (!strcmp(name, FL_EMPTY_VAR) || !*name)
				continue;
			s->slot[a] = slot_of(f, scope, decls, name);
			s->bound[a] = s->vars[a] = f->slots[s->slot[a]].var;
			s->meta_at[a] = &s->meta[a];
			add_use(&f->slots[s->slot[a]], &s->bound[a]);
			add_use(&f->slots[s->slot[a]], &s->vars[a]);
		}
	}
}

/* The kernel names its slots in an order of its own: "X Y". */
static struct fl_args *kernel_args(const struct side *s, const char *names)
{
	struct fl_args *args;
	size_t n = 0;

	for (const char *p = names; p && *p; n++)
		p += strcspn(p, " "), p += strspn(p, " ");
	args = FL_NEW_N(struct fl_args, n);
	n = 0;
	for (const char *p = names; p && *p; n++) {
		size_t len = strcspn(p, " ");

		for (size_t i = 0; i < s->n_slots; i++)
			if (strlen(s->defs[i].name) == len && !memcmp(s->defs[i].name, p, len)) {
				args[n].at = s->vars + s->first[i];
				args[n].n = s->first[i + 1] - s->first[i];
			}
		p += len;
		p += strspn(p, " ");
	}
	return args;
}

static enum fl_code make_kernel(struct fl_frame *f, struct node *n, struct fl_err *err)
{
	const struct fl_kernel_def *def = fl_kernel_find(n->op->type);
	struct fl_kernel *k = &n->k;

	if (!def && (n->def->flags & FL_OP_NO_COMPUTE))
		return FL_OK;
	if (!def)
		return fl_err_set(err, FL_EUNSUPPORTED, "this build has no kernel for it");
	k->op_def = n->def;
	k->op = n->op;
	k->state = fl_xcalloc(1, def->state_size);
	k->in = kernel_args(&n->in, def->in);
	k->out = kernel_args(&n->out, def->out);
	k->pool = f->env.pool;
	k->host = f->env.host;
	k->blocks = &fl_frame_blocks;
	k->frame = f;
	k->seed_source = f->env.seed_source;
	k->def = def;
	return def->prepare ? def->prepare(k, err) : FL_OK;
}

static int find_alias(const struct node *n, size_t out)
{
	for (size_t i = 0; n->out.slot[out] >= 0 && i < n->in.n; i++)
		if (n->in.slot[i] == n->out.slot[out])
			return (int)i;
	return -1;
}

static enum fl_code unknown_op(const char *type, struct fl_err *err)
{
	const char *near = fl_op_suggest(type);

	if (near)
		return fl_err_set(err, FL_EUNSUPPORTED, "unknown operator, did you mean '%s'?", near);
	return fl_err_set(err, FL_EUNSUPPORTED, "unknown operator");
}

static enum fl_code make_node(struct fl_frame *f, struct fl_scope *scope,
	const struct fl_map *decls, struct node *n, struct fl_err *err)
{
	n->def = fl_op_find(n->op->type);
	if (!n->def)
		return unknown_op(n->op->type, err);
	FL_TRY(fl_op_check_attrs(n->def, n->op, err));
	FL_TRY(make_side(&n->in, n->def->inputs, n->op->inputs, n->op->n_inputs, false, err));
	FL_TRY(make_side(&n->out, n->def->outputs, n->op->outputs, n->op->n_outputs, true, err));
	fill_side(f, scope, decls, &n->in, n->op->inputs, n->op->n_inputs);
	fill_side(f, scope, decls, &n->out, n->op->outputs, n->op->n_outputs);
	n->seen = FL_NEW_N(struct seen, n->in.n);
	n->alias = FL_NEW_N(int, n->out.n);
	n->lod_from = FL_NEW_N(int, n->out.n);
	n->shadow = FL_NEW_N(struct fl_var, n->out.n);
	for (size_t i = 0; i < n->out.n; i++) {
		n->alias[i] = find_alias(n, i);
		n->lod_from[i] = -1;
		n->shadow[i].kind = FL_LOD_TENSOR;
		fl_tensor_init(&n->shadow[i].tensor);
	}
	return make_kernel(f, n, err);
}

/* ---- frames ---------------------------------------------------------------------------------- */

static enum fl_code fill_frame(struct fl_frame *f, struct fl_scope *scope, struct fl_err *err)
{
	const fl_pb_block *b = f->prog->pb->blocks[f->block];
	struct fl_map decls = FL_MAP_INIT;
	enum fl_code code = FL_OK;

	index_decls(f->prog->pb, f->block, &decls);
	f->nodes = FL_NEW_N(struct node, b->n_ops);
	for (f->n = 0; f->n < b->n_ops && code == FL_OK; f->n++) {
		f->nodes[f->n].op = b->ops[f->n];
		code = make_node(f, scope, &decls, &f->nodes[f->n], err);
		if (code != FL_OK)
			fl_frame_wrap(f, f->n, err);
	}
	fl_map_release(&decls);
	return code;
}

enum fl_code fl_frame_new(const struct fl_program *prog, int block, struct fl_scope *scope,
	const struct fl_exec_env *env, struct fl_frame **out, struct fl_err *err)
{
	struct fl_frame *f;
	enum fl_code code;

	if (block < 0 || (size_t)block >= prog->pb->n_blocks)
		return fl_err_set(err, FL_EINVAL, "the program has %zu blocks, there is no block %d",
			prog->pb->n_blocks, block);
	f = FL_NEW(struct fl_frame);
	f->prog = prog;
	f->block = block;
	f->scope = scope;
	f->env = *env;
	code = fill_frame(f, scope, err);
	if (code != FL_OK) {
		fl_frame_free(f);
		return code;
	}
	*out = f;
	return FL_OK;
}

static void free_side(struct side *s)
{
	fl_free(s->first);
	fl_free(s->slot);
	fl_free(s->bound);
	fl_free(s->vars);
	fl_free(s->meta);
	fl_free(s->metas);
	fl_free(s->meta_at);
}

static void free_node(struct node *n)
{
	if (n->k.def && n->k.def->release)
		n->k.def->release(&n->k);
	fl_free(n->k.state);
	fl_free(n->k.in);
	fl_free(n->k.out);
	for (size_t i = 0; n->seen && i < n->in.n; i++)
		fl_lod_release(&n->seen[i].lod);
	for (size_t i = 0; n->shadow && i < n->out.n; i++)
		fl_tensor_release(&n->shadow[i].tensor);
	fl_free(n->seen);
	fl_free(n->alias);
	fl_free(n->lod_from);
	fl_free(n->shadow);
	free_side(&n->in);
	free_side(&n->out);
}

void fl_frame_free(struct fl_frame *frame)
{
	if (!frame)
		return;
	fl_frame_free_children(frame);
	for (size_t i = 0; i < frame->n; i++)
		free_node(&frame->nodes[i]);
	for (size_t i = 0; i < frame->n_slots; i++)
		fl_free(frame->slots[i].uses);
	fl_free(frame->nodes);
	fl_free(frame->slots);
	fl_map_release(&frame->index);
	fl_free(frame);
}

int fl_frame_slot(const struct fl_frame *frame, const char *name)
{
	return (int)(uintptr_t)fl_map_get(&frame->index, name) - 1;
}

void fl_frame_rebind(struct fl_frame *frame, int slot, struct fl_var *var)
{
	struct slot *s = &frame->slots[slot];

	fl_frame_rebind_children(frame, s->name, s->var, var);
	s->var = var;
	for (size_t i = 0; i < s->n_uses; i++)
		*s->uses[i] = var;
}
