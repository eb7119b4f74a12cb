// SPDX-License-Identifier: BSD-3-Clause
// memif.h: a port to a second process on this host over shared memory (DPDK's net_memif): a load
// generator, VPP, dpdk-testpmd. One side is server of the socket, the other client; the link is up
// when both are there, and comes back when the peer does. No checksum verdict crosses.
#pragma once
#include "pkt/port.h"

// memif_open: params->device is the path of the socket, memif_client and memif_id as the peer has
// them turned round. Control thread. NULL: err says why.
struct port *memif_open(const struct port_params *params, struct err *err);

// memif_check: what memif_open would refuse before it takes anything. 0, or -1 with the reason.
int memif_check(const struct port_params *params, struct err *err);
