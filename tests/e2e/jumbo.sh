#!/usr/bin/env bash
# Jumbo frames: with an MTU of 9,000 bytes on both sides, pings, datagrams and TCP fill frames of 9,014 bytes both ways; a peer
# behind a router and a link of 1,500 bytes (IPv6: 1,400) is served, whether the router says so, says so and a filter drops that, or
# does not know; and a port that cannot have them says so.
. "$(dirname "$0")/lib.sh"
FAR=$NS-far
cleanup_first() { ip netns del "$FAR" 2>/dev/null || true; }
head -c 10000000 /dev/urandom >"$TMP/site/ten"
SUM=$(sha256sum <"$TMP/site/ten")

conf() { # WORKERS LINE...
    local workers=$1
    shift
    write_conf
    python3 - "$TMP/conf" "$workers" "$(printf '%s\n' "$@" "address = 10.99.0.2/24, fd99::2/64" "gateway = 10.99.0.1" "gateway6 = fd99::1" "mtu = 9000")" <<'PY'
import re, sys
path, workers, port = sys.argv[1:]
t = re.sub(r"\[port tap0\].*?(?=\[service)", "[port p0]\n" + port + "\n", open(path).read(), flags=re.S)
cpu = "" if workers == "1" else f"[cpu]\nlinux = 0\nworkers = 1\nworkers_per_core = {workers}\n"
open(path, "w").write(t.replace("[memory]\n", cpu + "[memory]\nhugepage = none\n"))
PY
}
veth() {
    inside ip link del va 2>/dev/null || true
    inside ip link add va mtu 9000 type veth peer name vb mtu 9000
    inside sysctl -qw net.ipv6.conf.va.disable_ipv6=1
    inside ip addr add 10.99.0.1/24 dev vb
    inside ip addr add fd99::1/64 dev vb nodad
    inside ip link set va up
    inside ip link set vb up
    inside ethtool -K vb tx off tso off gso off gro off >/dev/null 2>&1
}
pings() { inside ping -c 3 -i 0.2 -W 5 -q -M do "$@"; }
download() { [ "$(inside curl -sf -m 60 "http://$1/ten" | sha256sum)" = "$SUM" ]; }
# exchange: 10 MB to the echo service and back.
exchange() {
    inside python3 - "$1" "$TMP/site/ten" <<'PY'
import socket, sys, threading
data = open(sys.argv[2], "rb").read()
s = socket.create_connection((sys.argv[1], 7), timeout=60)
t = threading.Thread(target=lambda: (s.sendall(data), s.shutdown(socket.SHUT_WR)))
t.start()
got = bytearray()
while piece := s.recv(1 << 18):
    got += piece
t.join()
assert got == data, (len(got), len(data))
PY
}
datagrams() {
    inside python3 - "$1" <<'PY'
import os, socket, sys
v6 = ":" in sys.argv[1]
most = 9000 - (48 if v6 else 28)
# Linux reassembles the fragments of IPv4 in front of an af_packet port.
for n in [1, 1472, 1473, 2006, 2007, 2048, 4096, most - 1, most] + ([most + 1, 20000, 65527] if v6 else []):
    s = socket.socket(socket.AF_INET6 if v6 else socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    s.settimeout(10)
    data = os.urandom(n)
    s.sendto(data, (sys.argv[1], 7))
    assert s.recv(70000) == data, n
PY
}
port() { awk -v n="$1" '$1 == n { print $2 }' "$TREE/ports/p0/counters"; }
# frames_of DIRECTION BYTES COMMAND...: the frames of the direction have at least so many bytes on average while the command runs.
frames_of() {
    local way=$1 least=$2 packets bytes
    packets=$(port "${way}_packets") bytes=$(port "${way}_bytes")
    shift 2
    "$@" || return 1
    within 10 eval "[ \$(port ${way}_bytes) -gt $((bytes + 9000000)) ]" || return 1
    packets=$(($(port "${way}_packets") - packets)) bytes=$(($(port "${way}_bytes") - bytes))
    echo "$bytes bytes in $packets packets"
    [ $((bytes / packets)) -ge "$least" ]
}
# refuses TEXT: the check of the configuration fails and says so.
refuses() { ! inside "$C10M" check -c "$TMP/conf" >"$TMP/said" 2>&1 && cat "$TMP/said" && grep -qE -- "$1" "$TMP/said"; }
no_chain_fell() { ! awk '/^(pkt_chain|ip_mtu|fragment_|ip_fragment|ip6_fragment)/ && $2 != 0' "$TREE"/cores/*/drops | grep .; }

all() { # NAME WORKERS: of the server that $TMP/conf describes
    claim "$1, $2 workers: the server starts" start_server
    claim "... its MTU" grep -qx 'mtu_bytes 9000' "$TREE/ports/p0/mtu"
    claim "... pings of 8,972 bytes that may not be fragmented" pings -s 8972 10.99.0.2
    claim "... over IPv6, of 8,952" pings -6 -s 8952 fd99::2
    claim "... in fragments of 9,000 bytes" inside ping -6 -c 3 -i 0.2 -W 5 -q -s 60000 fd99::2
    claim "... datagrams of all sizes come back" datagrams 10.99.0.2
    claim "... over IPv6" datagrams fd99::2
    claim "... 10 MB from the server, in segments of 8,948 bytes" frames_of tx 6000 download 10.99.0.2
    claim "... over IPv6" frames_of tx 6000 download '[fd99::2]'
    claim "... 10 MB to it come in such segments" frames_of rx 3000 exchange 10.99.0.2
    claim "... and leave in segments of more than two buffers" frames_of tx 3000 exchange fd99::2
    claim "... no chain and no fragment was dropped" no_chain_fell
    claim "... every received packet is accounted for" balance_is_zero
}

behind() { ip netns exec "$FAR" "$@"; }
# far_link MTU [MTU6]: a host that announces an MSS of 8,960 bytes behind a link of 1,500, and this MTU at the router's end, over IPv6
# MTU6 at both ends: with 1,500 the router sends ICMP errors, with 9,000 the far end drops what is longer.
far_link() {
    inside ip link del vc 2>/dev/null || true
    ip netns del "$FAR" 2>/dev/null || true
    ip netns add "$FAR"
    inside ip link add vc mtu "$1" type veth peer name vd mtu 1500 netns "$FAR"
    # Not on va: Linux would send on what is for the port.
    inside sysctl -qw net.ipv4.conf.vb.forwarding=1 net.ipv4.conf.vc.forwarding=1 net.ipv6.conf.all.forwarding=1
    inside ip addr add 10.98.0.1/24 dev vc
    inside ip addr add fd98::1/64 dev vc nodad
    inside ip link set vc up
    behind ip addr add 10.98.0.2/24 dev vd
    behind ip addr add fd98::2/64 dev vd nodad
    behind ip link set vd up
    [ -z "${2:-}" ] || {
        inside sysctl -qw "net.ipv6.conf.vc.mtu=$2"
        behind sysctl -qw "net.ipv6.conf.vd.mtu=$2"
    }
    behind ip route add default via 10.98.0.1 advmss 8960
    behind ip -6 route add default via fd98::1 advmss 8940
}
# errors_dropped: the router's ICMP errors about the MTU do not leave it.
errors_dropped() {
    inside nft -f - <<'NFT'
table inet quiet {
    chain out {
        type filter hook output priority 0; policy accept;
        icmp type destination-unreachable counter drop
        icmpv6 type packet-too-big counter drop
    }
}
NFT
}
dropped_errors() { inside nft list table inet quiet >"$TMP/nft" && cat "$TMP/nft" && [ "$(grep -c 'counter packets [1-9]' "$TMP/nft")" = 2 ]; }
far_download() { [ "$(behind curl -sf -m 60 "http://$1/ten" | sha256sum)" = "$SUM" ]; }
far_upload() {
    behind python3 - "$1" "$TMP/site/ten" <<'PY'
import socket, sys
s = socket.create_connection((sys.argv[1], 9), timeout=60)
s.sendall(open(sys.argv[2], "rb").read())
s.shutdown(socket.SHUT_WR)
assert s.recv(1) == b""
PY
}
# far_datagrams: longer than the path's MTU, one after the other. The first answers are lost.
far_datagrams() {
    behind python3 - "$1" <<'PY'
import os, socket, sys
s = socket.socket(socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(1)


def comes_back(n):
    data = os.urandom(n)
    s.sendto(data, (sys.argv[1], 7))
    try:
        return s.recv(70000) == data
    except TimeoutError:
        return False


for n in (4000, 8952):
    assert any(comes_back(n) for i in range(20)), n
PY
}
# far WHAT LEAST MOST LEAST6 MOST6: a download leaves in frames of so many bytes on average.
far() {
    claim "$1: 10 MB over IPv4" average_of "$2" "$3" far_download 10.99.0.2
    claim "... over IPv6" average_of "$4" "$5" far_download '[fd99::2]'
    claim "... and 10 MB from it" far_upload 10.99.0.2
    claim "... over IPv6" far_upload fd99::2
}
all_of() { counter "$1" | awk '{ s += $1 } END { print s + 0 }'; }
average_of() { # LEAST MOST COMMAND...
    local least=$1 most=$2 packets bytes
    packets=$(port tx_packets) bytes=$(port tx_bytes)
    shift 2
    "$@" || return 1
    within 10 eval "[ \$(port tx_bytes) -gt $((bytes + 9000000)) ]" || return 1
    packets=$(($(port tx_packets) - packets)) bytes=$(($(port tx_bytes) - bytes))
    echo "$bytes bytes in $packets packets"
    [ $((bytes / packets)) -ge "$least" ] && [ $((bytes / packets)) -le "$most" ]
}

veth
conf 3 "driver = af_packet" "device = va"
all af_packet 3
far_link 1500 1400
far "behind a router and a link of 1,500 bytes, 1,400 over IPv6" 1400 1570 1300 1470
claim "... by the router's ICMP errors" eval '[ "$(all_of icmp_mss_lowered)" -ge 2 ] && [ "$(all_of mtu_probe_failed)" = 0 ]'
claim "... datagrams come back in fragments" far_datagrams 10.99.0.2
claim "... over IPv6" far_datagrams fd99::2
claim "the router's ICMP errors are dropped" errors_dropped
LOWERED=$(all_of icmp_mss_lowered)
far "behind it without them" 900 1450 1000 1400
claim "... which was found out" eval '[ "$(all_of mtu_probe_failed)" -ge 2 ] && [ "$(all_of icmp_mss_lowered)" = "$LOWERED" ]'
claim "... and the filter dropped some of both families" dropped_errors
inside nft delete table inet quiet
FOUND=$(all_of mtu_probe_failed)
far_link 9000
claim "the router forgets the host of before" inside ip neigh flush all
far "behind a link that drops what is longer without a word" 900 1450 1000 1400
claim "... which was found out" eval '[ "$(all_of mtu_probe_failed)" -ge $((FOUND + 2)) ]'
claim "... the server stops" stop_server
veth
conf 1 "driver = af_packet" "device = va"
all af_packet 1
claim "... the server stops" stop_server

conf 1 "driver = fault" "wraps = p1" "loss = 1%" "reorder = 1%" "duplicate = 1%"
printf '[port p1]\ndriver = af_packet\ndevice = va\nmtu = 9000\n' >>"$TMP/conf"
sed -i '/^\[port p0\]/,/^\[service/ { /^mtu/d }' "$TMP/conf"
claim "a lossy path: the server starts" start_server
claim "... 10 MB from it" download 10.99.0.2
claim "... 10 MB there and back" exchange 10.99.0.2
claim "... every received packet is accounted for" balance_is_zero
claim "... the server stops" stop_server

conf 1 "driver = af_xdp" "device = va"
claim "af_xdp refuses the MTU, with the line" refuses "conf:[0-9]+: .*mtu = 9000: at most 1900 was expected with driver af_xdp"
conf 1 "driver = tap" "device = c10mt0" "host_address = 10.99.0.1/24"
claim "tap does, too" refuses "conf:[0-9]+: .*mtu = 9000: at most 1500 was expected with driver tap"
finish
