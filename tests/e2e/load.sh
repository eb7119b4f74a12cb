#!/usr/bin/env bash
# c10m load: ten thousand connections through a clean wire and through a bad one, requests for two
# seconds, answers that are wrong, and how it refuses what it cannot do.
set -euo pipefail
C10M=$(realpath "$1")
TMP=$(mktemp -d /tmp/c10m-e2e.XXXXXX)
FAILED=0
LOAD=
end() {
    local status=$?
    trap - EXIT
    [ -n "$LOAD" ] && kill -9 "$LOAD" 2>/dev/null && wait "$LOAD" 2>/dev/null
    rm -rf "$TMP"
    exit "$status"
}
trap end EXIT
trap 'exit 130' INT TERM

claim() {
    local name=$1
    shift
    if "$@" >"$TMP/claim" 2>&1; then
        echo "ok   $name"
    else
        echo "FAIL $name"
        tail -n 15 "$TMP/claim"
        [ ! -s "$TMP/err" ] || tail -n 5 "$TMP/err"
        FAILED=$((FAILED + 1))
    fi
}

# load STATUS ARGUMENTS...: runs it with --json into $TMP/json; true if it ends with STATUS.
load() {
    local want=$1 status=0
    shift
    timeout 60 "$C10M" load "$@" --json --quiet >"$TMP/json" 2>"$TMP/err" || status=$?
    echo "exit $status"
    [ "$status" = "$want" ]
}

# holds CONDITION...: each is true of the JSON object, whose members are variables.
holds() {
    python3 - "$TMP/json" "$@" <<'PY'
import json, sys
with open(sys.argv[1]) as f:
    text = f.read()
assert text.count("\n") == 1, text
d = json.loads(text)
wrong = [c for c in sys.argv[2:] if not eval(c, {}, d)]
if wrong:
    print("not so:", "; ".join(wrong), "in", text)
sys.exit(bool(wrong))
PY
}

# refused TEXT ARGUMENTS...: exit 2, the text on stderr, nothing on stdout.
refused() {
    local want=$1 status=0
    shift
    "$C10M" load "$@" >"$TMP/out" 2>"$TMP/err" || status=$?
    [ "$status" = 2 ] && [ ! -s "$TMP/out" ] && grep -qF -- "c10m load: $want" "$TMP/err"
}

ALL="ok and opened == closed == connections == 10000 and asked == answered == 30000"
NONE="lost == wrong == failed == strangers == 0"
claim "10k connections answer three rounds and close" load 0 hold --connections 10k --rounds 3 --close
claim "... none lost, none wrong" holds "$ALL" "$NONE" "retransmitted == damaged == 0" \
    "faults_to_server['seen'] == 0"
claim "... with their times" holds "ask_s > 0" "answers_per_s > 0" "server_cycles_per_packet > 0" \
    "0 < p50_us <= p90_us <= p99_us <= p999_us <= p9999_us <= max_us" "mean_us <= max_us"

claim "the same through a wire that loses, reorders, doubles and corrupts" \
    load 0 hold --connections 10k --rounds 3 --close --fault loss=2,reorder=2,duplicate=1,corrupt=1
claim "... none lost, none wrong" holds "$ALL" "$NONE"
claim "... because both sides sent again" holds "retransmitted > 500" "server_retransmitted > 500" "duplicates > 100"
claim "... what the wire did is counted, each way" holds \
    "all(0.01 < f['lost'] / f['seen'] < 0.03 for f in (faults_to_server, faults_to_client))" \
    "all(f['reordered'] > 100 and f['duplicated'] > 100 for f in (faults_to_server, faults_to_client))" \
    "faults_to_client['corrupted'] <= damaged + 10 and damaged <= 2 * faults_to_client['corrupted']"
claim "... large answers too, in turn, without timestamps" \
    load 0 hold --connections 1k --payload 1400 --order turn --no-timestamps --fault loss=2,reorder=5 --seed 2
claim "... none lost, none wrong" holds "ok and answered == 3000" "$NONE" "retransmitted > 20"

claim "ten thousand over IPv6, through a bad wire" \
    load 0 hold --family 6 --connections 10k --close --fault loss=1,reorder=1,duplicate=1,corrupt=1
claim "... none lost, none wrong" holds "$ALL" "$NONE" "retransmitted > 200" "damaged > 0"

claim "a thousand connections without hugepages" load 0 hold --connections 1k --hugepage none

claim "requests for two seconds" load 0 request --seconds 2
claim "... all answered" holds "ok and load == 'request' and connections == 1000" "$NONE" \
    "asked == answered > 10000" "ask_s >= 2"

# While the client is stalled its clock is paused, and nothing is due.
claim "requests at a fixed rate for a second" load 0 request --seconds 1 --rate 20k
claim "... each when it was due" holds "ok and rate == 20000" "$NONE" "19000 < due + 0.02 * client_stalled_us" "due <= 20000 * ask_s + 100" "not_started < 2000" \
    "answered == due - not_started" "0 < uncorrected_p50_us <= p50_us" "client_late_starts <= due"
claim "more than anybody answers: what was not started is told" load 0 request --seconds 1 --rate 10M
claim "... and the time it waited counts" holds "ok and not_started > 1000000" "p50_us > 10 * uncorrected_p50_us" "$NONE"

claim "datagrams for a second" load 0 udp --seconds 1
claim "... all echoed" holds "ok and load == 'udp' and payload == 18" "$NONE" "asked == answered > 10000" \
    "duplicates == damaged == late_answers == 0" "server_cycles_per_datagram > 0" "0 < p50_us <= max_us"
claim "large ones over IPv6 at a rate" load 0 udp --seconds 1 --rate 5k --payload 1400 --family 6
claim "... all echoed" holds "ok and rate == 5000" "$NONE" "4500 < answered + 0.005 * client_stalled_us" "answered <= 5100"
claim "through a bad wire datagrams are lost: exit 1" load 1 udp --seconds 1 --rate 20k --fault loss=2,duplicate=2,corrupt=1
claim "... each is counted as what became of it" holds "not ok and wrong == 0" "lost > 100" "duplicates > 100" "damaged > 20" \
    "asked == answered + lost"
claim "wrong echoes: exit 1" load 1 udp --seconds 1 --rate 20k --fault falsify=1
claim "... each is found" holds "not ok and wrong == falsified > 50" "lost <= wrong"

mkdir "$TMP/www"
echo "a page" >"$TMP/www/index.html"
head -c 60000 /dev/urandom >"$TMP/www/big"
WEB="--protocol http --root $TMP/www"
# shellcheck disable=SC2086
{
    claim "10k connections get a page three times" load 0 hold --connections 10k $WEB --close
    claim "... all alike" holds "ok and protocol == 'http' and answered == 30000 and closed == 10000" "$NONE" "answer_bytes > 100"
    claim "a large one, through a bad wire" load 0 request --seconds 1 --connections 100 $WEB --path /big --fault loss=1,reorder=1
    claim "... all alike" holds "ok and answered > 20 and answer_bytes > 60000" "$NONE"
    claim "full connections with HTTP" load 0 rate --seconds 1 --rate 5k $WEB
    claim "... each gets its page" holds "ok and full_done == answered > 2000" "$NONE"
    claim "what is not there: exit 1" load 1 hold --connections 10 $WEB --path /nothing
    claim "... is wrong, each time" holds "not ok and wrong == failed == 10 and answered == 0"
}

claim "bulk from the server for a second, each byte compared" load 0 stream --seconds 1 --connections 4 --no-timestamps --close
claim "... in segments of 1460 bytes" holds "ok and load == 'stream' and direction == 'down'" "$NONE" "closed == 4" \
    "bytes_per_segment == 1460 or (server_retransmitted > 0 and 1400 < bytes_per_segment < 1460)" "goodput_gbps > 1" "server_cycles_per_segment > 0"
claim "bulk to the server for a second" load 0 stream --direction up --seconds 1 --connections 64 --close
claim "... which takes every byte that it acknowledged" holds "ok and direction == 'up'" "$NONE" "closed == 64" \
    "bytes_per_segment == 1448" "goodput_gbps > 1" "server_bytes >= bytes" "server_wrong == 0"
claim "bulk to the server and back for a second" load 0 stream --direction both --seconds 1 --connections 64 --close
claim "... which returns every byte" holds "ok and direction == 'both'" "$NONE" "closed == 64" "goodput_gbps > 0.1"
for way in down up both; do
    claim "bulk $way through a bad wire" load 0 stream --direction $way --seconds 1 --fault loss=1,reorder=1,duplicate=1,corrupt=0.1
    claim "... all right, because much is sent again" holds ok "$NONE" "goodput_gbps > 0.01" \
        "retransmitted + server_retransmitted > 100" "damaged > 0"
done

EACH="ok and full_done == full_begun and lost == wrong == failed == strangers == client_late == 0"
# The client's clock, and its rate, stand still while it does.
AT_RATE="19900 - client_stalled_us / 50 <= full_begun <= 20000 * ask_s + 20"
for who in client server; do
    claim "twenty thousand connections come and go, closed by the $who" load 0 rate --rate 20k --seconds 1 \
        --connections 5k --time-wait $([ $who = client ] && echo 0 || echo 60) --closed-by $who
    claim "... each ended in order, at the rate" holds "$EACH" "$AT_RATE" "retransmitted == 0"
    claim "... with its times" holds "0 < full_p50_us <= full_p99_us <= full_p9999_us <= full_max_us"
done
claim "... whose server kept TIME-WAIT and let younger ones have it" holds \
    "server_time_wait_recycled == full_begun - 5000 > 1000" "server_time_wait_evicted == 0"
for who in client server; do
    claim "through a bad wire, over IPv6, closed by the $who" load 0 rate --family 6 --rate 10k --seconds 1 \
        --connections 8k --time-wait 0 --closed-by $who --fault loss=1,reorder=1,duplicate=1,corrupt=1
    claim "... each ended in order" holds "$EACH" "retransmitted > 100"
done
claim "ports that wait longer than they last: the client says so" load 0 rate --rate 10k --seconds 1.5 --connections 2k --hugepage none
claim "... and charges nobody" holds "full_done == full_begun == 2000 and failed == 0" "client_late > 10000" "client_no_tuple > 0"
claim "beside ten thousand held ones with keepalive, asked meanwhile and in the end" \
    load 0 rate --rate 10k --seconds 2 --time-wait 1 --hold 10k --asks 5k --keepalive 1
claim "... none is lost" holds "$EACH" "opened == 10000 and held_asked >= 19000" "probes > 0"
claim "good connections through a flood of SYNs" load 0 syn --seconds 1 --rate 1k --flood 100k
claim "... all, by cookies" holds "$EACH" "full_begun > 300 and flood_syns > 30000" "flood_answers > 30000" \
    "server_syncookies_sent > 5000 and server_syncookies_received > 0"

claim "a server that answers something else: exit 1" load 1 hold --connections 10k --fault falsify=1
claim "... each lie is a wrong answer, nothing else is" holds "not ok" "wrong == falsified > 100" \
    "answered == 30000 and lost == failed == 0"
claim "one lie in a hundred thousand is found" load 1 hold --connections 10k --rounds 100 --fault falsify=0.001
claim "... and counted" holds "0 < wrong == falsified < 50"

claim "no connections are refused" refused "--connections 0: expected 1 to 200M" hold --connections 0
claim "a word for a number is refused" refused "--rounds x: expected 1 to 1M" hold --rounds x
claim "an unknown load is refused" refused "flood: expected hold, request, stream, rate, syn or udp" flood
claim "no load is refused" refused "expected a load"
claim "an unknown fault is refused" refused "--fault los=2: expected loss, reorder, " hold --fault los=2
help() { grep -q '^  --fault LIST' <<<"$("$C10M" load --help)" && grep -q '^usage: c10m load' <<<"$("$C10M" load hold --help)"; }
claim "--help says how" help

# run_and_signal SIGNAL WHEN ARGUMENTS...: the load (or SUBCOMMAND) gets the signal after WHEN seconds, or once it wrote a
# line that matches WHEN; true if it ends soon, long before its time, with status 1, or WANT.
run_and_signal() {
    local signal=$1 when=$2 status=0
    shift 2
    env --default-signal=INT "$C10M" ${SUBCOMMAND:-load} "$@" >"$TMP/json" 2>"$TMP/err" &
    LOAD=$!
    case $when in
    [0-9]*) sleep "$when" ;;
    *) until grep -qE "$when" "$TMP/err" || ! kill -0 $LOAD; do sleep 0.1; done ;;
    esac
    kill -s "$signal" $LOAD
    timeout 20 tail --pid=$LOAD -s 0.1 -f /dev/null
    wait $LOAD || status=$?
    PID=$LOAD
    LOAD=
    echo "exit $status"
    [ $status = "${WANT:-1}" ]
}
left() { ls -d /run/c10m/huge/{,2M/,1G/}*c10m{load,bench}"$PID"* /var/run/dpdk/c10m{load,bench}"$PID" 2>/dev/null; }
nothing_left() { ! left | grep .; }
claim "Ctrl-C ends it: exit 1" run_and_signal INT '^ +2 s ' request --connections 100 --seconds 60
claim "... after a line each second" grep -qE '^ +1 s  opened 100  answered [0-9]+ ' "$TMP/err"
claim "... with its table" grep -qE '^verdict +FAILED: interrupted' "$TMP/json"
claim "... and nothing left behind" nothing_left
WANT=0 claim "SIGUSR1 ends the requests before their time: exit 0" run_and_signal USR1 '^ +1 s ' request --connections 100 --seconds 60 --close --json
claim "... all are answered, and all connections closed" holds "ok and not interrupted and closed == 100" "asked == answered" "$NONE"
WANT=0 claim "... transfers too" run_and_signal USR1 '^ +1 s ' stream --direction both --connections 100 --seconds 60 --close --json
claim "... whose bytes have all come back" holds "ok and not interrupted and closed == 100" "$NONE"
claim "a wire that carries nothing, until SIGTERM: exit 1" \
    run_and_signal TERM 1.8 hold --connections 10 --fault loss=100 --json
claim "... every answer is lost" holds "interrupted and not ok" "opened == asked == answered == 0" \
    "lost == 30" "retransmitted <= 10"
claim "... and nothing left behind" nothing_left
for kind in roofline echo; do
    SUBCOMMAND=bench claim "Ctrl-C ends bench $kind: exit 1" run_and_signal INT 1.5 $kind --connections 1k --seconds 60
    claim "... and says so" grep -q "^c10m bench $kind: interrupted" "$TMP/err"
    claim "... and nothing left behind" nothing_left
done
[ "$FAILED" = 0 ]
