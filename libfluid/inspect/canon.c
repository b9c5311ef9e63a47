#include "inspect/canon.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "desc/names.h"
#include "desc/query.h"
#include "inspect/text.h"

struct maker {
	struct fl_canon *c;
	struct fl_map control; /* name -> its canonical name */
	const char *const *skip;
	size_t n_skip;
	const char *name;
	struct fl_buf buf; /* one text at a time */
	struct fl_err *err;
};

/* For stable sorting: by key, then by position. */
struct keyed {
	const char *key;
	size_t pos;
	const void *item;
};

static int by_key(const void *x, const void *y)
{
	const struct keyed *a = x, *b = y;
	int order = strcmp(a->key, b->key);

	return order ? order : (a->pos > b->pos) - (a->pos < b->pos);
}

static void sort_keyed(struct keyed *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		v[i].pos = i;
	if (n)
		qsort(v, n, sizeof *v, by_key);
}

/* The text in the buffer, kept. */
static const char *keep(struct maker *m)
{
	const char *s = fl_arena_strndup(m->c->arena, fl_buf_str(&m->buf), m->buf.len);

	fl_buf_clear(&m->buf);
	return s;
}

/* Control variables are numbered where they are first met. */
static const char *renamed(struct maker *m, const char *name)
{
	const char *to;

	if (!strstr(name, FL_CONTROL_VAR))
		return name;
	to = fl_map_get(&m->control, name);
	if (!to) {
		to = fl_arena_strfmt(m->c->arena, "%s@#%zu", FL_CONTROL_VAR, m->control.live);
		fl_map_put(&m->control, name, (void *)(uintptr_t)to);
	}
	return to;
}

static bool skipped(const struct maker *m, const char *attr)
{
	for (size_t i = 0; i < m->n_skip; i++)
		if (!strcmp(m->skip[i], attr))
			return true;
	return !strcmp(attr, FL_ATTR_CALLSTACK);
}

/* ---- operators ----------------------------------------------------------------------------------- */

/* "input X" = "[a, b]"; several slots of one name count as one, empty ones as none. */
static void add_slots(struct maker *m, struct fl_canon_item *item, const char *kind,
	fl_pb_slot *const *slots, size_t n)
{
	struct keyed *v = FL_NEW_N(struct keyed, n + 1);

	for (size_t i = 0; i < n; i++)
		v[i] = (struct keyed){ slots[i]->parameter, 0, slots[i] };
	sort_keyed(v, n);
	for (size_t i = 0; i < n;) {
		const char *name = v[i].key;

		for (; i < n && !strcmp(v[i].key, name); i++) {
			const fl_pb_slot *s = v[i].item;

			for (size_t k = 0; k < s->n_arguments; k++) {
				fl_buf_adds(&m->buf, m->buf.len ? ", " : "[");
				fl_text_name(&m->buf, renamed(m, s->arguments[k]));
			}
		}
		if (!m->buf.len)
			continue;
		fl_buf_addc(&m->buf, ']');
		item->entries[item->n].text = keep(m);
		fl_buf_addf(&m->buf, "%s ", kind);
		fl_text_name(&m->buf, name);
		item->entries[item->n++].name = keep(m);
	}
	fl_free(v);
}

/* Zeros are equal whatever their sign; NaNs by their bits. */
static void add_float(struct fl_buf *b, float v)
{
	uint32_t bits;

	memcpy(&bits, &v, sizeof bits);
	if (v != v)
		fl_buf_addf(b, "nan:%08" PRIx32, bits);
	else
		fl_text_f32(b, v == 0 ? 0.0f : v);
}

static int by_text(const void *x, const void *y)
{
	return strcmp(*(const char *const *)x, *(const char *const *)y);
}

/* A string with a control variable's name is as volatile as the name. */
static void add_string(struct maker *m, const ProtobufCBinaryData *s)
{
	bool plain = !s->len || memchr(s->data, 0, s->len);
	const char *text = plain ? NULL : renamed(m, (const char *)s->data);

	if (plain)
		fl_text_quoted(&m->buf, s->data, s->len);
	else
		fl_text_quoted(&m->buf, text, strlen(text));
}

static void add_strings(struct maker *m, const fl_pb_attr *a, bool sorted)
{
	const char **v = FL_NEW_N(const char *, a->n_strings + 1);

	for (size_t i = 0; i < a->n_strings; i++) {
		struct fl_buf outer = m->buf;

		fl_buf_init(&m->buf);
		add_string(m, &a->strings[i]);
		v[i] = keep(m);
		fl_buf_release(&m->buf);
		m->buf = outer;
	}
	if (sorted && a->n_strings)
		qsort(v, a->n_strings, sizeof *v, by_text);
	fl_buf_addc(&m->buf, '[');
	for (size_t i = 0; i < a->n_strings; i++)
		fl_buf_addf(&m->buf, "%s%s", i ? ", " : "", v[i]);
	fl_buf_addc(&m->buf, ']');
	fl_free(v);
}

/* An attribute of a type that no release has: its bytes. */
static void add_raw(struct maker *m, const fl_pb_attr *a)
{
	size_t n = protobuf_c_message_get_packed_size(&a->base);
	uint8_t *p = fl_arena_alloc(m->c->arena, n);

	protobuf_c_message_pack(&a->base, p);
	fl_text_quoted(&m->buf, p, n);
}

static void add_value(struct maker *m, const fl_pb_op *op, const fl_pb_attr *a)
{
	bool set = !strcmp(op->type, "listen_and_serv") && !strcmp(a->name, "grad_to_block_id");

	fl_text_attr_type(&m->buf, (int)a->type);
	fl_buf_addc(&m->buf, ' ');
	if (!fl_attr_type_name((int)a->type)) {
		add_raw(m, a);
	} else if ((int)a->type == FL_ATTR_STRING) {
		add_string(m, &a->s);
	} else if ((int)a->type == FL_ATTR_STRINGS) {
		add_strings(m, a, set);
	} else if ((int)a->type == FL_ATTR_FLOAT) {
		add_float(&m->buf, a->f);
	} else if ((int)a->type == FL_ATTR_FLOATS) {
		for (size_t i = 0; i < a->n_floats; i++) {
			fl_buf_adds(&m->buf, i ? ", " : "[");
			add_float(&m->buf, a->floats[i]);
		}
		fl_buf_adds(&m->buf, a->n_floats ? "]" : "[]");
	} else {
		fl_text_value(&m->buf, a);
	}
}

static enum fl_code add_attrs(struct maker *m, struct fl_canon_item *item, const fl_pb_op *op)
{
	struct keyed *v = FL_NEW_N(struct keyed, op->n_attrs + 1);
	const char *last = NULL;
	enum fl_code code = FL_OK;

	for (size_t i = 0; i < op->n_attrs; i++)
		v[i] = (struct keyed){ op->attrs[i]->name, 0, op->attrs[i] };
	sort_keyed(v, op->n_attrs);
	for (size_t i = 0; i < op->n_attrs && code == FL_OK; i++) {
		struct fl_canon_entry e;

		if (skipped(m, v[i].key))
			continue;
		add_value(m, op, v[i].item);
		e.text = keep(m);
		/* 2.6 writes some attributes twice, with one value */
		if (last && !strcmp(last, v[i].key)) {
			if (strcmp(e.text, item->entries[item->n - 1].text))
				code = fl_err_set(m->err, FL_EFORMAT,
					"'%s': attribute '%s' of operator '%s' has two values", m->name,
					last, op->type);
			continue;
		}
		last = v[i].key;
		fl_buf_adds(&m->buf, "attr ");
		fl_text_name(&m->buf, v[i].key);
		e.name = keep(m);
		item->entries[item->n++] = e;
	}
	fl_free(v);
	return code;
}

static uint64_t hash_of(const struct fl_canon_item *item)
{
	uint64_t h = fl_hash(item->title, strlen(item->title));

	for (size_t i = 0; i < item->n; i++) {
		h = h * 31 + fl_hash(item->entries[i].name, strlen(item->entries[i].name));
		h = h * 31 + fl_hash(item->entries[i].text, strlen(item->entries[i].text));
	}
	return h;
}

/* "mul X=[x] Y=[w] -> Out=[y]" out of the entries. */
static const char *op_line(struct maker *m, const struct fl_canon_item *item)
{
	struct fl_buf line = FL_BUF_INIT;
	bool out = false;
	const char *s;

	fl_text_name(&line, item->title);
	for (size_t i = 0; i < item->n; i++) {
		const char *name = item->entries[i].name;
		bool is_out = !strncmp(name, "output ", 7);

		if (!is_out && strncmp(name, "input ", 6))
			break;
		if (is_out && !out)
			fl_buf_adds(&line, " ->");
		out = is_out;
		fl_buf_addf(&line, " %s=%s", strchr(name, ' ') + 1, item->entries[i].text);
	}
	s = fl_arena_strndup(m->c->arena, fl_buf_str(&line), line.len);
	fl_buf_release(&line);
	return s;
}

static enum fl_code make_op(struct maker *m, const fl_pb_op *op, struct fl_canon_item *item)
{
	item->title = op->type;
	item->entries = FL_ARENA_NEW_N(m->c->arena, struct fl_canon_entry,
		op->n_inputs + op->n_outputs + op->n_attrs + 1);
	add_slots(m, item, "input", op->inputs, op->n_inputs);
	add_slots(m, item, "output", op->outputs, op->n_outputs);
	FL_TRY(add_attrs(m, item, op));
	item->line = op_line(m, item);
	item->hash = hash_of(item);
	return FL_OK;
}

/* Neighbouring fake_init operators stand in any order: in that of their outputs then. */
static const fl_pb_op **ordered_ops(const fl_pb_block *block)
{
	const fl_pb_op **ops = FL_NEW_N(const fl_pb_op *, block->n_ops + 1);
	struct keyed *run = FL_NEW_N(struct keyed, block->n_ops + 1);

	if (block->n_ops)
		memcpy(ops, block->ops, block->n_ops * sizeof *ops);
	for (size_t i = 0, n; i < block->n_ops; i += n ? n : 1) {
		for (n = 0; i + n < block->n_ops && !strcmp(ops[i + n]->type, "fake_init"); n++) {
			struct fl_buf b = FL_BUF_INIT;

			fl_text_slots(&b, ops[i + n]->outputs, ops[i + n]->n_outputs);
			run[n] = (struct keyed){ fl_buf_detach(&b), 0, ops[i + n] };
		}
		sort_keyed(run, n);
		for (size_t k = 0; k < n; k++) {
			ops[i + k] = run[k].item;
			fl_free((void *)(uintptr_t)run[k].key);
		}
	}
	fl_free(run);
	return ops;
}

/* ---- variables ----------------------------------------------------------------------------------- */

static void add_entry(struct maker *m, struct fl_canon_item *item, const char *name)
{
	item->entries[item->n].name = name;
	item->entries[item->n++].text = keep(m);
}

static void add_flag(struct maker *m, struct fl_canon_item *item, const char *name, bool set)
{
	if (!set)
		return;
	fl_buf_adds(&m->buf, "true");
	add_entry(m, item, name);
}

/* The description that belongs to the kind; feed and fetch lists are described as LoD tensors. */
static const fl_pb_tensor *tensor_of(const fl_pb_var_type *t, int *lod_level)
{
	const fl_pb_lod_tensor *lod = t->lod_tensor;

	switch ((int)t->type) {
	case FL_SELECTED_ROWS: return t->selected_rows;
	case FL_LOD_TENSOR:
	case FL_FEED_MINIBATCH:
	case FL_FETCH_LIST:
		*lod_level = lod ? lod->lod_level : 0;
		return lod ? lod->tensor : NULL;
	case FL_LOD_TENSOR_ARRAY:
		*lod_level = t->tensor_array ? t->tensor_array->lod_level : 0;
		return t->tensor_array ? t->tensor_array->tensor : NULL;
	}
	return NULL;
}

/* Readers, channels and tuples: by their bytes. */
static void add_extra(struct maker *m, struct fl_canon_item *item, const ProtobufCMessage *msg,
	const char *name)
{
	size_t n;
	uint8_t *p;

	if (!msg)
		return;
	n = protobuf_c_message_get_packed_size(msg);
	p = fl_arena_alloc(m->c->arena, n);
	protobuf_c_message_pack(msg, p);
	fl_text_quoted(&m->buf, p, n);
	add_entry(m, item, name);
}

static void make_var(struct maker *m, const fl_pb_var *v, struct fl_canon_item *item)
{
	const fl_pb_var_type *t = v->type;
	int lod_level = 0;
	const fl_pb_tensor *tensor = tensor_of(t, &lod_level);

	item->entries = FL_ARENA_NEW_N(m->c->arena, struct fl_canon_entry, 11);
	item->title = v->name;
	fl_text_type(&m->buf, (int)t->type);
	add_entry(m, item, "type");
	if (tensor) {
		fl_text_type(&m->buf, (int)tensor->data_type);
		add_entry(m, item, "dtype");
		fl_text_dims(&m->buf, tensor->dims, tensor->n_dims);
		add_entry(m, item, "shape");
	}
	if (lod_level) {
		fl_buf_addf(&m->buf, "%d", lod_level);
		add_entry(m, item, "lod_level");
	}
	add_flag(m, item, "persistable", v->has_persistable && v->persistable);
	add_flag(m, item, "need_check_feed", v->has_need_check_feed && v->need_check_feed);
	add_flag(m, item, "is_parameter", v->has_is_parameter && v->is_parameter);
	add_flag(m, item, "stop_gradient", v->has_stop_gradient && v->stop_gradient);
	add_extra(m, item, t->reader ? &t->reader->base : NULL, "reader");
	add_extra(m, item, t->channel ? &t->channel->base : NULL, "channel");
	add_extra(m, item, t->tuple ? &t->tuple->base : NULL, "tuple");
}

static int by_title(const void *x, const void *y)
{
	const struct fl_canon_item *a = x, *b = y;

	return strcmp(a->title, b->title);
}

/* Like operators in one line, so that unused control variables can be told apart. */
static const char *var_line(struct maker *m, const struct fl_canon_item *item)
{
	for (size_t i = 0; i < item->n; i++)
		fl_buf_addf(&m->buf, "%s%s=%s", i ? " " : "", item->entries[i].name,
			item->entries[i].text);
	return keep(m);
}

/* Control variables that no operator names are numbered by what they are. */
static void rename_vars(struct maker *m, struct fl_canon_block *block)
{
	struct keyed *unused = FL_NEW_N(struct keyed, block->n_vars + 1);
	size_t n = 0;

	for (size_t i = 0; i < block->n_vars; i++) {
		struct fl_canon_item *item = &block->vars[i];

		if (strstr(item->title, FL_CONTROL_VAR) && !fl_map_has(&m->control, item->title))
			unused[n++] = (struct keyed){ item->line, 0, item };
		else
			item->title = renamed(m, item->title);
	}
	sort_keyed(unused, n);
	for (size_t i = 0; i < n; i++)
		((struct fl_canon_item *)(uintptr_t)unused[i].item)->title = fl_arena_strfmt(
			m->c->arena, "%s@unused#%d.%zu", FL_CONTROL_VAR, block->idx, i);
	fl_free(unused);
}

static enum fl_code make_vars(struct maker *m, const fl_pb_block *pb, struct fl_canon_block *block)
{
	block->vars = FL_ARENA_NEW_N(m->c->arena, struct fl_canon_item, pb->n_vars + 1);
	block->n_vars = pb->n_vars;
	for (size_t i = 0; i < pb->n_vars; i++) {
		make_var(m, pb->vars[i], &block->vars[i]);
		block->vars[i].line = var_line(m, &block->vars[i]);
	}
	if (pb->n_vars)
		qsort(block->vars, pb->n_vars, sizeof *block->vars, by_title);
	for (size_t i = 1; i < pb->n_vars; i++)
		if (!strcmp(block->vars[i - 1].title, block->vars[i].title))
			return fl_err_set(m->err, FL_EFORMAT, "'%s': block %d has two variables '%s'",
				m->name, pb->idx, block->vars[i].title);
	rename_vars(m, block);
	if (pb->n_vars)
		qsort(block->vars, pb->n_vars, sizeof *block->vars, by_title);
	for (size_t i = 0; i < pb->n_vars; i++)
		block->vars[i].hash = hash_of(&block->vars[i]);
	return FL_OK;
}

/* ---- programs ------------------------------------------------------------------------------------ */

static enum fl_code make_ops(struct maker *m, const fl_pb_block *pb, struct fl_canon_block *block)
{
	const fl_pb_op **ops = ordered_ops(pb);
	enum fl_code code = FL_OK;

	block->idx = pb->idx;
	block->parent = pb->parent_idx;
	block->forward = pb->has_forward_block_idx ? pb->forward_block_idx : -1;
	block->ops = FL_ARENA_NEW_N(m->c->arena, struct fl_canon_item, pb->n_ops + 1);
	block->n_ops = pb->n_ops;
	for (size_t i = 0; i < pb->n_ops && code == FL_OK; i++)
		code = make_op(m, ops[i], &block->ops[i]);
	fl_free(ops);
	return code;
}

/* All operators come before all variables: their order of use numbers the control variables. */
static enum fl_code make_blocks(struct maker *m, const fl_pb_program *pb)
{
	for (size_t i = 0; i < pb->n_blocks; i++) {
		FL_TRY(make_ops(m, pb->blocks[i], &m->c->blocks[i]));
		m->c->n_blocks++;
	}
	for (size_t i = 0; i < pb->n_blocks; i++)
		FL_TRY(make_vars(m, pb->blocks[i], &m->c->blocks[i]));
	return FL_OK;
}

enum fl_code fl_canon_make(const fl_pb_program *pb, const char *const *skip, size_t n,
	const char *name, struct fl_canon *out, struct fl_err *err)
{
	struct maker m = { .c = out, .skip = skip, .n_skip = n, .name = name, .err = err };
	enum fl_code code;

	*out = (struct fl_canon){ .arena = fl_arena_new(0), .version = fl_program_version(pb) };
	out->blocks = FL_ARENA_NEW_N(out->arena, struct fl_canon_block, pb->n_blocks + 1);
	fl_map_init(&m.control);
	code = make_blocks(&m, pb);
	fl_map_release(&m.control);
	fl_buf_release(&m.buf);
	if (code != FL_OK)
		fl_canon_release(out);
	return code;
}

void fl_canon_release(struct fl_canon *c)
{
	fl_arena_free(c->arena);
	*c = (struct fl_canon){ 0 };
}
