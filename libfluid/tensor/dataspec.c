/* NAME=FILE[,key=value...]: the value of --feed (dataset.h). */
#include "tensor/dataset.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/near.h"

static enum fl_code set_dtype(struct fl_data_spec *s, const char *value)
{
	s->dtype = fl_dtype_parse(value);
	return s->dtype >= 0 ? FL_OK : FL_EINVAL;
}

static bool read_real(const char *value, char **end, double *v)
{
	errno = 0;
	*v = strtod(value, end);
	return *end != value && !errno && isfinite(*v);
}

/* "0.5" or "1/255". */
static enum fl_code set_scale(struct fl_data_spec *s, const char *value)
{
	double by = 1;
	char *end;

	if (!read_real(value, &end, &s->scale))
		return FL_EINVAL;
	if (*end == '/' && (!read_real(end + 1, &end, &by) || by == 0))
		return FL_EINVAL;
	s->scale /= by;
	return *end || !isfinite(s->scale) ? FL_EINVAL : FL_OK;
}

/* "1x28x28" */
static enum fl_code set_shape(struct fl_data_spec *s, const char *value)
{
	s->rank = 0;
	for (;;) {
		char *end;
		long v;

		if (*value < '0' || *value > '9' || s->rank == FL_MAX_RANK - 1)
			return FL_EINVAL;
		v = strtol(value, &end, 10);
		if (v > INT32_MAX || (*end && *end != 'x'))
			return FL_EINVAL;
		s->shape[s->rank++] = v;
		if (!*end)
			return FL_OK;
		value = end + 1;
	}
}

/* The reader, which knows the file's columns, checks them. */
static enum fl_code set_columns(struct fl_data_spec *s, const char *value)
{
	fl_free(s->columns);
	s->columns = fl_xstrdup(value);
	return *value ? FL_OK : FL_EINVAL;
}

static enum fl_code set_skip(struct fl_data_spec *s, const char *value)
{
	char *end;

	errno = 0;
	s->skip = strtoll(value, &end, 10);
	return end == value || *end || errno || s->skip < 0 ? FL_EINVAL : FL_OK;
}

static const struct key {
	const char *name, *wants;
	enum fl_code (*set)(struct fl_data_spec *s, const char *value);
} keys[] = {
	{ "dtype", "an element type such as float32 or int64", set_dtype },
	{ "scale", "a number such as 0.5 or 1/255", set_scale },
	{ "shape", "the shape of one sample, as in 1x28x28", set_shape },
	{ "columns", "columns of a text file, as in 0-12+14", set_columns },
	{ "skip", "a number of lines or samples", set_skip },
};

static enum fl_code set_key(struct fl_data_spec *s, const char *text, struct fl_err *err)
{
	const char *eq = strchr(text, '=');
	size_t len = eq ? (size_t)(eq - text) : strlen(text);
	char *name = fl_xstrndup(text, len);
	enum fl_code code;
	struct fl_near near;

	fl_near_init(&near, name);
	for (size_t i = 0; i < FL_COUNT(keys); i++) {
		if (strcmp(name, keys[i].name)) {
			fl_near_try(&near, keys[i].name);
			continue;
		}
		fl_free(name);
		if (!eq || keys[i].set(s, eq + 1) != FL_OK)
			return fl_err_set(err, FL_EINVAL, "--feed: '%s': '%s' wants %s, not '%s'", s->name,
				keys[i].name, keys[i].wants, eq ? eq + 1 : "");
		return FL_OK;
	}
	code = fl_err_set(err, FL_EINVAL, "--feed: '%s': unknown key '%s'%s%s%s", s->name, name,
		near.best ? ", did you mean '" : "", near.best ? near.best : "", near.best ? "'?" : "");
	fl_free(name);
	return code;
}

enum fl_code fl_data_spec_parse(struct fl_data_spec *s, const char *text, struct fl_err *err)
{
	const char *eq = strchr(text, '='), *at;
	size_t len;

	*s = (struct fl_data_spec){ .dtype = -1, .scale = 1, .rank = -1 };
	if (!eq || eq == text || !eq[1] || eq[1] == ',')
		return fl_err_set(err, FL_EINVAL, "--feed wants NAME=FILE[,key=value...], not '%s'",
			text);
	s->name = fl_xstrndup(text, (size_t)(eq - text));
	len = strcspn(eq + 1, ",");
	s->file = fl_xstrndup(eq + 1, len);
	for (at = eq + 1 + len; *at; at += len) {
		enum fl_code code;
		char *key;

		at++;
		len = strcspn(at, ",");
		key = fl_xstrndup(at, len);
		code = set_key(s, key, err);
		fl_free(key);
		FL_TRY(code);
	}
	return FL_OK;
}

void fl_data_spec_release(struct fl_data_spec *s)
{
	fl_free(s->name);
	fl_free(s->file);
	fl_free(s->columns);
	memset(s, 0, sizeof *s);
}
