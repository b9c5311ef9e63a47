/*
 * Across the roles of one transpiled folder. What must hold (release 1.8.5, runtime.md):
 *   - the server at the endpoint that a send or recv names has a variable of the name on the wire
 *     (attribute send_varnames or recv_varnames, else the arguments); one name with several endpoints
 *     goes to all of them (the counter of the learning rate);
 *   - a synchronous server waits for each trainer's gradients under the names in its X list;
 *   - each gradient that a server's optimize blocks wait for is sent by each trainer;
 *   - the blocks of a parameter that a trainer receives hold all of its elements;
 *   - a synchronous server needs a send_barrier of each trainer, and answers with the fetch_barrier;
 *     an asynchronous one knows no barrier (half_async barriers are the trainer's own).
 * Geo-SGD names its variables in no program: such folders are checked for endpoints only.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "desc/names.h"
#include "desc/query.h"
#include "inspect/check.h"

enum mode { MODE_SYNC = 0, MODE_GEO = 3 };

struct server {
	struct fl_place at;
	const fl_pb_op *op;
	const char *endpoint;
	int mode;
	struct fl_map waits; /* names of its X list */
	struct fl_map grads; /* gradients of its optimize blocks */
	struct fl_map vars;  /* variables of block 0 */
};

struct trainer {
	struct fl_place at;
	const fl_pb_program *pb;
	int64_t id;
	bool main;
	struct fl_map sent; /* "endpoint gradient" */
};

struct roles {
	struct server *servers;
	struct trainer *trainers;
	size_t n_servers, n_trainers;
	struct fl_map by_endpoint;
	bool geo;
	struct fl_report *r;
};

/* ---- who is who ---------------------------------------------------------------------------------- */

/* "trainer-12.main.pb" (or "trainer12.main.pb"): 12; -1 when it is another file. */
static int64_t role_number(const char *path, const char *role, const char *kind)
{
	const char *slash = strrchr(path, '/'), *s = slash ? slash + 1 : path;
	size_t n = strlen(role);
	char *end;
	long v;

	if (strncmp(s, role, n))
		return -1;
	s += n + (s[n] == '-');
	if (*s < '0' || *s > '9')
		return -1;
	v = strtol(s, &end, 10);
	return strcmp(end, kind) ? -1 : v;
}

static int mode_of(const fl_pb_op *op)
{
	if (fl_op_attr(op, "distributed_mode"))
		return (int)fl_attr_int(op, "distributed_mode", 0);
	return fl_attr_bool(op, "sync_mode", true) ? MODE_SYNC : MODE_SYNC + 1;
}

/* "gradient:block" */
static void add_grad(struct roles *all, struct server *s, const fl_pb_program *pb, const char *entry)
{
	const char *colon = strchr(entry, ':');
	char *name, *end;
	long block;

	block = colon ? strtol(colon + 1, &end, 10) : -1;
	if (!colon || end == colon + 1 || *end || block < 0 || (size_t)block >= pb->n_blocks) {
		fl_report_problem(all->r, &s->at, "grad_to_block_id: '%.100s' names no block", entry);
		return;
	}
	name = fl_xstrndup(entry, (size_t)(colon - entry));
	if (fl_map_has(&s->grads, name))
		fl_report_problem(all->r, &s->at, "grad_to_block_id: gradient '%.100s' has two blocks",
			name);
	fl_map_put(&s->grads, name, NULL);
	fl_free(name);
}

static void add_server(struct roles *all, const struct fl_role_file *file)
{
	const fl_pb_block *block = file->pb->blocks[0];
	struct server *s = &all->servers[all->n_servers];
	const struct server *other;
	const fl_pb_slot *x;

	*s = (struct server){ .at = { file->name, 0, 0, NULL, false } };
	for (size_t i = 0; i < block->n_ops && !s->op; i++)
		if (!strcmp(block->ops[i]->type, "listen_and_serv")) {
			s->op = s->at.op = block->ops[i];
			s->at.op_idx = i;
		}
	if (!s->op) {
		fl_report_problem(all->r, &s->at, "a server without operator 'listen_and_serv'");
		return;
	}
	all->n_servers++;
	s->endpoint = fl_attr_str(s->op, "endpoint", "");
	s->mode = mode_of(s->op);
	all->geo |= s->mode == MODE_GEO;
	fl_index_vars(block, &s->vars);
	x = fl_op_input(s->op, "X");
	for (size_t i = 0; x && i < x->n_arguments; i++)
		fl_map_put(&s->waits, x->arguments[i], NULL);
	for (size_t i = 0; i < fl_attr_len(s->op, "grad_to_block_id"); i++)
		add_grad(all, s, file->pb, fl_attr_str_at(s->op, "grad_to_block_id", i));
	other = fl_map_get(&all->by_endpoint, s->endpoint);
	if (other)
		fl_report_problem(all->r, &s->at, "its endpoint '%.100s' is that of %.100s, too",
			s->endpoint, other->at.name);
	fl_map_put(&all->by_endpoint, s->endpoint, s);
}

/* ---- sends and receives -------------------------------------------------------------------------- */

/* The length without ".trainer_N" and ".pserver_N" at the end. */
static size_t base_len(const char *name)
{
	size_t n = strlen(name);

	for (;;) {
		size_t d = n;

		while (d && name[d - 1] >= '0' && name[d - 1] <= '9')
			d--;
		if (d < n && d >= 9 && (!strncmp(name + d - 9, FL_TRAINER_INFIX, 9) ||
					       !strncmp(name + d - 9, ".pserver_", 9)))
			n = d - 9;
		else
			return n;
	}
}

/* The names on the wire. */
struct names {
	const fl_pb_attr *attr; /* where they stand in an attribute */
	const fl_pb_slot *slot;
	size_t n;
};

static struct names wire_names(const fl_pb_op *op, const char *attr, const fl_pb_slot *slot)
{
	struct names v = { NULL, slot, slot ? slot->n_arguments : 0 };

	if (fl_attr_len(op, attr)) {
		v.attr = fl_op_attr(op, attr);
		v.n = fl_attr_len(op, attr);
	}
	return v;
}

static const char *name_at(const fl_pb_op *op, const struct names *v, size_t i)
{
	return v->attr ? fl_attr_str_at(op, v->attr->name, i) : v->slot->arguments[i];
}

static void note_sent(struct trainer *t, const char *endpoint, const char *base)
{
	char *key = fl_xstrfmt("%s %s", endpoint, base);

	fl_map_put(&t->sent, key, NULL);
	fl_free(key);
}

static void check_send(struct roles *all, struct trainer *t, const struct server *s,
	const char *name)
{
	char *base = fl_xstrndup(name, base_len(name));
	bool is_grad = fl_map_has(&s->grads, base), is_table = strstr(name, ".pserver_") != NULL;

	note_sent(t, s->endpoint, base);
	note_sent(t, s->endpoint, name);
	if (!fl_map_has(&s->vars, name) && !fl_map_has(&s->vars, base))
		fl_report_problem(all->r, &t->at, "'%.100s' is sent to %.60s, which has no such variable",
			name, s->endpoint);
	else if (s->mode == MODE_SYNC && is_grad && !is_table && !fl_map_has(&s->waits, name))
		fl_report_problem(all->r, &t->at,
			"'%.100s' is sent to %.60s, which waits for it under another name", name,
			s->endpoint);
	fl_free(base);
}

static void check_recv(struct roles *all, struct trainer *t, const struct server *s,
	const char *name)
{
	if (!fl_map_has(&s->vars, name))
		fl_report_problem(all->r, &t->at,
			"'%.100s' is received from %.60s, which has no such variable", name, s->endpoint);
}

static int64_t elements(const fl_pb_var *v)
{
	const fl_pb_tensor *t = v ? fl_var_tensor(v) : NULL;
	size_t n = 1;

	for (size_t i = 0; t && i < t->n_dims; i++)
		if (t->dims[i] < 0 || !fl_mul_size(n, (size_t)t->dims[i], &n))
			return -1;
	return t && t->n_dims && n <= INT64_MAX ? (int64_t)n : -1;
}

/* "w.block0", "w.block1", ...: together they hold all of w. */
static void check_cover(struct roles *all, struct trainer *t, const fl_pb_op *op,
	const struct names *v)
{
	const char *first = v->n ? name_at(op, v, 0) : "", *dot = strstr(first, FL_BLOCK_INFIX);
	char *param = fl_xstrndup(first, dot ? (size_t)(dot - first) : 0);
	int64_t whole = dot ? elements(fl_block_var(t->pb->blocks[0], param)) : -1, sum = 0;

	for (size_t i = 0; i < v->n && sum >= 0; i++) {
		const struct server *s =
			fl_map_get(&all->by_endpoint, fl_attr_str_at(op, "epmap", i));
		int64_t n = s ? elements(fl_map_get(&s->vars, name_at(op, v, i))) : -1;

		sum = n < 0 ? -1 : sum + n;
	}
	if (whole >= 0 && sum >= 0 && whole != sum)
		fl_report_problem(all->r, &t->at,
			"the blocks of '%.100s' hold %" PRId64 " elements, it has %" PRId64, param, sum,
			whole);
	fl_free(param);
}

static void check_transfer(struct roles *all, struct trainer *t, const fl_pb_op *op, bool send)
{
	struct names v = send ? wire_names(op, "send_varnames", fl_op_input(op, "X"))
			      : wire_names(op, "recv_varnames", fl_op_output(op, "Out"));
	size_t n = fl_attr_len(op, "epmap");
	bool to_all = send && v.n == 1;

	if (all->geo && send)
		return;
	if (v.n != n && !to_all) {
		fl_report_problem(all->r, &t->at, "%zu variables for %zu endpoints in epmap", v.n, n);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		const char *endpoint = fl_attr_str_at(op, "epmap", i);
		const char *name = name_at(op, &v, to_all ? 0 : i);
		const struct server *s = fl_map_get(&all->by_endpoint, endpoint);

		if (!s)
			fl_report_problem(all->r, &t->at, "'%.100s' goes to '%.60s', where no server is",
				name, endpoint);
		else if (send)
			check_send(all, t, s, name);
		else
			check_recv(all, t, s, name);
	}
	if (!send)
		check_cover(all, t, op, &v);
}

/* ---- barriers ------------------------------------------------------------------------------------ */

static bool names_endpoint(const fl_pb_op *op, const char *endpoint)
{
	for (size_t i = 0; i < fl_attr_len(op, "endpoints"); i++)
		if (!strcmp(fl_attr_str_at(op, "endpoints", i), endpoint))
			return true;
	return false;
}

/* Does an operator of that type name the endpoint? *half: one that is the trainer's own. */
static bool has_barrier(const struct trainer *t, const char *type, const char *endpoint, bool *half)
{
	for (size_t b = 0; b < t->pb->n_blocks; b++)
		for (size_t i = 0; i < t->pb->blocks[b]->n_ops; i++) {
			const fl_pb_op *op = t->pb->blocks[b]->ops[i];

			if (strcmp(op->type, type) || !names_endpoint(op, endpoint))
				continue;
			*half = fl_attr_bool(op, "half_async", false);
			return true;
		}
	return false;
}

static void check_barriers(struct roles *all, struct trainer *t, const struct server *s)
{
	bool half = false, unused, sends, fetches;
	struct fl_place at = { t->at.name, -1, 0, NULL, false };

	sends = has_barrier(t, "send_barrier", s->endpoint, &half);
	fetches = has_barrier(t, "fetch_barrier", s->endpoint, &unused);
	if (s->mode == MODE_SYNC && !sends)
		fl_report_problem(all->r, &at,
			"no send_barrier for %.60s, which is synchronous and would wait for ever",
			s->endpoint);
	if (s->mode != MODE_SYNC && sends && !half)
		fl_report_problem(all->r, &at, "a send_barrier for %.60s, which is not synchronous",
			s->endpoint);
	if (sends && !half && !fetches)
		fl_report_problem(all->r, &at, "a send_barrier for %.60s without a fetch_barrier",
			s->endpoint);
	if (!sends && fetches)
		fl_report_problem(all->r, &at, "a fetch_barrier for %.60s without a send_barrier",
			s->endpoint);
}

static void check_barrier_endpoints(struct roles *all, struct trainer *t, const fl_pb_op *op)
{
	for (size_t i = 0; i < fl_attr_len(op, "endpoints"); i++) {
		const char *endpoint = fl_attr_str_at(op, "endpoints", i);

		if (!fl_map_has(&all->by_endpoint, endpoint))
			fl_report_problem(all->r, &t->at, "it names '%.60s', where no server is",
				endpoint);
	}
}

/* ---- all of it ----------------------------------------------------------------------------------- */

static void check_trainer_op(struct roles *all, struct trainer *t, const fl_pb_op *op)
{
	bool send = !strcmp(op->type, "send"), recv = !strcmp(op->type, "recv");
	bool barrier = !strcmp(op->type, "send_barrier") || !strcmp(op->type, "fetch_barrier");

	if (send || recv)
		check_transfer(all, t, op, send);
	if (barrier)
		check_barrier_endpoints(all, t, op);
	/* the real transpiler sets it on recv and the barriers only */
	if ((recv || barrier) && fl_op_attr(op, "trainer_id") &&
		fl_attr_int(op, "trainer_id", 0) != t->id)
		fl_report_problem(all->r, &t->at, "trainer_id is %" PRId64 " in the file of trainer %" PRId64,
			fl_attr_int(op, "trainer_id", 0), t->id);
}

static void check_trainer(struct roles *all, struct trainer *t)
{
	for (size_t b = 0; b < t->pb->n_blocks; b++)
		for (size_t i = 0; i < t->pb->blocks[b]->n_ops; i++) {
			t->at.block = (int)b;
			t->at.op_idx = i;
			t->at.op = t->pb->blocks[b]->ops[i];
			check_trainer_op(all, t, t->at.op);
		}
	for (size_t i = 0; i < all->n_servers && t->main && !all->geo; i++)
		check_barriers(all, t, &all->servers[i]);
}

/* Each gradient that a server waits for is sent by each trainer. */
static void check_server(struct roles *all, struct server *s, size_t n_main)
{
	int64_t fanin = fl_attr_int(s->op, "Fanin", 1);

	if (fanin != (int64_t)n_main)
		fl_report_problem(all->r, &s->at, "it waits for %" PRId64 " trainers, the folder has %zu",
			fanin, n_main);
	for (size_t i = 0; i < all->n_trainers && !all->geo; i++) {
		const struct trainer *t = &all->trainers[i];

		if (!t->main)
			continue;
		FL_MAP_EACH(e, &s->grads) {
			char *key = fl_xstrfmt("%s %s", s->endpoint, e->key);

			if (!fl_map_has(&t->sent, key))
				fl_report_problem(all->r, &s->at,
					"it waits for gradient '%.100s', which %.100s does not send", e->key,
					t->at.name);
			fl_free(key);
		}
	}
}

static void sort_out(struct roles *all, const struct fl_role_file *files, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int64_t main_id = role_number(files[i].name, "trainer", ".main.pb");
		int64_t startup_id = role_number(files[i].name, "trainer", ".startup.pb");

		if (role_number(files[i].name, "pserver", ".main.pb") >= 0)
			add_server(all, &files[i]);
		if (main_id >= 0 || startup_id >= 0)
			all->trainers[all->n_trainers++] = (struct trainer){
				.at = { files[i].name, 0, 0, NULL, false }, .pb = files[i].pb,
				.id = main_id >= 0 ? main_id : startup_id, .main = main_id >= 0 };
	}
}

static void release(struct roles *all)
{
	for (size_t i = 0; i < all->n_servers; i++) {
		fl_map_release(&all->servers[i].waits);
		fl_map_release(&all->servers[i].grads);
		fl_map_release(&all->servers[i].vars);
	}
	for (size_t i = 0; i < all->n_trainers; i++)
		fl_map_release(&all->trainers[i].sent);
	fl_map_release(&all->by_endpoint);
	fl_free(all->servers);
	fl_free(all->trainers);
}

void fl_check_roles(const struct fl_role_file *files, size_t n, struct fl_report *r)
{
	struct roles all = { .r = r };
	size_t n_main = 0;

	all.servers = FL_NEW_N(struct server, n + 1);
	all.trainers = FL_NEW_N(struct trainer, n + 1);
	sort_out(&all, files, n);
	for (size_t i = 0; i < all.n_trainers; i++)
		n_main += all.trainers[i].main;
	/* one kind of role alone has no partners to be checked with */
	if (all.n_servers && n_main) {
		for (size_t i = 0; i < all.n_trainers; i++)
			check_trainer(&all, &all.trainers[i]);
		for (size_t i = 0; i < all.n_servers; i++)
			check_server(&all, &all.servers[i], n_main);
	}
	release(&all);
}
