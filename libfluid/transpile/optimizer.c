/*
 * What the transpiler must know of each optimizer: which accumulators have the parameter's shape and
 * are cut with it. Fluid 1.8.5 (`_get_optimizer_input_shape`) plus adadelta, which it never trains, and
 * rmsprop's MeanGrad, which it forgets to cut.
 */
#include <string.h>

#include "base/mem.h"
#include "desc/query.h"
#include "transpile/internal.h"

#define MAX_SLICED 4

static const struct optimizer {
	const char *type;
	const char *sliced[MAX_SLICED]; /* slots; the others keep their shape */
} optimizers[] = {
	{ "adadelta", { "AvgSquaredGrad", "AvgSquaredUpdate" } },
	{ "adagrad", { "Moment" } },
	{ "adam", { "Moment1", "Moment2" } },
	{ "adamax", { "Moment", "InfNorm" } },
	{ "decayed_adagrad", { "Moment" } },
	{ "ftrl", { "SquaredAccumulator", "LinearAccumulator" } },
	{ "lars_momentum", { "Velocity" } },
	{ "momentum", { "Velocity" } },
	{ "rmsprop", { "Moment", "MeanSquare", "MeanGrad" } },
};

static const struct optimizer *find(const char *type)
{
	for (size_t i = 0; i < FL_COUNT(optimizers); i++)
		if (!strcmp(optimizers[i].type, type))
			return &optimizers[i];
	return NULL;
}

bool tp_is_optimizer(const fl_pb_op *op)
{
	return fl_op_input(op, "Param") && fl_op_input(op, "Grad") &&
	       (fl_op_input(op, "LearningRate") || !strcmp(op->type, "adadelta"));
}

bool tp_is_sliced(const char *op_type, const char *slot)
{
	const struct optimizer *o = find(op_type);

	for (size_t i = 0; o && i < MAX_SLICED && o->sliced[i]; i++)
		if (!strcmp(o->sliced[i], slot))
			return true;
	return false;
}

bool tp_can_place(const fl_pb_op *op)
{
	static const char *const plain[] = { "Param", "Grad", "LearningRate" };

	if (find(op->type))
		return true;
	for (size_t i = 0; i < op->n_inputs; i++) {
		const fl_pb_slot *s = op->inputs[i];
		bool known = !s->n_arguments;

		for (size_t k = 0; k < FL_COUNT(plain); k++)
			known = known || !strcmp(plain[k], s->parameter);
		if (!known)
			return false;
	}
	return true;
}
