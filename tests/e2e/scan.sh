#!/usr/bin/env bash
# What scanners find: nmap at the ports of the data plane and at the control port, TLS scanners at ports that speak no TLS.
# They see the configured services and nothing else, and leave nothing behind.
. "$(dirname "$0")/lib.sh"
command -v nmap >/dev/null && command -v sslscan >/dev/null || { echo "skipped: no nmap or no sslscan"; exit 77; }
write_conf
sed -i 's,^\[memory\],http = 127.0.0.1:8000\n&\nhugepage = none,' "$TMP/conf"
claim "the server comes up" start_server --set tcp.time_wait_ms=2000  # no connection is left soon
# A port at which nmap's scripts for HTTP look without being told.
CONTROL=127.0.0.1:8000
answers() { inside curl -sS -f -m 10 -o "$TMP/page" "http://$1"; }
descriptors() { find "/proc/$SERVER/fd" -mindepth 1 | wc -l; }
answers $CONTROL/metrics
BEFORE=$(descriptors)

# scan NAME OPTIONS...: nmap's list of open ports of the data plane, "80/tcp 7/tcp ...", sorted, in $TMP/NAME.
scan() {
    local name=$1
    shift
    inside timeout 150 nmap -n -Pn --reason -T5 --max-retries 3 -oG "$TMP/$name.scan" "$@" 10.99.0.2 >"$TMP/$name.log" || { cat "$TMP/$name.log"; return 1; }
    grep -oE '[0-9]+/open[^/]*/(tcp|udp)' "$TMP/$name.scan" | sed 's,/open\(|filtered\)*,,' | sort >"$TMP/$name" || true
}
ports_are() { printf '%s\n' "${@:2}" | sort | diff - "$TMP/$1"; }
TCP="7/tcp 9/tcp 13/tcp 19/tcp 80/tcp"
# The control port meanwhile: nmap waits for what it does not answer.
probe() { inside timeout 150 nmap -n -Pn -T5 -p 8000 "$@" 127.0.0.1 >"$TMP/probe"; }
probe -sV --version-intensity 3 &
PROBE=$!
claim "a SYN scan of all ports" scan syn -sS -p- --min-rate 4000
claim "... finds the services, and nothing else" ports_are syn $TCP
claim "a scan by connections" scan connect -sT -p 1-200
claim "... finds the same" ports_are connect $TCP
claim "what the services are is asked for" scan version -sV -p 7,13,80 --version-intensity 2
claim "... and leaves them open" ports_are version 7/tcp 13/tcp 80/tcp
# RFC 9293, 3.10.7.1: a closed port answers a segment without ACK by a reset, so none of these finds an open one by an answer.
for kind in N F X; do
    claim "a scan without SYN, ACK and RST (-s$kind)" scan odd$kind -s$kind -p 1-100
done
claim "an ACK scan" scan ack -sA -p 1-100
claim "... finds no port open" eval '[ ! -s "$TMP/ack" ]'
claim "IP protocols are probed" scan protocols -sO -p 0-20
claim "the system is guessed at" scan system -O -p 79,80
claim "UDP services are probed" scan udp -sU -p 7,13,19
claim "... and answer" ports_are udp 7/udp 13/udp 19/udp
claim "the data plane answers" answers 10.99.0.2/

found() { grep -qE -- "$1" "$TMP/probe" || { cat "$TMP/probe"; return 1; }; }
claim "the control port is probed" wait $PROBE
claim "... and is HTTP" found "SF:.*HTTP/1|8000/tcp open +http"
claim "scripts for HTTP look at it" probe --script "http-methods,http-headers,http-title,http-trace,http-auth-finder,http-passwd,http-vuln-*" --script-timeout 60s
claim "... they get answers" found "http-(title|headers):"
claim "... nothing is called vulnerable" eval '! found "State: (LIKELY )?VULNERABLE" >/dev/null || { cat "$TMP/probe"; false; }'
claim "... TRACE is not there" eval '! found "TRACE is enabled" >/dev/null'
claim "the control port answers" answers $CONTROL/metrics
tls() { inside timeout 200 sslscan --no-colour --connect-timeout=5 --timeout=5 "$1" >"$TMP/tls" 2>&1; ! grep -qE '^(Accepted|Preferred)|(SSL|TLS)v[0-9.]+ +enabled' "$TMP/tls"; }
claim "a TLS scan of the control port finds no TLS" tls $CONTROL
claim "... and of the web server" tls 10.99.0.2:80
handshake() { inside timeout 20 openssl s_client -connect "$CONTROL" "$@" </dev/null >"$TMP/tls" 2>&1 && return 1; ! grep -q 'BEGIN CERTIFICATE' "$TMP/tls"; }
claim "handshakes of TLS 1.2 and 1.3 end" eval 'handshake -tls1_2 && handshake -tls1_3'

claim "both answer after all this" eval 'answers $CONTROL/metrics && answers 10.99.0.2/'
few_descriptors() { [ "$(descriptors)" -le "$BEFORE" ] || { ls -l "/proc/$SERVER/fd"; return 1; }; }
claim "no descriptor of the scanners is left" within 120 few_descriptors
no_connection() { [ "$(tail -n +2 "$TREE/net/tcp" | awk '$4 != "0A"' | wc -l)" = 0 ] || { cat "$TREE/net/tcp"; return 1; }; }
claim "no connection is left" within 200 no_connection
claim "each packet is accounted for" balance_is_zero
claim "the server ends" stop_server
finish
