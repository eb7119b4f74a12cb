#!/usr/bin/env bash
# The quickstart on a terminal: a page, a ping, and after Ctrl-C the machine is as it was.
# WRK_S, AB_N, HEY_N as in http.sh.
. "$(dirname "$0")/lib.sh"
QUICKSTART=$HERE/../../scripts/quickstart
BUILD=$(dirname "$(dirname "$C10M")")
export BUILD

host() {  # what the quickstart may have touched, one fact a line
    ip -o link show | cut -d' ' -f2
    inside ip -o link show | cut -d' ' -f2
    cut -d' ' -f1-3 /proc/mounts
    cat /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages
    ls -d /tmp/c10m-site.* 2>/dev/null || true
    pgrep -x c10m || true
    ls /run/dpdk 2>/dev/null || true
    ls -d "$TMP/run" "$TMP/huge" 2>/dev/null || true
}
host >"$TMP/before"

mkfifo "$TMP/press"
nsenter --net=/run/netns/"$NS" python3 "$HERE/terminal.py" 60 "Ctrl-C stops" "$QUICKSTART" -- \
    --set control.name=q$$ --set control.run_dir="$TMP/run" --set control.mount="$TREE" \
    --set memory.hugetlbfs="$TMP/huge" <"$TMP/press" >"$TMP/ready" 2>"$TMP/log" &
TERMINAL=$!
exec 7>"$TMP/press"
ready() {
    for ((i = 0; i < 700; i++)); do
        grep -q READY "$TMP/ready" && return 0
        kill -0 $TERMINAL || break
        sleep 0.1
    done
    cat "$TMP/log"
    return 1
}
claim "the quickstart comes up" ready
claim "it says what it changes, first" grep -q "hugepages: .* more until the end" "$TMP/log"
page() { inside curl -si -m 5 http://10.99.0.2/ >"$TMP/page" && grep -q '^HTTP/1.1 200' "$TMP/page" && grep -q 'It works' "$TMP/page"; }
claim "curl fetches the welcome page" page
page6() { inside curl -gsi -m 5 "http://[fd99::2]/" | grep -q 'It works'; }
claim "... over IPv6, too" page6
claim "ping is answered" inside ping -c 2 -i 0.2 -W 15 10.99.0.2
claim "one worker serves, however many CPUs there are" eval '[ "$(ls -d "$TREE"/cores/[0-9]* | wc -l)" = 1 ]'
cpus() { bash -c '. "$1/../../scripts/lib.sh"; [ "$(last_cpus "$2" "$3")" = "$4" ]' - "$HERE" "$@"; }
claim "... on the last CPU" cpus 1 0-7 7
claim "... of a list with gaps, three on the last three" cpus 3 0-3,8,10-11 8,10,11
claim "... on all, where there are fewer" cpus 4 2-3 2,3
claim "its counters can be read" grep -q '^balance 0' "$TREE"/cores/*/counters
echo >&7
claim "two presses of Ctrl-C end it, with exit 130" wait $TERMINAL
# check ARGUMENTS...: it comes up, fetches the page and goes.
check() {
    inside timeout 60 "$QUICKSTART" --check -- --set control.name=q$$ --set control.run_dir="$TMP/run" \
        --set control.mount="$TREE" --set memory.hugetlbfs="$TMP/huge" "$@" >"$TMP/log" 2>&1 || { cat "$TMP/log"; false; }
}
claim "with six workers, as on a machine of eight CPUs, it comes up too" check --set cpu.workers_per_core=6
inside sysctl -qw net.ipv6.conf.default.disable_ipv6=1
claim "and where IPv6 is turned off" check
claim "... which it says" grep -q "IPv4 alone" "$TMP/log"
host >"$TMP/after"
claim "interfaces, mounts, pages, files and processes are as before" diff "$TMP/before" "$TMP/after"
finish
