/* Kernels of operators that talk to other processes: they hand what to send or get to the host
 * (struct fl_host), all at once, so that transfers overlap. */
#include <string.h>

#include "base/mem.h"
#include "desc/names.h"
#include "desc/query.h"
#include "kernels/internal.h"

struct remotes {
	struct fl_remote *list; /* owned */
	const char **endpoints; /* owned; each once */
	size_t n_endpoints;
};

/* Each endpoint of an attribute once, in order. */
static void distinct_endpoints(const struct fl_kernel *k, const char *attr, struct remotes *s)
{
	size_t n = fl_attr_len(k->op, attr);

	s->endpoints = FL_NEW_N(const char *, n);
	for (size_t i = 0; i < n; i++) {
		const char *ep = fl_attr_str_at(k->op, attr, i);
		size_t j = 0;

		while (j < s->n_endpoints && strcmp(s->endpoints[j], ep) != 0)
			j++;
		if (j == s->n_endpoints)
			s->endpoints[s->n_endpoints++] = ep;
	}
}

static enum fl_code need_endpoints(const struct fl_kernel *k, const char *attr, size_t n,
	struct fl_err *err)
{
	if (fl_attr_len(k->op, attr) >= n)
		return FL_OK;
	return fl_err_set(err, FL_EINVAL, "attribute '%s' has %zu values, expected one for each of %zu "
		"variables", attr, fl_attr_len(k->op, attr), n);
}

static enum fl_code prepare_send(struct fl_kernel *k, struct fl_err *err)
{
	struct remotes *s = k->state;

	if (fl_attr_bool(k->op, "use_send_handler", true))
		FL_TRY(need_endpoints(k, "epmap", k->in[0].n, err));
	distinct_endpoints(k, "epmap", s);
	s->list = FL_NEW_N(struct fl_remote, k->in[0].n * (s->n_endpoints ? s->n_endpoints : 1));
	return FL_OK;
}

static enum fl_code no_host(const char *what, struct fl_err *err)
{
	return fl_err_set(err, FL_EUNSUPPORTED, "this program cannot %s", what);
}

/* Control variables order operators and carry nothing; a variable without value has nothing to
 * send, and SelectedRows without rows neither. */
static bool sendable(const struct fl_var *var)
{
	if (!var || strstr(var->name, FL_CONTROL_VAR) || !fl_var_has_value(var))
		return false;
	return var->kind == FL_LOD_TENSOR || (var->kind == FL_SELECTED_ROWS && var->rows.n > 0);
}

static enum fl_code run_send(struct fl_kernel *k, struct fl_err *err)
{
	struct remotes *s = k->state;
	bool notify = !fl_attr_bool(k->op, "use_send_handler", true);
	size_t n = 0;

	if (!k->host || !(notify ? k->host->notify : k->host->send))
		return no_host("send to other processes", err);
	for (size_t i = 0; i < k->in[0].n; i++) {
		struct fl_var *var = fl_in_var(k, 0, i);

		if (!sendable(var))
			continue;
		for (size_t e = 0; e < (notify ? s->n_endpoints : 1); e++)
			s->list[n++] = (struct fl_remote){ .name = var->name, .var = var,
				.endpoint = notify ? s->endpoints[e] : fl_attr_str_at(k->op, "epmap", i) };
	}
	if (!n)
		return FL_OK;
	return (notify ? k->host->notify : k->host->send)(k->host->arg, s->list, n, err);
}

static enum fl_code prepare_recv(struct fl_kernel *k, struct fl_err *err)
{
	struct remotes *s = k->state;

	FL_TRY(need_endpoints(k, "epmap", k->out[0].n, err));
	if (fl_attr_len(k->op, "varnames"))
		FL_TRY(need_endpoints(k, "varnames", k->out[0].n, err));
	s->list = FL_NEW_N(struct fl_remote, k->out[0].n);
	return FL_OK;
}

static enum fl_code run_recv(struct fl_kernel *k, struct fl_err *err)
{
	struct remotes *s = k->state;
	bool renamed = fl_attr_len(k->op, "varnames") > 0;
	size_t n = 0;

	if (fl_attr_int(k->op, "do_not_run", 0))
		return FL_OK;
	if (!k->host || !k->host->get)
		return no_host("get from other processes", err);
	for (size_t i = 0; i < k->out[0].n; i++) {
		struct fl_var *var = fl_out_var(k, 0, i);

		if (!var || strstr(var->name, FL_CONTROL_VAR))
			continue;
		s->list[n++] = (struct fl_remote){ .local = var->name, .var = var,
			.name = renamed ? fl_attr_str_at(k->op, "varnames", i) : var->name,
			.endpoint = fl_attr_str_at(k->op, "epmap", i) };
	}
	if (!n)
		return FL_OK;
	return k->host->get(k->host->arg, s->list, n, fl_attr_bool(k->op, "with_barrier", true), err);
}

static enum fl_code prepare_barrier(struct fl_kernel *k, struct fl_err *err)
{
	(void)err;
	distinct_endpoints(k, "endpoints", k->state);
	return FL_OK;
}

static enum fl_code barrier(struct fl_kernel *k, bool batch, struct fl_err *err)
{
	struct remotes *s = k->state;

	if (!k->host || !k->host->barrier)
		return no_host("wait for other processes", err);
	return k->host->barrier(k->host->arg, batch, s->endpoints, s->n_endpoints, err);
}

static enum fl_code run_send_barrier(struct fl_kernel *k, struct fl_err *err)
{
	return barrier(k, true, err);
}

static enum fl_code run_fetch_barrier(struct fl_kernel *k, struct fl_err *err)
{
	return barrier(k, false, err);
}

static void release_remotes(struct fl_kernel *k)
{
	struct remotes *s = k->state;

	fl_free(s->list);
	fl_free(s->endpoints);
}

static enum fl_code run_serve(struct fl_kernel *k, struct fl_err *err)
{
	if (!k->host || !k->host->serve)
		return no_host("be a parameter server", err);
	return k->host->serve(k->host->arg, k->op, err);
}

/* A placeholder for what a server holds: the variable gets its type of value, no numbers. */
static enum fl_code run_fake_init(struct fl_kernel *k, struct fl_err *err)
{
	(void)k;
	(void)err;
	return FL_OK;
}

const struct fl_kernel_def fl_kernels_rpc[] = {
	{ .type = "send", .in = "X", .out = "Out", .state_size = sizeof(struct remotes),
		.prepare = prepare_send, .run = run_send, .release = release_remotes },
	{ .type = "recv", .in = "X", .out = "Out", .state_size = sizeof(struct remotes),
		.prepare = prepare_recv, .run = run_recv, .release = release_remotes },
	{ .type = "send_barrier", .in = "X", .out = "Out", .state_size = sizeof(struct remotes),
		.prepare = prepare_barrier, .run = run_send_barrier, .release = release_remotes },
	{ .type = "fetch_barrier", .in = "X", .out = "Out", .state_size = sizeof(struct remotes),
		.prepare = prepare_barrier, .run = run_fetch_barrier, .release = release_remotes },
	{ .type = "listen_and_serv", .in = "X", .out = "", .run = run_serve },
	{ .type = "fake_init", .in = "", .out = "Out", .run = run_fake_init },
	{ .type = NULL },
};
