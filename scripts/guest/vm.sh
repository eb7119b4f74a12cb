# vm.sh: a guest of QEMU with a NIC, whose wire is a TAP in a network namespace. Sourced after image.sh. QEMU emulates the
# CPU as well (TCG), so that no KVM is needed.

# vm_nic MODEL: what follows -device.
vm_nic() {
    case $1 in
    igb | e1000e | vmxnet3) echo "$1" ;;
    virtio) echo virtio-net-pci,disable-legacy=on,iommu_platform=on,mq=on,rss=on,vectors=10 ;;
    # For tests: one that cannot be told which frames to take, one that bypasses the IOMMU.
    virtio-bare) echo virtio-net-pci,disable-legacy=on,iommu_platform=on,mq=on,vectors=10,ctrl_rx=off ;;
    virtio-noiommu) echo virtio-net-pci,disable-legacy=on,mq=on,vectors=10 ;;
    *) echo "no NIC model $1: igb, e1000e, virtio or vmxnet3 was expected" >&2; return 1 ;;
    esac
}

# vm_wires MODEL NIC: -netdev and -device of NIC number NIC, on TAP nicN, a line each. The wire of a modeled chip carries whole
# frames with filled checksums, as a cable would; that of virtio carries what virtio's peer left to the device.
vm_wires() {
    local model=$1 n=$2 tap=vnet_hdr=off
    case $model in virtio*) tap=vnet_hdr=on,queues=4 ;; esac
    printf '%s\n' -netdev "tap,id=wire$n,ifname=nic$n,script=no,downscript=no,$tap" \
        -device "pcie-root-port,id=slot$n,slot=$((n + 1)),chassis=$((n + 1))" \
        -device "$(vm_device "$model" "$n")"
}
# vm_device MODEL NIC: what follows -device, or device_add in the monitor, for NIC number NIC in its slot.
vm_device() { echo "$(vm_nic "$1"),netdev=wire$2,bus=slot$2,id=nic$2,mac=52:54:00:c1:0a:0$2"; }

# vm_start FOLDER NAMESPACE RUN MODEL NICS [OPTION...]: starts a guest of the image in FOLDER; RUN gets its sockets "agent" and
# "monitor" and the file "console". The options go to QEMU. VM is its process, which dies with this shell.
#   VM_IOMMU=no   without the emulated IOMMU of Intel
#   VM_BOOT       words for scripts/guest/init
#   VM_PAGES      hugepages of 2 MiB that the kernel reserves, instead of 256
#   VM_SERIAL     where the console goes, instead of into the file
vm_start() {
    local folder=$1 namespace=$2 run=$3 model=$4 nics=$5 i args=() boot
    shift 5
    boot="console=ttyS0 quiet no_timer_check panic=-1 hugepages=${VM_PAGES-256} guest.agent ${VM_BOOT:-}"
    if [ "${VM_IOMMU:-yes}" = yes ]; then
        args+=(-device intel-iommu,intremap=on,caching-mode=on)
        boot+=" intel_iommu=on iommu=pt"
    fi
    for ((i = 0; i < nics; i++)); do mapfile -t -O ${#args[@]} args < <(vm_wires "$model" "$i"); done
    [ "${VM_SERIAL:-}" = stdio ] || args+=(-display none)
    setpriv --pdeathsig KILL nsenter --net=/run/netns/"$namespace" qemu-system-x86_64 -machine q35,kernel-irqchip=split \
        -accel tcg,thread=multi -cpu max -smp 2 -m 1200 -nodefaults -nographic -no-reboot \
        -kernel "$(guest_kernel "$folder")" -initrd "$run/initramfs.gz" -append "$boot" \
        -serial "${VM_SERIAL:-file:$run/console}" -serial "unix:$run/agent,server=on,wait=off" \
        -monitor "unix:$run/monitor,server=on,wait=off" "${args[@]}" "$@" &
    VM=$!
}

vm_run=
# vm_ready RUN: waits for the guest's agent.
vm_ready() {
    local i
    vm_run=$1
    for ((i = 0; i < 1200; i++)); do
        [ -S "$1/agent" ] && grep -qs 'guest: ready' "$1/console" && return 0
        kill -0 "$VM" 2>/dev/null || break
        sleep 0.25
    done
    tail -n 20 "$1/console"
    return 1
}
# vm_stalled: whether a CPU of the guest gets no interrupts of its timer any more, which happens under TCG: what sleeps there
# never wakes up.
VM_STALL='Possible timer handling issue'
vm_stalled() { grep -qs "$VM_STALL" "$vm_run/console"; }
# vm_silent: whether the guest has not answered a command, or QEMU's monitor; then no later one is answered either.
vm_silent() { [ -e "$vm_run/agent.silent" ] || [ -e "$vm_run/monitor.silent" ]; }
guest() {
    ! vm_silent || { echo "the guest does not answer"; return 1; }
    ! vm_stalled || { echo "a CPU of the guest has no timer any more"; return 1; }
    "$GUEST_SCRIPTS/say" agent "$vm_run/agent" "$*" "$vm_run/console" "$VM_STALL"
}
monitor() { "$GUEST_SCRIPTS/say" monitor "$vm_run/monitor" "$*"; }

# vm_taps NAMESPACE NICS: the wires' ends get 10.99.N.1/24 and fd99:N::1/64.
vm_taps() {
    local n
    for ((n = 0; n < $2; n++)); do
        nsenter --net=/run/netns/"$1" sh -c "ip addr add 10.99.$n.1/24 dev nic$n; ip addr add fd99:$n::1/64 dev nic$n nodad
            ip link set nic$n up"
    done
}
