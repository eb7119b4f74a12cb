// SPDX-License-Identifier: BSD-3-Clause
// memif_peer.h: one connection on a memif socket, from its first message until the link is up. The
// thread of the port (memif.c) runs it.
//
//     server: HELLO -> | <- INIT | ACK -> | <- ADD_REGION.. ADD_RING.. , each with an ACK ->
//             <- CONNECT | CONNECTED -> | up
//     client: the other side of the same
//
// A message that does not belong to its step ends the connection. Nothing of the peer's is mapped
// before it was checked (memif_rings.h), and all of it is gone when the connection ends.
#pragma once
#include "drivers/memif_rings.h"

struct memif_peer {
    int fd;  // of the connection; -1: there is none
    bool client, knows_us;
    bool up;               // the worker uses its rings: nothing it says may change them
    unsigned step;         // client: messages of ours that were acknowledged
    uint64_t deadline_ns;  // to be up
    int wake_fd;           // of the peer's receiver; -1: none
    int memory_fd, rx_fd;  // client: until the peer has them
    struct memif_rings rings;
    char name[MEMIF_NAME_BYTES + 1];
    char reason[MEMIF_REASON_BYTES + 1];  // why it ended
};

// memif_self: what a connection needs to know of the port.
struct memif_self {
    const char *name;
    uint32_t id;
    unsigned log2_slots;  // of a ring, at most
    bool taken;           // a link is up, or was a moment ago
};

enum memif_verdict { MEMIF_GOES_ON, MEMIF_IS_UP, MEMIF_IS_OVER };

// memif_peer_init: no connection.
void memif_peer_init(struct memif_peer *p);

// memif_peer_begin: takes fd, a connected socket. A server says HELLO.
enum memif_verdict memif_peer_begin(struct memif_peer *p, const struct memif_self *self, int fd,
                                    bool client);

// memif_peer_read: one message that waits at p->fd. Up: the first burst may begin. Over: p->reason
// says why, and memif_peer_end() has to follow.
enum memif_verdict memif_peer_read(struct memif_peer *p, const struct memif_self *self);

// memif_peer_bye: tells the peer the reason, and gives it MEMIF_BYE_MS to leave the memory before
// memif_peer_end() frees its pages: an honest one reads no zeros then.
enum { MEMIF_BYE_MS = 20 };
void memif_peer_bye(struct memif_peer *p, const char *reason);

// memif_peer_end: closes and unmaps; before it, with a reason, as memif_peer_bye(). No burst runs.
void memif_peer_end(struct memif_peer *p, const char *reason);

// memif_peer_wake: wakes the receiver. May hang as long as a lying peer wants: cancellation point.
void memif_peer_wake(const struct memif_peer *p);
