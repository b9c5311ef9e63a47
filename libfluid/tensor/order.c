/*
 * The order of samples: Fisher-Yates with SplitMix64, seeded by seed and epoch, from the file's order
 * each time; so an epoch's order depends on nothing that was before.
 */
#include "tensor/dataset.h"

#include <string.h>

#include "base/mem.h"

void fl_order_init(struct fl_order *o, int64_t samples, int64_t trainer, int64_t trainers)
{
	size_t n = samples > trainer ? (size_t)((samples - trainer - 1) / trainers + 1) : 0;

	*o = (struct fl_order){ FL_NEW_N(int64_t, n), n, trainer, trainers };
	for (size_t i = 0; i < n; i++)
		o->at[i] = trainer + (int64_t)i * trainers;
}

static uint64_t next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

void fl_order_shuffle(struct fl_order *o, uint64_t seed, uint64_t epoch)
{
	uint64_t state = seed;

	state = next(&state) + epoch;
	for (size_t i = 0; i < o->n; i++)
		o->at[i] = o->trainer + (int64_t)i * o->trainers;
	for (size_t i = o->n; i > 1; i--) {
		size_t k = (size_t)(next(&state) % i);
		int64_t v = o->at[i - 1];

		o->at[i - 1] = o->at[k];
		o->at[k] = v;
	}
}

void fl_order_release(struct fl_order *o)
{
	fl_free(o->at);
	memset(o, 0, sizeof *o);
}
