/* transpile/slice and place: the numbers of spec sections 4 and 6. */
#include <check.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "transpile/internal.h"

Suite *suite_slice(void);

static const struct {
	int64_t dims[4];
	size_t rank, servers;
	int64_t min;
	size_t blocks;
	int64_t block, last;
} cuts[] = {
	{ { 3, 5 }, 2, 10, 1024, 1, 15, 15 },
	{ { 1024 }, 1, 10, 1024, 1, 1024, 1024 },
	{ { 28, 784 }, 2, 10, 1024, 10, 2352, 784 },
	{ { 8, 1020 }, 2, 10, 1024, 4, 2040, 2040 },
	{ { 800, 10 }, 2, 10, 1024, 7, 1150, 1100 },
	{ { 28, 784 }, 2, 10, 8192, 2, 10976, 10976 },
	{ { 8, 1020 }, 2, 10, 8192, 1, 8160, 8160 },
	{ { 800, 10 }, 2, 10, 8192, 1, 8000, 8000 },
	{ { 6, 33, 33, 33 }, 4, 10, 8192, 6, 35937, 35937 },
	{ { 1000 }, 1, 2, 8192, 1, 1000, 1000 },
	{ { 1000, 1000 }, 2, 2, 8192, 2, 500000, 500000 },
	{ { 100003 }, 1, 4, 8192, 4, 25001, 25000 },
	{ { 3, 65536 }, 2, 4, 8192, 3, 65536, 65536 },
	{ { 1000, 1000 }, 2, 1, 8192, 1, 1000000, 1000000 },
};

START_TEST(test_slice_cuts_as_upstream_expects)
{
	int64_t block, numel, row;
	size_t n = tp_cut(cuts[_i].dims, cuts[_i].rank, cuts[_i].servers, cuts[_i].min, &block,
		&numel, &row);

	ck_assert_uint_eq(n, cuts[_i].blocks);
	if (n > 1)
		ck_assert_int_eq(block, cuts[_i].block);
	ck_assert_int_eq(numel - (int64_t)(n - 1) * block, cuts[_i].last);
}
END_TEST

/* Over many shapes: blocks cover the tensor, are whole rows, and no more than the servers. */
START_TEST(test_slice_properties)
{
	for (int64_t rows = 1; rows < 400; rows += 7)
		for (int64_t cols = 1; cols < 5000; cols = cols * 3 + 1)
			for (size_t servers = 1; servers < 70; servers = servers * 2 + 1) {
				const int64_t dims[] = { rows, cols };
				int64_t block, numel, row, last;
				size_t n = tp_cut(dims, 2, servers, 8192, &block, &numel, &row);

				last = numel - (int64_t)(n - 1) * block;
				ck_assert(n >= 1 && n <= servers);
				ck_assert_int_eq(row, cols);
				ck_assert_int_eq(block % cols, 0);
				ck_assert(last > 0 && last <= block && last % cols == 0);
			}
}
END_TEST

START_TEST(test_slice_refuses_shapes_without_a_size)
{
	const int64_t unknown[] = { -1, 10 }, none[] = { 0 }, huge[] = { INT64_MAX / 4, 8 };
	int64_t block, numel, row;

	ck_assert_uint_eq(tp_cut(unknown, 2, 2, 8192, &block, &numel, &row), 0);
	ck_assert_uint_eq(tp_cut(none, 1, 2, 8192, &block, &numel, &row), 0);
	ck_assert_uint_eq(tp_cut(huge, 2, 2, 8192, &block, &numel, &row), 0);
}
END_TEST

static const struct {
	uint32_t seed;
	size_t n;
	size_t order[10];
} shuffles[] = {
	{ 0, 2, { 1, 0 } },
	{ 0, 3, { 2, 1, 0 } },
	{ 0, 5, { 2, 0, 1, 3, 4 } },
	{ 0, 10, { 2, 8, 4, 9, 1, 6, 7, 3, 0, 5 } },
	{ 1, 2, { 0, 1 } },
	{ 1, 3, { 0, 2, 1 } },
	{ 1, 5, { 2, 1, 4, 0, 3 } },
	{ 1, 10, { 2, 9, 6, 4, 0, 3, 1, 7, 8, 5 } },
	{ 42, 10, { 8, 1, 5, 0, 7, 2, 9, 4, 3, 6 } },
};

START_TEST(test_slice_shuffles_as_numpy)
{
	size_t order[10];

	tp_shuffle(shuffles[_i].seed, order, shuffles[_i].n);
	for (size_t i = 0; i < shuffles[_i].n; i++)
		ck_assert_uint_eq(order[i], shuffles[_i].order[i]);
}
END_TEST

/* More draws than the generator's state holds: it is refilled. */
START_TEST(test_slice_long_shuffle_is_a_permutation)
{
	static size_t order[5000];
	static bool seen[5000];

	tp_shuffle(7, order, 5000);
	for (size_t i = 0; i < 5000; i++) {
		ck_assert(order[i] < 5000 && !seen[order[i]]);
		seen[order[i]] = true;
	}
}
END_TEST

Suite *suite_slice(void)
{
	Suite *s = suite_create("slice");
	TCase *t = tcase_create("slice");

	tcase_add_loop_test(t, test_slice_cuts_as_upstream_expects, 0, (int)FL_COUNT(cuts));
	tcase_add_test(t, test_slice_properties);
	tcase_add_test(t, test_slice_refuses_shapes_without_a_size);
	tcase_add_loop_test(t, test_slice_shuffles_as_numpy, 0, (int)FL_COUNT(shuffles));
	tcase_add_test(t, test_slice_long_shuffle_is_a_permutation);
	suite_add_tcase(s, t);
	return s;
}
