#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const code_names[] = {
#define FL_ERR_NAME(name, text) #name,
	FL_ERR_MAP(FL_ERR_NAME)
#undef FL_ERR_NAME
};

static const char *const code_texts[] = {
#define FL_ERR_TEXT(name, text) text,
	FL_ERR_MAP(FL_ERR_TEXT)
#undef FL_ERR_TEXT
};

_Static_assert(sizeof code_names / sizeof *code_names == FL_CODE_COUNT, "one name a code");

const char *fl_code_name(enum fl_code code)
{
	return (unsigned)code < FL_CODE_COUNT ? code_names[code] : "?";
}

const char *fl_code_text(enum fl_code code)
{
	return (unsigned)code < FL_CODE_COUNT ? code_texts[code] : "unknown error";
}

/* Marks a message that did not fit, so that nobody takes the cut for the end. */
static void mark_cut(char *msg, int n)
{
	if (n >= FL_ERR_MAX)
		memcpy(msg + FL_ERR_MAX - 4, "...", 4);
}

enum fl_code fl_err_set(struct fl_err *err, enum fl_code code, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return code;
	err->code = code;
	va_start(ap, fmt);
	mark_cut(err->msg, vsnprintf(err->msg, sizeof err->msg, fmt, ap));
	va_end(ap);
	return code;
}

enum fl_code fl_err_wrap(struct fl_err *err, const char *fmt, ...)
{
	char old[FL_ERR_MAX];
	va_list ap;
	int n;

	if (!err)
		return FL_EINVAL;
	memcpy(old, err->msg, sizeof old);
	va_start(ap, fmt);
	n = vsnprintf(err->msg, sizeof err->msg, fmt, ap);
	va_end(ap);
	if (n >= 0 && n < FL_ERR_MAX)
		n += snprintf(err->msg + n, sizeof err->msg - (size_t)n, ": %s", old);
	mark_cut(err->msg, n);
	return err->code;
}

void fl_bug(const char *file, int line, const char *text)
{
	char msg[FL_ERR_MAX];
	int n = snprintf(msg, sizeof msg, "bug at %s:%d: %s\n", file, line, text);

	if (n > 0 && write(2, msg, (size_t)n < sizeof msg ? (size_t)n : sizeof msg - 1) < 0)
		abort();
	abort();
}
