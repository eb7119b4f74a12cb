#!/usr/bin/env bash
# Several workers, which here share cores: 1, 2 and 4 with 100,000 connections over a ring, clean and
# through a bad wire; 2 and 4 over veth and AF_PACKET with one queue and with two, with the fault port,
# and over TAP. Each connection stays with its worker: nobody gets a segment without an owner.
. "$(dirname "$0")/lib.sh"

# load ARGUMENTS...: c10m load with 100,000 connections, its JSON in $TMP/json.
load() { timeout 60 "$C10M" load hold --hugepage none --connections 100k --rounds 2 --window 2048 --json --quiet "$@" >"$TMP/json"; }
# holds CONDITION...: of the JSON object; s is a function: the sum of a counter over the workers.
holds() {
    python3 - "$TMP/json" "$@" <<'PY'
import json, sys
d = json.load(open(sys.argv[1]))
w = d["server_workers"]
d.update(w=w, s=lambda name: sum(x[name] for x in w), others=lambda name: [x[name] for x in w[1:]])
wrong = [c for c in sys.argv[2:] if not eval(c, d)]
if wrong:
    print("not so:", "; ".join(wrong), "in", w)
sys.exit(bool(wrong))
PY
}
# undisturbed ARGUMENTS...: a load; once more, four times at most, where a core was taken away for longer than a
# retransmission timeout: segments that are sent again may come for connections that are over.
undisturbed() {
    local try
    for try in 1 2 3 4; do
        load "$@" || return
        ! holds "s('no_owner') == s('rst_sent') == 0 or retransmitted == server_retransmitted == 0" >/dev/null || return 0
    done
}
for n in 1 2 4; do
    claim "ring, $n workers: 100k connections open, answer and close" undisturbed --workers $n --close
    claim "... none lost, none wrong" holds "ok and opened == closed == 100000 and answered == 200000" "wrong == failed == lost == 0"
    claim "... each stays with its worker" holds "len(w) == $n and s('opened') == 100000" "s('no_owner') == s('rst_sent') == 0" \
        "all(0.8 < x['opened'] * $n / 100000 < 1.2 for x in w)"
    claim "... which gets its packets from the one with the queue, and sends through it" holds \
        "all(x['handed_in'] == x['rx_packets'] > 300000 / $n and x['tx_handed'] > 100000 / $n for x in w[1:])" "w[0]['handed_in'] == 0"
    claim "ring, $n workers: the same through a wire that loses, reorders and doubles" \
        load --workers $n --fault loss=0.5,reorder=1,duplicate=0.5
    claim "... none lost, none wrong" holds "ok and opened == 100000 and answered == 200000" "wrong == failed == lost == 0" \
        "retransmitted > 500 and server_retransmitted > 500"
    claim "... each stays with its worker" holds "s('opened') == 100000" "s('no_owner') == s('rst_sent') == 0"
done
claim "nine workers are refused" eval '! load --workers 9 2>/dev/null'

# conf WORKERS QUEUES DRIVER LINE...: port p0, in a fault port if the first line is "fault".
conf() {
    local workers=$1 queues=$2 driver=$3 wrap="" cpus
    shift 3
    if [ "${1:-}" = fault ]; then
        shift
        wrap="[port bad0]
driver = fault
wraps = p0
queues = $queues
loss = 2
reorder = 2
duplicate = 1
seed = 5"
    fi
    write_conf "$wrap"
    # Four on both cores, one of which is Linux's as well; two on the other one.
    cpus="linux = 0
workers = 1
workers_per_core = 2"
    [ "$workers" = 2 ] || cpus="linux = 0
workers = 0-1
workers_per_core = 2"
    python3 - "$TMP/conf" "$cpus" "$queues" "$driver" "$@" <<'PY'
import sys
path, cpus, queues, driver, *lines = sys.argv[1:]
t = open(path).read()
port = t[t.index("[port tap0]"):t.index("[service web]")]
new = "\n".join(["[port p0]", "driver = " + driver, "queues = " + queues] + lines)
if "[port bad0]" not in t:
    new += "\naddress = 10.99.0.2/24"
t = t.replace(port, new + "\n")
open(path, "w").write(t.replace("[memory]\n", f"[cpu]\n{cpus}\n[memory]\nhugepage = none\n"))
PY
}
cat >"$TMP/echo.py" <<'PY'
# N connections open at once, each with its own bytes, several rounds; then one long stream.
import os, resource, spread, sys
n, rounds = int(sys.argv[1]), int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_NOFILE, (n + 100, n + 100))
conns = [spread.connect("10.99.0.2") for _ in range(n)]
spread.exchange(conns, rounds)
data, got = os.urandom(300000), bytearray()
s = conns[0]
s.settimeout(0.05)
sent = 0
while len(got) < len(data):
    if sent < len(data):
        try:
            sent += s.send(data[sent:sent + 16384])
        except (TimeoutError, BlockingIOError):
            pass
    try:
        more = s.recv(65536)
        assert more, "closed"
        got += more
    except TimeoutError:
        pass
assert bytes(got) == data
for c in conns:
    c.close()
PY
cat >"$TMP/udp.py" <<'PY'
import socket
for i in range(200):  # of as many ports
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(5)
    s.sendto(b"%d" % i, ("10.99.0.2", 7))
    assert s.recv(100) == b"%d" % i
PY
sum() { awk -v n="$1" '$1 == n { s += $2 } END { print s + 0 }' "$TREE"/cores/*/"${2:-counters}"; }
export PYTHONPATH=$HERE  # spread.py
echoes() { timeout 50 nsenter --net=/run/netns/"$NS" python3 "$TMP/echo.py" "$@"; }
# stays N: N connections so far, spread over all workers, none of them anywhere else.
stays() {
    local look
    within 30 opened "$1"
    for look in {1..5}; do  # what goes astray is counted soon
        are_here "$1" || return 1
        sleep 0.1
    done
}
opened() { [ "$(sum conns_opened_passive)" = "$1" ]; }
are_here() {
    opened "$1" && [ "$(sum tcp_no_owner drops)" = 0 ] && [ "$(sum handoff_full drops)" = 0 ] &&
        [ "$(sum rst_sent)" = 0 ] && ! counter conns_opened_passive | grep -qx 0 || { cat "$TREE"/cores/*/counters; false; }
}
neighbors() { ! counter arp_learned | grep -qx 0; }
pings() { inside ping -c 5 -i 0.2 -W 2 -q 10.99.0.2; }
# The counters are read one after the other, and the kernel's neighbor discovery may come between: the sums agree once it is quiet.
handed() {
    local try
    [ "$(sum handed_out)" -gt 100 ] || return 1
    for try in {1..20}; do
        [ $(($(sum handed_out) + $(sum handed_copies))) != "$(sum handed_in)" ] || return 0
        sleep 0.1
    done
    false
}
server() { # NAME: the claims about a server that is set up by conf
    claim "$1: the server starts" start_server
    claim "$1: 200 connections at once, and a stream" echoes 200 3
    claim "... each stays with its worker" stays 200
    claim "... packets were handed over" handed
    claim "$1: UDP from 200 ports" inside python3 "$TMP/udp.py"
    claim "$1: HTTP" eval 'inside curl -sf -m 5 http://10.99.0.2/ | grep -q hello'
    claim "$1: ping" pings
    claim "$1: every worker learned the neighbor" neighbors
    claim "$1: no packet leaks on any worker" balance_is_zero
    claim "$1: the server stops" stop_server
}
inside ip link add va type veth peer name vb
inside ip addr add 10.99.0.1/24 dev vb
inside ip link set va up
inside ip link set vb up
inside ethtool -K vb tx off tso off gso off gro off >/dev/null 2>&1
conf 2 1 af_packet "device = va"
server "af_packet, 2 workers, 1 queue"
conf 4 2 af_packet "device = va"
server "af_packet, 4 workers, 2 queues"
conf 4 1 af_packet fault "device = va"
claim "fault over af_packet, 4 workers: the server starts" start_server
claim "... 50 connections at once, and a stream, through loss" echoes 50 2
claim "... each stays with its worker" stays 50
claim "... segments were sent again" eval '[ "$(sum tx_retransmits_segs)" -gt 0 ]'
claim "... no packet leaks on any worker" balance_is_zero
claim "... the server stops" stop_server
conf 2 2 af_xdp "device = va"
server "af_xdp, 2 workers on the interface's only queue"
inside ip link del va

conf 4 4 tap "device = c10mt0" "host_address = 10.99.0.1/24"
server "tap, 4 workers, 4 queues"

# In hugepages DPDK has what was counted and no more: each tap port's own pool is part of it. And net_tap
# has no more than four queues, whoever asks for them.
for n in 2 6; do
    conf 4 $n tap "device = c10mt0" "host_address = 10.99.0.1/24"
    sed -i "s/^workers = .*/workers = 1/; s/^workers_per_core.*/workers_per_core = $n/; s/^hugepage.*/hugepage = 2M/" "$TMP/conf"
    server "tap, $n workers in hugepages"
done

# Connections that the server opens: their answers come to the worker that opened them. By one queue:
# with several the kernel moves a flow, and what was overtaken comes when the connection is gone.
conf 4 1 tap "device = c10mt0" "host_address = 10.99.0.1/24"
sed -i "/^\[service web\]/,/^root/d; /^\[service discard\]/,\$d; /^udp/d" "$TMP/conf"
cat >"$TMP/opened.py" <<'PY'
# 40 connections with 10 bytes each, for each of which one comes back.
import socket, spread
back = socket.create_server(("10.99.0.1", 5999), backlog=500)
back.settimeout(10)
for i in range(40):
    spread.connect("10.99.0.2").sendall(b"0123456789")
for i in range(400):
    s, _ = back.accept()
    s.settimeout(10)
    assert s.recv(10) == b"hello"
    s.sendall(b"x")
    assert s.recv(10) == b""
    s.close()
PY
WHOLE=$C10M
C10M=$(dirname "$C10M")/../tests/opener
claim "4 workers that open connections: the server starts" start_server
C10M=$WHOLE
claim "... 400 are opened, answered and closed" inside python3 "$TMP/opened.py"
claim "... by all workers" eval '[ "$(sum conns_opened_active)" = 400 ] && ! grep -hx "conns_opened_active 0" "$TREE"/cores/*/counters'
claim "... and stay with them" [ "$(sum tcp_no_owner drops) $(sum rst_sent)" = "0 0" -a "$(sum handed_in)" -gt 0 ]
claim "... no packet leaks" balance_is_zero
claim "the server stops" stop_server

# Limits with several workers: each has its part, and together they are never more.
cat >"$TMP/many.py" <<'PY'
# COUNT handshakes from the address at once; then all are reset.
import resource, socket, struct, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
conns = []
for _ in range(int(sys.argv[1])):
    s = socket.socket()
    s.bind((sys.argv[2], 0))
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.setblocking(False)
    s.connect_ex(("10.99.0.2", 7))
    conns.append(s)
sys.stdin.read()
PY
hold() { # NAME COUNT SOURCE: so many at once, until let_go NAME
    mkfifo "$TMP/$1.stop"
    setpriv --pdeathsig KILL nsenter --net=/run/netns/"$NS" python3 "$TMP/many.py" "$2" "$3" <"$TMP/$1.stop" >"$TMP/$1" &
    eval "$1=$!; exec {$1_fd}>\"$TMP/$1.stop\""
}
let_go() { eval "exec {$1_fd}>&-; wait \$$1"; }
# open_are N: soon, and then for a second: as many as each limit allows, none above.
open_are() {
    local look
    within 60 are_open "$1"
    for look in {1..10}; do
        are_open "$1" || return 1
        sleep 0.1
    done
}
are_open() { [ "$(sum connections_now)" = "$1" ] || { counter connections_now; false; }; }
conf 4 4 tap "device = c10mt0" "host_address = 10.99.0.1/24"
claim "tap, 4 workers, with limits: the server starts" start_server --set service.echo.source_connections=6 --set service.echo.limit_connections=10
inside ip addr add 10.99.0.3/24 dev c10mt0
hold first 80 10.99.0.1
claim "of 80 connections of one address the 6 that it may have are open" open_are 6
claim "... and the others are counted" [ "$(sum source_connections drops)" -ge 74 ]
hold second 80 10.99.0.3
claim "of another address those that the service has left, 4" open_are 10
claim "... and the others are counted" [ "$(sum service_connections drops)" -ge 40 ]
claim "when they close their places are free" eval 'let_go second; open_are 6'
claim "... and those of the first too" eval 'let_go first; open_are 0'
hold third 80 10.99.0.1
claim "... for as many as before" open_are 6
claim "... and no place stays behind" eval 'let_go third; open_are 0 && [ "$(sum sources_now)" = 0 ]'
claim "a limit below the number of workers is refused" eval '! "$C10M" check -c "$TMP/conf" --set service.echo.source_connections=3 2>/dev/null'
claim "the server stops" stop_server
claim "a port of fewer queues says so" eval 'conf 2 2 tap "device = c10mt0" "host_address = 10.99.0.1/24" && start_server && grep -qx "queues 2" "$TREE/ports/p0/rss"'
claim "connections that are open at the end are reset" python3 - "$NS" "$SERVER" <<'PY'
import os, signal, socket, sys, time
fd = os.open("/run/netns/" + sys.argv[1], os.O_RDONLY)
os.setns(fd, 0) if hasattr(os, "setns") else __import__("ctypes").CDLL(None).setns(fd, 0)
conns = [socket.create_connection(("10.99.0.2", 7), 5) for _ in range(300)]
time.sleep(0.3)
os.kill(int(sys.argv[2]), signal.SIGTERM)
reset = 0
for c in conns:
    c.settimeout(15)
    try:
        assert c.recv(1) != b"", "closed, not reset"
    except ConnectionResetError:
        reset += 1
assert reset == 300, reset
PY
wait "$SERVER" || true
SERVER=
finish
