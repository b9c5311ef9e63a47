# diff: exit codes, listing, folders.
set -eu
code() { want=$1; shift; if "$@" >out 2>err; then rc=0; else rc=$?; fi; [ $rc = "$want" ] || { cat out err; exit 1; }; }
p=$TOP/testdata/programs/train_fit_a_line_main.pb
code 0 $FLUIDC diff "$p" "$p"
[ ! -s out ]
$FLUIDC show --format json "$p" | sed 's/"name": "axis", "type": "INT", "i": 1}/"name": "axis", "type": "INT", "i": 2}/' |
	$FLUIDC pack - -o axis.pb
code 1 $FLUIDC diff "$p" axis.pb
grep -q '^@@ block 0, op 1 @@$' out
grep -q '^-  attr axis: INT 1$' out
grep -q '^+  attr axis: INT 2$' out
code 0 $FLUIDC diff --ignore-attr axis "$p" axis.pb
code 1 $FLUIDC diff --stat "$p" axis.pb
grep -q 'operators -0 +0 ~2, variables -0 +0 ~0' out
code 2 $FLUIDC diff "$p" "$TOP/testdata/programs/reject_pickled_model_2017.bin"
code 2 $FLUIDC diff "$p" nowhere.pb
code 2 $FLUIDC diff "$p" .
mkdir -p a/sub b/sub
cp "$p" a/sub/x.pb; cp "$p" b/sub/x.pb; cp "$p" a/y.pb; cp axis.pb b/y.pb; cp "$p" b/z.pb
code 1 $FLUIDC diff a b
grep -q '^only in b: z.pb$' out
grep -q '^1 of 3 files equal$' out
rm b/z.pb; cp "$p" b/y.pb
code 0 $FLUIDC diff a b
grep -q '^2 of 2 files equal$' out
