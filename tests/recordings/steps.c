/* Values of steps: from the log of our commands, and from losses.json. */
#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "recordings/recordings.h"

/* Room to grow by doubling: the series are short. */
static void push(struct rec_series *s, double v)
{
	if (!(s->n & (s->n - 1)))
		s->at = fl_xrealloc(s->at, (s->n ? 2 * s->n : 1) * sizeof *s->at);
	s->at[s->n++] = v;
}

static void close_step(struct rec_series *s, size_t before)
{
	if (!(s->n_steps & (s->n_steps - 1)))
		s->step = fl_xrealloc(s->step, (s->n_steps ? 2 * s->n_steps : 1) * sizeof *s->step);
	s->step[s->n_steps++] = s->n - before;
}

static void flatten(struct rec_series *s, const cJSON *v)
{
	const char *text = cJSON_GetStringValue(v);
	const cJSON *item;

	if (cJSON_IsArray(v)) {
		cJSON_ArrayForEach(item, v) flatten(s, item);
	} else if (cJSON_IsNumber(v)) {
		push(s, v->valuedouble);
	} else if (cJSON_IsBool(v)) {
		push(s, cJSON_IsTrue(v));
	} else if (text) {
		push(s, !strcmp(text, "Infinity") ? INFINITY : !strcmp(text, "-Infinity") ? -INFINITY : NAN);
	}
}

void rec_series_of_json(const cJSON *array, struct rec_series *s)
{
	const cJSON *v;

	*s = (struct rec_series){ 0 };
	cJSON_ArrayForEach(v, array)
	{
		size_t before = s->n;

		flatten(s, v);
		close_step(s, before);
	}
}

/* A line that is no step, or a step out of order, adds nothing. */
static void take_line(struct rec_series *s, const char *line, size_t n, const char *name)
{
	cJSON *o = cJSON_ParseWithLength(line, n);
	size_t before = s->n;

	if (o && !strcmp(rec_str(o, "event", ""), "step") &&
		rec_num(o, "step", -1) == (double)s->n_steps) {
		flatten(s, cJSON_GetObjectItemCaseSensitive(
				   cJSON_GetObjectItemCaseSensitive(o, "fetch"), name));
		close_step(s, before);
	}
	cJSON_Delete(o);
}

void rec_series_of_log(const char *log, const char *name, struct rec_series *s)
{
	*s = (struct rec_series){ 0 };
	for (const char *end; *log; log = end) {
		size_t n = strcspn(log, "\n");

		end = log + n + (log[n] == '\n');
		if (*log == '{')
			take_line(s, log, n, name);
	}
}

void rec_series_release(struct rec_series *s)
{
	fl_free(s->at);
	fl_free(s->step);
}
