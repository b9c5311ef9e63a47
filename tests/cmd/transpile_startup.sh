# The startup program is found beside the main program, or named.
set -eu
m=$TOP/testdata/transpile/fit_a_line-sgd
cp "$m/main.pb" net.main.pb
cp "$m/main.pb" other.pb
opts='--pservers a:1 --trainers 1 -q'
if $FLUIDC transpile $opts -o out net.main.pb 2>err; then exit 1; else test $? = 2; fi
grep -q 'no startup program beside' err
cp "$m/startup.pb" net.startup.pb
$FLUIDC transpile $opts -o a net.main.pb
$FLUIDC transpile $opts -o b --startup net.startup.pb other.pb
for f in a/*; do cmp "$f" "b/$(basename "$f")"; done
$FLUIDC transpile $opts -o c --startup net.startup.pb - <other.pb
for f in a/*; do cmp "$f" "c/$(basename "$f")"; done
test ! -e out
