// SPDX-License-Identifier: BSD-3-Clause
// memif.h: a port to a second process on this host over shared memory: a load generator, VPP,
// dpdk-testpmd. One side is server of the socket, the other client; the link is up when both are
// there, and comes back when the peer does. No checksum verdict crosses.
//
// Why not DPDK's net_memif: it is for peers that may be trusted with the process. Read in the
// source of 22.11, the first also seen in a core: when a peer leaves, EAL's interrupt thread unmaps
// its memory while a worker may be inside a burst that reads it (SIGSEGV); it copies from and to
// whatever place a peer's descriptor names; it maps memory that the peer can shrink (SIGBUS); a
// worker reads and writes a descriptor that the peer handed over, and sleeps as long as the peer
// wants; a client does not come back; its counters fall to 0. Two ways around it were considered:
// to keep its callbacks out of bursts, by symbols of ours before DPDK's or by a proxy before its
// socket. Both cure the first fault and leave the second, which lies in the burst itself.
//
//     thread of the port                       worker
//     handshake, one peer at a time            entered = true;
//     publishes the link's rings         ->    if (rings != NULL) a burst through them;
//     peer gone: rings = NULL;                 entered = false;
//       membarrier(2); waits for !entered;
//       frees the pages, unmaps
#pragma once
#include "pkt/port.h"

// memif_open: params->device is the path of the socket, memif_client and memif_id as the peer has
// them turned round. Control thread. NULL: err says why.
struct port *memif_open(const struct port_params *params, struct err *err);

// memif_check: refuses what memif_open would refuse, and takes no resources. 0, or -1 with the
// reason.
int memif_check(const struct port_params *params, struct err *err);
