/* Loops of sum, scale and mean for one type T (see math.c). */
FL_HOT static void F(add_to)(const T *x, T *out, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		out[i] += x[i];
}

FL_HOT static void F(scale)(const T *x, T *out, int64_t n, T scale, T bias, bool after)
{
	if (after)
		for (int64_t i = 0; i < n; i++)
			out[i] = scale * x[i] + bias;
	else
		for (int64_t i = 0; i < n; i++)
			out[i] = scale * (x[i] + bias);
}

#if FL_IS_REAL
FL_HOT static double F(total)(const T *x, int64_t n)
{
	double lane[16] = { 0 }, sum = 0;
	int64_t i = 0;

	for (; i + 16 <= n; i += 16)
		for (int64_t j = 0; j < 16; j++)
			lane[j] += (double)x[i + j];
	for (; i < n; i++)
		lane[0] += (double)x[i];
	for (int j = 0; j < 16; j++)
		sum += lane[j];
	return sum;
}

FL_HOT static void F(set_all)(T *out, int64_t n, T v)
{
	for (int64_t i = 0; i < n; i++)
		out[i] = v;
}
#endif
