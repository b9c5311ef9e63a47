/* The synchronous loop, by calls made one at a time, and under random scheduling. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "psfake.h"

Suite *suite_pserver_sync(void);

static const char *const peer[] = { "ipv4:10.0.0.1:1000", "ipv4:10.0.0.2:1001",
	"ipv4:10.0.0.3:1002" };

static const struct fake_plan two = { .fanin = 2, .sync = true, .params = 1, .n = 3 };

/* Trainer t's gradient of p0, then of the others. */
static void push(struct fake *f, int t, float value)
{
	for (int k = 0; k < f->plan.params; k++) {
		char name[32];

		snprintf(name, sizeof name, "p%d@GRAD.trainer_%d", k, t);
		fake_ok(fake_fill(f, peer[t], t, name, value));
	}
}

static void batch(struct fake *f, int t)
{
	fake_ok(fake_send(f, peer[t], -1, BATCH, NULL, 0));
}

static void fetch(struct fake *f, int t)
{
	fake_ok(fake_get(f, peer[t], -1, FETCH));
}

static void complete(struct fake *f, int t)
{
	fake_ok(fake_send(f, peer[t], t, COMPLETE, NULL, 0));
}

static float pull(struct fake *f, int t)
{
	return fake_value(fake_get(f, peer[t], t, "p0"));
}

static void initial(struct fake *f)
{
	for (int t = 0; t < f->plan.fanin; t++) {
		ck_assert(pull(f, t) == 0);
		fetch(f, t);
	}
}

static bool ended(struct fake *f)
{
	enum fl_code code;

	return fake_ended(f, &code);
}

START_TEST(test_sync_rounds_average_the_gradients)
{
	struct fake f;

	fake_start(&f, (struct fake_plan){ .fanin = 2, .sync = true, .params = 3, .n = 5 });
	initial(&f);
	for (int round = 1; round <= 3; round++) {
		push(&f, 1, 6);
		batch(&f, 1);
		push(&f, 0, 2);
		batch(&f, 0);
		for (int t = 0; t < 2; t++)
			ck_assert(pull(&f, t) == (float)(-4 * round));
		ck_assert(fake_value(fake_get(&f, peer[0], 0, "p2")) == (float)(-4 * round));
		fetch(&f, 0);
		fetch(&f, 1);
	}
	fake_stop(&f);
}
END_TEST

START_TEST(test_sync_a_get_waits_for_the_round)
{
	struct fake f;
	struct fake_call *get;

	fake_start(&f, two);
	initial(&f);
	push(&f, 0, 2);
	batch(&f, 0);
	get = fake_get(&f, peer[0], 0, "p0");
	push(&f, 1, 4);
	ck_assert(!fake_done(get));
	batch(&f, 1);
	ck_assert(fake_value(get) == -3);
	fake_stop(&f);
}
END_TEST

START_TEST(test_sync_a_duplicate_barrier_closes_nothing)
{
	struct fake f;
	struct fake_call *get;

	fake_start(&f, two);
	initial(&f);
	push(&f, 0, 2);
	batch(&f, 0);
	batch(&f, 0);
	batch(&f, 0);
	get = fake_get(&f, peer[0], 0, "p0");
	ck_assert(!fake_done(get));
	push(&f, 1, 4);
	batch(&f, 1);
	ck_assert(fake_value(get) == -3);
	/* Late again, after the round: no part of the next one. */
	batch(&f, 1);
	fetch(&f, 0);
	fetch(&f, 0);
	get = fake_send(&f, peer[0], -1, BATCH, NULL, 0);
	ck_assert(pull(&f, 1) == -3);
	fetch(&f, 1);
	fake_ok(get);
	get = fake_get(&f, peer[0], 0, "p0");
	ck_assert(!fake_done(get));
	push(&f, 1, 8);
	batch(&f, 1);
	ck_assert(fake_value(get) == -7);
	fake_stop(&f);
}
END_TEST

START_TEST(test_sync_the_last_of_repeated_gradients_wins)
{
	struct fake f;

	fake_start(&f, two);
	initial(&f);
	push(&f, 0, 100);
	push(&f, 0, 100);
	push(&f, 0, 2);
	push(&f, 1, 4);
	batch(&f, 0);
	batch(&f, 1);
	ck_assert(pull(&f, 0) == -3);
	fake_stop(&f);
}
END_TEST

START_TEST(test_sync_early_gradients_are_parked_not_lost)
{
	struct fake f;
	struct fake_call *early, *barrier;

	fake_start(&f, two);
	initial(&f);
	push(&f, 0, 2);
	push(&f, 1, 4);
	batch(&f, 0);
	batch(&f, 1);
	ck_assert(pull(&f, 0) == -3);
	fetch(&f, 0);
	early = fake_fill(&f, peer[0], 0, "p0@GRAD.trainer_0", 10);
	barrier = fake_send(&f, peer[0], -1, BATCH, NULL, 0);
	ck_assert(!fake_done(early));
	ck_assert(pull(&f, 1) == -3);
	fetch(&f, 1);
	fake_ok(early);
	fake_ok(barrier);
	push(&f, 1, 20);
	batch(&f, 1);
	ck_assert(pull(&f, 1) == -18);
	fake_stop(&f);
}
END_TEST

START_TEST(test_sync_a_completed_trainer_is_absent)
{
	struct fake f;
	enum fl_code code;

	fake_start(&f, two);
	initial(&f);
	push(&f, 0, 2);
	push(&f, 1, 4);
	batch(&f, 0);
	batch(&f, 1);
	ck_assert(pull(&f, 0) == -3);
	ck_assert(pull(&f, 1) == -3);
	fetch(&f, 0);
	fetch(&f, 1);
	complete(&f, 1);
	complete(&f, 1);
	ck_assert(!ended(&f));
	/* The scale stays 1/2, as the program says; the frozen 4 is not in the sum. */
	push(&f, 0, 2);
	batch(&f, 0);
	ck_assert(pull(&f, 0) == -4);
	fetch(&f, 0);
	complete(&f, 1);
	ck_assert(!ended(&f));
	complete(&f, 0);
	ck_assert(fake_ended(&f, &code));
	ck_assert_int_eq(code, FL_OK);
	fake_stop(&f);
}
END_TEST

START_TEST(test_sync_completing_amid_a_round_takes_its_gradient_along)
{
	struct fake f;
	struct fake_call *get;

	fake_start(&f, two);
	initial(&f);
	push(&f, 1, 400);
	push(&f, 0, 2);
	batch(&f, 0);
	get = fake_get(&f, peer[0], 0, "p0");
	ck_assert(!fake_done(get));
	complete(&f, 1);
	ck_assert(fake_value(get) == -1);
	fake_stop(&f);
}
END_TEST

START_TEST(test_sync_completing_while_others_fetch)
{
	struct fake f;

	fake_start(&f, two);
	initial(&f);
	push(&f, 0, 2);
	push(&f, 1, 4);
	batch(&f, 0);
	batch(&f, 1);
	ck_assert(pull(&f, 1) == -3);
	fetch(&f, 1);
	complete(&f, 1);
	ck_assert(pull(&f, 0) == -3);
	fetch(&f, 0);
	push(&f, 0, 2);
	batch(&f, 0);
	ck_assert(pull(&f, 0) == -4);
	fake_stop(&f);
}
END_TEST

START_TEST(test_sync_begins_with_a_gradient_and_a_late_starter)
{
	struct fake f;

	fake_start(&f, two);
	push(&f, 0, 2);
	batch(&f, 0);
	/* He fetches the initial parameters first, as his startup program says. */
	ck_assert(pull(&f, 1) == 0);
	fetch(&f, 1);
	push(&f, 1, 4);
	batch(&f, 1);
	ck_assert(pull(&f, 0) == -3);
	ck_assert(pull(&f, 1) == -3);
	fake_stop(&f);
}
END_TEST

START_TEST(test_sync_a_trainer_may_skip_the_initial_get)
{
	struct fake f;
	struct fake_call *grad;

	fake_start(&f, two);
	ck_assert(pull(&f, 0) == 0);
	grad = fake_fill(&f, peer[1], 1, "p0@GRAD.trainer_1", 4);
	ck_assert(!fake_done(grad));
	fetch(&f, 0);
	fake_ok(grad);
	batch(&f, 1);
	push(&f, 0, 2);
	batch(&f, 0);
	ck_assert(pull(&f, 0) == -3);
	fake_stop(&f);
}
END_TEST

START_TEST(test_sync_a_trainer_without_variables_here_is_known_by_its_connection)
{
	struct fake f;

	fake_start(&f, two);
	fetch(&f, 0);
	fetch(&f, 1);
	for (int round = 1; round < 4; round++) {
		push(&f, 0, 2);
		batch(&f, 1);
		batch(&f, 1);
		batch(&f, 0);
		ck_assert(pull(&f, 0) == (float)-round);
		fetch(&f, 1);
		fetch(&f, 0);
	}
	complete(&f, 1);
	ck_assert(!ended(&f));
	complete(&f, 0);
	ck_assert(ended(&f));
	fake_stop(&f);
}
END_TEST

START_TEST(test_sync_trainers_on_one_connection)
{
	struct fake f;
	const char *p = peer[0];

	fake_start(&f, two);
	for (int t = 0; t < 2; t++)
		ck_assert(fake_value(fake_get(&f, p, t, "p0")) == 0);
	fake_ok(fake_get(&f, p, -1, FETCH));
	fake_ok(fake_get(&f, p, -1, FETCH));
	for (int round = 1; round < 4; round++) {
		struct fake_call *get[2];

		fake_ok(fake_fill(&f, p, 0, "p0@GRAD.trainer_0", 2));
		fake_ok(fake_fill(&f, p, 1, "p0@GRAD.trainer_1", 50));
		fake_ok(fake_send(&f, p, -1, BATCH, NULL, 0));
		fake_ok(fake_fill(&f, p, 1, "p0@GRAD.trainer_1", 4));
		get[0] = fake_get(&f, p, 0, "p0");
		ck_assert(!fake_done(get[0]));
		fake_ok(fake_send(&f, p, -1, BATCH, NULL, 0));
		get[1] = fake_get(&f, p, 1, "p0");
		for (int t = 0; t < 2; t++)
			ck_assert(fake_value(get[t]) == (float)(-3 * round));
		fake_ok(fake_get(&f, p, -1, FETCH));
		fake_ok(fake_get(&f, p, -1, FETCH));
	}
	fake_stop(&f);
}
END_TEST

START_TEST(test_sync_a_new_connection_is_the_same_trainer)
{
	struct fake f;

	fake_start(&f, two);
	initial(&f);
	push(&f, 0, 2);
	push(&f, 1, 4);
	batch(&f, 0);
	/* Trainer 1 has a new connection; its barrier alone cannot say whose it is. */
	fake_ok(fake_send(&f, peer[2], -1, BATCH, NULL, 0));
	ck_assert(fake_value(fake_get(&f, peer[2], 1, "p0")) == -3);
	fetch(&f, 0);
	fake_ok(fake_get(&f, peer[2], -1, FETCH));
	push(&f, 0, 2);
	batch(&f, 0);
	fake_ok(fake_fill(&f, peer[2], 1, "p0@GRAD.trainer_1", 4));
	fake_ok(fake_send(&f, peer[2], -1, BATCH, NULL, 0));
	ck_assert(pull(&f, 0) == -6);
	fake_stop(&f);
}
END_TEST

START_TEST(test_sync_a_second_trainer_of_that_number_is_refused)
{
	struct fake_call *c;
	struct fake f;

	fake_start(&f, two);
	f.client = 77;
	ck_assert(pull(&f, 0) == 0);
	fake_ok(fake_get(&f, peer[0], 0, FETCH));
	/* Who only reads is let in, and does not become the trainer. */
	f.client = 99;
	ck_assert(fake_value(fake_get(&f, peer[1], 0, "p0")) == 0);
	c = fake_get(&f, peer[1], 0, FETCH);
	fake_wait(c);
	ck_assert_int_eq(c->status, FL_STATUS_ALREADY_EXISTS);
	ck_assert_ptr_nonnull(strstr(c->text, "a second trainer 0, the first one is at"));
	fake_free(c);
	/* A new connection of the same process is no second one. */
	f.client = 77;
	fake_ok(fake_get(&f, peer[2], 0, FETCH));
	/* And one that was started anew, once its connection is gone, is not, either. */
	fl_serv_gone(f.serv, peer[2], true);
	f.client = 99;
	fake_ok(fake_get(&f, peer[1], 0, FETCH));
	fake_stop(&f);
}
END_TEST

START_TEST(test_sync_one_trainer_by_either_name)
{
	for (int listed = 0; listed < 2; listed++) {
		struct fake f;
		float sum = 0;

		fake_start(&f, (struct fake_plan){ .fanin = 1,
				       .sync = true,
				       .params = 1,
				       .n = 3,
				       .sum_suffix = listed });
		for (int round = 0; round < 4; round++) {
			fake_ok(fake_fill(
				&f, peer[0], -1, round % 2 ? "p0@GRAD" : "p0@GRAD.trainer_0", 2));
			batch(&f, 0);
			sum -= 2;
			ck_assert(pull(&f, 0) == sum);
			fetch(&f, 0);
		}
		complete(&f, 0);
		ck_assert(ended(&f));
		fake_stop(&f);
	}
}
END_TEST

START_TEST(test_sync_what_nobody_sent_gets_no_update)
{
	struct fake f;

	fake_start(&f, (struct fake_plan){ .fanin = 2, .sync = true, .params = 2, .n = 3 });
	initial(&f);
	fake_ok(fake_fill(&f, peer[0], 0, "p0@GRAD.trainer_0", 2));
	batch(&f, 0);
	batch(&f, 1);
	ck_assert(fake_value(fake_get(&f, peer[0], 0, "p0")) == -1);
	ck_assert(fake_value(fake_get(&f, peer[0], 0, "p1")) == 0);
	fetch(&f, 0);
	fetch(&f, 1);
	batch(&f, 0);
	batch(&f, 1);
	ck_assert(fake_value(fake_get(&f, peer[0], 0, "p0")) == -1);
	fake_stop(&f);
}
END_TEST

/* More servers than parameters: one holds nothing, and is still told of every round. */
START_TEST(test_sync_a_server_without_variables)
{
	struct fake f;

	fake_start(&f, (struct fake_plan){ .fanin = 2, .sync = true, .params = 0, .n = 1 });
	fetch(&f, 0);
	fetch(&f, 1);
	for (int round = 1; round <= 3; round++) {
		struct fake_call *early;

		batch(&f, 0);
		early = fake_get(&f, peer[0], -1, FETCH);
		ck_assert(!fake_done(early));
		batch(&f, 1);
		fake_ok(early);
		fetch(&f, 1);
	}
	complete(&f, 0);
	ck_assert(!ended(&f));
	complete(&f, 1);
	ck_assert(ended(&f));
	fake_stop(&f);
}
END_TEST

START_TEST(test_sync_without_barrier_never_waits)
{
	struct fake f;

	fake_start(&f, two);
	initial(&f);
	push(&f, 0, 2);
	ck_assert(fake_value(fake_call_any(&f, FL_GET_VARIABLE_NO_BARRIER, peer[2], -1,
			  "p0@WITHOUT_BARRIER@RECV", NULL, 0)) == 0);
	fake_stop(&f);
}
END_TEST

START_TEST(test_sync_refusals_change_nothing)
{
	struct fake f;
	float four[4] = { 1, 1, 1, 1 };
	struct fl_var *v = fl_var_new("x", FL_LOD_TENSOR);
	struct fl_err err = { 0 };
	int64_t n = 3;

	fake_start(&f, two);
	initial(&f);
	push(&f, 0, 2);
	fake_refused(
		fake_send(&f, peer[0], 0, "q@GRAD.trainer_0", four, 3), 3, "'q@GRAD.trainer_0'");
	fake_refused(fake_send(&f, peer[0], 0, "p0@GRAD.trainer_7", four, 3), 3, "trainer_7");
	fake_refused(
		fake_send(&f, peer[0], 0, "p0@GRAD.trainer_0", four, 4), 3, "[4], expected [3]");
	fake_refused(fake_send(&f, peer[0], 0, "p0@GRAD.trainer_0", NULL, 0), 3, "payload");
	ck_assert_int_eq(fl_tensor_resize(&v->tensor, FL_FP64, &n, 1, &err), FL_OK);
	fake_refused(fake_call_any(&f, FL_SEND_VARIABLE, peer[0], 0, "p0@GRAD.trainer_0", v, 0), 3,
		"float64, expected float32");
	v = fl_var_new("x", FL_SELECTED_ROWS);
	fake_refused(fake_call_any(&f, FL_SEND_VARIABLE, peer[0], 0, "p0@GRAD.trainer_0", v, 0), 3,
		"SelectedRows, expected a LoDTensor");
	fake_refused(fake_call_any(&f, FL_GET_VARIABLE_NO_BARRIER, peer[0], 0, "nothing", NULL, 0),
		3, "'nothing'");
	fake_refused(fake_send(&f, peer[2], 9, COMPLETE, NULL, 0), 3, "trainer 9");
	push(&f, 1, 4);
	batch(&f, 0);
	batch(&f, 1);
	ck_assert(pull(&f, 0) == -3);
	fake_refused(fake_get(&f, peer[0], 0, "nothing"), 3, "'nothing'");
	fake_stop(&f);
}
END_TEST

START_TEST(test_sync_a_lost_trainer_ends_the_job)
{
	struct fake f;
	struct fake_call *get;
	enum fl_code code;

	fake_start(&f, two);
	initial(&f);
	push(&f, 0, 2);
	batch(&f, 0);
	get = fake_get(&f, peer[0], 0, "p0");
	fl_serv_gone(f.serv, peer[1], true);
	fl_serv_tick(f.serv, fl_now());
	ck_assert(!fake_ended(&f, &code));
	/* It comes back within its time over a new connection, then goes for good, though one of
	 * its messages is read after its end. */
	fake_ok(fake_fill(&f, peer[2], 1, "p0@GRAD.trainer_1", 4));
	fl_serv_tick(f.serv, fl_now() + 60);
	ck_assert(!fake_ended(&f, &code));
	fl_serv_gone(f.serv, peer[1], true);
	fl_serv_tick(f.serv, fl_now() + 60);
	ck_assert(!fake_ended(&f, &code));
	fl_serv_gone(f.serv, peer[2], true);
	fake_ok(fake_fill(&f, peer[2], 1, "p0@GRAD.trainer_1", 4));
	fl_serv_tick(f.serv, fl_now() + 60);
	ck_assert(fake_ended(&f, &code));
	ck_assert_int_eq(code, FL_ELOST);
	ck_assert(strstr(f.serv->end.msg, "trainer 1 is lost") != NULL);
	fl_serv_stop(f.serv, FL_ECANCELED, "");
	fake_refused(get, 14, "trainer 1 is lost");
	fake_stop(&f);
}
END_TEST

START_TEST(test_sync_goes_on_without_a_lost_trainer)
{
	struct fake f;
	struct fake_call *get;
	struct fake_plan plan = two;

	plan.continue_on_lost = true;
	fake_start(&f, plan);
	initial(&f);
	push(&f, 1, 400);
	push(&f, 0, 2);
	batch(&f, 0);
	get = fake_get(&f, peer[0], 0, "p0");
	fl_serv_gone(f.serv, peer[1], true);
	fl_serv_tick(f.serv, fl_now() + 60);
	ck_assert(fake_value(get) == -1);
	fetch(&f, 0);
	/* It comes again and fetches; it is awaited as soon as it takes part. */
	ck_assert(fake_value(fake_get(&f, peer[2], 1, "p0")) == -1);
	fake_ok(fake_get(&f, peer[2], -1, FETCH));
	fake_ok(fake_fill(&f, peer[2], 1, "p0@GRAD.trainer_1", 4));
	fake_ok(fake_send(&f, peer[2], -1, BATCH, NULL, 0));
	get = fake_get(&f, peer[2], 1, "p0");
	ck_assert(!fake_done(get));
	push(&f, 0, 2);
	batch(&f, 0);
	ck_assert(fake_value(get) == -4);
	fake_ok(fake_get(&f, peer[2], -1, FETCH));
	fetch(&f, 0);
	complete(&f, 0);
	ck_assert(!ended(&f));
	fake_ok(fake_send(&f, peer[2], 1, COMPLETE, NULL, 0));
	ck_assert(ended(&f));
	fake_stop(&f);
}
END_TEST

/* Keeps the last event of a name. */
struct heard {
	const char *event;
	int n;
	char text[300];
};

static void hear(void *arg, enum fl_level level, const char *event, const char *text,
	const struct fl_field *fields, size_t n)
{
	struct heard *h = arg;

	(void)level;
	(void)fields;
	(void)n;
	if (strcmp(event, h->event) != 0)
		return;
	h->n++;
	snprintf(h->text, sizeof h->text, "%s", text);
}

START_TEST(test_sync_says_who_is_awaited)
{
	struct fake f;
	struct heard h = { .event = "waiting" };
	struct fl_log log = { hear, &h, FL_LOG_INFO };
	struct fake_plan plan = two;

	plan.log = &log;
	plan.fanin = 3;
	fake_start(&f, plan);
	fl_serv_tick(f.serv, fl_now() + 3600);
	ck_assert_int_eq(h.n, 0);
	ck_assert(pull(&f, 0) == 0);
	fetch(&f, 0);
	ck_assert(pull(&f, 1) == 0);
	fl_serv_tick(f.serv, fl_now() + 1);
	ck_assert_int_eq(h.n, 0);
	fl_serv_tick(f.serv, fl_now() + 4);
	fl_serv_tick(f.serv, fl_now() + 5);
	ck_assert_int_eq(h.n, 1);
	ck_assert_msg(strstr(h.text, "round 0: waiting for the fetches of trainer 1") != NULL, "%s",
		h.text);
	ck_assert_msg(strstr(h.text, "trainer 2 (not heard of yet)") != NULL, "%s", h.text);
	fetch(&f, 1);
	fetch(&f, 2);
	push(&f, 1, 4);
	push(&f, 2, 4);
	fl_serv_tick(f.serv, fl_now() + 3600);
	ck_assert_int_eq(h.n, 1);
	batch(&f, 1);
	fl_serv_tick(f.serv, fl_now() + 4);
	ck_assert_int_eq(h.n, 2);
	ck_assert_msg(strstr(h.text, "round 1: waiting for the gradients of trainer 0") != NULL,
		"%s", h.text);
	ck_assert_msg(strstr(h.text, "trainer 2") && !strstr(h.text, "trainer 1"), "%s", h.text);
	fake_stop(&f);
}
END_TEST

START_TEST(test_sync_stop_answers_what_waits)
{
	struct fake f;
	struct fake_call *get;

	fake_start(&f, two);
	initial(&f);
	push(&f, 0, 2);
	batch(&f, 0);
	get = fake_get(&f, peer[0], 0, "p0");
	fl_serv_stop(f.serv, FL_ECANCELED, "asked to");
	fake_refused(get, 14, "asked to");
	fake_refused(fake_get(&f, peer[0], 0, "p0"), 14, "ends");
	fake_refused(fake_fill(&f, peer[0], 0, "p0@GRAD.trainer_0", 1), 14, "ends");
	fake_stop(&f);
}
END_TEST

/* 64 trainers whose calls all wait at once, one thread that computes. */
START_TEST(test_sync_sixty_four_trainers_one_worker)
{
	struct fake f;
	struct fake_call *get[64];
	char name[64][64], from[64][32];

	fake_start(&f,
		(struct fake_plan){ .fanin = 64, .sync = true, .params = 1, .n = 2, .threads = 1 });
	for (int t = 0; t < 64; t++) {
		snprintf(name[t], sizeof name[t], "p0@GRAD.trainer_%d", t);
		snprintf(from[t], sizeof from[t], "ipv4:10.1.0.%d:1", t);
	}
	for (int round = 1; round <= 20; round++) {
		for (int t = 0; t < 64; t++) {
			fake_ok(fake_fill(&f, from[t], t, name[t], (float)t));
			fake_ok(fake_send(&f, from[t], -1, BATCH, NULL, 0));
			get[t] = fake_get(&f, from[t], t, "p0");
			ck_assert(t == 63 || !fake_done(get[t]));
		}
		for (int t = 0; t < 64; t++) {
			ck_assert(fake_value(get[t]) == -31.5f * (float)round);
			fake_ok(fake_get(&f, from[t], -1, FETCH));
		}
	}
	fake_stop(&f);
}
END_TEST

/* ---- random scheduling ----------------------------------------------------------------------- */

enum { STRESS_TRAINERS = 8 };

struct stress {
	struct fake *f;
	int t, rounds;
};

static void pause_now_and_then(unsigned *seed)
{
	int r = rand_r(seed) % 16;

	for (int i = 0; r < 4 && i <= r; i++)
		sched_yield();
}

/* A trainer of trainers t = 0..7, each of which sends t + round; trainer t does not send a barrier
 * twice except now and then, which must not matter. */
static void *stress_trainer(void *arg)
{
	const struct stress *s = arg;
	unsigned seed = (unsigned)s->t * 7919u + 1;
	char from[32], name[32];
	float want = 0;

	snprintf(from, sizeof from, "ipv4:10.2.0.%d:1", s->t);
	snprintf(name, sizeof name, "p0@GRAD.trainer_%d", s->t);
	ck_assert(fake_value(fake_get(s->f, from, s->t, "p0")) == 0);
	fake_ok(fake_get(s->f, from, -1, FETCH));
	for (int round = 1; round <= s->rounds; round++) {
		float g = (float)(round % 3);

		pause_now_and_then(&seed);
		fake_ok(fake_fill(s->f, from, s->t, name, (float)s->t + g));
		pause_now_and_then(&seed);
		fake_ok(fake_send(s->f, from, -1, BATCH, NULL, 0));
		if (rand_r(&seed) % 8 == 0)
			fake_ok(fake_send(s->f, from, -1, BATCH, NULL, 0));
		pause_now_and_then(&seed);
		want -= 3.5f + g;
		ck_assert(fake_value(fake_get(s->f, from, s->t, "p0")) == want);
		pause_now_and_then(&seed);
		fake_ok(fake_get(s->f, from, -1, FETCH));
	}
	fake_ok(fake_send(s->f, from, s->t, COMPLETE, NULL, 0));
	return NULL;
}

START_TEST(test_sync_stress_with_random_scheduling)
{
	struct fake f;
	struct stress s[STRESS_TRAINERS];
	pthread_t id[STRESS_TRAINERS];
	enum fl_code code;

	fake_start(&f,
		(struct fake_plan){ .fanin = STRESS_TRAINERS, .sync = true, .params = 1, .n = 3 });
	for (int t = 0; t < STRESS_TRAINERS; t++) {
		s[t] = (struct stress){ &f, t, 2000 };
		pthread_create(&id[t], NULL, stress_trainer, &s[t]);
	}
	for (int t = 0; t < STRESS_TRAINERS; t++)
		pthread_join(id[t], NULL);
	ck_assert(fake_ended(&f, &code));
	ck_assert_int_eq(code, FL_OK);
	fake_stop(&f);
}
END_TEST

Suite *suite_pserver_sync(void)
{
	Suite *s = suite_create("pserver_sync");
	TCase *t = tcase_create("pserver_sync");

	tcase_set_timeout(t, 120);
	tcase_add_test(t, test_sync_rounds_average_the_gradients);
	tcase_add_test(t, test_sync_a_get_waits_for_the_round);
	tcase_add_test(t, test_sync_a_duplicate_barrier_closes_nothing);
	tcase_add_test(t, test_sync_the_last_of_repeated_gradients_wins);
	tcase_add_test(t, test_sync_early_gradients_are_parked_not_lost);
	tcase_add_test(t, test_sync_a_completed_trainer_is_absent);
	tcase_add_test(t, test_sync_completing_amid_a_round_takes_its_gradient_along);
	tcase_add_test(t, test_sync_completing_while_others_fetch);
	tcase_add_test(t, test_sync_begins_with_a_gradient_and_a_late_starter);
	tcase_add_test(t, test_sync_a_trainer_may_skip_the_initial_get);
	tcase_add_test(t, test_sync_a_trainer_without_variables_here_is_known_by_its_connection);
	tcase_add_test(t, test_sync_trainers_on_one_connection);
	tcase_add_test(t, test_sync_a_new_connection_is_the_same_trainer);
	tcase_add_test(t, test_sync_a_second_trainer_of_that_number_is_refused);
	tcase_add_test(t, test_sync_one_trainer_by_either_name);
	tcase_add_test(t, test_sync_what_nobody_sent_gets_no_update);
	tcase_add_test(t, test_sync_a_server_without_variables);
	tcase_add_test(t, test_sync_without_barrier_never_waits);
	tcase_add_test(t, test_sync_refusals_change_nothing);
	tcase_add_test(t, test_sync_a_lost_trainer_ends_the_job);
	tcase_add_test(t, test_sync_goes_on_without_a_lost_trainer);
	tcase_add_test(t, test_sync_says_who_is_awaited);
	tcase_add_test(t, test_sync_stop_answers_what_waits);
	tcase_add_test(t, test_sync_sixty_four_trainers_one_worker);
	tcase_add_test(t, test_sync_stress_with_random_scheduling);
	suite_add_tcase(s, t);
	return s;
}
