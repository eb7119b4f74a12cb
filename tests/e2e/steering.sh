#!/usr/bin/env bash
# The files of ctl/ on the real server: orders by echo, their ends by cat; SIGHUP, SIGTERM.
. "$(dirname "$0")/lib.sh"

CTL=$TREE/ctl
head -c 12000000 /dev/urandom >"$TMP/site/big"

# order FILE LINE: as soon as the one before is over.
order() { within 30 bash -c 'echo "$1" >"$2"' - "$2" "$1"; }
# says FILE PATTERN: a line of the file matches.
says() { grep -qE "$2" "$1"; }
logged() { grep -qE "$1" "$TMP/log"; }
# refused ERROR FILE LINE: the write fails with these words and the file says what it said before.
refused() {
    local before after
    before=$(cat "$2")
    ! bash -c 'echo "$1" >"$2"' - "$3" "$2" 2>"$TMP/err" || { echo "taken: $3"; return 1; }
    grep -q "$1" "$TMP/err" || { cat "$TMP/err"; return 1; }
    after=$(cat "$2")
    [ "$before" = "$after" ] || { diff <(echo "$before") <(echo "$after"); false; }
}
# hold NAME PORT: a connection that stays; $TMP/held.NAME has `up` when it is there, `over` when it has ended.
HOLDERS=()
hold() {
    timeout 120 nsenter --net=/run/netns/"$NS" bash -c \
        'exec 3<>/dev/tcp/10.99.0.2/'"$2"'; echo up >&3; cat <&3; echo over' >"$TMP/held.$1" 2>/dev/null &
    HOLDERS+=($!)
}
is_held() { grep -q up "$TMP/held.$1"; }
is_over() { grep -q over "$TMP/held.$1"; }

every_file_says_how() {
    local f
    while read -r f; do
        head -1 "$f" | grep -q '^# ' || { echo "$f has no help"; return 1; }
    done < <(find "$CTL" -type f)
}

bad_orders_change_nothing() {
    refused "Invalid argument" "$CTL/conn/kill" "everything" &&
        refused "Invalid argument" "$CTL/conn/kill" "local 10.99.0.2:80 remote" &&
        refused "out of range" "$CTL/conn/kill" "remote 10.0.0.0/33" &&
        refused "Invalid argument" "$CTL/drain" "begin" &&
        refused "out of range" "$CTL/drain" "start 100000" &&
        refused "Invalid argument" "$CTL/services/web/state" "ajar" &&
        refused "Invalid argument" "$CTL/arp" "add 10.99.0.9 01:00:00:00:00:01" &&
        refused "Invalid argument" "$CTL/log" "door loud" &&
        refused "Invalid argument" "$CTL/set/tcp.time_wait_ms" "soon" &&
        refused "out of range" "$CTL/set/tcp.time_wait_ms" "700000" &&
        refused "out of range" "$CTL/set/tcp.rto_min_ms" "60000"
}

one_is_killed_and_the_other_is_not() {
    hold a 7
    hold b 7
    within 30 is_held a && within 30 is_held b || return 1
    local ends
    ends=$(awk '/:0007 / && $4 == "01" { print $3; exit }' "$TREE/net/tcp")
    local port=$((16#${ends#*:}))
    order "$CTL/conn/kill" "10.99.0.1:$port 10.99.0.2:7"
    within 30 says "$CTL/conn/kill" 'last: connections killed: 1 on 1 worker' || return 1
    within 30 bash -c "[ \$(cat $TMP/held.a $TMP/held.b | grep -c over) = 1 ]"
}

a_filter_kills_the_rest() {
    order "$CTL/conn/kill" "service echo state established remote 10.99.0.0/24"
    within 30 says "$CTL/conn/kill" 'connections killed: 1 on' && within 30 is_over a && within 30 is_over b &&
        [ "$(counter conns_killed)" = 2 ]
}

a_closed_service_is_refused_and_opens_again() {
    echo closed >"$CTL/services/web/state"
    within 30 says "$CTL/services/web/state" 'state closed'
    within 30 bash -c "! nsenter --net=/run/netns/$NS curl -s -m 5 http://10.99.0.2/" || return 1
    inside curl -s -m 20 http://10.99.0.2/
    [ $? = 7 ] || return 1  # refused, not timed out
    echo open >"$CTL/services/web/state"
    within 30 inside curl -sf -m 5 http://10.99.0.2/
}

neighbors_come_and_go() {
    order "$CTL/arp" "add 10.99.0.77 02:00:00:00:00:77 permanent"
    within 30 says "$TREE/net/arp" '^10.99.0.77 .* 0x6 .*02:00:00:00:00:77' || return 1
    order "$CTL/arp" "del 10.99.0.77"
    within 30 bash -c "! grep -q 10.99.0.77 $TREE/net/arp" || return 1
    order "$CTL/arp" "del 10.99.0.77"
    within 30 says "$CTL/arp" 'last: .*ENOENT'
}

a_key_is_set_and_seen() {
    echo 31s >"$CTL/set/tcp.time_wait_ms"
    says "$TREE/config" '^time_wait_ms = 31000$' && within 30 says "$CTL/set/tcp.time_wait_ms" '= 31000$' &&
        echo 1 >"$CTL/set/service.echo.limit_connections" && says "$TREE/config" '^limit_connections = 1$' &&
        echo none >"$CTL/set/service.echo.limit_connections"
}

modules_have_levels() {
    echo "ctl error" >"$CTL/log"
    says "$CTL/log" '^ctl error$' && says "$CTL/log" '^door info$' && echo info >"$CTL/log" && says "$CTL/log" '^ctl info$'
}

the_socket_takes_orders_too() {
    "$C10M" write -s "$TMP/run/control.sock" ctl/log "door debug" && says "$CTL/log" '^door debug$' &&
        ! "$C10M" write -s "$TMP/run/control.sock" ctl/log "door loud"
}

hup_applies_what_it_can_and_names_the_rest() {
    sed -i 's/^connections = .*/connections = 8192/' "$TMP/conf"
    printf '[tcp]\ntime_wait_ms = 7s\n' >>"$TMP/conf"
    kill -HUP "$SERVER"
    within 30 logged "conf:[0-9]+: tcp.time_wait_ms: 31000 -> 7000" &&
        within 30 logged "conf:[0-9]+: memory.connections: wants a restart" &&
        within 30 says "$TREE/config" '^time_wait_ms = 7000$'
}

hup_with_an_invalid_file_changes_nothing() {
    printf 'retries = many\n' >>"$TMP/conf"
    sed -i 's/^time_wait_ms = .*/time_wait_ms = 9s/' "$TMP/conf"
    kill -HUP "$SERVER"
    within 30 logged "conf:[0-9]+: retries: expected" && within 30 logged "nothing has changed" &&
        says "$TREE/config" '^time_wait_ms = 7000$'
}

# The client takes nothing until it may: its download is under way as long as the server drains.
a_slow_download_finishes_while_draining() {
    inside curl -s -m 100 http://10.99.0.2/big | { until [ -e "$TMP/go" ]; do sleep 0.1; done; cat; } >"$TMP/got" &
    local download=$!
    within 30 says "$CTL/drain" '^connections 1$' || return 1
    echo "start 60" >"$CTL/drain"
    within 30 says "$CTL/drain" '^state draining$' || return 1
    within 30 bash -c "! nsenter --net=/run/netns/$NS curl -s -m 5 -o /dev/null http://10.99.0.2/" || return 1
    within 30 says "$CTL/drain" '^connections 1$' || return 1
    refused "busy" "$CTL/services/web/state" open || return 1
    : >"$TMP/go"
    wait $download && cmp "$TMP/got" "$TMP/site/big" && within 30 says "$CTL/drain" '^state drained$'
}

who_stays_is_reset_when_time_is_up() {
    echo stop >"$CTL/drain"
    within 30 inside curl -sf -m 5 http://10.99.0.2/ || return 1
    hold c 7
    within 30 is_held c || return 1
    echo now >"$CTL/drain"
    within 30 is_over c && within 30 says "$CTL/drain" '^state drained$' && echo stop >"$CTL/drain"
}

term_drains_and_stops() {
    echo 60 >"$CTL/set/control.drain_s"
    hold d 7
    within 30 is_held d || return 1
    kill -TERM "$SERVER"
    within 30 says "$CTL/drain" '^state draining$' && says "$CTL/drain" '^connections 1$' || return 1
    kill -0 "$SERVER" && order "$CTL/conn/kill" "service echo" && wait "$SERVER" && SERVER= && is_over d
}

a_second_term_stops_at_once() {
    sed -i '/^retries = many/d' "$TMP/conf"
    start_server --set control.drain_s=600 || return 1
    hold e 7
    within 30 is_held e || return 1
    kill -TERM "$SERVER"
    within 30 says "$CTL/drain" '^state draining$' || return 1
    kill -TERM "$SERVER"
    wait "$SERVER" && SERVER= && within 30 is_over e
}

# freeze: the worker stands still until thaw.
freeze() {
    : >"$TMP/freezer"
    "$HERE/freeze.py" "$SERVER" "$(worker_name)" >"$TMP/freezer" &
    FREEZER=$!
    within 30 grep -q frozen "$TMP/freezer"
}
thaw() { kill "$FREEZER" && wait "$FREEZER"; FREEZER=; }
worker_name() { cat /proc/"$SERVER"/task/*/comm | grep -m1 -E '^(lcore|rte)-worker'; }
FREEZER=
# The peers of a server that was frozen hear nothing of its end.
cleanup_first() { kill $FREEZER "${HOLDERS[@]}" 2>/dev/null; }

a_worker_that_hangs_keeps_no_writer() {
    freeze || return 1
    order "$CTL/conn/kill" all
    echo 3s >"$CTL/set/tcp.time_wait_ms"
    within 30 says "$CTL/conn/kill" 'does not answer \(ETIMEDOUT\)' || return 1
    says "$CTL/set/tcp.time_wait_ms" 'does not have this value yet' || return 1
    thaw
    within 30 bash -c "! grep -q 'does not have this value yet' $CTL/set/tcp.time_wait_ms"
}

a_worker_that_hangs_does_not_keep_the_process() {
    local status=0
    start_server --set control.drain_s=1 || return 1
    hold f 7
    within 30 is_held f && freeze || return 1
    kill -TERM "$SERVER"
    wait "$SERVER" || status=$?
    SERVER=
    wait "$FREEZER"
    FREEZER=
    [ "$status" = 1 ] && logged 'the worker on CPU [0-9]+ hangs in stage [a-z_]+'
}

nothing_is_left_of_it() {
    ! grep -q " $TMP/" /proc/mounts && [ ! -e "$TMP/run" ] && [ ! -e "$TMP/huge" ] && [ ! -e "/run/dpdk/e2e$$" ]
}

a_reset_is_for_readers_of_the_tree() {
    local rx total
    rx=$(counter rx_packets)
    echo all >"$CTL/reset"
    [ "$(counter rx_packets)" -lt "$rx" ] && within 30 balance_is_zero || return 1
    total=$(awk '/^Tcp:/ && $2 ~ /[0-9]/ { print $11 }' "$TREE/net/snmp")
    [ "$total" -gt 10 ] && inside curl -sf -m 5 -o /dev/null http://10.99.0.2/ &&
        within 30 bash -c "awk '\$1 == \"conns_opened_passive\" { exit \$2 != 1 }' $TREE/cores/*/counters"
}

write_conf
start_server
claim "every file of ctl/ says how it is used" every_file_says_how
claim "bad orders are refused at the writer's shell and change nothing" bad_orders_change_nothing
claim "a connection named by its ends is reset, the one beside it is not" one_is_killed_and_the_other_is_not
claim "a filter takes all that match" a_filter_kills_the_rest
claim "a closed service refuses, and serves again when opened" a_closed_service_is_refused_and_opens_again
claim "neighbors are added and deleted" neighbors_come_and_go
claim "a key is set while running, and config shows it" a_key_is_set_and_seen
claim "each module of the log has its level" modules_have_levels
claim "the control socket takes orders too" the_socket_takes_orders_too
claim "SIGHUP applies what can change and names what cannot" hup_applies_what_it_can_and_names_the_rest
claim "SIGHUP with an invalid file says why and changes nothing" hup_with_an_invalid_file_changes_nothing
claim "a slow download finishes while the server drains" a_slow_download_finishes_while_draining
claim "drain now resets who is left" who_stays_is_reset_when_time_is_up
claim "no packet is unaccounted for" balance_is_zero
claim "a reset is for readers of the tree, and net/ counts on" a_reset_is_for_readers_of_the_tree
claim "an order to a worker that hangs ends, and settings reach it later" a_worker_that_hangs_keeps_no_writer
claim "SIGTERM drains, and stops when the last connection has gone" term_drains_and_stops
claim "a second SIGTERM stops at once" a_second_term_stops_at_once
claim "a worker that hangs does not keep the process from its end" a_worker_that_hangs_does_not_keep_the_process
claim "... and leaves nothing behind" nothing_is_left_of_it
finish
