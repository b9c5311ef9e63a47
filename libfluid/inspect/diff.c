/*
 * Operators are aligned by a dynamic program over all pairs: an equal pair scores most, a pair of
 * one type some, everything else nothing, so that an operator that was put in, taken out or changed
 * is one difference. Programs too large for the table (in the part between their common beginning and
 * end) are walked side by side, with a look ahead for the next equal operator.
 */
#include "inspect/diff.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "inspect/canon.h"
#include "inspect/text.h"

#define TABLE_MAX  ((size_t)24 << 20) /* pairs */
#define LOOK_AHEAD 64
#define SCORE_SAME 3
#define SCORE_TYPE 1
#define NONE	   SIZE_MAX

struct pair {
	size_t a, b; /* NONE: only in the other */
};

struct pairs {
	struct pair *at;
	size_t n, cap;
};

struct ctx {
	struct fl_diff *d;
	struct fl_buf *out;
	const char *name_a, *name_b;
	bool headed; /* the two names were printed */
};

static void add_pair(struct pairs *p, size_t a, size_t b)
{
	fl_grow(&p->at, &p->cap, p->n + 1, sizeof *p->at);
	p->at[p->n++] = (struct pair){ a, b };
}

static bool same(const struct fl_canon_item *x, const struct fl_canon_item *y)
{
	if (x->hash != y->hash || x->n != y->n || strcmp(x->title, y->title))
		return false;
	for (size_t i = 0; i < x->n; i++)
		if (strcmp(x->entries[i].name, y->entries[i].name) ||
			strcmp(x->entries[i].text, y->entries[i].text))
			return false;
	return true;
}

static uint32_t score(const struct fl_canon_item *x, const struct fl_canon_item *y)
{
	if (x->hash == y->hash)
		return SCORE_SAME;
	return strcmp(x->title, y->title) ? 0 : SCORE_TYPE;
}

/* ---- alignment ----------------------------------------------------------------------------------- */

enum { STEP_BOTH, STEP_A, STEP_B };

/* steps[i * nb + k]: what the best alignment of a[i..) with b[k..) does first. */
static void fill_steps(const struct fl_canon_item *a, size_t na, const struct fl_canon_item *b,
	size_t nb, uint8_t *steps)
{
	uint32_t *below = FL_NEW_N(uint32_t, nb + 1), *row = FL_NEW_N(uint32_t, nb + 1), *swap;

	for (size_t i = na; i-- > 0;) {
		for (size_t k = nb; k-- > 0;) {
			uint32_t s = score(&a[i], &b[k]);
			uint32_t both = s ? below[k + 1] + s : 0;
			uint8_t step = STEP_BOTH;

			row[k] = both;
			if (!s || row[k + 1] > row[k] || below[k] > row[k]) {
				step = below[k] >= row[k + 1] ? STEP_A : STEP_B;
				row[k] = step == STEP_A ? below[k] : row[k + 1];
			}
			steps[i * nb + k] = step;
		}
		swap = below;
		below = row;
		row = swap;
	}
	fl_free(below);
	fl_free(row);
}

static void align_table(const struct fl_canon_item *a, size_t na, const struct fl_canon_item *b,
	size_t nb, size_t at_a, size_t at_b, struct pairs *out)
{
	uint8_t *steps = FL_NEW_N(uint8_t, na * nb + 1);
	size_t i = 0, k = 0;

	fill_steps(a, na, b, nb, steps);
	while (i < na || k < nb) {
		uint8_t step = i == na ? STEP_B : k == nb ? STEP_A : steps[i * nb + k];

		add_pair(out, step == STEP_B ? NONE : at_a + i, step == STEP_A ? NONE : at_b + k);
		i += step != STEP_B;
		k += step != STEP_A;
	}
	fl_free(steps);
}

static void align_walk(const struct fl_canon_item *a, size_t na, const struct fl_canon_item *b,
	size_t nb, size_t at_a, size_t at_b, struct pairs *out)
{
	size_t i = 0, k = 0;

	while (i < na && k < nb) {
		size_t skip_a = 0, skip_b = 0;

		for (size_t n = 1; n < LOOK_AHEAD && a[i].hash != b[k].hash && !skip_a && !skip_b; n++) {
			if (i + n < na && a[i + n].hash == b[k].hash)
				skip_a = n;
			else if (k + n < nb && a[i].hash == b[k + n].hash)
				skip_b = n;
		}
		for (; skip_a; skip_a--)
			add_pair(out, at_a + i++, NONE);
		for (; skip_b; skip_b--)
			add_pair(out, NONE, at_b + k++);
		if (score(&a[i], &b[k])) {
			add_pair(out, at_a + i++, at_b + k++);
			continue;
		}
		add_pair(out, at_a + i++, NONE);
		add_pair(out, NONE, at_b + k++);
	}
	for (; i < na; i++)
		add_pair(out, at_a + i, NONE);
	for (; k < nb; k++)
		add_pair(out, NONE, at_b + k);
}

static void align(const struct fl_canon_block *a, const struct fl_canon_block *b, struct pairs *out)
{
	size_t head = 0, tail = 0, na, nb, cells;

	while (head < a->n_ops && head < b->n_ops && a->ops[head].hash == b->ops[head].hash)
		head++;
	while (tail < a->n_ops - head && tail < b->n_ops - head &&
		a->ops[a->n_ops - 1 - tail].hash == b->ops[b->n_ops - 1 - tail].hash)
		tail++;
	na = a->n_ops - head - tail;
	nb = b->n_ops - head - tail;
	for (size_t i = 0; i < head; i++)
		add_pair(out, i, i);
	if (fl_mul_size(na, nb, &cells) && cells <= TABLE_MAX)
		align_table(a->ops + head, na, b->ops + head, nb, head, head, out);
	else
		align_walk(a->ops + head, na, b->ops + head, nb, head, head, out);
	for (size_t i = tail; i > 0; i--)
		add_pair(out, a->n_ops - i, b->n_ops - i);
}

/* ---- the listing --------------------------------------------------------------------------------- */

static void head(struct ctx *c)
{
	if (c->headed)
		return;
	c->headed = true;
	fl_buf_addf(c->out, "--- %s\n+++ %s\n", c->name_a, c->name_b);
}

static void entry(struct ctx *c, char sign, const struct fl_canon_entry *e)
{
	fl_buf_addf(c->out, "%c  %s: %s\n", sign, e->name, e->text);
}

/* Kinds stand in this order in every item; within one they are sorted by name. */
static int kind_of(const char *name)
{
	return !strncmp(name, "input ", 6) ? 0 : !strncmp(name, "output ", 7) ? 1 : 2;
}

static int order_of(const struct fl_canon_entry *x, const struct fl_canon_entry *y)
{
	int kx = kind_of(x->name), ky = kind_of(y->name);

	return kx != ky ? kx - ky : strcmp(x->name, y->name);
}

/* Entries of a variable are not sorted but few: each is looked up. */
static const struct fl_canon_entry *find(const struct fl_canon_item *item, const char *name)
{
	for (size_t i = 0; i < item->n; i++)
		if (!strcmp(item->entries[i].name, name))
			return &item->entries[i];
	return NULL;
}

static void var_entries(struct ctx *c, const struct fl_canon_item *x, const struct fl_canon_item *y)
{
	for (size_t i = 0; i < x->n; i++) {
		const struct fl_canon_entry *e = find(y, x->entries[i].name);

		if (e && !strcmp(e->text, x->entries[i].text))
			continue;
		entry(c, '-', &x->entries[i]);
		if (e)
			entry(c, '+', e);
	}
	for (size_t i = 0; i < y->n; i++)
		if (!find(x, y->entries[i].name))
			entry(c, '+', &y->entries[i]);
}

static void op_entries(struct ctx *c, const struct fl_canon_item *x, const struct fl_canon_item *y)
{
	size_t i = 0, k = 0;

	while (i < x->n || k < y->n) {
		int order = i == x->n ? 1 : k == y->n ? -1 : order_of(&x->entries[i], &y->entries[k]);
		bool equal = !order && !strcmp(x->entries[i].text, y->entries[k].text);

		if (order <= 0 && !equal)
			entry(c, '-', &x->entries[i]);
		if (order >= 0 && !equal)
			entry(c, '+', &y->entries[k]);
		i += order <= 0;
		k += order >= 0;
	}
}

static void diff_op(struct ctx *c, int32_t block, const struct fl_canon_block *a,
	const struct fl_canon_block *b, const struct pair *p)
{
	const struct fl_canon_item *x = p->a == NONE ? NULL : &a->ops[p->a];
	const struct fl_canon_item *y = p->b == NONE ? NULL : &b->ops[p->b];

	if (x && y && same(x, y))
		return;
	head(c);
	if (x && y) {
		c->d->ops_changed++;
		if (p->a == p->b)
			fl_buf_addf(c->out, "@@ block %d, op %zu @@\n", block, p->a);
		else
			fl_buf_addf(c->out, "@@ block %d, op %zu, now %zu @@\n", block, p->a, p->b);
		fl_buf_addf(c->out, " %s\n", y->line);
		op_entries(c, x, y);
		return;
	}
	fl_buf_addf(c->out, "@@ block %d, op %zu @@\n", block, x ? p->a : p->b);
	fl_buf_addf(c->out, "%c%s\n", x ? '-' : '+', x ? x->line : y->line);
	if (x)
		c->d->ops_gone++;
	else
		c->d->ops_new++;
}

static void diff_var(struct ctx *c, int32_t block, const struct fl_canon_item *x,
	const struct fl_canon_item *y)
{
	struct fl_buf name = FL_BUF_INIT;

	if (x && y && same(x, y))
		return;
	head(c);
	fl_text_name(&name, x ? x->title : y->title);
	fl_buf_addf(c->out, "@@ block %d, var %s @@\n", block, fl_buf_str(&name));
	if (x && y) {
		c->d->vars_changed++;
		var_entries(c, x, y);
	} else {
		fl_buf_addf(c->out, "%cvar %s %s\n", x ? '-' : '+', fl_buf_str(&name),
			x ? x->line : y->line);
		c->d->vars_gone += x != NULL;
		c->d->vars_new += y != NULL;
	}
	fl_buf_release(&name);
}

static void diff_vars(struct ctx *c, const struct fl_canon_block *a, const struct fl_canon_block *b)
{
	size_t i = 0, k = 0;

	while (i < a->n_vars || k < b->n_vars) {
		int order = i == a->n_vars   ? 1
			    : k == b->n_vars ? -1
					     : strcmp(a->vars[i].title, b->vars[k].title);

		diff_var(c, a->idx, order <= 0 ? &a->vars[i] : NULL, order >= 0 ? &b->vars[k] : NULL);
		i += order <= 0;
		k += order >= 0;
	}
}

static void diff_number(struct ctx *c, const char *where, const char *what, int64_t x, int64_t y)
{
	if (x == y)
		return;
	head(c);
	c->d->others++;
	fl_buf_addf(c->out, "@@ %s @@\n-%s %" PRId64 "\n+%s %" PRId64 "\n", where, what, x, what, y);
}

static void diff_block(struct ctx *c, const struct fl_canon_block *a,
	const struct fl_canon_block *b)
{
	struct pairs pairs = { 0 };
	struct fl_buf where = FL_BUF_INIT;

	fl_buf_addf(&where, "block %d", a->idx);
	diff_number(c, fl_buf_str(&where), "parent", a->parent, b->parent);
	diff_number(c, fl_buf_str(&where), "forward block", a->forward, b->forward);
	align(a, b, &pairs);
	for (size_t i = 0; i < pairs.n; i++)
		diff_op(c, a->idx, a, b, &pairs.at[i]);
	diff_vars(c, a, b);
	fl_free(pairs.at);
	fl_buf_release(&where);
}

enum fl_code fl_diff_programs(struct fl_diff *d, const fl_pb_program *a, const char *name_a,
	const fl_pb_program *b, const char *name_b, struct fl_buf *out, struct fl_err *err)
{
	struct ctx c = { .d = d, .out = out, .name_a = name_a, .name_b = name_b };
	struct fl_canon x, y;
	enum fl_code code;

	FL_TRY(fl_canon_make(a, d->skip, d->n_skip, name_a, &x, err));
	code = fl_canon_make(b, d->skip, d->n_skip, name_b, &y, err);
	if (code != FL_OK) {
		fl_canon_release(&x);
		return code;
	}
	diff_number(&c, "program", "version", x.version, y.version);
	diff_number(&c, "program", "blocks", (int64_t)x.n_blocks, (int64_t)y.n_blocks);
	for (size_t i = 0; i < x.n_blocks && i < y.n_blocks; i++)
		diff_block(&c, &x.blocks[i], &y.blocks[i]);
	fl_canon_release(&x);
	fl_canon_release(&y);
	return FL_OK;
}

size_t fl_diff_total(const struct fl_diff *d)
{
	return d->ops_gone + d->ops_new + d->ops_changed + d->vars_gone + d->vars_new +
	       d->vars_changed + d->others;
}
