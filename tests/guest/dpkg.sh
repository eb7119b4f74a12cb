#!/usr/bin/env bash
# dpkg.sh C10M FOLDER: the Debian package on a Debian 12 that systemd has booted, as docs/deploy.md says: it is installed by dpkg, an
# instance is enabled and serves, an upgrade leaves the running server alone and keeps what the operator has changed, a removal stops
# it, and after a purge nothing is left but the operator's own file.
. "$(dirname "$0")/system.bash"
. "$HERE/packages.bash"
AT=10.99.0.2
! no_package_tools >"$TMP/out" || { echo "SKIPPED: $(cat "$TMP/out")"; exit 77; }
claim "the packages are built" debian_packages
finish || exit 1
disk() {
    system_files && mkdir "$SYSTEM/srv/v1" "$SYSTEM/srv/v2" || return 1
    cp "$TMP"/v1/c10m_*.deb "$SYSTEM/srv/v1" && cp "$TMP"/v2/c10m_*.deb "$SYSTEM/srv/v2" && system_disk
}
claim "a disk with systemd and the package is made" disk
claim "a Debian 12 boots with systemd" boots 0
finish || exit 1
# state: what a package could leave: files but those that the system itself writes, users, units, mounts, interfaces.
state() {
    guest 'find / -xdev | grep -vE "^/(tmp|root|var/(tmp|cache|backups|log/(journal|dpkg|alternatives)|lib/(dpkg|systemd)))|^/etc/(passwd|group|g?shadow|subuid|subgid)-$" | sort
        cat /etc/passwd /etc/group; find /run /dev/hugepages /sys/fs/bpf -name "*c10m*"; systemctl list-units --all --plain --no-legend "c10m*"
        systemctl list-unit-files --no-legend "c10m*"; grep c10m /proc/mounts; ip -br link | cut -d" " -f1'
}
state >"$TMP/before"
install() { guest "DEBIAN_FRONTEND=noninteractive dpkg --force-confdef --force-confold -i /srv/$1/c10m_*.deb"; }

# ---- install
claim "dpkg installs the package: what it depends on is what a small Debian has been given" install v1
claim "... no unit failed" no_failed_unit
claim "... its user has its directories" eval '[ "$(guest "stat -c %U:%a /run/c10m /var/log/c10m" | tr "\n" " ")" = "c10m:755 c10m:750 " ]'
not_started() { ! guest "systemctl list-units --all --plain --no-legend 'c10m@*' | grep ." && guest 'systemctl is-enabled c10m@.service || true' | grep -x disabled; }
claim "... nothing is started or enabled by itself" not_started
configure() { guest 'sed "s,^root = .*,root = /srv/site,; s,^connections = .*,connections = 4096," /etc/c10m/quickstart.conf >/etc/c10m/web.conf'; }
claim "the operator writes a configuration" configure
claim "... and enables the instance and its doctor, as the page says" guest 'systemctl enable --now c10m-doctor@web c10m@web'
claim "it is active" active web
claim "... serving" is web StatusText serving
active web >"$TMP/out" || finish || exit 1
claim "a page is served" within 30 page
PID=$(property web MainPID)
claim "... by the package's program, as the user c10m" guest "[ \"\$(readlink /proc/$PID/exe)\" = /usr/bin/c10m ] && grep -q \"^Uid:.\$(id -u c10m).\" /proc/$PID/status"

# ---- upgrade
guest 'sed -i "1i# of the operator" /etc/c10m/quickstart.conf'
claim "a later version is installed" install v2
claim "the server has not been stopped" eval 'is web MainPID "$PID" && active web && page'
claim "... systemd has read the unit anew" is web NeedDaemonReload no
claim "a configuration that the operator changed is kept, and the new one lies beside it" guest 'head -n 1 /etc/c10m/quickstart.conf | grep "of the operator" && ! grep "later version" /etc/c10m/quickstart.conf && grep "later version" /etc/c10m/quickstart.conf.dpkg-dist'
claim "... one that nobody changed is the new one" guest 'grep "of the later version" /etc/c10m/default.conf'
claim "the old program answers the new command" guest 'c10m cat version && systemctl reload c10m@web'
claim "... it is the old one still" guest "readlink /proc/$PID/exe | grep deleted"
claim "a restart is the operator's" guest 'systemctl restart c10m@web'
claim "... and runs the new program" eval 'active web && guest "[ \$(readlink /proc/$(property web MainPID)/exe) = /usr/bin/c10m ]" && within 30 page'

# ---- remove
claim "it is removed while it serves" guest 'dpkg -r c10m'
claim "... which has stopped it, in order" is web Result success
claim "... and left no mount, hugepage, interface or file" nothing_left
claim "... but the configuration" guest '[ -e /etc/c10m/quickstart.conf ] && [ -e /etc/c10m/web.conf ] && [ ! -e /usr/bin/c10m ]'
as_before() { state | diff "$TMP/before" -; }
claim "... and what is there before the purge" eval '! as_before'
claim "it is purged" guest 'dpkg -P c10m'
claim "... the operator's own file is left, and nothing else" guest '[ "$(find /etc/c10m -mindepth 1)" = /etc/c10m/web.conf ]'
claim "... no unit failed" no_failed_unit
guest 'rm -r /etc/c10m'
claim "... without that file the machine is as it was before" as_before
claim "the journal has no error" eval '[ -z "$(guest "journalctl -b -p err --no-pager -o cat -t c10m -t systemd" | tee /dev/stderr)" ]'
finish
