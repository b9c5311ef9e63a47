/*
 * Runs a fuzz target without libFuzzer: replay [-n N] FILE|FOLDER... gives it every file, and N
 * changed copies of each (100): cut short, bytes replaced, pieces moved. The changes are the same in
 * each run, so what fails fails again.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MAX_SIZE (64u << 10) /* larger seeds are only run as they are */

static uint64_t next(uint64_t *s)
{
	*s += 0x9e3779b97f4a7c15u;
	uint64_t z = *s;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static void one(const uint8_t *data, size_t n)
{
	uint8_t *copy = fl_xcalloc(1, n ? n : 1); /* of that very size: reading on is noticed */

	if (n)
		memcpy(copy, data, n);
	LLVMFuzzerTestOneInput(copy, n);
	fl_free(copy);
}

static size_t change(uint8_t *d, size_t n, uint64_t *s)
{
	static const uint8_t odd[] = { 0, 1, 0x7f, 0x80, 0xff };
	size_t from, to, len;

	switch (n ? next(s) % 4 : 4) {
	case 0: return next(s) % n;
	case 1: d[next(s) % n] = (uint8_t)next(s); break;
	case 2: d[next(s) % n] = odd[next(s) % sizeof odd]; break;
	case 3:
		from = next(s) % n;
		to = next(s) % n;
		len = next(s) % (n - (from > to ? from : to));
		memmove(d + to, d + from, len);
		break;
	default: break;
	}
	return n;
}

static void with_changes(const struct fl_buf *b, int times, size_t *ran)
{
	uint64_t s = b->len;
	uint8_t *d = fl_xcalloc(1, b->len + 1);

	one((const uint8_t *)fl_buf_str(b), b->len);
	++*ran;
	for (int i = 0; i < times && b->len <= MAX_SIZE; i++) {
		size_t n = b->len;

		memcpy(d, fl_buf_str(b), n);
		for (uint64_t k = next(&s) % 4 + 1; k; k--)
			n = change(d, n, &s);
		one(d, n);
		++*ran;
	}
	fl_free(d);
}

static bool run(const char *path, int times, size_t *ran)
{
	struct fl_buf b = FL_BUF_INIT;
	struct fl_err err = { 0 };
	struct dirent **list;
	bool ok = true;
	int n;

	if (!fl_is_dir(path)) {
		ok = !fl_file_read(path, 0, &b, &err);
		if (ok)
			with_changes(&b, times, ran);
		else
			fprintf(stderr, "replay: %s\n", err.msg);
		fl_buf_release(&b);
		return ok;
	}
	n = scandir(path, &list, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		char *sub = fl_xstrfmt("%s/%s", path, list[i]->d_name);

		if (list[i]->d_name[0] != '.')
			ok &= run(sub, times, ran);
		fl_free(sub);
		free(list[i]);
	}
	if (n >= 0)
		free(list);
	return ok;
}

int main(int argc, char **argv)
{
	int times = 100, first = 1;
	size_t ran = 0;
	bool ok = true;

	if (argc > 2 && !strcmp(argv[1], "-n")) {
		times = (int)strtol(argv[2], NULL, 10);
		first = 3;
	}
	for (int i = first; i < argc; i++)
		ok &= run(argv[i], times, &ran);
	printf("%zu inputs\n", ran);
	return ok && ran ? 0 : 1;
}
