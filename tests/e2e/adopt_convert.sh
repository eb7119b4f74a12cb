#!/usr/bin/env bash
# adopt_convert.sh C10M CONVERTS: what a program with other data structures has left is refused by a program without a converter,
# which leaves all of it, and its connections go on in one with a converter (converts.c), also a transfer under way.
. "$(dirname "$0")/lib.sh"
CONVERTS=$(realpath "$2")
CONNECTIONS=200
HUGE=$TMP/huge
CLIENT=
READER=
cleanup_first() { kill $CLIENT $READER; } 2>/dev/null
head -c 32M /dev/urandom >"$TMP/site/big"
write_conf
sed -i 's/^\[control\]/&\nadopt = auto/' "$TMP/conf"
export C10M_OLD_TYPES=$TMP/types

killed() { kill -9 "$SERVER"; wait "$SERVER" 2>/dev/null || true; SERVER=; }
adopted() { sed -n 's/.*adopted \([0-9]*\) connections.*/\1/p' "$TMP/log"; }
refused() { sed -n 's/.*not adopted: \([0-9]*\).*/\1/p' "$TMP/log"; }
client_is_well() { ! grep -qE 'wrong|late|closed|Error' "$TMP/client"; }
files() { find "$HUGE" -type f -printf '%f %s\n' | sort; }

claim "the server starts" start_server
nsenter --net=/run/netns/"$NS" python3 "$HERE/adopt.py" 10.99.0.2 7 $CONNECTIONS "$TMP/stop" >"$TMP/client" 2>&1 &
CLIENT=$!
claim "connections are open" within 60 grep -q open "$TMP/client"
inside curl -sS --limit-rate 1500k -m 300 http://10.99.0.2/big -o "$TMP/got" &
READER=$!
claim "... and a file is on its way" within 20 test -s "$TMP/got"
inside curl -s "http://10.99.0.2/?[1-20]" -H 'Connection: close' >/dev/null
only_those_wait() { [ "$(counter connections_now)" = $((CONNECTIONS + 1)) ] && [ "$(counter time_wait_now)" -gt 0 ]; }
claim "other connections are in TIME-WAIT" within 20 only_those_wait
killed

age() { "$HERE/age_layout.py" "$(find "$HUGE" -type f -size +10M | head -n 1)" "$TMP/types"; }
claim "its memory is rewritten as that of an earlier program" age
claim "... with all connections" [ "$(cat "$TMP/out")" -gt $CONNECTIONS ]
BEFORE=$(files)
serve() { timeout 60 nsenter --net=/run/netns/"$NS" "$C10M" serve -c "$TMP/conf" $(as_root) "$@"; }
plan() { "${PROGRAM:-$C10M}" plan --adopt -c "$TMP/conf" $(as_root); }
claim "a program without a converter says beforehand that it cannot adopt them" says 1 \
    'does not adopt the connections of the server before: version [0-9]*: another version of the program' plan
claim "... and does not start" says 1 'cannot be adopted: version [0-9]*: another version of the program' serve --adopt require
claim "... and leaves all" [ "$(files)" = "$BEFORE" ]
claim "one with a converter says that it copies them" eval 'PROGRAM=$CONVERTS says 0 "copies them, because of version" plan'

with_converter() { C10M=$CONVERTS start_server --adopt require; }
claim "... and starts" with_converter
LOST=$(refused)
adopted_is() { [ "$(adopted)" = "$1" ] || { echo "$1 expected"; cat "$TMP/log"; return 1; }; }
claim "it has adopted all but those in hand" adopted_is $((CONNECTIONS + 1 - LOST))
claim "... which are fewer than a burst" [ "$LOST" -lt 64 ]
claim "... and those in TIME-WAIT" grep -qE ' and [1-9][0-9]* in TIME-WAIT' "$TMP/log"
killed
claim "the next program adopts them where they lie" start_server --adopt require
claim "... all of them" adopted_is $((CONNECTIONS + 1 - LOST - $(refused)))
claim "... without a copy" eval '! grep -q "server before move" "$TMP/log"'
LOST=$((LOST + $(refused)))
claim "the file arrives" wait $READER
READER=
claim "... as it is" cmp "$TMP/got" "$TMP/site/big"
touch "$TMP/stop"
wait $CLIENT || true
CLIENT=
cat "$TMP/client"
claim "every byte came back, and none was wrong" client_is_well
alive_as_told() { grep -q "alive $((CONNECTIONS - LOST))\b" "$TMP/client"; }
claim "those that the client lost are those that the log has" alive_as_told
claim "every received packet is accounted for" balance_is_zero
claim "the server stops in order" stop_server
claim "... and leaves nothing" eval '[ ! -e "$HUGE" ] || { find "$HUGE"; false; }'
finish
