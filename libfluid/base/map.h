/* A hash map from strings to pointers that remembers the order of insertion. */
#ifndef FL_BASE_MAP_H
#define FL_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fl_map_entry {
	char *key; /* owned copy; NULL: removed */
	size_t len;
	uint64_t hash;
	void *value; /* borrowed */
};

struct fl_map {
	struct fl_map_entry *entries; /* in order of insertion, removed ones included */
	size_t n, cap;		      /* entries used, allocated */
	size_t live;		      /* keys present */
	uint32_t *table;	      /* open addressing: entry index + 1 */
	size_t table_size;
};

#define FL_MAP_INIT { NULL, 0, 0, 0, NULL, 0 }

void fl_map_init(struct fl_map *m);
/* Frees the map's own memory; values are the caller's. */
void fl_map_release(struct fl_map *m);
/* The value, or NULL when the key is absent (or was stored with NULL). */
void *fl_map_get(const struct fl_map *m, const char *key);
bool fl_map_has(const struct fl_map *m, const char *key);
/* Stores value under a copy of key; returns the value it replaces, or NULL. */
void *fl_map_put(struct fl_map *m, const char *key, void *value);
/* Removes the key; returns its value, or NULL. The order of the others stays. */
void *fl_map_remove(struct fl_map *m, const char *key);

/* Walks the live entries in order of insertion: FL_MAP_EACH(e, &map) use(e->key, e->value); */
#define FL_MAP_EACH(e, m)                                                                          \
	for (struct fl_map_entry *e = (m)->entries; e && e < (m)->entries + (m)->n; e++)           \
		if (e->key)

/* FNV-1a, 64 bit: the hash of everything that must be the same on all machines. */
uint64_t fl_hash(const void *data, size_t len);

#endif
