#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

void fl_log_event(const struct fl_log *log, enum fl_level level, const char *event,
	const char *text, const struct fl_field *fields, size_t n)
{
	if (log && log->write && level <= log->level)
		log->write(log->arg, level, event, text, fields, n);
}

void fl_logf(const struct fl_log *log, enum fl_level level, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	if (!log || level > log->level)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	fl_log_event(log, level, "log", text, NULL, 0);
}
