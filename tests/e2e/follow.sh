#!/usr/bin/env bash
# A port that follows a Linux interface: what ip(8), a DHCP client and router advertisements do to the interface takes effect for HTTP of the
# data plane, both families; a connection of an address that leaves goes on when it comes back.
#
#   NS (server)   va: the port (af_packet, the kernel's own stack does not see it)   lin0: the interface that is followed
#                  |                                                                   |
#   CLIENT        vb ---------------------------- br0 (10.99.0.1) ------------------- linb (what the kernel of NS says of neighbors ends here)
. "$(dirname "$0")/lib.sh"
CLIENT=${NS}c
PIDS=()
cleanup_first() {
    local pid
    for pid in "${PIDS[@]}"; do kill -9 "$pid" 2>/dev/null; done
    ip netns del "$CLIENT" 2>/dev/null
}
client() { nsenter --net=/run/netns/"$CLIENT" "$@"; }
# as_child COMMAND...: in the background; ends with the test.
as_child() { setpriv --pdeathsig KILL "$@" >>"$TMP/children" 2>&1 & PIDS+=($!); }

ip netns add "$CLIENT"
inside ip link add va type veth peer name vb netns "$CLIENT"
inside ip link add lin0 type veth peer name linb netns "$CLIENT"
inside sysctl -qw net.ipv6.conf.va.disable_ipv6=1 net.ipv6.conf.lin0.accept_ra=2
client ip link set lo up
client ip link add br0 type bridge
for i in vb linb; do client ip link set $i master br0 up; done
client ip addr add 10.99.0.1/24 dev br0
client ip addr add 10.98.0.1/24 dev br0
client ip addr add fd99::1/64 dev br0 nodad
client ip link set br0 up
client ethtool -K vb tx off tso off gso off gro off >/dev/null 2>&1
inside ip link set va up
inside nft -f - <<NFT
table netdev f {
    chain in {
        type filter hook ingress device va priority 0; policy drop;
    }
}
NFT
# Without this the kernel of NS would claim the addresses, too: it stands for what the exception path passes on.
client nft -f - <<NFT
table netdev f {
    chain in {
        type filter hook ingress device linb priority 0; policy accept;
        ether type arp drop
        icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } drop
    }
}
NFT
inside ip addr add 10.99.0.2/24 dev lin0
inside ip link set lin0 up

write_conf
python3 - "$TMP/conf" <<'PY'
import re, sys
t = open(sys.argv[1]).read()
port = """[port p0]
driver = af_packet
device = va
address = 10.99.0.9/24
follow = lin0
"""
t = re.sub(r"\[port tap0\].*?(?=\[service)", port, t, flags=re.S)
open(sys.argv[1], "w").write(t)
PY
FOLLOW=$TREE/ports/p0/follow
value() { awk -v n="$1" '$1 == n { print $2 }' "$FOLLOW"; }
shows() { grep -qxF -- "$1" "$FOLLOW" || { cat "$FOLLOW"; return 1; }; }
shows_not() { ! grep -qF -- "$1" "$FOLLOW" || { cat "$FOLLOW"; return 1; }; }
page() { client curl -sf -m 1 --globoff "http://$1/" | grep -q hello; }
no_page() { ! page "$1"; }
# soon COMMAND...: effects come within a second; ten allow for a busy machine.
soon() { within 10 "$@"; }
start_server

claim "the addresses of the interface are served, those of the configuration not" eval 'soon page 10.99.0.2 && soon no_page 10.99.0.9'
claim "the configuration reprinted is the file's" grep -q 'address = 10.99.0.9/24' "$TREE/config"
claim "an address that is added is served" eval 'inside ip addr add 10.98.0.2/24 dev lin0 && soon page 10.98.0.2'
claim "an IPv6 address that is added is served" eval 'inside ip addr add fd99::2/64 dev lin0 && soon page "[fd99::2]"'
claim "an IPv6 address is served when Linux has found no duplicate" eval 'inside ip addr add fd99::77/64 dev lin0 && soon page "[fd99::77]"'
claim "an address that is removed is served no more" eval 'inside ip addr del 10.98.0.2/24 dev lin0 && soon no_page 10.98.0.2 && soon shows_not 10.98.0.2/'

# A connection of an address that leaves, and comes back: it goes on. Its peer asks again all the time.
echo_across() {
    client python3 - "$TMP/left" "$TMP/back" <<'PY'
import os, socket, sys, time
left, back = sys.argv[1:]
s = socket.create_connection(("10.98.0.2", 7), 20)
s.settimeout(60)
s.sendall(b"one")
assert s.recv(100) == b"one"
open(left, "w").close()
while not os.path.exists(back + ".gone"):
    time.sleep(0.05)
s.sendall(b"two")
s.settimeout(2)
try:
    sys.exit("answered by an address that is gone: %r" % s.recv(100))
except socket.timeout:
    pass
open(back, "w").close()
s.settimeout(60)
assert s.recv(100) == b"two"
PY
}
exists() { [ -e "$1" ]; }
stays_across() {
    inside ip addr add 10.98.0.2/24 dev lin0
    soon page 10.98.0.2
    echo_across &
    local pid=$!
    within 20 exists "$TMP/left"
    inside ip addr del 10.98.0.2/24 dev lin0
    soon no_page 10.98.0.2
    grep -q "^ *[0-9]*: 0200620A:0007" "$TREE/net/tcp" || { cat "$TREE/net/tcp"; return 1; }
    touch "$TMP/back.gone"
    within 30 exists "$TMP/back"
    inside ip addr add 10.98.0.2/24 dev lin0
    wait $pid
}
claim "a connection of an address that left stays, is shown, and goes on when it comes back" stays_across

# A route: the server's answers to a network behind the client need one.
client ip addr add 192.0.2.1/32 dev lo
far() { client curl -sf -m 1 --interface 192.0.2.1 http://10.99.0.2/ | grep -q hello; }
claim "without a route a network behind the next hop is not answered" eval '! far'
claim "a route that is replaced takes effect" eval 'inside ip route replace 192.0.2.0/24 via 10.99.0.1 dev lin0 && soon far'
claim "a default route takes its place" eval 'inside ip route del 192.0.2.0/24 dev lin0 && inside ip route replace default via 10.99.0.1 dev lin0 && soon shows "route 0.0.0.0/0 10.99.0.1" && soon far'
claim "routes with several next hops are counted and left out" eval '
    inside ip route replace 198.51.100.0/24 nexthop via 10.99.0.1 dev lin0 nexthop via 10.99.0.7 dev lin0 &&
    soon eval "[ \$(value routes_multipath) = 1 ]" && grep -q "1 routes with several next hops" "$TMP/log"'

# A permanent neighbor: answers go to a MAC address that nobody has, until it is the right one again.
mac=$(client ip -br link show br0 | awk '{ print $3 }')
claim "a permanent neighbor that is replaced takes effect" eval '
    inside ip neigh replace 10.99.0.1 lladdr 02:00:00:00:00:77 nud permanent dev lin0 && soon no_page 10.99.0.2 &&
    inside ip neigh replace 10.99.0.1 lladdr '"$mac"' nud permanent dev lin0 && soon page 10.99.0.2'
claim "a neighbor that is removed is asked for again" eval 'inside ip neigh del 10.99.0.1 dev lin0 && soon shows_not "neighbor " && soon page 10.99.0.2'

# MTU and state.
syn_mss() { # the MSS that the server announces
    client python3 - <<'PY'
import socket
s = socket.create_connection(("10.99.0.2", 80), 5)
print(s.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG))
PY
}
at_most() { [ "$(syn_mss)" -le "$1" ]; }
dd if=/dev/urandom of="$TMP/site/big" bs=1000 count=4000 2>/dev/null
claim "a smaller MTU holds for new connections" eval 'inside ip link set lin0 mtu 1300 && soon shows "mtu_bytes 1300" && soon at_most 1260'
claim "and back" eval 'inside ip link set lin0 mtu 1500 && soon shows "mtu_bytes 1500"'
claim "an interface that is down serves nothing" eval 'inside ip link set lin0 down && soon shows "state down" && soon no_page 10.99.0.2'
claim "and what comes up is served again" eval 'inside ip link set lin0 up && soon page 10.99.0.2'
inside ip addr flush dev lin0 scope global
claim "no address is left after a flush" eval 'soon shows_not "address 10." && soon shows_not "address fd99:"'

# DHCP and SLAAC by the usual programs.
if command -v dnsmasq >/dev/null && command -v udhcpc >/dev/null; then
    cat >"$TMP/udhcpc" <<'SCRIPT'
#!/bin/sh
case $1 in
bound|renew) ip addr replace "$ip/$mask" dev "$interface"; for r in $router; do ip route replace default via "$r" dev "$interface"; done ;;
deconfig) ip addr flush dev "$interface" scope global ;;
esac
SCRIPT
    chmod +x "$TMP/udhcpc"
    as_child nsenter --net=/run/netns/"$CLIENT" dnsmasq -k -C /dev/null --port=0 --interface=br0 --bind-interfaces --pid-file= \
        --dhcp-leasefile="$TMP/leases" --dhcp-range=10.99.0.50,10.99.0.60,255.255.255.0,1h --dhcp-range=fd99::,ra-only,64 --enable-ra --user=root
    as_child nsenter --net=/run/netns/"$NS" udhcpc -f -i lin0 -s "$TMP/udhcpc" -t 20 -T 1
    leased() { client curl -sf -m 1 "http://$(awk '$3 ~ /^10\.99\.0\.[56]/ { print $3 }' "$TMP/leases")/" | grep -q hello; }
    claim "an address from a DHCP server serves" within 30 leased
    claim "so does the default route from it" eval 'soon shows "route 0.0.0.0/0 10.99.0.1" && soon shows "address $(awk "{ print \$3; exit }" "$TMP/leases")/24"'
    slaac() { awk '$1 == "address" && $2 ~ /^fd99:/ { sub("/.*", "", $2); print $2; exit }' "$FOLLOW"; }
    by_slaac() { [ -n "$(slaac)" ] && page "[$(slaac)]"; }
    claim "an address made of a router advertisement serves" within 30 by_slaac
else
    echo "skip DHCP and SLAAC: no dnsmasq or udhcpc here"
fi

claim "no order has failed, nothing was lost" eval '[ "$(value changes_failed) $(value netlink_errors)" = "0 0" ] || { cat "$FOLLOW"; false; }'
claim "an interface that is deleted is said" eval 'client ip link del linb && soon shows "state absent" && grep -q "which is not there" "$TMP/log"'
claim "the balance is zero" balance_is_zero
claim "the server stops" stop_server
finish
