#include "inspect/reflect.h"

#include <stdbool.h>

#include "base/err.h"

static void *member(const ProtobufCMessage *m, size_t offset)
{
	return (char *)(uintptr_t)m + offset;
}

size_t fl_field_size(const ProtobufCFieldDescriptor *f)
{
	switch (f->type) {
	case PROTOBUF_C_TYPE_INT32: return sizeof(int32_t);
	case PROTOBUF_C_TYPE_ENUM: return sizeof(int);
	case PROTOBUF_C_TYPE_BOOL: return sizeof(protobuf_c_boolean);
	case PROTOBUF_C_TYPE_INT64: return sizeof(int64_t);
	case PROTOBUF_C_TYPE_FLOAT: return sizeof(float);
	case PROTOBUF_C_TYPE_DOUBLE: return sizeof(double);
	case PROTOBUF_C_TYPE_STRING: return sizeof(char *);
	case PROTOBUF_C_TYPE_BYTES: return sizeof(ProtobufCBinaryData);
	case PROTOBUF_C_TYPE_MESSAGE: return sizeof(ProtobufCMessage *);
	default: FL_BUG("a field type that the schemas do not use");
	}
}

static bool by_pointer(const ProtobufCFieldDescriptor *f)
{
	return f->type == PROTOBUF_C_TYPE_STRING || f->type == PROTOBUF_C_TYPE_MESSAGE;
}

size_t fl_field_count(const ProtobufCMessage *m, const ProtobufCFieldDescriptor *f)
{
	if (f->label == PROTOBUF_C_LABEL_REQUIRED)
		return 1;
	if (f->label == PROTOBUF_C_LABEL_REPEATED)
		return *(size_t *)member(m, f->quantifier_offset);
	if (by_pointer(f))
		return *(void **)member(m, f->offset) != NULL;
	return *(protobuf_c_boolean *)member(m, f->quantifier_offset) != 0;
}

void *fl_field_at(const ProtobufCMessage *m, const ProtobufCFieldDescriptor *f, size_t i)
{
	if (f->label == PROTOBUF_C_LABEL_REPEATED)
		return *(char **)member(m, f->offset) + i * fl_field_size(f);
	return member(m, f->offset);
}

void fl_field_set_present(ProtobufCMessage *m, const ProtobufCFieldDescriptor *f)
{
	if (f->label == PROTOBUF_C_LABEL_OPTIONAL && !by_pointer(f))
		*(protobuf_c_boolean *)member(m, f->quantifier_offset) = 1;
}

void fl_field_set_list(ProtobufCMessage *m, const ProtobufCFieldDescriptor *f, void *at, size_t n)
{
	*(void **)member(m, f->offset) = at;
	*(size_t *)member(m, f->quantifier_offset) = n;
}
