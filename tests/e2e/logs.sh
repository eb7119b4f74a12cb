#!/usr/bin/env bash
# Where a server logs: a file that SIGUSR1 opens again, the journal, syslog; and a drained server stays drained when it
# reads its configuration again.
. "$(dirname "$0")/lib.sh"

write_conf
sed -i "/^root = /a access_log = $TMP/access" "$TMP/conf"
page() { inside curl -sf -m 10 "http://10.99.0.2/$1" -o /dev/null; }
LOG=$TMP/server.log
# The last line of a start is in the file, not on stderr.
start_to_file() {
    setpriv --pdeathsig KILL nsenter --net=/run/netns/"$NS" "$C10M" serve -c "$TMP/conf" --set control.log="$LOG" "$@" >"$TMP/log" 2>&1 &
    SERVER=$!
    within 60 grep -q 'serving$' "$LOG"
}
claim "a server logs to a file" start_to_file
times() { grep -qE '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z c10m: serving$' "$LOG" && ! grep -q '^c10m: ' "$LOG"; }
claim "... each line with its time" times
claim "... and none to stderr" [ ! -s "$TMP/log" ]
page "?before"
within 10 grep -q before "$TMP/access"
mv "$LOG" "$LOG.1"
mv "$TMP/access" "$TMP/access.1"
kill -USR1 "$SERVER"
claim "SIGUSR1 opens the log again" within 10 grep -q "the logs were opened again" "$LOG"
claim "... and access logs, before anything is written" [ -f "$TMP/access" ]
page "?after"
claim "what comes later is in the new files" within 10 grep -q after "$TMP/access"
claim "... and not in the old ones" eval '! grep -q after "$TMP/access.1" && grep -q "serving$" "$LOG.1"'
mv "$LOG" "$LOG.2"
mkdir "$LOG"
kill -USR1 "$SERVER"
claim "a log that cannot be opened again is told in the old one" within 10 grep -q "warning: the log $LOG is not opened again: Is a directory" "$LOG.2"
rmdir "$LOG"

# ---- a drained server
CTL=$TREE/ctl
state_is() { grep -q "^state $1\$" "$CTL/drain"; }
closed() { ! inside curl -s -m 5 http://10.99.0.2/ -o /dev/null; }
echo now >"$CTL/drain"
claim "a server is drained" within 30 state_is drained
sed -i 's/^drain_s = 0/drain_s = 1/' "$TMP/conf"
reloaded() { kill -HUP "$SERVER" && within 10 grep -q "configuration reloaded" "$LOG.2" && [ "$(sed -n 's/^control.drain_s = //p' "$CTL/set/control.drain_s")" = 1 ]; }
claim "it reads its configuration again" reloaded
echo 2s >"$CTL/set/tcp.time_wait_ms"
claim "... and stays drained" eval 'state_is drained && closed'
echo stop >"$CTL/drain"
claim "until that is ended" within 30 page "?again"
echo_is_closed() { grep -q "^state closed" "$CTL/services/echo/state"; }
echo closed >"$CTL/services/echo/state"
claim "a service is closed" within 30 echo_is_closed
sed -i 's/^drain_s = 1/drain_s = 2/' "$TMP/conf"
reloaded_again() { grep -q "^control.drain_s = 2" "$CTL/set/control.drain_s"; }
kill -HUP "$SERVER"
claim "... and stays closed when the configuration is read again" eval 'within 10 reloaded_again && echo_is_closed'
claim "the server stops" stop_server

# ---- the journal: stderr is the file that JOURNAL_STREAM names, as a socket of the journal would be
journal() {
    : >"$TMP/log"
    JOURNAL_STREAM=$(stat -c %d:%i "$TMP/log") setpriv --pdeathsig KILL nsenter --net=/run/netns/"$NS" "$C10M" serve -c "$TMP/conf" >>"$TMP/log" 2>&1 &
    SERVER=$!
    within 60 grep -q '^<6>serving$' "$TMP/log" && ! grep -q '^c10m: ' "$TMP/log"
}
claim "a journal gets priorities" journal
claim "the server stops" stop_server

# ---- syslog
python3 -c 'import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
while True:
    print(s.recv(65536).decode(), flush=True)' "$TMP/syslog" >"$TMP/messages" &
SYSLOG=$!
cleanup_first() { kill "$SYSLOG" 2>/dev/null; }
within 20 [ -S "$TMP/syslog" ]
to_syslog() {
    setpriv --pdeathsig KILL nsenter --net=/run/netns/"$NS" "$C10M" serve -c "$TMP/conf" --set control.log=syslog:"$TMP/syslog" >"$TMP/log" 2>&1 &
    SERVER=$!
    within 60 grep -qE "^<30>[A-Z][a-z]{2} [ 0-9]{2} [0-9:]{8} e2e$$\[$SERVER\]: serving\$" "$TMP/messages"
}
claim "syslog gets facility, severity, name and process" to_syslog
claim "the server stops" stop_server
claim "a log that cannot be had is an error, as check says" eval '
    says 1 "^error: --set control.log: the log /nowhere/log: No such file" inside "$C10M" serve -c "$TMP/conf" --set control.log=/nowhere/log &&
    says 1 "^error: --set control.log: the log /nowhere/log: No such file" inside "$C10M" check -c "$TMP/conf" --set control.log=/nowhere/log'
finish
