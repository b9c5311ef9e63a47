# Help and version go to stdout; mistakes in the options and unreadable programs end with 2, in words.
set -eu
wrong() { # words, arguments
	words=$1; shift
	rc=0; $FLUIDRUN "$@" >out 2>err || rc=$?
	cat err
	test $rc = 2
	grep -q -- "$words" err
	test ! -s out
}
main=$TOP/testdata/train/fit_a_line-sgd/main.pb
$FLUIDRUN --help >out 2>err
grep -q '^  *--feed-dir DIR' out
test ! -s err
$FLUIDRUN --version | grep -q '^fluidrun [0-9]'
wrong 'no program file given'
wrong 'one program file is wanted, found 2' "$main" "$main"
wrong "did you mean '--feed-dir'" --feed-dri x "$main"
wrong "'--batch-size' wants a whole number, not 'many'" --batch-size many "$main"
wrong "'--batch-size' wants a number from 1" --batch-size 0 "$main"
wrong 'wants fail or continue' --on-lost-trainer ignore "$main"
wrong "'--load-names' needs '--load'" --load-names a "$main"
wrong "'--save-every' needs '--save'" --save-every 1 "$main"
wrong "'--eval' needs '--eval-fetch'" --eval "$main" "$main"
wrong "'--tls-cert' needs '--tls-key'" --tls-cert x "$main"
wrong 'it is at most 1' --trainers 2 --trainer-id 2 "$main"
wrong 'nosuch.pb' nosuch.pb
wrong 'text or json' --log xml "$main"
head -c 100 "$main" >cut.pb
wrong 'cut.pb' cut.pb
mkdir empty
wrong 'holds no saved model' empty
wrong 'wants OLD=HOST:PORT' --endpoint a:1=b "$main"
FLAGS_rpc_deadline=soon wrong "FLAGS_rpc_deadline='soon'" "$main"
# --log json holds for mistakes, too.
rc=0; $FLUIDRUN --log json --nothing "$main" 2>err || rc=$?
test $rc = 2
grep -q '^{"event":"error","t":.*"exit":2}$' err
