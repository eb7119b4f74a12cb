#!/usr/bin/env bash
# Malformed input, kill -9 and a new start, configurations that cannot work, a worker that enters the
# kernel or allocates.
. "$(dirname "$0")/lib.sh"

refused() {  # refused TEXT ARGUMENTS...: exit 2 and the text
    local want=$1 status=0
    shift
    "$C10M" check "$@" >"$TMP/refused" 2>&1 || status=$?
    [ "$status" = 2 ] && grep -q -- "$want" "$TMP/refused"
}
write_conf
claim "the configuration is good" "$C10M" check -c "$TMP/conf"
printf '[cpu]\nlinus = 0\n[port x]\ndriver = tap\nmtu = 12\n' >"$TMP/bad"
claim "an unknown key is named with its line" refused "$TMP/bad:2: linus" -c "$TMP/bad"
claim "a value out of range is named with its line" refused "$TMP/bad:5: mtu" -c "$TMP/bad"
claim "an override of an unknown key is refused" refused "--set cpu.nothing" -c "$TMP/conf" --set cpu.nothing=1

no_port() {
    local status=0
    "$C10M" serve >"$TMP/refused" 2>&1 || status=$?
    [ "$status" = 2 ] && grep -q 'the configuration has no \[port NAME\]' "$TMP/refused"
}
claim "a server without a port is refused" no_port

start_server
cat "$TREE"/cores/*/drops >"$TMP/before"
send_malformed() { inside python3 "$HERE/malformed.py" c10mt0 "$(cat "$TREE/ports/tap0/mac")" >"$TMP/sent"; }
claim "malformed frames are sent" send_malformed
# all_dropped: each reason counts as many frames more as were sent for it; the kernel's own frames may add to some.
all_dropped() {
    awk 'FILENAME == "-" { now[$1] += $2; next }
         FILENAME ~ /before$/ { was[$1] += $2; next }
         now[$1] - was[$1] < $2 { print $1 ": " now[$1] - was[$1] " of " $2; bad = 1 }
         END { exit bad }' - "$TMP/before" "$TMP/sent" < <(cat "$TREE"/cores/*/drops)
}
claim "each malformed frame was a counted drop" within 30 all_dropped
claim "every received packet is accounted for" balance_is_zero
claim "the server still answers" inside curl -sf -m 5 -o /dev/null http://10.99.0.2/

kill -9 "$SERVER"
wait "$SERVER" 2>/dev/null || true
claim "a new start after kill -9" start_server
claim "... serves" inside curl -sf -m 5 -o /dev/null http://10.99.0.2/
claim "... and its tree is there" grep -q c10m "$TREE/version" || cat "$TMP/log"
claim "the server stops" stop_server

# What a server without hugepages leaves when it is killed goes with the next one.
cp "$TMP/conf" "$TMP/whole"
printf '[control]\nname = alone%s\nrun_dir = %s\nmount = %s\n[memory]\nhugepage = none\n[port lone]\ndriver = ring\naddress = 10.0.0.1/24\n' \
    $$ "$TMP/run" "$TREE" >"$TMP/conf"
claim "a server that nobody can reach starts" start_server
claim "... says that nobody can" grep -q 'port lone: both ends of a ring are in this process' "$TMP/log"
claim "... and that it has no service" grep -q 'port lone: no .service NAME. listens here' "$TMP/log"
kill -9 "$SERVER"
wait "$SERVER" 2>/dev/null || true
claim "... starts again after kill -9" start_server
claim "... stops" stop_server
claim "... and its directory is gone" [ ! -e "$TMP/run" ]
cp "$TMP/whole" "$TMP/conf"
claim "a server with a service on its port starts" start_server
claim "... and has no doubts" eval '! grep "nobody\|listens here\|no host" "$TMP/log"'
claim "... stops" stop_server

"$C10M" load request --connections 500 --seconds 12 --quiet >"$TMP/load" 2>&1 &
LOAD=$!
# working: there is a worker's thread, and it has been on its core for half a second: the load runs.
working() {
    TID=$(grep -sl '^rte-worker' /proc/$LOAD/task/*/comm | sed 's|.*/task/\([0-9]*\)/comm|\1|' | head -1)
    [ -n "$TID" ] && [ "$(awk '{ print $14 + $15 }' "/proc/$LOAD/task/$TID/stat")" -ge 50 ]
}
claim "the load runs" eval "within 60 working && working"
ATTACHED=0
timeout 2 strace -q -p "$TID" -o "$TMP/strace" || ATTACHED=$?
claim "strace watched the worker for two seconds" [ $ATTACHED = 124 ]
claim "the load ran without a wrong answer" wait $LOAD
claim "a worker on a ring makes no system call under load" [ -z "$(grep -v '^strace\|---\|+++' "$TMP/strace")" ]
TRAP=$(dirname "$C10M")/../tests/libmalloc_trap.so
trapped() { LD_PRELOAD=$TRAP "$C10M" load request --connections 500 --seconds 1 --quiet; }
[ -e "$TRAP" ] && claim "a worker never allocates" trapped
finish
