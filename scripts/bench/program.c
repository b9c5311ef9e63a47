/*
 * Writes a training program of any size for scripts/bench/transpile: OUT.main.pb and
 * OUT.startup.pb. A layer has two parameters and ten operators, with the attributes that Fluid's
 * front end writes:
 *
 *	mul elementwise_add scale relu .. relu_grad scale elementwise_add_grad mul_grad .. momentum momentum
 */
#include <stdio.h>
#include <stdlib.h>

#include "desc/edit.h"
#include "desc/names.h"
#include "transpile/internal.h"

#define WIDTH 128

struct names {
	char w[32], b[32], x[32], mul[32], add[32], scaled[32], out[32];
};

static struct names names_of(int layer)
{
	struct names n;

	snprintf(n.w, sizeof n.w, "fc_%d.w_0", layer);
	snprintf(n.b, sizeof n.b, "fc_%d.b_0", layer);
	snprintf(n.mul, sizeof n.mul, "fc_%d.tmp_0", layer);
	snprintf(n.add, sizeof n.add, "fc_%d.tmp_1", layer);
	snprintf(n.scaled, sizeof n.scaled, "scale_%d.tmp_0", layer);
	snprintf(n.out, sizeof n.out, "relu_%d.tmp_0", layer);
	if (layer)
		snprintf(n.x, sizeof n.x, "relu_%d.tmp_0", layer - 1);
	else
		snprintf(n.x, sizeof n.x, "x");
	return n;
}

static void var(struct fl_program *p, const char *name, const char *suffix, int64_t rows,
	int64_t columns, bool persistable)
{
	const int64_t dims[] = { rows, columns };
	char full[80];
	fl_pb_var *v;

	snprintf(full, sizeof full, "%s%s", name, suffix);
	v = fl_add_var(p, p->pb->blocks[0], full, FL_LOD_TENSOR);
	fl_var_set_tensor(p, v, FL_FP32, dims, columns ? 2 : 1, 0);
	fl_var_set_persistable(v, persistable);
}

static fl_pb_op *op(struct fl_program *p, const char *type, int role)
{
	fl_pb_op *made = fl_new_op(p, type);

	fl_op_set_int(p, made, FL_ATTR_ROLE, role);
	tp_complete(p, made);
	fl_push_op(p, p->pb->blocks[0], made);
	return made;
}

/* `arg` with `suffix` appended, as the only argument. */
static void in(struct fl_program *p, fl_pb_op *o, const char *slot, const char *arg,
	const char *suffix)
{
	char full[80];
	const char *name = full;

	snprintf(full, sizeof full, "%s%s", arg, suffix);
	fl_op_set_input(p, o, slot, &name, 1);
}

static void out(struct fl_program *p, fl_pb_op *o, const char *slot, const char *arg,
	const char *suffix)
{
	char full[80];
	const char *name = full;

	snprintf(full, sizeof full, "%s%s", arg, suffix);
	fl_op_set_output(p, o, slot, &name, 1);
}

static void vars(struct fl_program *p, const struct names *n)
{
	const char *const inner[] = { n->mul, n->add, n->scaled, n->out };

	var(p, n->w, "", WIDTH, WIDTH, true);
	var(p, n->w, "@GRAD", WIDTH, WIDTH, false);
	var(p, n->w, "_velocity_0", WIDTH, WIDTH, true);
	var(p, n->b, "", WIDTH, 0, true);
	var(p, n->b, "@GRAD", WIDTH, 0, false);
	var(p, n->b, "_velocity_0", WIDTH, 0, true);
	for (int i = 0; i < 4; i++) {
		var(p, inner[i], "", -1, WIDTH, false);
		var(p, inner[i], "@GRAD", -1, WIDTH, false);
	}
}

static void forward(struct fl_program *p, const struct names *n)
{
	fl_pb_op *o = op(p, "mul", FL_ROLE_FORWARD);

	in(p, o, "X", n->x, "");
	in(p, o, "Y", n->w, "");
	out(p, o, "Out", n->mul, "");
	o = op(p, "elementwise_add", FL_ROLE_FORWARD);
	in(p, o, "X", n->mul, "");
	in(p, o, "Y", n->b, "");
	out(p, o, "Out", n->add, "");
	fl_op_set_int(p, o, "axis", 1);
	o = op(p, "scale", FL_ROLE_FORWARD);
	in(p, o, "X", n->add, "");
	out(p, o, "Out", n->scaled, "");
	o = op(p, "relu", FL_ROLE_FORWARD);
	in(p, o, "X", n->scaled, "");
	out(p, o, "Out", n->out, "");
}

static void role_var(struct fl_program *p, fl_pb_op *o, const char *param)
{
	char grad[80];
	const char *pair[] = { param, grad };

	snprintf(grad, sizeof grad, "%s@GRAD", param);
	fl_op_set_strs(p, o, FL_ATTR_ROLE_VAR, pair, 2);
}

static void backward(struct fl_program *p, const struct names *n)
{
	fl_pb_op *o = op(p, "relu_grad", FL_ROLE_BACKWARD);

	in(p, o, "Out", n->out, "");
	in(p, o, "Out@GRAD", n->out, "@GRAD");
	out(p, o, "X@GRAD", n->scaled, "@GRAD");
	o = op(p, "scale", FL_ROLE_BACKWARD);
	in(p, o, "X", n->scaled, "@GRAD");
	out(p, o, "Out", n->add, "@GRAD");
	o = op(p, "elementwise_add_grad", FL_ROLE_BACKWARD);
	in(p, o, "X", n->mul, "");
	in(p, o, "Y", n->b, "");
	in(p, o, "Out@GRAD", n->add, "@GRAD");
	out(p, o, "X@GRAD", n->mul, "@GRAD");
	out(p, o, "Y@GRAD", n->b, "@GRAD");
	fl_op_set_int(p, o, "axis", 1);
	role_var(p, o, n->b);
	o = op(p, "mul_grad", FL_ROLE_BACKWARD);
	in(p, o, "X", n->x, "");
	in(p, o, "Y", n->w, "");
	in(p, o, "Out@GRAD", n->mul, "@GRAD");
	out(p, o, "X@GRAD", n->x, "@GRAD");
	out(p, o, "Y@GRAD", n->w, "@GRAD");
	role_var(p, o, n->w);
}

static void momentum(struct fl_program *p, const char *param)
{
	fl_pb_op *o = op(p, "momentum", FL_ROLE_OPTIMIZE);

	in(p, o, "Param", param, "");
	in(p, o, "Grad", param, "@GRAD");
	in(p, o, "Velocity", param, "_velocity_0");
	in(p, o, "LearningRate", "learning_rate_0", "");
	out(p, o, "ParamOut", param, "");
	out(p, o, "VelocityOut", param, "_velocity_0");
	fl_op_set_float(p, o, "mu", 0.9f);
	role_var(p, o, param);
}

static void init(struct fl_program *p, const char *type, const char *name, const char *suffix,
	int64_t rows, int64_t columns)
{
	const int64_t dims[] = { rows, columns };
	fl_pb_op *o = op(p, type, FL_ROLE_FORWARD);

	var(p, name, suffix, rows, columns, true);
	out(p, o, "Out", name, suffix);
	fl_op_set_longs(p, o, "shape", dims, columns ? 2 : 1);
	fl_op_set_int(p, o, "dtype", FL_FP32);
}

static void start(struct fl_program *p, const struct names *n)
{
	init(p, "uniform_random", n->w, "", WIDTH, WIDTH);
	init(p, "fill_constant", n->w, "_velocity_0", WIDTH, WIDTH);
	init(p, "fill_constant", n->b, "", WIDTH, 0);
	init(p, "fill_constant", n->b, "_velocity_0", WIDTH, 0);
}

static int save(struct fl_program *p, const char *base, const char *ending)
{
	char path[4096];
	struct fl_err err;

	snprintf(path, sizeof path, "%s.%s.pb", base, ending);
	if (fl_program_save(p, path, &err) == FL_OK)
		return 0;
	fprintf(stderr, "%s\n", err.msg);
	return 1;
}

int main(int argc, char **argv)
{
	struct fl_program *main = fl_program_new(1008005), *startup = fl_program_new(1008005);
	int layers = argc == 3 ? (int)(strtol(argv[1], NULL, 10) / 10) : 0, failed;

	if (layers < 1) {
		fprintf(stderr, "usage: program OPERATORS OUT\n");
		return 2;
	}
	var(main, "x", "", -1, WIDTH, false);
	var(main, "x", "@GRAD", -1, WIDTH, false);
	var(main, "learning_rate_0", "", 1, 0, true);
	init(startup, "fill_constant", "learning_rate_0", "", 1, 0);
	for (int i = 0; i < layers; i++) {
		struct names n = names_of(i);

		vars(main, &n);
		forward(main, &n);
		start(startup, &n);
	}
	for (int i = layers; i-- > 0;) {
		struct names n = names_of(i);

		backward(main, &n);
	}
	for (int i = 0; i < layers; i++) {
		struct names n = names_of(i);

		momentum(main, n.b);
		momentum(main, n.w);
	}
	failed = save(main, argv[2], "main") | save(startup, argv[2], "startup");
	fl_program_free(main);
	fl_program_free(startup);
	return failed;
}
