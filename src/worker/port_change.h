// SPDX-License-Identifier: BSD-3-Clause
// port_change.h: the worker's part of ORDER_PORT.
#pragma once
#include "worker/order.h"

// worker_port_change: changes the net of a port, the worker's addresses of it, and the MSS of new
// connections. A place whose address is gone keeps it in sock.shown, for what still belongs to the
// place. Returns 0, and the neighbors without room in w->box.count; -ENODEV: no such port, or one
// that cannot change; -EBUSY: a service or listener belongs to a place that would get another
// address, and nothing was changed.
int worker_port_change(struct worker *w, const struct order_port *o);
