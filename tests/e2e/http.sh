#!/usr/bin/env bash
# A page through a TAP: curl, wrk, ab, hey, a large file, ping; the tree; nothing left behind.
. "$(dirname "$0")/lib.sh"
dd if=/dev/urandom of="$TMP/site/big" bs=1M count=100 status=none
PAGES=$(cat /sys/kernel/mm/hugepages/*/free_hugepages)
write_conf
start_server
URL=http://10.99.0.2

claim "ping is answered" inside ping -c 3 -i 0.2 -W 15 10.99.0.2
claim "curl fetches the page" bash -c "nsenter --net=/run/netns/$NS curl -si $URL/ | grep -q '^HTTP/1.1 200'"
claim "a missing page is 404" bash -c "[ \$(nsenter --net=/run/netns/$NS curl -so /dev/null -w '%{http_code}' $URL/no) = 404 ]"
head_only() { inside curl -sI -m 5 $URL/ >"$TMP/head" && grep -qi '^content-length: 15' "$TMP/head"; }
claim "HEAD answers with the length of the page" head_only
method() { [ "$(inside curl -so /dev/null -m 5 -X DELETE -w '%{http_code}' $URL/)" = 405 ]; }
claim "a method that does not exist is 405" method
escape() { [ "$(inside curl -so /dev/null -m 5 --path-as-is -w '%{http_code}' "$URL/../conf")" = 400 ]; }
claim "nothing above the root is served" escape
# curl says for each transfer how many connections it had to open.
keep_alive() { [ "$(inside curl -s -m 5 -o /dev/null -o /dev/null -o /dev/null -w '%{num_connects}' $URL/ $URL/ $URL/)" = 100 ]; }
claim "three requests share a connection" keep_alive
same_file() { inside curl -s -m 60 $URL/big | cmp - "$TMP/site/big"; }
claim "100 MB arrive exactly" same_file
without_errors() { inside wrk -t1 -c100 -d"${WRK_S:-3}"s $URL/ >"$TMP/wrk" && ! grep -E 'Socket errors|Non-2xx' "$TMP/wrk"; }
claim "wrk ends without an error" without_errors
ab_clean() { inside ab -q -k -n "${AB_N:-20000}" -c 50 $URL/ >"$TMP/ab" && grep -q 'Failed requests: *0$' "$TMP/ab" && ! grep 'Non-2xx' "$TMP/ab"; }
claim "ab ends without an error" ab_clean
hey_clean() {  # its answers are lines "[CODE] COUNT responses"; hey rounds the count down to full workers
    inside hey -n "${HEY_N:-20000}" $URL/ >"$TMP/hey" && grep -q '\[200\].*responses' "$TMP/hey" &&
        ! grep -E 'Error|\[[^2]..\].*responses' "$TMP/hey"
}
claim "hey ends without an error" hey_clean
header_1mb() { [ "$(head -c 1000000 /dev/zero | tr '\0' a | inside curl -so /dev/null -w '%{http_code}' -H @<(printf 'X: '; head -c 1000000 /dev/zero | tr '\0' a) $URL/ || true)" = 431 ]; }
claim "1 MB of header is 431" header_1mb
slow_loris() { inside python3 "$HERE/slow_loris.py" 10.99.0.2; }
claim "a header that never ends is answered by 408 and closed" slow_loris
for file in version uptime config mem/ledger mem/arenas net/arp net/sockstat net/snmp ports/tap0/driver \
    ports/tap0/mac ports/tap0/counters cores/1/state cores/1/counters cores/1/drops cores/1/cycles cores/1/latency \
    cores/1/stalls cores/1/stall_causes; do
    claim "the tree has $file" bash -c "cat $TREE/${file/cores\/1/cores/*} | grep -q ."
done
claim "every received packet is accounted for" balance_is_zero
claim "the server stops on SIGTERM" stop_server
left() {
    ! inside ip link show c10mt0 && ! grep "$TMP" /proc/mounts && ! pgrep -f "$TMP/conf" &&
        [ "$(cat /sys/kernel/mm/hugepages/*/free_hugepages)" = "$PAGES" ]
}
claim "nothing is left behind" left
finish
