#!/usr/bin/env bash
# [cpu] idle: a worker without work polls, pauses or sleeps. In each mode pages are served, timers expire, orders and the end
# come through. A worker that sleeps leaves its core to others, and is woken over every port of the kernel, by other
# workers, and by the control thread.
. "$(dirname "$0")/lib.sh"

# conf MODE [LINE...]: the usual server, in 4 KiB pages, with these lines in [cpu].
conf() {
    write_conf
    sed -i "s/^connections = .*/connections = 4096\nhugepage = none/; s/^\[control\]/[cpu]\nexclusive = off\nidle = $1\n[control]\nadopt = never/" "$TMP/conf"
    local line
    for line in "${@:2}"; do sed -i "s/^\[cpu\]/&\n$line/" "$TMP/conf"; done
    sed -i "s/^root = .*/&\nkeepalive_timeout_ms = 1000/" "$TMP/conf"
}
page() { inside curl -sf -m 10 http://10.99.0.2/ | grep -q hello; }
pages() { local i; for i in 1 2 3 4 5; do page || return 1; sleep 0.05; done; }
# ended_by_timer: a connection without a further request ends by the timer of the application.
ended_by_timer() {
    inside timeout 20 bash -c 'exec 3<>/dev/tcp/10.99.0.2/80; printf "GET / HTTP/1.1\r\nHost: a\r\n\r\n" >&3; cat <&3' | grep -q hello
}
sum() { counter "$1" | awk '{ s += $1 } END { print s + 0 }'; }
more() { # COUNTER COMMAND...: the command makes it grow
    local before
    before=$(sum "$1")
    "${@:2}" && [ "$(sum "$1")" -gt "$before" ] || { echo "$1: $before before, $(sum "$1") now"; return 1; }
}
grows() { more "$1" sleep 0.3; }
state() { grep -qx "$1" "$TREE"/cores/*/state || { cat "$TREE"/cores/*/state; return 1; }; }
answered() { ! grep '^last: under way' "$TREE/ctl/arp"; }
ordered() { echo flush >"$TREE/ctl/arp" && within 20 answered && grep '^last: .*[0-9]' "$TREE/ctl/arp"; }
# ticks: CPU time of all workers so far, in ticks of a hundredth of a second.
ticks() {
    local tid sum=0
    for tid in $(awk '$1 == "tid" { print $2 }' "$TREE"/cores/*/state); do
        sum=$((sum + $(awk '{ print $14 + $15 }' "/proc/$SERVER/task/$tid/stat")))
    done
    echo $sum
}
# rests: in 4 s without work less than half a second of CPU time: where the machine is slow, each of 400 looks takes longer.
rests() {
    local before
    before=$(ticks)
    sleep 4
    echo "$(($(ticks) - before)) ticks"
    [ $(($(ticks) - before)) -lt 50 ]
}

for mode in poll pause interrupt; do
    conf $mode
    claim "$mode: a server starts" start_server
    claim "$mode: its state says so" state "idle $mode"
    claim "$mode: pages are served" pages
    claim "$mode: a timer expires" ended_by_timer
    claim "$mode: an order is executed" ordered
    claim "$mode: without work it is idle" within 20 state "state idle"
    case $mode in
    poll) claim "$mode: it never waits" eval '[ "$(sum idle_waits)" = 0 ]' ;;
    pause) claim "$mode: it waits, and never sleeps" eval 'grows idle_waits && [ "$(sum idle_sleeps)" = 0 ]' ;;
    interrupt)
        claim "$mode: it sleeps" grows idle_sleeps
        claim "$mode: its core is free" rests
        claim "$mode: packets wake it" more idle_wakes_packet pages
        claim "$mode: so does the control thread" more idle_wakes_order ordered
        inside ip link del c10mt0
        claim "$mode: an interface that is deleted comes again, and packets wake it" within 30 eval 'more idle_wakes_packet page 2>&1'
        claim "$mode: its core is free again" rests
        ;;
    esac
    claim "$mode: every packet is accounted for" balance_is_zero
    claim "$mode: it ends" stop_server
done

# Several workers: those without packets of their own are woken by the one that has the queue.
conf interrupt 'linux = 0' 'workers = 1' 'workers_per_core = 3'
sed -i 's/^device = c10mt0/&\nqueues = 1/' "$TMP/conf"
claim "three workers start" start_server
claim "... and serve from sleep" pages
claim "... also those that get their packets from another one, which wakes them" within 20 more idle_wakes_order pages
claim "... of which each sleeps" eval 'for c in "$TREE"/cores/*; do awk '\''$1 == "idle_sleeps" && $2 > 0 { ok = 1 } END { exit !ok }'\'' "$c/counters" || exit 1; done'
claim "... and rests" rests
claim "... timers expire" ended_by_timer
claim "... and end" stop_server

# The other ports of the kernel.
inside ip link add va type veth peer name vb
inside sysctl -qw net.ipv6.conf.va.disable_ipv6=1
inside ip addr add 10.99.0.1/24 dev vb
inside ip link set va up
inside ip link set vb up
inside ethtool -K vb tx off tso off gso off gro off >/dev/null 2>&1
for driver in af_packet af_xdp; do
    conf interrupt
    give_port "driver = $driver" 'device = va' 'address = 10.99.0.2/24'
    claim "$driver: a server starts" start_server
    claim "$driver: it sleeps" within 20 state 'idle interrupt'
    claim "$driver: packets wake it" within 20 more idle_wakes_packet pages
    claim "$driver: it rests" rests
    claim "$driver: it ends" stop_server
done
inside ip link del va
inside ip tuntap add dev c10mat0 mode tap
inside ip addr add 10.99.0.1/24 dev c10mat0
inside ip link set c10mat0 up
conf interrupt
give_port 'driver = tap' 'device = c10mat0' 'attach = on' 'address = 10.99.0.2/24'
claim "an attached tap: a server starts" start_server
claim "an attached tap: packets wake it" within 20 more idle_wakes_packet pages
claim "an attached tap: it rests" rests
claim "an attached tap: it ends" stop_server
inside ip link del c10mat0

# What cannot be had.
conf interrupt
give_port 'driver = memif' "device = $TMP/memif.sock" 'address = 10.99.0.2/24'
claim "a port that can only be polled: c10m check names key and port" says 0 'conf:[0-9]+: idle: idle is as pause with port p0: .* driver memif' "$C10M" check -c "$TMP/conf" $(as_root)
claim "... c10m plan says what is done" says 0 '^workers without work pause after 100 us$' "$C10M" plan -c "$TMP/conf"
claim "... so does the log of the server, which pauses" eval 'start_server && grep -q "warning: idle is as pause with port p0" "$TMP/log" && state "idle pause" && grows idle_waits'
claim "... and ends" stop_server
conf monitor
claim "a port that no CPU can watch: c10m check says so" says 0 'conf:[0-9]+: idle: idle is as pause' "$C10M" check -c "$TMP/conf" $(as_root)
claim "... and the worker pauses" eval 'start_server && state "idle pause" && pages && grows idle_waits'
claim "... and ends" stop_server
conf sleep
claim "another word is refused" says 2 'conf:[0-9]+: idle: .*poll, pause, monitor or interrupt' "$C10M" check -c "$TMP/conf"
finish
