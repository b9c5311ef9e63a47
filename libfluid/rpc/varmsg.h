/*
 * VariableMessage as bytes (runtime.md sections 1 and 2). The header is fields 1 to 7 and 10 to 13
 * in ascending order, zero scalars left out; then 8 (payload), then 9 (rows). The payload is never
 * copied on sending: the encoder gives the bytes around it, rpc/ puts slices in between.
 */
#ifndef FL_RPC_VARMSG_H
#define FL_RPC_VARMSG_H

#include "base/buf.h"
#include "tensor/var.h"

/* A decoded message without its payload. Strings are owned; release with fl_varmsg_release. */
struct fl_varmsg {
	char *varname;	   /* 1; never NULL after decoding */
	int type;	   /* 2: 0 LoDTensor, 1 SelectedRows, 2 NCCL_ID */
	int data_type;	   /* 3 */
	int rank;	   /* 4; 0 when no dims were there */
	int64_t dims[FL_MAX_RANK];
	int lod_level;	   /* 5 */
	struct fl_lod lod; /* 6 */
	int64_t slr_height; /* 7 */
	char *out_varname; /* 10; "" when absent */
	int64_t profile;   /* 11 */
	int64_t trainer_id; /* 12 */
	bool has_trainer_id;
	char *table_name;  /* 13; "" when absent */
	size_t payload;	   /* 8: bytes; SIZE_MAX: field absent */
	size_t rows;	   /* 9: bytes; SIZE_MAX: field absent */
};

void fl_varmsg_release(struct fl_varmsg *m);

#endif
