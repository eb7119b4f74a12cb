#!/usr/bin/env bash
# The container of docs/deploy.md: the commands that stand there make the image of Debian packages only, and run it with podman. It
# serves with the flags of that page, says what is missing without them, and nothing is left after it was stopped. "The host's
# network" is the test's namespace.
. "$(dirname "$0")/lib.sh"
. "$HERE/packages.bash"
. "$SOURCE/scripts/guest/image.sh"  # guest_mirror
skip() { echo "skipped: $1"; exit 77; }
for tool in podman runc mmdebstrap; do
    command -v $tool >/dev/null || skip "no $tool (scripts/packages.test)"
done
! no_package_tools >"$TMP/out" || skip "$(cat "$TMP/out")"

# box COMMAND...: podman with all its files in $TMP. vfs: layers are copies, so that it works on any file system. runc: crun refuses
# machines that have both versions of cgroups. Limits that root may set also where it may not raise them. The folder l has sockets, whose
# paths may be 107 bytes long.
mkdir -p "$TMP/box/tmp"
printf '[containers]\ndefault_ulimits = ["nofile=1024:4096", "nproc=1024:4096"]\n' >"$TMP/box/containers.conf"
BOX=(env TMPDIR="$TMP/box/tmp" CONTAINERS_CONF="$TMP/box/containers.conf" podman --root "$TMP/box/storage" --runroot "$TMP/box/run"
    --tmpdir "$TMP/l" --storage-driver vfs --runtime runc --cgroup-manager cgroupfs --events-backend file)
box() { inside "${BOX[@]}" "$@"; }
groups() { find /sys/fs/cgroup -type d -name 'libpod_parent*'; }
groups >"$TMP/groups"
cleanup_first() {
    box rm -f -t 0 --all
    groups | grep -vxFf "$TMP/groups" | xargs -r rmdir
} >/dev/null 2>&1

# ---- the image
base() {  # kept in the build directory
    BASE=$(dirname "$C10M")/../base.tar
    [ -e "$BASE" ] && return
    mmdebstrap --quiet --variant=minbase --aptopt='APT::Install-Recommends "false"' bookworm "$TMP/base.tar" "deb $(guest_mirror) bookworm main" &&
        mv "$TMP/base.tar" "$BASE.new" && mv "$BASE.new" "$BASE"  # the first one may copy, and be interrupted
}
base >"$TMP/out" 2>&1 || skip "no base of Debian packages: $(tail -n 1 "$TMP/out")"
box import "$BASE" localhost/base >"$TMP/out" 2>&1 && box run --rm --network host localhost/base true >"$TMP/out" 2>&1 ||
    skip "podman runs no container here: $(tail -n 1 "$TMP/out")"
claim "the packages are built" debian_packages
[ "$FAILED" = 0 ] || finish
# from_page NAME: the command `podman NAME` of docs/deploy.md, without the first word.
from_page() { sed -n "/^    podman $1/,/^\$/p" "$SOURCE/docs/deploy.md" | sed 's/\\$//; s/^ *podman //' | tr '\n' ' '; }
image() {
    mkdir "$TMP/built" && cp "$TMP"/v1/*.deb "$TMP/built" && ln -s "$SOURCE" "$TMP/built/c10m" || return 1
    (cd "$TMP/built" && "${BOX[@]}" $(from_page build | sed 's/^build/& --network host --layers=false --build-arg BASE=localhost\/base/'))
}
claim "the image is made by the command of docs/deploy.md" image
[ "$FAILED" = 0 ] || finish

# ---- it runs
mkdir "$TMP/etc"
sed 's/^connections = .*/connections = 16384/; s/^device = .*/device = c10mt0/' "$SOURCE/config/quickstart.conf" >"$TMP/etc/web.conf"
free_pages() { awk '/HugePages_Free/ { print $2 }' /proc/meminfo; }
PAGES=$(free_pages)
# Where root may not lock more memory than it may now, which only a NIC needs, that flag is left out.
LIMIT=
(ulimit -l unlimited) 2>/dev/null || LIMIT='s/--ulimit memlock=-1:-1//;'
# start SED: with the flags of the page, and this change.
start() { box $(from_page run | sed "s,/etc/c10m:,$TMP/etc:,; s,/var/www:,$TMP/site:,;$LIMIT${1:-}") >"$TMP/log" 2>&1; }
web() { box exec web "$@"; }
claim "the flags of docs/deploy.md are there" eval 'from_page run | grep -q "cap-drop all .*NET_ADMIN.* serve -c /etc/c10m/web.conf"'
start &
SERVER=$!
page() { inside curl -sf -m 5 http://10.99.0.2/ | grep hello || { cat "$TMP/log"; return 1; }; }
claim "it serves a page" within 60 page
confined() { web cat /proc/1/status | grep -E '^(CapPrm|CapBnd|Seccomp):' && web grep -qx 'CapBnd:.0000000000201000' /proc/1/status && web grep -qx 'Seccomp:.2' /proc/1/status; }
claim "it has no capability but those of the page, NET_ADMIN and SYS_ADMIN, and a filter of system calls" confined
claim "its pages are the host's hugepages" eval '[ "$(free_pages)" -lt "$PAGES" ]'
claim "the tree is mounted in the container" web cat /run/c10m/proc/version
claim "... not on the host" eval '! grep c10m/proc /proc/mounts'
claim "c10m top looks into it" web c10m top -b -n 1
claim "it is well, says podman" within 30 box healthcheck run web
claim "it stops" box stop -t 60 web
ended() { local status=0; wait "$SERVER" || status=$?; SERVER=; cat "$TMP/log"; [ $status = 0 ]; }
claim "... in order" ended

# ---- nothing is left
gone() { [ -z "$(box ps -aq)" ] && ! inside ip link show c10mt0 && ! pgrep -f "conmon.*$TMP" && ! grep "$TMP/box" /proc/mounts; }
claim "no container, interface, process or mount is left" within 20 gone
claim "... and no hugepage in use" within 20 eval '[ "$(free_pages)" = "$PAGES" ]'

# ---- without a flag
lacks() { ! start "$1" && grep -iE -- "$2" "$TMP/log" || { cat "$TMP/log"; return 1; }; }
claim "without the device of TAP interfaces it says so" lacks 's,--device /dev/net/tun,,' '/dev/net/tun'
claim "without NET_ADMIN it says so" lacks 's/NET_ADMIN,//' 'interface c10mt0 could not be created'
finish
