#!/usr/bin/env bash
# Two servers side by side: run_dir moves all that must differ, a core is one server's; and `clean`
# removes what a killed one left.
. "$(dirname "$0")/lib.sh"

conf() {  # conf DIR NUMBER
    cat <<CONF
[control]
run_dir = $1
http =
drain_s = 0
[cpu]
workers = 1
[memory]
hugepage = 2M
connections = 1024
time_wait = 1024
syn_received = 1024
packets = 4096
buffers = 1024
[port tap0]
driver = tap
device = c10mp$2
address = 10.9$2.0.2/24
host_address = 10.9$2.0.1/24
[service web]
app = http
port = 80
root = $TMP/site
CONF
}
A=$TMP/a B=$TMP/b
# name_of DIR: as the server makes it of run_dir.
name_of() { "$C10M" cat -s "$1/control.sock" config | awk '$1 == "name" { print $3 }'; }
conf "$A" 7 >"$TMP/conf"
claim "a server starts" start_server
FIRST=$SERVER
NAME_A=$(name_of "$A")
claim "its tree, pages and names are below its run_dir, or named after it" eval \
    'grep -q c10m "$A/proc/version" && [ -d "$A/huge/2M" ] && [ -d "/run/dpdk/$NAME_A" ] && [[ $NAME_A == tmp-* ]]'
conf "$B" 8 >"$TMP/conf"
refused() { ! start_server "$@" && grep -q "core 1: the running server $NAME_A (process $FIRST) has it" "$TMP/log"; }
claim "a second one on its core is refused, and told who has it" refused
SERVER=$FIRST
claim "... and leaves nothing" [ ! -e "$B" ]
checked() { ! inside "$C10M" check -c "$TMP/conf" >"$TMP/said" 2>&1 && grep -q "core 1: .* (process $FIRST)" "$TMP/said"; }
claim "... as check says" checked
claim "it starts where that is allowed" start_server --set cpu.exclusive=off
SECOND=$SERVER
claim "... with a warning" grep -q "warning: core 1: .* (process $FIRST) has it" "$TMP/log"
answers() { inside curl -sf -m 20 -o /dev/null "http://10.9$1.0.2/"; }
claim "the first answers" answers 7
claim "the second answers" answers 8
NAME_B=$(name_of "$B")
same_name() {
    ! inside "$C10M" check -c "$TMP/conf" "$@" >"$TMP/said" 2>&1 && grep -q "^error: --set control.name: .* $SECOND" "$TMP/said" &&
        ! inside "$C10M" serve -c "$TMP/conf" "$@" >"$TMP/said" 2>&1 && grep -q "error: --set control.name: .* $SECOND" "$TMP/said"
}
claim "another run_dir with the name of a running server is refused, by check and by serve" \
    same_name --set cpu.exclusive=off --set control.run_dir="$TMP/c" --set control.name="$NAME_B" --set memory.hugepage=none --set port.tap0.device=c10mp9
same_socket() {
    ! inside "$C10M" check -c "$TMP/conf" "$@" >"$TMP/said" 2>&1 && grep -q "^error: .*socket: $B/control.sock" "$TMP/said" &&
        ! inside "$C10M" serve -c "$TMP/conf" "$@" >"$TMP/said" 2>&1 && grep -q "error: .*socket: $B/control.sock" "$TMP/said"
}
claim "... and another name with its run_dir" same_socket --set cpu.exclusive=off --set control.name=another --set port.tap0.device=c10mp9
claim "they have names of their own" [ "$NAME_A" != "$NAME_B" ]

not_cleaned() { ! "$C10M" clean -c "$TMP/conf" >"$TMP/said" 2>&1 && grep -q "process $SECOND" "$TMP/said"; }
claim "clean refuses what a living server holds" not_cleaned
claim "... and takes nothing from it" answers 8
kill -9 "$SECOND"
wait "$SECOND" 2>/dev/null || true
claim "a killed one leaves things" [ -e "$B/control.sock" ]
FREE=$(cat /sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages)
RESERVED=$(cat /sys/kernel/mm/hugepages/hugepages-2048kB/resv_hugepages)
killed_pages() { inside "$C10M" check -c "$TMP/conf" --set cpu.exclusive=off --set memory.connections=$(((FREE - RESERVED) * 6700)) --set memory.packets=4096; }
claim "check counts the pages of the killed one as free" killed_pages
max_now() { "$C10M" plan -c "$TMP/conf" --set memory.connections=max "$@" | awk '/^with the hugepages free now/ { gsub(",", "", $(NF - 1)); print $(NF - 1) }'; }
MAX=$(max_now)
listing() { { find "$B" 2>/dev/null || true; } | sort; grep " $B" /proc/mounts || true; ls /run/dpdk; }
listing >"$TMP/before"
looked() {
    "$C10M" clean -c "$TMP/conf" --dry-run >"$TMP/said" && for line in "would unmount $B/proc" "would remove socket $B/control.sock" "would remove directory /var/run/dpdk/$NAME_B" \
        "would free [0-9]* pages of 2 MiB below $B/huge" "would remove directory $B, if"; do grep -q "^$line" "$TMP/said" || { cat "$TMP/said"; return 1; }; done
}
claim "clean --dry-run says what it would remove" looked
claim "... and removes nothing" eval 'listing | diff "$TMP/before" -'
cleaned() { "$C10M" clean -c "$TMP/conf" >"$TMP/said" && grep -q "unmounted $B/proc" "$TMP/said" && grep -q "removed socket $B/control.sock" "$TMP/said"; }
claim "clean removes them and says what" cleaned
claim "connections = max had counted them, too" [ "$(max_now)" = "$MAX" ]
claim "... all of them" eval '[ ! -e "$B" ] && [ ! -e "/run/dpdk/$NAME_B" ] && ! grep -q " $B" /proc/mounts'
nothing_more() { [ "$("$C10M" clean -c "$TMP/conf")" = "nothing to remove" ]; }
claim "... and then has nothing to do" nothing_more
claim "the first still answers" answers 7
claim "a core of a killed server is free again: another start needs no clean" start_server --set cpu.exclusive=off
kill -9 "$SERVER"
wait "$SERVER" 2>/dev/null || true
claim "... twice" start_server --set cpu.exclusive=off
claim "the second stops" stop_server
# A kernel interface, which the driver does not make: a lock says who has it.
inside ip link add c10mva type veth peer name c10mvb
inside ip link set c10mva up
inside ip link set c10mvb up
ON=(--set cpu.exclusive=off --set port.tap0.driver=af_packet --set port.tap0.device=c10mva --set memory.hugepage=none)
grep -v host_address "$TMP/conf" >"$TMP/conf.plain" && mv "$TMP/conf.plain" "$TMP/conf"
claim "a server on a kernel interface starts" start_server "${ON[@]}"
SECOND=$SERVER
device_taken() {
    ! inside "$C10M" "$@" -c "$TMP/conf" "${ON[@]}" --set control.run_dir="$TMP/d" >"$TMP/said" 2>&1 &&
        grep -q "error: --set port.tap0.device: .*process $SECOND has it" "$TMP/said"
}
claim "check: another server has the interface" device_taken check
claim "... as serve says" device_taken serve
kill -9 "$SECOND"
wait "$SECOND" 2>/dev/null || true
claim "of a killed server it is free" start_server "${ON[@]}"
claim "... until it stops" stop_server
claim "... and leaves no lock" eval '! ls /run/lock/c10m-0.c10mva@* 2>/dev/null'
SERVER=$FIRST
claim "the first stops" stop_server
claim "nothing is left of either" eval '[ ! -e "$A" ] && [ ! -e "$B" ] && ! grep -q " $TMP/" /proc/mounts'
conf "$B" 8 >"$TMP/conf"
claim "the core is free" start_server
claim "... until it stops" stop_server
finish
