#!/usr/bin/env bash
# A planned restart loses no connection: SIGUSR2 or ctl/restart end the server with status 75, and the next one adopts
# what it has left. An ordinary stop leaves nothing. RESTARTS=N: how often.
. "$(dirname "$0")/lib.sh"
RESTARTS=${RESTARTS:-10}
CONNECTIONS=200
HUGE=$TMP/huge
CLIENT=
cleanup_first() { kill $CLIENT; } 2>/dev/null
claim "an application that does not go on is built out of tree" build_planted planted.c
[ "$FAILED" = 0 ] || finish
C10M=$TMP/planted
write_conf
printf '[service planted]\napp = planted\nport = 77\n' >>"$TMP/conf"

adopts() { start_server --adopt "$1"; }
ends_with() {  # ends_with STATUS
    local status=0
    within 60 eval '! grep -q "^State:[[:space:]][^ZX]" /proc/$SERVER/status 2>/dev/null' || { cat "$TMP/log"; return 1; }
    wait "$SERVER" || status=$?
    SERVER=
    [ "$status" = "$1" ] || { echo "status $status"; cat "$TMP/log"; return 1; }
}
nothing_left() { [ ! -e "$HUGE" ] || { find "$HUGE"; false; }; }

# Without adopt there is nothing to keep.
claim "a server that keeps nothing starts" adopts never
cannot() { ! { echo now >"$TREE/ctl/restart"; } 2>"$TMP/why" && grep -q 'not supported' "$TMP/why"; }
claim "ctl/restart is refused there" cannot
kill -USR2 "$SERVER"
claim "SIGUSR2 ends it for a restart" ends_with 75
claim "... in order" nothing_left

claim "a server starts" adopts auto
nsenter --net=/run/netns/"$NS" python3 "$HERE/adopt.py" 10.99.0.2 7 $CONNECTIONS "$TMP/stop" >"$TMP/client" 2>&1 &
CLIENT=$!
claim "connections are open" within 60 grep -q open "$TMP/client"

# A connection of that application is reset at once, not by the next server.
idle() {
    inside python3 -c 'import socket
s = socket.create_connection(("10.99.0.2", 77), timeout=60)
print("idle", flush=True)
try:
    print("closed", s.recv(1))
except ConnectionResetError:
    print("reset")'
}
idle >"$TMP/idle" 2>&1 &
claim "one of its connections is idle" within 60 grep -q idle "$TMP/idle"

end_it() {  # end_it I: by a signal, or by a file, in turn
    if [ $(($1 % 2)) = 0 ]; then kill -USR2 "$SERVER"; else echo now >"$TREE/ctl/restart"; fi
}
once() {
    sleep "0.$((RANDOM % 900 + 100))"
    end_it "$1" && ends_with 75 && adopts require || return 1
    grep -q "adopted $CONNECTIONS connections, .* not adopted: 0$" "$TMP/log" || { cat "$TMP/log"; return 1; }
    sed -n 's/.* after \([0-9]*\) ms; not.*/\1/p' "$TMP/log" >>"$TMP/silence"
}
all_restarts() { local i; for ((i = 0; i < RESTARTS; i++)); do once "$i" || { echo "restart $i"; return 1; }; done; }
claim "$RESTARTS times it is restarted, and the next one adopts every connection" all_restarts
claim "a connection of an application that does not go on was reset" within 20 grep -qx reset "$TMP/idle"
claim "every received packet is accounted for" balance_is_zero
in_tree() {
    grep -qx "connections $CONNECTIONS" "$TREE/control/adoption" && grep -qx "starts $((RESTARTS + 1))" "$TREE/control/adoption" &&
        [ "$(awk '/refused/ { n += $2 } END { print n }' "$TREE/control/adoption")" = 0 ] &&
        [ "$(awk '$1 == "silent_us" { print int($2 / 1000) }' "$TREE/control/adoption")" = "$(tail -1 "$TMP/silence")" ]
}
claim "the tree shows what was adopted" in_tree
touch "$TMP/stop"
wait $CLIENT || true
CLIENT=
cat "$TMP/client"
echo "silence of each restart in ms: $(sort -n "$TMP/silence" | tr '\n' ' ')"
claim "no connection was lost, and every byte came back" grep -qx "alive $CONNECTIONS" "$TMP/client"
claim "SIGTERM ends it in order" stop_server
claim "... and leaves nothing" nothing_left

# Both wait for the server, which takes SIGUSR2 first.
claim "a server starts again" adopts auto
kill -STOP "$SERVER"
kill -USR2 "$SERVER"
kill -TERM "$SERVER"
kill -CONT "$SERVER"
claim "a SIGTERM behind SIGUSR2 is a stop, not a restart" ends_with 0
claim "... and leaves nothing" nothing_left
finish
