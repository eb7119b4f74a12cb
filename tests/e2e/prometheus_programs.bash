# prometheus_programs.bash: sourced after lib.sh.

# prometheus_programs: PROMTOOL and PROMETHEUS, out of Debian's package prometheus, whose installation would start a server. They are
# kept in the build directory. Fails if they are not to be had.
prometheus_programs() {
    local keep
    PROMTOOL=$(command -v promtool || true) PROMETHEUS=$(command -v prometheus || true)
    [ -z "$PROMTOOL" ] || [ -z "$PROMETHEUS" ] || return 0
    keep=$(realpath "$(dirname "$C10M")/..")
    PROMTOOL=$keep/promtool PROMETHEUS=$keep/prometheus
    [ -x "$PROMTOOL" ] && [ -x "$PROMETHEUS" ] && return 0
    (cd "$TMP" && timeout 120 apt-get -q download prometheus && dpkg -x prometheus_*.deb prometheus) >"$TMP/apt" 2>&1 &&
        install -m 755 "$TMP"/prometheus/usr/bin/{promtool,prometheus} "$keep"
    local status=$?
    rm -rf "$TMP/prometheus" "$TMP"/prometheus_*.deb
    return $status
}
