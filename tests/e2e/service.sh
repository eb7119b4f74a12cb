#!/usr/bin/env bash
# The service c10m@NAME without systemd: what is installed for it is good, and a program that plays systemd
# (service_manager.py) starts the server as the unit says, as a user who is not root. The server says READY=1 when it
# serves, feeds the watchdog while its workers turn and not while one hangs, refuses a bad configuration with its place,
# and ends with STOPPING=1.
. "$(dirname "$0")/lib.sh"
BUILD=$(dirname "$(dirname "$C10M")")
DEST=$TMP/dest
USER_ID=64199  # has no name and owns nothing else
MANAGER=
chmod 711 "$TMP"
need() { command -v "$1" >/dev/null || { echo "skipped: no $1"; exit 77; }; }
need systemd-analyze
need logrotate
/usr/bin/python3 -c 'import seccomp' 2>/dev/null || { echo "skipped: no python3-seccomp"; exit 77; }

installed() {
    meson install -C "$BUILD" --no-rebuild --quiet --destdir "$DEST" || return 1
    PREFIX=$(find "$DEST" -name c10m -path '*/bin/c10m' -printf '%h\n')
    PREFIX=${PREFIX%/bin}
    mkdir "$TMP/pc" && sed "s,^prefix=.*,prefix=$PREFIX," "$(find "$DEST" -name c10m.pc)" >"$TMP/pc/c10m.pc"
    cp "$HERE/planted_stall.c" "$TMP/planted.c" && cp "$HERE/service_manager.py" "$TMP"
    PKG_CONFIG_PATH=$TMP/pc
    export PKG_CONFIG_PATH
    cc -O2 -g -std=gnu17 -Werror "$TMP/planted.c" $(pkg-config --cflags --libs c10m) -o "$TMP/planted"
}
claim "the service is installed, and a server with an application that hangs is built" installed
[ "$FAILED" = 0 ] || finish
UNIT=$TMP/c10m@e2e.service
sed -E "s,[^ =]*/bin/c10m,$TMP/planted,; s,[^ =]*/etc/c10m/%i\.conf,$TMP/conf," "$(find "$DEST" -name c10m@.service)" >"$UNIT"

# ---- what is installed
exposure() { systemd-analyze security --offline=true --no-pager "$1" | sed -n 's/.*exposure level for [^:]*: \([0-9.]*\) .*/\1/p'; }
exposed_less_than() { local got; got=$(exposure "$2"); echo "exposure $got"; awk -v got="$got" -v limit="$1" 'BEGIN { exit !(got != "" && got < limit) }'; }
claim "systemd rates the exposure of the service below 4" exposed_less_than 4 "$UNIT"
open_unit() { sed '/^CapabilityBoundingSet\|^SystemCallFilter/d' "$UNIT" >"$TMP/open@e2e.service" && ! exposed_less_than 4 "$TMP/open@e2e.service"; }
claim "... and of one without its filters not" open_unit
claim "systemd takes the unit" systemd-analyze verify --man=no "$UNIT"
one_user() {
    mkdir -p "$TMP/root/etc" && systemd-sysusers --root="$TMP/root" "$(find "$DEST" -path '*sysusers.d/c10m.conf')" &&
        grep -E '^c10m:.*:/(usr/)?s?bin/nologin$' "$TMP/root/etc/passwd"
}
claim "sysusers makes the user, who cannot log in" one_user
directories() {
    systemd-tmpfiles --root="$TMP/root" --create "$(find "$DEST" -path '*tmpfiles.d/c10m.conf')" &&
        [ "$(stat -c %a "$TMP/root/run/c10m" "$TMP/root/var/log/c10m" | tr '\n' ' ')" = "755 750 " ]
}
claim "tmpfiles makes the directories" directories
rotates() {  # as root's user, and in a directory of the test
    local log=$TMP/logs
    mkdir "$log" && echo line >"$log/web.log"
    sed "s,/var/log/c10m,$log,; s,su c10m c10m,su root root," "$(find "$DEST" -path '*logrotate.d/c10m')" >"$TMP/logrotate" &&
        chmod 644 "$TMP/logrotate" && logrotate --force --state "$TMP/logrotate.state" "$TMP/logrotate" && [ -e "$log/web.log.1" ] && [ ! -e "$log/web.log" ]
}
claim "logrotate takes its file, renames, and makes no new file itself" rotates

# ---- the service
write_conf
sed -i "s,^hugetlbfs = .*,hugetlbfs = huge," "$TMP/conf"
printf '[service planted]\napp = planted\nport = 77\n' >>"$TMP/conf"
install -d -o $USER_ID -g $USER_ID "$TMP/run"
chmod 644 "$TMP/conf"
EVENTS=$TMP/events
manage() { inside env RUNTIME_DIRECTORY="$TMP/run" /usr/bin/python3 "$TMP/service_manager.py" "$@"; }
begin() {  # begin OPTION...: of the manager
    : >"$EVENTS"
    manage run "$UNIT" --uid $USER_ID "$@" >"$EVENTS" 2>"$TMP/log" &
    MANAGER=$!
}
event() { grep -Eq -- "$1" "$EVENTS" || { cat "$EVENTS" "$TMP/log"; return 1; }; }
events() { grep -Ec -- "$1" "$EVENTS" || true; }
at_least() { [ "$(events "$2")" -ge "$1" ] || { cat "$EVENTS"; return 1; }; }
service_pid() { awk '$1 == "pid" { print $2 }' "$EVENTS"; }
cleanup_first() {
    kill -9 "$(service_pid)"  # the manager ends with it
    rm -f /run/lock/c10m-$USER_ID.*
} 2>/dev/null
serves() { inside curl -sf --max-time 5 http://10.99.0.2/ | grep -q hello; }
hang() {  # hang MS: the worker, in the application's callback
    inside python3 -c '
import socket, sys
s = socket.create_connection(("10.99.0.2", 77), timeout=60)
s.sendall(sys.argv[1].encode() + b"\n")' "$1"
}

begin --watchdog 4
claim "the server says READY=1" within 120 event '^notify READY=1\|STATUS=serving$'
[ "$FAILED" = 0 ] || finish
claim "... after what it does before" eval '[ "$(grep -n "STATUS=reserving" "$EVENTS" | cut -d: -f1)" -lt "$(grep -n READY=1 "$EVENTS" | cut -d: -f1)" ]'
claim "... when the tree is there, and HTTP is served" eval '[ -e "$TREE/version" ] && serves'
not_root() {
    local pid
    pid=$(service_pid)
    [ "$(stat -c %u "/proc/$pid")" = $USER_ID ] && grep -q '^NoNewPrivs:.1' "/proc/$pid/status" && grep -q '^Seccomp:.2' "/proc/$pid/status" &&
        grep '^CapEff' "/proc/$pid/status" && [ $((0x$(awk '/^CapBnd/ { print $2 }' "/proc/$pid/status") & ~0x201000)) = 0 ]
}
claim "... as a user who is not root, with two capabilities at most" not_root
claim "... with hugepages in its core dump" eval 'grep -qx 00000073 "/proc/$(service_pid)/coredump_filter"'
claim "it feeds the watchdog" within 60 at_least 3 '^notify WATCHDOG=1$'

# ---- reload
reload() { manage reload "$UNIT" --uid $USER_ID; }
sed -i 's/^drain_s = 0/drain_s = 1/' "$TMP/conf"
claim "a reload says what has changed" says 0 'changed .*/conf:[0-9]+: control.drain_s: 0 -> 1' reload
claim "... and the manager is told" eval 'within 20 event "^notify RELOADING=1\|MONOTONIC_USEC=[0-9]+\|STATUS=" && within 20 event "^notify READY=1\|STATUS=serving; configuration reloaded"'
cp "$TMP/conf" "$TMP/good"
sed -i 's/^drain_s = 1/drain_s = soon/' "$TMP/conf"
LINE=$(grep -n '^drain_s' "$TMP/conf" | cut -d: -f1)
claim "a reload of a bad file fails, with its place" says 2 "conf:$LINE: .*drain_s" reload
claim "... nothing has changed" grep -qx 'drain_s = 1' "$TREE/config"
kill -HUP "$(service_pid)"
claim "SIGHUP with a bad file is refused, and the manager is told the place" within 20 event "^notify READY=1\|STATUS=serving; the new configuration was refused: .*conf:$LINE: "
refused_by_the_server() { ! echo now >"$TREE/ctl/reload" && grep -q "^error .*conf:$LINE: " "$TREE/ctl/reload" && grep -qx 'refused 2' "$TREE/ctl/reload"; }
claim "... and so is a write to ctl/reload" refused_by_the_server
cp "$TMP/good" "$TMP/conf"
claim "a good file is taken again" says 0 '^reloaded$' reload
gone() { mv "$TMP/conf" "$TMP/away" && says 2 'away|No such file|conf' reload; mv "$TMP/away" "$TMP/conf"; }
claim "a reload without a file fails" gone

# ---- watchdog
hang 9000
claim "while a worker hangs, the watchdog is not fed" within 60 event '^watchdog expired$'
claim "... and the status says which, and where" event '^notify STATUS=the watchdog is not fed: the worker of cores/[0-9]+ hangs in stage app of application planted$'
fed_while_hungry() { awk '/STATUS=the watchdog is not fed/ { hungry = 1 } /STATUS=serving: all workers turn again/ { hungry = 0 } hungry && /WATCHDOG=1/ { bad = 1 } END { exit !bad }' "$EVENTS"; }
claim "... it is fed again when the worker turns" eval 'within 60 event "STATUS=serving: all workers turn again" && N=$(events WATCHDOG=1) && within 60 at_least $((N + 1)) WATCHDOG=1'
claim "... and was not before" eval '! fed_while_hungry'
claim "it serves as before" within 20 serves

# ---- the end
kill -TERM "$(service_pid)"
claim "the end begins with STOPPING=1, and asks for the time of the drain" within 60 event '^notify STOPPING=1\|EXTEND_TIMEOUT_USEC=11000000\|STATUS='
wait "$MANAGER" || true
claim "... and is in order" event '^end 0$'
claim "nobody else has said anything" eval '! grep ^stranger "$EVENTS"'
left() { [ -z "$(find "$TMP/run" -mindepth 1 ! -path "$TMP/run/dpdk*")" ] && ! grep "$TMP" /proc/mounts; }
claim "nothing is left" left

# ---- a restart: connections go on
sed -i 's/^\[control\]$/&\nadopt = auto/' "$TMP/conf"
begin --watchdog 20
claim "it starts with adopt" within 120 event '^notify READY=1'
held() {  # a connection that asks for an answer when there is $TMP/go
    inside python3 -c 'import os, socket, sys, time
s = socket.create_connection(("10.99.0.2", 7), timeout=60)
s.sendall(b"before")
print(s.recv(6, socket.MSG_WAITALL), flush=True)
for i in range(3000):
    if os.path.exists(sys.argv[1]):
        break
    time.sleep(0.1)
s.sendall(b"after")
print(s.recv(5, socket.MSG_WAITALL), flush=True)' "$TMP/go"
}
held >"$TMP/held" 2>&1 &
HELD=$!
claim "a connection is open" within 20 grep -q before "$TMP/held"
kill -s "$(sed -n 's/^RestartKillSignal=SIG//p' "$UNIT")" "$(service_pid)"
claim "the signal of a restart ends the server with the status of a restart" within 60 event "^end $(sed -n 's/^RestartForceExitStatus=//p' "$UNIT")\$"
wait "$MANAGER" || true
begin --watchdog 20
claim "the next one serves" within 120 event '^notify READY=1'
claim "... and has adopted the connection" grep -q 'adopted 1 connections, .* not adopted: 0$' "$TMP/log"
touch "$TMP/go"
wait $HELD || true
claim "... which is answered" grep -q after "$TMP/held"
kill -TERM "$(service_pid)"
claim "a stop ends it" within 60 event '^end 0$'
wait "$MANAGER" || true
claim "... and nothing is left" left
sed -i '/^adopt = auto$/d' "$TMP/conf"

begin --watchdog 3 --abort
claim "it starts again" within 120 event '^notify READY=1'
hang 60000
claim "a server whose worker hangs is ended by the manager's SIGABRT, as a crash" within 60 event '^end -6$'
claim "... the log says where the worker hangs" grep -q 'hangs in stage app of service planted' "$TMP/log"
wait "$MANAGER" || true
MANAGER=
finish
