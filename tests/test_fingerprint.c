/* desc/fingerprint: the record in transpiled programs. */
#include <check.h>
#include <stdint.h>

#include "desc/fingerprint.h"

Suite *suite_fingerprint(void);

static const struct fl_fingerprint sample = { FL_ROLE_TRAINER, FL_MODE_GEO, 3, 2,
	0x0123456789abcdefu, 250, FL_LR_PER_TRAINER };

START_TEST(test_fingerprint_survives_the_file)
{
	struct fl_program *p = fl_program_new(1008005), *q;
	struct fl_fingerprint got;
	struct fl_err err;

	ck_assert_int_eq(fl_fingerprint_get(p, &got, &err), FL_ENOTFOUND);
	fl_fingerprint_set(p, &sample);
	q = fl_program_clone(p);
	ck_assert_int_eq(fl_fingerprint_get(q, &got, &err), FL_OK);
	ck_assert_int_eq(got.role, FL_ROLE_TRAINER);
	ck_assert_int_eq(got.mode, FL_MODE_GEO);
	ck_assert_int_eq(got.trainers, 3);
	ck_assert_int_eq(got.id, 2);
	ck_assert(got.hash == sample.hash);
	ck_assert_int_eq((int)got.geo_need_push_nums, 250);
	ck_assert_int_eq(got.lr_steps, FL_LR_PER_TRAINER);
	fl_program_free(q);
	fl_program_free(p);
}
END_TEST

START_TEST(test_fingerprint_is_replaced)
{
	struct fl_program *p = fl_program_new(0);
	struct fl_fingerprint fp = sample, got;
	struct fl_err err;

	fl_fingerprint_set(p, &fp);
	fp.role = FL_ROLE_PSERVER;
	fp.id = 7;
	fl_fingerprint_set(p, &fp);
	ck_assert_uint_eq(p->pb->blocks[0]->base.n_unknown_fields, 1);
	ck_assert_int_eq(fl_fingerprint_get(p, &got, &err), FL_OK);
	ck_assert_int_eq(got.role, FL_ROLE_PSERVER);
	ck_assert_int_eq(got.id, 7);
	fl_program_free(p);
}
END_TEST

/* Every cut and every changed byte is either refused or read as something sound. */
START_TEST(test_fingerprint_damage_is_noticed)
{
	struct fl_program *p = fl_program_new(0);
	ProtobufCMessageUnknownField *u;
	struct fl_fingerprint fp = sample, got;
	struct fl_err err;
	size_t len;

	fl_fingerprint_set(p, &fp);
	u = &p->pb->blocks[0]->base.unknown_fields[0];
	len = u->len;
	for (size_t n = 0; n < len; n++) {
		u->len = n;
		ck_assert_int_eq(fl_fingerprint_get(p, &got, &err), FL_EFORMAT);
	}
	u->len = len;
	for (size_t i = 0; i < len; i++)
		for (int bit = 0; bit < 8; bit++) {
			u->data[i] ^= (uint8_t)(1 << bit);
			if (fl_fingerprint_get(p, &got, &err) == FL_OK)
				ck_assert(got.trainers >= 1 && got.mode < FL_MODE_COUNT);
			u->data[i] ^= (uint8_t)(1 << bit);
		}
	fp.id = 3; /* of 3 trainers */
	fl_fingerprint_set(p, &fp);
	ck_assert_int_eq(fl_fingerprint_get(p, &got, &err), FL_EFORMAT);
	fl_program_free(p);
}
END_TEST

Suite *suite_fingerprint(void)
{
	Suite *s = suite_create("fingerprint");
	TCase *t = tcase_create("fingerprint");

	tcase_add_test(t, test_fingerprint_survives_the_file);
	tcase_add_test(t, test_fingerprint_is_replaced);
	tcase_add_test(t, test_fingerprint_damage_is_noticed);
	suite_add_tcase(s, t);
	return s;
}
