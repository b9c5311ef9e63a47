#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"

#define ARENA_CHUNK (64 * 1024)
#define ARENA_ALIGN 16

struct chunk {
	struct chunk *next;
	size_t used, size;
	_Alignas(ARENA_ALIGN) char data[];
};

struct fl_arena {
	struct chunk *head;
	size_t used, limit, next_size;
};

struct fl_arena *fl_arena_new(size_t limit)
{
	struct fl_arena *arena = FL_NEW(struct fl_arena);

	arena->limit = limit;
	arena->next_size = 4096;
	return arena;
}

void fl_arena_free(struct fl_arena *arena)
{
	struct chunk *c, *next;

	if (!arena)
		return;
	for (c = arena->head; c; c = next) {
		next = c->next;
		free(c);
	}
	fl_free(arena);
}

static struct chunk *add_chunk(struct fl_arena *arena, size_t need)
{
	size_t size = need > arena->next_size ? need : arena->next_size;
	struct chunk *c = calloc(1, sizeof *c + size);

	if (!c)
		return NULL;
	if (arena->next_size < ARENA_CHUNK)
		arena->next_size *= 2;
	c->size = size;
	/* A chunk made for one large piece goes behind the current one, which has room left. */
	if (need > ARENA_CHUNK / 4 && arena->head) {
		c->next = arena->head->next;
		arena->head->next = c;
	} else {
		c->next = arena->head;
		arena->head = c;
	}
	return c;
}

void *fl_arena_try(struct fl_arena *arena, size_t size)
{
	struct chunk *c = arena->head;
	size_t need;
	void *p;

	if (size > SIZE_MAX / 2)
		return NULL;
	need = (size + 1 + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
	if (arena->limit && (need > arena->limit || arena->used > arena->limit - need))
		return NULL;
	if (!c || c->size - c->used < need) {
		c = add_chunk(arena, need);
		if (!c)
			return NULL;
	}
	p = c->data + c->used;
	c->used += need;
	arena->used += need;
	return p;
}

void *fl_arena_alloc(struct fl_arena *arena, size_t size)
{
	void *p = fl_arena_try(arena, size);

	if (!p)
		FL_BUG("arena exhausted");
	return p;
}

char *fl_arena_strdup(struct fl_arena *arena, const char *s)
{
	return fl_arena_strndup(arena, s, strlen(s));
}

char *fl_arena_strndup(struct fl_arena *arena, const char *s, size_t n)
{
	char *p = fl_arena_alloc(arena, n + 1);

	memcpy(p, s, n);
	return p;
}

char *fl_arena_strfmt(struct fl_arena *arena, const char *fmt, ...)
{
	va_list ap;
	char *p;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		FL_BUG("bad format");
	p = fl_arena_alloc(arena, (size_t)n + 1);
	va_start(ap, fmt);
	vsnprintf(p, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return p;
}

size_t fl_arena_used(const struct fl_arena *arena)
{
	return arena->used;
}
