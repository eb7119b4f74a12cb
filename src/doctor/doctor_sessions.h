// SPDX-License-Identifier: BSD-3-Clause
// doctor_sessions.h: the sessions of ssh on this machine.
#pragma once
#include "doctor/doctor_routes.h"

enum { DOCTOR_SESSIONS_MAX = 64 };

// doctor_session: both ends; has_local: the end on this machine is known. interface: that of a
// link-local peer, where the session names it ("fe80::1%eth0"), else "".
struct doctor_session {
    uint8_t peer[DOCTOR_ADDR_BYTES], local[DOCTOR_ADDR_BYTES];
    bool has_local;
    char interface[DOCTOR_INTERFACE_BYTES];
};

struct doctor_sessions {
    unsigned n;
    bool incomplete;  // there are more than have room here
    struct doctor_session at[DOCTOR_SESSIONS_MAX];
};

// doctor_sessions_read: every established connection to port 22, and $SSH_CONNECTION of this
// process and its ancestors; none with this machine itself (127.0.0.1), and each once.
void doctor_sessions_read(struct doctor_sessions *s, const struct doctor_host *h);
