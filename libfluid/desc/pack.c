/*
 * Messages are written from their end to their beginning: the length of a part stands before it, and
 * is known by then, so one walk suffices where protobuf-c needs another for sizes and moves what
 * it wrote. The bytes are the same: fields by number, then unknown fields.
 *
 * Shared operators and variables are serialized once, with tag and length as a block holds them.
 */
#include "desc/pack.h"

#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "desc/edit.h"

#define OPS_TAG 4 /* BlockDesc.ops */
#define VARS_TAG 3 /* BlockDesc.vars */
#define FIRST_ROOM 4096
#define MAX_WRITTEN 47
#define N_WRITTEN 64 /* a power of two */

struct fl_shared {
	const struct fl_program *from;
	struct fl_arena *arena;
	fl_pb_block block; /* lists of pointers to ops and vars */
	fl_pb_op *ops;
	fl_pb_var *vars;
	struct fl_buf bytes;
	size_t *op_at, *var_at; /* where they begin in bytes; one more than there are */
};

/* An attribute that was written already: operators made alike point to the same ones. */
struct written {
	const ProtobufCMessage *attr;
	uint8_t n, bytes[MAX_WRITTEN];
};

/* Bytes [at, cap) are written. */
struct back {
	uint8_t *data;
	size_t at, cap;
	const struct fl_shared *shared;
	struct written written[N_WRITTEN]; /* by a hash of the pointer */
};

static void grow(struct back *b, size_t n)
{
	size_t used = b->cap - b->at, cap = b->cap ? b->cap : FIRST_ROOM;
	uint8_t *data;

	if (!b->cap && n > cap)
		cap = n;
	while (cap - used < n)
		cap *= 2;
	data = fl_xrealloc(NULL, cap);
	if (used)
		memcpy(data + cap - used, b->data + b->at, used);
	fl_free(b->data);
	b->data = data;
	b->at = cap - used;
	b->cap = cap;
}

static void put(struct back *b, const void *p, size_t n)
{
	if (b->at < n)
		grow(b, n);
	b->at -= n;
	if (n)
		memcpy(b->data + b->at, p, n);
}

static void put_varint(struct back *b, uint64_t v)
{
	uint8_t bytes[10];
	size_t n = 0;

	for (; v >= 128; v >>= 7)
		bytes[n++] = (uint8_t)(v | 128);
	bytes[n++] = (uint8_t)v;
	put(b, bytes, n);
}

static void put_tag(struct back *b, uint32_t field, int wire)
{
	put_varint(b, (uint64_t)field << 3 | (unsigned)wire);
}

static void put_fixed(struct back *b, uint64_t v, size_t n)
{
	uint8_t bytes[8];

	for (size_t i = 0; i < n; i++)
		bytes[i] = (uint8_t)(v >> (8 * i));
	put(b, bytes, n);
}

static void put_message(struct back *b, const ProtobufCMessage *m);

static bool put_shared(struct back *b, const ProtobufCMessage *m)
{
	const struct fl_shared *s = b->shared;
	const size_t *at;

	if (!s || !fl_shared_has(s, m))
		return false;
	at = m->descriptor == &paddle__framework__proto__op_desc__descriptor
		     ? &s->op_at[(const fl_pb_op *)m - s->ops]
		     : &s->var_at[(const fl_pb_var *)m - s->vars];
	put(b, s->bytes.data + at[0], at[1] - at[0]);
	return true;
}

static void put_part(struct back *b, const ProtobufCFieldDescriptor *f, const ProtobufCMessage *m)
{
	size_t end = b->cap - b->at, n;
	struct written *w = NULL;

	if (m->descriptor == &paddle__framework__proto__op_desc__attr__descriptor) {
		w = &b->written[((uintptr_t)m >> 4 ^ (uintptr_t)m >> 10) % N_WRITTEN];
		if (w->attr == m) {
			put(b, w->bytes, w->n);
			return;
		}
	} else if (put_shared(b, m)) {
		return;
	}
	put_message(b, m);
	put_varint(b, b->cap - b->at - end);
	put_tag(b, f->id, PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED);
	n = b->cap - b->at - end;
	if (!w || n > MAX_WRITTEN)
		return;
	w->attr = m;
	w->n = (uint8_t)n;
	memcpy(w->bytes, b->data + b->at, n);
}

static void put_text(struct back *b, const ProtobufCFieldDescriptor *f, const void *p, size_t n)
{
	put(b, p, n);
	put_varint(b, n);
	put_tag(b, f->id, PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED);
}

/* One value of a field, with its tag; the types that framework.proto uses. */
static void put_value(struct back *b, const ProtobufCFieldDescriptor *f, const void *at)
{
	const ProtobufCBinaryData *bytes = at;
	const char *s;
	uint64_t v64;
	uint32_t v32;

	switch (f->type) {
	case PROTOBUF_C_TYPE_MESSAGE: put_part(b, f, *(const ProtobufCMessage *const *)at); return;
	case PROTOBUF_C_TYPE_STRING:
		s = *(const char *const *)at;
		put_text(b, f, s, s ? strlen(s) : 0);
		return;
	case PROTOBUF_C_TYPE_BYTES: put_text(b, f, bytes->data, bytes->len); return;
	case PROTOBUF_C_TYPE_FLOAT:
		memcpy(&v32, at, 4);
		put_fixed(b, v32, 4);
		put_tag(b, f->id, PROTOBUF_C_WIRE_TYPE_32BIT);
		return;
	case PROTOBUF_C_TYPE_DOUBLE:
		memcpy(&v64, at, 8);
		put_fixed(b, v64, 8);
		put_tag(b, f->id, PROTOBUF_C_WIRE_TYPE_64BIT);
		return;
	case PROTOBUF_C_TYPE_BOOL: v64 = *(const protobuf_c_boolean *)at != 0; break;
	case PROTOBUF_C_TYPE_INT32:
	case PROTOBUF_C_TYPE_ENUM: v64 = (uint64_t)(int64_t)*(const int32_t *)at; break;
	case PROTOBUF_C_TYPE_INT64:
	case PROTOBUF_C_TYPE_UINT64: v64 = *(const uint64_t *)at; break;
	default: FL_BUG("a field type that programs do not have");
	}
	put_varint(b, v64);
	put_tag(b, f->id, PROTOBUF_C_WIRE_TYPE_VARINT);
}

static size_t size_of(const ProtobufCFieldDescriptor *f)
{
	switch (f->type) {
	case PROTOBUF_C_TYPE_MESSAGE:
	case PROTOBUF_C_TYPE_STRING: return sizeof(void *);
	case PROTOBUF_C_TYPE_BYTES: return sizeof(ProtobufCBinaryData);
	case PROTOBUF_C_TYPE_BOOL: return sizeof(protobuf_c_boolean);
	case PROTOBUF_C_TYPE_INT64:
	case PROTOBUF_C_TYPE_UINT64:
	case PROTOBUF_C_TYPE_DOUBLE: return 8;
	default: return 4;
	}
}

static void put_list(struct back *b, const ProtobufCFieldDescriptor *f, const char *m)
{
	size_t n = *(const size_t *)(const void *)(m + f->quantifier_offset), size;
	const char *list;

	if (!n)
		return;
	size = size_of(f);
	list = *(const char *const *)(const void *)(m + f->offset);
	while (n--)
		put_value(b, f, list + n * size);
}

static bool is_set(const ProtobufCFieldDescriptor *f, const char *m)
{
	const void *p;

	if (f->label == PROTOBUF_C_LABEL_REQUIRED)
		return true;
	if (f->type != PROTOBUF_C_TYPE_MESSAGE && f->type != PROTOBUF_C_TYPE_STRING)
		return *(const protobuf_c_boolean *)(const void *)(m + f->quantifier_offset);
	p = *(const void *const *)(const void *)(m + f->offset);
	return p && p != f->default_value;
}

static void put_message(struct back *b, const ProtobufCMessage *m)
{
	const ProtobufCMessageDescriptor *d = m->descriptor;
	const char *base = (const char *)m;

	for (unsigned i = m->n_unknown_fields; i-- > 0;) {
		const ProtobufCMessageUnknownField *u = &m->unknown_fields[i];

		put(b, u->data, u->len);
		put_tag(b, u->tag, u->wire_type);
	}
	for (unsigned i = d->n_fields; i-- > 0;) {
		const ProtobufCFieldDescriptor *f = &d->fields[i];

		if (f->label == PROTOBUF_C_LABEL_REPEATED)
			put_list(b, f, base);
		else if (is_set(f, base))
			put_value(b, f, base + f->offset);
	}
}

void fl_pb_pack(const ProtobufCMessage *message, const struct fl_shared *shared, struct fl_buf *out)
{
	struct back b = { .shared = shared };
	size_t n;

	grow(&b, shared ? shared->bytes.len + shared->bytes.len / 2 : 1);
	put_message(&b, message);
	n = b.cap - b.at;
	if (out->len || !b.at) {
		fl_buf_add(out, b.data + b.at, n);
		fl_free(b.data);
		return;
	}
	fl_buf_release(out); /* large programs: not twice in memory */
	memmove(b.data, b.data + b.at, n);
	b.data[n] = 0;
	out->data = fl_xrealloc(b.data, n + 1);
	out->len = n;
	out->cap = n + 1;
}

/* ---- shared blocks ----------------------------------------------------------------------------- */

static fl_pb_op copy_op(struct fl_arena *arena, const fl_pb_op *op)
{
	fl_pb_op copy = *op;

	copy.attrs = FL_ARENA_NEW_N(arena, fl_pb_attr *, op->n_attrs);
	if (op->n_attrs)
		memcpy(copy.attrs, op->attrs, op->n_attrs * sizeof *op->attrs);
	fl_op_sort_attrs(&copy);
	return copy;
}

/* Appends a list's elements one by one, written from the last to the first and then turned. */
static void pack_list(struct fl_shared *s, unsigned field, const ProtobufCMessage *const *list,
	size_t n, size_t *at)
{
	ProtobufCFieldDescriptor f = { .id = field };
	struct back b = { 0 };

	at[0] = s->bytes.len;
	for (size_t i = 0; i < n; i++) {
		b.at = b.cap;
		put_part(&b, &f, list[i]);
		fl_buf_add(&s->bytes, b.data + b.at, b.cap - b.at);
		at[i + 1] = s->bytes.len;
	}
	fl_free(b.data);
}

struct fl_shared *fl_shared_new(const struct fl_program *prog)
{
	struct fl_shared *s = FL_NEW(struct fl_shared);
	const fl_pb_block *from = prog->pb->blocks[0];
	size_t n_ops = from->n_ops, n_vars = from->n_vars;

	s->from = prog;
	s->arena = fl_arena_new(0);
	s->block = *from;
	s->ops = FL_ARENA_NEW_N(s->arena, fl_pb_op, n_ops);
	s->vars = FL_ARENA_NEW_N(s->arena, fl_pb_var, n_vars);
	s->block.ops = FL_ARENA_NEW_N(s->arena, fl_pb_op *, n_ops);
	s->block.vars = FL_ARENA_NEW_N(s->arena, fl_pb_var *, n_vars);
	s->op_at = FL_ARENA_NEW_N(s->arena, size_t, n_ops + 1);
	s->var_at = FL_ARENA_NEW_N(s->arena, size_t, n_vars + 1);
	for (size_t i = 0; i < n_ops; i++) {
		s->ops[i] = copy_op(s->arena, from->ops[i]);
		s->block.ops[i] = &s->ops[i];
	}
	for (size_t i = 0; i < n_vars; i++) {
		s->vars[i] = *from->vars[i];
		s->block.vars[i] = &s->vars[i];
	}
	fl_buf_init(&s->bytes);
	pack_list(s, VARS_TAG, (const ProtobufCMessage *const *)s->block.vars, n_vars, s->var_at);
	pack_list(s, OPS_TAG, (const ProtobufCMessage *const *)s->block.ops, n_ops, s->op_at);
	return s;
}

void fl_shared_free(struct fl_shared *shared)
{
	if (!shared)
		return;
	fl_buf_release(&shared->bytes);
	fl_arena_free(shared->arena);
	fl_free(shared);
}

const fl_pb_block *fl_shared_block(const struct fl_shared *shared)
{
	return &shared->block;
}

static bool within(const void *p, const void *array, size_t size)
{
	return (uintptr_t)p - (uintptr_t)array < size;
}

bool fl_shared_has(const struct fl_shared *shared, const void *descriptor)
{
	return within(descriptor, shared->ops, shared->block.n_ops * sizeof *shared->ops) ||
	       within(descriptor, shared->vars, shared->block.n_vars * sizeof *shared->vars);
}

static void *copy_bytes(struct fl_program *prog, const void *p, size_t size)
{
	void *q = fl_program_alloc(prog, size);

	if (size)
		memcpy(q, p, size);
	return q;
}

struct fl_program *fl_shared_program(const struct fl_shared *shared)
{
	struct fl_program *prog = FL_NEW(struct fl_program);
	const fl_pb_program *from = shared->from->pb;
	fl_pb_block *b;

	prog->arena = fl_arena_new(0);
	prog->shared = shared;
	prog->pb = copy_bytes(prog, from, sizeof *from);
	prog->pb->blocks = copy_bytes(prog, from->blocks, from->n_blocks * sizeof *from->blocks);
	b = copy_bytes(prog, &shared->block, sizeof *b);
	b->ops = copy_bytes(prog, b->ops, b->n_ops * sizeof *b->ops);
	b->vars = copy_bytes(prog, b->vars, b->n_vars * sizeof *b->vars);
	b->base.unknown_fields = copy_bytes(prog, b->base.unknown_fields,
		b->base.n_unknown_fields * sizeof *b->base.unknown_fields);
	prog->pb->blocks[0] = b;
	return prog;
}
