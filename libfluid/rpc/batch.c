/*
 * Batches on gRPC core. A batch has a completion queue of its own, and the calling thread does the
 * polling: no thread of ours, no hand-over. Each call is one gRPC batch of six operations and so
 * one event. A call that failed because the server was unreachable (UNAVAILABLE, as upstream) is
 * made again after a pause, with the same number; the first other failure cancels the rest, so
 * that a lost server is not hidden behind calls that other servers have parked.
 */
#include "rpc/batch.h"

#include <grpc/slice.h>
#include <grpc/status.h>
#include <grpc/support/time.h>
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "rpc/bytes.h"
#include "rpc/server.h"

enum { BACKOFF_MS = 50, BACKOFF_MAX_MS = 2000 };

enum state { IDLE, ON_ITS_WAY, PAUSED };

struct call {
	struct fl_rpc_request *r;
	enum state state;
	int tries;       /* made so far */
	double retry_at; /* PAUSED: when to go on */
	gpr_timespec deadline;
	grpc_call *call;
	grpc_byte_buffer *sent;
	struct fl_bytes reply;
	grpc_metadata_array initial, trailing;
	grpc_metadata meta[3];
	size_t n_meta;
	grpc_status_code status;
	grpc_slice details;
};

struct batch {
	const struct fl_rpc_caller *caller;
	grpc_completion_queue *cq;
	struct call *calls;
	size_t n;
	enum fl_code failed; /* the first failure */
	struct fl_err *err;
};

/* ---- one try --------------------------------------------------------------------------------- */

static enum fl_code encode(struct call *c, struct fl_err *err)
{
	struct fl_varmsg_parts parts = { 0 };

	if (c->r->var && !c->r->kind->reply_var)
		FL_TRY(fl_varmsg_encode(&c->r->msg, c->r->var, &parts, err));
	else
		fl_varmsg_encode_header(&c->r->msg, &parts.head);
	c->sent = fl_bytes_of_parts(&parts);
	return FL_OK;
}

static void add_meta(struct call *c, const char *key, char *value)
{
	grpc_metadata *m = &c->meta[c->n_meta++];

	m->key = grpc_slice_from_copied_string(key);
	m->value = grpc_slice_from_copied_string(value);
	fl_free(value);
}

static void start_ops(struct call *c, bool wait_for_server)
{
	grpc_op ops[6] = { { .op = GRPC_OP_SEND_INITIAL_METADATA }, { .op = GRPC_OP_SEND_MESSAGE },
		{ .op = GRPC_OP_SEND_CLOSE_FROM_CLIENT }, { .op = GRPC_OP_RECV_INITIAL_METADATA },
		{ .op = GRPC_OP_RECV_MESSAGE }, { .op = GRPC_OP_RECV_STATUS_ON_CLIENT } };

	ops[0].flags = GRPC_INITIAL_METADATA_WAIT_FOR_READY_EXPLICITLY_SET |
		       (wait_for_server ? GRPC_INITIAL_METADATA_WAIT_FOR_READY : 0);
	ops[0].data.send_initial_metadata.count = c->n_meta;
	ops[0].data.send_initial_metadata.metadata = c->meta;
	ops[1].data.send_message.send_message = c->sent;
	ops[3].data.recv_initial_metadata.recv_initial_metadata = &c->initial;
	ops[4].data.recv_message.recv_message = &c->reply.buffer;
	ops[5].data.recv_status_on_client.trailing_metadata = &c->trailing;
	ops[5].data.recv_status_on_client.status = &c->status;
	ops[5].data.recv_status_on_client.status_details = &c->details;
	if (grpc_call_start_batch(c->call, ops, FL_COUNT(ops), c, NULL) != GRPC_CALL_OK)
		FL_BUG("gRPC refuses a batch");
}

static enum fl_code start(struct batch *b, struct call *c, struct fl_err *err)
{
	grpc_slice path;

	FL_TRY(encode(c, err));
	if (!c->tries++)
		c->deadline = gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
			gpr_time_from_millis(b->caller->deadline_ms, GPR_TIMESPAN));
	c->n_meta = 0;
	add_meta(c, FL_KEY_REQUEST,
		fl_xstrfmt("%016" PRIx64 "-%" PRIu64, b->caller->id, c->r->number));
	add_meta(c, FL_KEY_TRAINER, fl_xstrfmt("%" PRId64, b->caller->trainer_id));
	if (b->caller->fingerprint)
		add_meta(c, FL_KEY_FINGERPRINT, fl_xstrfmt("%016" PRIx64, b->caller->fingerprint));
	grpc_metadata_array_init(&c->initial);
	grpc_metadata_array_init(&c->trailing);
	c->details = grpc_empty_slice();
	path = grpc_slice_from_static_string(c->r->kind->path);
	c->call = grpc_channel_create_call(c->r->target->channel, NULL, GRPC_PROPAGATE_DEFAULTS,
		b->cq, path, NULL, c->deadline, NULL);
	c->state = ON_ITS_WAY;
	start_ops(c, !atomic_load(&c->r->target->answered));
	return FL_OK;
}

/* Frees what a try has left behind. */
static void end_try(struct call *c)
{
	grpc_call_unref(c->call);
	grpc_byte_buffer_destroy(c->sent);
	fl_bytes_release(&c->reply);
	grpc_metadata_array_destroy(&c->initial);
	grpc_metadata_array_destroy(&c->trailing);
	grpc_slice_unref(c->details);
	for (size_t i = 0; i < c->n_meta; i++) {
		grpc_slice_unref(c->meta[i].key);
		grpc_slice_unref(c->meta[i].value);
	}
}

/* ---- replies --------------------------------------------------------------------------------- */

static enum fl_code bad_reply(const struct call *c, struct fl_err *err)
{
	struct fl_err why = *err;

	return fl_err_set(err, FL_EPEER, "server '%s' sent a bad reply for '%s': %s",
		c->r->target->name, c->r->name, why.msg);
}

/* The reply's name is out_varname; old servers repeat varname, and some leave it out. */
static bool name_fits(const struct fl_varmsg *asked, const char *name)
{
	return !*name || !strcmp(name, asked->out_varname) || !strcmp(name, asked->varname);
}

static enum fl_code take_reply(struct call *c, struct fl_err *err)
{
	struct fl_varmsg m;
	enum fl_code code;

	fl_bytes_open(&c->reply);
	if (!c->reply.n)
		return fl_err_set(err, FL_EPEER, "server '%s' has no value for '%s'",
			c->r->target->name, c->r->name);
	if (fl_varmsg_decode(c->reply.spans, c->reply.n, &m, err))
		return bad_reply(c, err);
	if (name_fits(&c->r->msg, m.varname))
		code = fl_bytes_take(&c->reply, &m, c->r->var, err);
	else
		code = fl_err_set(err, FL_EPEER, "it is named '%s'", m.varname);
	fl_varmsg_release(&m);
	return code ? bad_reply(c, err) : FL_OK;
}

static const char *status_name(grpc_status_code status)
{
	static const char *const names[] = { "OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT",
		"DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED",
		"RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE",
		"UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED" };

	return (unsigned)status < FL_COUNT(names) ? names[status] : "an unknown status";
}

/* The error that a status is. CANCELLED: nobody here cancels before a first failure, so the server
 * dropped the call. */
static enum fl_code status_error(const struct batch *b, const struct call *c, struct fl_err *err)
{
	const char *endpoint = c->r->target->name, *verb = c->r->kind->verb, *name = c->r->name;
	char *text = fl_slice_str(c->details);
	enum fl_code code;

	switch (c->status) {
	case GRPC_STATUS_UNAVAILABLE:
	case GRPC_STATUS_CANCELLED:
		code = fl_err_set(err, FL_ELOST, "lost server '%s' while %s '%s': %s", endpoint,
			verb, name, text);
		fl_log_event(b->caller->log, FL_LOG_ERROR, "lost", NULL,
			(struct fl_field[]){
				FL_STR("endpoint", endpoint), FL_STR("variable", name) },
			2);
		break;
	case GRPC_STATUS_DEADLINE_EXCEEDED:
		code = fl_err_set(err, FL_EDEADLINE,
			"server '%s' did not answer within %d ms while %s '%s'", endpoint,
			b->caller->deadline_ms, verb, name);
		break;
	default:
		code = fl_err_set(err, FL_EPEER, "server '%s' refused '%s' with %s: %s", endpoint,
			name, status_name(c->status), text);
		break;
	}
	fl_free(text);
	return code;
}

/* ---- the batch ------------------------------------------------------------------------------- */

static void fail(struct batch *b, enum fl_code code)
{
	b->failed = code;
	for (size_t i = 0; i < b->n; i++) {
		struct call *c = &b->calls[i];

		if (c->state == ON_ITS_WAY)
			grpc_call_cancel(c->call, NULL);
		if (c->state == PAUSED)
			c->state = IDLE;
	}
}

/* Pauses grow by 2 from BACKOFF_MS and vary by half, so that clients do not come back as one. */
static double pause_s(const struct batch *b, const struct call *c)
{
	uint64_t key[3] = { b->caller->id, c->r->number, (uint64_t)c->tries };
	double vary = 0.5 + (double)(fl_hash(key, sizeof key) >> 40) / (1 << 24);
	int shift = c->tries < 8 ? c->tries - 1 : 7, ms = BACKOFF_MS << shift;

	return vary * (ms < BACKOFF_MAX_MS ? ms : BACKOFF_MAX_MS) / 1000;
}

static bool may_retry(const struct batch *b, const struct call *c)
{
	return !b->failed && c->status == GRPC_STATUS_UNAVAILABLE && c->r->kind->retry &&
	       c->tries <= b->caller->retry_times;
}

static void finish(struct batch *b, struct call *c)
{
	enum fl_code code = FL_OK;

	c->state = IDLE;
	if (c->status != GRPC_STATUS_UNAVAILABLE && c->status != GRPC_STATUS_DEADLINE_EXCEEDED &&
		c->status != GRPC_STATUS_CANCELLED)
		atomic_store(&c->r->target->answered, true);
	if (may_retry(b, c)) {
		c->state = PAUSED;
		c->retry_at = fl_now() + pause_s(b, c);
		fl_logf(b->caller->log, FL_LOG_WARN,
			"server '%s' is unreachable, trying '%s' again", c->r->target->name,
			c->r->name);
	} else if (!b->failed) {
		if (c->status != GRPC_STATUS_OK)
			code = status_error(b, c, b->err);
		else if (c->r->kind->reply_var)
			code = take_reply(c, b->err);
	}
	end_try(c);
	if (code)
		fail(b, code);
}

/* Goes on with the calls whose pause is over; *next is when the next one's is. */
static void resume(struct batch *b, double *next)
{
	double now = fl_now();

	*next = 0;
	for (size_t i = 0; i < b->n; i++) {
		struct call *c = &b->calls[i];
		enum fl_code code;

		if (c->state != PAUSED)
			continue;
		if (c->retry_at <= now) {
			code = start(b, c, b->err);
			if (code)
				fail(b, code);
		} else if (!*next || c->retry_at < *next) {
			*next = c->retry_at;
		}
	}
}

static bool busy(const struct batch *b)
{
	for (size_t i = 0; i < b->n; i++)
		if (b->calls[i].state != IDLE)
			return true;
	return false;
}

/* When to look up from the queue: at the next resumption, and for a stop. */
static gpr_timespec until(const struct batch *b, double next)
{
	double ms = (next - fl_now()) * 1000;

	if (!next && (!b->caller->stopped || b->failed))
		return gpr_inf_future(GPR_CLOCK_MONOTONIC);
	if (b->caller->stopped && (!next || ms > FL_RPC_STOP_MS))
		ms = FL_RPC_STOP_MS;
	return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
		gpr_time_from_millis(ms > 0 ? (int64_t)ms + 1 : 0, GPR_TIMESPAN));
}

static void run(struct batch *b)
{
	double next;

	for (size_t i = 0; i < b->n && !b->failed; i++) {
		enum fl_code code = start(b, &b->calls[i], b->err);

		if (code)
			fail(b, code);
	}
	while (busy(b)) {
		resume(b, &next);
		grpc_event event = grpc_completion_queue_next(b->cq, until(b, next), NULL);

		if (event.type == GRPC_OP_COMPLETE)
			finish(b, event.tag);
		else if (b->caller->stopped && b->caller->stopped() && !b->failed)
			fail(b, fl_err_set(b->err, FL_ECANCELED, "stopped while waiting for servers"));
	}
}

enum fl_code fl_batch_run(const struct fl_rpc_caller *caller, struct fl_rpc_request *requests,
	size_t n, struct fl_err *err)
{
	struct batch b = { .caller = caller, .n = n, .err = err };

	if (!n)
		return FL_OK;
	b.calls = FL_NEW_N(struct call, n);
	for (size_t i = 0; i < n; i++)
		b.calls[i].r = &requests[i];
	b.cq = grpc_completion_queue_create_for_next(NULL);
	run(&b);
	grpc_completion_queue_shutdown(b.cq);
	while (grpc_completion_queue_next(b.cq, gpr_inf_future(GPR_CLOCK_REALTIME), NULL).type !=
		GRPC_QUEUE_SHUTDOWN)
		;
	grpc_completion_queue_destroy(b.cq);
	for (size_t i = 0; i < n; i++)
		fl_varmsg_release(&requests[i].msg);
	fl_free(b.calls);
	return b.failed;
}
