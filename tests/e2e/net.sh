#!/usr/bin/env bash
# The server among hosts and routers: announcements and claims of its address, routes, hosts that
# never answer ARP, ICMP errors sent and received. Over a veth pair; a second namespace is a router.
. "$(dirname "$0")/lib.sh"
FAR=c10mfar$$
cleanup_first() { ip netns del $FAR 2>/dev/null; }
write_conf
python3 - "$TMP/conf" <<'PY'
import re, sys
t = open(sys.argv[1]).read()
port = """[port p0]
driver = af_packet
device = va
mac = 02:c1:0a:00:00:07
address = 10.99.0.2/16
gateway = 10.99.0.1
route = 10.77.0.0/16 via 10.99.0.1, 10.77.7.0/24 via 10.99.0.9
"""
t = re.sub(r"\[port tap0\].*?(?=\[service)", lambda _: port, t, flags=re.S)
open(sys.argv[1], "w").write(t.replace("[memory]\n", "[memory]\nhugepage = none\n"))
PY
python3 -c 'import sys; sys.stdout.buffer.write(bytes(range(256)) * 1000)' >"$TMP/site/big.bin"
inside ip link add va type veth peer name vb
inside ethtool -K vb tx off tso off gso off gro off >/dev/null 2>&1
inside ip addr add 10.99.0.1/16 dev vb
inside ip addr add 10.88.0.1/32 dev lo
inside ip addr add 10.77.1.1/32 dev lo
inside ip link set va up
inside ip link set vb up
MAC=02:c1:0a:00:00:07
play() { inside python3 "$HERE/net.py" vb "$@"; }
# in_background OUTPUT ARGUMENT...: the same, as $PLAYER; it dies with this script.
in_background() {
    setpriv --pdeathsig KILL nsenter --net=/run/netns/"$NS" python3 "$HERE/net.py" vb "${@:2}" >"$1" 2>&1 &
    PLAYER=$!
}
drop() { awk -v n="$1" '$1 == n { s += $2 } END { print s + 0 }' "$TREE"/cores/*/drops; }
page() { inside curl -sf -m 5 -o /dev/null "$@" http://10.99.0.2/; }

in_background "$TMP/sniffed" announced 15
for _ in $(seq 50); do grep -q ready "$TMP/sniffed" && break; sleep 0.1; done
claim "the server starts" start_server
claim "... and announces its address" wait $PLAYER
claim "pages come" page
claim "twenty claims of its address are answered by one announcement" play conflict $MAC
claim "... and counted" eval '[ "$(counter arp_conflicts)" = 20 ]'
claim "... and pages come" page

# A router with another MAC, and a network behind it.
ip netns add $FAR
inside ip link add mv0 link vb type macvlan mode bridge
inside ip link set mv0 netns /run/netns/$FAR
far() { nsenter --net=/run/netns/$FAR "$@"; }
far ip link set lo up
far ip link set mv0 up
far ip addr add 10.99.0.9/16 dev mv0
far ip addr add 10.77.7.1/32 dev lo
far ip addr add 10.66.0.1/32 dev lo
claim "a client behind the longer route has its page" far curl -sf -m 5 -o /dev/null --interface 10.77.7.1 http://10.99.0.2/
claim "... one behind the shorter route" page --interface 10.77.1.1
claim "... one behind the gateway" page --interface 10.88.0.1
claim "... and one where the gateway is wrong has none" eval '! far curl -sf -m 2 -o /dev/null --interface 10.66.0.1 http://10.99.0.2/'

# 65,000 silent hosts, and a good one.
resident() { awk '/^VmRSS/ { print $2 }' /proc/"$SERVER"/status; }
stop_server
claim "the server starts again" start_server --set tcp.rst_rate_per_s=1M
page
BEFORE=$(resident)
in_background "$TMP/silent" silent $MAC
GOOD=0 BAD=0 NEIGHBORS=0
while kill -0 $PLAYER 2>/dev/null; do
    if page; then GOOD=$((GOOD + 1)); else BAD=$((BAD + 1)); fi
    n=$(wc -l <"$TREE/net/arp")
    NEIGHBORS=$((n > NEIGHBORS ? n : NEIGHBORS))
done
claim "65,000 hosts that never answer ARP were to be answered" wait $PLAYER
echo "   meanwhile $GOOD pages came, $BAD did not; at most $NEIGHBORS neighbors"
claim "... a good neighbor has its pages all the while" [ $BAD = 0 -a $GOOD -ge 10 ]
claim "... the cache stays at half of its entries at most" [ $NEIGHBORS -gt 100 -a $NEIGHBORS -le 530 ]
claim "... what it could not take is counted" eval '[ "$(counter rst_sent)" -ge 60000 -a "$(counter arp_evicted)" -gt 10000 -a "$(drop arp_cache_full)" -gt 10000 ]'
claim "... requests keep to their rate, and the others are counted" eval '[ "$(counter tx_arp)" -lt 20000 -a "$(counter arp_limited)" -gt 10000 ]'
claim "... memory does not grow by it" [ $(($(resident) - BEFORE)) -lt 2048 ]
forgotten() { for _ in $(seq 100); do [ "$(wc -l <"$TREE/net/arp")" -lt 10 ] && return 0; sleep 0.1; done; false; }
claim "... and the silent ones are forgotten" forgotten
claim "no packet leaks" balance_is_zero

claim "ICMP errors about closed ports keep to their rate" play errors $MAC
cat "$TMP/out" | grep errors
unreachables() {
    local all sent limited
    all=$(drop udp_no_port) sent=$(counter tx_icmp_unreachable) limited=$(counter icmp_errors_limited)
    echo "$all datagrams, $sent errors sent, $limited not"
    [ "$all" -gt 1000 ] && [ $((sent + limited)) = "$all" ]
}
claim "... and the others are counted" unreachables

claim "ICMP errors about a connection are matched with it" play icmp $MAC
claim "... segments became smaller twice" [ "$(counter icmp_mss_lowered)" = 2 ]
claim "... others changed nothing" [ "$(counter icmp_noted)" = 2 ]
claim "... one that quotes what is not in flight is dropped" [ "$(drop icmp_sequence)" = 1 ]
claim "... and one about no connection" [ "$(drop icmp_no_owner)" = 1 ]
claim "no packet leaks" balance_is_zero
claim "the server stops" stop_server

# Clients with a closed window: each pins a buffer with its answer's head.
claim "the server starts with 2,048 buffers" start_server --set memory.buffers=2048
page
in_background "$TMP/hoard" hoard $MAC 3000
most=0
for _ in $(seq 200); do
    n=$(counter buffers_now)
    most=$((n > most ? n : most))
    grep -q hoard "$TMP/hoard" && break
    sleep 0.1
done
cat "$TMP/hoard"
claim "3,000 clients that take nothing had filled the buffers" [ $most -ge 1600 ]
claim "... pages come again within seconds" within 60 page -m 1
pages() { for _ in $(seq 30); do page || return 1; done; }
claim "... and go on to" within 60 pages
claim "... since those were reset, and counted" [ "$(counter conns_shed)" -ge 400 ]
kill $PLAYER
claim "no packet leaks" balance_is_zero
claim "the server stops" stop_server
finish
