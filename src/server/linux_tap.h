// SPDX-License-Identifier: BSD-3-Clause
// linux_tap.h: the TAP interface by which Linux shares a port: made, marked (drivers/tap_mark.h),
// with the port's MAC address, MTU, addresses and routes, by /dev/net/tun and netlink. It is gone
// when its descriptor is closed, so that no end of the process leaves it. Control thread.
#pragma once
#include "base/addr.h"
#include "base/err.h"
#include "net/net.h"

// Metric of the routes: one that the administrator adds without a metric is preferred, and so is
// the default route of another interface.
enum { LINUX_TAP_METRIC = 1024 };

// linux_tap: name: of the interface. port: name of the port. net: its addresses and routes.
struct linux_tap {
    const char *name, *port;
    struct mac_addr mac;
    uint16_t mtu;
    const struct net_config *net;
};

// linux_tap_check: whether an interface could be made. -1: *err says why not.
int linux_tap_check(const char *name, const char *port, struct err *err);

// linux_tap_open: makes the interface, up and without a carrier. Returns its descriptor, which does
// not block, or -1 with the reason. *ifindex: its index.
int linux_tap_open(const struct linux_tap *t, int *ifindex, struct err *err);

// linux_tap_carrier: sets its carrier. 0, or -errno.
int linux_tap_carrier(int fd, bool on);

// linux_tap_address, linux_tap_route: adds an address, usable at once, and a route. 0, or -errno.
// bits 0: the default route.
int linux_tap_address(int ifindex, const struct ip_addr *a, uint8_t bits);
int linux_tap_route(int ifindex, const struct ip_addr *to, uint8_t bits, const struct ip_addr *via);
