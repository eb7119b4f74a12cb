# bench_ports.sh: what each driver carries in frames of 64 bytes. Sourced by scripts/bench, after
# bench_lab.sh.
#
# Two loads, each on a fresh server:
#   flood   dpdk-testpmd sends datagrams of 64 bytes to the discard service as fast as it can: what
#           arrives is counted by c10m
#   asked   "c10m load" has 1,000 connections to the echo service, 512 requests under way; request
#           and answer are segments of 64 bytes, then comes an ACK: what arrives and what is
#           answered is counted by c10m
# A line per load: WHO LOAD RX_PER_S ANSWERED_PER_S BUSY_% CYCLES CYCLES_OF_THE_PORT PACKETS_A_TURN
# (cycles per packet received, of busy turns; of the port: its rx_burst and tx_burst, kernel included).

# ports_sample: now, in ns, then all that the one worker counts.
ports_sample() {
    echo "time_ns $(date +%s%N)"
    cat "$LAB"/run/proc/cores/*/counters "$LAB"/run/proc/cores/*/cycles
}

# ports_measure WHO LOAD SECONDS
ports_measure() {
    ports_sample >"$LAB/from"
    sleep "$3"
    ports_sample >"$LAB/to"
    awk -v who="$1" -v load="$2" '
        FNR == NR { from[$1] = $2; next }
        { d[$1] = $2 - from[$1] }
        END {
            s = d["time_ns"] / 1e9
            busy = d["total_cycles"] - d["idle_cycles"]
            rx = d["rx_packets"]
            printf "%s %s %.0f %.0f %.1f", who, load, rx / s, d["tx_packets"] / s, 100 * busy / d["total_cycles"]
            if (rx) printf " %.0f %.0f %.1f\n", busy / rx, (d["rx_cycles"] + d["tx_cycles"]) / rx, rx / d["turns_busy"]
            else print " 0 0 0"
        }' "$LAB/from" "$LAB/to" >>"$LAB/ports"
}

# ports_once WHO SECONDS: a server that ends its work by itself (a capture): packets over busy time.
ports_once() {
    local before=-1 now
    while now=$(awk '$1 == "rx_packets" { print $2 }' "$LAB"/run/proc/cores/*/counters); [ "$now" != "$before" ]; do
        before=$now
        sleep 0.3
    done
    ports_sample >"$LAB/from"
    sleep "$2"
    ports_sample >"$LAB/to"
    awk -v who="$1" '
        FNR == NR { from[$1] = $2; next }
        { to[$1] = $2 }
        END {
            hz = (to["total_cycles"] - from["total_cycles"]) / (to["time_ns"] - from["time_ns"]) * 1e9
            busy = from["total_cycles"] - from["idle_cycles"]
            rx = from["rx_packets"]
            printf "%s replay %.0f 0 100.0 %.0f %.0f %.1f\n", who, rx * hz / busy, busy / rx,
                   (from["rx_cycles"] + from["tx_cycles"]) / rx, rx / from["turns_busy"]
        }' "$LAB/from" "$LAB/to" >>"$LAB/ports"
}

# flood SIDE VDEV: testpmd at namespace SIDE (s or c), on core 0. 64 MB of its own hugepages, in no file.
flood() {
    start_sender "$1" dpdk-testpmd --lcores "0@$CLIENT_CORE,1@$CLIENT_CORE" --in-memory --no-pci --no-telemetry -m 64 \
        --file-prefix c10mbench$$ --vdev "$2" -- --forward-mode=txonly --txpkts=64 --eth-peer=0,$SERVER_MAC \
        --tx-ip=$CLIENT_IP,$SERVER_IP --tx-udp=9009,9 --total-num-mbufs=4096 --no-mlockall --auto-start \
        --stats-period 3600
}
something_arrives() { awk '$1 == "rx_packets" { n += $2 } END { exit n < 10000 }' "$LAB"/run/proc/cores/*/counters; }

# asked SIDE LINES: c10m load on a port of LINES, for as long as it is measured.
asked() {
    printf '%s\n' "[cpu]" "linux = $SERVER_CORE" "workers = $CLIENT_CORE" "[memory]" "hugetlbfs = $LAB/huge" \
        "[control]" "name = bench$$c" "[port y]" "$2" "address = $LOAD_IP/24" >"$LAB/load.conf"
    start_sender "$1" build/src/c10m load request -c "$LAB/load.conf" --server $SERVER_IP --connections 1k --window 512 \
        --payload 10 --no-timestamps --seconds 3600 --quiet
}

# ports_driver WHO SIDE VDEV LOAD_PORT SECONDS <PORT_LINES: both loads. "BEFORE" is run before each
# server, "AFTER" when it serves.
ports_driver() {
    local lines
    lines=$(cat)
    for load in flood asked; do
        slice "ports_$1_$load" ports_load "$1" "$2" "$3" "$4" "$5" $load "$lines"
    done
}
ports_load() { # WHO SIDE VDEV LOAD_PORT SECONDS LOAD PORT_LINES
    $BEFORE
    c10m_conf <<<"$7"
    c10m_start
    $AFTER
    if [ "$6" = flood ]; then flood "$2" "$3"; else asked "$2" "$4"; fi
    wait_for "packets of the $6 for $1" something_arrives
    ports_measure "$1" "$6" "$5"
}
ports_replay() { # SECONDS
    c10m_start
    ports_once pcap "$1"
}
ports_null() { # WHO SECONDS
    c10m_start
    ports_measure "$1" null "$2"
}

# Both ends are in one process: the lockstep benchmark, whose rate is packets over busy time.
ports_ring() { # SECONDS
    build/src/c10m bench echo --connections 1k --payload 10 --seconds "$1" --cpus $CLIENT_CORE,$SERVER_CORE 2>&1 |
        awk '$1 == 1000 { rx = $3 * 1e6; cycles = $5 }
             /cycles per received packet/ { for (i = 1; i < NF; i++) if ($i == "rx" || $i == "tx") port += $(i + 1) }
             END { if (!rx) exit 1; printf "ring lockstep %.0f %.0f 100.0 %.0f %.0f 64.0\n", rx, rx / 2, cycles, port }' >>"$LAB/ports"
}

ports_table() {
    local model
    model=$(lscpu | sed -n 's/^Model name: *//p' | head -1)
    echo "machine: $model, $(nproc) CPUs$(lscpu | sed -n 's/^Hypervisor vendor: */, a VM of /p'), Linux $(uname -r)"
    echo "port                 load      received/s  answered/s  worker busy  cycles/packet  of the port  packets/turn"
    awk '{ printf "%-19s  %-8s  %10d  %10s  %9.1f %%  %13d  %11d  %12.1f\n", $1, $2, $3, $4 == 0 ? "-" : $4, $5, $6, $7, $8 }' "$LAB/ports"
}

up_in_tap() { at_server ip link set bench2 up; }

# A million datagrams of 64 bytes to the discard service, as a capture.
ports_capture() {
    python3 - "$LAB/in.pcap" "$SERVER_MAC" $CLIENT_IP $SERVER_IP "$1" <<'PY'
import ipaddress, struct, sys
path, mac, client, server, n = sys.argv[1:]
ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 50, 1, 0, 64, 17, 0, *(ipaddress.ip_address(a).packed for a in (client, server)))
s = sum(struct.unpack(">10H", ip))
s = (s & 0xffff) + (s >> 16)
ip = ip[:10] + struct.pack(">H", ~s & 0xffff) + ip[12:]
frame = bytes.fromhex(mac.replace(":", "") + "020000000009" + "0800") + ip + struct.pack(">HHHH", 9009, 9, 30, 0) + bytes(22)
assert len(frame) == 64
with open(path, "wb") as f:
    f.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
    for _ in range(int(n) // 1000):
        f.write((struct.pack("<IIII", 0, 0, 64, 64) + frame) * 1000)
PY
}

bench_ports() { # SECONDS
    local ours="address = $SERVER_IP/24
mac = $SERVER_MAC" vdev
    lab_open
    say "ports: frames of 64 bytes, server on core $SERVER_CORE, sender on core $CLIENT_CORE, $1 s each"
    : >"$LAB/ports"
    BEFORE=: AFTER=up_in_tap
    ports_driver tap s net_af_packet0,iface=bench2,qdisc_bypass=1 "driver = af_packet
device = bench2" "$1" <<<"[port x]
driver = tap
device = bench2
$ours"
    BEFORE=veth_pair AFTER=:
    for driver in af_packet af_xdp; do
        ports_driver $driver c net_af_packet0,iface=bench1,qdisc_bypass=1 "driver = af_packet
device = bench1" "$1" <<<"[port x]
driver = $driver
device = bench0
$ours"
    done
    BEFORE=: AFTER=:
    ports_driver memif c "net_memif0,role=client,socket=$LAB/memif.sock,socket-abstract=no,bsize=2048" "driver = memif
role = client
device = $LAB/memif.sock" "$1" <<<"[port x]
driver = memif
device = $LAB/memif.sock
$ours"
    c10m_conf <<<"[port x]
driver = pcap
device = $LAB/in.pcap
$ours"
    ports_capture 1000000
    slice ports_pcap ports_replay "$1"
    for wrap in "" fault; do
        c10m_conf <<<"[port x]
driver = pci
device = net_null0
${wrap:+[port f]
driver = fault
wraps = x}
$ours"
        slice "ports_${wrap:+fault_}null" ports_null "${wrap:+fault,}pci,net_null" "$1"
    done
    slice ports_ring ports_ring "$1"
    ports_table
}
