/* Any text as JSON of a program: what is packed must come back the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/show.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fl_buf json = FL_BUF_INIT, a = FL_BUF_INIT, b = FL_BUF_INIT;
	struct fl_program *prog, *back;
	struct fl_err err;
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = 0;
	if (fl_pack_json(text, size, "fuzz", &prog, &err) == FL_OK) {
		fl_program_pack(prog, &a);
		fl_show_json(prog->pb, &json);
		if (fl_pack_json(fl_buf_str(&json), json.len, "again", &back, &err) != FL_OK)
			abort();
		fl_program_pack(back, &b);
		if (a.len != b.len || memcmp(a.data, b.data, a.len))
			abort();
		fl_program_free(prog);
		fl_program_free(back);
	}
	free(text);
	fl_buf_release(&json);
	fl_buf_release(&a);
	fl_buf_release(&b);
	return 0;
}
