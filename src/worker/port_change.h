// SPDX-License-Identifier: BSD-3-Clause
// port_change.h: the worker's part of ORDER_PORT.
#pragma once
#include "worker/order.h"

// worker_port_change: changes the net of a port, the worker's addresses of the port, and the MSS of
// new connections. If the address of a place is removed, sock.shown keeps it, for connections that
// still belong to the place. Returns 0, and in w->box.count the number of neighbors without room;
// -ENODEV: no such port, or one that cannot change; -EBUSY: a service or listener belongs to a
// place that would get another address, and nothing was changed.
int worker_port_change(struct worker *w, const struct order_port *o);
