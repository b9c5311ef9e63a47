/* Sliding windows of conv2d and pool2d: attributes read and checked, sizes of the output. */
#ifndef FL_OPS_WINDOW_H
#define FL_OPS_WINDOW_H

#include "ops/op.h"

enum fl_pad_algorithm { FL_PAD_EXPLICIT, FL_PAD_SAME, FL_PAD_VALID };

/* Index 0 is the height, 1 the width. */
struct fl_window {
	int64_t k[2], stride[2], low[2], high[2], dilation[2];
	enum fl_pad_algorithm algorithm;
	bool nhwc, ceil, adaptive;
};

/* Strides, paddings, padding algorithm and layout; dilation 1; k is left to the caller. */
enum fl_code fl_window_of(const struct fl_infer *c, struct fl_window *w, struct fl_err *err);
/* pool2d's own: adaptive, ceil_mode, global_pooling over an input of that size. */
enum fl_code fl_pool_window(const struct fl_infer *c, struct fl_window *w, const int64_t *size,
	struct fl_err *err);
/* Applies the padding algorithm for that input and gives the output's size; 0: the window does not
 * fit, -1: unknown. */
void fl_window_size(struct fl_window *w, const int64_t *in, int64_t *out);

#endif
