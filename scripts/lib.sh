# lib.sh: what the scripts share. Every change of the host is said first and undone at exit, in
# reverse order, also after a failure or Ctrl-C.

UNDO=()

say() { printf '== %s\n' "$*"; }

# undo COMMAND...: remembered for the exit.
undo() { UNDO+=("$(printf '%q ' "$@")"); }

undo_all() {
    local status=$? i
    trap - EXIT
    trap '' INT TERM HUP  # a second Ctrl-C must not leave half of it
    for ((i = ${#UNDO[@]} - 1; i >= 0; i--)); do
        eval "${UNDO[i]}" || true
    done
    exit "$status"
}
take_signals() {
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
}
trap undo_all EXIT
take_signals

# last_cpus N [LIST]: the last N of a list of CPUs (2-3,8), by default of those that this process may use, as
# one; of fewer, all.
last_cpus() {
    local list=${2:-$(awk '$1 == "Cpus_allowed_list:" { print $2 }' /proc/self/status)}
    tr ',' '\n' <<<"$list" | awk -F- '{ for (c = $1; c <= $NF; c++) print c }' | tail -n "$1" | paste -sd,
}

need_root() {
    [ "$(id -u)" = 0 ] || { echo "$0: needs root (hugepages, network interfaces): sudo $0" >&2; exit 1; }
}

# install_packages [OPTION] FILE...: those that are missing. OPTION: of apt-get, begins with --.
install_packages() {
    local missing=() options=() p
    case $1 in --*) options=("$1"); shift ;; esac
    while read -r p; do
        case $p in ''|'#'*) continue ;; esac
        dpkg-query -W -f '${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing+=("$p")
    done < <(cat "$@")
    [ ${#missing[@]} = 0 ] && return
    say "installing: ${missing[*]}"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${options[@]}" "${missing[@]}" >/dev/null
}

HUGE=/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages

# change_hugepages N: N pages more, or -N fewer; one script at a time. Prints by how many it changed.
change_hugepages() {
    local before
    (
        flock 8
        before=$(cat $HUGE)
        echo $((before + $1)) >$HUGE
        echo $(($(cat $HUGE) - before))
    ) 8<$HUGE
}

# add_hugepages N: N free 2 MiB pages more than before, given back at exit. Where memory is in pieces
# the page cache goes first.
add_hugepages() {
    local got
    say "hugepages: $(cat $HUGE) of 2 MiB now, $1 more until the end"
    trap '' INT TERM HUP  # between taking pages and noting that they are to be given back
    got=$(change_hugepages "$1")
    if [ "$got" -lt "$1" ]; then
        say "hugepages: $got of $1 so far; dropping the page cache and compacting memory for the others"
        echo 3 >/proc/sys/vm/drop_caches
        echo 1 >/proc/sys/vm/compact_memory 2>/dev/null || true
        got=$((got + $(change_hugepages $(($1 - got)))))
    fi
    undo drop_hugepages "$got"
    take_signals
    [ "$got" = "$1" ] || { echo "only $got of $1 pages could be had" >&2; return 1; }
}

drop_hugepages() {
    change_hugepages -"$1" >/dev/null
    say "hugepages: $1 given back, $(cat $HUGE) left"
}
