/*
 * A program from a stranger, transpiled with options that its own bytes choose: refused in words, or
 * programs that load again. The same bytes serve as startup program.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "desc/program.h"
#include "transpile/transpile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void choose(uint64_t h, struct fl_transpile_opts *o)
{
	static const char *const eps[] = { "a:1", "b:2", "c:3", "d:4", "e:5" };

	fl_transpile_opts_init(o);
	o->pservers = eps;
	o->n_pservers = 1 + h % 5;
	o->trainers = 1 + (int)(h >> 8) % 3;
	o->mode = (enum fl_dist_mode)((h >> 16) % FL_MODE_COUNT);
	o->split_method = (enum fl_split_method)((h >> 20) % FL_SPLIT_METHOD_COUNT);
	o->slice_var_up = (h >> 24) % 4;
	o->runtime_split_send_recv = (h >> 28) % 3 == 0;
	o->random_seed = (int64_t)(h >> 32 & 0xff);
	o->enable_dc_asgd = o->mode == FL_MODE_ASYNC && !o->runtime_split_send_recv && h >> 40 & 1;
}

static void loads_again(struct fl_role_programs *r)
{
	struct fl_program *parts[] = { r->main, r->startup };

	for (size_t i = 0; i < 2; i++) {
		struct fl_program *again;
		struct fl_buf b = FL_BUF_INIT;
		struct fl_err err;

		fl_program_pack(parts[i], &b);
		if (fl_program_parse(fl_buf_str(&b), b.len, "again", &again, &err) != FL_OK)
			abort();
		fl_program_free(again);
		fl_buf_release(&b);
	}
	fl_role_programs_free(r);
}

static void transpile(const struct fl_program *prog, const struct fl_transpile_opts *o)
{
	struct fl_transpiler *t;
	struct fl_role_programs r;
	struct fl_buf text = FL_BUF_INIT;
	struct fl_err err;

	if (fl_transpiler_new(prog, prog, o, &t, &err) != FL_OK)
		return;
	fl_plan_json(t, &text);
	fl_plan_table(t, &text);
	fl_buf_release(&text);
	for (int i = 0; i < o->trainers; i++)
		if (fl_transpile_trainer(t, i, &r, &err) == FL_OK)
			loads_again(&r);
	for (size_t i = 0; i < o->n_pservers; i++)
		if (fl_transpile_pserver(t, i, &r, &err) == FL_OK)
			loads_again(&r);
	fl_transpiler_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fl_transpile_opts o;
	struct fl_program *prog;
	struct fl_err err;

	if (fl_program_parse(data, size, "fuzz", &prog, &err) != FL_OK)
		return 0;
	choose(fl_hash(data, size), &o);
	transpile(prog, &o);
	fl_program_free(prog);
	return 0;
}
