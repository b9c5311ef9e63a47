/* How names, attributes, variables and operators read: the one style of show, diff and check. */
#ifndef FL_INSPECT_TEXT_H
#define FL_INSPECT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "desc/program.h"

/* A name as it is, or in quotes where it holds blanks, quotes, brackets or control characters. */
void fl_text_name(struct fl_buf *b, const char *s);
/* In double quotes; bytes that are not UTF-8, and control characters, become \xNN. */
void fl_text_quoted(struct fl_buf *b, const void *s, size_t n);
/* The shortest decimal that reads back to the same float. */
void fl_text_f32(struct fl_buf *b, float v);

/* "FP32", "LOD_TENSOR"; "type 77" for numbers that nobody knows. */
void fl_text_type(struct fl_buf *b, int type);
void fl_text_attr_type(struct fl_buf *b, int type);
/* "1", "[1, 2]", "\"text\"", "true", "block 1" */
void fl_text_value(struct fl_buf *b, const fl_pb_attr *a);
/* "forward", "backward|loss" */
void fl_text_role(struct fl_buf *b, int role);
/* "[784, 128]" */
void fl_text_dims(struct fl_buf *b, const int64_t *dims, size_t n);
/* "LOD_TENSOR FP32 [-1, 13] lod=1 persistable", without the name */
void fl_text_var(struct fl_buf *b, const fl_pb_var *v);
/* "X=x Y=[a, b]": the slots that have arguments, sorted by name */
void fl_text_slots(struct fl_buf *b, fl_pb_slot *const *slots, size_t n);
/* Blanks, at least one, up to `width` behind where the text at `start` began: columns have fixed widths,
 * so that a change of one line is one of no other. */
void fl_text_column(struct fl_buf *b, size_t start, size_t width);
/* "mul X=x Y=w -> Out=y {x_num_col_dims=2} forward", one line without its end: attributes that
 * differ from the defaults of the operator, sorted by name, without callstacks. */
void fl_text_op(struct fl_buf *b, const fl_pb_op *op);

/* Does the attribute say only what holds anyway? */
bool fl_attr_is_default(const fl_pb_op *op, const fl_pb_attr *a);

#endif
