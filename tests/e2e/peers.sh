#!/usr/bin/env bash
# The Linux kernel as client and as server, over TAP and AF_PACKET, through a wire that loses, reorders,
# doubles and corrupts: 1,000 connections at once, whose bytes are compared in both directions. SEED=n
# draws other sizes, manners and faults.
. "$(dirname "$0")/lib.sh"
SEED=${SEED:-1}
COUNT=${COUNT:-1000}
PEER=
peer_stop() { [ -z "$PEER" ] || { kill -9 "$PEER"; wait "$PEER" || true; } 2>/dev/null; PEER=; }
trap 'peer_stop; cleanup' EXIT

# conf DRIVER LINE...: port p0 in a fault port; the small services, and a relay to the kernel's side.
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
t += "\n[service relay]\napp = proxy\nport = 99\nupstream = 10.99.0.1:5000\n"
open(path, "w").write(t)
PY
}
peer() { timeout 90 nsenter --net=/run/netns/"$NS" python3 "$HERE/peers.py" "$@"; }
# server_side ADDRESS: the kernel's server.
server_side() {
    setpriv --pdeathsig KILL nsenter --net=/run/netns/"$NS" python3 "$HERE/peers.py" listen "$1" 5000 >"$TMP/peer" 2>&1 &
    PEER=$!
    local i
    for ((i = 0; i < 50; i++)); do
        grep -q listening "$TMP/peer" && return 0
        sleep 0.1
    done
    cat "$TMP/peer"
    return 1
}
# served ADDRESS: within 20 s the server has seen COUNT conversations, none of them wrong.
served() {
    inside python3 - "$1" "$COUNT 0" <<'PY' || { cat "$TMP/peer"; inside ss -tn | head -7; head -7 "$TREE/net/tcp"; return 1; }
import socket, sys, time
for _ in range(100):
    said = socket.create_connection((sys.argv[1], 5001), 5).makefile().read().strip()
    if said == sys.argv[2]:
        sys.exit(0)
    time.sleep(0.2)
sys.exit("served, failed: " + said)
PY
}
relay() { awk -v n="$1" '$1 == n { print $2 }' "$TREE/apps/relay/counters"; }
# relayed: each client had a connection of its own, none failed; and nobody's bytes stay behind.
relayed() {
    [ "$(relay connected) $(relay failed) $(relay idle)" = "$COUNT 0 0" ] || { cat "$TREE/apps/relay/counters"; return 1; }
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
# both_ways NAME KERNEL C10M: the claims about one family.
both_ways() {
    claim "$1: the kernel as client: $COUNT connections, every byte right" peer direct "$3" "$COUNT" "$SEED"
    claim "... the kernel's server listens" server_side "$2"
    claim "... as client and as server: $COUNT connections through the relay" peer relayed "$3" 99 "$COUNT" "$SEED"
    claim "... the server saw the same" served "$2"
    claim "... each had its own" relayed
    peer_stop
}
over() { # NAME DRIVER LINE...
    local name=$1
    shift
    conf "$@"
    claim "$name: the server starts" start_server
    both_ways "$name, IPv4" 10.99.0.1 10.99.0.2
    claim "... segments were sent again" [ "$(counter tx_retransmits_segs)" -gt 50 ]
    claim "... nothing stays open" nothing_left
    claim "... every packet is accounted for" balance_is_zero
    claim "... the server stops" stop_server
}
over tap tap "device = c10mt0" "host_address = 10.99.0.1/24"
inside ip link add va type veth peer name vb
inside ip addr add 10.99.0.1/24 dev vb
inside ip link set va up
inside ip link set vb up
inside ethtool -K vb tx off tso off gso off gro off >/dev/null 2>&1
over af_packet af_packet "device = va"
finish
