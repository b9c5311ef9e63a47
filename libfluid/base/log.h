/*
 * Where the library says what happens. It never prints: it hands events to a sink that the
 * embedding program gives. An event has a name (commands.md: start, ready, step, round, waiting,
 * lost, checkpoint, done, error ...), a line of text for people, and fields for machines.
 */
#ifndef FL_BASE_LOG_H
#define FL_BASE_LOG_H

#include <stddef.h>
#include <stdint.h>

enum fl_level { FL_LOG_ERROR, FL_LOG_WARN, FL_LOG_INFO, FL_LOG_DEBUG };

enum fl_field_kind { FL_FIELD_STR, FL_FIELD_INT, FL_FIELD_NUM, FL_FIELD_JSON };

struct fl_field {
	const char *key;
	enum fl_field_kind kind;
	const char *s; /* FL_FIELD_STR: text; FL_FIELD_JSON: a JSON value, written as it is */
	int64_t i;
	double d;
};

#define FL_STR(k, v) ((struct fl_field){ .key = (k), .kind = FL_FIELD_STR, .s = (v) })
#define FL_INT(k, v) ((struct fl_field){ .key = (k), .kind = FL_FIELD_INT, .i = (int64_t)(v) })
#define FL_NUM(k, v) ((struct fl_field){ .key = (k), .kind = FL_FIELD_NUM, .d = (double)(v) })
#define FL_JSON(k, v) ((struct fl_field){ .key = (k), .kind = FL_FIELD_JSON, .s = (v) })

/* A sink. `write` may be called from any thread, one call at a time is not promised. */
struct fl_log {
	void (*write)(void *arg, enum fl_level level, const char *event, const char *text,
		const struct fl_field *fields, size_t n);
	void *arg;
	enum fl_level level; /* events above it are not handed on */
};

/* Hands an event on; `log` may be NULL. `text` NULL: only for machines. */
void fl_log_event(const struct fl_log *log, enum fl_level level, const char *event,
	const char *text, const struct fl_field *fields, size_t n);

/* Text alone, printf style, as event "log". */
void fl_logf(const struct fl_log *log, enum fl_level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
