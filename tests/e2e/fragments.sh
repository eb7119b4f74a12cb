#!/usr/bin/env bash
# Fragments beside the kernel's: large pings and datagrams of both families go and come back, with one
# worker and with three, whose connections are not the fragments' own.
. "$(dirname "$0")/lib.sh"
# conf WORKERS: a tap port with addresses of both families.
conf() {
    write_conf
    python3 - "$TMP/conf" "$1" <<'PY'
import sys
path, workers = sys.argv[1:]
t = open(path).read()
port = t[t.index("[port tap0]"):t.index("[service web]")]
lines = ["[port p0]", "driver = tap", "address = 10.99.0.2/24, fd99::2/64", "device = c10mt0",
         "host_address = 10.99.0.1/24, fd99::1/64"]
t = t.replace(port, "\n".join(lines) + "\n")
cpu = "" if workers == "1" else f"[cpu]\nlinux = 0\nworkers = 1\nworkers_per_core = {workers}\n"
open(path, "w").write(t.replace("[memory]\n", cpu + "[memory]\nhugepage = none\n"))
PY
}
sum() { awk -v n="$1" '$1 == n { s += $2 } END { print s + 0 }' "$TREE"/cores/*/"${2:-counters}"; }
pings() { inside ping -c 3 -i 0.2 -W 5 -q "$@"; }
# echoes: datagrams of many lengths from many ports to port 7, each back as it went.
echoes() {
    inside python3 - "$1" <<'PY'
import os, socket, sys
family, host = (socket.AF_INET6, "fd99::2") if sys.argv[1] == "6" else (socket.AF_INET, "10.99.0.2")
most = 65527 if sys.argv[1] == "6" else 65507
for n in [1452, 1473, 2000, 2960, 8000, 20000, 40000, most] * 4:
    s = socket.socket(family, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    s.settimeout(10)
    data = os.urandom(n)
    s.sendto(data, (host, 7))
    assert s.recv(70000) == data, n
PY
}
balanced() { balance_is_zero; }
no_fragment_fell() { ! awk '/^(fragment_|ip_fragment|ip6_fragment)/ && $2 != 0' "$TREE"/cores/*/drops | grep .; }
told() { # what net/snmp and net/snmp6 say
    python3 - "$TREE/net/snmp" "$TREE/net/snmp6" <<'PY'
import sys
head, values = [l.split()[1:] for l in open(sys.argv[1]) if l.startswith("Ip:")]
ip = dict(zip(head, map(int, values)))
ip6 = {l.split()[0]: int(l.split()[1]) for l in open(sys.argv[2])}
print(ip, ip6)
for name in ("ReasmReqds", "ReasmOKs", "FragOKs", "FragCreates"):
    assert ip[name] > 0 and ip6["Ip6" + name] > 0, name
assert ip["ReasmFails"] == ip6["Ip6ReasmFails"] == 0
assert ip["ReasmReqds"] > ip["ReasmOKs"] and ip["FragCreates"] > ip["FragOKs"]
PY
}

for workers in 1 3; do
    conf $workers
    claim "a server with $workers workers starts" start_server
    claim "... pings of 2,000 and 8,000 bytes" eval 'pings -s 2000 10.99.0.2 && pings -s 8000 10.99.0.2'
    claim "... of 65,507 bytes" pings -s 65507 10.99.0.2
    claim "... over IPv6" eval 'pings -6 -s 8000 fd99::2 && pings -6 -s 65507 fd99::2'
    claim "... datagrams of up to 64 KiB come back" echoes 4
    claim "... over IPv6" echoes 6
    claim "... the kernel's counters, in its formats" told
    claim "... no fragment fell, and none is left" eval 'no_fragment_fell && [ "$(sum reassembly_now)" = 0 ]'
    [ $workers = 1 ] || claim "... some went on to the worker of their ports" [ "$(sum reassembly_handed)" -gt 0 ]
    claim "... every packet is accounted for" balanced
    claim "... the server stops" stop_server
done
finish
