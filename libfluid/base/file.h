/* Whole files: read with a limit, written so that they appear whole or not at all. */
#ifndef FL_BASE_FILE_H
#define FL_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

/* Appends the file's bytes to *out. "-" is standard input. `limit` bounds the size (0: none). */
enum fl_code fl_file_read(const char *path, size_t limit, struct fl_buf *out, struct fl_err *err);

/* Writes through a temporary name in the same folder and renames; an existing file is replaced.
 * "-" is standard output, a path that is no regular file (a pipe, /dev/null) is written directly. */
enum fl_code fl_file_write(const char *path, const void *data, size_t len, struct fl_err *err);

/* Makes the folder and those above it, as mkdir -p. */
enum fl_code fl_mkdirs(const char *path, struct fl_err *err);
/* The same for the folder that holds `path`. */
enum fl_code fl_mkdirs_for(const char *path, struct fl_err *err);

bool fl_is_dir(const char *path);
bool fl_is_file(const char *path);

#endif
