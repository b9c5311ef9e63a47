#include "desc/proto.h"

#include <stddef.h>

#include "base/mem.h"

static const char *const type_names[] = {
	"BOOL", "INT16", "INT32", "INT64", "FP16", "FP32", "FP64", "LOD_TENSOR", "SELECTED_ROWS",
	"FEED_MINIBATCH", "FETCH_LIST", "STEP_SCOPES", "LOD_RANK_TABLE", "LOD_TENSOR_ARRAY",
	"PLACE_LIST", "READER", "CHANNEL", "RAW", "TUPLE", "SIZE_T", "UINT8", "INT8", "BF16",
	"COMPLEX64", "COMPLEX128", "STRING", "STRINGS", "VOCAB", "FEED_LIST", "PSTRING", "SPARSE_COO",
};

static const char *const attr_type_names[] = {
	"INT", "FLOAT", "STRING", "INTS", "FLOATS", "STRINGS", "BOOLEAN", "BOOLEANS", "BLOCK", "LONG",
	"BLOCKS", "LONGS", "FLOAT64S", "VAR", "VARS", "FLOAT64",
};

const char *fl_type_name(int type)
{
	return type >= 0 && (size_t)type < FL_COUNT(type_names) ? type_names[type] : NULL;
}

const char *fl_attr_type_name(int type)
{
	return type >= 0 && (size_t)type < FL_COUNT(attr_type_names) ? attr_type_names[type] : NULL;
}
