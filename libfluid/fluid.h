/*
 * The public interface of libfluid: load a program, give it values, run it, look at what came out.
 * A model belongs to one thread at a time; several models may be used side by side. Functions that
 * can fail return 0, or a code of enum fl_code; fluid_error then says in one sentence what was
 * wrong. Programs that talk to other processes are fluidrun's business: here they are refused when
 * they are run.
 */
#ifndef FLUID_H
#define FLUID_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Element types, by the numbers of Fluid's VarType. */
enum fluid_dtype {
	FLUID_BOOL = 0,
	FLUID_INT16 = 1,
	FLUID_INT32 = 2,
	FLUID_INT64 = 3,
	FLUID_FLOAT16 = 4,
	FLUID_FLOAT32 = 5,
	FLUID_FLOAT64 = 6,
	FLUID_UINT8 = 20,
	FLUID_INT8 = 21
};

struct fluid_model;

/* "0.1.0" */
const char *fluid_version(void);

/* An empty model that uses that many threads (0: the cores this process may use). The caller owns
 * it. */
struct fluid_model *fluid_new(int threads);
/* NULL is allowed. */
void fluid_free(struct fluid_model *m);
/* What the last call that failed had to say; borrowed until the next call. */
const char *fluid_error(const struct fluid_model *m);

/* Runs the startup program of that file once: it gives the parameters their first values. */
int fluid_startup(struct fluid_model *m, const char *path);
/* Loads the program that fluid_run runs. Variables keep their values when another one is loaded. */
int fluid_program(struct fluid_model *m, const char *path);
/* Reads one variable from a stream file, or writes it to one. */
int fluid_load(struct fluid_model *m, const char *name, const char *path);
int fluid_save(struct fluid_model *m, const char *name, const char *path);

/* Sets a variable to a copy of dense data, row-major. */
int fluid_set(struct fluid_model *m, const char *name, int dtype, const int64_t *dims, int rank,
	const void *data);
/* A look at a dense variable's value; what is returned is borrowed until the next call that runs,
 * sets or loads. */
struct fluid_view {
	int dtype, rank;
	const int64_t *dims;
	const void *data;
	size_t bytes;
};
int fluid_get(struct fluid_model *m, const char *name, struct fluid_view *view);

/* Runs block 0 of the program once. */
int fluid_run(struct fluid_model *m);

#ifdef __cplusplus
}
#endif

#endif
