/* Scopes: look-up, ownership, several threads. */
#include <pthread.h>
#include <stdio.h>

#include "exec/scope.h"
#include "fltest.h"

Suite *suite_scope(void);

START_TEST(test_scope_finds_upwards)
{
	struct fl_scope *root = fl_scope_new(NULL), *kid = fl_scope_new(root), *grandkid;
	struct fl_var *w = fl_scope_var(root, "w", FL_LOD_TENSOR), *x;

	grandkid = fl_scope_new(kid);
	ck_assert_ptr_eq(fl_scope_find(grandkid, "w"), w);
	ck_assert_ptr_eq(fl_scope_root(grandkid), root);
	x = fl_scope_var(grandkid, "w", FL_SELECTED_ROWS);
	ck_assert_ptr_ne(x, w);
	ck_assert_int_eq(x->kind, FL_SELECTED_ROWS);
	ck_assert_ptr_eq(fl_scope_find(kid, "w"), w);
	ck_assert_ptr_eq(fl_scope_find(grandkid, "w"), x);
	ck_assert_ptr_eq(fl_scope_var(root, "w", FL_SELECTED_ROWS), w);
	ck_assert_int_eq(w->kind, FL_LOD_TENSOR);
	ck_assert_int_eq(fl_scope_var(root, "v", -1)->kind, FL_LOD_TENSOR);
	ck_assert_ptr_null(fl_scope_find(grandkid, "y"));
	fl_scope_free(kid);
	ck_assert_ptr_eq(fl_scope_find(root, "w"), w);
	fl_scope_free(root);
}
END_TEST

static void collect(void *arg, struct fl_var *var)
{
	char *names = arg;

	names[strlen(names)] = var->name[0];
}

START_TEST(test_scope_each_in_order)
{
	struct fl_scope *s = fl_scope_new(NULL), *kid = fl_scope_new(s);
	char names[8] = "";

	fl_scope_var(s, "c", -1);
	fl_scope_var(s, "a", -1);
	fl_scope_var(kid, "k", -1);
	fl_scope_var(s, "b", -1);
	fl_scope_each(s, collect, names);
	ck_assert_str_eq(names, "cab");
	fl_scope_free(s);
}
END_TEST

/* Requests of a server: each makes a child, a variable in it, finds one of the root, and goes. */
static void *request(void *arg)
{
	for (int i = 0; i < 500; i++) {
		struct fl_scope *kid = fl_scope_new(arg);
		char name[16];

		fl_scope_var(kid, "g", -1);
		snprintf(name, sizeof name, "v%d", i % 7);
		fl_scope_var(arg, name, -1);
		if (!fl_scope_find(kid, "w"))
			return arg;
		fl_scope_free(kid);
	}
	return NULL;
}

START_TEST(test_scope_threads)
{
	struct fl_scope *root = fl_scope_new(NULL);
	pthread_t threads[4];

	fl_scope_var(root, "w", -1);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, request, root), 0);
	for (int i = 0; i < 4; i++) {
		void *failed;

		pthread_join(threads[i], &failed);
		ck_assert_ptr_null(failed);
	}
	fl_scope_free(root);
}
END_TEST

Suite *suite_scope(void)
{
	Suite *s = suite_create("scope");
	TCase *c = tcase_create("scope");

	tcase_set_timeout(c, FT_TIMEOUT);
	tcase_add_test(c, test_scope_finds_upwards);
	tcase_add_test(c, test_scope_each_in_order);
	tcase_add_test(c, test_scope_threads);
	suite_add_tcase(s, c);
	return s;
}
