#!/usr/bin/env bash
# Applications in C++, Rust and Go (src/app/examples), built as their users build them: out of tree, against what
# `meson install` installs. Each serves, counts, and ends in order. A language whose compiler is missing is left out, and said.
. "$(dirname "$0")/lib.sh"
BUILD=$(dirname "$(dirname "$C10M")")
SOURCE=$(realpath "$HERE/../..")
export PATH=$PATH:/usr/local/go/bin GOTOOLCHAIN=local GOCACHE=$TMP/go GOPATH=$TMP/gopath

installed() {
    meson install -C "$BUILD" --no-rebuild --quiet --destdir "$TMP/dest" || return 1
    PREFIX=$(find "$TMP/dest" -name c10m -path '*/bin/c10m' -printf '%h\n')
    PREFIX=${PREFIX%/bin}
    mkdir "$TMP/pc" && sed "s,^prefix=.*,prefix=$PREFIX," "$(find "$TMP/dest" -name c10m.pc)" >"$TMP/pc/c10m.pc"
    cp -r "$SOURCE/src/app/examples" "$TMP/examples"
}
claim "the headers and the library are installed" installed
[ "$FAILED" = 0 ] || finish
export PKG_CONFIG_PATH=$TMP/pc

# The headers of applications, all of them together and each alone. (agent.h is for the other side of the agent's socket, in C.)
headers() {
    local h
    for h in app main socket thread trace tree; do
        echo "#include <c10m/$h.h>" >"$TMP/$h.cc" && cat "$TMP/$h.cc" >>"$TMP/all.cc" &&
            g++ -std=c++17 -Wall -Wextra -Werror -pedantic -I"$PREFIX/include" -fsyntax-only "$TMP/$h.cc" || return 1
    done
    g++ -std=c++17 -Wall -Wextra -Werror -pedantic -I"$PREFIX/include" -fsyntax-only "$TMP/all.cc"
}
claim "the headers of applications are C++17" headers

write_conf
printf '[service rot13]\napp = rot13\nport = 77\n' >>"$TMP/conf"
rotates() {  # more than the send queue takes at once, and every byte value
    inside python3 -c '
import codecs, os, socket, threading
data = bytes(range(256)) * 4000
s = socket.create_connection(("10.99.0.2", 77), timeout=60)
def send():
    s.sendall(data)
    s.shutdown(socket.SHUT_WR)
sender = threading.Thread(target=send)
sender.start()
got = b"".join(iter(lambda: s.recv(65536), b""))
sender.join()
assert got == codecs.encode(data.decode("latin-1"), "rot13").encode("latin-1"), len(got)'
}
SECCOMP=on  # of workers; the runtime of a language may make system calls of its own
try() {  # try LANGUAGE FOLDER COMMAND...: what has to be there
    local language=$1 folder=$2 command
    shift 2
    for command; do
        command -v "$command" >/dev/null || { echo "SKIPPED: $language: no $command"; return; }
    done
    claim "$language: an application is built out of tree" make -s -C "$TMP/examples/$folder"
    C10M=$TMP/examples/$folder/rot13
    [ -x "$C10M" ] || return 0
    claim "$language: it is the command c10m, with one more application" eval '"$C10M" version | grep "^c10m " && "$C10M" check --syntax -c "$TMP/conf"'
    claim "$language: the server starts" start_server --set memory.hugepage=none --set control.seccomp=$SECCOMP
    claim "$language: it answers" rotates
    claim "$language: its counter is in the tree" grep -qx 'moved_bytes 1024000' "$TREE/apps/rot13/counters"
    claim "$language: the built-in applications are there too" eval 'inside curl -sf --max-time 20 http://10.99.0.2/ | grep -q hello'
    claim "$language: every received packet is accounted for" balance_is_zero
    claim "$language: the server reads its configuration again at SIGHUP" reloads
    claim "$language: the server stops in order" stop_server
    SERVER=
}
reloads() { kill -HUP "$SERVER" && within 20 grep -q 'configuration reloaded' "$TMP/log"; }
try C++ cxx g++
try Rust rust rustc bindgen
SECCOMP=off
try Go go go
finish
