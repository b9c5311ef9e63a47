/*
 * Between messages and gRPC's byte buffers; used by server.c and client.c alone. Also what both
 * ends share: gRPC's own life, and the arguments of channels.
 */
#ifndef FL_RPC_BYTES_H
#define FL_RPC_BYTES_H

#include <grpc/byte_buffer.h>
#include <grpc/grpc.h>

#include "rpc/varmsg.h"

/* A received message: gRPC's buffer, and its slices as spans. */
struct fl_bytes {
	grpc_byte_buffer *buffer; /* owned; NULL: no message came */
	struct fl_span *spans;    /* owned; into the buffer */
	grpc_slice **slices;      /* owned; the buffer's slice of each span */
	size_t n;
	bool taken;   /* the payload has been freed */
	size_t freed; /* bytes freed since memory was last given back to the system */
};

/* Lists the slices of b->buffer, which the caller has received. */
void fl_bytes_open(struct fl_bytes *b);
void fl_bytes_release(struct fl_bytes *b);
/* fl_varmsg_take from these bytes; frees them piece by piece, so it succeeds but once (ESTATE). */
enum fl_code fl_bytes_take(
	struct fl_bytes *b, const struct fl_varmsg *m, struct fl_var *var, struct fl_err *err);

/* A message to be sent: the payload is a slice that shares the memory until gRPC lets go of it.
 * The parts are used up. Owned by the caller (grpc_byte_buffer_destroy). */
grpc_byte_buffer *fl_bytes_of_parts(struct fl_varmsg_parts *parts);
/* A message of these few bytes, copied; n may be 0. */
grpc_byte_buffer *fl_bytes_of(const void *data, size_t n);

/* gRPC is started by the first holder and ended by the last. It writes to stderr by itself; that
 * is put off unless the user asks for it with GRPC_VERBOSITY. */
void fl_grpc_hold(void);
void fl_grpc_rele(void);

/* What servers and channels have in common: message sizes, windows, no compression. */
#define FL_GRPC_MAX_ARGS 24
struct fl_grpc_args {
	grpc_arg at[FL_GRPC_MAX_ARGS];
	grpc_channel_args args;
};
void fl_grpc_args_init(struct fl_grpc_args *a, size_t max_receive);
void fl_grpc_args_int(struct fl_grpc_args *a, const char *key, int value);

/* The slice's bytes as a C string, owned by the caller. */
char *fl_slice_str(grpc_slice slice);

#endif
