/* The public interface (fluid.h) on top of the executor. */
#include "fluid.h"

#include <assert.h>
#include <string.h>

#include "base/cpu.h"
#include "base/mem.h"
#include "desc/query.h"
#include "exec/prepared.h"
#include "kernels/blas.h"
#include "tensor/stream.h"

static_assert((int)FLUID_FLOAT32 == FL_FP32 && (int)FLUID_UINT8 == FL_UINT8, "one numbering");

struct fluid_model {
	struct fl_scope *scope;	  /* owned */
	struct fl_pool *pool;	  /* owned; NULL with one thread */
	struct fl_program *main;  /* owned; NULL: none yet */
	struct fl_frame *frame;	  /* owned; NULL: not prepared yet */
	struct fl_exec_env env;
	uint64_t seed_source;
	struct fl_err err;
};

const char *fluid_version(void)
{
	return FLUID_VERSION;
}

struct fluid_model *fluid_new(int threads)
{
	struct fluid_model *m = FL_NEW(struct fluid_model);

	if (threads < 1)
		threads = fl_cpu_count();
	fl_blas_set_threads(1); /* the kernels split products over the pool */
	m->scope = fl_scope_new(NULL);
	m->pool = threads > 1 ? fl_pool_new(threads) : NULL;
	m->env.pool = m->pool;
	m->env.seed_source = &m->seed_source;
	return m;
}

void fluid_free(struct fluid_model *m)
{
	if (!m)
		return;
	fl_frame_free(m->frame);
	fl_program_free(m->main);
	fl_scope_free(m->scope);
	fl_pool_free(m->pool);
	fl_free(m);
}

const char *fluid_error(const struct fluid_model *m)
{
	return m->err.msg;
}

int fluid_startup(struct fluid_model *m, const char *path)
{
	struct fl_scope *scope = fl_scope_new(m->scope);
	struct fl_program *prog = NULL;
	struct fl_frame *frame = NULL;
	enum fl_code code = fl_program_load(path, &prog, &m->err);

	if (code == FL_OK)
		code = fl_frame_new(prog, 0, scope, &m->env, &frame, &m->err);
	if (code == FL_OK)
		code = fl_frame_run(frame, &m->err);
	fl_frame_free(frame);
	fl_program_free(prog);
	fl_scope_free(scope);
	return code;
}

int fluid_program(struct fluid_model *m, const char *path)
{
	struct fl_program *prog = NULL;
	enum fl_code code = fl_program_load(path, &prog, &m->err);

	if (code != FL_OK)
		return code;
	fl_frame_free(m->frame);
	fl_program_free(m->main);
	m->frame = NULL;
	m->main = prog;
	return FL_OK;
}

/* The variable, made when it is new, of the kind that the program declares. */
static struct fl_var *var_of(struct fluid_model *m, const char *name)
{
	const fl_pb_var *decl = m->main ? fl_find_var(m->main->pb, 0, name) : NULL;

	return fl_scope_var(m->scope, name, decl && decl->type ? (int)decl->type->type : FL_LOD_TENSOR);
}

int fluid_load(struct fluid_model *m, const char *name, const char *path)
{
	return fl_load_var(path, var_of(m, name), NULL, &m->err);
}

static enum fl_code find(struct fl_scope *scope, const char *name, struct fl_var **var,
	struct fl_err *err)
{
	*var = fl_scope_find(scope, name);
	if (!*var)
		return fl_err_set(err, FL_ENOTFOUND, "there is no variable '%s'", name);
	return FL_OK;
}

int fluid_save(struct fluid_model *m, const char *name, const char *path)
{
	struct fl_var *var;

	FL_TRY(find(m->scope, name, &var, &m->err));
	return fl_save_var(path, var, &m->err);
}

int fluid_set(struct fluid_model *m, const char *name, int dtype, const int64_t *dims, int rank,
	const void *data)
{
	struct fl_var *var = var_of(m, name);

	if (var->kind != FL_LOD_TENSOR)
		return fl_err_set(&m->err, FL_EUNSUPPORTED, "variable '%s' is not dense", name);
	FL_TRY(fl_tensor_resize(&var->tensor, dtype, dims, rank, &m->err));
	memcpy(fl_data(&var->tensor), data, fl_tensor_bytes(&var->tensor));
	fl_lod_clear(&var->tensor.lod);
	return FL_OK;
}

int fluid_get(struct fluid_model *m, const char *name, struct fluid_view *view)
{
	struct fl_err *err = &m->err;
	struct fl_var *var;

	FL_TRY(find(m->scope, name, &var, err));
	if (var->kind != FL_LOD_TENSOR || !fl_var_has_value(var))
		return fl_err_set(err, FL_ESTATE, "variable '%s' holds no dense value", name);
	*view = (struct fluid_view){ .dtype = var->tensor.dtype, .rank = var->tensor.rank,
		.dims = var->tensor.dims, .data = fl_data(&var->tensor),
		.bytes = fl_tensor_bytes(&var->tensor) };
	return FL_OK;
}

int fluid_run(struct fluid_model *m)
{
	if (!m->main)
		return fl_err_set(&m->err, FL_ESTATE, "no program is loaded");
	if (!m->frame)
		FL_TRY(fl_frame_new(m->main, 0, m->scope, &m->env, &m->frame, &m->err));
	return fl_frame_run(m->frame, &m->err);
}
