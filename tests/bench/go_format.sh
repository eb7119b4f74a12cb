#!/usr/bin/env bash
# go_format.sh C10M-BENCH: what each benchmark prints with --go is in Go's format, by the strict reader of
# scripts/bench-compare; and by benchstat, where it is installed.
set -euo pipefail
BENCH=$(realpath "$1")
COMPARE=$(realpath "$(dirname "$0")/../../scripts/bench-compare")
TMP=$(mktemp -d)
trap 'rm -rf "$TMP"' EXIT

# The shortest run of each benchmark.
declare -A OPTIONS=(
    [roofline]="--connections 1k --seconds 0.05"
    [echo]="--connections 256 --seconds 0.05"
    [reader]="--connections 256 --seconds 0.05"
    [tree]="--connections 256 --seconds 0.05"
    [machine]="--quick"
    [latency]="--connections 256 --seconds 0.1"
    [scale]="--share --workers 1,2 --connections 256 --seconds 0.01"
    [budget]="--connections 256 --seconds 0.1"
    [micro]="--seconds 0.001 --max 1k --count 2 Checksum*"
    [growth]="--connections 1k --batch 64 --seconds 0.05"
    [hop]=""
    [pipeline]="--connections 1k --batch 64 --seconds 0.05"
)
for name in $("$BENCH" --help | awk '/^  [a-z]/ { print $1 }'); do
    [ -n "${OPTIONS[$name]+is there}" ] || { echo "$name: go_format.sh does not know how to run it"; exit 1; }
    read -ra options <<<"${OPTIONS[$name]}"
    # On a host that takes the cores away, a benchmark may fail: its verdict is not what is tested.
    for try in 1 2 3; do
        ! "$BENCH" "$name" "${options[@]}" --go >"$TMP/$name" || break
        [ $try -lt 3 ]
    done
    echo "$name: $("$COMPARE" --parse "$TMP/$name")"
    "$COMPARE" "$TMP/$name" "$TMP/$name" >/dev/null
    if command -v benchstat >/dev/null; then
        benchstat "$TMP/$name" >/dev/null 2>"$TMP/errors"
        ! grep -v '^$' "$TMP/errors"
    fi
done
