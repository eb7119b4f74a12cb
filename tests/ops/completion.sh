#!/usr/bin/env bash
# completion.sh C10M: what TAB offers, by calling bash's completion function with the words as bash breaks them.
set -uo pipefail
C10M=$(realpath "$1")
HERE=$(cd "$(dirname "$0")" && pwd)
TMP=$(mktemp -d /tmp/c10m-completion.XXXXXX)
trap 'rm -rf "$TMP"' EXIT
ln -s "$C10M" "$TMP/c10m"
PATH=$TMP:$PATH
FAILED=0
. "$HERE/../../scripts/completion/c10m.bash"
[ "$(complete -p c10m)" = "complete -F _c10m c10m" ] || { echo "FAIL the function is registered"; exit 1; }

# offered LINE: what is offered at the end of the line, in one line, in order. Words break at = as well.
offered() {
    local line=${1//=/ = }
    read -ra COMP_WORDS <<<"$line"
    [[ $line != *' ' || $1 == *= ]] || COMP_WORDS+=("")
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    COMP_LINE=$1
    COMP_POINT=${#1}
    COMPREPLY=()
    _c10m c10m "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
    printf '%s\n' ${COMPREPLY[@]+"${COMPREPLY[@]}"} | sort | tr '\n' ' ' | sed 's/ $//'
}
is() {  # is LINE WANTED: exactly that is offered
    local got
    got=$(offered "$1")
    [ "$got" = "$2" ] && { echo "ok   $1"; return; }
    echo "FAIL $1: expected \"$2\", got \"$got\""
    FAILED=$((FAILED + 1))
}
has() {  # has LINE WORD...: those are among what is offered
    local line=$1 got word
    shift
    got=" $(offered "$line") "
    for word; do
        [[ $got == *" $word "* ]] && continue
        echo "FAIL $line: no \"$word\" in \"$got\""
        FAILED=$((FAILED + 1))
        return
    done
    echo "ok   $line"
}
hasnt() {
    [[ " $(offered "$1") " != *" $2 "* ]] && { echo "ok   $1 without $2"; return; }
    echo "FAIL $1: \"$2\" is offered"
    FAILED=$((FAILED + 1))
}

cat >"$TMP/some.conf" <<CONF
[port nic0]
driver = tap
[service web]
app = http
CONF

# What a file or a server says is never run.
printf '[service $(>ran)]\napp = http\n' >"$TMP/evil.conf"
cat >"$TMP/evil" <<CONF
#!/bin/sh
echo '\$(>ran)'
echo plain
CONF
chmod +x "$TMP/evil"
harmless() {  # harmless WORD...: TAB behind these
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    COMPREPLY=()
    (cd "$TMP" && _c10m)
    [ ! -e "$TMP/ran" ] && { echo "ok   $* runs nothing"; return; }
    echo "FAIL $*: what was read has been run"
    rm "$TMP/ran"
    FAILED=$((FAILED + 1))
}
harmless c10m serve -c "$TMP/evil.conf" --set service
harmless "$TMP/evil" cat ""
harmless "$TMP/evil" dump -i ""

has "c10m " serve check plan load bench version --help
is "c10m ser" serve
is "c10m load " "hold rate request stream syn udp"
is "c10m load re" request
is "c10m bench ro" roofline
has "c10m bench " echo machine growth
is "c10m serve --con" --config
is "c10m plan --m" --measure
hasnt "c10m serve --" --measure
is "c10m doctor " "check explain fix undo"
is "c10m doctor fix irq" "irq-affinity irqbalance"
is "c10m doctor fix --dr" --dry-run
has "c10m doctor explain " hugepages nic-driver device-taken
has "c10m load hold --" --connections --fault --json --help
is "c10m load hold --order " "random turn"
is "c10m load hold --order r" random
is "c10m bench growth --sv" --svg
hasnt "c10m bench machine --" --svg
has "c10m check --set tcp." tcp.sack= tcp.retries= tcp.ecn=
is "c10m check --set tcp.sac" tcp.sack=
is "c10m check --set tcp.sack=" "off on"
is "c10m check --set tcp.ecn=a" accept
is "c10m check -s memory.hugepage=" "1G 2M auto none"
is "c10m check --set tcp.retries=" ""
is "c10m check --set service." ""
is "c10m check -c $TMP/some.conf --set service.web.ro" service.web.root=
is "c10m check -c $TMP/some.conf --set port.nic0.role=" "client server"
is "c10m check -c $TMP/some" "$TMP/some.conf"
is "c10m nosuch --" --help

# With a terminal: a real TAB in a real shell; zsh takes the same function through bashcompinit.
python3 "$HERE/completion_tty.py" "$TMP" "$HERE/../../scripts/completion" || FAILED=$((FAILED + 1))
[ "$FAILED" = 0 ]
