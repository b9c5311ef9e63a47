# A server that others could reach in plain text refuses, unless it is told to.
set -eu
pid=
trap '[ -z "$pid" ] || kill -KILL "$pid" 2>/dev/null || true' EXIT
w=$TOP/testdata/wire/sync_line
serve() { "$FLUIDRUN" --startup "$w/pserver0.startup.pb" "$@" "$w/pserver0.main.pb" 2>err; }
for a in 0.0.0.0:0 '[::]:0'; do
	rc=0
	serve --endpoint "127.0.0.1:27100=$a" || rc=$?
	[ $rc = 1 ] || { echo "$a: exit code $rc"; cat err; exit 1; }
	grep -q -- "--insecure" err
done
"$FLUIDRUN" --startup "$w/pserver0.startup.pb" --endpoint 127.0.0.1:27100=0.0.0.0:0 --insecure \
	--ready-file ready "$w/pserver0.main.pb" 2>err &
pid=$!
for i in $(seq 200); do [ -e ready ] && break; sleep 0.05; done
[ -e ready ] || { cat err; exit 1; }
grep -q "plain text" err
kill -TERM $pid
rc=0; wait $pid || rc=$?
[ $rc = 143 ] || { echo "exit code $rc"; cat err; exit 1; }
