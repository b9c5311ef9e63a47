/*
 * Byte buffers. Sending: [header slice, slice that borrows the tensor's memory, rows slice]; gRPC
 * cuts and writes them by reference. Receiving: gRPC's slices are listed, not merged, and copied
 * from where they are into the tensor (varmsg.c). Windows are large because a parameter is: with
 * HTTP/2's default of 64 KiB a sender would stand still once a round trip.
 */
#include "rpc/bytes.h"

#include <grpc/byte_buffer_reader.h>
#include <grpc/slice.h>
#include <grpc/support/log.h>
#include <limits.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "base/mem.h"
#include "rpc/handed.h"

enum { GIVE_BACK = 64 << 20 };

void fl_bytes_open(struct fl_bytes *b)
{
	grpc_byte_buffer_reader reader;
	grpc_slice *slice;
	size_t cap = 0, cap_slices = 0;

	if (!b->buffer || !grpc_byte_buffer_reader_init(&reader, b->buffer))
		return;
	while (grpc_byte_buffer_reader_peek(&reader, &slice)) {
		fl_grow(&b->spans, &cap, b->n + 1, sizeof *b->spans);
		fl_grow(&b->slices, &cap_slices, b->n + 1, sizeof *b->slices);
		b->slices[b->n] = slice;
		b->spans[b->n++] =
			(struct fl_span){ GRPC_SLICE_START_PTR(*slice), GRPC_SLICE_LENGTH(*slice) };
	}
	grpc_byte_buffer_reader_destroy(&reader);
}

void fl_bytes_release(struct fl_bytes *b)
{
	if (b->buffer)
		grpc_byte_buffer_destroy(b->buffer);
	fl_free(b->spans);
	fl_free(b->slices);
	*b = (struct fl_bytes){ 0 };
}

/* gRPC's slices are of a size that malloc keeps for itself; of a very large message so much would
 * stay that the process had it twice. */
static void give_back(void)
{
#ifdef __GLIBC__
	malloc_trim(0);
#endif
}

static void drop_slice(void *arg, const struct fl_span *span)
{
	struct fl_bytes *b = arg;
	grpc_slice *slice = b->slices[span - b->spans];

	grpc_slice_unref(*slice);
	*slice = grpc_empty_slice();
	b->freed += span->n;
	if (b->freed >= GIVE_BACK) {
		give_back();
		b->freed = 0;
	}
}

enum fl_code fl_bytes_take(
	struct fl_bytes *b, const struct fl_varmsg *m, struct fl_var *var, struct fl_err *err)
{
	struct fl_span_drop drop = { drop_slice, b };

	if (b->taken)
		return fl_err_set(
			err, FL_ESTATE, "the value of message '%s' was taken before", m->varname);
	FL_TRY(fl_varmsg_take(m, b->spans, b->n, &drop, var, err));
	b->taken = true;
	return FL_OK;
}

static void drop_mem(void *mem)
{
	fl_got_back(mem);
	fl_mem_rele(mem);
}

grpc_byte_buffer *fl_bytes_of_parts(struct fl_varmsg_parts *parts)
{
	grpc_slice slices[3];
	grpc_byte_buffer *buffer;
	size_t n = 0;

	slices[n++] = grpc_slice_from_copied_buffer(parts->head.data, parts->head.len);
	if (parts->n_payload) {
		fl_handed_over(parts->mem);
		/* gRPC only reads; its interface knows no const. */
		slices[n++] = grpc_slice_new_with_user_data(
			(void *)(uintptr_t)parts->payload, parts->n_payload, drop_mem, parts->mem);
		parts->mem = NULL;
	}
	if (parts->tail.len)
		slices[n++] = grpc_slice_from_copied_buffer(parts->tail.data, parts->tail.len);
	buffer = grpc_raw_byte_buffer_create(slices, n);
	for (size_t i = 0; i < n; i++)
		grpc_slice_unref(slices[i]);
	fl_varmsg_parts_release(parts);
	return buffer;
}

grpc_byte_buffer *fl_bytes_of(const void *data, size_t n)
{
	grpc_slice slice = grpc_slice_from_copied_buffer(data, n);
	grpc_byte_buffer *buffer = grpc_raw_byte_buffer_create(&slice, 1);

	grpc_slice_unref(slice);
	return buffer;
}

void fl_grpc_hold(void)
{
	grpc_init();
	if (!getenv("GRPC_VERBOSITY"))
		gpr_set_log_verbosity((gpr_log_severity)(GPR_LOG_SEVERITY_ERROR + 1));
}

void fl_grpc_rele(void)
{
	grpc_shutdown();
}

void fl_grpc_args_int(struct fl_grpc_args *a, const char *key, int value)
{
	grpc_arg *arg = &a->at[a->args.num_args];

	if (a->args.num_args == FL_GRPC_MAX_ARGS)
		FL_BUG("too many channel arguments");
	a->args.num_args++;
	arg->type = GRPC_ARG_INTEGER;
	arg->key = (char *)(uintptr_t)key; /* not changed; gRPC copies it */
	arg->value.integer = value;
}

void fl_grpc_args_init(struct fl_grpc_args *a, size_t max_receive)
{
	a->args.num_args = 0;
	a->args.args = a->at;
	fl_grpc_args_int(a, GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, INT_MAX);
	fl_grpc_args_int(a, GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH,
		max_receive && max_receive < INT_MAX ? (int)max_receive : INT_MAX);
	fl_grpc_args_int(a, GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 8 << 20);
	fl_grpc_args_int(a, GRPC_ARG_HTTP2_MAX_FRAME_SIZE, 1 << 20);
	/* Identity only: a compressed message is refused with UNIMPLEMENTED. */
	fl_grpc_args_int(a, GRPC_COMPRESSION_CHANNEL_ENABLED_ALGORITHMS_BITSET, 1);
}

char *fl_slice_str(grpc_slice slice)
{
	return fl_xstrndup((const char *)GRPC_SLICE_START_PTR(slice), GRPC_SLICE_LENGTH(slice));
}
