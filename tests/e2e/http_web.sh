#!/usr/bin/env bash
# Hosts, redirects, fields, pages, listings, packed files and PROXY headers over a TAP, as curl sees them.
. "$(dirname "$0")/lib.sh"
mkdir -p "$TMP/two" "$TMP/site/list/sub"
echo two >"$TMP/two/index.html"
echo gone >"$TMP/site/gone.html"
echo 'a b' >"$TMP/site/list/a[1].txt"
seq 20000 >"$TMP/site/plain.txt"
gzip -nk "$TMP/site/plain.txt"
echo packed >"$TMP/site/plain.txt.br"
ln -s nowhere "$TMP/site/dangling"
mkfifo "$TMP/site/pipe"
printf 'text/x-own txt\ntext/html html\n' >"$TMP/types"
write_conf
sed -i "s|^root = .*|&\nmime_types = $TMP/types\nhost = two.example, *.two.example $TMP/two\nredirect = /old/* 308 /list/*\nheader = /list/* X-Own: yes\nexpires = *.txt 1h\nerror_page = 404 /gone.html\nlisting = on|" "$TMP/conf"
cat >>"$TMP/conf" <<CONF
[service behind]
app = http
port = 81
root = $TMP/site
access_log = $TMP/log.behind
proxy_protocol = on
proxy_from = 10.99.0.0/24
CONF
start_server
URL=http://10.99.0.2
get() { inside curl -s -m 20 "$@"; }
field() { local name=$1; shift; get -o /dev/null -D - "$@" | tr -d '\r' | sed -n "s/^$name: //p"; }
status() { get -o /dev/null -w '%{http_code}' "$@"; }

claim "a dangling link and a pipe do not end the start" grep -q '^entries_skipped 2$' "$TREE/apps/web/site"
claim "... and are named" bash -c "[ \$(grep -cE '^/(dangling|pipe) ' $TREE/apps/web/skipped) = 2 ]"
claim "each host has its files" bash -c "[ \"\$(nsenter --net=/run/netns/$NS curl -s -m 20 -H 'Host: www.two.example:80' $URL/)\" = two ]"
claim "a browser's path is found" test "$(status -g "$URL/list/a[1].txt")" = 200
claim "two slashes are one" test "$(status --path-as-is "$URL//index.html")" = 200
claim "what has moved takes the rest and the query along" test "$(field Location "$URL/old/a%5B1%5D.txt?q")" = '/list/a%5B1%5D.txt?q'
claim "a directory's redirect keeps the query" test "$(field Location "$URL/list?x=y")" = '/list/?x=y'
claim "fields go by the path" test "$(field X-Own "$URL/list/")" = yes
claim "times go by the path" test "$(field Cache-Control "$URL/plain.txt")" = max-age=3600
claim "types come from the file" test "$(field Content-Type "$URL/plain.txt")" = 'text/x-own; charset=utf-8'
claim "a status has its page" test "$(get "$URL/missing")" = gone
listed() { get "$URL/list/" | grep -F 'href="./a%5B1%5D.txt">a[1].txt<'; }
claim "a directory is listed" listed
claim "brotli goes to those who prefer it" test "$(get -H 'Accept-Encoding: gzip;q=0.5, br' "$URL/plain.txt")" = packed
claim "gzip to those who do not" bash -c "nsenter --net=/run/netns/$NS curl -s -m 20 --compressed -H 'Accept-Encoding: gzip, br;q=0' $URL/plain.txt | cmp - $TMP/site/plain.txt"
claim "a PROXY header is read" test "$(status --haproxy-protocol "$URL:81/")" = 200
version_2() {  # 192.0.2.77 says GET
    inside python3 -c '
import socket
s = socket.create_connection(("10.99.0.2", 81), 20)
s.sendall(b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\xc0\0\2\x4d\xc0\0\2\1\x30\x39\0\x50"
          b"GET /two HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
assert s.makefile("rb").readline().startswith(b"HTTP/1.1 404")'
}
claim "... of version 2 as well" version_2
logged() { for ((i = 0; i < 50; i++)); do grep -q '^192\.0\.2\.77 - - .*GET /two ' "$TMP/log.behind" && return 0; sleep 0.1; done; false; }
claim "its address is the one in the log" logged
bare() { ! get "$URL:81/" >"$TMP/bare" && [ ! -s "$TMP/bare" ] && grep -q '^proxy_refused 1$' "$TREE/apps/behind/counters"; }
claim "without one the connection is reset, unanswered" bare
claim "every received packet is accounted for" balance_is_zero
claim "the server stops" stop_server
finish
