// SPDX-License-Identifier: BSD-3-Clause
// control_socket.h: the control socket: the tree over a Unix stream socket, served by the control
// loop. The commands `c10m cat`, `ls`, `write`, `watch` and others use it; it works without FUSE.
// frames.h has the encoding, conversation.h the protocol.
//
//     client --> connect --> accept: who is it (SO_PEERCRED, SO_PEERGROUPS)? --> struct talk -->
//     tree
//
// All users may connect. Modes, owners and groups of the entries and of their parent directories
// apply, as on the mount. A client cannot delay others: in a turn of the loop each client gets the
// work of one frame, and a client that does not read costs no work and is disconnected after
// SOCK_IDLE_MS.
#pragma once
#include "base/err.h"
#include "ctl/event_loop.h"
#include "ctl/local/conversation.h"

enum {
    SOCK_CLIENTS_MAX = 32,      // connections at the same time
    SOCK_CLIENTS_USER_MAX = 8,  // connections of one user; no limit for root
    SOCK_CLIENTS_ROOT = 4,      // of all connections, reserved for root
    SOCK_IDLE_MS = 30000,       // without a byte from or to the client
    SOCK_CHECK_MS = 1000,       // interval of this check
    SOCK_BACKLOG = 64,          // listen backlog
    SOCK_ACCEPTS_A_WAKE = 8,
    SOCK_PATH_BYTES = 108,  // Linux's limit, with the terminating zero
};

// sock_counts: counters of the socket; talk: of all its conversations.
struct sock_counts {
    uint64_t clients, accepted;           // now; since start
    uint64_t refused_full, refused_user;  // SOCK_CLIENTS_MAX, SOCK_CLIENTS_USER_MAX
    uint64_t failed;                      // no descriptor, no memory, no credentials
    uint64_t timed_out;                   // SOCK_IDLE_MS
    struct talk_counts talk;
};

struct ctl_sock;

// ctl_sock_start: listens on `path` (mode 0666) and serves t from loop. Both must outlive it. The
// socket of a killed server is replaced. Returns NULL with the reason in *e; *taken is set if
// another process listens on the socket.
struct ctl_sock *ctl_sock_start(struct ctl_loop *loop, struct tree *t, const char *path,
                                bool *taken, struct err *e);

// ctl_sock_stop: disconnects all clients and removes the file, unless another file has replaced it.
// NULL is allowed.
void ctl_sock_stop(struct ctl_sock *s);

// ctl_sock_counts: the present counters; all zero for NULL.
struct sock_counts ctl_sock_counts(const struct ctl_sock *s);

// ctl_sock_idle_ms: sets another value of SOCK_IDLE_MS, for tests.
void ctl_sock_idle_ms(struct ctl_sock *s, uint64_t ms);
