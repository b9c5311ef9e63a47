/* Fetched variables: printed, written as stream files, and as JSON for the event of a step. */
#ifndef CMD_FLUIDRUN_FETCH_H
#define CMD_FLUIDRUN_FETCH_H

#include "base/buf.h"
#include "exec/scope.h"

struct fetch_list {
	struct fl_var **vars; /* owned array of borrowed variables */
	const char **names;   /* owned array of borrowed strings */
	size_t n, cap;
};

/* Adds a variable that the program is known to have. */
void fetch_add(struct fetch_list *list, struct fl_scope *scope, const char *name, int kind);
void fetch_release(struct fetch_list *list);
/* "step 12  mean_0.tmp_0  0.693147", a line each, on stdout. */
enum fl_code fetch_print(const struct fetch_list *list, int64_t step, struct fl_err *err);
/* {"mean_0.tmp_0":[0.693147]}: all values flattened. */
enum fl_code fetch_json(const struct fetch_list *list, struct fl_buf *out, struct fl_err *err);
/* DIR/step-KK/NAME. */
enum fl_code fetch_save(const struct fetch_list *list, const char *dir, int64_t step,
	struct fl_err *err);
/* Mean over all elements of a value. EUNSUPPORTED: no numbers; ESTATE: no value, or an empty one. */
enum fl_code fetch_mean(const struct fl_var *var, double *mean, struct fl_err *err);

#endif
