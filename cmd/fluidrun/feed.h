/*
 * Data for the steps: prepared batches (--feed-dir) and data files cut into batches (--feed). A
 * reader thread keeps the next batch ready; handing it over swaps memory, nothing is copied.
 */
#ifndef CMD_FLUIDRUN_FEED_H
#define CMD_FLUIDRUN_FEED_H

#include "run.h"

struct feed;

struct feed_opts {
	const struct fl_program *prog; /* whose variables are fed; borrowed */
	struct fl_scope *scope;	       /* where they are; borrowed */
	const struct opt_list *files, *dirs; /* --feed and --feed-dir values; borrowed */
	int64_t batch_size, epochs;
	int64_t steps; /* most steps in total; -1: no bound */
	int64_t seed;  /* of the shuffling */
	bool shuffle, drop_last;
	int64_t trainer, trainers; /* this process's shard */
};

/* One step's place. */
struct feed_step {
	int64_t step, epoch;
	int64_t rows;	    /* of the data files; 0: there are none */
	bool last_of_epoch;
};

/* Opens the files and starts the reader. Errors name option, variable, expected and found. */
enum fl_code feed_new(const struct feed_opts *o, struct feed **out, struct fl_err *err);
void feed_free(struct feed *f);
/* Puts the next batch into the variables; *more is false at the end. */
enum fl_code feed_next(struct feed *f, struct feed_step *step, bool *more, struct fl_err *err);
/* Steps an epoch has, and samples of this shard (0: no data files). */
int64_t feed_steps(const struct feed *f);
int64_t feed_samples(const struct feed *f);
/* Is the variable fed? */
bool feed_has(const struct feed *f, const char *name);

#endif
