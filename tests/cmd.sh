#!/bin/sh
# Runs the tests of the commands: every tests/cmd/*.sh, one behaviour each, in an empty folder of its own.
#
#   tests/cmd.sh [SUBSTRING]...     only those whose name holds one of them
#
# A test gets the commands' paths in $FLUIDC and $FLUIDRUN and the checkout's in $TOP; exit code 0 is passed, 77 is "cannot run here"
# (its last line says why). A test may take $CMD_TIMEOUT seconds (120). Prints N of M, and the output of those that failed.
# Each is a process group of its own (timeout makes it one): what a test leaves behind is ended, however the test or this
# script came to its end, and fails a test that claims to have passed.
set -u
TOP=$(cd "$(dirname "$0")/.." && pwd)
export TOP FLUIDC="${FLUIDC:-$TOP/build/fluidc}" FLUIDRUN="${FLUIDRUN:-$TOP/build/fluidrun}" LC_ALL=C
work=$(mktemp -d) || exit 1
group=
trap '[ -z "$group" ] || kill -KILL -- "-$group" 2>/dev/null; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

wanted() {
	name=$1; shift
	[ $# -eq 0 ] && return 0
	for s; do case $name in *"$s"*) return 0;; esac; done
	return 1
}

# The processes of a test that is over, given a moment to end by themselves: none is left, or they are killed.
swept() {
	for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		kill -0 -- "-$group" 2>/dev/null || { group=; return 0; }
		sleep 0.1
	done
	kill -KILL -- "-$group" 2>/dev/null
	group=
	return 1
}

found=0 passed=0 skipped=0
for t in "$TOP"/tests/cmd/*.sh; do
	name=$(basename "$t" .sh)
	[ -e "$t" ] && wanted "$name" "$@" || continue
	found=$((found + 1))
	mkdir "$work/$name"
	(cd "$work/$name" && exec timeout -k 5 "${CMD_TIMEOUT:-120}" sh "$t") >"$work/$name.log" 2>&1 </dev/null &
	group=$!
	wait "$group"
	rc=$?
	swept || { echo "processes were left behind" >>"$work/$name.log"; [ $rc -ne 0 ] || rc=1; }
	case $rc in
	0) passed=$((passed + 1));;
	77) skipped=$((skipped + 1)); echo "cmd/$name: not run: $(tail -n 1 "$work/$name.log")";;
	*) echo "cmd/$name: FAILED ($([ $rc = 124 ] && echo "after ${CMD_TIMEOUT:-120} s" || echo "exit code $rc"))"
	   sed 's/^/    /' "$work/$name.log" | tail -n 30;;
	esac
	rm -rf "${work:?}/$name"
done
echo "command tests: $passed of $found passed$([ $skipped -gt 0 ] && echo ", $skipped not run")"
[ $found -gt 0 ] && [ $((passed + skipped)) -eq $found ]
