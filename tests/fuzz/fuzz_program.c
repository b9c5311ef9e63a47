/*
 * Any bytes as a program: load, show in every form, check, compare, prune. What loads must come
 * back the same through JSON, and must equal itself.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "desc/program.h"
#include "inspect/check.h"
#include "inspect/diff.h"
#include "inspect/prune.h"
#include "inspect/show.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int holds)
{
	if (!holds)
		abort();
}

static void show_all(const struct fl_program *prog)
{
	const struct fl_show what = { .block = -1 };
	struct fl_buf out = FL_BUF_INIT;

	fl_show_text(prog->pb, &what, &out);
	fl_show_stat(prog->pb, &what, &out);
	fl_show_dot(prog->pb, &what, &out);
	fl_show_proto(prog->pb, &out);
	fl_buf_release(&out);
}

static void through_json(const struct fl_program *prog)
{
	struct fl_buf json = FL_BUF_INIT, a = FL_BUF_INIT, b = FL_BUF_INIT;
	struct fl_program *back;
	struct fl_err err;

	fl_show_json(prog->pb, &json);
	must(fl_pack_json(fl_buf_str(&json), json.len, "json", &back, &err) == FL_OK);
	fl_program_pack(prog, &a);
	fl_program_pack(back, &b);
	must(a.len == b.len && !memcmp(fl_buf_str(&a), fl_buf_str(&b), a.len));
	fl_program_free(back);
	fl_buf_release(&json);
	fl_buf_release(&a);
	fl_buf_release(&b);
}

static void check_and_diff(const struct fl_program *prog)
{
	const struct fl_role_file files[] = { { "trainer-0.main.pb", prog->pb },
		{ "pserver-0.main.pb", prog->pb } };
	struct fl_report report = { .strict = true };
	struct fl_diff diff = { 0 };
	struct fl_buf out = FL_BUF_INIT;
	struct fl_err err;

	fl_check_program(prog->pb, "fuzz", &report);
	fl_check_roles(files, 2, &report);
	fl_report_release(&report);
	if (fl_diff_programs(&diff, prog->pb, "a", prog->pb, "b", &out, &err) == FL_OK)
		must(fl_diff_total(&diff) == 0 && !out.len);
	fl_buf_release(&out);
}

static void prune(struct fl_program *prog)
{
	const fl_pb_block *block = prog->pb->blocks[0];
	struct fl_buf packed = FL_BUF_INIT;
	struct fl_program *back;
	const char *target;
	struct fl_err err;

	if (!block->n_vars)
		return;
	target = block->vars[block->n_vars - 1]->name;
	if (fl_prune(prog, &(struct fl_prune){ .targets = &target, .n_targets = 1 }, &err) != FL_OK)
		return;
	fl_program_pack(prog, &packed);
	must(fl_program_parse(fl_buf_str(&packed), packed.len, "pruned", &back, &err) == FL_OK);
	fl_program_free(back);
	fl_buf_release(&packed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fl_program *prog;
	struct fl_err err;

	if (fl_program_parse(data, size, "fuzz", &prog, &err) != FL_OK)
		return 0;
	show_all(prog);
	through_json(prog);
	check_and_diff(prog);
	prune(prog);
	fl_program_free(prog);
	return 0;
}
