#!/usr/bin/env bash
# faults.sh C10M FOLDER: what an operator meets with a NIC that is not as it should be: each start says why it fails and what to do.
. "$(dirname "$0")/lib.sh"
says() { [[ $1 == *"$2"* ]] || { echo "not found: $2"; echo "in: $1"; return 1; }; }

# A virtio device that does not translate its addresses by the IOMMU never answers on its control queue.
claim "virtio without ACCESS_PLATFORM behind vfio: a guest boots" boot virtio-noiommu 1
finish || exit 1
hangs() {
    local out
    out=$(start 1 "open_ms = 3000") && return 1
    says "$out" "opening port nic0: device 0000:01:00.0, driver net_virtio" &&
        says "$out" "error: port nic0: device 0000:01:00.0, driver net_virtio" &&
        says "$out" "iommu_platform=on" && says "$out" "has not returned for 3000 ms"
}
claim "... the start ends, and names the port, the driver and the remedy" hangs
claim "... a second start too" hangs
claim "... what is left behind goes with c10m clean" guest 'c10m clean -c /tmp/conf; grep HugePages_Free /proc/meminfo; grep -q "HugePages_Free: *256$" /proc/meminfo'

claim "virtio that cannot be told which frames to take: a guest boots" boot virtio-bare 1
loses_groups() {
    start 1 || return 1
    says "$(guest 'cat /tmp/log')" "port nic0: the device may lose multicast frames" &&
        [ "$(port allmulticast driver) $(port promiscuous driver)" = "0 0" ]
}
claim "... the server starts, warns, and its tree says so" loses_groups
claim "... and stops" stop

VM_IOMMU=no VM_BOOT=guest.bind=none
claim "no IOMMU: a guest boots" boot igb 1
refuses() {
    local out
    out=$(start 1) && return 1
    says "$out" "0000:01:00.0 is bound to no driver" && says "$out" "c10m doctor fix nic-driver" || return 1
    out=$(guest 'c10m doctor check -c /tmp/conf') || true
    says "$out" "uio_pci_generic"
}
claim "... the start points to the doctor, which offers uio_pci_generic" refuses
claim "... because vfio-pci does not take the device" eval '! guest "bind vfio-pci 0000:01:00.0"'
claim "... which uio_pci_generic does" guest 'bind uio_pci_generic 0000:01:00.0'
claim "... and the server starts" start 2 "queues = 2"
for a in 10.99.0.2 fd99:0::2; do
    claim "... $a: 10 MB arrive exactly" download "$a"
done
claim "... and stops" stop
finish
