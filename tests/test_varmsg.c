/* rpc/varmsg: the bytes of VariableMessage. The fixtures are F1 to F10 of the wire format's notes.
 */
#include <check.h>
#include <dirent.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/mem.h"
#include "desc/proto.h"
#include "fltest.h"
#include "rpc/varmsg.h"

Suite *suite_varmsg(void);

#define SIX  "00 00 80 3f 00 00 00 40 00 00 40 40 00 00 80 40 00 00 a0 40 00 00 c0 40"
#define ROWS "07 00 00 00 00 00 00 00 2a 00 00 00 00 00 00 00"
#define F1   "0a 06 77 40 47 52 41 44 18 05 22 02 02 03 60 01 42 18 " SIX
#define F2   "0a 06 65 40 47 52 41 44 10 01 18 05 22 02 02 03 38 64 60 01 42 18 " SIX " 4a 10 " ROWS
#define F3   "0a 06 77 40 47 52 41 44 10 00 18 05 20 02 20 03 42 18 " SIX
#define F4   "0a 06 65 40 47 52 41 44 10 01 18 05 20 02 20 03 28 00 38 64 42 18 " SIX " 4a 10 " ROWS
#define F5   "22 04 90 06 c8 01"
#define F6   "0a 01 77 52 01 77 60 01"
#define F7   "0a 12 42 41 54 43 48 5f 42 41 52 52 49 45 52 40 52 45 43 56"
#define F8   "0a 12 46 45 54 43 48 5f 42 41 52 52 49 45 52 40 52 45 43 56"
#define F9   "0a 0d 43 4f 4d 50 4c 45 54 45 40 52 45 43 56 60 01"
#define IDS                                                                                        \
	"05 00 00 00 00 00 00 00 04 00 00 00 00 00 00 00 03 00 00 00 00 00 00 00 "                 \
	"02 00 00 00 00 00 00 00 01 00 00 00 00 00 00 00"
#define F10 "0a 03 69 64 73 18 03 22 02 05 01 28 01 32 05 0a 03 00 02 05 42 28 " IDS

/* "0a 1f" to bytes. */
static void add_hex(struct fl_buf *b, const char *text)
{
	char *end;

	for (long v = strtol(text, &end, 16); end != text; v = strtol(text, &end, 16)) {
		fl_buf_addc(b, (char)v);
		text = end;
	}
}

/* Cuts the bytes into spans of `piece` bytes, each in memory of its own size, so that sanitizers
 * see a step too far. */
static struct fl_span *cut(const struct fl_buf *b, size_t piece, size_t *n)
{
	struct fl_span *spans = FL_NEW_N(struct fl_span, b->len / piece + 2);

	*n = 0;
	for (size_t at = 0; at < b->len; at += piece) {
		size_t len = b->len - at < piece ? b->len - at : piece;
		uint8_t *p = malloc(len);

		memcpy(p, b->data + at, len);
		spans[(*n)++] = (struct fl_span){ p, len };
	}
	return spans;
}

static void uncut(struct fl_span *spans, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free((void *)(uintptr_t)spans[i].p);
	fl_free(spans);
}

/* Decodes hex text and takes the value; in pieces of 1, 2, 3 ... bytes. */
static enum fl_code decode(
	const char *hex, size_t piece, struct fl_varmsg *m, struct fl_var *var, struct fl_err *err)
{
	struct fl_buf b = FL_BUF_INIT;
	struct fl_span *spans;
	enum fl_code code;
	size_t n;

	add_hex(&b, hex);
	spans = cut(&b, piece, &n);
	code = fl_varmsg_decode(spans, n, m, err);
	if (!code && var) {
		code = fl_varmsg_take(m, spans, n, NULL, var, err);
		if (code)
			fl_varmsg_release(m);
	}
	uncut(spans, n);
	fl_buf_release(&b);
	return code;
}

static void add_parts(struct fl_buf *b, const struct fl_varmsg_parts *parts)
{
	fl_buf_add(b, parts->head.data, parts->head.len);
	fl_buf_add(b, parts->payload, parts->n_payload);
	fl_buf_add(b, parts->tail.data, parts->tail.len);
}

/* Encodes again what was decoded. */
static void encode(struct fl_varmsg *m, const struct fl_var *var, struct fl_buf *b)
{
	struct fl_varmsg_parts parts;
	struct fl_err err = { 0 };

	if (!var) {
		fl_varmsg_encode_header(m, b);
		return;
	}
	ck_assert_msg(!fl_varmsg_encode(m, var, &parts, &err), "%s", err.msg);
	add_parts(b, &parts);
	fl_varmsg_parts_release(&parts);
}

static void assert_hex(const struct fl_buf *b, const char *hex)
{
	struct fl_buf want = FL_BUF_INIT;

	add_hex(&want, hex);
	ck_assert_uint_eq(b->len, want.len);
	ck_assert_mem_eq(b->data, want.data, want.len);
	fl_buf_release(&want);
}

static const struct {
	const char *hex;
	const char *again; /* what we write for it; NULL: the same */
	bool value;
} fixtures[] = {
	{ F1, NULL, true },
	{ F2, NULL, true },
	{ F3, "0a 06 77 40 47 52 41 44 18 05 22 02 02 03 42 18 " SIX, true },
	{ F4, "0a 06 65 40 47 52 41 44 10 01 18 05 22 02 02 03 38 64 42 18 " SIX " 4a 10 " ROWS,
		true },
	{ F5, NULL, false },
	{ F6, NULL, false },
	{ F7, NULL, false },
	{ F8, NULL, false },
	{ F9, NULL, false },
	{ F10, NULL, true },
};

START_TEST(test_varmsg_fixture_is_read_and_written)
{
	for (size_t piece = 1; piece < 80; piece++) {
		struct fl_var *var = fl_var_new("v", FL_LOD_TENSOR);
		struct fl_buf b = FL_BUF_INIT;
		struct fl_err err = { 0 };
		struct fl_varmsg m;
		bool value = fixtures[_i].value;

		ck_assert_msg(!decode(fixtures[_i].hex, piece, &m, value ? var : NULL, &err), "%s",
			err.msg);
		encode(&m, value ? var : NULL, &b);
		assert_hex(&b, fixtures[_i].again ? fixtures[_i].again : fixtures[_i].hex);
		fl_varmsg_release(&m);
		fl_buf_release(&b);
		fl_var_free(var);
	}
}
END_TEST

START_TEST(test_varmsg_values_arrive)
{
	struct fl_var *var = fl_var_new("v", FL_LOD_TENSOR);
	struct fl_err err = { 0 };
	struct fl_varmsg m;

	ck_assert_int_eq(decode(F2, 5, &m, var, &err), FL_OK);
	ck_assert_str_eq(m.varname, "e@GRAD");
	ck_assert(m.has_trainer_id && m.trainer_id == 1);
	ck_assert_int_eq(var->kind, FL_SELECTED_ROWS);
	ck_assert_int_eq(var->rows.height, 100);
	ck_assert_uint_eq(var->rows.n, 2);
	ck_assert(var->rows.rows[0] == 7 && var->rows.rows[1] == 42);
	for (int i = 0; i < 6; i++)
		ck_assert_float_eq(((float *)fl_data(&var->rows.value))[i], (float)(i + 1));
	fl_varmsg_release(&m);
	ck_assert_int_eq(decode(F10, 5, &m, var, &err), FL_OK);
	ck_assert_int_eq(var->kind, FL_LOD_TENSOR);
	ck_assert_int_eq(var->tensor.dtype, FL_INT64);
	ck_assert_int_eq(var->tensor.lod.n, 1);
	ck_assert_uint_eq(var->tensor.lod.level[0].off[1], 2);
	fl_varmsg_release(&m);
	fl_var_free(var);
}
END_TEST

START_TEST(test_varmsg_payload_is_shared_not_copied)
{
	struct fl_var *var = fl_var_new("v", FL_LOD_TENSOR);
	struct fl_varmsg_parts parts;
	struct fl_err err = { 0 };
	struct fl_varmsg m;

	ck_assert_int_eq(decode(F1, 100, &m, var, &err), FL_OK);
	ck_assert_int_eq(fl_varmsg_encode(&m, var, &parts, &err), FL_OK);
	ck_assert_ptr_eq(parts.payload, fl_data(&var->tensor));
	ck_assert_uint_eq(atomic_load(&var->tensor.mem->refs), 2);
	fl_varmsg_parts_release(&parts);
	ck_assert_uint_eq(atomic_load(&var->tensor.mem->refs), 1);
	fl_varmsg_release(&m);
	fl_var_free(var);
}
END_TEST

#define W     "0a 01 77 "
#define NINES "ff ff ff ff ff ff ff ff ff "

/* Read as they are, though no stock sender writes them so. */
static const char *const tolerated[] = {
	"18 05 22 01 01 " W "42 04 00 00 80 3f",                      /* 1 after 3 and 4 */
	W "18 05 22 01 01 42 04 00 00 80 3f 52 01 77 60 01",          /* 10 and 12 after 8 */
	W "18 05 22 01 01 78 01 f2 01 03 aa bb cc 42 04 00 00 80 3f", /* fields 15 and 30 */
	W "18 05 22 01 01 79 01 02 03 04 05 06 07 08 7d 01 02 03 04 42 04 00 00 80 3f", /* fixed */
	W "18 05 22 01 01 28 01 32 04 08 00 08 01 42 04 00 00 80 3f", /* lod_data unpacked */
	W "22 02 01 03 42 03 01 00 01",                               /* BOOL: no field 3 */
	W "10 01 18 05 22 02 00 04 38 09 42 00 4a 00",                /* no rows */
	W "10 01 18 05 22 02 00 04 38 09", /* no rows, empty fields left out */
	W "18 05 22 02 00 04",             /* no items */
};

START_TEST(test_varmsg_tolerates)
{
	struct fl_var *var = fl_var_new("v", FL_LOD_TENSOR);
	struct fl_err err = { 0 };
	struct fl_varmsg m;

	for (size_t piece = 1; piece < 12; piece++) {
		ck_assert_msg(!decode(tolerated[_i], piece, &m, var, &err), "%s", err.msg);
		ck_assert_str_eq(m.varname, "w");
		fl_varmsg_release(&m);
	}
	fl_var_free(var);
}
END_TEST

static const struct {
	const char *hex;
	enum fl_code code;
	const char *says;
} refused[] = {
	{ "42 04 00 00 80 3f " W "18 05 22 01 01", FL_EFORMAT,
		"the payload comes before the name" },
	{ W "18 05 42 04 00 00 80 3f 22 01 01", FL_EFORMAT, "comes after the payload" },
	{ W "18 05 22 01 00 4a 00 42 00", FL_EFORMAT, "the payload comes after the rows" },
	{ W "18 05 22 01 01 42 04 00 00 80 3f 42 00", FL_EFORMAT, "a second payload" },
	{ W "18 05 22 01 01 42 05 00 00 80 3f", FL_EFORMAT, "longer than the message" },
	{ W "18 05 22 01 01 42 ff ff ff ff 0f 00", FL_EFORMAT, "longer than the message" },
	{ W "42 " NINES "7f", FL_EFORMAT, "longer than the message" },
	{ W "18 " NINES NINES, FL_EFORMAT, "over-long number" },
	{ W "18 85", FL_EFORMAT, "over-long number" },
	{ "0a 03 77", FL_EFORMAT, "longer than the message" },
	{ "0a 02 77 00", FL_EFORMAT, "zero byte" },
	{ "08 01", FL_EFORMAT, "wrong wire type" },
	{ W "25 00 00 00 00", FL_EFORMAT, "wrong wire type" },
	{ "02 00", FL_EFORMAT, "bad tag" },
	{ W "7b 00", FL_EFORMAT, "unknown wire type" },
	{ W "79 00 00", FL_EFORMAT, "cut field" },
	{ W "10 07", FL_EINVAL, "kind 7" },
	{ W "22 0b 01 01 01 01 01 01 01 01 01 01 01", FL_ELIMIT, "dimensions" },
	{ W "22 0a " NINES "01", FL_EFORMAT, "negative dimension" },
	{ W "28 09", FL_EINVAL, "LoD level 9" },
	{ W "32 03 0a 03 00", FL_EFORMAT, "LoD" },
	/* Well formed, but the sizes do not agree. */
	{ W "18 05 22 01 02 42 04 00 00 80 3f", FL_EINVAL, "has 4 bytes of payload" },
	{ W "18 05 22 01 01 42 08 00 00 80 3f 00 00 80 3f", FL_EINVAL, "has 8 bytes of payload" },
	{ W "18 05 22 01 01", FL_EINVAL, "has 0 bytes of payload" },
	{ W "18 05 42 04 00 00 80 3f", FL_EINVAL, "carries no value" },
	{ W "18 09 22 01 01 42 04 00 00 80 3f", FL_EUNSUPPORTED, "element type 9" },
	{ W "10 02 42 01 00", FL_EUNSUPPORTED, "NCCL" },
	{ W "18 05 22 12 ff ff ff ff ff ff ff ff 7f ff ff ff ff ff ff ff ff 7f 42 00", FL_ELIMIT,
		"w" },
	{ W "18 05 22 02 02 01 28 01 32 05 0a 03 00 02 01 42 08 00 00 80 3f 00 00 80 3f", FL_EINVAL,
		"" },
	{ W "18 05 22 02 02 01 28 01 32 05 0a 03 00 01 03 42 08 00 00 80 3f 00 00 80 3f", FL_EINVAL,
		"" },
	{ W "18 05 22 01 01 28 02 32 04 0a 02 00 01 42 04 00 00 80 3f", FL_EINVAL, "announces 2" },
	{ W "10 01 18 05 22 02 01 01 38 09 42 04 00 00 80 3f 4a 07 01 00 00 00 00 00 00", FL_EINVAL,
		"row numbers" },
	{ W "10 01 18 05 22 02 01 01 38 09 42 04 00 00 80 3f", FL_EINVAL, "row numbers" },
	{ W "10 01 18 05 22 02 01 01 38 09 42 04 00 00 80 3f 4a 08 09 00 00 00 00 00 00 00",
		FL_EINVAL, "row 9 in a height of 9" },
	{ W "10 01 18 05 22 02 01 01 38 09 42 04 00 00 80 3f 4a 08 ff ff ff ff ff ff ff ff",
		FL_EINVAL, "row -1" },
	{ W "18 05 22 01 01 42 04 00 00 80 3f 4a 08 00 00 00 00 00 00 00 00", FL_EINVAL, "dense" },
};

START_TEST(test_varmsg_refuses_and_leaves_the_variable)
{
	struct fl_var *var = fl_var_new("v", FL_LOD_TENSOR);
	struct fl_err err = { 0 };
	struct fl_varmsg m;

	for (size_t piece = 1; piece < 12; piece++) {
		ck_assert_int_eq(decode(F1, 7, &m, var, &err), FL_OK);
		fl_varmsg_release(&m);
		ck_assert_int_eq(decode(refused[_i].hex, piece, &m, var, &err), refused[_i].code);
		ck_assert_msg(strstr(err.msg, refused[_i].says) != NULL, "%s", err.msg);
		ck_assert_int_eq(var->kind, FL_LOD_TENSOR);
		ck_assert(var->tensor.rank == 2 && var->tensor.dims[0] == 2 &&
			  var->tensor.dims[1] == 3);
		ck_assert_float_eq(((float *)fl_data(&var->tensor))[5], 6);
	}
	fl_var_free(var);
}
END_TEST

START_TEST(test_varmsg_limits_of_names)
{
	struct fl_buf name = FL_BUF_INIT, b = FL_BUF_INIT;
	struct fl_varmsg m = { 0 };
	struct fl_err err = { 0 };
	struct fl_span span;

	for (size_t i = 0; i < 2000; i++)
		fl_buf_addc(&name, 'n');
	m.varname = name.data;
	fl_varmsg_encode_header(&m, &b);
	span = (struct fl_span){ (uint8_t *)b.data, b.len };
	ck_assert_int_eq(fl_varmsg_decode(&span, 1, &m, &err), FL_OK);
	ck_assert_str_eq(m.varname, name.data);
	fl_varmsg_release(&m);
	while (name.len <= FL_VARMSG_MAX_NAME)
		fl_buf_addc(&name, 'n');
	m = (struct fl_varmsg){ .varname = name.data };
	fl_buf_clear(&b);
	fl_varmsg_encode_header(&m, &b);
	span = (struct fl_span){ (uint8_t *)b.data, b.len };
	ck_assert_int_eq(fl_varmsg_decode(&span, 1, &m, &err), FL_ELIMIT);
	fl_buf_release(&name);
	fl_buf_release(&b);
}
END_TEST

START_TEST(test_varmsg_what_cannot_travel)
{
	struct fl_var *var = fl_var_new("nothing", FL_LOD_TENSOR);
	int64_t big = (int64_t)1 << 31;
	struct fl_varmsg m = { 0 };
	struct fl_varmsg_parts parts;
	struct fl_err err = { 0 };

	ck_assert_int_eq(fl_varmsg_encode(&m, var, &parts, &err), FL_ESTATE);
	ck_assert_str_eq(err.msg, "variable 'nothing' holds no value");
	/* The pages of so large a tensor are never touched. */
	ck_assert_int_eq(fl_tensor_resize(&var->tensor, FL_INT8, &big, 1, &err), FL_OK);
	ck_assert_int_eq(fl_varmsg_encode(&m, var, &parts, &err), FL_ELIMIT);
	fl_varmsg_release(&m);
	fl_var_free(var);
}
END_TEST

/* Every recorded request and reply, decoded and encoded, is the same bytes. */
static void round_trip(const char *path)
{
	struct fl_var *var = fl_var_new("v", FL_LOD_TENSOR);
	struct fl_buf in = FL_BUF_INIT, out = FL_BUF_INIT;
	struct fl_err err = { 0 };
	struct fl_span *spans;
	struct fl_varmsg m;
	size_t n;

	ck_assert_msg(!fl_file_read(path, 0, &in, &err), "%s", err.msg);
	spans = cut(&in, 61, &n);
	ck_assert_msg(!fl_varmsg_decode(spans, n, &m, &err), "%s: %s", path, err.msg);
	if (m.payload != SIZE_MAX)
		ck_assert_msg(
			!fl_varmsg_take(&m, spans, n, NULL, var, &err), "%s: %s", path, err.msg);
	encode(&m, m.payload != SIZE_MAX ? var : NULL, &out);
	ck_assert_msg(in.len == out.len && !memcmp(fl_buf_str(&in), fl_buf_str(&out), in.len), "%s",
		path);
	fl_varmsg_release(&m);
	uncut(spans, n);
	fl_buf_release(&in);
	fl_buf_release(&out);
	fl_var_free(var);
}

static size_t round_trips(const char *folder)
{
	DIR *dir = opendir(folder);
	const struct dirent *e;
	size_t n = 0;

	while (dir && (e = readdir(dir)) != NULL) {
		const char *dot = strrchr(e->d_name, '.');
		char *path;

		if (!dot || (strcmp(dot, ".request") && strcmp(dot, ".reply")))
			continue;
		path = fl_xstrfmt("%s/%s", folder, e->d_name);
		round_trip(path);
		fl_free(path);
		n++;
	}
	if (dir)
		closedir(dir);
	return n;
}

START_TEST(test_varmsg_recorded_bytes_round_trip)
{
	const char *golden = getenv("FLUID_GOLDEN");
	char *folder = fl_xstrfmt("%s/wire", golden ? golden : "../shared/golden");
	DIR *dir = opendir(folder);
	const struct dirent *e;
	size_t n = 0;

	/* Where there are no recordings the fixtures above have to do. */
	while (dir && (e = readdir(dir)) != NULL) {
		char *path = fl_xstrfmt("%s/%s", folder, e->d_name);

		if (e->d_name[0] != '.')
			n += round_trips(path);
		fl_free(path);
	}
	if (dir) {
		closedir(dir);
		ck_assert_uint_gt(n, 0);
	}
	fl_free(folder);
}
END_TEST

Suite *suite_varmsg(void)
{
	Suite *s = suite_create("varmsg");
	TCase *t = tcase_create("varmsg");

	tcase_set_timeout(t, FT_TIMEOUT);
	tcase_add_loop_test(t, test_varmsg_fixture_is_read_and_written, 0, (int)FL_COUNT(fixtures));
	tcase_add_test(t, test_varmsg_values_arrive);
	tcase_add_test(t, test_varmsg_payload_is_shared_not_copied);
	tcase_add_loop_test(t, test_varmsg_tolerates, 0, (int)FL_COUNT(tolerated));
	tcase_add_loop_test(
		t, test_varmsg_refuses_and_leaves_the_variable, 0, (int)FL_COUNT(refused));
	tcase_add_test(t, test_varmsg_limits_of_names);
	tcase_add_test(t, test_varmsg_what_cannot_travel);
	tcase_add_test(t, test_varmsg_recorded_bytes_round_trip);
	suite_add_tcase(s, t);
	return s;
}
