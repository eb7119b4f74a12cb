// SPDX-License-Identifier: BSD-3-Clause
// port_table.h: opens, checks and closes a port of any driver of the table
// (src/tables/driver_table.h).
#pragma once
#include "pkt/port.h"

// port_open: opens a port with the driver params->driver. It checks the parameters that all drivers
// have (name, queues, mtu). Control thread, after eal_start(). Returns NULL with the reason in *err
// if it fails.
struct port *port_open(const struct port_params *params, struct err *err);

// port_check: makes the checks of port_open() without opening anything: missing devices,
// interfaces, files, plugins of DPDK and rights of the process. Needs no EAL. Returns 0, or -1 with
// the reason in *err.
int port_check(const struct port_params *params, struct err *err);

// port_memory_bytes: the bytes of DPDK's memory that a port of `queues` queues may take in addition
// to its packets: rings of descriptors, and pools of the driver. 0: none, or no such driver.
uint64_t port_memory_bytes(const struct port_params *params, unsigned queues);

// port_close: stops the port and returns its packets to their pools. No thread may use it any more.
// NULL: does nothing.
void port_close(struct port *p);
