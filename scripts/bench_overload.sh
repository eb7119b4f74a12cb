# bench_overload.sh: good work of a server that is asked for once, twice and ten times what it can do, for each kind of overload.
# Sourced by scripts/bench, after bench_peers.sh.
#
# The server runs tests/bench/costly.c: a request keeps the worker busy for OVERLOAD_US, so that one client core can ask for ten times
# of what the other can do. It is asked over memif, with the defaults of all keys (c10m), and for the kinds that nginx can be asked for
# as well, on the same veth pair as nginx: over af_packet, whose driver cannot count what waits, with OVERLOAD_ACCEPT_WAIT_MS and
# OVERLOAD_WAIT_MS (veth). nginx matches a costly pattern. The client gives up after OVERLOAD_GIVE_UP_MS: what is answered later is no good work. Meanwhile scripts/bench_probe.py reads the control tree.
#
# Figures, below overload/SERVER/KIND/TIMES: those of `c10m load`; below .../peak those of the closed loop directly before it, below
# .../control those of bench_probe.py, below .../greedy those of bench_greedy.py.

OVERLOAD_US=500
OVERLOAD_GIVE_UP_MS=1000
OVERLOAD_ACCEPT_WAIT_MS=${OVERLOAD_ACCEPT_WAIT_MS-10}  # of veth; off: as without limits
OVERLOAD_WAIT_MS=${OVERLOAD_WAIT_MS-100}  # of veth and costly.c, as max_wait_ms of http; 0: off
OVERLOAD_POOL=1024  # connections, where they run out
OVERLOAD_TIMES=(${OVERLOAD_ONLY_TIMES:-1 2 10})
OVERLOAD_KINDS=(syn connections requests slow pool port)
OVERLOAD_CLIENTS=10.90.0.1  # first of them, behind the gateway LOAD_IP: not on the link, as a server's clients are
OVERLOAD_GREEDY=10.97.0.1   # of a network of its own, over the veth pair
OVERLOAD_MEMIF=10.96.0.2    # the server's address there
OVERLOAD_PATTERN=aaaaaaaaaaaaab  # nginx tries 2^13 ways to match it

ov_conf() { # CONNECTIONS
    c10m_conf <<CONF
[port x]
driver = af_packet
device = bench0
mac = $SERVER_MAC
address = $SERVER_IP/24
gateway = $LOAD_IP
route = ${OVERLOAD_GREEDY%.*}.0/24 via $CLIENT_IP
CONF
    sed -i "s/^connections = .*/connections = $1/" "$LAB/conf"
    if [ "$OV_SERVER" = veth ]; then
        printf '%s\n' "[tcp]" "accept_wait_ms = $OVERLOAD_ACCEPT_WAIT_MS" >>"$LAB/conf"
    else
        printf '%s\n' "[port m]" "driver = memif" "device = $LAB/load.sock" "address = $OVERLOAD_MEMIF/16" "route = ${OVERLOAD_CLIENTS%.*.*}.0.0/16 via ${OVERLOAD_MEMIF%.*}.1" >>"$LAB/conf"
    fi
    cat >>"$LAB/conf" <<CONF
[service costly]
app = costly
port = 8080
[service chargen]
app = chargen
port = 19
CONF
}

ov_start_c10m() { # CONNECTIONS KIND
    OWN_CORES=yes
    peer_pair
    at_client ip addr add "$OVERLOAD_GREEDY/32" dev bench1
    at_client ip route replace "$SERVER_IP/32" dev bench1 src "$OVERLOAD_GREEDY"
    ov_conf "$1"
    [ "$2" != port ] || printf '%s\n' "[port y]" "driver = memif" "device = $LAB/memif.sock" "address = 10.89.0.2/16" >>"$LAB/conf"
    export COSTLY_US=$OVERLOAD_US
    unset COSTLY_WAIT_MS
    [ "$OV_SERVER" != veth ] || export COSTLY_WAIT_MS=$OVERLOAD_WAIT_MS
    start_server build/tests/costly serve -c "$LAB/conf"
    wait_for "c10m: serving" grep -q 'serving$' "$LAB/server.log"
    wait_for "the page from c10m" at_client curl -sfo /dev/null -m 1 "http://$SERVER_IP:8080/"
    OV_PORT=8080
}
ov_start_veth() { ov_start_c10m "$@"; }
ov_start_nginx() {
    peer_nginx_costly
    wait_for "the page from nginx" page_is_there
    OV_PORT=80
}
peer_nginx_costly() {
    OWN_CORES=yes
    nginx_conf
    sed -i 's/worker_connections .*;/worker_connections 16384;/' "$LAB/nginx.conf"
    sed -i "s|server { listen 80; root .*|server { listen 80; root $LAB/site; if (\$args ~ \"^(a+)+\$\") { return 404; } }|" "$LAB/nginx.conf"
    peer_kernel "$NGINX" -e stderr -c "$LAB/nginx.conf"
    at_server ip route add default via $LOAD_IP dev bench0
}

# ov_load NAME LOAD OPTION...: its figures are overload/NAME/...; what was given up or refused is no failure of the row.
ov_load() {
    local port=("driver = af_packet" "device = bench1" "address = $LOAD_IP/24") to=$SERVER_IP
    [ "$OV_SERVER" != c10m ] ||
        port=("driver = memif" "role = client" "device = $LAB/load.sock" "address = ${OVERLOAD_MEMIF%.*}.1/16") to=$OVERLOAD_MEMIF
    printf '%s\n' "[cpu]" "linux = $SERVER_CORE" "workers = $CLIENT_CORE" "[memory]" "hugetlbfs = $LAB/huge" \
        "[control]" "name = bench$$c" "[port y]" "${port[@]}" >"$LAB/load.conf"
    at_client timeout 30 build/src/c10m load "$2" -c "$LAB/load.conf" --server "$to:$OV_PORT" --clients $OVERLOAD_CLIENTS \
        --protocol http --path "/?$OVERLOAD_PATTERN" --json --quiet "${@:3}" >"$LAB/json" 2>"$LAB/load.log" || true
    scripts/bench_table.py add "$FIGURES" "overload/$1" <"$LAB/json" || { tail -n 5 "$LAB/load.log" "$LAB/server.log" >&2; return 1; }
    python3 -c 'import json, sys
v = json.load(open(sys.argv[1]))
print("   " + sys.argv[2] + "".join(" %s %g" % (n, v[n]) for n in ("in_time_per_s", "answers_per_s", "full_per_s", "p99_us", "full_p99_us", "refused", "given_up", "failed", "wrong",
    "client_late", "client_busy") if n in v))' "$LAB/json" "$1"
}
ov_value() { python3 -c 'import json, sys; print(int(json.load(open(sys.argv[1]))[sys.argv[2]] * float(sys.argv[3])))' "$LAB/json" "$1" "${2:-1}"; }

# ov_probed NAME COMMAND...: the command, while the control tree of c10m is read.
ov_probed() {
    local name=$1 probe
    shift
    if [ ! -e "$LAB/run/proc/cores" ]; then "$@"; return; fi
    scripts/bench_probe.py "$LAB/run/proc/cores/$SERVER_CORE/counters" >"$LAB/probe" &
    probe=$!
    "$@" || { stop_process $probe; return 1; }
    stop_process $probe
    scripts/bench_table.py add "$FIGURES" "overload/$name/control" <"$LAB/probe"
}

# The peak, in a closed loop, directly before what is compared with it: sets OV_PEAK.
ov_peak_requests() { # NAME
    ov_load "$1/peak" request --connections 64 --window 64 --seconds "$seconds"
    OV_PEAK=$(ov_value answers_per_s)
}
ov_peak_connections() { # NAME
    ov_load "$1/peak" rate --connections 100k --time-wait 1 --window 64 --seconds "$seconds"
    OV_PEAK=$(ov_value full_per_s)
}

# The kinds: of each, the load at $1/$times, where OV_PEAK is known.
ov_syn() {
    ov_peak_connections "$1"
    ov_probed "$1" ov_load "$1" syn --connections 300k --time-wait 1 --rate "$OV_PEAK" --flood $((OV_PEAK * times)) "${impatient[@]}"
}
ov_connections() {
    ov_peak_connections "$1"
    ov_probed "$1" ov_load "$1" rate --connections 300k --time-wait 1 --rate $((OV_PEAK * times)) "${impatient[@]}"
}
ov_requests() {
    ov_peak_requests "$1"
    ov_probed "$1" ov_load "$1" request --connections 10k --rate $((OV_PEAK * times)) "${impatient[@]}"
}
ov_slow() { # what one reader can hold is an eighth of the send buffers: eight hold all
    ov_peak_requests "$1"
    ov_beside "$1" slow $SERVER_IP 19 $((8 * times)) -- request --connections 64 --rate "$OV_PEAK" "${impatient[@]}"
}
ov_pool() {
    ov_peak_connections "$1"
    ov_beside "$1" hold $SERVER_IP 8080 $((OVERLOAD_POOL * times)) -- rate --connections 100k --time-wait 1 --rate "$OV_PEAK" "${impatient[@]}"
}
# Bulk transfers over a second port, whose client is stopped (SIGSTOP): its short ring is soon full, and accepts nothing more.
ov_port() {
    local waits
    ov_peak_requests "$1"
    printf '%s\n' "[cpu]" "linux = $SERVER_CORE" "workers = $CLIENT_CORE" "exclusive = off" "[memory]" "hugepage = none" "[control]" "name = bench$$d" \
        "[port z]" "driver = memif" "role = client" "rx_ring = 64" "device = $LAB/memif.sock" "address = 10.89.1.1/16" >"$LAB/stuck.conf"
    start_sender c build/src/c10m load stream -c "$LAB/stuck.conf" --server 10.89.0.2 --connections $((8 * times)) --seconds 600 --quiet
    sleep 2
    kill -STOP "$SENDER"
    ov_probed "$1" ov_load "$1" request --connections 64 --rate "$OV_PEAK" "${impatient[@]}"
    waits=$(awk '$1 ~ /^y_(tx_waiting|dirty_blocks)$/ { n += $2 } END { print n + 0 }' "$LAB/run/proc/cores/$SERVER_CORE/queues")
    kill -CONT "$SENDER"
    stop_sender
    [ "$waits" -gt 0 ] || { echo "overload: the second port accepted everything" >&2; return 1; }
    printf 'overload/%s/waiting\t%s\n' "$1" "$waits" >>"$FIGURES"
}

# ov_beside NAME GREEDY_OPTIONS... -- LOAD OPTION...: the load, beside greedy clients that came a second before.
ov_beside() {
    local name=$1 greedy=()
    shift
    while [ "$1" != -- ]; do greedy+=("$1"); shift; done
    shift
    start_sender c scripts/bench_greedy.py "${greedy[@]}"
    sleep 2
    ov_probed "$name" ov_load "$name" "$@"
    stop_sender
    scripts/bench_table.py add "$FIGURES" "overload/$name/greedy" <"$LAB/sender.log"
}
ov_of() { # SERVER KIND TIMES
    local times=$3 connections=16384 OV_SERVER=$1 impatient=(--give-up $OVERLOAD_GIVE_UP_MS --seconds "$seconds")
    [ "$2" != pool ] || connections=$OVERLOAD_POOL
    "ov_start_$1" "$connections" "$2"
    "ov_$2" "$1/$2/$3"
}

bench_overload() { # SECONDS
    local kind times seconds=$1
    lab_open
    unpack_nginx
    say "overload: good work at ${OVERLOAD_TIMES[*]} times the peak (a request takes $OVERLOAD_US us; promised: 90 % of the peak, in $OVERLOAD_GIVE_UP_MS ms)"
    for kind in ${OVERLOAD_ONLY:-"${OVERLOAD_KINDS[@]}"}; do
        for times in "${OVERLOAD_TIMES[@]}"; do
            slice "overload_c10m_${kind}_$times" ov_of c10m "$kind" "$times"
            case $kind in
            syn | connections | requests)
                [ -z "${OVERLOAD_ALONE:-}" ] || continue
                slice "overload_veth_${kind}_$times" ov_of veth "$kind" "$times"
                slice "overload_nginx_${kind}_$times" ov_of nginx "$kind" "$times"
                ;;
            esac
        done
    done
}
