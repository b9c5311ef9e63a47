/* Loops of reductions for one type T (see reduce.c). */
#if FL_IS_REAL
#define SUM_T double
#else
#define SUM_T int64_t
#endif

FL_HOT static SUM_T F(sum_row)(const T *x, int64_t n)
{
	SUM_T lane[8] = { 0 }, sum = 0;
	int64_t i = 0;

	for (; i + 8 <= n; i += 8)
		for (int j = 0; j < 8; j++)
			lane[j] += (SUM_T)x[i + j];
	for (; i < n; i++)
		lane[0] += (SUM_T)x[i];
	for (int j = 0; j < 8; j++)
		sum += lane[j];
	return sum;
}

FL_HOT static void F(add_row)(const T *x, SUM_T *sum, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		sum[i] += (SUM_T)x[i];
}

static void F(add_up)(const struct reduce *r, const T *x, T *out)
{
	int64_t at[FL_MAX_RANK] = { 0 }, place = 0, len = r->rank ? r->dims[r->rank - 1] : 1;
	bool kept = r->rank && r->step[r->rank - 1];
	SUM_T *sum = r->sums.data;

	memset(sum, 0, (size_t)r->out_n * sizeof *sum);
	for (int64_t i = 0; i < r->n; i += len, place = next_row(r, at, place))
		if (kept)
			F(add_row)(x + i, sum + place, len);
		else
			sum[place] += F(sum_row)(x + i, len);
	for (int64_t i = 0; i < r->out_n; i++)
		out[i] = (T)(r->how == MEAN ? sum[i] / (SUM_T)r->count : sum[i]);
}

/* The first element of each place is its start. */
static void F(combine)(const struct reduce *r, const T *x, T *out)
{
	int64_t at[FL_MAX_RANK] = { 0 }, place = 0, len = r->rank ? r->dims[r->rank - 1] : 1;
	int64_t step = r->rank ? r->step[r->rank - 1] : 0;
	uint8_t *seen = r->sums.data;

	memset(seen, 0, (size_t)r->out_n);
	for (int64_t i = 0; i < r->n; i += len, place = next_row(r, at, place))
		for (int64_t j = 0; j < len; j++) {
			T v = x[i + j], *o = &out[place + j * step];

			if (!seen[place + j * step])
				*o = v;
			else if (r->how == PROD)
				*o = *o * v;
			else if (r->how == MAX ? v > *o : v < *o)
				*o = v;
			seen[place + j * step] = 1;
		}
}

static void F(reduce)(const struct reduce *r, const T *x, T *out)
{
	if (r->how == SUM || r->how == MEAN)
		F(add_up)(r, x, out);
	else
		F(combine)(r, x, out);
}

#if FL_IS_REAL
static void F(grad)(const struct reduce *r, const T *x, const T *o, const T *g, T *out)
{
	int64_t at[FL_MAX_RANK] = { 0 }, place = 0, len = r->rank ? r->dims[r->rank - 1] : 1;
	int64_t step = r->rank ? r->step[r->rank - 1] : 0;
	T count = (T)r->count;

	for (int64_t i = 0; i < r->n; i += len, place = next_row(r, at, place))
		for (int64_t j = 0; j < len; j++) {
			int64_t p = place + j * step;

			switch (r->how) {
			case SUM: out[i + j] = g[p]; break;
			case MEAN: out[i + j] = g[p] / count; break;
			case PROD: out[i + j] = g[p] * o[p] / x[i + j]; break;
			default: out[i + j] = x[i + j] == o[p] ? g[p] : 0;
			}
		}
}
#endif
#undef SUM_T
