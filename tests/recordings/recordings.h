/*
 * The recordings of the real Fluid, run through our commands. A folder of recordings has a row in
 * the table of main.c; its cases are found in the file system, run each in a scratch folder, and
 * what is wrong with one is said in words.
 */
#ifndef FL_TESTS_RECORDINGS_H
#define FL_TESTS_RECORDINGS_H

#include <stdbool.h>
#include <sys/types.h>

#include <cjson/cJSON.h>

#include "base/arena.h"
#include "base/buf.h"

struct rec_case {
	const char *name; /* path below the folder of recordings */
	const char *dir;  /* where the recording lies */
	const char *tmp;  /* an empty folder of this case alone */
	struct fl_arena *arena;
};

/* Runs one case. Returns whether it was one (false: left out on purpose, not counted); what is
 * wrong goes to *why, which stays empty when the case passes. */
typedef bool rec_run_fn(const struct rec_case *c, struct fl_buf *why);

rec_run_fn rec_programs, rec_transpile, rec_ops, rec_errors, rec_train, rec_dist, rec_wire;

extern const char *rec_fluidc, *rec_fluidrun; /* the commands; set once by main */

/* ---- what cases are made of (help.c) ---- */

/* Paths, in the case's arena. */
const char *rec_in(const struct rec_case *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
const char *rec_tmp(const struct rec_case *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* A JSON file; NULL (and a word in *why) when there is none or it is malformed. Freed by the caller. */
cJSON *rec_json(const char *path, struct fl_buf *why);
const char *rec_str(const cJSON *o, const char *key, const char *otherwise);
double rec_num(const cJSON *o, const char *key, double otherwise);
bool rec_true(const cJSON *o, const char *key);

/* Names of all files below a folder, sorted; `n` of them, in the arena. */
char **rec_files(const struct rec_case *c, const char *dir, size_t *n);
void rec_copy_file(const char *from, const char *to, struct fl_buf *why);

/* A command line, NULL-terminated at any time. */
struct rec_args {
	const char *v[160];
	size_t n;
};
void rec_arg(struct rec_args *a, const char *s);
void rec_arg2(struct rec_args *a, const char *option, const char *value);
/* The options of `fluidc transpile` that a recording's config.json stands for. */
void rec_transpile_args(const struct rec_case *c, const cJSON *config, const char *from,
	const char *out, struct rec_args *a);

/* A process with its standard error in a file, its input and output closed off. It dies with us. */
struct rec_proc {
	pid_t pid;	     /* 0: has ended, or never started */
	int code;	     /* 128 + N after signal N; 124: had to be killed */
	const char *tag, *log; /* borrowed */
};
void rec_start(struct rec_proc *p, const char *tag, const char *cwd, const char *out,
	const char *log, const struct rec_args *a);
/* Waits until all have ended, one has failed, or the time is up; then ends those that still run.
 * Says in *why which one failed and how. */
bool rec_wait(struct rec_proc *p, size_t n, double seconds, struct fl_buf *why);
void rec_kill(struct rec_proc *p, size_t n);
/* Runs one command to its end; its exit code, and what it wrote to stderr. */
int rec_run(const struct rec_case *c, const char *cwd, const char *out, const struct rec_args *a,
	double seconds, struct fl_buf *said);
/* The end of what a command said, on one line. */
void rec_said(struct fl_buf *why, int code, const char *said);

/* ---- comparing (compare.c) ---- */

/* Two files of one variable of a kind of case.json: dims, type, LoD and rows equal, whole numbers
 * equal, |got - want| <= atol + rtol |want|. */
void rec_near(const char *kind, const char *got, const char *want, double rtol, double atol,
	const char *label, struct fl_buf *why);
/* max |a-b| / (|b| + mean|b|), or with a floor max |a-b| / (floor + |b|). INFINITY: another size,
 * or NaN and infinities elsewhere. */
double rec_far(const double *got, size_t n_got, const double *want, size_t n_want, double floor);
/* The same of two LoDTensor files; words in *why where they cannot be compared (then 0). */
double rec_far_file(const char *got, const char *want, double floor, const char *label,
	struct fl_buf *why);

/* ---- steps (steps.c) ---- */

/* Step lines of --log json: the values of a fetch in each step. */
struct rec_series {
	double *at; /* owned: values of all steps, one after the other */
	size_t n;
	size_t *step; /* owned: values in each step */
	size_t n_steps;
};
void rec_series_of_log(const char *log, const char *name, struct rec_series *s);
/* The same of losses.json: an array with a number or a (nested) array of numbers for each step. */
void rec_series_of_json(const cJSON *array, struct rec_series *s);
void rec_series_release(struct rec_series *s);

#endif
