/* The steps of a program that does not serve: feed, run, fetch, until the data end. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "common/term.h"
#include "desc/query.h"
#include "eval.h"
#include "feed.h"
#include "fetch.h"
#include "ops/op.h"
#include "run.h"
#include "signals.h"

struct loop {
	struct run *r;
	struct fl_frame *frame; /* owned */
	struct feed *feed;	/* owned */
	struct fetch_list fetch;
	struct eval *eval; /* owned; NULL: none */
	struct fl_buf json;
	double began, drawn; /* time of the first step, of the last progress line */
	int64_t rows;	     /* samples so far */
	double shown;	     /* mean of the first fetched value, for the progress line */
};

/* ---- the start ------------------------------------------------------------------------------- */

static enum fl_code add_fetches(struct loop *l, struct fl_err *err)
{
	const struct opt_list *asked = &l->r->opt->fetch;
	const fl_pb_block *b = l->r->main->pb->blocks[0];
	const fl_pb_var *decl;

	for (size_t i = 0; i < asked->n; i++) {
		FL_TRY(program_need_var(l->r->main->pb, "--fetch", asked->at[i], &decl, err));
		fetch_add(&l->fetch, l->r->root, asked->at[i],
			decl->type ? (int)decl->type->type : FL_LOD_TENSOR);
	}
	/* A saved model says itself what it gives. */
	for (size_t i = 0; !asked->n && i < b->n_ops; i++)
		if (!strcmp(b->ops[i]->type, "fetch") && fl_op_in(b->ops[i], "X", 0))
			fetch_add(&l->fetch, l->r->root, fl_op_in(b->ops[i], "X", 0), FL_LOD_TENSOR);
	return FL_OK;
}

/* A program that sends nothing reads everything; one that sends must know its part. */
static enum fl_code shard(const struct run *r, struct feed_opts *o, struct fl_err *err)
{
	o->trainer = 0;
	o->trainers = 1;
	if (r->opt->no_shard || !r->sends || !r->opt->feed.n)
		return FL_OK;
	if (r->trainers < 1)
		return fl_err_set(err, FL_EINVAL,
			"the program sends to servers, but says not how many trainers there are: give "
			"--trainers, or --no-shard to read all data");
	if (r->trainer < 0 && r->trainers > 1)
		return fl_err_set(err, FL_EINVAL, "option '--trainers' needs '--trainer-id'");
	o->trainers = r->trainers;
	o->trainer = r->trainer < 0 ? 0 : r->trainer;
	if (o->trainer >= o->trainers)
		return fl_err_set(err, FL_EINVAL,
			"the program is trainer %lld's, but there are only %lld (counted from 0)",
			(long long)o->trainer, (long long)o->trainers);
	return FL_OK;
}

static enum fl_code start_feed(struct loop *l, struct fl_err *err)
{
	const struct options *opt = l->r->opt;
	struct feed_opts o = { .prog = l->r->main, .scope = l->r->root, .files = &opt->feed,
		.dirs = &opt->feed_dir, .batch_size = opt->batch_size, .epochs = opt->epochs,
		.steps = opt->steps, .seed = opt->seed < 0 ? 0 : opt->seed, .shuffle = opt->shuffle,
		.drop_last = opt->drop_last };

	FL_TRY(shard(l->r, &o, err));
	return feed_new(&o, &l->feed, err);
}

static enum fl_code check_fed(const struct loop *l, struct fl_err *err)
{
	const char **names;
	size_t n = program_data_vars(l->r->main->pb, &names);
	const char *missing = NULL;

	for (size_t i = 0; i < n && !missing; i++) {
		const struct fl_var *var = fl_scope_find(l->r->root, names[i]);

		if (!feed_has(l->feed, names[i]) && !(var && fl_var_has_value(var)))
			missing = names[i];
	}
	fl_free(names);
	if (missing)
		return fl_err_set(err, FL_EINVAL,
			"data variable '%s' has no feed, see --feed and --feed-dir", missing);
	return FL_OK;
}

/* With --steps 0 only files are loaded and saved, whatever the operators are. */
static enum fl_code start(struct loop *l, struct fl_err *err)
{
	if (l->r->opt->steps == 0)
		return FL_OK;
	FL_TRY(fl_frame_new(l->r->main, 0, l->r->root, &l->r->env, &l->frame, err));
	FL_TRY(run_input(l->r, add_fetches(l, err)));
	FL_TRY(run_input(l->r, start_feed(l, err)));
	FL_TRY(run_input(l->r, check_fed(l, err)));
	if (l->r->eval)
		FL_TRY(eval_new(l->r, &l->eval, err));
	return FL_OK;
}

/* ---- a step ---------------------------------------------------------------------------------- */

static void progress(struct loop *l, const struct feed_step *s)
{
	double now = fl_now(), spent = now - l->began;
	int64_t total = feed_steps(l->feed) * l->r->opt->epochs, done = s->step + 1;
	int width = 24, filled;
	char text[200], bar[32], tail[64] = "";

	if (l->r->opt->steps >= 0 && l->r->opt->steps < total)
		total = l->r->opt->steps;
	if (!term_fancy(2) || total < 2 || (now - l->drawn < 0.1 && done < total))
		return;
	l->drawn = now;
	filled = (int)(done * width / total);
	memset(bar, '-', (size_t)width);
	memset(bar, '#', (size_t)filled);
	bar[width] = 0;
	if (l->fetch.n)
		snprintf(tail, sizeof tail, "  %.24s %.4g", l->fetch.names[0], l->shown);
	snprintf(text, sizeof text, "[%s] %" PRId64 "/%" PRId64 "  %.0f %s/s%s  %.0f s left", bar, done,
		total, (double)(l->rows ? l->rows : done) / (spent > 0 ? spent : 1e-9),
		l->rows ? "samples" : "steps", tail, spent / (double)done * (double)(total - done));
	term_progress(text);
}

static enum fl_code show_step(struct loop *l, const struct feed_step *s, struct fl_err *err)
{
	const struct fl_log *log = l->r->env.log;
	struct fl_field fields[] = { FL_INT("step", s->step), FL_INT("epoch", s->epoch),
		FL_JSON("fetch", "{}") };

	if (s->step % l->r->opt->print_every)
		return FL_OK;
	if (l->fetch.n)
		FL_TRY(fetch_print(&l->fetch, s->step, err));
	fl_buf_clear(&l->json);
	FL_TRY(fetch_json(&l->fetch, &l->json, err));
	fields[2].s = fl_buf_str(&l->json);
	fl_log_event(log, FL_LOG_INFO, "step", NULL, fields, FL_COUNT(fields));
	return FL_OK;
}

static enum fl_code one_step(struct loop *l, const struct feed_step *s, struct fl_err *err)
{
	FL_TRY(fl_frame_run(l->frame, err));
	l->rows += s->rows;
	if (l->fetch.n)
		fetch_mean(l->fetch.vars[0], &l->shown, NULL); /* only for the progress line */
	FL_TRY(show_step(l, s, err));
	if (l->r->opt->save_fetch)
		FL_TRY(fetch_save(&l->fetch, l->r->opt->save_fetch, s->step, err));
	return run_save_step(l->r, s->step, err);
}

static enum fl_code end_of_epoch(struct loop *l, const struct feed_step *s, struct fl_err *err)
{
	double spent = fl_now() - l->began;
	struct fl_field fields[] = { FL_INT("epoch", s->epoch), FL_INT("steps", s->step + 1),
		FL_INT("samples", l->rows), FL_NUM("seconds", spent) };

	if (!s->last_of_epoch)
		return FL_OK;
	fl_log_event(l->r->env.log, FL_LOG_INFO, "epoch", NULL, fields, FL_COUNT(fields));
	return l->eval ? eval_run(l->eval, s->epoch, err) : FL_OK;
}

static enum fl_code steps(struct loop *l, struct fl_err *err)
{
	struct feed_step s = { 0 };
	bool more = true;

	l->began = fl_now();
	for (;;) {
		if (signals_got())
			return fl_err_set(err, FL_ECANCELED, "stopped by signal %d after step %" PRId64,
				signals_got(), s.step);
		FL_TRY(run_input(l->r, feed_next(l->feed, &s, &more, err)));
		if (!more)
			return FL_OK;
		FL_TRY(one_step(l, &s, err));
		progress(l, &s);
		FL_TRY(end_of_epoch(l, &s, err));
	}
}

enum fl_code run_steps(struct run *r, struct fl_err *err)
{
	struct loop l = { .r = r };
	enum fl_code code = start(&l, err);

	if (code == FL_OK && l.frame)
		code = steps(&l, err);
	term_progress(NULL);
	eval_free(l.eval);
	feed_free(l.feed);
	fetch_release(&l.fetch);
	fl_frame_free(l.frame);
	fl_buf_release(&l.json);
	return code;
}
