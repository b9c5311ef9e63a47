/* Programs: loading them, moving endpoints, and what fluidrun wants to know about them. */
#include <dirent.h>
#include <string.h>

#include "base/file.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/near.h"
#include "desc/fingerprint.h"
#include "desc/names.h"
#include "desc/query.h"
#include "ops/op.h"
#include "run.h"

/* ---- endpoints ------------------------------------------------------------------------------- */

struct move {
	char *from, *to; /* owned */
	bool used;
};

static bool has_port(const char *s)
{
	const char *colon = strrchr(s, ':');
	int64_t port;

	return colon && colon > s && opt_number(colon + 1, &port) && port >= 0 && port <= 65535;
}

static enum fl_code parse_move(const char *s, struct move *m, struct fl_err *err)
{
	const char *eq = strchr(s, '=');

	if (!eq || eq == s || !has_port(eq + 1))
		return fl_err_set(err, FL_EINVAL, "option '--endpoint' wants OLD=HOST:PORT, not '%s'",
			s);
	m->from = fl_xstrndup(s, (size_t)(eq - s));
	m->to = fl_xstrdup(eq + 1);
	return FL_OK;
}

static void move_string(struct fl_program *prog, struct move *moves, size_t n,
	ProtobufCBinaryData *s)
{
	for (size_t i = 0; i < n; i++) {
		struct move *m = &moves[i];

		if (strlen(m->from) != s->len || memcmp(m->from, s->data, s->len))
			continue;
		m->used = true;
		s->data = (uint8_t *)fl_arena_strdup(prog->arena, m->to);
		s->len = strlen(m->to);
		return;
	}
}

static bool is_endpoint_attr(const char *name)
{
	static const char *const names[] = { "endpoint", "endpoints", "epmap", "endpoint_list",
		"pserver_endpoints" };

	for (size_t i = 0; i < FL_COUNT(names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

static void move_program(struct fl_program *prog, struct move *moves, size_t n)
{
	for (size_t b = 0; prog && b < prog->pb->n_blocks; b++)
		for (size_t o = 0; o < prog->pb->blocks[b]->n_ops; o++) {
			fl_pb_op *op = prog->pb->blocks[b]->ops[o];

			for (size_t a = 0; a < op->n_attrs; a++) {
				if (!is_endpoint_attr(op->attrs[a]->name))
					continue;
				if (op->attrs[a]->has_s)
					move_string(prog, moves, n, &op->attrs[a]->s);
				for (size_t i = 0; i < op->attrs[a]->n_strings; i++)
					move_string(prog, moves, n, &op->attrs[a]->strings[i]);
			}
		}
}

/* All moves at once, so that A=B and B=A swap. */
static enum fl_code move_endpoints(struct run *r, struct fl_err *err)
{
	size_t n = r->opt->endpoint.n;
	struct move *moves = FL_NEW_N(struct move, n);
	enum fl_code code = FL_OK;

	for (size_t i = 0; i < n && code == FL_OK; i++)
		code = parse_move(r->opt->endpoint.at[i], &moves[i], err);
	if (code == FL_OK && n) {
		move_program(r->main, moves, n);
		move_program(r->startup, moves, n);
	}
	for (size_t i = 0; i < n; i++) {
		if (code == FL_OK && !moves[i].used)
			fl_logf(r->env.log, FL_LOG_WARN, "no operator names the endpoint '%s'",
				moves[i].from);
		fl_free(moves[i].from);
		fl_free(moves[i].to);
	}
	fl_free(moves);
	return code;
}

static void add_endpoint(struct fl_map *seen, const char *s)
{
	if (s && *s)
		fl_map_put(seen, s, (void *)s);
}

static void add_endpoints(struct fl_map *seen, const struct fl_program *prog)
{
	static const char *const attrs[] = { "epmap", "endpoints" };

	for (size_t b = 0; prog && b < prog->pb->n_blocks; b++)
		for (size_t o = 0; o < prog->pb->blocks[b]->n_ops; o++) {
			const fl_pb_op *op = prog->pb->blocks[b]->ops[o];

			for (size_t a = 0; a < FL_COUNT(attrs); a++)
				for (size_t i = 0; i < fl_attr_len(op, attrs[a]); i++)
					add_endpoint(seen, fl_attr_str_at(op, attrs[a], i));
		}
}

size_t run_servers(const struct run *r, const char ***out)
{
	struct fl_map seen = FL_MAP_INIT;
	size_t n = 0;

	add_endpoints(&seen, r->startup);
	add_endpoints(&seen, r->main);
	*out = FL_NEW_N(const char *, seen.live);
	FL_MAP_EACH(e, &seen)
		(*out)[n++] = e->value;
	fl_map_release(&seen);
	return n;
}

/* ---- saved models ---------------------------------------------------------------------------- */

/* The one file of the folder with that ending; NULL: none, or several. Owned. */
static char *only_file(const char *dir, const char *ending)
{
	DIR *d = opendir(dir);
	char *found = NULL;
	struct dirent *e;
	size_t n = 0;

	while (d && (e = readdir(d))) {
		size_t len = strlen(e->d_name), end = strlen(ending);

		if (len <= end || strcmp(e->d_name + len - end, ending))
			continue;
		fl_free(found);
		found = fl_xstrfmt("%s/%s", dir, e->d_name);
		n++;
	}
	if (d)
		closedir(d);
	if (n == 1)
		return found;
	fl_free(found);
	return NULL;
}

/* `path` when it is a file; else it is freed. */
static char *if_file(char *path)
{
	if (path && fl_is_file(path))
		return path;
	fl_free(path);
	return NULL;
}

static char *params_of(const char *model)
{
	size_t len = strlen(model) - strlen(".pdmodel");
	char *stem = fl_xstrndup(model, len);
	char *path = if_file(fl_xstrfmt("%s.pdiparams", stem));

	fl_free(stem);
	return path;
}

static enum fl_code load_folder(struct run *r, const char *dir, struct fl_err *err)
{
	char *model = if_file(fl_xstrfmt("%s/__model__", dir));
	enum fl_code code;

	if (model) {
		r->params = if_file(fl_xstrfmt("%s/__params__", dir));
		if (!r->params)
			r->params = fl_xstrdup(dir);
	} else {
		model = only_file(dir, ".pdmodel");
		if (!model)
			return fl_err_set(err, FL_ENOTFOUND,
				"folder '%s' holds no saved model: neither '__model__' nor one '.pdmodel'",
				dir);
		r->params = params_of(model);
		if (!r->params)
			r->params = fl_xstrdup(dir);
	}
	code = fl_program_load(model, &r->main, err);
	fl_free(model);
	return code;
}

enum fl_code run_load_programs(struct run *r, struct fl_err *err)
{
	if (fl_is_dir(r->opt->main))
		FL_TRY(load_folder(r, r->opt->main, err));
	else
		FL_TRY(fl_program_load(r->opt->main, &r->main, err));
	if (r->opt->startup)
		FL_TRY(fl_program_load(r->opt->startup, &r->startup, err));
	if (r->opt->eval)
		FL_TRY(fl_program_load(r->opt->eval, &r->eval, err));
	return move_endpoints(r, err);
}

/* ---- questions ------------------------------------------------------------------------------- */

const fl_pb_op *program_find_op(const fl_pb_program *pb, const char *type)
{
	const fl_pb_block *b = pb->n_blocks ? pb->blocks[0] : NULL;

	for (size_t i = 0; b && i < b->n_ops; i++)
		if (!strcmp(b->ops[i]->type, type))
			return b->ops[i];
	return NULL;
}

/* The number that operators that talk to servers carry; -1: none does. Fluid's transpiler gives it
 * to barriers and recv; its sends keep the attribute's default, 0, whoever sends. */
static int64_t trainer_of_ops(const fl_pb_program *pb)
{
	static const char *const types[] = { "send", "recv", "send_barrier", "fetch_barrier" };
	const fl_pb_block *b = pb->blocks[0];
	int64_t id = -1;

	for (size_t i = 0; i < b->n_ops; i++)
		for (size_t t = 0; t < FL_COUNT(types); t++)
			if (!strcmp(b->ops[i]->type, types[t]) &&
				fl_attr_int(b->ops[i], "trainer_id", -1) > id)
				id = fl_attr_int(b->ops[i], "trainer_id", -1);
	return id;
}

enum fl_code run_find_trainer(struct run *r, struct fl_err *err)
{
	struct fl_fingerprint fp = { .id = -1, .trainers = -1 };
	enum fl_code code = fl_fingerprint_get(r->main, &fp, err);

	if (code != FL_OK && code != FL_ENOTFOUND)
		return code;
	if (code != FL_OK || fp.role != FL_ROLE_TRAINER)
		fp.id = fp.trainers = -1;
	r->fingerprint = fp.hash;
	r->trainers = r->opt->trainers > 0 ? r->opt->trainers : fp.trainers;
	r->trainer = r->opt->trainer_id >= 0 ? r->opt->trainer_id
		     : fp.id >= 0	     ? fp.id : trainer_of_ops(r->main->pb);
	return FL_OK;
}

enum fl_code program_need_var(const fl_pb_program *pb, const char *what, const char *name,
	const fl_pb_var **out, struct fl_err *err)
{
	const fl_pb_block *b = pb->blocks[0];
	struct fl_near near;

	fl_near_init(&near, name);
	for (size_t i = 0; i < b->n_vars; i++) {
		if (!strcmp(b->vars[i]->name, name)) {
			*out = b->vars[i];
			return FL_OK;
		}
		fl_near_try(&near, b->vars[i]->name);
	}
	if (near.best)
		return fl_err_set(err, FL_ENOTFOUND,
			"%s: the program has no variable '%s', did you mean '%s'?", what, name, near.best);
	return fl_err_set(err, FL_ENOTFOUND, "%s: the program has no variable '%s'", what, name);
}

/* Calls fn for each variable that block 0 reads before it writes it. Operators that only talk to
 * others read nothing that must be there. */
static void each_outside(const fl_pb_program *pb,
	void (*fn)(void *arg, const fl_pb_block *b, const char *name), void *arg)
{
	const fl_pb_block *b = pb->blocks[0];
	struct fl_map known = FL_MAP_INIT;

	for (size_t o = 0; o < b->n_ops; o++) {
		const fl_pb_op *op = b->ops[o];
		const struct fl_op_def *def = fl_op_find(op->type);
		bool reads = def && !(def->flags & (FL_OP_HOST | FL_OP_NO_COMPUTE));

		/* What a saved model is fed comes from outside, too. */
		if (!strcmp(op->type, "feed"))
			continue;
		for (size_t i = 0; reads && i < op->n_inputs; i++) {
			int slot = fl_slot_index(def->inputs, op->inputs[i]->parameter);

			if (slot < 0 || (def->inputs[slot].flags & FL_OPT))
				continue;
			for (size_t k = 0; k < op->inputs[i]->n_arguments; k++) {
				const char *name = op->inputs[i]->arguments[k];

				if (fl_map_has(&known, name) || !strcmp(name, FL_EMPTY_VAR))
					continue;
				fl_map_put(&known, name, NULL);
				fn(arg, b, name);
			}
		}
		for (size_t i = 0; i < op->n_outputs; i++)
			for (size_t k = 0; k < op->outputs[i]->n_arguments; k++)
				fl_map_put(&known, op->outputs[i]->arguments[k], NULL);
	}
	fl_map_release(&known);
}

struct names {
	const char **at;
	size_t n, cap;
};

static void add_data(void *arg, const fl_pb_block *b, const char *name)
{
	const fl_pb_var *var = fl_block_var(b, name);
	struct names *names = arg;

	/* What is not declared is no data variable: the operator that reads it will be named. */
	if (!var || fl_var_persistable(var) || !var->type || (int)var->type->type != FL_LOD_TENSOR)
		return;
	fl_grow(&names->at, &names->cap, names->n + 1, sizeof *names->at);
	names->at[names->n++] = name;
}

size_t program_data_vars(const fl_pb_program *pb, const char ***out)
{
	struct names names = { NULL, 0, 0 };

	each_outside(pb, add_data, &names);
	*out = names.at;
	return names.n;
}

static void note(void *arg, const fl_pb_block *b, const char *name)
{
	(void)b;
	(void)name;
	*(bool *)arg = true;
}

bool program_reads_outside(const fl_pb_program *pb)
{
	bool reads = false;

	each_outside(pb, note, &reads);
	return reads;
}
