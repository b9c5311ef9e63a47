/* Pooling of one plane for one type T (see pool.c). `step` is the distance of neighbours in a row:
 * 1, or the number of channels in NHWC. */
static void F(max_plane)(const struct work *w, const T *x, T *out)
{
	for (int64_t i = 0; i < w->out_size[0]; i++)
		for (int64_t j = 0; j < w->out_size[1]; j++) {
			struct span a = span(w, 0, i), b = span(w, 1, j);
			T best = -(T)FL_LOWEST;

			for (int64_t r = a.from; r < a.to; r++)
				for (int64_t c = b.from; c < b.to; c++) {
					T v = x[(r * w->in_size[1] + c) * w->step];

					best = v > best ? v : best;
				}
			out[(i * w->out_size[1] + j) * w->step] = best;
		}
}

static void F(avg_plane)(const struct work *w, const T *x, T *out)
{
	for (int64_t i = 0; i < w->out_size[0]; i++)
		for (int64_t j = 0; j < w->out_size[1]; j++) {
			struct span a = span(w, 0, i), b = span(w, 1, j);
			T sum = 0;

			for (int64_t r = a.from; r < a.to; r++)
				for (int64_t c = b.from; c < b.to; c++)
					sum += x[(r * w->in_size[1] + c) * w->step];
			out[(i * w->out_size[1] + j) * w->step] = sum / (T)window_size(w, a, b);
		}
}

/* Each gradient goes to the first element of its window that is the largest. */
static void F(max_grad_plane)(const struct work *w, const T *x, const T *o, const T *g, T *dx)
{
	for (int64_t i = 0; i < w->out_size[0]; i++)
		for (int64_t j = 0; j < w->out_size[1]; j++) {
			struct span a = span(w, 0, i), b = span(w, 1, j);
			int64_t at = (i * w->out_size[1] + j) * w->step;
			bool found = false;

			for (int64_t r = a.from; r < a.to && !found; r++)
				for (int64_t c = b.from; c < b.to && !found; c++) {
					int64_t p = (r * w->in_size[1] + c) * w->step;

					found = x[p] == o[at];
					if (found)
						dx[p] += g[at];
				}
		}
}

static void F(avg_grad_plane)(const struct work *w, const T *g, T *dx)
{
	for (int64_t i = 0; i < w->out_size[0]; i++)
		for (int64_t j = 0; j < w->out_size[1]; j++) {
			struct span a = span(w, 0, i), b = span(w, 1, j);
			T part = g[(i * w->out_size[1] + j) * w->step] / (T)window_size(w, a, b);

			for (int64_t r = a.from; r < a.to; r++)
				for (int64_t c = b.from; c < b.to; c++)
					dx[(r * w->in_size[1] + c) * w->step] += part;
		}
}

/*
 * Whole rows at a time, where neighbours lie side by side: element (r, c) of all windows of a row of
 * the output is one pass over j, without branches, so that it vectorizes. `stride` is a constant to
 * the compiler in each copy. The order of (r, c) in each window is that of the plain loops above, and
 * so are the results.
 */
static inline void F(max_pass)(const T *restrict x, T *restrict out, int64_t n, int64_t stride)
{
	for (int64_t j = 0; j < n; j++)
		out[j] = x[j * stride] > out[j] ? x[j * stride] : out[j];
}

static inline void F(sum_pass)(const T *restrict x, T *restrict out, int64_t n, int64_t stride)
{
	for (int64_t j = 0; j < n; j++)
		out[j] += x[j * stride];
}

/* at: in each window, the place of the first element that is the largest, as far as it lies at or
 * behind `place`. */
static inline void F(find_pass)(const T *restrict x, const T *restrict o, int32_t *restrict at,
	int32_t place, int64_t n, int64_t stride)
{
	for (int64_t j = 0; j < n; j++)
		at[j] = x[j * stride] == o[j] ? place : at[j];
}

#define BY_STRIDE(fn, ...)                                                                         \
	do {                                                                                       \
		if (stride == 1)                                                                   \
			fn(__VA_ARGS__, 1);                                                        \
		else if (stride == 2)                                                              \
			fn(__VA_ARGS__, 2);                                                        \
		else                                                                               \
			fn(__VA_ARGS__, stride);                                                   \
	} while (0)

FL_HOT static void F(pool_rows)(const struct work *w, const T *x, T *out)
{
	int64_t n = w->out_size[1], stride = w->window.stride[1];

	for (int64_t i = 0; i < w->out_size[0]; i++, out += n) {
		struct span a = span(w, 0, i);

		for (int64_t j = 0; j < n; j++)
			out[j] = w->max ? -(T)FL_LOWEST : 0;
		for (int64_t r = a.from; r < a.to; r++)
			for (int64_t c = 0; c < w->window.k[1]; c++) {
				const T *at = x + r * w->in_size[1] + c;

				if (w->max)
					BY_STRIDE(F(max_pass), at, out, n);
				else
					BY_STRIDE(F(sum_pass), at, out, n);
			}
		for (int64_t j = 0; j < n && !w->max; j++)
			out[j] /= (T)window_size(w, a, span(w, 1, j));
	}
}

FL_HOT static void F(max_grad_rows)(const struct work *w, const T *x, const T *o, const T *g, T *dx)
{
	int64_t n = w->out_size[1], stride = w->window.stride[1];
	int32_t at[MAX_ROW];

	for (int64_t i = 0; i < w->out_size[0]; i++, o += n, g += n) {
		struct span a = span(w, 0, i);

		for (int64_t j = 0; j < n; j++)
			at[j] = -1; /* NaN: none */
		for (int64_t r = a.to - 1; r >= a.from; r--)
			for (int64_t c = w->window.k[1] - 1; c >= 0; c--) {
				int64_t place = r * w->in_size[1] + c;

				BY_STRIDE(F(find_pass), x + place, o, at, (int32_t)place, n);
			}
		for (int64_t j = 0; j < n; j++)
			if (at[j] >= 0)
				dx[at[j] + j * stride] += g[j];
	}
}
#undef BY_STRIDE

static void F(planes)(const struct work *w, size_t begin, size_t end)
{
	int64_t in_plane = w->in_size[0] * w->in_size[1], out_plane = w->out_size[0] * w->out_size[1];

	for (int64_t p = (int64_t)begin; p < (int64_t)end; p++) {
		int64_t image = p / w->channels, channel = p % w->channels;
		int64_t in = image * w->channels * in_plane + channel * (w->step == 1 ? in_plane : 1);
		int64_t out = image * w->channels * out_plane + channel * (w->step == 1 ? out_plane : 1);

		if (!w->dx && w->whole_rows)
			F(pool_rows)(w, (const T *)w->x + in, (T *)w->out + out);
		else if (!w->dx && w->max)
			F(max_plane)(w, (const T *)w->x + in, (T *)w->out + out);
		else if (!w->dx)
			F(avg_plane)(w, (const T *)w->x + in, (T *)w->out + out);
		else if (w->max && w->whole_rows)
			F(max_grad_rows)(w, (const T *)w->x + in, (const T *)w->out + out,
				(const T *)w->g + out, (T *)w->dx + in);
		else if (w->max)
			F(max_grad_plane)(w, (const T *)w->x + in, (const T *)w->out + out,
				(const T *)w->g + out, (T *)w->dx + in);
		else
			F(avg_grad_plane)(w, (const T *)w->g + out, (T *)w->dx + in);
	}
}
