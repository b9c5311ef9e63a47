/* The rule of reshape's shape, for inference and for shapes that come as a tensor. */
#ifndef FL_OPS_RESHAPE_H
#define FL_OPS_RESHAPE_H

#include "ops/op.h"

/* Replaces 0 (X's own dimension) and -1 (what is left) in shape. EINVAL: it does not fit. */
enum fl_code fl_reshape_dims(const int64_t *in, int in_rank, int64_t *shape, int rank,
	struct fl_err *err);

#endif
