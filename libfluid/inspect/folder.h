/* The programs of a folder (transpiled roles). */
#ifndef FL_INSPECT_FOLDER_H
#define FL_INSPECT_FOLDER_H

#include <stddef.h>

#include "base/err.h"

struct fl_names {
	char **at; /* owned */
	size_t n, cap;
};

/* The paths below `dir` (relative to it, in fl_names_order) of all files that end in ".pb", at any depth up to
 * 16; links to folders are not followed. */
enum fl_code fl_folder_programs(const char *dir, struct fl_names *out, struct fl_err *err);
/* "dir/name", owned by the caller; no second slash where dir ends in one. */
char *fl_path_join(const char *dir, const char *name);
/* Files of one folder are neighbours: by folder, then by name. */
int fl_names_order(const char *a, const char *b);
void fl_names_release(struct fl_names *names);

#endif
