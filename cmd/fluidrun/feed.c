/*
 * The reader thread fills one of two batches while the other one's values are in use; feed_next
 * swaps a filled batch's values with the variables'. `lock` guards ready, stop and the batches'
 * `full`; a batch that is not full belongs to the reader, a full one to the caller.
 */
#include "feed.h"

#include <pthread.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/near.h"
#include "desc/query.h"
#include "stepdir.h"
#include "tensor/dataset.h"
#include "tensor/stream.h"

/* A variable that is fed. */
struct target {
	const fl_pb_var *decl; /* borrowed */
	struct fl_var *var;    /* in the scope; borrowed */
	struct fl_data *data; /* owned; NULL: from step folders */
};

struct batch {
	struct fl_var **values; /* of each target; owned */
	bool *present;		/* has the target a value in this step? */
	struct feed_step step;
	bool full, end;
	enum fl_code code;
	struct fl_err err;
};

struct feed {
	struct feed_opts o;
	struct target *targets;
	size_t n, cap;
	struct fl_map index; /* name -> target + 1 */
	struct stepdir dir;
	int64_t samples;   /* of this shard */
	int64_t per_epoch; /* steps */
	struct fl_order order;
	struct batch batch[2];
	int at; /* the batch that feed_next takes next */
	bool started, stop;
	pthread_t reader;
	pthread_mutex_t lock;
	pthread_cond_t changed;
};

/* ---- targets --------------------------------------------------------------------------------- */

static enum fl_code add_target(struct feed *f, const char *what, const char *name, size_t *at,
	struct fl_err *err)
{
	const fl_pb_var *decl = NULL;
	uintptr_t found = (uintptr_t)fl_map_get(&f->index, name);
	struct target *t;
	int kind;

	if (found) {
		*at = found - 1;
		return FL_OK;
	}
	FL_TRY(program_need_var(f->o.prog->pb, what, name, &decl, err));
	fl_grow(&f->targets, &f->cap, f->n + 1, sizeof *f->targets);
	t = &f->targets[f->n];
	kind = decl->type ? (int)decl->type->type : FL_LOD_TENSOR;
	*t = (struct target){ .decl = decl };
	t->var = fl_scope_var(fl_var_persistable(decl) ? fl_scope_root(f->o.scope) : f->o.scope, name,
		kind);
	fl_map_put(&f->index, name, (void *)(uintptr_t)(f->n + 1));
	*at = f->n++;
	return FL_OK;
}

static enum fl_code add_dirs(struct feed *f, struct fl_err *err)
{
	size_t at;

	FL_TRY(stepdir_list(&f->dir, f->o.dirs, err));
	for (size_t s = 0; s < f->dir.n; s++)
		for (size_t i = 0; i < f->dir.steps[s].n; i++) {
			if (add_target(f, "--feed-dir", f->dir.steps[s].files[i].name, &at, err) != FL_OK)
				return fl_err_wrap(err, "'%s'", f->dir.steps[s].files[i].path);
		}
	return FL_OK;
}

static enum fl_code add_files(struct feed *f, struct fl_err *err)
{
	for (size_t i = 0; i < f->o.files->n; i++) {
		struct fl_data_spec spec;
		enum fl_code code = fl_data_spec_parse(&spec, f->o.files->at[i], err);
		size_t at = 0;

		if (code == FL_OK)
			code = add_target(f, "--feed", spec.name, &at, err);
		if (code == FL_OK && f->targets[at].data)
			code = fl_err_set(err, FL_EINVAL, "--feed: '%s' is given twice", spec.name);
		if (code == FL_OK)
			code = fl_data_open(&spec, f->targets[at].decl, &f->targets[at].data, err);
		fl_data_spec_release(&spec);
		if (code != FL_OK)
			return code;
	}
	return FL_OK;
}

/* All data files must have the same number of samples. */
static enum fl_code count_samples(struct feed *f, int64_t *samples, struct fl_err *err)
{
	const struct target *first = NULL;

	*samples = -1;
	for (size_t i = 0; i < f->n; i++) {
		const struct target *t = &f->targets[i];

		if (!t->data)
			continue;
		if (!first) {
			first = t;
			*samples = fl_data_samples(t->data);
		} else if (fl_data_samples(t->data) != *samples) {
			return fl_err_set(err, FL_EINVAL,
				"--feed: '%s' has %lld samples, but '%s' has %lld", t->decl->name,
				(long long)fl_data_samples(t->data), first->decl->name,
				(long long)*samples);
		}
	}
	return FL_OK;
}

static enum fl_code plan(struct feed *f, struct fl_err *err)
{
	int64_t samples, steps = 0;

	FL_TRY(count_samples(f, &samples, err));
	if (samples >= 0) {
		fl_order_init(&f->order, samples, f->o.trainer, f->o.trainers);
		f->samples = (int64_t)f->order.n;
		steps = f->samples / f->o.batch_size;
		if (!f->o.drop_last && f->samples % f->o.batch_size)
			steps++;
		if (!steps)
			return fl_err_set(err, FL_EINVAL,
				"--feed: %lld samples of this trainer make no batch of %lld",
				(long long)f->samples, (long long)f->o.batch_size);
	}
	if (f->dir.n && (samples < 0 || (int64_t)f->dir.n < steps))
		steps = (int64_t)f->dir.n;
	if (samples < 0 && !f->dir.n)
		steps = f->o.steps >= 0 ? f->o.steps : 1;
	f->per_epoch = steps;
	return FL_OK;
}

/* ---- the reader ------------------------------------------------------------------------------ */

static enum fl_code fill_dir(struct feed *f, struct batch *b, size_t k, struct fl_err *err)
{
	const struct stepdir_step *s = &f->dir.steps[k];

	for (size_t i = 0; i < s->n; i++) {
		size_t at = (uintptr_t)fl_map_get(&f->index, s->files[i].name) - 1;

		if (f->targets[at].data)
			return fl_err_set(err, FL_EINVAL, "'%s' has both --feed and '%s'",
				s->files[i].name, s->files[i].path);
		FL_TRY(fl_load_var(s->files[i].path, b->values[at], NULL, err));
		FL_TRY(fl_data_check(f->targets[at].decl, b->values[at], s->files[i].path, err));
		b->present[at] = true;
	}
	return FL_OK;
}

static enum fl_code fill_files(struct feed *f, struct batch *b, int64_t k, struct fl_err *err)
{
	int64_t begin = k * f->o.batch_size, n = f->samples - begin;

	if (!f->samples)
		return FL_OK;
	n = n < f->o.batch_size ? n : f->o.batch_size;
	b->step.rows = n;
	for (size_t i = 0; i < f->n; i++) {
		if (!f->targets[i].data)
			continue;
		FL_TRY(fl_data_batch(f->targets[i].data, f->order.at + begin, (size_t)n,
			&b->values[i]->tensor, err));
		b->present[i] = true;
	}
	return FL_OK;
}

static bool fill(struct feed *f, struct batch *b, int64_t step)
{
	int64_t epoch = f->per_epoch ? step / f->per_epoch : f->o.epochs;
	int64_t k = f->per_epoch ? step % f->per_epoch : 0;

	memset(b->present, 0, f->n * sizeof *b->present);
	b->code = FL_OK;
	b->end = epoch >= f->o.epochs || (f->o.steps >= 0 && step >= f->o.steps);
	if (b->end)
		return false;
	b->step = (struct feed_step){ .step = step, .epoch = epoch,
		.last_of_epoch = k == f->per_epoch - 1 };
	if (f->o.shuffle && k == 0)
		fl_order_shuffle(&f->order, (uint64_t)f->o.seed, (uint64_t)epoch);
	if (f->dir.n)
		b->code = fill_dir(f, b, (size_t)k, &b->err);
	if (b->code == FL_OK)
		b->code = fill_files(f, b, k, &b->err);
	return b->code == FL_OK;
}

static void *read_ahead(void *arg)
{
	struct feed *f = arg;
	bool more = true;

	for (int64_t step = 0; more; step++) {
		struct batch *b = &f->batch[step % 2];

		pthread_mutex_lock(&f->lock);
		while (b->full && !f->stop)
			pthread_cond_wait(&f->changed, &f->lock);
		more = !f->stop;
		pthread_mutex_unlock(&f->lock);
		if (!more)
			break;
		more = fill(f, b, step);
		pthread_mutex_lock(&f->lock);
		b->full = true;
		pthread_cond_broadcast(&f->changed);
		pthread_mutex_unlock(&f->lock);
	}
	return NULL;
}

static void make_batches(struct feed *f)
{
	for (int k = 0; k < 2; k++) {
		struct batch *b = &f->batch[k];

		b->values = FL_NEW_N(struct fl_var *, f->n);
		b->present = FL_NEW_N(bool, f->n);
		for (size_t i = 0; i < f->n; i++)
			b->values[i] = fl_var_new(f->targets[i].decl->name, f->targets[i].var->kind);
	}
}

/* ---- for the loop ---------------------------------------------------------------------------- */

enum fl_code feed_new(const struct feed_opts *o, struct feed **out, struct fl_err *err)
{
	struct feed *f = FL_NEW(struct feed);
	enum fl_code code;

	f->o = *o;
	fl_map_init(&f->index);
	pthread_mutex_init(&f->lock, NULL);
	pthread_cond_init(&f->changed, NULL);
	code = add_dirs(f, err);
	if (code == FL_OK)
		code = add_files(f, err);
	if (code == FL_OK)
		code = plan(f, err);
	if (code != FL_OK) {
		feed_free(f);
		return code;
	}
	make_batches(f);
	f->started = f->n && !pthread_create(&f->reader, NULL, read_ahead, f);
	if (f->n && !f->started) {
		feed_free(f);
		return fl_err_set(err, FL_ENOMEM, "cannot start the reader's thread");
	}
	*out = f;
	return FL_OK;
}

void feed_free(struct feed *f)
{
	if (!f)
		return;
	if (f->started) {
		pthread_mutex_lock(&f->lock);
		f->stop = true;
		pthread_cond_broadcast(&f->changed);
		pthread_mutex_unlock(&f->lock);
		pthread_join(f->reader, NULL);
	}
	for (int k = 0; k < 2; k++) {
		for (size_t i = 0; f->batch[k].values && i < f->n; i++)
			fl_var_free(f->batch[k].values[i]);
		fl_free(f->batch[k].values);
		fl_free(f->batch[k].present);
	}
	for (size_t i = 0; i < f->n; i++)
		fl_data_close(f->targets[i].data);
	fl_free(f->targets);
	fl_map_release(&f->index);
	stepdir_release(&f->dir);
	fl_order_release(&f->order);
	pthread_cond_destroy(&f->changed);
	pthread_mutex_destroy(&f->lock);
	fl_free(f);
}

/* The variable's old memory goes to the batch, to be filled again. */
static void swap_values(struct fl_var *a, struct fl_var *b)
{
	struct fl_tensor tensor = a->tensor;
	struct fl_selected_rows rows = a->rows;
	struct fl_tensor_array array = a->array;
	int kind = a->kind;

	a->tensor = b->tensor;
	a->rows = b->rows;
	a->array = b->array;
	a->kind = b->kind;
	b->tensor = tensor;
	b->rows = rows;
	b->array = array;
	b->kind = kind;
}

static void hand_over(struct feed *f, struct batch *b)
{
	for (size_t i = 0; i < f->n; i++) {
		if (!b->present[i])
			continue;
		swap_values(f->targets[i].var, b->values[i]);
		fl_var_set_kind(b->values[i], f->targets[i].var->kind);
	}
}

enum fl_code feed_next(struct feed *f, struct feed_step *step, bool *more, struct fl_err *err)
{
	struct batch *b = &f->batch[f->at];

	if (f->started) {
		pthread_mutex_lock(&f->lock);
		while (!b->full)
			pthread_cond_wait(&f->changed, &f->lock);
		pthread_mutex_unlock(&f->lock);
	} else if (!b->end) {
		fill(f, b, f->batch[0].step.step + (b->full ? 1 : 0));
	}
	if (b->code != FL_OK) {
		*err = b->err;
		return b->code;
	}
	*more = !b->end;
	if (b->end)
		return FL_OK;
	*step = b->step;
	hand_over(f, b);
	if (!f->started) {
		b->full = true;
		return FL_OK;
	}
	f->at = !f->at;
	pthread_mutex_lock(&f->lock);
	b->full = false;
	pthread_cond_broadcast(&f->changed);
	pthread_mutex_unlock(&f->lock);
	return FL_OK;
}

int64_t feed_steps(const struct feed *f)
{
	return f->per_epoch;
}

int64_t feed_samples(const struct feed *f)
{
	return f->samples;
}

bool feed_has(const struct feed *f, const char *name)
{
	return fl_map_has(&f->index, name);
}
