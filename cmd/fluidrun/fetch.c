#include "fetch.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "run.h"
#include "tensor/stream.h"

void fetch_add(struct fetch_list *list, struct fl_scope *scope, const char *name, int kind)
{
	size_t cap = list->cap;

	fl_grow(&list->vars, &cap, list->n + 1, sizeof *list->vars);
	fl_grow(&list->names, &list->cap, list->n + 1, sizeof *list->names);
	list->vars[list->n] = fl_scope_find(scope, name);
	if (!list->vars[list->n])
		list->vars[list->n] = fl_scope_var(scope, name, kind);
	list->names[list->n++] = name;
}

void fetch_release(struct fetch_list *list)
{
	fl_free(list->vars);
	fl_free(list->names);
	memset(list, 0, sizeof *list);
}

static enum fl_code value_of(const struct fl_var *var, const struct fl_tensor **t,
	struct fl_err *err)
{
	*t = var->kind == FL_SELECTED_ROWS ? &var->rows.value : &var->tensor;
	if (var->kind != FL_LOD_TENSOR && var->kind != FL_SELECTED_ROWS)
		return fl_err_set(err, FL_EUNSUPPORTED, "variable '%s' is of kind %s, which cannot be fetched",
			var->name, fl_type_name(var->kind) ? fl_type_name(var->kind) : "unknown");
	if (!fl_var_has_value(var))
		return fl_err_set(err, FL_ESTATE, "fetched variable '%s' holds no value", var->name);
	return FL_OK;
}

/* IEEE half precision: 1 sign, 5 exponent, 10 fraction bits. */
static float half_value(uint16_t h)
{
	uint32_t sign = (uint32_t)(h & 0x8000) << 16, exp = (h >> 10) & 31, frac = h & 1023, bits;
	float f;

	if (exp == 31)
		bits = sign | 0x7f800000u | frac << 13;
	else if (exp)
		bits = sign | (exp + 112) << 23 | frac << 13;
	else {
		f = (float)frac * 0x1p-24f;
		memcpy(&bits, &f, sizeof bits);
		bits |= sign;
	}
	memcpy(&f, &bits, sizeof f);
	return f;
}

static double number(const struct fl_tensor *t, int64_t i)
{
	const void *p = fl_data(t);

	switch (t->dtype) {
	case FL_FP32: return (double)((const float *)p)[i];
	case FL_FP64: return ((const double *)p)[i];
	case FL_FP16: return (double)half_value(((const uint16_t *)p)[i]);
	case FL_BOOL:
	case FL_UINT8: return ((const uint8_t *)p)[i];
	case FL_INT8: return ((const int8_t *)p)[i];
	case FL_INT16: return ((const int16_t *)p)[i];
	case FL_INT32: return ((const int32_t *)p)[i];
	case FL_SIZE_T: return (double)((const uint64_t *)p)[i];
	default: return (double)((const int64_t *)p)[i];
	}
}

/* As JSON has it: floats read back to the same value, whole numbers exactly. */
static void add_number(struct fl_buf *b, const struct fl_tensor *t, int64_t i)
{
	if (t->dtype == FL_FP64)
		fl_json_f64(b, number(t, i));
	else if (t->dtype == FL_FP32 || t->dtype == FL_FP16)
		fl_json_f32(b, (float)number(t, i));
	else if (t->dtype == FL_INT64)
		fl_buf_addf(b, "%" PRId64, ((const int64_t *)fl_data(t))[i]);
	else if (t->dtype == FL_SIZE_T)
		fl_buf_addf(b, "%" PRIu64, ((const uint64_t *)fl_data(t))[i]);
	else
		fl_buf_addf(b, "%d", (int)number(t, i));
}

enum fl_code fetch_json(const struct fetch_list *list, struct fl_buf *out, struct fl_err *err)
{
	fl_buf_addc(out, '{');
	for (size_t k = 0; k < list->n; k++) {
		const struct fl_tensor *t;

		FL_TRY(value_of(list->vars[k], &t, err));
		if (k)
			fl_buf_addc(out, ',');
		fl_json_str(out, list->names[k], strlen(list->names[k]));
		fl_buf_adds(out, ":[");
		for (int64_t i = 0; i < fl_numel(t); i++) {
			if (i)
				fl_buf_addc(out, ',');
			add_number(out, t, i);
		}
		fl_buf_addc(out, ']');
	}
	fl_buf_addc(out, '}');
	return FL_OK;
}

static void add_text(struct fl_buf *b, const struct fl_tensor *t, int64_t i)
{
	if (fl_dtype_is_float(t->dtype))
		fl_buf_addf(b, "%g", number(t, i));
	else
		add_number(b, t, i);
}

enum fl_code fetch_print(const struct fetch_list *list, int64_t step, struct fl_err *err)
{
	struct fl_buf b = FL_BUF_INIT;
	enum fl_code code = FL_OK;

	for (size_t k = 0; k < list->n && code == FL_OK; k++) {
		const struct fl_tensor *t;

		code = value_of(list->vars[k], &t, err);
		if (code != FL_OK)
			break;
		fl_buf_addf(&b, "step %" PRId64 "  %s ", step, list->names[k]);
		for (int64_t i = 0; i < fl_numel(t); i++) {
			fl_buf_addc(&b, ' ');
			add_text(&b, t, i);
		}
		fl_buf_addc(&b, '\n');
	}
	if (code == FL_OK && (fwrite(fl_buf_str(&b), 1, b.len, stdout) != b.len || fflush(stdout)))
		code = fl_err_set(err, FL_EIO, "cannot write to standard output");
	fl_buf_release(&b);
	return code;
}

enum fl_code fetch_save(const struct fetch_list *list, const char *dir, int64_t step,
	struct fl_err *err)
{
	enum fl_code code = FL_OK;

	for (size_t k = 0; k < list->n && code == FL_OK; k++) {
		char *path = fl_xstrfmt("%s/step-%02lld/%s", dir, (long long)step, list->names[k]);

		code = check_file_name(list->names[k], err);
		if (code == FL_OK)
			code = fl_save_var(path, list->vars[k], err);
		fl_free(path);
	}
	return code;
}

enum fl_code fetch_mean(const struct fl_var *var, double *mean, struct fl_err *err)
{
	const struct fl_tensor *t;
	double sum = 0;

	FL_TRY(value_of(var, &t, err));
	if (!fl_numel(t))
		return fl_err_set(err, FL_ESTATE, "fetched variable '%s' has no elements", var->name);
	for (int64_t i = 0; i < fl_numel(t); i++)
		sum += number(t, i);
	*mean = sum / (double)fl_numel(t);
	return FL_OK;
}
