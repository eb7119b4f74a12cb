// SPDX-License-Identifier: BSD-3-Clause
// af_xdp_rings.h: the packets that the driver and the kernel share. Each queue has a socket with
// four rings, which hold packets of the queue's pool:
//
//                fill                    receive
//   driver  -------------->  kernel  -------------->  driver      2,048 packets, empty and filled
//               transmit                completion
//   driver  -------------->  kernel  -------------->  driver      packets to send, and sent ones
//
// When DPDK 22.11's net_af_xdp closes a device, it unmaps the rings with the packets in them and
// leaves the socket open. Here these packets are given back to their pool, and the socket is
// closed. The rings are found in /proc/self/maps. A packet that the kernel has taken out of the
// fill ring and could not receive into, because the receive ring was full, is lost; it is at most
// one.
//
// Control thread, while the worker of the queue does not use the port.
#pragma once
#include "drivers/kernel_side.h"

struct af_xdp_rings;

// af_xdp_rings_find: of a port with one queue that was just opened; ring: its receive ring's size.
// NULL: its socket or rings were not found, or the socket is in zero-copy mode.
struct af_xdp_rings *af_xdp_rings_find(const struct kernel_side *k, struct pkt_pool *pool,
                                       uint32_t ring);

// af_xdp_rings_collect: remembers the packets that lie in the rings. Call it before the device is
// closed, which unmaps them. r may be NULL.
void af_xdp_rings_collect(struct af_xdp_rings *r);

// af_xdp_rings_free: closes the socket, and frees the collected packets and r. Call it after the
// device was closed. r may be NULL.
void af_xdp_rings_free(struct af_xdp_rings *r);
