#!/usr/bin/env bash
# slowhttptest's three attacks with 4,096 connections each, and what they may not do: while they last
# a second client's pages keep coming; each limit that held counts.
. "$(dirname "$0")/lib.sh"
CONNECTIONS=4096
SECONDS_EACH=16
ulimit -n 16384
head -c 1000000 /dev/zero >"$TMP/site/big.bin"
write_conf

app() { awk -v n="$1" '$1 == n { print $2 }' "$TREE/apps/web/counters"; }
drop() { awk -v n="$1" '$1 == n { s += $2 } END { print s + 0 }' "$TREE"/cores/*/drops; }

# attack OPTION...: from 10.99.0.1, while 10.99.0.3 fetches a page as often as it can. Leaves the
# pages that came and those that did not in $TMP/pages, slowhttptest's words in $TMP/attack.
attack() {
    local good=0 bad=0 slowest=0 seconds pid before
    before=$(counter conns_opened_passive)
    timeout $((SECONDS_EACH + 10)) nsenter --net=/run/netns/"$NS" slowhttptest -c $CONNECTIONS -r 1500 \
        -l "$SECONDS_EACH" -i 2 -p 5 -v 1 "$@" >"$TMP/attack" 2>&1 &
    pid=$!
    most=0
    while kill -0 $pid 2>/dev/null; do
        if seconds=$(inside curl -sf -m 5 --interface 10.99.0.3 -o /dev/null -w '%{time_total}' http://10.99.0.2/); then
            good=$((good + 1))
            slowest=$(printf '%s\n%s\n' "$slowest" "$seconds" | sort -g | tail -1)
        else
            bad=$((bad + 1))
        fi
        now=$(counter connections_now)
        most=$((now > most ? now : most))
        sleep 0.1
    done
    wait $pid || true
    opened=$(($(counter conns_opened_passive) - before - good))
    echo "   $good pages came, $bad did not; the slowest took $slowest s; of $opened connections at most $most at a time"
    echo "$good $bad" >"$TMP/pages"
}
served() { read -r good bad <"$TMP/pages"; [ "$bad" = 0 ] && [ "$good" -ge "$SECONDS_EACH" ] || { cat "$TMP/attack"; false; }; }
rose() { [ "$(app "$1")" -gt "$2" ] || { echo "$1 was $2"; cat "$TREE/apps/web/counters"; false; }; }
gone() { for _ in $(seq 100); do [ "$(counter connections_now)" -le 1 ] && return 0; sleep 0.1; done; counter connections_now; false; }

# start NAME SETTING...: with times short enough to see them end.
start() {
    local settings=() s
    for s in header_timeout_ms=8s body_timeout_ms=4s write_timeout_ms=8s keepalive_timeout_ms=4s "${@:2}"; do
        settings+=(--set "service.web.$s")
    done
    claim "the server starts $1" start_server "${settings[@]}"
    inside ip addr add 10.99.0.3/24 dev c10mt0
}

start "with its own limits"

attack -H -u http://10.99.0.2/ -x 24
claim "slowloris: the second client has its pages" served
claim "... $CONNECTIONS connections were opened" [ $opened -ge $((CONNECTIONS - 100)) ]
claim "... many at a time" [ $most -ge $((CONNECTIONS / 4)) ]
claim "... heads without their end ended by time, a quarter of header_bytes_held" rose header_timeouts 1000
claim "... and the others of that address were refused" rose source_shares 1000
claim "... all of them are gone" gone

attack -B -u http://10.99.0.2/ -s 8192 -x 10
claim "slow body: the second client has its pages" served
claim "... content without its end ended by time" rose body_timeouts $((CONNECTIONS / 2))
claim "... and content that nobody wants took no hold" [ "$(app holds_empty)" = 0 ]
claim "... all of them are gone" gone

attack -X -u http://10.99.0.2/big.bin -w 1 -y 512 -n 1 -z 5 -k 3
claim "slow read: the second client has its pages" served
claim "... $CONNECTIONS connections were opened" [ $opened -ge $((CONNECTIONS - 100)) ]
claim "... many at a time" [ $most -ge $((CONNECTIONS / 4)) ]
claim "... who took too little was reset" rose stalled_aborted $((CONNECTIONS / 2))
claim "... all of them are gone" gone
claim "no buffer stays behind" [ "$(counter buffers_now)" = 0 ]
claim "no packet leaks" balance_is_zero
claim "the server stops" stop_server

SECONDS_EACH=6
start "with a limit on header bytes" header_bytes_held=1M
attack -H -u http://10.99.0.2/ -x 24
claim "a limit on header bytes: the second client has its pages" served
claim "... about as many heads are held as it allows one address, 128" [ $most -le 1000 ]
claim "... and the others are counted" rose heads_not_held $((CONNECTIONS / 2))
claim "the server stops" stop_server

start "with a limit for each address" source_connections=100
attack -H -u http://10.99.0.2/
claim "an address at its limit: the second client has its pages" served
claim "... the attacker has as many connections as he may" [ $most -ge 100 -a $most -le 102 ]
claim "... and the others are counted" [ "$(drop source_connections)" -gt 1000 ]
claim "... no address is remembered without a connection" eval 'gone && [ "$(counter sources_now)" = 0 ]'
claim "no packet leaks" balance_is_zero
claim "the server stops" stop_server

start "with a limit for the service" limit_connections=50
attack -H -u http://10.99.0.2/
claim "a service at its limit: there are no more connections" [ $most -le 51 ]
claim "... and the others are counted" [ "$(drop service_connections)" -gt 1000 ]
claim "the server stops" stop_server
finish
