/* Local trainings: the same start and the same batches give the same losses, fetches and final
 * variables, as near as the real one comes to itself under small noise (meta.json: sensitivity). */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "desc/program.h"
#include "recordings/recordings.h"

static double allowed(double sensitivity)
{
	return fmax(1e-5, 20 * sensitivity);
}

static const cJSON *member(const cJSON *o, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(o, key);
}

/* Does any op of the program name the variable? The flat weights of coalesce_tensor are aliases
 * only where the startup program ran. */
static bool named(const struct fl_program *p, const char *var)
{
	for (size_t b = 0; b < p->pb->n_blocks; b++)
		for (size_t i = 0; i < p->pb->blocks[b]->n_ops; i++) {
			const fl_pb_op *op = p->pb->blocks[b]->ops[i];

			for (size_t s = 0; s < op->n_inputs + op->n_outputs; s++) {
				const fl_pb_slot *slot = s < op->n_inputs ?
					op->inputs[s] : op->outputs[s - op->n_inputs];

				for (size_t k = 0; k < slot->n_arguments; k++)
					if (!strcmp(slot->arguments[k], var))
						return true;
			}
		}
	return false;
}

/* One fetch over all steps at once; the first loss, before anything could drift, to 1e-5. */
static void compare_fetch(const char *log, const char *name, const cJSON *want, double tol,
	bool is_loss, struct fl_buf *why)
{
	struct rec_series g, w;
	double far;

	rec_series_of_log(log, name, &g);
	rec_series_of_json(want, &w);
	if (g.n_steps != w.n_steps) {
		fl_buf_addf(why, "%s: %zu steps, not %zu; ", name, g.n_steps, w.n_steps);
	} else {
		far = rec_far(g.at, g.n, w.at, w.n, 0);
		if (is_loss && g.n && w.n)
			far = fmax(far, tol / 1e-5 * rec_far(g.at, g.step[0], w.at, w.step[0], 0));
		if (!(far <= tol))
			fl_buf_addf(why, "%s is off by %.2g (allowed %.2g); ", name, far, tol);
	}
	rec_series_release(&g);
	rec_series_release(&w);
}

static void compare_final(const struct rec_case *c, const cJSON *sens, struct fl_buf *why)
{
	struct fl_program *p = NULL;
	struct fl_err err = { 0 };
	size_t n;
	char **names = rec_files(c, rec_in(c, "final"), &n);

	if (fl_program_load(rec_in(c, "main.pb"), &p, &err)) {
		fl_buf_adds(why, err.msg);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		double s = rec_num(member(sens, "final"), names[i], 0), far;

		if (s > 0.05 || !named(p, names[i]))
			continue;
		far = rec_far_file(rec_tmp(c, "out/%s", names[i]), rec_in(c, "final/%s", names[i]),
			0, names[i], why);
		if (!(far <= allowed(s)))
			fl_buf_addf(why, "%s is off by %.2g (allowed %.2g); ", names[i], far,
				allowed(s));
	}
	fl_program_free(p);
}

static void compare(const struct rec_case *c, const char *log, const cJSON *losses,
	const cJSON *meta, struct fl_buf *why)
{
	const cJSON *sens = member(meta, "sensitivity"), *v;
	double loss = rec_num(sens, "loss", 0);

	cJSON_ArrayForEach(v, losses)
	{
		bool is_loss = !strcmp(v->string, "loss");
		double s = is_loss ? 0 : rec_num(member(sens, "fetch"), v->string, 0);

		if (strcmp(v->string, "test") != 0)
			compare_fetch(log, is_loss ? rec_str(meta, "loss", "") : v->string, v,
				(is_loss ? 1 : 10) * allowed(fmax(loss, s)), is_loss, why);
	}
	compare_final(c, sens, why);
}

bool rec_train(const struct rec_case *c, struct fl_buf *why)
{
	cJSON *losses = rec_json(rec_in(c, "losses.json"), why);
	cJSON *meta = rec_json(rec_in(c, "meta.json"), why);
	struct fl_buf said = FL_BUF_INIT;
	struct rec_args a = { 0 };
	size_t n_lr;
	const cJSON *v;
	int code;

	if (losses && meta) {
		rec_files(c, rec_in(c, "lr"), &n_lr);
		rec_arg2(&a, rec_fluidrun, "--load");
		rec_arg2(&a, rec_in(c, "init"), "--feed-dir");
		rec_arg2(&a, rec_in(c, "feed"), "--log");
		rec_arg2(&a, "json", "--save");
		rec_arg(&a, rec_tmp(c, "out"));
		if (n_lr)
			rec_arg2(&a, "--feed-dir", rec_in(c, "lr"));
		cJSON_ArrayForEach(v, losses) if (strcmp(v->string, "test") != 0)
			rec_arg2(&a, "--fetch", strcmp(v->string, "loss") ? v->string :
									    rec_str(meta, "loss", ""));
		rec_arg(&a, rec_in(c, "main.pb"));
		code = rec_run(c, c->tmp, NULL, &a, 120, &said);
		if (code)
			rec_said(why, code, fl_buf_str(&said));
		else
			compare(c, fl_buf_str(&said), losses, meta, why);
	}
	fl_buf_release(&said);
	cJSON_Delete(losses);
	cJSON_Delete(meta);
	return true;
}
