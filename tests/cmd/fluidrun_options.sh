# fluidrun: help goes to stdout with exit code 0, a wrong option to stderr with 2 and a "did you mean"; the version is said.
set -eu
"$FLUIDRUN" --help >out 2>err
[ -s out ] && [ ! -s err ] || { echo "--help does not print to stdout alone"; exit 1; }
"$FLUIDRUN" --version | grep -q '^fluidrun [0-9]*\.[0-9]'
rc=0; "$FLUIDRUN" --startupp x y >out 2>err || rc=$?
[ $rc = 2 ] && [ ! -s out ] && grep -q "did you mean" err && grep -q -- "--startup" err || { echo "exit code $rc:"; cat out err; exit 1; }
rc=0; "$FLUIDRUN" no-such-file >out 2>err || rc=$?
[ $rc = 2 ] && grep -q "'no-such-file'" err || { echo "exit code $rc:"; cat out err; exit 1; }
