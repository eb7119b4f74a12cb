#!/usr/bin/env bash
# VLANs over each port on an interface of the kernel: untagged traffic and two VLANs at once, each an interface of Linux with addresses
# of both families; nothing of one VLAN reaches another; frames of no VLAN, and of two, are counted. Where the kernel has no VLAN
# interfaces, vlan_wire.py makes them of TAPs.
. "$(dirname "$0")/lib.sh"
FAR=  # the client's interface; over TAP it is the port's own
WIRE=

cleanup_first() { [ -z "$WIRE" ] || kill "$WIRE" 2>/dev/null; }
frame() { python3 "$HERE/vlan_frames.py" "$(cat "$TREE/ports/p0/mac")" "$@"; }
drop_of() { awk -v n="$1" '$1 == n { s += $2 } END { print s + 0 }' "$TREE"/cores/*/drops; }
port_count() { awk -v n="$2" '$1 == n { print $2 }' "$TREE/ports/$1/counters"; }
# answers FRAME...: what c10m sent to their sender, or about its address, within a second of these; first how many.
answers() { inside python3 "$HERE/vlan_wire.py" "$FAR" send "$@"; }
# dropped NAME N FRAME...: the frames are not answered, and N more, at least, are counted as NAME.
dropped() {
    local name=$1 n=$2 before
    shift 2
    before=$(drop_of "$name")
    [ "$(answers "$@" | head -1)" = 0 ] || { echo "answered"; return 1; }
    within 10 eval "[ \$((\$(drop_of $name) - $before)) -ge $n ]" || { echo "$name $(drop_of "$name"), before $before"; return 1; }
}

conf() { # DRIVER LINE...
    cat >"$TMP/vlans" <<CONF
[port v100]
driver = vlan
parent = p0
vlan = 100
address = 10.100.0.2/24, fd00:100::2/64
[port v200]
driver = vlan
parent = p0
vlan = 200
address = 10.200.0.2/24, fd00:200::2/64
mtu = 1400
CONF
    write_conf
    give_port "driver = $1" "${@:2}"
    # The ports of VLANs before their parent; one service at the address of a VLAN.
    sed -i -e "s,^\[memory\],[cpu]\nworkers = 1\nworkers_per_core = $WORKERS\n&," -e 's,^connections = .*,connections = 4096,' \
        -e '/^\[service echo\]/a address = 10.200.0.2' -e "/^\[port p0\]/e cat $TMP/vlans" "$TMP/conf"
}

veth() {
    inside ip link del va 2>/dev/null || true
    inside ip link add va type veth peer name vb
    inside sysctl -qw net.ipv6.conf.va.disable_ipv6=1
    inside ethtool -K vb tx off tso off gso off gro off txvlan off >/dev/null 2>&1 || true
    inside ethtool -K va rxvlan off >/dev/null 2>&1 || true
    inside ip link set va up promisc on
    FAR=vb
}
# interface NAME V4 V6: up, and no duplicate address detection to wait for.
interface() {
    inside sysctl -qw "net.ipv6.conf.$1.accept_dad=0" "net.ipv6.conf.$1.disable_ipv6=0"
    inside ip addr replace "$2" dev "$1"
    inside ip addr replace "$3" dev "$1" nodad
    inside ip link set "$1" up
}
# vlans: Linux's interfaces l100 and l200 on the client's interface.
vlans() {
    [ -z "$WIRE" ] || { kill "$WIRE" && wait "$WIRE" || true; WIRE=; within 20 no_interface l100; within 20 no_interface l200; } 2>/dev/null
    inside ip link set "$FAR" up
    rm -f "$TMP/wire"  # that of the run before says that it is ready
    if inside ip link add link "$FAR" name l100 type vlan id 100 2>/dev/null; then
        inside ip link add link "$FAR" name l200 type vlan id 200
        echo "     the kernel's own VLAN interfaces"
    else
        inside setpriv --pdeathsig KILL python3 "$HERE/vlan_wire.py" "$FAR" 100=l100 200=l200 >"$TMP/wire" 2>&1 &
        WIRE=$!
        within 20 grep -q ready "$TMP/wire"
    fi
    interface l100 10.100.0.1/24 fd00:100::1/64
    interface l200 10.200.0.1/24 fd00:200::1/64
    [ "$DRIVER" = tap ] || inside ip addr replace 10.99.0.1/24 dev "$FAR"
    inside sysctl -qw "net.ipv6.conf.$FAR.accept_dad=0"
    inside ip addr replace fd00:99::1/64 dev "$FAR" nodad
}

page() { [ "$(inside curl -sf -m 10 "http://$1/")" = '<h1>hello</h1>' ]; }
large() { [ "$(inside curl -sf -m 60 "http://$1/large" | md5sum)" = "$(md5sum <"$TMP/site/large")" ]; }
all_at_once() {
    local to pids=() status=0
    for to in 10.99.0.2 10.100.0.2 10.200.0.2 '[fd00:99::2]' '[fd00:100::2]' '[fd00:200::2]'; do
        large "$to" &
        pids+=($!)
    done
    for to in "${pids[@]}"; do wait "$to" || status=1; done
    return $status
}
pings() {
    local to
    for to in 10.99.0.2 10.100.0.2 10.200.0.2 fd00:99::2 fd00:100::2 fd00:200::2; do
        inside ping -q -c 3 -i 0.05 -W 10 "$to" || return 1
    done
}
no_port_has_been_silent() {
    local p c
    for p in p0 v100 v200; do
        for c in rx_packets tx_packets; do
            [ "$(port_count $p $c)" -gt 100 ] || { echo "$p $c $(port_count $p $c)"; return 1; }
        done
    done
}
neighbors_apart() {
    grep -q '^10\.100\.0\.1 .*v100$' "$TREE/net/arp" && grep -q '^10\.200\.0\.1 .*v200$' "$TREE/net/arp" &&
        ! grep -q '^10\.100\.0\.1 .*v200$' "$TREE/net/arp" || { cat "$TREE/net/arp"; return 1; }
}
# dumped NAME PORT FILTER: a page of VLAN 100 is in a dump of the port with this filter; its first line lies in $TMP/NAME.
dumped() {
    rm -f "$TMP/$1.err"  # that of the run before says that it captures
    timeout 60 "$C10M" dump --socket "$TMP/run/control.sock" --text -c 1 -i "$2" "$3" >"$TMP/$1" 2>"$TMP/$1.err" &
    local dump=$!
    within 20 grep -q 'capturing on' "$TMP/$1.err" && page 10.100.0.2 && wait $dump || { cat "$TMP/$1.err"; kill $dump; return 1; }
}
mss_of() { # HOST: the MSS that it announces
    inside python3 - "$1" <<'PY'
import socket, sys
s = socket.create_connection((sys.argv[1], 80), 10)
print(s.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG))
PY
}

head -c 3000000 /dev/urandom >"$TMP/site/large"
for run in tap:1: tap:1:tso af_packet:1: af_packet:2: af_xdp:1:; do
    IFS=: read -r DRIVER WORKERS TSO <<<"$run"
    WHAT="$DRIVER, $WORKERS worker$([ "$WORKERS" = 1 ] || echo s)${TSO:+, TSO}"
    if [ "$DRIVER" = tap ]; then
        conf tap "device = c10mt0" "host_address = 10.99.0.1/24" "address = 10.99.0.2/24, fd00:99::2/64" \
            ${TSO:+"offloads = tx_checksum, multi_segment, tso"}
        FAR=c10mt0
    else
        veth
        conf "$DRIVER" "device = va" "address = 10.99.0.2/24, fd00:99::2/64"
    fi
    claim "$WHAT: the server starts" start_server || finish
    vlans
    claim "... a page without a tag, and of each VLAN" within 30 eval 'page 10.99.0.2 && page 10.100.0.2 && page 10.200.0.2'
    claim "... echo requests of both families" pings
    claim "... large pages of all three, over both families, at once" all_at_once
    [ -z "$TSO" ] || claim "... which the port cuts behind the tags" eval '[ "$(counter tx_large)" -gt 100 ]'
    claim "... each port counts its own" no_port_has_been_silent
    claim "... neighbors belong to their VLAN" neighbors_apart
    claim "... a port of a VLAN has its parent's MTU" cmp "$TREE/ports/v100/mtu" "$TREE/ports/p0/mtu"
    claim "... so that the largest packet fits, tag included" \
        inside ping -q -c 1 -W 10 -M do -s $(($(awk '{ print $2 }' "$TREE/ports/p0/mtu") - 28)) 10.100.0.2
    claim "... or its own" eval '[ "$(mss_of 10.200.0.2)" -le 1360 ]'
    claim "... an echo request with a priority alone is answered, without a tag" \
        eval 'answers $(frame echo 10.99.0.77 10.99.0.2 8100:a000) | grep -qi "^[0-9a-f]\{24\}\(0806\|0800\)"'
    claim "... a dump of a VLAN shows its frames as any port's" dumped own v100 'tcp port 80'
    claim "... without the tag" eval '! grep -q vlan "$TMP/own"'
    claim "... and one of its parent finds them" dumped parents p0 'vlan 100 and tcp port 80'
    claim "... with the tag" grep -q ' v100 vlan 100 TCP 10\.100\.0\.1:' "$TMP/parents"
    claim "... one of no VLAN of ours is dropped" dropped vlan_unknown 1 "$(frame echo 10.100.0.77 10.100.0.2 8100:012c)"
    claim "... and those with two tags" dropped vlan_stacked 2 "$(frame echo 10.100.0.77 10.100.0.2 8100:0064 8100:0064)" \
        "$(frame echo 10.100.0.77 10.100.0.2 88a8:0064 8100:0064)"
    claim "... no VLAN reaches an address of another" dropped ip_not_for_us 2 "$(frame echo 10.100.0.77 10.200.0.2 8100:0064)" \
        "$(frame syn 10.100.0.77 10.200.0.2 7 8100:0064)"
    claim "... nor one without a tag" dropped ip_not_for_us 1 "$(frame syn 10.99.0.77 10.200.0.2 7)"
    claim "... nor asks for its MAC address, whichever worker it asks" dropped arp_not_for_us "$WORKERS" "$(frame arp 10.100.0.77 10.200.0.2 8100:0064)"
    answers "$(frame arp 10.200.0.1 10.200.0.1 8100:0064)" >/dev/null
    claim "... nor changes a neighbor of it" neighbors_apart
    claim "... every received packet is accounted for" balance_is_zero
    claim "... the server stops" stop_server
done
finish
