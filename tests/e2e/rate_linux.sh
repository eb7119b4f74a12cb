#!/usr/bin/env bash
# Bulk transfers over a path of 10 ms and 1 % loss each way: ours to the kernel, the kernel to ours, and
# the kernel to the kernel under CUBIC, in turn, over several rounds. All three go through the same
# code: a `fault` port over TAP, in the server, or in fault_bridge between two namespaces; both poll on
# the same core, and who is not measured stands still. SEED=n draws other losses.
. "$(dirname "$0")/lib.sh"
BRIDGE=$(realpath "$2")
SEED=${SEED:-1}
ROUNDS=${ROUNDS:-4}
FLOWS=${FLOWS:-16}
WARM=1
SECONDS_EACH=${SECONDS_EACH:-2}
NSB=${NS}b
BRIDGE_PID=
SOURCE_PID=
stop() { [ -z "$1" ] || { kill -9 "$1"; wait "$1" || true; } 2>/dev/null; }
cleanup_first() { stop "$SOURCE_PID"; stop "$BRIDGE_PID"; ip netns del "$NSB" 2>/dev/null; }
ip netns add "$NSB"
inside_b() { nsenter --net=/run/netns/"$NSB" "$@"; }
# Every connection begins as if it were the first: nothing is remembered of the path.
for ns in "$NS" "$NSB"; do
    nsenter --net=/run/netns/"$ns" sysctl -qw net.ipv4.tcp_no_metrics_save=1
done

# wait_for FILE WORD PID: until it is said.
wait_for() {
    local i
    for ((i = 0; i < 100; i++)); do
        grep -q "$2" "$1" && return 0
        kill -0 "$3" 2>/dev/null || break
        sleep 0.1
    done
    cat "$1"
    return 1
}
bridge() {
    setpriv --pdeathsig KILL nsenter --net=/run/netns/"$NS" "$BRIDGE" c10ma0 c10mb0 "$SEED" 10000 10 "$CPU" >"$TMP/bridge" 2>&1 &
    BRIDGE_PID=$!
    wait_for "$TMP/bridge" ready "$BRIDGE_PID" || return 1
    inside ip addr add 10.98.0.1/24 dev c10ma0
    inside ip link set c10mb0 netns "$NSB"
    inside_b ip addr add 10.98.0.2/24 dev c10mb0
    inside_b ip link set c10mb0 up
    setpriv --pdeathsig KILL nsenter --net=/run/netns/"$NSB" python3 "$HERE/rate.py" source 5000 >"$TMP/source" 2>&1 &
    SOURCE_PID=$!
    wait_for "$TMP/source" listening "$SOURCE_PID"
}
# rate NAME: one measurement; appends to the file of that name.
rate() {
    local name=$1
    shift
    timeout 60 nsenter --net=/run/netns/"$NS" python3 "$HERE/rate.py" "$@" "$FLOWS" "$WARM" "$SECONDS_EACH" >"$TMP/one" || return 1
    cat "$TMP/one" >>"$TMP/$name"
}
round() {
    kill -CONT "$SERVER"
    rate ours pull 10.99.0.2 19 && rate received push 10.99.0.2 9 || return 1
    kill -STOP "$SERVER"
    kill -CONT "$BRIDGE_PID"
    rate linux pull 10.98.0.2 5000 || return 1
    kill -STOP "$BRIDGE_PID"
}
median() { sort -g | awk '{ v[NR] = $1 } END { printf "%.2f", (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'; }
show() { printf '%-24s %s: median %s\n' "$1" "$(tr '\n' ' ' <"$TMP/$2")" "$(median <"$TMP/$2")"; }
# ratio A B: the median of what A is of B in a round: other work on the machine hits both of them.
ratio() { paste "$TMP/$1" "$TMP/$2" | awk '{ print $1 / $2 }' | median; }
# at_least R A B: A is at least R times B.
at_least() { awk -v least="$1" -v r="$(ratio "$2" "$3")" 'BEGIN { print r; exit !(r >= least) }'; }

write_conf "[port bad]
driver = fault
wraps = tap0
seed = $SEED
loss = 1
delay_ms = 10"
sed -i "s/^\[memory\]/&\nhugepage = none/; s/^app = \(chargen\|discard\)/&\nsend_buffer = 4M\nreceive_buffer = 4M/" "$TMP/conf"
CPU=$(($(nproc) - 1))
claim "the server starts" start_server
kill -STOP "$SERVER"
claim "the bridge starts" bridge
kill -STOP "$BRIDGE_PID"
echo "seed $SEED; $FLOWS connections at once, each for $SECONDS_EACH s after $WARM s; Mb/s a connection"
# measure: the rounds, and what they say. False: one of ours is slower than it should be.
measure() {
    rm -f "$TMP/ours" "$TMP/received" "$TMP/linux"
    for ((r = 1; r <= ROUNDS; r++)); do
        claim "round $r" round
    done
    show "ours to the kernel" ours
    show "the kernel to ours" received
    show "the kernel to the kernel" linux
    echo "of the kernel's rate in the same round, median: sending $(ratio ours linux), receiving $(ratio received linux)"
    at_least 1 ours linux >/dev/null && at_least 0.9 received linux >/dev/null
}
# Where the host is busy its stalls decide, and may do so for a minute: all rounds again, three times at most.
for ((try = 1; try <= 3; try++)); do
    ! measure || break
done
kill -CONT "$SERVER"
claim "ours sends as fast as the kernel under CUBIC does" at_least 1 ours linux
claim "ours receives as fast as the kernel does" at_least 0.9 received linux
claim "the server stops" stop_server
finish
