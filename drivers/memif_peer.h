// SPDX-License-Identifier: BSD-3-Clause
// memif_peer.h: one connection on a memif socket, from its first message until the link is up. The
// thread of the port (memif.c) runs it.
//
//     server: HELLO -> | <- INIT | ACK -> | <- ADD_REGION.. ADD_RING.. , each with an ACK ->
//             <- CONNECT | CONNECTED -> | up
//     client: the same messages, with the directions reversed
//
// A message that does not belong to the present step ends the connection. Memory of the peer is
// checked before it is mapped (memif_rings.h), and unmapped when the connection ends.
#pragma once
#include "drivers/memif_rings.h"

struct memif_peer {
    int fd;  // socket of the connection; -1: no connection
    bool client, knows_us;
    bool up;               // a worker uses the rings: no message may change them
    unsigned step;         // client: number of our messages that were acknowledged
    uint64_t deadline_ns;  // by which the link must be up
    int wake_fd;           // eventfd that wakes the peer's receiver; -1: none
    int memory_fd, rx_fd;  // client: files for the peer; -1 after it has them
    struct memif_rings rings;
    char name[MEMIF_NAME_BYTES + 1];
    char reason[MEMIF_REASON_BYTES + 1];  // why the connection ended
};

// memif_self: the properties of the port that a connection uses.
struct memif_self {
    const char *name;
    uint32_t id;
    unsigned log2_slots;  // log2 of the slots of the largest ring
    bool taken;           // a link is up, or was a moment ago
};

enum memif_verdict { MEMIF_GOES_ON, MEMIF_IS_UP, MEMIF_IS_OVER };

// memif_peer_init: begins without a connection.
void memif_peer_init(struct memif_peer *p);

// memif_peer_begin: takes the connected socket fd. As a server it sends HELLO.
enum memif_verdict memif_peer_begin(struct memif_peer *p, const struct memif_self *self, int fd,
                                    bool client);

// memif_peer_read: handles one message that waits at p->fd. MEMIF_IS_UP: bursts may begin.
// MEMIF_IS_OVER: p->reason has the cause; call memif_peer_end().
enum memif_verdict memif_peer_read(struct memif_peer *p, const struct memif_self *self);

// memif_peer_bye: sends the reason to the peer, and waits up to MEMIF_BYE_MS until the peer closes
// the connection. A peer that does so reads no zeros from pages that memif_peer_end() frees.
enum { MEMIF_BYE_MS = 20 };
void memif_peer_bye(struct memif_peer *p, const char *reason);

// memif_peer_end: closes the connection and unmaps its memory. If `reason` is not NULL, it calls
// memif_peer_bye() first. No burst may run.
void memif_peer_end(struct memif_peer *p, const char *reason);

// memif_peer_wake: wakes the peer's receiver. A malicious peer can make this call block without
// end, so it is a cancellation point.
void memif_peer_wake(const struct memif_peer *p);
