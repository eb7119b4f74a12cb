// SPDX-License-Identifier: BSD-3-Clause
// doctor_routes.h: over which interfaces Linux reaches addresses, by /proc/net/route and
// ipv6_route: the main table. Rules of policy routing are not looked at, and of an IPv4 route with
// several next hops the kernel shows only the first one there.
#pragma once
#include "doctor/doctor_host.h"

enum { DOCTOR_ADDR_BYTES = 16, DOCTOR_INTERFACE_BYTES = 32 };

// doctor_way: the interface of the route to an address.
struct doctor_way {
    uint8_t to[DOCTOR_ADDR_BYTES];           // IPv4 as ::ffff:a.b.c.d
    char interface[DOCTOR_INTERFACE_BYTES];  // "": there is no route
    unsigned bits, metric;                   // of that route
};

// doctor_routes_find: finds the interfaces of n ways, whose `to` is set, and calls each_default
// with the interface of every default route. Reads each table once, so it takes routes times n.
void doctor_routes_find(const struct doctor_host *h, struct doctor_way *ways, unsigned n,
                        void (*each_default)(void *arg, const char *interface), void *arg);

// doctor_addr_v4, doctor_addr_hex: the 16 bytes of an IPv4 address; of 32 hexadecimal digits, false
// if it is none. doctor_addr_text: parses either family. doctor_addr_is_v4: it is an IPv4 address.
void doctor_addr_v4(uint32_t addr_be, uint8_t out[DOCTOR_ADDR_BYTES]);
bool doctor_addr_hex(const char *text, uint8_t out[DOCTOR_ADDR_BYTES]);
bool doctor_addr_text(const char *text, uint8_t out[DOCTOR_ADDR_BYTES]);
bool doctor_addr_is_v4(const uint8_t a[DOCTOR_ADDR_BYTES]);

// doctor_addr_is_link_local: fe80::/10, which is on each interface; doctor_addr_is_loopback.
bool doctor_addr_is_link_local(const uint8_t a[DOCTOR_ADDR_BYTES]);
bool doctor_addr_is_loopback(const uint8_t a[DOCTOR_ADDR_BYTES]);
