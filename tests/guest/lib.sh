# lib.sh: the server in a guest of QEMU, on a NIC of model $3 and DPDK's driver for it; $1 the c10m binary, built for a CPU that
# QEMU emulates (-Dmarch=x86-64-v3), $2 the folder that `scripts/nicbox --install FOLDER` filled. Claims as in tests/e2e/lib.sh.
REPOSITORY=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
GUEST_TESTS=$REPOSITORY/tests/guest
command -v qemu-system-x86_64 >/dev/null && [ -e "$2/root/bin/busybox" ] || {
    echo "SKIPPED: no QEMU or no kernel in $2: scripts/nicbox --install $2"
    exit 77
}
. "$REPOSITORY/tests/e2e/lib.sh"
. "$REPOSITORY/scripts/guest/image.sh"
. "$REPOSITORY/scripts/guest/vm.sh"
IMAGE=$(realpath "$2")
VM=
ARGUMENTS=("$@")
cleanup_first() { [ -z "$VM" ] || { kill "$VM" && wait "$VM"; } 2>/dev/null; }
head -c 1000003 /dev/urandom >"$TMP/odd"
guest_initramfs "$IMAGE" "$C10M" "$TMP"

# finish: what failed because QEMU itself crashed, which happens at unplugging, or lost the timer of a CPU, says nothing of the
# server: all once again, aloud.
vm_crashed() {
    local status=0
    [ -n "$VM" ] && ! kill -0 "$VM" 2>/dev/null || return 1
    wait "$VM" 2>/dev/null || status=$?
    [ $status = 134 ] || [ $status = 139 ]  # SIGABRT, SIGSEGV
}
finish() {
    [ "$FAILED" != 0 ] || return 0
    [ -z "${QEMU_CRASHED:-}" ] && { vm_crashed || vm_stalled; } || return 1
    echo "QEMU CRASHED, or its guest has a CPU without a timer: once again"
    kill -KILL "$VM" 2>/dev/null
    local status=0
    QEMU_CRASHED=1 "$0" "${ARGUMENTS[@]}" || status=$?
    exit $status
}

# claim: as in tests/e2e/lib.sh. What fails in such a guest ends the test at once.
eval "$(declare -f claim | sed '1s/claim/claim_of_any/')"
claim() {
    local status=0
    claim_of_any "$@" || status=$?
    [ "$FAILED" = 0 ] || [ -z "${vm_run:-}" ] || ! vm_silent || exit 1
    [ "$FAILED" = 0 ] || [ -z "${vm_run:-}" ] || ! vm_stalled || { finish || exit 1; }
    return $status
}

# boot MODEL NICS [OPTION...]: a guest with so many NICs, on which the server finds a page and a file of 10 MB.
boot() {
    [ -z "$VM" ] || { kill "$VM"; wait "$VM" || true; }
    rm -f "$TMP"/{agent,monitor}{,.silent} "$TMP/console"
    vm_start "$IMAGE" "$NS" "$TMP" "$@"
    vm_ready "$TMP"
    vm_taps "$NS" "$2"
    guest 'mkdir -p /site; echo "<h1>hello</h1>" >/site/index.html; dd if=/dev/urandom of=/site/ten bs=1M count=10 2>/dev/null'
    TEN=$(guest 'sha256sum </site/ten')
}

# write_guest_conf WORKERS [LINE...]: the lines go into the section of port nic0. Before it, PORTS of other sections.
write_guest_conf() {
    local workers=$1
    shift
    cat <<CONF
[cpu]
linux = 0
workers = 1
workers_per_core = $workers
[control]
drain_s = 0
[memory]
connections = 4096
${MEMORY:-}
${PORTS:-}
[port nic0]
driver = pci
device = 0000:01:00.0
${ADDRESS-address = 10.99.0.2/24, fd99:0::2/64}
$(printf '%s\n' "$@")
[service web]
app = http
port = 80
root = /site
[service echo]
app = echo
port = 7
udp = on
CONF
}

# start WORKERS [LINE...]: until it serves, or says why it does not.
start() {
    guest "cat >/tmp/conf <<'CONF'
$(write_guest_conf "$@")
CONF
setsid c10m serve -c /tmp/conf >/tmp/log 2>&1 &
server=\$!
echo \$server >/tmp/pid
for i in \$(seq 600); do
    grep -q 'serving\$' /tmp/log && exit 0
    kill -0 \$server 2>/dev/null || break
    usleep 200000
done
cat /tmp/log
exit 1"
}
ends() {
    guest 'kill -TERM $(cat /tmp/pid); for i in $(seq 300); do kill -0 $(cat /tmp/pid) 2>/dev/null || exit 0; usleep 100000; done; exit 1'
}
stop() {
    ends && ! guest 'grep -E "error|core dumped|panic" /tmp/log'
}

port() { guest "cat /run/c10m/proc/ports/nic0/${2:-counters}" | awk -v n="$1" '$1 == n { print $2 }'; }
sum() { guest "cat /run/c10m/proc/cores/*/${2:-counters}" | awk -v n="$1" '$1 == n { s += $2 } END { print s + 0 }'; }
host() { case $1 in *:*) echo "[$1]" ;; *) echo "$1" ;; esac; }
pings() { inside ping -c 3 -i 0.3 -W 20 -q "$1"; }
download() { inside curl -sS -m 120 "http://$(host "$1")/ten" -o "$TMP/ten" && [ "$(sha256sum <"$TMP/ten")" = "$TEN" ]; }
uploads() { inside timeout 200 python3 "$HERE/echo_file.py" "$1" "$TMP/odd"; }
opens() { inside timeout 200 python3 "$GUEST_TESTS/peer.py" connections "$1" 200; }
datagrams() { inside timeout 200 python3 "$GUEST_TESTS/peer.py" datagrams "$1" 100; }
link_is() { [ "$(port status link)" = "$1" ]; }
does() { [ "$(port "$1" offloads)" = "$2" ] || { guest 'cat /run/c10m/proc/ports/nic0/offloads'; return 1; }; }
balanced() { [ "$(guest 'cat /run/c10m/proc/cores/*/counters' | awk '$1 == "balance" { print $2 }' | sort -u)" = 0 ]; }
# Not even one: a full ring is a drop that the peer has to repair.
nothing_lost() {
    local found
    found="handoff_full $(sum handoff_full drops) rx_missed $(port rx_missed) rx_nombuf $(port rx_nombuf) rx_errors $(port rx_errors) tx_errors $(port tx_errors)"
    echo "$found"
    [ "$found" = "handoff_full 0 rx_missed 0 rx_nombuf 0 rx_errors 0 tx_errors 0" ]
}
checksums_right() {
    inside nstat -asz IpInHdrErrors IpExtInCsumErrors TcpInCsumErrors UdpInCsumErrors Ip6InHdrErrors Udp6InCsumErrors Icmp6InCsumErrors |
        awk '!/^#/ { print; n++; s += $2 } END { exit n != 7 || s != 0 }'
}
