/*
 * VariableMessage as bytes (runtime.md sections 1 and 2). The header is fields 1 to 7 and 10 to 13
 * in ascending order, zero scalars left out; then 8 (payload), then 9 (rows). The payload is never
 * copied on sending: the encoder gives the bytes around it, rpc/bytes.h puts slices in between. On
 * receiving it is copied once, from wherever the transport put it (a list of spans) into the
 * tensor.
 */
#ifndef FL_RPC_VARMSG_H
#define FL_RPC_VARMSG_H

#include "base/buf.h"
#include "tensor/var.h"

/* VarType of the service: what a message carries. */
enum { FL_MSG_LOD_TENSOR = 0, FL_MSG_SELECTED_ROWS = 1, FL_MSG_NCCL_ID = 2 };

/* What gRPC carries at most in one message. */
#define FL_VARMSG_MAX ((size_t)INT32_MAX)
/* Bounds of a header that a peer sends: all fields but 8 and 9 together, and one string. */
#define FL_VARMSG_MAX_HEADER ((size_t)16 << 20)
#define FL_VARMSG_MAX_NAME   ((size_t)64 << 10)

/* A decoded message without its payload. Strings are owned; release with fl_varmsg_release. */
struct fl_varmsg {
	char *varname; /* 1; never NULL after decoding */
	int type;      /* 2: 0 LoDTensor, 1 SelectedRows, 2 NCCL_ID */
	int data_type; /* 3 */
	int rank;      /* 4; 0 when no dims were there */
	int64_t dims[FL_MAX_RANK];
	int lod_level;      /* 5 */
	struct fl_lod lod;  /* 6 */
	int64_t slr_height; /* 7 */
	char *out_varname;  /* 10; "" when absent */
	int64_t profile;    /* 11 */
	int64_t trainer_id; /* 12 */
	bool has_trainer_id;
	char *table_name;           /* 13; "" when absent */
	size_t payload;             /* 8: bytes; SIZE_MAX: field absent */
	size_t rows;                /* 9: bytes; SIZE_MAX: field absent */
	size_t payload_at, rows_at; /* where these bytes begin in the message */
};

/* A piece of a message; borrowed. */
struct fl_span {
	const uint8_t *p;
	size_t n;
};

/* Told of each piece whose payload has been copied, so that it may be freed while the rest is
 * copied: a large message and its tensor then need not be in memory at once. */
struct fl_span_drop {
	void (*drop)(void *arg, const struct fl_span *span);
	void *arg;
};

void fl_varmsg_release(struct fl_varmsg *m);

/* Reads a message that lies in n spans. Accepts packed and unpacked numbers and any order in which
 * 1 to 7 come before 8, and 8 before 9 (protobuf libraries write 10 to 13 last); skips unknown
 * fields. EFORMAT, ELIMIT: says at which byte; *m is released then. */
enum fl_code fl_varmsg_decode(
	const struct fl_span *spans, size_t n, struct fl_varmsg *m, struct fl_err *err);

/* Checks everything that the header says against the bytes there are (dims times element size =
 * payload, LoD, row numbers), changing nothing. EINVAL, EUNSUPPORTED, ELIMIT. */
enum fl_code fl_varmsg_check(
	const struct fl_varmsg *m, const struct fl_span *spans, size_t n, struct fl_err *err);
/* Checks, then gives *var the message's kind, type, shape, LoD, height and rows, and copies the
 * payload into it. On an error *var is as it was. `drop` may be NULL. */
enum fl_code fl_varmsg_take(const struct fl_varmsg *m, const struct fl_span *spans, size_t n,
	const struct fl_span_drop *drop, struct fl_var *var, struct fl_err *err);

/* Appends the header: every field of *m but 8 and 9. NULL strings count as empty. */
void fl_varmsg_encode_header(const struct fl_varmsg *m, struct fl_buf *b);

/* A message to be sent, in pieces: head, payload, tail. */
struct fl_varmsg_parts {
	struct fl_buf head;  /* header, tag and length of 8 */
	struct fl_mem *mem;  /* holds the payload; one reference is ours; NULL: no field 8 */
	const void *payload; /* into mem */
	size_t n_payload;
	struct fl_buf tail; /* 9: tag, length and rows */
};

void fl_varmsg_parts_release(struct fl_varmsg_parts *parts);
/* Sets the fields of *m that the variable gives (2 to 7; the others stay) and makes the pieces of
 * the message; the payload is shared, not copied. ESTATE: the variable holds no value;
 * EUNSUPPORTED: its kind or type does not travel; ELIMIT: more than FL_VARMSG_MAX bytes. */
enum fl_code fl_varmsg_encode(struct fl_varmsg *m, const struct fl_var *var,
	struct fl_varmsg_parts *parts, struct fl_err *err);

#endif
