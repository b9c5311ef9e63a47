# Fluid's own trainer programs have no fingerprint record, and their sends carry the default trainer_id 0 whoever sends:
# the number is the barriers'. A server that has heard trainer 1 alone waits for trainer 0.
set -eu
d=$TOP/testdata/dist/fit_a_line-sgd-ps1-tr2-sync
pids=
trap 'kill $pids 2>/dev/null || true' EXIT
"$FLUIDRUN" --endpoint 127.0.0.1:6174=127.0.0.1:0 --port-file port --startup "$d/pserver-0.startup.pb" --log json \
	--save saved "$d/pserver-0.main.pb" 2>err & server=$!; pids=$server
for i in $(seq 400); do [ -e port ] && break; sleep 0.05; done
trainer() {
	"$FLUIDRUN" --endpoint "127.0.0.1:6174=127.0.0.1:$(cat port)" --startup "$d/trainer-$1.startup.pb" \
		--feed-dir "$d/trainer-$1/feed" "$d/trainer-$1.main.pb" >/dev/null 2>"trainer-$1.err"
}
trainer 1 & one=$!; pids="$pids $one"
for i in $(seq 400); do grep -q '"event":"waiting"' err && break; sleep 0.05; done
grep '"event":"waiting"' err | grep -q 'trainer 0 (not heard of yet)' || { cat err trainer-1.err; exit 1; }
# When he comes, all goes on to its end, which is told once.
trainer 0
wait $one
wait $server
test "$(grep -c '"event":"done"' err)" = 1
test -f saved/fc_0.w_0
