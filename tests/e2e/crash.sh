#!/usr/bin/env bash
# The last line of a server that crashes: which worker, stage, service and application, and which instruction. The next
# start removes what it left.
. "$(dirname "$0")/lib.sh"

write_conf
claim "an application is built out of tree" build_planted planted_crash.c
[ -x "$TMP/planted" ] || finish
C10M=$TMP/planted
printf '[service bad]\napp = crasher\nport = 77\n' >>"$TMP/conf"
ulimit -c 0
# crashes HOW SIGNAL NUMBER: the server ends by the signal, and says so with its place.
crashes() {
    local status=0
    start_server || return 1
    inside bash -c "exec 3<>/dev/tcp/10.99.0.2/77; echo $1 >&3" >/dev/null 2>&1 || true  # nobody answers any more
    wait "$SERVER" || status=$?
    SERVER=
    [ "$status" = $((128 + $3)) ] || { echo "status $status"; tail -n 5 "$TMP/log"; return 1; }
    grep -E "^c10m: error: worker on CPU [0-9]+, stage app of service bad, application crasher: $2.*, instruction 0x[0-9a-f]+ of (the program|a library): the process ends\$" "$TMP/log" && return 0
    tail -n 5 "$TMP/log"
    return 1
}
claim "a fault names its place" crashes segv "SIGSEGV at address 0x10" 11
names_it() {
    local at
    at=$(sed -n 's/.*SIGSEGV.*, instruction \(0x[0-9a-f]*\) of the program.*/\1/p' "$TMP/log")
    [ -n "$at" ] && addr2line -fie "$TMP/planted" "$at" | grep -E "planted_fault|planted_data"
}
claim "... and the instruction its function" names_it
claim "abort() does, too, and the next start removes what the crash left" crashes abrt SIGABRT 6
claim "and an instruction that is none" crashes trap SIGILL 4
claim "a server starts" start_server
from_outside() {
    local status=0
    kill -SEGV "$SERVER"
    wait "$SERVER" || status=$?
    SERVER=
    [ "$status" = 139 ] && ! grep "the process ends" "$TMP/log" && [ ! -e "$TMP/run" ]
}
claim "the signal of another process is no crash: everything is released" from_outside
finish
