#!/usr/bin/env bash
# memif: a peer that is killed, leaves or lies costs its own link. The server goes on, keeps its counters, and serves the next peer.
. "$(dirname "$0")/lib.sh"
PEER=
TESTPMD_PREFIX=c10mmemif$$
peer_stop() { [ -z "$PEER" ] || { kill -9 "$PEER"; wait "$PEER" || true; } 2>/dev/null; PEER=; }
cleanup_first() { peer_stop; rm -rf /var/run/dpdk/"$TESTPMD_PREFIX"; }
SOCKET=$TMP/memif.sock

# conf ROLE: the server's only port.
conf() {
    write_conf
    python3 - "$TMP/conf" "$1" "$SOCKET" <<'PY'
import re, sys
t = open(sys.argv[1]).read()
port = "[port p0]\ndriver = memif\nrole = %s\ndevice = %s\naddress = 10.99.0.2/24\n" % tuple(sys.argv[2:])
t = re.sub(r"\[port tap0\].*?(?=\[service)", port, t, flags=re.S)
open(sys.argv[1], "w").write(t.replace("[memory]\n", "[memory]\nhugepage = none\n"))
PY
    printf '%s\n' '[cpu]' 'linux = 1' 'workers = 0' '[memory]' 'hugepage = none' '[port c]' 'driver = memif' \
        "role = $([ "$1" = server ] && echo client || echo server)" "device = $SOCKET" 'address = 10.99.0.1/24' >"$TMP/client"
}
port_counter() { awk -v n="$1" '$1 == n { print $2 }' "$TREE"/ports/p0/"${2:-counters}"; }
link_is() { grep -qx "status $1" "$TREE"/ports/p0/link; }
lives() { kill -0 "$SERVER" && grep -q "^status " "$TREE"/ports/p0/link; }

load_begin() {
    setpriv --pdeathsig KILL nsenter --net=/run/netns/"$NS" "$C10M" load request -c "$TMP/client" --server 10.99.0.2 \
        --connections 100 --seconds 60 >"$TMP/load" 2>&1 &
    PEER=$!
}
received_more() { [ $(($(port_counter rx_packets) - BEFORE)) -ge "$1" ]; }
# round MOMENT: a load is killed after that many packets; no counter of the port falls meanwhile or after.
round() {
    local name was=() i=0
    for name in rx_packets rx_bytes tx_packets tx_bytes; do was+=("$(port_counter $name)"); done
    BEFORE=${was[0]}
    load_begin
    within 60 received_more "$1" || { cat "$TMP/load"; return 1; }
    [ "$1" = 0 ] || link_is up || return 1
    for name in rx_packets rx_bytes tx_packets tx_bytes; do
        [ "$(port_counter $name)" -ge "${was[i]}" ] || { echo "$name fell"; return 1; }
        was[i++]=$(port_counter $name)
    done
    peer_stop
    within 30 link_is down || return 1
    i=0
    for name in rx_packets rx_bytes tx_packets tx_bytes; do
        [ "$(port_counter $name)" -ge "${was[i]}" ] || { echo "$name fell from ${was[i]}"; return 1; }
        i=$((i + 1))
    done
    lives
}
load_answered() {
    inside timeout 120 "$C10M" load hold -c "$TMP/client" --server 10.99.0.2 --connections 1k --json --quiet >"$TMP/json" || { cat "$TMP/json"; return 1; }
    python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); assert d["opened"] == d["closed"] == 1000 and d["answered"] == 3000 and d["wrong"] == 0, d' "$TMP/json"
}
second_server() {
    sed 's/role = client/role = server/' "$TMP/client" >"$TMP/second"
    inside timeout 30 "$C10M" load hold -c "$TMP/second" --server 10.99.0.2 >"$TMP/refusal" 2>&1 && return 1
    cat "$TMP/refusal"
    grep -q "a server that runs" "$TMP/refusal"
}
MOMENTS="0 1 20 100 201 300 500 1000 1500 2000 3000 5000 7000 10000 15000 20000 30000 0 4000 50000"

conf server
claim "server: it starts" start_server
claim "... without a peer its link is down" link_is down
for moment in $MOMENTS; do
    claim "... a peer is killed after $moment packets" round "$moment"
done
claim "... the next one gets all its answers" load_answered
for lie in honest dies_while_the_worker_reads is_woken full_eventfd shrinking_memory wrong_memory wrong_rings wrong_messages \
    leaves_at_each_step says_nothing too_many_files wild_descriptors wild_indices odd_frames noise punches_holes; do
    claim "peer in Python: $lie" timeout 300 python3 "$HERE"/memif_peer.py "$SOCKET" $lie
    claim "... the server lives" lives
done
claim "... an honest one is served" timeout 100 python3 "$HERE"/memif_peer.py "$SOCKET" honest
descriptors_now() { find /proc/"$SERVER"/fd | wc -l; }
DESCRIPTORS=$(descriptors_now)
claim "... those that leave midway" timeout 100 python3 "$HERE"/memif_peer.py "$SOCKET" leaves_at_each_step
nothing_left() { [ "$(descriptors_now)" -le "$DESCRIPTORS" ] && ! grep -q memfd:peer /proc/"$SERVER"/maps; }
claim "... leave no descriptor and no memory behind" within 30 nothing_left
claim "... the next load gets all its answers" load_answered
claim "... no packet leaks" balance_is_zero
claim "... links and refusals are counted" eval '[ "$(port_counter links_up xstats)" -gt 40 ] && [ "$(port_counter peers_refused xstats)" -gt 30 ]'
claim "... a second server at its socket is refused" second_server
claim "... it stops with a peer" eval 'load_begin; within 30 link_is up && stop_server'
peer_stop
claim "... and removes its socket" eval '[ ! -e "$SOCKET" ]'

# As client: the first server has to be there before.
conf client
load_begin
claim "client: a server makes the socket" within 30 [ -S "$SOCKET" ]
claim "... the client starts" start_server
claim "... the link comes up" within 30 link_is up
peer_stop
for moment in 0 1 50 1000 5000 500 20000 2000 10000 300; do
    claim "... its peer is killed after $moment packets, the next one found by itself" round "$moment"
done
claim "... the next one gets all its answers" load_answered
claim "... no packet leaks" balance_is_zero

# DPDK's own net_memif as the server, and a veth behind it.
rm -f "$SOCKET"
inside ip link add vc type veth peer name vd
inside ip addr add 10.99.0.1/24 dev vd
inside ip link set vc up
inside ip link set vd up
inside ethtool -K vd tx off tso off gso off gro off >/dev/null 2>&1
http() { inside curl -sf -m 5 http://10.99.0.2/ | grep -q hello; }
for round in 1 2 3; do
    rm -f "$SOCKET"
    nsenter --net=/run/netns/"$NS" dpdk-testpmd --file-prefix="$TESTPMD_PREFIX" --no-pci --no-huge -m 256 -l 0,1 --no-telemetry \
        --vdev "net_memif0,role=server,socket=$SOCKET,socket-abstract=no,bsize=2048" \
        --vdev net_af_packet0,iface=vc -- --forward-mode=io --auto-start --total-num-mbufs=8192 \
        --no-mlockall --stats-period 3600 >"$TMP/peer" 2>&1 &
    PEER=$!
    claim "dpdk-testpmd as server, $round: HTTP through it" eval 'within 60 http || { tail "$TMP/peer"; false; }'
    peer_stop
    claim "... killed: the link goes down" within 30 link_is down
done
claim "... no packet leaks" balance_is_zero
claim "... the server stops" stop_server
finish
