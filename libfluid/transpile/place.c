/*
 * Gives every block a server. Without slicing, the order of the parameters is shuffled first, by
 * numpy's generator, so that the result is Fluid's. HashName takes a stable hash of the block's
 * name, and the next free server where another block of the same parameter lies: accumulators have
 * one name per parameter and server.
 */
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "desc/query.h"
#include "transpile/internal.h"

#define MT_N 624
#define MT_M 397

struct mt {
	uint32_t s[MT_N];
	int at;
};

static void mt_seed(struct mt *g, uint32_t seed)
{
	g->s[0] = seed;
	for (uint32_t i = 1; i < MT_N; i++)
		g->s[i] = 1812433253u * (g->s[i - 1] ^ (g->s[i - 1] >> 30)) + i;
	g->at = MT_N;
}

static void mt_refill(struct mt *g)
{
	for (int i = 0; i < MT_N; i++) {
		uint32_t y = (g->s[i] & 0x80000000u) | (g->s[(i + 1) % MT_N] & 0x7fffffffu);

		g->s[i] = g->s[(i + MT_M) % MT_N] ^ (y >> 1) ^ (y & 1 ? 0x9908b0dfu : 0);
	}
	g->at = 0;
}

static uint32_t mt_next(struct mt *g)
{
	uint32_t y;

	if (g->at == MT_N)
		mt_refill(g);
	y = g->s[g->at++];
	y ^= y >> 11;
	y ^= (y << 7) & 0x9d2c5680u;
	y ^= (y << 15) & 0xefc60000u;
	return y ^ (y >> 18);
}

/* Uniform in [0, max]: numpy draws until a masked number fits. */
static uint32_t mt_below(struct mt *g, uint32_t max)
{
	uint32_t mask = max, v;

	for (int shift = 1; shift < 32; shift *= 2)
		mask |= mask >> shift;
	do
		v = mt_next(g) & mask;
	while (v > max);
	return v;
}

void tp_shuffle(uint32_t seed, size_t *order, size_t n)
{
	struct mt g;

	for (size_t i = 0; i < n; i++)
		order[i] = i;
	mt_seed(&g, seed);
	for (size_t i = n; i-- > 1;) {
		uint32_t k = mt_below(&g, (uint32_t)i);
		size_t swap = order[i];

		order[i] = order[k];
		order[k] = swap;
	}
}

static size_t by_hash(const struct tp_pair *p, size_t i, size_t servers)
{
	const char *name = p->blocks[i].param;
	size_t at = (size_t)(fl_hash(name, strlen(name)) % servers);

	for (size_t k = 0; k < i;)
		if (p->blocks[k].server == at) {
			at = (at + 1) % servers;
			k = 0;
		} else {
			k++;
		}
	return at;
}

void tp_place(struct fl_transpiler *t)
{
	size_t servers = t->opts.n_pservers, cursor = 0;
	struct tp_list *owned = FL_NEW_N(struct tp_list, servers);

	t->send_order = FL_ARENA_NEW_N(t->arena, size_t, t->n_pairs);
	for (size_t i = 0; i < t->n_pairs; i++)
		t->send_order[i] = i;
	if (!t->opts.slice_var_up && t->opts.mode != FL_MODE_GEO)
		tp_shuffle((uint32_t)t->opts.random_seed, t->send_order, t->n_pairs);
	for (size_t i = 0; i < t->n_pairs; i++) {
		struct tp_pair *p = &t->pairs[t->send_order[i]];

		for (size_t k = 0; k < p->n; k++, cursor++) {
			p->blocks[k].server = t->opts.split_method == FL_HASH_NAME
						      ? by_hash(p, k, servers)
						      : cursor % servers;
			tp_list_add(&owned[p->blocks[k].server], t->send_order[i]);
			tp_list_add(&owned[p->blocks[k].server], k);
		}
	}
	t->owned = FL_ARENA_NEW_N(t->arena, struct tp_owned *, servers);
	t->n_owned = FL_ARENA_NEW_N(t->arena, size_t, servers);
	for (size_t s = 0; s < servers; s++) {
		t->n_owned[s] = owned[s].n / 2;
		t->owned[s] = FL_ARENA_NEW_N(t->arena, struct tp_owned, t->n_owned[s]);
		for (size_t i = 0; i < t->n_owned[s]; i++)
			t->owned[s][i] = (struct tp_owned){ owned[s].at[2 * i],
				owned[s].at[2 * i + 1] };
		tp_list_release(&owned[s]);
	}
	fl_free(owned);
}

/* What programs of one run must agree on: mode, servers, and every block's size and place. */
void tp_hash(struct fl_transpiler *t)
{
	struct fl_buf b = FL_BUF_INIT;

	fl_buf_addf(&b, "%s %d %d %d %d %d\n", fl_dist_mode_name(t->opts.mode), t->opts.trainers,
		t->rs, t->opts.enable_dc_asgd, t->dist_mode, (int)t->opts.lr_steps);
	for (size_t i = 0; i < t->opts.n_pservers; i++)
		fl_buf_addf(&b, "%s\n", t->opts.pservers[i]);
	for (size_t i = 0; i < t->n_pairs; i++) {
		const struct tp_pair *p = &t->pairs[i];

		fl_buf_addf(&b, "%s %s %d\n", p->param, p->grad, fl_var_dtype(p->pvar));
		for (size_t k = 0; k < p->n; k++)
			fl_buf_addf(&b, "%lld %lld %zu\n", (long long)p->blocks[k].offset,
				(long long)p->blocks[k].numel, p->blocks[k].server);
	}
	t->hash = fl_hash(fl_buf_str(&b), b.len);
	fl_buf_release(&b);
}
