// SPDX-License-Identifier: BSD-3-Clause
// kernel_side.h: what DPDK 22.11 does not report about a kernel interface: the frames that are lost
// between the interface and the port's queues, and the state of the link. The source is the
// kernel's own counters. Control thread, except where it says otherwise.
//
//               frames to the port that were lost         frames from the port that were lost
//   tap         tx_dropped of the interface (queue full)  rx_dropped of the interface
//   af_packet   PACKET_STATISTICS of the sockets          tx_dropped of the interface
//               (ring full)
//   af_xdp      rx_ring_full of XDP_STATISTICS; DPDK      tx_dropped of the interface, and
//               itself counts those without a buffer      tx_invalid_descs of XDP_STATISTICS
//
// Frames that never reach the interface are not counted here. Example: the other end of a veth pair
// drops frames because this end is too slow. That end counts them (ip -s link show PEER: TX
// dropped).
#pragma once
#include "pkt/port.h"

struct kernel_side;

// kernel_side_begin: notes the sockets of this process. Call it before the DPDK device on
// params->device is opened. sockets: the family of the sockets that the device will open, AF_PACKET
// or AF_XDP; 0: no sockets are counted.
struct kernel_side *kernel_side_begin(const struct port_params *params, int sockets);

// kernel_side_opened: notes the sockets that are new since kernel_side_begin() as those of the
// device, and the present counters of the interface as zero. Call it when the device is open.
// ours_is_rx: the interface receives what the port sends (tap).
void kernel_side_opened(struct kernel_side *k, bool ours_is_rx);

// kernel_side_abandon: closes the new sockets, which the driver has left open although the device
// could not be opened (DPDK 22.11's net_af_xdp), and frees k.
void kernel_side_abandon(struct kernel_side *k);

// kernel_side_socket: the socket of the device. -1: it has none or several.
int kernel_side_socket(const struct kernel_side *k);

// kernel_side_sockets: writes the device's sockets, at most max; returns how many it has. Any
// thread: they do not change while the device is open.
unsigned kernel_side_sockets(const struct kernel_side *k, int *out, unsigned max);

// kernel_side_add: adds to *out the frames lost since kernel_side_opened().
void kernel_side_add(struct kernel_side *k, struct port_stats *out);

// kernel_side_link: sets whether the opened interface is up, and the reason if it is not. The
// interface is identified by its index: a new interface of the same name is a different one, to
// which the port's sockets are not bound. Does not change speed and duplex. False: the kernel does
// not report the state.
bool kernel_side_link(const struct kernel_side *k, struct port_link *out);

// kernel_side_is_there: whether an interface of that name exists. It need not be the one that
// was opened.
bool kernel_side_is_there(const struct kernel_side *k);

// kernel_side_free: frees k. NULL: does nothing.
void kernel_side_free(struct kernel_side *k);
