/*
 * A message's struct is copied whole, then every pointer in it is replaced by one to a copy; the
 * descriptor that protobuf-c generates says where the pointers are. This takes a fifth of the time
 * of packing and parsing again.
 */
#include "desc/copy.h"

#include <string.h>

#include "base/mem.h"

static void *copy_bytes(struct fl_arena *arena, const void *p, size_t size)
{
	void *q = fl_arena_alloc(arena, size);

	if (size)
		memcpy(q, p, size);
	return q;
}

static size_t size_of(ProtobufCType type)
{
	switch (type) {
	case PROTOBUF_C_TYPE_INT64:
	case PROTOBUF_C_TYPE_SINT64:
	case PROTOBUF_C_TYPE_SFIXED64:
	case PROTOBUF_C_TYPE_UINT64:
	case PROTOBUF_C_TYPE_FIXED64:
	case PROTOBUF_C_TYPE_DOUBLE: return 8;
	case PROTOBUF_C_TYPE_BOOL: return sizeof(protobuf_c_boolean);
	case PROTOBUF_C_TYPE_STRING:
	case PROTOBUF_C_TYPE_MESSAGE: return sizeof(void *);
	case PROTOBUF_C_TYPE_BYTES: return sizeof(ProtobufCBinaryData);
	default: return 4;
	}
}

/* Replaces the pointer in one element at `at`, which holds a copy of the original's. */
static void copy_element(struct fl_arena *arena, const ProtobufCFieldDescriptor *f, void *at)
{
	ProtobufCBinaryData *bytes = at;
	void **p = at;

	switch (f->type) {
	case PROTOBUF_C_TYPE_STRING:
		if (*p && *p != f->default_value)
			*p = fl_arena_strdup(arena, *p);
		break;
	case PROTOBUF_C_TYPE_BYTES:
		if (bytes->data)
			bytes->data = copy_bytes(arena, bytes->data, bytes->len);
		break;
	case PROTOBUF_C_TYPE_MESSAGE:
		if (*p)
			*p = fl_pb_copy(arena, *p);
		break;
	default: break;
	}
}

static void copy_list(struct fl_arena *arena, const ProtobufCFieldDescriptor *f, char *message)
{
	size_t n = *(size_t *)(void *)(message + f->quantifier_offset), size = size_of(f->type);
	void **list = (void **)(void *)(message + f->offset);
	char *copy;

	if (!n) {
		*list = NULL;
		return;
	}
	copy = copy_bytes(arena, *list, n * size);
	for (size_t i = 0; i < n; i++)
		copy_element(arena, f, copy + i * size);
	*list = copy;
}

static void copy_unknown(struct fl_arena *arena, ProtobufCMessage *m)
{
	size_t n = m->n_unknown_fields;

	if (!n)
		return;
	m->unknown_fields = copy_bytes(arena, m->unknown_fields, n * sizeof *m->unknown_fields);
	for (size_t i = 0; i < n; i++)
		m->unknown_fields[i].data =
			copy_bytes(arena, m->unknown_fields[i].data, m->unknown_fields[i].len);
}

void *fl_pb_copy(struct fl_arena *arena, const ProtobufCMessage *message)
{
	const ProtobufCMessageDescriptor *d = message->descriptor;
	char *copy = copy_bytes(arena, message, d->sizeof_message);

	for (unsigned i = 0; i < d->n_fields; i++) {
		const ProtobufCFieldDescriptor *f = &d->fields[i];

		if (f->label == PROTOBUF_C_LABEL_REPEATED)
			copy_list(arena, f, copy);
		else
			copy_element(arena, f, copy + f->offset);
	}
	copy_unknown(arena, (ProtobufCMessage *)(void *)copy);
	return copy;
}
