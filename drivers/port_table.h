// SPDX-License-Identifier: BSD-3-Clause
// port_table.h: opens, checks and closes a port of any driver of the table
// (src/tables/driver_table.h).
#pragma once
#include "pkt/port.h"

// port_open: opens a port with the driver that params->driver names. It checks the parameters of
// all drivers (name, queues, mtu). Control thread, after eal_start(). NULL: err says why.
struct port *port_open(const struct port_params *params, struct err *err);

// port_check: refuses what port_open would refuse: devices, interfaces and files that are not
// there, missing plugins of DPDK, missing rights of the process. Takes no resources and needs no
// EAL. 0, or -1 with the reason.
int port_check(const struct port_params *params, struct err *err);

// port_memory_bytes: bytes of DPDK's memory that a port of `queues` queues may take beside its
// packets: rings of descriptors, pools of the driver's own. 0: none, or no such driver.
uint64_t port_memory_bytes(const struct port_params *params, unsigned queues);

// port_close: stops the port and returns its packets to their pools. No thread may use it any more.
// NULL: does nothing.
void port_close(struct port *p);
