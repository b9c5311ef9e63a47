/* What the updates of parameters share (optimizer.c, update.c). */
#ifndef FL_KERNELS_UPDATE_H
#define FL_KERNELS_UPDATE_H

#include "kernels/internal.h"

/* The first element of a tensor of FP32 or FP64: a learning rate, a power of beta. */
double fl_k_one(const struct fl_tensor *t);
/* EINVAL unless all row numbers are those of a parameter with so many rows. */
enum fl_code fl_need_rows(const struct fl_selected_rows *g, int64_t rows, struct fl_err *err);
/* Position of the first row, of ascending ones, that is not below `row`. */
size_t fl_rows_lower_bound(const struct fl_selected_rows *g, int64_t row);

#endif
