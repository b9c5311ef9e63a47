# What cannot be transpiled is refused in words: exit 1, or 2 for options; nothing is written.
set -eu
t=$TOP/testdata/transpile
refuse() { # code, words, arguments
	code=$1 words=$2; shift 2
	rc=0; $FLUIDC transpile -o out "$@" 2>err >stdout || rc=$?
	cat err
	test $rc = "$code"
	grep -q -- "$words" err
	test ! -s stdout
	test ! -e out
	test -z "$(ls | grep -v -e '^err$' -e '^stdout$' -e '^done$' || true)"
}
two='--pservers 127.0.0.1:6174,127.0.0.1:6175 --trainers 2'
line=$t/fit_a_line-sgd/main.pb
refuse 1 "block 0, op [0-9]* 'lamb': parameter 'fc_0.b_0'" $two "$t/fit_a_line-lamb/main.pb"
refuse 2 'minimal block size of 1000 ' $two --min-block-size 1000 "$line"
refuse 2 'needs --mode async' $two --enable-dc-asgd "$line"
refuse 2 "endpoint 'a:1' is given twice" --pservers a:1,a:1 --trainers 2 "$line"
refuse 2 "'' is no endpoint" --pservers a:1,,b:2 --trainers 2 "$line"
refuse 2 "'a:99999' is no endpoint" --pservers a:99999 --trainers 2 "$line"
refuse 2 '0 trainers' --pservers a:1 --trainers 0 "$line"
refuse 2 "'--trainers' is missing" --pservers a:1 "$line"
refuse 2 "'--pservers' is missing" --trainers 2 "$line"
refuse 2 "did you mean 'async'" $two --mode asinc "$line"
refuse 2 "expected one of 'sync', 'async', 'half-async', 'geo'" $two --mode sink "$line"
refuse 2 "did you mean 'HashName'" $two --split-method Hashname "$line"
refuse 2 "did you mean '--pservers'" --pserver a:1 --trainers 2 "$line"
refuse 2 "there is no 'trainer:2'" $two --role trainer:2 "$line"
refuse 2 "there is no 'pserver:9.9.9.9:1'" $two --role pserver:9.9.9.9:1 "$line"
refuse 2 "'worker:1' is none" $two --role worker:1 "$line"
refuse 2 "is missing: the folder" $two -o '' "$line"
refuse 2 nosuch.pb $two --startup nosuch.startup.pb nosuch.pb
$FLUIDC transpile $two -q -o done "$line"
refuse 1 'transpiled already' $two --startup done/trainer-0.startup.pb done/trainer-0.main.pb
refuse 1 'no optimizer operators' $two --startup "$t/fit_a_line-sgd/startup.pb" "$t/fit_a_line-sgd/startup.pb"
head -c 500 "$line" | refuse 2 'standard input' $two --startup "$t/fit_a_line-sgd/startup.pb" -
