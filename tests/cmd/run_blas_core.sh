#!/bin/sh
# The kernels that OpenBLAS is told to use change the speed and not the losses, and a choice that is made already is obeyed.
set -eu
demo=$TOP/testdata/demo/lenet
# 16 pictures of 28x28 and their labels, as text
awk 'BEGIN { srand(7); for (i = 0; i < 16; i++) { for (k = 0; k < 784; k++) printf k ? ",%.4f" : "%.4f", rand(); print "" } }' >x.csv
awk 'BEGIN { for (i = 0; i < 16; i++) print i % 10 }' >y.csv
losses() {
	env $1 "$FLUIDRUN" --startup "$demo/startup.pb" --feed pixel=x.csv,shape=1x28x28 --feed label=y.csv,dtype=int64 --batch-size 16 --epochs 3 \
		--threads 1 --fetch mean_0.tmp_0 "$demo/main.pb" | awk '{ print $NF }'
}
losses OPENBLAS_VERBOSE=0 >own
losses OPENBLAS_CORETYPE=Prescott >slow
[ "$(wc -l <own)" -eq 3 ] && [ "$(wc -l <slow)" -eq 3 ]
paste own slow | awk '{ d = $1 - $2; if (d < 0) d = -d; if (d > 1e-4 * $2) { print "loss " $1 ", with the slow kernels " $2; exit 1 } }'
