#!/usr/bin/env bash
# systemd.sh C10M FOLDER: what `meson install` puts on a machine, on a Debian 12 that systemd has booted: the doctor prepares it, and
# the service serves as the user c10m, over a TAP interface and after a reboot also over a NIC of vfio. systemd itself reloads it,
# watches it, starts it again after a kill and a hang, and stops it.
. "$(dirname "$0")/system.bash"
AT=10.99.9.2

# ---- the disk
# service_conf: /srv/site over a TAP interface; $PORTS of other sections.
service_conf() {
    cat <<CONF
[cpu]
linux = 0
workers = 1
[control]
drain_s = 1
[memory]
connections = 4096
${PORTS:-}
[port tap0]
driver = tap
device = c10m0
address = 10.99.9.2/24
host_address = 10.99.9.1/24
[service web]
app = http
port = 80
root = /srv/site
access_log = /var/log/c10m/web.log
$(printf '%s\n' "$@")
CONF
}
# The application that hangs is a server of its own, as that of a user of libc10m: its instance has a drop-in.
planted_unit() {
    local d=$SYSTEM/etc/systemd/system/c10m@stall.service.d
    mkdir -p "$d"
    printf '[Service]\nExecStart=\nExecStart=/usr/local/bin/planted serve -c %s/%%i.conf\nExecStartPre=\nWatchdogSec=6\n' "$ETC" >"$d/own.conf"
}
disk() {
    system_files || return 1
    build_planted planted_stall.c && cp -r "$TMP/dest/." "$SYSTEM" && install "$TMP/planted" "$SYSTEM/usr/local/bin/" || return 1
    UNIT=$(find "$TMP/dest" -name c10m@.service)
    ETC=$(sed -n 's,^ExecStart=.* -c \(.*\)/%i\.conf,\1,p' "$UNIT")
    planted_unit || return 1
    service_conf >"$SYSTEM$ETC/web.conf"
    service_conf '[service planted]' 'app = planted' 'port = 77' >"$SYSTEM$ETC/stall.conf"
    system_disk
}
claim "a disk with systemd, and what is installed for the service, is made" disk
finish || exit 1

# ---- the machine
journal() { guest "journalctl -u c10m@web --no-pager -o cat $*"; }
edit() { guest "sed -i 's,$1,$2,' $ETC/web.conf"; }
claim "a Debian 12 boots with systemd" boots 1
finish || exit 1
claim "... without a unit that failed" no_failed_unit
claim "sysusers made the user, tmpfiles its directories" eval '[ "$(guest "stat -c %U:%a /run/c10m /var/log/c10m" | tr "\n" " ")" = "c10m:755 c10m:750 " ]'
claim "no hugepage is reserved" guest 'grep -q "HugePages_Total: *0$" /proc/meminfo'
fails_without() {
    ! guest "systemctl start c10m@web" || return 1
    guest "systemctl stop c10m@web; systemctl reset-failed c10m@web" || true
    journal | tee "$TMP/said" | grep -i "hugepages" || { cat "$TMP/said"; return 1; }
}
claim "the service fails without them, and says what to do" fails_without
claim "the doctor's unit prepares the machine" guest 'systemctl start c10m-doctor@web'
claim "the service becomes active" starts web
active web || finish || exit 1
PID=$(property web MainPID)
claim "... as READY=1 comes, with its status" is web StatusText serving
claim "... as the user c10m" guest "grep -q \"^Uid:.\$(id -u c10m).\$(id -u c10m).\" /proc/$PID/status"
claim "a page is served" within 30 page
claim "the command finds the server" guest 'c10m cat version'
exposed_below_4() { guest "systemd-analyze security --no-pager c10m@web | tail -n 2" | tee "$TMP/said" | sed -n 's/.*exposure level for [^:]*: \([0-9.]*\) .*/\1/p' | awk '{ bad = $1 >= 4; n++ } END { exit bad || n != 1 }'; }
claim "systemd rates its exposure below 4" exposed_below_4

# ---- reload
edit '^drain_s = .*' 'drain_s = 2'
claim "a reload of a good file is done" guest 'systemctl reload c10m@web'
claim "... and takes effect" guest 'grep -qx "drain_s = 2" /run/c10m/proc/config'
edit '^drain_s = .*' 'drain_s = soon'
claim "a reload of a bad file fails" eval '! guest "systemctl reload c10m@web"'
claim "... the service is active, and serves" eval 'active web && page'
claim "... with what it had" guest 'grep -qx "drain_s = 2" /run/c10m/proc/config'
claim "... systemctl status shows the line" guest 'systemctl status --no-pager -l c10m@web | grep "web.conf:[0-9]*: .*drain_s"'
guest "kill -HUP $PID"
claim "the server's refusal has a priority in the journal" within 30 eval 'journal -p warning | grep "web.conf:[0-9]*: .*drain_s"'
claim "... and what is no warning has another" eval '! journal -p warning | grep "serving$" && journal -p info | grep "serving$"'
edit '^drain_s = .*' 'drain_s = 1'

# ---- logs
rotated() { guest "logrotate -f ${ETC%/*}/logrotate.d/c10m && test -s /var/log/c10m/web.log.1" && within 30 page && within 30 guest 'test -s /var/log/c10m/web.log'; }
claim "logrotate renames the access log, and the server begins another one" rotated
claim "... in the same process" is web MainPID "$PID"

# ---- it ends by itself, and is started again
again() { # PROCESS RESTARTS: after both of these, another process is active.
    within 200 eval '[ "$(property web NRestarts)" = $(('"$2"' + 1)) ] && active web >/dev/null' && [ "$(property web MainPID)" != "$1" ] && within 30 page
}
one_of_each() {
    guest 'grep -c /run/c10m /proc/mounts; grep " hugetlbfs .*c10m" /proc/mounts; ip -br link; ls /run/c10m /run/dpdk; ps -C c10m -o pid,args'
    [ "$(guest 'grep -c " /run/c10m/proc fuse" /proc/mounts; pgrep -xc c10m; ip -br link | grep -c c10m0' | tr '\n' ' ')" = "1 1 1 " ]
}
RESTARTS=$(property web NRestarts)
guest "kill -9 $PID"
claim "after kill -9 systemd starts it again" again "$PID" "$RESTARTS"
claim "... and nothing of the first one is left beside it" one_of_each
PID=$(property web MainPID)
guest "kill -STOP $PID"
claim "one that is stopped for longer than the watchdog allows is ended, and started again" again "$PID" $((RESTARTS + 1))
claim "... by the watchdog" eval 'guest "journalctl -u c10m@web --no-pager" | grep -i "watchdog timeout"'

# ---- stop
claim "the service stops" guest 'systemctl stop c10m@web'
claim "... in order" is web Result success
claim "... and leaves no mount, hugepage, interface or file" nothing_left

# ---- a worker that hangs
claim "an application of its own, by a drop-in of the unit: active" starts stall
guest "bash -c 'exec 3<>/dev/tcp/10.99.9.2/77; echo 60000 >&3; sleep 2'"
ended() { [ "$(property stall NRestarts)" -ge 1 ]; }
claim "a worker that hangs is a watchdog's timeout" within 120 ended
claim "... the status said where it hangs" eval 'guest "journalctl -u c10m@stall --no-pager -o cat" | grep "hangs in stage app of .*planted"'
claim "... and it is active again" within 120 active stall
claim "it stops" guest 'systemctl stop c10m@stall'
claim "... and leaves nothing" nothing_left

# ---- reboot
PORTS="[port nic0]
driver = pci
device = 0000:01:00.0
address = 10.99.0.2/24, fd99:0::2/64"
guest "cat >$ETC/web.conf <<'CONF'
$(service_conf)
CONF"
claim "the service and the doctor are enabled" guest 'systemctl enable c10m-doctor@web c10m@web'
reboots() {
    guest 'systemctl reboot --no-block'
    within 120 eval '! kill -0 $VM 2>/dev/null' && wait "$VM" && VM= && boots 1
}
claim "the machine reboots, with a NIC in the configuration" reboots
claim "the service is active again by itself" within 240 active web
claim "... the doctor bound the NIC, whose group in vfio is c10m's" guest '[ "$(basename "$(readlink /sys/bus/pci/devices/0000:01:00.0/driver)")" = vfio-pci ] && [ "$(stat -c %G /dev/vfio/[0-9]*)" = c10m ]'
claim "a page over the TAP interface" within 30 page
for a in 10.99.0.2 fd99:0::2; do
    claim "a page over the NIC, $a" within 60 eval "inside curl -sf -m 10 'http://$(host "$a")/' | grep -q hello"
done
claim "the journal has no error of this boot" eval '[ -z "$(journal -b -p err | tee /dev/stderr)" ]'
claim "the service stops" guest 'systemctl stop c10m@web'
claim "... and leaves nothing" nothing_left
finish
