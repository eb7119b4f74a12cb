// SPDX-License-Identifier: BSD-3-Clause
// driver_table.h: the table of drivers. From the row of a driver follow:
//   - the file that is compiled, drivers/NAME.c (drivers/meson.build reads the names of the rows);
//   - the functions that open and check a port, NAME_open and NAME_check (drivers/port_table.c);
//   - whether [port NAME] driver takes the name, which keys the driver has, how `device` is checked
//     (src/conf), and the help of `driver`;
//   - the memory that is reserved for its ports.
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum driver_kind {
    DRIVER_LINK,      // a port with a link of its own
    DRIVER_WRAPPER,   // a port around another port, which `wraps` names
    DRIVER_SUBPORT,   // a port on the link of another port, which `parent` names and which stays
    DRIVER_GROUP,     // a port over several ports, which `members` names
    DRIVER_INTERNAL,  // only the server itself opens such ports: no configuration names the driver
};

// What the key `device` of such a port names.
enum driver_device {
    DEVICE_NONE,       // there is no device
    DEVICE_INTERFACE,  // a network interface of the kernel
    DEVICE_PCI,        // a PCI address, or one of DPDK's own devices
    DEVICE_SOCKET,     // the path of a unix socket
    DEVICE_CAPTURE,    // the capture to replay; the key `capture` names the one to write
};

// X(NAME, KIND, DEVICE, PORT_KIB, QUEUE_KIB, RX_HELD, TX_HELD, AT_LEAST, HELP). Each row begins a
// line.
//
// PORT_KIB and QUEUE_KIB: what a port, and each of its queues, takes of DPDK's memory, with a
// margin. Measured with DPDK 22.11: tap 1,520 and 20 (it has a pool of its own), the other virtual
// devices at most 360 and 35. For `pci` nothing could be measured; two rings of 4,096 descriptors
// and the driver's state for each descriptor are 0.3 to 0.5 MiB a queue.
//
// RX_HELD and TX_HELD: packets of the worker's pool that a receive and a transmit queue can hold
// while rx_ring and tx_ring are auto. 0: the driver copies, and holds none whatever the ring.
// AT_LEAST 1: it holds as many with smaller rings, too. DPDK 22.11's af_xdp gives the kernel 2,048
// buffers for any rx_ring, and ignores tx_ring (rte_eth_af_xdp.c, xsk_configure()).
#define DRIVER_TABLE(X)                                                                            \
    X(ring, LINK, NONE, 0, 0, 1024, 0, 0,                                                          \
      "a wire in memory; both of its ends are in this process")                                    \
    X(tap, LINK, INTERFACE, 2048, 64, 1024, 0, 0, "a TAP interface, which c10m creates")           \
    X(af_packet, LINK, INTERFACE, 512, 64, 0, 0, 0, "a kernel interface, by AF_PACKET sockets")    \
    X(af_xdp, LINK, INTERFACE, 512, 64, 2048, 2048, 1, "a kernel interface, by AF_XDP sockets")    \
    X(memif, LINK, SOCKET, 0, 0, 0, 0, 0, "shared memory with another process on this host")       \
    X(pci, LINK, PCI, 8192, 1024, 1024, 1024, 0, "a NIC, by DPDK's driver for it")                 \
    X(pcap, LINK, CAPTURE, 512, 64, 0, 0, 0, "replays a capture and writes another one")           \
    X(fault, WRAPPER, NONE, 0, 0, 0, 0, 0, "wraps another port and makes faults on it")            \
    X(vlan, SUBPORT, NONE, 0, 0, 64, 0, 0, "a VLAN on the link of another port (IEEE 802.1Q)")     \
    X(bond, GROUP, NONE, 0, 0, 0, 0, 0, "several ports as one: active-backup, or LACP")            \
    X(loop, INTERNAL, NONE, 0, 0, 0, 0, 0, "returns every packet to its sender")

struct driver {
    const char *name;
    enum driver_kind kind;
    enum driver_device device;
    uint32_t port_kib, queue_kib;
    uint32_t rx_held, tx_held;
    bool at_least;
};

enum {
#define DRIVER_PLUS(...) +1
    DRIVER_COUNT = DRIVER_TABLE(DRIVER_PLUS)
#undef DRIVER_PLUS
};

extern const struct driver driver_rows[DRIVER_COUNT];

// driver_held: packets of the worker's pool that a queue of each direction of that driver can hold,
// with rings of these sizes (0: auto).
uint32_t driver_held(const struct driver *d, uint32_t rx_ring, uint32_t tx_ring);

// driver_find: the row of that name, or NULL (also for the name NULL).
const struct driver *driver_find(const char *name);

// driver_wraps: whether a port of that driver is around another port. No such driver: false.
bool driver_wraps(const char *name);

// driver_has_parent: whether a port of that driver is on the link of another port. No such driver:
// false.
bool driver_has_parent(const char *name);

// driver_has_members: whether a port of that driver is over several ports. driver_may_join: whether
// it may be one of those: it has a link of its own, and tells of it. No such driver: false.
bool driver_has_members(const char *name);
bool driver_may_join(const char *name);

// driver_device: what the device of such a port is. No such driver: DEVICE_NONE.
enum driver_device driver_device(const char *name);
