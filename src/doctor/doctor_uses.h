// SPDX-License-Identifier: BSD-3-Clause
// doctor_uses.h: the interfaces that Linux must not lose: those of the default routes, and those of
// the sessions of ssh, at both ends of the way: the route to the peer, and the local address.
//
//   session or default route -> interface -> what is below it: a NIC, perhaps under a bridge, or
//                                            a tunnel -> its outer peer -> interface -> ...
#pragma once
#include "doctor/doctor_sessions.h"

enum { DOCTOR_USES_MAX = 256, DOCTOR_WHAT_BYTES = 160 };

struct doctor_use {
    char interface[DOCTOR_INTERFACE_BYTES];
    char what[DOCTOR_WHAT_BYTES];  // "the default route", "the session with 192.0.2.7"
    bool unseen;  // below it is a tunnel whose outer way is not known: any NIC that is up
};

struct doctor_uses {
    unsigned n;
    const char *incomplete;  // why any NIC may be in use, for all that is known; NULL: it is known
    struct doctor_use at[DOCTOR_USES_MAX];
};

void doctor_uses_read(struct doctor_uses *u, const struct doctor_host *h);
