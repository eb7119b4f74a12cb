# bench_lab.sh: the rows of scripts/bench that put a server beside a peer: two network namespaces
# joined by a veth pair, one server at a time on the last core, its client or sender on core 0.
# Sourced after lib.sh.

CLIENT_CORE=0
SERVER_CORE=$(($(nproc --all) - 1))
SERVER_IP=10.99.0.2
SERVER_MAC=02:c1:0a:00:00:02
CLIENT_IP=10.99.0.1
LOAD_IP=10.99.0.3  # not the kernel's, which would reset its connections
LAB=      # folder of its files
SERVER=   # process
SENDER=
declare -A CLIENTS=()  # processes by name
SLICE=    # shell that has them
STOP_TRIES=100  # of 0.1 s, before SIGKILL
SLICE_TRIES=3

lab_open() {
    [ "$SERVER_CORE" -gt 0 ] || { echo "this row needs two cores" >&2; return 1; }
    [ -z "$LAB" ] || return 0
    LAB=$(mktemp -d /tmp/c10m-bench.XXXXXX)
    undo lab_close
    chmod 755 "$LAB"
    mkdir "$LAB/site"
    head -c 1024 /dev/zero | tr '\0' 'x' >"$LAB/site/index.html"
    say "network namespaces c10mbench$$s and c10mbench$$c, folder $LAB: until the end"
    ip netns add c10mbench$$s
    ip netns add c10mbench$$c
    at_server ip link set lo up
}

lab_close() {
    local at
    stop_process "$SLICE"
    for at in "$LAB"/*.client "$LAB/server.pid"; do  # of a slice that had no time for it
        stop_process "$(cat "$at" 2>/dev/null)"
    done
    ip netns del c10mbench$$s 2>/dev/null
    ip netns del c10mbench$$c 2>/dev/null
    # What a killed server leaves mounted, the innermost first.
    awk -v lab="$LAB/" 'index($2, lab) == 1 { print $2 }' /proc/self/mounts | sort -r |
        while read -r at; do umount -l "$at" 2>/dev/null; done
    rm -rf --one-file-system "$LAB" /var/run/dpdk/c10mbench$$  # the latter testpmd's
}

at_server() { nsenter --net=/run/netns/c10mbench$$s "$@"; }
at_client() { nsenter --net=/run/netns/c10mbench$$c "$@"; }

# In sessions of their own: Ctrl-C reaches the script alone, which stops them. They run at this
# shell's priority; setsid and nsenter become the command, so that $! is the command's.
start_server() { # COMMAND...
    : >"$LAB/server.log"
    setsid nsenter --net=/run/netns/c10mbench$$s "$@" >"$LAB/server.log" 2>&1 &
    SERVER=$!
    echo $SERVER >"$LAB/server.pid"
}
start_client() { # NAME s|c COMMAND...: its output is in NAME.log
    setsid nsenter --net=/run/netns/c10mbench$$"$2" "${@:3}" >"$LAB/$1.log" 2>&1 &
    CLIENTS[$1]=$!
    echo $! >"$LAB/$1.client"
}
start_sender() { # s|c COMMAND...
    start_client sender "$@"
    SENDER=${CLIENTS[sender]}
}

is_alive() { grep -q '^State:[[:space:]][^ZX]' "/proc/$1/status" 2>/dev/null; }
# stop_process [PID]: by SIGTERM; by SIGKILL what is still there after 10 s. It may be gone already.
stop_process() {
    local i
    [ -n "${1:-}" ] && is_alive "$1" || return 0
    kill -TERM "$1" 2>/dev/null || return 0
    for ((i = 0; i < STOP_TRIES; i++)); do
        is_alive "$1" || break
        sleep 0.1
    done
    ! is_alive "$1" || { echo "process $1 did not end by itself" >&2; kill -KILL "$1" 2>/dev/null; } || true
    wait "$1" 2>/dev/null || true  # if it is ours
}
stop_server() { stop_process "$SERVER"; SERVER=; rm -f "$LAB/server.pid"; }
stop_sender() { # every client
    local name
    for name in "${!CLIENTS[@]}"; do
        stop_process "${CLIENTS[$name]}"
        rm -f "$LAB/$name.client"
    done
    CLIENTS=()
    SENDER=
}

# slice NAME COMMAND...: one server and what it is asked for, in a shell of its own, at most SLICE_TRIES times: what one
# try lost ends neither the row nor the run. The results of a failed try are taken out; after the last the row goes
# on without this slice, and the table says so.
slice() {
    local try name=$1
    shift
    for ((try = 1; try <= SLICE_TRIES; try++)); do
        keep_results
        (
            set -e
            trap 'stop_sender; stop_server' EXIT
            trap 'exit 143' TERM INT HUP
            "$@"
        ) &
        SLICE=$!
        if wait $SLICE; then
            SLICE=
            return 0
        fi
        SLICE=
        drop_results
        echo "$name: try $try of $SLICE_TRIES failed" >&2
    done
    [ -z "${BENCH_RESULTS:-}" ] || printf 'failed/%s\t1\n' "$name" >>"$BENCH_RESULTS"
}
keep_results() {
    local file
    for file in "$LAB"/latency "$LAB"/peers "$LAB"/ports "${BENCH_RESULTS:-$LAB/none}"; do
        [ ! -e "$file" ] || cp "$file" "$LAB/kept.${file##*/}"
    done
}
drop_results() {
    local file
    for file in "$LAB"/latency "$LAB"/peers "$LAB"/ports "${BENCH_RESULTS:-$LAB/none}"; do
        [ ! -e "$file" ] || cat "$LAB/kept.${file##*/}" >"$file"
    done
}

# wait_for WHAT COMMAND...: up to 10 s; what the server wrote is shown if it does not come.
wait_for() {
    local i
    for ((i = 0; i < 100; i++)); do
        "${@:2}" >/dev/null 2>&1 && return
        [ -z "$SERVER" ] || kill -0 "$SERVER" 2>/dev/null || break
        sleep 0.1
    done
    echo "not there: $1" >&2
    tail -n 15 "$LAB"/*.log >&2
    return 1
}

# veth_pair: bench0 at the server, bench1 with CLIENT_IP at the client, fresh.
veth_pair() {
    at_server ip link del bench0 2>/dev/null || true
    ip link add bench0 netns c10mbench$$s type veth peer name bench1 netns c10mbench$$c
    at_client ip addr add $CLIENT_IP/24 dev bench1
    at_server ip link set bench0 up
    at_client ip link set bench1 up
}

# for_c10m: the kernel's own checksums are filled in, as docs/ports.md asks.
for_c10m() { at_client ethtool -K bench1 tx off tso off gso off gro off >/dev/null 2>&1; }

# c10m_conf: LINES of the [port x] section from stdin.
c10m_conf() {
    cat >"$LAB/conf" <<CONF
[cpu]
linux = $CLIENT_CORE
workers = $SERVER_CORE
[control]
name = bench$$
run_dir = $LAB/run
mount = $LAB/run/proc
drain_s = 0
[memory]
hugetlbfs = $LAB/huge
connections = 16384
$(cat)
[service web]
app = http
port = 80
root = $LAB/site
[service echo]
app = echo
port = 7
udp = on
[service discard]
app = discard
port = 9
udp = on
CONF
}

c10m_start() {
    start_server build/src/c10m serve -c "$LAB/conf"
    wait_for "c10m: serving" grep -q 'serving$' "$LAB/server.log"
}

# lab_pages: 2 MiB pages of a server as c10m_conf has it.
lab_pages() {
    c10m_conf <<<"[port x]
driver = memif
device = $LAB/memif.sock
address = $SERVER_IP/24"
    build/src/c10m plan -c "$LAB/conf" |
        awk '$1 == "total" { gsub(",", "", $2); print int($2 / 2097152) + 32 }'
}
