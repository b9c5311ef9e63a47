# A server: files that say that it is there, SIGTERM and SIGINT end it in order, files are gone.
set -eu
pid=
trap '[ -z "$pid" ] || kill -KILL "$pid" 2>/dev/null || true' EXIT
w=$TOP/testdata/wire/sync_line
wait_for() { for i in $(seq 200); do [ -e "$1" ] && return 0; sleep 0.05; done; cat err; exit 1; }
for signal in TERM INT; do
	"$FLUIDRUN" --endpoint 127.0.0.1:27100=127.0.0.1:0 --port-file port --ready-file ready \
		--startup "$w/pserver0.startup.pb" "$w/pserver0.main.pb" 2>err &
	pid=$!
	wait_for ready
	port=$(cat port)
	[ "$port" -gt 0 ]
	[ "$(cat ready)" = "127.0.0.1:$port" ]
	# The port is taken: a second server says so, and the first one lives.
	rc=0
	"$FLUIDRUN" --endpoint "127.0.0.1:27100=127.0.0.1:$port" --startup "$w/pserver0.startup.pb" \
		"$w/pserver0.main.pb" 2>taken || rc=$?
	[ $rc = 1 ] && grep -q "127.0.0.1:$port" taken
	kill -0 $pid
	kill -$signal $pid
	rc=0
	wait $pid || rc=$?
	case $signal in TERM) want=143;; INT) want=130;; esac
	[ $rc = $want ] || { echo "SIG$signal: exit code $rc"; cat err; exit 1; }
	[ ! -e port ] && [ ! -e ready ]
done
