#!/usr/bin/env bash
# `check` and `serve` agree: of each configuration below, on this machine, both refuse it and name the same key, or both
# accept it.
. "$(dirname "$0")/lib.sh"

write_conf
BASE=$TMP/conf
grep -v host_address "$BASE" >"$TMP/plain"  # for the other drivers
grep -v -e '^driver' -e '^device' -e host_address "$BASE" | sed 's/^\[port tap0\]/[port tap0]\ndriver = ring/' >"$TMP/ring"
sed '/^\[port/,$d' "$BASE" >"$TMP/no_port"
sed 's/^\[port tap0\]/[port eth]/; s/^device = .*/device = c10mdown/; s/^driver = .*/driver = af_packet/' "$TMP/plain" |
    sed 's|^address = .*||' >"$TMP/wrapped"
printf '[port out]\ndriver = fault\nwraps = eth\naddress = 10.99.0.2/24\n' >>"$TMP/wrapped"

inside ip tuntap add c10mdown mode tap
inside ip link add c10mva type veth peer name c10mvb
inside ip link set c10mva up
inside ip link set c10mvb up
echo file >"$TMP/file"
mkdir "$TMP/full"
echo x >"$TMP/full/x"
head -c 4000000 /dev/zero >"$TMP/site/large"
setpriv --pdeathsig KILL python3 - "$TMP/busy" <<'PY' &
import socket, sys, time
s = socket.socket()
s.bind(("127.0.0.1", 0))
s.listen()
open(sys.argv[1] + ".tmp", "w").write(str(s.getsockname()[1]))
__import__("os").rename(sys.argv[1] + ".tmp", sys.argv[1])
time.sleep(100000)
PY
HOLDER=$!
cleanup_first() { kill "$HOLDER" 2>/dev/null; }

# place FILE: of the first error: what stands before its text, as `--set port.tap0.device`.
place() {
    sed -n -e 's/^c10m: //' -e '/^error: \|^--set /{s/^error: //;p;q}' "$1" |
        sed 's/^\(--set [a-z0-9_.]*\|[^ ]*:[0-9]*: [a-z0-9_]*\|[a-z0-9_]*\.[a-z0-9_.]*\): .*/\1/; t; s/.*//'
}

serve_ends() {  # its status; "serving": it served
    local status=0 i
    : >"$TMP/log"
    setpriv --pdeathsig KILL nsenter --net=/run/netns/"$NS" "$C10M" serve -c "$CONF" "$@" >"$TMP/log" 2>&1 &
    SERVER=$!
    for ((i = 0; i < 1200; i++)); do
        if grep -q 'serving$' "$TMP/log"; then
            stop_server >/dev/null
            echo serving
            return
        fi
        kill -0 "$SERVER" 2>/dev/null || break
        sleep 0.1
    done
    wait "$SERVER" || status=$?
    SERVER=
    echo "$status"
}

agree() {  # agree WANT SETTINGS...: WANT is `ok`, or the place that both name
    local want=$1 checked=0 served
    shift
    inside timeout 60 "$C10M" check -c "$CONF" "${@/#/--set=}" >"$TMP/checked" 2>&1 || checked=$?
    served=$(serve_ends "${@/#/--set=}")
    if [ "$want" = ok ]; then
        [ "$checked" = 0 ] && [ "$served" = serving ] && return 0
    else
        [ "$checked" != 0 ] && [ "$served" != serving ] && [ "$(place "$TMP/checked")" = "$want" ] &&
            [ "$(place "$TMP/log")" = "$want" ] && return 0
    fi
    echo "check: status $checked, $(place "$TMP/checked")"
    cat "$TMP/checked"
    echo "serve: $served, $(place "$TMP/log")"
    tail -n 3 "$TMP/log"
    return 1
}

within 20 test -s "$TMP/busy"
CONF=$BASE
claim "nothing is wrong" agree ok
claim "a root that is not there" agree "--set service.web.root" "service.web.root=$TMP/nothing"
claim "a root that is a file" agree "--set service.web.root" "service.web.root=$TMP/file"
claim "a log in a folder that is not there" agree "--set service.web.access_log" "service.web.access_log=$TMP/none/log"
claim "a table of types that is not there" agree "--set service.web.mime_types" "service.web.mime_types=$TMP/none"
claim "more files than files_max" agree "--set service.web.files_max" service.web.files_max=1
claim "a file of more than bytes_max, which is skipped" agree ok service.web.bytes_max=1M
claim "more bytes than bytes_max" agree "--set service.web.bytes_max" service.web.bytes_max=4000002
claim "a file that image_bytes has no room for" agree "--set memory.image_bytes" memory.image_bytes=1M
claim "an error page that is not there" agree "--set service.web.error_page" "service.web.error_page=404 /none.html"
claim "an agent's socket in a folder that is not there" agree "--set agent.socket" "agent.socket=$TMP/none/agent.sock"
claim "a tap whose interface exists" agree "--set port.tap0.device" port.tap0.device=lo
claim "too few pages" agree "--set memory.connections" memory.connections=50M memory.hugepage=2M
claim "too little memory" agree "--set memory.connections" memory.connections=100M memory.buffers=50M memory.hugepage=none
claim "hugetlbfs below a file" agree "--set memory.hugetlbfs" "memory.hugetlbfs=$TMP/file/huge"
claim "a busy HTTP port" agree ok "control.http=127.0.0.1:$(cat "$TMP/busy")"
claim "a mount that would hide files" agree ok "control.mount=$TMP/full"
claim "a run_dir that cannot be made" agree ok "control.run_dir=$TMP/none/none" control.mount=
claim "two workers on the one core that has it allowed" agree ok cpu.workers=1 cpu.workers_per_core=2
CONF=$TMP/no_port
claim "no port" agree ""
CONF=$TMP/ring
claim "a ring" agree ok
CONF=$TMP/plain
for driver in af_packet af_xdp; do
    on() { echo port.tap0.driver=$driver port.tap0.device="$1"; }
    claim "$driver: an interface that is not there" agree "--set port.tap0.device" $(on c10mno)
    claim "$driver: an interface that is down" agree "--set port.tap0.device" $(on c10mdown)
    claim "$driver: an address of a group" agree "--set port.tap0.mac" $(on c10mva) port.tap0.mac=01:00:5e:00:00:01
done
inside sysctl -qw net.ipv6.conf.default.disable_ipv6=1
CONF=$BASE
claim "tap: an IPv6 address where there is no IPv6" agree "--set port.tap0.host_address" "port.tap0.address=10.99.0.2/24,fd00:99::2/64" "port.tap0.host_address=10.99.0.1/24,fd00:99::1/64"
inside sysctl -qw net.ipv6.conf.default.disable_ipv6=0
claim "... and where there is" agree ok "port.tap0.address=10.99.0.2/24,fd00:99::2/64" "port.tap0.host_address=10.99.0.1/24,fd00:99::1/64"
CONF=$TMP/plain
claim "memif: a folder that is not there" agree "--set port.tap0.device" port.tap0.driver=memif "port.tap0.device=$TMP/none/m"
claim "memif: a client without a server" agree "--set port.tap0.device" port.tap0.driver=memif "port.tap0.device=$TMP/m" port.tap0.role=client
claim "memif: a server" agree ok port.tap0.driver=memif "port.tap0.device=$TMP/m"
claim "pcap: a capture that is not there" agree "--set port.tap0.device" port.tap0.driver=pcap "port.tap0.device=$TMP/none.pcap"
claim "pcap: a file that is no capture" agree "--set port.tap0.device" port.tap0.driver=pcap "port.tap0.device=$TMP/file"
claim "pcap: a folder that is not there" agree "--set port.tap0.capture" port.tap0.driver=pcap port.tap0.device= "port.tap0.capture=$TMP/none/p"
claim "pci: a device that is not there" agree "--set port.tap0.device" port.tap0.driver=pci port.tap0.device=0000:ff:1f.7
claim "pci: a virtual device that DPDK has not" agree "--set port.tap0.device" port.tap0.driver=pci port.tap0.device=net_nothing
CONF=$TMP/wrapped
claim "a wrapped port on an interface that is down" agree "$TMP/wrapped:$(grep -n '^device' "$TMP/wrapped" | cut -d: -f1): device"
finish
