#!/usr/bin/env bash
# gdb.sh C10M: the debugger's script in batch mode, on a core dump of a load with its server, and on damaged blocks.
set -uo pipefail
C10M=$(realpath "$1")
HERE=$(cd "$(dirname "$0")" && pwd)
SCRIPT=$HERE/../../scripts/gdb/c10m_gdb.py
command -v gdb >/dev/null || { echo "SKIP: no gdb"; exit 77; }
grep -q '\.debug_info' <<<"$(readelf -S "$C10M")" || { echo "SKIP: $C10M has no debug information (meson -Ddebug=true)"; exit 77; }
TMP=$(mktemp -d /tmp/c10m-gdb.XXXXXX)
LOAD=
cleanup() {
    [ -z "$LOAD" ] || { kill -9 "$LOAD"; wait "$LOAD"; } 2>/dev/null
    rm -rf "$TMP"
}
trap cleanup EXIT
trap 'exit 130' INT TERM
FAILED=0
claim() {
    local name=$1
    shift
    "$@" >"$TMP/why" 2>&1 && { echo "ok   $name"; return; }
    echo "FAIL $name"
    tail -n 12 "$TMP/why"
    FAILED=$((FAILED + 1))
}

# A line a second says that it asks. Memory of every kind goes into the dump.
"$C10M" load request --connections 64 --seconds 300 --hugepage none 2>"$TMP/load" >/dev/null &
LOAD=$!
for ((i = 0; i < 600; i++)); do
    [ "$(wc -l <"$TMP/load")" -ge 2 ] && break
    kill -0 "$LOAD" 2>/dev/null || break
    sleep 0.1
done
echo 0x7f >"/proc/$LOAD/coredump_filter"
claim "a dump is made" gcore -o "$TMP/core" "$LOAD"
kill -9 "$LOAD"
wait "$LOAD" 2>/dev/null
LOAD=
[ "$FAILED" = 0 ] || { cat "$TMP/load"; exit 1; }

# One run of the debugger for all: what each command prints goes into a file of its own.
# Bytes of all kinds where a block, a worker, a packet should be: every printer prints, and a state that there is not
# is a number.
cat >"$TMP/damage.py" <<'PY'
import random
random.seed(7)
def made(name, data): return gdb.Value(data, gdb.lookup_type("struct " + name))
for name in ("block", "worker", "pkt", "rte_mbuf", "flow_key", "ip_addr", "mac_addr"):
    size = gdb.lookup_type("struct " + name).sizeof
    for data in [b"\xff" * size, b"\0" * size] + [random.randbytes(size) for _ in range(20)]:
        text = made(name, data).format_string(max_elements=0)
        assert "Traceback" not in text and text, name
states = set()
at = offset_of("struct block", "state")
for state in range(256):
    text = made("block", b"\1" * at + bytes([state]) + b"\1" * (255 - at)).format_string()
    states.add(text.split()[1].strip("{") if text.startswith("{") else text.split()[0])
assert "200" in states and "ESTABLISHED" in states and "12" in states and "10" in states, states
print("flags", flags_of("block_flag", 0x8001), flags_of("block_agreed", 0))
print("damage: ok")
PY

EX=()
ask() { EX+=(-ex "python print('=== $1', flush=True)" -ex "$2"); }
# The worker and, of its blocks, the first one in use.
W='$w'
EX+=(-ex 'python gdb.set_convenience_variable("w", next(workers()).address)')
ask workers 'c10m workers'
ask conns 'c10m conns'
ask three 'c10m conns -n 3 established'
ask packets 'c10m packets'
ask worker "print *$W"
EX+=(-ex 'python gdb.set_convenience_variable("b", next(used_blocks(next(workers())))[1])')
ask block 'print $b'
ask raw 'print/r $b'
# The packet that the last turn received first, wherever that was.
ask packet "print *$W->pkts[0]"
ask address "c10m packets $W->pkts[0]"
ask nowhere 'print *(struct block *)64'
ask damage "source $TMP/damage.py"
gdb --batch -nx -ex "source $SCRIPT" "${EX[@]}" "$C10M" "$TMP"/core.* >"$TMP/all" 2>&1
awk -v dir="$TMP" '/^=== / { file = dir "/shown." $2; next } file != "" { print >file }' "$TMP/all"
shows() { grep -Eq -- "$2" "$TMP/shown.$1" || { cat "$TMP/shown.$1" || cat "$TMP/all"; false; }; }
lines() { [ "$(grep -Ec -- "$2" "$TMP/shown.$1")" = "$3" ] || { cat "$TMP/shown.$1"; false; }; }

claim "c10m workers" shows workers '^worker 0 on CPU 1 node .*: RUNNING, in stage [a-z]'
claim "... with its ports" shows workers '^  port 0: [a-z0-9]+ queue 0,'
claim "... with its services" shows workers '^  service 0: [a-z]+, 64 connection'
claim "c10m conns counts" shows conns '^in all: 64 ESTABLISHED$'
claim "c10m conns shows both ends" lines conns '^0/[0-9]+ ESTABLISHED [0-9.]+:[0-9]+ -> [0-9.]+:7 [a-z]+ in flight [0-9]+ queued' 64
claim "c10m conns -n 3 established" lines three '^0/' 3
claim "c10m packets" shows packets '^worker 0 received: [0-9]+$'
claim "print of a worker" shows worker '^\$[0-9]+ = worker 0 on CPU 1'
claim "print of a block" shows block '^\$[0-9]+ = ESTABLISHED [0-9.]+:[0-9]+ -> #[0-9]+:7 service 0 flags [A-Z_|]*IN_APP'
claim "print of a block: what is under way" shows block 'rcv_window_bytes = [0-9].*snd_in_flight_bytes = '
claim "print/r shows the fields" shows raw 'dirty_next = '
claim "print of a packet" shows packet '^\$[0-9]+ = TCP [0-9.]+:[0-9]+ > [0-9.]+:7 \[[FSRPAUEW.]+\] seq [0-9]+ ack [0-9]+, [0-9]+ bytes in 1 segment'
claim "print of a packet: its flags" shows packet 'flags = [A-Za-z0-9_|]+'
claim "c10m packets ADDRESS" shows address '^  refcnt: 1$'
claim "memory that is not in the dump" shows nowhere 'unreadable|Cannot access'
claim "damaged memory is printed as it is" shows damage '^damage: ok$'
claim "flags have names" shows damage '^flags TS.DELACK_ARMED none$'
no_error() { ! grep -E 'Traceback|Python Exception|internal error' "$TMP/all"; }
claim "no printer fails" no_error
no_server() {
    gdb --batch -nx -ex "source $SCRIPT" -ex 'c10m workers' "$C10M" >"$TMP/none" 2>&1
    grep -q 'no server in this process' "$TMP/none" || { cat "$TMP/none"; false; }
}
claim "without a server it says so" no_server
[ "$FAILED" = 0 ]
