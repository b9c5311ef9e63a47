/*
 * Errors are values: a code and one complete sentence. A fallible function returns the code
 * (0 = FL_OK) and takes `struct fl_err *err` last; it is set once, and untouched on success.
 * Text: lower case, no full stop, the subject in single quotes.
 */
#ifndef FL_BASE_ERR_H
#define FL_BASE_ERR_H

#include <stddef.h>

/* code, text */
#define FL_ERR_MAP(XX)                                                                             \
	XX(OK, "ok")                                                                               \
	XX(EINVAL, "invalid argument")                                                             \
	XX(EFORMAT, "malformed input")                                                             \
	XX(ENOTFOUND, "not found")                                                                 \
	XX(EEXIST, "exists already")                                                               \
	XX(EIO, "input or output failed")                                                          \
	XX(ELIMIT, "over a limit")                                                                 \
	XX(ENOMEM, "out of memory")                                                                \
	XX(EUNSUPPORTED, "not supported")                                                          \
	XX(ESTATE, "wrong state")                                                                  \
	XX(EPEER, "peer refused")                                                                  \
	XX(ELOST, "peer lost")                                                                     \
	XX(EDEADLINE, "deadline passed")                                                           \
	XX(ECANCELED, "canceled")

enum fl_code {
#define FL_ERR_ENUM(name, text) FL_##name,
	FL_ERR_MAP(FL_ERR_ENUM)
#undef FL_ERR_ENUM
	FL_CODE_COUNT
};

#define FL_ERR_MAX 512

struct fl_err {
	enum fl_code code;
	char msg[FL_ERR_MAX];
};

/* The code's name without prefix ("EFORMAT") and its text ("malformed input"); never NULL. */
const char *fl_code_name(enum fl_code code);
const char *fl_code_text(enum fl_code code);

/* Sets *err (NULL is allowed) and returns `code`, so that callers write `return fl_err_set(...)`.
 * Over-long messages end in "...". */
enum fl_code fl_err_set(struct fl_err *err, enum fl_code code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Puts context before the message ("block 0, op 3 'mul': ...") and returns the code in *err. */
enum fl_code fl_err_wrap(struct fl_err *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Returns early with the code of a failed call. */
#define FL_TRY(call)                                                                               \
	do {                                                                                       \
		enum fl_code fl_try_code_ = (call);                                                \
		if (fl_try_code_ != FL_OK)                                                         \
			return fl_try_code_;                                                       \
	} while (0)

/* Aborts with file and line: for our own mistakes only, never for files, peers or memory sizes. */
#define FL_BUG(text) fl_bug(__FILE__, __LINE__, text)
_Noreturn void fl_bug(const char *file, int line, const char *text);

#endif
