#include "psfake.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "desc/edit.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t answered = PTHREAD_COND_INITIALIZER;

/* ---- programs -------------------------------------------------------------------------------- */

static void add_var(struct fake *f, const char *name, int64_t n, bool persistable)
{
	fl_pb_var *v = fl_add_var(f->prog, f->prog->pb->blocks[0], name, FL_LOD_TENSOR);

	fl_var_set_tensor(f->prog, v, FL_FP32, &n, 1, 0);
	fl_var_set_persistable(v, persistable);
}

static fl_pb_op *add_op(struct fake *f, fl_pb_block *b, const char *type)
{
	fl_pb_op *op = fl_new_op(f->prog, type);

	fl_push_op(f->prog, b, op);
	return op;
}

static void in(struct fake *f, fl_pb_op *op, const char *slot, const char *name)
{
	fl_op_set_input(f->prog, op, slot, &name, 1);
}

static void out(struct fake *f, fl_pb_op *op, const char *slot, const char *name)
{
	fl_op_set_output(f->prog, op, slot, &name, 1);
}

/* sum and scale of the trainers' gradients into pK@GRAD. */
static void add_sum(struct fake *f, fl_pb_block *b, const char *grad, const char **names, size_t *n)
{
	const char *mine[64];
	size_t n_mine = 0;
	fl_pb_op *op = add_op(f, b, "sum");

	for (int t = 0; t < f->plan.fanin; t++) {
		char *name = fl_xstrfmt("%s.trainer_%d", grad, t);
		bool listed = !f->plan.sum_suffix;

		mine[n_mine++] = name;
		if (listed) {
			add_var(f, name, f->plan.n, false);
			names[(*n)++] = name;
		}
	}
	if (f->plan.sum_suffix)
		names[(*n)++] = fl_xstrdup(grad);
	fl_op_set_input(f->prog, op, "X", mine, n_mine);
	if (f->plan.sum_suffix)
		fl_free((char *)(uintptr_t)mine[0]);
	out(f, op, "Out", grad);
	op = add_op(f, b, "scale");
	in(f, op, "X", grad);
	out(f, op, "Out", grad);
	fl_op_set_float(f->prog, op, "scale", 1.0f / (float)f->plan.fanin);
}

static void add_param(struct fake *f, int k, const char **names, size_t *n, int32_t *blocks)
{
	char *param = fl_xstrfmt("p%d", k), *grad = fl_xstrfmt("p%d@GRAD", k);
	fl_pb_block *b = fl_add_block(f->prog, 0);
	fl_pb_op *op;

	add_var(f, param, f->plan.n, true);
	add_var(f, grad, f->plan.n, true);
	if (f->plan.sync)
		add_sum(f, b, grad, names, n);
	else
		names[(*n)++] = fl_xstrdup(grad);
	op = add_op(f, b, "sgd");
	in(f, op, "Param", f->plan.shared ? "p0" : param);
	in(f, op, "Grad", grad);
	in(f, op, "LearningRate", "rate");
	out(f, op, "ParamOut", f->plan.shared ? "p0" : param);
	blocks[k] = b->idx;
	fl_free(param);
	fl_free(grad);
}

static void make_program(struct fake *f)
{
	const char *names[1024];
	int32_t blocks[16];
	size_t n = 0;
	fl_pb_op *op;

	f->prog = fl_program_new(1008005);
	add_var(f, "rate", 1, true);
	for (int k = 0; k < f->plan.params; k++)
		add_param(f, k, names, &n, blocks);
	op = add_op(f, f->prog->pb->blocks[0], "listen_and_serv");
	fl_op_set_input(f->prog, op, "X", names, n);
	fl_op_set_int(f->prog, op, "Fanin", f->plan.fanin);
	fl_op_set_int(f->prog, op, "distributed_mode", f->plan.sync ? 0 : 1);
	fl_op_set_blocks(f->prog, op, "optimize_blocks", blocks, (size_t)f->plan.params);
	for (size_t i = 0; i < n; i++)
		fl_free((char *)(uintptr_t)names[i]);
	f->op = op;
}

static void fill(struct fl_var *v, int64_t n, float value)
{
	struct fl_err err = { 0 };

	ck_assert_int_eq(fl_tensor_resize(&v->tensor, FL_FP32, &n, 1, &err), FL_OK);
	for (int64_t i = 0; i < n; i++)
		((float *)fl_data(&v->tensor))[i] = value;
}

struct fl_var *fake_var(const char *name, int64_t n, float value)
{
	struct fl_var *v = fl_var_new(name, FL_LOD_TENSOR);

	fill(v, n, value);
	return v;
}

void fake_make(struct fake *f, struct fake_plan plan)
{
	*f = (struct fake){ .plan = plan };
	make_program(f);
	f->scope = fl_scope_new(NULL);
	fill(fl_scope_var(f->scope, "rate", FL_LOD_TENSOR), 1, 1);
	for (int k = 0; k < plan.params; k++) {
		char name[16];

		snprintf(name, sizeof name, "p%d", k);
		fill(fl_scope_var(f->scope, name, FL_LOD_TENSOR), plan.n, 0);
	}
	f->pool = fl_pool_new(plan.threads ? plan.threads : 2);
	f->env.pool = f->pool;
	f->opts.threads = 1;
	f->opts.stop_fd = -1;
	f->opts.log = plan.log;
	f->opts.continue_on_lost = plan.continue_on_lost;
}

void fake_start(struct fake *f, struct fake_plan plan)
{
	struct fl_err err = { 0 };

	fake_make(f, plan);
	ck_assert_msg(
		fl_serv_new(f->prog, f->op, f->scope, &f->env, &f->opts, &f->serv, &err) == FL_OK,
		"%s", err.msg);
}

void fake_stop(struct fake *f)
{
	if (f->serv)
		fl_serv_stop(f->serv, FL_ECANCELED, "the test is over");
	fl_serv_free(f->serv);
	fl_pool_free(f->pool);
	fl_scope_free(f->scope);
	fl_program_free(f->prog);
}

bool fake_ended(struct fake *f, enum fl_code *code)
{
	bool ending;

	pthread_mutex_lock(&f->serv->lock);
	ending = f->serv->ending;
	*code = f->serv->end.code;
	pthread_mutex_unlock(&f->serv->lock);
	return ending;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static enum fl_code take(void *call, struct fl_var *var, struct fl_err *err)
{
	struct fake_call *c = call;

	if (!c->payload)
		return fl_err_set(err, FL_EINVAL, "no payload");
	return fl_var_copy(var, c->payload, err);
}

static void finish(struct fake_call *c, int status, const char *text)
{
	pthread_mutex_lock(&lock);
	ck_assert(!c->done);
	c->status = status;
	snprintf(c->text, sizeof c->text, "%s", text);
	c->done = true;
	pthread_cond_broadcast(&answered);
	pthread_mutex_unlock(&lock);
}

static void reply_void(void *call)
{
	finish(call, 0, "");
}

/* As the transport does: holds the memory, reads it later. */
static void reply_var(void *call, const char *name, const struct fl_var *var)
{
	struct fake_call *c = call;

	c->reply = fl_var_new(name, var->kind);
	fl_tensor_share(&c->reply->tensor, &var->tensor);
	finish(c, 0, "");
}

static void reply_error(void *call, int status, const char *text)
{
	finish(call, status, text);
}

static const struct fl_req_ops ops = { take, reply_void, reply_var, reply_error };

static struct fake_call *call(struct fake *f, enum fl_method method, const char *peer, int trainer,
	const char *name, const char *table, struct fl_var *payload, uint64_t request_id)
{
	struct fake_call *c = FL_NEW(struct fake_call);
	struct fl_req *req;

	c->msg.varname = fl_xstrdup(name);
	c->msg.out_varname = fl_xstrdup("");
	c->msg.table_name = fl_xstrdup(table);
	c->msg.has_trainer_id = trainer >= 0;
	c->msg.trainer_id = trainer < 0 ? 0 : trainer;
	c->payload = payload;
	req = fl_req_new(&ops, c, method, &c->msg, peer);
	req->request_id = request_id;
	req->client = f->client;
	fl_serv_call(f->serv, req);
	return c;
}

struct fake_call *fake_call_any(struct fake *f, enum fl_method method, const char *peer,
	int trainer, const char *name, struct fl_var *payload, uint64_t request_id)
{
	return call(f, method, peer, trainer, name, "", payload, request_id);
}

struct fake_call *fake_prefetch(
	struct fake *f, const char *peer, const char *table, const int64_t *ids, int64_t n)
{
	struct fl_var *v = fl_var_new("ids", FL_LOD_TENSOR);
	struct fl_err err = { 0 };
	int64_t dims[2] = { n, 1 };

	ck_assert_int_eq(fl_tensor_resize(&v->tensor, FL_INT64, dims, 2, &err), FL_OK);
	memcpy(fl_data(&v->tensor), ids, (size_t)n * sizeof *ids);
	return call(f, FL_PREFETCH_VARIABLE, peer, -1, "prefetch_send", table, v, 0);
}

struct fake_call *fake_send(struct fake *f, const char *peer, int trainer, const char *name,
	const float *value, int64_t n)
{
	struct fl_var *v = NULL;

	if (value) {
		v = fake_var(name, n, 0);
		memcpy(fl_data(&v->tensor), value, (size_t)n * sizeof *value);
	}
	return fake_call_any(f, FL_SEND_VARIABLE, peer, trainer, name, v, 0);
}

struct fake_call *fake_fill(
	struct fake *f, const char *peer, int trainer, const char *name, float value)
{
	return fake_call_any(
		f, FL_SEND_VARIABLE, peer, trainer, name, fake_var(name, f->plan.n, value), 0);
}

struct fake_call *fake_get(struct fake *f, const char *peer, int trainer, const char *name)
{
	return fake_call_any(f, FL_GET_VARIABLE, peer, trainer, name, NULL, 0);
}

bool fake_done(struct fake_call *c)
{
	bool done;

	pthread_mutex_lock(&lock);
	done = c->done;
	pthread_mutex_unlock(&lock);
	return done;
}

void fake_wait(struct fake_call *c)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 20;
	pthread_mutex_lock(&lock);
	while (!c->done)
		if (pthread_cond_timedwait(&answered, &lock, &until))
			break;
	ck_assert_msg(c->done, "'%s' is not answered", c->msg.varname);
	pthread_mutex_unlock(&lock);
}

void fake_free(struct fake_call *c)
{
	fake_wait(c);
	fl_varmsg_release(&c->msg);
	fl_var_free(c->payload);
	fl_var_free(c->reply);
	fl_free(c);
}

void fake_ok(struct fake_call *c)
{
	fake_wait(c);
	ck_assert_msg(c->status == 0, "'%s': %s", c->msg.varname, c->text);
	fake_free(c);
}

float fake_value(struct fake_call *c)
{
	const float *v;
	float first;
	int64_t i, n;

	fake_wait(c);
	ck_assert_msg(c->status == 0 && c->reply, "'%s': %s", c->msg.varname, c->text);
	v = fl_data(&c->reply->tensor);
	first = v[0];
	n = fl_numel(&c->reply->tensor);
	/* One assertion for all: each costs a system call. */
	for (i = 1; i < n && v[i] == first; i++)
		;
	ck_assert_msg(i >= n, "torn: [0] is %g, [%d] is another", (double)first, (int)i);
	fake_free(c);
	return first;
}

void fake_refused(struct fake_call *c, int status, const char *part_of_text)
{
	fake_wait(c);
	ck_assert_int_eq(c->status, status);
	ck_assert_msg(
		strstr(c->text, part_of_text) != NULL, "'%s' lacks '%s'", c->text, part_of_text);
	fake_free(c);
}
