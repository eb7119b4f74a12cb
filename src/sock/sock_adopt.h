// SPDX-License-Identifier: BSD-3-Clause
// sock_adopt.h: whether applications understand the state of connections that another process left,
// and go on with each of them.
//
// The versions of the state (c10m_app.state_version) outlive the process beside the connections.
// Applications convert the state late in the start, so that most starts that fail change nothing. A
// process that ends while they do leaves state of two versions in these services: they are marked
// before, and the next process refuses all of it. So are services whose application did not go on
// in other processes (c10m_app.adopts): what it kept may have been pointers.
//
//   sock_states_begin()   which services have state of another version; marks them
//   sock_adopt()          once for each worker: c10m_app.adopt, then c10m_app.adopted
//   sock_states_end()     notes the present versions, and removes the marks
//
// Control thread, after tcp_adopt() and before the workers run.
#pragma once
#include "sock/sock.h"

// sock_states: in memory that outlives the process.
struct sock_states {
    uint32_t version[TCP_SERVICES_MAX];  // of the state of each service's connections
    struct shared_u32 unknown;           // services of whose state nobody knows, one bit each
};

// sock_change: services, one bit each.
struct sock_change {
    uint32_t other;    // they go on, and their state is not of the version of their application
    uint32_t unknown;  // nobody knows of which
};

// sock_states_note: there are no connections yet: notes the versions of these n services.
void sock_states_note(struct sock_states *st, const struct c10m_service *services, unsigned n);

struct sock_change sock_states_begin(struct sock_states *st, const struct c10m_service *services,
                                     unsigned n);

// sock_adopt: has the applications convert the state of the connections of k, and look at each if
// they wish to. Refuses those that they do not understand, or do not continue: the worker resets
// them in its first turns. Returns how many.
unsigned sock_adopt(struct sock *k, const struct sock_states *st, struct sock_change change);

void sock_states_end(struct sock_states *st, const struct c10m_service *services, unsigned n);
