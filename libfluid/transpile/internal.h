/* What the passes share. Only transpile/ and its unit tests include this. */
#ifndef FL_TRANSPILE_INTERNAL_H
#define FL_TRANSPILE_INTERNAL_H

#include "base/arena.h"
#include "base/map.h"
#include "desc/names.h"
#include "desc/pack.h"
#include "transpile/transpile.h"

/* What becomes of an operator of block 0. */
enum tp_kind {
	TP_KEEP,  /* forward, backward: stays on the trainers */
	TP_CLIP,  /* clips gradients: stays on the trainers, before the send, as backward */
	TP_OPT,	  /* decay and optimizers: moves to the servers */
	TP_LR	  /* learning-rate schedule: moves to the servers */
};

/* A growing list of indices; memory from the heap, freed by tp_list_release. */
struct tp_list {
	size_t *at;
	size_t n, cap;
};
void tp_list_add(struct tp_list *list, size_t v);
void tp_list_release(struct tp_list *list);

/* A contiguous part of one parameter, and of its gradient: whole rows. */
struct tp_block {
	int64_t numel, offset; /* elements */
	int64_t rows;	       /* numel where the rank is 1 */
	const char *param;     /* the parameter's name, or with .blockN */
	const char *grad;      /* the gradient's, without a trainer's suffix */
	size_t server;
};

/* A parameter with its gradient. */
struct tp_pair {
	const char *param, *grad;
	const fl_pb_var *pvar, *gvar;
	struct tp_block *blocks;
	size_t n;
	size_t writer;	    /* the last operator of block 0 that writes the gradient */
	size_t first_writer;
	size_t optimizer;   /* index of the optimizer's operator in block 0 */
	struct tp_list ops; /* decay operators and the optimizer, in program order */
	bool remote;	    /* rows are fetched by id: the trainer never receives the whole */
	bool split;	    /* more than one block */
};

struct tp_owned {
	size_t pair, block;
};

struct fl_transpiler {
	struct fl_arena *arena;
	struct fl_transpile_opts opts; /* strings copied */
	/* what the mode means (spec section 2) */
	bool sync;	/* send barrier and fetch barrier frame the trainer's step */
	bool rs;	/* the communicator splits at run time */
	bool half;	/* half-async: a send barrier of the communicator */
	bool by_sender; /* gradients are kept apart by trainer and summed on the server */
	bool suffix;	/* the trainer's own programs carry the suffix */
	int dist_mode;	/* listen_and_serv's distributed_mode */

	const struct fl_program *main, *startup;
	struct fl_shared *main_shared, *startup_shared; /* what trainers' programs have in common */
	const fl_pb_block *block;    /* main's block 0, the shared copy */
	struct fl_map vars;	     /* its variables */
	struct fl_map startup_vars;  /* the startup program's, the shared copies */
	struct fl_map optimizer_vars; /* those that only optimizers read (spec section 9) */
	struct fl_map first_grads;   /* gradients renamed in trainer 0's program -> their names */
	struct tp_list renamed;	     /* operators that stay and name a gradient that is renamed */
	struct fl_map inits;	     /* startup's block 0: name -> struct tp_list of its operators */
	unsigned char *kind;	     /* by operator: enum tp_kind */
	struct tp_list opt, lr;	     /* TP_OPT and TP_LR operators in order */
	struct tp_list optimizers;   /* those of opt that are optimizers */
	struct tp_pair *table;	     /* the distributed table, not among pairs; NULL: none */
	struct tp_list table_lookups;
	struct tp_list lookups;	     /* embedding lookups that fetch rows by id (remote_prefetch) */
	struct tp_pair *pairs;
	size_t n_pairs;
	struct fl_map pair_of_param, pair_of_grad; /* name -> struct tp_pair */
	size_t *send_order;	     /* pairs in the order in which they are placed and sent */
	struct tp_owned **owned;     /* by server: blocks in the order of send_order */
	size_t *n_owned;
	const char *counter;	     /* step counter of the schedule, async only; NULL: none */
	size_t counter_op;	     /* the increment that moves it */
	float counter_first;	     /* what each trainer's counter starts at on the servers */
	float counter_step;	     /* what a trainer adds to it with every step */
	struct fl_map sparse_tables; /* parameters that the trainers initialize by fake_init */
	uint64_t hash;		     /* of split, placement and mode */
};

/* Refusal: "op N 'type': ..." as context. */
enum fl_code tp_refuse(struct fl_err *err, const struct fl_transpiler *t, size_t op,
	const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* Sets what the mode means. */
void tp_apply_mode(struct fl_transpiler *t);
/* The input's program version. */
int64_t tp_version(const struct fl_transpiler *t);

/* ---- passes over the input, in this order ----------------------------------------------------- */

enum fl_code tp_analyze(struct fl_transpiler *t, struct fl_err *err); /* analyze.c */
enum fl_code tp_slice(struct fl_transpiler *t, struct fl_err *err);   /* slice.c */
void tp_place(struct fl_transpiler *t);				      /* place.c */
void tp_hash(struct fl_transpiler *t); /* place.c: sets t->hash */

/* Sizes of the blocks of a tensor: at most `servers` of at least about `min` elements, whole rows.
 * Returns the number of blocks; all but the last have *block elements. 0: a dimension is not
 * positive, or the product does not fit. */
size_t tp_cut(const int64_t *dims, size_t rank, size_t servers, int64_t min, int64_t *block,
	int64_t *numel, int64_t *row);

/* numpy.random.seed(seed); numpy.random.shuffle(range(n)): the order of the original indices. */
void tp_shuffle(uint32_t seed, size_t *order, size_t n);

/* Is the operator an optimizer (Param and LearningRate; adadelta has no rate)? */
bool tp_is_optimizer(const fl_pb_op *op);
/* Is the slot an accumulator that has the parameter's shape, and is cut with it? */
bool tp_is_sliced(const char *op_type, const char *slot);
/* Is the optimizer known to work on parts of a parameter, or without state of its own? */
bool tp_can_place(const fl_pb_op *op);

/* Bytes of an element. */
int64_t tp_dtype_size(int dtype);

/* ---- building programs ------------------------------------------------------------------------ */

#define TP_LIKES 8

/* A program under construction with an index of block 0's variables. */
struct tp_builder {
	struct fl_program *prog;
	fl_pb_block *block;
	struct fl_map vars;	   /* what differs from `base`; NULL: dropped */
	const struct fl_map *base; /* the variables of a shared block, borrowed; NULL: none */
	int controls;		   /* control variables so far */
	fl_pb_op *likes[TP_LIKES]; /* builder.c: whose attributes those like them share; NULL: none yet */
};

/* Takes over `prog`, which has no variables yet. */
void tp_builder_init(struct tp_builder *b, struct fl_program *prog);
/* A program that shares operators and variables (`vars`: an index of these) with others. */
void tp_builder_share(struct tp_builder *b, const struct fl_shared *shared,
	const struct fl_map *vars);
/* Operator i of block 0, made the program's own, so that it may be changed. */
fl_pb_op *tp_own_op(struct tp_builder *b, size_t i);
/* Puts a variable into the index. */
void tp_index_var(struct tp_builder *b, const char *name, fl_pb_var *var);
/* Sorts the attributes of the program's own operators; those of shared ones are. */
void tp_sort_attrs(struct tp_builder *b);
/* Frees the index, not the program. */
void tp_builder_release(struct tp_builder *b);
fl_pb_var *tp_var(const struct tp_builder *b, const char *name);
/* The variable of that name; made like `like` (its kind, dtype, shape, LoD level) when missing.
 * dims NULL: like's. */
fl_pb_var *tp_make_var(struct tp_builder *b, const char *name, const fl_pb_var *like,
	const int64_t *dims, size_t rank, int lod_level, bool persistable);
/* Copies kind, dtype, shape, LoD level: `persistable` as given. */
fl_pb_var *tp_clone_var(struct tp_builder *b, const fl_pb_var *like, bool persistable);
/* Makes it a part of `pvar`, with its shape cut to the block's rows. */
fl_pb_var *tp_block_var(struct tp_builder *b, const char *name, const fl_pb_var *like,
	const struct tp_block *block, bool persistable);
/* A new control variable; returns its name. */
const char *tp_control_var(struct tp_builder *b);
/* Removes the variables named in `names` from block 0. */
void tp_drop_vars(struct tp_builder *b, const struct fl_map *names);

/* A new operator with the attributes that every operator has. */
fl_pb_op *tp_op(struct tp_builder *b, const char *type, int role);
void tp_set_role_var(struct tp_builder *b, fl_pb_op *op, const char *param, const char *grad);
fl_pb_op *tp_op_send(struct tp_builder *b, const char *const *x, size_t n, const char *out);
fl_pb_op *tp_op_recv(struct tp_builder *b, const char *dep, const char *const *out, size_t n,
	const char *const *epmap, size_t n_ep, int trainer_id);
fl_pb_op *tp_op_send_barrier(struct tp_builder *b, const char *const *x, size_t n, const char *out,
	const char *const *endpoints, size_t n_ep, int trainer_id, bool half_async);
fl_pb_op *tp_op_fetch_barrier(struct tp_builder *b, const char *x, const char *const *out, size_t n,
	const char *const *endpoints, size_t n_ep, int trainer_id);
fl_pb_op *tp_op_concat(struct tp_builder *b, const char *const *x, size_t n, const char *out,
	int role);
fl_pb_op *tp_op_split(struct tp_builder *b, const fl_pb_var *grad, const char *const *out,
	const struct tp_pair *pair);
fl_pb_op *tp_op_sum(struct tp_builder *b, const char *const *x, size_t n, const char *out);
fl_pb_op *tp_op_scale(struct tp_builder *b, const char *x, float scale);
fl_pb_op *tp_op_counter(struct tp_builder *b, const fl_pb_var *var, const char *name, float value);

/* Does the operator name blocks in its attributes? */
bool tp_has_block(const fl_pb_op *op);
/* `base.trainer_I` in the program's arena. */
const char *tp_trainer_name(struct fl_program *prog, const char *base, int trainer);
/* Names of a pair's parts, in order; in the program's arena. */
const char **tp_part_names(struct fl_program *prog, const struct tp_pair *pair);
/* Endpoints of a pair's blocks, in order; in the program's arena. */
const char **tp_endpoints_of(const struct fl_transpiler *t, struct fl_program *prog,
	const struct tp_pair *pair);

/* The gradients that are renamed in a trainer's program -> their names there, in the arena. Release
 * the map. */
void tp_suffixed_grads(const struct fl_transpiler *t, struct fl_arena *arena, int trainer,
	struct fl_map *names);
/* Renames in op_role_var. */
void tp_rename_role_var(struct fl_program *prog, fl_pb_op *op, const struct fl_map *names);

/* Fills t->optimizer_vars, t->first_grads, t->renamed. */
void tp_index_changes(struct fl_transpiler *t);

/* defaults.c: what Fluid's front end does to an operator that it copies: name scope, defaults, types. */
void tp_complete(struct fl_program *prog, fl_pb_op *op);

/* ---- rows.c: embeddings whose rows are fetched by id ------------------------------------------- */

/* Attributes that say where a table's rows lie; `eps` is the name of that for the endpoints. */
void tp_set_rows_of(const struct fl_transpiler *t, struct tp_builder *b, fl_pb_op *op,
	const struct tp_pair *p, const char *eps, int trainer);
/* One distributed_lookup_table in place of the lookups `ops` of p. */
fl_pb_op *tp_fuse_lookups(const struct fl_transpiler *t, struct tp_builder *b,
	const struct tp_pair *p, const size_t *ops, size_t n, int trainer);
/* Between which operators lookups can become one: after all that make their ids (`after` counts the
 * operators up to the last of these), before the first that reads a result. */
struct tp_reach {
	size_t after, before;
};
struct tp_reach tp_reach_of(const struct fl_transpiler *t, const size_t *ops, size_t n);

/* ---- table.c: the distributed lookup table ----------------------------------------------------- */

/* Finds it, and takes it out of the pairs. */
enum fl_code tp_find_table(struct fl_transpiler *t, struct fl_err *err);
/* What stands in place of its lookups, and what sends its gradient. */
void tp_table_lookup(const struct fl_transpiler *t, struct tp_builder *b, fl_pb_op *ops[3]);
void tp_table_send(const struct fl_transpiler *t, struct tp_builder *b, int trainer,
	const char *dummy, fl_pb_op *ops[2]);
/* A server's blocks for its rows. */
struct tp_table_blocks {
	int32_t optimize, checkpoint;
	const char *grad_to_block, *prefetch; /* entries "NAME:BLOCK" */
};
struct tp_table_blocks tp_table_server(const struct fl_transpiler *t, struct tp_builder *b,
	int32_t parent, size_t server);

/* ---- geo.c: trainers move on their own, servers add up movements ------------------------------ */

enum fl_code tp_geo_trainer(const struct fl_transpiler *t, struct fl_program **out);
/* The end of a trainer's startup program. */
void tp_geo_startup(const struct fl_transpiler *t, struct tp_builder *b);
/* A server's block for one part; returns the name of what it receives. */
const char *tp_geo_update(struct tp_builder *b, fl_pb_block *into, const struct tp_pair *p,
	const struct tp_block *blk);

/* ---- dc.c: gradients corrected for their delay ------------------------------------------------ */

/* The variables that hold what each trainer last received of a part. */
void tp_dc_vars(const struct fl_transpiler *t, struct tp_builder *b, const char *param);
/* Appends the correction; returns the name of the corrected gradient. *temps numbers temporaries. */
const char *tp_dc_compensate(const struct fl_transpiler *t, struct tp_builder *b, fl_pb_block *into,
	const char *param, const char *grad, int *temps);
/* The end of a server's startup program: all trainers start from the parameter. */
void tp_dc_startup(const struct fl_transpiler *t, struct tp_builder *b, const char *param);

/* ---- passes that write a role ----------------------------------------------------------------- */

enum fl_code tp_trainer_main(const struct fl_transpiler *t, int trainer, struct fl_program **out,
	struct fl_err *err);
enum fl_code tp_trainer_startup(const struct fl_transpiler *t, int trainer,
	struct fl_program **out, struct fl_err *err);
enum fl_code tp_pserver_main(const struct fl_transpiler *t, size_t server, struct fl_program **out,
	struct fl_err *err);
enum fl_code tp_pserver_startup(const struct fl_transpiler *t, size_t server,
	const struct fl_program *main, struct fl_program **out, struct fl_err *err);

#endif
