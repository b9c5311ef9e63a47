# What a learning-rate schedule counts in async: all steps, or the slowest trainer's, which is exact.
set -eu
d=$TOP/testdata/transpile/fit_a_line-sgd-exp
pids=
trap 'kill $pids 2>/dev/null || true' EXIT
i=0; : >data.csv
while [ $i -lt 60 ]; do
	echo "0.$((i % 10)),0.$((i * 7 % 10)),1,0,0.5,0,0,0.1,0,0,0,0,1,$((i % 6))" >>data.csv
	i=$((i + 1))
done
feed="--feed x=data.csv,columns=0-12 --feed y=data.csv,columns=13 --batch-size 5"
# Opposite policies write programs of different transpilations; only asynchronous ones have one.
for steps in global per-trainer; do
	for n in 1 3; do
		$FLUIDC transpile -q --mode async --lr-steps $steps --pservers 127.0.0.1:6174 --trainers $n -o $steps-$n "$d/main.pb"
		$FLUIDC check -q $steps-$n
	done
done
$FLUIDC show per-trainer-3/pserver-0.main.pb >shown
test "$(grep -c 'elementwise_min' shown)" = 2
$FLUIDC show global-3/pserver-0.main.pb >shown
test "$(grep -c 'elementwise_min' shown)" = 0
rc=0; $FLUIDC transpile --lr-steps per-trainer --pservers a:1 --trainers 2 -o no "$d/main.pb" 2>err || rc=$?
test $rc = 2
grep -q "same step" err
rc=0; $FLUIDC transpile --mode geo --lr-steps per-trainer --pservers a:1 --trainers 2 -o no "$d/main.pb" 2>err || rc=$?
test $rc = 2
test ! -e no

server() { # folder, final
	rm -f port ready
	$FLUIDRUN -q --endpoint 127.0.0.1:6174=127.0.0.1:0 --port-file port --ready-file ready --load init --save "$2" \
		--startup "$1/pserver-0.startup.pb" "$1/pserver-0.main.pb" &
	ps=$! pids="$pids $!"
	n=0
	until [ -s port ] && [ -e ready ]; do n=$((n + 1)); test $n -lt 400; sleep 0.05; done
}
trainer() { # folder, number, arguments
	t=$1 k=$2; shift 2
	$FLUIDRUN -q --endpoint "127.0.0.1:6174=127.0.0.1:$(cat port)" --startup "$t/trainer-$k.startup.pb" $feed --no-shard "$@" \
		"$t/trainer-$k.main.pb"
}
mkdir init
$FLUIDRUN -q --startup "$d/startup.pb" --save all --steps 0 "$d/main.pb" >/dev/null 2>&1
cp all/fc_0.* init
# One trainer: every loss is that of a run without servers.
$FLUIDRUN -q --startup "$d/startup.pb" --load init $feed --steps 12 --fetch mean_0.tmp_0 "$d/main.pb" >local
server per-trainer-1 final
trainer per-trainer-1 0 --steps 12 --fetch mean_0.tmp_0 >remote
wait $ps
cat local remote
cmp local remote
# What Fluid counts is ahead of that.
server global-1 final1
trainer global-1 0 --steps 12 --fetch mean_0.tmp_0 >remote
wait $ps
! cmp -s local remote
# The counter: the step after the slowest trainer's last.
counter() { tail -c 8 "$1/@LR_DECAY_COUNTER@" | od -An -t d8 | tr -d ' '; }
test "$(counter final)" = 12
server per-trainer-3 final3
trainer per-trainer-3 0 --steps 9 & a=$!; pids="$pids $a"
trainer per-trainer-3 1 --steps 4 & b=$!; pids="$pids $b"
trainer per-trainer-3 2 --steps 6
wait $a && wait $b && wait $ps
test "$(counter final3)" = 4
