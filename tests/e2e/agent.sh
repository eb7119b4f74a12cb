#!/usr/bin/env bash
# The socket agent against the kernel: the same cases (tests/agent) on Linux's sockets and through the agent, with
# Linux in another network namespace as the peer; every difference is listed in tests/agent/differences.txt.
# Then those where several workers may matter with two of them, on one core. SELF=1: on the kernel twice,
# without a server. CASES="close.* udp.*": only those. WORKERS=2: all with two workers, or more.
. "$(dirname "$0")/lib.sh"
FAR=c10mfar$$
cleanup_first() { ip netns del $FAR 2>/dev/null; }
AGENT=$HERE/../agent
renice -n -10 $$ >/dev/null  # cases look at times: a busy machine is no difference
set -f
CASES=(${CASES:-})
SEVERAL=(accept.[!bl]* bind.udp_* self.* calls.bind_reuse* connect.nonblocking* connect.in_progress epoll.edge* epoll.two_* storm.* udp.* reset.* recv.two_readers)
set +f
compare() {
    setpriv --pdeathsig KILL timeout 250 python3 -B "$AGENT/compare.py" --a /run/netns/"$NS" --b /run/netns/$FAR \
        --save "$TMP/$1" "${@:2}" "${CASES[@]}"
}

ip netns add $FAR
far() { nsenter --net=/run/netns/$FAR "$@"; }
inside ip link add caseA address 02:c1:0a:00:00:01 type veth peer name caseB address 02:c1:0a:00:00:02
inside ip link add caseC address 02:c1:0a:00:00:03 type veth peer name caseD address 02:c1:0a:00:00:04
for device in caseA caseB caseC caseD; do
    inside ethtool -K $device tx off rx off tso off gso off gro off >/dev/null 2>&1
done
inside ip link set caseB netns /run/netns/$FAR
inside ip link set caseD netns /run/netns/$FAR
far ip link set lo up
for side in inside far; do
    $side sysctl -qw net.ipv4.ip_local_port_range="40000 60999" net.ipv4.tcp_congestion_control=reno \
        net.ipv4.tcp_no_metrics_save=1 net.ipv4.icmp_ratelimit=0 net.ipv6.icmp.ratelimit=0 \
        net.ipv4.tcp_syncookies=0 net.ipv4.tcp_syn_linear_timeouts=0 net.ipv6.conf.all.accept_ra=0
done
far ip addr add 10.98.0.2/16 dev caseB
far ip addr add fd98::2/64 dev caseB nodad
far ip link set caseB up
far ip addr add 10.99.0.2/16 dev caseD
far ip addr add fd99::2/64 dev caseD nodad
far ip link set caseD up
inside ip addr add 10.99.0.1/16 dev caseC
inside ip addr add fd99::1/64 dev caseC nodad
for a in 10.98.0.1/16 10.98.0.3/16; do inside ip addr add $a dev caseA; done
for a in fd98::3/64 fd98::1/64; do inside ip addr add $a dev caseA nodad; done
inside sysctl -qw net.ipv4.ping_group_range="0 2147483647"
inside ip link set caseA up
inside ip link set caseC up
inside ip route add 224.0.0.0/4 dev caseA
far ip route add 224.0.0.0/4 dev caseB

if [ -n "${SELF:-}" ]; then
    compare kernel --self ${VERBOSE:+-v} || exit 1
    exit
fi
claim "the cases run on the kernel" compare kernel --sut kernel ${VERBOSE:+-v}
head -n 3 "$TMP/out"

# The kernel gives the addresses to the server.
for device in caseA caseC; do
    inside ip addr flush dev $device
    inside sysctl -qw net.ipv6.conf.$device.disable_ipv6=1
done
# agent_conf WORKERS: the server's.
agent_conf() {
    cat >"$TMP/conf" <<CONF
[control]
name = e2e$$
run_dir = $TMP/run
mount = $TREE
drain_s = 0
[cpu]
linux = 0
workers = 1
workers_per_core = $1
[memory]
hugepage = none
hugetlbfs = $TMP/huge
connections = 16384
[tcp]
syn_cookies = off
${TCP_CONF:-}
[agent]
socket = $TMP/agent.sock
sockets_max = 4096
[port p0]
driver = af_packet
device = caseA
mac = 02:c1:0a:00:00:01
address = 10.98.0.1/16, 10.98.0.3/16, fd98::1/64, fd98::3/64
[port p1]
driver = af_packet
device = caseC
mac = 02:c1:0a:00:00:03
address = 10.99.0.1/16, fd99::1/64
CONF
}
# beside_kernel WORKERS RUN: the cases by the agent.
beside_kernel() {
    agent_conf "$1"
    claim "$1 worker(s): the server with the agent starts" start_server
    claim "$1 worker(s): every difference is listed, and every listed one is there" \
        compare agent --sut agent --socket "$TMP/agent.sock" --against "$TMP/kernel" --run "$2" ${VERBOSE:+-v}
    cat "$TMP/out"
    [ -z "${VERBOSE:-}" ] || awk '$2 != 0' "$TREE"/cores/*/counters "$TREE"/cores/*/drops "$TREE"/ports/*/counters 2>/dev/null
    claim "$1 worker(s): the server still lives" kill -0 "$SERVER"
    claim "$1 worker(s): no packet leaks" balance_is_zero
    claim "$1 worker(s): the server stops" stop_server
}
beside_kernel "${WORKERS:-1}" 1
claim "docs/agent.md has the list" python3 -B "$AGENT/differences.py" "$HERE/../../docs/agent.md"
if [ -z "${WORKERS:-}" ]; then
    [ ${#CASES[@]} != 0 ] || CASES=("${SEVERAL[@]}")
    beside_kernel 2 2
fi
finish
