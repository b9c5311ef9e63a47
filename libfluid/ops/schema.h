/*
 * What the families of ops/ share: words for tables of slots and attributes, the families' arrays,
 * and inference that fits many operators. Nothing outside ops/ includes this.
 */
#ifndef FL_OPS_SCHEMA_H
#define FL_OPS_SCHEMA_H

#include "ops/op.h"

/* Compound literals outside functions live as long as the program. */
#define SLOTS(...) ((const struct fl_slot_def[]){ __VA_ARGS__, { NULL, 0 } })
#define NO_SLOTS   ((const struct fl_slot_def[]){ { NULL, 0 } })
#define ATTRS(...) ((const struct fl_attr_def[]){ __VA_ARGS__, { .name = NULL } })

#define ATTR_(n, t, fl, ...) { .name = (n), .type = (t), .flags = (fl), __VA_ARGS__ }
#define INT(n, v)	     ATTR_(n, FL_ATTR_INT, 0, .i = (v))
#define LONG(n, v)	     ATTR_(n, FL_ATTR_LONG, 0, .i = (v))
#define BOOL(n, v)	     ATTR_(n, FL_ATTR_BOOLEAN, 0, .i = (v))
#define FLOAT(n, v)	     ATTR_(n, FL_ATTR_FLOAT, 0, .f = (v))
#define STR(n, v)	     ATTR_(n, FL_ATTR_STRING, 0, .s = (v))
#define INTS(n, v)	     ATTR_(n, FL_ATTR_INTS, 0, .s = (v))
#define LONGS(n, v)	     ATTR_(n, FL_ATTR_LONGS, 0, .s = (v))
#define FLOATS(n)	     ATTR_(n, FL_ATTR_FLOATS, 0, .s = NULL)
#define STRS(n)		     ATTR_(n, FL_ATTR_STRINGS, 0, .s = NULL)
#define BOOLS(n)	     ATTR_(n, FL_ATTR_BOOLEANS, 0, .s = NULL)
#define BLOCKS(n)	     ATTR_(n, FL_ATTR_BLOCKS, 0, .s = NULL)
#define INT_REQ(n)	     ATTR_(n, FL_ATTR_INT, FL_REQUIRED, .i = 0)
#define FLOAT_REQ(n)	     ATTR_(n, FL_ATTR_FLOAT, FL_REQUIRED, .i = 0)
#define BOOL_REQ(n)	     ATTR_(n, FL_ATTR_BOOLEAN, FL_REQUIRED, .i = 0)
#define STR_REQ(n)	     ATTR_(n, FL_ATTR_STRING, FL_REQUIRED, .i = 0)
#define LONG_REQ(n)	     ATTR_(n, FL_ATTR_LONG, FL_REQUIRED, .i = 0)
#define INTS_REQ(n)	     ATTR_(n, FL_ATTR_INTS, FL_REQUIRED, .i = 0)
#define LONGS_REQ(n)	     ATTR_(n, FL_ATTR_LONGS, FL_REQUIRED, .i = 0)
#define STRS_REQ(n)	     ATTR_(n, FL_ATTR_STRINGS, FL_REQUIRED, .i = 0)
#define FLOATS_REQ(n)	     ATTR_(n, FL_ATTR_FLOATS, FL_REQUIRED, .i = 0)
#define BLOCK_REQ(n)	     ATTR_(n, FL_ATTR_BLOCK, FL_REQUIRED, .i = 0)
#define BLOCKS_REQ(n)	     ATTR_(n, FL_ATTR_BLOCKS, FL_REQUIRED, .i = 0)
#define INT_IGN(n, v)	     ATTR_(n, FL_ATTR_INT, FL_IGNORED, .i = (v))
#define BOOL_IGN(n, v)	     ATTR_(n, FL_ATTR_BOOLEAN, FL_IGNORED, .i = (v))
#define FLOAT_IGN(n, v)	     ATTR_(n, FL_ATTR_FLOAT, FL_IGNORED, .f = (v))
#define STR_IGN(n, v)	     ATTR_(n, FL_ATTR_STRING, FL_IGNORED, .s = (v))
#define FLOATS_IGN(n)	     ATTR_(n, FL_ATTR_FLOATS, FL_IGNORED, .s = NULL)

/* Each array ends with a NULL type. */
extern const struct fl_op_def fl_ops_plumbing[], fl_ops_math[], fl_ops_elementwise[],
	fl_ops_activation[], fl_ops_loss[], fl_ops_conv[], fl_ops_optimizer[], fl_ops_rpc[],
	fl_ops_sequence[], fl_ops_control[], fl_ops_vision[], fl_ops_learning[], fl_ops_tensor[],
	fl_ops_compare[],
	fl_ops_clip[],
	fl_ops_lookup[],
	fl_ops_reduce[],
	fl_ops_sparse[];

/* Slots by name: position in the definition, and its first meta (NULL: absent). */
struct fl_meta *fl_meta_named(const struct fl_infer *c, const char *slot);
struct fl_meta *fl_meta_out_named(const struct fl_infer *c, const char *slot);

/* Does the input have a known shape? Absent ones have not. */
bool fl_known(const struct fl_meta *m);

/* EINVAL unless the dimensions are the same, as far as both are known. `of` names the wanted side. */
enum fl_code fl_need_dims(const struct fl_infer *c, const char *slot, const int64_t *dims, int rank,
	struct fl_err *err);
/* The same for two inputs. */
enum fl_code fl_need_same_dims(const struct fl_infer *c, const char *slot, const char *like,
	struct fl_err *err);
enum fl_code fl_need_same_dtype(const struct fl_infer *c, const char *slot, const char *like,
	struct fl_err *err);
enum fl_code fl_need_dtype(const struct fl_infer *c, const char *slot, int dtype, struct fl_err *err);
/* FP32 or FP64. */
enum fl_code fl_need_float(const struct fl_infer *c, const char *slot, struct fl_err *err);
/* One element, as LearningRate has it. */
enum fl_code fl_need_one(const struct fl_infer *c, const char *slot, struct fl_err *err);
/* A rank in [low, high]. */
enum fl_code fl_need_rank(const struct fl_infer *c, const char *slot, int low, int high,
	struct fl_err *err);
/* *axis + rank where it is negative; EINVAL outside of [-rank, rank). */
enum fl_code fl_need_axis(const struct fl_infer *c, const char *attr, int rank, int64_t *axis,
	struct fl_err *err);

/* Each output `N@GRAD` looks like the input `N`, argument by argument. */
enum fl_code fl_infer_grad(struct fl_infer *c, struct fl_err *err);
/* The same without a LoD, for the operators of Fluid whose gradients do not pass one on. */
enum fl_code fl_infer_grad_dims(struct fl_infer *c, struct fl_err *err);
/* Functions of one tensor: Out looks like X, and X@GRAD like Out@GRAD. */
enum fl_code fl_infer_act(struct fl_infer *c, struct fl_err *err);
enum fl_code fl_infer_act_grad(struct fl_infer *c, struct fl_err *err);

#endif
