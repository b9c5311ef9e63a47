/* The order of the passes, and nothing else. */
#include <string.h>

#include "base/mem.h"
#include "desc/query.h"
#include "transpile/internal.h"

void tp_list_add(struct tp_list *list, size_t v)
{
	fl_grow(&list->at, &list->cap, list->n + 1, sizeof *list->at);
	list->at[list->n++] = v;
}

void tp_list_release(struct tp_list *list)
{
	fl_free(list->at);
	memset(list, 0, sizeof *list);
}

static void copy_opts(struct fl_transpiler *t, const struct fl_transpile_opts *opts)
{
	const char **eps = FL_ARENA_NEW_N(t->arena, const char *, opts->n_pservers);

	for (size_t i = 0; i < opts->n_pservers; i++)
		eps[i] = fl_arena_strdup(t->arena, opts->pservers[i]);
	t->opts = *opts;
	t->opts.pservers = eps;
}

/* Which operators of the startup program fill a variable. */
static void index_inits(struct fl_transpiler *t)
{
	const fl_pb_block *b = t->startup->pb->blocks[0];

	for (size_t i = 0; i < b->n_ops; i++)
		for (size_t s = 0; s < b->ops[i]->n_outputs; s++) {
			const fl_pb_slot *slot = b->ops[i]->outputs[s];
			struct tp_list *list;

			if (!slot->n_arguments)
				continue;
			list = fl_map_get(&t->inits, slot->arguments[0]);
			if (!list) {
				list = FL_NEW(struct tp_list);
				fl_map_put(&t->inits, slot->arguments[0], list);
			}
			tp_list_add(list, i);
		}
}

enum fl_code fl_transpiler_new(const struct fl_program *main, const struct fl_program *startup,
	const struct fl_transpile_opts *opts, struct fl_transpiler **out, struct fl_err *err)
{
	struct fl_transpiler *t;
	enum fl_code code;

	FL_TRY(fl_transpile_opts_check(opts, err));
	t = FL_NEW(struct fl_transpiler);
	t->arena = fl_arena_new(0);
	copy_opts(t, opts);
	tp_apply_mode(t);
	t->main = main;
	t->startup = startup;
	t->main_shared = fl_shared_new(main);
	t->startup_shared = fl_shared_new(startup);
	t->block = fl_shared_block(t->main_shared);
	t->kind = fl_arena_alloc(t->arena, t->block->n_ops + 1);
	t->pairs = FL_ARENA_NEW_N(t->arena, struct tp_pair, t->block->n_ops + 1);
	fl_index_vars(t->block, &t->vars);
	fl_index_vars(fl_shared_block(t->startup_shared), &t->startup_vars);
	index_inits(t);
	code = tp_analyze(t, err);
	if (code == FL_OK)
		code = tp_slice(t, err);
	if (code == FL_OK) {
		tp_place(t);
		tp_hash(t);
		tp_index_changes(t);
	}
	if (code == FL_OK)
		*out = t;
	else
		fl_transpiler_free(t);
	return code;
}

void fl_transpiler_free(struct fl_transpiler *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->n_pairs; i++)
		tp_list_release(&t->pairs[i].ops);
	if (t->table)
		tp_list_release(&t->table->ops);
	FL_MAP_EACH(e, &t->inits)
	{
		tp_list_release(e->value);
		fl_free(e->value);
	}
	fl_map_release(&t->inits);
	fl_map_release(&t->vars);
	fl_map_release(&t->startup_vars);
	fl_map_release(&t->optimizer_vars);
	fl_map_release(&t->first_grads);
	tp_list_release(&t->renamed);
	fl_map_release(&t->pair_of_param);
	fl_map_release(&t->pair_of_grad);
	fl_map_release(&t->sparse_tables);
	tp_list_release(&t->opt);
	tp_list_release(&t->lr);
	tp_list_release(&t->optimizers);
	tp_list_release(&t->lookups);
	tp_list_release(&t->table_lookups);
	fl_shared_free(t->main_shared);
	fl_shared_free(t->startup_shared);
	fl_arena_free(t->arena);
	fl_free(t);
}

int64_t tp_version(const struct fl_transpiler *t)
{
	return t->main->pb->version ? t->main->pb->version->version : 0;
}

/* The same record in both programs of a role. */
static void mark(const struct fl_transpiler *t, enum fl_role_kind role, int id,
	const struct fl_role_programs *progs)
{
	const struct fl_fingerprint fp = {
		.role = role,
		.mode = t->opts.mode,
		.trainers = t->opts.trainers,
		.id = id,
		.hash = t->hash,
		.geo_need_push_nums = t->opts.geo_need_push_nums,
		.lr_steps = t->opts.lr_steps,
	};

	fl_fingerprint_set(progs->main, &fp);
	fl_fingerprint_set(progs->startup, &fp);
}

void fl_role_programs_free(struct fl_role_programs *role)
{
	fl_program_free(role->main);
	fl_program_free(role->startup);
	memset(role, 0, sizeof *role);
}

enum fl_code fl_transpile_trainer(const struct fl_transpiler *t, int trainer_id,
	struct fl_role_programs *out, struct fl_err *err)
{
	enum fl_code code;

	if (trainer_id < 0 || trainer_id >= t->opts.trainers)
		return fl_err_set(err, FL_EINVAL, "there is no trainer %d: %d trainers count from 0",
			trainer_id, t->opts.trainers);
	memset(out, 0, sizeof *out);
	code = t->opts.mode == FL_MODE_GEO ? tp_geo_trainer(t, &out->main)
					   : tp_trainer_main(t, trainer_id, &out->main, err);
	if (code == FL_OK)
		code = tp_trainer_startup(t, trainer_id, &out->startup, err);
	if (code == FL_OK)
		mark(t, FL_ROLE_TRAINER, trainer_id, out);
	else
		fl_role_programs_free(out);
	return code;
}

enum fl_code fl_transpile_pserver(const struct fl_transpiler *t, size_t pserver_id,
	struct fl_role_programs *out, struct fl_err *err)
{
	enum fl_code code;

	if (pserver_id >= t->opts.n_pservers)
		return fl_err_set(err, FL_EINVAL, "there is no server %zu: %zu servers count from 0",
			pserver_id, t->opts.n_pservers);
	memset(out, 0, sizeof *out);
	code = tp_pserver_main(t, pserver_id, &out->main, err);
	if (code == FL_OK)
		code = tp_pserver_startup(t, pserver_id, out->main, &out->startup, err);
	if (code == FL_OK)
		mark(t, FL_ROLE_PSERVER, (int)pserver_id, out);
	else
		fl_role_programs_free(out);
	return code;
}
