/* Shapes of elementwise operators: Fluid's rules of `axis` and padding (operators.md 4.3). */
#ifndef FL_OPS_BROADCAST_H
#define FL_OPS_BROADCAST_H

#include "ops/op.h"

struct fl_broadcast {
	bool simple;	       /* x is [pre, n, post] and y is [n]; else x and y meet dim by dim */
	int64_t pre, n, post;  /* of the simple form */
	int rank;	       /* of all three shapes below */
	int64_t x[FL_MAX_RANK], y[FL_MAX_RANK]; /* padded with ones */
	int64_t out[FL_MAX_RANK];
};

/* False where the shapes do not fit, or axis lies outside. Unknown dims (-1) fit anything. */
bool fl_broadcast_of(const int64_t *x, int x_rank, const int64_t *y, int y_rank, int64_t axis,
	struct fl_broadcast *b);

#endif
