#!/usr/bin/env bash
# A server that root started gives up root, and goes on to do all that it did: pages, profiles, dumps, reload, a device that is
# gone and returns, a drain. At its end, also by kill -9, nothing is left behind. Landlock keeps it from files of others.
. "$(dirname "$0")/lib.sh"
ulimit -c 0
USER_NAME=c10mtest$$
OTHER=$(mktemp -d /tmp/c10m-other.XXXXXX)
cleanup_first() {
    userdel "$USER_NAME" 2>/dev/null
    rm -rf "$OTHER"
}
useradd --system --no-create-home --shell /usr/sbin/nologin "$USER_NAME"
USER_ID=$(id -u "$USER_NAME")
chmod 755 "$TMP"
chown "$USER_NAME" "$OTHER"
echo secret >"$OTHER/secret"

# conf LINE...: one port of these lines, and the planted application.
conf() {
    write_conf
    give_port "$@" "address = 10.99.0.2/24"
    sed -i "s,^\[memory\],http = 127.0.0.1:9910\nuser = $USER_NAME\n&," "$TMP/conf"
    printf '[service planted]\napp = forbidden\nport = 77\n' >>"$TMP/conf"
}
tap() {
    inside ip link del va 2>/dev/null || true
    conf "driver = tap" "device = c10mt0" "host_address = 10.99.0.1/24"
}
make_veth() {
    inside ip link add va type veth peer name vb
    inside ip addr add 10.99.0.1/24 dev vb
    inside ip link set va up
    inside ip link set vb up
    inside ethtool -K vb tx off tso off gso off gro off >/dev/null 2>&1
}
veth() { # DRIVER
    inside ip link del va 2>/dev/null || true
    make_veth
    conf "driver = $1" "device = va"
}
page() { inside curl -sf -m 2 http://10.99.0.2/ | grep -q hello; }
say() {
    inside timeout 10 python3 - "$1" <<'PY' || true
import socket, sys
s = socket.create_connection(("10.99.0.2", 77), 5)
s.sendall((sys.argv[1] + "\n").encode())
print(s.recv(64).decode(), end="")
PY
}
# all_threads FIELD VALUE: every thread's first value of the field.
all_threads() {
    local t
    for t in /proc/"$SERVER"/task/*; do
        [ "$(awk -v f="$1:" '$1 == f { print $2 }' "$t/status")" = "$2" ] || { echo "$(cat "$t/comm"): $(grep "^$1:" "$t/status")"; return 1; }
    done
}
# capabilities SET: of the control thread; all others have none.
capabilities() {
    local t got want
    for t in /proc/"$SERVER"/task/*; do
        want=0000000000000000
        [ "${t##*/}" != "$SERVER" ] || want=$1
        for got in CapEff CapPrm CapAmb; do
            [ $got != CapAmb ] || want=0000000000000000
            grep -q "^$got:[[:space:]]*$want\$" "$t/status" || { echo "$(cat "$t/comm"): $(grep "^$got" "$t/status")"; return 1; }
        done
    done
}
profile() { inside curl -sf -m 20 -o "$TMP/cpu" "http://127.0.0.1:9910/debug/pprof/profile?seconds=1" && [ -s "$TMP/cpu" ]; }
dump() {
    inside timeout 20 "$C10M" dump --socket "$TMP/run/control.sock" -c 2 'tcp port 80' >"$TMP/dump" 2>"$TMP/dump.err" &
    local pid=$!
    within 15 eval "page && ! kill -0 $pid 2>/dev/null || ! kill -0 $pid 2>/dev/null"
    wait $pid || { cat "$TMP/dump.err"; return 1; }
}
reload() {
    sed -i 's,^drain_s = .*,drain_s = 3,' "$TMP/conf"
    kill -HUP "$SERVER"
    within 20 grep -q '^drain_s = 3$' "$TREE/config"
}
link() { awk -v n="$1" '$1 == n { print $2 }' "$TREE/ports/p0/link"; }
reopened() { [ "$(link reopened)" = 1 ] || { cat "$TREE/ports/p0/link"; tail -n 3 "$TMP/log"; return 1; }; }
returns() {
    if [ "$DRIVER" = tap ]; then
        inside ip link del c10mt0
    else
        inside ip link del va
        within 20 eval '[ "$(link status)" = down ]'
        make_veth
    fi
    within 60 reopened && within 30 page
}
# The lock of an interface of that name in this namespace. A server that was killed in an earlier namespace of the same number may
# have left one.
DEVICE_LOCK=/run/lock/c10m-0.va@$(inside stat -Lc %i /proc/self/ns/net)
rm -f "$DEVICE_LOCK"
# nothing_left: of the server's name, wherever a server leaves something.
nothing_left() {
    ! mountpoint -q "$TREE" && ! grep -q " $TMP/" /proc/mounts && [ ! -e "$TMP/run" ] && [ ! -e "$TMP/huge" ] &&
        [ ! -e "/var/run/dpdk/e2e$$" ] && [ ! -e "$DEVICE_LOCK" ] && ! inside ip link show c10mt0 2>/dev/null && return 0
    grep " $TMP/" /proc/mounts
    ls -laR "$TMP/run" "$TMP/huge" "/var/run/dpdk/e2e$$" /run/lock
    return 1
}
killed() { kill -9 "$SERVER"; wait "$SERVER" || true; SERVER=; within 20 nothing_left && within 5 grep -q 'was killed: what it left behind is removed' "$TMP/log"; }

claim "an application is built out of tree" build_planted forbidden.c
[ "$FAILED" = 0 ] || finish
C10M=$TMP/planted

for DRIVER in tap af_packet af_xdp; do
    case $DRIVER in
    tap) tap; CAPS=0000000000001000 ;;
    af_packet) veth $DRIVER; CAPS=0000000000007000 ;;
    af_xdp) veth $DRIVER; CAPS=0000008000007000 ;;
    esac
    claim "$DRIVER: the server starts" start_server
    claim "... every thread is the user's" all_threads Uid "$USER_ID"
    claim "... also by its group" all_threads Gid "$(id -g "$USER_NAME")"
    claim "... only the control thread has capabilities, those of the driver" capabilities $CAPS
    claim "... no thread gains any by a program" all_threads NoNewPrivs 1
    claim "... all have a filter of system calls" all_threads Seccomp 2
    claim "... run_dir is the user's" eval '[ "$(stat -c %U "$TMP/run")" = "$USER_NAME" ]'
    claim "... a page" page
    claim "... a CPU profile" profile
    claim "... frames of a dump" dump
    claim "... the configuration is read again" reload
    # libxdp asks for the program of an interface by its number, for which the kernel wants CAP_SYS_ADMIN.
    [ $DRIVER = af_xdp ] || claim "... the device is gone, and returns" returns
    claim "... a drain by command" "$C10M" write -s "$TMP/run/control.sock" ctl/drain "start 1"
    claim "... the server stops" stop_server
    claim "... and leaves nothing behind" nothing_left
    [ $DRIVER = tap ] || claim "... no XDP program either" eval '! inside ip link show va | grep -q xdp'
done

tap
claim "tap: the server starts" start_server
claim "... after kill -9 the cleaner leaves nothing behind" killed
claim "... the next server starts" start_server
claim "... a thread of an application opens what all may read" eval '[ "$(say "thread openat")" = asked ] && within 20 grep -q "^forbidden: openat: made$" "$TMP/log"'
claim "... and not a file of another directory, though it is the user's" eval \
    '[ "$(say "thread openat $OTHER/secret")" = asked ] && within 20 grep -q "^forbidden: openat: refused$" "$TMP/log"'
claim "... the server stops" stop_server
sed -i 's,^\[memory\],landlock = off\n&,' "$TMP/conf"
claim "landlock = off: the server starts" start_server
claim "... the file is opened" eval '[ "$(say "thread openat $OTHER/secret")" = asked ] && within 20 grep -q "^forbidden: openat: made$" "$TMP/log"'
claim "... the server stops" stop_server
sed -i 's,^user = .*,user = no-such-user,' "$TMP/conf"
claim "a user that does not exist is an error, with its place" says 1 "conf:[0-9]+: user: there is no user no-such-user" inside "$C10M" serve -c "$TMP/conf"
claim "... also of a check" says 1 "conf:[0-9]+: .*there is no user no-such-user" inside "$C10M" check -c "$TMP/conf"
sed -i 's,^user = .*,user = root,' "$TMP/conf"
claim "user = root: the server starts" start_server
claim "... and stays root" all_threads Uid 0
claim "... the server stops" stop_server
claim "... and leaves nothing behind" nothing_left

# As a service manager starts a server: another user, with the capabilities that the start needs.
cat >"$TMP/as_user" <<SH
#!/bin/sh
exec setpriv --reuid $USER_ID --regid $(id -g "$USER_NAME") --clear-groups --inh-caps=-all,+net_admin,+sys_admin \
    --ambient-caps=-all,+net_admin,+sys_admin "$C10M" "\$@"
SH
chmod +x "$TMP/as_user"
sed -i '/^user = /d; s,^\[memory\],&\nhugepage = none,' "$TMP/conf"
mkdir "$TMP/run"
chown "$USER_NAME" "$TMP/run"
of_thread() { awk '/^CapPrm:/ { print $2 }' "$1/status"; }
lowered() {
    local t
    [ "$(of_thread "/proc/$SERVER")" = 0000000000001000 ] || { grep Cap "/proc/$SERVER/status"; return 1; }
    for t in /proc/"$SERVER"/task/*; do
        [ "${t##*/}" != "$SERVER" ] || continue  # the control thread, whose name is that of the program
        case $(cat "$t/comm") in
        rte-worker* | planted) [ "$(of_thread "$t")" = 0000000000000000 ] || { cat "$t/comm"; grep Cap "$t/status"; return 1; } ;;
        esac
    done
}
C10M=$TMP/as_user
claim "another user with capabilities: the server starts" start_server
claim "... only the control thread has one, which it needs" lowered
claim "... every thread has a filter of system calls" all_threads Seccomp 2
claim "... a page" page
claim "... the server stops" stop_server
claim "... and leaves no mount behind" eval '! grep -q " $TMP/" /proc/mounts'
finish
