#!/bin/sh
# Gives every fuzz target of a build folder its seeds.
#
#   tests/fuzz.sh DIR                replay: the seeds and changed copies of them
#   tests/fuzz.sh DIR SECONDS        libFuzzer for that long a target (targets linked with it)
#
# Seeds are the recordings in testdata/ that the target reads, and testdata/fuzz/TARGET where there is such a folder.
set -u
cd "$(dirname "$0")/.." || exit 1
dir=$1 seconds=${2:-}
n=0 passed=0

seeds() {
	case $1 in
	fuzz_varmsg) echo testdata/wire;;
	fuzz_tensor | fuzz_feed) echo testdata/train testdata/ops;;
	*) echo testdata/programs testdata/transpile testdata/demo;;
	esac
	[ ! -d "testdata/fuzz/$1" ] || echo "testdata/fuzz/$1"
}

for target in tests/fuzz/fuzz_*.c; do
	name=$(basename "$target" .c)
	n=$((n + 1))
	log=$dir/$name.log
	if [ -n "$seconds" ]; then
		flat=$dir/$name.seeds new=$dir/$name.new
		rm -rf "$flat" && mkdir -p "$flat" "$new"
		# shellcheck disable=SC2046 # a list of folders
		find $(seeds "$name") -type f -size -64k | awk -v to="$flat" '{ print "cp -- \"" $0 "\" \"" to "/" NR "\"" }' | sh
		"$dir/$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -verbosity=0 -artifact_prefix="$dir/" "$new" "$flat" >"$log" 2>&1
	else
		# shellcheck disable=SC2046 # a list of folders
		timeout -k 5 300 "$dir/$name" $(seeds "$name") >"$log" 2>&1
	fi
	rc=$?
	if [ $rc = 0 ]; then passed=$((passed + 1)); else echo "fuzz/$name: FAILED (exit code $rc)"; tail -n 25 "$log" | sed 's/^/    /'; fi
done
echo "fuzz targets: $passed of $n passed"
[ $passed = $n ]
