#!/usr/bin/env bash
# The Linux kernel as client and as server, over TAP and AF_PACKET, through a wire that loses, reorders,
# doubles and corrupts: 1,000 connections of both families at once, whose bytes are compared in both
# directions. SEED=n draws other sizes, manners and faults.
. "$(dirname "$0")/lib.sh"
SEED=${SEED:-1}
COUNT=${COUNT:-1000}
PEER=
peer_stop() { [ -z "$PEER" ] || { kill -9 "$PEER"; wait "$PEER" || true; } 2>/dev/null; PEER=; }
cleanup_first() { peer_stop; }

# conf DRIVER LINE...: port p0 in a fault port; the small services, and relays to the kernel's side.
conf() {
    write_conf "[port bad0]
driver = fault
wraps = p0
seed = $SEED
loss = 1
reorder = 2
duplicate = 1
corrupt = 0.5"
    python3 - "$TMP/conf" "$@" <<'PY'
import sys
path, driver, *lines = sys.argv[1:]
t = open(path).read()
port = t[t.index("[port tap0]"):t.index("[service web]")]
t = t.replace(port, "\n".join(["[port p0]", "driver = " + driver] + lines) + "\n")
t = t.replace("[memory]\n", "[memory]\nhugepage = none\n")
t = t.replace("address = 10.99.0.2/24\n", "address = 10.99.0.2/24, fd99::2/64\n")
for name, port, upstream in ("relay4", 99, "10.99.0.1:5000"), ("relay6", 98, "[fd99::1]:5000"):
    t += f"\n[service {name}]\napp = proxy\nport = {port}\nupstream = {upstream}\n"
open(path, "w").write(t)
PY
}
peer() { timeout 90 nsenter --net=/run/netns/"$NS" python3 "$HERE/linux_peer.py" "$@" || { tail -n 3 "$TMP/log"; false; }; }
# server_side: the kernel's server.
server_side() {
    setpriv --pdeathsig KILL nsenter --net=/run/netns/"$NS" python3 "$HERE/linux_peer.py" listen 5000 >"$TMP/peer" 2>&1 &
    PEER=$!
    local i
    for ((i = 0; i < 50; i++)); do
        grep -q listening "$TMP/peer" && return 0
        sleep 0.1
    done
    cat "$TMP/peer"
    return 1
}
# served: within 20 s the server has seen COUNT conversations, none of them wrong.
served() {
    inside python3 - "$COUNT 0" <<'PY' || { cat "$TMP/peer"; inside ss -tn | head -7; head -7 "$TREE/net/tcp"; return 1; }
import socket, sys, time
for _ in range(100):
    said = socket.create_connection(("127.0.0.1", 5001), 5).makefile().read().strip()
    if said == sys.argv[1]:
        sys.exit(0)
    time.sleep(0.2)
sys.exit("served, failed: " + said)
PY
}
relays() { awk -v n="$1" '$1 == n { s += $2 } END { print s }' "$TREE"/apps/relay*/counters; }
# relayed: each client had a connection of its own, none failed.
relayed() {
    [ "$(relays connected) $(relays failed) $(relays idle)" = "$COUNT 0 0" ] || { cat "$TREE"/apps/relay*/counters; return 1; }
}
# nothing_left: within 30 s no connection is left, nor any buffer.
nothing_left() {
    local i
    for ((i = 0; i < 300; i++)); do
        [ "$(counter connections_now) $(counter buffers_now)" = "0 0" ] && return 0
        sleep 0.1
    done
    cat "$TREE"/cores/*/counters
    return 1
}
over() { # NAME DRIVER LINE...
    local name=$1
    shift
    conf "$@"
    claim "$name: the server starts" start_server
    claim "... the kernel as client: $COUNT connections of both families, every byte right" \
        peer direct "$COUNT" "$SEED" 10.99.0.2 fd99::2
    claim "... the kernel's server listens" server_side
    claim "... as client and as server: $COUNT connections through relays, from each family to each" \
        peer relayed "$COUNT" "$SEED" 10.99.0.2=99 fd99::2=98 10.99.0.2=98 fd99::2=99
    claim "... the server saw the same" served
    claim "... each had its own" relayed
    peer_stop
    claim "... segments were sent again" [ "$(counter tx_retransmits_segs)" -gt 50 ]
    claim "... nothing stays open" nothing_left
    claim "... every packet is accounted for" balance_is_zero
    claim "... the server stops" stop_server
}
over tap tap "device = c10mt0" "host_address = 10.99.0.1/24, fd99::1/64"
inside ip link add va type veth peer name vb
inside ip addr add 10.99.0.1/24 dev vb
inside ip addr add fd99::1/64 dev vb nodad
inside ip link set va up
inside ip link set vb up
inside ethtool -K vb tx off tso off gso off gro off >/dev/null 2>&1
over af_packet af_packet "device = va"
finish
