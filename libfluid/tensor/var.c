/* Variables: a name and a value of some kind. */
#include "tensor/var.h"

#include "base/mem.h"

struct fl_var *fl_var_new(const char *name, int kind)
{
	struct fl_var *var = FL_NEW(struct fl_var);

	var->name = fl_xstrdup(name);
	var->kind = kind;
	fl_tensor_init(&var->tensor);
	fl_selected_rows_init(&var->rows);
	return var;
}

static void drop_array(struct fl_tensor_array *array)
{
	for (size_t i = 0; i < array->n; i++)
		fl_tensor_release(&array->items[i]);
	fl_free(array->items);
	*array = (struct fl_tensor_array){ 0 };
}

static void drop_value(struct fl_var *var)
{
	fl_tensor_release(&var->tensor);
	fl_selected_rows_release(&var->rows);
	drop_array(&var->array);
}

void fl_var_free(struct fl_var *var)
{
	if (!var)
		return;
	drop_value(var);
	fl_free(var->name);
	fl_free(var);
}

bool fl_var_has_value(const struct fl_var *var)
{
	switch (var->kind) {
	case FL_LOD_TENSOR: return var->tensor.mem != NULL;
	case FL_SELECTED_ROWS: return var->rows.value.mem != NULL;
	case FL_LOD_TENSOR_ARRAY: return true;
	default: return false;
	}
}

void fl_var_set_kind(struct fl_var *var, int kind)
{
	if (var->kind == kind)
		return;
	drop_value(var);
	var->kind = kind;
}

static enum fl_code copy_array(struct fl_tensor_array *dst, const struct fl_tensor_array *src,
	struct fl_err *err)
{
	for (size_t i = src->n; i < dst->n; i++)
		fl_tensor_release(&dst->items[i]);
	fl_grow(&dst->items, &dst->cap, src->n, sizeof *dst->items);
	for (size_t i = dst->n; i < src->n; i++)
		fl_tensor_init(&dst->items[i]);
	dst->n = src->n;
	for (size_t i = 0; i < src->n; i++)
		FL_TRY(fl_tensor_copy(&dst->items[i], &src->items[i], err));
	return FL_OK;
}

enum fl_code fl_var_copy(struct fl_var *dst, const struct fl_var *src, struct fl_err *err)
{
	if (dst == src)
		return FL_OK;
	fl_var_set_kind(dst, src->kind);
	switch (src->kind) {
	case FL_LOD_TENSOR: return fl_tensor_copy(&dst->tensor, &src->tensor, err);
	case FL_SELECTED_ROWS: return fl_selected_rows_copy(&dst->rows, &src->rows, err);
	case FL_LOD_TENSOR_ARRAY: return copy_array(&dst->array, &src->array, err);
	default:
		return fl_err_set(err, FL_EUNSUPPORTED, "variable '%s' is of kind %s, which holds no value",
			src->name, fl_type_name(src->kind) ? fl_type_name(src->kind) : "unknown");
	}
}

static void tensor_meta(const struct fl_tensor *t, struct fl_meta *meta)
{
	meta->dtype = t->dtype;
	meta->rank = t->mem ? t->rank : -1;
	for (int i = 0; i < t->rank; i++)
		meta->dims[i] = t->dims[i];
	meta->lod_level = t->lod.n;
	meta->lod = &t->lod;
}

/* A SelectedRows has the shape of the whole table, as the real one's GetCompleteDims. */
void fl_var_meta(const struct fl_var *var, struct fl_meta *meta)
{
	*meta = (struct fl_meta){ .kind = var->kind, .dtype = -1, .rank = -1 };
	if (var->kind == FL_LOD_TENSOR)
		tensor_meta(&var->tensor, meta);
	else if (var->kind == FL_SELECTED_ROWS) {
		tensor_meta(&var->rows.value, meta);
		if (meta->rank > 0)
			meta->dims[0] = var->rows.height;
	} else if (var->kind == FL_LOD_TENSOR_ARRAY && var->array.n)
		tensor_meta(&var->array.items[0], meta);
	if (var->kind != FL_LOD_TENSOR)
		meta->lod = NULL;
}
