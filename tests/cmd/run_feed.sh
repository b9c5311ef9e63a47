# Data files: text, gzip, sharding, shuffling; what does not fit is refused with names.
set -eu
d=$TOP/testdata/train/fit_a_line-sgd
i=0; : >data.csv
while [ $i -lt 10 ]; do
	echo "$i,0,0,0,0,0,0,0,0,0,0,0,1,$((i * 2))" >>data.csv
	i=$((i + 1))
done
run() { $FLUIDRUN -q --load "$d/init" "$@" "$d/main.pb"; }
both="--feed x=data.csv,columns=0-12 --feed y=data.csv,columns=13"
run $both --batch-size 4 --fetch y >y
test "$(cat y | tr '\n' '|')" = 'step 0  y  0 2 4 6|step 1  y  8 10 12 14|step 2  y  16 18|'
test "$(run $both --batch-size 4 --drop-last --fetch y | wc -l)" = 2
gzip -k data.csv
run --feed x=data.csv.gz,columns=0-12 --feed y=data.csv.gz,columns=13 --batch-size 4 --fetch y | cmp - y
rc=0; run $both --feed-dir /dev/null 2>err || rc=$?
test $rc = 2
grep -q /dev/null err
# The same seed, the same order; every sample once.
run $both --batch-size 10 --shuffle --seed 3 --epochs 2 --fetch y >a
run $both --batch-size 10 --shuffle --seed 3 --epochs 2 --fetch y | cmp - a
test "$(head -n 1 a | cut -d' ' -f5-)" != "$(tail -n 1 a | cut -d' ' -f5-)"
for l in 1 2; do
	test "$(sed -n ${l}p a | cut -d' ' -f6- | tr ' ' '\n' | sort -n | tr '\n' ' ')" = '0 2 4 6 8 10 12 14 16 18 '
done
run $both --batch-size 4 --feed-dir "$d/feed" >/dev/null 2>&1 && exit 1
# A program that sends nothing reads everything.
test "$(run $both --batch-size 10 --trainers 2 --trainer-id 1 --fetch y | wc -w)" = 13
refuse() { # words, arguments
	words=$1; shift
	rc=0; run "$@" 2>err >out || rc=$?
	cat err
	test $rc = 2
	grep -q -- "$words" err
}
refuse "data variable 'y' has no feed" --feed x=data.csv,columns=0-12
refuse "no variable 'xx', did you mean 'x'" --feed xx=data.csv
refuse "'x': expected \[-1, 13\] of float32, found \[10, 14\]" --feed x=data.csv
refuse 'line 1: column 14 is wanted' --feed x=data.csv,columns=2-14
refuse "did you mean 'columns'" --feed x=data.csv,column=1
refuse "'x' is given twice" --feed x=data.csv,columns=0-12 --feed x=data.csv,columns=0-12
head -n 5 data.csv >short.csv
refuse "'y' has 5 samples, but 'x' has 10" --feed x=data.csv,columns=0-12 --feed y=short.csv,columns=13
refuse 'cannot open .nosuch.csv.' --feed x=nosuch.csv
refuse "no variable 'nosuch'" $both --fetch nosuch
