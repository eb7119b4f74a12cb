# bench_restart.sh: a server with many connections ends at random moments, killed (SIGKILL) or for a planned restart (SIGUSR2, which is
# what `systemctl restart` sends), after which it may have two workers instead of one, or one instead of two (moved), while clients, processes of their own over memif, use the connections. The next server adopts them.
# Sourced by scripts/bench after bench_lab.sh.
#
# One client sends requests. If the case has transfers, a second one, at a port of its own, sends streams to the echo service, and
# compares each byte that comes back. A stream that is lost is opened again. At the end both wait for what is outstanding and close
# every connection, so that a connection that the server has lost without a word is counted too.
#
# Figures, below restart/NAME: those of `c10m load request`, whose longest_silence_ms is the longest time in which no connection got
# an answer, and whose `failed` are the connections that the client lost; below stream/ those of `c10m load stream`; kills; refused
# and silence_ms: what the servers said that they did not adopt, in all, and for how long no worker ran, at most.

RESTART_BUFFERS=32768  # of 2 KiB: 64 for each stream: 16 KiB in flight, 64 KiB queued in the server
RESTART_STREAMS=512
RESTART_STATUS=75      # of a server that has ended for a restart
RESTART_OPEN_S=120     # until all connections are open; until they are closed
RESTART_EACH_S=10      # for each restart, or the case fails
RESTART_END_S=30       # for a planned end

restart_wait() { # TENTHS COMMAND...: until it is true
    local i
    for ((i = 0; i < $1; i++)); do
        ! "${@:2}" || return 0
        sleep 0.1
    done
    return 1
}
restart_serves() { grep -q 'serving$' "$LAB/server.log" || ! is_alive "$SERVER"; }
restart_start() { # ADOPT: a server that has 10 M connections to adopt takes seconds
    start_server build/src/c10m serve -c "$LAB/conf" --adopt "$1"
    restart_wait 600 restart_serves && grep -q 'serving$' "$LAB/server.log" && return 0
    tail -n 15 "$LAB/server.log" >&2
    return 1
}
restart_has() { [ "$(awk '$1 == "connections_now" { n += $2 } END { print n + 0 }' "$LAB"/run/proc/cores/*/counters 2>/dev/null)" -ge "$1" ]; }
restart_opened() { # CONNECTIONS CLIENT: or the client is gone
    restart_has "$1" || ! is_alive "${CLIENTS[$2]}"
}
restart_await() { # CONNECTIONS CLIENT: are open
    restart_wait $((10 * RESTART_OPEN_S)) restart_opened "$1" "$2" && restart_has "$1"
}
# restart_said PATTERN: the number behind it in the server's line about what it has adopted.
restart_said() { sed -n "s/.* adopted .*$1 \([0-9]*\).*/\1/p" "$LAB/server.log" | tail -n 1; }
restart_dead() { ! is_alive "$1"; }

restart_conf() { # CONNECTIONS
    c10m_conf <<CONF
[port x]
driver = memif
device = $LAB/memif.sock
address = $SERVER_IP/16, fd99::2/64
[port z]
driver = memif
device = $LAB/stream.sock
address = 10.98.0.2/16, fd98::2/64
CONF
    sed -i "s/^connections = .*/connections = $1\nbuffers = $RESTART_BUFFERS/" "$LAB/conf"
    # All clients are of one network.
    printf '[tcp]\nprefix_share = 100\nservice_share = 100\n' >>"$LAB/conf"
    build/src/c10m clean -c "$LAB/conf" >/dev/null  # what a try that failed has left
}

restart_client() { # NAME SOCKET ADDRESS KIND OPTION...: c10m load KIND as client NAME, until restart_end
    printf '%s\n' "[cpu]" "linux = $SERVER_CORE" "workers = $CLIENT_CORE" "[memory]" "hugepage = none" "[control]" "name = bench$$$1" \
        "[port y]" "driver = memif" "role = client" "device = $LAB/$2" "address = $3" >"$LAB/$1.conf"
    start_client "$1" c build/src/c10m load "$4" -c "$LAB/$1.conf" --seconds 36000 --json --quiet "${@:5}"
}
restart_end() { # NAME FIGURES: what client NAME has found when all its connections are closed
    kill -USR1 "${CLIENTS[$1]}"
    restart_wait $((10 * RESTART_OPEN_S)) restart_dead "${CLIENTS[$1]}" || { echo "client $1 does not end" >&2; return 1; }
    grep '^{' "$LAB/$1.log" | scripts/bench_table.py add "$FIGURES" "$2"
}
restart_clients() { # FAMILY CONNECTIONS STREAMS REQUESTS_PER_S
    local to=$SERVER_IP at=10.99.1.1/16 streams_to=10.98.0.2 streams_at=10.98.1.1/16
    [ "$1" = 4 ] || to=fd99::2 at=fd99::1:1/64 streams_to=fd98::2 streams_at=fd98::1:1/64
    restart_client sender memif.sock $at request --server $to --connections "$2" --rate "$4"
    restart_await "$2" sender || return 1
    [ "$3" != 0 ] || return 0
    restart_client stream stream.sock $streams_at stream --server $streams_to --connections "$3" --direction both --reopen
    restart_await $(($2 + $3)) stream
}

restart_clients_live() {
    local name
    for name in "${!CLIENTS[@]}"; do
        is_alive "${CLIENTS[$name]}" || { echo "client $name has ended" >&2; tail -n 3 "$LAB/$name.log" >&2; return 1; }
    done
}

restart_workers() { # NUMBER: of the next server
    sed -i '/^workers_per_core = /d' "$LAB/conf"
    sed -i "s/^workers = .*/&\nworkers_per_core = $1/" "$LAB/conf"
}

restart_stop() { # kill|planned|moved
    local status=0
    if [ "$1" = kill ]; then
        kill -KILL "$SERVER"
        wait "$SERVER" 2>/dev/null || true
        return 0
    fi
    kill -USR2 "$SERVER"
    restart_wait $((10 * RESTART_END_S)) restart_dead "$SERVER" || { echo "the server does not end for a restart" >&2; return 1; }
    wait "$SERVER" || status=$?
    [ $status = $RESTART_STATUS ] || { echo "the server ended with status $status" >&2; tail -n 5 "$LAB/server.log" >&2; return 1; }
}

restart_case() { # NAME kill|planned|moved FAMILY CONNECTIONS STREAMS RESTARTS REQUESTS_PER_S
    local i refused=0 longest=0 ms end RESTART_BUFFERS=$RESTART_BUFFERS
    [ "$2" != moved ] || RESTART_BUFFERS=$((2 * RESTART_BUFFERS))  # two workers have half of them each, and not half of the streams
    restart_conf $(($4 + $5))
    restart_start auto
    restart_clients "$3" "$4" "$5" "$7" || { tail -n 3 "$LAB"/*.log >&2; return 1; }
    sleep 1
    end=$((SECONDS + RESTART_EACH_S * ($6 + 1)))
    for ((i = 0; i < $6; i++)); do
        sleep "$((RANDOM % 2)).$((RANDOM % 900 + 100))"
        restart_stop "$2"
        [ "$2" != moved ] || restart_workers $((2 - i % 2))
        restart_start require
        refused=$((refused + $(restart_said 'not adopted:')))
        ms=$(restart_said 'after')
        [ "$ms" -le $longest ] || longest=$ms
        restart_clients_live
        [ $SECONDS -lt $end ] || { echo "$i restarts took more than $RESTART_EACH_S s each" >&2; return 1; }
    done
    sleep 2
    [ "$5" = 0 ] || restart_end stream "restart/$1/stream"
    restart_end sender "restart/$1"
    stop_sender
    printf "restart/$1/%s\t%s\n" kills "$6" refused $refused silence_ms "$longest" >>"$FIGURES"
}

bench_restart() { # NAME kill|planned|moved FAMILY CONNECTIONS STREAMS RESTARTS
    lab_open
    say "restart: $1: $6 times, $4 connections, $5 streams, IPv$3"
    # One try: a server that does not adopt once in hundreds of restarts must not be hidden by the next try.
    SLICE_TRIES=1 slice "restart_$1" restart_case "$1" "$2" "$3" "$(numfmt --from=si "${4^^}")" "$5" "$6" 20k
}
