/*
 * Calls of real trainers, sent to our servers byte for byte; each reply must say what the real
 * server's said. A call is sent when every call of the same trainer that had ended before it began
 * in the recording has ended here too; in async cases, and around COMPLETE, calls of all trainers
 * count. So parallel calls stay parallel, and barriers may wait for each other.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include <grpc/byte_buffer_reader.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/slice.h>
#include <grpc/support/alloc.h>
#include <grpc/support/time.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/wire.h"
#include "desc/proto.h"
#include "recordings/recordings.h"
#include "rpc/bytes.h"
#include "tensor/dtype.h"

#define MAX_SERVERS 4
#define MAX_CLIENTS 8
#define CALL_SECONDS 30

/* ---- VariableMessage, decoded without our codec ---- */

enum { NAME = 1, TYPE, DATA_TYPE, DIMS, LOD_LEVEL, LOD, HEIGHT, SERIALIZED, ROWS, OUT_NAME, PROFILE,
	TRAINER, TABLE, N_FIELDS };

struct message {
	uint64_t number[N_FIELDS];
	struct fl_buf text[N_FIELDS]; /* bytes of length-delimited fields; dims one after the other */
};

static bool decode(const void *data, size_t n, struct message *m)
{
	struct fl_wire w = { data, (const uint8_t *)data + n };
	struct fl_wire_field f;
	int more;

	*m = (struct message){ 0 };
	while ((more = fl_wire_next(&w, &f)) > 0) {
		if (f.number >= N_FIELDS)
			return false;
		if (f.type == FL_WIRE_VARINT && f.number == DIMS)
			fl_wire_put_varint(&m->text[DIMS], f.value); /* unpacked */
		else if (f.type == FL_WIRE_VARINT)
			m->number[f.number] = f.value;
		else if (f.type == FL_WIRE_LEN)
			fl_buf_add(&m->text[f.number], f.bytes, f.len);
		else
			return false;
	}
	return !more;
}

static void drop(struct message *m)
{
	for (int i = 0; i < N_FIELDS; i++)
		fl_buf_release(&m->text[i]);
}

static bool same_text(const struct message *a, const struct message *b, int field)
{
	const struct fl_buf *x = &a->text[field], *y = &b->text[field];

	return x->len == y->len && (!x->len || !memcmp(x->data, y->data, x->len));
}

static bool near(double got, double want)
{
	if (isnan(want) || isnan(got))
		return isnan(want) && isnan(got);
	return got == want || fabs(got - want) <= 1e-6 + 1e-5 * fabs(want);
}

/* Values of one row, or of the whole tensor. */
static bool same_values(int dtype, const char *g, const char *w, size_t bytes)
{
	if (dtype != FL_FP32 && dtype != FL_FP64)
		return !memcmp(g, w, bytes);
	for (size_t at = 0; at < bytes; at += fl_dtype_size(dtype)) {
		float x, y;
		double u, v;

		memcpy(&x, g + at, sizeof x);
		memcpy(&y, w + at, sizeof y);
		if (dtype == FL_FP32 && !near(x, y))
			return false;
		if (dtype == FL_FP32)
			continue;
		memcpy(&u, g + at, sizeof u);
		memcpy(&v, w + at, sizeof v);
		if (!near(u, v))
			return false;
	}
	return true;
}

/* SelectedRows may come in any order: each recorded row is found once. */
static bool same_rows(int dtype, const struct message *g, const struct message *w)
{
	size_t n = w->text[ROWS].len / 8, bytes = n ? w->text[SERIALIZED].len / n : 0;
	bool *taken, ok = g->text[ROWS].len == w->text[ROWS].len;

	if (!ok || !n || g->text[SERIALIZED].len != w->text[SERIALIZED].len)
		return ok && !n;
	taken = FL_NEW_N(bool, n);
	for (size_t i = 0; ok && i < n; i++) {
		size_t k = 0;

		while (k < n && (taken[k] || memcmp(g->text[ROWS].data + 8 * k,
						     w->text[ROWS].data + 8 * i, 8) ||
					!same_values(dtype, g->text[SERIALIZED].data + bytes * k,
						w->text[SERIALIZED].data + bytes * i, bytes)))
			k++;
		ok = k < n;
		if (ok)
			taken[k] = true;
	}
	fl_free(taken);
	return ok;
}

/* What differs, or NULL. *values: only element values do. */
static const char *differ(const struct message *g, const struct message *w, bool *values)
{
	static const int texts[] = { NAME, DIMS, LOD, OUT_NAME, TABLE };
	static const int numbers[] = { TYPE, DATA_TYPE, LOD_LEVEL, HEIGHT, PROFILE };
	int dtype = (int)w->number[DATA_TYPE];

	*values = false;
	for (size_t i = 0; i < FL_COUNT(texts); i++)
		if (!same_text(g, w, texts[i]))
			return texts[i] == NAME ? "another name" :
				texts[i] == DIMS ? "other dims" : "another LoD or name";
	for (size_t i = 0; i < FL_COUNT(numbers); i++)
		if (g->number[numbers[i]] != w->number[numbers[i]])
			return "another type, level or height";
	if (g->text[SERIALIZED].len != w->text[SERIALIZED].len)
		return "a payload of another size";
	*values = true;
	if (w->text[ROWS].len || g->text[ROWS].len)
		return same_rows(dtype, g, w) ? NULL : "other rows";
	return same_values(dtype, fl_buf_str(&g->text[SERIALIZED]), fl_buf_str(&w->text[SERIALIZED]),
		       w->text[SERIALIZED].len) ? NULL : "other values";
}

/* ---- the calls ---- */

struct call {
	int client, server, status;
	double start, end; /* ticks of the recording's clock; end INFINITY: never ended */
	bool complete, sends, payload;
	const char *method, *var, *request, *reply; /* borrowed from the JSON, or NULL */
	bool begun, done;
	/* on its way */
	grpc_call *call;
	grpc_byte_buffer *sent, *got;
	grpc_metadata_array first, last;
	grpc_status_code code;
	grpc_slice details;
};

struct replay {
	const struct rec_case *c;
	bool everyone; /* async: calls of all trainers wait for each other */
	struct call *at; /* owned */
	size_t n, differ;
	grpc_channel *channel[MAX_CLIENTS][MAX_SERVERS];
	grpc_completion_queue *cq;
	struct fl_buf *why;
};

static const char *file_of(const cJSON *o, const char *key)
{
	return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(o, key));
}

static void read_calls(struct replay *r, const cJSON *calls, size_t until)
{
	const cJSON *o;

	r->at = FL_NEW_N(struct call, (size_t)cJSON_GetArraySize(calls) + 1);
	cJSON_ArrayForEach(o, calls)
	{
		const cJSON *fields = cJSON_GetObjectItemCaseSensitive(o, "request_fields");
		struct call *c = &r->at[r->n];

		if (r->n >= until)
			break;
		r->n++;
		c->client = (int)rec_num(o, "client", 0) % MAX_CLIENTS;
		c->server = (int)rec_num(o, "server", 0) % MAX_SERVERS;
		c->status = (int)rec_num(o, "status", 0);
		c->start = rec_num(o, "start", 0);
		c->end = rec_num(o, "end", INFINITY);
		c->method = rec_str(o, "method", "");
		c->var = rec_str(fields, "varname", "");
		c->complete = !strcmp(c->var, "COMPLETE@RECV");
		c->sends = !strcmp(c->method, "SendVariable");
		c->payload = cJSON_HasObjectItem(fields, "serialized_bytes");
		c->request = file_of(o, "request");
		c->reply = file_of(o, "reply");
	}
}

static bool may_begin(const struct replay *r, const struct call *b)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct call *a = &r->at[i];
		bool counts = a->client == b->client || r->everyone || a->complete || b->complete;

		if (counts && a->end < b->start && !a->done)
			return false;
	}
	return true;
}

/* A Get while some trainer's Send was on its way in the recording: either value is right. */
static bool racy(const struct replay *r, const struct call *c)
{
	for (size_t i = 0; i < r->n && !c->sends; i++) {
		const struct call *a = &r->at[i];

		if (a->sends && a->payload && a->server == c->server && a->start < c->end &&
			c->start < a->end)
			return true;
	}
	return false;
}

static void begin(struct replay *r, struct call *c)
{
	grpc_op ops[6] = { 0 };
	struct fl_buf body = FL_BUF_INIT;
	struct fl_err err = { 0 };
	grpc_slice method = grpc_slice_from_copied_string(
		fl_arena_strfmt(r->c->arena, "/sendrecv.SendRecvService/%s", c->method));

	c->begun = true;
	if (c->request && fl_file_read(rec_in(r->c, "%s", c->request), 0, &body, &err))
		fl_buf_addf(r->why, "%s; ", err.msg);
	c->sent = fl_bytes_of(fl_buf_str(&body), body.len);
	fl_buf_release(&body);
	c->call = grpc_channel_create_call(r->channel[c->client][c->server], NULL,
		GRPC_PROPAGATE_DEFAULTS, r->cq, method, NULL,
		gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
			gpr_time_from_seconds(CALL_SECONDS, GPR_TIMESPAN)), NULL);
	grpc_slice_unref(method);
	ops[0].op = GRPC_OP_SEND_INITIAL_METADATA;
	ops[0].flags = GRPC_INITIAL_METADATA_WAIT_FOR_READY;
	ops[1].op = GRPC_OP_SEND_MESSAGE;
	ops[1].data.send_message.send_message = c->sent;
	ops[2].op = GRPC_OP_SEND_CLOSE_FROM_CLIENT;
	ops[3].op = GRPC_OP_RECV_INITIAL_METADATA;
	ops[3].data.recv_initial_metadata.recv_initial_metadata = &c->first;
	ops[4].op = GRPC_OP_RECV_MESSAGE;
	ops[4].data.recv_message.recv_message = &c->got;
	ops[5].op = GRPC_OP_RECV_STATUS_ON_CLIENT;
	ops[5].data.recv_status_on_client.trailing_metadata = &c->last;
	ops[5].data.recv_status_on_client.status = &c->code;
	ops[5].data.recv_status_on_client.status_details = &c->details;
	if (grpc_call_start_batch(c->call, ops, 6, c, NULL) != GRPC_CALL_OK)
		FL_BUG("a batch of the replay is malformed");
}

static void check_reply(struct replay *r, struct call *c)
{
	struct fl_bytes got = { .buffer = c->got };
	struct fl_buf a = FL_BUF_INIT, b = FL_BUF_INIT;
	struct fl_err err = { 0 };
	struct message g = { 0 }, w = { 0 };
	const char *text;
	bool values = false;

	c->got = NULL;
	fl_bytes_open(&got);
	for (size_t i = 0; i < got.n; i++)
		fl_buf_add(&a, got.spans[i].p, got.spans[i].n);
	if (c->reply && fl_file_read(rec_in(r->c, "%s", c->reply), 0, &b, &err))
		text = err.msg;
	else if (!decode(fl_buf_str(&b), b.len, &w) || !decode(fl_buf_str(&a), a.len, &g))
		text = "no message";
	else
		text = differ(&g, &w, &values);
	if (text && !(values && racy(r, c)))
		fl_buf_addf(r->why, "call %03zu %s %s: %s; ", (size_t)(c - r->at), c->method, c->var, text);
	drop(&g);
	drop(&w);
	fl_buf_release(&a);
	fl_buf_release(&b);
	fl_bytes_release(&got);
}

static void end(struct replay *r, struct call *c)
{
	char *said = fl_slice_str(c->details);

	c->done = true;
	if ((int)c->code != c->status)
		fl_buf_addf(r->why, "call %03zu %s %s: status %d '%s', not %d; ",
			(size_t)(c - r->at), c->method, c->var, (int)c->code, said, c->status);
	else if (!c->status)
		check_reply(r, c);
	fl_free(said);
	grpc_slice_unref(c->details);
	grpc_metadata_array_destroy(&c->first);
	grpc_metadata_array_destroy(&c->last);
	grpc_byte_buffer_destroy(c->sent);
	if (c->got)
		grpc_byte_buffer_destroy(c->got);
	grpc_call_unref(c->call);
}

/* After a difference no more calls are begun: the rest would mean nothing. */
static void run_calls(struct replay *r)
{
	size_t running = 0, done = 0;

	do {
		for (size_t i = 0; i < r->n && !r->why->len; i++)
			if (!r->at[i].begun && may_begin(r, &r->at[i])) {
				begin(r, &r->at[i]);
				running++;
			}
		if (running) {
			grpc_event e = grpc_completion_queue_next(r->cq,
				gpr_inf_future(GPR_CLOCK_REALTIME), NULL);

			end(r, e.tag);
			running--;
			done++;
		}
	} while (running || (done < r->n && !r->why->len));
}

static void connect_all(struct replay *r, char *const *target, int servers)
{
	grpc_channel_credentials *plain = grpc_insecure_credentials_create();
	struct fl_grpc_args args = { 0 };

	fl_grpc_args_init(&args, 0);
	fl_grpc_args_int(&args, GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
	for (int i = 0; i < MAX_CLIENTS; i++)
		for (int k = 0; k < servers; k++)
			r->channel[i][k] = grpc_channel_create(target[k], plain, &args.args);
	grpc_channel_credentials_release(plain);
}

static void replay(struct replay *r, char *const *target, int servers)
{
	fl_grpc_hold();
	r->cq = grpc_completion_queue_create_for_next(NULL);
	connect_all(r, target, servers);
	run_calls(r);
	for (int i = 0; i < MAX_CLIENTS; i++)
		for (int k = 0; k < servers; k++)
			grpc_channel_destroy(r->channel[i][k]);
	grpc_completion_queue_shutdown(r->cq);
	while (grpc_completion_queue_next(r->cq, gpr_inf_future(GPR_CLOCK_REALTIME), NULL).type !=
		GRPC_QUEUE_SHUTDOWN)
		;
	grpc_completion_queue_destroy(r->cq);
	fl_grpc_rele();
}

/* ---- the servers ---- */

static void start_server(const struct rec_case *c, const cJSON *o, int k, struct rec_proc *p)
{
	const cJSON *ep = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(o, "endpoints"), k);
	struct fl_err err = { 0 };
	struct rec_args a = { 0 };

	fl_mkdirs(rec_tmp(c, "cwd%d", k), &err);
	rec_arg2(&a, rec_fluidrun, "--endpoint");
	rec_arg(&a, fl_arena_strfmt(c->arena, "%s=127.0.0.1:0", cJSON_GetStringValue(ep)));
	rec_arg2(&a, "--port-file", rec_tmp(c, "%d.port", k));
	rec_arg2(&a, "--startup", rec_in(c, "pserver%d.startup.pb", k));
	rec_arg(&a, rec_in(c, "pserver%d.main.pb", k));
	rec_start(p, fl_arena_strfmt(c->arena, "server %d", k), rec_tmp(c, "cwd%d", k), NULL,
		rec_tmp(c, "%d.err", k), &a);
}

/* Has the process ended? It stays to be waited for. */
static bool gone(pid_t pid)
{
	siginfo_t info = { 0 };

	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid;
}

/* "127.0.0.1:PORT" once the server says it; NULL when it ends, or says nothing within 20 s. */
static char *address(const struct rec_case *c, int k, pid_t pid)
{
	const struct timespec nap = { 0, 10000000 };
	const char *path = rec_tmp(c, "%d.port", k);
	double limit = fl_now() + 20;
	struct fl_buf b = FL_BUF_INIT;
	struct fl_err err = { 0 };
	char *to = NULL;

	while (!fl_is_file(path) && !gone(pid) && fl_now() < limit)
		nanosleep(&nap, NULL);
	if (fl_is_file(path) && !fl_file_read(path, 0, &b, &err))
		to = fl_arena_strfmt(c->arena, "127.0.0.1:%ld", strtol(fl_buf_str(&b), NULL, 10));
	fl_buf_release(&b);
	return to;
}

/* Have all trainers told server k that they are done? */
static bool completed(const struct replay *r, int k, int trainers)
{
	unsigned seen = 0;

	for (size_t i = 0; i < r->n; i++)
		if (r->at[i].server == k && r->at[i].complete)
			seen |= 1u << r->at[i].client;
	return trainers > 0 && seen == (1u << trainers) - 1;
}

static void run_case(struct replay *r, const cJSON *o, int servers)
{
	struct rec_proc proc[MAX_SERVERS] = { 0 };
	char *target[MAX_SERVERS];
	bool up = true;

	for (int k = 0; k < servers; k++)
		start_server(r->c, o, k, &proc[k]);
	for (int k = 0; k < servers; k++)
		up &= (target[k] = address(r->c, k, proc[k].pid)) != NULL;
	if (!up) {
		rec_wait(proc, (size_t)servers, 0.1, r->why);
		fl_buf_adds(r->why, "a server did not start; ");
		return;
	}
	replay(r, target, servers);
	for (int k = 0; k < servers && !r->why->len; k++)
		if (completed(r, k, (int)rec_num(o, "trainers", 0)))
			rec_wait(&proc[k], 1, 15, r->why);
	if (r->why->len) /* what a server that ended has to say */
		rec_wait(proc, (size_t)servers, 0.05, r->why);
	rec_kill(proc, (size_t)servers);
}

/* A file that a server wrote on CheckpointNotify, below the working directory of one of them. */
static void compare_saved(const struct rec_case *c, int servers, struct fl_buf *why)
{
	size_t n;
	char **names = rec_files(c, rec_in(c, "saved"), &n);

	for (size_t i = 0; i < n; i++) {
		const char *got = NULL;

		for (int k = 0; k < servers; k++)
			if (fl_is_file(rec_tmp(c, "cwd%d/saved/%s", k, names[i])))
				got = rec_tmp(c, "cwd%d/saved/%s", k, names[i]);
		if (!got)
			fl_buf_addf(why, "saved/%s was not written; ", names[i]);
		else
			rec_near("selected_rows", got, rec_in(c, "saved/%s", names[i]), 1e-5, 1e-6,
				names[i], why);
	}
}

bool rec_wire(const struct rec_case *c, struct fl_buf *why)
{
	cJSON *o = rec_json(rec_in(c, "case.json"), why);
	cJSON *calls = rec_json(rec_in(c, "calls.json"), why);
	struct replay r = { .c = c, .why = why, .everyone = !rec_true(o, "sync") };
	int servers = (int)rec_num(o, "pservers", 0);

	if (servers < 1 || servers > MAX_SERVERS) {
		fl_buf_adds(why, "no servers, or too many");
	} else if (calls) {
		read_calls(&r, calls, (size_t)rec_num(o, "until", 1e9));
		run_case(&r, o, servers);
		if (!why->len)
			compare_saved(c, servers, why);
	}
	fl_free(r.at);
	cJSON_Delete(o);
	cJSON_Delete(calls);
	return true;
}
