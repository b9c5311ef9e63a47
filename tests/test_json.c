/* base/json, base/near. */
#include <check.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/near.h"

Suite *suite_json(void);

static void says(struct fl_buf *b, const char *wanted)
{
	ck_assert_str_eq(fl_buf_str(b), wanted);
	fl_buf_clear(b);
}

START_TEST(test_json_strings)
{
	struct fl_buf b = FL_BUF_INIT;

	fl_json_str(&b, "a\"\\\n\001\x7f", 6);
	says(&b, "\"a\\\"\\\\\\n\\u0001\\u007f\"");
	fl_json_str(&b, "gr\xc3\xb6n \xff\xc3", 8);
	says(&b, "\"gr\xc3\xb6n \\ufffd\\ufffd\"");
	fl_json_str(&b, NULL, 0);
	says(&b, "\"\"");
	fl_buf_release(&b);
}
END_TEST

START_TEST(test_json_utf8)
{
	ck_assert(fl_utf8_valid("", 0));
	ck_assert(fl_utf8_valid("\xf0\x9f\x98\x80", 4));
	ck_assert(!fl_utf8_valid("\xf0\x9f\x98", 3));
	ck_assert(!fl_utf8_valid("\xed\xa0\x80", 3)); /* a surrogate */
	ck_assert(!fl_utf8_valid("\xc0\x80", 2));     /* over-long */
	ck_assert(!fl_utf8_valid("\xf4\x90\x80\x80", 4));
}
END_TEST

START_TEST(test_json_numbers_read_back)
{
	const float values[] = { 0.1f, 1e-45f, 3.4028235e38f, -0.0f, 16777217.0f, 1.0f / 3 };
	struct fl_buf b = FL_BUF_INIT;
	uint32_t bits = 0x7fc00001;
	float f;

	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		fl_json_f32(&b, values[i]);
		f = strtof(fl_buf_str(&b), NULL);
		ck_assert(!memcmp(&f, &values[i], sizeof f));
		fl_buf_clear(&b);
	}
	fl_json_f32(&b, INFINITY);
	says(&b, "\"Infinity\"");
	fl_json_f64(&b, -INFINITY);
	says(&b, "\"-Infinity\"");
	memcpy(&f, &bits, sizeof f);
	fl_json_f32(&b, f);
	says(&b, "\"NaN:7fc00001\"");
	fl_json_f64(&b, 0.1);
	ck_assert(strtod(fl_buf_str(&b), NULL) == 0.1);
	fl_buf_release(&b);
}
END_TEST

START_TEST(test_base64_is_strict)
{
	static const struct {
		const char *plain, *text;
	} rows[] = { { "", "" }, { "f", "Zg==" }, { "fo", "Zm8=" }, { "foo", "Zm9v" },
		{ "foob", "Zm9vYg==" } };
	static const char *const bad[] = { "Zg=", "Zg", "Zh==", "Zm9=", "Z===", "Zg==Zg==", "Z*==",
		"Zm 8" };
	struct fl_buf b = FL_BUF_INIT;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		fl_base64_put(&b, rows[i].plain, strlen(rows[i].plain));
		says(&b, rows[i].text);
		ck_assert(fl_base64_get(rows[i].text, strlen(rows[i].text), &b));
		says(&b, rows[i].plain);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		ck_assert_msg(!fl_base64_get(bad[i], strlen(bad[i]), &b), "%s", bad[i]);
	fl_buf_release(&b);
}
END_TEST

START_TEST(test_near)
{
	struct fl_near near;

	ck_assert_uint_eq(fl_edit_distance("", "abc"), 3);
	ck_assert_uint_eq(fl_edit_distance("kitten", "sitting"), 3);
	ck_assert_uint_eq(fl_edit_distance("ab", "ba"), 1);
	fl_near_init(&near, "sofmtax");
	fl_near_try(&near, "softmax_grad");
	fl_near_try(&near, "softmax");
	ck_assert_str_eq(near.best, "softmax");
	fl_near_init(&near, "xyz");
	fl_near_try(&near, "softmax");
	ck_assert_ptr_null(near.best);
}
END_TEST

Suite *suite_json(void)
{
	Suite *s = suite_create("json");
	TCase *tc = tcase_create("json");

	tcase_add_test(tc, test_json_strings);
	tcase_add_test(tc, test_json_utf8);
	tcase_add_test(tc, test_json_numbers_read_back);
	tcase_add_test(tc, test_base64_is_strict);
	tcase_add_test(tc, test_near);
	suite_add_tcase(s, tc);
	return s;
}
