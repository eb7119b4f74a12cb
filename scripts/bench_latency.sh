# bench_latency.sh: one request at a time, and a few. Sourced by scripts/bench, after bench_lab.sh.
#
# c10m over af_packet, nginx on the kernel, each on a fresh veth pair, one after the other, several
# times; the same page, the same client. nginx twice: pinned to the core that c10m's worker has, and
# where the kernel puts it (next to the client, mostly, which saves it a wake-up across cores).

# unpack_nginx: Debian's nginx, its own folder under build/, not installed: nothing starts at boot.
unpack_nginx() {
    NGINX=$(command -v nginx || echo "$PWD/build/nginx/usr/sbin/nginx")
    [ ! -x "$NGINX" ] || return 0
    say "fetching Debian's nginx into build/nginx (not installed)"
    apt-get update -qq
    mkdir -p build/nginx
    # Of several, downloads of other days among them, the newest.
    (cd build/nginx && apt-get download -qq nginx 2>/dev/null && dpkg -x "$(ls -t nginx_*.deb | head -n 1)" .)
}

# nginx_conf [AFFINITY]: one worker, as for production.
nginx_conf() {
    cat >"$LAB/nginx.conf" <<CONF
daemon off;
user root;
worker_processes 1;
${1:-}
pid $LAB/nginx.pid;
error_log stderr;
events { worker_connections 4096; }
http {
    access_log off;
    sendfile on;
    tcp_nopush on;
    tcp_nodelay on;
    keepalive_timeout 75;
    keepalive_requests 1000000000;
    open_file_cache max=100;
    default_type text/html;
    client_body_temp_path $LAB/t1;
    proxy_temp_path $LAB/t2;
    fastcgi_temp_path $LAB/t3;
    uwsgi_temp_path $LAB/t4;
    scgi_temp_path $LAB/t5;
    server { listen 80; root $LAB/site; }
}
CONF
}

# Each starts one server, which has the last core, or not.
latency_c10m() {
    veth_pair
    for_c10m
    c10m_conf <<CONF
[port x]
driver = af_packet
device = bench0
address = $SERVER_IP/24
CONF
    c10m_start
}
latency_nginx() { # [AFFINITY]
    veth_pair
    at_server ip addr add $SERVER_IP/24 dev bench0
    nginx_conf "${1:-}"
    start_server "$NGINX" -e stderr -c "$LAB/nginx.conf"
}
latency_nginx_pinned() {
    latency_nginx "worker_cpu_affinity $(printf '1%0*d' "$SERVER_CORE" 0);"
}

page_is_there() { at_client curl -sfo /dev/null -m 1 http://$SERVER_IP/; }

# latency_slice WHO CONNECTIONS: a line "WHO CONNECTIONS MEDIAN_us P99_us REQUESTS_PER_S".
latency_slice() {
    at_client taskset -c $CLIENT_CORE wrk -t1 -c"$2" -d1 --latency http://$SERVER_IP/ |
        awk -v who="$1" -v n="$2" '
            function us(t) { return t * (t ~ /ms$/ ? 1000 : t ~ /us$/ ? 1 : 1000000) }
            /^ +50%/ { p50 = us($2) }
            /^ +99%/ { p99 = us($2) }
            /Non-2xx|Socket errors/ { print > "/dev/stderr"; bad = 1 }
            /^Requests\/sec/ { rate = $2 }
            END { if (bad || !p50) exit 1; print who, n, p50, p99, rate }' >>"$LAB/latency"
}

latency_table() {
    python3 - "$LAB/latency" ${BENCH_RESULTS:+"$BENCH_RESULTS"} <<'PY'
import statistics, sys
seen = {}
for line in open(sys.argv[1]):
    who, n, *figures = line.split()
    seen.setdefault((int(n), who), []).append([float(f) for f in figures])
def median(n, who, i):  # of a server whose slices failed: nan
    return statistics.median([s[i] for s in seen[n, who]]) if (n, who) in seen else float("nan")
print("                  median us                   |     ratio of medians     |         requests/s")
print("connections   c10m  nginx  nginx, free core   | nginx  nginx, free core  |   c10m   nginx   free")
for n in sorted({k[0] for k in seen}):
    p50, rate = ([median(n, w, i) for w in ("c10m", "nginx_pinned", "nginx")] for i in (0, 2))
    print("%11d %6.0f %6.0f %11.0f         | %5.2f %11.2f       | %6.0f  %6.0f %6.0f" %
          (n, *p50, p50[0] / p50[1], p50[0] / p50[2], *rate))
    if len(sys.argv) > 2:
        with open(sys.argv[2], "a") as out:
            for who, us in zip(("c10m", "nginx", "free"), p50):
                if us == us:
                    out.write("latency/%d/%s_us\t%s\n" % (n, who, us))
PY
}

latency_of() { # WHO
    local n
    latency_$1
    wait_for "the page from $1" page_is_there
    for n in 1 2 8 64; do
        latency_slice $1 $n
    done
}

bench_latency() { # ROUNDS
    local round who
    lab_open
    unpack_nginx
    say "latency: a page of 1 KiB over veth, wrk on core $CLIENT_CORE, one server at a time on core $SERVER_CORE (af_packet:" \
        "c10m), $1 slices of 1 s each in turn (promised: at most nginx's, with 1, 2, 8, 64 connections)"
    : >"$LAB/latency"
    for ((round = 0; round < $1; round++)); do
        for who in c10m nginx_pinned nginx; do
            slice "latency_$who" latency_of $who
        done
    done
    latency_table
}
