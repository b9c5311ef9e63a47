/* The asynchronous loop: nothing lost, nothing twice, nothing torn. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "psfake.h"

Suite *suite_pserver_async(void);

static const char *const peer[] = { "ipv4:10.0.0.1:1000", "ipv4:10.0.0.2:1001" };

static const struct fake_plan plain = { .fanin = 2, .params = 2, .n = 3 };

START_TEST(test_async_a_get_after_the_answer_sees_the_update)
{
	struct fake f;

	fake_start(&f, plain);
	for (int i = 1; i <= 50; i++) {
		fake_ok(fake_fill(&f, peer[i % 2], i % 2, "p0@GRAD", 2));
		ck_assert(fake_value(fake_get(&f, peer[0], 0, "p0")) == (float)(-2 * i));
		ck_assert(fake_value(fake_get(&f, peer[1], 1, "p1")) == 0);
	}
	fake_stop(&f);
}
END_TEST

START_TEST(test_async_barriers_mean_nothing)
{
	struct fake f;
	enum fl_code code;

	fake_start(&f, plain);
	fake_ok(fake_get(&f, peer[0], -1, FETCH));
	fake_ok(fake_send(&f, peer[0], -1, BATCH, NULL, 0));
	fake_ok(fake_fill(&f, peer[0], 0, "p0@GRAD.trainer_0", 2));
	ck_assert(fake_value(fake_get(&f, peer[0], 0, "p0")) == -2);
	fake_ok(fake_send(&f, peer[0], 0, COMPLETE, NULL, 0));
	fake_ok(fake_send(&f, peer[0], 0, COMPLETE, NULL, 0));
	ck_assert(!fake_ended(&f, &code));
	fake_ok(fake_send(&f, peer[1], 1, COMPLETE, NULL, 0));
	ck_assert(fake_ended(&f, &code));
	ck_assert_int_eq(code, FL_OK);
	fake_stop(&f);
}
END_TEST

START_TEST(test_async_refusals_change_nothing)
{
	struct fake f;
	float four[4] = { 1, 1, 1, 1 };

	fake_start(&f, plain);
	fake_refused(fake_send(&f, peer[0], 0, "q@GRAD", four, 3), 3, "'q@GRAD'");
	fake_refused(fake_send(&f, peer[0], 0, "p0@GRAD", four, 4), 3, "[4], expected [3]");
	fake_refused(fake_send(&f, peer[0], 0, "p0@GRAD", NULL, 0), 3, "payload");
	fake_refused(fake_get(&f, peer[0], 0, "q"), 3, "'q'");
	fake_refused(
		fake_call_any(&f, FL_DISTRIBUTE_NOTIFY, peer[0], 0, "@LR_DECAY_COUNTER@", NULL, 0),
		3, "no counter");
	fake_refused(fake_call_any(&f, FL_CHECKPOINT_NOTIFY, peer[0], 0, "SAVE@CHECKPOINTNOTIFY",
			     NULL, 0),
		12, "not offered");
	ck_assert(fake_value(fake_get(&f, peer[0], 0, "p0")) == 0);
	fake_ok(fake_fill(&f, peer[0], 0, "p0@GRAD", 2));
	fake_stop(&f);
}
END_TEST

START_TEST(test_async_a_second_try_is_applied_once)
{
	struct fake f;

	fake_start(&f, plain);
	for (uint64_t id = 1; id <= 100; id++) {
		for (int try = 0; try < 3; try++) {
			fake_ok(fake_call_any(&f, FL_SEND_VARIABLE, peer[try % 2], 0, "p0@GRAD",
				fake_var("g", 3, 1), id));
		}
	}
	ck_assert(fake_value(fake_get(&f, peer[0], 0, "p0")) == -100);
	fake_stop(&f);
}
END_TEST

/* In both loops: rows of a dense table in the order asked for. */
START_TEST(test_prefetch_gives_rows)
{
	static const int64_t ids[] = { 2, 0, 2 }, high[] = { 0, 3 }, low[] = { -1 };
	static const float want[] = { 20, 21, 0, 1, 20, 21 };
	struct fake_plan plan = plain;
	struct fake f;
	struct fl_var *table;
	struct fl_err err = { 0 };
	int64_t dims[] = { 3, 2 };
	struct fake_call *c;

	plan.sync = _i;
	fake_start(&f, plan);
	table = fl_scope_var(f.scope, "table", FL_LOD_TENSOR);
	ck_assert_int_eq(fl_tensor_resize(&table->tensor, FL_FP32, dims, 2, &err), FL_OK);
	for (int i = 0; i < 6; i++)
		((float *)fl_data(&table->tensor))[i] = (float)(i / 2 * 10 + i % 2);
	c = fake_prefetch(&f, peer[0], "table", ids, 3);
	fake_wait(c);
	ck_assert_msg(c->reply && !c->status, "%s", c->text);
	ck_assert_int_eq(c->reply->tensor.dims[0], 3);
	ck_assert_int_eq(c->reply->tensor.dims[1], 2);
	ck_assert(memcmp(fl_data(&c->reply->tensor), want, sizeof want) == 0);
	fake_free(c);
	c = fake_prefetch(&f, peer[0], "table", ids, 0);
	fake_wait(c);
	ck_assert(c->reply && c->reply->tensor.rank == 2 && c->reply->tensor.dims[0] == 0);
	fake_free(c);
	fake_refused(fake_prefetch(&f, peer[0], "table", high, 2), 3, "row 3, the table has 3");
	fake_refused(fake_prefetch(&f, peer[0], "table", low, 1), 3, "row -1");
	fake_refused(fake_prefetch(&f, peer[0], "nothing", ids, 3), 3, "'nothing'");
	fake_refused(fake_prefetch(&f, peer[0], "", ids, 3), 12, "distributed table");
	fake_refused(fake_call_any(&f, FL_PREFETCH_VARIABLE, peer[0], 0, "ids", NULL, 0), 12, "");
	fake_stop(&f);
}
END_TEST

START_TEST(test_async_a_lost_trainer)
{
	for (int goes_on = 0; goes_on < 2; goes_on++) {
		struct fake f;
		struct fake_plan plan = plain;
		enum fl_code code;

		plan.continue_on_lost = goes_on;
		fake_start(&f, plan);
		fake_ok(fake_fill(&f, peer[0], 0, "p0@GRAD", 2));
		fake_ok(fake_fill(&f, peer[1], 1, "p0@GRAD", 2));
		fl_serv_gone(f.serv, peer[1], true);
		fl_serv_tick(f.serv, fl_now() + 60);
		ck_assert_int_eq(fake_ended(&f, &code), !goes_on);
		if (goes_on) {
			fake_ok(fake_send(&f, peer[0], 0, COMPLETE, NULL, 0));
			ck_assert(fake_ended(&f, &code));
		}
		ck_assert_int_eq(code, goes_on ? FL_OK : FL_ELOST);
		fake_stop(&f);
	}
}
END_TEST

/* ---- under load ------------------------------------------------------------------------------ */

enum { SENDERS = 6 };

struct load {
	struct fake *f;
	int t, sends;
	atomic_bool *stop;
};

/* Some at once: several calls of one trainer are under way. */
static void *send_many(void *arg)
{
	const struct load *l = arg;
	char from[32];

	snprintf(from, sizeof from, "ipv4:10.3.0.%d:1", l->t);
	for (int i = 0; i < l->sends; i += 4) {
		struct fake_call *c[4];

		for (int j = 0; j < 4; j++)
			c[j] = fake_fill(l->f, from, l->t, j % 2 ? "p0@GRAD" : "p1@GRAD",
				(float)(1 + (i + j) % 3));
		for (int j = 0; j < 4; j++)
			fake_ok(c[j]);
	}
	return NULL;
}

/* fake_value checks that all elements are equal. */
static void *read_many(void *arg)
{
	const struct load *l = arg;
	float last = 0;

	while (!atomic_load(l->stop)) {
		float now = fake_value(fake_get(l->f, "ipv4:10.3.1.1:1", -1, l->t ? "p1" : "p0"));

		ck_assert_msg(now <= last, "%g after %g", (double)now, (double)last);
		last = now;
	}
	return NULL;
}

static void run_load(struct fake_plan plan, int sends, float sum[2])
{
	struct fake f;
	struct load send[SENDERS], read[2];
	pthread_t senders[SENDERS], readers[2];
	atomic_bool stop = false;

	fake_start(&f, plan);
	for (int i = 0; i < 2; i++) {
		read[i] = (struct load){ &f, i, sends, &stop };
		pthread_create(&readers[i], NULL, read_many, &read[i]);
	}
	for (int i = 0; i < SENDERS; i++) {
		send[i] = (struct load){ &f, i, sends, &stop };
		pthread_create(&senders[i], NULL, send_many, &send[i]);
	}
	for (int i = 0; i < SENDERS; i++)
		pthread_join(senders[i], NULL);
	atomic_store(&stop, true);
	for (int i = 0; i < 2; i++)
		pthread_join(readers[i], NULL);
	sum[0] = fake_value(fake_get(&f, peer[0], 0, "p0"));
	sum[1] = fake_value(fake_get(&f, peer[0], 0, "p1"));
	fake_stop(&f);
}

/* What the senders send to the parameter of parity `odd` adds up to this. */
static float expected(int sends, int odd)
{
	int sum = 0;

	for (int i = odd; i < sends; i += 2)
		sum += 1 + i % 3;
	return (float)(-SENDERS * sum);
}

START_TEST(test_async_every_update_counts_once)
{
	float sum[2];

	run_load((struct fake_plan){ .fanin = SENDERS, .params = 2, .n = 5 }, 2000, sum);
	ck_assert(sum[0] == expected(2000, 1));
	ck_assert(sum[1] == expected(2000, 0));
}
END_TEST

START_TEST(test_async_gradients_of_one_parameter_have_one_executor)
{
	float sum[2];

	run_load((struct fake_plan){ .fanin = SENDERS, .params = 2, .n = 5, .shared = true }, 2000,
		sum);
	ck_assert(sum[0] == expected(2000, 0) + expected(2000, 1));
	ck_assert(sum[1] == 0);
}
END_TEST

/* One sender and an update that takes its time: reads fall into the midst of it. */
START_TEST(test_async_reads_are_never_torn)
{
	struct fake f;
	struct load read;
	pthread_t reader;
	atomic_bool stop = false;

	fake_start(&f, (struct fake_plan){ .fanin = 1, .params = 1, .n = 2000000 });
	read = (struct load){ &f, 0, 0, &stop };
	pthread_create(&reader, NULL, read_many, &read);
	for (int i = 0; i < 60; i++)
		fake_ok(fake_fill(&f, peer[0], 0, "p0@GRAD", 1));
	atomic_store(&stop, true);
	pthread_join(reader, NULL);
	ck_assert(fake_value(fake_get(&f, peer[0], 0, "p0")) == -60);
	fake_stop(&f);
}
END_TEST

/* Stops while calls wait and one runs: each is answered, none is left. */
START_TEST(test_async_stop_answers_what_waits)
{
	struct fake f;
	struct fake_call *c[200];
	int refused = 0;
	float value;

	fake_start(&f, (struct fake_plan){ .fanin = 1, .params = 1, .n = 50000, .threads = 1 });
	for (int i = 0; i < 200; i++)
		c[i] = fake_fill(&f, peer[0], 0, "p0@GRAD", 1);
	fl_serv_stop(f.serv, FL_ECANCELED, "asked to");
	for (int i = 0; i < 200; i++) {
		fake_wait(c[i]);
		ck_assert(c[i]->status == 0 || c[i]->status == 14);
		refused += c[i]->status != 0;
		fake_free(c[i]);
	}
	value = ((float *)fl_data(&fl_scope_find(f.scope, "p0")->tensor))[0];
	ck_assert(value == (float)(refused - 200));
	fake_stop(&f);
}
END_TEST

/* Calls of every kind, in any order, from trainers known and unknown over a few connections: none
 * is left without an answer, none is answered twice (psfake.c), nothing falls over. */
START_TEST(test_any_calls_are_answered_once)
{
	static const char *const names[] = { BATCH, FETCH, COMPLETE, "p0@GRAD", "p0@GRAD.trainer_0",
		"p1@GRAD.trainer_1", "p0@GRAD.trainer_9", "p0", "p1@GRAD", "rate", "nothing", "" };
	static const char *const peers[] = { "ipv4:1", "ipv4:2", "ipv4:3" };
	enum { CALLS = 3000 };
	struct fake f;
	struct fake_call **c = FL_NEW_N(struct fake_call *, CALLS);
	struct fake_plan plan = {
		.fanin = 2, .sync = _i % 2, .params = 2, .n = 3, .continue_on_lost = _i / 2 % 2
	};
	unsigned seed = (unsigned)_i + 1;

	fake_start(&f, plan);
	for (int i = 0; i < CALLS; i++) {
		const char *name = names[rand_r(&seed) % (int)FL_COUNT(names)];
		const char *from = peers[rand_r(&seed) % 3];

		/* COMPLETE ends it all: rarely. */
		if (strcmp(name, COMPLETE) == 0 && rand_r(&seed) % 50)
			name = BATCH;
		c[i] = fake_call_any(&f, (enum fl_method)(rand_r(&seed) % FL_METHOD_COUNT), from,
			rand_r(&seed) % 4 - 1, name, rand_r(&seed) % 8 ? fake_var("v", 3, 1) : NULL,
			(uint64_t)(i / 3));
		if (rand_r(&seed) % 500 == 0) {
			fl_serv_gone(f.serv, from, true);
			fl_serv_tick(f.serv, fl_now() + 60);
		}
	}
	fl_serv_stop(f.serv, FL_ECANCELED, "over");
	for (int i = 0; i < CALLS; i++)
		fake_free(c[i]);
	fl_free(c);
	fake_stop(&f);
}
END_TEST

Suite *suite_pserver_async(void)
{
	Suite *s = suite_create("pserver_async");
	TCase *t = tcase_create("pserver_async");

	tcase_set_timeout(t, 120);
	tcase_add_test(t, test_async_a_get_after_the_answer_sees_the_update);
	tcase_add_test(t, test_async_barriers_mean_nothing);
	tcase_add_test(t, test_async_refusals_change_nothing);
	tcase_add_test(t, test_async_a_second_try_is_applied_once);
	tcase_add_loop_test(t, test_prefetch_gives_rows, 0, 2);
	tcase_add_test(t, test_async_a_lost_trainer);
	tcase_add_test(t, test_async_every_update_counts_once);
	tcase_add_test(t, test_async_gradients_of_one_parameter_have_one_executor);
	tcase_add_test(t, test_async_reads_are_never_torn);
	tcase_add_loop_test(t, test_any_calls_are_answered_once, 0, 40);
	tcase_add_test(t, test_async_stop_answers_what_waits);
	suite_add_tcase(s, t);
	return s;
}
