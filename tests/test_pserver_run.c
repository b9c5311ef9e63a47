/* fl_pserver_run over 127.0.0.1, with our client as the trainers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "psfake.h"
#include "rpc/client.h"

Suite *suite_pserver_run(void);

/* A server on a thread of its own. */
struct running {
	struct fake f;
	pthread_t thread;
	char folder[64], port_file[96], ready_file[96], endpoint[32];
	int stop[2];
	enum fl_code code;
	struct fl_err err;
};

static void *run(void *arg)
{
	struct running *r = arg;

	r->code = fl_pserver_run(r->f.prog, r->f.op, r->f.scope, &r->f.env, &r->f.opts, &r->err);
	return NULL;
}

static void start(struct running *r, struct fake_plan plan)
{
	struct fl_buf b = FL_BUF_INIT;
	double until = fl_now() + 20;

	memset(r, 0, sizeof *r);
	fake_make(&r->f, plan);
	snprintf(r->folder, sizeof r->folder, "/tmp/fluid-test-XXXXXX");
	ck_assert(mkdtemp(r->folder) != NULL);
	snprintf(r->port_file, sizeof r->port_file, "%s/port", r->folder);
	snprintf(r->ready_file, sizeof r->ready_file, "%s/ready", r->folder);
	ck_assert(pipe(r->stop) == 0);
	r->f.opts.address = "127.0.0.1:0";
	r->f.opts.port_file = r->port_file;
	r->f.opts.ready_file = r->ready_file;
	r->f.opts.stop_fd = r->stop[0];
	pthread_create(&r->thread, NULL, run, r);
	while (!fl_is_file(r->ready_file) && fl_now() < until)
		nanosleep(&(struct timespec){ 0, 5000000 }, NULL);
	ck_assert_int_eq(fl_file_read(r->port_file, 0, &b, NULL), FL_OK);
	snprintf(r->endpoint, sizeof r->endpoint, "127.0.0.1:%d",
		(int)strtol(fl_buf_str(&b), NULL, 10));
	fl_buf_release(&b);
}

static void end(struct running *r, enum fl_code code, const char *part_of_message)
{
	pthread_join(r->thread, NULL);
	ck_assert_msg(r->code == code, "%s", r->err.msg);
	ck_assert_msg(strstr(r->err.msg, part_of_message) != NULL, "'%s'", r->err.msg);
	ck_assert(!fl_is_file(r->port_file) && !fl_is_file(r->ready_file));
	rmdir(r->folder);
	close(r->stop[0]);
	close(r->stop[1]);
	fake_stop(&r->f);
}

struct trainer {
	struct running *r;
	int id, rounds;
	struct fl_client *client;
	struct fl_host host;
	struct fl_var *grad, *param;
	char name[32];
};

static void connect_to(struct trainer *t, struct running *r, int id)
{
	struct fl_client_opts opts = {
		.trainer_id = id, .deadline_ms = 20000, .retry_times = 3, .wait_servers_s = 20
	};

	*t = (struct trainer){ .r = r, .id = id };
	t->client = fl_client_new(&opts);
	fl_client_host(t->client, &t->host);
	t->grad = fake_var("g", r->f.plan.n, 0);
	t->param = fl_var_new("p", FL_LOD_TENSOR);
	snprintf(t->name, sizeof t->name, r->f.plan.sync ? "p0@GRAD.trainer_%d" : "p0@GRAD", id);
}

static void leave(struct trainer *t)
{
	fl_client_free(t->client);
	fl_var_free(t->grad);
	fl_var_free(t->param);
}

static enum fl_code send(struct trainer *t, float value, struct fl_err *err)
{
	struct fl_remote remote = { t->r->endpoint, t->name, t->name, t->grad };

	for (int64_t i = 0; i < t->r->f.plan.n; i++)
		((float *)fl_data(&t->grad->tensor))[i] = value;
	return t->host.send(t->host.arg, &remote, 1, err);
}

static enum fl_code barrier(struct trainer *t, bool is_batch, struct fl_err *err)
{
	const char *endpoint = t->r->endpoint;

	return t->host.barrier(t->host.arg, is_batch, &endpoint, 1, err);
}

static enum fl_code get(struct trainer *t, float *value, struct fl_err *err)
{
	struct fl_remote remote = { t->r->endpoint, "p0", "p", t->param };

	FL_TRY(t->host.get(t->host.arg, &remote, 1, true, err));
	*value = ((float *)fl_data(&t->param->tensor))[0];
	return FL_OK;
}

static enum fl_code train(struct trainer *t, struct fl_err *err)
{
	float p;

	FL_TRY(get(t, &p, err));
	FL_TRY(barrier(t, false, err));
	for (int round = 1; round <= t->rounds; round++) {
		FL_TRY(send(t, (float)(2 + 2 * t->id), err));
		FL_TRY(barrier(t, true, err));
		FL_TRY(get(t, &p, err));
		if (p != (float)(-(t->r->f.plan.fanin + 1) * round))
			return fl_err_set(err, FL_ESTATE, "round %d: %g", round, (double)p);
		FL_TRY(barrier(t, false, err));
	}
	return fl_client_complete(t->client, err);
}

static void *train_thread(void *arg)
{
	struct trainer *t = arg;
	struct fl_err err = { 0 };

	ck_assert_msg(train(t, &err) == FL_OK, "trainer %d: %s", t->id, err.msg);
	return NULL;
}

/* Trainer i sends 2 + 2 i: the mean is one more than there are trainers. */
static void run_sync(struct fake_plan plan, int rounds)
{
	struct running r;
	struct trainer t[64];
	pthread_t id[64];

	start(&r, plan);
	for (int i = 0; i < plan.fanin; i++) {
		connect_to(&t[i], &r, i);
		t[i].rounds = rounds;
		pthread_create(&id[i], NULL, train_thread, &t[i]);
	}
	for (int i = 0; i < plan.fanin; i++) {
		pthread_join(id[i], NULL);
		leave(&t[i]);
	}
	end(&r, FL_OK, "");
}

START_TEST(test_run_sync_to_the_end)
{
	run_sync((struct fake_plan){ .fanin = 2, .sync = true, .params = 1, .n = 1000 }, 50);
}
END_TEST

/* The server has one thread for calls and one for blocks: a thread a waiting call would stall it.
 */
START_TEST(test_run_sixty_four_trainers_one_thread)
{
	run_sync(
		(struct fake_plan){ .fanin = 64, .sync = true, .params = 1, .n = 10, .threads = 1 },
		5);
}
END_TEST

START_TEST(test_run_async_to_the_end)
{
	struct running r;
	struct trainer t;
	struct fl_err err = { 0 };
	float p = 0;

	start(&r, (struct fake_plan){ .fanin = 1, .params = 1, .n = 1000 });
	connect_to(&t, &r, 0);
	for (int i = 1; i <= 50; i++) {
		ck_assert_msg(
			send(&t, 1, &err) == FL_OK && get(&t, &p, &err) == FL_OK, "%s", err.msg);
		ck_assert(p == (float)-i);
	}
	ck_assert_int_eq(fl_client_complete(t.client, &err), FL_OK);
	leave(&t);
	end(&r, FL_OK, "");
}
END_TEST

static void *waiting_get(void *arg)
{
	struct trainer *t = arg;
	struct fl_err *err = FL_NEW(struct fl_err);
	float p;

	if (send(t, 1, err) == FL_OK && barrier(t, true, err) == FL_OK)
		get(t, &p, err);
	return err;
}

/* A Get waits for the other trainer when the server is told to stop. */
START_TEST(test_run_stops_in_order)
{
	struct running r;
	struct trainer t;
	pthread_t id;
	void *err;

	start(&r, (struct fake_plan){ .fanin = 2, .sync = true, .params = 1, .n = 4 });
	connect_to(&t, &r, 0);
	pthread_create(&id, NULL, waiting_get, &t);
	nanosleep(&(struct timespec){ 0, 300000000 }, NULL);
	ck_assert(write(r.stop[1], "", 1) == 1);
	pthread_join(id, &err);
	ck_assert(((struct fl_err *)err)->code != FL_OK);
	fl_free(err);
	leave(&t);
	end(&r, FL_ECANCELED, "asked to stop");
}
END_TEST

START_TEST(test_run_notices_a_lost_trainer)
{
	struct running r;
	struct trainer t[2];
	struct fl_err err = { 0 };
	double began;

	start(&r, (struct fake_plan){ .fanin = 2, .sync = true, .params = 1, .n = 4 });
	for (int i = 0; i < 2; i++) {
		connect_to(&t[i], &r, i);
		ck_assert_msg(send(&t[i], 1, &err) == FL_OK, "%s", err.msg);
	}
	began = fl_now();
	leave(&t[1]);
	end(&r, FL_ELOST, "trainer 1 is lost");
	ck_assert(fl_now() - began < 20);
	leave(&t[0]);
}
END_TEST

static const struct {
	const char *address, *part;
} bad[] = {
	{ "0.0.0.0:0", "--insecure" },
	{ "[::]:0", "--insecure" },
	{ "127.0.0.1.example.org:0", "--insecure" },
	{ "example.org:4711", "--insecure" },
	{ "127.0.0.1", "host:port" },
	{ "127.0.0.1:", "host:port" },
	{ "127.0.0.1:x", "host:port" },
	{ "127.0.0.1:70000", "host:port" },
	{ ":80", "host:port" },
	{ "", "host:port" },
};

START_TEST(test_run_refuses_addresses)
{
	struct fake f;
	struct fl_err err = { 0 };

	fake_make(&f, (struct fake_plan){ .fanin = 1, .params = 1, .n = 4 });
	f.opts.address = bad[_i].address;
	ck_assert_int_eq(fl_pserver_run(f.prog, f.op, f.scope, &f.env, &f.opts, &err), FL_EINVAL);
	ck_assert_msg(strstr(err.msg, bad[_i].part) != NULL, "%s", err.msg);
	fake_stop(&f);
}
END_TEST

Suite *suite_pserver_run(void)
{
	Suite *s = suite_create("pserver_run");
	TCase *t = tcase_create("pserver_run");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, test_run_sync_to_the_end);
	tcase_add_test(t, test_run_sixty_four_trainers_one_thread);
	tcase_add_test(t, test_run_async_to_the_end);
	tcase_add_test(t, test_run_stops_in_order);
	tcase_add_test(t, test_run_notices_a_lost_trainer);
	tcase_add_loop_test(t, test_run_refuses_addresses, 0, (int)FL_COUNT(bad));
	suite_add_tcase(s, t);
	return s;
}
