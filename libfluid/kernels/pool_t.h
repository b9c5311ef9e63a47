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

static void F(planes)(const struct work *w, size_t begin, size_t end)
{
	int64_t in_plane = w->in_size[0] * w->in_size[1], out_plane = w->out_size[0] * w->out_size[1];

	for (int64_t p = (int64_t)begin; p < (int64_t)end; p++) {
		int64_t image = p / w->channels, channel = p % w->channels;
		int64_t in = image * w->channels * in_plane + channel * (w->step == 1 ? in_plane : 1);
		int64_t out = image * w->channels * out_plane + channel * (w->step == 1 ? out_plane : 1);

		if (!w->dx && w->max)
			F(max_plane)(w, (const T *)w->x + in, (T *)w->out + out);
		else if (!w->dx)
			F(avg_plane)(w, (const T *)w->x + in, (T *)w->out + out);
		else if (w->max)
			F(max_grad_plane)(w, (const T *)w->x + in, (const T *)w->out + out,
				(const T *)w->g + out, (T *)w->dx + in);
		else
			F(avg_grad_plane)(w, (const T *)w->g + out, (T *)w->dx + in);
	}
}
