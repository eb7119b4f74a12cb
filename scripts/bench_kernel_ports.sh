# bench_kernel_ports.sh: what a first user measures: wrk and ab over tap, af_packet and af_xdp. Sourced by scripts/bench, after
# bench_lab.sh and bench_latency.sh.
#
# One server at a time: c10m over each of the ports, nginx on the kernel over veth, on the same core, in turn, several rounds; the same
# page and clients: requests on connections that stay (wrk), on connections of their own (wrk with Connection: close; ab). With each figure
# go the segments that the client's kernel sent again, and the frames that either side counts as lost: where a busy host keeps the worker
# waiting, a client repeats what was not lost.

KERNEL_PORTS=(tap af_packet af_xdp)
KP_LOADS=(keep close ab)
KP_COUNTS=(1 10 100 1000)
KP_SECONDS=1       # of wrk
KP_AB=5000         # requests of ab

# The tap's interface is in its server's namespace.
kp_client() { if [ "$KP_WHO" = tap ]; then at_server "$@"; else at_client "$@"; fi; }

kp_start() { # WHO
    KP_WHO=$1
    case $1 in
    nginx) latency_nginx_pinned ;;
    tap)
        at_server ip link del bench0 2>/dev/null || true
        c10m_conf <<<"[port x]
driver = tap
device = bench1
host_address = $CLIENT_IP/24
address = $SERVER_IP/24"
        c10m_start
        ;;
    *)
        veth_pair
        for_c10m
        [ "$1" != af_xdp ] || at_client tc qdisc replace dev bench1 root pfifo limit 10000  # docs/ports.md
        c10m_conf <<<"[port x]
driver = $1
device = bench0
address = $SERVER_IP/24"
        c10m_start
        ;;
    esac
    wait_for "the page from $1" kp_client curl -sfo /dev/null -m 1 http://$SERVER_IP/
}

kp_resent() { kp_client awk '$1 == "Tcp:" { if (!n) for (n = 2; n <= NF && $n != "RetransSegs"; n++); else print $n }' /proc/net/snmp; }

kp_lost() {
    {
        cat "$LAB/run/proc/ports/x/counters" 2>/dev/null || true
        kp_client awk '$1 == "bench1:" { print "drops", $5 + $13 }' /proc/net/dev
    } | awk '$1 ~ /^(rx_missed|rx_nombuf|rx_errors|tx_errors|drops)$/ { n += $2 } END { print n + 0 }'
}

# kp_wrk CONNECTIONS [OPTION...], kp_ab CONNECTIONS: "RATE P50_us P99_us"; they fail on any error.
kp_wrk() {
    kp_client taskset -c $CLIENT_CORE wrk -t1 -c"$1" -d$KP_SECONDS --latency "${@:2}" http://$SERVER_IP/ | awk '
        function us(t) { return t * (t ~ /ms$/ ? 1000 : t ~ /us$/ ? 1 : 1000000) }
        /^ +50%/ { p50 = us($2) }
        /^ +99%/ { p99 = us($2) }
        /Non-2xx/ { bad = 1 }
        /^Requests\/sec/ { rate = $2 }
        END { if (bad || !p50) exit 1; print rate, p50, p99 }'
}
kp_ab() { # its percentiles: in ms with three decimals in the table alone
    kp_client taskset -c $CLIENT_CORE ab -q -c "$1" -n $KP_AB -e "$LAB/ab.csv" http://$SERVER_IP/ >"$LAB/ab"
    awk -F '[ ,]+' '
        /^Failed requests/ && $3 != 0 { exit 1 }
        /^Requests per second/ { rate = $4 }
        $1 == 50 || $1 == 99 { us[$1] = $2 * 1000 }
        END { print rate, us[50], us[99] }' "$LAB/ab" "$LAB/ab.csv"
}

kp_load() { # LOAD CONNECTIONS
    case $1 in
    keep) kp_wrk "$2" ;;
    close) kp_wrk "$2" -H "Connection: close" ;;
    ab) kp_ab "$2" ;;
    esac
}

# A line "WHO LOAD CONNECTIONS RATE P50_us P99_us RESENT LOST" for each load.
kp_of() { # WHO
    local load n figures resent lost
    kp_start "$1"
    for n in "${KP_COUNTS[@]}"; do
        for load in "${KP_LOADS[@]}"; do
            resent=$(kp_resent) lost=$(kp_lost)
            figures=$(kp_load "$load" "$n")
            echo "$1 $load $n $figures $(($(kp_resent) - resent)) $(($(kp_lost) - lost))" >>"$LAB/latency"
        done
    done
}

# Medians, and each beside nginx's: rates as c10m's by nginx's, times as nginx's by c10m's, so that more is better.
kp_table() {
    python3 - "$LAB/latency" ${BENCH_RESULTS:+"$BENCH_RESULTS"} <<'PY'
import statistics, sys
seen = {}
for line in open(sys.argv[1]):
    who, load, n, *figures = line.split()
    seen.setdefault((load, int(n), who), []).append([float(f) for f in figures])
names = ("rate", "p50_us", "p99_us")
out = open(sys.argv[2], "a") if len(sys.argv) > 2 else None
print("load   connections  server      requests/s    p50 us    p99 us  sent again  lost   beside nginx: rate   p50   p99")
for load, n in sorted({k[:2] for k in seen}, key=lambda k: (["keep", "close", "ab"].index(k[0]), k[1])):
    median = {who: [statistics.median(s[i] for s in seen[load, n, who]) for i in range(3)] for who in ("nginx", "tap", "af_packet", "af_xdp")
              if (load, n, who) in seen}
    for who, m in median.items():
        resent, lost = (sum(s[i] for s in seen[load, n, who]) for i in (3, 4))
        text = "%-5s  %11d  %-10s  %10.0f  %8.0f  %8.0f  %10d  %4d" % (load, n, who, *m, resent, lost)
        ratios = []
        if who != "nginx" and "nginx" in median:
            x = median["nginx"]
            ratios = [m[0] / x[0]] + [x[i] / m[i] if m[i] else 1 for i in (1, 2)]
            text += "                 %5.2f %5.2f %5.2f" % tuple(ratios)
        print(text)
        if out:
            for name, value in list(zip(names, m)) + list(zip(("rate_ratio", "p50_ratio", "p99_ratio"), ratios)) + [("resent", resent), ("lost", lost)]:
                out.write("kernel_ports/%s/%s/%d/%s\t%s\n" % (who, load, n, name, value))
PY
}

bench_kernel_ports() { # ROUNDS
    local round who
    lab_open
    unpack_nginx
    say "kernel-ports: a page of 1 KiB, clients on core $CLIENT_CORE, one server at a time on core $SERVER_CORE, $1 rounds in turn" \
        "(promised: better than nginx on the kernel with ${KP_COUNTS[*]} connections, and nothing lost)"
    : >"$LAB/latency"
    for ((round = 0; round < $1; round++)); do
        for who in nginx "${KERNEL_PORTS[@]}"; do
            slice "kernel_ports_$who" kp_of "$who"
        done
    done
    kp_table
}
