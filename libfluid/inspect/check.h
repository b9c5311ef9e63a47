/*
 * What is wrong with a program, or among the programs of one transpiled folder. A problem will
 * break a run; a note is what this build cannot judge (an operator that it does not know, an
 * attribute that the operator's definition does not list: programs of other releases have such).
 */
#ifndef FL_INSPECT_CHECK_H
#define FL_INSPECT_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/map.h"
#include "desc/program.h"

struct fl_report {
	bool strict; /* notes on operators are problems */
	size_t problems, notes;
	struct fl_buf text; /* a line each */
	struct fl_map seen; /* notes that were made already */
};

void fl_report_release(struct fl_report *r);
/* Enough lines: more are only counted, and nothing needs to be found out for their text. */
bool fl_report_full(const struct fl_report *r);
/* A line "NAME: block 0, op 3 'mul': what" (op NULL: "NAME: block 0: what"; block negative:
 * "NAME: what"). */
struct fl_place {
	const char *name; /* of the program */
	int block;
	size_t op_idx;
	const fl_pb_op *op;
	bool newer; /* of a release after 1.8, whose operators have other slots */
};
void fl_report_problem(struct fl_report *r, const struct fl_place *at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* `kind` says what the note is about; a second one of the same kind is left out. */
void fl_report_note(struct fl_report *r, const struct fl_place *at, const char *kind,
	const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* Structure, names, slots, attributes, dataflow and shapes of one program. */
void fl_check_program(const fl_pb_program *pb, const char *name, struct fl_report *r);

/* How a variable is seen from an operator (check_shape.c). `find` gives NULL where it is not
 * declared, and where its declaration says nothing: a variable that several operators write is
 * declared as the last of them left it. `is_read`: does any operator read it? */
struct fl_scope_view {
	const fl_pb_var *(*find)(const void *arg, const char *name);
	bool (*is_read)(const void *arg, const char *name);
	const void *arg;
};

/* Is the number of elements (unknown dimensions counted as 1) one that a machine can hold? */
bool fl_shape_fits(const fl_pb_tensor *t);

/* One operator against its definition: slots, attributes; shapes and types. */
void fl_check_op(const struct fl_place *at, struct fl_report *r);
void fl_check_shape(const struct fl_place *at, const struct fl_scope_view *view,
	struct fl_report *r);

/* A program of a folder, with its role by its file name (trainer-<i>.main.pb, pserver-<k>.main.pb,
 * also without the hyphen; others have none). */
struct fl_role_file {
	const char *name;
	const fl_pb_program *pb;
};
/* Across roles: every send has a receiver, every block a server, every barrier its partner. */
void fl_check_roles(const struct fl_role_file *files, size_t n, struct fl_report *r);

#endif
