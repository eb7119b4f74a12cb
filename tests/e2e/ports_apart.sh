#!/usr/bin/env bash
# Two ports of one server, one of which dies: a memif port whose peer is stopped while it is sent all that it takes, beside a tap port, which goes on.
. "$(dirname "$0")/lib.sh"
PEER= READER=
cleanup_first() {
    [ -z "$PEER" ] || kill -9 "$PEER" 2>/dev/null
    [ -z "$READER" ] || kill -9 "$READER" 2>/dev/null
    rm -rf /var/run/dpdk/c10mpeer$$
}
write_conf
cat >>"$TMP/conf" <<CONF
[port m0]
driver = memif
role = server
device = $TMP/memif.sock
address = 10.98.0.2/24
CONF
# The kernel's host on the other side of the memif port: testpmd carries frames between it and a veth pair.
inside ip link add vc type veth peer name vd
inside ip addr add 10.98.0.1/24 dev vd
inside ip link set vc up
inside ip link set vd up
inside ethtool -K vd tx off tso off gso off gro off >/dev/null 2>&1

waiting() { awk '$1 == "m0_tx_waiting" { print $2 }' "$TREE"/cores/*/queues; }
# until_is CONDITION...: within 20 s.
until_is() {
    local end=$((SECONDS + 20))
    until eval "$@"; do
        [ $SECONDS -lt $end ] || { cat "$TREE"/cores/*/queues; return 1; }
        sleep 0.1
    done
}
pages() { # N: over one connection, on the tap port
    inside curl -sf -m 20 "http://10.99.0.2/?[1-$1]" | grep -c hello | grep -qx "$1"
}
echoes() {
    inside python3 - <<'PY'
import os, socket
s = socket.create_connection(("10.99.0.2", 7), 5)
s.settimeout(5)
data, got = os.urandom(300000), b""
for at in range(0, len(data), 10000):
    s.sendall(data[at:at + 10000])
    while len(got) < at + 10000:
        got += s.recv(65536)
assert got == data
PY
}
# What 300 connections have received, in the file that it names.
cat >"$TMP/reads.py" <<'PY'
import selectors, socket, sys, time
sel, got, told = selectors.DefaultSelector(), 0, 0
for _ in range(300):
    s = socket.create_connection(("10.98.0.2", 19), 10)
    s.setblocking(False)
    sel.register(s, selectors.EVENT_READ)
while True:
    for key, _ in sel.select(1):
        got += len(key.fileobj.recv(1 << 20))
    if time.monotonic() - told > 0.1:
        told = time.monotonic()
        open(sys.argv[1], "w").write(str(got))
PY
has_read() { [ "$(cat "$TMP/read" 2>/dev/null || echo 0)" -gt "$1" ] 2>/dev/null; }

claim "the server starts" start_server
nsenter --net=/run/netns/"$NS" dpdk-testpmd --file-prefix=c10mpeer$$ --no-pci --no-huge -m 256 -l 0,1 --no-telemetry \
    --vdev "net_memif0,role=client,socket=$TMP/memif.sock,socket-abstract=no,bsize=2048" \
    --vdev net_af_packet0,iface=vc -- --forward-mode=io --auto-start --total-num-mbufs=8192 \
    --no-mlockall --stats-period 3600 >"$TMP/peer" 2>&1 &
PEER=$!
claim "a page by the memif port" until_is "inside curl -sf -m 2 http://10.98.0.2/ | grep -q hello"
claim "a page by the tap port" pages 1
nsenter --net=/run/netns/"$NS" python3 "$TMP/reads.py" "$TMP/read" >"$TMP/reads" 2>&1 &
READER=$!
claim "300 connections receive by the memif port" until_is has_read 1000000
kill -STOP "$PEER"
claim "its peer stopped, the port takes no more" until_is '[ "$(waiting)" -ge 960 ]'
BEFORE=$(counter tx_waits)
claim "500 pages by the tap port beside it" pages 500
claim "echo by the tap port beside it" echoes
claim "those who wait are counted" eval '[ "$(counter tx_waits)" -gt "$BEFORE" ]'
claim "and have not left" eval '[ "$(waiting)" -ge 960 ]'
kill -CONT "$PEER"
READ=$(cat "$TMP/read")
claim "the peer goes on, and so do its connections" until_is has_read $((READ + 5000000))
kill -9 "$READER" && READER=
claim "nothing waits any more" until_is '[ "$(waiting)" = 0 ]'
claim "every received packet is accounted for" balance_is_zero
claim "the server stops" stop_server
finish
