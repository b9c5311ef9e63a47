/* LoD: levels of sequence offsets (struct fl_lod in tensor.h). */
#include "tensor/tensor.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"

void fl_lod_release(struct fl_lod *lod)
{
	for (int i = 0; i < FL_MAX_LOD; i++)
		fl_free(lod->level[i].off);
	memset(lod, 0, sizeof *lod);
}

void fl_lod_clear(struct fl_lod *lod)
{
	lod->n = 0;
}

static void set_level(struct fl_lod_level *level, const uint64_t *off, size_t n)
{
	fl_grow(&level->off, &level->cap, n, sizeof *off);
	if (n)
		memcpy(level->off, off, n * sizeof *off);
	level->n = n;
}

void fl_lod_copy(struct fl_lod *dst, const struct fl_lod *src)
{
	if (dst == src)
		return;
	for (int i = 0; i < src->n; i++)
		set_level(&dst->level[i], src->level[i].off, src->level[i].n);
	dst->n = src->n;
}

bool fl_lod_equal(const struct fl_lod *a, const struct fl_lod *b)
{
	if (a->n != b->n)
		return false;
	for (int i = 0; i < a->n; i++) {
		const struct fl_lod_level *x = &a->level[i], *y = &b->level[i];

		if (x->n != y->n || (x->n && memcmp(x->off, y->off, x->n * sizeof *x->off)))
			return false;
	}
	return true;
}

enum fl_code fl_lod_push(struct fl_lod *lod, const uint64_t *off, size_t n, struct fl_err *err)
{
	if (lod->n == FL_MAX_LOD)
		return fl_err_set(err, FL_ELIMIT, "more than %d levels of sequences", FL_MAX_LOD);
	set_level(&lod->level[lod->n++], off, n);
	return FL_OK;
}

static enum fl_code check_level(const struct fl_lod *lod, int i, struct fl_err *err)
{
	const struct fl_lod_level *l = &lod->level[i];

	if (!l->n)
		return fl_err_set(err, FL_EINVAL, "LoD level %d is empty", i);
	if (l->off[0])
		return fl_err_set(err, FL_EINVAL, "LoD level %d starts with %" PRIu64 ", not 0", i,
			l->off[0]);
	for (size_t k = 1; k < l->n; k++)
		if (l->off[k] < l->off[k - 1])
			return fl_err_set(err, FL_EINVAL,
				"LoD level %d falls from %" PRIu64 " to %" PRIu64, i, l->off[k - 1],
				l->off[k]);
	return FL_OK;
}

enum fl_code fl_lod_check(const struct fl_lod *lod, int64_t rows, struct fl_err *err)
{
	for (int i = 0; i < lod->n; i++) {
		const struct fl_lod_level *l = &lod->level[i];
		uint64_t items;

		FL_TRY(check_level(lod, i, err));
		items = i + 1 < lod->n ? (uint64_t)lod->level[i + 1].n - 1 : (uint64_t)rows;
		if (l->off[l->n - 1] != items)
			return fl_err_set(err, FL_EINVAL,
				"LoD level %d ends with %" PRIu64 ", but there are %" PRIu64 " %s", i,
				l->off[l->n - 1], items, i + 1 < lod->n ? "sequences" : "rows");
	}
	return FL_OK;
}
