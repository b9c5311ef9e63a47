/*
 * "Did you mean": the candidate nearest to a mistyped word, by edit distance (insert, delete,
 * replace, swap of neighbours cost 1 each). Near means at most a third of the word, at least 1.
 */
#ifndef FL_BASE_NEAR_H
#define FL_BASE_NEAR_H

#include <stddef.h>

struct fl_near {
	const char *word; /* borrowed */
	const char *best; /* borrowed; NULL while nothing is near */
	size_t distance;  /* of best */
};

void fl_near_init(struct fl_near *near, const char *word);
/* Takes the candidate where it is nearer than the best so far. Overlong words are never near. */
void fl_near_try(struct fl_near *near, const char *candidate);

/* The edit distance, or SIZE_MAX where a word is longer than 127 bytes. */
size_t fl_edit_distance(const char *a, const char *b);

#endif
