#!/usr/bin/env bash
# Prometheus itself, as Debian has it: its tools take the rules of alerts, each of which fires on what it is for and on nothing else;
# it scrapes a running server, and after that was killed it says so.
. "$(dirname "$0")/lib.sh"
. "$HERE/prometheus_programs.bash"
RULES=$(realpath "$HERE/../../config/prometheus/alerts.yml")
WATCHER=
cleanup_first() { [ -z "$WATCHER" ] || { kill "$WATCHER" && wait "$WATCHER"; } 2>/dev/null; }
prometheus_programs || { echo "skipped: Debian's package prometheus is not to be had"; exit 77; }

# ---- the rules
mkdir "$TMP/rules"
cp "$HERE/alerts_test.yml" "$TMP/rules"
holds() { cp "$RULES" "$TMP/rules/alerts.yml" && sed -i "${1:-}" "$TMP/rules/alerts.yml" && "$PROMTOOL" test rules "$TMP/rules/alerts_test.yml"; }
claim "promtool takes the rules" "$PROMTOOL" check rules "$RULES"
claim "every alert fires on what it is for, and none on a server that is well" holds
claim "every alert is in that test" eval '[ "$(grep -oP "alert: \K\w+" "$RULES" | grep -vxFf <(grep -oE "C10m\w+" "$HERE/alerts_test.yml") | tee /dev/stderr | wc -l)" = 0 ]'
for other in 's/c10m_port_link_up == 0/c10m_port_link_up == 1/' 's/> 0.9$/> 0.95/' 's/for: 30s/for: 10m/' 's/changes(/delta(/' 's/|.\*_full//'; do
    claim "... which fails with $other" eval "! holds '$other'"
done

# ---- a scrape
write_conf
claim "a server starts" start_server --set memory.hugepage=none
cat >"$TMP/prometheus.yml" <<CONF
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [$RULES]
scrape_configs:
  - job_name: c10m
    static_configs: [{targets: ["127.0.0.1:9910"]}]
CONF
claim "promtool takes the configuration of docs/metrics.md" "$PROMTOOL" check config "$TMP/prometheus.yml"
inside setpriv --pdeathsig KILL "$PROMETHEUS" --config.file="$TMP/prometheus.yml" --storage.tsdb.path="$TMP/tsdb" --web.listen-address=127.0.0.1:9191 >"$TMP/watcher" 2>&1 &
WATCHER=$!
asks() { # EXPRESSION VALUE
    local got
    got=$(inside "$PROMTOOL" query instant http://127.0.0.1:9191 "$1" | sed 's/.* => \([^ ]*\) @.*/\1/' | sort -u)
    [ "$got" = "$2" ] || { echo "$1: $got"; tail -n 3 "$TMP/watcher"; return 1; }
}
claim "Prometheus scrapes it" within 120 asks 'up{job="c10m"}' 1
claim "... every sample of it" within 60 asks 'scrape_samples_scraped == bool scrape_samples_post_metric_relabeling' 1
fetches() { inside curl -sf -m 10 -o /dev/null "http://10.99.0.2/?[1-20]"; }
claim "pages are fetched" fetches
claim "... and counted there" within 60 asks 'sum(c10m_core_rx_packets_total) > bool 20' 1
claim "the rules are evaluated without an error" within 60 asks 'sum(prometheus_rule_evaluation_failures_total) or vector(0)' 0
kill -9 "$SERVER"
wait "$SERVER" 2>/dev/null || true
SERVER=
claim "after the server was killed, its alert is there" within 120 asks 'count(ALERTS{alertname="C10mGone"})' 1
finish
