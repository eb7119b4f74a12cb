#!/usr/bin/env bash
# A running server is confined: every thread has a filter of system calls, with each driver of the kernel; what a worker or an
# application's thread may not do ends the process, and its last line names the thread, the stage, the service and the call.
. "$(dirname "$0")/lib.sh"
ulimit -c 0

# conf LINE...: one port of these lines, and the planted application.
conf() {
    write_conf
    give_port "$@" "address = 10.99.0.2/24"
    sed -i 's,^\[memory\],http = 127.0.0.1:9910\n&\nhugepage = none,' "$TMP/conf"
    printf '[service planted]\napp = forbidden\nport = 77\n' >>"$TMP/conf"
}
tap() {
    inside ip link del va 2>/dev/null || true
    conf "driver = tap" "device = c10mt0" "host_address = 10.99.0.1/24"
}
veth() { # DRIVER
    inside ip link del va 2>/dev/null || true
    inside ip link add va type veth peer name vb
    inside ip addr add 10.99.0.1/24 dev vb
    inside ip link set va up
    inside ip link set vb up
    inside ethtool -K vb tx off tso off gso off gro off >/dev/null 2>&1
    conf "driver = $1" "device = va"
}
page() { inside curl -sf -m 5 http://10.99.0.2/ | grep -q hello; }
# of_threads FIELD VALUE: every thread of the server has it.
of_threads() {
    local t n=0
    for t in /proc/"$SERVER"/task/*; do
        [ "$(awk -v f="$1:" '$1 == f { print $2 }' "$t/status")" = "$2" ] || { echo "$(cat "$t/comm"): $(grep "^$1:" "$t/status")"; return 1; }
        n=$((n + 1))
    done
    [ $n -ge 4 ] || { echo "$n threads"; return 1; }
}
# filters NAME COUNT: threads of that name have so many filters, one over the other.
filters() {
    local t n=0
    for t in /proc/"$SERVER"/task/*; do
        [[ $(cat "$t/comm") == $1 ]] || continue
        grep -q "^Seccomp_filters:[[:space:]]*$2\$" "$t/status" || { grep Seccomp_filters "$t/status"; return 1; }
        n=$((n + 1))
    done
    [ $n -ge 1 ] || { cat /proc/"$SERVER"/task/*/comm; return 1; }
}
# say WORD: to the planted application; prints its answer, if there is one.
say() {
    inside timeout 10 python3 - "$1" <<'PY' || true
import socket, sys
s = socket.create_connection(("10.99.0.2", 77), 5)
s.sendall((sys.argv[1] + "\n").encode())
print(s.recv(64).decode(), end="")
PY
}
# ends_naming WORD PATTERN: after the word the server ends by SIGSYS, and its log has a line of the pattern.
ends_naming() {
    local status=0
    say "$1" >/dev/null
    within 20 eval '[ ! -e /proc/$SERVER ] || grep -q "^State:.Z" /proc/$SERVER/status' || kill -9 "$SERVER"
    wait "$SERVER" || status=$?
    SERVER=
    [ $status = $((128 + 31)) ] && grep -qE "$2" "$TMP/log" && return 0
    echo "status $status"
    tail -n 5 "$TMP/log"
    return 1
}
answered() { [ "$(say "$1")" = "$2" ]; }
profile() { inside curl -sf -m 20 -o "$TMP/cpu" "http://127.0.0.1:9910/debug/pprof/profile?seconds=1" && [ -s "$TMP/cpu" ]; }

claim "an application is built out of tree" build_planted forbidden.c
[ "$FAILED" = 0 ] || finish
C10M=$TMP/planted

for DRIVER in tap af_packet af_xdp; do
    if [ $DRIVER = tap ]; then tap; else veth $DRIVER; fi
    claim "$DRIVER: the server starts" start_server
    claim "... every thread has a filter of system calls" of_threads Seccomp 2
    claim "... and gains no privilege by a program" of_threads NoNewPrivs 1
    claim "... workers have one more" filters 'rte-worker*' 2
    claim "... a page" page
    claim "... a CPU profile" profile
    claim "... packets are answered meanwhile and after it" page
    claim "... a request to an application" answered hello ok
    claim "... the server stops" stop_server
done

tap
for CALL in socket execve openat fork; do
    claim "$CALL in a worker: the server starts" start_server
    [ $CALL = fork ] && NAME='(fork|clone)' || NAME=$CALL
    claim "... the end names thread, stage, service and call" ends_naming $CALL \
        "^c10m: worker on CPU [0-9]+, stage app of service planted: the system call $NAME \([0-9]+\) is not allowed"
done
for CALL in execve fork; do
    claim "$CALL in a thread of an application: the server starts" start_server
    [ $CALL = fork ] && NAME='(fork|clone)' || NAME=$CALL
    claim "... the end names the service and the call" ends_naming "thread $CALL" \
        "^c10m: thread of service planted: the system call $NAME \([0-9]+\) is not allowed"
done
claim "socket in a thread of an application: the server starts" start_server
claim "... is made" eval 'answered "thread socket" asked && within 20 grep -q "^forbidden: socket: made$" "$TMP/log"'
claim "SIGSYS of another process is no violation" eval 'kill -SYS $SERVER; wait $SERVER; [ $? = 159 ]'
claim "... the server ended in order" eval '! grep -q "not allowed" "$TMP/log" && ! mountpoint -q "$TREE"'
SERVER=

sed -i 's,^\[memory\],seccomp = off\n&,' "$TMP/conf"
claim "seccomp = off: the server starts" start_server
claim "... no thread has a filter" of_threads Seccomp 0
claim "... a worker makes the call" answered socket made
claim "... the server stops" stop_server
sed -i 's,^seccomp = off,seccomp = log,' "$TMP/conf"
claim "seccomp = log: the server starts" start_server
claim "... every thread has a filter" of_threads Seccomp 2
claim "... a worker makes the call" answered socket made
claim "... the server stops" stop_server
finish
