/* All families, and the one list of all operators that is made of them, sorted once. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ops/schema.h"

static const struct fl_op_def *const families[] = {
	fl_ops_plumbing,
	fl_ops_math,
	fl_ops_elementwise,
	fl_ops_activation,
	fl_ops_loss,
	fl_ops_conv,
	fl_ops_optimizer,
	fl_ops_rpc,
	fl_ops_sequence,
	fl_ops_control,
	fl_ops_vision,
	fl_ops_learning,
	fl_ops_tensor,
};

#define MAX_OPS 1024

/* Written once, by whoever asks first; read-only from then on. */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static const struct fl_op_def *sorted[MAX_OPS];
static size_t count;

static int by_type(const void *a, const void *b)
{
	const struct fl_op_def *const *x = a, *const *y = b;

	return strcmp((*x)->type, (*y)->type);
}

static void sort_all(void)
{
	for (size_t f = 0; f < FL_COUNT(families); f++)
		for (const struct fl_op_def *def = families[f]; def->type; def++) {
			if (count == MAX_OPS)
				FL_BUG("more operators than the list holds");
			sorted[count++] = def;
		}
	qsort(sorted, count, sizeof *sorted, by_type);
}

const struct fl_op_def *const *fl_op_list(size_t *n)
{
	pthread_once(&once, sort_all);
	*n = count;
	return sorted;
}
