#include "base/map.h"

#include <string.h>

#include "base/mem.h"

uint64_t fl_hash(const void *data, size_t len)
{
	const unsigned char *p = data;
	uint64_t h = 0xcbf29ce484222325u;

	while (len--)
		h = (h ^ *p++) * 0x100000001b3u;
	return h;
}

/* For the tables only, where speed counts: eight bytes at a time. */
static uint64_t hash_key(const char *key, size_t len)
{
	uint64_t h = len, part;

	for (; len >= 8; key += 8, len -= 8) {
		memcpy(&part, key, 8);
		h = (h ^ part) * 0x9e3779b97f4a7c15u;
		h ^= h >> 29;
	}
	part = 0;
	if (len)
		memcpy(&part, key, len);
	h = (h ^ part) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 32;
}

void fl_map_init(struct fl_map *m)
{
	memset(m, 0, sizeof *m);
}

void fl_map_release(struct fl_map *m)
{
	for (size_t i = 0; i < m->n; i++)
		fl_free(m->entries[i].key);
	fl_free(m->entries);
	fl_free(m->table);
	fl_map_init(m);
}

/* Low bits are the weaker ones: mix before masking. */
static size_t slot_of(const struct fl_map *m, uint64_t hash)
{
	return (size_t)((hash ^ (hash >> 32)) & (m->table_size - 1));
}

static struct fl_map_entry *find(const struct fl_map *m, const char *key)
{
	size_t len = strlen(key), i;
	uint64_t hash;

	if (!m->table_size)
		return NULL;
	hash = hash_key(key, len);
	for (i = slot_of(m, hash); m->table[i]; i = (i + 1) & (m->table_size - 1)) {
		struct fl_map_entry *e = &m->entries[m->table[i] - 1];

		if (e->key && e->hash == hash && e->len == len && !memcmp(e->key, key, len))
			return e;
	}
	return NULL;
}

static void insert_slot(struct fl_map *m, size_t entry)
{
	size_t i = slot_of(m, m->entries[entry].hash);

	while (m->table[i])
		i = (i + 1) & (m->table_size - 1);
	m->table[i] = (uint32_t)(entry + 1);
}

/* Drops removed entries and makes the table at least twice as large as what is in it. */
static void rebuild(struct fl_map *m)
{
	size_t n = 0, size = 16;

	for (size_t i = 0; i < m->n; i++)
		if (m->entries[i].key)
			m->entries[n++] = m->entries[i];
	m->n = n;
	while (size < (n + 1) * 3)
		size *= 2;
	fl_free(m->table);
	m->table = FL_NEW_N(uint32_t, size);
	m->table_size = size;
	for (size_t i = 0; i < n; i++)
		insert_slot(m, i);
}

void *fl_map_get(const struct fl_map *m, const char *key)
{
	struct fl_map_entry *e = find(m, key);

	return e ? e->value : NULL;
}

bool fl_map_has(const struct fl_map *m, const char *key)
{
	return find(m, key) != NULL;
}

void *fl_map_put(struct fl_map *m, const char *key, void *value)
{
	struct fl_map_entry *e = find(m, key);
	void *old = NULL;

	if (e) {
		old = e->value;
		e->value = value;
		return old;
	}
	if ((m->n + 1) * 2 > m->table_size)
		rebuild(m);
	fl_grow(&m->entries, &m->cap, m->n + 1, sizeof *m->entries);
	e = &m->entries[m->n++];
	e->len = strlen(key);
	e->key = fl_xstrndup(key, e->len);
	e->hash = hash_key(key, e->len);
	e->value = value;
	m->live++;
	insert_slot(m, m->n - 1);
	return NULL;
}

void *fl_map_remove(struct fl_map *m, const char *key)
{
	struct fl_map_entry *e = find(m, key);
	void *old;

	if (!e)
		return NULL;
	old = e->value;
	fl_free(e->key);
	e->key = NULL;
	m->live--;
	return old;
}
