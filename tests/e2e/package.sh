#!/usr/bin/env bash
# The Debian packages: one command builds them, lintian finds no error, and in a copy of this machine's files (an overlay
# that goes at the end) they are installed, the service of the installed unit serves, an upgrade leaves it alone and keeps
# what an operator has changed, and after a purge nothing is left.
[ -n "${C10M_UNSHARED:-}" ] || exec env C10M_UNSHARED=1 unshare -m --propagation private "$0" "$@"
. "$(dirname "$0")/lib.sh"
. "$HERE/packages.bash"
ROOT=$TMP/root
MANAGER=
chmod 711 "$TMP"
skip() { echo "skipped: $1"; exit 77; }
! no_package_tools >"$TMP/out" || skip "$(cat "$TMP/out")"
for tool in lintian systemd-sysusers systemd-analyze; do
    command -v $tool >/dev/null || skip "no $tool (scripts/packages.test)"
done
/usr/bin/python3 -c 'import seccomp' 2>/dev/null || skip "no python3-seccomp"
overlay() {
    mkdir "$ROOT" "$TMP/changes" && mount -t tmpfs tmpfs "$TMP/changes" && mkdir "$TMP/changes/up" "$TMP/changes/work" &&
        mount -t overlay overlay -o "lowerdir=/,upperdir=$TMP/changes/up,workdir=$TMP/changes/work" "$ROOT"
}
overlay >"$TMP/out" 2>&1 || skip "no overlay over / here: $(cat "$TMP/out")"
for d in proc sys dev; do mount --rbind /$d "$ROOT/$d"; done
mount -t tmpfs tmpfs "$ROOT/run" && mkdir -m 1777 "$ROOT/run/lock"
mount -t tmpfs tmpfs "$ROOT/tmp"
there() { nsenter --net=/run/netns/"$NS" chroot "$ROOT" "$@"; }

# ---- build
claim "one command builds the packages, and those of a later version" debian_packages
[ "$FAILED" = 0 ] || finish
V1=$(dpkg-parsechangelog -l "$SOURCE/debian/changelog" -S Version)
no_errors() {
    lintian --allow-root --fail-on none "$TMP/v1/c10m_$V1"_*.changes >"$TMP/lintian" 2>&1
    cat "$TMP/lintian"
    ! grep -q '^E:' "$TMP/lintian"
}
claim "lintian finds no error" no_errors

# ---- install
there dpkg -P c10m libc10m-dev >/dev/null 2>&1 || true
# What there is in the copy and not in this machine.
added() { find "$TMP/changes/up" -mindepth 1 ! -type c -printf '/%P\n' | while read -r path; do [ -e "$path" ] || [ -L "$path" ] || echo "$path"; done; }
users() { cat "$ROOT/etc/passwd" "$ROOT/etc/group"; }
users >"$TMP/users"
mkdir "$ROOT/tmp/v1" "$ROOT/tmp/v2"
cp "$TMP"/v1/*.deb "$ROOT/tmp/v1" && cp "$TMP"/v2/*.deb "$ROOT/tmp/v2"
install() {  # install VERSION: what it depends on is fetched if it is not there
    there env DEBIAN_FRONTEND=noninteractive sh -c "dpkg --force-confdef --force-confold -i /tmp/$1/c10m_*.deb /tmp/$1/libc10m-dev_*.deb ||
        apt-get -q -y --no-install-recommends -o Dpkg::Options::=--force-confold install -f" && there dpkg -s c10m libc10m-dev | grep -c '^Status: install ok installed' | grep -qx 2
}
if ! install v1 >"$TMP/out" 2>&1; then
    grep -qE 'Unable to fetch|Temporary failure|Could not resolve' "$TMP/out" && skip "the packages that these depend on cannot be fetched"
fi
claim "they are installed" install v1
owned() { there stat -c '%U %a' /run/c10m /var/log/c10m | tr '\n' ' ' | grep -qx 'c10m 755 c10m 750 '; }
claim "the user c10m is there, and its directories are its own" owned
claim "the installed configurations are good" there c10m check --syntax -c /etc/c10m/quickstart.conf
conffiles() { there dpkg-query -W -f '${Conffiles}\n' c10m | grep -c '/etc/' | grep -qx 5; }
claim "configurations and logrotate's file are conffiles" conffiles
claim "the page is found" eval 'there sh -c "gzip -dc /usr/share/man/man5/c10m.conf.5.gz" | grep -q time_wait_ms'
builds() { cp "$SOURCE/tests/ops/shout.c" "$ROOT/tmp" && there sh -c 'cc -Werror -O2 /tmp/shout.c $(pkg-config --cflags --libs c10m) -o /tmp/shout' && there /tmp/shout version; }
claim "an application is built with libc10m-dev" builds

# ---- serve, as the installed unit says
mkdir -p "$ROOT/var/www"
echo '<h1>hello</h1>' >"$ROOT/var/www/index.html"
cp "$HERE/service_manager.py" "$ROOT/tmp"
sed 's,%i,quickstart,g' "$ROOT/lib/systemd/system/c10m@.service" >"$ROOT/tmp/c10m@quickstart.service"
EVENTS=$TMP/events
: >"$EVENTS"
USER_ID=$(there id -u c10m)
manage() { there env RUNTIME_DIRECTORY=/run/c10m /usr/bin/python3 /tmp/service_manager.py "$1" /tmp/c10m@quickstart.service --uid "$USER_ID"; }
event() { grep -Eq -- "$1" "$EVENTS" || { cat "$EVENTS" "$TMP/log"; return 1; }; }
service_pid() { awk '$1 == "pid" { print $2 }' "$EVENTS"; }
cleanup_first() {
    kill -9 "$(service_pid)"  # the manager ends with it
    umount -lR "$ROOT"
} 2>/dev/null
manage run >"$EVENTS" 2>"$TMP/log" &
MANAGER=$!
claim "the service of the installed unit starts" within 120 event '^notify READY=1'
serves() { inside curl -sf --max-time 5 http://10.99.0.2/ | grep -q hello; }
claim "it serves" within 20 serves
claim "c10m finds it without options" there c10m cat version

# ---- upgrade
PID=$(service_pid)
sed -i '1i# of the operator' "$ROOT/etc/c10m/quickstart.conf"
claim "a later version is installed" install v2
claim "the service has not been stopped" eval 'kill -0 $PID && within 20 serves'
claim "a configuration that the operator changed is kept" eval 'head -n 1 "$ROOT/etc/c10m/quickstart.conf" | grep -q "of the operator" && ! grep -q "later version" "$ROOT/etc/c10m/quickstart.conf"'
claim "... and the new one lies beside it" grep -q 'of the later version' "$ROOT/etc/c10m/quickstart.conf.dpkg-dist"
claim "one that nobody changed is the new one" grep -q 'of the later version' "$ROOT/etc/c10m/default.conf"
claim "a reload is taken by the new command" eval 'says 0 "^reloaded$" manage reload'

# ---- remove
kill -TERM "$(service_pid)"
wait "$MANAGER" || true
MANAGER=
claim "the service ends in order" event '^end 0$'
rm -r "$ROOT/var/www/index.html"
removed() { there dpkg -r libc10m-dev c10m && [ ! -e "$ROOT/usr/bin/c10m" ] && [ -e "$ROOT/etc/c10m/quickstart.conf" ] && [ ! -e "$ROOT/usr/include/c10m" ]; }
claim "after a removal the configuration is still there" removed
# What the doctor could not undo.
mkdir -p "$ROOT/var/lib/c10m"
echo '{}' >"$ROOT/var/lib/c10m/doctor.json"
claim "a purge removes the rest, and says that it keeps the doctor's record" says 0 'kept /var/lib/c10m: doctor.json' there dpkg -P c10m libc10m-dev
claim "... indeed" grep -q '{}' "$ROOT/var/lib/c10m/doctor.json"
rm -rf "$ROOT/var/lib/c10m"
same_users() { users | diff "$TMP/users" -; }
claim "... the user too" same_users
nothing_left() { added | grep -vE '^/(tmp|root|var/(cache|backups|www|lib/(apt|dpkg|systemd)|log/(apt|dpkg|alternatives|lastlog|faillog))|etc/[a-z]*-$)' >"$TMP/left"; cat "$TMP/left"; ! [ -s "$TMP/left" ] && ! there find /run /var/log /etc -name '*c10m*' | grep .; }
claim "... and nothing is left" nothing_left
finish
