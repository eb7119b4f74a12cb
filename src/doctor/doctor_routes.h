// SPDX-License-Identifier: BSD-3-Clause
// doctor_routes.h: over which interfaces Linux reaches what it must not lose: the rest of the world
// (default routes), and the hosts at the other end of ssh. From /proc/net, as the main table of
// routes has it; rules of policy routing are not looked at.
#pragma once
#include "doctor/doctor_host.h"

enum { DOCTOR_USES_MAX = 64 };

struct doctor_use {
    char interface[32];
    char what[96];  // "the default route", "the session with 192.0.2.7"
};

struct doctor_uses {
    unsigned n;
    bool incomplete;  // there are more than have room here: any NIC may be in use
    struct doctor_use at[DOCTOR_USES_MAX];
};

// doctor_uses_read: the interfaces of every default route, and of the route to the peer of every
// established connection to port 22, and of $SSH_CONNECTION of this process and its ancestors.
void doctor_uses_read(struct doctor_uses *u, const struct doctor_host *h);
