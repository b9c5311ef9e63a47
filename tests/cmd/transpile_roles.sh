# All roles are written, and --role writes some of them with the same bytes.
set -eu
m=$TOP/testdata/transpile/mlp-momentum
$FLUIDC transpile --pservers 127.0.0.1:6174,127.0.0.1:6175 --trainers 3 -o all "$m/main.pb" 2>summary
ls all >got
cat >want <<'END'
plan.json
pserver-0.main.pb
pserver-0.startup.pb
pserver-1.main.pb
pserver-1.startup.pb
trainer-0.main.pb
trainer-0.startup.pb
trainer-1.main.pb
trainer-1.startup.pb
trainer-2.main.pb
trainer-2.startup.pb
END
diff want got
grep -q 'mode sync, 3 trainers, 2 servers; 6 parameters in 8 blocks' summary
grep -q '127.0.0.1:6175' summary
grep -q 'a step of a trainer sends' summary

$FLUIDC transpile --pservers 127.0.0.1:6174,127.0.0.1:6175 --trainers 3 --role trainer:1 \
	--role pserver:127.0.0.1:6175 -q -o some "$m/main.pb" 2>quiet
test ! -s quiet
ls some >got
cat >want <<'END'
plan.json
pserver-1.main.pb
pserver-1.startup.pb
trainer-1.main.pb
trainer-1.startup.pb
END
diff want got
for f in some/*; do cmp "$f" "all/$(basename "$f")"; done

# The same input and options give the same bytes, in any locale and with any spelling of the options.
LC_ALL=C.UTF-8 TZ=Asia/Kathmandu $FLUIDC transpile --mode=sync --trainers=3 -o again \
	--pservers=' 127.0.0.1:6174 , 127.0.0.1:6175' -- "$m/main.pb" 2>/dev/null
for f in all/*; do cmp "$f" "again/$(basename "$f")"; done
