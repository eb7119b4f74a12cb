# bench_restart.sh: a server with many connections is killed (SIGKILL) at random moments while a client, a process of its own over
# memif, sends requests on them. The next one adopts them. Sourced by scripts/bench after bench_lab.sh.
#
# Figures, below restart/CONNECTIONS: those of `c10m load`, whose longest_silence_ms is the longest time in which no connection got
# an answer; kills; refused and silence_ms: what the servers said that they did not adopt, in all, and for how long no worker ran,
# at most.

restart_serving() { # a server that has 10 M connections to adopt takes seconds
    local i
    for ((i = 0; i < 600; i++)); do
        ! grep -q 'serving$' "$LAB/server.log" || return 0
        kill -0 "$SERVER" 2>/dev/null || break
        sleep 0.1
    done
    tail -n 15 "$LAB/server.log" >&2
    return 1
}
restart_start() {
    start_server build/src/c10m serve -c "$LAB/conf" --adopt "$1"
    restart_serving
}
restart_open() { [ "$(awk '$1 == "connections_now" { n += $2 } END { print n + 0 }' "$LAB"/run/proc/cores/*/counters)" -ge "$1" ]; }
# restart_said PATTERN: the number behind it in the server's line about what it has adopted.
restart_said() { sed -n "s/.* adopted .*$1 \([0-9]*\).*/\1/p" "$LAB/server.log" | tail -n 1; }

restart_kills() { # NAME CONNECTIONS KILLS REQUESTS_PER_S
    local i refused=0 longest=0 ms
    c10m_conf <<<"[port x]
driver = memif
device = $LAB/memif.sock
address = $SERVER_IP/16"
    # All clients are of one network (tcp.prefix_share).
    sed -i "s/^connections = .*/connections = $2/" "$LAB/conf"
    printf '[tcp]\nprefix_share = 100\nservice_share = 100\n' >>"$LAB/conf"
    restart_start auto
    printf '%s\n' "[cpu]" "linux = $SERVER_CORE" "workers = $CLIENT_CORE" "[memory]" "hugepage = none" "[control]" "name = bench$$c" \
        "[port y]" "driver = memif" "role = client" "device = $LAB/memif.sock" "address = 10.99.1.1/16" >"$LAB/load.conf"
    start_sender c build/src/c10m load request -c "$LAB/load.conf" --server $SERVER_IP --connections "$2" --rate "$4" --seconds 36000 --json --quiet
    for ((i = 0; i < 600; i++)); do
        ! restart_open "$2" || break
        sleep 0.2
    done
    restart_open "$2" || { tail -n 3 "$LAB/sender.log" >&2; return 1; }
    sleep 2
    for ((i = 0; i < $3; i++)); do
        sleep "$((RANDOM % 2)).$((RANDOM % 900 + 100))"
        kill -KILL "$SERVER"
        wait "$SERVER" 2>/dev/null || true
        restart_start require
        refused=$((refused + $(restart_said 'not adopted:')))
        ms=$(restart_said 'after')
        [ "$ms" -le $longest ] || longest=$ms
    done
    sleep 2
    stop_sender
    grep '^{' "$LAB/sender.log" | scripts/bench_table.py add "$FIGURES" "restart/$1"
    printf "restart/$1/%s\t%s\n" kills "$3" refused $refused silence_ms "$longest" >>"$FIGURES"
}

bench_restart() { # CONNECTIONS KILLS
    lab_open
    slice "restart_$1" restart_kills "$1" "$(numfmt --from=si "$1")" "$2" 20k
}
