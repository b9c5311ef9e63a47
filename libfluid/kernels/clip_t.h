/* Loops of limits for one type T (see clip.c). NaN passes, with gradient 0. */
FL_HOT static void F(clip)(const T *x, T *out, int64_t n, T low, T high)
{
	for (int64_t i = 0; i < n; i++)
		out[i] = x[i] < low ? low : x[i] > high ? high : x[i];
}

FL_HOT static void F(clip_grad)(const T *x, const T *g, T *out, int64_t n, T low, T high)
{
	for (int64_t i = 0; i < n; i++)
		out[i] = x[i] > low && x[i] < high ? g[i] : 0;
}

FL_HOT static void F(clip_scale)(const T *x, T *out, int64_t n, T by)
{
	for (int64_t i = 0; i < n; i++)
		out[i] = x[i] * by;
}

/* Eight sums side by side, so that the loop fills vectors in one order on every processor. */
FL_HOT static double F(clip_squares)(const T *x, int64_t n)
{
	double lane[8] = { 0 }, sum = 0;
	int64_t i = 0;

	for (; i + 8 <= n; i += 8)
		for (int j = 0; j < 8; j++)
			lane[j] += (double)x[i + j] * (double)x[i + j];
	for (; i < n; i++)
		lane[0] += (double)x[i] * (double)x[i];
	for (int j = 0; j < 8; j++)
		sum += lane[j];
	return sum;
}
