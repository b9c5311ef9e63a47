# A signal ends the steps in order: what was trained is saved, the exit code is 128 + its number. timeout sends it twice, to the process and
# to its group: that is still one wish.
set -eu
d=$TOP/testdata/train/fit_a_line-sgd
for sig in TERM:143 INT:130; do
	rm -rf out
	rc=0
	timeout -s "${sig%:*}" --preserve-status 1 \
		"$FLUIDRUN" --log json --load "$d/init" --feed-dir "$d/feed" --epochs 100000000 --print-every 1000000 \
		--save out "$d/main.pb" 2>err || rc=$?
	tail -n 2 err
	test $rc = "${sig#*:}"
	grep -q '"event":"error".*stopped by signal' err
	test -f out/fc_0.w_0
done
