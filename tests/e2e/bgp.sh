#!/usr/bin/env bash
# BIRD on the Linux side of a port ([port] linux, follow) holds a BGP session through the port, also in a flood. What it learns becomes a
# route of the data plane; what it announces leads clients to a service of the data plane.
#
#   PEER: BIRD, AS 65001                      NS: the server, and BIRD, AS 65002, on Linux's interface c10mlx
#     vb 10.99.0.1 ------------------------- va: the port, 10.99.0.2
#     lo 192.0.2.1: the client               c10mlx 198.51.100.1/32: an address that serves
. "$(dirname "$0")/lib.sh"
command -v bird >/dev/null || { echo "skipped: no bird"; exit 77; }
PEER=${NS}p
PIDS=()
cleanup_first() {
    local pid
    for pid in "${PIDS[@]}"; do kill -9 "$pid" 2>/dev/null; done
    ip netns del "$PEER" 2>/dev/null
}
ip netns add "$PEER"
outside() { nsenter --net=/run/netns/"$PEER" "$@"; }
ip link add va netns "$NS" type veth peer name vb netns "$PEER"
inside sysctl -qw net.ipv6.conf.va.disable_ipv6=1
inside ip link set va arp off up
inside ethtool -K va tx off tso off gso off gro off >/dev/null 2>&1
outside ethtool -K vb tx off tso off gso off gro off >/dev/null 2>&1
outside ip link set lo up
outside ip addr add 192.0.2.1/32 dev lo
outside ip addr add 10.99.0.1/24 dev vb
outside ip link set vb up

write_conf
python3 - "$TMP/conf" <<'PY'
import re, sys
t = open(sys.argv[1]).read()
port = "[port p0]\ndriver = af_packet\ndevice = va\nmac = 02:00:00:00:99:02\naddress = 10.99.0.2/24\nlinux = c10mlx\nfollow = c10mlx\n"
open(sys.argv[1], "w").write(re.sub(r"\[port tap0\].*?(?=\[service)", port, t, flags=re.S))
PY

# bird NAME RUN ROUTER_ID LOCAL_AS NEIGHBOR NEIGHBOR_AS INTERFACE: what is connected to INTERFACE is announced, and what is learned goes
# to the kernel. The session falls after 6 s of silence.
bird_in() {
    local name=$1 where=$2
    cat >"$TMP/$name.conf" <<CONF
router id $3;
log "$TMP/$name.log" all;
protocol device { scan time 1; }
protocol direct { ipv4; interface "$7"; }
protocol kernel { ipv4 { import none; export where source = RTS_BGP; }; }
protocol bgp session {
    local $3 as $4;
    neighbor $5 as $6;
    hold time 6;
    keepalive time 2;
    connect retry time 2;
    connect delay time 1;
    ipv4 { import all; export where source = RTS_DEVICE; next hop self; };
}
CONF
    setpriv --pdeathsig KILL nsenter --net=/run/netns/"$where" bird -f -c "$TMP/$name.conf" -s "$TMP/$name.ctl" -P "$TMP/$name.pid" >"$TMP/$name.out" 2>&1 &
    PIDS+=($!)
}
ask() { birdc -s "$TMP/$1.ctl" "${@:2}"; }
established() { ask "$1" show protocols session | grep -q Established; }
# since: when the session of the server's side came up; another value: it fell.
since() { ask ours show protocols session | awk '$1 == "session" { print $5 }'; }
linux_count() { awk -v n="$1" '$1 == n { print $2 }' "$TREE/ports/p0/linux"; }
page() { outside curl -sf -m 5 --interface 192.0.2.1 "http://$1/" | grep -q hello; }
no_page() { ! page "$1"; }

claim "the server starts" start_server
claim "the port follows its own interface" within 20 grep -q '^address 10.99.0.2/24' "$TREE/ports/p0/follow"
claim "a client behind the peer has no answer before there is a route" no_page 10.99.0.2
bird_in theirs "$PEER" 10.99.0.1 65001 10.99.0.2 65002 lo
bird_in ours "$NS" 10.99.0.2 65002 10.99.0.1 65001 c10mlx
claim "the session is established" within 60 established ours
claim "... on both sides" within 60 established theirs
claim "a route that is learned is one of the data plane" within 20 grep -q '^route 192.0.2.1/32 10.99.0.1' "$TREE/ports/p0/follow"
claim "... and the client is answered" within 20 page 10.99.0.2
inside ip addr add 198.51.100.1/32 dev c10mlx
claim "an address that is added is announced to the peer" within 20 eval 'outside ip route | grep -q "198.51.100.1 via 10.99.0.2"'
claim "... and serves" within 20 page 198.51.100.1

BEGAN=$(since)
over=$(linux_count over_rate_rest)
outside python3 "$HERE/linux_port.py" flood 15 udp >"$TMP/flood" &
FLOOD=$!
PIDS+=($FLOOD)
claim "a flood at a port that nobody owns is limited" within 20 eval "[ \$(linux_count over_rate_rest) -gt $((over + 1000)) ]"
pages() { local i; for ((i = 0; i < 20; i++)); do page 198.51.100.1 || return 1; done; }
claim "the service answers in it" pages
wait $FLOOD
claim "the session outlives a flood of more than twice its hold time" eval '[ "$(since)" = "$BEGAN" ] && established ours && established theirs'
claim "every packet is accounted for" balance_is_zero

inside ip addr del 198.51.100.1/32 dev c10mlx
claim "an address that is removed is withdrawn" within 20 eval '! outside ip route | grep -q 198.51.100.1'
outside ip addr del 192.0.2.1/32 dev lo
claim "so is a route of the data plane" within 20 eval '! grep -q "^route 192.0.2.1" "$TREE/ports/p0/follow"'
claim "the server stops" stop_server
finish
