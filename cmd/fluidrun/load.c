/* Variables from files before the first step, and to files after the last (commands.md, --load). */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/map.h"
#include "base/mem.h"
#include "desc/query.h"
#include "run.h"
#include "tensor/stream.h"

enum fl_code check_file_name(const char *name, struct fl_err *err)
{
	const char *p = name;

	if (*name == '/' || !*name)
		return fl_err_set(err, FL_EINVAL, "the variable name '%s' cannot be a file below a folder",
			name);
	while (*p) {
		size_t n = strcspn(p, "/");

		if ((n == 2 && p[0] == '.' && p[1] == '.') || (n == 1 && p[0] == '.'))
			return fl_err_set(err, FL_EINVAL,
				"the variable name '%s' would lead out of its folder", name);
		p += n;
		p += strspn(p, "/");
	}
	return FL_OK;
}

/* ---- declaring ------------------------------------------------------------------------------- */

static void declare(struct fl_scope *root, const fl_pb_program *pb)
{
	const fl_pb_block *b = pb->blocks[0];

	for (size_t i = 0; i < b->n_vars; i++) {
		int kind = b->vars[i]->type ? (int)b->vars[i]->type->type : FL_LOD_TENSOR;
		struct fl_var *var;

		if (!fl_var_persistable(b->vars[i]))
			continue;
		var = fl_scope_var(root, b->vars[i]->name, kind);
		var->persistable = true;
	}
}

void run_declare(struct run *r)
{
	declare(r->root, r->main->pb);
}

/* ---- loading --------------------------------------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static struct fl_var *var_of(struct run *r, const fl_pb_var *decl)
{
	return fl_scope_var(r->root, decl->name, decl->type ? (int)decl->type->type : FL_LOD_TENSOR);
}

static enum fl_code load_one(struct run *r, const char *path, const fl_pb_var *decl,
	struct fl_err *err)
{
	struct fl_var *var = var_of(r, decl);
	size_t extra = 0;

	FL_TRY(fl_load_var(path, var, &extra, err));
	if (extra)
		fl_logf(r->env.log, FL_LOG_WARN, "'%s': %zu bytes after the value of '%s' are ignored",
			path, extra, decl->name);
	return FL_OK;
}

static enum fl_code load_folder(struct run *r, const char *dir, struct fl_err *err)
{
	const fl_pb_block *b = r->main->pb->blocks[0];
	enum fl_code code = FL_OK;
	size_t n = 0;

	for (size_t i = 0; i < b->n_vars && code == FL_OK; i++) {
		char *path;

		if (check_file_name(b->vars[i]->name, NULL) != FL_OK)
			continue;
		path = fl_xstrfmt("%s/%s", dir, b->vars[i]->name);
		if (fl_is_file(path)) {
			code = load_one(r, path, b->vars[i], err);
			n++;
		}
		fl_free(path);
	}
	if (code == FL_OK)
		fl_logf(r->env.log, n ? FL_LOG_DEBUG : FL_LOG_WARN, "loaded %zu variables from '%s'", n,
			dir);
	return code;
}

struct names {
	char **at; /* owned */
	size_t n, cap;
};

static void add_name(struct names *names, const char *s, size_t len)
{
	while (len && (s[len - 1] == '\r' || s[len - 1] == ' '))
		len--;
	if (!len)
		return;
	fl_grow(&names->at, &names->cap, names->n + 1, sizeof *names->at);
	names->at[names->n++] = fl_xstrndup(s, len);
}

static void split_names(struct names *names, const char *s, const char *separators)
{
	while (*s) {
		size_t n = strcspn(s, separators);

		add_name(names, s, n);
		s += n;
		s += strspn(s, separators);
	}
}

static enum fl_code listed_names(const char *list, struct names *names, struct fl_err *err)
{
	struct fl_buf b = FL_BUF_INIT;
	enum fl_code code = FL_OK;

	if (*list == '@')
		code = fl_file_read(list + 1, 64u << 20, &b, err);
	if (code == FL_OK)
		split_names(names, *list == '@' ? fl_buf_str(&b) : list, *list == '@' ? "\n" : ",");
	fl_buf_release(&b);
	return code;
}

static bool has_file_form(const fl_pb_var *var)
{
	int kind = var->type ? (int)var->type->type : -1;

	return kind == FL_LOD_TENSOR || kind == FL_SELECTED_ROWS || kind == FL_LOD_TENSOR_ARRAY;
}

static void persistable_names(const fl_pb_block *b, struct names *names)
{
	for (size_t i = 0; i < b->n_vars; i++)
		if (fl_var_persistable(b->vars[i]) && has_file_form(b->vars[i]))
			add_name(names, b->vars[i]->name, strlen(b->vars[i]->name));
	if (names->n)
		qsort(names->at, names->n, sizeof *names->at, compare_names);
}

static enum fl_code read_combined(struct run *r, const char *path, const struct names *names,
	struct fl_stream *s, struct fl_err *err)
{
	for (size_t i = 0; i < names->n; i++) {
		const fl_pb_var *decl;

		FL_TRY(program_need_var(r->main->pb, "--load-names", names->at[i], &decl, err));
		if (!s->left)
			return fl_err_set(err, FL_EFORMAT,
				"'%s' ends after %zu of %zu variables, before '%s'", path, i, names->n,
				names->at[i]);
		if (fl_read_var(s, var_of(r, decl), err) != FL_OK)
			return fl_err_wrap(err, "variable '%s'", names->at[i]);
	}
	if (s->left)
		return fl_err_set(err, FL_EFORMAT,
			"'%s': %zu bytes are left after %zu variables, see --load-names", path, s->left,
			names->n);
	return FL_OK;
}

static enum fl_code load_combined(struct run *r, const char *path, struct fl_err *err)
{
	struct names names = { NULL, 0, 0 };
	struct fl_buf b = FL_BUF_INIT;
	struct fl_stream s;
	enum fl_code code = FL_OK;

	if (r->opt->load_names && r->opt->load && !strcmp(path, r->opt->load))
		code = listed_names(r->opt->load_names, &names, err);
	else
		persistable_names(r->main->pb->blocks[0], &names);
	if (code == FL_OK)
		code = fl_file_read(path, 0, &b, err);
	if (code == FL_OK) {
		s = (struct fl_stream){ (const uint8_t *)fl_buf_str(&b), b.len, 0, path };
		code = read_combined(r, path, &names, &s, err);
	}
	fl_buf_release(&b);
	for (size_t i = 0; i < names.n; i++)
		fl_free(names.at[i]);
	fl_free(names.at);
	return code;
}

static enum fl_code load_path(struct run *r, const char *path, struct fl_err *err)
{
	if (fl_is_dir(path))
		return load_folder(r, path, err);
	if (fl_is_file(path) || !strcmp(path, "-"))
		return load_combined(r, path, err);
	/*
	 * A program that only makes values does as well without; where nothing else gave values, the
	 * operator that misses one is named. After a startup program nobody would notice.
	 */
	if (!program_reads_outside(r->main->pb) || (!r->startup && r->opt->steps != 0)) {
		fl_logf(r->env.log, FL_LOG_WARN, "--load: there is no '%s'", path);
		return FL_OK;
	}
	return fl_err_set(err, FL_ENOTFOUND, "--load: there is no '%s'", path);
}

enum fl_code run_load(struct run *r, struct fl_err *err)
{
	if (r->params)
		FL_TRY(load_path(r, r->params, err));
	if (r->opt->load)
		FL_TRY(load_path(r, r->opt->load, err));
	return FL_OK;
}

/* ---- saving ---------------------------------------------------------------------------------- */

struct saved {
	struct fl_var **at; /* owned array */
	size_t n, cap;
};

static void add_saved(void *arg, struct fl_var *var)
{
	struct saved *s = arg;

	if (!var->persistable || !fl_var_has_value(var))
		return;
	fl_grow(&s->at, &s->cap, s->n + 1, sizeof *s->at);
	s->at[s->n++] = var;
}

static int by_name(const void *a, const void *b)
{
	const struct fl_var *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

static struct saved collect(struct run *r)
{
	struct saved s = { NULL, 0, 0 };

	fl_scope_each(r->root, add_saved, &s);
	if (s.n)
		qsort(s.at, s.n, sizeof *s.at, by_name);
	return s;
}

static enum fl_code save_folder(struct run *r, const char *dir, struct fl_err *err)
{
	struct saved s = collect(r);
	enum fl_code code = fl_mkdirs(dir, err);

	for (size_t i = 0; i < s.n && code == FL_OK; i++) {
		char *path = fl_xstrfmt("%s/%s", dir, s.at[i]->name);

		code = check_file_name(s.at[i]->name, err);
		if (code == FL_OK)
			code = fl_save_var(path, s.at[i], err);
		fl_free(path);
	}
	fl_free(s.at);
	return code;
}

static enum fl_code save_combined(struct run *r, const char *path, struct fl_err *err)
{
	struct saved s = collect(r);
	struct fl_buf b = FL_BUF_INIT;
	enum fl_code code = fl_mkdirs_for(path, err);

	for (size_t i = 0; i < s.n && code == FL_OK; i++)
		code = fl_write_var(&b, s.at[i], err);
	if (code == FL_OK)
		code = fl_file_write(path, fl_buf_str(&b), b.len, err);
	fl_buf_release(&b);
	fl_free(s.at);
	return code;
}

enum fl_code run_save(struct run *r, struct fl_err *err)
{
	if (r->opt->save)
		FL_TRY(save_folder(r, r->opt->save, err));
	if (r->opt->save_combined)
		FL_TRY(save_combined(r, r->opt->save_combined, err));
	return FL_OK;
}

enum fl_code run_save_step(struct run *r, int64_t step, struct fl_err *err)
{
	enum fl_code code;
	char *dir;

	if (!r->opt->save_every || (step + 1) % r->opt->save_every)
		return FL_OK;
	dir = fl_xstrfmt("%s/step-%02lld", r->opt->save, (long long)step);
	code = save_folder(r, dir, err);
	fl_free(dir);
	return code;
}
