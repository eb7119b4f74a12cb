#!/usr/bin/env bash
# No cache line is written by two threads but those of the ring port: every write of the program is
# seen, under load and while it serves over TAP with three workers, a log and readers of the tree.
# Neither is a locked instruction reached by these three (scripts/check-locks --run has the load).
. "$(dirname "$0")/lib.sh"
BUILD=$(dirname "$(dirname "$C10M")")
LINES=$BUILD/lines  # kept: scripts/test builds it ahead
claim "load with 1, 2 and 3 workers writes no line from two threads" "$HERE/../../scripts/check-lines" "$BUILD" "$LINES"
sed 's/^/   /' "$TMP/out"

write_conf
sed -i "s|^root = .*|&\necho_path = /echo\naccess_log = $TMP/log.web\nsource_connections = 100|
        s|^\[memory\]|[cpu]\nlinux = 0\nworkers = 1\nworkers_per_core = 3\n&\nhugepage = none|" "$TMP/conf"
head -c 1000000 /dev/urandom >"$TMP/site/big"
C10M=$LINES/c10m
export LINES_WORKERS=3 LINES_OUT=$TMP/seen
claim "the same program serves" start_server
all_services() {
    inside python3 "$HERE/inetd.py" 10.99.0.2 && inside ab -q -k -n 2000 -c 50 http://10.99.0.2/ && inside curl -sf -m 20 -o /dev/null http://10.99.0.2/big &&
        inside curl -sf -m 5 -d content http://10.99.0.2/echo && inside ping -c 3 -i 0.2 -W 2 -q 10.99.0.2
}
claim "... all its services" all_services
claim "... and readers of its tree" eval 'find "$TREE" -type f ! -path "*/ctl/*" ! -path "*/dump*" ! -path "*/prof/*" -exec cat {} + | grep -c ^balance'
claim "... with every worker" eval '! grep -hx "conns_opened_passive 0" "$TREE"/cores/*/counters'
claim "... stops" stop_server
claim "none of it wrote a line from two threads" "$HERE/../../scripts/check-lines" "$C10M" "$LINES_OUT"
sed 's/^/   /' "$TMP/out"

claim "each locked instruction of the data path becomes a trap" "$HERE/../../scripts/check-locks" "$BUILD/src/c10m" --traps "$LINES/trapped"
C10M=$LINES/trapped
claim "the program with the traps serves" start_server
claim "... all its services" all_services
claim "... and stops" stop_server
finish
