/*
 * What a listen_and_serv operator describes, made once before the port is bound: the gradients that
 * may arrive, the blocks that apply them, and who writes what.
 */
#ifndef FL_PSERVER_TABLE_H
#define FL_PSERVER_TABLE_H

#include <pthread.h>

#include "base/map.h"
#include "exec/prepared.h"
#include "pserver/request.h"

struct fl_block;

/* A variable that trainers send. */
struct fl_grad {
	char *name;      /* owned: of the variable that the block reads */
	int64_t trainer; /* of its suffix; -1 none */
	int kind, dtype; /* as the program declares it */
	int rank;
	int64_t dims[FL_MAX_RANK]; /* -1: any */
	struct fl_block *block;    /* that applies it; NULL: none reads it */
	int slot;                  /* where the block's frame uses it; -1 nowhere */
	struct fl_var *var;        /* in the scope, borrowed */
	bool arrived;              /* guarded by serv->lock (sync): holds a value of this round */
	pthread_mutex_t lock;
	struct fl_var **spare; /* guarded by lock; owned: values between two uses */
	size_t n_spare, cap_spare;
};

/* A block of the program that the server runs. */
struct fl_block {
	int idx, parent;
	struct fl_scope *scope;  /* for the block's own variables; owned by the server's scope */
	struct fl_frame *frame;  /* owned */
	struct fl_var **written; /* owned list: variables outside the block that it writes */
	size_t n_written;
	struct fl_grad **grads; /* owned list: those that it reads */
	size_t n_grads;
};

struct fl_table {
	const struct fl_program *prog;
	struct fl_scope *scope;
	struct fl_block *blocks; /* owned; in the order of optimize_blocks */
	size_t n_blocks;
	struct fl_block *lr;   /* the learning-rate block among them, or NULL */
	struct fl_grad *grads; /* owned */
	size_t n_grads;
	struct fl_map names; /* accepted name -> struct fl_grad */
	size_t max_message;  /* bytes of the largest message that may arrive */
};

/* Reads the operator's attributes (of every era, runtime.md 4.1) and prepares the blocks. EINVAL
 * names what the program lacks. On failure the table is released. prog, scope and env are borrowed
 * and must outlive the table. */
enum fl_code fl_table_init(struct fl_table *table, const struct fl_program *prog,
	const fl_pb_op *op, struct fl_scope *scope, const struct fl_exec_env *env,
	struct fl_err *err);
void fl_table_release(struct fl_table *table);

/* The gradient that a message of that name, sent by that trainer (-1 unknown), is for; with one
 * trainer `w@GRAD` and `w@GRAD.trainer_0` mean the same. NULL: this server holds none. */
struct fl_grad *fl_table_grad(const struct fl_table *table, const char *name, int64_t trainer);

/* Decodes the request's value into req->var, a spare variable of req->grad, and checks it against
 * the declaration: kind, type, dims, height, rows. Refuses the request when it does not fit. */
enum fl_code fl_grad_take(struct fl_grad *grad, struct fl_req *req);
/* Keeps the memory of a used value for the next one. */
void fl_grad_recycle(struct fl_grad *grad, struct fl_var *var);
/* Gives grad->var the value of *var and *var the old one. */
void fl_grad_swap(struct fl_grad *grad, struct fl_var *var);
/* Makes grad->var absent: a tensor without value; SelectedRows without rows. Its memory is kept for
 * the next value. */
enum fl_code fl_grad_clear(struct fl_grad *grad, struct fl_err *err);

/* Does an operator of the block read the variable before any writes it? */
bool fl_block_needs(const fl_pb_block *block, const char *name);

#endif
