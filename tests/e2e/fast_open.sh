#!/usr/bin/env bash
# TCP Fast Open (RFC 7413) with a kernel client over TAP, IPv4 and IPv6: a cookie is asked for and given, data
# is taken in the SYN, a cookie that is good no longer and a service without Fast Open cost nothing but the time.
. "$(dirname "$0")/lib.sh"
write_conf
sed -i "s|^\[memory\]|&\nhugepage = none|; s|^address = .*|address = 10.99.0.2/24, fd99::2/64|
        s|^host_address = .*|host_address = 10.99.0.1/24, fd99::1/64|" "$TMP/conf"
inside sysctl -qw net.ipv4.tcp_fastopen=1 net.ipv4.tcp_fastopen_blackhole_timeout_sec=0
ask() { inside timeout 20 python3 "$HERE/fast_open.py" "$@"; }
knows() { inside ip tcp_metrics show | grep -F "$1 " | grep -q fo_cookie; }
# counts REQUESTS TAKEN WRONG OVER: since the start.
counts() {
    local now
    now="$(counter fast_open_requests) $(counter fast_opens) $(counter fast_opens_failed) $(counter fast_open_overflows)"
    [ "$now" = "$*" ] || { echo "$now"; false; }
}
claim "the server starts, echo and web with Fast Open" start_server --set service.echo.fast_open=16 --set service.web.fast_open=16
for a in 10.99.0.2 fd99::2; do
    claim "$a: a client without a cookie is answered" ask first $a 7
    claim "... and has one then" knows $a
    claim "... with which data is taken in the SYN" ask yes $a 7 80
done
claim "each is counted: 2 cookies asked for, 16 connections" counts 2 16 0 0
claim "curl has its page so" inside curl -sf -m 5 --tcp-fastopen -o /dev/null http://10.99.0.2/
claim "... counted" counts 2 17 0 0
claim "no packet leaks" balance_is_zero
claim "the server stops" stop_server

claim "a server with another secret starts, only echo with Fast Open" start_server --set service.echo.fast_open=16
for a in 10.99.0.2 fd99::2; do
    claim "$a: data with the old cookie comes by the handshake" ask first $a 7
    claim "... whose answer has the new one" ask yes $a 7
    claim "... which a service without Fast Open does not look at" ask no $a 80
done
claim "each is counted: 2 wrong cookies, 12 connections" counts 0 12 2 0
claim "no packet leaks" balance_is_zero
claim "the server stops" stop_server

inside ip tcp_metrics flush
claim "a server without Fast Open starts" start_server
for a in 10.99.0.2 fd99::2; do
    claim "$a: every service answers who asks for a cookie" ask no $a 7 80
    claim "... and gives none" eval "! knows $a"
done
claim "nothing is counted" counts 0 0 0 0
claim "no packet leaks" balance_is_zero
claim "the server stops" stop_server
finish
