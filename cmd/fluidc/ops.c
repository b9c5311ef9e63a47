/* fluidc ops: the operators that this build knows. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "cmd.h"
#include "common/term.h"
#include "file.h"
#include "inspect/text.h"
#include "ops/op.h"

static const char *kernel_of(const struct fl_op_def *def)
{
	if (def->flags & FL_OP_KERNEL)
		return "kernel";
	if (def->flags & FL_OP_HOST)
		return "host";
	return def->flags & FL_OP_NO_COMPUTE ? "executor" : "no kernel";
}

static void add_slots(struct fl_buf *out, const char *what, const struct fl_slot_def *slots)
{
	for (const struct fl_slot_def *s = slots; s->name; s++)
		fl_buf_addf(out, "  %-6s %s%s%s%s%s\n", what, s->name,
			s->flags & FL_DUP ? ", a list" : "", s->flags & FL_OPT ? ", optional" : "",
			s->flags & FL_MID ? ", intermediate" : "",
			s->flags & FL_NODATA ? ", only its shape" : "");
}

static void add_default(struct fl_buf *out, const struct fl_attr_def *a)
{
	switch (a->type) {
	case FL_ATTR_INT:
	case FL_ATTR_LONG: fl_buf_addf(out, "%" PRId64, a->i); break;
	case FL_ATTR_BOOLEAN: fl_buf_adds(out, a->i ? "true" : "false"); break;
	case FL_ATTR_FLOAT: fl_text_f32(out, a->f); break;
	case FL_ATTR_STRING: fl_text_quoted(out, a->s ? a->s : "", a->s ? strlen(a->s) : 0); break;
	default: fl_buf_addf(out, "[%s]", a->s ? a->s : "");
	}
}

static void add_attrs(struct fl_buf *out, const struct fl_op_def *def)
{
	for (const struct fl_attr_def *a = def->attrs; a && a->name; a++) {
		fl_buf_addf(out, "  attr   %s ", a->name);
		fl_text_attr_type(out, a->type);
		if (a->flags & FL_REQUIRED) {
			fl_buf_adds(out, ", required");
		} else {
			fl_buf_adds(out, " = ");
			add_default(out, a);
		}
		fl_buf_adds(out, a->flags & FL_IGNORED ? ", ignored\n" : "\n");
	}
}

static void add_op(struct fl_buf *out, const struct fl_op_def *def)
{
	fl_buf_addf(out, "%s (%s%s)\n", def->type, kernel_of(def),
		def->infer ? ", shapes are inferred" : "");
	if (def->doc)
		fl_buf_addf(out, "  %s\n", def->doc);
	add_slots(out, "input", def->inputs);
	add_slots(out, "output", def->outputs);
	add_attrs(out, def);
}

static int by_type(const void *a, const void *b)
{
	const struct fl_op_def *const *x = a, *const *y = b;

	return strcmp((*x)->type, (*y)->type);
}

static void add_list(struct fl_buf *out)
{
	size_t n = 0, kernels = 0;
	const struct fl_op_def **list;

	while (fl_op_at(n))
		n++;
	list = FL_NEW_N(const struct fl_op_def *, n);
	for (size_t i = 0; i < n; i++)
		list[i] = fl_op_at(i);
	qsort(list, n, sizeof *list, by_type);
	for (size_t i = 0; i < n; i++) {
		fl_buf_addf(out, "%-36s %-10s %s\n", list[i]->type, kernel_of(list[i]),
			list[i]->doc ? list[i]->doc : "");
		kernels += (list[i]->flags & FL_OP_KERNEL) != 0;
	}
	fl_buf_addf(out, "%zu operators, %zu with a kernel\n", n, kernels);
	fl_free(list);
}

static int print(const struct opt_list *names)
{
	struct fl_buf out = FL_BUF_INIT;
	struct fl_err err;
	int code = EXIT_OK;

	if (!names->n)
		add_list(&out);
	for (size_t i = 0; i < names->n && code == EXIT_OK; i++) {
		const struct fl_op_def *def = fl_op_find(names->at[i]);
		const char *near = def ? NULL : fl_op_suggest(names->at[i]);

		if (def) {
			add_op(&out, def);
			continue;
		}
		fl_err_set(&err, FL_ENOTFOUND, near ? "unknown operator '%s', did you mean '%s'?"
						    : "unknown operator '%s'%s",
			names->at[i], near ? near : "");
		code = term_fail(EXIT_FAILED, &err);
	}
	if (code == EXIT_OK)
		code = file_print(&out);
	fl_buf_release(&out);
	return code;
}

int cmd_ops(int argc, char **argv)
{
	struct opt_common common = { 0 };
	struct opt_list names = { 0 };
	const struct opt table[] = {
		OPT_COMMON(&common),
	};
	int code = file_options(table, &common, argc, argv, "ops [NAME]...",
		"Lists the operators that this build knows; with names, their slots, attributes with "
		"defaults,\nand whether a kernel exists.",
		&names, 0, SIZE_MAX);

	if (code < 0)
		code = print(&names);
	opt_list_release(&names);
	return code;
}
