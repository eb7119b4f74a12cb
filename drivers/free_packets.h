// SPDX-License-Identifier: BSD-3-Clause
// free_packets.h: a driver that cannot open its device may have taken packets for its rings before,
// and keeps them (DPDK 22.11's net_af_xdp). Here they are found, and given back to their pool.
// Control thread, while nobody else uses the pool.
#pragma once
#include "pkt/pkt.h"

struct free_packets;

// free_packets_note: notes which packets of the pool are free. The caches of other threads do not
// count.
struct free_packets *free_packets_note(struct pkt_pool *pool);

// free_packets_restore: frees the packets that were free then and are not now, and f. The driver
// and the kernel no longer use them.
void free_packets_restore(struct free_packets *f);

// free_packets_forget: frees f.
void free_packets_forget(struct free_packets *f);
