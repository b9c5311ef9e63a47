/* A variable of a scope: a name and a value of some kind. */
#ifndef FL_TENSOR_VAR_H
#define FL_TENSOR_VAR_H

#include "tensor/tensor.h"

struct fl_tensor_array {
	struct fl_tensor *items; /* owned */
	size_t n, cap;
};

struct fl_var {
	char *name; /* owned */
	int kind;   /* FL_LOD_TENSOR, FL_SELECTED_ROWS, FL_LOD_TENSOR_ARRAY, other: no value held */
	bool persistable;
	struct fl_tensor tensor;	 /* of FL_LOD_TENSOR */
	struct fl_selected_rows rows;	 /* of FL_SELECTED_ROWS */
	struct fl_tensor_array array;	 /* of FL_LOD_TENSOR_ARRAY */
};

struct fl_var *fl_var_new(const char *name, int kind);
void fl_var_free(struct fl_var *var);
/* Has it a value? A tensor with memory, SelectedRows with value memory, an array (even empty). */
bool fl_var_has_value(const struct fl_var *var);
/* Changes the kind; the value of the old one is dropped when the kinds differ. */
void fl_var_set_kind(struct fl_var *var, int kind);
enum fl_code fl_var_copy(struct fl_var *dst, const struct fl_var *src, struct fl_err *err);
/* What inference is told of it; lod borrowed from the variable. */
void fl_var_meta(const struct fl_var *var, struct fl_meta *meta);

#endif
