#!/usr/bin/env bash
# The connections of a server that is killed go on in one with another configuration: more or less memory, another number of
# workers, services and addresses that are new or gone. A start that cannot copy them, or is killed while it does, leaves them.
. "$(dirname "$0")/lib.sh"
CONNECTIONS=200
HUGE=$TMP/huge
CLIENT=
READER=
cleanup_first() { kill $CLIENT $READER; } 2>/dev/null
head -c 64M /dev/urandom >"$TMP/site/big"
write_conf
cp "$TMP/conf" "$TMP/first"

adopts() { start_server --adopt require; }
killed() { kill -9 "$SERVER"; wait "$SERVER" 2>/dev/null || true; SERVER=; }
adopted() { sed -n 's/.*adopted \([0-9]*\) connections.*/\1/p' "$TMP/log"; }
refused() { sed -n 's/.*not adopted: \([0-9]*\).*/\1/p' "$TMP/log"; }
client_is_well() { ! grep -qE 'wrong|late|closed|Error' "$TMP/client"; }

claim "the server starts" start_server --adopt auto
nsenter --net=/run/netns/"$NS" python3 "$HERE/adopt.py" 10.99.0.2 7 $CONNECTIONS "$TMP/stop" >"$TMP/client" 2>&1 &
CLIENT=$!
claim "connections are open" within 60 grep -q open "$TMP/client"

# slow_get FILE STOP: reads a response slowly until the file STOP exists, and then the rest.
slow_get() {
    exec nsenter --net=/run/netns/"$NS" python3 -c 'import os, socket, sys, time
with socket.create_connection(("10.99.0.2", 80), timeout=60) as s, open(sys.argv[1], "wb", 0) as out:
    s.sendall(b"GET /big HTTP/1.0\r\n\r\n")
    while data := s.recv(65536):
        out.write(data)
        if not os.path.exists(sys.argv[2]):
            time.sleep(0.2)' "$@"
}
slow_get "$TMP/got" "$TMP/read_on" &
READER=$!
claim "... and a file is on its way" within 20 test -s "$TMP/got"

LEFT=$((CONNECTIONS + 1))
LOST=0
# moved CONFIGURATION-EDIT...: a kill, and a start with the first configuration, edited by sed. WHY: the line that is another one.
moved() {
    sleep "0.$((RANDOM % 900 + 100))"
    [ -z "$SERVER" ] || killed
    sed "$@" "$TMP/first" >"$TMP/conf"
    adopts || return 1
    LOST=$((LOST + $(refused)))
    LEFT=$((LEFT - $(refused)))
    [ "$(adopted)" = $LEFT ] && grep -q "server before move: $WHY" "$TMP/log" && return 0
    echo "adopted $(adopted) of $LEFT, expected that they move: $WHY"
    cat "$TMP/log"
    return 1
}
WHY='memory blocks' claim "they go on with more memory for connections" moved 's/^connections = .*/connections = 40000/'
WHY='memory blocks' claim "... and with less again" moved ''
WHY='\[cpu\] workers 3' claim "... with three workers" moved 's/^\[memory\]/[cpu]\nlinux = 0\nworkers = 1\nworkers_per_core = 3\n&/'
several() { [ "$(awk '$1 == "connections_now" && $2 > 10' "$TREE"/cores/*/counters | wc -l)" = "$1" ]; }
claim "... each of which has its part" within 10 several 3
WHY='\[cpu\] workers 2' claim "... with two" moved 's/^\[memory\]/[cpu]\nlinux = 0\nworkers = 1\nworkers_per_core = 2\n&/'
WHY='\[cpu\] workers 1' claim "... and with one" moved ''
WHY='\[service first\]' claim "... with a service before the others" moved 's/^\[service web\]/[service first]\napp = discard\nport = 1009\n&/'
WHY='\[service web\]' claim "... and without it" moved ''
WHY='\[port tap0\] address' claim "... with an address before the others" moved 's|^address = \(10.99.0.2.*\)|address = 10.99.0.3/24, \1|'
WHY='\[port tap0\] address' claim "... and without it" moved ''

# A start that fails leaves all.
serve() { timeout 60 nsenter --net=/run/netns/"$NS" "$C10M" serve -c "$TMP/conf" $(as_root) "$@"; }
killed
claim "a start that finds no memory for both fails" says 1 'cannot be adopted: memory blocks .*: .*hugepages' serve --adopt require -s memory.connections=8M
claim "... and one whose service fails" says 1 'nowhere' serve --adopt require -s memory.connections=30000 -s "service.web.root=$TMP/nowhere"
# killed_starts: starts that move them and are killed at any moment.
killed_starts() {
    local i
    for i in 1 2 3 4 5 6; do
        sed "s/^connections = .*/connections = $((20000 + 1000 * i))/" "$TMP/first" >"$TMP/conf"
        setpriv --pdeathsig KILL nsenter --net=/run/netns/"$NS" "$C10M" serve -c "$TMP/conf" $(as_root) --adopt require >"$TMP/log" 2>&1 &
        SERVER=$!
        sleep "0.$((RANDOM % 900 + 100))"
        killed
        ! grep -q 'serving$' "$TMP/log" || { LOST=$((LOST + $(refused))); LEFT=$((LEFT - $(refused))); }
    done
}
claim "starts are killed while they move them" killed_starts
WHY='memory blocks' claim "the next one adopts them all" moved 's/^connections = .*/connections = 30000/'
claim "the file is still on its way" kill -0 $READER
touch "$TMP/read_on"
claim "... and arrives" wait $READER
READER=
claim "... as it is" eval 'tail -c 64M "$TMP/got" | cmp - "$TMP/site/big"'
touch "$TMP/stop"
wait $CLIENT || true
CLIENT=
cat "$TMP/client"
claim "every byte came back, and none was wrong" client_is_well
alive_as_told() { grep -q "alive $(($1 - LOST))\b" "$TMP/client"; }
claim "those that the client lost are those that the log has" alive_as_told $CONNECTIONS
claim "every received packet is accounted for" balance_is_zero
claim "the server stops in order" stop_server
claim "... and leaves nothing" eval '[ ! -e "$HUGE" ] || { find "$HUGE"; false; }'

# A server that has given up root cannot rename its file: the next start does.
sed 's/^\[control\]/&\nuser = nobody/' "$TMP/first" >"$TMP/conf"
cp "$TMP/conf" "$TMP/first"
rm "$TMP/stop"
claim "a server that gives up root starts" start_server --adopt auto
nsenter --net=/run/netns/"$NS" python3 "$HERE/adopt.py" 10.99.0.2 7 20 "$TMP/stop" >"$TMP/client" 2>&1 &
CLIENT=$!
claim "connections are open" within 60 grep -q open "$TMP/client"
LEFT=20
LOST=0
WHY='memory blocks' claim "they go on with more memory" moved 's/^connections = .*/connections = 40000/'
again() {
    killed
    adopts || return 1
    LOST=$((LOST + $(refused)))
    LEFT=$((LEFT - $(refused)))
    [ "$(adopted)" = $LEFT ] && ! grep -q 'server before move' "$TMP/log" || { cat "$TMP/log"; return 1; }
}
claim "... and in the next process" again
WHY='memory blocks' claim "... and with less" moved ''
claim "... and in the next process" again
touch "$TMP/stop"
wait $CLIENT || true
CLIENT=
cat "$TMP/client"
claim "every byte came back, and none was wrong" client_is_well
claim "those that the client lost are those that the log has" alive_as_told 20
claim "the server stops in order" stop_server
claim "... and leaves nothing" eval '[ ! -e "$HUGE" ] || { find "$HUGE"; false; }'
finish
