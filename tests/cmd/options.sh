# Help goes to stdout with exit code 0, a wrong option to stderr with 2 and a "did you mean"; the version is said.
set -eu
for c in "$FLUIDC" "$FLUIDRUN" "$FLUIDC transpile" "$FLUIDC show"; do
	$c --help >out 2>err || { echo "$c --help: exit code $?"; exit 1; }
	[ -s out ] && [ ! -s err ] || { echo "$c --help does not print to stdout alone"; exit 1; }
done
for c in "$FLUIDC" "$FLUIDRUN"; do $c --version | grep -q '[0-9]\.[0-9]'; done
rc=0; "$FLUIDRUN" --startupp x y >out 2>err || rc=$?
[ $rc = 2 ] && [ ! -s out ] && grep -q "did you mean" err && grep -q -- "--startup" err || { echo "exit code $rc:"; cat out err; exit 1; }
rc=0; "$FLUIDC" transpil x >out 2>err || rc=$?
[ $rc = 2 ] && [ ! -s out ] && grep -q "did you mean 'transpile'" err || { echo "exit code $rc:"; cat out err; exit 1; }
