#!/usr/bin/env bash
# Profiles of a state, by Go's tool and URL: what fills the memory is named and the sums are those of mem/; connections by
# what they wait for; a stall by its cause; the stages.
. "$(dirname "$0")/lib.sh"
PATH=$PATH:/usr/local/go/bin
command -v go >/dev/null || { echo "skipped: no go"; exit 77; }
export PPROF_TMPDIR=$TMP/pprof
go_home
write_conf
sed -i "s,^\[memory\],http = 127.0.0.1:9910\n&\nhugepage = none," "$TMP/conf"
URL=http://127.0.0.1:9910/debug/pprof

pprof() { inside go tool pprof "$@" 2>"$TMP/pprof.err" || { cat "$TMP/pprof.err"; return 1; }; }
take() { inside curl -sSf --max-time 60 -o "$TMP/$1" "$URL/$2"; }
# flat, cum PROFILE VALUE NAME: what -top says of a frame, in the unit of the value; 0: it has no such frame.
column() { pprof -top -nodefraction=0 -edgefraction=0 -nodecount=0 -unit="$5" -sample_index="$2" "$TMP/$1" |
    awk -v n="$3" -v c="$4" '{ v = $c; for (i = 0; i < 5; i++) sub(/^ *[^ ]+ +/, ""); if ($0 == n) { sub(/[A-Za-z]+$/, "", v); print v; found = 1; exit } } END { if (!found) print 0 }'; }
cum() { column "$1" "$2" "$3" 4 "$4"; }
flat() { column "$1" "$2" "$3" 1 "$4"; }
is() { [ "$1" = "$2" ] || { echo "$1 and not $2"; return 1; }; }
value() { awk -v n="$2" '$1 == n { gsub(",", ""); print $3 != "" ? $4 : $2; exit }' "$TREE/$1"; }

start_server
# clients SERVICE_PORT NUMBER BYTES: that many connections, each sends so many bytes and reads nothing.
cat >"$TMP/clients.py" <<'PY'
import select, signal, socket, sys
kept = []
for i in range(1, len(sys.argv), 3):
    port, number, size = map(int, sys.argv[i:i + 3])
    for _ in range(number):
        s = socket.create_connection(("10.99.0.2", port))
        kept.append(s)
        s.setblocking(False)
        left = size
        while left > 0 and select.select([], [s], [], 1)[1]:  # until nothing moves any more
            left -= s.send(b"x" * min(left, 65536))
open(sys.argv[0] + ".there", "w").close()
signal.pause()
PY
nsenter --net=/run/netns/"$NS" python3 "$TMP/clients.py" 9 30 0 7 10 40000000 19 3 0 &
CLIENTS=$!
claim "connections are there" within 60 test -e "$TMP/clients.py.there"
sleep 1  # until the queues are full

# ---- memory
claim "a heap profile is taken" take heap heap
reserved_is() { is "$(cum heap reserved_space "$1" B)" "$(value mem/ledger "$1")"; }
for region in blocks extensions time_wait buffers packets worker; do
    claim "what $region reserve is in the ledger" reserved_is $region
done
claim "connection blocks in use are those of mem/pools" eval 'is "$(flat heap inuse_objects "connection block" count)" 43'
claim "... as the pool says" grep -qx "blocks_used_now 43" "$TREE/mem/pools"
buffers_in_use() { cum heap inuse_objects buffers count; }
near() { awk -v a="$1" -v b="$2" 'BEGIN { d = a - b; exit !(d * d <= 25 + b * b / 400) }' || { echo "$1 and not about $2"; return 1; }; }
all_buffers() { echo $(($(value mem/pools buffers_used_now) + $(value mem/pools references_used_now) + 1)); }
claim "buffers in use are those of mem/pools" eval 'near "$(buffers_in_use)" "$(all_buffers)"'
claim "a hog that reads nothing is named" eval 'pprof -tags "$TMP/heap" >"$TMP/tags" && awk "/ app: Total/ { getline; exit !/: echo\$/ }" "$TMP/tags" || { cat "$TMP/tags"; false; }'
claim "... its queues are what it holds" eval '[ "$(pprof -top -tagfocus=service=echo "$TMP/heap" | grep -cE " (send|receive) queue$")" -ge 1 ]'
claim "allocs has Go's four values" eval 'take allocs allocs && for v in alloc_objects alloc_space inuse_objects inuse_space; do pprof -top -sample_index=$v "$TMP/allocs" | grep -q "^Type: $v" || return 1; done'
claim "a difference by URL" eval 'pprof -top "$URL/heap?seconds=1" | grep -q "^Duration: 1"'

# ---- connections
claim "goroutines are connections" take goroutine goroutine
claim "... 43 of them" eval 'is "$(cum goroutine goroutine ESTABLISHED count)" 43'
claim "... that wait for data" eval 'is "$(cum goroutine goroutine "waits for data" count)" 30'
claim "... or for a window that is shut" eval '[ "$(cum goroutine goroutine "waits for window" count)" -ge 3 ]'
listed() { inside curl -sSf -G --data-urlencode "filter=$1" -d debug=2 "$URL/goroutine" | grep -c '^goroutine '; }
claim "the list has those that a filter selects" eval 'is "$(listed "service discard")" 30 && is "$(listed "remote 10.99.0.1 local *:7")" 10'
bad_filter() { is "$(inside curl -s -o "$TMP/said" -w '%{http_code}' "$URL/goroutine?filter=service%20none")" 400 && grep -q expected "$TMP/said"; }
claim "a filter that is none is refused" bad_filter

# ---- waiting, threads, stages
CORE=$(basename "$TREE"/cores/*)
take before block
stall() { taskset -c "$CORE" timeout 2 sh -c 'while :; do :; done' || true; }
claim "a thread that takes the worker's core away" stall
preempted() { take block block && [ "$(flat block contentions preempted count)" -gt "$(flat before contentions preempted count)" ]; }
claim "... is named as the cause, preempted" within 10 preempted
claim "... with its time" eval '[ "$(flat block delay preempted us | cut -d. -f1)" -gt 1000 ]'
claim "sends at their limit are counted" eval '[ "$(cum block contentions "send limit" count)" -ge 1 ]'
claim "mutex is there, and empty" eval 'take mutex mutex && pprof -raw "$TMP/mutex" >"$TMP/raw" && ! grep -q "^ *[0-9]* *[0-9]*: 1" "$TMP/raw"'
claim "threads by who made them" eval 'take threads threadcreate && [ "$(cum threads threadcreate "server start" count)" = 1 ] && [ "$(cum threads threadcreate DPDK count)" -ge 1 ]'
claim "stages by core" eval 'take stages stages && [ "$(cum stages looks "core c$CORE" count)" -ge 50 ]'
claim "... as cores/N/stages has them" eval '[ "$(awk "\$1 == \"looks\" { print \$2 }" "$TREE/cores/$CORE/stages")" -ge 50 ]'

# ---- while connections come and go
kill $CLIENTS
wait $CLIENTS 2>/dev/null || true
churn() { inside python3 -c '
import socket
for _ in range(3000):
    s = socket.create_connection(("10.99.0.2", 7)); s.send(b"x"); s.recv(1); s.close()'; }
churn &
CHURN=$!
many() { local i; for i in 1 2 3 4 5; do take heap heap && take goroutine goroutine && inside curl -sSf -o "$TMP/list" "$URL/goroutine?debug=2" || return 1; done; }
claim "profiles are taken while connections come and go" many
claim "... which does not stop them" wait $CHURN
claim "what was taken and given back is in alloc_objects" eval 'take allocs allocs && [ "$(flat allocs alloc_objects "connection block" count)" -ge 3000 ]'
claim "the server stops" stop_server
finish
