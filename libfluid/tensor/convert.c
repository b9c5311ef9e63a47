/*
 * Values go through a small buffer of doubles, or of 64-bit integers where both types are whole
 * and nothing is scaled; so n types need 2 n loops. Pictures (bytes to floats) have one of their own.
 */
#include "tensor/convert.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define CHUNK 256

bool fl_can_convert(int to, int from)
{
	return to == from || (to != FL_FP16 && from != FL_FP16 && fl_dtype_size(to) &&
				     fl_dtype_size(from));
}

#define LOAD(type)                                                                                 \
	for (size_t i = 0; i < n; i++)                                                             \
		out[i] = (out_type)((const type *)src)[at + i]
#define LOAD_ALL                                                                                   \
	switch (from) {                                                                            \
	case FL_BOOL:                                                                              \
	case FL_UINT8: LOAD(uint8_t); break;                                                       \
	case FL_INT8: LOAD(int8_t); break;                                                         \
	case FL_INT16: LOAD(int16_t); break;                                                       \
	case FL_INT32: LOAD(int32_t); break;                                                       \
	case FL_INT64: LOAD(int64_t); break;                                                       \
	case FL_SIZE_T: LOAD(uint64_t); break;                                                     \
	case FL_FP32: LOAD(float); break;                                                          \
	default: LOAD(double); break;                                                              \
	}

static void load_real(int from, const void *src, size_t at, size_t n, double *out)
{
	typedef double out_type;

	LOAD_ALL
}

static void load_whole(int from, const void *src, size_t at, size_t n, int64_t *out)
{
	typedef int64_t out_type;

	LOAD_ALL
}

/* The least and largest value of a whole type; as doubles, the largest is a bound not reached. */
static void bounds(int to, int64_t *min, int64_t *max)
{
	switch (to) {
	case FL_BOOL: *min = 0, *max = 1; break;
	case FL_UINT8: *min = 0, *max = UINT8_MAX; break;
	case FL_INT8: *min = INT8_MIN, *max = INT8_MAX; break;
	case FL_INT16: *min = INT16_MIN, *max = INT16_MAX; break;
	case FL_INT32: *min = INT32_MIN, *max = INT32_MAX; break;
	case FL_SIZE_T: *min = 0, *max = INT64_MAX; break;
	default: *min = INT64_MIN, *max = INT64_MAX; break;
	}
}

static void store_whole(int to, void *dst, size_t at, int64_t v)
{
	switch (to) {
	case FL_BOOL:
	case FL_UINT8: ((uint8_t *)dst)[at] = (uint8_t)v; break;
	case FL_INT8: ((int8_t *)dst)[at] = (int8_t)v; break;
	case FL_INT16: ((int16_t *)dst)[at] = (int16_t)v; break;
	case FL_INT32: ((int32_t *)dst)[at] = (int32_t)v; break;
	default: ((int64_t *)dst)[at] = v; break;
	}
}

static size_t store_wholes(int to, void *dst, size_t at, const int64_t *v, size_t n)
{
	int64_t min, max;

	bounds(to, &min, &max);
	for (size_t i = 0; i < n; i++) {
		if (v[i] < min || v[i] > max)
			return i;
		store_whole(to, dst, at + i, v[i]);
	}
	return n;
}

static size_t store_reals(int to, void *dst, size_t at, const double *v, size_t n)
{
	int64_t min, max;

	if (to == FL_FP32) {
		for (size_t i = 0; i < n; i++)
			((float *)dst)[at + i] = (float)v[i];
		return n;
	}
	if (to == FL_FP64) {
		memcpy((double *)dst + at, v, n * sizeof *v);
		return n;
	}
	bounds(to, &min, &max);
	for (size_t i = 0; i < n; i++) {
		double cut = trunc(v[i]);

		/* 2^63 is a double, INT64_MAX is not. */
		if (!(cut >= (double)min && (max == INT64_MAX ? cut < 0x1p63 : cut <= (double)max)))
			return i;
		store_whole(to, dst, at + i, (int64_t)cut);
	}
	return n;
}

size_t fl_convert(int to, void *dst, int from, const void *src, size_t n, double scale)
{
	bool whole = scale == 1 && !fl_dtype_is_float(to) && !fl_dtype_is_float(from);
	int64_t wholes[CHUNK];
	double reals[CHUNK];

	if (to == from && scale == 1) {
		memcpy(dst, src, n * fl_dtype_size(to));
		return n;
	}
	if (to == FL_FP32 && from == FL_UINT8) {
		for (size_t i = 0; i < n; i++)
			((float *)dst)[i] = (float)((const uint8_t *)src)[i] * (float)scale;
		return n;
	}
	for (size_t at = 0; at < n; at += CHUNK) {
		size_t k = n - at < CHUNK ? n - at : CHUNK, done;

		if (whole) {
			load_whole(from, src, at, k, wholes);
			done = store_wholes(to, dst, at, wholes, k);
		} else {
			load_real(from, src, at, k, reals);
			for (size_t i = 0; i < k; i++)
				reals[i] *= scale;
			done = store_reals(to, dst, at, reals, k);
		}
		if (done < k)
			return at + done;
	}
	return n;
}
