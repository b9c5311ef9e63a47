/* Deep copies of protobuf-c messages. */
#ifndef FL_DESC_COPY_H
#define FL_DESC_COPY_H

#include "base/arena.h"
#include "desc/proto.h"

/* A copy in the arena of a message and all that it points to, unknown fields included. */
void *fl_pb_copy(struct fl_arena *arena, const ProtobufCMessage *message);

#endif
