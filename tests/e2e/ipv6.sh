#!/usr/bin/env bash
# IPv6 beside IPv4: pages, a large file, datagrams, neighbors asked for from both sides, malformed
# neighbor discovery; one worker over TAP, two and three over veth.
. "$(dirname "$0")/lib.sh"
# conf WORKERS DRIVER LINE...: port p0 with addresses of both families.
conf() {
    write_conf
    python3 - "$TMP/conf" "$@" <<'PY'
import sys
path, workers, driver, *lines = sys.argv[1:]
t = open(path).read()
port = t[t.index("[port tap0]"):t.index("[service web]")]
t = t.replace(port, "\n".join(["[port p0]", "driver = " + driver, "address = 10.99.0.2/24, fd99::2/64"] + lines) + "\n")
cpu = "" if workers == "1" else f"[cpu]\nlinux = 0\nworkers = 1\nworkers_per_core = {workers}\n"
open(path, "w").write(t.replace("[memory]\n", cpu + "[memory]\nhugepage = none\n"))
PY
}
sum() { awk -v n="$1" '$1 == n { s += $2 } END { print s + 0 }' "$TREE"/cores/*/"${2:-counters}"; }
each() { awk -v n="$1" '$1 == n { print $2 }' "$TREE"/cores/*/counters; }
play() { inside timeout 50 python3 "$HERE/ipv6.py" "$@"; }
page() { inside curl -gsf -m 5 "http://[fd99::2]/" | grep -q hello; }
pings() { inside ping -6 -c 3 -i 0.2 -W 2 -q "$@" fd99::2; }
large() { [ "$(inside curl -gsf -m 60 "http://[fd99::2]/large" | sha256sum)" = "$(sha256sum <"$TMP/site/large")" ]; }
daytime() {
    inside python3 -c 'import re, socket
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
s.settimeout(5)
s.sendto(b"", ("fd99::2", 13))
assert re.fullmatch(rb"\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}\r\n", s.recv(100))'
}
neighbor() { inside ip -6 neigh show "$@" | grep -qi "fd99::2 .*lladdr"; }
asked_again() { # INTERFACE: the kernel forgets us, and asks
    inside ip -6 neigh flush dev "$1"
    local before
    before=$(sum rx_nd_solicit)
    page && neighbor dev "$1" && [ "$(sum rx_nd_solicit)" -gt "$before" ]
}
balanced() { balance_is_zero; }
spread() { ! each "$1" | grep -qx 0 || { each "$1"; false; }; }
bad_are_counted() {
    [ "$(sum nd_hops drops)" -ge 40 ] && [ "$(sum icmp6_checksum drops)" -ge 40 ] && [ "$(sum nd_malformed drops)" -ge 120 ] &&
        [ "$(sum nd_router drops)" -ge 80 ]
}
stays() { [ "$(sum tcp_no_owner drops) $(sum rst_sent) $(sum handoff_full drops)" = "0 0 0" ]; }

dd if=/dev/urandom of="$TMP/site/large" bs=1M count=100 status=none
conf 1 tap "device = c10mt0" "host_address = 10.99.0.1/24, fd99::1/64"
claim "a server with addresses of both families starts" start_server
claim "a page over IPv6" page
claim "... and one over IPv4" eval 'inside curl -sf -m 5 http://10.99.0.2/ | grep -q hello'
claim "ping, small and near the MTU" eval 'pings && pings -s 1400'
claim "100 MB over IPv6 arrive exactly" large
claim "the date over UDP and IPv6" daytime
claim "the kernel forgets our MAC, and asks for it" asked_again c10mt0
claim "it is our neighbor, and we know it" eval 'neighbor dev c10mt0 && grep -q "^fd99::1 dev p0 lladdr" "$TREE/net/ndisc"'
claim "connections of IPv6 are in net/tcp6, its counters in net/snmp6" eval \
    'grep -q "00000000000000000000000000000000:0050" "$TREE/net/tcp6" && grep -q "^Ip6InReceives" "$TREE/net/snmp6"'
claim "every packet is accounted for" balanced
claim "the server stops" stop_server

inside ip link add va type veth peer name vb
inside ip addr add 10.99.0.1/24 dev vb
inside ip addr add fd99::1/64 dev vb nodad
inside ip link set va up
inside ip link set vb up
inside ethtool -K vb tx off tso off gso off gro off >/dev/null 2>&1
MAC=02:c1:0a:00:00:07
for workers in 2 3; do
    conf $workers af_packet "device = va" "mac = $MAC" "queues = 1"
    claim "af_packet, $workers workers on one queue: the server starts" start_server
    claim "... 200 connections over IPv6" play echo fd99::2 200
    claim "... each stays with its worker" stays
    claim "... and each worker has some" spread conns_opened_passive
    claim "... UDP from 200 ports" play udp fd99::2 200
    claim "... a page, and ping" eval 'page && pings'
    claim "... the kernel forgets our MAC, and asks for it" asked_again vb
    claim "... every worker learned the neighbor" spread nd_learned
    claim "... malformed neighbor discovery" play bad vb $MAC
    claim "... is counted by its kind" eval 'within 30 bad_are_counted || { cat "$TREE"/cores/*/drops | grep -v " 0$"; false; }'
    claim "... and a page comes" page
    claim "... every packet is accounted for, on every worker" balanced
    claim "... the server stops" stop_server
done
finish
