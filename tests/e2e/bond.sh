#!/usr/bin/env bash
# Bonds of two kernel interfaces. active-backup: connections are held while the link of the active member goes and comes, five times;
# no connection is lost, and the silence is told. A member is deleted and made again; all links go and come; a VLAN on the bond.
# LACP, with a switch in Python: both members join and carry flows; a silent switch and a pulled cable take one of them out.
. "$(dirname "$0")/lib.sh"
TIMES=5
HOLDER= SWITCH= WIRE=
cleanup_first() {
    local p
    for p in $HOLDER $SWITCH $WIRE; do kill -9 "$p" 2>/dev/null; done
}
conf() { # WORKERS LINE...: of the bond
    cat >"$TMP/conf" <<CONF
[control]
name = e2e$$
run_dir = $TMP/run
mount = $TREE
drain_s = 0
http = 127.0.0.1:9911
[cpu]
linux = 0
workers = 1
workers_per_core = $1
[memory]
hugepage = none
connections = 4096
[port bond0]
driver = bond
members = p0, p1
address = 10.99.0.2/24, fd99::2/64
$(printf '%s\n' "${@:2}")
[port p0]
driver = af_packet
device = va0
[port p1]
driver = af_packet
device = va1
[port v100]
driver = vlan
parent = bond0
vlan = 100
address = 10.100.0.2/24
[service web]
app = http
port = 80
root = $TMP/site
[service echo]
app = echo
port = 7
[service chargen]
app = chargen
port = 19
CONF
}
pair() { # N
    inside ip link add "va$1" type veth peer name "vb$1"
    inside sysctl -qw "net.ipv6.conf.va$1.disable_ipv6=1" "net.ipv6.conf.vb$1.disable_ipv6=1"
    inside sysctl -qw "net.ipv4.conf.vb$1.arp_ignore=8"  # the address is on br0 or sw0
    inside ethtool -K "vb$1" tx off tso off gso off gro off txvlan off >/dev/null 2>&1 || true
    inside ethtool -K "va$1" rxvlan off >/dev/null 2>&1 || true
    inside ip link set "va$1" up
    inside ip link set "vb$1" up
}
bridged() { inside ip link set "vb$1" master br0; }
member() { awk -v n="$2" '$1 == n { print $2 }' "$TREE/ports/bond0/members/$1/member"; }
is_out() { [ "$(member "$1" usable)" = 0 ] || { cat "$TREE/ports/bond0/members/$1/member"; return 1; }; }
member_is() { [ "$(member "$1" state)" = "$2" ] || { cat "$TREE/ports/bond0/members/$1/member"; return 1; }; }
count() { awk -v n="$2" '$1 == n { print $2 }' "$TREE/ports/$1/counters"; }
link_is() { # STATUS REASON
    [ "$(awk '$1 == "status" || $1 == "reason" { printf "%s ", $2 }' "$TREE/ports/bond0/link")" = "$1 $2 " ] || { cat "$TREE/ports/bond0/link"; return 1; }
}
metric() { inside curl -sf -m 5 http://127.0.0.1:9911/metrics | awk -v n="c10m_port_member_$1{port=\"bond0\",member=\"$2\"}" '$1 == n { print $2 }'; }
metric_is() { [ "$(metric "$1" "$2")" = "$3" ] || { metric "$1" "$2"; return 1; }; }
page() { [ "$(inside curl -sf -m 10 "http://$1/")" = '<h1>hello</h1>' ]; }
verdict_is() { grep -qF "$1" "$TREE/verdict" || { cat "$TREE/verdict"; return 1; }; }
logged() { grep -qE -- "$1" "$TMP/log" || { cat "$TMP/log"; return 1; }; }
announced() { # INTERFACE COMMAND...
    local interface=$1
    shift
    inside python3 "$HERE/announced.py" "$interface" "$(cat "$TREE/ports/bond0/mac")" "$@"
}
hold() {
    echo 0 >"$TMP/rounds"
    nsenter --net=/run/netns/"$NS" python3 "$HERE/hold.py" 10.99.0.2 "$TMP/rounds" 19 >"$TMP/holder" 2>&1 &
    HOLDER=$!
    within 30 goes_on_since 0
}
rounds() { cat "$TMP/rounds"; }
goes_on_since() { [ "$(rounds)" -ge $(($1 + 3)) ] || { echo "$(rounds) rounds, $1 before"; cat "$TMP/holder"; return 1; }; }
# goes_on: each of the held connections gets three more echoes.
goes_on() { local since; since=$(rounds); within 60 goes_on_since "$since"; }
held() { kill -0 $HOLDER || { cat "$TMP/holder"; return 1; }; }
release() { kill $HOLDER; wait $HOLDER 2>/dev/null || true; HOLDER=; }

# ---- active-backup
pair 0
pair 1
inside ip link add br0 type bridge stp_state 0 forward_delay 0
bridged 0
bridged 1
inside sysctl -qw net.ipv6.conf.br0.accept_dad=0
inside ip addr add 10.99.0.1/24 dev br0
inside ip addr add fd99::1/64 dev br0 nodad
inside ip link set br0 up promisc on  # frames for the VLAN interface, too, which has an address of its own
for workers in 1 2; do
    conf $workers "primary = p0"
    claim "active-backup, $workers worker(s): the server starts" start_server || finish
    claim "... the link is up" within 20 link_is up none
    claim "... a page over both families" eval 'within 30 page 10.99.0.2 && within 30 page "[fd99::2]"'
    claim "... the primary member is active, the other one is not" eval 'member_is p0 active && member_is p1 backup'
    claim "... both have the address of the bond" eval 'cmp "$TREE/ports/bond0/mac" "$TREE/ports/bond0/members/p1/mac"'
    claim "... what the switch floods to the other one is dropped and counted" eval \
        'inside ping -q -c 1 -W 1 10.99.0.77 || true; within 20 eval "[ \"\$(member p1 idle_packets)\" -gt 0 ]"'
    claim "... connections are held" hold
    rm -f "$TMP/rounds.silence"
    for ((i = 1; i <= TIMES; i++)); do
        claim "... $i: the active member loses its link: the other one takes over" eval \
            'inside ip link set vb0 down; within 20 member_is p0 down && within 20 member_is p1 active'
        claim "... $i: all connections go on" goes_on
        [ $i != 1 ] || {
            claim "... the verdict says so" within 20 verdict_is "bond0 runs on 1 of 2 members"
            claim "... the metrics, too" eval 'within 20 metric_is usable p0 0 && metric_is active p1 1 && metric_is usable p1 1'
            claim "... the log, too" within 20 logged "port bond0: active member p1 \(p0: down \(no carrier\)\)"
        }
        claim "... $i: the link comes back: the primary member is active again" eval 'inside ip link set vb0 up; within 20 member_is p0 active'
        claim "... $i: all connections go on" goes_on
    done
    echo "     longest silence of a connection: $(cat "$TMP/rounds.silence") ms"
    claim "... no connection was lost" held
    claim "... the addresses are announced by the new member" announced vb1 ip link set vb0 down
    claim "... and by the old one" announced vb0 ip link set vb0 up
    claim "... and by both members packets have come and gone" eval \
        '[ "$(count bond0/members/p0 tx_packets)" -gt 20 ] && [ "$(count bond0/members/p1 tx_packets)" -gt 20 ]'
    claim "... all links go: the link of the bond is down" eval 'inside ip link set vb0 down; inside ip link set vb1 down; within 20 link_is down no_carrier'
    claim "... one comes back: it goes on by that" eval 'inside ip link set vb1 up; within 20 link_is up none && goes_on'
    claim "... the other one, too" eval 'inside ip link set vb0 up; within 20 member_is p0 active && goes_on'
    claim "... the active member is deleted: the other one takes over" eval 'inside ip link del va0; within 20 member_is p1 active && goes_on'
    claim "... it is made again: it is opened, and active" eval 'pair 0; bridged 0; within 30 member_is p0 active && goes_on'
    claim "... which the log says" logged "port p0: the device is open again, after"
    claim "... no connection was lost" held
    release
    claim "... every packet is accounted for" balance_is_zero
    : >"$TMP/wire"
    inside setpriv --pdeathsig KILL python3 "$HERE/vlan_wire.py" br0 100=l100 >"$TMP/wire" 2>&1 &
    WIRE=$!
    claim "... a VLAN on the bond" eval 'within 20 grep -q ready "$TMP/wire"; inside ip addr replace 10.100.0.1/24 dev l100; inside ip link set l100 up; within 30 page 10.100.0.2'
    claim "... which the other member carries, too" eval 'inside ip link set vb0 down; within 20 member_is p1 active && within 30 page 10.100.0.2'
    inside ip link set vb0 up
    kill $WIRE
    wait $WIRE 2>/dev/null || true
    WIRE=
    claim "... the server stops" stop_server
done
inside ip link del br0

# ---- LACP
at_switch() { awk -v n="$1" -v f="$2" 'NR == n + 1 { print $f }' "$TMP/switch"; }  # INTERFACE FIELD
joined() { [ "$(at_switch "$1" 1)" = joined ] || { cat "$TMP/switch"; return 1; }; }
out() { [ "$(at_switch "$1" 1)" = out ] || { cat "$TMP/switch"; return 1; }; }
both_carry() { [ "$(at_switch 0 2)" -gt 100 ] && [ "$(at_switch 1 2)" -gt 100 ] || { cat "$TMP/switch"; return 1; }; }
left() { [ "$(at_switch "$1" 5)" -ge 0 ] || { cat "$TMP/switch"; return 1; }; }
says_aggregation() { [ $(($(at_switch "$1" 4) & 4)) != 0 ]; }
mkfifo "$TMP/orders"
for workers in 1 2; do
    conf $workers "mode = lacp" "lacp_rate = fast"
    : >"$TMP/switch"
    : >"$TMP/switch.out"  # that of the run before says that it is ready
    inside setpriv --pdeathsig KILL python3 "$HERE/lacp_switch.py" sw0 "$TMP/switch" vb0 vb1 <"$TMP/orders" >"$TMP/switch.out" 2>&1 &
    SWITCH=$!
    exec 7>"$TMP/orders"
    claim "LACP, $workers worker(s): a switch" within 20 grep -q ready "$TMP/switch.out"
    inside sysctl -qw net.ipv6.conf.sw0.accept_dad=0
    inside ip addr add 10.99.0.1/24 dev sw0
    inside ip addr add fd99::1/64 dev sw0 nodad
    inside ip link set sw0 up
    claim "... the server starts" start_server || finish
    claim "... both members join" eval 'within 30 member_is p0 active && within 30 member_is p1 active && within 30 joined 0 && within 30 joined 1'
    claim "... the link is up" within 20 link_is up none
    claim "... the log names them" logged "port bond0: member p1 joined; 2 of 2 members usable"
    claim "... the partner is the switch" eval '[ "$(member p0 partner_system) $(member p0 partner_key) $(member p1 partner_port)" = "02:ff:00:00:00:01 7 2" ]'
    claim "... a page over both families" eval 'within 30 page 10.99.0.2 && within 30 page "[fd99::2]"'
    claim "... connections are held" hold
    claim "... flows go by both members" within 60 both_carry
    rm -f "$TMP/rounds.silence"
    echo "silent 0" >&7
    claim "... the switch sends no LACPDUs on one link: that member leaves" eval 'within 30 is_out p0 && within 20 left 0 && within 20 out 0'
    echo "     it left after $(at_switch 0 5) ms"
    claim "... not before three seconds" eval '[ "$(at_switch 0 5)" -ge 2900 ]'
    claim "... all connections go on" goes_on
    claim "... the verdict says so" within 20 verdict_is "bond0 runs on 1 of 2 members"
    claim "... the log says why" logged "port bond0: member p0 left: no LACPDU from the partner any more; 1 of 2 members usable"
    echo "loud 0" >&7
    claim "... it sends again: the member joins" eval 'within 30 member_is p0 active && within 20 joined 0 && goes_on'
    claim "... a cable is pulled: that member leaves" eval 'inside ip link set vb1 down; within 20 member_is p1 down && goes_on'
    claim "... and plugged: it joins" eval 'inside ip link set vb1 up; within 30 member_is p1 active && within 20 joined 1 && goes_on'
    echo "     longest silence of a connection: $(cat "$TMP/rounds.silence") ms"
    claim "... no connection was lost" held
    release
    claim "... every packet is accounted for" balance_is_zero
    claim "... the server stops" stop_server
    claim "... of which the switch has heard" within 20 eval '! says_aggregation 0 && ! says_aggregation 1'
    exec 7>&-
    kill $SWITCH
    wait $SWITCH 2>/dev/null || true
    SWITCH=
    within 20 no_interface sw0
done
finish
