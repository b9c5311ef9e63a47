/* Fields of any protobuf-c message by their descriptors. */
#ifndef FL_INSPECT_REFLECT_H
#define FL_INSPECT_REFLECT_H

#include <stddef.h>

#include "desc/proto.h"

/* How many values the field holds: 0 or 1 for singular ones. */
size_t fl_field_count(const ProtobufCMessage *m, const ProtobufCFieldDescriptor *f);
/* Where the i-th value is (of a message or string: where the pointer to it is). */
void *fl_field_at(const ProtobufCMessage *m, const ProtobufCFieldDescriptor *f, size_t i);
/* Bytes of one value. */
size_t fl_field_size(const ProtobufCFieldDescriptor *f);

/* Marks a singular field as present (strings and messages are by their pointer), gives a repeated
 * one its array. */
void fl_field_set_present(ProtobufCMessage *m, const ProtobufCFieldDescriptor *f);
void fl_field_set_list(ProtobufCMessage *m, const ProtobufCFieldDescriptor *f, void *at, size_t n);

#endif
