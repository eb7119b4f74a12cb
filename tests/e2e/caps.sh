#!/usr/bin/env bash
# Each capability of a port once with and once without, over a TAP (net_tap does them all): the same
# pages and echoes arrive exactly, the same wrong checksums are dropped and counted.
. "$(dirname "$0")/lib.sh"
dd if=/dev/urandom of="$TMP/site/four" bs=1M count=4 status=none
head -c 1000003 "$TMP/site/four" >"$TMP/odd"

# start OFFLOADS [LARGE]: as in [port] offloads and [tcp] large_segments.
start() {
    write_conf
    sed -i "s/^device = c10mt0/&\noffloads = $1/; s/^hugetlbfs/hugepage = none\n&/; s/^\[memory\]/[tcp]\nlarge_segments = ${2:-auto}\n&/" \
        "$TMP/conf"
    start_server
}
does() { [ "$(awk -v n="$1" '$1 == n { print $2 }' "$TREE/ports/tap0/offloads")" = "$2" ]; }
download() { inside curl -s -m 30 http://10.99.0.2/four | cmp - "$TMP/site/four"; }
echoes() { inside timeout 30 python3 "$HERE/echo_file.py" 10.99.0.2 "$TMP/odd"; }
bad_ones() {  # counted for what is wrong with them
    local tcp ip
    inside python3 "$HERE/caps.py" c10mt0 10.99.0.2
    tcp=$(awk '$1 == "tcp_checksum" { print $2 }' "$TREE"/cores/*/drops)
    ip=$(awk '$1 == "ip_checksum" { print $2 }' "$TREE"/cores/*/drops)
    echo "tcp_checksum $tcp ip_checksum $ip"
    [ "$tcp" = 2 ] && [ "$ip" = 2 ]
}
for set in none rx_checksum tx_checksum multi_segment "rx_checksum, tx_checksum, multi_segment"; do
    claim "$set: the server starts" start "$set"
    for row in rx_checksum:rx_l4_checksum rx_checksum:rx_ip_checksum tx_checksum:tx_l4_checksum multi_segment:multi_segment; do
        who=software
        [[ $set != *${row%:*}* ]] || who=port
        claim "$set: $who does ${row#*:}" does "${row#*:}" $who
    done
    claim "$set: 4 MB arrive exactly" download
    claim "$set: an echo of 1 MB arrives exactly" echoes
    claim "$set: wrong checksums are dropped and counted, a right one is answered" bad_ones
    claim "$set: every received packet is accounted for" balance_is_zero
    claim "$set: the server stops" stop_server
done

# Large segments: cut by the port, and by software for a port that does not.
together() { echo "tx_large $(counter tx_large), tx_packets $(counter tx_packets)"; [ "$(counter tx_large)" -gt 20 ]; }
arrived() { inside ip -s -j link show c10mt0 | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["stats64"]["rx"]["packets"])'; }
more_arrived() { # than left the stack, or as many
    local left there
    left=$(counter tx_packets)
    there=$(arrived)
    echo "$left left, $there arrived"
    if [ "$1" = port ]; then [ "$there" -gt $((left + 1000)) ]; else [ "$there" -le "$left" ]; fi
}
both="tx_checksum, multi_segment"
for row in "$both, tso;auto;port" "$both, tso;off;port" "$both;auto;software" "$both;on;software" "none;on;software"; do
    IFS=';' read -r set large who <<<"$row"
    name="$set, large_segments = $large"
    claim "$name: the server starts" start "$set" "$large"
    claim "$name: $who cuts" does tso "$who"
    claim "$name: 4 MB arrive exactly" download
    claim "$name: an echo of 1 MB arrives exactly" echoes
    if [ $large = on ] || [ $large$who = autoport ]; then
        claim "$name: segments were put together" together
        claim "$name: $who makes one of many" more_arrived "$who"
    else
        claim "$name: no segments were put together" [ "$(counter tx_large)" = 0 ]
    fi
    claim "$name: every received packet is accounted for" balance_is_zero
    claim "$name: the server stops" stop_server
done
# Two workers, one queue: the one without has the border cut what the device would.
two_workers() {
    write_conf
    sed -i "s/^device = c10mt0/&\noffloads = $both, tso\nqueues = 1/; s/^hugetlbfs/hugepage = none\n&/
        s/^\[memory\]/[cpu]\nworkers_per_core = 2\n[tcp]\nlarge_segments = on\n&/" "$TMP/conf"
    start_server
}
claim "two workers on a queue: the server starts" two_workers
each_sent() { awk '$1 == "tx_large" { print FILENAME, $2; if ($2 > 0) n++ } END { exit n != 2 }' "$TREE"/cores/*/counters; }
from_both() { # which worker a connection goes to is chance
    local i
    for ((i = 0; i < 40; i++)); do
        download || return 1
        each_sent && return 0
    done
    return 1
}
claim "two workers on a queue: 4 MB arrive exactly, put together by each" from_both
claim "two workers on a queue: the server stops" stop_server
finish
