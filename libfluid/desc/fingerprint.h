/*
 * A record in transpiled programs that tells what no operator says, and which programs belong
 * together. It is an unknown field (2047, bytes) of block 0, which real Fluid ignores. Its bytes are
 * a protobuf message (varints, but the hash):
 *
 *	1  version of this layout, 1          5  the trainer's or server's number
 *	2  role: 1 trainer, 2 server          6  hash (fixed64)
 *	3  mode: enum fl_dist_mode            7  geo: steps between two pushes
 *	4  number of trainers                 8  learning-rate steps: enum fl_lr_steps
 *
 * Fields that are not here are skipped, so later versions may add some.
 */
#ifndef FL_DESC_FINGERPRINT_H
#define FL_DESC_FINGERPRINT_H

#include <stdint.h>

#include "desc/program.h"

enum fl_dist_mode { FL_MODE_SYNC, FL_MODE_ASYNC, FL_MODE_HALF_ASYNC, FL_MODE_GEO, FL_MODE_COUNT };
enum fl_lr_steps { FL_LR_GLOBAL, FL_LR_PER_TRAINER, FL_LR_STEPS_COUNT };
enum fl_role_kind { FL_ROLE_TRAINER = 1, FL_ROLE_PSERVER = 2 };

struct fl_fingerprint {
	enum fl_role_kind role;
	enum fl_dist_mode mode;
	int trainers;
	int id;	       /* trainer id, or the server's place in the list of endpoints */
	uint64_t hash; /* of split, placement and mode: equal in all roles of one transpilation */
	int64_t geo_need_push_nums;
	enum fl_lr_steps lr_steps;
};

/* Puts the record into block 0, in place of one that is there. */
void fl_fingerprint_set(struct fl_program *prog, const struct fl_fingerprint *fp);

/* Reads it. ENOTFOUND: the program has none (real Fluid wrote it, or it was never transpiled);
 * EFORMAT: what is there is no such record, or of a version that this build does not know. */
enum fl_code fl_fingerprint_get(const struct fl_program *prog, struct fl_fingerprint *out,
	struct fl_err *err);

#endif
