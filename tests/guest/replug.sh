#!/usr/bin/env bash
# replug.sh C10M FOLDER MODEL: the NIC of a server is unplugged and plugged in again, removed and found by a rescan, taken from
# vfio-pci and bound again, while connections are held and pages are fetched. Linux gets the NIC at once, the server goes on, and
# when the NIC is back new connections and the held ones work again. Counters do not fall, and no packet is lost to the pool.
. "$(dirname "$0")/lib.sh"
MODEL=$3
TIMES=3
NIC=0000:01:00.0
HOLDER= FETCHER=
stop_one() { [ -z "$1" ] || { kill "$1" && wait "$1"; } 2>/dev/null || true; }
cleanup_first() {
    stop_one "$HOLDER"
    stop_one "$FETCHER"
    stop_one "$VM"
}
exists() { guest "test -e /sys/bus/pci/devices/$NIC"; }
is_gone() { ! exists; }
bind_it() { guest "bind ${BIND:-vfio-pci} $NIC"; }

# How the NIC goes, and how it comes. Each command that takes it away returns when Linux has it.
unplug_it() { monitor device_del nic0 && within 30 is_gone; }
plug_it() { monitor device_add "$(vm_device "$MODEL" 0)" && within 30 exists && bind_it; }
remove_it() { guest "echo 1 >/sys/bus/pci/devices/$NIC/remove" && is_gone; }
rescan_it() { guest 'echo 1 >/sys/bus/pci/rescan' && within 30 exists && bind_it; }
unbind_it() { guest "echo $NIC >/sys/bus/pci/drivers/vfio-pci/unbind && ! test -e /sys/bus/pci/devices/$NIC/driver"; }
rebind_it() { bind_it; }

shows() { # COMMAND...: what the server says if it fails.
    "$@" || { guest 'cat /run/c10m/proc/ports/nic0/link; tail -n 20 /tmp/log; dmesg | tail -n 5'; return 1; }
}
lost() { [ "$(port status link) $(port reason link)" = "down gone" ]; }
is_up() { [ "$(port status link) $(port reason link)" = "up none" ]; }
reopened_is() { [ "$(port reopened link)" = "$1" ]; }
page() { inside curl -sf -m 5 "http://$(host "$1")/" | grep -q hello; }
rounds() { cat "$TMP/rounds"; }
all_went_on() { [ "$(rounds)" -ge $(($1 + 2)) ] || { echo "$(rounds) rounds, $1 before"; cat "$TMP/holder"; return 1; }; }
used() { guest 'cat /run/c10m/proc/mem/pools' | awk '$1 == "packets_used_now" { print $2 }'; }
no_more_used() { [ "$(used)" -le "$1" ] || { echo "$(used) packets in use"; return 1; }; }
start_clients() {
    echo 0 >"$TMP/rounds"
    nsenter --net=/run/netns/"$NS" python3 "$HERE/hold.py" 10.99.0.2 "$TMP/rounds" >"$TMP/holder" 2>&1 &
    HOLDER=$!
    (while :; do inside curl -s -m 2 "http://10.99.0.2/?[1-50]" >/dev/null 2>&1 || sleep 0.1; done) &
    FETCHER=$!
    within 60 all_went_on 0
}
counters() { guest 'cd /run/c10m/proc; for f in ports/nic0/counters cores/*/counters; do sed "s#^#$f #" $f; done' | grep -v '_now \|balance' >"$TMP/$1"; }
none_fell() { # BEFORE AFTER
    awk 'NR == FNR { was[$1 " " $2] = $3; next } $3 < was[$1 " " $2] { print "fell:", $0, "from", was[$1 " " $2]; bad = 1 } END { exit bad }' \
        "$TMP/$1" "$TMP/$2"
}
none_fell_since() { counters "$2" && none_fell "$1" "$2"; }
one_time() { # GO COME N
    local before
    before=$(rounds)
    counters with
    shows "$1" || return
    shows within 30 lost && none_fell_since with without || return
    shows "$2" && shows within 60 reopened_is "$3" && shows within 30 is_up || return
    none_fell_since without back || return
    shows within 60 page 10.99.0.2 && shows within 60 page fd99:0::2 && shows within 120 all_went_on "$before"
}
N=0
often() { # GO COME
    local i
    for ((i = 1; i <= TIMES; i++)); do
        N=$((N + 1))
        one_time "$1" "$2" $N || { echo "the ${i}th time"; return 1; }
    done
}
goes_on() { kill -0 "$HOLDER" || { cat "$TMP/holder"; return 1; }; }

claim "$MODEL: a guest with two NICs boots" boot "$MODEL" 2
finish || exit 1
claim "the server starts" start 2 "queues = 2"
finish || exit 1
claim "a page" within 30 page 10.99.0.2
claim "connections are held, and pages fetched" start_clients
claim "$TIMES times unplugged and plugged in: the held connections and new ones go on" often unplug_it plug_it
claim "$TIMES times removed and found by a rescan: they go on" often remove_it rescan_it
claim "$TIMES times unbound and bound: they go on" often unbind_it rebind_it
claim "what could not be sent meanwhile is counted" eval '[ "$(port tx_no_device)" -gt 0 ]'
claim "no held connection was closed" goes_on
claim "the log says so" guest '[ "$(grep -c "port nic0: the device is open again, after" /tmp/log)" = '$((3 * TIMES))' ]'
stop_one "$HOLDER"; stop_one "$FETCHER"
HOLDER= FETCHER=
claim "every packet is accounted for" within 30 balanced
for a in 10.99.0.2 fd99:0::2; do
    claim "$a: 10 MB arrive exactly" download "$a"
done
claim "the NIC is unplugged, and no packet is left in its rings" eval 'unplug_it && within 30 lost && within 60 no_more_used 8'
claim "the server stops without it" stop

# Two ports: the other one is in an IOMMU group of its own and is not touched.
N=0 TIMES=1
second="[port nic1]
driver = pci
device = 0000:02:00.0
address = 10.99.1.2/24, fd99:1::2/64"
other_serves() { page 10.99.1.2 && page fd99:1::2; }
leaves_one() { unplug_it && within 30 lost && other_serves; }
claim "two ports: the NIC is there again" plug_it
claim "... the server starts" eval 'PORTS=$second start 1'
finish || exit 1
claim "... connections are held, and pages fetched" start_clients
claim "... one NIC is unplugged and plugged in: its connections go on" often leaves_one plug_it
claim "... the other one serves meanwhile, and afterwards" other_serves
stop_one "$HOLDER"; stop_one "$FETCHER"
HOLDER= FETCHER=
claim "... every packet is accounted for" within 30 balanced
claim "... the server stops" stop

# Linux does not wait for uio_pci_generic: the device is gone before the server knows, and igb could not close it.
if [ "$MODEL" = igb ]; then
    VM_IOMMU=no VM_BOOT=guest.bind=uio_pci_generic BIND=uio_pci_generic
    says_restart() { guest "grep 'port nic0: PCI device $NIC does not answer, .*: restart the server' /tmp/log"; }
    claim "without an IOMMU: a guest boots" boot igb 2
    claim "... the server starts" eval 'PORTS=$second start 1'
    claim "... pages" eval 'within 30 page 10.99.0.2 && within 30 other_serves'
    claim "... one NIC is unplugged: the other one serves" leaves_one
    # Where the server sees it before the device is gone, it closes the device as ever, and opens the next one.
    claim "... the log says that a restart is necessary, or it was closed in time" eval 'within 30 says_restart || { plug_it && within 60 is_up; }'
    claim "... every packet is accounted for" within 30 balanced
    claim "... the server ends, after errors of DPDK at reading from the device" ends
fi
finish
