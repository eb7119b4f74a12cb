#!/usr/bin/env bash
# bond.sh C10M FOLDER: a bond of the server against Linux's own bond, in a guest whose kernel has that driver: two pairs of veth, of
# which the server has one end by af_packet and Linux's bond0 the other. LACP (802.3ad): both aggregate, with each other's address; a
# link goes and comes at either end, connections are held and pages are fetched; the server ends. active-backup: a link goes and comes.
GUEST_MORE_MODULES="veth tls bonding" GUEST_MORE_PLUGINS=net_af_packet GUEST_MORE_PROGRAMS="ip ethtool"
. "$(dirname "$0")/lib.sh"
FLOWS=12  # connections that are held
# Of busybox's own shell, a bare ip is busybox's, which knows no veth and no bond.
IP=/usr/sbin/ip ETHTOOL=/usr/sbin/ethtool
VM_IOMMU=no VM_BOOT=guest.bind=none
claim "a guest boots" boot igb 0
finish || exit 1

# write_guest_conf WORKERS LINE...: of the bond, in place of a NIC.
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
[port bond0]
driver = bond
members = p0, p1
address = 10.99.0.2/24, fd99::2/64
$(printf '%s\n' "$@")
[port p0]
driver = af_packet
device = va0
[port p1]
driver = af_packet
device = va1
[service web]
app = http
port = 80
root = /site
[service echo]
app = echo
port = 7
CONF
}
# Checksums are filled in and frames are not merged: the frames are those of a cable.
cables() {
    guest "for i in 0 1; do
        $IP link add va\$i type veth peer name vb\$i || exit 1
        for j in va\$i vb\$i; do echo 1 >/proc/sys/net/ipv6/conf/\$j/disable_ipv6; done
        $ETHTOOL -K vb\$i tx off tso off gso off gro off >/dev/null && $ETHTOOL -K va\$i gro off >/dev/null && $IP link set va\$i up || exit 1
    done"
}
# linux_bond MODE OPTION...: bond0 of vb0 and vb1.
linux_bond() {
    local mode=$1
    shift
    guest "if [ -e /sys/class/net/bond0 ]; then $IP link del bond0 || exit 1; fi
        $IP link add bond0 type bond mode $mode miimon 100 $* || exit 1
        for i in vb0 vb1; do $IP link set \$i down && $IP link set \$i master bond0 || exit 1; done
        $ETHTOOL -K bond0 tx off tso off gso off gro off >/dev/null
        echo 0 >/proc/sys/net/ipv6/conf/bond0/accept_dad
        $IP addr add 10.99.0.1/24 dev bond0 && $IP addr add fd99::1/64 dev bond0 nodad && $IP link set bond0 up"
}
at_linux() { guest 'cat /proc/net/bonding/bond0' >"$TMP/bonding"; }
mine() { guest 'cat /run/c10m/proc/ports/bond0/mac'; }
# aggregated: Linux has both ports in the aggregator that it uses, and its partner is the server.
aggregated() {
    at_linux
    awk -v mac="$(mine)" '/^Slave Interface/ { slaves++ } /^[ \t]*Aggregator ID: / { ids[$NF] } /Number of ports: 2/ { ports = 1 }
        /^MII Status: up/ { up++ } /Partner Mac Address: / { partner = $NF == mac }
        END { n = 0; for (i in ids) n++; exit !(slaves == 2 && n == 1 && ports && up == 3 && partner) }' "$TMP/bonding" || { cat "$TMP/bonding"; return 1; }
}
member() { guest "cat /run/c10m/proc/ports/bond0/members/$1/member" | awk -v n="$2" '$1 == n { print $2 }'; }
member_is() { [ "$(member "$1" state)" = "$2" ] || { guest "cat /run/c10m/proc/ports/bond0/members/$1/member"; return 1; }; }
both_join() { member_is p0 active && member_is p1 active && aggregated; }
one_is_left() { at_linux; grep -q 'Number of ports: 1' "$TMP/bonding" || { cat "$TMP/bonding"; return 1; }; }
# Not by busybox's wget, a static program that crashes where there are libraries of another glibc.
fetch() { echo "printf 'GET / HTTP/1.1\\r\\nHost: a\\r\\nConnection: close\\r\\n\\r\\n' | nc -w 20 $1 80"; }
page() { guest "$(fetch "$1")" | grep -q '<h1>hello'; }
pages() { within 60 page 10.99.0.2 && within 60 page fd99::2; }
# hold: FLOWS connections to the echo service with a line every 0.2 s each, and pages fetched one after the other. /tmp/echoed.N grows as
# the lines come back; one that is closed ends its loop, and `held` fails.
hold() {
    guest "rm -f /tmp/echoed.* /tmp/lost /tmp/fetched
        for i in \$(seq $FLOWS); do
            (while :; do echo line; usleep 200000; done | nc 10.99.0.2 7 >/tmp/echoed.\$i; echo \$i >>/tmp/lost) >/dev/null 2>&1 &
            echo \$!
        done >/tmp/holders
        (while :; do $(fetch 10.99.0.2) | grep '<h1>hello' >>/tmp/fetched; usleep 100000; done) >/dev/null 2>&1 &
        echo \$! >>/tmp/holders"
}
release() { guest 'kill $(cat /tmp/holders); killall nc; rm -f /tmp/lost; true'; }
# echoed: bytes of the connection that has the fewest, and of the pages.
echoed() { guest "for i in \$(seq $FLOWS); do stat -c %s /tmp/echoed.\$i 2>/dev/null || echo 0; done | sort -n | head -n 1; stat -c %s /tmp/fetched 2>/dev/null || echo 0"; }
more_than() { # ECHOED FETCHED
    local now
    mapfile -t now < <(echoed)
    [ "${now[0]}" -gt $(($1 + 10)) ] && [ "${now[1]}" -gt $(($2 + 10)) ] || { echo "${now[*]}, before: $*"; return 1; }
}
# goes_on: each held connection gets two more lines, and one more page comes.
goes_on() { local before; mapfile -t before < <(echoed); within 90 more_than "${before[@]}"; }
held() { guest '! cat /tmp/lost 2>/dev/null'; }
count() { guest "cat /run/c10m/proc/ports/bond0/members/$1/counters" | awk -v n="$2" '$1 == n { print $2 }'; }
carries() { [ "$(count "$1" rx_packets)" -gt $(($2 + 30)) ] && [ "$(count "$1" tx_packets)" -gt $(($3 + 30)) ]; }
# both_carry: packets of flows in both directions by both members, of which each has a LACPDU a second besides.
both_carry() {
    local before p
    mapfile -t before < <(for p in p0 p1; do count $p rx_packets; count $p tx_packets; done)
    within 60 carries p0 "${before[0]}" "${before[1]}" && within 60 carries p1 "${before[2]}" "${before[3]}"
}
link() { guest "$IP link set $1 $2"; }

claim "two cables between the server and Linux" cables
finish || exit 1

# ---- LACP
claim "802.3ad: Linux has a bond" linux_bond 802.3ad "lacp_rate fast xmit_hash_policy layer3+4"
claim "... the server starts" start 2 "mode = lacp" "lacp_rate = fast"
finish || exit 1
claim "... both ends aggregate both links, and Linux's partner is the server" within 60 both_join
claim "... and the server's is Linux" eval '[ "$(member p0 partner_system)" = "$(guest "cat /sys/class/net/bond0/address")" ]'
claim "... a page over both families" pages
claim "... connections are held, and pages fetched" eval 'hold && goes_on'
claim "... flows go by both links, in both directions" both_carry
for cable in vb0 va1; do
    p=p${cable#v?}
    claim "... $cable goes: the server leaves it out, and so does Linux" eval 'link $cable down; within 30 member_is $p down && within 30 one_is_left'
    claim "... all goes on" goes_on
    claim "... $cable is back: both are aggregated again" eval 'link $cable up; within 60 both_join'
    claim "... all goes on" goes_on
    claim "... by both links" both_carry
done
claim "... no connection was lost" held
release
claim "... every packet is accounted for" within 30 balanced
claim "... the server stops" stop
disbanded() { at_linux; ! grep -q 'Number of ports: 2' "$TMP/bonding" || { cat "$TMP/bonding"; return 1; }; }
claim "... and Linux aggregates the links no longer" within 20 disbanded

# ---- active-backup, both ends of which see the same links go.
claim "active-backup: Linux has such a bond" eval 'linux_bond active-backup && guest "echo vb0 >/sys/class/net/bond0/bonding/primary"'
claim "... the server starts" start 1 "primary = p0"
finish || exit 1
uses() { # N: both ends use this link.
    member_is "p$1" active && at_linux && { grep -q "^Currently Active Slave: vb$1\$" "$TMP/bonding" || { cat "$TMP/bonding"; return 1; }; }
}
claim "... both use the first link" within 60 uses 0
claim "... a page over both families" pages
claim "... connections are held, and pages fetched" eval 'hold && goes_on'
claim "... the first link goes: both use the second one, and all goes on" eval 'link vb0 down; within 30 uses 1 && goes_on'
claim "... it is back: both use it again, and all goes on" eval 'link vb0 up; within 30 uses 0 && goes_on'
claim "... no connection was lost" held
release
claim "... every packet is accounted for" within 30 balanced
claim "... the server stops" stop
finish
