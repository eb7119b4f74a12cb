# bench_rows.sh: the rows of scripts/bench: what each runs, how long, and how many 2 MiB pages it wants.
# Sourced after lib.sh, before the options are read.

ALL=(machine micro echo growth pipeline scale hold keepalive rate lives stream udp jitter budget tree latency kernel-ports peers ports restart overload max)

QUICK_ROWS=(echo hold rate stream udp jitter budget latency)  # of --quick, if none is named

# bench_sizes: what is measured, as QUICK says.
bench_sizes() {
    if [ -n "$QUICK" ]; then
        CONNECTIONS=1M COUNTS=1k,1M SECONDS_EACH=1 RATE_SECONDS=3 LIFE=1 SLICES=2
        PEER_COUNTS=1k,10k PEER_SECONDS=0.5 PEERS=("${PEERS_QUICK[@]}")
    else
        CONNECTIONS=10M COUNTS=1k,10k,100k,1M,10M SECONDS_EACH=5 RATE_SECONDS=60 LIFE=10 SLICES=5
        PEER_COUNTS=1k,2k,5k,10k PEER_SECONDS=3 PEERS=("${PEERS_QUICK[@]}" "${PEERS_MORE[@]}")
    fi
}

# bench_pages ROW...: the most that one of them takes.
bench_pages() {
    local most=0 row pages
    for row in "$@"; do
        case $row in
        machine) pages=64 ;;
        echo | growth) [ -n "$QUICK" ] && pages=700 || pages=3400 ;;  # blocks, tables, packets twice: the server and the bare loop
        hold | keepalive) [ -n "$QUICK" ] && pages=500 || pages=1800 ;;
        lives) [ -n "$QUICK" ] && pages=700 || pages=2400 ;;
        restart) [ -n "$QUICK" ] && pages=900 || pages=2400 ;;
        max) pages=0 ;;  # all that there are, by itself
        rate) [ -n "$QUICK" ] && pages=800 || pages=4800 ;;  # TIME-WAIT: 60 M records; held ones beside them
        *) pages=700 ;;
        esac
        [ $most -ge $pages ] || most=$pages
    done
    echo $most
}

# figures NAME COMMAND...: runs c10m with --json; its figures are NAME/... A command that fails counts by its `ok`.
figures() {
    local name=$1 out
    shift
    printf '   c10m %s\n' "$*"
    out=$(build/src/c10m "$@" --json) || [ -n "$out" ]
    scripts/bench_table.py add "$FIGURES" "$name" <<<"$out"
}

row_machine() {
    say "machine: what memory, pages, calls and the other core cost here"
    figures machine bench machine
}
row_echo() {
    local n
    say "echo beside the bare loop, which does only the memory work of an echo"
    for n in ${COUNTS//,/ }; do  # one by one: the server's tables are sized for the number
        figures echo bench echo --connections "$n" --seconds $SECONDS_EACH
    done
}
row_micro() {
    say "micro: the parts of the data path, beside DPDK's"
    figures micro bench micro
    build/src/c10m bench micro --go >>"$GO_LINES"
}
row_growth() {
    say "growth: cycles a packet by stage, from 1 k connections on"
    figures growth bench growth --connections "$COUNTS" --seconds $SECONDS_EACH
}
row_pipeline() {
    say "pipeline: run to completion beside two cores, one of which receives and looks up"
    figures pipeline bench pipeline
}
row_scale() {
    say "scale: the cost of a packet with 1, 2, 4, 8 workers, where cores allow"
    figures scale bench scale
}
row_hold() {
    local family
    say "hold: $CONNECTIONS connections, three rounds in random order"
    for family in 4 6; do
        figures hold$family load hold --connections $CONNECTIONS --rounds 3 --close --family $family --quiet
    done
}
row_rate() {
    local by
    say "rate: full connections, closed by the client, by the server, and while $CONNECTIONS others are open"
    for by in client server; do
        figures rate_$by load rate --seconds $RATE_SECONDS --closed-by $by --quiet
    done
    figures rate_held load rate --seconds $RATE_SECONDS --hold $CONNECTIONS --quiet
}
row_keepalive() {
    local try
    say "keepalive: $CONNECTIONS connections without and with it armed on each, in turn"
    for try in 1 2; do
        figures keepalive_off_$try load hold --connections $CONNECTIONS --rounds 3 --quiet
        figures keepalive_on_$try load hold --connections $CONNECTIONS --rounds 3 --quiet --keepalive 60
    done
}
row_lives() {
    say "lives: full connections that stay open for $LIFE s, begun at 1 M/s"
    figures lives load rate --rate 1M --life $LIFE --time-wait 1 --seconds $((3 * LIFE)) --quiet
}
# What a connection takes: of the server's pages 285 bytes, of the client's 4 KiB pages 32; the rest is for records,
# buffers and packets, and for Linux.
row_max() {
    local kib n pages
    kib=$(awk '/^MemAvailable/ { print $2 }' /proc/meminfo)
    n=$(((kib * 1024 + $(cat $HUGE) * 2097152 - 3000000000) / 318))
    pages=$((n * 285 / 2097152 + 700))
    say "max: $n connections, as many as the memory of this machine holds beside their client"
    [ $n -ge 1000000 ] || { echo "   too little memory for this row"; return 0; }
    [ $pages -le "$(cat $HUGE)" ] || add_hugepages $((pages - $(cat $HUGE))) || n=$((($(cat $HUGE) - 700) * 2097152 / 285))
    figures max load hold --connections "$n" --rounds 1 --quiet
}
row_stream() {
    local way
    say "stream: bulk over 8 connections"
    for way in down up; do
        figures stream_$way load stream --seconds $SECONDS_EACH --direction $way --quiet
    done
}
row_udp() {
    say "udp: datagrams of 60 bytes on the wire"
    figures udp load udp --seconds $SECONDS_EACH --quiet
}
row_jitter() {
    say "jitter: latency at half of the maximum rate, beside an idle loop"
    figures jitter bench latency
}
row_budget() {
    say "budget: the cycles that are left to an application"
    figures budget bench budget
}
row_tree() {
    say "tree: the whole tree of the server read ten times a second"
    figures tree bench tree --connections 10k --seconds $((2 * SECONDS_EACH))
}
row_latency() { bench_latency $SLICES; }
row_kernel-ports() { bench_kernel_ports $SLICES; }
row_peers() { bench_peers $PEER_SECONDS $PEER_COUNTS "${PEERS[@]}"; }
row_ports() { bench_ports $SECONDS_EACH; }
row_overload() { bench_overload $((SECONDS_EACH + 1)); }
row_restart() {
    say "restart: connections of a server that is killed or restarted go on in the next one"
    if [ -n "$QUICK" ]; then
        bench_restart transfers kill 4 1M $RESTART_STREAMS 5
        bench_restart transfers6 kill 6 100k $RESTART_STREAMS 3
        bench_restart planned planned 4 100k $RESTART_STREAMS 3
        bench_restart moved moved 4 100k $RESTART_STREAMS 3
    else
        bench_restart 1M kill 4 1M 0 200
        bench_restart transfers kill 4 1M $RESTART_STREAMS 200
        bench_restart transfers6 kill 6 1M $RESTART_STREAMS 200
        bench_restart planned planned 4 1M $RESTART_STREAMS 50
        bench_restart moved moved 4 1M $RESTART_STREAMS 20
        bench_restart 10M kill 4 10M 0 20
    fi
}
