#!/usr/bin/env bash
# Transfers of a large file, requests in two pieces and relayed connections go on in the next server after a kill, though the
# file is another one each time: what began with the bytes of one version ends with them. KILLS=N: how often.
. "$(dirname "$0")/lib.sh"
KILLS=${KILLS:-8}
DOWNLOADS=6
IDLE=40
RELAYED=30
HUGE=$TMP/huge
CLIENTS=()
cleanup_first() { kill "${CLIENTS[@]}"; } 2>/dev/null
mkdir -p "$TMP/site"
echo small >"$TMP/site/small.txt"
version() { python3 "$HERE/adopt_web.py" file "$1" "$TMP/site/big.bin" && echo "$1" >"$TMP/round"; }
version 0
write_conf
# While the server is away, the client's kernel waits longer and longer before it sends anything again.
sed -i "s,^root = .*,&\nheader_timeout_ms = 300000\nkeepalive_timeout_ms = 300000," "$TMP/conf"
printf '[service relay]\napp = proxy\nport = 99\nupstream = 10.99.0.1:5000\n' >>"$TMP/conf"

background() {  # background OUTPUT COMMAND...
    local out=$1
    shift
    nsenter --net=/run/netns/"$NS" python3 "$@" >"$out" 2>&1 &
    CLIENTS+=($!)
}
adopted() { sed -n 's/.*adopted \([0-9]*\) connections.*/\1/p' "$TMP/log"; }
refused() { sed -n 's/.*not adopted: \([0-9]*\).*/\1/p' "$TMP/log"; }
in_hand() { sed -n 's/.*in_hand \([0-9]*\).*/\1/p' "$TMP/log" | grep . || echo 0; }

claim "the server starts" start_server --adopt auto
background "$TMP/upstream" "$HERE/adopt_web.py" echo 5000
claim "an upstream listens" within 60 grep -q listens "$TMP/upstream"
background "$TMP/web" "$HERE/adopt_web.py" client 10.99.0.2 "$TMP/stop" "$TMP/round" $DOWNLOADS $IDLE
background "$TMP/relayed" "$HERE/adopt.py" 10.99.0.2 99 $RELAYED "$TMP/stop"
claim "connections are open" within 60 eval 'grep -q open "$TMP/web" && grep -q open "$TMP/relayed"'

REFUSED=0
HAND=0
once() {  # once N: a kill at any moment, then the next server with the next file
    sleep "0.$((RANDOM % 900 + 100))"
    kill -9 "$SERVER"
    wait "$SERVER" 2>/dev/null || true
    version "$1"
    start_server --adopt require || return 1
    [ -n "$(adopted)" ] && [ "$(adopted)" -gt 0 ] || { cat "$TMP/log"; return 1; }
    REFUSED=$((REFUSED + $(refused)))
    HAND=$((HAND + $(in_hand)))
}
all_kills() { local i; for ((i = 1; i <= KILLS; i++)); do once $i || { echo "kill $i"; return 1; }; done; }
claim "$KILLS times it is killed, and the next one has another file" all_kills
claim "... fewer than two bursts in hand each time" [ $HAND -le $((KILLS * 128)) ]

# A planned restart loses nothing, in the middle of transfers, too.
planned() {
    local status=0
    kill -USR2 "$SERVER"
    wait "$SERVER" || status=$?
    version $((KILLS + 1))
    [ $status = 75 ] && start_server --adopt require && [ "$(refused)" = 0 ] && return 0
    cat "$TMP/log"
    return 1
}
claim "a planned restart refuses none" planned

touch "$TMP/stop"
wait "${CLIENTS[@]:1}" || true
cat "$TMP/web" "$TMP/relayed"
echo "refused $REFUSED, of those in hand $HAND, in $KILLS kills"
right() { ! grep -qE 'wrong|late|closed|Error' "$TMP/$1"; }
claim "no byte of a file or a page was wrong" right web
claim "... nor one that was relayed" right relayed
spans() { awk -v k="$1" '$1 == k { ok = $4 > 0 } END { exit !ok }' "$TMP/web"; }
claim "whole files came from servers that were killed meanwhile" spans big
claim "... and requests that began in one server were answered by the next one" spans small
lost() { awk '{ for (i = 1; i < NF; i += 2) if ($i == "reset") s += $(i + 1) } END { print s + 0 }' "$TMP/web" "$TMP/relayed"; }
claim "what the clients lost was refused and counted" eval '[ "$(lost)" -le $REFUSED ]'
claim "relayed connections are left" eval 'grep -q "alive [1-9]" "$TMP/relayed"'

# The bytes of earlier files go when nobody gets them any more.
STORE=$HUGE/4K/e2e$$
stored() { echo $(($(stat -c %b "$STORE") / 2048)); }  # MiB
claim "the bytes of earlier files are freed" within 90 eval '[ "$(stored)" -le 110 ] || { stored; cat "$TREE"/apps/web/*; false; }'
claim "every received packet is accounted for" balance_is_zero
claim "the file is readable by its owner only" eval '[ "$(stat -c %a "$STORE")" = 600 ]'
claim "the server stops in order" stop_server
claim "... and leaves nothing" eval '[ ! -e "$HUGE" ] && ! grep -q "$HUGE" /proc/mounts || { find "$HUGE"; false; }'
finish
