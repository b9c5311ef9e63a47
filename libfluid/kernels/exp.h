/*
 * exp and tanh of floats that a compiler can vectorize: no branches, no calls, within 2 ulp.
 * exp: x = n ln2 + r, a polynomial in r (a least squares fit at Chebyshev points), and 2^n by the
 * exponent bits, in two steps so that the smallest and largest results come out right.
 */
#ifndef FL_KERNELS_EXP_H
#define FL_KERNELS_EXP_H

#include <stdint.h>
#include <string.h>

static inline float fl_pow2(int32_t n)
{
	int32_t bits = (n + 127) << 23;
	float f;

	memcpy(&f, &bits, sizeof f);
	return f;
}

static inline float fl_expf(float x)
{
	/* Beyond these the result is 0 or inf anyway. A NaN passes both tests. */
	float c = x > 89.0f ? 89.0f : x < -104.0f ? -104.0f : x;
	float t = c * 1.44269504f, n, r, p;
	int32_t i;

	t += t < 0 ? -0.5f : 0.5f;
	t = t == t ? t : 0.0f;
	i = (int32_t)t;
	n = (float)i;
	r = c - n * 0.693359375f;
	r = r + n * 2.12194440e-4f;
	p = 0.001393368816934526f;
	p = p * r + 0.008363205008208752f;
	p = p * r + 0.041666463017463684f;
	p = p * r + 0.16666576266288757f;
	p = p * r + 0.5f;
	p = p * r * r + r + 1.0f;
	return p * fl_pow2(i / 2) * fl_pow2(i - i / 2);
}

static inline float fl_tanhf(float x)
{
	float a = x < 0 ? -x : x, z = x * x, p = 0.0022958223707973957f, big;

	p = p * z - 0.008346959948539734f;
	p = p * z + 0.02176995389163494f;
	p = p * z - 0.053959403187036514f;
	p = p * z + 0.13333304226398468f;
	p = p * z - 0.3333333432674408f;
	p = p * z * x + x;
	big = 1.0f - 2.0f / (fl_expf(a > 20.0f ? 40.0f : a + a) + 1.0f);
	big = x < 0 ? -big : big;
	return a < 0.625f ? p : big;
}

#endif
