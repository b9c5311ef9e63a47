# The plan: a table, JSON that is plan.json, and comparisons.
set -eu
m=$TOP/testdata/transpile/mlp-momentum/main.pb
opts='--pservers 127.0.0.1:6174,127.0.0.1:6175 --trainers 2'
$FLUIDC plan $opts "$m" >table
grep -q '^fc_0.w_0.block0 *392x200 *0 *306.2 KiB  127.0.0.1:6175$' table
grep -q '^fc_0.w_0.block1 *392x200 *78400 ' table
grep -q 'a step of a trainer sends 778.1 KiB and receives 778.1 KiB' table
$FLUIDC plan $opts --json "$m" >json
$FLUIDC transpile $opts -q -o out "$m"
cmp json out/plan.json
$FLUIDC plan $opts --what-if pservers=1,4 "$m" >compared
grep -q '^ *1  *6  *796840 ' compared
grep -q '^ *4 ' compared
if $FLUIDC plan $opts --what-if trainers=1 "$m" 2>err; then exit 1; else test $? = 2; fi
if $FLUIDC plan $opts --what-if pservers=1,0 "$m" 2>err; then exit 1; else test $? = 2; fi
# More servers than parts: said.
$FLUIDC plan --pservers a:1,b:2,c:3,d:4,e:5,f:6,g:7,h:8,i:9 --trainers 1 --no-slice-var-up "$m" >uneven
grep -q 'warning: 3 of 9 servers hold no parameter' uneven
grep -q 'times the mean' uneven
