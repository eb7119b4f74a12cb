#!/usr/bin/env bash
# The connections of a server that is killed go on in the next one: those of the last burst at most are lost, and every
# other one gets every byte. KILLS=N: how often.
. "$(dirname "$0")/lib.sh"
KILLS=${KILLS:-20}
CONNECTIONS=200
HUGE=$TMP/huge
write_conf

adopts() { start_server -s control.adopt="$1"; }
killed() { kill -9 "$SERVER"; wait "$SERVER" 2>/dev/null || true; SERVER=; }
adopted() { sed -n 's/.*adopted \([0-9]*\) connections.*/\1/p' "$TMP/log"; }
refused() { sed -n 's/.*not adopted: \([0-9]*\).*/\1/p' "$TMP/log"; }

claim "what is not there cannot be required" says 1 'control.adopt|cannot be adopted' timeout 60 \
    nsenter --net=/run/netns/"$NS" "$C10M" serve -c "$TMP/conf" $(as_root) -s control.adopt=require
claim "the server starts" adopts auto
claim "... and has nothing to adopt" eval '! grep -q adopted "$TMP/log"'
inside python3 "$HERE/adopt.py" 10.99.0.2 7 $CONNECTIONS "$TMP/stop" >"$TMP/client" 2>&1 &
CLIENT=$!
claim "connections are open" within 60 grep -q open "$TMP/client"

LOST=0
LEFT=$CONNECTIONS
once() {  # once: a kill at any moment, and what the next server adopts
    sleep "0.$((RANDOM % 900 + 100))"
    killed
    adopts require || return 1
    [ -n "$(adopted)" ] || { cat "$TMP/log"; return 1; }
    LOST=$((LOST + $(refused)))
    LEFT=$((LEFT - $(refused)))
    [ "$(adopted)" = $LEFT ] || { echo "adopted $(adopted) of $LEFT"; cat "$TMP/log"; return 1; }
}
all_kills() { local i; for ((i = 0; i < KILLS; i++)); do once || { echo "kill $i"; return 1; }; done; }
claim "$KILLS times it is killed, and the next one adopts all connections but those in hand" all_kills
claim "... fewer than a burst each time" [ $LOST -le $((KILLS * 64)) ]
touch "$TMP/stop"
wait $CLIENT || true
cat "$TMP/client"
echo "lost $LOST of $CONNECTIONS in $KILLS kills"
bytes_are_right() { ! grep -qE 'wrong|late|closed|Error' "$TMP/client"; }
claim "every byte of those that are alive came back, and none was wrong" bytes_are_right
alive_as_told() { grep -q "alive $((CONNECTIONS - LOST))\b" "$TMP/client"; }
claim "those that the client lost are those that the log has" alive_as_told
claim "every received packet is accounted for" balance_is_zero

# Another configuration cannot adopt: it says which line differs, and begins anew.
killed
claim "a server with another number of connections does not adopt them" start_server -s control.adopt=auto -s memory.connections=8192
claim "... and says what differs" grep -q 'not adopted: memory blocks' "$TMP/log"
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
