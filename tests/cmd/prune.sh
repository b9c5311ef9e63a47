# prune: what is left runs up to the target; mistakes write nothing.
set -eu
p=$TOP/testdata/programs/train_fit_a_line_main.pb
$FLUIDC prune -q --target fc_0.tmp_1 -o small.pb "$p"
$FLUIDC show small.pb >text
[ "$(grep -c '^  op ' text)" = 2 ] && [ "$(grep -c '^  var ' text)" = 5 ]
$FLUIDC check -q small.pb
$FLUIDC prune -q --target fc_0.tmp_1 --feed fc_0.tmp_0 -o smaller.pb "$p"
[ "$($FLUIDC show smaller.pb | grep -c '^  op ')" = 1 ]
if $FLUIDC prune --target fc_0.tmp_11 -o none.pb "$p" 2>err; then exit 1; else [ $? = 1 ]; fi
grep -q "did you mean 'fc_0.tmp_1'?" err
[ ! -e none.pb ]
if $FLUIDC prune -o none.pb "$p" 2>err; then exit 1; else [ $? = 2 ]; fi
# The form of __model__: feeds, the last one first; copies of the targets; fetches.
$FLUIDC prune -q --model --target fc_0.tmp_1,fc_0.tmp_0 --feed x -o model.pb "$p"
[ "$($FLUIDC show model.pb | sed -n 's/^  op [0-9 ]*\([a-z_]*\) .*/\1/p' | paste -sd' ')" = 'feed mul elementwise_add scale scale fetch fetch' ]
$FLUIDC check -q model.pb
