#!/usr/bin/env bash
# The verdict of a running server: each thing that can be made wrong from outside is, one after the other, and what the
# tree, /metrics and c10m top say of it.
. "$(dirname "$0")/lib.sh"
write_conf
sed -i 's/^driver = tap$/&\nqueues = 1/; s/^app = echo$/&\nlimit_connections = 3/; s/^connections = 16384$/connections = 128\nhugepage = none/' "$TMP/conf"
cat >>"$TMP/conf" <<CONF
[cpu]
linux = 0
workers = 1
CONF
URL=http://127.0.0.1:9910
# within SECONDS COMMAND...: until it holds.
within() { local end=$((SECONDS + $1)); shift; until "$@"; do [ $SECONDS -lt $end ] || return 1; sleep 0.2; done; }
# The host of the test takes cores away as it likes: that is no part of the claims.
host='core_(preempted|stolen|interrupted|busy)|control_late|core [0-9.]+ (preempted|loses|interrupted|busy)|control thread'
verdict() { grep -vE "$host" "$TREE/verdict"; }
says() { verdict | grep -qE "$1" || { cat "$TREE/verdict"; false; }; }
silent() { ! verdict | grep -qvx ok || { cat "$TREE/verdict"; false; }; }
metric() { inside curl -s -m 5 -o "$TMP/metrics" $URL/metrics && grep -E "$1" "$TMP/metrics"; }
# hold N PORT [SECONDS]: N connections to PORT, until HOLD is killed.
hold() {
    inside python3 - "$1" "$2" <<'PY' &
import ctypes, signal, socket, sys, time
ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: it goes with us
held = []
for _ in range(int(sys.argv[1])):
    s = socket.socket()
    s.setblocking(False)
    s.connect_ex(("10.99.0.2", int(sys.argv[2])))
    held.append(s)
time.sleep(300)
PY
    HOLD=$!
}
let_go() { kill "$HOLD"; wait "$HOLD" 2>/dev/null || true; HOLD=; }

claim "the server starts" start_server
reachable() { inside curl -s -m 2 http://10.99.0.2/ | grep -q hello; }
claim "... serves" within 20 reachable
claim "nothing is wrong" within 20 silent
claim "... in the metrics, too" within 20 metric '^c10m_verdicts\{severity="alarm"\} 0$'

hold 3 7
claim "a service at its limit is said" within 20 says '^alarm [-0-9]+T[:0-9]+Z echo at its limit 3 of 3 for [0-9]+ s$'
claim "... in the metrics" within 20 metric '^c10m_verdict_active\{kind="service_full",severity="alarm"\} 1$'
claim "... with its name and time" within 20 metric '^c10m_verdict_seconds\{kind="service_full",subject="echo"\} [0-9.]+$'
top_says() { "$C10M" top -b -n 1 -d 0.1 -s "$TMP/run/control.sock" >"$TMP/top" && head -n 1 "$TMP/top" | grep -E "$1" || { cat "$TMP/top"; false; }; }
claim "... by top in its first line" top_says 'echo at its limit 3 of 3'
let_go
claim "... and ends with the connections" within 20 silent

hold 200 9
claim "the last connections are not for the network that has most" within 40 says '^warning .* drops of reason prefix_share: [0-9,]+/s for'
let_go
echo 100 >"$TREE/ctl/set/tcp.prefix_share"
echo 100 >"$TREE/ctl/set/tcp.service_share"
hold 200 9
claim "all connection blocks in use are said" within 40 says '^alarm .* connections at their limit 128 of 128 for'
claim "... with the drops that this makes" within 20 says 'warning .* drops of reason service_connections'
let_go
claim "... until they are free" within 40 silent

worker_name() { cat /proc/"$SERVER"/task/*/comm | grep -m1 -E '^(lcore|rte)-worker'; }
FREEZER=
HOLD=
cleanup_first() { kill $FREEZER $HOLD 2>/dev/null; }
freeze() {
    : >"$TMP/freezer"
    "$HERE/freeze.py" "$SERVER" "$(worker_name)" >"$TMP/freezer" &
    FREEZER=$!
    within 30 grep -q frozen "$TMP/freezer"
}
claim "a worker stands still" freeze
claim "... which is said with its stage" within 20 says '^alarm .* core 1 stalled in stage [a-z_]+(, function [A-Za-z0-9_]+)? for [0-9]+ s$'
kill $FREEZER
wait $FREEZER 2>/dev/null || true
FREEZER=
claim "... until it goes on" within 20 silent

inside ip link set c10mt0 down
claim "a link that is down is said" within 20 says '^alarm .* link tap0 down \(set_down\) for'
inside ip link set c10mt0 up
claim "... until it is up" within 20 silent

echo closed >"$TREE/ctl/services/web/state"
claim "a service that is closed is said" within 20 says '^note .* web closed for'
echo open >"$TREE/ctl/services/web/state"
claim "... until it is open" within 20 silent
hold 1 7
one_open() { grep -qx 'connections_now 1' "$TREE/apps/echo/state"; }
claim "a connection is open" within 20 one_open
echo 'start 60' >"$TREE/ctl/drain"
claim "a server that drains is said" within 20 says '^note .* draining: 1 connections left for'
let_go
finish
