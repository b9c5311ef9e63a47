# Roles of different transpilations refuse each other in words; programs without a record are served as before.
set -eu
d=$TOP/testdata/train/fit_a_line-sgd
pids=
trap 'kill $pids 2>/dev/null || true' EXIT
for mode in sync async; do
	$FLUIDC transpile -q --mode $mode --pservers 127.0.0.1:6174 --trainers 1 --startup "$d/startup.pb" -o $mode "$d/main.pb"
done
echo "0,0,0,0,0,0,0,0,0,0,0,0,1,2" >data.csv
$FLUIDRUN -q --endpoint 127.0.0.1:6174=127.0.0.1:0 --port-file port --ready-file ready --startup async/pserver-0.startup.pb \
	async/pserver-0.main.pb & ps=$! pids=$!
n=0
until [ -s port ] && [ -e ready ]; do n=$((n + 1)); test $n -lt 400; sleep 0.05; done
trainer() { # startup program, main program
	$FLUIDRUN -q --endpoint "127.0.0.1:6174=127.0.0.1:$(cat port)" --startup "$1" --feed x=data.csv,columns=0-12 \
		--feed y=data.csv,columns=13 --no-shard "$2"
}
rc=0; trainer sync/trainer-0.startup.pb sync/trainer-0.main.pb 2>err || rc=$?
cat err
test $rc = 1
grep -q "another transpilation (fingerprint [0-9a-f]*) than this server's" err
# Without the record: what real Fluid writes. The server goes on after the refusal, and ends with its trainer.
for f in startup main; do
	$FLUIDC show --format json async/trainer-0.$f.pb | sed 's/"field": *2047/"field": 2046/' >$f.json
	$FLUIDC pack $f.json -o bare.$f.pb
done
trainer bare.startup.pb bare.main.pb
wait $ps
