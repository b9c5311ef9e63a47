# A server and two trainers: shards from the programs' own record, waiting, losing, stopping.
set -eu
d=$TOP/testdata/train/fit_a_line-sgd
pids=
trap 'kill $pids 2>/dev/null || true' EXIT
$FLUIDC transpile -q --pservers 127.0.0.1:6174 --trainers 2 --startup "$d/startup.pb" -o p "$d/main.pb"
i=0; : >data.csv
while [ $i -lt 20 ]; do
	echo "0.$i,0,1,0,0,0,0,0,0,0,0,0,1,$((i * 2))" >>data.csv
	i=$((i + 1))
done
server() { # arguments
	rm -f port ready
	$FLUIDRUN --endpoint 127.0.0.1:6174=127.0.0.1:0 --port-file port --ready-file ready --startup p/pserver-0.startup.pb \
		"$@" p/pserver-0.main.pb 2>server.err &
	ps=$! pids="$pids $!"
	n=0
	until [ -s port ] && [ -e ready ]; do n=$((n + 1)); test $n -lt 200; sleep 0.05; done
}
# EXEC=exec in the background, where a signal must reach the program and not a shell around it.
trainer() { # number, arguments
	k=$1; shift
	${EXEC:-} $FLUIDRUN -q --endpoint "127.0.0.1:6174=127.0.0.1:$(cat port)" --startup "p/trainer-$k.startup.pb" \
		--feed x=data.csv,columns=0-12 --feed y=data.csv,columns=13 --fetch y "$@" "p/trainer-$k.main.pb"
}
server --save final
EXEC=exec; trainer 0 --batch-size 5 --save t0 >y0 & a=$!; pids="$pids $a"
trainer 1 --batch-size 5 --save t1 >y1 & b=$!; pids="$pids $b"
wait $a && wait $b && wait $ps
test "$(head -n 1 y0)" = 'step 0  y  0 4 8 12 16'
test "$(tail -n 1 y1)" = 'step 1  y  22 26 30 34 38'
cmp t0/fc_0.w_0 t1/fc_0.w_0
cmp t0/fc_0.w_0 final/fc_0.w_0
# A signal stops the server in order, and a trainer that waits at a barrier.
server --save stopped
trainer 0 >/dev/null 2>t.err & a=$!; pids="$pids $a"
sleep 1
kill -TERM $a
rc=0; wait $a || rc=$?
cat t.err; test $rc = 143
kill -TERM $ps
rc=0; wait $ps || rc=$?
test $rc = 143
test -f stopped/fc_0.w_0
# No server: said which one is awaited, and given up.
echo 1 >port
rc=0; EXEC= trainer 0 --wait-servers 0.3 >/dev/null 2>t.err || rc=$?
cat t.err; test $rc = 171
grep -q "127.0.0.1:1" t.err
# A server that dies is noticed.
server
trainer 0 >/dev/null 2>t.err & a=$!; pids="$pids $a"
sleep 1
kill -KILL $ps
rc=0; wait $a || rc=$?
cat t.err; test $rc = 170
# A server has no data.
rc=0; $FLUIDRUN --feed x=data.csv p/pserver-0.main.pb 2>err || rc=$?
test $rc = 2
