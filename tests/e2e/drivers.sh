#!/usr/bin/env bash
# Each driver carries HTTP and echo: a veth pair by AF_PACKET and AF_XDP, a second process (testpmd)
# over memif; captures are replayed and written; what cannot work is refused with the reason.
. "$(dirname "$0")/lib.sh"
HERE_ADDRESS="address = 10.99.0.2/24, fd99::2/64"
PEER=
peer_stop() { [ -z "$PEER" ] || { kill -9 "$PEER"; wait "$PEER" || true; } 2>/dev/null; PEER=; }
# client LINE...: the configuration of a load generator in a process of its own, on the other core.
client() {
    printf '%s\n' '[cpu]' 'linux = 1' 'workers = 0' '[memory]' 'hugepage = none' '[port c]' "$@" >"$TMP/client"
}
# load ARGUMENTS...: against the server, its JSON in $TMP/json.
load() {
    inside timeout 60 "$C10M" load "$@" -c "$TMP/client" --server "${SERVER_AT:-10.99.0.2}" --json --quiet >"$TMP/json" || { cat "$TMP/json"; false; }
}
loaded() { # CONDITION: of the JSON's members
    python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); assert eval(sys.argv[2], {}, d), d' "$TMP/json" "$1"
}
load_refused() { # TEXT ARGUMENTS...
    local want=$1 status=0
    shift
    inside timeout 20 "$C10M" load hold -c "$TMP/client" "$@" >"$TMP/refusal" 2>&1 || status=$?
    cat "$TMP/refusal"
    [ $status = 2 ] && grep -qF -- "$want" "$TMP/refusal"
}
cleanup_first() { peer_stop; rm -rf /var/run/dpdk/c10mpeer$$; }

# conf DRIVER LINE...: one port.
conf() {
    write_conf
    local lines
    lines=$(printf '%s\n' "driver = $1" "${@:2}" "$HERE_ADDRESS")
    python3 - "$TMP/conf" "$lines" <<'PY'
import re, sys
t = open(sys.argv[1]).read()
t = re.sub(r"\[port tap0\].*?(?=\[service)", "[port p0]\n" + sys.argv[2].replace("\\", "") + "\n", t, flags=re.S)
open(sys.argv[1], "w").write(t.replace("[memory]\n", "[memory]\nhugepage = none\n"))
PY
}
http() { inside curl -sf -m 5 http://10.99.0.2/ | grep -q hello; }
echoes() {
    inside python3 - <<'PY'
import os, socket
s = socket.create_connection(("10.99.0.2", 7), 5)
s.settimeout(5)
for n in (1, 1000, 30000):
    data, got = os.urandom(n), b""
    s.sendall(data)
    while len(got) < n:
        got += s.recv(65536)
    assert got == data
PY
}
refused() { # TEXT: the server ends with it
    if start_server >"$TMP/refusal" 2>&1; then stop_server; return 1; fi
    SERVER=
    cat "$TMP/refusal"
    grep -qF -- "$1" "$TMP/refusal"
}
pair() { # NEAR FAR: both up; the far one is the kernel's host and fills in its checksums
    inside ip link add "$1" type veth peer name "$2"
    inside ip addr add 10.99.0.1/24 dev "$2"
    inside ip link set "$1" up
    inside ip link set "$2" up
    inside ethtool -K "$2" tx off tso off gso off gro off >/dev/null 2>&1
}

pair va vb
for driver in af_packet af_xdp; do
    conf $driver "device = va"
    claim "$driver: the server starts" start_server
    claim "$driver: HTTP" http
    claim "$driver: echo" echoes
    if [ $driver = af_packet ]; then
        inside ethtool -K vb tx on >/dev/null 2>&1
        before=$(drops)
        claim "$driver: segments with unfilled checksums get no answer" eval '! http'
        claim "... and are counted" eval '[ "$(drops)" -gt "$before" ]'
        inside ethtool -K vb tx off >/dev/null 2>&1
        claim "... and HTTP works again with whole ones" http
    fi
    client "driver = af_packet" "device = vb" "address = 10.99.0.3/24"
    claim "$driver: c10m load in a process of its own, over AF_PACKET" load hold --connections 1k
    claim "... opens, asks and closes each" loaded "opened == closed == 1000 and answered == 3000"
    client "driver = af_packet" "device = vb" "address = fd99::3/64"
    SERVER_AT=fd99::2 claim "$driver: the same over IPv6, neighbors found by multicast" load hold --connections 1k
    claim "... opens, asks and closes each" loaded "opened == closed == 1000 and answered == 3000 and failed == 0"
    claim "$driver: no packet leaks" balance_is_zero
    claim "$driver: the server stops" stop_server
done
conf af_packet "device = nosuch0"
claim "an interface that is not there is refused" refused "there is no interface nosuch0"
inside ip link set va down
conf af_xdp "device = va"
claim "an interface that is down is refused" refused "interface va is down: ip link set va up"
inside ip link del va
HERE_ADDRESS="address = 10.99.0.2/24"

# The load generator against the kernel's stack: a server that is not ours.
cat >"$TMP/echo.py" <<'PY'
import asyncio
async def echo(r, w):
    while data := await r.read(65536):
        w.write(data)
    w.close()
async def main():
    async with await asyncio.start_server(echo, "0.0.0.0", 7, backlog=512) as s:
        await s.serve_forever()
asyncio.run(main())
PY
client "driver = tap" "device = c10mload" "address = 10.99.0.2/24" "host_address = 10.99.0.1/24"
setpriv --pdeathsig KILL nsenter --net=/run/netns/"$NS" python3 "$TMP/echo.py" &
PEER=$!
listening() { inside ss -ltn | grep -q ':7 '; }
within 30 listening
kernel_load() {
    inside timeout 60 "$C10M" load hold -c "$TMP/client" --server 10.99.0.1 --connections 200 --payload 1000 --json \
        --quiet >"$TMP/json" || { cat "$TMP/json"; false; }
}
claim "tap: c10m load asks a server on the kernel's stack" kernel_load
claim "... opens, asks and closes each" loaded "opened == closed == 200 and answered == 600 and wrong == lost == failed == 0"
peer_stop

pair vc vd
conf memif "device = $TMP/memif.sock" "role = server"
claim "memif: the server starts" start_server
nsenter --net=/run/netns/"$NS" dpdk-testpmd --file-prefix=c10mpeer$$ --no-pci --no-huge -m 256 -l 0,1 --no-telemetry \
    --vdev "net_memif0,role=client,socket=$TMP/memif.sock,socket-abstract=no,bsize=2048" \
    --vdev net_af_packet0,iface=vc -- --forward-mode=io --auto-start --total-num-mbufs=8192 \
    --no-mlockall --stats-period 3600 >"$TMP/peer" 2>&1 &
PEER=$!
claim "memif: HTTP through a second process" eval 'within 60 http || { tail "$TMP/peer"; false; }'
claim "memif: echo" echoes
peer_stop
client "driver = memif" "role = client" "device = $TMP/memif.sock" "address = 10.99.0.1/24"
claim "memif: c10m load in a process of its own" load hold --connections 10k
claim "... opens, asks and closes each" loaded "opened == closed == 10000 and answered == 30000 and lost == wrong == failed == 0"
# Counted by openings: a connection of testpmd's time may still be there, waiting for an ACK of its FIN.
opened=$(counter conns_opened_passive)
setpriv --pdeathsig KILL nsenter --net=/run/netns/"$NS" "$C10M" load request -c "$TMP/client" --server 10.99.0.2 \
    --connections 100 --seconds 60 >/dev/null 2>&1 &
PEER=$!
peer_opened() { [ $(($(counter conns_opened_passive) - opened)) -ge 100 ]; }
claim "... it opens its connections" within 30 peer_opened
peer_stop
claim "... killed, and run again with the same addresses: earlier connections make room" load request --connections 100 --seconds 1
claim "... all are answered" loaded "opened == closed == 100 and asked == answered > 1000"
client "driver = fault" "wraps = m" "loss = 2" "reorder = 2" "address = 10.99.0.1/24" \
    "[port m]" "driver = memif" "role = client" "device = $TMP/memif.sock"
claim "... through a port that loses and reorders" load hold --connections 1k
claim "... all are answered, some again" loaded "answered == 3000 and retransmitted > 10 and faults_to_server['lost'] > 10"
claim "memif: no packet leaks" balance_is_zero
client "driver = memif" "role = client" "device = $TMP/memif.sock" "address = 10.99.0.1/24"
claim "a load without a way to its server is refused" \
    load_refused "no route: port c has no gateway" --server 10.98.0.2
claim "more clients than addresses before the server's are refused" \
    load_refused "10.99.0.2 is in use; see --clients" --server 10.99.0.2 --connections 100k
claim "memif: the server stops" stop_server
conf memif "device = /nosuch/folder/memif.sock"
claim "a socket in no folder is refused" refused "the folder is not there or not writable"
conf memif "device = $TMP/nosuch.sock" "role = client"
claim "a client without a server is refused" refused "no server has made it yet"

# A capture: ARP, ping, SYN, a datagram for the echo service and one with a wrong checksum; the answers are read back from the one that is written.
cat >"$TMP/cap.py" <<'PY'
import struct, sys
OUR, PEER = bytes.fromhex("02c10a000001"), bytes.fromhex("020000000009")
US, THEM = bytes([10, 99, 0, 2]), bytes([10, 99, 0, 1])
def sum16(b):
    b += b"\0" * (len(b) & 1)
    s = sum(struct.unpack(">%dH" % (len(b) // 2), b))
    while s >> 16: s = (s & 0xffff) + (s >> 16)
    return s
def ip(proto, body):
    h = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(body), 1, 0, 64, proto, 0) + THEM + US
    h = h[:10] + struct.pack(">H", sum16(h) ^ 0xffff) + h[12:]
    return OUR + PEER + b"\x08\x00" + h + body
def write(path):
    arp = b"\xff" * 6 + PEER + bytes.fromhex("08060001080006040001") + PEER + THEM + b"\0" * 6 + US
    ping = struct.pack(">BBHHH", 8, 0, 0, 7, 1) + b"c10m" * 8
    ping = ping[:2] + struct.pack(">H", sum16(ping) ^ 0xffff) + ping[4:]
    syn = struct.pack(">HHIIBBHHH", 5555, 80, 1000, 0, 0x50, 2, 65535, 0, 0)
    syn = syn[:16] + struct.pack(">H", sum16(THEM + US + struct.pack(">HH", 6, 20) + syn) ^ 0xffff) + syn[18:]
    def udp(wrong):
        d = struct.pack(">HHHH", 4000, 7, 8 + 11, 0) + b"hello, echo"
        return ip(17, d[:6] + struct.pack(">H", (sum16(THEM + US + struct.pack(">HH", 17, len(d)) + d) ^ 0xffff) + wrong) + d[8:])
    with open(path, "wb") as f:
        f.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for fr in (arp.ljust(60, b"\0"), ip(1, ping), ip(6, syn).ljust(60, b"\0"), udp(1).ljust(60, b"\0"), udp(0).ljust(60, b"\0")):
            f.write(struct.pack("<IIII", 0, 0, len(fr), len(fr)) + fr)
def read(path):
    b, at, seen, echoes = open(path, "rb").read(), 24, set(), 0
    while at < len(b):
        n = struct.unpack("<I", b[at + 8:at + 12])[0]
        f = b[at + 16:at + 16 + n]; at += 16 + n
        assert f[6:12] == OUR, f.hex()
        if f[:6] == b"\xff" * 6: continue  # asks or announces by ARP
        assert f[:6] == PEER, f.hex()
        if f[12:14] == b"\x08\x06" and f[21] == 2: seen.add("arp")
        if f[12:14] != b"\x08\x00": continue
        total = struct.unpack(">H", f[16:18])[0]
        l4 = f[34:14 + total]
        assert sum16(f[14:34]) == 0xffff
        if f[23] == 1 and l4[0] == 0:
            assert sum16(l4) == 0xffff
            seen.add("ping")
        if f[23] == 17:
            assert sum16(f[26:34] + struct.pack(">HH", 17, len(l4)) + l4) == 0xffff
            assert l4[:4] == struct.pack(">HH", 7, 4000) and l4[8:] == b"hello, echo"
            echoes += 1
            seen.add("echo")
        if f[23] == 6 and l4[13] & 0x12 == 0x12:
            assert sum16(f[26:34] + struct.pack(">HH", 6, len(l4)) + l4) == 0xffff
            assert l4[8:12] == struct.pack(">I", 1001)
            seen.add("synack")
    print(seen, echoes)
    assert seen == {"arp", "ping", "synack", "echo"} and echoes == 1
(write if sys.argv[1] == "write" else read)(sys.argv[2])
PY
python3 "$TMP/cap.py" write "$TMP/in.pcap"
conf pcap "device = $TMP/in.pcap" "capture = $TMP/out.pcap" "mac = 02:c1:0a:00:00:01"
claim "pcap: the server starts" start_server
wrong_is_counted() { [ "$(awk '$1 == "udp_checksum" { print $2 }' "$TREE"/cores/*/drops)" = 1 ]; }
claim "pcap: what was wrong is counted" within 30 wrong_is_counted
claim "pcap: every replayed packet is accounted for" balance_is_zero
claim "pcap: the server stops" stop_server
claim "pcap: ARP, ping, SYN and a datagram of one capture are answered in the other, wrong ones are not" python3 "$TMP/cap.py" read "$TMP/out.pcap"
echo "no capture at all" >"$TMP/text"
conf pcap "device = $TMP/text"
claim "a file that is no capture is refused" refused "is no capture"

for device in net_null0 net_ring0; do
    conf pci "device = $device"
    claim "pci: starts on $device" start_server
    claim "pci: $device stops" stop_server
done
conf pci "device = 0000:7f:1f.7"
claim "pci: a device that is not there is refused" refused "there is no PCI device 0000:7f:1f.7"
conf pci "device = net_nosuch0"
claim "pci: a device without a driver is refused" refused "DPDK has no device net_nosuch0"

# net_tap answers -1 when a queue cannot be set up, whatever the reason: with just too few descriptors it is known.
few_descriptors() {
    local n said=1
    write_conf
    printf '[cpu]\nlinux = 0\nworkers = 1\nworkers_per_core = 2\n' >>"$TMP/conf"
    for ((n = 25; n < 80; n++)); do
        inside timeout -s INT -k 10 3 prlimit --nofile="$n" "$C10M" serve -c "$TMP/conf" --set memory.hugepage=none >"$TMP/log" 2>&1 && break
        grep -q 'queue set-up: Too many open files' "$TMP/log" && said=0
        ! grep 'not permitted' "$TMP/log" || return 1
        ! grep -q 'serving$' "$TMP/log" || break
    done
    return $said
}
claim "tap: a queue that finds no descriptor says so" few_descriptors
finish
