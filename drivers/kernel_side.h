// SPDX-License-Identifier: BSD-3-Clause
// kernel_side.h: what DPDK 22.11 does not tell of an interface of the kernel: what is lost between
// it and a port's queues, by the kernel's own counters, which are read beside the device's; and the
// state of its link. Control thread only.
//
//   tap         lost to us: the interface's tx_dropped (the queue was full); of ours: rx_dropped
//   af_packet   lost to us: the sockets' PACKET_STATISTICS (the ring was full); of ours: tx_dropped
//   af_xdp      lost to us: XDP_STATISTICS' rx_ring_full (DPDK tells those without a buffer); of
//               ours: tx_dropped
//
// Not seen: what never came to the interface, as the frames that a veth's other end drops because
// this end is late: they are in that end's counters (ip -s link show PEER: TX dropped).
#pragma once
#include "pkt/port.h"

struct kernel_side;

// kernel_side_begin: before the device of params->device is opened: which sockets there are.
// sockets: AF_PACKET or AF_XDP, the family of those that it will open; 0: none counts.
struct kernel_side *kernel_side_begin(const struct port_params *params, int sockets);

// kernel_side_opened: the device is open: its sockets are those that are new, its interface begins
// at zero. ours_is_rx: the interface receives what the port sends (tap).
void kernel_side_opened(struct kernel_side *k, bool ours_is_rx);

// kernel_side_add: adds what was lost since then.
void kernel_side_add(struct kernel_side *k, struct port_stats *out);

// kernel_side_link: whether the interface that was opened is up, and if not, why. It is known by
// its index: another one of the same name is not that interface, and the port's sockets are not
// bound to it. Speed and duplex are left alone. False: the kernel does not tell.
bool kernel_side_link(const struct kernel_side *k, struct port_link *out);

// kernel_side_is_there: whether an interface of that name exists, which need not be the one that
// was opened.
bool kernel_side_is_there(const struct kernel_side *k);

// kernel_side_free: of NULL as well.
void kernel_side_free(struct kernel_side *k);
