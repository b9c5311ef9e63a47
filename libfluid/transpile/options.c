/* Options: names, defaults, what is wrong in itself, and what a mode means. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "transpile/internal.h"

const char *fl_dist_mode_name(enum fl_dist_mode mode)
{
	static const char *const names[FL_MODE_COUNT] = { "sync", "async", "half-async", "geo" };

	return names[mode];
}

const char *fl_split_method_name(enum fl_split_method method)
{
	static const char *const names[FL_SPLIT_METHOD_COUNT] = { "RoundRobin", "HashName" };

	return names[method];
}

const char *fl_lr_steps_name(enum fl_lr_steps steps)
{
	static const char *const names[FL_LR_STEPS_COUNT] = { "global", "per-trainer" };

	return names[steps];
}

void fl_transpile_opts_init(struct fl_transpile_opts *opts)
{
	*opts = (struct fl_transpile_opts){
		.slice_var_up = true,
		.min_block_size = FL_MIN_BLOCK_SIZE,
		.geo_need_push_nums = 100,
	};
}

static enum fl_code check_endpoint(const char *ep, struct fl_err *err)
{
	const char *colon = strrchr(ep, ':');
	char *end = NULL;
	long port = colon ? strtol(colon + 1, &end, 10) : 0;

	if (!colon || colon == ep || colon[1] < '0' || colon[1] > '9' || *end || port < 1 ||
		port > 65535 || strpbrk(ep, " \t\r\n"))
		return fl_err_set(err, FL_EINVAL,
			"'%s' is no endpoint of a server; write HOST:PORT, with a port from 1 to 65535",
			ep);
	return FL_OK;
}

static enum fl_code check_endpoints(const struct fl_transpile_opts *opts, struct fl_err *err)
{
	struct fl_map seen;
	enum fl_code code = FL_OK;

	if (!opts->n_pservers)
		return fl_err_set(err, FL_EINVAL, "no servers: give their endpoints in order, with "
						  "--pservers HOST:PORT,HOST:PORT");
	if (opts->n_pservers > FL_MAX_PSERVERS)
		return fl_err_set(err, FL_EINVAL, "%zu servers are more than %d", opts->n_pservers,
			FL_MAX_PSERVERS);
	fl_map_init(&seen);
	for (size_t i = 0; code == FL_OK && i < opts->n_pservers; i++) {
		const char *ep = opts->pservers[i];

		code = check_endpoint(ep, err);
		if (code == FL_OK && fl_map_has(&seen, ep))
			code = fl_err_set(err, FL_EINVAL,
				"endpoint '%s' is given twice; every server needs its own", ep);
		fl_map_put(&seen, ep, &seen);
	}
	fl_map_release(&seen);
	return code;
}

static enum fl_code check_combination(const struct fl_transpile_opts *opts, struct fl_err *err)
{
	if (opts->enable_dc_asgd && opts->mode != FL_MODE_ASYNC)
		return fl_err_set(err, FL_EINVAL,
			"--enable-dc-asgd compensates the delay of asynchronous updates; it needs "
			"--mode async, not '%s'", fl_dist_mode_name(opts->mode));
	if (opts->enable_dc_asgd && opts->runtime_split_send_recv)
		return fl_err_set(err, FL_EINVAL, "--enable-dc-asgd and --runtime-split-send-recv do "
						  "not go together");
	if (opts->mode == FL_MODE_GEO && opts->geo_need_push_nums < 1)
		return fl_err_set(err, FL_EINVAL, "--geo-need-push-nums must be 1 or more");
	if (opts->lr_steps == FL_LR_PER_TRAINER && opts->mode == FL_MODE_SYNC)
		return fl_err_set(err, FL_EINVAL,
			"--lr-steps per-trainer is for asynchronous modes; in sync all trainers are at "
			"the same step");
	if (opts->lr_steps == FL_LR_PER_TRAINER && opts->mode == FL_MODE_GEO)
		return fl_err_set(err, FL_EINVAL,
			"--lr-steps per-trainer is for schedules on servers; in geo every trainer has "
			"its own");
	return FL_OK;
}

enum fl_code fl_transpile_opts_check(const struct fl_transpile_opts *opts, struct fl_err *err)
{
	FL_TRY(check_endpoints(opts, err));
	if (opts->trainers < 1 || opts->trainers > FL_MAX_TRAINERS)
		return fl_err_set(err, FL_EINVAL,
			"%d trainers: give their number, from 1 to %d, with --trainers",
			opts->trainers, FL_MAX_TRAINERS);
	if (opts->min_block_size < FL_MIN_BLOCK_SIZE)
		return fl_err_set(err, FL_EINVAL,
			"a minimal block size of %lld is too small; it must be %d elements or more",
			(long long)opts->min_block_size, FL_MIN_BLOCK_SIZE);
	return check_combination(opts, err);
}

size_t fl_split_endpoints(const char *list, const char *const **out)
{
	size_t n = 1, room;
	const char **at;
	char *text;

	for (const char *p = list; *p; p++)
		n += *p == ',';
	room = n * sizeof *at;
	at = fl_xcalloc(1, room + strlen(list) + 1);
	text = (char *)at + room;
	memcpy(text, list, strlen(list) + 1);
	for (size_t i = 0; i < n; i++) {
		char *end = text + strcspn(text, ","), *next = end + 1;

		text += strspn(text, " \t");
		if (text > end)
			text = end;
		while (end > text && (end[-1] == ' ' || end[-1] == '\t'))
			end--;
		*end = 0;
		at[i] = text;
		text = next;
	}
	*out = at;
	return n;
}

/* Sync through the communicator is, to the programs, half-async whose server waits for all. */
void tp_apply_mode(struct fl_transpiler *t)
{
	const struct fl_transpile_opts *o = &t->opts;
	bool waits = o->mode == FL_MODE_SYNC, many = o->trainers > 1;

	t->rs = o->runtime_split_send_recv || o->mode == FL_MODE_HALF_ASYNC;
	t->sync = waits && !t->rs;
	t->half = t->rs && (waits || o->mode == FL_MODE_HALF_ASYNC);
	t->by_sender = waits && many;
	t->suffix = t->sync && many;
	t->dist_mode = waits ? 0 : o->mode == FL_MODE_GEO ? 3 : t->rs ? 1 : 2;
}
