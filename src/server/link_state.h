// SPDX-License-Identifier: BSD-3-Clause
// link_state.h: what Linux has of one interface: link, addresses, routes and permanent neighbors,
// read by netlink (rtnetlink(7)).
//
//     notifications --> something changed --> five dumps, one after the other --> link_state_now()
//        | ENOBUFS: lost                         ^
//        +--------------> counted ---------------+-- every LINK_STATE_AGAIN_MS without a change
//
// A notification only says that something changed; the dumps have the state. So the state is never
// out of date for longer than LINK_STATE_AGAIN_MS, even if a notification is lost. Nothing here
// blocks: link_state_poll() reads what has arrived, at most LINK_STATE_READS packets from each
// socket. Control thread only.
#pragma once
#include "base/err.h"
#include "server/port_places.h"

enum {
    LINK_STATE_READS = 16,        // packets of up to 32 KiB of each socket in one poll
    LINK_STATE_GAP_MS = 50,       // shortest time between the starts of two readings
    LINK_STATE_AGAIN_MS = 10000,  // the same if nothing has changed
    LINK_STATE_LATE_MS = 2000,    // a reading that takes longer starts again
};

// link_refused: what is there and not followed, at the last dumps.
struct link_refused {
    unsigned addresses;  // tentative, or dadfailed, or of no host
    unsigned multipath;  // routes with several next hops, one of them by the interface
    unsigned tables;     // routes of other tables than `main`, or for a TOS: policy routing
    unsigned kinds;      // routes with an encapsulation, or by a next hop of the other family
    unsigned over;       // addresses, routes and neighbors beyond PORT_WANTED_MAX
};

struct link_counts {
    uint64_t notified;  // notifications about the interface
    uint64_t lost;      // times that the socket had no room for a notification
    uint64_t dumps;     // times that all was read
    uint64_t torn;      // of them, while it changed: read again
    uint64_t late;      // dumps that took too long
    uint64_t errors;    // errors of the sockets or in answers
};

struct link_state;

// link_state_new: of the interface `name`, which need not be there yet, in this process's network
// namespace. NULL: *err says why.
struct link_state *link_state_new(const char *name, struct err *err);
void link_state_free(struct link_state *l);

// link_state_poll: true: the dumps are complete, link_state_now() is new. now_ms: of any clock that
// goes on.
bool link_state_poll(struct link_state *l, uint64_t now_ms);

// link_state_again: the next poll begins to read all.
void link_state_again(struct link_state *l);

// link_state_now: what there is; NULL: the interface is not there. Routes have the lowest metric
// first.
const struct port_wanted *link_state_now(const struct link_state *l);
const struct link_refused *link_state_refused(const struct link_state *l);
const struct link_counts *link_state_counts(const struct link_state *l);
