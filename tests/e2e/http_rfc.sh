#!/usr/bin/env bash
# HTTP to the letter, over a TAP: raw requests and their answers, curl's ranges, codings and content.
. "$(dirname "$0")/lib.sh"
head -c 300000 /dev/urandom >"$TMP/site/big"
seq 20000 >"$TMP/site/plain.txt"
gzip -nk "$TMP/site/plain.txt"
write_conf
sed -i "s|^root = .*|&\necho_path = /echo\nheaders_path = /headers\nbody_timeout_ms = 2000\naccess_log = $TMP/log.web|" "$TMP/conf"
start_server
URL=http://10.99.0.2
get() { inside curl -s -m 20 "$@"; }

claim "each raw request has the answer of the RFCs, cut at every byte" inside python3 "$HERE/http_rfc.py" 10.99.0.2 "$TMP/site"
one_range() { get -r 1000-250000 $URL/big | cmp - <(tail -c +1001 "$TMP/site/big" | head -c 249001); }
claim "curl gets one range" one_range
resumed() {
    head -c 123456 "$TMP/site/big" >"$TMP/part"
    get -C - -o "$TMP/part" $URL/big && cmp "$TMP/part" "$TMP/site/big"
}
claim "curl resumes a download" resumed
packed() {
    get --compressed $URL/plain.txt | cmp - "$TMP/site/plain.txt" &&
        get -H 'Accept-Encoding: gzip' $URL/plain.txt | cmp - "$TMP/site/plain.txt.gz" &&
        get $URL/plain.txt | cmp - "$TMP/site/plain.txt"
}
claim "the packed file goes to those who accept it" packed
posted() { head -c 65536 "$TMP/site/big" | get --data-binary @- $URL/echo | cmp - <(head -c 65536 "$TMP/site/big"); }
claim "64 KiB of content are answered, behind 100 (Continue)" posted
chunked() { head -c 60000 "$TMP/site/big" | get -H 'Transfer-Encoding: chunked' --data-binary @- $URL/echo | cmp - <(head -c 60000 "$TMP/site/big"); }
claim "so is content in chunks" chunked
claim "more is 413" bash -c "[ \$(head -c 65537 $TMP/site/big | nsenter --net=/run/netns/$NS curl -s -m 20 -o /dev/null -w '%{http_code}' --data-binary @- $URL/echo) = 413 ]"
tag() { get -I $URL/big | tr -d '\r' | sed -n 's/^ETag: //p'; }
claim "a known tag is 304" bash -c "[ \$(nsenter --net=/run/netns/$NS curl -s -o /dev/null -w '%{http_code}' -H 'If-None-Match: $(tag)' $URL/big) = 304 ]"
lines() { wc -l <"$TMP/log.web"; }
web() { awk -v n="$1" '$1 == n { print $2 }' "$TREE/apps/web/$2"; }
logged() {
    local before
    before=$(lines)
    get -A agent -e referer -o /dev/null "$URL/log?me"
    within 30 line_of_it "$before"
}
line_of_it() {  # line_of_it BEFORE: behind so many lines
    tail -n +$(($1 + 1)) "$TMP/log.web" >"$TMP/new"
    grep -Ex '10\.99\.0\.1 - - \[[^]]{26}\] "GET /log\?me HTTP/1\.1" 404 9 "referer" "agent"' "$TMP/new"
}
claim "a line of the access log tells who asked for what" logged
accounted() {
    inside wrk -t1 -c50 -d2s $URL/ >"$TMP/wrk"
    within 30 no_line_missing
}
no_line_missing() {
    # Answers to what was no head are lines too, but no requests.
    [ "$(lines)" = "$(web records_written log)" ] && [ "$(web records_lost log)" = 0 ] &&
        [ $(($(lines) + $(web log_dropped counters))) -ge "$(web requests counters)" ]
}
claim "each answer has a line or is counted as dropped" accounted
# log_is_open: the server has the file of that name open; it looks for another one at a line, once a second.
log_is_open() {
    inside curl -s -m 5 -o /dev/null $URL/
    find "/proc/$SERVER/fd" -lname "$TMP/log.web" | grep -q .
}
has_grown() { [ "$(web "$1" "$2")" -gt "$3" ]; }
slow_log() {  # the control thread hangs in its write: the worker goes on
    mv "$TMP/log.web" "$TMP/log.old"
    mkfifo "$TMP/log.web"
    sleep 100 <>"$TMP/log.web" &
    local holder=$! reader dropped
    within 30 log_is_open || return 1
    dropped=$(web log_dropped counters)
    inside wrk -t1 -c50 -d2s $URL/ >"$TMP/wrk"
    inside curl -s -m 5 -o /dev/null $URL/ || return 1
    cat "$TMP/log.web" >"$TMP/log.late" &
    reader=$!
    within 30 has_grown log_dropped counters "$dropped" || return 1
    within 30 came_late || return 1
    kill $holder $reader  # nobody reads any more: lines are lost, the server is not
    inside curl -s -m 5 -o /dev/null $URL/ || return 1
    within 30 has_grown records_lost log 0
}
came_late() { [ "$(wc -l <"$TMP/log.late")" -gt 1000 ]; }
claim "a log that takes nothing costs lines, counted, and no answer" slow_log
claim "every received packet is accounted for" balance_is_zero
claim "the server stops" stop_server
TRAP=$(dirname "$C10M")/../tests/libmalloc_trap.so
trapped() {
    rm -f "$TMP/log.web"
    LD_PRELOAD=$TRAP start_server && grep -q malloc_trap "/proc/$SERVER/maps" && inside python3 "$HERE/http_rfc.py" 10.99.0.2 "$TMP/site" && stop_server &&
        ! grep malloc_trap "$TMP/log"
}
[ -e "$TRAP" ] && claim "none of it allocates in the worker" trapped
finish
