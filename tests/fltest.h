/*
 * What the unit tests share. FT_OK and FT_FAIL take a call whose last argument is `&err`, with a
 * `struct fl_err err` in scope, and print code and message where it did not go as it should.
 */
#ifndef FL_TESTS_FLTEST_H
#define FL_TESTS_FLTEST_H

#include <check.h>
#include <math.h>

#include "base/err.h"
#include "tensor/tensor.h"

/* Seconds for a test case that says nothing else: Check's own 4 s are too few under a sanitizer. */
#define FT_TIMEOUT 60

#define FT_OK(call)                                                                                \
	do {                                                                                       \
		enum fl_code ft_code_ = (call);                                                    \
		ck_assert_msg(ft_code_ == FL_OK, "%s: %s: %s", #call, fl_code_name(ft_code_),      \
			ft_code_ == FL_OK ? "" : err.msg);                                         \
	} while (0)

/* The call fails with that code, and says something. */
#define FT_FAIL(call, code_wanted)                                                                 \
	do {                                                                                       \
		enum fl_code ft_code_ = (call);                                                    \
		ck_assert_msg(ft_code_ == (code_wanted), "%s: %s instead of %s: %s", #call,        \
			fl_code_name(ft_code_), fl_code_name(code_wanted),                         \
			ft_code_ == FL_OK ? "" : err.msg);                                         \
		ck_assert_msg(err.msg[0] != '\0', "%s: no message", #call);                        \
	} while (0)

/* The message of the last failure holds that text. */
#define FT_SAYS(text)                                                                              \
	ck_assert_msg(strstr(err.msg, text) != NULL, "'%s' is not in: %s", text, err.msg)

/*
 * Same type, shape and LoD, and each element within tol x max(1, |wanted|); NaN equals NaN, and
 * infinities are equal when their signs are. Integers and bools are compared exactly.
 */
#define FT_TENSOR_NEAR(got, wanted, tol) ft_tensor_near(__FILE__, __LINE__, got, wanted, tol)
void ft_tensor_near(const char *file, int line, const struct fl_tensor *got,
	const struct fl_tensor *wanted, double tol);

#endif
