# image.sh: QEMU, a kernel of Debian and an initramfs with c10m in it. Sourced after scripts/lib.sh by scripts/nicbox and
# tests/guest. The kernel and busybox are unpacked into a folder and not installed.

GUEST_SCRIPTS=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# guest_apt FOLDER COMMAND...: apt with the machine's mirror of Debian and its backports, of which only QEMU and its
# firmware are taken. Lists, sources and preferences are in FOLDER: the machine's own stay as they are.
guest_apt() {
    local apt=$1
    shift
    DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$apt/sources" \
        -o Dir::State::Lists="$apt/lists" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= \
        -o Dir::Etc::Preferences="$apt/preferences" -o Dir::Etc::PreferencesParts=/dev/null \
        -o APT::Sandbox::User=root -o Acquire::Languages=none "$@"
}

# guest_mirror: the one from which the machine's apt takes bookworm.
guest_mirror() {
    local mirror
    mirror=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(COMPONENT)' 'Created-By: Packages' |
        awk '$2 == "bookworm" && $3 == "main" { print $1; exit }')
    [ -n "$mirror" ] || { echo "apt's sources name no mirror of Debian 12 (bookworm)" >&2; return 1; }
    echo "$mirror"
}

# guest_sources FOLDER: of that mirror.
guest_sources() {
    local apt=$1 mirror suite
    mkdir -p "$apt/sources" "$apt/lists/partial"
    mirror=$(guest_mirror)
    for suite in bookworm bookworm-updates bookworm-backports; do
        echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main"
    done >"$apt/sources/guest.list"
    printf '%s\n' 'Package: src:qemu src:seabios src:ipxe' 'Pin: release n=bookworm-backports' 'Pin-Priority: 990' >"$apt/preferences"
    guest_apt "$apt" update
}

qemu_version() { qemu-system-x86_64 --version 2>/dev/null | sed -n 's/^QEMU emulator version \([0-9]*\).*/\1/p'; }

# guest_packages FOLDER: installs QEMU 9 or newer (`igb` came with 8) and what else is missing, and unpacks the kernel and
# busybox into FOLDER/root. What is there is used again.
guest_packages() {
    local folder=$1 apt=$1/apt kernel
    install_packages "$GUEST_SCRIPTS/../packages.guest"
    [ "$(qemu_version || true)" -ge 9 ] 2>/dev/null && [ -e "$folder/root/bin/busybox" ] && return
    mkdir -p "$folder/debs"
    guest_sources "$apt"
    if ! [ "$(qemu_version || true)" -ge 9 ] 2>/dev/null; then
        say "installing QEMU 10 from the backports of Debian 12"
        guest_apt "$apt" install -y --no-install-recommends qemu-system-x86 >/dev/null
    fi
    # The cloud kernel has vfio and uio and is 27 MB; no driver of its own claims an Intel NIC.
    kernel=$(guest_apt "$apt" install -s linux-image-cloud-amd64/bookworm | sed -n 's/^Inst \(linux-image-[0-9][^ ]*\) .*/\1/p')
    (cd "$folder/debs" && guest_apt "$apt" download "${kernel:-linux-image-cloud-amd64}" busybox-static)
    rm -rf "$folder/root"
    for deb in "$folder"/debs/*.deb; do dpkg-deb -x "$deb" "$folder/root.new"; done
    mv "$folder/root.new" "$folder/root"
    rm -rf "$folder/debs" "$apt"
}

# What a guest with systemd has: a service manager, what the Debian package of c10m depends on, and the libraries of the program.
GUEST_SYSTEM_PACKAGES="systemd systemd-sysv udev dbus kmod logrotate iproute2 procps libgcc-s1 libcap2 libdw1 libfuse3-3 libjansson4
    libmicrohttpd12 libmnl0 libncurses6 libnuma1 libpcap0.8 libseccomp2 zlib1g
    $(sed -n '/^Package: c10m$/,/^Package: libc10m-dev$/ { /^Recommends:/d; s/^.*[ :]\(fuse3\|librte-[a-z0-9-]*\),.*/\1/p }' \
    "$GUEST_SCRIPTS/../../debian/control" | tr '\n' ' ') librte-bpf23 librte-gro23 librte-hash23 librte-telemetry23 librte-timer23"

# guest_system FOLDER: FOLDER/system.tar, a small Debian 12 with systemd. What is there is used again.
guest_system() {
    local folder=$1 packages mirror
    packages=$(tr -s ' \n' ',,' <<<"$GUEST_SYSTEM_PACKAGES")
    [ -e "$folder/system.tar" ] && [ "$(cat "$folder/system.packages")" = "$packages" ] && return
    say "making a Debian 12 with systemd for a guest"
    mirror=$(guest_mirror)
    mmdebstrap --quiet --variant=minbase --include="${packages%,}" --aptopt='APT::Install-Recommends "false"' \
        --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
        bookworm "$folder/system.new.tar" "deb $mirror bookworm main"
    mv "$folder/system.new.tar" "$folder/system.tar"
    echo "$packages" >"$folder/system.packages"
}

guest_kernel() { ls "$1"/root/boot/vmlinuz-*; }

# DPDK's plugins and the kernel's modules that the guest gets; the modules in the order of loading. A test adds more of them, and
# programs of this machine (GUEST_MORE_PROGRAMS), which are in /usr/sbin.
GUEST_PLUGINS="bus_pci bus_vdev mempool_ring net_e1000 net_virtio net_vmxnet3 net_null net_ring ${GUEST_MORE_PLUGINS:-}"
GUEST_MODULES="fuse irqbypass vfio vfio_virqfd vfio_iommu_type1 vfio-pci-core vfio-pci uio uio_pci_generic ${GUEST_MORE_MODULES:-}"

# copy_library TREE PATH...: the file at its own place, and a link where the loader looks. EAL panics if it loads a plugin
# a second time as another file.
copy_library() {
    local tree=$1 path file
    shift
    for path in "$@"; do
        path=$(realpath -sm "$path")
        file=$(readlink -f "$path")
        [ -e "$tree$file" ] || install -D "$file" "$tree$file"
        [ -e "$tree$path" ] || { mkdir -p "$tree$(dirname "$path")"; ln -s "$file" "$tree$path"; }
    done
}
needed_by() { ldd "$@" | awk '$2 == "=>" && $3 ~ /^\// { print $3 } $1 ~ /^\// && NF == 2 { print $1 }' | sort -u; }

# guest_initramfs FOLDER C10M RUN: RUN/initramfs.gz from FOLDER/root, the program, its libraries and plugins.
guest_initramfs() {
    local folder=$1 c10m=$2 run=$3 tree=$3/tree libraries plugin module path
    mkdir -p "$tree"/{bin,dev,proc,sys,tmp,run/lock,etc,root,modules,var/log,usr/lib,usr/lib64}
    ln -s usr/lib usr/lib64 "$tree/"
    install "$folder/root/bin/busybox" "$c10m" "$tree/bin/"
    install "$GUEST_SCRIPTS/init" "$tree/init"
    install "$GUEST_SCRIPTS/agent" "$tree/bin/"
    for module in $GUEST_MODULES; do
        find "$folder/root/lib/modules" -name "$module.ko" -exec cp {} "$tree/modules/" \;
        echo "$module" >>"$tree/modules/order"
    done
    for path in ${GUEST_MORE_PROGRAMS:-}; do
        path=$(command -v "$path") || return 1
        install -D "$(readlink -f "$path")" "$tree/usr/sbin/${path##*/}"
        copy_library "$tree" $(needed_by "$path")
    done
    libraries=$(pkg-config --variable=libdir libdpdk)
    for plugin in $GUEST_PLUGINS; do
        for path in "$libraries"/dpdk/pmds-*/librte_"$plugin".so*; do copy_library "$tree" "$path"; done
    done
    # libgcc_s is loaded by name when a thread ends.
    copy_library "$tree" $(needed_by "$c10m" "$libraries"/dpdk/pmds-*/librte_net_{e1000,virtio,vmxnet3}.so) "$(gcc -print-file-name=libgcc_s.so.1)"
    (cd "$tree" && find . | bin/busybox cpio -o -H newc 2>/dev/null | gzip -1) >"$run/initramfs.gz"
    rm -rf "$tree"
}
