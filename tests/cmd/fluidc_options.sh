# Options: forms, help, mistakes and their exit codes, messages as JSON.
set -eu
p=$TOP/testdata/programs/train_fit_a_line_main.pb
says() { # EXIT TEXT COMMAND...: fails so, with that text on stderr and nothing on stdout
	want=$1 text=$2; shift 2
	if "$@" >stdout 2>stderr; then rc=0; else rc=$?; fi
	[ $rc = "$want" ] && grep -qF -- "$text" stderr && [ ! -s stdout ] && return 0
	echo "exit code $rc, wanted $want and '$text': $*"; cat stderr; exit 1
}
$FLUIDC --help | grep -q 'usage: fluidc COMMAND'
$FLUIDC --version | grep -q '^fluidc [0-9]'
for c in $($FLUIDC --help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
	$FLUIDC "$c" --help >help
	grep -q "^usage: fluidc $c" help
	grep -q -- '--log FORMAT' help
done
says 2 "did you mean 'show'?" $FLUIDC shwo
says 2 'a command is wanted' $FLUIDC
says 2 "unknown option '--fromat', did you mean '--format'?" $FLUIDC show --fromat=text "$p"
says 2 "unknown option '-x'" $FLUIDC show -x "$p"
says 2 "did you mean 'json'?" $FLUIDC show --format jsn "$p"
says 2 "option '--stat' takes no value" $FLUIDC show --stat=1 "$p"
says 2 "option '--block' wants a value (N)" $FLUIDC show "$p" --block
for n in '' x 1x ' 1' +1 0x1 1.0 99999999999999999999; do
	says 2 "option '--block' wants a whole number, not '$n'" $FLUIDC show --block "$n" "$p"
done
says 2 'wants a number from 0 to' $FLUIDC show --block -1 "$p"
says 2 'a file name is missing' $FLUIDC show
says 2 'too many file names' $FLUIDC show "$p" "$p"
says 2 "cannot open '--stat'" $FLUIDC show -- --stat
says 2 "option '--log' wants text or json" $FLUIDC show --log xml "$p"
says 1 "did you mean 'mul'?" $FLUIDC show --op mull "$p"
says 1 'has no block 7' $FLUIDC show --block 7 "$p"
# options before, after, with "=" and with letters; standard input
$FLUIDC show --op mul "$p" >a
$FLUIDC show "$p" --op=mul >b
$FLUIDC show --op mul - <"$p" >c
cmp a b; cmp a c
[ "$(grep -c '^  op ' a)" = 1 ]
# mistakes in the options are JSON, too, when that was asked for
says 2 '"event":"error"' $FLUIDC show --nonsense --log json "$p"
grep -q '^{"event":"error","t":[0-9.]*,.*}$' stderr
says 2 "fluidc show: cannot open 'nowhere'" $FLUIDC show nowhere
