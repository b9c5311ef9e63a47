/*
 * protobuf-c keeps unknown fields of a message as tag, wire type and the bytes after the tag, the
 * length included; they are written behind the known ones.
 */
#include "desc/fingerprint.h"

#include <limits.h>
#include <string.h>

#include "base/wire.h"

#define RECORD_FIELD 2047
#define VERSION 1

enum { F_VERSION = 1, F_ROLE, F_MODE, F_TRAINERS, F_ID, F_HASH, F_GEO, F_LR_STEPS };

static void put(struct fl_buf *b, uint32_t field, uint64_t v)
{
	fl_wire_put_tag(b, field, FL_WIRE_VARINT);
	fl_wire_put_varint(b, v);
}

static void encode(const struct fl_fingerprint *fp, struct fl_buf *b)
{
	put(b, F_VERSION, VERSION);
	put(b, F_ROLE, (uint64_t)fp->role);
	put(b, F_MODE, (uint64_t)fp->mode);
	put(b, F_TRAINERS, (uint64_t)fp->trainers);
	put(b, F_ID, (uint64_t)fp->id);
	fl_wire_put_tag(b, F_HASH, FL_WIRE_I64);
	for (int i = 0; i < 64; i += 8)
		fl_buf_addc(b, (char)(unsigned char)(fp->hash >> i & 255));
	put(b, F_GEO, (uint64_t)fp->geo_need_push_nums);
	put(b, F_LR_STEPS, (uint64_t)fp->lr_steps);
}

static ProtobufCMessageUnknownField *find(const fl_pb_block *block)
{
	for (unsigned i = 0; i < block->base.n_unknown_fields; i++)
		if (block->base.unknown_fields[i].tag == RECORD_FIELD)
			return &block->base.unknown_fields[i];
	return NULL;
}

static ProtobufCMessageUnknownField *add(struct fl_program *prog, fl_pb_block *block)
{
	unsigned n = block->base.n_unknown_fields;
	ProtobufCMessageUnknownField *list = fl_program_alloc(prog, (n + 1) * sizeof *list);

	if (n)
		memcpy(list, block->base.unknown_fields, n * sizeof *list);
	block->base.unknown_fields = list;
	block->base.n_unknown_fields = n + 1;
	return &list[n];
}

void fl_fingerprint_set(struct fl_program *prog, const struct fl_fingerprint *fp)
{
	fl_pb_block *block = prog->pb->blocks[0];
	ProtobufCMessageUnknownField *u = find(block);
	struct fl_buf record = FL_BUF_INIT, field = FL_BUF_INIT;

	encode(fp, &record);
	fl_wire_put_varint(&field, record.len);
	fl_buf_add(&field, fl_buf_str(&record), record.len);
	if (!u)
		u = add(prog, block);
	u->tag = RECORD_FIELD;
	u->wire_type = PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED;
	u->len = field.len;
	u->data = fl_program_alloc(prog, field.len);
	memcpy(u->data, fl_buf_str(&field), field.len);
	fl_buf_release(&record);
	fl_buf_release(&field);
}

/* The raw values, as far as they are there. */
struct values {
	uint64_t at[F_LR_STEPS + 1];
	uint32_t seen; /* bit i: field i */
};

static bool decode(struct fl_wire w, struct values *v)
{
	struct fl_wire_field f;
	int got;

	memset(v, 0, sizeof *v);
	while ((got = fl_wire_next(&w, &f)) == 1) {
		if (f.number > F_LR_STEPS)
			continue;
		if (f.type != (f.number == F_HASH ? FL_WIRE_I64 : FL_WIRE_VARINT))
			return false;
		v->at[f.number] = f.value;
		v->seen |= 1u << f.number;
	}
	return got == 0;
}

static bool sound(const struct values *v)
{
	const uint32_t needed = 1u << F_VERSION | 1u << F_ROLE | 1u << F_MODE | 1u << F_TRAINERS |
				1u << F_ID | 1u << F_HASH;
	uint64_t role = v->at[F_ROLE];

	return (v->seen & needed) == needed && v->at[F_VERSION] == VERSION &&
	       (role == FL_ROLE_TRAINER || role == FL_ROLE_PSERVER) &&
	       v->at[F_MODE] < FL_MODE_COUNT && v->at[F_TRAINERS] >= 1 &&
	       v->at[F_TRAINERS] <= INT_MAX && v->at[F_ID] <= INT_MAX &&
	       (role != FL_ROLE_TRAINER || v->at[F_ID] < v->at[F_TRAINERS]) &&
	       v->at[F_GEO] <= INT64_MAX && v->at[F_LR_STEPS] < FL_LR_STEPS_COUNT;
}

enum fl_code fl_fingerprint_get(const struct fl_program *prog, struct fl_fingerprint *out,
	struct fl_err *err)
{
	const ProtobufCMessageUnknownField *u = find(prog->pb->blocks[0]);
	struct fl_wire w;
	struct values v;
	uint64_t len;

	if (!u)
		return fl_err_set(err, FL_ENOTFOUND, "the program has no fingerprint record");
	w = (struct fl_wire){ u->data, u->data + u->len };
	if (u->wire_type != PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED || !fl_wire_varint(&w, &len) ||
		len != (uint64_t)(w.end - w.p) || !decode(w, &v) || !sound(&v))
		return fl_err_set(err, FL_EFORMAT,
			"the fingerprint record (field %d of block 0) is damaged, or of a version that "
			"this build does not know", RECORD_FIELD);
	*out = (struct fl_fingerprint){
		.role = (enum fl_role_kind)v.at[F_ROLE],
		.mode = (enum fl_dist_mode)v.at[F_MODE],
		.trainers = (int)v.at[F_TRAINERS],
		.id = (int)v.at[F_ID],
		.hash = v.at[F_HASH],
		.geo_need_push_nums = (int64_t)v.at[F_GEO],
		.lr_steps = (enum fl_lr_steps)v.at[F_LR_STEPS],
	};
	return FL_OK;
}
