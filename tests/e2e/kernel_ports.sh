#!/usr/bin/env bash
# A thousand connections over each port on an interface of the kernel: no frame is lost between its sender and the worker, either way; and when
# the worker is stopped, so that frames have to be lost, each one is counted.
. "$(dirname "$0")/lib.sh"
FAR=  # the client's interface; over TAP it is the port's own

# sum_of FILE NAME...
sum_of() { awk -v names=" ${*:2} " 'index(names, " " $1 " ") { s += $2 } END { print s + 0 }' "$1"; }
# far COLUMN: of /proc/net/dev: 3 received, 5 its drops, 11 sent, 13 its drops.
far() { inside awk -v i="$FAR:" -v c="$1" '$1 == i { print $c + 0 }' /proc/net/dev; }
softnet() { python3 -c 'print(sum(int(l.split()[1], 16) for l in open("/proc/net/softnet_stat")))'; }
# What the two ends say, a NAME VALUE a line: of both interfaces' directions what was sent, received and lost.
figures() {
    cat "$TREE/ports/p0/counters" >"$TMP/port"
    echo "to_us_sent $(($(far 11) + $([ "$DRIVER" = tap ] && far 13 || echo 0)))"
    echo "to_us_received $(sum_of "$TMP/port" rx_packets)"
    echo "to_us_lost $(sum_of "$TMP/port" rx_missed rx_nombuf rx_errors)"
    echo "to_us_lost_there $([ "$DRIVER" = tap ] && echo 0 || far 13)"
    echo "of_us_sent $(sum_of "$TMP/port" tx_packets)"
    echo "of_us_received $(far 3)"
    echo "of_us_lost $(($(sum_of "$TMP/port" tx_errors) + $([ "$DRIVER" = tap ] && echo 0 || far 5)))"
    echo "softnet_lost $(softnet)"
}
since() { awk 'NR == FNR { before[$1] = $2; next } { print $1, $2 - before[$1] }' "$TMP/before" <(figures) >"$TMP/now"; cat "$TMP/now"; }
now() { sum_of "$TMP/now" "$1"; }
# until_is CONDITION: of fresh figures, within 20 s: what is under way arrives.
until_is() {
    local end=$((SECONDS + 20))
    until since >/dev/null && eval "$1"; do
        [ $SECONDS -lt $end ] || { cat "$TMP/now"; return 1; }
        sleep 0.1
    done
}
nothing_lost() { [ "$(now to_us_lost) $(now to_us_lost_there) $(now of_us_lost) $(now softnet_lost)" = "0 0 0 0" ]; }
all_arrived() { [ "$(now to_us_sent)" = "$(now to_us_received)" ] && [ "$(now of_us_sent)" = "$(now of_us_received)" ]; }
all_accounted() { # N: of them at least
    local ended=$(($(now to_us_received) + $(now to_us_lost)))
    [ "$(now to_us_sent)" = $ended ] && [ $((ended + $(now to_us_lost_there))) -ge "$1" ]
}
thousand() { inside wrk -t1 -c1000 -d2 http://10.99.0.2/ | tee "$TMP/wrk" | grep '^Requests' | grep -v ' 0\.00$' && ! grep -E 'Non-2xx|Socket errors' "$TMP/wrk"; }
# flood N: datagrams to the discard service.
flood() {
    inside python3 - "$1" <<'PY'
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, 33, 1 << 24)  # SO_SNDBUFFORCE
for _ in range(int(sys.argv[1])):
    s.sendto(b"x" * 18, ("10.99.0.2", 9))
PY
}
conf() { # LINE...
    write_conf
    python3 - "$TMP/conf" "$(printf '%s\n' "$@" "address = 10.99.0.2/24")" <<'PY'
import re, sys
t = open(sys.argv[1]).read()
open(sys.argv[1], "w").write(re.sub(r"\[port tap0\].*?(?=\[service)", "[port p0]\n" + sys.argv[2] + "\n", t, flags=re.S))
PY
}
# veth: as docs/ports.md asks of the other end, which is the client's.
veth() {
    inside ip link del va 2>/dev/null || true
    inside ip link add va type veth peer name vb
    inside sysctl -qw net.ipv6.conf.va.disable_ipv6=1  # the kernel itself sends nothing there
    inside ip addr add 10.99.0.1/24 dev vb
    inside ip link set va up
    inside ip link set vb up
    inside ethtool -K vb tx off tso off gso off gro off >/dev/null 2>&1
    inside tc qdisc replace dev vb root pfifo limit 10000
    FAR=vb
}
# settled: no frame is under way, also in the fault port.
settled() { [ "$(figures)" = "$(sleep 0.3; figures)" ]; }
used() { awk -v n="packets_used_$1" '$1 == n { print $2 }' "$TREE/mem/pools"; }
# back_in_pool USED: the driver keeps those of the last burst that it sent until it sends again.
back_in_pool() { [ "$(used now)" -le $(($1 + 64)) ] || { echo "$(used now) packets in use, $1 before"; return 1; }; }

# account_agrees: what the port lost is the same in its file, as its sum, in /metrics, and in the telemetry.
account_agrees() {
    inside curl -sf -m 5 http://127.0.0.1:9910/metrics >"$TMP/metrics" || return 1
    python3 - "$TREE/ports/p0/counters" "$TMP/metrics" "/var/run/dpdk/e2e$$/dpdk_telemetry.v2" <<'PY'
import json, re, socket, sys
tree = {k: int(v) for k, v in (l.split() for l in open(sys.argv[1]))}
metric = {k: int(v) for k, v in re.findall(r'^c10m_port_(\w+)_total\{port="p0"\} (\d+)$', open(sys.argv[2]).read(), re.M)}
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect(sys.argv[3])
s.recv(1 << 16)
s.send(b"/c10m/port,p0")
told = json.loads(s.recv(1 << 16))["/c10m/port"]
lost = ("rx_missed", "rx_nombuf", "rx_errors", "tx_errors")
assert all(tree[n] == metric[n] == told[n] for n in lost), (tree, metric, told)
assert tree["rx_lost"] == told["rx_lost"] == sum(tree[n] for n in lost[:3]), tree
assert tree["tx_lost"] == told["tx_lost"] == tree["tx_errors"], tree
PY
}

for DRIVER in tap af_packet af_xdp; do
    if [ $DRIVER = tap ]; then
        conf "driver = tap" "device = c10mt0" "host_address = 10.99.0.1/24"
        FAR=c10mt0
    else
        veth
        conf "driver = $DRIVER" "device = va"
    fi
    claim "$DRIVER: the server starts" start_server
    claim "... a page" inside curl -sf -m 5 -o /dev/null http://10.99.0.2/
    figures >"$TMP/before"
    claim "... a thousand connections are answered" thousand
    claim "... every frame that was sent was received, either way" until_is all_arrived
    claim "... and no counter of either side has one that was lost" nothing_lost
    figures >"$TMP/before"
    kill -STOP "$SERVER"
    claim "... 30,000 frames while the worker stands still" flood 30000
    kill -CONT "$SERVER"
    claim "... are received or counted as lost, each" until_is "all_accounted 30000"
    claim "... some were lost" eval '[ $(($(now to_us_lost) + $(now to_us_lost_there))) -gt 1000 ]'
    claim "... the port's account has them, and /metrics and DPDK's telemetry have the same" within 20 account_agrees
    claim "... every received packet is accounted for" balance_is_zero
    claim "... the server stops" stop_server
done

# Without hugepages. The fault port holds each packet for a while, so that a thousand connections use all of the smallest pool.
veth
conf "driver = fault" "wraps = p1" "delay_ms = 30"
printf '[port p1]\ndriver = af_xdp\ndevice = va\n' >>"$TMP/conf"
claim "af_xdp without hugepages: the server starts" start_server --set memory.hugepage=none --set memory.packets=4352
claim "... a page" inside curl -sf -m 5 -o /dev/null http://10.99.0.2/
within 20 settled
before=$(used now)
figures >"$TMP/before"
claim "... a thousand connections are answered" thousand
claim "... every frame that was sent was received, either way" until_is all_arrived
claim "... they used a thousand packets" eval '[ "$(used high)" -ge $((before + 1000)) ]'
claim "... which are all back in the pool" within 20 back_in_pool "$before"
claim "... the server stops" stop_server
finish
