# check: single programs, folders of roles, exit codes.
set -eu
code() { want=$1; shift; if "$@" >out 2>err; then rc=0; else rc=$?; fi; [ $rc = "$want" ] || { cat out err; exit 1; }; }
for p in "$TOP"/testdata/programs/*.pb; do
	case $p in *v011*) code 2 $FLUIDC check "$p";; *) code 0 $FLUIDC check "$p";; esac
done
m=$TOP/testdata/transpile/mlp-sgd/main.pb
for mode in sync async; do
	$FLUIDC transpile -q --mode $mode --pservers h:1,h:2 --trainers 2 -o $mode "$m"
	code 0 $FLUIDC check $mode
	grep -q '^8 programs checked: 0 problems' out
done
# trainers of one mode against a server of the other
mkdir mixed
cp async/trainer-*.pb sync/pserver-*.pb mixed
code 1 $FLUIDC check mixed
grep -q 'no send_barrier for h:1, which is synchronous and would wait for ever' out
# a server too few
rm sync/pserver-1.main.pb
code 1 $FLUIDC check sync
grep -q "where no server is" out
p=$TOP/testdata/programs/train_fit_a_line_main.pb
$FLUIDC show --format json "$p" | sed 's/"arguments": \["fc_0.w_0"\]/"arguments": ["fc_0.w_1"]/' | $FLUIDC pack - -o name.pb
code 1 $FLUIDC check name.pb
grep -q "op 0 'mul': input 'Y': variable 'fc_0.w_1' is not declared, did you mean 'fc_0.w_0'?" out
mkdir empty
code 2 $FLUIDC check empty
