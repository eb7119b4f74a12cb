#!/usr/bin/env bash
# nic.sh C10M FOLDER MODEL: the server in a guest on a NIC of this model (igb, e1000e, virtio, vmxnet3) and DPDK's unmodified
# driver behind vfio and an IOMMU: what a user does from the other end of the cable. igb gets the whole list.
. "$(dirname "$0")/lib.sh"
MODEL=$3
WHOLE=
[ "$MODEL" != igb ] || WHOLE=1
ADDRESSES="10.99.0.2 fd99:0::2"

claim "$MODEL: a guest with two NICs boots" boot "$MODEL" 2
finish || exit 1

# uses NAME: everything over both families.
uses() {
    local a
    for a in $ADDRESSES; do
        claim "$1, $a: ping" pings "$a"
        claim "$1, $a: 10 MB arrive exactly" download "$a"
        claim "$1, $a: 1 MB up and down again arrives exactly" uploads "$a"
        claim "$1, $a: 200 connections at once are answered" opens "$a"
        claim "$1, $a: datagrams are echoed" datagrams "$a"
    done
    claim "$1: no packet is lost in the server or at its port" nothing_lost
    claim "$1: the kernel found no wrong checksum" checksums_right
    claim "$1: every packet is accounted for" within 20 balanced
}
# loads SET: with these offloads, the download of both families.
loads() {
    local a
    claim "offloads = $1: the server starts" start 1 "offloads = $1"
    for a in $ADDRESSES; do
        claim "offloads = $1, $a: 10 MB arrive exactly" download "$a"
        claim "offloads = $1, $a: 1 MB up and down again arrives exactly" uploads "$a"
    done
    claim "offloads = $1: datagrams are echoed" datagrams 10.99.0.2
    claim "offloads = $1: the kernel found no wrong checksum" checksums_right
    claim "offloads = $1: the server stops" stop
}

for workers in 1 4; do
    claim "$workers workers: the server starts" start $workers "queues = $workers"
    finish || exit 1
    claim "$workers workers: the link is up" within 30 link_is up
    uses "$workers workers"
    claim "$workers workers: the server stops" stop
done
loads none
if [ -n "$WHOLE" ]; then
    for set in rx_checksum tx_checksum "tx_checksum, multi_segment" "tx_checksum, multi_segment, tso"; do loads "$set"; done
fi

# Loss in both directions, on the way between the driver and the stack.
lossy="[port f0]
driver = fault
wraps = nic0
loss = 2
seed = 11
address = 10.99.0.2/24, fd99:0::2/64"
claim "loss: the server starts" eval 'ADDRESS= PORTS=$lossy start 1'
for a in $ADDRESSES; do
    claim "loss of 2 %, $a: 1 MB up and down again arrives exactly" uploads "$a"
    claim "loss of 2 %, $a: 10 MB arrive exactly" download "$a"
done
claim "loss: the server stops" stop

set_mtu() { inside ip link set nic0 mtu "$1"; }
for mtu in 1300 2000; do
    claim "mtu $mtu: the server starts" start 1 "mtu = $mtu"
    claim "mtu $mtu: the peer has it too" set_mtu $mtu
    for a in $ADDRESSES; do
        claim "mtu $mtu, $a: 10 MB arrive exactly" download "$a"
        claim "mtu $mtu, $a: 1 MB up and down again arrives exactly" uploads "$a"
    done
    claim "mtu $mtu: the server stops" stop
done
claim "the peer has its mtu again" set_mtu 1500

# The cable.
breaks() {
    local rc=0 pid
    inside curl -sS -m 120 --limit-rate 1M http://10.99.0.2/ten -o "$TMP/ten" &
    pid=$!
    within 20 test -s "$TMP/ten"
    monitor set_link nic0 off
    within 30 link_is down || return 1
    monitor set_link nic0 on
    within 30 link_is up || return 1
    wait $pid || rc=$?
    [ $rc = 0 ] && [ "$(sha256sum <"$TMP/ten")" = "$TEN" ]
}
second="[port nic1]
driver = pci
device = 0000:02:00.0
address = 10.99.1.2/24, fd99:1::2/64"
claim "two ports, 2 workers: the server starts" eval 'PORTS=$second start 2 "queues = 2"'
for a in $ADDRESSES 10.99.1.2 fd99:1::2; do
    claim "two ports, $a: ping" pings "$a"
    claim "two ports, $a: 10 MB arrive exactly" download "$a"
done
claim "the cable is out and in again during a download, which arrives exactly" breaks
claim "two ports: the server stops" stop
finish
