#!/usr/bin/env bash
# The figures over HTTP, StatsD and DPDK's telemetry, beside the mount.
. "$(dirname "$0")/lib.sh"
write_conf
cat >>"$TMP/conf" <<CONF
[statsd]
address = 127.0.0.1:8125
interval_ms = 300
CONF
# The data path is not the point: 4 KiB pages will do.
serve() { start_server --set memory.hugepage=none "$@"; }
serve
URL=http://127.0.0.1:9910
fetch() { inside curl -sS --max-time 20 "$@"; }
status() { fetch -o "$TMP/body" -w '%{http_code}' "$@"; }
status_is() { local want=$1; shift; local got; got=$(status "$@"); [ "$got" = "$want" ] || { echo "$* gave $got"; cat "$TMP/body"; false; }; }

same_bytes() {
    local f
    for f in version config mem/ledger mem/arenas net/tcp net/arp net/udp ports/tap0/driver ports/tap0/mac; do
        cmp <(fetch "$URL/proc/$f") "$TREE/$f" || { echo "$f"; return 1; }
    done
    for f in cores/1/counters cores/1/drops cores/1/cycles net/snmp; do
        diff <(fetch "$URL/proc/$f" | sed 's/[-0-9.]*$//' | cut -d' ' -f1) <(sed 's/[-0-9.]*$//' "$TREE/$f" | cut -d' ' -f1) || { echo "$f"; return 1; }
    done
}
[ -d "$TREE/cores/1" ] || sed_core=$(ls "$TREE/cores" | head -1)
[ -z "${sed_core:-}" ] || eval "$(declare -f same_bytes | sed "s,cores/1/,cores/$sed_core/,g")"
# Some of them may change between one interface and the other: an address that is resolved meanwhile.
same_bytes_soon() { local i; for ((i = 0; i < 20; i++)); do same_bytes && return 0; sleep 0.2; done; false; }
claim "files over HTTP are the bytes of the mount" same_bytes_soon
claim "a directory over HTTP lists what the mount has" diff <(fetch "$URL/proc/" | tr -d /) <(LC_ALL=C ls "$TREE")
claim "as JSON too" python3 -c 'import json, sys; assert {"name": "cores", "kind": "dir"} in json.loads(sys.argv[1])' \
    "$(fetch -H 'Accept: application/json' "$URL/proc")"

claim "StatsD hears of every connection" inside python3 "$HERE/metrics.py" statsd bash -c 'for i in {1..20}; do curl -s http://10.99.0.2/; done'
claim "HTTP carries the metrics" status_is 200 "$URL/metrics"
cp "$TMP/body" "$TMP/metrics"
claim "which are the tree's figures in Prometheus' text" python3 "$HERE/metrics.py" text "$TMP/metrics" "$TREE"
claim "they have every metric of the dashboard and of the alerts" "$HERE/../../scripts/check-dashboard" --metrics "$TMP/metrics"

. "$HERE/prometheus_programs.bash"
promtool_agrees() { "$PROMTOOL" check metrics <"$TMP/metrics" >"$TMP/remarks" 2>&1 && [ ! -s "$TMP/remarks" ] || { cat "$TMP/remarks"; false; }; }
if prometheus_programs; then
    claim "promtool check metrics has no remark" promtool_agrees
    echo 'c10m_no_unit_milliseconds 1' >>"$TMP/metrics"
    claim "and would have one" bash -c "! '$PROMTOOL' check metrics <'$TMP/metrics'"
else
    echo "skip promtool: Debian's package prometheus is not to be had"
fi

claim "DPDK's telemetry has the same figures" python3 "$HERE/metrics.py" telemetry "/var/run/dpdk/e2e$$/dpdk_telemetry.v2" "$TREE"
if command -v dpdk-telemetry.py >/dev/null; then
    claim "dpdk-telemetry.py shows them" bash -c "echo /c10m/ports | dpdk-telemetry.py -f e2e$$ | grep -q tap0"
fi

claim "HTTP listens on loopback only" bash -c "[ \"\$(nsenter --net=/run/netns/$NS ss -Hltn 'sport = :9910' | awk '{ print \$4 }')\" = 127.0.0.1:9910 ]"
claim "what no client should ask is refused" inside python3 "$HERE/metrics.py" http 9910 "$TREE/control/http"
answers_again() { local i; for ((i = 0; i < 50; i++)); do status_is 200 "$URL/proc/version" && return 0; sleep 0.1; done; false; }
claim "and HTTP answers as before" answers_again
claim "limits that were hit are counted" grep -q '^refused_address_connections 12$' "$TREE/control/http"
claim "the server stops" stop_server

echo 0123456789abcdef-e2e >"$TMP/token"
chmod 600 "$TMP/token"
AUTH="Authorization: Bearer $(cat "$TMP/token")"
refused_at_start() { ! "$C10M" check -c "$TMP/conf" "$@" >"$TMP/said" 2>&1 && cat "$TMP/said" && grep -q "control.http" "$TMP/said"; }
claim "beyond loopback no server starts without a token" refused_at_start --set control.http=0.0.0.0:9910
chmod 644 "$TMP/token"
claim "nor with one that everybody may read" refused_at_start --set control.http=0.0.0.0:9910 --set "control.http_token_file=$TMP/token"
chmod 600 "$TMP/token"
serve --set control.http=0.0.0.0:9910 --set "control.http_token_file=$TMP/token"
claim "without the token nothing is told" status_is 401 "$URL/metrics"
claim "nor with another" status_is 401 -H "Authorization: Bearer 0123456789abcdef-e2f" "$URL/proc/"
claim "with it all is" status_is 200 -H "$AUTH" "$URL/metrics"
claim "also from another address" status_is 200 -H "$AUTH" http://10.99.0.1:9910/proc/version
claim "the server with a token stops" stop_server

serve --set control.http=[::1]:9910
claim "HTTP over IPv6" status_is 200 "http://[::1]:9910/proc/version"
claim "the server over IPv6 stops" stop_server
serve --set control.http=
claim "HTTP can be off" bash -c "! nsenter --net=/run/netns/$NS curl -s --max-time 5 $URL/"
claim "the server without HTTP stops" stop_server
finish
