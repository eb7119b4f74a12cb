#!/usr/bin/env bash
# The contents of the tree: two workers on one core, one queue, a fault port over AF_PACKET: every file is
# documented, values move under load and agree with each other; and net/ has the kernel's own formats.
. "$(dirname "$0")/lib.sh"
PAGE=$(dirname "$HERE")/../docs/tree.md
inside ip link add va type veth peer name vb
inside ip addr add 10.99.0.1/24 dev vb
inside ip addr add fd99::1/64 dev vb nodad
inside ip link set va up
inside ip link set vb up
inside ethtool -K vb tx off tso off gso off gro off >/dev/null 2>&1
write_conf "[port bad0]
driver = fault
wraps = p0
queues = 1
duplicate = 0.2
seed = 5"
python3 - "$TMP/conf" "$TMP" <<'PY'
import sys
path, tmp = sys.argv[1:]
t = open(path).read()
t = t.replace(t[t.index("[port tap0]"):t.index("[service web]")], "[port p0]\ndriver = af_packet\nqueues = 1\ndevice = va\n\n")
t = t.replace("address = 10.99.0.2/24", "address = 10.99.0.2/24, fd99::2/64")
t = t.replace("[service web]\n", f"[service web]\naccess_log = {tmp}/access\n")
t = t.replace("[memory]\n", "[cpu]\nlinux = 0\nworkers = 1\nworkers_per_core = 2\n[statsd]\naddress = 127.0.0.1:9\n[memory]\nhugepage = none\n")
open(path, "w").write(t)
PY
tree() { python3 "$HERE/tree.py" "$1" "$TREE" "${@:2}"; }
# at_rest COMMAND...: within some seconds; copies of ARP and what is under way are accounted for then.
at_rest() {
    for _ in $(seq 20); do "$@" >"$TMP/rest" 2>&1 && { cat "$TMP/rest"; return 0; }; sleep 0.3; done
    cat "$TMP/rest"
    false
}
claim "two workers on one core, a fault port over af_packet: the server starts" start_server
claim "... serves" eval 'inside curl -sf -m 5 http://10.99.0.2/ | grep -q hello'
claim "every file and every line is on the page, and each row has a file" tree docs "$PAGE"
claim "values move under load, and none that only grows goes back" tree moves nsenter --net=/run/netns/"$NS" ab -q -n 3000 -c 20 http://10.99.0.2/
claim "what several files tell of the same is the same" at_rest tree sums
claim "the whole tree can be read ten times a second under load" eval '
    inside ab -q -n 200000 -t 2 -c 20 http://10.99.0.2/ >/dev/null 2>&1 & ab=$!
    tree read 15 1.5; rc=$?; wait $ab || true; cat "$TMP/out"; [ $rc = 0 ]'
# A worker that Linux does not let run for 50 ms is stalled, and that is no mistake.
awake() { [ "$(cat "$TREE"/cores/*/state | grep -cEx "state (running|idle)")" = 2 ] || { cat "$TREE"/cores/*/state; false; }; }
claim "workers are running or idle, and say so" at_rest awake
cat >"$TMP/formats.py" <<'PY'
# Connections in each state at the server, too, while the files are compared.
import socket, subprocess, sys
held = [socket.create_connection((a, 7), 5) for a in ("10.99.0.2", "fd99::2")]
for a in ("10.99.0.2", "fd99::2"):
    s = socket.create_connection((a, 13), 5)
    while s.recv(100):
        pass
    s.close()
sys.exit(subprocess.run([sys.executable, *sys.argv[1:]]).returncode)
PY
claim "net/ has the shape of the kernel's own files" at_rest inside python3 "$TMP/formats.py" "$HERE/formats.py" "$TREE/net"
claim "what several files tell of the same is still the same" at_rest tree sums
claim "the server stops" stop_server
finish
