/* Programs for people and tools to read. All functions append to *out. */
#ifndef FL_INSPECT_SHOW_H
#define FL_INSPECT_SHOW_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "desc/program.h"

/* What of a program is shown. */
struct fl_show {
	int32_t block;	/* -1: all */
	const char *op; /* only operators of that type; NULL: all */
};

/* One line an operator, one a variable (sorted by name): for reading, and for line-wise diff. */
void fl_show_text(const fl_pb_program *pb, const struct fl_show *what, struct fl_buf *out);
/* A Graphviz picture: operators are boxes, variables ellipses, sub-blocks clusters. */
void fl_show_dot(const fl_pb_program *pb, const struct fl_show *what, struct fl_buf *out);
/* Counts: operators by type and role, variables, parameters, bytes. */
void fl_show_stat(const fl_pb_program *pb, const struct fl_show *what, struct fl_buf *out);

/* Lossless JSON; fl_pack_json is its inverse. */
void fl_show_json(const fl_pb_program *pb, struct fl_buf *out);
/* Protobuf text format. */
void fl_show_proto(const fl_pb_program *pb, struct fl_buf *out);

/* A program of the shown parts alone, for the formats that have no indexes: shares all descriptors
 * with *prog, which must outlive it. Owned by the caller. */
struct fl_program *fl_show_part(const struct fl_program *prog, const struct fl_show *what);

/* Refuses a block that is not there (EINVAL), an operator type that is not there (ENOTFOUND, with
 * the nearest one that is). `name` is the program's. */
enum fl_code fl_show_check(const fl_pb_program *pb, const struct fl_show *what, const char *name,
	struct fl_err *err);

/* JSON text back to a program; *out is owned by the caller. EFORMAT says what is wrong and where
 * ("blocks[0].ops[3].type: ..."). */
enum fl_code fl_pack_json(const char *text, size_t len, const char *name, struct fl_program **out,
	struct fl_err *err);

#endif
