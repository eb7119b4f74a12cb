# bench_peers.sh: what servers on the kernel's sockets do with the same load. Sourced by scripts/bench,
# after bench_lab.sh and bench_latency.sh.
#
# One server at a time has the last core: c10m over af_packet, an epoll echo, an echo with a thread for
# each connection, a UDP echo (tests/bench), nginx. The client on core 0 is the same for all of them:
# `c10m load` over af_packet for the echoes, wrk for pages. Each arrives on a fresh
# veth pair, whose offloads are off. What arrives at one end of it the kernel works off on the core of who
# sent it, which would be half of a server's work on the client's core: RPS brings it to the own core,
# but for the servers named NAMEveth, which are as veth has them.

# peer_result NAME VALUE UNIT: kept for the tables, and for who collects results.
peer_result() {
    printf '%s\t%s\t%s\n' "$@" >>"$LAB/peers"
    [ -z "${BENCH_RESULTS:-}" ] || printf 'peers_%s\t%s\t%s\n' "$@" >>"$BENCH_RESULTS"
}

# on_own_cores: what arrives at an end of the pair is the work of its side's core.
on_own_cores() {
    ip netns exec c10mbench$$s sh -c "printf %x $((1 << SERVER_CORE)) >/sys/class/net/bench0/queues/rx-0/rps_cpus"
    ip netns exec c10mbench$$c sh -c "printf %x $((1 << CLIENT_CORE)) >/sys/class/net/bench1/queues/rx-0/rps_cpus"
}
# A namespace of its own for each server: what the one before left half closed would answer the next one's clients.
peer_pair() {
    at_client ip link del bench1 2>/dev/null || true
    ip netns del c10mbench$$s
    ip netns add c10mbench$$s
    at_server ip link set lo up
    veth_pair
    at_server ip link set bench0 address $SERVER_MAC
    at_server ethtool -K bench0 tx off tso off gso off gro off >/dev/null 2>&1
    for_c10m
    [ "$OWN_CORES" = no ] || on_own_cores
}

# peer_start WHO: one of the functions below, or its name with "veth".
peer_start() {
    OWN_CORES=yes
    [ "${1%veth}" = "$1" ] || OWN_CORES=no
    "peer_${1%veth}"
}
is_c10m() { [ "${1%veth}" = c10m ]; }

peer_c10m() {
    peer_pair
    c10m_conf <<CONF
[port x]
driver = af_packet
device = bench0
mac = $SERVER_MAC
address = $SERVER_IP/24
CONF
    c10m_start
}
peer_kernel() { # COMMAND...
    peer_pair
    at_server ip addr add $SERVER_IP/24 dev bench0
    start_server taskset -c "$SERVER_CORE" "$@"
}
peer_epoll() { peer_kernel build/tests/echo_epoll; }
peer_threads() { peer_kernel build/tests/echo_threads; }
peer_udp() { peer_kernel build/tests/echo_udp; }
peer_nginx() {
    nginx_conf
    peer_kernel "$NGINX" -e stderr -c "$LAB/nginx.conf"
}
datagram_is_there() {
    at_client python3 -c 'import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(0.5)
s.connect((sys.argv[1], 7))
s.send(b"x")
assert s.recv(1) == b"x"' $SERVER_IP
}
echo_is_there() {
    at_client python3 -c 'import socket, sys
s = socket.create_connection((sys.argv[1], 7), 1)
s.sendall(b"x")
assert s.recv(1) == b"x"' $SERVER_IP
}

# peer_load WHO LOAD OPTION...: its JSON goes to $LAB/json. It fails if an answer was lost or wrong.
peer_load() {
    printf '%s\n' "[cpu]" "linux = $SERVER_CORE" "workers = $CLIENT_CORE" "[memory]" "hugetlbfs = $LAB/huge" \
        "[control]" "name = bench$$c" "[port y]" "driver = af_packet" "device = bench1" "address = $LOAD_IP/24" >"$LAB/load.conf"
    at_client timeout 30 build/src/c10m load "$2" -c "$LAB/load.conf" --server $SERVER_IP --json "${@:3}" \
        >"$LAB/json" 2>"$LAB/load.log" || {
        echo "$1: c10m load ${*:2}: an answer was missing or wrong" >&2
        tail -n 5 "$LAB/json" "$LAB/load.log" "$LAB/server.log" >&2
        return 1
    }
}
peer_value() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$LAB/json" "$1"; }

# Time of the server's core in us, without an end: of c10m, which polls, its turns that had something to do; of another
# its process and the interrupts there, in which the kernel receives for it.
core_us() { # WHO
    if is_c10m "$1"; then
        ports_sample | awk -v hz="$TSC_HZ" '{ v[$1] = $2 } END { printf "%.0f\n", (v["total_cycles"] - v["idle_cycles"]) / hz * 1e6 }'
    else
        cat "/proc/$SERVER/stat" /proc/stat | awk -v c="cpu$SERVER_CORE" -v hz="$(getconf CLK_TCK)" '
            NR == 1 { s = $14 + $15 }
            $1 == c { s += $7 + $8 }
            END { printf "%.0f\n", s / hz * 1e6 }'
    fi
}
# The TSC's, as measured against the kernel's clock: /proc/cpuinfo tells what the core runs at just now.
tsc_hz() { build/src/c10m bench hop --json | python3 -c 'import json, sys; print("%.0f" % json.load(sys.stdin)["tsc_hz"])'; }

# peer_cycles WHO WHAT: of a packet that c10m received since $LAB/from: the driver's (its rx_burst and tx_burst, the
# kernel's part included), and all the rest.
peer_cycles() {
    local port stack
    ports_sample >"$LAB/to"
    awk '
        FNR == NR { from[$1] = $2; next }
        { d[$1] = $2 - from[$1] }
        END {
            port = d["rx_cycles"] + d["tx_cycles"]
            rest = d["total_cycles"] - d["idle_cycles"] - port
            n = d["rx_packets"] + !d["rx_packets"]
            printf "%.0f %.0f\n", port / n, rest / n
        }' "$LAB/from" "$LAB/to" >"$LAB/cycles"
    read -r port stack <"$LAB/cycles"
    peer_result "$1_driver_cycles_$2" "$port" cycles/packet
    peer_result "$1_stack_cycles_$2" "$stack" cycles/packet
}

# peer_asked WHO CONNECTIONS SECONDS: closed loop; requests a second, of c10m its cycles as well.
peer_asked() {
    local busy
    ! is_c10m "$1" || ports_sample >"$LAB/from"
    busy=$(core_us "$1")
    peer_load "$1" request --connections "$2" --window 512 --seconds "$3"
    busy=$(($(core_us "$1") - busy))
    peer_result "$1_requests_$2" "$(peer_value answers_per_s)" 1/s
    peer_result "$1_core_$2" "$(awk -v b=$busy -v n="$(peer_value answered)" 'BEGIN { print b / n }')" us
    ! is_c10m "$1" || peer_cycles "$1" "$2"
}

peer_one() { # WHO SECONDS: one connection, one request at a time
    peer_load "$1" request --connections 1 --window 1 --seconds "$2"
    peer_result "$1_one_p50" "$(peer_value p50_us)" us
    peer_result "$1_one_p99" "$(peer_value p99_us)" us
}
peer_opened() { # WHO SECONDS: connect, ask, answer, close
    peer_load "$1" rate --connections 50k --time-wait 1 --window 512 --seconds "$2"
    peer_result "$1_connections" "$(peer_value full_per_s)" 1/s
}

# peer_memory N: what the server's process and the kernel hold for its connections: RSS and page tables; the stacks of
# threads in the kernel; slabs, of those that have between one and eight objects more for each of N connections since
# $LAB/slabs, so that other work of the machine is none of it. Without N: as it is now.
peer_memory() {
    if [ -z "${1:-}" ]; then cat /proc/slabinfo >"$LAB/slabs"; fi
    {
        awk '/^(VmRSS|VmPTE):/ { s += $2 } /^Threads:/ { t = $2 } END { print (s + 16 * t) * 1024 }' "/proc/$SERVER/status"
        awk -v n="${1:-0}" '
            FNR < 3 { next }
            FNR == NR { from[$1] = $2; next }
            n > 0 && $2 - from[$1] > 0.9 * n && $2 - from[$1] < 8.1 * n { s += ($2 - from[$1]) * $4; print $1, ($2 - from[$1]) / n, $4 >"/dev/stderr" }
            END { print s + 0 }' "$LAB/slabs" /proc/slabinfo 2>"$LAB/slabs.which"
    } | awk '{ s += $1 } END { print s }'
}
all_open() { [ "$(at_server awk '/^TCP:/ { print $3 }' /proc/net/sockstat)" -ge "$1" ]; }
peer_idle() { # WHO N: bytes of an idle connection
    local before after
    if is_c10m "$1"; then
        peer_result c10m_idle "$(build/src/c10m plan -c "$LAB/conf" | awk '$1 == "per" && $2 == "connection" { print $4 }')" bytes
        return
    fi
    sleep 0.3
    before=$(peer_memory)
    start_sender c build/src/c10m load rate -c "$LAB/load.conf" --server $SERVER_IP --quiet --hold "$2" --connections 1k \
        --rate 1 --asks 1 --time-wait 1 --seconds 60
    wait_for "$2 connections to $1" all_open "$2"
    sleep 0.5
    after=$(peer_memory "$2")
    stop_sender
    peer_result "$1_idle" $(((after - before) / $2)) bytes
}

# peer_pages WHO SECONDS: wrk, which takes whole ones, with 64 connections: two sizes, kept open and one connection each.
peer_pages() {
    local size
    for size in 64 1024 close; do
        page=$size
        header=()
        [ $size != close ] || { page=64; header=(-H "Connection: close"); }
        at_client taskset -c $CLIENT_CORE wrk -t1 -c64 -d"${2/0.5/1}" "${header[@]}" http://$SERVER_IP/$page >"$LAB/wrk" || return 1
        ! grep -E 'Non-2xx|Socket errors' "$LAB/wrk" >&2 || { echo "$1: wrong answers" >&2; return 1; }
        peer_result "$1_pages_$size" "$(awk '/^Requests\/sec/ { print $2 }' "$LAB/wrk")" 1/s
    done
}

peer_datagrams() { # WHO SECONDS: closed loop, frames of 64 bytes
    local busy
    ! is_c10m "$1" || ports_sample >"$LAB/from"
    busy=$(core_us "$1")
    peer_load "$1" udp --window 256 --seconds "$2"
    busy=$(($(core_us "$1") - busy))
    peer_result "$1_udp" "$(peer_value answers_per_s)" 1/s
    peer_result "$1_core_udp" "$(awk -v b=$busy -v n="$(peer_value answered)" 'BEGIN { print b / n }')" us
    ! is_c10m "$1" || peer_cycles "$1" udp
}

# peers_table: a line for each figure, a column for each server.
peers_table() {
    python3 - "$LAB/peers" <<'PY'
import sys
rows, who = {}, []
for line in open(sys.argv[1]):
    name, value, unit = line.rstrip("\n").split("\t")
    w, what = name.split("_", 1)
    who += [w] if w not in who else []
    rows.setdefault((what, unit), {})[w] = float(value)
TITLES = {
    "requests": "requests, {} connections", "core": "... the server's core, with opening",
    "driver_cycles": "... cycles in the driver",
    "stack_cycles": "... and in the stack", "one_p50": "one connection, median", "one_p99": "... p99",
    "connections": "connections opened, asked, closed", "idle": "an idle connection", "udp": "datagrams of 64 B", "core_udp": "... the server's core",
    "driver_cycles_udp": "... cycles in the driver", "stack_cycles_udp": "... and in the stack", "pages_64": "pages of 64 B", "pages_1024": "pages of 1 KiB",
    "pages_close": "pages of 64 B, a connection each",
}
def title(what):
    if what in TITLES:
        return TITLES[what]
    head, _, n = what.rpartition("_")
    return TITLES[head].format(n)
print(f"{'':36}" + "".join(f"{w:>12}" for w in who))
for (what, unit), seen in rows.items():
    def form(v): return f"{v:,.1f}" if v < 100 else f"{v:,.0f}"
    print(f"{title(what):36}" + "".join(f"{form(seen[w]) if w in seen else '-':>12}" for w in who) + "  " + unit)
PY
}

# peers_of WHO: its server, and all that it is asked for.
peers_of() {
    local n
    peer_start "$1"
    case $1 in
    udp*) wait_for "the datagrams of $1" datagram_is_there ;;
    nginx) wait_for "the page from $1" page_is_there ;;
    *) wait_for "the echo of $1" echo_is_there ;;
    esac
    case $1 in
    c10m | epoll) for n in $counts; do peer_asked "$1" "$n" "$seconds"; done ;;
    threads) for n in $counts; do peer_asked "$1" "$n" "${seconds/0.5/1.5}"; done ;;  # they are slow to begin
    *veth) [ "$1" = udpveth ] || peer_asked "$1" "${counts%% *}" "$seconds" ;;
    esac
    case $1 in c10m* | epoll* | threads) peer_one "$1" "$seconds" ;; esac
    case $1 in c10m | epoll | threads) peer_opened "$1" "$seconds"; peer_idle "$1" 10000 ;; esac
    case $1 in c10m* | udp*) peer_datagrams "$1" "$seconds" ;; esac
    case $1 in c10m | nginx) peer_pages "$1" "$seconds" ;; esac
}

# The servers; those of --quick, and the others.
PEERS_QUICK=(c10m epoll threads c10mveth udp nginx)
PEERS_MORE=(epollveth udpveth)

bench_peers() { # SECONDS COUNTS SERVER...
    local who size seconds=$1 counts=${2//,/ }
    shift 2
    lab_open
    unpack_nginx
    for size in 64 1024; do head -c $size /dev/zero | tr '\0' x >"$LAB/site/$size"; done
    say "peers: echo of 64 B, pages and datagrams over veth, client on core $CLIENT_CORE, one server at a time on core $SERVER_CORE, $seconds s each"
    : >"$LAB/peers"
    TSC_HZ=$(tsc_hz)
    for who; do
        slice "peers_$who" peers_of "$who"
    done
    peers_table
}
