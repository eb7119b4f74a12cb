#!/usr/bin/env bash
# c10m dump over a TAP: what it shows is what tcpdump sees at the other end.
. "$(dirname "$0")/lib.sh"
export C10M_SOCKET=$TMP/run/control.sock
URL=http://10.99.0.2
dd if=/dev/urandom of="$TMP/site/big" bs=1M count=30 status=none
write_conf
start_server --set control.dump_ring=256K

# wait_for WHAT COMMAND...: until it succeeds.
wait_for() {
    local what=$1 i
    shift
    for ((i = 0; i < 200; i++)); do
        "$@" >/dev/null 2>&1 && return 0
        sleep 0.1
    done
    echo "waited in vain for $what"
    return 1
}
# dump_start NAME ARGUMENTS...: in the background, until it captures; its words go to NAME.err, DUMP is its number.
dump_start() {
    local name=$1
    shift
    "$C10M" dump "$@" 2>"$TMP/$name.err" &
    DUMP=$!
    wait_for "c10m dump" grep -q 'capturing on' "$TMP/$name.err" || { cat "$TMP/$name.err"; return 1; }
}
dump_over() { ! kill -0 "$DUMP" 2>/dev/null; }
dump_wait() {  # it ends by itself; what it waits for in vain must not keep the test
    wait_for "the end of c10m dump" dump_over || { kill -9 "$DUMP"; wait "$DUMP" || true; return 1; }
    wait "$DUMP"
}
dump_end() {  # as Ctrl-C would: a shell's background job ignores SIGINT
    kill -TERM "$DUMP"
    dump_wait
}
status_of() { awk -v n="$1" '$1 == n { print $2 }' "$TREE/dump/status"; }
none_at_work() { [ "$(status_of captures_now)" = 0 ] && [ "$(status_of ring_bytes_now)" = 0 ]; }

# shown FILE: direction is lost in this, time is not compared; the rest of each packet is.
shown() { tcpdump -nn -S -t -r "$1" 2>/dev/null | sort; }
same_as_tcpdump() {
    : >"$TMP/there.err"
    inside tcpdump -i c10mt0 -U --immediate-mode -w "$TMP/there.pcap" 'tcp port 80' 2>"$TMP/there.err" &
    local there=$!
    wait_for tcpdump grep -q 'listening on' "$TMP/there.err"
    dump_start here -i tap0 -w "$TMP/here.pcapng" 'tcp port 80'
    inside curl -s -m 10 $URL/ $URL/no -o /dev/null -o /dev/null
    inside curl -s -m 10 $URL/ -o /dev/null
    wait_for "four FINs" bash -c "[ \$(tcpdump -nn -r $TMP/there.pcap 'tcp[tcpflags] & tcp-fin != 0' 2>/dev/null | wc -l) -ge 4 ]"
    wait_for "the last ACKs" bash -c "[ \$(tcpdump -nn -r $TMP/there.pcap 2>/dev/null | tail -1 | grep -c 'Flags \[\.\]') = 1 ]"
    sleep 0.2
    kill "$there"
    wait "$there" || true
    dump_end
    shown "$TMP/there.pcap" >"$TMP/there.txt"
    shown "$TMP/here.pcapng" >"$TMP/here.txt"
    [ "$(wc -l <"$TMP/here.txt")" -ge 16 ] && diff "$TMP/there.txt" "$TMP/here.txt"
}
claim "tcpdump -r shows what tcpdump saw at the other end" same_as_tcpdump
handshake() {
    tcpdump -nn -r "$TMP/here.pcapng" 2>/dev/null | awk 'NR <= 3 { printf "%s", $7 }' | tr -d , | grep -qF '[S][S.][.]'
}
claim "the handshake comes first, in order" handshake
said() {
    cat "$TMP/here.err"
    grep -Eq "^$(wc -l <"$TMP/here.txt") packets captured, [0-9]+ of [0-9]+ accepted by the filter, 0 dropped$" "$TMP/here.err"
}
claim "it ends with its statistics" said
both_ways() {
    local in out
    in=$(tcpdump -nn -r "$TMP/here.pcapng" 'dst host 10.99.0.2' 2>/dev/null | wc -l)
    out=$(tcpdump -nn -r "$TMP/here.pcapng" 'src host 10.99.0.2' 2>/dev/null | wc -l)
    [ "$in" -gt 5 ] && [ "$out" -gt 5 ]
}
claim "both ways are there" both_ways
times() {  # seconds since 1970 of the first packet: now, more or less
    local t
    t=$(tcpdump -nn -tt -r "$TMP/here.pcapng" 2>/dev/null | awk -F. 'NR == 1 { print $1 }')
    [ $(($(date +%s) - t)) -lt 120 ] && [ $(($(date +%s) - t)) -ge 0 ]
}
claim "packets have the time of day" times
if command -v capinfos >/dev/null; then
    claim "Wireshark's capinfos reads it" bash -c "capinfos '$TMP/here.pcapng' | grep -q 'Capture application: *c10m dump'"
    direction() { tshark -r "$TMP/here.pcapng" -T fields -e frame.packet_flags_direction | sort -u | tr '\n' ' ' | grep -q '0x0*1 0x0*2 '; }
    claim "and the direction of each packet" direction
fi

counted() {
    dump_start count -w "$TMP/count.pcapng" -c 5 'tcp port 80'
    inside curl -s -m 10 $URL/ -o /dev/null
    dump_wait && [ "$(tcpdump -nn -r "$TMP/count.pcapng" 2>/dev/null | wc -l)" = 5 ]
}
claim "-c 5 ends after five" counted
cut() {
    dump_start cut -w "$TMP/cut.pcapng" -s 60 -c 10 --direction out 'tcp port 80'
    inside curl -s -m 10 $URL/ $URL/ $URL/ $URL/ -o /dev/null -o /dev/null -o /dev/null -o /dev/null
    inside curl -s -m 10 $URL/ $URL/ $URL/ $URL/ -o /dev/null -o /dev/null -o /dev/null -o /dev/null
    dump_wait && [ "$(tcpdump -nn -r "$TMP/cut.pcapng" 'dst host 10.99.0.2' 2>/dev/null | wc -l)" = 0 ] &&
        grep -q 'snapshot length 60' <<<"$(tcpdump -nn -r "$TMP/cut.pcapng" 2>&1)"
}
claim "--snaplen and --direction" cut
lines() {
    dump_start lines --text -c 4 'icmp' >"$TMP/lines"
    inside ping -c 2 -i 0.2 -W 15 10.99.0.2
    dump_wait || return 1
    cat "$TMP/lines"
    [ "$(grep -c 'in  ICMP 10.99.0.1 > 10.99.0.2 type 8' "$TMP/lines")" = 2 ] &&
        [ "$(grep -c 'out ICMP 10.99.0.2 > 10.99.0.1 type 0' "$TMP/lines")" = 2 ]
}
claim "lines of text" lines
mounted() {
    timeout 60 tcpdump -nn -l -c 2 -r - icmp <"$TREE/ports/tap0/dump" >"$TMP/mounted" 2>/dev/null &
    local reader=$!
    while kill -0 $reader 2>/dev/null; do inside ping -c 1 -W 1 10.99.0.2 >/dev/null; sleep 0.1; done
    wait $reader
    cat "$TMP/mounted"
    grep -q 'echo request' "$TMP/mounted" && grep -q 'echo reply' "$TMP/mounted"
}
claim "ports/NAME/dump is a capture" mounted

bad_filter() {
    echo keep >"$TMP/keep"
    local status=0
    "$C10M" dump -w "$TMP/keep" 'tcp port' 2>"$TMP/bad" || status=$?
    cat "$TMP/bad"
    [ $status = 2 ] && grep -q 'FILTER: .*syntax error' "$TMP/bad" && [ "$(cat "$TMP/keep")" = keep ]
}
claim "a bad filter is told in libpcap's words, and the file is as it was" bad_filter
no_port() {
    local status=0
    "$C10M" dump -i eth7 -w "$TMP/keep" 2>"$TMP/bad" || status=$?
    cat "$TMP/bad"
    [ $status = 1 ] && grep -q 'there is no "eth7"' "$TMP/bad" && [ "$(cat "$TMP/keep")" = keep ]
}
claim "a port that does not exist is told" no_port
not_root() { ! setpriv --reuid=65534 --regid=65534 --clear-groups "$C10M" dump -c 1 2>"$TMP/bad" && grep -q 'Permission denied' "$TMP/bad"; }
chmod 755 "$TMP"
claim "only root captures" not_root
bad_programs() {
    local p
    for p in '1,6 0 0' '2,5 0 0 9,6 0 0 0' '1,40 0 0 12' '99999,' '1,255 0 0 0'; do
        ! printf 'name bad\nprogram %s\n' "$p" | "$C10M" write dump/new 2>"$TMP/bad" || return 1
        grep -q 'Invalid argument: filter: ' "$TMP/bad" || { cat "$TMP/bad"; return 1; }
    done
    [ "$(status_of captures_now)" = 0 ]
}
claim "a program that is none is refused" bad_programs

ticks() { awk '{ print $14 + $15 }' "/proc/$SERVER/task/$SERVER/stat"; }
idle() {  # the control thread waits where nothing happens
    dump_start idle -w "$TMP/idle.pcapng" 'tcp port 4711'
    local before
    before=$(ticks)
    sleep 1
    echo "$(($(ticks) - before)) ticks"
    [ $(($(ticks) - before)) -lt 50 ] && dump_end
}
claim "a capture of nothing costs the control thread little" idle
killed() {
    dump_start killed -w "$TMP/killed.pcapng"
    kill -9 "$DUMP"
    wait "$DUMP" 2>/dev/null || true
    wait_for "the end of the capture" none_at_work
}
claim "a reader that is killed leaves nothing" killed

# Nobody reads the pipe: what finds no room is dropped and counted, and the server goes on.
slow_reader() {
    mkfifo "$TMP/pipe"
    exec 8<>"$TMP/pipe"
    "$C10M" dump -w - 'tcp port 80' >"$TMP/pipe" 2>"$TMP/slow.err" 8<&- &
    DUMP=$!
    wait_for "c10m dump" grep -q 'capturing on' "$TMP/slow.err"
    exec 9<"$TMP/pipe" 8<&-  # from here on it is open for reading by us, and for writing by c10m dump alone
    inside curl -s -m 240 $URL/big | cmp - "$TMP/site/big" || return 1
    cat <&9 >"$TMP/slow.pcapng" &
    local reader=$!
    exec 9<&-
    dump_end
    wait $reader
    cat "$TMP/slow.err"
    [ "$(sed -n 's/.*, \([0-9]*\) dropped$/\1/p' "$TMP/slow.err")" -gt 0 ] &&
        [ "$(sed -n 's/^\([0-9]*\) packets captured.*/\1/p' "$TMP/slow.err")" = "$(tcpdump -nn -r "$TMP/slow.pcapng" 2>/dev/null | wc -l)" ] &&
        awk '/captured/ { exit $1 + $(NF - 1) != $4 }' "$TMP/slow.err"
}
claim "a slow reader costs packets of the capture only, and they are counted" slow_reader
claim "nothing is at work any more" wait_for "the end" none_at_work
claim "every received packet is accounted for" balance_is_zero

while_captured() {
    dump_start last -w "$TMP/last.pcapng"
    stop_server
    wait "$DUMP" || true
}
claim "the server stops while it is captured" while_captured
finish
