/* base/: errors, arena, buffer, map, files, wire, pool. */
#include <check.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/wire.h"

Suite *suite_base(void);

START_TEST(test_err_wrap_keeps_code_and_marks_cuts)
{
	struct fl_err err = { 0 };
	char longer[2 * FL_ERR_MAX];

	ck_assert_int_eq(fl_err_set(&err, FL_ELIMIT, "'%s' is too large", "x"), FL_ELIMIT);
	ck_assert_int_eq(fl_err_wrap(&err, "block %d", 2), FL_ELIMIT);
	ck_assert_str_eq(err.msg, "block 2: 'x' is too large");
	memset(longer, 'a', sizeof longer);
	longer[sizeof longer - 1] = 0;
	fl_err_wrap(&err, "%s", longer);
	ck_assert_uint_eq(strlen(err.msg), FL_ERR_MAX - 1);
	ck_assert_str_eq(err.msg + FL_ERR_MAX - 4, "...");
	ck_assert_int_eq(fl_err_set(NULL, FL_EIO, "nobody listens"), FL_EIO);
}
END_TEST

START_TEST(test_arena_is_zeroed_terminated_and_limited)
{
	struct fl_arena *a = fl_arena_new(1000);
	unsigned char *p = fl_arena_try(a, 32);

	ck_assert_ptr_nonnull(p);
	for (int i = 0; i <= 32; i++)
		ck_assert_uint_eq(p[i], 0);
	ck_assert_ptr_null(fl_arena_try(a, 2000));
	ck_assert_ptr_null(fl_arena_try(a, SIZE_MAX - 3));
	ck_assert_ptr_nonnull(fl_arena_try(a, 700));
	ck_assert_ptr_null(fl_arena_try(a, 700));
	fl_arena_free(a);
}
END_TEST

START_TEST(test_arena_pieces_do_not_overlap)
{
	struct fl_arena *a = fl_arena_new(0);
	unsigned char *p[200];
	size_t size[200];

	for (size_t i = 0; i < 200; i++) {
		size[i] = i % 7 == 0 ? 40000 + i : 1 + i * 13 % 97;
		p[i] = fl_arena_alloc(a, size[i]);
		memset(p[i], (int)i, size[i]);
	}
	for (size_t i = 0; i < 200; i++) {
		for (size_t k = 0; k < size[i]; k++)
			ck_assert_uint_eq(p[i][k], (unsigned char)i);
		ck_assert_uint_eq(p[i][size[i]], 0);
	}
	fl_arena_free(a);
}
END_TEST

START_TEST(test_map_keeps_order_and_survives_removal)
{
	struct fl_map m = FL_MAP_INIT;
	static int values[1000];
	char key[16];
	int next = 1;

	for (int i = 0; i < 1000; i++) {
		snprintf(key, sizeof key, "k%d", i);
		ck_assert_ptr_null(fl_map_put(&m, key, &values[i]));
	}
	for (int i = 0; i < 1000; i += 2) {
		snprintf(key, sizeof key, "k%d", i);
		ck_assert_ptr_eq(fl_map_remove(&m, key), &values[i]);
		ck_assert_ptr_null(fl_map_remove(&m, key));
	}
	ck_assert_uint_eq(m.live, 500);
	ck_assert(!fl_map_has(&m, "k10"));
	ck_assert_ptr_eq(fl_map_get(&m, "k11"), &values[11]);
	FL_MAP_EACH(e, &m)
	{
		ck_assert_ptr_eq(e->value, &values[next]);
		next += 2;
	}
	ck_assert_ptr_eq(fl_map_put(&m, "k11", &values[0]), &values[11]);
	fl_map_put(&m, "k10", &values[10]);
	ck_assert_uint_eq(m.live, 501);
	fl_map_release(&m);
}
END_TEST

START_TEST(test_map_removals_do_not_fill_the_table)
{
	struct fl_map m = FL_MAP_INIT;
	char key[16];

	for (int i = 0; i < 20000; i++) {
		snprintf(key, sizeof key, "k%d", i);
		fl_map_put(&m, key, &m);
		fl_map_remove(&m, key);
		ck_assert(!fl_map_has(&m, "absent"));
	}
	ck_assert_uint_lt(m.cap, 1000);
	fl_map_release(&m);
}
END_TEST

START_TEST(test_wire_reads_what_it_writes)
{
	static const uint64_t values[] = { 0, 1, 127, 128, 300, UINT32_MAX, UINT64_MAX };
	struct fl_buf b = FL_BUF_INIT;
	struct fl_wire_field f;
	struct fl_wire w;

	for (size_t i = 0; i < FL_COUNT(values); i++) {
		fl_wire_put_tag(&b, (uint32_t)i + 1, FL_WIRE_VARINT);
		fl_wire_put_varint(&b, values[i]);
	}
	fl_wire_put_bytes(&b, 20, "abc", 3);
	w = (struct fl_wire){ (uint8_t *)b.data, (uint8_t *)b.data + b.len };
	for (size_t i = 0; i < FL_COUNT(values); i++) {
		ck_assert_int_eq(fl_wire_next(&w, &f), 1);
		ck_assert_uint_eq(f.number, i + 1);
		ck_assert_uint_eq(f.value, values[i]);
	}
	ck_assert_int_eq(fl_wire_next(&w, &f), 1);
	ck_assert_uint_eq(f.len, 3);
	ck_assert_mem_eq(f.bytes, "abc", 3);
	ck_assert_int_eq(fl_wire_next(&w, &f), 0);
	fl_buf_release(&b);
}
END_TEST

/* Bytes that are no field: cut varint, cut length, group, field 0, cut fixed, 11-byte varint. */
static const struct {
	const char *bytes;
	size_t len;
} bad_wire[] = {
	{ "\x08", 1 },
	{ "\x0a\x05\x61\x62", 4 },
	{ "\x0b\x01", 2 },
	{ "\x00\x01", 2 },
	{ "\x0d\x01\x02", 3 },
	{ "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12 },
};

START_TEST(test_wire_refuses)
{
	const uint8_t *bytes = (const uint8_t *)bad_wire[_i].bytes;
	struct fl_wire w = { bytes, bytes + bad_wire[_i].len };
	struct fl_wire_field f;

	ck_assert_int_eq(fl_wire_next(&w, &f), -1);
	ck_assert_ptr_eq(w.p, bytes);
}
END_TEST

START_TEST(test_file_appears_whole_and_limits_hold)
{
	char dir[] = "/tmp/fluid-test-XXXXXX", path[64];
	struct fl_buf b = FL_BUF_INIT;
	struct fl_err err = { 0 };

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/a/b/file", dir);
	ck_assert_int_eq(fl_file_write(path, "x", 1, &err), FL_ENOTFOUND);
	ck_assert_int_eq(fl_mkdirs_for(path, &err), FL_OK);
	ck_assert_int_eq(fl_file_write(path, "hello", 5, &err), FL_OK);
	ck_assert_int_eq(fl_file_write(path, "world", 5, &err), FL_OK);
	ck_assert_int_eq(fl_file_read(path, 0, &b, &err), FL_OK);
	ck_assert_str_eq(fl_buf_str(&b), "world");
	fl_buf_clear(&b);
	ck_assert_int_eq(fl_file_read(path, 4, &b, &err), FL_ELIMIT);
	fl_buf_clear(&b);
	ck_assert_int_eq(fl_file_read(path, 5, &b, &err), FL_OK);
	ck_assert_int_eq(fl_file_read(dir, 0, &b, &err), FL_EINVAL);
	ck_assert_int_ne(fl_mkdirs(path, &err), FL_OK);
	ck_assert_int_eq(unlink(path), 0);
	fl_buf_release(&b);
	snprintf(path, sizeof path, "%s/a/b", dir);
	ck_assert_int_eq(rmdir(path), 0);
	snprintf(path, sizeof path, "%s/a", dir);
	ck_assert_int_eq(rmdir(path), 0);
	ck_assert_int_eq(rmdir(dir), 0);
}
END_TEST

static void count(void *arg, size_t begin, size_t end)
{
	atomic_int *hits = arg;

	for (size_t i = begin; i < end; i++)
		atomic_fetch_add(&hits[i], 1);
}

START_TEST(test_pool_for_covers_each_item_once)
{
	struct fl_pool *pool = fl_pool_new(4);
	static atomic_int hits[1000];

	for (int round = 0; round < 200; round++)
		fl_pool_for(pool, 1000, 1, count, hits);
	fl_pool_for(NULL, 1000, 1, count, hits);
	for (int i = 0; i < 1000; i++)
		ck_assert_int_eq(atomic_load(&hits[i]), 201);
	fl_pool_free(pool);
}
END_TEST

struct nest {
	struct fl_pool *pool;
	atomic_int *hits;
};

static void inner(void *arg, size_t begin, size_t end)
{
	struct nest *n = arg;

	for (size_t i = begin; i < end; i++)
		fl_pool_for(n->pool, 100, 1, count, n->hits);
}

START_TEST(test_pool_for_nests)
{
	static atomic_int hits[100];
	struct nest n = { fl_pool_new(2), hits };

	fl_pool_for(n.pool, 7, 1, inner, &n);
	for (int i = 0; i < 100; i++)
		ck_assert_int_eq(atomic_load(&hits[i]), 7);
	fl_pool_free(n.pool);
}
END_TEST

static void bump(void *arg)
{
	atomic_fetch_add((atomic_int *)arg, 1);
}

START_TEST(test_pool_free_runs_what_is_queued)
{
	struct fl_pool *pool = fl_pool_new(3);
	atomic_int done = 0;

	for (int i = 0; i < 1000; i++)
		fl_pool_submit(pool, bump, &done);
	fl_pool_free(pool);
	ck_assert_int_eq(done, 1000);
}
END_TEST

Suite *suite_base(void)
{
	Suite *s = suite_create("base");
	TCase *t = tcase_create("base");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, test_err_wrap_keeps_code_and_marks_cuts);
	tcase_add_test(t, test_arena_is_zeroed_terminated_and_limited);
	tcase_add_test(t, test_arena_pieces_do_not_overlap);
	tcase_add_test(t, test_map_keeps_order_and_survives_removal);
	tcase_add_test(t, test_map_removals_do_not_fill_the_table);
	tcase_add_test(t, test_wire_reads_what_it_writes);
	tcase_add_loop_test(t, test_wire_refuses, 0, (int)FL_COUNT(bad_wire));
	tcase_add_test(t, test_file_appears_whole_and_limits_hold);
	tcase_add_test(t, test_pool_for_covers_each_item_once);
	tcase_add_test(t, test_pool_for_nests);
	tcase_add_test(t, test_pool_free_runs_what_is_queued);
	suite_add_tcase(s, t);
	return s;
}
