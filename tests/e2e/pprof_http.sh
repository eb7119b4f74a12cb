#!/usr/bin/env bash
# Profiles by URL, as files of the tree, and by flags: every route with its status, type and headers; tokens; several
# at a time; clients that go; a server that stops in the middle.
. "$(dirname "$0")/lib.sh"
write_conf
URL=http://127.0.0.1:9910
P=$URL/debug/pprof
fetch() { inside curl -sS --max-time 60 "$@"; }
# begin FILE URL: in the background; BEGUN is the process of curl itself.
begin() { nsenter --net=/run/netns/"$NS" curl -sS --max-time 600 -o "$1" "$2" & BEGUN=$!; }
ended() { kill "$1" && { wait "$1" || true; }; }
one_runs() { [ "$(counts runs_now)" = 1 ]; }
# asks STATUS TYPE URL...: the answer has this status and this media type; its head is in $TMP/head, its body in $TMP/body.
asks() {
    local want=$1 type=$2 got
    shift 2
    got=$(fetch -D "$TMP/head" -o "$TMP/body" -w '%{http_code} %{content_type}' "$@") || return 1
    [ "$got" = "$want $type" ] && return 0
    echo "$* gave $got"
    head -c 500 "$TMP/body"
    return 1
}
TEXT="text/plain; charset=utf-8" BINARY=application/octet-stream HTML="text/html; charset=utf-8"
head_has() { grep -qiE "^$1"$'\r$' "$TMP/head" || { cat "$TMP/head"; return 1; }; }
is_gzip() { gzip -t "$1" || { head -c 300 "$1"; return 1; }; }
kinds() { fetch "$P/" | grep -oE 'a href="[a-z]+(\?debug=1)?">' | grep -oE '"[a-z]+' | tr -d '"' | sort -u | grep -vE '^(cmdline|symbol|flight)$'; }  # flight: trace.sh
timed() { case $1 in profile | trace) echo '?seconds=1' ;; esac; }
counts() { awk -v n="$1" '$1 == n { print $2 }' "$TREE/control/prof"; }
none_runs() { [ "$(counts runs_now)" = 0 ] || { cat "$TREE/prof/runs"; return 1; }; }
threads() { grep -lsE '^prof-' /proc/"$SERVER"/task/*/comm | wc -l; }
no_thread() { [ "$(threads)" = 0 ]; }

claim "the server starts" start_server
KINDS=$(kinds)

index() {
    asks 200 "$HTML" "$P/" && grep -q '<title>/debug/pprof/' "$TMP/body" &&
        grep -q 'href="profile"' "$TMP/body" && grep -q 'href="heap?debug=1"' "$TMP/body"
}
claim "the index lists the profiles" index
claim "... also without the last /, by a redirect" eval 'asks 200 "$HTML" -L "$P" && asks 301 "$TEXT" "$P" && head_has "location: pprof/"'

# Every kind of the index, as Go answers it.
each_kind() {
    local k
    for k in $KINDS; do
        asks 200 "$BINARY" "$P/$k$(timed "$k")" && head_has "content-disposition: attachment; filename=\"$k\"" &&
            head_has "x-content-type-options: nosniff" && [ -s "$TMP/body" ] || { echo "$k"; return 1; }
        case $k in trace) ;; *) is_gzip "$TMP/body" || { echo "$k"; return 1; } ;; esac
    done
    [ "$(wc -w <<<"$KINDS")" -ge 2 ]
}
claim "every profile is there: $(echo $KINDS)" each_kind
each_text() {
    local k
    for k in $KINDS; do
        case $k in profile | trace) continue ;; esac
        asks 200 "$TEXT" "$P/$k?debug=1" && ! grep -qi '^content-disposition' "$TMP/head" || { echo "$k"; return 1; }
    done
}
claim "... those of a state also as text" each_text
each_head() {
    local k before
    before=$(counts started)
    for k in $KINDS cmdline symbol; do
        [ "$(fetch -I -o /dev/null -w '%{http_code}' "$P/$k")" = 200 ] || { echo "$k"; return 1; }
    done
    [ "$(counts started)" = "$before" ]
}
claim "HEAD answers at once, and takes none" each_head
claim "cmdline is the command line" eval 'asks 200 "$TEXT" "$P/cmdline" && cmp "$TMP/body" <(head -c -1 /proc/$SERVER/cmdline)'

# A function of the program: its address in the file, moved to where the file is mapped. What was inlined there has the
# name, as in Go and in addr2line.
symbol() {
    local base at name
    base=$(awk -v f="$C10M" '$6 == f && $3 == "00000000" { split($1, a, "-"); print a[1]; exit }' "/proc/$SERVER/maps")
    at=$(nm "$C10M" | awk '$3 == "main" { print $1 }')
    name=$(addr2line -f -e "$C10M" "$at" | head -n 1)
    at=$(python3 -c 'import sys; print(hex(int(sys.argv[1], 16) + int(sys.argv[2], 16)))' "$base" "$at")
    asks 200 "$TEXT" "$P/symbol?$at+0x1+$at" && diff "$TMP/body" <(printf 'num_symbols: 1\n%s %s\n%s %s\n' "$at" "$name" "$at" "$name") &&
        asks 200 "$TEXT" -d "$at" "$P/symbol" && grep -q " $name$" "$TMP/body"
}
claim "symbol names a function, asked by GET and by POST" symbol

malformed() {
    asks 400 "$TEXT" "$P/profile?seconds=soon" && grep -q '^seconds: expected a number from 0 to 3600, got "soon"$' "$TMP/body" &&
        head_has "x-go-pprof: 1" && asks 400 "$TEXT" "$P/heap?debug=3" && asks 400 "$TEXT" "$P/heap?filter=%0a" &&
        asks 404 "$TEXT" "$P/nothing" && grep -q '^Unknown profile$' "$TMP/body" &&
        asks 405 "$TEXT" -X POST -d x "$P/heap" && asks 404 "$TEXT" "$URL/debug/pprofile"
}
claim "what is malformed or not there is refused and says why" malformed
hostile() {
    local long
    long=$(printf 'a%.0s' {1..3000})
    asks 400 "$TEXT" "$P/heap?filter=$long" && asks 414 "$TEXT" "$P/symbol?$(printf '0x1+%.0s' {1..2500})" || return 1
    # More parameters than libmicrohttpd has room for: it answers itself, or ends the connection.
    fetch -o /dev/null -w '%{http_code}' "$P/heap?$(printf 'seconds&%.0s' {1..3000})" >"$TMP/said" || true
    grep -qE '^(000|4..)$' "$TMP/said" || { cat "$TMP/said"; return 1; }
    asks 200 "$BINARY" "$P/heap" && within 20 none_runs
}
claim "hostile queries harm nobody" hostile

# asks_as_nobody STATUS URL: as a user of this host who is not root.
asks_as_nobody() {
    local got
    got=$(inside setpriv --reuid 65534 --regid 65534 --clear-groups curl -sS --max-time 60 -o /dev/null -w '%{http_code}' "$2") && [ "$got" = "$1" ] ||
        { echo "$2 gave $got"; return 1; }
}
others() {
    asks_as_nobody 403 "$P/profile?seconds=1" && asks_as_nobody 403 "$P/symbol?0x1" && asks_as_nobody 200 "$P/heap" &&
        asks_as_nobody 200 "$P/" && asks_as_nobody 200 "$P/goroutine?debug=1"
}
claim "what tells where code is, is for root on this host" others

takes_its_time() {
    local began=$EPOCHREALTIME
    asks 200 "$BINARY" "$P/profile?seconds=2" && is_gzip "$TMP/body" &&
        python3 -c 'import sys; took = float(sys.argv[2]) - float(sys.argv[1]); print(took); sys.exit(not 2 <= took < 3 + 5)' "$began" "$EPOCHREALTIME"
}
claim "a profile takes its seconds" takes_its_time
beside() {
    local k
    begin "$TMP/p1" "$P/profile?seconds=3"
    within 5 one_runs || return 1
    grep -qE '^profile uid:0 3 takes [0-9]+$' "$TREE/prof/runs" || { cat "$TREE/prof/runs"; return 1; }
    for k in heap goroutine; do
        [[ " $(echo $KINDS) " = *" $k "* ]] || continue
        asks 200 "$BINARY" "$P/$k" && is_gzip "$TMP/body" || return 1
    done
    inside curl -sf -m 5 http://10.99.0.2/ | grep -q hello && asks 200 "text/plain; version=0.0.4; charset=utf-8" "$URL/metrics" || return 1
    wait "$BEGUN" && is_gzip "$TMP/p1"
}
claim "others are served while one is taken" beside
goes() {
    begin /dev/null "$P/profile?seconds=600"
    within 5 one_runs && ended "$BEGUN" && within 10 none_runs && within 10 no_thread && asks 200 "$BINARY" "$P/profile?seconds=1"
}
claim "a client that goes ends its profile, and the next one gets it" goes
longer_than_a_request() {  # 30 s: HTTP_TIMEOUT_S
    asks 200 "$BINARY" "$P/profile?seconds=33" && is_gzip "$TMP/body"
}
claim "a profile may take longer than other requests" longer_than_a_request

# ---- with Go's tool, where it is
GO=$(command -v go || ls /usr/local/go/bin/go 2>/dev/null || true)
pprof() { PPROF_TMPDIR=$TMP inside "$GO" tool pprof "$@"; }
if [ -n "$GO" ]; then
    claim "go tool pprof reads a CPU profile by URL" eval 'pprof -top "$P/profile?seconds=1" && grep -q "^Type: cpu" "$TMP/out"'
    claim "... and the memory" eval 'pprof -top "$P/heap" && grep -q "^Type: inuse_space" "$TMP/out"'
    claim "... and prints the reason of a refusal" eval '! pprof -top "$P/nothing" && grep -q "Unknown profile" "$TMP/out"'
else
    echo "skip go tool pprof: there is no Go"
fi

# ---- files of the tree
tree_file() { "$C10M" cat -s "$TMP/run/control.sock" prof/heap >"$TMP/heap" && is_gzip "$TMP/heap" && cat "$TREE/prof/heap" >"$TMP/mounted" && is_gzip "$TMP/mounted"; }
claim "c10m cat and the mount read a profile" tree_file
tree_query() {
    "$C10M" write -s "$TMP/run/control.sock" prof/query 'seconds=1' && [ "$(cat "$TREE/prof/query")" = seconds=1 ] &&
        "$C10M" cat -s "$TMP/run/control.sock" prof/profile >"$TMP/cpu" && is_gzip "$TMP/cpu" &&
        says 1 'seconds: expected a number' "$C10M" write -s "$TMP/run/control.sock" prof/query 'seconds=soon' &&
        ! bash -c "echo debug=x >'$TREE/prof/query'" 2>/dev/null && echo >"$TREE/prof/query" && [ -z "$(cat "$TREE/prof/query")" ]
}
claim "prof/query has the parameters" tree_query
claim "the files are for root" eval '[ "$(stat -c %a "$TREE/prof/heap" "$TREE/prof/query" "$TREE/prof/runs" | paste -sd" ")" = "400 600 444" ] && asks 403 "$TEXT" "$URL/proc/prof/heap"'
tree_goes() {
    local pid
    "$C10M" write -s "$TMP/run/control.sock" prof/query 'seconds=600'
    "$C10M" cat -s "$TMP/run/control.sock" prof/profile >/dev/null & pid=$!
    within 5 one_runs && ended "$pid" && within 10 none_runs || return 1
    cat "$TREE/prof/profile" >/dev/null & pid=$!
    within 5 one_runs && ended "$pid" && within 10 none_runs && echo >"$TREE/prof/query"
}
claim "a reader that goes ends its profile" tree_goes

stops() {
    local began=$SECONDS
    begin /dev/null "$P/profile?seconds=600"
    within 5 one_runs || return 1
    "$C10M" cat -s "$TMP/run/control.sock" prof/heap >/dev/null &
    stop_server || return 1
    wait "$BEGUN" || true
    [ $((SECONDS - began)) -lt 20 ]
}
claim "a server stops in the middle of profiles" stops

# ---- with a token
TOKEN=0123456789abcdefXYZ-
(umask 077; echo "$TOKEN" >"$TMP/token")
claim "without a token no other address than loopback is accepted" says 2 'requires http_token_file|http_token_file' "$C10M" serve -c "$TMP/conf" --set control.http=10.99.0.1:9910
claim "with a token it is" start_server --set control.http=10.99.0.1:9910 --set control.http_token_file="$TMP/token" --cpuprofile "$TMP/flag.cpu" --memprofile "$TMP/flag.mem"
URL=http://10.99.0.1:9910
P=$URL/debug/pprof
with_token() {
    local path
    for path in / /heap /profile /cmdline /symbol /nothing; do
        asks 401 "$TEXT" "$P$path" && head_has 'www-authenticate: bearer realm="c10m"' && ! grep -qi 'www-authenticate: basic' "$TMP/head" && head_has "x-go-pprof: 1" || { echo "$path"; return 1; }
    done
    asks 401 "$TEXT" -u "any:${TOKEN}x" "$P/heap" && asks 401 "$TEXT" "$P/heap?token=$TOKEN" &&
        asks 200 "$BINARY" -u "any:$TOKEN" "$P/heap" && is_gzip "$TMP/body" &&
        asks 200 "$BINARY" -H "Authorization: Bearer $TOKEN" "$P/heap" && asks 200 "$BINARY" -H "Authorization: Bearer $TOKEN" "$P/goroutine" &&
        asks 401 "$TEXT" -u "any:$TOKEN" "$URL/metrics"
}
claim "every route needs the token, which may be the password" with_token
[ -z "$GO" ] || claim "go tool pprof sends it so" eval 'pprof -top "http://any:$TOKEN@10.99.0.1:9910/debug/pprof/heap" && grep -q "^Type: inuse_space" "$TMP/out"'
refused() { asks 403 "$TEXT" -H "Authorization: Bearer $TOKEN" -H "Sec-Fetch-Site: cross-site" "$P/heap"; }
claim "a page of another site takes no profile" refused
inside curl -sf -m 5 http://10.99.0.2/ >/dev/null || true
claim "the server stops" stop_server
claim "--cpuprofile and --memprofile have written their files" eval 'is_gzip "$TMP/flag.cpu" && is_gzip "$TMP/flag.mem"'
mkfifo "$TMP/pipe"
# It makes the pipe as small as possible and reads nothing.
python3 -c 'import fcntl, sys, time; f = open(sys.argv[1], "rb"); fcntl.fcntl(f, fcntl.F_SETPIPE_SZ, 4096); time.sleep(1000)' "$TMP/pipe" &
READER=$!
claim "a server writes its trace to a pipe" start_server --trace "$TMP/pipe"
inside curl -sf -m 60 'http://10.99.0.2/?[1-200]' -o /dev/null || true  # the events of 200 requests have no room there
kill -TERM "$SERVER"
writes() { grep -q "Terminated: stopping" "$TMP/log" && "$C10M" cat -s "$TMP/run/control.sock" prof/runs | grep -q "^trace flag .* ready"; }
claim "... it answers while it writes" within 10 writes
at_once() {
    local status=0
    kill -TERM "$SERVER"
    wait "$SERVER" || status=$?
    SERVER=
    [ "$status" = 1 ] && grep -q "error: --trace $TMP/pipe: incomplete: a further signal ended the server" "$TMP/log"
}
claim "... and a second signal ends it, though nobody reads" at_once
kill "$READER"
claim "a file that cannot be written is told at once" says 2 'memprofile .*nowhere' "$C10M" serve -c "$TMP/conf" --memprofile /nowhere/x

# ---- load and bench, with the server in their own process
is_profile() { is_gzip "$1" && { [ -z "$GO" ] || "$GO" tool pprof -raw "$1" 2>/dev/null | grep -qE "$2"; }; }
load_flags() {
    "$C10M" load hold --connections 1k --quiet --hugepage none --cpuprofile "$TMP/load.cpu" --memprofile "$TMP/load.mem" &&
        is_profile "$TMP/load.cpu" '^samples/count cpu/nanoseconds' && is_profile "$TMP/load.mem" 'inuse_space/bytes'
}
claim "load writes profiles of its server" load_flags
# A thousand connections exist when its memory is taken.
[ -z "$GO" ] || claim "... while the connections exist" says 0 '^ +1000 .* connection block$' "$GO" tool pprof -top -sample_index=inuse_objects "$TMP/load.mem"
bench_flags() {
    "$C10M" bench echo --connections 256 --seconds 0.3 --cpuprofile "$TMP/bench.cpu" --memprofile="$TMP/bench.mem" &&
        is_profile "$TMP/bench.cpu" '^samples/count cpu/nanoseconds' && is_profile "$TMP/bench.mem" 'inuse_space/bytes'
}
claim "bench writes profiles of its server" bench_flags
claim "... and says where it has none" says 2 'no server to be profiled' "$C10M" bench hop --cpuprofile "$TMP/bench.cpu"
finish
