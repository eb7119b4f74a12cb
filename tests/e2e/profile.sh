#!/usr/bin/env bash
# The CPU profile of a live server under load, by Go's tool and URL: a function planted in an application that is built out
# of tree is named with its line and its share; every form of output works; no packet and no answer is lost meanwhile.
. "$(dirname "$0")/lib.sh"
PATH=$PATH:/usr/local/go/bin
command -v go >/dev/null || { echo "skipped: no go"; exit 77; }
export PPROF_TMPDIR=$TMP/pprof
go_home

claim "an application is built out of tree" build_planted planted.c
[ "$FAILED" = 0 ] || finish

C10M=$TMP/planted
write_conf
sed -i "s,^\[memory\],http = 127.0.0.1:9910\n&\nhugepage = none," "$TMP/conf"
printf '[service planted]\napp = planted\nport = 77\n' >>"$TMP/conf"
start_server
CORE=c$(basename "$TREE"/cores/*)
URL=http://127.0.0.1:9910/debug/pprof
SECONDS_TAKEN=5
pprof() { inside go tool pprof "$@" 2>"$TMP/pprof.err" || { cat "$TMP/pprof.err"; return 1; }; }
ask() { inside python3 "$HERE/profile.py" ask; }
has() { grep -Eq -- "$1" "$TMP/$2" || { cat "$TMP/$2"; return 1; }; }
timers() { grep -c . "/proc/$SERVER/timers" || true; }
events() { find "/proc/$SERVER/fd" -lname '*perf_event*' | wc -l; }

touch "$TMP/go"
inside python3 "$HERE/profile.py" load 4 "$TMP/go" >"$TMP/answers" &
LOAD=$!
claim "nothing is armed without a profile" eval '[ "$(events) $(timers)" = "0 0" ]'
read -r HOT_BEFORE WORK_BEFORE < <(ask)
take() { pprof -proto -output "$TMP/cpu.pb.gz" "$URL/profile?seconds=$SECONDS_TAKEN" >/dev/null; }
claim "a profile is taken by URL" take
claim "nothing is armed after it" eval '[ "$(events) $(timers)" = "0 0" ]'

view() {  # view NAME OPTIONS...: into $TMP/NAME
    local name=$1
    shift
    pprof "$@" "$TMP/cpu.pb.gz" >"$TMP/$name"
}
claim "-top names functions" view top -top
claim "... of the program" has '^File: planted$' top
claim "... planted_step, inlined" eval 'has "^ *[0-9.]+m?s +[0-9.]+% +[0-9.]+% .* planted_step( \(inline\))?$" top'
claim "-top -cum has its callers" view cum -top -cum
claim "... the function and the worker's loop" eval 'has " planted_hot$" cum && has " planted_data$" cum && has " worker_run$" cum'
claim "-list shows the source" view list -list 'planted_step'
claim "... the line that costs" has '^ *[0-9.]+m?s +[0-9.]+m?s +[0-9]+: *return .* // HOT LINE' list
claim "-raw has lines and labels" view raw -raw
claim "... inlined frames" has 'planted_step .*planted\.c:' raw
# A compiler cache, or -ffile-prefix-map, may leave another directory's name in the program.
BUILT_AT=$(grep -Eom1 '/[^ ]*/src/worker/loop\.c' "$TMP/raw" || true)
claim "-list of the server's own source" view list_own -source_path "$HERE/../.." -trim_path "${BUILT_AT%/src/worker/loop.c}" -list '^worker_turn$|^stage_app$'
claim "... with its text" has 'sock_event\(&w->sock, v, frame' list_own
claim "-tags has them, too" view tags -tags
claim "... core, stage, application, service, thread" eval 'for t in core stage app service thread; do has "^ *$t: Total" tags || return 1; done; has ": $CORE$" tags && has ": planted$" tags && has ": control$" tags'
claim "-tagfocus selects by core and stage: the planted function is first" eval 'view focus -top -tagfocus=core=$CORE -tagfocus=stage=app && awk "/flat%/ { getline; exit !/planted_(step|hot)/ }" "$TMP/focus"'
claim "-disasm shows instructions" eval 'view disasm -disasm planted_hot && has "m?s +[0-9a-f]+: (SHR|IMUL|XOR|SUB).*planted.c:" disasm'
claim "-weblist makes a page" eval 'pprof -weblist planted_hot -output "$TMP/weblist.html" "$TMP/cpu.pb.gz" && has "HOT LINE" weblist.html'
if command -v dot >/dev/null; then
    claim "-svg draws a graph" eval 'view graph.svg -svg && has "planted_hot" graph.svg'
else
    echo "skipped: -svg: no dot"
fi
claim "-comments says how it was taken" eval 'view comments -comments && has "^sampled by " comments && has "^0 samples lost, 0 of [0-9]+ threads not sampled" comments'
claim "-diff_base of itself is nothing" eval 'view diff -top -diff_base "$TMP/cpu.pb.gz" && has "Total samples = .*|flat" diff'

# Chance alone moves the share: by 1.4 % (one standard deviation) with 900 samples, one each 10 ms.
WORK_MS=9000 TAKES_MAX=12
work_ms() { pprof -top -cum -unit=ms "$@" >"$TMP/work" && awk '$NF == "planted_hot" || $NF == "planted_other" { ms += $4 } END { print int(ms) }' "$TMP/work"; }
enough() {
    local n
    for ((n = 1; n <= TAKES_MAX; n++)); do
        [ "$(work_ms "$TMP"/cpu*.pb.gz)" -lt $WORK_MS ] || return 0
        pprof -proto -output "$TMP/cpu$n.pb.gz" "$URL/profile?seconds=$SECONDS_TAKEN" >/dev/null || return 1
    done
}
claim "profiles with enough samples are taken, and merged" enough
read -r HOT_AFTER WORK_AFTER < <(ask)
share() {  # of planted_hot in the application's work, by the profiles and by the application's own clock, in percent
    awk -v hot=$((HOT_AFTER - HOT_BEFORE)) -v work=$((WORK_AFTER - WORK_BEFORE)) '
        $NF == "planted_hot" || $NF == "planted_other" { ms[$NF] = $4 + 0 }
        END {
            profile = 100 * ms["planted_hot"] / (ms["planted_hot"] + ms["planted_other"])
            clock = 100 * hot / work
            printf "planted_hot: %.1f %% of the work by the profiles, %.1f %% by its own clock\n", profile, clock
            exit !(profile - clock < 5 && clock - profile < 5)
        }' "$TMP/work"
}
claim "its share is right within 5 %" share
cat "$TMP/out"

both() {
    take & local one=$!
    pprof -proto -output "$TMP/second.pb.gz" "$URL/profile?seconds=2" >/dev/null || return 1
    wait $one
    pprof -top "$TMP/second.pb.gz" | grep -q planted_step
}
claim "two profiles at a time" both
gone() {
    inside curl -s -m 1 -o /dev/null "$URL/profile?seconds=60" || true
    within 10 eval '[ "$(events) $(timers)" = "0 0" ]'
}
claim "a client that goes ends its profile" gone
claim "debug=1 is text" eval 'inside curl -sf "$URL/profile?seconds=1&debug=1" >"$TMP/text" && has "^cpu profile: total [1-9]" text && has "planted_step" text'
for _ in $(seq 20); do kill -PROF "$SERVER"; done

rm "$TMP/go"
claim "the load ends" wait $LOAD
claim "no answer was lost" eval 'read -r asked answered <"$TMP/answers" && echo "$asked asked, $answered answered" && [ "$asked" = "$answered" ] && [ "$asked" -gt 100 ]'
lacking() { awk '$2 != 0 && $1 !~ /^(eth_type_unknown|tcp_duplicate)$/' "$TREE"/cores/*/drops; }  # the host speaks IPv6, and repeats itself when it is busy
claim "no packet was dropped" eval '[ -z "$(lacking)" ] || { lacking; false; }'
claim "the packets are accounted for" balance_is_zero
claim "the server ends" stop_server
finish
