# ops: the list, one operator, an unknown one.
set -eu
$FLUIDC ops >list
grep -q '^[0-9]* operators, [0-9]* with a kernel$' list
for op in mul relu sgd softmax_with_cross_entropy listen_and_serv; do grep -q "^$op  *[a-z]" list; done
$FLUIDC ops mul >mul
grep -q '^mul (kernel' mul
grep -q '^  input  X$' mul
grep -q '^  attr   x_num_col_dims INT = 1' mul
if $FLUIDC ops sofmtax 2>err; then exit 1; else [ $? = 1 ]; fi
grep -q "did you mean 'softmax'?" err
