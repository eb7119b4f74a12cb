#!/usr/bin/env bash
# The files for load generators (config/pktgen, config/dperf, config/trex), without the generators: their syntax, the frames
# that they send, and what the counters of a server with config/load-testing.conf make of these frames
# (docs/load-testing.md).
. "$(dirname "$0")/../e2e/lib.sh"
ROOT=$(cd "$HERE/../.." && pwd)
LOADGEN=$ROOT/tests/loadgen
CAPS=$TMP/caps

claim "dperf: each configuration is one that dperf's documentation allows" python3 "$LOADGEN/dperf_check.py" "$ROOT"/config/dperf/*.conf
claim "TRex, ASTF: each connection asks ten times" python3 "$LOADGEN/astf_check.py" "$ROOT/config/trex/http_requests.py"

# pktgen SCRIPT PERCENT: in its folder, against a device that answers up to this share of the line rate.
pktgen() { (cd "$ROOT/config/pktgen" && lua5.4 "$LOADGEN/pktgen_stub.lua" "$1" "$2") >"$TMP/pktgen" || { cat "$TMP/pktgen"; false; }; }
says() { grep -qF -- "$1" "$TMP/pktgen" || { cat "$TMP/pktgen"; false; }; }
claim "Pktgen: udp-echo.lua runs" pktgen udp-echo.lua 50
claim "... and reports what is lost" says "sent 30000, received 15000, lost 15000"
claim "Pktgen: imix.lua runs" pktgen imix.lua 100
claim "... and has seven small frames, four middle ones and a large one" says "SEQUENCE$(printf '\t')64 594 64 594 64 1518 64 594 64 594 64 64"
claim "Pktgen: flood.lua runs" pktgen flood.lua 0
claim "... and switches captures on" says "sent 30000, received 0"
claim "Pktgen: rfc2544.lua runs" pktgen rfc2544.lua 37.3
found_rates() { # all seven sizes; each rate within a tenth and a hundredth below what the device can do
    awk '/^RESULT/ { n++; if ($4 > 37.3 || $4 < 37.3 * 0.98) bad = 1 } END { exit !(n == 7 && !bad) }' "$TMP/pktgen" || { cat "$TMP/pktgen"; false; }
}
claim "... and finds the highest rate without loss" found_rates
claim "Pktgen: rfc2544.lua runs against a device that answers nothing" pktgen rfc2544.lua 0
claim "... and finds none" says "RESULT 64 bytes: none"

claim "captures are made" "$ROOT/config/pktgen/make-captures" --frames 2000 "$CAPS"
refused_frames() { ! "$ROOT/config/pktgen/make-captures" --frames 0 "$CAPS" 2>"$TMP/refusal" && grep -q 'expected 1 to 60000' "$TMP/refusal"; }
claim "a number of frames that is none is refused" refused_frames
for profile in udp_echo imix syn_flood rst_flood ack_flood icmp_flood fragment_flood; do
    claim "TRex: $profile.py makes frames" python3 "$LOADGEN/trex_frames.py" "$ROOT/config/trex/$profile.py" "$CAPS/trex_$profile.pcap" 600
done

# server CAPTURE: a server with config/load-testing.conf whose port is the capture, on this machine's CPUs.
server() {
    sed -e '/^linux = /d' -e '/^workers = /d' -e "s|^root = .*|root = $TMP/site|" "$ROOT/config/load-testing.conf" >"$TMP/conf"
    printf '[control]\nname = e2e%s\nrun_dir = %s\nmount = %s\nhttp =\ndrain_s = 0\n' $$ "$TMP/run" "$TREE" >>"$TMP/conf"
    start_server --set port.p0.driver=pcap --set port.p0.device="$CAPS/$1.pcap" --set memory.hugepage=none \
        --set memory.connections=65536 --set memory.syn_received=256 --set memory.time_wait=1024
}
# value NAME: of a counter or drop of all workers.
value() { awk -v n="$1" '$1 == n { s += $2 } END { print s + 0 }' "$TREE"/cores/*/counters "$TREE"/cores/*/drops; }
holds() { # CONDITION: of shell arithmetic, whose names are counters
    local name expression=$1
    for name in $(grep -oE '[a-z][a-z0-9_]+' <<<"$1" | sort -ru); do
        expression=$(sed -E "s/\b$name\b/$(value "$name")/g" <<<"$expression")
    done
    ((expression))
}
# report: of a server that has received datagrams; with what it must contain, and without what names machine or network.
report() {
    server imix && within 30 holds "rx_udp == 2000" && "$C10M" report --socket "$TMP/run/control.sock" >"$TMP/report" && stop_server
}
has() { grep -qxE -- "$1" "$TMP/report" || { cat "$TMP/report"; false; }; }
names_nobody() {
    ! grep -niE "([0-9a-f]{2}:){5}[0-9a-f]{2}|([0-9]{1,3}\.){3}[0-9]{1,3}|$(hostname)|\b(p0|web|e2e$$)\b" "$TMP/report"
}
claim "c10m report: prints a report" report
claim "... with the CPU" has "cpu .+"
claim "... the port and its driver" has "driver pcap"
claim "... what the core received" has "rx_udp 2000"
claim "... the applications" has "application http"
claim "... lines to fill in" has "generator_tool .*"
claim "... and nothing that names the machine, the network, a port or a service" names_nobody
no_server() { ! "$C10M" report --socket "$TMP/nowhere" >"$TMP/report" 2>/dev/null && has "cpu .+"; }
claim "... without a server it is about the machine, and fails" no_server
report_usage() { local s=0; "$C10M" report more >/dev/null 2>&1 || s=$?; [ $s = 2 ]; }
claim "... an argument is refused" report_usage

# Capture, frames, and what has to hold when all of them have been received.
while read -r capture frames condition; do
    claim "$capture: the server starts" server "$capture"
    claim "... all frames come" within 60 holds "rx_packets == $frames"
    claim "... $condition" within 30 holds "$condition"
    claim "... none is unaccounted for" balance_is_zero
    claim "... the server stops" stop_server
done <<'CASES'
syn 2000 syn_received == 2000 && syncookies_sent > 0 && syn_records_now <= 256 && dropped == 0
rst 2000 tcp_no_owner == 2000 && tx_tcp == 0
ack 2000 rst_sent + tcp_no_owner == 2000
icmp 2000 tx_icmp_echo_reply + icmp_rate == 2000
udp-closed 2000 udp_no_port == 2000 && tx_icmp_unreachable + icmp_errors_limited == 2000 && icmp_errors_limited > 0
fragments 2000 rx_fragments == 2000 && reassembly_now <= 256 && reassembly_evicted + reassembly_now == 2000
imix 2000 rx_udp == 2000 && tx_udp == 2000
trex_udp_echo 600 rx_udp == 600 && tx_udp == 600
trex_imix 1800 rx_udp == 1800 && tx_udp == 1800
trex_syn_flood 600 rx_tcp == 600 && synack_sent >= 580
trex_rst_flood 600 tcp_no_owner == 600
trex_ack_flood 600 rst_sent + tcp_no_owner == 600
trex_icmp_flood 600 tx_icmp_echo_reply + icmp_rate == 600
trex_fragment_flood 600 rx_fragments == 600
CASES
finish
