# show and pack: every form of every program, and the same bytes back.
set -eu
for p in "$TOP"/testdata/programs/*.pb; do
	case $p in *v011*) continue;; esac
	$FLUIDC show --format json "$p" | $FLUIDC pack - -o back.pb
	cmp "$p" back.pb
	$FLUIDC show "$p" >text
	[ "$(grep -c '^ *op [0-9]' text)" = "$($FLUIDC show --stat "$p" | sed -n 's/^operators \([0-9]*\),.*/\1/p')" ]
	$FLUIDC show --format dot "$p" >dot
	[ "$(head -n 1 dot)" = 'digraph program {' ] && [ "$(tail -n 1 dot)" = '}' ]
	$FLUIDC show --format proto "$p" >proto
	[ "$(grep -c '^  ops {$' proto)" = "$(grep -c '^ *op [0-9]' text)" ]
done
# a picture: operators by what they are for, parameters apart from other persistable variables
$FLUIDC show --format dot "$TOP/testdata/transpile/fit_a_line-sgd/main.pb" >dot
[ "$(grep -c 'subgraph cluster_0_' dot)" = 3 ]
[ "$(grep -c 'fillcolor=gold' dot)" = 2 ]
grep -q 'learning_rate_0 \[1\]", style=filled, fillcolor=lightgrey' dot
# what is no program is refused, saying what it is and where it stopped
refused() {
	if $FLUIDC show "$TOP/testdata/programs/$1" >out 2>err; then exit 1; else [ $? = 2 ]; fi
	grep -q "$2" err && grep -q 'at byte [0-9]* of [0-9]*' err && [ ! -s out ]
}
refused derived_v011_lstm_while_adagrad.pb 'layout of release 0.11'
refused reject_pickled_model_2017.bin 'python pickle'
p=$TOP/testdata/programs/train_fit_a_line_main.pb
head -c 3000 "$p" >cut.pb
if $FLUIDC show cut.pb 2>err; then exit 1; else [ $? = 2 ]; fi
grep -q 'block 0, op [0-9]* .*the file ends.*at byte [0-9]* of 3000' err
# malformed JSON is refused in words; nothing is written
$FLUIDC show --format json "$p" >good.json
sed 's/"parent_idx"/"parent_ix"/' good.json >bad.json
if $FLUIDC pack bad.json -o none.pb 2>err; then exit 1; else [ $? = 2 ]; fi
grep -q "blocks\[0\]: unknown key 'parent_ix', did you mean 'parent_idx'?" err
[ ! -e none.pb ]
head -c 900 good.json >cut.json
if $FLUIDC pack cut.json -o none.pb 2>err; then exit 1; else [ $? = 2 ]; fi
grep -q 'malformed JSON at line' err
if $FLUIDC pack good.json 2>err; then exit 1; else [ $? = 2 ]; fi
# protobuf's own tool agrees, where it is installed (it shows unknown fields in a way of its own)
p=$TOP/testdata/programs/derived_conv012_lstm_while_adagrad.pb
if command -v protoc >/dev/null; then
	protoc --decode=paddle.framework.proto.ProgramDesc -I"$TOP/proto" framework.proto <"$p" >theirs
	$FLUIDC show --format proto "$p" >ours
	cmp theirs ours
fi
