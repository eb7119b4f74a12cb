#!/usr/bin/env bash
# The tables of connections over a TAP: the kernel's own view from the other side, and Linux's tools
# on our files.
. "$(dirname "$0")/lib.sh"
write_conf
start_server
claim "net/tcp says of each connection what the kernel says at its other end" inside python3 "$HERE/connection_tables.py" "$TREE/net"

ss_reads() {  # ss takes the file in place of netlink's answer
    PROC_NET_TCP=$TREE/net/tcp ss -tan4 >"$TMP/ss" 2>/dev/null
    grep -Eq '^LISTEN +0 +0 +0\.0\.0\.0:80 +0\.0\.0\.0:\*' "$TMP/ss" && grep -q '^TIME-WAIT .*10.99.0.2:13 ' "$TMP/ss"
}
claim "ss reads net/tcp" ss_reads

# over COMMAND...: the command in a mount namespace whose /proc is our tree.
over() { unshare -m bash -c 'mount --make-rprivate / && mount --bind "$0" /proc && exec "$@"' "$TREE" "$@"; }
netstat_reads() {
    over netstat -tan >"$TMP/netstat" && cat "$TMP/netstat" && grep -Eq '10\.99\.0\.2:13 +10\.99\.0\.1:[0-9]+ +TIME_WAIT' "$TMP/netstat" &&
        over netstat -uan >"$TMP/netstat" && cat "$TMP/netstat" && grep -Eq '^udp +0 +0 +(0\.0\.0\.0|10\.99\.0\.2):7 ' "$TMP/netstat"
}
claim "netstat -tan and -uan read net/tcp and net/udp" netstat_reads
opened=$(counter conns_opened_passive)
netstat_s_reads() {
    over netstat -s >"$TMP/netstat"
    cat "$TMP/netstat"
    grep -q "^ *$opened passive connection openings" "$TMP/netstat" && grep -q '^IpExt:' "$TMP/netstat"
}
claim "netstat -s reads net/snmp and net/netstat" netstat_s_reads
nstat_reads() {
    PROC_ROOT=$TREE NSTAT_HISTORY=$TMP/nstat nstat -asz >"$TMP/out1" 2>&1
    grep -Eq "^TcpPassiveOpens +$opened " "$TMP/out1" && grep -Eq '^TcpExtTCPOrigDataSent +[1-9]' "$TMP/out1" &&
        grep -Eq '^IpExtInOctets +[1-9]' "$TMP/out1"
}
claim "nstat reads both" nstat_reads
for file in tcp6 udp6 snmp6 sockstat6; do
    claim "net/$file has the kernel's columns" diff <(awk 'NR == 1 { print NF }' "$TREE/net/$file") <(awk 'NR == 1 { print NF }' "/proc/net/$file")
done
# Last: what waited before is gone then, for the newer ones.
whole_meanwhile() {
    inside python3 "$HERE/connection_tables.py" "$TREE/net" --again &
    local reader=$!
    while kill -0 $reader 2>/dev/null; do
        inside ab -q -n 4000 -c 50 http://10.99.0.2/ >"$TMP/ab" 2>&1 || { cat "$TMP/ab"; return 1; }
    done
    wait $reader
}
claim "net/tcp has only whole lines while connections come and go" whole_meanwhile

claim "every received packet is accounted for" balance_is_zero
claim "the server stops" stop_server
finish
