/*
 * Data files as samples. A data file is read whole into one tensor: npy, IDX (both also gzipped),
 * CSV or TSV, or a LoDTensor stream; which of them, the first bytes say. Sample k is row k, or,
 * of a stream with LoD, sequence k of the coarsest level. A batch is a selection of samples,
 * converted to what the program's data variable declares.
 */
#ifndef FL_TENSOR_DATASET_H
#define FL_TENSOR_DATASET_H

#include "desc/program.h"
#include "tensor/var.h"

/* NAME=FILE[,key=value...] */
struct fl_data_spec {
	char *name, *file;    /* owned */
	int dtype;	      /* of the text, or to convert to; -1: as the variable declares */
	double scale;	      /* each value is multiplied by it */
	int64_t shape[FL_MAX_RANK]; /* of one sample */
	int rank;	      /* -1: as the variable declares */
	char *columns;	      /* of text: "0-12", "1,3"; owned; NULL: all */
	int64_t skip;	      /* lines of text, or samples of the others, before the first */
};

/* Parses the value of --feed. EINVAL names the key. Release it with fl_data_spec_release, also
 * after a failure. */
enum fl_code fl_data_spec_parse(struct fl_data_spec *s, const char *text, struct fl_err *err);
void fl_data_spec_release(struct fl_data_spec *s);

struct fl_data;

/* Reads the file. Errors say name, file, expected and found. `decl` is the data variable; it is
 * borrowed for the life of the data. *out is owned by the caller. */
enum fl_code fl_data_open(const struct fl_data_spec *s, const fl_pb_var *decl, struct fl_data **out,
	struct fl_err *err);
void fl_data_close(struct fl_data *d);
int64_t fl_data_samples(const struct fl_data *d);
/* The samples at[0..n), in that order, as a batch. */
enum fl_code fl_data_batch(const struct fl_data *d, const int64_t *at, size_t n,
	struct fl_tensor *out, struct fl_err *err);

/* Has the value the dtype and shape that a checked data variable (need_check_feed) declares? */
enum fl_code fl_data_check(const fl_pb_var *decl, const struct fl_var *value, const char *file,
	struct fl_err *err);

/* Which samples are ours, and in which order. */
struct fl_order {
	int64_t *at; /* owned */
	size_t n;
	int64_t trainer, trainers;
};

/* Samples k of [0, samples) with k mod trainers = trainer, in their order. */
void fl_order_init(struct fl_order *o, int64_t samples, int64_t trainer, int64_t trainers);
/* The order of an epoch: the same for the same seed and epoch, on all machines. */
void fl_order_shuffle(struct fl_order *o, uint64_t seed, uint64_t epoch);
void fl_order_release(struct fl_order *o);

#endif
