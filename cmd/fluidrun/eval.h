/* --eval: a test program over held-out data, with the parameters of the training. */
#ifndef CMD_FLUIDRUN_EVAL_H
#define CMD_FLUIDRUN_EVAL_H

#include "run.h"

struct eval;

/* r->eval is prepared in a child scope; the data files are opened at each run. */
enum fl_code eval_new(struct run *r, struct eval **out, struct fl_err *err);
void eval_free(struct eval *e);
/* Runs it over all its data, and prints the mean of each fetched value, weighted by rows. */
enum fl_code eval_run(struct eval *e, int64_t epoch, struct fl_err *err);

#endif
