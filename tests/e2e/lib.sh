# lib.sh: a server over TAP in a network namespace of its own, and claims about it.
# A test sources this with $1 the c10m binary; each "claim NAME COMMAND" passes or fails the script.
set -euo pipefail
C10M=$(realpath "$1")
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
NS=c10mtest$$
TMP=$(mktemp -d /tmp/c10m-e2e.XXXXXX)
TREE=$TMP/run/proc
SERVER=
FAILED=0

# cleanup_first: what a test has to undo itself before the rest goes; it defines that anew. (Not by a trap of
# its own: the status of what that does first would be the test's.)
cleanup_first() { :; }
cleanup() {
    local status=$?
    trap - EXIT
    set +e  # a killed server's status is no reason to leave the rest
    cleanup_first
    [ -n "$SERVER" ] && kill -9 "$SERVER" 2>/dev/null && wait "$SERVER" 2>/dev/null
    mountpoint -q "$TREE" 2>/dev/null && umount -l "$TREE"
    awk -v d="$TMP/" 'index($2, d) == 1 { print $2 }' /proc/mounts | while read -r m; do umount -l "$m"; done
    ip netns del "$NS" 2>/dev/null || true
    rm -rf "$TMP"
    exit "$status"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

ip netns add "$NS"
inside() { nsenter --net=/run/netns/"$NS" "$@"; }
inside ip link set lo up

mkdir -p "$TMP/site"
echo '<h1>hello</h1>' >"$TMP/site/index.html"

# grep: one that has found what it looks for leaves its pipe (-q). What writes into the pipe then ends by SIGPIPE if it has more to
# say, as `ip` does, which fails the pipe (pipefail). This one reads the rest.
grep() {
    local status=0 operands=0 word
    command grep "$@" || status=$?
    for word in "$@"; do
        case $word in -*) ;; *) operands=$((operands + 1)) ;; esac
    done
    [ $operands -gt 1 ] || [ ! -p /dev/stdin ] || cat >/dev/null
    return $status
}

# go_home: a home of the test's own for Go's tools, but the cache that all share. Since Go 1.25 `go tool trace` and `go
# tool pprof` are compiled when they are called first, which takes a minute of CPU time.
go_home() {
    GOCACHE=$(go env GOCACHE)
    export GOCACHE HOME=$TMP/home
    mkdir "$HOME"
}

# build_planted SOURCE: $TMP/planted, a server with the application of this file in tests/e2e, built as a user builds his: of
# what is installed.
build_planted() {
    local build prefix
    build=$(dirname "$(dirname "$C10M")")
    meson install -C "$build" --no-rebuild --quiet --destdir "$TMP/dest" || return 1
    prefix=$(find "$TMP/dest" -name c10m -path '*/bin/c10m' -printf '%h\n')
    mkdir "$TMP/pc" && sed "s,^prefix=.*,prefix=${prefix%/bin}," "$(find "$TMP/dest" -name c10m.pc)" >"$TMP/pc/c10m.pc"
    cp "$HERE/$1" "$TMP/planted.c"
    export PKG_CONFIG_PATH=$TMP/pc
    cc -O2 -g -std=gnu17 -Werror "$TMP/planted.c" $(pkg-config --cflags --libs c10m) -o "$TMP/planted"
}

# give_port LINE...: a port p0 of these lines in place of the tap port of write_conf.
give_port() {
    {
        sed '/^\[port tap0\]/,$d' "$TMP/conf"
        printf '%s\n' '[port p0]' "$@"
        sed -n '/^\[service web\]/,$p' "$TMP/conf"
    } >"$TMP/conf.new"
    mv "$TMP/conf.new" "$TMP/conf"
}

# write_conf [SECTION]: a tap port with the addresses, or SECTION in front of it to carry them; web,
# and inetd's small services.
write_conf() {
    local addresses="address = 10.99.0.2/24" first=""
    [ -z "${1:-}" ] || { first="$1
$addresses"; addresses=""; }
    cat >"$TMP/conf" <<CONF
[control]
name = e2e$$
run_dir = $TMP/run
mount = $TREE
drain_s = 0
[memory]
hugetlbfs = $TMP/huge
connections = 16384
$first
[port tap0]
driver = tap
device = c10mt0
$addresses
host_address = 10.99.0.1/24
[service web]
app = http
port = 80
root = $TMP/site
[service echo]
app = echo
port = 7
udp = on
[service discard]
app = discard
port = 9
udp = on
[service chargen]
app = chargen
port = 19
udp = on
[service daytime]
app = daytime
port = 13
udp = on
CONF
}

# as_root: of tests that do not say as whom the server runs: also where there is a user c10m.
as_root() { grep -q '^user = ' "$TMP/conf" || ! getent passwd c10m >/dev/null || echo "-s control.user=root"; }

start_server() {
    : >"$TMP/log"
    # The server dies with this script, whatever ends it.
    setpriv --pdeathsig KILL nsenter --net=/run/netns/"$NS" "$C10M" serve -c "$TMP/conf" $(as_root) "$@" >"$TMP/log" 2>&1 &
    SERVER=$!
    local i
    for ((i = 0; i < 600; i++)); do
        grep -q 'serving$' "$TMP/log" && return 0
        kill -0 "$SERVER" 2>/dev/null || break
        sleep 0.1
    done
    cat "$TMP/log"
    return 1
}

stop_server() {
    kill -TERM "$SERVER"
    wait "$SERVER"
    SERVER=
}

# claim NAME COMMAND...: says ok or FAIL, and how long it took if that was 2 s or more.
claim() {
    local name=$1 from=$SECONDS took
    shift
    if "$@" >"$TMP/out" 2>&1; then
        took=$((SECONDS - from))
        echo "ok   $name$([ $took -lt 2 ] || echo " ($took s)")"
        return 0
    fi
    echo "FAIL $name"
    tail -n 15 "$TMP/out"
    FAILED=$((FAILED + 1))
}

# status_of COMMAND...: the status with which it ends; what it says lies in $TMP/said.
status_of() { local status=0; "$@" >"$TMP/said" 2>&1 || status=$?; echo $status; }
# says STATUS TEXT COMMAND...: it ends with the status, and a line of what it says matches the text.
says() {
    local want=$1 text=$2 got
    shift 2
    got=$(status_of "$@")
    [ "$got" = "$want" ] && grep -qE -- "$text" "$TMP/said" && return 0
    echo "status $got"
    cat "$TMP/said"
    return 1
}

# within SECONDS COMMAND...: until the command succeeds. For what comes by itself, soon on a quiet machine and later on a
# busy one: the seconds are what nobody would wait for, not what it takes.
within() {
    local end=$((SECONDS + $1)) out
    shift
    until out=$("$@" 2>&1); do
        [ $SECONDS -lt "$end" ] || { echo "$out"; return 1; }
        sleep 0.1
    done
    [ -z "$out" ] || echo "$out"
}

finish() { [ "$FAILED" = 0 ]; }

# no_interface NAME: of a process that was killed: the kernel removes it a while later.
no_interface() { ! inside ip link show "$1" >/dev/null 2>&1; }

# counter NAME: of the one worker; of several, a line each.
counter() { awk -v n="$1" '$1 == n { print $2 }' "$TREE"/cores/*/counters; }
drops() { awk '{ s += $2 } END { print s }' "$TREE"/cores/*/drops; }
# balance_is_zero: of every worker, and again a while later; what is under way has 20 s to be accounted for.
balance_is_zero() {
    local end=$((SECONDS + 20))
    until [ "$(counter balance | sort -u)" = 0 ] && sleep 0.2 && [ "$(counter balance | sort -u)" = 0 ]; do
        [ $SECONDS -lt $end ] || { cat "$TREE"/cores/*/counters; return 1; }
        sleep 0.1
    done
}
