#!/usr/bin/env bash
# Whatever state the data plane is in, every interface answers within 100 ms and says so: the packet pool empty, the block
# pool full, the worker caught in an application's callback. $1 is tests/e2e/spin.c's server.
. "$(dirname "$0")/lib.sh"
export C10M_HOLD=$TMP/hold
write_conf
sed -i "s,^connections = .*,connections = 64\nhugepage = none," "$TMP/conf"
# The application looks for a file in its callbacks, which no worker may.
sed -i "s,^\[memory\],http = 127.0.0.1:9910\nseccomp = off\n&," "$TMP/conf"
printf '[service spin]\napp = spin\nport = 77\n' >>"$TMP/conf"
# The connections up to the limit come from one network.
start_server --set tcp.prefix_share=100 --set tcp.service_share=100
CORE=$(basename "$TREE"/cores/*)
DEADLINE_MS=100

# answers PATH...: every interface does, in time; what they say is in $TMP/said, the times in the log. Three tries: a
# machine that has no time for us now may have some later, a server that waits for a worker does so each time.
answers() {
    local try
    for try in 1 2 3; do answers_once "$@" && return 0; done
    return 1
}
answers_once() {
    local status=0
    inside python3 "$HERE/alive.py" "$TREE" "$TMP/run/control.sock" 9910 $DEADLINE_MS "$@" >"$TMP/said" 2>"$TMP/took" || status=1
    cat "$TMP/took"
    cat "$TMP/took" >>"$TMP/times"
    return $status
}
# every_interface REGEX: has said it.
every_interface() {
    local via
    for via in mount socket http; do
        grep -Eq "^$via: $1\$" "$TMP/said" || { echo "$via does not say: $1"; grep "^$via" "$TMP/said" | grep -v ' 0$'; return 1; }
    done
}
until_true() {  # until_true COMMAND...: within 60 s
    local end=$((SECONDS + 60))
    until "$@"; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.1
    done
}
tell() {  # tell WORD: to the application; its answer, when the hold is over, goes into $TMP/answer
    touch "$C10M_HOLD"
    inside python3 -c '
import socket, sys
s = socket.create_connection(("10.99.0.2", 77), timeout=60)
s.sendall(sys.argv[1].encode() + b"\n")
print(s.recv(64).decode(), end="", flush=True)' "$1" >"$TMP/answer" 2>"$TMP/tell" &
    TELLER=$!
}
over() {  # over WORD: the hold ends, and the application answers
    rm "$C10M_HOLD"
    wait "$TELLER" || { cat "$TMP/tell"; return 1; }
    [ "$(cat "$TMP/answer")" = "$1" ]
}
serves() { inside curl -sf --max-time 5 http://10.99.0.2/ | grep -q hello; }

claim "it serves, and every control interface answers" eval 'serves && answers cores/$CORE/state && every_interface "state (running|idle)"'
stat_of() { awk -v n="$1" '$1 == n { print $2 }' "$TREE/cores/$CORE/$2"; }

# A callback that does not come back.
tell spin
stalled() { grep -q '^state stalled' "$TREE/cores/$CORE/state"; }
claim "a worker in an endless callback is seen" until_true stalled
claim "every control interface answers meanwhile" answers cores/$CORE/state cores/$CORE/drops net/sockstat
claim "... and names stage and application" every_interface 'stalled for [0-9]+ ms in stage app of application spin'
MS=$(sed -n 's/^mount: stalled for \([0-9]*\) ms.*/\1/p' "$TMP/said")
claim "... and for how long, ever more" eval 'sleep 0.3; [ "$(sed -n "s/^stalled for \([0-9]*\) ms.*/\1/p" "$TREE/cores/$CORE/state")" -gt "$MS" ]'
claim "metrics say it" eval 'inside curl -sf --max-time 20 http://127.0.0.1:9910/metrics | grep -E "^c10m_core_stalled_seconds\{[^}]*\} [0-9.]*[1-9]"'
claim "the callback ends, and the worker goes on" eval 'over spin && until_true eval "! stalled" && serves'

# Not one packet is left to receive or send with.
tell empty
dry() { [ "$(port_counter rx_nombuf)" -gt 0 ] || [ "$(stat_of pkt_pool_empty drops)" -gt 0 ]; }
port_counter() { awk -v n="$1" '$1 == n { print $2 }' "$TREE/ports/tap0/counters"; }
knock() { inside ping -c 1 -W 0.2 10.99.0.2 >/dev/null 2>&1; dry; }
claim "an empty packet pool is counted" until_true knock
claim "every control interface answers meanwhile" answers cores/$CORE/state cores/$CORE/drops ports/tap0/counters mem/pools
claim "... and says what was lost by it" eval 'every_interface "(rx_nombuf|pkt_pool_empty) [1-9][0-9]*"'
claim "... and that next to none is left" every_interface "packets_free_now [0-9][0-9]?"
claim "packets come back, and it serves" eval 'over empty && until_true serves'

# Connections up to the limit of all services together, which stay; more are asked for.
setpriv --pdeathsig KILL nsenter --net=/run/netns/"$NS" python3 -c '
import socket, time
held = [socket.create_connection(("10.99.0.2", 7 if i < 32 else 9), timeout=60) for i in range(64)]
for _ in range(4):
    held.append(socket.socket())
    held[-1].setblocking(False)
    held[-1].connect_ex(("10.99.0.2", 7))
time.sleep(3600)' 2>"$TMP/held" &
HOLDER=$!
cleanup_first() { kill "$HOLDER" 2>/dev/null; }
full() { [ "$(stat_of block_pool_empty drops)" -gt 0 ] || { cat "$TMP/held"; false; }; }
claim "a full block pool is counted" until_true full
claim "every control interface answers meanwhile" answers cores/$CORE/state cores/$CORE/drops net/sockstat mem/pools
claim "... and that no block is left" every_interface "blocks_free_now 0"
claim "... and says how many are open and what was refused" eval 'every_interface "block_pool_empty [1-9][0-9]*" && every_interface "TCP: inuse 64 .*"'
kill "$HOLDER"
wait "$HOLDER" 2>/dev/null || true
claim "the connections go, and it serves" until_true serves
claim "every received packet is accounted for" balance_is_zero
claim "the server stops" stop_server
echo "slowest medians, of $(wc -l <"$TMP/times"): $(sort -t ' ' -k 4 -rn "$TMP/times" | head -n 2 | tr '\n' ';')"
finish
