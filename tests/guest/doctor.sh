#!/usr/bin/env bash
# doctor.sh C10M FOLDER: `c10m doctor` on a machine of its own: a kernel with its own driver for two NICs, an IOMMU and vfio. One
# NIC carries the default route; the other one is bound, serves, and is given back.
GUEST_MORE_MODULES="virtio virtio_ring virtio_pci_legacy_dev virtio_pci_modern_dev virtio_pci failover net_failover virtio_net"
. "$(dirname "$0")/lib.sh"
# As the row isolation wants it: Linux leaves CPU 1 out of the affinity of every process, and the worker runs there all the same.
VM_BOOT="guest.bind=none isolcpus=managed_irq,domain,1 nohz_full=1 rcu_nocbs=1"
claim "a guest whose kernel has both NICs boots" boot virtio 2
finish || exit 1

guest_says() { says "$1" "$2" guest "$3"; }
driver_is() { guest_says 0 "/$2\$" "readlink /sys/bus/pci/devices/0000:0$1:00.0/driver"; }
has_interface() { guest "ls -d /sys/bus/pci/devices/0000:0$1:00.0/virtio*/net/*"; }
conf() { guest "cat >/tmp/conf$1 <<'CONF'
$(write_guest_conf 1 | sed "s/0000:01:00.0/0000:0$1:00.0/")
CONF
"; }
# What the doctor may change, as it is now; of the interrupts only those that are there before and after: those of a NIC go with its
# driver.
state() {
    guest 'cd /; for f in /proc/irq/default_smp_affinity $(find /sys/devices/virtual/workqueue -name cpumask) \
        $(find /sys/devices/system/node /sys/kernel/mm -name nr_hugepages) /sys/kernel/mm/transparent_hugepage/enabled \
        /sys/bus/pci/devices/*/driver_override; do [ ! -e "$f" ] || echo "$f $(cat "$f")"; done
        for d in /sys/bus/pci/devices/*; do echo "$d $(readlink "$d/driver")"; done; find /etc /var/lib/c10m 2>&1; true'
}
interrupts() { guest 'for f in /proc/irq/*/smp_affinity_list; do echo "$f $(cat "$f")"; done' | sort; }
is_as_before() {
    state >"$TMP/after" 2>&1
    diff "$TMP/before" "$TMP/after" || return 1
    interrupts >"$TMP/irqs_after"
    join "$TMP/irqs" "$TMP/irqs_after" | awk '$2 != $3 { print; bad = 1 } END { exit bad }'
}

conf 1
ADDRESS="address = 10.99.1.2/24" conf 2
claim "the first NIC carries the default route" guest 'i=$(ls /sys/bus/pci/devices/0000:01:00.0/virtio*/net) && ip link set "$i" up &&
    ip addr add 10.99.0.2/24 dev "$i" && ip route add default via 10.99.0.1'
state >"$TMP/before" 2>&1
interrupts >"$TMP/irqs"
claim "the doctor refuses that one" guest_says 1 "fail +nic-free .*0000:01:00.0 .* carries the default route" "c10m doctor check -c /tmp/conf1"
claim "... and does not bind it" guest_says 1 "nic-driver fails" "c10m doctor fix -c /tmp/conf1 nic-driver nic-free"
claim "... so that the kernel keeps it" driver_is 1 virtio-pci
claim "the other one may be bound" guest_says 0 "^ok +nic-free" "c10m doctor check -c /tmp/conf2 nic-free"
claim "serve does not start on it yet" guest_says 1 "this machine: nic-driver: .*c10m doctor explain nic-driver" "c10m serve -c /tmp/conf2"
claim "a fix makes everything good that stops a server" guest_says 0 "driver and override" "c10m doctor fix -c /tmp/conf2"
claim "... and binds the NIC" driver_is 2 vfio-pci
claim "... and not the other one" driver_is 1 virtio-pci
claim "nothing fails" guest_says 0 ", 0 failed" "c10m doctor check -c /tmp/conf2"
serve_it() { guest 'setsid c10m serve -c /tmp/conf2 >/tmp/log 2>&1 & echo $! >/tmp/pid
for i in $(seq 600); do grep -q "serving\$" /tmp/log && exit 0; kill -0 $(cat /tmp/pid) || break; usleep 200000; done; cat /tmp/log; exit 1'; }
claim "a server starts on it" serve_it
claim "... and answers" pings 10.99.1.2
claim "the doctor sees that the NIC is the server's own" guest_says 0 "^ok +device-taken .*holds /dev/vfio/" "c10m doctor check -c /tmp/conf2 device-taken cores-taken hugepages"
claim "... and that another one could not have it" guest_says 1 "^fail +device-taken .*holds /dev/vfio/" "c10m doctor check -c /tmp/conf2 -s control.run_dir=/run/other device-taken"
claim "the server stops" stop
claim "undo gives the NIC back" guest_says 0 "vfio-pci vfio-pci -> virtio-pci -" "c10m doctor undo"
claim "... to its driver" driver_is 2 virtio-pci
claim "... with its interface" has_interface 2
claim "everything is as it was" is_as_before
for i in 1 2 3 4 5 6; do
    guest "c10m doctor fix -c /tmp/conf2 >/dev/null 2>&1 & usleep $((i * i * 20000)); kill -9 \$! 2>/dev/null; true"
    claim "kill number $i: undo" guest "c10m doctor undo"
    claim "... everything is as it was" is_as_before
done
finish
