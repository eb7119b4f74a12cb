// SPDX-License-Identifier: BSD-3-Clause
// link_messages.h: builds and parses the netlink messages of link_state.h, with libmnl. Plain data.
#pragma once
#include <linux/netlink.h>
#include <net/if.h>

#include "server/link_state.h"

// link_read: what the messages of dumps said so far. index 0: the interface is not there. metrics:
// of the routes in `is`.
struct link_read {
    char name[IFNAMSIZ];
    unsigned index;
    struct port_wanted is;
    uint32_t metrics[PORT_WANTED_MAX];
    struct link_refused refused;
};

// link_read_begin: makes r empty. link_read_message: takes one message of a dump; what is of other
// interfaces, or of no use, is skipped. link_read_end: after the last: removes routes whose prefix
// has one of a lower metric.
void link_read_begin(struct link_read *r, const char name[IFNAMSIZ]);
void link_read_message(struct link_read *r, const struct nlmsghdr *h);
void link_read_end(struct link_read *r);

// link_ask: makes h, an empty message, the request for a dump: RTM_GETLINK of the name, else of the
// index of r.
void link_ask(struct nlmsghdr *h, uint16_t type, uint8_t family, const struct link_read *r);

// link_concerns: whether a notification says that something of the interface, of which r was read
// last, changed. Neighbors concern only if they are permanent, or were.
bool link_concerns(const struct link_read *r, const struct nlmsghdr *h);
