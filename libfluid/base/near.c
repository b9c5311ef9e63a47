#include "base/near.h"

#include <stdint.h>
#include <string.h>

#define WORD_MAX 128

static size_t min2(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Three rows of the usual table are enough: swaps look back two rows. */
size_t fl_edit_distance(const char *a, const char *b)
{
	size_t na = strlen(a), nb = strlen(b);
	uint8_t rows[3][WORD_MAX];

	if (na >= WORD_MAX || nb >= WORD_MAX)
		return SIZE_MAX;
	for (size_t k = 0; k <= nb; k++)
		rows[0][k] = (uint8_t)k;
	for (size_t i = 1; i <= na; i++) {
		uint8_t *row = rows[i % 3], *up = rows[(i + 2) % 3], *up2 = rows[(i + 1) % 3];

		row[0] = (uint8_t)i;
		for (size_t k = 1; k <= nb; k++) {
			size_t d = up[k - 1] + (a[i - 1] != b[k - 1] ? 1u : 0u);

			d = min2(d, min2(up[k], row[k - 1]) + 1u);
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
				d = min2(d, up2[k - 2] + 1u);
			row[k] = (uint8_t)d;
		}
	}
	return rows[na % 3][nb];
}

void fl_near_init(struct fl_near *near, const char *word)
{
	size_t third = strlen(word) / 3;

	near->word = word;
	near->best = NULL;
	near->distance = (third ? third : 1) + 1;
}

void fl_near_try(struct fl_near *near, const char *candidate)
{
	size_t n = strlen(candidate), word = strlen(near->word), d;

	/* the lengths alone make at least that distance */
	if ((n > word ? n - word : word - n) >= near->distance)
		return;
	d = fl_edit_distance(near->word, candidate);
	if (d < near->distance) {
		near->distance = d;
		near->best = candidate;
	}
}
