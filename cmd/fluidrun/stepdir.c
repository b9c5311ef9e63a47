#include "stepdir.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"

static struct stepdir_step *step_of(struct stepdir *s, int64_t number)
{
	struct stepdir_step *step;

	for (size_t i = s->n; i-- > 0;)
		if (s->steps[i].number == number)
			return &s->steps[i];
	fl_grow(&s->steps, &s->cap, s->n + 1, sizeof *s->steps);
	step = &s->steps[s->n++];
	*step = (struct stepdir_step){ .number = number };
	return step;
}

static void add_file(struct stepdir_step *step, const char *name, const char *path)
{
	fl_grow(&step->files, &step->cap, step->n + 1, sizeof *step->files);
	step->files[step->n++] = (struct stepdir_file){ fl_xstrdup(name), fl_xstrdup(path) };
}

static enum fl_code list_step(struct stepdir_step *step, const char *path, const char *prefix,
	struct fl_err *err);

static enum fl_code list_entry(struct stepdir_step *step, const char *path, const char *name,
	struct fl_err *err)
{
	if (fl_is_dir(path))
		return list_step(step, path, name, err);
	add_file(step, name, path);
	return FL_OK;
}

/* Files below the folder: their path below it is the variable's name. */
static enum fl_code list_step(struct stepdir_step *step, const char *path, const char *prefix,
	struct fl_err *err)
{
	DIR *d = opendir(path);
	enum fl_code code = FL_OK;
	struct dirent *e;

	if (!d)
		return fl_err_set(err, FL_EIO, "cannot read folder '%s': %s", path, strerror(errno));
	if (strlen(path) > 4000) {
		closedir(d);
		return fl_err_set(err, FL_ELIMIT, "folders too deep below '%.80s...'", path);
	}
	while (code == FL_OK && (e = readdir(d))) {
		char *below, *name;

		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		below = fl_xstrfmt("%s/%s", path, e->d_name);
		name = *prefix ? fl_xstrfmt("%s/%s", prefix, e->d_name) : fl_xstrdup(e->d_name);
		code = list_entry(step, below, name, err);
		fl_free(below);
		fl_free(name);
	}
	closedir(d);
	return code;
}

static enum fl_code list_dir(struct stepdir *s, const char *dir, struct fl_err *err)
{
	DIR *d = opendir(dir);
	enum fl_code code = FL_OK;
	struct dirent *e;
	size_t n = 0;

	if (!d)
		return fl_err_set(err, errno == ENOENT ? FL_ENOTFOUND : FL_EIO,
			"--feed-dir: cannot read folder '%s': %s", dir, strerror(errno));
	while (code == FL_OK && (e = readdir(d))) {
		int64_t number;
		char *path;

		if (strncmp(e->d_name, "step-", 5) || !opt_number(e->d_name + 5, &number) ||
			number < 0)
			continue;
		path = fl_xstrfmt("%s/%s", dir, e->d_name);
		if (fl_is_dir(path)) {
			code = list_step(step_of(s, number), path, "", err);
			n++;
		}
		fl_free(path);
	}
	closedir(d);
	if (code == FL_OK && !n)
		return fl_err_set(err, FL_ENOTFOUND, "--feed-dir: '%s' holds no folder 'step-00', ...",
			dir);
	return code;
}

static int by_number(const void *a, const void *b)
{
	const struct stepdir_step *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct stepdir_file *)a)->name, ((const struct stepdir_file *)b)->name);
}

enum fl_code stepdir_list(struct stepdir *s, const struct opt_list *dirs, struct fl_err *err)
{
	memset(s, 0, sizeof *s);
	for (size_t i = 0; i < dirs->n; i++)
		FL_TRY(list_dir(s, dirs->at[i], err));
	if (s->n)
		qsort(s->steps, s->n, sizeof *s->steps, by_number);
	for (size_t i = 0; i < s->n; i++)
		if (s->steps[i].n)
			qsort(s->steps[i].files, s->steps[i].n, sizeof *s->steps[i].files, by_name);
	return FL_OK;
}

void stepdir_release(struct stepdir *s)
{
	for (size_t i = 0; i < s->n; i++) {
		for (size_t k = 0; k < s->steps[i].n; k++) {
			fl_free(s->steps[i].files[k].name);
			fl_free(s->steps[i].files[k].path);
		}
		fl_free(s->steps[i].files);
	}
	fl_free(s->steps);
	memset(s, 0, sizeof *s);
}
