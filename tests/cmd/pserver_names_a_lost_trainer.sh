# A trainer dies while the server waits for another one: the server says which, and ends with 170.
set -eu
pids=
trap 'kill -KILL $pids 2>/dev/null || true' EXIT
d=$TOP/testdata/dist/fit_a_line-sgd-ps1-tr2-sync
ep=$(sed -n 's/.*"endpoints": \["\([^"]*\)".*/\1/p; /"endpoints"/{n;s/.*"\([^"]*\)".*/\1/p;}' "$d/config.json" | head -n 1)
"$FLUIDRUN" --endpoint "$ep=127.0.0.1:0" --port-file port --startup "$d/pserver-0.startup.pb" \
	--log json "$d/pserver-0.main.pb" 2>err &
server=$!; pids=$server
for i in $(seq 200); do [ -e port ] && break; sleep 0.05; done
"$FLUIDRUN" --endpoint "$ep=127.0.0.1:$(cat port)" --startup "$d/trainer-0.startup.pb" \
	--feed-dir "$d/trainer-0/feed" "$d/trainer-0.main.pb" >/dev/null 2>trainer.err &
trainer=$!; pids="$pids $trainer"
# Round 0 is one trainer short: after 3 s the server says whom it waits for.
for i in $(seq 200); do grep -q '"event":"waiting"' err && break; sleep 0.05; done
grep '"event":"waiting"' err | grep -q 'trainer 1' || { cat err trainer.err; exit 1; }
kill -9 $trainer
rc=0
wait $server || rc=$?
[ $rc = 170 ] || { echo "exit code $rc"; cat err; exit 1; }
grep '"event":"lost"' err | grep -q 'trainer 0 is lost'
