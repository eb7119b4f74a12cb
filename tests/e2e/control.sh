#!/usr/bin/env bash
# The control interfaces of one tree: the mount, the control socket and HTTP show the same bytes, refuse the same users, and
# work each without the others; the commands that use the socket.
. "$(dirname "$0")/lib.sh"
SOCKET=$TMP/run/control.sock
export C10M_SOCKET=$SOCKET
# Where another user can reach both.
install -m 755 "$C10M" "$TMP/c10m"
chmod 755 "$TMP"
LOOK=$TMP/c10m

cat >"$TMP/conf" <<CONF
[control]
name = control$$
run_dir = $TMP/run
mount = $TREE
drain_s = 0
http = 127.0.0.1:9910
telemetry = off
[memory]
hugepage = none
connections = 1024
packets = 4096
[port lone]
driver = ring
address = 10.0.0.1/24
[service echo]
app = echo
port = 7
[service web]
app = http
port = 80
root = $TMP/site
CONF

# An interface is a name here, a function read_NAME PATH, and refused_read_NAME PATH, refused_write_NAME PATH: it refuses
# user nobody.
INTERFACES="mount socket http"
nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
denied() {  # denied COMMAND...: fails, and says why
    local said
    said=$("$@" 2>&1 </dev/null) && return 1
    [[ $said == *"Permission denied"* ]] || { echo "$said"; return 1; }
}
read_mount() { cat "$TREE/$1"; }
read_socket() { "$LOOK" cat "$1"; }
read_http() { inside curl -sf -m 20 "http://127.0.0.1:9910/proc/$1"; }
refused_read_mount() { denied nobody cat "$TREE/$1"; }
refused_read_socket() { denied nobody "$LOOK" cat "$1"; }
refused_read_http() { [ "$(inside curl -s -m 20 -o /dev/null -w '%{http_code}' "http://127.0.0.1:9910/proc/$1")" = 403 ]; }
refused_write_mount() { denied nobody bash -c 'echo 1 >"$1"' x "$TREE/$1"; }
refused_write_socket() { denied nobody "$LOOK" write "$1" 1; }

same() {  # same PATH: the same bytes from every interface
    local via
    for via in $INTERFACES; do
        "read_$via" "$1" >"$TMP/read.$via" || { echo "$via: $1"; return 1; }
        [ -s "$TMP/read.$via" ] && cmp "$TMP/read.${INTERFACES%% *}" "$TMP/read.$via" || { echo "$via: $1"; return 1; }
    done
}
same_lists() {  # every directory of the mount has the same names behind the socket
    local dir at
    find "$TREE" -type d >"$TMP/dirs"
    [ "$(wc -l <"$TMP/dirs")" -gt 5 ] || return 1
    while read -r dir; do
        at=${dir#"$TREE"}
        diff <(LC_ALL=C ls -p "$dir") <("$LOOK" ls "$at") || { echo "$at"; return 1; }
    done <"$TMP/dirs"
}
same_modes() { diff <(find "$TREE" -mindepth 1 -maxdepth 1 -printf '%M %U %G %f\n' | sort) \
    <("$LOOK" ls -l | awk '{ sub("/$", "", $6); print $1, $2, $3, $6 }' | sort); }
refused_everywhere() {  # refused_everywhere read|write TEST...: what others may not, they may not through any interface
    local how=$1 via path n=0
    shift
    find "$TREE" -type f "$@" -printf '%P\n' >"$TMP/shut"
    while read -r path; do
        n=$((n + 1))
        for via in $INTERFACES; do
            [ "$how $via" != "write http" ] || continue  # HTTP writes nothing without a token at all
            "refused_${how}_$via" "$path" || { echo "$via: $path"; return 1; }
        done
    done < <(head -n 20 "$TMP/shut")
    [ "$n" -gt 0 ]
}
says() {  # says STATUS TEXT COMMAND...
    local want=$1 text=$2 status=0
    shift 2
    "$@" >"$TMP/said" 2>&1 </dev/null || status=$?
    [ "$status" = "$want" ] && grep -qF -- "$text" "$TMP/said" || { echo "exit $status"; cat "$TMP/said"; false; }
}

claim "the server starts" start_server
for path in version config mem/ledger ports/lone/driver ports/lone/mac apps/web/files; do
    claim "$path: the same bytes from $INTERFACES" same "$path"
done
claim "the same names in every directory" same_lists
claim "the same modes and owners" same_modes
claim "nobody reads what root alone may" refused_everywhere read ! -perm -o=r
claim "nobody writes what root alone may" refused_everywhere write ! -perm -o=w
claim "nobody reads what all may, through the mount" nobody grep -q c10m "$TREE/version"
claim "... and through the socket" says 0 c10m nobody "$LOOK" cat version
claim "root too cannot write what has no writer" says 1 "version: Permission denied" "$LOOK" write version 1

claim "a refusal comes with the entry's own words" says 1 'tcp.rto_min_ms: Numerical result out of range: expected milliseconds' \
    "$LOOK" write ctl/set/tcp.rto_min_ms 0
claim "... and changes nothing" grep -qx 'rto_min_ms = 200' "$TREE/config"
claim "a value is taken" "$LOOK" write ctl/set/tcp.rto_min_ms 300
claim "... and seen through the mount" grep -qx 'rto_min_ms = 300' "$TREE/config"
claim "cat prints several, says what is missing, and goes on" says 1 "missing: No such file or directory" \
    "$LOOK" cat version missing uptime
claim "... uptime came" grep -qE '^[0-9]+\.[0-9]+ ' "$TMP/said"
claim "nothing leads out of the tree" says 1 "Invalid cross-device link" "$LOOK" cat ../../../../etc/passwd
claim "a directory is none to print" says 1 "Is a directory" "$LOOK" cat cores
claim "bad usage is 2" says 2 "expected a PATH" "$LOOK" cat
claim "... of each command" says 2 "usage: c10m watch" "$LOOK" watch --nothing x
claim "help is 0" says 0 "usage: c10m write" "$LOOK" write --help
claim "watch reads again and again" eval '[ "$("$LOOK" watch -n 0.1 -c 3 uptime | sort -u | wc -l)" = 3 ]'
watch_ends() {
    local status=0
    env --default-signal=INT "$LOOK" watch -n 0.1 uptime >"$TMP/watched" &
    local pid=$! i
    for ((i = 0; i < 100; i++)); do [ -s "$TMP/watched" ] && break; sleep 0.1; done
    kill -INT "$pid"
    wait "$pid" || status=$?
    [ "$status" = 130 ]
}
claim "watch ends on Ctrl-C, 130" watch_ends
claim "watch draws on a terminal" python3 "$HERE/watch_terminal.py" "$LOOK"

claim "a second server of the same directory is refused" says 1 "another server uses this socket" \
    nsenter --net=/run/netns/"$NS" "$C10M" serve -c "$TMP/conf" --set control.name=second$$
claim "... and the first one answers on" says 0 c10m "$LOOK" cat version
claim "the server stops" stop_server
claim "... and its directory is gone with the socket" [ ! -e "$TMP/run" ]
claim "without a server that is said" says 1 "c10m cat: no server answers at $SOCKET: No such file" "$LOOK" cat version

claim "a server without a mount starts" start_server --set control.mount=
claim "... shows its tree through the socket" says 0 "mount = " "$LOOK" cat config
claim "... and lists it" says 0 "cores/" "$LOOK" ls
kill -9 "$SERVER"
wait "$SERVER" 2>/dev/null || true
claim "killed, its socket is there and nobody answers" says 1 "Connection refused" "$LOOK" cat version
claim "the next one takes the path over" start_server
claim "... and answers" says 0 c10m "$LOOK" cat version
claim "... stops" stop_server
claim "a server without a socket starts" start_server --set control.socket=
claim "... has none" [ ! -e "$SOCKET" ]
claim "... and is seen through its mount" grep -q c10m "$TREE/version"
claim "... stops" stop_server
finish
