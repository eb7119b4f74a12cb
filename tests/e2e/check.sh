#!/usr/bin/env bash
# What `check` says of this machine is what `serve` does on it, and `plan` computes what `check` takes.
. "$(dirname "$0")/lib.sh"

write_conf
CONF=$TMP/conf
inside ip tuntap add c10mdown mode tap
# refuses COMMAND STATUS TEXT SETTINGS...: in the namespace.
refuses() {
    local command=$1 want=$2 text=$3 got
    shift 3
    got=$(status_of inside timeout 60 "$C10M" "$command" -c "$CONF" "${@/#/--set=}")
    [ "$got" = "$want" ] && grep -q -- "$text" "$TMP/said" && return 0
    echo "$command: status $got"
    cat "$TMP/said"
    return 1
}
ok_for_another() { [ "$(status_of "$C10M" check --syntax -c "$CONF" "${@/#/--set=}")" = 0 ]; }
same() {  # same CLAIM TEXT SETTINGS...: both refuse it on this machine, for the same reason
    local name=$1 text=$2
    shift 2
    claim "check refuses $name" refuses check 1 "error: .*$text" "$@"
    claim "... as serve does" refuses serve 1 "$text" "$@"
    claim "... and not for another machine" ok_for_another "$@"
}
echo file >"$TMP/file"
claim "the configuration is good here" refuses check 0 ok
same "a root that is not there" "$TMP/nothing" "service.web.root=$TMP/nothing"
same "a root that is a file" "$TMP/file" "service.web.root=$TMP/file"
grep -v host_address "$TMP/conf" >"$TMP/other"
CONF=$TMP/other
same "an interface that is not there" "no interface c10mno" port.tap0.driver=af_packet port.tap0.device=c10mno
same "an interface that is down" "c10mdown is down" port.tap0.driver=af_packet port.tap0.device=c10mdown
CONF=$TMP/conf
same "a tap whose interface exists" "lo exists already" port.tap0.device=lo
grep -v -e host_address -e '^address' "$TMP/conf" >"$TMP/other"
CONF=$TMP/other
claim "a port of Linux alone is a warning" refuses check 0 "warning: .*with follow = up0" port.tap0.linux=up0
claim "... and with follow none" eval '[ "$(status_of inside "$C10M" check -c "$CONF" --set port.tap0.linux=up0 --set port.tap0.follow=up0)" = 0 ] && ! grep "with follow" "$TMP/said"'
grep -v host_address "$TMP/conf" >"$TMP/other"
CONF=$TMP/other
same "a memif socket in a folder that is not there" "folder is not there" port.tap0.driver=memif "port.tap0.device=$TMP/none/m"
same "a capture that is not there" "$TMP/none.pcap" port.tap0.driver=pcap "port.tap0.device=$TMP/none.pcap"
same "a PCI device that is not there" "no PCI device" port.tap0.driver=pci port.tap0.device=0000:ff:1f.7
CONF=$TMP/conf
same "an agent's socket in a folder that is not there" "agent" "agent.socket=$TMP/none/agent.sock"
same "a log in a folder that is not there" "$TMP/none/log" "service.web.access_log=$TMP/none/log"
claim "too few pages are an error with the arithmetic" refuses check 1 "error: --set memory.connections: .* pages: .* needed, .* free" memory.connections=50M memory.hugepage=2M
claim "... and serve does not start" refuses serve 1 " pages: .* needed, .* free" memory.connections=50M memory.hugepage=2M
plan() {  # plan STATUS TEXT SETTINGS...
    local want=$1 text=$2 got
    shift 2
    got=$(status_of "$C10M" plan -c "$CONF" "${@/#/--set=}")
    [ "$got" = "$want" ] && grep -q -- "^this configuration: .*$text" "$TMP/said" && return 0
    echo "plan: status $got"
    grep "^this configuration" "$TMP/said"
    return 1
}
FREE=$(cat /sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages)
examples() {  # FILE WORKERS: with as many workers as the file's machine has, on this machine's cores
    local here=(--set cpu.linux=0 --set cpu.workers=0 --set cpu.workers_per_core="$2" --set "service.web.root=$TMP/site")
    "$C10M" check --no-host -c "$1" "${here[@]}" || return 1
    [ "$(status_of "$C10M" plan -c "$1" "${here[@]}")" -le 1 ] && [ "$(grep -c "^worker [0-9]* on core" "$TMP/said")" = "$2" ] &&
        grep -q "^this configuration: .* needed" "$TMP/said" && return 0
    cat "$TMP/said"
    return 1
}
CONFIGS=$(dirname "${BASH_SOURCE[0]}")/../../config
claim "10gbe.conf is good, and its plan has its ten workers" examples "$CONFIGS/10gbe.conf" 10
claim "1gbe.conf is good, and its plan has its three workers" examples "$CONFIGS/1gbe.conf" 3
claim "plan: a small configuration fits" plan 0 " pages of 2 MiB needed, .* free: it fits" memory.connections=1000 memory.packets=8192 memory.buffers=1000 memory.hugepage=2M
claim "plan: the command that makes room" plan 0 " pages of 2 MiB needed, .* free: sysctl vm.nr_hugepages=[0-9]*$" memory.connections=$((FREE * 8000 + 1000000)) memory.hugepage=2M
claim "plan: what this machine has no memory for" plan 1 " pages of 2 MiB needed, .* it does not fit in this machine" memory.connections=100M memory.buffers=50M memory.hugepage=2M
claim "... not without pages either" plan 1 " bytes in 4 KiB pages needed, .* it does not fit in this machine" memory.connections=100M memory.buffers=50M memory.hugepage=none
for command in check plan serve; do
    claim "$command: more records than a table has room for are an error" \
        refuses $command 2 'time_wait6 + syn_received = ' memory.time_wait=1000000000 memory.time_wait6=1000000000
done
all_at_once() {
    refuses check 1 "error: --set service.web.root: " "service.web.root=$TMP/nothing" port.tap0.device=lo memory.connections=50M memory.hugepage=2M "control.http=127.0.0.1:$BUSY" &&
        grep -q "^error: --set port.tap0.device: " "$TMP/said" && grep -q "^error: --set memory.connections: " "$TMP/said" &&
        grep -q "^warning: --set control.http: 127.0.0.1 port $BUSY: .*: there would be no HTTP" "$TMP/said"
}
BUSY=$(inside python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
# By itself, not by a function: then HOLDER is the process that listens, and dies with this script, whatever ends it.
setpriv --pdeathsig KILL nsenter --net=/run/netns/"$NS" python3 -c "import socket, time
s = socket.socket(); s.bind(('127.0.0.1', $BUSY)); s.listen(); time.sleep(100000)" &
HOLDER=$!
cleanup_first() { kill "$HOLDER" 2>/dev/null; }
listens() { inside ss -Htln "sport = :$BUSY" | grep -q .; }
within 20 listens
claim "every fault is named at once, with its key" all_at_once
line_named() { refuses check 1 "^error: $TMP/lines:2: root: " && grep -q "^error: $TMP/lines:6: device: " "$TMP/said"; }
same "HTTP whose port is taken, if it is required" "$BUSY.*in use" "control.http=127.0.0.1:$BUSY" control.required=on
same "a mount point with files in it, if it is required" "$TMP/site" "control.mount=$TMP/site" control.required=on
claim "... and leaves nothing" [ ! -e "$TMP/run" ]
printf '[service web]\nroot = /nowhere\napp = http\nport = 80\n[port tap0]\ndevice = lo\ndriver = tap\naddress = 10.99.0.2/24\n' >"$TMP/lines"
CONF=$TMP/lines
claim "... or with file and line" line_named
printf '[service web]\nroot = /nowhere\napp = http\nport = 80\n[port tap0]\ndevice = lo\ndriver = tap\naddress = 10.99.0.2/24\n[port b]\ndriver = tap\ndevice = lo\nadress = 10.98.0.2/24\n[tcp]\nretries = x\n' >"$TMP/wrong"
CONF=$TMP/wrong
text_too() {
    refuses check 2 "^$TMP/wrong:12: adress: " && grep -q "^$TMP/wrong:14: retries: " "$TMP/said" &&
        grep -q "^error: $TMP/wrong:2: root: " "$TMP/said" && grep -q "^error: $TMP/wrong:6: device: " "$TMP/said" &&
        ! grep -q "^error: .*:11: device" "$TMP/said" && grep -q "^warning: .* not checked for what depends on \[port b\]$" "$TMP/said"
}
claim "errors of the text keep none of the machine from being named" text_too
CONF=$TMP/conf
claim "--no-host is still understood" eval '[ "$(status_of "$C10M" check --no-host -c "$TMP/lines")" = 0 ]'
not_root() { [ "$(status_of setpriv --reuid 65534 --regid 65534 --clear-groups "$C10M" check -c "$TMP/lines")" = 1 ] && grep -q "^error: .*root: " "$TMP/said"; }
chmod 755 "$TMP"
cp "$C10M" "$TMP/c10m"
claim "what root could not do either is an error for everybody" eval 'C10M=$TMP/c10m not_root'
rm "$TMP/c10m"
find "$TMP" ! -name said ! -name out | sort >"$TMP.before"
claim "a check with a log" refuses check 0 ok "service.web.access_log=$TMP/log_of_web" "agent.socket=$TMP/agent.sock"
leaves_nothing() { find "$TMP" ! -name said ! -name out | sort | diff "$TMP.before" -; }
claim "... leaves nothing" leaves_nothing
rm -f "$TMP.before"
# What is no configuration is said in one line, by all commands, and at once.
one_line() {  # one_line COMMAND FILE TEXT
    local got
    got=$(status_of timeout 20 "$C10M" "$1" -c "$2")
    [ "$got" = 2 ] && [ "$(wc -l <"$TMP/said")" = 1 ] && grep -q -- "$3" "$TMP/said" && return 0
    echo "$1: status $got"
    head -c 2000 "$TMP/said"
    return 1
}
mkfifo "$TMP/fifo"
head -c 100000 /dev/urandom >"$TMP/random"
printf '[tcp]\nretries = 5\0\n' >"$TMP/nul"
printf '\xff\xfe[\0t\0c\0p\0]\0\n\0' >"$TMP/utf16le"
printf '\xfe\xff\0[\0t\0c\0p\0]\0\n' >"$TMP/utf16be"
truncate -s 8G "$TMP/hole"
yes '# long' | head -c 2000000 >"$TMP/long" || true
for command in check plan serve clean; do
    claim "$command: a directory" one_line $command "$TMP" "it is a directory"
    claim "$command: a FIFO" one_line $command "$TMP/fifo" "it is a FIFO"
    claim "$command: /dev/zero" one_line $command /dev/zero "it is a device"
    claim "$command: random bytes" one_line $command "$TMP/random" "expected a text file"
    claim "$command: a NUL byte" one_line $command "$TMP/nul" "control characters"
    claim "$command: UTF-16" one_line $command "$TMP/utf16le" "UTF-16"
    claim "$command: UTF-16, the other way" one_line $command "$TMP/utf16be" "UTF-16"
    claim "$command: 8 GiB" one_line $command "$TMP/hole" "it is longer"
    claim "$command: 2 MB of comments" one_line $command "$TMP/long" "it is longer"
    claim "$command: no file" one_line $command "$TMP/none" "No such file"
done
printf '\xef\xbb\xbf[tcp]\nretries = 5\n' >"$TMP/bom"
claim "UTF-8 with a mark before it is a configuration" "$C10M" check --syntax -c "$TMP/bom"
rm "$TMP/hole"
claim "a server starts" start_server
claim "a check beside it finds no fault in what is its own" refuses check 0 "already running"
claim "... but in what it would read" refuses check 1 "$TMP/nothing" "service.web.root=$TMP/nothing"
claim "the server stops" stop_server
finish
