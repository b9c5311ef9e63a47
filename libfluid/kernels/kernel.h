/*
 * Kernels: what an operator computes. The executor binds a kernel once (`prepare` decodes the
 * attributes into `state`) and runs it many times. Before `run` the executor has inferred and
 * allocated the outputs (dtype, dims, LoD), unless the operator is FL_OP_DYNAMIC or FL_OP_HOST; so
 * kernels check only what shapes cannot say (label values, row numbers). Kernels include neither
 * exec/ nor rpc/: what they need of the outside comes through struct fl_host.
 */
#ifndef FL_KERNELS_KERNEL_H
#define FL_KERNELS_KERNEL_H

#include "base/pool.h"
#include "ops/op.h"
#include "tensor/var.h"

struct fl_kernel;

/* A remote variable of a call: `var` is sent or filled. */
struct fl_remote {
	const char *endpoint;
	const char *name;  /* there */
	const char *local; /* here: out_varname of a get */
	struct fl_var *var;
};

/* What the process around offers. NULL members: not there (EUNSUPPORTED). All calls wait until
 * every reply is in; the first failure is returned, saying which variable and endpoint. */
struct fl_host {
	void *arg;
	enum fl_code (*send)(void *arg, const struct fl_remote *r, size_t n, struct fl_err *err);
	enum fl_code (*notify)(void *arg, const struct fl_remote *r, size_t n, struct fl_err *err);
	enum fl_code (*get)(void *arg, const struct fl_remote *r, size_t n, bool with_barrier,
		struct fl_err *err);
	/* batch = BATCH_BARRIER, else FETCH_BARRIER, to each endpoint once. */
	enum fl_code (*barrier)(void *arg, bool batch, const char *const *endpoints, size_t n,
		struct fl_err *err);
	/* Becomes the parameter server that this operator describes; returns when it ends. */
	enum fl_code (*serve)(void *arg, const fl_pb_op *op, struct fl_err *err);
};

/* What operators with blocks ask of the frame they stand in. A child scope has a name, that of the
 * operator's Scope variable, by which the gradient operator finds it again; it is made when it is
 * first asked for, and lives as long as the frame. */
struct fl_blocks {
	enum fl_code (*run)(struct fl_kernel *k, const char *scope, int block, struct fl_err *err);
	/* A variable of that child scope itself; NULL. */
	struct fl_var *(*local)(struct fl_kernel *k, const char *scope, const char *name);
};

struct fl_args {
	struct fl_var **at; /* `@EMPTY@` and absent arguments are NULL */
	size_t n;
};

struct fl_kernel_def {
	const char *type;
	const char *in, *out; /* slots by name in the order of k->in and k->out: "X Y" */
	size_t state_size;
	/* Decodes attributes (desc/query.h on k->op, with the definition's defaults: fl_k_*) into
	 * k->state; NULL when there is nothing to decode. */
	enum fl_code (*prepare)(struct fl_kernel *k, struct fl_err *err);
	enum fl_code (*run)(struct fl_kernel *k, struct fl_err *err);
	/* Frees what prepare or run keep in state (scratch memory); may be NULL. */
	void (*release)(struct fl_kernel *k);
};

/* A prepared kernel: one operator of a prepared block. */
struct fl_kernel {
	const struct fl_kernel_def *def;
	const struct fl_op_def *op_def;
	const fl_pb_op *op;
	void *state;	      /* def->state_size zeroed bytes */
	struct fl_args *in;   /* in the order of def->in; the executor binds them before run */
	struct fl_args *out;  /* in the order of def->out */
	struct fl_pool *pool; /* for fl_pool_for; may be NULL */
	const struct fl_host *host;
	const struct fl_blocks *blocks;
	struct fl_frame *frame; /* opaque: for `blocks` */
	uint64_t *seed_source; /* where random operators with seed 0 take theirs from */
};

/* The kernel of that operator, or NULL. */
const struct fl_kernel_def *fl_kernel_find(const char *type);
/* The i-th of all kernels, which come family by family; NULL after the last. */
const struct fl_kernel_def *fl_kernel_at(size_t i);

/* ---- for kernels ----------------------------------------------------------------------------- */

/* The i-th variable's tensor, NULL when absent. */
struct fl_tensor *fl_in(const struct fl_kernel *k, int slot, size_t i);
struct fl_tensor *fl_out(const struct fl_kernel *k, int slot, size_t i);
/* The variable itself (SelectedRows, arrays), NULL when absent. */
struct fl_var *fl_in_var(const struct fl_kernel *k, int slot, size_t i);
struct fl_var *fl_out_var(const struct fl_kernel *k, int slot, size_t i);

/* Attributes with the definition's default. */
int64_t fl_k_int(const struct fl_kernel *k, const char *attr);
double fl_k_num(const struct fl_kernel *k, const char *attr);
bool fl_k_bool(const struct fl_kernel *k, const char *attr);
const char *fl_k_str(const struct fl_kernel *k, const char *attr);
size_t fl_k_ints(const struct fl_kernel *k, const char *attr, int64_t *v, size_t max);

/* EUNSUPPORTED: "no kernel for float16 in 'X'". */
enum fl_code fl_k_bad_dtype(const struct fl_kernel *k, const char *slot, int dtype,
	struct fl_err *err);

#endif
