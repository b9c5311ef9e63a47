/*
 * VariableMessage: bytes from a peer, cut into pieces whose length follows from theirs; what is
 * accepted must be encoded again, and what that gives must mean the same.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "desc/proto.h"
#include "rpc/varmsg.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Each piece in memory of its own, so that a step too far is seen. */
static struct fl_span *cut(const uint8_t *data, size_t size, size_t piece, size_t *n)
{
	struct fl_span *spans = FL_NEW_N(struct fl_span, size / piece + 1);

	for (*n = 0; size; ++*n) {
		size_t len = size < piece ? size : piece;
		uint8_t *copy = malloc(len);

		if (!copy)
			abort();
		memcpy(copy, data, len);
		spans[*n] = (struct fl_span){ copy, len };
		data += len;
		size -= len;
	}
	return spans;
}

static void uncut(struct fl_span *spans, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free((void *)(uintptr_t)spans[i].p);
	fl_free(spans);
}

static void join(struct fl_buf *b, const struct fl_varmsg_parts *parts)
{
	fl_buf_add(b, parts->head.data, parts->head.len);
	if (parts->n_payload)
		fl_buf_add(b, parts->payload, parts->n_payload);
	if (parts->tail.len)
		fl_buf_add(b, parts->tail.data, parts->tail.len);
}

/* Encodes, decodes, encodes: the second bytes must be the first. */
static void again(struct fl_varmsg *m, const struct fl_var *var)
{
	struct fl_buf first = FL_BUF_INIT, second = FL_BUF_INIT;
	struct fl_var *copy = fl_var_new("copy", FL_LOD_TENSOR);
	struct fl_varmsg_parts parts;
	struct fl_varmsg back;
	struct fl_span span;

	if (fl_varmsg_encode(m, var, &parts, NULL))
		abort();
	join(&first, &parts);
	fl_varmsg_parts_release(&parts);
	span = (struct fl_span){ (uint8_t *)first.data, first.len };
	if (fl_varmsg_decode(&span, 1, &back, NULL))
		abort();
	if (fl_varmsg_take(&back, &span, 1, NULL, copy, NULL) ||
		fl_varmsg_encode(&back, copy, &parts, NULL))
		abort();
	join(&second, &parts);
	fl_varmsg_parts_release(&parts);
	if (first.len != second.len || memcmp(first.data, second.data, first.len))
		abort();
	fl_varmsg_release(&back);
	fl_var_free(copy);
	fl_buf_release(&first);
	fl_buf_release(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fl_span *spans;
	struct fl_varmsg m;
	struct fl_err err;
	struct fl_var *var;
	size_t n;

	spans = cut(data, size, size % 61 + 1, &n);
	if (!fl_varmsg_decode(spans, n, &m, &err)) {
		var = fl_var_new("v", FL_LOD_TENSOR);
		/* A nameless message, which cannot be made here, need not survive. */
		if (!fl_varmsg_take(&m, spans, n, NULL, var, &err) && *m.varname)
			again(&m, var);
		fl_var_free(var);
		fl_varmsg_release(&m);
	}
	uncut(spans, n);
	return 0;
}
