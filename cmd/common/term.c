/* The one sink of the process. One lock guards the lines and the progress line. */
#include "term.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/json.h"

static struct {
	pthread_mutex_t lock;
	const char *prefix;
	bool json;
	bool progress; /* a progress line is on the screen */
	struct fl_log log;
} term = { .lock = PTHREAD_MUTEX_INITIALIZER, .prefix = "fluid" };

/* What cannot be written to stderr cannot be reported either. */
static void put(const char *s, size_t n)
{
	while (n) {
		ssize_t done = write(2, s, n);

		if (done <= 0)
			return;
		s += done;
		n -= (size_t)done;
	}
}

static double wall_time(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static void add_field(struct fl_buf *b, const struct fl_field *f)
{
	fl_buf_addc(b, ',');
	fl_json_str(b, f->key, strlen(f->key));
	fl_buf_addc(b, ':');
	switch (f->kind) {
	case FL_FIELD_STR:
		if (f->s)
			fl_json_str(b, f->s, strlen(f->s));
		else
			fl_buf_adds(b, "null");
		break;
	case FL_FIELD_INT: fl_buf_addf(b, "%" PRId64, f->i); break;
	case FL_FIELD_NUM: fl_json_f64(b, f->d); break;
	case FL_FIELD_JSON: fl_buf_adds(b, f->s); break;
	}
}

static void json_line(struct fl_buf *b, enum fl_level level, const char *event, const char *text,
	const struct fl_field *fields, size_t n)
{
	static const char *const levels[] = { "error", "warn", "info", "debug" };

	fl_buf_adds(b, "{\"event\":");
	fl_json_str(b, event, strlen(event));
	fl_buf_addf(b, ",\"t\":%.3f", wall_time());
	if (level != FL_LOG_INFO)
		fl_buf_addf(b, ",\"level\":\"%s\"", levels[level]);
	if (text) {
		fl_buf_adds(b, ",\"text\":");
		fl_json_str(b, text, strlen(text));
	}
	for (size_t i = 0; i < n; i++)
		add_field(b, &fields[i]);
	fl_buf_adds(b, "}\n");
}

static void sink(void *arg, enum fl_level level, const char *event, const char *text,
	const struct fl_field *fields, size_t n)
{
	struct fl_buf b = FL_BUF_INIT;

	(void)arg;
	if (term.json)
		json_line(&b, level, event, text, fields, n);
	else if (text)
		fl_buf_addf(&b, "%s: %s%s\n", term.prefix, level == FL_LOG_WARN ? "warning: " : "",
			text);
	pthread_mutex_lock(&term.lock);
	if (term.progress && b.len)
		put("\r\033[K", 4);
	if (b.len)
		term.progress = false;
	put(fl_buf_str(&b), b.len);
	pthread_mutex_unlock(&term.lock);
	fl_buf_release(&b);
}

void term_init(const char *prefix, enum fl_level level, bool json)
{
	term.prefix = prefix;
	term.json = json;
	term.log = (struct fl_log){ .write = sink, .level = level };
}

void term_start(const char *prefix, int argc, char **argv)
{
	bool json = false;

	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++)
		if (!strcmp(argv[i], "--log=json") ||
			(!strcmp(argv[i], "--log") && i + 1 < argc && !strcmp(argv[i + 1], "json")))
			json = true;
	term_init(prefix, FL_LOG_INFO, json);
}

enum fl_code term_options(const struct opt_common *common, struct fl_err *err)
{
	enum fl_level level = common->quiet ? FL_LOG_ERROR
			      : common->verbose ? FL_LOG_DEBUG : FL_LOG_INFO;
	bool json = common->log && !strcmp(common->log, "json");

	if (common->log && !json && strcmp(common->log, "text"))
		return fl_err_set(err, FL_EINVAL, "option '--log' wants text or json, not '%s'",
			common->log);
	term_init(term.prefix, level, json);
	return FL_OK;
}

const struct fl_log *term_log(void)
{
	return &term.log;
}

bool term_fancy(int fd)
{
	const char *no_color = getenv("NO_COLOR"), *name = getenv("TERM");

	return isatty(fd) && !(no_color && *no_color) && name && *name && strcmp(name, "dumb");
}

int term_fail(int code, const struct fl_err *err)
{
	struct fl_field fields[] = { FL_STR("code", fl_code_name(err->code)), FL_INT("exit", code) };

	fl_log_event(&term.log, FL_LOG_ERROR, "error", err->msg, fields, 2);
	return code;
}

void term_progress(const char *text)
{
	struct fl_buf b = FL_BUF_INIT;

	if (term.json || term.log.level < FL_LOG_INFO || !term_fancy(2))
		return;
	pthread_mutex_lock(&term.lock);
	if (term.progress)
		fl_buf_adds(&b, "\r\033[K");
	if (text)
		fl_buf_adds(&b, text);
	term.progress = text != NULL;
	put(fl_buf_str(&b), b.len);
	pthread_mutex_unlock(&term.lock);
	fl_buf_release(&b);
}
