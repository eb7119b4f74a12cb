#!/usr/bin/env bash
# `c10m doctor` on this machine: it judges, reserves pages for a configuration that lacks some, and gives exactly those
# back. Only the row hugepages is changed.
. "$(dirname "$0")/lib.sh"

RECORD=/var/lib/c10m/doctor.json
POOLS=$(ls -d /sys/devices/system/node/node*/hugepages/hugepages-2048kB/nr_hugepages 2>/dev/null || ls /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages)
[ ! -e $RECORD ] || { echo "FAIL $RECORD is there already: c10m doctor undo"; exit 1; }
pages() { cat $POOLS; }
BEFORE=$(pages)
MADE=no
cleanup_first() {
    [ $MADE = no ] || "$C10M" doctor undo >/dev/null
    [ "$(pages)" = "$BEFORE" ] || echo "the pages of this machine are not as they were: $BEFORE"
}

write_conf
# More than is free: each packet takes more than 2,280 bytes, so that 920 of them take more than a page.
FREE=$(awk '/HugePages_Free/ { print $2 }' /proc/meminfo)
CONF=(-c "$TMP/conf" --set memory.hugepage=2M --set memory.connections=16384 --set "memory.packets=$((16384 + FREE * 920))")
same_pages() { [ "$(pages)" = "$1" ] || { echo "$1 became $(pages)"; return 1; }; }
nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
open_to_nobody() { chmod a+rx "$TMP" && install -m 755 "$C10M" "$TMP/c10m"; }

claim "a check without root" open_to_nobody
claim "... judges every row" says 0 "^[0-9]+ ok, [0-9]+ warnings, 0 failed" nobody "$TMP/c10m" doctor check --set memory.hugepage=none
claim "a fix without root is refused" says 1 "only root" nobody "$TMP/c10m" doctor fix thp
claim "too few pages fail" says 1 "^fail +hugepages .*needed" "$C10M" doctor check "${CONF[@]}" hugepages
claim "... and are explained, with the change" says 0 "^ +fix .*nr_hugepages: [0-9]+ -> [0-9]+" "$C10M" doctor explain "${CONF[@]}" hugepages
claim "... as JSON, too" says 1 '"state": "fail"' "$C10M" doctor check --json "${CONF[@]}" hugepages
json_is_good() { { "$C10M" doctor check --json "${CONF[@]}" || true; } | python3 -c 'import json, sys; rows = json.load(sys.stdin)["rows"]; sys.exit(len(rows) < 22)'; }
claim "... which a parser takes" json_is_good
claim "serve names the row before it stops" says 1 "this machine: hugepages: .*c10m doctor explain hugepages" \
    inside timeout 60 "$C10M" serve "${CONF[@]}"
claim "a dry run says the change" says 0 "nr_hugepages: [0-9]+ -> [0-9]+" "$C10M" doctor fix --dry-run "${CONF[@]}" hugepages
claim "... and makes none" same_pages "$BEFORE"
claim "... and records none" test ! -e $RECORD
MADE=yes
claim "a fix reserves the pages" says 0 "c10m doctor undo takes them back" "$C10M" doctor fix "${CONF[@]}" hugepages
AFTER=$(pages)
claim "... so that the row is good" says 0 "^ok +hugepages" "$C10M" doctor check "${CONF[@]}" hugepages
claim "... with more pages than before" test "$AFTER" != "$BEFORE"
claim "a second fix changes nothing" "$C10M" doctor fix "${CONF[@]}" hugepages
claim "... indeed" same_pages "$AFTER"
claim "the record has what was there" grep -q '"path": "/sys/' $RECORD
claim "undo gives them back" says 0 "nr_hugepages: [0-9]+ -> [0-9]+" "$C10M" doctor undo
claim "... exactly" same_pages "$BEFORE"
claim "... and forgets" test ! -e $RECORD
claim "a second undo has nothing to do" says 0 "nothing to undo" "$C10M" doctor undo
claim "a row that is not there is bad usage" says 2 "no such row" "$C10M" doctor check nonsense
claim "a command that is not there is bad usage" says 2 "was expected" "$C10M" doctor mend
claim "a bad configuration is one" says 2 "tcp.retries" "$C10M" doctor check --set tcp.retries=99
finish
