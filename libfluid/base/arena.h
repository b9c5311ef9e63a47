/*
 * A bump allocator: everything made in it dies with it, nothing is freed singly. One arena belongs
 * to one thread at a time. All memory is zeroed, and every allocation is followed by at least one
 * zero byte, so that byte strings stored in it read as C strings too.
 */
#ifndef FL_BASE_ARENA_H
#define FL_BASE_ARENA_H

#include <stddef.h>

struct fl_arena;

/* A new arena, owned by the caller. `limit` bounds the bytes handed out (0: no limit). */
struct fl_arena *fl_arena_new(size_t limit);
void fl_arena_free(struct fl_arena *arena);

/* Zeroed memory that lives as long as the arena; NULL when the limit is passed or memory is out. */
void *fl_arena_try(struct fl_arena *arena, size_t size);
/* The same, for sizes that we chose ourselves: never NULL. */
void *fl_arena_alloc(struct fl_arena *arena, size_t size);
char *fl_arena_strdup(struct fl_arena *arena, const char *s);
char *fl_arena_strndup(struct fl_arena *arena, const char *s, size_t n);
char *fl_arena_strfmt(struct fl_arena *arena, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Bytes handed out so far. */
size_t fl_arena_used(const struct fl_arena *arena);

#define FL_ARENA_NEW(arena, type) ((type *)fl_arena_alloc((arena), sizeof(type)))
#define FL_ARENA_NEW_N(arena, type, n) ((type *)fl_arena_alloc((arena), sizeof(type) * (n)))

#endif
