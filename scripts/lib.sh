# lib.sh: what the scripts share. Every change of the host is said first and undone at exit, in
# reverse order, also after a failure or Ctrl-C.

UNDO=()

say() { printf '== %s\n' "$*"; }

# undo COMMAND...: remembered for the exit.
undo() { UNDO+=("$(printf '%q ' "$@")"); }

undo_all() {
    local status=$? i
    trap - EXIT
    trap '' INT TERM  # a second signal does not cut the undoing short
    for ((i = ${#UNDO[@]} - 1; i >= 0; i--)); do
        eval "${UNDO[i]}" || true
    done
    exit "$status"
}
trap undo_all EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

need_root() {
    [ "$(id -u)" = 0 ] || { echo "$0: needs root (hugepages, network interfaces): sudo $0" >&2; exit 1; }
}

# install_packages FILE: those that are missing.
install_packages() {
    local missing=() p
    while read -r p; do
        case $p in ''|'#'*) continue ;; esac
        dpkg-query -W -f '${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing+=("$p")
    done <"$1"
    [ ${#missing[@]} = 0 ] && return
    say "installing: ${missing[*]}"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${missing[@]}" >/dev/null
}

HUGE=/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages

# add_hugepages N: N free 2 MiB pages more than before, given back at exit.
add_hugepages() {
    local before after
    before=$(cat $HUGE)
    say "hugepages: $before of 2 MiB now, $1 more until the end"
    echo 3 >/proc/sys/vm/drop_caches
    echo 1 >/proc/sys/vm/compact_memory 2>/dev/null || true
    echo $((before + $1)) >$HUGE
    after=$(cat $HUGE)
    undo drop_hugepages $((after - before))
    [ "$after" -ge $((before + $1)) ] || { echo "only $((after - before)) of $1 pages could be had" >&2; return 1; }
}

drop_hugepages() { echo $(($(cat $HUGE) - $1)) >$HUGE; }
