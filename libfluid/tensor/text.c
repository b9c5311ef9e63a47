/* Lines of numbers: CSV, TSV, columns separated by blanks (readers.h). */
#include "tensor/readers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define MAX_COLUMNS 1000000

/* Inclusive ranges of column numbers, in the order they were given. */
struct range {
	size_t from, to;
};

struct text {
	const char *name;
	const struct fl_text_opts *o;
	struct range *ranges; /* owned; none: all columns */
	size_t n_ranges, cap_ranges;
	char separator;	  /* ' ': any number of blanks and tabs */
	char **fields;	  /* of the line at hand; owned array, borrowed text */
	size_t n_fields, cap_fields;
	size_t line;	  /* from 1 */
	size_t columns;	  /* of the first line */
	struct fl_buf values; /* 8 bytes each */
	size_t rows, width;   /* samples, numbers in each */
};

/* "0-12+14": a number or a range, joined by '+'. */
static enum fl_code parse_columns(struct text *t, struct fl_err *err)
{
	const char *s = t->o->columns;

	while (s && *s) {
		unsigned long from, to;
		char *end;

		if (*s < '0' || *s > '9')
			break;
		from = to = strtoul(s, &end, 10);
		if (*end == '-' && end[1] >= '0' && end[1] <= '9')
			to = strtoul(end + 1, &end, 10);
		if (to < from || to >= MAX_COLUMNS || (*end && (*end != '+' || !end[1])))
			break;
		fl_grow(&t->ranges, &t->cap_ranges, t->n_ranges + 1, sizeof *t->ranges);
		t->ranges[t->n_ranges++] = (struct range){ from, to };
		s = *end ? end + 1 : end;
	}
	if (s && *s)
		return fl_err_set(err, FL_EINVAL,
			"'%s': columns are numbers from 0 and ranges joined by '+', as in 0-12+14, not '%s'",
			t->name, t->o->columns);
	return FL_OK;
}

static char find_separator(const char *line)
{
	return strchr(line, '\t') ? '\t' : strchr(line, ',') ? ',' : strchr(line, ';') ? ';' : ' ';
}

static char *trim(char *s)
{
	char *end;

	while (*s == ' ' || *s == '\t')
		s++;
	end = s + strlen(s);
	while (end > s && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
		*--end = 0;
	if (end - s >= 2 && *s == '"' && end[-1] == '"') {
		end[-1] = 0;
		s++;
	}
	return s;
}

static void add_field(struct text *t, char *s)
{
	fl_grow(&t->fields, &t->cap_fields, t->n_fields + 1, sizeof *t->fields);
	t->fields[t->n_fields++] = s;
}

static void split(struct text *t, char *line)
{
	char separators[3] = { t->separator, t->separator == ' ' ? '\t' : 0, 0 };

	t->n_fields = 0;
	for (;;) {
		char *end;

		if (t->separator == ' ') {
			line += strspn(line, " \t");
			if (!*line)
				return;
		}
		end = line + strcspn(line, separators);
		if (!*end) {
			add_field(t, trim(line));
			return;
		}
		*end = 0;
		add_field(t, trim(line));
		line = end + 1;
	}
}

static enum fl_code add_value(struct text *t, size_t column, struct fl_err *err)
{
	const char *s = t->fields[column];
	int64_t whole = 0;
	double real = 0;
	char *end;

	errno = 0;
	if (t->o->whole)
		whole = strtoll(s, &end, 10);
	else
		real = strtod(s, &end);
	if (end == s || *end || (errno == ERANGE && (t->o->whole || real > 1 || real < -1)))
		return fl_err_set(err, FL_EFORMAT, "'%s' line %zu, column %zu: expected a %s, found '%.40s'",
			t->name, t->line, column, t->o->whole ? "whole number" : "number", s);
	fl_buf_add(&t->values, t->o->whole ? (void *)&whole : (void *)&real, 8);
	return FL_OK;
}

static enum fl_code add_line(struct text *t, char *line, struct fl_err *err)
{
	struct range all;

	split(t, line);
	if (!t->rows)
		t->columns = t->n_fields;
	if (t->n_fields != t->columns)
		return fl_err_set(err, FL_EFORMAT, "'%s' line %zu: expected %zu columns, found %zu",
			t->name, t->line, t->columns, t->n_fields);
	all = (struct range){ 0, t->n_fields - 1 };
	for (size_t r = 0; r < (t->n_ranges ? t->n_ranges : 1); r++) {
		const struct range *range = t->n_ranges ? &t->ranges[r] : &all;

		if (range->to >= t->n_fields)
			return fl_err_set(err, FL_EFORMAT,
				"'%s' line %zu: column %zu is wanted, there are %zu", t->name, t->line,
				range->to, t->n_fields);
		for (size_t c = range->from; c <= range->to; c++)
			FL_TRY(add_value(t, c, err));
	}
	t->rows++;
	t->width = t->values.len / 8 / t->rows;
	return FL_OK;
}

static enum fl_code read_lines(struct text *t, char *s, size_t n, struct fl_err *err)
{
	char *end = s + n;

	for (t->line = 1; s < end; t->line++) {
		char *stop = memchr(s, '\n', (size_t)(end - s));
		bool used = (int64_t)t->line > t->o->skip;

		stop = stop ? stop : end;
		if (memchr(s, 0, (size_t)(stop - s)))
			return fl_err_set(err, FL_EFORMAT,
				"'%s' line %zu: a zero byte, this is no text (nor npy, IDX or a stream)",
				t->name, t->line);
		*stop = 0;
		if (stop > s && stop[-1] == '\r')
			stop[-1] = 0;
		if (used && s[strspn(s, " \t\r")]) {
			if (!t->rows)
				t->separator = find_separator(s);
			FL_TRY(add_line(t, s, err));
		}
		s = stop + 1;
	}
	return FL_OK;
}

static enum fl_code make_tensor(const struct text *t, struct fl_tensor *out, struct fl_err *err)
{
	int64_t dims[2] = { (int64_t)t->rows, (int64_t)t->width };

	if (!t->rows)
		return fl_err_set(err, FL_EFORMAT, "'%s' holds no line of numbers", t->name);
	FL_TRY(fl_tensor_resize(out, t->o->whole ? FL_INT64 : FL_FP64, dims, 2, err));
	memcpy(fl_data(out), t->values.data, t->values.len);
	return FL_OK;
}

enum fl_code fl_read_text(const void *p, size_t n, const char *name, const struct fl_text_opts *o,
	struct fl_tensor *t, struct fl_err *err)
{
	struct text text = { .name = name, .o = o };
	char *copy = fl_xstrndup(p, n); /* lines are cut in place */
	enum fl_code code = parse_columns(&text, err);

	if (code == FL_OK)
		code = read_lines(&text, copy, n, err);
	if (code == FL_OK)
		code = make_tensor(&text, t, err);
	fl_free(copy);
	fl_free(text.ranges);
	fl_free(text.fields);
	fl_buf_release(&text.values);
	return code;
}
