// SPDX-License-Identifier: BSD-3-Clause
// port_follow.h: a port whose addresses, routes, permanent neighbors, MTU and state are those of a
// Linux interface ([port] follow).
//
//     link_state (netlink) --> port_places (plan) --> orders to all workers --> net_change()
//
// At most one order is in progress at a time, and each has the complete settings. If it fails, the
// next one is made from what Linux has by then. Control thread only.
#pragma once
#include "base/err.h"
#include "base/text.h"

enum {
    FOLLOW_MTU_MIN = 576,         // a smaller one is not used: [port] mtu
    FOLLOW_FAILED_GAP_MS = 1000,  // from an order that failed to the next one
};

struct server;
struct orders;
struct port_follow;

// port_follow_new: for port `port` of s, whose net_config.changes is set. All outlive it. NULL:
// *err says why. port_follow_free: before `orders` ends.
struct port_follow *port_follow_new(struct server *s, struct orders *orders, unsigned port,
                                    struct err *err);
void port_follow_free(struct port_follow *f);

// port_follow_poll: looks at the interface. True: orders are under way (orders_poll()). now_ms: of
// any clock that goes on.
bool port_follow_poll(struct port_follow *f, uint64_t now_ms);

// port_follow_show: what the port has, and counts, as `name value` lines.
void port_follow_show(const struct port_follow *f, struct text *out);
