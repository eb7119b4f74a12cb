#!/usr/bin/env bash
# Files that are read again while the server runs: readers that have begun end with the old bytes, however slow they are; requests
# get the new ones; what nobody uses any more is freed; what cannot be read changes nothing.
. "$(dirname "$0")/lib.sh"
URL=http://10.99.0.2
RELOAD=$TREE/ctl/services/web/reload
SITE=$TREE/apps/web/site
BIG_BYTES=10000000
USER_NAME=c10mfiles$$
USER_HERE=
cleanup_first() { [ -z "$USER_HERE" ] || userdel "$USER_NAME" 2>/dev/null; }

# get PATH [ARGUMENT...]: its status; the content lies in $TMP/got.
get() { local path=$1; shift; inside curl -s -m 20 -o "$TMP/got" -w '%{http_code}' "$@" "$URL$path"; }
gets() { local want=$1; shift; local got; got=$(get "$@") || true; [ "$got" = "$want" ] || { echo "$1: $got"; return 1; }; }
etag() { inside curl -sI -m 20 "$URL$1" | awk 'tolower($1) == "etag:" { print $2 }' | tr -d '\r'; }
value() { awk -v n="$1" '$1 == n { print $2 }' "$SITE"; }
is() { local got; got=$(value "$1"); [ "$got" = "$2" ] || { echo "$1 is $got, not $2"; return 1; }; }
aborted() { awk '$1 == "replaced_aborted" { print $2 }' "$TREE/apps/web/counters"; }
idle() { grep -q '^state idle$' "$RELOAD"; }
# reload: by the file; succeeds when the new files are served.
reload() {
    local before
    before=$(value version)
    within 60 bash -c 'echo now >"$1"' - "$RELOAD" && within 60 idle && is version $((before + 1)) || { cat "$RELOAD"; return 1; }
}
# refused TEXT: a reload fails with it, and nothing changes.
refused() {
    local before
    before=$(value version)
    within 60 bash -c 'echo now >"$1"' - "$RELOAD" && within 60 idle && grep -q "^error: .*$1" "$RELOAD" && is version "$before" && return 0
    cat "$RELOAD"
    return 1
}
memory_kb() { awk '$1 == "RssAnon:" { print $2 }' "/proc/$SERVER/status"; }

new_changed_and_removed_files() {
    local tag
    tag=$(etag /changes)
    gets 200 /goes && gets 404 /comes && gets 304 /changes -H "If-None-Match: $tag" || return 1
    echo changed >"$TMP/site/changes"
    echo comes >"$TMP/site/comes"
    rm "$TMP/site/goes"
    gets 200 /goes || return 1
    reload && gets 404 /goes && gets 200 /comes && grep -qx comes "$TMP/got" && gets 200 /changes -H "If-None-Match: $tag" &&
        grep -qx changed "$TMP/got" && [ "$(etag /changes)" != "$tag" ]
}
the_log_says_it() { grep -E 'service web: [0-9,]+ files \(1 new, 1 changed, 1 removed\), [0-9]+ [KM]iB, in [0-9.]+ s$' "$TMP/log"; }
the_tree_shows_it() { is files_new 1 && is files_changed 1 && is files_removed 1 && grep -Eq '^result: [0-9]+ files \(1 new' "$RELOAD"; }

# By turns the file, SIGHUP and the command.
reload_by() {
    local before
    before=$(value version)
    case $(($1 % 3)) in
    0) reload ;;
    1) kill -HUP "$SERVER" && within 60 is version $((before + 1)) ;;
    2) "$C10M" reload -c "$TMP/conf" >"$TMP/said" && is version $((before + 1)) && grep -q '^files web: ' "$TMP/said" && tail -1 "$TMP/said" | grep -qx reloaded ;;
    esac
}
ten_reloads_beside_slow_readers() {
    local i
    rm -f "$TMP/begun" "$TMP/go"
    inside python3 "$HERE/reload_files.py" 10.99.0.2 "$TMP" >"$TMP/readers" 2>&1 &
    READERS=$!
    within 60 test -e "$TMP/begun" || { cat "$TMP/readers"; return 1; }
    for ((i = 1; i <= 10; i++)); do
        head -c $((BIG_BYTES + i)) /dev/urandom >"$TMP/big.new" && mv "$TMP/big.new" "$TMP/site/big"
        echo "$i" >"$TMP/site/new.$i"
        rm -f "$TMP/site/new.$((i - 1))"
        reload_by "$i" && gets 200 "/new.$i" && gets 404 "/new.$((i - 1))" && gets 200 /big && cmp "$TMP/got" "$TMP/site/big" || return 1
    done
    kill -0 $READERS && within 30 is versions_before 1 && is connections_before 100
}
each_reader_has_the_old_bytes() { : >"$TMP/go"; wait $READERS || { cat "$TMP/readers"; return 1; }; }
back_to() { [ "$(memory_kb)" -le "$1" ] || { echo "$(memory_kb) kB, not $1"; return 1; }; }
their_memory_is_freed() { within 30 is versions_before 0 && within 30 back_to $((BEFORE_KB + BIG_BYTES / 2048)); }

requests_beside_reloads() {
    local n=0
    inside wrk -t1 -c50 -d"${RELOAD_S:-8}"s $URL/ >"$TMP/wrk" &
    local wrk=$!
    while kill -0 $wrk 2>/dev/null; do
        echo "<h1>hello $n</h1>" >"$TMP/page" && mv "$TMP/page" "$TMP/site/index.html"
        reload || return 1
        n=$((n + 1))
    done
    wait $wrk && [ "$n" -ge 5 ] && ! grep -E 'Socket errors|Non-2xx' "$TMP/wrk" || { echo "$n reloads"; cat "$TMP/wrk"; return 1; }
    echo "$n reloads, $(awk '$2 == "requests" { print $1 }' "$TMP/wrk") requests"
}

# One reader of each site: seven replaced ones are kept, the next reload resets the reader of the oldest.
the_oldest_reader_makes_room() {
    local i
    cp "$TMP/site/big" "$TMP/big.0"
    for ((i = 1; i <= 8; i++)); do
        inside python3 "$HERE/reload_files.py" 10.99.0.2 "$TMP" holder "$i" &
        within 30 test -e "$TMP/holds.$i" && reload || return 1
    done
    is versions_before 7 && [ "$(aborted)" = 1 ] || { cat "$SITE"; aborted; return 1; }
    : >"$TMP/holder.go"
    wait_for_holders() { local i; for ((i = 1; i <= 8; i++)); do [ -s "$TMP/holder.$i" ] || return 1; done; }
    within 60 wait_for_holders && grep -qx reset "$TMP/holder.1" && [ "$(grep -lx right "$TMP"/holder.[2-8] | wc -l)" = 7 ] &&
        within 30 is versions_before 0 || { head "$TMP"/holder.*; return 1; }
}

too_many_files_change_nothing() {
    head -c $((1 << 20)) /dev/zero >"$TMP/site/more"
    sed -i 's,^root = .*,&\nbytes_max = 11500000,' "$TMP/conf"
    stop_server && start_server || return 1
    reload && head -c 1000000 /dev/zero >>"$TMP/site/more" && refused 'bytes_max = 11500000' && gets 200 /more &&
        ! "$C10M" reload -c "$TMP/conf" >"$TMP/said" 2>&1 && grep -q '^error service web: bytes_max' "$TMP/said" && rm "$TMP/site/more" && reload
}

# A server that has given up root: what its user cannot read is named, and a link to the next release is followed.
without_root() {
    useradd --system --no-create-home --shell /usr/sbin/nologin "$USER_NAME" && USER_HERE=1
    chmod 755 "$TMP"
    mkdir "$TMP/releases" && cp -r "$TMP/site" "$TMP/releases/1" && ln -s releases/1 "$TMP/current"
    sed -i "s,^root = .*,root = $TMP/current,; s,^\[memory\],user = $USER_NAME\n&," "$TMP/conf"
    stop_server && start_server && gets 200 /
}
unreadable() {
    chmod 600 "$TMP/releases/1/changes"
    refused "/changes: Permission denied" && gets 200 /changes && chmod 644 "$TMP/releases/1/changes" && reload
}
next_release() {
    cp -r "$TMP/releases/1" "$TMP/releases/2" && echo two >"$TMP/releases/2/index.html" && ln -sfn releases/2 "$TMP/current" &&
        reload && gets 200 / && grep -qx two "$TMP/got"
}
gone_root() { mv "$TMP/current" "$TMP/away" && refused 'No such file or directory' && mv "$TMP/away" "$TMP/current" && reload; }

head -c $BIG_BYTES /dev/urandom >"$TMP/site/big"
cp "$TMP/site/big" "$TMP/big.0"
echo first >"$TMP/site/changes"
echo goes >"$TMP/site/goes"
write_conf
start_server
claim "new, changed and removed files show after a reload, and not before" new_changed_and_removed_files
claim "... the log says how many" the_log_says_it
claim "... the tree, too" the_tree_shows_it
BEFORE_KB=$(memory_kb)
claim "ten reloads beside 100 slow readers: each serves the files of its moment" ten_reloads_beside_slow_readers
claim "... each reader gets every byte of the old file" each_reader_has_the_old_bytes
claim "... then its memory is freed" their_memory_is_freed
claim "no request fails beside reloads" requests_beside_reloads
tail -n 1 "$TMP/out"
claim "who reads the oldest of eight trees is reset for a ninth, the others are not" the_oldest_reader_makes_room
claim "files that are too many change nothing" too_many_files_change_nothing
claim "every packet is accounted for" balance_is_zero
claim "a server that gave up root serves" without_root
claim "... a file that its user cannot read is named, and nothing changes" unreadable
claim "... the link to the next release is followed" next_release
claim "... without the directory the old files stay" gone_root
claim "the server stops" stop_server
finish
