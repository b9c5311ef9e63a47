# The examples of fluidc(1) work as printed, one after the other.
set -eu
ln -s "$TOP/testdata" testdata
mkdir bin && ln -s "$FLUIDC" bin/fluidc && ln -s "$FLUIDRUN" bin/fluidrun
awk '/^\.Sh EXAMPLES/ { on = 1 } /^\.Sh SEE/ { on = 0 } on && /^\.Ed/ { code = 0 } code { gsub(/\\e/, "\\"); print } on && /^\.Bd -literal/ { code = 1 }' \
	"$TOP/man/fluidc.1" >examples
[ "$(grep -c '^fluidc' examples)" -ge 4 ] || { echo "the examples were not found"; exit 1; }
PATH=$PWD/bin:$PATH sh -eux examples
[ -s roles/plan.json ]
cmp testdata/demo/mlp/main.pb same.pb
