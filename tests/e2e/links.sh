#!/usr/bin/env bash
# The link of each port on an interface of the kernel is the real one: in the tree, in the log, and as a metric; and when a
# link comes, the port's addresses are announced again.
. "$(dirname "$0")/lib.sh"
ADDRESSES="address = 10.99.0.2/24, fd99::2/64"
# conf LINE...: one port, which is p0.
conf() {
    write_conf
    python3 - "$TMP/conf" "$(printf '%s\n' "$@" "$ADDRESSES")" <<'PY'
import re, sys
t = open(sys.argv[1]).read()
t = re.sub(r"\[port tap0\].*?(?=\[service)", "[port p0]\n" + sys.argv[2] + "\n", t, flags=re.S)
t = t.replace("[memory]\n", "[memory]\nhugepage = none\n").replace("[control]\n", f"[control]\nhttp = 127.0.0.1:9910\n")
open(sys.argv[1], "w").write(t)
PY
}
pair() {
    inside ip link add va type veth peer name vb
    inside ip addr add 10.99.0.1/24 dev vb
    inside ip addr add fd99::1/64 dev vb nodad
    inside ip link set va up
    inside ip link set vb up
    inside ethtool -K vb tx off tso off gso off gro off >/dev/null 2>&1
}
link() { awk -v n="$1" '$1 == n { print $2 }' "$TREE/ports/p0/${2:-link}"; }
link_is() { # STATUS REASON
    [ "$(link status) $(link reason)" = "$1 $2" ] || { cat "$TREE/ports/p0/link"; return 1; }
}
metric() { inside curl -sf -m 5 http://127.0.0.1:9910/metrics | awk -v n="$1{port=\"p0\"}" '$1 == n { print $2 }'; }
gauge_is() { [ "$(metric c10m_port_link_up)" = "$1" ] || { metric c10m_port_link_up; return 1; }; }
logged() { # TEXT
    grep -E '^c10m: (warning: )?[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{12}Z port p0: link ' "$TMP/log" | grep -F -- "$1" || { cat "$TMP/log"; return 1; }
}
http() { inside curl -sf -m 5 http://10.99.0.2/ | grep -q hello; }
# changes_are N: in the tree and as a metric; within some seconds.
changes_are() { [ "$(link changes) $(metric c10m_port_link_changes_total)" = "$1 $1" ] || { cat "$TREE/ports/p0/link"; return 1; }; }
# announced INTERFACE COMMAND...: each announcement comes to the interface after the command.
announced() {
    local interface=$1
    shift
    inside python3 "$HERE/announced.py" "$interface" "$(cat "$TREE/ports/p0/mac")" "$@"
}

for driver in af_packet af_xdp fault; do
    pair
    case $driver in
    fault) conf "driver = fault" "wraps = p1" "seed = 1" ;;
    *) conf "driver = $driver" "device = va" ;;
    esac
    [ $driver != fault ] || printf '[port p1]\ndriver = af_packet\ndevice = va\n' >>"$TMP/conf"
    claim "$driver: the server starts" start_server
    claim "... its link is up" link_is up none
    claim "... as a metric, too" within 20 gauge_is 1
    claim "... a page" http
    changes=0
    claim "... the other end goes down: no carrier" eval 'inside ip link set vb down; within 20 link_is down no_carrier'
    claim "... as a metric, too" within 20 gauge_is 0
    claim "... and in the log" within 20 logged "link down (no carrier); before: up, for "
    claim "... it is one change" within 20 changes_are 1
    claim "... it comes back, and the addresses are announced" announced vb ip link set vb up
    claim "... the link is up" within 20 link_is up none
    claim "... and the log says what it was before" within 20 logged "link up"
    claim "... a page" within 20 http
    claim "... set down by the administrator: it says so" eval 'inside ip link set va down; within 20 link_is down set_down'
    claim "... and in the log" within 20 logged "link down (set down by the administrator)"
    claim "... set up again" eval 'inside ip link set va up; within 20 link_is up none && within 20 gauge_is 1'
    claim "... a page" within 20 http
    claim "... every packet is accounted for" balance_is_zero
    claim "... the interface is deleted: the device is gone" eval 'inside ip link del va; within 20 link_is down gone'
    claim "... as a metric, too" within 20 gauge_is 0
    claim "... and in the log" within 20 logged "link down (the device is gone); before: "
    claim "... another one of that name that is down: it was replaced" eval 'inside ip link add va type veth peer name vb; within 20 link_is down replaced'
    claim "... and in the log" within 20 logged "link down (the device was replaced)"
    claim "... which also says why it is not used" within 20 grep -qF "port p0: interface va is down: ip link set va up; it is tried again" "$TMP/log"
    claim "... it is made as the first one was: its link is up" eval 'inside ip link del va; pair; within 20 link_is up none'
    claim "... and the log says for how long there was none" within 20 grep -qE "port p0: the device is open again, after [0-9]+\.[0-9]{3} s" "$TMP/log"
    claim "... it is counted" eval '[ "$(link reopened)" = 1 ]'
    claim "... as a metric, too" within 20 gauge_is 1
    claim "... a page" within 20 http
    claim "... every packet is accounted for" balance_is_zero
    claim "... the server stops" stop_server
    inside ip link del va
done

write_conf
sed -i -e 's/\[port tap0\]/[port p0]/' -e 's/^\[control\]/[control]\nhttp = 127.0.0.1:9910/' -e 's/^\[memory\]/[memory]\nhugepage = none/' \
    -e "s|^address = .*|$ADDRESSES|" "$TMP/conf"
claim "tap: the server starts" start_server
claim "... its link is up" link_is up none
claim "... set down by the administrator: it says so" eval 'inside ip link set c10mt0 down; within 20 link_is down set_down'
claim "... set up again" eval 'inside ip link set c10mt0 up; within 20 link_is up none'
claim "... a page" within 20 http
claim "... the interface is deleted: the server makes it again" eval 'inside ip link del c10mt0; within 20 eval "[ \"\$(link reopened)\" = 1 ]"'
claim "... and the log says so" within 20 grep -qE "port p0: the device is open again, after [0-9]+\.[0-9]{3} s" "$TMP/log"
claim "... its link is up" within 20 link_is up none
claim "... as a metric, too" within 20 gauge_is 1
claim "... a page" within 20 http
claim "... the server stops" stop_server
finish
