#!/usr/bin/env bash
# The connections of a server that is killed go on in the next one: those of the last burst at most are lost, and every
# other one gets every byte. TIME-WAIT records go on as well. A start that fails leaves all of them. KILLS=N: how often.
. "$(dirname "$0")/lib.sh"
KILLS=${KILLS:-20}
CONNECTIONS=200
HUGE=$TMP/huge
CLIENT=
OTHER=
cleanup_first() { kill $CLIENT $OTHER; } 2>/dev/null
write_conf
printf '[tcp]\ntime_wait_ms = 600000\n' >>"$TMP/conf"

adopts() { start_server --adopt "$1"; }
serve() { timeout 60 nsenter --net=/run/netns/"$NS" "$C10M" serve -c "$TMP/conf" $(as_root) "$@"; }
killed() { kill -9 "$SERVER"; wait "$SERVER" 2>/dev/null || true; SERVER=; }
adopted() { sed -n 's/.*adopted \([0-9]*\) connections.*/\1/p' "$TMP/log"; }
refused() { sed -n 's/.*not adopted: \([0-9]*\).*/\1/p' "$TMP/log"; }

claim "what is not there cannot be required" says 1 'cannot be adopted: no server' serve --adopt require
check() { inside "$C10M" check -c "$TMP/conf" -s memory.hugepage=none "$@"; }
claim "without hugepages a check warns that nothing is adopted" says 0 'warning: .*control.adopt: adopt is as never' check -s control.adopt=auto
claim "... and refuses to require it" says 2 'control.adopt: expected never .*hugepage = none' check -s control.adopt=require
claim "... and so does a start" says 2 'control.adopt: expected never .*hugepage = none' serve -s memory.hugepage=none --adopt require
claim "the server starts" adopts auto
claim "... and has nothing to adopt" eval '! grep -q adopted "$TMP/log"'
nsenter --net=/run/netns/"$NS" python3 "$HERE/adopt.py" 10.99.0.2 7 $CONNECTIONS "$TMP/stop" >"$TMP/client" 2>&1 &
CLIENT=$!
claim "connections are open" within 60 grep -q open "$TMP/client"

# daytime ends each connection itself, so that the server has them in TIME-WAIT. Each has a port of its own: the kernel, which
# draws ports, draws one twice in one of seventy runs, and the younger connection takes the record of the older one.
WAITING=20
wait_some() {
    inside python3 -c 'import socket, sys
for i in range(int(sys.argv[1])):
    with socket.create_connection(("10.99.0.2", 13), timeout=60, source_address=("10.99.0.1", 20000 + i)) as s:
        while s.recv(100):
            pass' $WAITING && within 20 eval '[ "$(counter time_wait_now)" = $WAITING ]'
}
claim "connections are in TIME-WAIT" wait_some

claim "a permanent neighbor is added" eval 'echo add 10.99.0.77 02:00:00:00:00:77 permanent >"$TREE/ctl/arp"'

LOST=0
LEFT=$CONNECTIONS
adopts_rest() {  # adopts_rest: all that is left, but what was in hand, which the log counts
    adopts require || return 1
    [ -n "$(adopted)" ] || { cat "$TMP/log"; return 1; }
    LOST=$((LOST + $(refused)))
    LEFT=$((LEFT - $(refused)))
    [ "$(adopted)" = $LEFT ] && grep -q " and $WAITING in TIME-WAIT" "$TMP/log" && ! grep -q 'not adopted: .*;' "$TMP/log" && return 0
    echo "adopted $(adopted) of $LEFT"
    cat "$TMP/log"
    return 1
}
once() {  # once: a kill at any moment, and what the next server adopts
    sleep "0.$((RANDOM % 900 + 100))"
    killed
    adopts_rest
}
all_kills() { local i; for ((i = 0; i < KILLS; i++)); do once || { echo "kill $i"; return 1; }; done; }
claim "$KILLS times it is killed, and the next one adopts all connections but those in hand" all_kills
claim "... which knows the neighbors" grep -q '^10.99.0.77 .*0x6 .*02:00:00:00:00:77' "$TREE/net/arp"
claim "... fewer than a burst each time" [ $LOST -le $((KILLS * 64)) ]

# Starts that fail leave what they require, whether they have looked at it or not.
FILE=$HUGE/2M/e2e$$
killed
claim "a start without memory for another configuration that requires them fails" says 1 'cannot be adopted: memory blocks' serve --adopt require -s memory.connections=8M
claim "... and one that would not adopt them, and whose service fails" says 1 'nowhere' serve --adopt auto -s memory.connections=8M -s "service.web.root=$TMP/nowhere"
truncate -s +2M "$FILE"
claim "... and one with a file that has a hole" says 1 'cannot be adopted: its file has [0-9,]+ of [0-9,]+ bytes' serve --adopt require
truncate -s -2M "$FILE"
tail -c 2M "$FILE" >"$TMP/page"
truncate -s -2M "$FILE"
claim "... and one with a file that is too short" says 1 'cannot be adopted: its memory is shorter' serve --adopt require
truncate -s +2M "$FILE"
python3 -c 'import mmap, sys
page = open(sys.argv[2], "rb").read()
with open(sys.argv[1], "r+b") as f:  # hugetlbfs has no write()
    mmap.mmap(f.fileno(), 0)[-len(page):] = page' "$FILE" "$TMP/page"
nsenter --net=/run/netns/"$NS" python3 -c 'import socket, time
import sys
s = socket.create_server(("127.0.0.1", 18080))
manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
manager.bind(sys.argv[1])
print("listens", flush=True)
time.sleep(600)' "$TMP/manager" >"$TMP/other" &
OTHER=$!
claim "another process has the address of HTTP" within 60 grep -q listens "$TMP/other"
claim "... and one that fails when it has adopted them" says 1 'control.http.*required is on' serve --adopt require -s control.http=127.0.0.1:18080 -s control.required=on
# The timer of the watchdog is the last thing before it says "serving": the workers run by then.
TRAP=$(dirname "$C10M")/../tests/libtimer_trap.so
without_timer() { LD_PRELOAD=$TRAP NOTIFY_SOCKET=$TMP/manager WATCHDOG_USEC=1492000 serve --adopt require; }
claim "... and one that fails when its workers run" says 1 'timerfd: Cannot allocate' without_timer
claim "... and had adopted them" grep -q 'adopted [1-9]' "$TMP/said"
kill $OTHER
OTHER=
claim "the next one adopts them all" adopts_rest

touch "$TMP/stop"
wait $CLIENT || true
CLIENT=
cat "$TMP/client"
echo "lost $LOST of $CONNECTIONS in $KILLS kills"
bytes_are_right() { ! grep -qE 'wrong|late|closed|Error' "$TMP/client"; }
claim "every byte of those that are alive came back, and none was wrong" bytes_are_right
alive_as_told() { grep -q "alive $((CONNECTIONS - LOST))\b" "$TMP/client"; }
claim "those that the client lost are those that the log has" alive_as_told
claim "every received packet is accounted for" balance_is_zero

# What is not the state of a server is not adopted: the next one begins anew.
killed
python3 -c 'import mmap, sys
with open(sys.argv[1], "r+b") as f:
    mmap.mmap(f.fileno(), 0)[:8] = b"nonsense"' "$FILE"
claim "a server that finds something else does not adopt it" adopts auto
claim "... and says so" grep -q 'not adopted: it is not the state' "$TMP/log"
claim "... and serves" inside curl -sf -m 5 -o /dev/null http://10.99.0.2/
claim "the server stops in order" stop_server
claim "... and leaves nothing" eval '[ ! -e "$HUGE" ] || { find "$HUGE"; false; }'

# What nobody will adopt goes by one command.
claim "another one starts" adopts auto
killed
claim "its connections lie in hugepages" eval 'ls "$HUGE"/2M/e2e* "$HUGE"/*.keep'
claim "c10m clean removes them" "$C10M" clean -c "$TMP/conf"
claim "... and leaves nothing" eval '[ ! -e "$HUGE" ] || { find "$HUGE"; false; }'
finish
