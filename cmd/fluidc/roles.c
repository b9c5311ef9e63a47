#include "roles.h"

#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/near.h"

typedef const char *name_of(int i);

static const char *mode_name(int i)
{
	return fl_dist_mode_name((enum fl_dist_mode)i);
}

static const char *method_name(int i)
{
	return fl_split_method_name((enum fl_split_method)i);
}

static const char *steps_name(int i)
{
	return fl_lr_steps_name((enum fl_lr_steps)i);
}

static enum fl_code choose(const char *option, const char *value, name_of *name, int n, int *out,
	struct fl_err *err)
{
	struct fl_buf all = FL_BUF_INIT;
	struct fl_near near;

	fl_near_init(&near, value);
	for (int i = 0; i < n; i++) {
		if (!strcmp(value, name(i))) {
			*out = i;
			return FL_OK;
		}
		fl_near_try(&near, name(i));
	}
	if (near.best)
		return fl_err_set(err, FL_EINVAL, "option '--%s': unknown '%s', did you mean '%s'?",
			option, value, near.best);
	for (int i = 0; i < n; i++)
		fl_buf_addf(&all, i ? ", '%s'" : "'%s'", name(i));
	fl_err_set(err, FL_EINVAL, "option '--%s': unknown '%s', expected one of %s", option, value,
		fl_buf_str(&all));
	fl_buf_release(&all);
	return FL_EINVAL;
}

enum fl_code roles_options(struct roles *r, struct fl_err *err)
{
	struct fl_transpile_opts *o = &r->opts;
	int mode = 0, method = 0, steps = 0;

	fl_transpile_opts_init(o);
	FL_TRY(choose("mode", r->mode, mode_name, FL_MODE_COUNT, &mode, err));
	FL_TRY(choose("split-method", r->method, method_name, FL_SPLIT_METHOD_COUNT, &method, err));
	FL_TRY(choose("lr-steps", r->lr_steps, steps_name, FL_LR_STEPS_COUNT, &steps, err));
	if (!r->pservers)
		return fl_err_set(err, FL_EINVAL, "'--pservers' is missing: the endpoints of the "
						  "servers, HOST:PORT,HOST:PORT");
	if (r->trainers == -1)
		return fl_err_set(err, FL_EINVAL, "'--trainers' is missing: how many trainers");
	o->mode = (enum fl_dist_mode)mode;
	o->split_method = (enum fl_split_method)method;
	o->lr_steps = (enum fl_lr_steps)steps;
	o->n_pservers = fl_split_endpoints(r->pservers, &o->pservers);
	o->trainers = (int)r->trainers;
	o->slice_var_up = !r->no_slice;
	o->min_block_size = r->min_block_size;
	o->enable_dc_asgd = r->dc_asgd;
	o->runtime_split_send_recv = r->runtime_split;
	o->geo_need_push_nums = r->geo;
	o->random_seed = r->seed;
	return fl_transpile_opts_check(o, err);
}

void roles_release(struct roles *r)
{
	fl_free((void *)(uintptr_t)r->opts.pservers);
	r->opts.pservers = NULL;
}

char *roles_startup(const struct roles *r, const char *main)
{
	static const char ending[] = "main.pb";
	size_t n = strlen(main), e = sizeof ending - 1;
	char *path;

	if (r->startup)
		return fl_xstrdup(r->startup);
	if (n < e || strcmp(main + n - e, ending) ||
		(n > e && main[n - e - 1] != '.' && main[n - e - 1] != '/'))
		return NULL;
	path = fl_xstrfmt("%.*sstartup.pb", (int)(n - e), main);
	if (fl_is_file(path))
		return path;
	fl_free(path);
	return NULL;
}
