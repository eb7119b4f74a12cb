#!/usr/bin/env bash
# nic.sh C10M LIBRARY CHIP: the server on DPDK's unmodified driver for CHIP (82599, x710), over a model of the chip
# (README.md): all queues, both families, every offload, and faults of the chip.
. "$(dirname "$0")/../e2e/lib.sh"
MODEL=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
LIBRARY=$(realpath "$2") CHIP=$3
FILES=$HERE
WHOLE=$C10M
ADDRESSES="10.99.0.2 fd99::2"
WIRE=
cleanup_first() { [ -z "$WIRE" ] || kill "$WIRE" 2>/dev/null; }
cat >"$TMP/c10m" <<SH
#!/bin/sh
exec $MODEL/nic_run $TMP/nic $CHIP nic0 $LIBRARY $WHOLE "\$@"
SH
chmod +x "$TMP/c10m"
C10M=$TMP/c10m
dd if=/dev/urandom of="$TMP/site/four" bs=1M count=4 status=none
head -c 1000003 "$TMP/site/four" >"$TMP/odd"

# The wire: a TAP without offloads, so that the kernel checks every checksum.
inside ip tuntap add mode tap name nic0
inside ip link set nic0 mtu 2000 up
inside ip addr add 10.99.0.1/24 dev nic0
inside ip addr add fd99::1/64 dev nic0 nodad

# start WORKERS [LINE...]: with as many queues; the lines go into the port's section.
start() {
    local workers=$1
    shift
    write_conf
    python3 - "$TMP/conf" "$workers" "$@" <<'PY'
import sys
path, workers, *lines = sys.argv[1:]
t = open(path).read()
tap = t[t.index("[port tap0]"):t.index("[service web]")]
port = ["[port p0]", "driver = pci", "device = 0000:01:00.0", "queues = " + workers,
        "address = 10.99.0.2/24, fd99::2/64", *lines, ""]
cpu = ["[cpu]", "linux = 0", "workers = 1", "workers_per_core = " + workers, ""]
# The model lives in the worker's thread and writes to its wire there, which no driver of a NIC does.
t = t.replace("[memory]\n", "seccomp = off\n[memory]\n", 1)
open(path, "w").write("\n".join(cpu) + t.replace(tap, "\n".join(port)))
PY
    start_server
}
order() { timeout 5 tee "$TMP/nic/ctl" <<<"$1" >/dev/null; }
# state [NAME]: what the model has counted.
state() {
    local i
    rm -f "$TMP/nic/state"
    order state
    for ((i = 0; i < 200; i++)); do
        [ ! -f "$TMP/nic/state" ] || break
        sleep 0.02
    done
    awk -v n="${1:-}" 'n == "" || $1 == n { print n == "" ? $0 : $2 }' "$TMP/nic/state"
}
total() { state | awk -v n="^$1_[0-9]+$" '$1 ~ n { s += $2 } END { print s + 0 }'; }
port() { awk -v n="$1" '$1 == n { print $2 }' "$TREE/ports/p0/${2:-counters}"; }
sum() { awk -v n="$1" '$1 == n { s += $2 } END { print s + 0 }' "$TREE"/cores/*/"${2:-counters}"; }
host() { case $1 in *:*) echo "[$1]" ;; *) echo "$1" ;; esac; }

link_is() { [ "$(port status link)" = "$1" ] || { cat "$TREE/ports/p0/link"; return 1; }; }
pings() { inside ping -c 3 -i 0.2 -W 5 -q "$1"; }
download() { inside curl -s -m "${2:-30}" "http://$(host "$1")/four" | cmp - "$TMP/site/four"; }
echoes() { inside timeout 30 python3 "$FILES/echo_file.py" "$1" "$TMP/odd"; }
does() { [ "$(port "$1" offloads)" = "$2" ] || { cat "$TREE/ports/p0/offloads"; return 1; }; }
# The kernel drops what has a wrong checksum, and TCP sends it again: only its counters tell.
checksums_right() {
    inside nstat -asz IpInHdrErrors IpExtInCsumErrors TcpInCsumErrors UdpInCsumErrors Ip6InHdrErrors Udp6InCsumErrors Icmp6InCsumErrors |
        awk '!/^#/ { print; n++; s += $2 } END { exit n != 7 || s != 0 }'
}
# What the data sheet forbids is counted by the model.
chip_content() {
    state | grep -E '^(wrong|dma_faults) '
    [ "$(state wrong) $(state dma_faults)" = "0 0" ] || { grep -a '^nic:' "$TMP/log"; return 1; }
}
at_home() {
    local found
    found="rss_wrong $(sum rss_wrong) tcp_no_owner $(sum tcp_no_owner drops) handed_out $(sum handed_out)"
    echo "$found"
    [ "$found" = "rss_wrong 0 tcp_no_owner 0 handed_out 0" ]
}
# The neighbor of fd99::2 may ask at any time: both sides count once it is quiet.
counts_agree() {
    local tree model
    tree="rx $(port rx_packets) tx $(port tx_packets) missed $(port rx_missed)"
    model="rx $(total rx_queue) tx $(total tx_queue) missed $(($(state missed) + $(total rx_dropped)))"
    echo "tree: $tree; model: $model"
    [ "$tree" = "$model" ]
}
cat >"$TMP/many.py" <<'PY'
# many.py ADDRESS CONNECTIONS CONTROL [ORDER]: connections that are open at once echo. With an order, which stops a queue
# or the wire: again, when some of them, but not all, must be answered; and after "clear" all.
import errno, os, random, select, socket, sys, time
address, n, control, *order = sys.argv[1:]

def connect():
    """From a port drawn at random: of ports in a row, the hash with some keys takes only a part of the queues."""
    while True:
        try:
            return socket.create_connection((address, 7), 20, ("", random.randrange(10240, 61000)))
        except OSError as e:
            if e.errno not in (errno.EADDRINUSE, errno.EADDRNOTAVAIL):
                raise

conns = {i: connect() for i in range(int(n))}

def say():
    for s in conns.values():
        s.sendall(b"x" * 100)

def hear(seconds, wanted):
    """The connections that are answered, until `wanted` are or no more have been for so long."""
    end, got = time.monotonic() + seconds, {i: 0 for i in conns}
    while sum(v >= 100 for v in got.values()) < wanted and time.monotonic() < end:
        ready = select.select(list(conns.values()), [], [], 0.2)[0]
        for i, s in conns.items():
            if s in ready:
                piece = s.recv(65536)
                assert piece, "closed"
                got[i] += len(piece)
                end = time.monotonic() + seconds
    return {i for i, v in got.items() if v >= 100}

every = len(conns)
say()
assert len(hear(30, every)) == every
if order:
    open(control, "w").write(order[0] + "\n")
    time.sleep(0.3)
    say()
    first = hear(2, every)
    print(len(first), "of", every, "answered")
    assert every / 4 < len(first) < every, "not those of the other queues"
    open(control, "w").write("clear\n")
    late = hear(30, every - len(first))
    assert len(first | late) == every, f"{len(late)} after it"
PY
many() { inside timeout 70 python3 "$TMP/many.py" "$1" "$2" "$TMP/nic/ctl" "${@:3}"; }
cat >"$TMP/udp.py" <<'PY'
# 100 datagrams from as many ports; over IPv4 every other one without a checksum.
import socket, sys
for i in range(100):
    s = socket.socket(socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET, socket.SOCK_DGRAM)
    if i % 2 and ":" not in sys.argv[1]:
        s.setsockopt(socket.SOL_SOCKET, 11, 1)  # SO_NO_CHECK
    s.settimeout(5)
    s.sendto(b"%d" % i * (1 + i % 20), (sys.argv[1], 7))
    assert s.recv(1000) == b"%d" % i * (1 + i % 20), i
PY
# all_queues ADDRESS: each queue receives and sends frames of 200 connections from this address.
all_queues() {
    local before after
    before=$(state | grep -E '^[rt]x_queue_')
    many "$1" 200
    after=$(state | grep -E '^[rt]x_queue_')
    paste -d ' ' <(echo "$before") <(echo "$after") | awk '{ print $1, $4 - $2 } $4 - $2 < 30 { bad = 1 } END { exit bad }'
}

for workers in 1 4; do
    name="$workers queues"
    claim "$name: the server starts" start $workers
    finish || exit 1  # nothing else can be told
    claim "$name: the link is up with 10 Gbit/s" eval 'link_is up && [ "$(port speed_mbps link)" = 10000 ]'
    for what in rx_ip_checksum rx_l4_checksum tx_ip_checksum tx_l4_checksum multi_segment tso; do
        claim "$name: the chip does $what" does $what port
    done
    [ $workers = 1 ] || claim "$name: the chip spreads by c10m's hash" does rss port
    for a in $ADDRESSES; do
        claim "$name, $a: ping" pings "$a"
        claim "$name, $a: 4 MB arrive exactly" download "$a"
        claim "$name, $a: an echo of 1 MB arrives exactly" echoes "$a"
        claim "$name, $a: datagrams are echoed" inside python3 "$TMP/udp.py" "$a"
        claim "$name, $a: every queue has its share of 200 connections" all_queues "$a"
    done
    [ $workers = 1 ] || claim "$name: each packet came to its worker" at_home
    claim "$name: the chip cut large segments" [ "$(total tx_segmented)" -gt 50 ]
    claim "$name: the kernel found no wrong checksum" checksums_right
    claim "$name: the driver did nothing that the data sheet forbids" chip_content
    claim "$name: the tree counts what the chip counts" within 10 counts_agree
    claim "$name: no packet leaks" balance_is_zero
    claim "$name: the server stops" stop_server
done

# Each offload by the chip and by software.
for set in none rx_checksum tx_checksum multi_segment "tx_checksum, multi_segment" "tx_checksum, multi_segment, tso"; do
    claim "$set: the server starts" start 1 "offloads = $set"
    for row in rx_checksum:rx_l4_checksum rx_checksum:rx_ip_checksum tx_checksum:tx_l4_checksum multi_segment:multi_segment tso:tso; do
        who=software
        [[ $set != *${row%:*}* ]] || who=port
        claim "$set: $who does ${row#*:}" does "${row#*:}" $who
    done
    for a in $ADDRESSES; do
        claim "$set, $a: 4 MB arrive exactly" download "$a"
    done
    claim "$set: datagrams are echoed" inside python3 "$TMP/udp.py" 10.99.0.2
    claim "$set: wrong checksums are dropped and counted, a right one is answered" eval '
        inside python3 "$FILES/caps.py" nic0 10.99.0.2 &&
        [ "$(sum tcp_checksum drops) $(sum ip_checksum drops)" = "2 2" ]'
    claim "$set: the kernel found no wrong checksum" checksums_right
    claim "$set: the driver did nothing that the data sheet forbids" chip_content
    claim "$set: no packet leaks" balance_is_zero
    claim "$set: the server stops" stop_server
done

claim "frames of 2,014 bytes: the server starts" start 1 "mtu = 2000"
for a in $ADDRESSES; do
    claim "frames of 2,014 bytes, $a: 4 MB arrive exactly" download "$a"
    claim "frames of 2,014 bytes, $a: an echo of 1 MB arrives exactly" echoes "$a"
done
claim "frames of 2,014 bytes: the driver did nothing that the data sheet forbids" chip_content
claim "frames of 2,014 bytes: the server stops" stop_server

# A VLAN: the chip computes checksums, cuts and hashes behind the tag.
# linux_vlan: Linux's interface of VLAN 100 on the wire; the kernel may have none.
linux_vlan() {
    inside setpriv --pdeathsig KILL python3 "$FILES/vlan_wire.py" nic0 100=l100 >"$TMP/wire" 2>&1 &
    WIRE=$!
    within 20 grep -q ready "$TMP/wire"
    inside ip addr add 10.100.0.1/24 dev l100
    inside ip addr add fd00:100::1/64 dev l100 nodad
    inside ip link set l100 up
}
claim "a VLAN: the server starts" start 4 "[port v100]" "driver = vlan" "parent = p0" "vlan = 100" \
    "address = 10.100.0.2/24, fd00:100::2/64"
claim "a VLAN: its interface" linux_vlan
for a in 10.100.0.2 fd00:100::2; do
    claim "a VLAN, $a: ping" pings "$a"
    claim "a VLAN, $a: 4 MB arrive exactly" download "$a"
    claim "a VLAN, $a: an echo of 1 MB arrives exactly" echoes "$a"
    claim "a VLAN, $a: datagrams are echoed" inside python3 "$TMP/udp.py" "$a"
    claim "a VLAN, $a: every queue has its share of 200 connections" all_queues "$a"
done
claim "a VLAN: the untagged traffic beside it" download 10.99.0.2
claim "a VLAN: each packet came to its worker" at_home
vlan_mended() {
    local i
    for ((i = 0; i < 20; i++)); do
        many 10.100.0.2 100 && many fd00:100::2 100 || return 1
        [ "$(awk '$1 == "repairs" { print $2 }' "$TREE/ports/v100/rss")" != 1 ] || return 0
    done
    cat "$TREE/ports/v100/rss"
    return 1
}
claim "a VLAN: a changed table: order" order spoil_table
claim "a VLAN: ... is found by its packets alone, and written again" vlan_mended
claim "a VLAN: the chip cut large segments" [ "$(total tx_segmented)" -gt 50 ]
claim "a VLAN: the kernel found no wrong checksum" checksums_right
claim "a VLAN: the driver did nothing that the data sheet forbids" chip_content
claim "a VLAN: no packet leaks" balance_is_zero
claim "a VLAN: the server stops" stop_server
kill "$WIRE" || true  # with its interface: nothing with a tag is on the wire any more
WIRE=

# Faults of the chip and of its link.
export NIC_FAULTS="link down"
claim "a late link: the server starts without it" start 4
claim "... and says so" link_is down
gauge_is() { [ "$(inside curl -sf -m 5 http://127.0.0.1:9910/metrics | awk '$1 == "c10m_port_link_up{port=\"p0\"}" { print $2 }')" = "$1" ]; }
reason_is() { [ "$(port reason link)" = "$1" ] || { cat "$TREE/ports/p0/link"; return 1; }; }
logged() { grep -E "^c10m: (warning: )?[0-9TZ:.-]+ port p0: link $1" "$TMP/log" || { tail "$TMP/log"; return 1; }; }
announced() { inside python3 "$FILES/announced.py" nic0 "$(cat "$TREE/ports/p0/mac")" "$@"; }
claim "... with the reason" reason_is no_carrier
claim "... in the log" logged 'down \(no carrier\)$'
claim "... and as a metric" within 20 gauge_is 0
claim "... the link comes, and the addresses are announced" announced sh -c 'echo "link up" >"$0"' "$TMP/nic/ctl"
claim "... the server sees it" within 20 link_is up
claim "... logs it" within 20 logged 'up at 10000 Mbit/s; before: down \(no carrier\), for '
claim "... and has it as a metric" within 20 gauge_is 1
claim "... and is there" pings 10.99.0.2
unset NIC_FAULTS

breaks() {  # the wire is cut during a download
    local rc=0 pid
    inside curl -s -m 60 --limit-rate 2M http://10.99.0.2/four -o "$TMP/got" &
    pid=$!
    within 10 test -s "$TMP/got"
    order "link down"
    within 10 link_is down
    sleep 1
    order "link up"
    within 10 link_is up
    wait $pid || rc=$?
    [ $rc = 0 ] && cmp "$TMP/got" "$TMP/site/four"
}
claim "the link breaks and comes back during a download, which arrives exactly" breaks
claim "... both are counted, after the first one" eval '[ "$(port changes link)" = 3 ]'
claim "missing frames: order" order "miss 50"
for a in $ADDRESSES; do
    claim "... 1 of 50, $a: an echo of 1 MB arrives exactly" echoes "$a"
done
claim "... order" order clear
claim "... are in the tree's rx_missed" eval '[ "$(port rx_missed)" -gt 10 ] && within 10 counts_agree'

claim "good frames marked as bad TCP: order" order "bad_l4 20"
claim "... an echo of 1 MB arrives exactly" echoes 10.99.0.2
claim "... each is dropped and counted" eval '[ "$(sum tcp_checksum drops)" -gt 10 ]'
claim "... order" order "clear;bad_ip 20"
claim "good frames marked as bad IP: an echo of 1 MB arrives exactly" echoes 10.99.0.2
claim "... each is dropped and counted" eval '[ "$(sum ip_checksum drops)" -gt 10 ]'
claim "... order" order clear

claim "frames in wrong queues: none so far" at_home
claim "... order" order "lie 1"
for a in $ADDRESSES; do
    claim "... 200 connections, $a, all answered" many "$a" 200
    claim "... 4 MB arrive exactly, $a" download "$a"
done
claim "... each went home, and is counted" eval '[ "$(sum rss_wrong)" -gt 1000 ] && [ "$(sum tcp_no_owner drops)" = 0 ]'
# becomes STATE: traffic of both families, until the port is in that state.
becomes() {
    local i
    for ((i = 0; i < 20; i++)); do
        many 10.99.0.2 100 && many fd99::2 100 || return 1
        [ "$(port state rss)" != "$1" ] || return 0
    done
    cat "$TREE/ports/p0/rss"
    return 1
}
wrong() { awk '/^wrong_core_/ { s += $2 } END { print s + 0 }' "$TREE/ports/p0/rss"; }
# mended: traffic of both families, until key or table have been written once more than $repairs.
mended() {
    local i
    for ((i = 0; i < 20; i++)); do
        many 10.99.0.2 100 && many fd99::2 100 || return 1
        [ "$(port repairs rss)" != $((repairs + 1)) ] || return 0
    done
    cat "$TREE/ports/p0/rss"
    return 1
}
# none_wrong: traffic of both families, and no packet for another worker.
none_wrong() {
    local before
    sleep 0.6  # the tree shows the last look, of half a second ago at most
    before=$(wrong)
    many 10.99.0.2 100 && many fd99::2 100 || return 1
    sleep 0.6
    [ "$(wrong)" = "$before" ] || { grep -v ^entry "$TREE/ports/p0/rss"; return 1; }
}
claim "... the port is given up" becomes software
claim "... and the tree says so" eval '[ "$(port spread_by rss) $(port repairs rss)" = "software 0" ]'
claim "... and the log, by kind" grep -Eq "port p0: [0-9]+ packets of IPv[46] (TCP|UDP).* arrived at the wrong queue; handed over by software" "$TMP/log"
claim "... and that it is shared out by software" grep -q "port p0: it does not spread packets as it was set; software shares them out" "$TMP/log"
claim "... order" order clear
claim "... it is believed again" becomes right
claim "... and packets arrive at their workers" none_wrong
for what in table key; do
    repairs=$(port repairs rss)
    claim "a changed $what: order" order "spoil_$what"
    claim "... is found by the packets, and written again" mended
    claim "... no connection is lost" eval '[ "$(sum tcp_no_owner drops)" = 0 ]'
    claim "... the port is right" becomes right
    claim "... and packets arrive at their workers" none_wrong
done
claim "... the log says what was wrong" grep -Eq "port p0: the device's RSS key is (right|not as set), [0-9]+ of [0-9]+ table entries are not as set: written again" "$TMP/log"

for queue in 0 2; do
    claim "receive queue $queue stuck: connections of the others are answered, then all" many 10.99.0.2 100 "stuck_rx $queue"
    claim "... order" order clear
    claim "transmit queue $queue stuck: connections of the others are answered, then all" many fd99::2 100 "stuck_tx $queue"
    claim "... order" order clear
done
claim "... what was dropped is in the tree's rx_missed" within 10 counts_agree
# The NIC is unbound, which the driver's link in sysfs tells, and bound again.
FUNCTION=$TMP/nic/devices/0000:01:00.0
# The old link stays somewhere: a new one then has another inode number, as in Linux's sysfs.
unbind() { mv "$FUNCTION/driver" "$(mktemp -u "$TMP/driver.XXXXXX")"; }
rebind() { ln -s ../../drivers/uio_pci_generic "$FUNCTION/driver"; }
counters() { awk '$1 != "balance" && $1 !~ /_now$/ { print FILENAME, $1, $2 }' "$TREE/ports/p0/counters" "$TREE"/cores/*/counters; }
as_counted() { # BEFORE: none fell, and none of the port's rose by more than this machine can do
    awk 'NR == FNR { was[$1 " " $2] = $3; next } { d = $3 - was[$1 " " $2] } d < 0 || ($1 ~ /ports.p0/ && d > 1e9) { print $0, "from", was[$1 " " $2]; bad = 1 }
        END { exit bad }' "$1" <(counters)
}
replugs() {
    local rc=0 pid
    inside curl -s -m 60 --limit-rate 2M http://10.99.0.2/four -o "$TMP/got" &
    pid=$!
    within 10 test -s "$TMP/got"
    counters >"$TMP/counted"
    unbind
    within 20 reason_is gone && as_counted "$TMP/counted" || return
    rebind
    within 20 link_is up && as_counted "$TMP/counted" || return
    wait $pid || rc=$?
    [ $rc = 0 ] && cmp "$TMP/got" "$TMP/site/four"
}
for i in 1 2 3; do
    claim "the NIC is unbound and bound again during a download, which arrives exactly" replugs
    claim "... the tree counts it" eval '[ "$(port reopened link)" = $i ]'
done
claim "... packets arrive at their workers" none_wrong
claim "after all of it: the kernel found no wrong checksum" checksums_right
claim "after all of it: the driver did nothing that the data sheet forbids" chip_content
claim "after all of it: no packet leaks" balance_is_zero

# Its registers read as ones before Linux takes it from its driver, which could not close it.
pull() { order pull && printf '\xff\xff' | dd of="$FUNCTION/config" conv=notrunc status=none && sleep 0.5 && unbind; }
counters >"$TMP/counted"
claim "the NIC is pulled out: order" pull
claim "... the port is without it" within 20 reason_is gone
claim "... the log says that a restart is necessary" within 10 grep -q "port p0: PCI device 0000:01:00.0 does not answer, .*: restart the server" "$TMP/log"
claim "... what its registers read now is not counted" as_counted "$TMP/counted"
claim "... no packet leaks" balance_is_zero
claim "the server stops" stop_server
finish
