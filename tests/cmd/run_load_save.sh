# Variables from folders and combined files, and to them: the same bytes. Damaged files end with 2.
set -eu
d=$TOP/testdata/train/fit_a_line-sgd
same() { diff -r "$d/init" "$1"; }
$FLUIDRUN -q --load "$d/init" --steps 0 --save a "$d/main.pb"
same a
$FLUIDRUN -q --load "$d/init" --steps 0 --save-combined all "$d/main.pb"
cat "$d/init/fc_0.b_0" "$d/init/fc_0.w_0" "$d/init/learning_rate_0" | cmp - all
$FLUIDRUN -q --load all --steps 0 --save b "$d/main.pb"
same b
cat "$d/init/learning_rate_0" "$d/init/fc_0.w_0" "$d/init/fc_0.b_0" >turned
$FLUIDRUN -q --load turned --load-names learning_rate_0,fc_0.w_0,fc_0.b_0 --steps 0 --save c "$d/main.pb"
same c
printf 'learning_rate_0\nfc_0.w_0\nfc_0.b_0\n' >names
$FLUIDRUN -q --load turned --load-names @names --steps 0 --save e "$d/main.pb"
same e
refuse() { # words, arguments
	words=$1; shift
	rc=0; $FLUIDRUN --steps 0 "$@" "$d/main.pb" 2>err || rc=$?
	cat err
	test $rc = 2
	grep -q -- "$words" err
}
refuse "did you mean 'fc_0.w_0'" --load turned --load-names learning_rate_0,fc_0.w_1
refuse 'bytes are left' --load all --load-names fc_0.b_0
refuse 'ends after 1 of 2 variables' --load a/fc_0.w_0 --load-names fc_0.w_0,fc_0.b_0
head -c 60 a/fc_0.w_0 >cut && mkdir f && mv cut f/fc_0.w_0
refuse "'f/fc_0.w_0': cut short" --load f
refuse "there is no 'nosuch'" --load nosuch
# Bytes behind a value, as the real recv_save leaves them, are reported and left out.
mkdir g && cp a/* g && printf 'more' >>g/fc_0.b_0
$FLUIDRUN --load g --steps 0 --save h "$d/main.pb" 2>err
grep -q "4 bytes after the value of 'fc_0.b_0'" err
same h
