#!/usr/bin/env bash
# What `meson install` puts into a directory works from there, an application is built against it alone, and
# `ninja uninstall` leaves nothing.
. "$(dirname "$0")/lib.sh"
BUILD=$(dirname "$(dirname "$C10M")")
DEST=$TMP/dest
SOURCE=$(realpath "$HERE/../..")

installed() { meson install -C "$BUILD" --no-rebuild --quiet --destdir "$DEST"; }
claim "meson install" installed
PREFIX=$(find "$DEST" -name c10m -path '*/bin/c10m' -printf '%h\n')
PREFIX=${PREFIX%/bin}
one() { [ "$(find "$DEST" "$@" | wc -l)" = 1 ]; }
claim "the command, its pages, completions, examples, unit, the debugger's script" eval \
    '[ -x "$PREFIX/bin/c10m" ] && one -name c10m.conf.5 && one -name c10m.1 && one -name c10m-serve.1 && one -name _c10m &&
     one -path "*/bash-completion/completions/c10m" && one -path "*etc/c10m/quickstart.conf" && one -name "c10m@.service" && one -name "c10m-doctor@.service" && one -name c10m_gdb.py'
same_headers() { diff -r "$SOURCE/include/c10m" "$PREFIX/include/c10m"; }
claim "every header of include/c10m is installed" same_headers
CONFIGS=$(dirname "$(find "$DEST" -name quickstart.conf)")
claim "the installed command plans" "$PREFIX/bin/c10m" plan -c "$CONFIGS/quickstart.conf" --set "service.web.root=$TMP/site"
# default.conf has no port: it lists the keys, and nothing can run it as it is.
claim "the installed examples are good" eval \
    '"$PREFIX/bin/c10m" check -c "$CONFIGS/quickstart.conf" --set "service.web.root=$TMP/site" && "$PREFIX/bin/c10m" check --syntax -c "$CONFIGS/default.conf"'
completes() {  # zsh's file finds bash's where it will lie
    local there
    there=$(sed -n 's/^source //p' "$(find "$DEST" -name _c10m)")
    [ -r "$DEST$there" ] && bash -n "$DEST$there"
}
claim "zsh's completion finds bash's" completes
unit_is_good() {
    command -v systemd-analyze || { echo "no systemd-analyze"; return 0; }
    sed "s,=/[^ ]*/bin/c10m,=$PREFIX/bin/c10m," "$(find "$DEST" -name "$1")" >"$TMP/$1"
    systemd-analyze verify --man=no "$TMP/$1"
}
claim "systemd takes the unit of the server" unit_is_good c10m@.service
claim "systemd takes the unit of the doctor" unit_is_good c10m-doctor@.service

# As an application's author has it: the compiler, pkg-config, and what was installed.
mkdir "$TMP/pc"
sed "s,^prefix=.*,prefix=$PREFIX," "$(find "$DEST" -name c10m.pc)" >"$TMP/pc/c10m.pc"
shout_builds() {
    local flags
    flags=$(PKG_CONFIG_PATH=$TMP/pc pkg-config --cflags --libs c10m) || return 1
    # The library has both kinds of code; optimizing all of it anew would take minutes.
    gcc -fno-lto -Wall -Werror -O2 "$SOURCE/tests/ops/shout.c" $flags -o "$TMP/shout" && [ -x "$TMP/shout" ]
}
claim "an application is built out of tree" shout_builds
no_other_names() { nm -g --defined-only "$(find "$DEST" -name libc10m.a)" >"$TMP/names" && ! awk 'NF == 3 && $3 !~ /^c10m_/' "$TMP/names" | grep . && grep -q ' T c10m_main$' "$TMP/names"; }
claim "the library has no global name but c10m_*" no_other_names
no_drivers() { ldd "$TMP/shout" >"$TMP/ldd" && ! grep -E 'librte_(net|mempool)_' "$TMP/ldd"; }
claim "it links no driver: DPDK loads those from its folder" no_drivers

write_conf
printf '[service shout]\napp = shout\nport = 77\n' >>"$TMP/conf"
refuses() { ! "$C10M" check -c "$TMP/conf" && "$TMP/shout" check -c "$TMP/conf"; }
claim "c10m itself does not know it" refuses
[ "$FAILED" = 0 ] || finish
C10M=$TMP/shout
start_server --set memory.hugepage=none
shouts() {
    inside python3 -c '
import socket
s = socket.create_connection(("10.99.0.2", 77), timeout=20)
s.sendall(b"hello, c10m " * 100)
s.shutdown(socket.SHUT_WR)
got = b"".join(iter(lambda: s.recv(65536), b""))
assert got == b"HELLO, C10M " * 100, got'
}
claim "it answers" shouts
claim "its counter is in the tree" grep -qx 'shouted_bytes 1200' "$TREE/apps/shout/counters"
paths_complete() {  # paths_complete WORDS: what TAB offers behind them, with the installed completion
    env PATH="$PREFIX/bin:$PATH" C10M_SOCKET="$TMP/run/control.sock" bash -c '
        . "$0"
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        _c10m
        printf "%s\n" "${COMPREPLY[@]}"' "$DEST$(sed -n 's/^source //p' "$(find "$DEST" -name _c10m)")" "$@"
}
completes_paths() {
    paths_complete c10m cat apps/sh | grep -qx apps/shout/ && paths_complete c10m cat apps/shout/cou | grep -qx apps/shout/counters &&
        paths_complete c10m dump -i t | grep -qx tap0
}
claim "TAB completes paths of the tree, and ports" completes_paths
claim "the built-in applications are there too" eval 'inside curl -sf --max-time 20 http://10.99.0.2/ | grep -q hello'
claim "every received packet is accounted for" balance_is_zero
claim "the server stops" stop_server

uninstalled() { ninja -C "$BUILD" uninstall && [ -z "$(find "$DEST" ! -type d)" ] && [ -z "$(find "$DEST" -iname '*c10m*')" ]; }
claim "ninja uninstall leaves nothing" uninstalled
finish
