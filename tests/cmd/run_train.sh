# A training on prepared batches: steps and fetches on stdout, events on stderr, files after each step.
set -eu
d=$TOP/testdata/train/fit_a_line-sgd
run() { $FLUIDRUN --load "$d/init" --feed-dir "$d/feed" --fetch mean_0.tmp_0 "$@" "$d/main.pb"; }
run -q --save out >text
test "$(wc -l <text)" = 8
grep -q '^step 7  mean_0.tmp_0  [0-9.]*$' text
run --log json 2>err >/dev/null
test "$(grep -c '^{"event":"step",' err)" = 8
grep -q '"event":"step","t":[0-9.]*,"step":7,"epoch":0,"fetch":{"mean_0.tmp_0":\[[0-9.]*\]}}$' err
for e in start epoch done; do grep -q "\"event\":\"$e\"" err; done
# Part of the steps, all of them twice, every third printed.
test "$(run -q --steps 3 | wc -l)" = 3
test "$(run -q --epochs 2 | tail -n 1 | cut -d' ' -f2)" = 15
test "$(run -q --print-every 3 | cut -d' ' -f2 | tr '\n' ' ')" = '0 3 6 '
# Files of each step; the last one's are what --save leaves.
run -q --save s --save-every 4 --save-fetch f >/dev/null
test "$(ls s | grep step | tr '\n' ' ')" = 'step-03 step-07 '
cmp s/step-07/fc_0.w_0 s/fc_0.w_0
cmp out/fc_0.w_0 s/fc_0.w_0
test "$(ls f | wc -l)" = 8
test -f f/step-05/mean_0.tmp_0
# A second folder adds variables to the same steps; one without a file keeps its value.
mkdir -p lr/step-02 && cp "$d/init/learning_rate_0" lr/step-02/
run -q --feed-dir lr --save t >/dev/null
cmp t/fc_0.w_0 out/fc_0.w_0
# The threads do not change the result of this model.
run -q --threads 1 --save u >/dev/null
cmp u/fc_0.w_0 out/fc_0.w_0
# The evaluation leaves the training alone.
run -q --eval "$d/test.pb" --eval-feed "x=$d/feed/step-00/x" --eval-feed "y=$d/feed/step-00/y" \
	--eval-fetch mean_0.tmp_0 --save v >eval
grep -q '^epoch 0  eval  mean_0.tmp_0  [0-9.]*$' eval
cmp v/fc_0.w_0 out/fc_0.w_0
