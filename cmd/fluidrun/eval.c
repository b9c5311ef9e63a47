/*
 * The test program's own variables live in a child scope, so that its temporaries do not touch those
 * of the training; persistable ones are the training's, found in the root.
 */
#include "eval.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "feed.h"
#include "fetch.h"
#include "signals.h"

struct eval {
	struct run *r;
	struct fl_scope *scope; /* owned by the root */
	struct fl_frame *frame; /* owned */
	struct fetch_list fetch;
	double *sum; /* of each fetched value, weighted; owned */
	int64_t rows;
};

static enum fl_code add_fetches(struct eval *e, struct fl_err *err)
{
	const struct opt_list *asked = &e->r->opt->eval_fetch;
	const fl_pb_var *decl;

	for (size_t i = 0; i < asked->n; i++) {
		FL_TRY(program_need_var(e->r->eval->pb, "--eval-fetch", asked->at[i], &decl, err));
		fetch_add(&e->fetch, e->scope, asked->at[i], FL_LOD_TENSOR);
	}
	e->sum = FL_NEW_N(double, asked->n);
	return FL_OK;
}

/* A child variable hides the training's of the same name: those that are not persistable. */
static void declare(struct eval *e)
{
	const fl_pb_block *b = e->r->eval->pb->blocks[0];

	for (size_t i = 0; i < b->n_vars; i++)
		if (!b->vars[i]->persistable)
			fl_scope_var(e->scope, b->vars[i]->name,
				b->vars[i]->type ? (int)b->vars[i]->type->type : FL_LOD_TENSOR);
}

static enum fl_code open_feed(struct eval *e, struct feed **out, struct fl_err *err)
{
	static const struct opt_list none = { NULL, 0, 0 };
	struct feed_opts o = { .prog = e->r->eval, .scope = e->scope,
		.files = &e->r->opt->eval_feed, .dirs = &none, .batch_size = e->r->opt->batch_size,
		.epochs = 1, .steps = -1, .trainers = 1 };

	return feed_new(&o, out, err);
}

/* Mistakes in the data files show before the training, not after its first epoch. */
static enum fl_code try_feed(struct eval *e, struct fl_err *err)
{
	struct feed *feed;
	const char **names, *missing = NULL;
	size_t n;

	FL_TRY(open_feed(e, &feed, err));
	n = program_data_vars(e->r->eval->pb, &names);
	for (size_t i = 0; i < n && !missing; i++)
		if (!feed_has(feed, names[i]))
			missing = names[i];
	fl_free(names);
	feed_free(feed);
	if (missing)
		return fl_err_set(err, FL_EINVAL,
			"data variable '%s' of the test program has no feed, see --eval-feed", missing);
	return FL_OK;
}

static enum fl_code init(struct eval *e, struct fl_err *err)
{
	e->scope = fl_scope_new(e->r->root);
	declare(e);
	if (fl_frame_new(e->r->eval, 0, e->scope, &e->r->env, &e->frame, err) != FL_OK)
		return fl_err_wrap(err, "'%s'", e->r->opt->eval);
	FL_TRY(run_input(e->r, add_fetches(e, err)));
	return run_input(e->r, try_feed(e, err));
}

enum fl_code eval_new(struct run *r, struct eval **out, struct fl_err *err)
{
	struct eval *e = FL_NEW(struct eval);
	enum fl_code code;

	e->r = r;
	code = init(e, err);
	if (code != FL_OK) {
		eval_free(e);
		return code;
	}
	*out = e;
	return FL_OK;
}

void eval_free(struct eval *e)
{
	if (!e)
		return;
	fl_frame_free(e->frame);
	fetch_release(&e->fetch);
	fl_free(e->sum);
	fl_scope_free(e->scope);
	fl_free(e);
}

static enum fl_code one_batch(struct eval *e, const struct feed_step *s, struct fl_err *err)
{
	int64_t weight = s->rows ? s->rows : 1;

	if (fl_frame_run(e->frame, err) != FL_OK)
		return fl_err_wrap(err, "'%s'", e->r->opt->eval);
	for (size_t i = 0; i < e->fetch.n; i++) {
		double mean = 0;

		FL_TRY(fetch_mean(e->fetch.vars[i], &mean, err));
		e->sum[i] += mean * (double)weight;
	}
	e->rows += weight;
	return FL_OK;
}

static enum fl_code all_batches(struct eval *e, struct feed *feed, struct fl_err *err)
{
	struct feed_step s;
	bool more;

	for (;;) {
		FL_TRY(run_input(e->r, feed_next(feed, &s, &more, err)));
		if (!more)
			return FL_OK;
		FL_TRY(one_batch(e, &s, err));
		if (signals_got())
			return fl_err_set(err, FL_ECANCELED, "stopped by signal %d in the evaluation",
				signals_got());
	}
}

static enum fl_code show(struct eval *e, int64_t epoch, double seconds, struct fl_err *err)
{
	struct fl_buf b = FL_BUF_INIT;
	struct fl_field fields[] = { FL_INT("epoch", epoch), FL_JSON("fetch", ""),
		FL_INT("rows", e->rows), FL_NUM("seconds", seconds) };

	fl_buf_addc(&b, '{');
	for (size_t i = 0; i < e->fetch.n; i++) {
		double mean = e->sum[i] / (double)e->rows;

		printf("epoch %" PRId64 "  eval  %s  %g\n", epoch, e->fetch.names[i], mean);
		if (i)
			fl_buf_addc(&b, ',');
		fl_json_str(&b, e->fetch.names[i], strlen(e->fetch.names[i]));
		fl_buf_addc(&b, ':');
		fl_json_f64(&b, mean);
	}
	fl_buf_addc(&b, '}');
	fields[1].s = fl_buf_str(&b);
	fl_log_event(e->r->env.log, FL_LOG_INFO, "eval", NULL, fields, FL_COUNT(fields));
	fl_buf_release(&b);
	if (fflush(stdout))
		return fl_err_set(err, FL_EIO, "cannot write to standard output");
	return FL_OK;
}

enum fl_code eval_run(struct eval *e, int64_t epoch, struct fl_err *err)
{
	double began = fl_now();
	struct feed *feed;
	enum fl_code code;

	memset(e->sum, 0, e->fetch.n * sizeof *e->sum);
	e->rows = 0;
	FL_TRY(run_input(e->r, open_feed(e, &feed, err)));
	code = all_batches(e, feed, err);
	feed_free(feed);
	return code == FL_OK ? show(e, epoch, fl_now() - began, err) : code;
}
