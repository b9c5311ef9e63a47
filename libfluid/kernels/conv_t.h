/* Convolution of one picture for one type T (see conv.c). Pictures are [C, H, W]; in NHWC they are
 * read and written with their own strides, the columns are the same. */

/* Rows are short: a call of memcpy for each would cost more than the copy. */
static inline void F(copy)(T *restrict to, const T *restrict from, int64_t n)
{
	enum { STEP = 8 };
	int64_t j = 0;

	for (; j + STEP <= n; j += STEP)
		memcpy(to + j, from + j, STEP * sizeof *to);
	if (n >= STEP && j < n)
		memcpy(to + n - STEP, from + n - STEP, STEP * sizeof *to);
	else
		for (; j < n; j++)
			to[j] = from[j];
}

static inline void F(add)(T *restrict to, const T *restrict from, int64_t n)
{
	for (int64_t j = 0; j < n; j++)
		to[j] += from[j];
}

/* Columns of one group: row (c, y, x) of the window, column (i, j) of the output. */
FL_HOT static void F(im2col)(const struct work *w, const T *x, T *col)
{
	int64_t out = w->out_size[0] * w->out_size[1];

	for (int64_t c = 0; c < w->group_in; c++)
		for (int64_t y = 0; y < w->window.k[0]; y++)
			for (int64_t z = 0; z < w->window.k[1]; z++, col += out) {
				const T *plane = x + c * w->in_c;
				int64_t dy = y * w->window.dilation[0] - w->window.low[0];
				int64_t dx = z * w->window.dilation[1] - w->window.low[1];
				struct span s = inside(w, 1, dx);

				for (int64_t i = 0; i < w->out_size[0]; i++) {
					int64_t row = i * w->window.stride[0] + dy;
					T *to = col + i * w->out_size[1];
					int64_t step = w->window.stride[1] * w->in_x;
					const T *from = plane + row * w->in_y + dx * w->in_x;

					if (row < 0 || row >= w->in_size[0]) {
						memset(to, 0, (size_t)w->out_size[1] * sizeof *to);
						continue;
					}
					for (int64_t j = 0; j < s.from; j++)
						to[j] = 0;
					if (step == 1)
						F(copy)(to + s.from, from + s.from, s.to - s.from);
					else
						for (int64_t j = s.from; j < s.to; j++)
							to[j] = from[j * step];
					for (int64_t j = s.to; j < w->out_size[1]; j++)
						to[j] = 0;
				}
			}
}

/* Adds columns back to where they came from. */
FL_HOT static void F(col2im)(const struct work *w, const T *col, T *x)
{
	int64_t out = w->out_size[0] * w->out_size[1];

	for (int64_t c = 0; c < w->group_in; c++)
		for (int64_t y = 0; y < w->window.k[0]; y++)
			for (int64_t z = 0; z < w->window.k[1]; z++, col += out) {
				T *plane = x + c * w->in_c;
				int64_t dy = y * w->window.dilation[0] - w->window.low[0];
				int64_t dx = z * w->window.dilation[1] - w->window.low[1];
				struct span s = inside(w, 1, dx);

				for (int64_t i = 0; i < w->out_size[0]; i++) {
					int64_t row = i * w->window.stride[0] + dy;
					const T *from = col + i * w->out_size[1];
					int64_t step = w->window.stride[1] * w->in_x;
					T *to = plane + row * w->in_y + dx * w->in_x;

					if (row < 0 || row >= w->in_size[0])
						continue;
					if (step == 1)
						F(add)(to + s.from, from + s.from, s.to - s.from);
					else
						for (int64_t j = s.from; j < s.to; j++)
							to[j * step] += from[j];
				}
			}
}

/* Out of one picture: [M, out] in NCHW, [out, M] in NHWC. */
static void F(picture)(const struct work *w, const T *x, T *out, T *col)
{
	int64_t n = w->out_size[0] * w->out_size[1], k = w->depth, m = w->group_out;

	for (int64_t g = 0; g < w->groups; g++) {
		const T *filter = (const T *)w->filter + g * m * k, *in = x + g * w->group_in * w->in_c;

		if (!w->direct)
			F(im2col)(w, in, col);
		else
			col = (T *)(uintptr_t)in; /* only read */
		if (w->window.nhwc)
			F(fl_gemm)(true, true, n, m, k, 1, col, n, filter, k, 0, out + g * m,
				w->groups * m);
		else
			F(fl_gemm)(false, false, m, n, k, 1, filter, k, col, n, 0, out + g * m * n, n);
	}
}

/* One picture's part of dFilter (added) and its dX. */
static void F(picture_grad)(const struct work *w, const T *x, const T *dout, T *dfilter, T *dx, T *col)
{
	int64_t n = w->out_size[0] * w->out_size[1], k = w->depth, m = w->group_out;
	int64_t ld = w->window.nhwc ? w->groups * m : n;

	for (int64_t g = 0; g < w->groups; g++) {
		const T *d = dout + (w->window.nhwc ? g * m : g * m * n);
		const T *filter = (const T *)w->filter + g * m * k;
		int64_t at = g * w->group_in * w->in_c;

		if (dfilter) {
			const T *c = w->direct ? x + at : col;

			if (!w->direct)
				F(im2col)(w, x + at, col);
			F(fl_gemm)(w->window.nhwc, true, m, k, n, 1, d, ld, c, n, 1, dfilter + g * m * k, k);
		}
		if (!dx)
			continue;
		F(fl_gemm)(true, w->window.nhwc, k, n, m, 1, filter, k, d, ld, 0, w->direct ? dx + at : col,
			n);
		if (!w->direct)
			F(col2im)(w, col, dx + at);
	}
}

/* The pictures of piece p of w->pieces, with working memory of its own. */
static void F(piece)(const struct work *w, int64_t p)
{
	int64_t from = w->pictures * p / w->pieces, to = w->pictures * (p + 1) / w->pieces;
	T *col = (T *)w->cols.data + p * w->col_size;
	T *dfilter = w->dfilter ? (T *)w->partial.data + p * w->filter_size : NULL;

	if (dfilter)
		memset(dfilter, 0, (size_t)w->filter_size * sizeof *dfilter);
	for (int64_t i = from; i < to; i++) {
		const T *x = (const T *)w->x + i * w->in_picture;
		T *dx = w->dx ? (T *)w->dx + i * w->in_picture : NULL;

		if (!w->dout) {
			F(picture)(w, x, (T *)w->out + i * w->out_picture, col);
			continue;
		}
		if (dx)
			memset(dx, 0, (size_t)w->in_picture * sizeof *dx);
		F(picture_grad)(w, x, (const T *)w->dout + i * w->out_picture, dfilter, dx, col);
	}
}

static void F(add_partials)(const struct work *w)
{
	T *sum = w->dfilter;

	memcpy(sum, w->partial.data, (size_t)w->filter_size * sizeof *sum);
	for (int64_t p = 1; p < w->pieces; p++) {
		const T *more = (const T *)w->partial.data + p * w->filter_size;

		for (int64_t i = 0; i < w->filter_size; i++)
			sum[i] += more[i];
	}
}
