/* Loops of sequence_pool for one type T (see sequence_pool.c). */
FL_HOT static void F(sum_rows)(const T *x, T *out, int64_t width, int64_t n, T by)
{
	memcpy(out, x, (size_t)width * sizeof *x);
	for (int64_t r = 1; r < n; r++)
		for (int64_t i = 0; i < width; i++)
			out[i] += x[r * width + i];
	if (by != 1)
		for (int64_t i = 0; i < width; i++)
			out[i] *= by;
}

/* The first of equal ones. */
static void F(max_rows)(const T *x, T *out, int32_t *place, int64_t width, int64_t begin, int64_t end)
{
	memcpy(out, x + begin * width, (size_t)width * sizeof *x);
	for (int64_t i = 0; i < width; i++)
		place[i] = (int32_t)begin;
	for (int64_t r = begin + 1; r < end; r++)
		for (int64_t i = 0; i < width; i++)
			if (x[r * width + i] > out[i]) {
				out[i] = x[r * width + i];
				place[i] = (int32_t)r;
			}
}

static void F(pool)(const struct pool *p, size_t first, size_t last)
{
	const uint64_t *off = p->level->off;
	int64_t width = p->width;
	const T *x = p->x;

	for (size_t s = first; s < last; s++) {
		int64_t begin = (int64_t)off[s], end = (int64_t)off[s + 1];
		T *out = (T *)p->out + (int64_t)s * width;

		if (begin == end) {
			for (int64_t i = 0; i < width; i++)
				out[i] = (T)p->pad;
			for (int64_t i = 0; i < width && p->place; i++)
				p->place[(int64_t)s * width + i] = -1;
		} else if (p->how == MAX) {
			F(max_rows)(x, out, p->place + (int64_t)s * width, width, begin, end);
		} else if (p->how == LAST || p->how == FIRST) {
			memcpy(out, x + (p->how == LAST ? end - 1 : begin) * width,
				(size_t)width * sizeof *x);
		} else {
			F(sum_rows)(x + begin * width, out, width, end - begin,
				(T)weight(p->how, (uint64_t)(end - begin)));
		}
	}
}

/* p->x is dOut, p->out dX. Rows that are not passed on to get zeros. */
static void F(grad)(const struct pool *p, size_t first, size_t last)
{
	const uint64_t *off = p->level->off;
	int64_t width = p->width;
	T *out = p->out;

	for (size_t s = first; s < last; s++) {
		int64_t begin = (int64_t)off[s], end = (int64_t)off[s + 1];
		const T *g = (const T *)p->x + (int64_t)s * width;
		T by = (T)weight(p->how, (uint64_t)(end - begin));

		if (p->how == MAX || p->how == LAST || p->how == FIRST)
			memset(out + begin * width, 0, (size_t)((end - begin) * width) * sizeof *out);
		if (begin == end)
			continue;
		if (p->how == MAX) {
			for (int64_t i = 0; i < width; i++) {
				int64_t at = p->place[(int64_t)s * width + i];

				if (at >= begin && at < end)
					out[at * width + i] = g[i];
			}
		} else if (p->how == LAST || p->how == FIRST) {
			memcpy(out + (p->how == LAST ? end - 1 : begin) * width, g,
				(size_t)width * sizeof *g);
		} else {
			for (int64_t r = begin; r < end; r++)
				for (int64_t i = 0; i < width; i++)
					out[r * width + i] = g[i] * by;
		}
	}
}
