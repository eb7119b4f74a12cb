#!/usr/bin/env bash
# The state that an application keeps in its connections has a version: after a restart the next version of it converts the
# state, refuses some, or has no function that could.
. "$(dirname "$0")/lib.sh"
HALF=10
HUGE=$TMP/huge
CLIENT=
cleanup_first() { kill $CLIENT; } 2>/dev/null

claim "an application is built out of tree" build_planted planted_state.c
[ "$FAILED" = 0 ] || finish
C10M=$TMP/planted
write_conf
printf '[service tally]\napp = tally\nport = 77\n' >>"$TMP/conf"
serve() { timeout 60 nsenter --net=/run/netns/"$NS" "$C10M" serve -c "$TMP/conf" $(as_root) "$@"; }
starts() {  # starts VERSION all|some|none: the next server
    export TALLY_VERSION=$1 TALLY_ADOPT=$2
    start_server --adopt "${3:-require}"
}
ended() {
    local status=0
    kill -USR2 "$SERVER"
    wait "$SERVER" || status=$?
    SERVER=
    [ "$status" = 75 ]
}
becomes() { ended && starts "$@"; }

# Connections that send x and others that send y, a byte a round each, and check the number that comes back. The file `now`
# says how many are alive and of which version the last answers were.
cat >"$TMP/client.py" <<'PY'
import os, socket, sys, time
half, now = int(sys.argv[1]), sys.argv[2]
streams = [[socket.create_connection(("10.99.0.2", 77), timeout=60), b"xy"[i % 2:i % 2 + 1], 0] for i in range(2 * half)]
wrong = 0
while True:
    alive, versions = [], set()
    for s in streams:
        try:
            s[0].sendall(s[1])
            line = b""
            while not line.endswith(b"\n"):
                got = s[0].recv(100)
                if not got:
                    raise ConnectionResetError
                line += got
        except ConnectionResetError:
            continue
        version, n = line.split()
        s[2] += 1
        wrong += int(n) != s[2]
        versions.add(version.decode())
        alive.append(s)
    streams = alive
    kinds = "".join(sorted({s[1].decode() for s in streams}))
    with open(now + ".new", "w") as f:
        f.write("alive %d kinds %s versions %s wrong %d\n" % (len(streams), kinds or "-", ",".join(sorted(versions)) or "-", wrong))
    os.rename(now + ".new", now)
    time.sleep(0.02)
PY
now() { within 60 grep -qx "$1" "$TMP/now" || { cat "$TMP/now" "$TMP/log"; return 1; }; }
logs() { grep -qE "$1" "$TMP/log" || { cat "$TMP/log"; return 1; }; }
refused() { grep -qx "refused_app_state $1" "$TREE/control/adoption" || { cat "$TREE/control/adoption"; return 1; }; }

claim "the server starts" starts 1 all auto
inside python3 "$TMP/client.py" $HALF "$TMP/now" >"$TMP/client" 2>&1 &
CLIENT=$!
claim "connections are open" now "alive $((2 * HALF)) kinds xy versions 1 wrong 0"
claim "the same version is started" becomes 1 none
claim "... and adopts all of them" logs "adopted $((2 * HALF)) connections"
claim "... without a word about versions" eval '! grep -q "state of its connections" "$TMP/log"'

# plan VERSION all|some|none OPTION...: what the next start would say, told before anything is stopped.
plan() {
    TALLY_VERSION=$1 TALLY_ADOPT=$2 nsenter --net=/run/netns/"$NS" "$C10M" plan --adopt -c "$TMP/conf" $(as_root) -s control.adopt=auto "${@:3}"
}
claim "plan says that the running server's connections would be adopted" says 0 "^adoption: the next start adopts the connections of process $SERVER\$" plan 1 none
claim "... by each service" eval 'says 0 "^  service tally: its connections go on$" plan 1 none && says 0 "^  service web: its connections go on$" plan 1 none'
claim "... that the next version converts them" says 0 'service tally: .* of version 1, .* has version 2: it converts it' plan 2 all
claim "... or cannot" says 0 'service tally: .* of version 1, .* has version 2: it cannot convert it, and they are reset' plan 2 none
claim "... that another configuration copies them" says 0 'it copies them, because of memory blocks .*: until it serves it needs [0-9,]* bytes of hugepages' plan 1 none -s memory.connections=32768
claim "... and not if there are too few hugepages for a copy" says 1 'does not adopt .*: memory blocks .*hugepages' plan 1 none -s memory.connections=90M
claim "... but not those of an application that does not say so" says 0 '^  service tally: application tally cannot go on: its connections are reset$' plan 1 none -s memory.connections=32768
claim "... and what prevents it" says 1 "not adopt the connections of process $SERVER: .service tally. app echo: a service has another application" plan 1 none -s service.tally.app=echo
claim "... and proposes a drain" grep -q "ctl/drain" "$TMP/said"
claim "... nothing was changed: the connections go on" now "alive $((2 * HALF)) kinds xy versions 1 wrong 0"

claim "it ends for the next version" ended
no_drain() { says 1 "not adopt the connections of the server before: .service tally. app echo" plan 1 none -s service.tally.app=echo && ! grep ctl/drain "$TMP/said"; }
claim "plan proposes no drain of a server that has ended" no_drain
claim "plan knows those that nobody has now" says 0 '^adoption: the next start adopts the connections of the server before$' plan 2 all
claim "another application in its service adopts nothing" says 1 'cannot be adopted: \[service tally\] app echo' serve --adopt require -s service.tally.app=echo
claim "the next version starts" starts 2 all
claim "... says that it converts" logs 'service tally: the state of its connections is of version 1, the application tally has version 2: it converts it'
claim "... and all go on with their numbers" now "alive $((2 * HALF)) kinds xy versions 2 wrong 0"
claim "the version before, which refuses some, is started" becomes 1 some
claim "... half of them go on with their numbers" now "alive $HALF kinds x versions 1 wrong 0"
claim "... and the others are counted" refused $HALF
claim "... and in the log" logs "adopted $HALF connections, .* not adopted: $HALF, app_state $HALF"
claim "the next version without a function is started" becomes 2 none
claim "... says that it cannot" logs 'it cannot convert it, and they are reset'
claim "... and all are reset" now "alive 0 kinds - versions - wrong 0"
claim "... and counted" refused $HALF
claim "every received packet is accounted for" balance_is_zero
kill $CLIENT
CLIENT=
claim "the server stops in order" stop_server
claim "plan finds none" says 0 'no server of this name has connections that stay' plan 2 all
claim "... and leaves nothing" eval '[ ! -e "$HUGE" ] || { find "$HUGE"; false; }'
finish
