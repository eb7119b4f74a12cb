#!/usr/bin/env bash
# The dashboard against Grafana's own schema, which its library for Go has (grafana_schema.go), and planted errors, each of which that
# finds. No server runs.
. "$(dirname "$0")/lib.sh"
DASHBOARD=$(realpath "$HERE/../../config/grafana/c10m.json")
PATH=$PATH:/usr/local/go/bin
export GOTOOLCHAIN=local GOFLAGS=-mod=readonly
command -v go >/dev/null || { echo "skipped: no go"; exit 77; }
VERSION=v0.0.22
mkdir "$TMP/schema"
cd "$TMP/schema"
cp "$HERE/grafana_schema.go" .
cat >go.mod <<MOD
module schema

go 1.22

require github.com/grafana/grafana-foundation-sdk/go $VERSION
MOD
cat >go.sum <<SUM
github.com/grafana/grafana-foundation-sdk/go $VERSION h1:bE+NJ+nE/ouwQaXtPQTz98yIzevuXlyZ4L5pdPLyiC4=
github.com/grafana/grafana-foundation-sdk/go $VERSION/go.mod h1:48EA8jF85SrReYflLa39Sk34b6NpxwJPBwjF3TJgRpE=
SUM
timeout 120 go mod download >"$TMP/out" 2>&1 || { echo "skipped: Grafana's library cannot be fetched: $(tail -n 1 "$TMP/out")"; exit 77; }

claim "the check is built with Grafana's library $VERSION" go build -o schema .
[ "$FAILED" = 0 ] || finish
claim "the dashboard is one of Grafana's schema" ./schema "$DASHBOARD"
# finds SED TEXT: the dashboard with this change is refused, and the text says why.
finds() {
    sed "$1" "$DASHBOARD" >planted.json
    ! cmp -s "$DASHBOARD" planted.json && says 1 "$2" ./schema planted.json
}
plant() { claim "planted: $1" finds "$2" "$3"; }
plant "a field that a dashboard does not have" 's/"schemaVersion"/"schemaVersions"/' "unexpected field 'schemaVersions'"
plant "a number that is a text" 's/"schemaVersion": \([0-9]*\)/"schemaVersion": "\1"/' 'schemaVersion: .*string'
plant "a panel that Grafana does not have" '0,/"type": "stat"/s//"type": "singlestat"/' 'no panel of type "singlestat"'
plant "a panel beyond the 24 columns" '0,/"w": 24/s//"w": 25/' 'gridPos.w: must be <= 24'
plant "an option that the panel's plugin does not have" '0,/"graphMode"/s//"graphModes"/' "unexpected field 'graphModes'"
plant "a value that an option does not have" '0,/"colorMode": "background"/s//"colorMode": "backdrop"/' 'options.colorMode: "backdrop"'
plant "a style of lines that there is not" '0,/"drawStyle": "[a-z]*"/s//"drawStyle": "dots"/' 'custom.drawStyle: "dots"'
plant "a unit that Grafana does not have" '0,/"unit": "pps"/s//"unit": "parsecs"/' 'no unit "parsecs"'
plant "a threshold with a field too many" '0,/"mode": "absolute"/s//"mode": "absolute", "step": 1/' "unexpected field 'step'"
plant "a query with a field that Prometheus' query does not have" '0,/"legendFormat"/s//"legend"/' "unexpected field 'legend'"
plant "a variable of a type that there is not" '0,/"type": "datasource"/s//"type": "data"/' 'type: "data"'
finish
