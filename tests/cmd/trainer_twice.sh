# Two processes with the same number: the second one is told so and ends, instead of both taking part in turns and the
# job waiting for the one that is missing. The first one goes on when the other trainer comes.
set -eu
d=$TOP/testdata/dist/fit_a_line-sgd-ps1-tr2-sync
pids=
trap 'kill $pids 2>/dev/null || true' EXIT
"$FLUIDRUN" --endpoint 127.0.0.1:6174=127.0.0.1:0 --port-file port --startup "$d/pserver-0.startup.pb" --log json \
	"$d/pserver-0.main.pb" 2>err & server=$!; pids=$server
for i in $(seq 400); do [ -e port ] && break; sleep 0.05; done
trainer() { # number, name of its log
	${EXEC:-} "$FLUIDRUN" --endpoint "127.0.0.1:6174=127.0.0.1:$(cat port)" --startup "$d/trainer-$1.startup.pb" \
		--feed-dir "$d/trainer-$1/feed" "$d/trainer-$1.main.pb" >/dev/null 2>"$2"
}
EXEC=exec; trainer 0 first & first=$!; pids="$pids $first"
EXEC=
for i in $(seq 400); do grep -q '"event":"waiting"' err && break; sleep 0.05; done
rc=0; trainer 0 second || rc=$?
cat second
test $rc = 1
grep -q 'a second trainer 0' second
trainer 1 third
wait $first
wait $server
