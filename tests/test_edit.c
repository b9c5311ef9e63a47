/* desc/edit: making and changing programs. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "desc/edit.h"
#include "desc/names.h"
#include "desc/query.h"

Suite *suite_edit(void);

START_TEST(test_edit_lists_grow_and_keep_their_order)
{
	struct fl_program *p = fl_program_new(1008005);
	char name[32];

	for (int i = 0; i < 1000; i++) {
		fl_pb_op *op;

		snprintf(name, sizeof name, "v%d", i);
		fl_add_var(p, p->pb->blocks[0], name, FL_LOD_TENSOR);
		op = fl_new_op(p, name);
		fl_push_op(p, p->pb->blocks[0], op);
		if (i % 10 == 0)
			ck_assert_int_eq(fl_add_block(p, 0)->idx, 1 + i / 10);
	}
	ck_assert_uint_eq(p->pb->blocks[0]->n_vars, 1000);
	ck_assert_uint_eq(p->pb->n_blocks, 101);
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof name, "v%d", i);
		ck_assert_str_eq(p->pb->blocks[0]->vars[i]->name, name);
		ck_assert_str_eq(p->pb->blocks[0]->ops[i]->type, name);
	}
	fl_program_free(p);
}
END_TEST

START_TEST(test_edit_a_replaced_list_grows_on)
{
	struct fl_program *p = fl_program_new(0);
	fl_pb_block *b = p->pb->blocks[0];
	fl_pb_op *ops[3];

	for (int i = 0; i < 3; i++)
		ops[i] = fl_new_op(p, i == 0 ? "a" : i == 1 ? "b" : "c");
	fl_push_op(p, b, ops[0]);
	fl_set_ops(p, b, ops, 3);
	fl_push_op(p, b, ops[1]);
	ck_assert_uint_eq(b->n_ops, 4);
	ck_assert_str_eq(b->ops[2]->type, "c");
	ck_assert_str_eq(b->ops[3]->type, "b");
	fl_program_free(p);
}
END_TEST

START_TEST(test_edit_var_descriptions)
{
	struct fl_program *p = fl_program_new(0);
	const int64_t dims[] = { -1, 13 };
	fl_pb_var *dense = fl_add_var(p, p->pb->blocks[0], "x", FL_LOD_TENSOR);
	fl_pb_var *rows = fl_add_var(p, p->pb->blocks[0], "r", FL_SELECTED_ROWS);
	fl_pb_var *copy;

	fl_var_set_tensor(p, dense, FL_FP32, dims, 2, 1);
	fl_var_set_tensor(p, rows, FL_FP64, dims + 1, 1, 0);
	fl_var_set_persistable(rows, true);
	ck_assert_int_eq(fl_var_dtype(dense), FL_FP32);
	ck_assert_int_eq(fl_var_lod_level(dense), 1);
	copy = fl_copy_var(p, rows);
	ck_assert_ptr_ne(copy, rows);
	ck_assert_str_eq(copy->name, "r");
	ck_assert(fl_var_persistable(copy));
	ck_assert_uint_eq(fl_var_tensor(copy)->n_dims, 1);
	ck_assert_int_eq((int)fl_var_tensor(copy)->dims[0], 13);
	ck_assert_uint_eq(p->pb->blocks[0]->n_vars, 2);
	fl_program_free(p);
}
END_TEST

START_TEST(test_edit_slots_are_sorted_and_replaced)
{
	struct fl_program *p = fl_program_new(0);
	fl_pb_op *op = fl_new_op(p, "sgd");
	const char *w[] = { "w" }, *two[] = { "g0", "g1" };

	fl_op_set_input(p, op, "Param", w, 1);
	fl_op_set_input(p, op, "Grad", two, 2);
	fl_op_set_input(p, op, "LearningRate", w, 1);
	fl_op_set_input(p, op, "Grad", w, 1);
	ck_assert_uint_eq(op->n_inputs, 3);
	ck_assert_str_eq(op->inputs[0]->parameter, "Grad");
	ck_assert_str_eq(op->inputs[1]->parameter, "LearningRate");
	ck_assert_str_eq(op->inputs[2]->parameter, "Param");
	ck_assert_uint_eq(op->inputs[0]->n_arguments, 1);
	ck_assert_str_eq(fl_op_in(op, "Grad", 0), "w");
	fl_program_free(p);
}
END_TEST

START_TEST(test_edit_attrs_of_every_form_survive_the_file)
{
	struct fl_program *p = fl_program_new(0), *q;
	fl_pb_op *op = fl_new_op(p, "t");
	const int32_t ints[] = { 3, -1 };
	const int64_t longs[] = { INT64_MIN, 7 };
	const char *strs[] = { "b", "", "a" };

	fl_op_set_strs(p, op, "z", strs, 3);
	fl_op_set_int(p, op, "i", 1);
	fl_op_set_int(p, op, "i", -5);
	fl_op_set_long(p, op, "l", INT64_MAX);
	fl_op_set_bool(p, op, "b", true);
	fl_op_set_float(p, op, "f", 0.5f);
	fl_op_set_str(p, op, "s", "text");
	fl_op_set_block(p, op, "sub_block", 2);
	fl_op_set_ints(p, op, "is", ints, 2);
	fl_op_set_longs(p, op, "ls", longs, 2);
	fl_op_set_blocks(p, op, "bs", ints, 1);
	fl_op_set_str(p, op, "gone", "x");
	fl_op_del_attr(op, "gone");
	fl_op_sort_attrs(op);
	ck_assert_str_eq(op->attrs[0]->name, "b");
	ck_assert_str_eq(op->attrs[op->n_attrs - 1]->name, "z");
	fl_push_op(p, p->pb->blocks[0], op);
	q = fl_program_clone(p);
	op = q->pb->blocks[0]->ops[0];
	ck_assert_uint_eq(op->n_attrs, 10);
	ck_assert_int_eq((int)fl_attr_int(op, "i", 0), -5);
	ck_assert(fl_attr_int(op, "l", 0) == INT64_MAX);
	ck_assert(fl_attr_bool(op, "b", false));
	ck_assert(fl_attr_num(op, "f", 0) == 0.5);
	ck_assert_str_eq(fl_attr_str(op, "s", ""), "text");
	ck_assert_int_eq((int)fl_attr_int(op, "sub_block", 0), 2);
	ck_assert_int_eq((int)fl_attr_int_at(op, "is", 1), -1);
	ck_assert(fl_attr_int_at(op, "ls", 0) == INT64_MIN);
	ck_assert_int_eq((int)fl_attr_int_at(op, "bs", 0), 3);
	ck_assert_str_eq(fl_attr_str_at(op, "z", 2), "a");
	fl_program_free(q);
	fl_program_free(p);
}
END_TEST

Suite *suite_edit(void)
{
	Suite *s = suite_create("edit");
	TCase *t = tcase_create("edit");

	tcase_add_test(t, test_edit_lists_grow_and_keep_their_order);
	tcase_add_test(t, test_edit_a_replaced_list_grows_on);
	tcase_add_test(t, test_edit_var_descriptions);
	tcase_add_test(t, test_edit_slots_are_sorted_and_replaced);
	tcase_add_test(t, test_edit_attrs_of_every_form_survive_the_file);
	suite_add_tcase(s, t);
	return s;
}
