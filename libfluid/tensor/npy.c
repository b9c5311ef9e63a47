/*
 * NumPy's .npy: "\x93NUMPY", major, minor, size of the header (u16 in format 1, else u32), the
 * header, then the data. The header is a Python dictionary:
 * {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
 */
#include "tensor/readers.h"

#include <ctype.h>
#include <string.h>

bool fl_is_npy(const void *p, size_t n)
{
	return n >= 10 && !memcmp(p, "\x93NUMPY", 6);
}

struct header {
	int dtype;
	bool swap, fortran;
	int64_t dims[FL_MAX_RANK];
	int rank;
};

/* Behind "'key':" and blanks, or NULL. */
static const char *find_key(const char *s, const char *end, const char *key)
{
	size_t n = strlen(key);

	for (; s + n + 2 < end; s++) {
		if ((*s != '\'' && *s != '"') || memcmp(s + 1, key, n) || s[n + 1] != *s)
			continue;
		s += n + 2;
		while (s < end && (*s == ' ' || *s == ':'))
			s++;
		return s;
	}
	return NULL;
}

static bool read_descr(const char *s, const char *end, struct header *h)
{
	char type[4] = "";

	if (!s || end - s < 6 || (*s != '\'' && *s != '"') || s[4] != *s)
		return false;
	memcpy(type, s + 2, 2);
	/* u8 is our SIZE_T; what has no type here is refused rather than read as another one. */
	h->dtype = fl_dtype_parse(type);
	h->swap = s[1] == '>';
	return h->dtype >= 0 && strchr("<>|=", s[1]);
}

static bool read_shape(const char *s, const char *end, struct header *h)
{
	if (!s || s >= end || *s++ != '(')
		return false;
	while (s < end && *s != ')') {
		int64_t v = 0;

		if (*s == ' ' || *s == ',' || *s == 'L') {
			s++;
			continue;
		}
		if (!isdigit((unsigned char)*s) || h->rank == FL_MAX_RANK)
			return false;
		for (; s < end && isdigit((unsigned char)*s); s++)
			if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *s - '0', &v))
				return false;
		h->dims[h->rank++] = v;
	}
	return s < end;
}

static enum fl_code read_header(const char *s, const char *end, const char *name, struct header *h,
	struct fl_err *err)
{
	const char *order = find_key(s, end, "fortran_order"), *descr = find_key(s, end, "descr");

	if (!read_descr(descr, end, h))
		return fl_err_set(err, FL_EUNSUPPORTED,
			"'%s': cannot read elements of type %.*s (bool, i1, i2, i4, i8, u1, f2, f4, f8 are "
			"possible)", name, descr ? (int)(end - descr > 6 ? 6 : end - descr) : 1,
			descr ? descr : "?");
	if (!read_shape(find_key(s, end, "shape"), end, h))
		return fl_err_set(err, FL_EFORMAT, "'%s': malformed shape in the npy header", name);
	if (!order)
		return fl_err_set(err, FL_EFORMAT, "'%s': no fortran_order in the npy header", name);
	if (*order == 'T' && h->rank > 1)
		return fl_err_set(err, FL_EUNSUPPORTED,
			"'%s' is in Fortran order, save it from np.ascontiguousarray", name);
	return FL_OK;
}

enum fl_code fl_read_npy(const void *p, size_t n, const char *name, struct fl_tensor *t,
	struct fl_err *err)
{
	const uint8_t *b = p;
	struct header h = { .dtype = -1 };
	size_t at = 10, size, bytes;

	if (fl_is_npy(p, n) && b[6] > 1)
		at = 12;
	if (!fl_is_npy(p, n) || n < at || b[6] < 1 || b[6] > 3)
		return fl_err_set(err, FL_EFORMAT, "'%s' is no npy file of format 1 to 3", name);
	size = (size_t)b[8] | (size_t)b[9] << 8;
	if (at == 12)
		size |= (size_t)b[10] << 16 | (size_t)b[11] << 24;
	if (size > n - at)
		return fl_err_set(err, FL_EFORMAT, "'%s': the npy header is cut short", name);
	FL_TRY(read_header((const char *)b + at, (const char *)b + at + size, name, &h, err));
	at += size;
	if (fl_shape_bytes(h.dtype, h.dims, h.rank, &bytes, err) != FL_OK)
		return fl_err_wrap(err, "'%s'", name);
	if (bytes != n - at)
		return fl_err_set(err, FL_EFORMAT, "'%s': %zu bytes of data, the shape needs %zu", name,
			n - at, bytes);
	FL_TRY(fl_tensor_resize(t, h.dtype, h.dims, h.rank, err));
	memcpy(fl_data(t), b + at, bytes);
	if (h.swap)
		fl_swap_bytes(fl_data(t), (size_t)fl_numel(t), fl_dtype_size(h.dtype));
	return FL_OK;
}
