#!/usr/bin/env bash
# c10m top on a terminal of 80x24, and as plain text, against a server that is loaded, stopped and started again.
. "$(dirname "$0")/lib.sh"
write_conf
sed -i 's/^driver = tap$/&\nqueues = 1/' "$TMP/conf"
cat >>"$TMP/conf" <<CONF
[cpu]
linux = 0
workers = 1
CONF
SOCKET=$TMP/run/control.sock
serve() { start_server --set memory.hugepage=none; }
claim "the server comes up" serve
reachable() { for ((i = 0; i < 100; i++)); do inside curl -s -m 2 http://10.99.0.2/ | grep -q hello && return 0; sleep 0.1; done; false; }
claim "it answers" reachable

top() { local part=$1; shift; inside timeout 100 /usr/bin/python3 -B "$HERE/top.py" "$part" "$C10M" "$SOCKET" "$@"; }
claim "figures appear and move with the load" top figures
claim "keys sort, zoom, pause and change the interval" top keys
claim "pages show services, ports and drops with their help" top pages
claim "the screen may change its size" top sizes
claim "whatever ends it, the terminal is as it was" top ends

batch() { "$C10M" top -b -n 2 -d 0.2 "$@" >"$TMP/batch" 2>"$TMP/errors" </dev/null; }
two_tables() { [ "$(grep -c '^core  *state' "$TMP/batch")" = 2 ] && [ "$(grep -c '^1  *[a-z]' "$TMP/batch")" = 2 ] && ! grep -q '[^ -~]' "$TMP/batch"; }
claim "-b prints a table each time" batch -s "$SOCKET"
claim "... of plain text" two_tables
claim "the mount shows the same" batch -m "$TREE"
claim "... table" two_tables
claim "-w cuts it" batch -s "$SOCKET" -w 60
narrow() { ! grep -q '.\{61\}' "$TMP/batch"; }
claim "... to that width" narrow
claim "C10M_SOCKET names the socket" env C10M_SOCKET="$SOCKET" "$C10M" top -b -n 1 -d 0.1
nobody() { ! "$C10M" top -b -s "$TMP/nobody" 2>"$TMP/errors" && grep -q "no server at $TMP/nobody: No such file" "$TMP/errors"; }
claim "-b without a server fails" nobody
no_terminal() { ! "$C10M" top -s "$SOCKET" </dev/null >"$TMP/out2" 2>"$TMP/errors" && grep -q 'not a terminal' "$TMP/errors"; }
claim "without a terminal it says so" no_terminal

mkfifo "$TMP/says"
top gone >"$TMP/says" 2>"$TMP/gone.log" &
VIEW=$!
exec 8<"$TMP/says"
read -r -t 60 said <&8 || true
stop_server
read -r -t 60 said2 <&8 || true
claim "a server that goes is missed" test "${said:-} ${said2:-}" = "READY GONE"
claim "another one comes up" serve
met() { wait "$VIEW" || { cat "$TMP/gone.log"; false; }; }
claim "... and is found" met
finish
