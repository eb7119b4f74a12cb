// SPDX-License-Identifier: BSD-3-Clause
// memif.h: a port to a second process on this host over shared memory, for example a load
// generator, VPP or dpdk-testpmd. One side is the server of a unix socket, the other is the client.
// The link is up while both are connected, and it comes up again when the peer reconnects. Checksum
// verdicts do not cross the link.
//
// DPDK's net_memif is not used, because a malicious or crashing peer can stop the process. Its
// source (22.11) shows these faults, and a core dump confirmed the first:
//
// - When a peer leaves, EAL's interrupt thread unmaps the peer's memory. A worker may be inside a
//   burst that reads this memory (SIGSEGV).
// - A burst copies from and to any address that a descriptor of the peer names.
// - It maps memory that the peer can shrink (SIGBUS).
// - A worker reads and writes a file descriptor that the peer supplied, and can sleep in that call
//   for as long as the peer wants.
// - A client does not reconnect, and the counters of a link are reset to 0.
//
// Two workarounds were considered: symbols of ours that replace DPDK's, and a proxy in front of the
// socket. Both keep the callbacks out of bursts, which cures the first fault. Neither cures the
// second one, because that lies in the burst itself.
//
//     thread of the port                       worker
//     handshake, one peer at a time            entered = true;
//     publishes the link's rings         ->    if (rings != NULL) a burst through them;
//     peer gone: rings = NULL;                 entered = false;
//       membarrier(2); waits for !entered;
//       frees the pages, unmaps
#pragma once
#include "pkt/port.h"

// memif_open: opens a port on the socket with the path params->device. The peer must have the same
// memif_id and the opposite memif_client. Control thread. Returns NULL with the reason in *err if
// it fails.
struct port *memif_open(const struct port_params *params, struct err *err);

// memif_check: makes the checks of memif_open() without opening anything. Returns 0, or -1 with the
// reason in *err.
int memif_check(const struct port_params *params, struct err *err);
