// SPDX-License-Identifier: BSD-3-Clause
// port_table.h: the list of drivers, and the one way to open and close a port.
#pragma once
#include "pkt/port.h"

// port_open: opens a port with the driver that params->driver names. What holds for every driver is
// checked here (name, queues, mtu). Control thread, after eal_start(). NULL: err says why.
struct port *port_open(const struct port_params *params, struct err *err);

// port_check: what port_open would refuse before it takes anything: devices, interfaces, files,
// DPDK's plugins, this process's rights. Takes and makes nothing; needs no EAL. -1: err says why.
int port_check(const struct port_params *params, struct err *err);

// port_memory_bytes: bytes of DPDK's memory that a port of `queues` queues may take beside its
// packets: rings of descriptors, pools of the driver's own. 0: none, or no such driver.
uint64_t port_memory_bytes(const struct port_params *params, unsigned queues);

// port_close: stops the port and gives its packets back to their pools. No thread uses it any more.
// NULL: nothing.
void port_close(struct port *p);

// port_drivers: the names of all drivers, separated by ", ".
const char *port_drivers(void);
