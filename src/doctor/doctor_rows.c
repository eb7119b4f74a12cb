// SPDX-License-Identifier: BSD-3-Clause
// doctor_rows.c: the table of rows, in the order in which they are shown and mended: a module
// before the device that needs it, a free NIC before its driver.
//
// Figures are those of docs/performance.md (machines A and B there) or of the source that is named.
// A row without a figure says that nothing was measured.
#include "doctor/doctor_rows.h"

#define LOOK(name)      doctor_look_##name, NULL
#define LOOK_PLAN(name) doctor_look_##name, doctor_plan_##name

const struct doctor_row doctor_rows[] = {
    {"hugepages", "free hugepages of each size and NUMA node, against what the configuration needs",
     "Without enough free pages the server does not start. With pages of 4 KiB instead of 2 MiB a "
     "packet costs 1.3 to 1.6 times as many cycles (measured, 1 k to 10 M connections).",
     true, LOOK_PLAN(hugepages)},
    {"hugepages-boot", "hugepages that the next boot reserves",
     "Pages that were reserved by hand are gone after a reboot, and the server does not start. "
     "Later the memory is fragmented: pages of 1 GiB can be had reliably at boot only.",
     false, LOOK_PLAN(hugepages_boot)},
    {"thp", "transparent hugepages",
     "With `always` the kernel compacts memory to make pages for programs that did not ask for "
     "them, on any CPU. The server's own memory is in hugetlbfs and gains nothing. The loss was "
     "not measured.",
     false, LOOK_PLAN(thp)},
    {"iommu", "whether an IOMMU guards the memory from the NIC",
     "vfio-pci needs an IOMMU. Without one, uio_pci_generic can bind the NIC, but then the NIC, "
     "and so a fault of its driver, can write to all memory of the machine, and the device has no "
     "MSI-X interrupts.",
     false, LOOK(iommu)},
    {"vfio",
     "the kernel's module that gives a NIC to a process, and who else is in its IOMMU group",
     "A NIC is reached through vfio-pci or uio_pci_generic. vfio refuses a NIC while Linux uses "
     "another device of its IOMMU group.",
     false, LOOK_PLAN(vfio)},
    {"nic-free", "whether Linux can do without the NICs: default route, ssh, addresses",
     "A NIC that is bound for the server is gone from Linux: its interface, its addresses and "
     "every connection over it. Of the one that carries the default route or the present session "
     "only --force lets go.",
     false, LOOK(nic_free)},
    {"nic-driver", "the driver that each NIC of the configuration is bound to",
     "A port of driver pci opens only a NIC that is bound to vfio-pci, uio_pci_generic or igb_uio "
     "(or one whose DPDK driver works beside the kernel's, as mlx5).",
     true, LOOK_PLAN(nic_driver)},
    {"nic-boot", "whether the NICs are bound to that driver after a reboot",
     "A reboot gives the NIC back to the kernel's driver, and the server does not start.", false,
     LOOK_PLAN(nic_boot)},
    {"isolation", "isolcpus, nohz_full and rcu_nocbs of the workers' CPUs",
     "A worker polls without pause. What Linux schedules on its CPU stops it: a context switch "
     "takes 2.9 us, the time of 29 packets at 10 M packets/s. Of 69 stalls longer than 100 us in 4 "
     "s on a busy machine, 44 were preemption and steal (measured).",
     false, LOOK(isolation)},
    {"siblings", "hyper-threads that share a core with a worker",
     "Two hyper-threads share the execution units and caches of a core: whatever runs on the "
     "sibling takes from the worker. How much was not measured.",
     false, LOOK_PLAN(siblings)},
    {"irq-affinity", "interrupts that may run on the workers' CPUs",
     "An interrupt takes the CPU from the worker in the middle of a burst; `c10m cat "
     "cores/N/stalls` shows those longer than 100 us with the cause `interrupt`.",
     false, LOOK_PLAN(irq_affinity)},
    {"workqueues", "work of the kernel (kworker) that may run on the workers' CPUs",
     "A kworker takes the CPU from the worker: two context switches of 2.9 us (measured) and its "
     "own time.",
     false, LOOK_PLAN(workqueues)},
    {"irqbalance", "whether irqbalance moves interrupts to the workers' CPUs",
     "irqbalance writes the affinity of every interrupt again, every ten seconds by default, and "
     "undoes the row irq-affinity unless the CPUs are banned.",
     false, LOOK_PLAN(irqbalance)},
    {"governor", "cpufreq governor of the workers' CPUs",
     "A governor that saves power lowers the clock between bursts. The cycles of a packet stay "
     "the same, so its time grows as the clock falls. The loss was not measured.",
     false, LOOK_PLAN(governor)},
    {"cstates", "idle states of the workers' CPUs with a long way back",
     "A worker that polls never idles, so a deep state costs it nothing while it runs. It costs "
     "its latency, as the kernel states it, when a CPU is woken: at start, wherever workers share "
     "a CPU with Linux, and with [cpu] idle = interrupt for the first packet after a silence.",
     false, LOOK_PLAN(cstates)},
    {"idle", "what workers do without work: [cpu] idle, and whether the ports allow it",
     "A worker that polls takes a whole core. One that sleeps takes a part of it, and its first "
     "packet waits until Linux has woken it: docs/idle.md has figures.",
     false, LOOK(idle)},
    {"numa", "NUMA node of the NICs, the workers and their memory",
     "Every packet crosses to the other node and back if NIC, worker and memory are apart. A load "
     "from the memory of one node took 172 ns here (measured); from another node it takes longer, "
     "which was not measured.",
     false, LOOK(numa)},
    {"pcie", "width and speed of each NIC's PCIe link, against what it can do",
     "A lane carries 2 Gb/s at 2.5 GT/s, 4 at 5 GT/s, 7.9 at 8 GT/s in each direction (PCI "
     "Express Base Specification, after coding). Two ports of 10 Gb/s need 20 Gb/s and the "
     "descriptors: x8 at 5 GT/s, as the 82599 has it, but not x4.",
     false, LOOK(pcie)},
    {"queues", "queues of each port, against the number of workers",
     "A worker without a queue gets its packets from another worker: 50 to 100 cycles more for "
     "each (measured, where a packet takes 246 on 1 k connections and 1,095 on 10 M).",
     false, LOOK(queues)},
    {"memlock", "limit of locked memory",
     "vfio counts all memory that the NIC reaches as locked. A process that is not root and has "
     "too low a limit cannot map its packets for the NIC.",
     false, LOOK(memlock)},
    {"nofile", "limit of open files",
     "The control interfaces, the sockets and timers of the drivers and the agent's clients are "
     "open files. At the limit a client is refused, or a port cannot be opened.",
     false, LOOK(nofile)},
    {"user", "whether the user of [control] user is there",
     "A server that root started becomes this user before it reads the first byte from anybody. "
     "With `auto` and without a user c10m it stays root, and so does whoever finds a fault in it.",
     true, LOOK(user)},
    {"capabilities", "rights of root that the drivers and hugepages of the configuration need",
     "An interface, a mount or a socket that the kernel refuses is an error at the start. Without "
     "root: port key attach = on with driver tap, and hugepage = none.",
     false, LOOK(capabilities)},
    {"confinement", "seccomp and Landlock, and AppArmor and SELinux",
     "The filter of system calls ends a server that does what it never does, and Landlock keeps it "
     "from files of others: both limit what a fault can do. Other modules of the kernel may refuse "
     "what the server needs.",
     false, LOOK(confinement)},
    {"cores-taken", "other DPDK programs, and other servers, on the workers' CPUs",
     "Two programs that poll on one CPU get half of it each, and packets wait for whole slices of "
     "the scheduler. How much was not measured.",
     true, LOOK(cores_taken)},
    {"device-taken", "other programs that hold a NIC of the configuration",
     "A NIC belongs to one process: the second one cannot open it.", true, LOOK(device_taken)},
};

const unsigned doctor_n_rows = ARRAY_LEN(doctor_rows);
