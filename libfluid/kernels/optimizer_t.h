/* Loops of the updates for one type T (see optimizer.c). Inputs and outputs may be the same. */
FL_HOT static void F(sgd)(const T *p, const T *g, T *out, int64_t n, T lr)
{
	for (int64_t i = 0; i < n; i++)
		out[i] = p[i] - lr * g[i];
}

FL_HOT static void F(momentum)(const T *p, const T *g, const T *v, T *p_out, T *v_out, int64_t n,
	T lr, T mu, T nesterov)
{
	for (int64_t i = 0; i < n; i++) {
		T d = g[i], w = mu * v[i] + d;

		v_out[i] = w;
		p_out[i] = p[i] - lr * (nesterov != 0 ? d + mu * w : w);
	}
}

/* A row that the gradient does not have: g = 0. */
FL_HOT static void F(coast)(const T *p, const T *v, T *p_out, T *v_out, int64_t n, T lr, T mu,
	T nesterov)
{
	for (int64_t i = 0; i < n; i++) {
		T w = mu * v[i];

		v_out[i] = w;
		p_out[i] = p[i] - lr * (nesterov != 0 ? mu * w : w);
	}
}
