/*
 * Loading goes in three steps: a scan of the wire format (scan.c) that says in words what is wrong
 * and where, protobuf-c's parser into the arena, and checks of what the rest of the code relies
 * on: block numbers that equal their place, and parents that exist and form no ring.
 */
#include "desc/program.h"

#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "desc/copy.h"
#include "desc/pack.h"
#include "desc/query.h"
#include "desc/scan.h"

#define PARSE_FIXED ((size_t)64 << 20)
#define PARSE_FACTOR 64

static void *pb_alloc(void *arena, size_t size)
{
	return fl_arena_try(arena, size);
}

static void pb_free(void *arena, void *p)
{
	(void)arena;
	(void)p;
}

static ProtobufCAllocator allocator_of(struct fl_arena *arena)
{
	return (ProtobufCAllocator){ .alloc = pb_alloc, .free = pb_free, .allocator_data = arena };
}

/* Every walk to the parents must end. `seen[b]` is the walk (1 + its start) that met block b first:
 * meeting a block of the same walk again closes a ring. */
static enum fl_code check_no_ring(const fl_pb_program *pb, const char *name, struct fl_err *err)
{
	size_t *seen = FL_NEW_N(size_t, pb->n_blocks);
	enum fl_code code = FL_OK;

	for (size_t i = 0; i < pb->n_blocks && code == FL_OK; i++) {
		int32_t at = (int32_t)i;

		while (at >= 0 && !seen[at]) {
			seen[at] = i + 1;
			at = fl_block_parent(pb, at);
		}
		if (at >= 0 && seen[at] == i + 1)
			code = fl_err_set(err, FL_EFORMAT,
				"'%s': the parents of block %zu form a ring", name, i);
	}
	fl_free(seen);
	return code;
}

static enum fl_code check_blocks(const fl_pb_program *pb, const char *name, struct fl_err *err)
{
	if (!pb->n_blocks)
		return fl_err_set(err, FL_EFORMAT, "'%s' is no program: it has no block", name);
	for (size_t i = 0; i < pb->n_blocks; i++) {
		const fl_pb_block *b = pb->blocks[i];

		if (b->idx != (int32_t)i)
			return fl_err_set(err, FL_EFORMAT, "'%s': block %zu says its index is %d", name,
				i, b->idx);
		/* some old files say that the root's parent is 0 */
		if (b->parent_idx >= (int32_t)pb->n_blocks || (i == 0 ? b->parent_idx > 0
			: b->parent_idx == (int32_t)i))
			return fl_err_set(err, FL_EFORMAT, "'%s': block %zu has parent %d", name, i,
				b->parent_idx);
	}
	return check_no_ring(pb, name, err);
}

enum fl_code fl_program_parse(const void *bytes, size_t len, const char *name,
	struct fl_program **out, struct fl_err *err)
{
	struct fl_program *prog;
	ProtobufCAllocator alloc;
	enum fl_code code;

	FL_TRY(fl_scan_program(bytes, len, name, err));
	prog = FL_NEW(struct fl_program);
	prog->arena = fl_arena_new(PARSE_FIXED + PARSE_FACTOR * len);
	alloc = allocator_of(prog->arena);
	prog->pb = paddle__framework__proto__program_desc__unpack(&alloc, len, bytes);
	code = prog->pb ? check_blocks(prog->pb, name, err)
			: fl_err_set(err, FL_EFORMAT, "'%s' is no serialized program, or needs too much "
						      "memory", name);
	if (code != FL_OK) {
		fl_program_free(prog);
		return code;
	}
	*out = prog;
	return FL_OK;
}

enum fl_code fl_program_load(const char *path, struct fl_program **out, struct fl_err *err)
{
	struct fl_buf buf = FL_BUF_INIT;
	const char *name = strcmp(path, "-") ? path : "standard input";
	enum fl_code code;

	code = fl_file_read(path, (size_t)1 << 31, &buf, err);
	if (code == FL_OK)
		code = fl_program_parse(fl_buf_str(&buf), buf.len, name, out, err);
	fl_buf_release(&buf);
	return code;
}

struct fl_program *fl_program_new(int64_t version)
{
	struct fl_program *prog = FL_NEW(struct fl_program);
	fl_pb_block *b;

	prog->arena = fl_arena_new(0);
	prog->pb = FL_ARENA_NEW(prog->arena, fl_pb_program);
	paddle__framework__proto__program_desc__init(prog->pb);
	b = FL_ARENA_NEW(prog->arena, fl_pb_block);
	paddle__framework__proto__block_desc__init(b);
	b->parent_idx = -1;
	prog->pb->blocks = FL_ARENA_NEW_N(prog->arena, fl_pb_block *, 1);
	prog->pb->blocks[0] = b;
	prog->pb->n_blocks = 1;
	if (version) {
		prog->pb->version =
			FL_ARENA_NEW(prog->arena, Paddle__Framework__Proto__Version);
		paddle__framework__proto__version__init(prog->pb->version);
		prog->pb->version->has_version = 1;
		prog->pb->version->version = version;
	}
	return prog;
}

struct fl_program *fl_program_clone(const struct fl_program *prog)
{
	struct fl_program *copy = FL_NEW(struct fl_program);

	copy->arena = fl_arena_new(0);
	copy->pb = fl_pb_copy(copy->arena, &prog->pb->base);
	return copy;
}

void fl_program_free(struct fl_program *prog)
{
	if (!prog)
		return;
	fl_arena_free(prog->arena);
	fl_free(prog);
}

void fl_program_pack(const struct fl_program *prog, struct fl_buf *out)
{
	fl_pb_pack(&prog->pb->base, prog->shared, out);
}

enum fl_code fl_program_save(const struct fl_program *prog, const char *path, struct fl_err *err)
{
	struct fl_buf buf = FL_BUF_INIT;
	enum fl_code code;

	fl_program_pack(prog, &buf);
	code = fl_file_write(path, fl_buf_str(&buf), buf.len, err);
	fl_buf_release(&buf);
	return code;
}

void *fl_program_alloc(struct fl_program *prog, size_t size)
{
	return fl_arena_alloc(prog->arena, size);
}
