/* fluidc: the table of subcommands, and the choice among them. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/near.h"
#include "cmd.h"
#include "common/term.h"

static const struct {
	const char *name, *title; /* title: what messages begin with */
	int (*run)(int argc, char **argv);
	const char *what;
} commands[] = {
	{ "transpile", "fluidc transpile", cmd_transpile, "write the programs of trainers and servers" },
	{ "plan", "fluidc plan", cmd_plan, "show which server would hold what" },
	{ "show", "fluidc show", cmd_show, "print a program as text, JSON, protobuf text or a graph" },
	{ "pack", "fluidc pack", cmd_pack, "make a serialized program of JSON" },
	{ "diff", "fluidc diff", cmd_diff, "say what two programs differ in" },
	{ "check", "fluidc check", cmd_check, "say what is wrong with programs" },
	{ "prune", "fluidc prune", cmd_prune, "keep what some variables need" },
	{ "ops", "fluidc ops", cmd_ops, "list the operators that this build knows" },
};

static void usage(void)
{
	printf("fluidc works on serialized Fluid programs.\n\n"
	       "usage: fluidc COMMAND [options] FILE...\n\n");
	for (size_t i = 0; i < FL_COUNT(commands); i++)
		printf("  %-10s %s\n", commands[i].name, commands[i].what);
	printf("\n'fluidc COMMAND --help' shows the options of a command; 'fluidc --version' the "
	       "version.\n");
}

static int unknown(const char *name)
{
	struct fl_near near;
	struct fl_err err;

	fl_near_init(&near, name);
	for (size_t i = 0; i < FL_COUNT(commands); i++)
		fl_near_try(&near, commands[i].name);
	if (near.best)
		fl_err_set(&err, FL_EINVAL, "unknown command '%s', did you mean '%s'?", name, near.best);
	else
		fl_err_set(&err, FL_EINVAL, "unknown command '%s', see fluidc --help", name);
	return term_fail(EXIT_USAGE, &err);
}

int main(int argc, char **argv)
{
	struct fl_err err;

	term_start("fluidc", argc, argv);
	if (argc < 2) {
		fl_err_set(&err, FL_EINVAL, "a command is wanted, see fluidc --help");
		return term_fail(EXIT_USAGE, &err);
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		usage();
		return EXIT_OK;
	}
	if (!strcmp(argv[1], "--version")) {
		printf("fluidc %s\n", FLUID_VERSION);
		return EXIT_OK;
	}
	for (size_t i = 0; i < FL_COUNT(commands); i++)
		if (!strcmp(argv[1], commands[i].name)) {
			term_start(commands[i].title, argc - 1, argv + 1);
			return commands[i].run(argc - 1, argv + 1);
		}
	return unknown(argv[1]);
}
