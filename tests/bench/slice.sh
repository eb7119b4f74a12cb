#!/usr/bin/env bash
# slice.sh: what scripts/bench does when a server or its client fails in the middle of a row. Without root.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/lib.sh
. scripts/bench_lab.sh
LAB=$(mktemp -d /tmp/c10m-slice.XXXXXX)
undo rm -rf "$LAB"
BENCH_RESULTS=$LAB/figures
STOP_TRIES=5
: >"$BENCH_RESULTS"
: >"$LAB/peers"
fail() { echo "FAILED: $*" >&2; exit 1; }
# A server in no namespace.
start_server() {
    setsid "$@" &
    SERVER=$!
    echo $SERVER >>"$LAB/servers"
}
none_lives() {
    local p
    while read -r p; do ! is_alive "$p" || return 1; done <"$LAB/servers"
}

# measured TRIES: a server, a result, and a failure before the second result but in try TRIES.
measured() {
    echo x >>"$LAB/tries"
    start_server sleep 1000
    echo first >>"$LAB/peers"
    printf 'first\t1\n' >>"$BENCH_RESULTS"
    [ "$(wc -l <"$LAB/tries")" -ge "$1" ]
    echo second >>"$LAB/peers"
}
: >"$LAB/tries"
slice good measured 1
[ "$(tr '\n' ' ' <"$LAB/peers")" = "first second " ] || fail "a slice that works is not done once"

: >"$LAB/tries"
slice shaky measured 3 2>/dev/null
[ "$(wc -l <"$LAB/tries")" = 3 ] || fail "a slice is not tried three times"
[ "$(tr '\n' ' ' <"$LAB/peers")" = "first second first second " ] || fail "what a failed try measured stays"
! grep -q failed "$BENCH_RESULTS" || fail "a slice that works the third time is marked"

: >"$LAB/tries"
slice bad measured 9 2>/dev/null
[ "$(wc -l <"$LAB/tries")" = 3 ] || fail "a slice that fails is tried $(wc -l <"$LAB/tries") times"
[ "$(wc -l <"$LAB/peers")" = 4 ] || fail "what a failed slice measured stays"
[ "$(grep -c first "$BENCH_RESULTS")" = 2 ] || fail "its figures stay"
grep -qx 'failed/bad	1' "$BENCH_RESULTS" || fail "a slice that failed is not marked"
scripts/bench_table.py table "$BENCH_RESULTS" >"$LAB/table" && fail "the table says that all is well"
grep -q 'bad *failed each time' "$LAB/table" || fail "the table does not name the slice"
none_lives || fail "a slice leaves its server"

start_server bash -c 'trap "" TERM; while :; do sleep 0.05; done'
sleep 0.3  # it ignores the signal from now on
stubborn=$SERVER
stop_server 2>"$LAB/said"
! is_alive "$stubborn" || fail "a server that ignores SIGTERM lives on"
grep -q 'did not end by itself' "$LAB/said" || fail "nobody says that it was killed"
stop_server
stop_process 999999999
# A server whose slices all failed leaves a hole in the table, not an end of the run.
. scripts/bench_latency.sh
for n in 1 64; do printf '%s %s 20 30 1000\n' c10m $n nginx $n; done >"$LAB/latency"
: >"$BENCH_RESULTS"
latency_table >"$LAB/table" || fail "the table of latencies wants every server"
grep -q nan "$LAB/table" || fail "the table of latencies does not show the hole"
grep -qx 'latency/64/c10m_us	20.0' "$BENCH_RESULTS" || fail "what was measured is not told"
! grep -q nginx_us "$BENCH_RESULTS" || fail "what was not measured is told"
echo "slice: 5 claims hold"
