/*
 * Protobuf's wire format, by hand: for the places where a message library will not do, because
 * the order of fields matters (VariableMessage), the payload must not be copied, or the place of
 * a defect must be found (programs).
 */
#ifndef FL_BASE_WIRE_H
#define FL_BASE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum { FL_WIRE_VARINT = 0, FL_WIRE_I64 = 1, FL_WIRE_LEN = 2, FL_WIRE_I32 = 5 };

/* A reading position in borrowed bytes. */
struct fl_wire {
	const uint8_t *p, *end;
};

/* One field: its number, wire type, and value (varint, fixed bits) or bytes (borrowed). */
struct fl_wire_field {
	uint32_t number;
	int type;
	uint64_t value;
	const uint8_t *bytes;
	size_t len;
};

/* False at a cut or over-long (more than 10 bytes) varint; the position is unchanged then. */
bool fl_wire_varint(struct fl_wire *w, uint64_t *out);

/* Reads one field. 1: read; 0: end of the bytes; -1: malformed (position at the bad field). */
int fl_wire_next(struct fl_wire *w, struct fl_wire_field *f);

void fl_wire_put_varint(struct fl_buf *b, uint64_t v);
void fl_wire_put_tag(struct fl_buf *b, uint32_t number, int type);
void fl_wire_put_bytes(struct fl_buf *b, uint32_t number, const void *data, size_t len);

#endif
