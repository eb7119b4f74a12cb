#!/usr/bin/env bash
# A port that is shared with Linux ([port] linux): the worker serves port 80, Linux has all the rest, in both directions and families; a
# flood at what nobody owns is limited and counted, and cuts neither the worker's nor Linux's connections; no end leaves an interface.
. "$(dirname "$0")/lib.sh"
PEER=${NS}p
SERVE= FLOOD=
cleanup_first() {
    for p in $SERVE $FLOOD; do kill -9 "$p" 2>/dev/null; done
    ip netns del "$PEER" 2>/dev/null
}
ip netns add "$PEER"
outside() { nsenter --net=/run/netns/"$PEER" "$@"; }
outside ip link set lo up
# The kernel of the server's side gets nothing from va itself: another MAC address, and no ARP there.
inside sysctl -qw net.ipv6.conf.default.disable_ipv6=0
veth() {
    ip link add va netns "$NS" type veth peer name vb netns "$PEER"
    inside sysctl -qw net.ipv6.conf.va.disable_ipv6=1
    inside ip link set va arp off up
    outside ip addr add 10.99.0.1/24 dev vb
    outside ip addr add fd99::1/64 dev vb nodad
    outside ip link set vb up
    inside ethtool -K va tx off tso off gso off gro off >/dev/null 2>&1
    outside ethtool -K vb tx off tso off gso off gro off >/dev/null 2>&1
}
veth
conf() { # LINE...
    write_conf
    python3 - "$TMP/conf" "$(printf '%s\n' "$@")" <<'PY'
import re, sys
t = open(sys.argv[1]).read()
port = f"[port p0]\ndriver = af_packet\ndevice = va\nmac = 02:00:00:00:99:02\naddress = 10.99.0.2/24, fd99::2/64\n{sys.argv[2]}\n"
open(sys.argv[1], "w").write(re.sub(r"\[port tap0\].*?(?=\[service)", lambda m: port, t, flags=re.S))
PY
}
linux_count() { awk -v n="$1" '$1 == n { print $2 }' "$TREE/ports/p0/linux"; }
peer() { outside python3 "$HERE/linux_port.py" "$@"; }
serve() {
    setpriv --pdeathsig KILL nsenter --net=/run/netns/"$NS" python3 "$HERE/linux_port.py" serve >"$TMP/serve" 2>&1 &
    SERVE=$!
    within 20 grep -q ready "$TMP/serve"
}
pages() { outside curl -sf -m 20 "http://10.99.0.2/?[1-20]" "http://[fd99::2]/?[1-20]" | grep -c hello | grep -qx 40; }
gone() { ! inside ip link show c10mlx >/dev/null 2>&1; }
interface_is_marked() { inside ip link show c10mlx | grep -q "alias c10m port p0, process $SERVER"; }
has_addresses() {
    inside ip addr show c10mlx >"$TMP/addr"
    grep -q 'inet 10.99.0.2/24' "$TMP/addr" && grep -q 'inet6 fd99::2/64' "$TMP/addr" && grep -q 'mtu 1500' "$TMP/addr" &&
        grep -q 02:00:00:00:99:02 "$TMP/addr" && inside ip route | grep -q 'default via 10.99.0.1 dev c10mlx .*metric 1024'
}
has_carrier() { inside ip link show c10mlx | grep -q LOWER_UP; }
has_none() { ! has_carrier; }
pinged() { outside ping -c 3 -i 0.2 -W 5 10.99.0.2 && outside ping -6 -c 3 -i 0.2 -W 5 fd99::2; }
# replies BY: of 3 pings of each family; the worker counts what it answers.
replies_of_worker() { echo $(($(counter tx_icmp_echo_reply) + $(counter tx_icmp6_echo_reply))); }
hears() { # NAME FILTER: what Linux sees on its interface while the peer sends it.
    local name=$1
    shift
    : >"$TMP/hearing"
    inside timeout 20 tcpdump -i c10mlx -c "${COUNT:-1}" -nn -l "$@" >"$TMP/heard" 2>"$TMP/hearing" &
    local dump=$!
    within 10 grep -q listening "$TMP/hearing" || return 1
    peer "$name" vb || return 1
    wait "$dump"
}
# Linux opens connections, too: from the port's address to the peer, whose answers find back.
linux_asks() {
    outside timeout 20 python3 -c 'import socket
s = socket.create_server(("10.99.0.1", 3333)); c = s.accept()[0]; c.sendall(c.recv(100)); c.recv(1)' &
    local server=$!
    within 10 outside bash -c 'ss -ltn | grep -q :3333' || return 1
    inside python3 -c 'import socket
c = socket.create_connection(("10.99.0.1", 3333), 10); c.sendall(b"asked"); assert c.recv(100) == b"asked"' || return 1
    wait $server
}
# dumped: a request to Linux and its answer.
dumped() {
    : >"$TMP/dumping"
    timeout 20 "$C10M" dump --socket "$TMP/run/control.sock" -w "$TMP/dump.pcapng" -c 6 'tcp port 2222' >"$TMP/dumping" 2>&1 &
    local dump=$!
    within 10 grep -q 'capturing on' "$TMP/dumping" && peer tcp || return 1
    wait $dump
    tcpdump -nr "$TMP/dump.pcapng" >"$TMP/frames" 2>/dev/null
    grep -q '10.99.0.1.* > 10.99.0.2.2222' "$TMP/frames" && grep -q '10.99.0.2.2222 > 10.99.0.1' "$TMP/frames"
}
conf 'linux = c10mlx' 'gateway = 10.99.0.1'
start_server
serve
claim "the interface has the port's MAC, MTU, addresses and routes" has_addresses
claim "it is marked as made by this server" interface_is_marked
claim "it has a carrier as the port has one" within 20 has_carrier
claim "the worker serves port 80 over both families" pages
claim "a TCP server of Linux is reached through the port over both families" peer tcp
claim "datagrams reach Linux and come back" peer udp
claim "so do datagrams in fragments" peer fragments  # IPv6: the kernel reassembles those of IPv4 in front of af_packet
claim "Linux refuses what nobody owns: RST and ICMP" peer refused
claim "Linux opens connections through the port" linux_asks
before=$(replies_of_worker)
claim "ping is answered" pinged
claim "by the worker" [ $(($(replies_of_worker) - before)) -ge 6 ]
COUNT=2 claim "DHCP by broadcast reaches Linux" hears dhcp udp port 67
claim "other EtherTypes reach Linux" hears lldp ether proto 0x88cc
claim "every packet is accounted for" balance_is_zero
claim "nothing was lost on the way to Linux" [ "$(linux_count full) $(linux_count refused)" = "0 0" ]
outside ip link set vb down
claim "without a link it has no carrier" within 20 has_none
outside ip link set vb up
outside ip addr add fd99::1/64 dev vb nodad  # which it lost
within 20 has_carrier

# A flood at a port that nobody owns, of one source, as fast as a process sends it. What of it reaches Linux each second is bounded: an eighth
# of the rate and of that a quarter, half as much again by chance, and once the burst.
claim "before the flood Linux and the worker answer" eval 'pages && peer tcp'
rest=$(linux_count to_rest) over=$(linux_count over_rate_rest)
peer flood 8 udp >"$TMP/flood" &
FLOOD=$!
begin=$SECONDS
within 20 eval "[ \$(linux_count over_rate_rest) -gt $((over + 1000)) ]"
claim "in a flood the worker serves every page" pages
claim "in a flood Linux's TCP servers are reached" peer tcp
claim "in a flood ping is answered" pinged
wait $FLOOD
FLOOD=
rest=$(($(linux_count to_rest) - rest)) over=$(($(linux_count over_rate_rest) - over)) seconds=$((SECONDS - begin + 1))
echo "     flood: $(cat "$TMP/flood") datagrams sent, $rest passed to Linux in $seconds s, $over over the rate"
claim "what is over the rate is counted" [ $over -gt 1000 ]
claim "what Linux got of it is within the rate" [ $rest -le $((seconds * 625 * 3 / 2 + 625)) ]
claim "the drops have the reason" eval "[ \$(awk '\$1 == \"linux_rate\" { print \$2 }' \"$TREE\"/cores/*/drops) -ge $over ]"
claim "every packet of the flood is accounted for" balance_is_zero
claim "both directions are in a dump" dumped

inside ip link del c10mlx
claim "the verdict says that the interface was removed" within 20 grep -q "interface of Linux at port p0 was removed" "$TREE/verdict"
claim "the worker still serves" pages
stop_server
conf 'linux = c10mlx' 'linux_icmp = on'
start_server
before=$(replies_of_worker)
claim "with linux_icmp ping is answered" pinged
claim "by Linux" [ "$(replies_of_worker)" = "$before" ]
stop_server
claim "the end of the server leaves no interface" gone
start_server
claim "the next one makes it again" interface_is_marked
kill -9 "$SERVER"
wait "$SERVER" 2>/dev/null || true
SERVER=
claim "a killed server leaves none either" within 20 gone
inside ip tuntap add c10mlx mode tap
claim "an interface that is there already is refused" says 1 'conf:[0-9]+: .*interface c10mlx exists already, and c10m did not make it' \
    nsenter --net=/run/netns/"$NS" "$C10M" serve -c "$TMP/conf"
finish
