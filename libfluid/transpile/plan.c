/*
 * What was cut and where it lies, for people (table, summary) and for tools (JSON): enough to merge
 * the slices of saved parameters and accumulators, or to cut them for other servers.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "desc/query.h"
#include "transpile/internal.h"

/* A server that holds more than this times the mean is worth a warning. */
#define UNEVEN 1.5

static int64_t block_bytes(const struct tp_pair *p, const struct tp_block *b)
{
	return b->numel * tp_dtype_size(fl_var_dtype(p->pvar));
}

/* Sums stop at the largest number: a hostile program may claim any shapes. */
static void add_to(int64_t *sum, int64_t v)
{
	*sum = *sum > INT64_MAX - v ? INT64_MAX : *sum + v;
}

static int64_t numel_of(const fl_pb_var *v)
{
	const fl_pb_tensor *t = v ? fl_var_tensor(v) : NULL;
	int64_t n = t ? 1 : 0;

	for (size_t i = 0; t && i < t->n_dims; i++)
		n *= t->dims[i] > 0 && n <= (INT64_MAX >> 24) / t->dims[i] ? t->dims[i] : 1;
	return n;
}

/* Slots of the optimizer that hold state: every input that is none of the three of all. */
static bool is_state(const fl_pb_slot *s)
{
	return s->n_arguments && strcmp(s->parameter, "Param") && strcmp(s->parameter, "Grad") &&
	       strcmp(s->parameter, "LearningRate");
}

static int64_t state_bytes(const struct fl_transpiler *t, const struct tp_pair *p,
	const struct tp_block *b)
{
	const fl_pb_op *op = t->block->ops[p->optimizer];
	int64_t sum = 0;

	for (size_t i = 0; i < op->n_inputs; i++) {
		const fl_pb_var *v;

		if (!is_state(op->inputs[i]))
			continue;
		v = fl_map_get(&t->vars, op->inputs[i]->arguments[0]);
		if (v)
			add_to(&sum, tp_dtype_size(fl_var_dtype(v)) *
					     (tp_is_sliced(op->type, op->inputs[i]->parameter)
							     ? b->numel
							     : numel_of(v)));
	}
	return sum;
}

/* A server's rows of the distributed table; no more than what numel_of allows. */
static int64_t table_bytes(const struct fl_transpiler *t)
{
	const fl_pb_tensor *w = fl_var_tensor(t->table->pvar);
	int64_t n = (int64_t)t->opts.n_pservers, numel = numel_of(t->table->pvar);
	int64_t width = w->dims[0] > 0 ? numel / w->dims[0] : 0;

	return (w->dims[0] + n - 1) / n * width * tp_dtype_size(fl_var_dtype(t->table->pvar));
}

void fl_plan_make(const struct fl_transpiler *t, struct fl_plan *out)
{
	*out = (struct fl_plan){ .n_servers = t->opts.n_pservers, .n_params = t->n_pairs };
	out->servers = FL_NEW_N(struct fl_plan_server, out->n_servers);
	for (size_t i = 0; i < out->n_servers; i++)
		out->servers[i].endpoint = t->opts.pservers[i];
	for (size_t i = 0; i < t->n_pairs; i++)
		for (size_t k = 0; k < t->pairs[i].n; k++) {
			const struct tp_pair *p = &t->pairs[i];
			struct fl_plan_server *s = &out->servers[p->blocks[k].server];
			int64_t bytes = block_bytes(p, &p->blocks[k]);

			s->blocks++;
			add_to(&s->param_bytes, bytes);
			add_to(&s->state_bytes, state_bytes(t, p, &p->blocks[k]));
			out->n_blocks++;
			add_to(&out->param_bytes, bytes);
			if ((int)p->gvar->type->type != FL_SELECTED_ROWS)
				add_to(&out->send_bytes, bytes);
			if (!p->remote)
				add_to(&out->recv_bytes, bytes);
		}
	for (size_t i = 0; t->table && i < out->n_servers; i++)
		add_to(&out->servers[i].param_bytes, table_bytes(t));
	if (t->table)
		add_to(&out->param_bytes, table_bytes(t) * (int64_t)out->n_servers);
	for (size_t i = 0; i < out->n_servers; i++)
		if (out->servers[i].param_bytes > out->servers[out->fullest].param_bytes)
			out->fullest = i;
	out->imbalance = out->param_bytes ? (double)out->servers[out->fullest].param_bytes *
						    (double)out->n_servers /
						    (double)out->param_bytes
					  : 1;
}

void fl_plan_release(struct fl_plan *plan)
{
	fl_free(plan->servers);
	memset(plan, 0, sizeof *plan);
}

/* ---- JSON ---------------------------------------------------------------------------------------- */

static void put_text(struct fl_buf *out, const char *s)
{
	fl_buf_addc(out, '"');
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '"' || c == '\\')
			fl_buf_addf(out, "\\%c", c);
		else if (c < 0x20 || c == 0x7f)
			fl_buf_addf(out, "\\u%04x", c);
		else
			fl_buf_addc(out, (char)c);
	}
	fl_buf_addc(out, '"');
}

static void put_dims(struct fl_buf *out, const fl_pb_tensor *t, int64_t rows)
{
	fl_buf_addc(out, '[');
	for (size_t i = 0; t && i < t->n_dims; i++)
		fl_buf_addf(out, "%s%lld", i ? "," : "",
			(long long)(!i && rows >= 0 ? rows : t->dims[i]));
	fl_buf_addc(out, ']');
}

static void put_block(const struct fl_transpiler *t, const struct tp_pair *p, size_t k,
	struct fl_buf *out)
{
	const struct tp_block *b = &p->blocks[k];

	fl_buf_adds(out, k ? ",\n     {" : "\n     {");
	fl_buf_addf(out, "\"id\":%zu,\"name\":", k);
	put_text(out, b->param);
	fl_buf_addf(out, ",\"offset\":%lld,\"shape\":", (long long)b->offset);
	put_dims(out, fl_var_tensor(p->pvar), b->rows);
	fl_buf_addf(out, ",\"bytes\":%lld,\"server\":%zu,\"endpoint\":",
		(long long)block_bytes(p, b), b->server);
	put_text(out, t->opts.pservers[b->server]);
	fl_buf_addc(out, '}');
}

static void put_state(const struct fl_transpiler *t, const struct tp_pair *p, struct fl_buf *out)
{
	const fl_pb_op *op = t->block->ops[p->optimizer];
	size_t n = 0;

	for (size_t i = 0; i < op->n_inputs; i++) {
		const fl_pb_slot *s = op->inputs[i];
		const fl_pb_var *v = s->n_arguments ? fl_map_get(&t->vars, s->arguments[0]) : NULL;

		if (!is_state(s) || !v)
			continue;
		fl_buf_adds(out, n++ ? "," : "");
		fl_buf_adds(out, "{\"slot\":");
		put_text(out, s->parameter);
		fl_buf_adds(out, ",\"name\":");
		put_text(out, v->name);
		fl_buf_adds(out, ",\"shape\":");
		put_dims(out, fl_var_tensor(v), -1);
		fl_buf_addf(out, ",\"sliced\":%s}",
			tp_is_sliced(op->type, s->parameter) ? "true" : "false");
	}
}

static void put_param(const struct fl_transpiler *t, size_t i, struct fl_buf *out)
{
	const struct tp_pair *p = &t->pairs[i];
	const char *dtype = fl_type_name(fl_var_dtype(p->pvar));

	fl_buf_adds(out, i ? ",\n  {\"name\":" : "\n  {\"name\":");
	put_text(out, p->param);
	fl_buf_adds(out, ",\"gradient\":");
	put_text(out, p->grad);
	fl_buf_adds(out, ",\"dtype\":");
	put_text(out, dtype ? dtype : "?");
	fl_buf_adds(out, ",\"shape\":");
	put_dims(out, fl_var_tensor(p->pvar), -1);
	fl_buf_adds(out, ",\"optimizer\":");
	put_text(out, t->block->ops[p->optimizer]->type);
	fl_buf_addf(out, ",\"sparse\":%s,\"fetched_by_row\":%s,\"state\":[",
		(int)p->gvar->type->type == FL_SELECTED_ROWS ? "true" : "false",
		p->remote ? "true" : "false");
	put_state(t, p, out);
	fl_buf_adds(out, "],\n   \"blocks\":[");
	for (size_t k = 0; k < p->n; k++)
		put_block(t, p, k, out);
	fl_buf_adds(out, "]}");
}

static void put_servers(const struct fl_plan *plan, struct fl_buf *out)
{
	for (size_t i = 0; i < plan->n_servers; i++) {
		const struct fl_plan_server *s = &plan->servers[i];

		fl_buf_addf(out, "%s\n  {\"id\":%zu,\"endpoint\":", i ? "," : "", i);
		put_text(out, s->endpoint);
		fl_buf_addf(out,
			",\"blocks\":%zu,\"parameter_bytes\":%lld,\"state_bytes\":%lld}",
			s->blocks, (long long)s->param_bytes, (long long)s->state_bytes);
	}
}

/* Six digits after the point, with a point whatever the locale. */
static void put_ratio(struct fl_buf *out, double v)
{
	long long millionths = (long long)(v * 1e6 + 0.5);

	fl_buf_addf(out, "%lld.%06lld", millionths / 1000000, millionths % 1000000);
}

void fl_plan_json(const struct fl_transpiler *t, struct fl_buf *out)
{
	const struct fl_transpile_opts *o = &t->opts;
	struct fl_plan plan;

	fl_plan_make(t, &plan);
	fl_buf_addf(out, "{\"format\":1,\"mode\":\"%s\",\"trainers\":%d,\"distributed_mode\":%d,\n",
		fl_dist_mode_name(o->mode), o->trainers, t->dist_mode);
	fl_buf_addf(out,
		" \"slice_var_up\":%s,\"min_block_size\":%lld,\"split_method\":\"%s\",\"random_seed\":"
		"%lld,\n \"enable_dc_asgd\":%s,\"runtime_split_send_recv\":%s,\"lr_steps\":\"%s\",\n",
		o->slice_var_up ? "true" : "false", (long long)o->min_block_size,
		fl_split_method_name(o->split_method), (long long)o->random_seed,
		o->enable_dc_asgd ? "true" : "false", t->rs ? "true" : "false",
		fl_lr_steps_name(o->lr_steps));
	fl_buf_addf(out, " \"parameter_bytes\":%lld,\"send_bytes_per_step\":%lld,"
			 "\"receive_bytes_per_step\":%lld,\"imbalance\":",
		(long long)plan.param_bytes, (long long)plan.send_bytes,
		(long long)plan.recv_bytes);
	put_ratio(out, plan.imbalance);
	fl_buf_adds(out, ",\n \"servers\":[");
	put_servers(&plan, out);
	fl_buf_adds(out, "],\n \"parameters\":[");
	for (size_t i = 0; i < t->n_pairs; i++)
		put_param(t, i, out);
	fl_buf_addc(out, ']');
	if (t->table) {
		fl_buf_adds(out, ",\n \"distributed_table\":{\"name\":");
		put_text(out, t->table->param);
		fl_buf_adds(out, ",\"shape\":");
		put_dims(out, fl_var_tensor(t->table->pvar), -1);
		fl_buf_addf(out, ",\"bytes_per_server\":%lld}", (long long)table_bytes(t));
	}
	fl_buf_adds(out, "}\n");
	fl_plan_release(&plan);
}

/* ---- for people ---------------------------------------------------------------------------------- */

static const char *human(int64_t bytes, char *buf, size_t size)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	long long tenths = bytes;
	size_t u = 0;

	if (bytes < 1024) {
		snprintf(buf, size, "%lld B", (long long)bytes);
		return buf;
	}
	while (u + 1 < FL_COUNT(units) && (u == 0 ? tenths >= 1024 : tenths >= 10240)) {
		tenths = u == 0 ? tenths * 10 / 1024 : tenths / 1024;
		u++;
	}
	snprintf(buf, size, "%lld.%lld %s", tenths / 10, tenths % 10, units[u]);
	return buf;
}

static int width_of(const struct fl_transpiler *t)
{
	size_t w = 9;

	for (size_t i = 0; i < t->n_pairs; i++)
		for (size_t k = 0; k < t->pairs[i].n; k++)
			if (strlen(t->pairs[i].blocks[k].param) > w)
				w = strlen(t->pairs[i].blocks[k].param);
	return w > 60 ? 60 : (int)w;
}

static void put_shape(const struct tp_pair *p, const struct tp_block *b, char *buf, size_t size)
{
	const fl_pb_tensor *t = fl_var_tensor(p->pvar);
	size_t at = 0;

	buf[0] = 0;
	for (size_t i = 0; i < t->n_dims && at < size; i++)
		at += (size_t)snprintf(buf + at, size - at, "%s%lld", i ? "x" : "",
			(long long)(i ? t->dims[i] : b->rows));
}

void fl_plan_table(const struct fl_transpiler *t, struct fl_buf *out)
{
	int w = width_of(t);
	char shape[96], bytes[32];

	fl_buf_addf(out, "%-*s  %-16s  %10s  %10s  %s\n", w, "BLOCK", "SHAPE", "OFFSET", "BYTES",
		"SERVER");
	for (size_t i = 0; i < t->n_pairs; i++)
		for (size_t k = 0; k < t->pairs[i].n; k++) {
			const struct tp_pair *p = &t->pairs[i];
			const struct tp_block *b = &p->blocks[k];

			put_shape(p, b, shape, sizeof shape);
			fl_buf_addf(out, "%-*s  %-16s  %10lld  %10s  %s\n", w, b->param, shape,
				(long long)b->offset, human(block_bytes(p, b), bytes, sizeof bytes),
				t->opts.pservers[b->server]);
		}
	fl_buf_addc(out, '\n');
	fl_plan_summary(t, out);
}

static void put_warnings(const struct fl_transpiler *t, const struct fl_plan *plan,
	struct fl_buf *out)
{
	size_t idle = 0;

	for (size_t i = 0; i < plan->n_servers; i++)
		idle += !plan->servers[i].blocks;
	if (idle)
		fl_buf_addf(out, "warning: %zu of %zu servers hold no parameter; %zu are enough\n",
			idle, plan->n_servers, plan->n_servers - idle);
	if (plan->imbalance > UNEVEN) {
		fl_buf_addf(out, "warning: %s holds ", plan->servers[plan->fullest].endpoint);
		put_ratio(out, plan->imbalance);
		fl_buf_addf(out, " times the mean%s\n",
			t->opts.slice_var_up ? "; more or larger parameters, or fewer servers, spread "
					       "better"
					     : "; without --no-slice-var-up it is cut into blocks");
	}
}

void fl_plan_summary(const struct fl_transpiler *t, struct fl_buf *out)
{
	struct fl_plan plan;
	char a[32], b[32];
	size_t w = 6;

	fl_plan_make(t, &plan);
	for (size_t i = 0; i < plan.n_servers; i++)
		if (strlen(plan.servers[i].endpoint) > w)
			w = strlen(plan.servers[i].endpoint);
	fl_buf_addf(out, "mode %s, %d %s, %zu %s; %zu parameters in %zu blocks, %s\n",
		fl_dist_mode_name(t->opts.mode), t->opts.trainers,
		t->opts.trainers == 1 ? "trainer" : "trainers", plan.n_servers,
		plan.n_servers == 1 ? "server" : "servers", plan.n_params, plan.n_blocks,
		human(plan.param_bytes, a, sizeof a));
	for (size_t i = 0; i < plan.n_servers; i++)
		fl_buf_addf(out, "  %-*s  %6zu blocks  %10s parameters  %10s state\n", (int)w,
			plan.servers[i].endpoint, plan.servers[i].blocks,
			human(plan.servers[i].param_bytes, a, sizeof a),
			human(plan.servers[i].state_bytes, b, sizeof b));
	fl_buf_addf(out, "a step of a trainer sends %s and receives %s%s\n",
		human(plan.send_bytes, a, sizeof a), human(plan.recv_bytes, b, sizeof b),
		plan.send_bytes != plan.param_bytes ? ", and the rows of sparse parameters" : "");
	put_warnings(t, &plan, out);
	fl_plan_release(&plan);
}
