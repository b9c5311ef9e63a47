/*
 * Runs recordings: recordings [FOLDER[/SUBSTRING]]...
 *
 * The recordings are those of $FLUID_GOLDEN (../shared/golden); where that is missing, a line says
 * so and the copies in testdata/ are used. What tests/later lists is run, counted and printed
 * apart; a case of it that passes is an error. --failed prints the names of the cases that fail
 * and nothing else, which is how that list is made. $FLUID_JOBS cases run at once (2).
 */
#include <dirent.h>
#include <fnmatch.h>
#include <ftw.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/pool.h"
#include "recordings/recordings.h"

/*
 * name   the folder, below the recordings
 * mark   what a case is: a folder that holds a file of that name, or, with `each`, such a file
 * jobs   cases at once at most (0: as many as there may be): those that time things run alone
 */
static const struct folder {
	const char *name, *mark;
	bool each;
	int jobs;
	rec_run_fn *run;
	const char *what;
} folders[] = {
	{ "programs", "*.[pb]*", true, 0, rec_programs, "programs read and written back" },
	{ "transpile", "config.json", false, 0, rec_transpile, "transpilations" },
	{ "ops", "case.json", false, 0, rec_ops, "operator cases" },
	{ "ops-errors", "case.json", false, 0, rec_errors, "mistakes refused" },
	{ "train", "losses.json", false, 0, rec_train, "trainings" },
	{ "dist", "config.json", false, 1, rec_dist, "distributed trainings" },
	{ "wire", "case.json", false, 1, rec_wire, "wire cases" },
};

struct one {
	char *name, *dir; /* owned */
	bool later, counted;
	struct fl_buf why;
};

struct batch {
	const struct folder *f;
	struct one *at;
	size_t n, cap;
	atomic_size_t next;
	const char *scratch;
};

const char *rec_fluidc, *rec_fluidrun;

/* ---- the list of what a later issue makes pass ---- */

struct later {
	char *text; /* owned; lines cut apart */
	char **at;
	bool *seen;
	size_t n, cap;
};

static void later_read(struct later *l, const char *path)
{
	struct fl_buf b = FL_BUF_INIT;
	struct fl_err err = { 0 };

	if (fl_file_read(path, 0, &b, &err))
		return;
	l->text = fl_buf_detach(&b);
	for (char *p = l->text, *end; *p; p = end) {
		size_t n = strcspn(p, "\n"), word = strcspn(p, " \t\n#");

		end = p + n + (p[n] == '\n');
		if (!word)
			continue;
		p[word] = '\0';
		fl_grow(&l->at, &l->cap, l->n + 1, sizeof *l->at);
		l->at[l->n++] = p;
	}
	l->seen = FL_NEW_N(bool, l->n + 1);
}

static void later_release(struct later *l)
{
	fl_free(l->text);
	fl_free(l->at);
	fl_free(l->seen);
}

/* An entry names a case, or a folder of cases. */
static bool is_later(struct later *l, const char *folder, const char *name)
{
	size_t f = strlen(folder);

	for (size_t i = 0; i < l->n; i++) {
		const char *e = l->at[i];
		size_t n = strlen(e);

		if (n <= f + 1 || strncmp(e, folder, f) || e[f] != '/')
			continue;
		n -= f + 1;
		if (!strncmp(e + f + 1, name, n) && (!name[n] || name[n] == '/')) {
			l->seen[i] = true;
			return true;
		}
	}
	return false;
}

/* ---- finding the cases ---- */

static void add(struct batch *b, const char *root, const char *below)
{
	struct one *o;

	fl_grow(&b->at, &b->cap, b->n + 1, sizeof *b->at);
	o = &b->at[b->n++];
	memset(o, 0, sizeof *o);
	o->name = fl_xstrdup(below);
	o->dir = fl_xstrfmt("%s/%s", root, below);
}

static void release_one(struct one *o)
{
	fl_free(o->name);
	fl_free(o->dir);
	fl_buf_release(&o->why);
}

static void find(struct batch *b, const char *root, const char *below)
{
	char *dir = *below ? fl_xstrfmt("%s/%s", root, below) : fl_xstrdup(root);
	struct dirent **list;
	int n = scandir(dir, &list, NULL, alphasort);
	bool taken = false;

	for (int i = 0; i < n; i++) {
		const char *name = list[i]->d_name;
		char *sub = *below ? fl_xstrfmt("%s/%s", below, name) : fl_xstrdup(name);
		char *path = fl_xstrfmt("%s/%s", root, sub);

		if (name[0] == '.') {
			/* neither a recording nor a folder of some */
		} else if (fl_is_dir(path)) {
			find(b, root, sub);
		} else if (!fnmatch(b->f->mark, name, 0) && !taken) {
			add(b, root, b->f->each ? sub : below);
			taken = !b->f->each;
		}
		fl_free(path);
		fl_free(sub);
		free(list[i]);
	}
	if (n >= 0)
		free(list);
	fl_free(dir);
}

/* ---- running them ---- */

static int forget(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void run_some(void *arg, size_t begin, size_t end)
{
	struct batch *b = arg;
	size_t i;

	(void)begin; /* each worker takes the next one: cases differ in length */
	(void)end;
	while ((i = atomic_fetch_add(&b->next, 1)) < b->n) {
		struct one *o = &b->at[i];
		struct fl_err err = { 0 };
		char *tmp = fl_xstrfmt("%s/%s.%zu", b->scratch, b->f->name, i);
		struct rec_case c = { o->name, o->dir, tmp, fl_arena_new(0) };

		o->counted = true;
		if (fl_mkdirs(tmp, &err))
			fl_buf_adds(&o->why, err.msg);
		else
			o->counted = b->f->run(&c, &o->why);
		nftw(tmp, forget, 16, FTW_DEPTH | FTW_PHYS);
		fl_arena_free(c.arena);
		fl_free(tmp);
	}
}

static void run_all(struct batch *b)
{
	const char *env = getenv("FLUID_JOBS");
	int jobs = env ? (int)strtol(env, NULL, 10) : 2;
	struct fl_pool *pool;

	if (b->f->jobs && jobs > b->f->jobs)
		jobs = b->f->jobs;
	pool = jobs > 1 ? fl_pool_new(jobs) : NULL;
	fl_pool_for(pool, (size_t)(jobs > 1 ? jobs : 1), 1, run_some, b);
	fl_pool_free(pool);
}

struct tally {
	size_t ran, passed, later_ran, later_passed;
};

static struct tally count(struct batch *b, bool names_only)
{
	const char *env = getenv("FLUID_SHOW");
	long show = env ? strtol(env, NULL, 10) : 20;
	struct tally t = { 0 };

	for (size_t i = 0; i < b->n; i++) {
		struct one *o = &b->at[i];
		bool ok = !o->why.len;

		if (!o->counted)
			continue;
		*(o->later ? &t.later_ran : &t.ran) += 1;
		*(o->later ? &t.later_passed : &t.passed) += ok;
		if (names_only && !ok)
			printf("%s/%s\n", b->f->name, o->name);
		else if (!names_only && ok == o->later && show-- > 0)
			printf("%s/%s: %.400s\n", b->f->name, o->name,
				ok ? "passes, but stands in tests/later" : fl_buf_str(&o->why));
	}
	return t;
}

/* Runs a folder's chosen cases. False: something is wrong. */
static bool run_folder(const struct folder *f, const char *root, const char *part,
	struct later *later, const char *scratch, bool names_only)
{
	struct batch b = { .f = f, .scratch = scratch };
	size_t kept = 0, left_out = 0;
	double t0 = fl_now();
	struct tally t;
	bool ok;

	find(&b, root, "");
	for (size_t i = 0; i < b.n; i++) {
		if (!strstr(b.at[i].name, part)) {
			release_one(&b.at[i]);
			continue;
		}
		b.at[kept] = b.at[i];
		b.at[kept].later = is_later(later, f->name, b.at[kept].name);
		kept++;
	}
	b.n = kept;
	run_all(&b);
	t = count(&b, names_only);
	for (size_t i = 0; i < b.n; i++)
		left_out += !b.at[i].counted;
	ok = b.n && t.passed == t.ran && !t.later_passed &&
		t.ran + t.later_ran + left_out == b.n;
	if (!names_only) {
		printf("%s: %zu of %zu", f->what, t.passed, t.ran);
		if (t.later_ran)
			printf("; later: %zu of %zu", t.later_passed, t.later_ran);
		if (left_out)
			printf("; %zu left out", left_out);
		printf(" (%.0f s)%s\n", fl_now() - t0, b.n ? "" : ": nothing was found");
		fflush(stdout);
	}
	for (size_t i = 0; i < b.n; i++)
		release_one(&b.at[i]);
	fl_free(b.at);
	return ok;
}

static bool run_argument(const char *arg, const char *golden, struct later *later,
	const char *scratch, bool names_only)
{
	const char *slash = strchr(arg, '/');
	size_t n = slash ? (size_t)(slash - arg) : strlen(arg);
	bool ok = true, found = false;

	for (size_t i = 0; i < FL_COUNT(folders); i++) {
		const struct folder *f = &folders[i];
		char *root;

		if (n && (strlen(f->name) != n || strncmp(f->name, arg, n)))
			continue;
		found = true;
		root = fl_xstrfmt("%s/%s", golden, f->name);
		ok &= run_folder(f, root, slash ? slash + 1 : "", later, scratch, names_only);
		fl_free(root);
	}
	if (!found)
		fprintf(stderr, "recordings: no folder '%s'\n", arg);
	return ok && found;
}

int main(int argc, char **argv)
{
	bool names_only = argc > 1 && !strcmp(argv[1], "--failed"), ok = true;
	char scratch[] = "/tmp/recordings.XXXXXX";
	struct later later = { 0 };
	const char *golden = getenv("FLUID_GOLDEN") ? getenv("FLUID_GOLDEN") : "../shared/golden";
	char *paths[3]; /* absolute: commands run elsewhere */
	int first = names_only ? 2 : 1;

	if (!fl_is_dir(golden)) {
		if (!names_only)
			printf("no recordings at '%s': the copies in testdata/ are used\n", golden);
		golden = "testdata";
	}
	paths[0] = realpath(golden, NULL);
	paths[1] = realpath(getenv("FLUIDC") ? getenv("FLUIDC") : "build/fluidc", NULL);
	paths[2] = realpath(getenv("FLUIDRUN") ? getenv("FLUIDRUN") : "build/fluidrun", NULL);
	if (!paths[0] || !paths[1] || !paths[2] || !mkdtemp(scratch)) {
		perror("recordings");
		return 2;
	}
	golden = paths[0];
	rec_fluidc = paths[1];
	rec_fluidrun = paths[2];
	if (!names_only)
		later_read(&later, "tests/later");
	if (first == argc)
		ok = run_argument("", golden, &later, scratch, names_only);
	for (int i = first; i < argc; i++)
		ok &= run_argument(argv[i], golden, &later, scratch, names_only);
	rmdir(scratch);
	later_release(&later);
	for (size_t i = 0; i < FL_COUNT(paths); i++)
		free(paths[i]);
	return ok ? 0 : 1;
}
