#include "inspect/folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"

#define DEPTH_MAX 16

char *fl_path_join(const char *dir, const char *name)
{
	size_t n = strlen(dir);

	return fl_xstrfmt("%s%s%s", dir, n && dir[n - 1] == '/' ? "" : "/", name);
}

int fl_names_order(const char *a, const char *b)
{
	const char *x = strrchr(a, '/'), *y = strrchr(b, '/');
	size_t nx = x ? (size_t)(x - a) : 0, ny = y ? (size_t)(y - b) : 0;
	int order = memcmp(a, b, nx < ny ? nx : ny);

	if (!order)
		order = (nx > ny) - (nx < ny);
	return order ? order : strcmp(a, b);
}

static int by_name(const void *x, const void *y)
{
	return fl_names_order(*(char *const *)x, *(char *const *)y);
}

static bool is_program(const char *name)
{
	size_t n = strlen(name);

	return n > 3 && !strcmp(name + n - 3, ".pb");
}

static enum fl_code walk(const char *dir, const char *below, int depth, struct fl_names *out,
	struct fl_err *err);

static enum fl_code visit(const char *dir, const char *rel, int depth, struct fl_names *out,
	struct fl_err *err)
{
	char *path = fl_path_join(dir, rel);
	enum fl_code code = FL_OK;
	struct stat st;

	if (!lstat(path, &st) && S_ISDIR(st.st_mode)) {
		if (depth < DEPTH_MAX)
			code = walk(dir, rel, depth + 1, out, err);
	} else if (is_program(rel)) {
		fl_grow(&out->at, &out->cap, out->n + 1, sizeof *out->at);
		out->at[out->n++] = fl_xstrdup(rel);
	}
	fl_free(path);
	return code;
}

static enum fl_code walk(const char *dir, const char *below, int depth, struct fl_names *out,
	struct fl_err *err)
{
	char *path = *below ? fl_path_join(dir, below) : fl_xstrdup(dir);
	DIR *d = opendir(path);
	enum fl_code code = FL_OK;
	struct dirent *e;

	if (!d)
		code = fl_err_set(err, FL_EIO, "cannot read folder '%s': %s", path, strerror(errno));
	while (d && code == FL_OK && (e = readdir(d))) {
		char *rel;

		if (e->d_name[0] == '.')
			continue;
		rel = *below ? fl_path_join(below, e->d_name) : fl_xstrdup(e->d_name);
		code = visit(dir, rel, depth, out, err);
		fl_free(rel);
	}
	if (d)
		closedir(d);
	fl_free(path);
	return code;
}

enum fl_code fl_folder_programs(const char *dir, struct fl_names *out, struct fl_err *err)
{
	*out = (struct fl_names){ 0 };
	FL_TRY(walk(dir, "", 0, out, err));
	if (out->n)
		qsort(out->at, out->n, sizeof *out->at, by_name);
	return FL_OK;
}

void fl_names_release(struct fl_names *names)
{
	for (size_t i = 0; i < names->n; i++)
		fl_free(names->at[i]);
	fl_free(names->at);
	*names = (struct fl_names){ 0 };
}
