/* All families: the one list of all operators. */
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
	fl_ops_compare,
	fl_ops_clip,
	fl_ops_lookup,
	fl_ops_reduce,
	fl_ops_sparse,
};

const struct fl_op_def *fl_op_at(size_t i)
{
	for (size_t f = 0; f < FL_COUNT(families); f++)
		for (const struct fl_op_def *def = families[f]; def->type; def++)
			if (!i--)
				return def;
	return NULL;
}

/* Names are few and looked up only while a program is prepared, so no index is kept. */
const struct fl_op_def *fl_op_find(const char *type)
{
	for (size_t f = 0; f < FL_COUNT(families); f++)
		for (const struct fl_op_def *def = families[f]; def->type; def++)
			if (*def->type == *type && !strcmp(def->type, type))
				return def;
	return NULL;
}
