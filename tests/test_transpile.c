/*
 * transpile/: the worked example of the spec (section 17.1, "BasicModel"): x[1000] -> fc (fc_w, fc_b)
 * -> square error -> mean, sgd; two servers. Built here, so that it needs no file.
 */
#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "desc/edit.h"
#include "desc/names.h"
#include "desc/query.h"
#include "transpile/transpile.h"

Suite *suite_transpile(void);

static const char *const ps[] = { "127.0.0.1:6174", "127.0.0.1:6175" };

static void var(struct fl_program *p, const char *name, int64_t rows, int64_t cols, bool persistable)
{
	const int64_t dims[] = { rows, cols };
	fl_pb_var *v = fl_add_var(p, p->pb->blocks[0], name, FL_LOD_TENSOR);

	fl_var_set_tensor(p, v, FL_FP32, dims, cols ? 2 : 1, 0);
	fl_var_set_persistable(v, persistable);
}

/* One input slot and one output slot. */
static fl_pb_op *op(struct fl_program *p, const char *type, int role, const char *in,
	const char *out)
{
	fl_pb_op *o = fl_new_op(p, type);

	if (in)
		fl_op_set_input(p, o, "X", &in, 1);
	if (out)
		fl_op_set_output(p, o, "Out", &out, 1);
	fl_op_set_int(p, o, FL_ATTR_ROLE, role);
	fl_op_set_strs(p, o, FL_ATTR_ROLE_VAR, NULL, 0);
	fl_op_set_str(p, o, FL_ATTR_NAMESCOPE, "/");
	fl_push_op(p, p->pb->blocks[0], o);
	return o;
}

static fl_pb_op *sgd(struct fl_program *p, const char *type, const char *param, const char *grad)
{
	const char *pair[] = { param, grad }, *lr = "learning_rate_0";
	fl_pb_op *o = op(p, type, FL_ROLE_OPTIMIZE, NULL, NULL);

	fl_op_set_input(p, o, "Param", &param, 1);
	fl_op_set_input(p, o, "Grad", &grad, 1);
	fl_op_set_input(p, o, "LearningRate", &lr, 1);
	fl_op_set_output(p, o, "ParamOut", &param, 1);
	fl_op_set_strs(p, o, FL_ATTR_ROLE_VAR, pair, 2);
	return o;
}

struct model {
	struct fl_program *main, *startup;
	struct fl_transpile_opts opts;
	struct fl_transpiler *made[16]; /* what the programs of roles share with */
	size_t n_made;
};

static struct fl_program *make_startup(void)
{
	struct fl_program *p = fl_program_new(1008005);
	const int64_t w[] = { 1000, 1000 };

	var(p, "learning_rate_0", 1, 0, true);
	var(p, "fc_b", 1000, 0, true);
	var(p, "fc_w", 1000, 1000, true);
	op(p, "fill_constant", 0, NULL, "learning_rate_0");
	op(p, "fill_constant", 0, NULL, "fc_b");
	fl_op_set_longs(p, op(p, "uniform_random", 0, NULL, "fc_w"), "shape", w, 2);
	return p;
}

static void make_model(struct model *m)
{
	struct fl_program *p = m->main = fl_program_new(1008005);

	var(p, "x", -1, 1000, false);
	var(p, "fc_w", 1000, 1000, true);
	var(p, "fc_b", 1000, 0, true);
	var(p, "tmp", -1, 1000, false);
	var(p, "loss", 1, 0, false);
	var(p, "fc_w@GRAD", 1000, 1000, false);
	var(p, "fc_b@GRAD", 1000, 0, false);
	var(p, "learning_rate_0", 1, 0, true);
	op(p, "mul", 0, "x", "tmp");
	op(p, "mean", 256, "tmp", "loss");
	op(p, "elementwise_add_grad", 1, "loss", "fc_b@GRAD");
	op(p, "mul_grad", 1, "loss", "fc_w@GRAD");
	sgd(p, "sgd", "fc_b", "fc_b@GRAD");
	sgd(p, "sgd", "fc_w", "fc_w@GRAD");
	m->startup = make_startup();
	fl_transpile_opts_init(&m->opts);
	m->opts.pservers = ps;
	m->opts.n_pservers = 2;
	m->opts.trainers = 2;
	m->n_made = 0;
}

static void free_model(struct model *m)
{
	while (m->n_made)
		fl_transpiler_free(m->made[--m->n_made]);
	fl_program_free(m->main);
	fl_program_free(m->startup);
}

static struct fl_role_programs trainer(struct model *m, int id)
{
	struct fl_role_programs r = { 0 };
	struct fl_transpiler *t;
	struct fl_err err = { 0 };

	ck_assert_msg(fl_transpiler_new(m->main, m->startup, &m->opts, &t, &err) == FL_OK, "%s",
		err.msg);
	ck_assert_msg(fl_transpile_trainer(t, id, &r, &err) == FL_OK, "%s", err.msg);
	ck_assert_uint_lt(m->n_made, 16);
	m->made[m->n_made++] = t;
	return r;
}

static struct fl_role_programs pserver(struct model *m, size_t id)
{
	struct fl_role_programs r = { 0 };
	struct fl_transpiler *t;
	struct fl_err err = { 0 };

	ck_assert_msg(fl_transpiler_new(m->main, m->startup, &m->opts, &t, &err) == FL_OK, "%s",
		err.msg);
	ck_assert_msg(fl_transpile_pserver(t, id, &r, &err) == FL_OK, "%s", err.msg);
	ck_assert_uint_lt(m->n_made, 16);
	m->made[m->n_made++] = t;
	return r;
}

static void refused(struct model *m, enum fl_code code, const char *words)
{
	struct fl_transpiler *t = NULL;
	struct fl_err err = { 0 };

	ck_assert_int_eq(fl_transpiler_new(m->main, m->startup, &m->opts, &t, &err), code);
	ck_assert_ptr_null(t);
	ck_assert_msg(strstr(err.msg, words) != NULL, "'%s' is not in: %s", words, err.msg);
}

/* The types of a block's operators, in one line. */
static void ops_are(const struct fl_program *p, size_t block, const char *want)
{
	struct fl_buf b = FL_BUF_INIT;

	ck_assert(block < p->pb->n_blocks);
	for (size_t i = 0; i < p->pb->blocks[block]->n_ops; i++)
		fl_buf_addf(&b, "%s%s", i ? " " : "", p->pb->blocks[block]->ops[i]->type);
	ck_assert_str_eq(fl_buf_str(&b), want);
	fl_buf_release(&b);
}

static const fl_pb_op *nth(const struct fl_program *p, size_t block, size_t i)
{
	ck_assert(block < p->pb->n_blocks && i < p->pb->blocks[block]->n_ops);
	return p->pb->blocks[block]->ops[i];
}

static void strs_are(const fl_pb_op *o, const char *attr, size_t n, ...)
{
	va_list ap;

	ck_assert_uint_eq(fl_attr_len(o, attr), n);
	va_start(ap, n);
	for (size_t i = 0; i < n; i++)
		ck_assert_str_eq(fl_attr_str_at(o, attr, i), va_arg(ap, const char *));
	va_end(ap);
}

START_TEST(test_transpile_basic_sync_trainer)
{
	struct model m;
	struct fl_role_programs r;
	const char *barrier;

	make_model(&m);
	r = trainer(&m, 0);
	ops_are(r.main, 0, "mul mean elementwise_add_grad send mul_grad split_byref send send_barrier "
			   "recv recv fetch_barrier concat");
	ck_assert_str_eq(fl_op_out(nth(r.main, 0, 2), "Out", 0), "fc_b@GRAD.trainer_0");
	ck_assert_str_eq(fl_op_in(nth(r.main, 0, 3), "X", 0), "fc_b@GRAD.trainer_0");
	strs_are(nth(r.main, 0, 3), "epmap", 1, ps[0]);
	strs_are(nth(r.main, 0, 3), "op_role_var", 2, "fc_b", "fc_b@GRAD.trainer_0");
	ck_assert_str_eq(fl_op_out(nth(r.main, 0, 5), "Out", 1), "fc_w@GRAD.block1.trainer_0");
	ck_assert_int_eq((int)fl_attr_int_at(nth(r.main, 0, 5), "sections", 0), 500);
	strs_are(nth(r.main, 0, 6), "epmap", 2, ps[1], ps[0]);
	strs_are(nth(r.main, 0, 6), "op_role_var", 2, "fc_w", "fc_w@GRAD");
	barrier = fl_op_out(nth(r.main, 0, 7), "Out", 0);
	ck_assert_str_eq(fl_op_in(nth(r.main, 0, 8), "X", 0), barrier);
	ck_assert_str_eq(fl_op_in(nth(r.main, 0, 9), "X", 0), barrier);
	ck_assert_str_eq(fl_op_out(nth(r.main, 0, 10), "Out", 2), "fc_w.block1");
	ck_assert_ptr_null(fl_block_var(r.main->pb->blocks[0], "learning_rate_0"));
	ops_are(r.startup, 0, "fill_constant uniform_random recv recv fetch_barrier concat");
	ck_assert_ptr_nonnull(fl_block_var(r.startup->pb->blocks[0], "fc_w.block1"));
	fl_role_programs_free(&r);
	free_model(&m);
}
END_TEST

START_TEST(test_transpile_basic_sync_server)
{
	struct model m;
	struct fl_role_programs r;
	const fl_pb_op *serve;

	make_model(&m);
	r = pserver(&m, 0);
	ck_assert_uint_eq(r.main->pb->n_blocks, 3);
	ops_are(r.main, 0, "listen_and_serv");
	ops_are(r.main, 1, "sum scale sgd");
	ops_are(r.main, 2, "sum scale sgd");
	serve = nth(r.main, 0, 0);
	ck_assert_uint_eq(fl_op_input(serve, "X")->n_arguments, 4);
	ck_assert_str_eq(fl_op_in(serve, "X", 3), "fc_w@GRAD.block1.trainer_1");
	strs_are(serve, "grad_to_block_id", 2, "fc_b@GRAD:1", "fc_w@GRAD.block1:2");
	ck_assert_int_eq((int)fl_attr_int(serve, "Fanin", 0), 2);
	ck_assert_int_eq((int)fl_attr_int(serve, "distributed_mode", -1), 0);
	ck_assert_int_eq((int)fl_attr_int(serve, "lr_decay_block_id", 0), -1);
	ck_assert(fl_attr_num(nth(r.main, 2, 1), "scale", 0) == 0.5);
	ck_assert_str_eq(fl_op_in(nth(r.main, 2, 2), "Param", 0), "fc_w.block1");
	ck_assert_str_eq(fl_op_in(nth(r.main, 2, 2), "Grad", 0), "fc_w@GRAD.block1");
	ops_are(r.startup, 0, "fill_constant fill_constant uniform_random");
	ck_assert_int_eq((int)fl_attr_int_at(nth(r.startup, 0, 2), "shape", 0), 500);
	fl_role_programs_free(&r);
	r = pserver(&m, 1);
	ck_assert_uint_eq(r.main->pb->n_blocks, 2);
	strs_are(nth(r.main, 0, 0), "grad_to_block_id", 1, "fc_w@GRAD.block0:1");
	fl_role_programs_free(&r);
	free_model(&m);
}
END_TEST

START_TEST(test_transpile_basic_async)
{
	struct model m;
	struct fl_role_programs r;

	make_model(&m);
	m.opts.mode = FL_MODE_ASYNC;
	r = trainer(&m, 1);
	ops_are(r.main, 0,
		"mul mean elementwise_add_grad send mul_grad split_byref send recv recv concat");
	ck_assert_str_eq(fl_op_in(nth(r.main, 0, 3), "X", 0), "fc_b@GRAD");
	ck_assert_str_eq(fl_op_in(nth(r.main, 0, 7), "X", 0), fl_op_out(nth(r.main, 0, 3), "Out", 0));
	ck_assert_str_eq(fl_op_in(nth(r.main, 0, 8), "X", 0), fl_op_out(nth(r.main, 0, 6), "Out", 0));
	ck_assert_int_eq((int)fl_attr_int(nth(r.main, 0, 7), "trainer_id", 0), 1);
	fl_role_programs_free(&r);
	r = pserver(&m, 0);
	ops_are(r.main, 1, "sgd");
	ck_assert_str_eq(fl_op_in(nth(r.main, 0, 0), "X", 1), "fc_w@GRAD.block1");
	ck_assert_int_eq((int)fl_attr_int(nth(r.main, 0, 0), "distributed_mode", -1), 2);
	fl_role_programs_free(&r);
	free_model(&m);
}
END_TEST

START_TEST(test_transpile_large_blocks_and_no_slicing)
{
	static const char want[] = "mul mean elementwise_add_grad send mul_grad send send_barrier "
				   "recv recv fetch_barrier";
	struct model m;
	struct fl_role_programs r;

	make_model(&m);
	m.opts.min_block_size = 1048576;
	r = trainer(&m, 0);
	ops_are(r.main, 0, want);
	fl_role_programs_free(&r);
	m.opts.min_block_size = FL_MIN_BLOCK_SIZE;
	m.opts.slice_var_up = false;
	m.opts.random_seed = 1; /* two parameters stay in order */
	r = pserver(&m, 1);
	ck_assert_uint_eq(r.main->pb->n_blocks, 2);
	ck_assert_str_eq(fl_op_in(nth(r.main, 1, 2), "Param", 0), "fc_w");
	fl_role_programs_free(&r);
	m.opts.random_seed = 0; /* they change places */
	r = pserver(&m, 1);
	ck_assert_str_eq(fl_op_in(nth(r.main, 1, 2), "Param", 0), "fc_b");
	fl_role_programs_free(&r);
	free_model(&m);
}
END_TEST

/* The real one suffixes on one side only, and cannot train. */
START_TEST(test_transpile_sync_with_one_trainer_is_repaired)
{
	struct model m;
	struct fl_role_programs r;

	make_model(&m);
	m.opts.trainers = 1;
	r = trainer(&m, 0);
	ck_assert_str_eq(fl_op_in(nth(r.main, 0, 3), "X", 0), "fc_b@GRAD");
	fl_role_programs_free(&r);
	r = pserver(&m, 0);
	ops_are(r.main, 1, "sgd");
	ck_assert_str_eq(fl_op_in(nth(r.main, 0, 0), "X", 0), "fc_b@GRAD");
	fl_role_programs_free(&r);
	free_model(&m);
}
END_TEST

START_TEST(test_transpile_idle_server_gets_an_empty_block)
{
	static const char *const three[] = { "a:1", "b:1", "c:1", "d:1" };
	struct model m;
	struct fl_role_programs r;

	make_model(&m);
	m.opts.pservers = three;
	m.opts.n_pservers = 4;
	m.opts.slice_var_up = false;
	r = pserver(&m, 3);
	ck_assert_uint_eq(r.main->pb->n_blocks, 2);
	ck_assert_uint_eq(r.main->pb->blocks[1]->n_ops, 0);
	ck_assert_uint_eq(r.startup->pb->blocks[0]->n_ops, 0);
	fl_role_programs_free(&r);
	free_model(&m);
}
END_TEST

START_TEST(test_transpile_hash_name_is_stable_and_never_doubles)
{
	struct model m;
	struct fl_transpiler *t;
	struct fl_err err;
	struct fl_plan plan;

	make_model(&m);
	m.opts.split_method = FL_HASH_NAME;
	ck_assert_int_eq(fl_transpiler_new(m.main, m.startup, &m.opts, &t, &err), FL_OK);
	fl_plan_make(t, &plan);
	ck_assert_uint_eq(plan.n_blocks, 3);
	ck_assert(plan.servers[0].blocks >= 1 && plan.servers[1].blocks >= 1);
	fl_plan_release(&plan);
	fl_transpiler_free(t);
	free_model(&m);
}
END_TEST

START_TEST(test_transpile_same_input_same_bytes)
{
	struct model m;

	make_model(&m);
	for (int k = 0; k < 2; k++) {
		struct fl_role_programs a = k ? pserver(&m, 0) : trainer(&m, 0);
		struct fl_role_programs b = k ? pserver(&m, 0) : trainer(&m, 0);
		struct fl_buf x = FL_BUF_INIT, y = FL_BUF_INIT;

		fl_program_pack(a.main, &x);
		fl_program_pack(b.main, &y);
		ck_assert_uint_eq(x.len, y.len);
		ck_assert(!memcmp(x.data, y.data, x.len));
		fl_buf_release(&x);
		fl_buf_release(&y);
		fl_role_programs_free(&a);
		fl_role_programs_free(&b);
	}
	free_model(&m);
}
END_TEST

START_TEST(test_transpile_the_hash_is_the_same_in_all_roles)
{
	struct model m;
	struct fl_role_programs a, b;
	struct fl_fingerprint x, y;
	struct fl_err err;

	make_model(&m);
	a = trainer(&m, 1);
	b = pserver(&m, 1);
	ck_assert_int_eq(fl_fingerprint_get(a.main, &x, &err), FL_OK);
	ck_assert_int_eq(fl_fingerprint_get(b.startup, &y, &err), FL_OK);
	ck_assert(x.hash == y.hash);
	ck_assert_int_eq(x.role, FL_ROLE_TRAINER);
	ck_assert_int_eq(x.id, 1);
	ck_assert_int_eq(x.trainers, 2);
	fl_role_programs_free(&a);
	m.opts.trainers = 3;
	a = trainer(&m, 1);
	ck_assert_int_eq(fl_fingerprint_get(a.main, &x, &err), FL_OK);
	ck_assert(x.hash != y.hash);
	fl_role_programs_free(&a);
	fl_role_programs_free(&b);
	free_model(&m);
}
END_TEST

START_TEST(test_transpile_refuses_wrong_options)
{
	static const char *const twice[] = { "a:1", "a:1" }, *const bad[] = { "nohost" };
	struct model m;

	make_model(&m);
	m.opts.trainers = 0;
	refused(&m, FL_EINVAL, "0 trainers");
	m.opts.trainers = 2;
	m.opts.min_block_size = 100;
	refused(&m, FL_EINVAL, "minimal block size of 100");
	m.opts.min_block_size = FL_MIN_BLOCK_SIZE;
	m.opts.enable_dc_asgd = true;
	refused(&m, FL_EINVAL, "--mode async");
	m.opts.enable_dc_asgd = false;
	m.opts.pservers = twice;
	refused(&m, FL_EINVAL, "'a:1' is given twice");
	m.opts.pservers = bad;
	m.opts.n_pservers = 1;
	refused(&m, FL_EINVAL, "'nohost' is no endpoint");
	m.opts.n_pservers = 0;
	refused(&m, FL_EINVAL, "no servers");
	free_model(&m);
}
END_TEST

START_TEST(test_transpile_refuses_programs_in_words)
{
	struct model m;
	struct fl_role_programs r;
	struct fl_program *main;
	const char *moment = "moment";
	fl_pb_op *o;

	make_model(&m);
	r = trainer(&m, 0);
	main = m.main;
	m.main = r.main;
	refused(&m, FL_EUNSUPPORTED, "transpiled already");
	m.main = m.startup;
	refused(&m, FL_EUNSUPPORTED, "no optimizer operators");
	m.main = main;
	fl_role_programs_free(&r);
	var(main, "moment", 1000, 0, true);
	o = main->pb->blocks[0]->ops[4];
	o->type = fl_arena_strdup(main->arena, "lamb");
	fl_op_set_input(main, o, "Moment1", &moment, 1);
	refused(&m, FL_EUNSUPPORTED, "block 0, op 4 'lamb': parameter 'fc_b'");
	fl_op_set_strs(main, o, FL_ATTR_ROLE_VAR, NULL, 0);
	refused(&m, FL_EUNSUPPORTED, "without op_role_var");
	free_model(&m);
}
END_TEST

START_TEST(test_transpile_refuses_what_a_message_cannot_carry)
{
	struct model m;
	const int64_t dims[] = { 2, 1 << 30 };

	make_model(&m);
	for (size_t i = 0; i < m.main->pb->blocks[0]->n_vars; i++) {
		fl_pb_var *v = m.main->pb->blocks[0]->vars[i];

		if (!strncmp(v->name, "fc_w", 4))
			fl_var_set_tensor(m.main, v, FL_FP32, dims, 2, 0);
	}
	refused(&m, FL_EUNSUPPORTED, "less than 2 GiB");
	free_model(&m);
}
END_TEST

/* A schedule: increment and scale, whose result is the rate. */
static void add_schedule(struct model *m)
{
	static const int64_t one = 1;
	struct fl_program *p = m->main;
	fl_pb_var *v = fl_add_var(p, p->pb->blocks[0], "@LR_DECAY_COUNTER@", FL_LOD_TENSOR);
	fl_pb_op *o;

	fl_var_set_tensor(p, v, FL_INT64, &one, 1, 0);
	fl_var_set_persistable(v, true);
	op(p, "increment", FL_ROLE_LRSCHED, "@LR_DECAY_COUNTER@", "@LR_DECAY_COUNTER@");
	op(p, "scale", FL_ROLE_LRSCHED, "@LR_DECAY_COUNTER@", "learning_rate_0");
	fl_push_var(m->startup, m->startup->pb->blocks[0], fl_copy_var(m->startup, v));
	o = op(m->startup, "fill_constant", 0, NULL, "@LR_DECAY_COUNTER@");
	fl_op_set_float(m->startup, o, "value", -1);
}

START_TEST(test_transpile_schedules_move_to_the_servers)
{
	struct model m;
	struct fl_role_programs r;

	make_model(&m);
	add_schedule(&m);
	r = trainer(&m, 0);
	ops_are(r.main, 0, "mul mean elementwise_add_grad send mul_grad split_byref send send_barrier "
			   "recv recv fetch_barrier concat");
	fl_role_programs_free(&r);
	r = pserver(&m, 0);
	ops_are(r.main, 1, "increment scale");
	ops_are(r.main, 2, "sum scale sgd");
	ck_assert_int_eq(r.main->pb->blocks[2]->parent_idx, 1);
	ck_assert_int_eq((int)fl_attr_int(nth(r.main, 0, 0), "lr_decay_block_id", 0), 1);
	fl_role_programs_free(&r);
	free_model(&m);
}
END_TEST

START_TEST(test_transpile_async_schedules_count_every_trainer)
{
	struct model m;
	struct fl_role_programs r;
	const fl_pb_op *send;

	make_model(&m);
	add_schedule(&m);
	m.opts.mode = FL_MODE_ASYNC;
	r = trainer(&m, 1);
	ops_are(r.main, 0,
		"mul mean elementwise_add_grad send mul_grad split_byref send send recv recv concat");
	send = nth(r.main, 0, 7);
	ck_assert_str_eq(fl_op_in(send, "X", 0), "@LR_DECAY_COUNTER@.trainer_1");
	strs_are(send, "epmap", 2, ps[0], ps[1]);
	ck_assert(fl_attr_bool(send, "merge_add", false));
	ck_assert(!fl_attr_bool(send, "use_send_handler", true));
	fl_role_programs_free(&r);
	r = pserver(&m, 1);
	ops_are(r.main, 1, "sum scale");
	ck_assert_str_eq(fl_op_in(nth(r.main, 1, 0), "X", 1), "@LR_DECAY_COUNTER@.trainer_1");
	ops_are(r.startup, 0, "fill_constant fill_constant fill_constant uniform_random "
			      "fill_constant");
	ck_assert(fl_attr_num(nth(r.startup, 0, 4), "value", 0) == -2);
	fl_role_programs_free(&r);
	free_model(&m);
}
END_TEST

START_TEST(test_transpile_dc_asgd_corrects_before_the_update)
{
	struct model m;
	struct fl_role_programs r;

	make_model(&m);
	m.opts.mode = FL_MODE_ASYNC;
	m.opts.enable_dc_asgd = true;
	r = pserver(&m, 0);
	ops_are(r.main, 2, "ref_by_trainer_id elementwise_sub elementwise_mul elementwise_mul "
			   "elementwise_add sgd");
	ck_assert_str_eq(fl_op_in(nth(r.main, 2, 0), "X", 1), "fc_w.block1.trainer_1_bak");
	ck_assert_str_eq(fl_op_in(nth(r.main, 2, 5), "Grad", 0),
		fl_op_out(nth(r.main, 2, 4), "Out", 0));
	ops_are(r.startup, 0,
		"fill_constant fill_constant uniform_random assign assign assign assign");
	fl_role_programs_free(&r);
	free_model(&m);
}
END_TEST

START_TEST(test_transpile_geo_keeps_the_optimizers_on_the_trainers)
{
	struct model m;
	struct fl_role_programs r;

	make_model(&m);
	m.opts.mode = FL_MODE_GEO;
	r = trainer(&m, 0);
	ops_are(r.main, 0, "mul mean elementwise_add_grad mul_grad sgd sgd send");
	ck_assert_ptr_nonnull(fl_block_var(r.main->pb->blocks[0], "fc_w.block1.delta"));
	ops_are(r.startup, 0, "fill_constant fill_constant uniform_random recv recv fetch_barrier "
			      "concat send");
	fl_role_programs_free(&r);
	r = pserver(&m, 0);
	ops_are(r.main, 1, "sum");
	strs_are(nth(r.main, 0, 0), "grad_to_block_id", 2, "fc_b.delta:1", "fc_w.block1.delta:2");
	ck_assert_int_eq((int)fl_attr_int(nth(r.main, 0, 0), "distributed_mode", 0), 3);
	fl_role_programs_free(&r);
	free_model(&m);
}
END_TEST

/* Values given one by one: each server fills its part with its own. */
START_TEST(test_transpile_given_values_are_cut)
{
	static float values[1000 * 1000];
	struct model m;
	struct fl_role_programs r;
	fl_pb_attr *a;
	fl_pb_op *o;
	const fl_pb_op *got;

	make_model(&m);
	for (size_t i = 0; i < FL_COUNT(values); i++)
		values[i] = (float)i;
	o = m.startup->pb->blocks[0]->ops[2];
	o->type = fl_arena_strdup(m.startup->arena, "assign_value");
	a = fl_op_set_attr(m.startup, o, "fp32_values", FL_ATTR_FLOATS);
	a->floats = values;
	a->n_floats = FL_COUNT(values);
	r = pserver(&m, 0); /* fc_w.block1 */
	got = nth(r.startup, 0, 2);
	ck_assert_str_eq(got->type, "assign_value");
	ck_assert_uint_eq(fl_attr_len(got, "fp32_values"), 500000);
	ck_assert(fl_attr_num_at(got, "fp32_values", 0) == 500000);
	ck_assert_int_eq((int)fl_attr_int_at(got, "shape", 0), 500);
	fl_role_programs_free(&r);
	a->n_floats = 7;
	{
		struct fl_transpiler *t;
		struct fl_err err;

		ck_assert_int_eq(fl_transpiler_new(m.main, m.startup, &m.opts, &t, &err), FL_OK);
		ck_assert_int_eq(fl_transpile_pserver(t, 0, &r, &err), FL_EUNSUPPORTED);
		ck_assert_ptr_null(r.main);
		fl_transpiler_free(t);
	}
	free_model(&m);
}
END_TEST

/* What an older release wrote: the server's copy has all attributes of 1.8.5, with its types. */
START_TEST(test_transpile_copies_get_defaults)
{
	static const int32_t shape[] = { 1000, 1000 };
	struct model m;
	struct fl_role_programs r;
	fl_pb_op *o;

	make_model(&m);
	o = m.startup->pb->blocks[0]->ops[2];
	fl_op_set_ints(m.startup, o, "shape", shape, 2);
	fl_op_del_attr(o, FL_ATTR_NAMESCOPE);
	fl_op_set_ints(m.startup, m.startup->pb->blocks[0]->ops[0], "shape", shape, 1);
	r = pserver(&m, 0);
	ck_assert_int_eq((int)fl_op_attr(nth(r.startup, 0, 0), "shape")->type, FL_ATTR_LONGS);
	ck_assert_ptr_nonnull(fl_op_attr(nth(r.startup, 0, 0), "force_cpu"));
	ck_assert_str_eq(fl_attr_str(nth(r.startup, 0, 2), FL_ATTR_NAMESCOPE, "?"), "/");
	ck_assert_ptr_nonnull(fl_op_attr(nth(r.startup, 0, 2), FL_ATTR_DEVICE));
	fl_role_programs_free(&r);
	free_model(&m);
}
END_TEST

START_TEST(test_transpile_endpoints_are_trimmed)
{
	const char *const *eps;
	size_t n = fl_split_endpoints(" a:1 ,b:2,, c:3", &eps);

	ck_assert_uint_eq(n, 4);
	ck_assert_str_eq(eps[0], "a:1");
	ck_assert_str_eq(eps[1], "b:2");
	ck_assert_str_eq(eps[2], "");
	ck_assert_str_eq(eps[3], "c:3");
	fl_free((void *)(uintptr_t)eps);
}
END_TEST

Suite *suite_transpile(void)
{
	Suite *s = suite_create("transpile");
	TCase *t = tcase_create("transpile");

	tcase_add_test(t, test_transpile_basic_sync_trainer);
	tcase_add_test(t, test_transpile_basic_sync_server);
	tcase_add_test(t, test_transpile_basic_async);
	tcase_add_test(t, test_transpile_large_blocks_and_no_slicing);
	tcase_add_test(t, test_transpile_sync_with_one_trainer_is_repaired);
	tcase_add_test(t, test_transpile_idle_server_gets_an_empty_block);
	tcase_add_test(t, test_transpile_hash_name_is_stable_and_never_doubles);
	tcase_add_test(t, test_transpile_same_input_same_bytes);
	tcase_add_test(t, test_transpile_the_hash_is_the_same_in_all_roles);
	tcase_add_test(t, test_transpile_refuses_wrong_options);
	tcase_add_test(t, test_transpile_refuses_programs_in_words);
	tcase_add_test(t, test_transpile_refuses_what_a_message_cannot_carry);
	tcase_add_test(t, test_transpile_schedules_move_to_the_servers);
	tcase_add_test(t, test_transpile_async_schedules_count_every_trainer);
	tcase_add_test(t, test_transpile_dc_asgd_corrects_before_the_update);
	tcase_add_test(t, test_transpile_geo_keeps_the_optimizers_on_the_trainers);
	tcase_add_test(t, test_transpile_given_values_are_cut);
	tcase_add_test(t, test_transpile_copies_get_defaults);
	tcase_add_test(t, test_transpile_endpoints_are_trimmed);
	suite_add_tcase(s, t);
	return s;
}
