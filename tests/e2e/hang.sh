#!/usr/bin/env bash
# A callback that does not return: the log, the tree, the verdict and the metrics name it, and the server goes on when it
# returns. With watchdog = abort the server ends as in a crash, and the next start finds no rest of it.
. "$(dirname "$0")/lib.sh"

write_conf
claim "an application is built out of tree" build_planted planted_stall.c
[ -x "$TMP/planted" ] || finish
C10M=$TMP/planted
sed -i "s,^\[memory\],http = 127.0.0.1:9910\n&," "$TMP/conf"
printf '[service slow]\napp = planted\nport = 77\n' >>"$TMP/conf"
ulimit -c 0
# within SECONDS COMMAND...: until it holds.
within() { local end=$((SECONDS + $1)); shift; until "$@"; do [ $SECONDS -lt $end ] || return 1; sleep 0.1; done; }
logged() { grep -E "$1" "$TMP/log" || { tail -n 5 "$TMP/log"; false; }; }
state() { grep -Eqx "$1" "$TREE"/cores/1/state || { cat "$TREE"/cores/1/state; false; }; }
verdict() { grep -E "$1" "$TREE/verdict" || { cat "$TREE/verdict"; false; }; }
metric() { inside curl -s -m 20 http://127.0.0.1:9910/metrics >"$TMP/metrics" && grep -E "$1" "$TMP/metrics"; }
# busy MS: a callback of that length begins.
busy() { inside timeout 60 bash -c "exec 3<>/dev/tcp/10.99.0.2/77; echo $1 >&3; read -r line <&3" >/dev/null 2>&1 & }

claim "a server starts" start_server
busy 8000
claim "the log names service and application of a callback that hangs" within 8 \
    logged '^c10m: warning: core 1 hangs for [0-9]+ ms in stage app of service slow, application planted'
claim "... and the functions" within 8 logged '^c10m: warning: core 1 hangs .*in .*planted_data'
claim "the state has the function" within 8 state 'function (now_ns|planted_data)'
claim "the verdict has service and function" within 8 \
    verdict '^alarm .* core 1 stalled in stage app of application planted, service slow, function (now_ns|planted_data) for'
claim "the metrics count it" within 8 metric '^c10m_core_hangs_total\{core="1"\} 1$'
claim "the log says that the worker goes on" within 30 logged 'core 1 goes on$'
claim "... and the state that none hangs" within 8 state 'function -'
claim "... which has hung once" state 'hangs 1'
serves() { inside curl -s -m 5 http://10.99.0.2/ | grep -q hello; }
claim "it serves" within 20 serves

echo 20s >"$TREE/ctl/set/service.slow.watchdog_ms"
before=$(grep -c "hangs for" "$TMP/log")
busy 2000
claim "a callback may take as long as its key says" eval 'within 8 state "stalled for [0-9]+ ms in stage app .*" && within 20 serves &&
    [ "$(grep -c "hangs for" "$TMP/log")" = "$before" ]'

echo 500 >"$TREE/ctl/set/service.slow.watchdog_ms"
echo abort >"$TREE/ctl/set/service.slow.watchdog"
busy 50000
aborted() {
    local status=0
    wait "$SERVER" || status=$?
    SERVER=
    [ "$status" = 134 ] || { echo "status $status"; tail -n 5 "$TMP/log"; return 1; }
}
claim "watchdog = abort ends the process by SIGABRT" aborted
claim "... and says why" logged '^c10m: error: service slow hangs and has watchdog = abort: the process ends$'
claim "... from within the callback" \
    logged '^c10m: error: worker on CPU 1, stage app of service slow, application planted: SIGABRT, instruction 0x[0-9a-f]+ of (the program|a library): the process ends$'
claim "the next start removes what it left, and serves" eval 'start_server && within 20 serves'
claim "the server stops" stop_server
finish
