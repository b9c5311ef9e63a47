#include "opt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/near.h"

void opt_list_add(struct opt_list *list, const char *s)
{
	fl_grow(&list->at, &list->cap, list->n + 1, sizeof *list->at);
	list->at[list->n++] = s;
}

void opt_list_release(struct opt_list *list)
{
	fl_free(list->at);
	*list = (struct opt_list){ 0 };
}

bool opt_number(const char *s, int64_t *v)
{
	const char *digits = s + (*s == '-');
	char *end;

	if (*digits < '0' || *digits > '9')
		return false;
	errno = 0;
	*v = strtoll(s, &end, 10);
	return !*end && !errno;
}

bool opt_real(const char *s, double *v)
{
	const char *digits = s + (*s == '-');
	char *end;

	if (*digits != '.' && (*digits < '0' || *digits > '9'))
		return false;
	if (strpbrk(s, "xXpPnN"))
		return false;
	errno = 0;
	*v = strtod(s, &end);
	return end != digits && !*end && !(errno == ERANGE && (*v > 1 || *v < -1));
}

static enum fl_code set_int(const struct opt *o, const char *value, struct fl_err *err)
{
	int64_t v;

	if (!opt_number(value, &v))
		return fl_err_set(err, FL_EINVAL, "option '--%s' wants a whole number, not '%s'",
			o->name, value);
	if (v < o->min || v > o->max)
		return fl_err_set(err, FL_EINVAL,
			"option '--%s' wants a number from %lld to %lld, not '%s'", o->name,
			(long long)o->min, (long long)o->max, value);
	*(int64_t *)o->dest = v;
	return FL_OK;
}

static enum fl_code set_value(const struct opt *o, const char *value, struct fl_err *err)
{
	double d;

	switch (o->kind) {
	case OPT_STR: *(const char **)o->dest = value; return FL_OK;
	case OPT_LIST: opt_list_add(o->dest, value); return FL_OK;
	case OPT_INT: return set_int(o, value, err);
	case OPT_NUM:
		if (!opt_real(value, &d) || d < 0)
			return fl_err_set(err, FL_EINVAL,
				"option '--%s' wants a number that is not negative, not '%s'", o->name,
				value);
		*(double *)o->dest = d;
		return FL_OK;
	case OPT_FLAG:
	case OPT_HEADING: break;
	}
	FL_BUG("option without a value");
}

static const struct opt *find_long(const struct opt *table, const char *name, size_t len)
{
	for (const struct opt *o = table; o->name; o++)
		if (o->kind != OPT_HEADING && strlen(o->name) == len && !memcmp(o->name, name, len))
			return o;
	return NULL;
}

static const struct opt *find_letter(const struct opt *table, char letter)
{
	for (const struct opt *o = table; o->name; o++)
		if (o->kind != OPT_HEADING && o->letter == letter)
			return o;
	return NULL;
}

static enum fl_code unknown(const struct opt *table, const char *name, size_t len,
	struct fl_err *err)
{
	char *word = fl_xstrndup(name, len);
	struct fl_near near;
	enum fl_code code;

	fl_near_init(&near, word);
	for (const struct opt *o = table; o->name; o++)
		if (o->kind != OPT_HEADING)
			fl_near_try(&near, o->name);
	code = near.best ? fl_err_set(err, FL_EINVAL,
				   "unknown option '--%s', did you mean '--%s'?", word, near.best)
			 : fl_err_set(err, FL_EINVAL, "unknown option '--%s', see --help", word);
	fl_free(word);
	return code;
}

/* The arguments that are left to be read. */
struct args {
	int at, n;
	char **v;
};

static enum fl_code take(const struct opt *o, const char *value, struct args *args,
	struct fl_err *err)
{
	if (o->kind == OPT_FLAG) {
		if (value)
			return fl_err_set(err, FL_EINVAL, "option '--%s' takes no value", o->name);
		*(bool *)o->dest = true;
		return FL_OK;
	}
	if (!value && args->at >= args->n)
		return fl_err_set(err, FL_EINVAL, "option '--%s' wants a value (%s)", o->name, o->arg);
	return set_value(o, value ? value : args->v[args->at++], err);
}

static enum fl_code take_long(const struct opt *table, const char *name, struct args *args,
	bool *help, struct fl_err *err)
{
	size_t len = strcspn(name, "=");
	const struct opt *o = find_long(table, name, len);

	if (!o && !strcmp(name, "help")) {
		*help = true;
		return FL_OK;
	}
	if (!o)
		return unknown(table, name, len, err);
	return take(o, name[len] ? name + len + 1 : NULL, args, err);
}

/* "-q", "-o FILE", "-oFILE", "-qv". */
static enum fl_code take_letters(const struct opt *table, const char *letters, struct args *args,
	bool *help, struct fl_err *err)
{
	for (; *letters; letters++) {
		const struct opt *o = find_letter(table, *letters);

		if (!o && *letters == 'h') {
			*help = true;
			return FL_OK;
		}
		if (!o)
			return fl_err_set(err, FL_EINVAL, "unknown option '-%c', see --help", *letters);
		if (o->kind != OPT_FLAG)
			return take(o, letters[1] ? letters + 1 : NULL, args, err);
		FL_TRY(take(o, NULL, args, err));
	}
	return FL_OK;
}

enum fl_code opt_parse(const struct opt *table, int argc, char **argv, struct opt_list *files,
	bool *help, struct fl_err *err)
{
	struct args args = { 1, argc, argv };
	bool ended = false;

	*help = false;
	while (args.at < args.n && !*help) {
		const char *a = argv[args.at++];

		if (ended || a[0] != '-' || !a[1])
			opt_list_add(files, a);
		else if (!strcmp(a, "--"))
			ended = true;
		else if (a[1] == '-')
			FL_TRY(take_long(table, a + 2, &args, help, err));
		else
			FL_TRY(take_letters(table, a + 1, &args, help, err));
	}
	return FL_OK;
}

static int width(const struct opt *o)
{
	return (int)(strlen(o->name) + (o->arg ? strlen(o->arg) + 1 : 0));
}

static void help_row(char letter, const char *name, const char *arg, const char *help, int column)
{
	char head[64];

	if (letter)
		printf("  -%c, ", letter);
	else
		printf("      ");
	snprintf(head, sizeof head, "%s%s%s", name, arg ? " " : "", arg ? arg : "");
	printf("--%-*s  %s\n", column, head, help);
}

void opt_help(const struct opt *table)
{
	int column = (int)strlen("help");

	for (const struct opt *o = table; o->name; o++)
		if (o->kind != OPT_HEADING && width(o) > column && width(o) <= 30)
			column = width(o);
	for (const struct opt *o = table; o->name; o++) {
		if (o->kind == OPT_HEADING)
			printf("\n%s:\n", o->name);
		else
			help_row(o->letter, o->name, o->arg, o->help, column);
	}
	help_row('h', "help", NULL, "show this", column);
}
