/* The serialized form of protobuf-c messages, and operators and variables that programs share. */
#ifndef FL_DESC_PACK_H
#define FL_DESC_PACK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "desc/program.h"

/* Block 0 of a program, in copies that several programs list as their own: sorted attributes,
 * serialized once. What they point to is the program's, which must outlive them. */
struct fl_shared;

struct fl_shared *fl_shared_new(const struct fl_program *prog);
void fl_shared_free(struct fl_shared *shared);
/* Its copies, in the original's order. */
const fl_pb_block *fl_shared_block(const struct fl_shared *shared);
/* Is the operator or the variable one of the copies? */
bool fl_shared_has(const struct fl_shared *shared, const void *descriptor);

/* A program whose block 0 lists the shared copies, and whose other blocks are the original's: lists
 * may be changed, what is in them may not. `shared` must outlive it. */
struct fl_program *fl_shared_program(const struct fl_shared *shared);

/* Appends the message; what is among the shared (NULL: none) is copied as it is. */
void fl_pb_pack(const ProtobufCMessage *message, const struct fl_shared *shared, struct fl_buf *out);

#endif
