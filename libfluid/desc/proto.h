/* Short names for the generated message types (proto/framework.proto) and their enums. */
#ifndef FL_DESC_PROTO_H
#define FL_DESC_PROTO_H

#include "framework.pb-c.h"

typedef Paddle__Framework__Proto__ProgramDesc fl_pb_program;
typedef Paddle__Framework__Proto__BlockDesc fl_pb_block;
typedef Paddle__Framework__Proto__OpDesc fl_pb_op;
typedef Paddle__Framework__Proto__OpDesc__Var fl_pb_slot; /* one input or output slot of an op */
typedef Paddle__Framework__Proto__OpDesc__Attr fl_pb_attr;
typedef Paddle__Framework__Proto__VarDesc fl_pb_var;
typedef Paddle__Framework__Proto__VarType fl_pb_var_type;
typedef Paddle__Framework__Proto__VarType__TensorDesc fl_pb_tensor;
typedef Paddle__Framework__Proto__VarType__LoDTensorDesc fl_pb_lod_tensor;
typedef Paddle__Framework__Proto__VarType__LoDTensorArrayDesc fl_pb_tensor_array;

/* VarType.Type: element types and kinds of variables share one numbering. */
enum fl_type {
	FL_BOOL = 0,
	FL_INT16 = 1,
	FL_INT32 = 2,
	FL_INT64 = 3,
	FL_FP16 = 4,
	FL_FP32 = 5,
	FL_FP64 = 6,
	FL_LOD_TENSOR = 7,
	FL_SELECTED_ROWS = 8,
	FL_FEED_MINIBATCH = 9,
	FL_FETCH_LIST = 10,
	FL_STEP_SCOPES = 11,
	FL_LOD_RANK_TABLE = 12,
	FL_LOD_TENSOR_ARRAY = 13,
	FL_READER = 15,
	FL_RAW = 17,
	FL_SIZE_T = 19,
	FL_UINT8 = 20,
	FL_INT8 = 21
};

/* AttrType. */
enum fl_attr_type {
	FL_ATTR_INT = 0,
	FL_ATTR_FLOAT = 1,
	FL_ATTR_STRING = 2,
	FL_ATTR_INTS = 3,
	FL_ATTR_FLOATS = 4,
	FL_ATTR_STRINGS = 5,
	FL_ATTR_BOOLEAN = 6,
	FL_ATTR_BOOLEANS = 7,
	FL_ATTR_BLOCK = 8,
	FL_ATTR_LONG = 9,
	FL_ATTR_BLOCKS = 10,
	FL_ATTR_LONGS = 11,
	FL_ATTR_FLOAT64S = 12,
	FL_ATTR_VAR = 13,
	FL_ATTR_VARS = 14,
	FL_ATTR_FLOAT64 = 15
};

/* "FP32", "LOD_TENSOR", ...; "type N" text for numbers that nobody knows is made by the caller:
 * NULL then. */
const char *fl_type_name(int type);
/* "INT", "STRINGS", ...; NULL when unknown. */
const char *fl_attr_type_name(int type);

#endif
