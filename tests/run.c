/*
 * The unit tests: the table of suites, in the order of the layers. A suite `x` is suite_x() of
 * tests/test_x.c. Arguments choose suites by substring of their name; Check's own environment
 * variables (CK_RUN_CASE, CK_FORK, ...) work too. Check's closing line is the last that is printed.
 */
#include <check.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define SUITES(XX)                                                                                 \
	XX(base)                                                                                   \
	XX(json)                                                                                   \
	XX(edit)                                                                                   \
	XX(pack)                                                                                   \
	XX(scan)                                                                                   \
	XX(show)                                                                                   \
	XX(diff)                                                                                   \
	XX(check)                                                                                  \
	XX(prune)                                                                                  \
	XX(fingerprint)                                                                            \
	XX(slice)                                                                                  \
	XX(transpile)                                                                              \
	XX(ops)                                                                                    \
	XX(kernels)                                                                                \
	XX(tensor)                                                                                 \
	XX(stream)                                                                                 \
	XX(dataset)                                                                                \
	XX(scope)                                                                                  \
	XX(frame)                                                                                  \
	XX(fluid)                                                                                  \
	XX(varmsg)                                                                                 \
	XX(rpc)                                                                                    \
	XX(pserver_sync)                                                                           \
	XX(pserver_async)                                                                          \
	XX(pserver_run)

#define DECLARE(name) Suite *suite_##name(void);
SUITES(DECLARE)
#undef DECLARE

static const struct {
	const char *name;
	Suite *(*make)(void);
} suites[] = {
#define ROW(name) { #name, suite_##name },
	SUITES(ROW)
#undef ROW
};

static bool chosen(const char *name, int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strstr(name, argv[i]))
			return true;
	return argc < 2;
}

int main(int argc, char **argv)
{
	SRunner *runner = NULL;
	int failed;

	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < sizeof suites / sizeof *suites; i++) {
		if (!chosen(suites[i].name, argc, argv))
			continue;
		if (runner)
			srunner_add_suite(runner, suites[i].make());
		else
			runner = srunner_create(suites[i].make());
	}
	if (!runner) {
		fprintf(stderr, "no suite of that name\n");
		return 2;
	}
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
