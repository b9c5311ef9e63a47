/* The subcommands of fluidc: each takes argv[1..argc) and returns the exit code. */
#ifndef CMD_FLUIDC_CMD_H
#define CMD_FLUIDC_CMD_H

int cmd_transpile(int argc, char **argv);
int cmd_plan(int argc, char **argv);
int cmd_show(int argc, char **argv);
int cmd_pack(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_prune(int argc, char **argv);
int cmd_ops(int argc, char **argv);

#endif
