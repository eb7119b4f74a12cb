# system.bash: sourced instead of lib.sh: a Debian 12 on a disk, which systemd boots in a guest, with an agent that runs what the test
# says; and claims about instances of c10m@.service in it.
GUEST_MORE_MODULES="virtio virtio_ring virtio_pci_legacy_dev virtio_pci_modern_dev virtio_pci virtio_blk"
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[ -e "$IMAGE/system.tar" ] || { echo "SKIPPED: no system.tar in $IMAGE: scripts/nicbox --install $IMAGE"; exit 77; }
command -v mke2fs >/dev/null || { echo "SKIPPED: no mke2fs"; exit 77; }
SYSTEM=$TMP/system

modules() {
    local from to
    from=$(echo "$IMAGE"/root/lib/modules/*)
    to=$SYSTEM/lib/modules/${from##*/}
    mkdir -p "$to/kernel" && cp "$from"/modules.{builtin,builtin.modinfo,order} "$to" || return 1
    (cd "$from" && find . -regex '.*/\(tun\|fuse\|autofs4\|vfio[a-z0-9_-]*\|irqbypass\|uio[a-z_]*\).ko' -exec cp --parents -t "$to" {} +) &&
        depmod -b "$SYSTEM" "${from##*/}"
}
agent_unit() {
    install "$GUEST_SCRIPTS/agent" "$SYSTEM/usr/local/sbin/guest-agent"
    cat >"$SYSTEM/etc/systemd/system/guest-agent.service" <<'UNIT'
[Unit]
Description=Runs what the test says
After=basic.target
[Service]
ExecStart=/usr/local/sbin/guest-agent
[Install]
WantedBy=multi-user.target
UNIT
    systemctl --root="$SYSTEM" --quiet enable guest-agent.service
}
# system_files: what is in the archive, in $SYSTEM.
system_files() {
    mkdir "$SYSTEM" && tar -C "$SYSTEM" -xf "$IMAGE/system.tar" && modules && agent_unit || return 1
    systemctl --root="$SYSTEM" --quiet mask serial-getty@ttyS0.service getty@tty1.service apt-daily.timer apt-daily-upgrade.timer e2scrub_all.timer fstrim.timer
    echo /dev/vda / ext4 defaults 0 0 >"$SYSTEM/etc/fstab"
    echo guest >"$SYSTEM/etc/hostname"
    : >"$SYSTEM/etc/machine-id"
    mkdir -p "$SYSTEM/srv/site" "$SYSTEM/var/log/journal" && echo '<h1>hello</h1>' >"$SYSTEM/srv/site/index.html"
}
system_disk() { mke2fs -q -t ext4 -E lazy_itable_init=1,root_owner=0:0 -d "$SYSTEM" "$TMP/disk" 1500M && rm -rf "$SYSTEM"; }

# boots NICS: the disk.
boots() {
    VM_PAGES=0 VM_BOOT="guest.disk systemd.show_status=0" boot igb "$1" -drive "file=$TMP/disk,if=none,id=disk,format=raw,cache=unsafe" -device virtio-blk-pci,drive=disk
}
no_failed_unit() { [ -z "$(guest "systemctl --failed --plain --no-legend" | tee /dev/stderr)" ]; }
guest_says() { says "$1" "$2" guest "$3"; }
property() { guest "systemctl show -P $2 c10m@$1"; }
is() { local got; got=$(property "$1" "$2"); [ "$got" = "$3" ] || { echo "$2=$got"; guest "systemctl status --no-pager -l c10m@$1; journalctl -u c10m@$1 -n 20 --no-pager"; return 1; }; }
active() { is "$1" ActiveState active; }
# page: of the server in the guest, at $AT.
page() {
    guest 'timeout 20 bash -c "exec 3<>/dev/tcp/'"$AT"'/80; printf \"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n\" >&3; cat <&3"' >"$TMP/page" 2>&1
    grep '<h1>hello' "$TMP/page" || { cat "$TMP/page"; return 1; }
}
starts() { guest "systemctl start c10m@$1" && active "$1" || { guest "journalctl -u c10m@$1 -n 12 --no-pager -o cat; grep Huge /proc/meminfo"; return 1; }; }
# nothing_left: of servers that have stopped.
nothing_left() {
    guest '! grep -E "/run/c10m|c10m.*hugetlbfs|hugetlbfs.*c10m" /proc/mounts && ! ip link show c10m0 2>/dev/null && [ -z "$(ls -A /run/c10m | grep -vx dpdk)" ] && ! pgrep -l c10m &&
        [ "$(awk "/HugePages_Free/ { print \$2 }" /proc/meminfo)" = "$(awk "/HugePages_Total/ { print \$2 }" /proc/meminfo)" ] && ! ls /dev/hugepages/*c10m* 2>/dev/null && ! ls -d /run/dpdk/*/config 2>/dev/null' && return
    guest 'grep -E "c10m|hugetlbfs" /proc/mounts; grep Huge /proc/meminfo; ls -la /run/c10m /run/dpdk /dev/hugepages; ps ax | grep c10m'
    return 1
}
