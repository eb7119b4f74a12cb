// SPDX-License-Identifier: BSD-3-Clause
// socket_door.h: the socket door: the tree over a unix stream socket, served by the control loop;
// what `c10m cat`, `ls`, `write` and `watch` use, also where there is no FUSE. frames.h has the
// protocol, conversation.h what is said.
//
//     client --> connect --> accept: who is it (SO_PEERCRED, SO_PEERGROUPS)? --> struct talk -->
//     tree
//
// Anybody may connect; modes, owners and groups of the entries and of the directories above them
// decide, as on the mount. Nobody holds others up: a turn of the loop does one frame's work for
// each, a reader that does not read is waited for without a piece of work, and left after
// SOCK_IDLE_MS.
#pragma once
#include "base/err.h"
#include "ctl/doors/conversation.h"
#include "ctl/event_loop.h"

enum {
    SOCK_CLIENTS_MAX = 32,      // connections at a time
    SOCK_CLIENTS_USER_MAX = 8,  // of one user; root: any number
    SOCK_CLIENTS_ROOT = 4,      // of all, only root's
    SOCK_IDLE_MS = 30000,       // without a byte from or to a client that could go on
    SOCK_CHECK_MS = 1000,       // how often that is looked for
    SOCK_BACKLOG = 64,          // that wait to be accepted
    SOCK_ACCEPTS_A_WAKE = 8,
    SOCK_PATH_BYTES = 108,  // Linux's limit, with the terminator
};

// sock_counts: what the door did; talk: with all its clients.
struct sock_counts {
    uint64_t clients, accepted;           // at present; since start
    uint64_t refused_full, refused_user;  // SOCK_CLIENTS_MAX, SOCK_CLIENTS_USER_MAX
    uint64_t failed;                      // no descriptor, no memory, no credentials
    uint64_t timed_out;                   // SOCK_IDLE_MS
    struct talk_counts talk;
};

struct ctl_sock;

// ctl_sock_start: listens at `path` and serves t from loop, which both outlive it. The socket of a
// server that was killed is replaced, one that answers is not: NULL with *e, and *taken if another
// server answers there. The file gets mode 0666.
struct ctl_sock *ctl_sock_start(struct ctl_loop *loop, struct tree *t, const char *path,
                                bool *taken, struct err *e);

// ctl_sock_stop: cuts all clients off and removes the file, unless somebody else's lies there by
// now. NULL: nothing.
void ctl_sock_stop(struct ctl_sock *s);

// ctl_sock_counts: so far; zero for NULL.
struct sock_counts ctl_sock_counts(const struct ctl_sock *s);

// ctl_sock_idle_ms: for tests: another SOCK_IDLE_MS for this one.
void ctl_sock_idle_ms(struct ctl_sock *s, uint64_t ms);
