# Files appear whole or not at all; existing ones are replaced, other files are left alone.
set -eu
m=$TOP/testdata/transpile/fit_a_line-sgd/main.pb
opts='--pservers a:1 --trainers 1 -q'
mkdir old
echo mine >old/notes
echo stale >old/plan.json
$FLUIDC transpile $opts -o old/ "$m"
grep -q mine old/notes
grep -q '"parameters"' old/plan.json
test "$(ls -A old | wc -l)" = 6
$FLUIDC transpile $opts -o deep/er/new/ "$m"
test "$(ls -A deep/er/new | wc -l)" = 5
test "$(ls -A deep/er | wc -l)" = 1

# A file stands where the folder should be.
echo x >file
if $FLUIDC transpile $opts -o file "$m" 2>err; then exit 1; else test $? = 1; fi
grep -q file err
grep -q x file
if $FLUIDC transpile $opts -o file/below "$m" 2>err; then exit 1; else test $? = 1; fi
ls -A >got
printf '%s\n' deep err file got old >want
diff want got
