/*
 * A program: Fluid's ProgramDesc as protobuf-c messages in one arena. The message is the program
 * representation, there is no second tree; files nobody here wrote come back byte for byte.
 * Descriptors are never freed singly.
 */
#ifndef FL_DESC_PROGRAM_H
#define FL_DESC_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "desc/proto.h"

struct fl_program {
	struct fl_arena *arena; /* owned; holds pb and all that is added to it */
	fl_pb_program *pb;
	struct fl_program_lists *lists; /* edit.c: room left in lists that grow; in the arena */
	const struct fl_shared *shared; /* pack.h: what it shares with others, borrowed; or NULL */
};

/* Parses a serialized ProgramDesc; the bytes are not needed afterwards. `name` is used in messages.
 * *out is owned by the caller. EFORMAT names the place: what was read, and at which byte.
 * Memory is bounded by 64 MiB plus 64 times len. */
enum fl_code fl_program_parse(const void *bytes, size_t len, const char *name,
	struct fl_program **out, struct fl_err *err);
/* Reads and parses a file ("-": standard input). */
enum fl_code fl_program_load(const char *path, struct fl_program **out, struct fl_err *err);
/* A program with one empty block 0 and the given version (0: none). */
struct fl_program *fl_program_new(int64_t version);
/* A deep copy. */
struct fl_program *fl_program_clone(const struct fl_program *prog);
void fl_program_free(struct fl_program *prog);

/* Appends the serialized form. */
void fl_program_pack(const struct fl_program *prog, struct fl_buf *out);
/* Writes the serialized form; the file appears whole or not at all. */
enum fl_code fl_program_save(const struct fl_program *prog, const char *path, struct fl_err *err);

/* Allocates in the program's arena. */
void *fl_program_alloc(struct fl_program *prog, size_t size);

#endif
