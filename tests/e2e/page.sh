#!/usr/bin/env bash
# The page of the control port in headless Chromium, against a server that is loaded, stopped and started again, and
# against one that demands a token.
. "$(dirname "$0")/lib.sh"
write_conf
sed -i 's/^driver = tap$/&\nqueues = 1/' "$TMP/conf"
cat >>"$TMP/conf" <<CONF
[cpu]
linux = 0
workers = 1
CONF
URL=http://127.0.0.1:9910/
serve() { start_server --set memory.hugepage=none "$@"; }
claim "the server comes up" serve
reachable() { for ((i = 0; i < 100; i++)); do inside curl -s -m 2 "$1" | grep -q "$2" && return 0; sleep 0.1; done; false; }
claim "it answers" reachable http://10.99.0.2/ hello
claim "the control port has the page" reachable $URL '<title>c10m'
policy() { inside curl -si -m 5 $URL | tr -d '\r' | grep '^Content-Security-Policy: ' | grep "script-src 'self';" | grep -qv unsafe; }
claim "it may load and run what is here, and nothing inline" policy

page() { local part=$1; shift; inside setpriv --pdeathsig KILL timeout 250 python3 -B "$HERE/page.py" "$part" $URL "$TMP/chromium" "$@"; }
mkfifo "$TMP/says"
page plain >"$TMP/says" 2>"$TMP/page.log" &
VIEW=$!
exec 8<"$TMP/says"
read -r -t 240 said <&8 || cat "$TMP/page.log"
claim "plots and table grow with the load, nothing complains, nothing is asked for elsewhere" test "${said:-}" = READY
stop_server
read -r -t 100 said <&8 || true
claim "a server that goes is missed" test "${said:-}" = GONE
claim "another one comes up" serve
met() { wait "$VIEW" || { cat "$TMP/page.log"; false; }; }
claim "... and is found" met

stop_server
(umask 077; echo 0123456789abcdefGOOD >"$TMP/token")
claim "a server with a token comes up" serve --set control.http_token_file="$TMP/token"
claim "the page asks for the token, and keeps it nowhere" page token 0123456789abcdefGOOD
finish
