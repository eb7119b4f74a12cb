// SPDX-License-Identifier: BSD-3-Clause
// conversation.h: one conversation over the control socket, without the socket: bytes of the client
// in, bytes for it out, the tree behind. Control thread only.
//
//     HELLO --hello--> IDLE --READ, LIST--> READ, LIST --end, error--> IDLE      OVER: the rest of
//       \________________\___ not of the protocol ______________________________ out, then the end
//
// Every call does a bounded piece of work: a request that is answered at once, or one frame of a
// longer answer; what does not fit waits until the client has taken what it was given.
#pragma once
#include "ctl/doors/frames.h"
#include "ctl/doors/tree_walk.h"

enum talk_state { TALK_HELLO, TALK_IDLE, TALK_READ, TALK_LIST, TALK_OVER };

// talk_counts: of all conversations of a door, since start.
struct talk_counts {
    uint64_t requests;   // of every kind
    uint64_t writes;     // that were taken
    uint64_t denied;     // refused by mode, owner and group
    uint64_t failed;     // answered with any other error
    uint64_t malformed;  // conversations that ended as a request was none
    uint64_t read_bytes;
};

// talk: in[0..in_n): what came and is not done yet; out[out_at..out_n): what is to be sent.
struct talk {
    struct tree_door door;
    const struct ctl_who *who;
    struct talk_counts *counts;
    enum talk_state state;
    size_t in_n, out_at, out_n;
    struct tree_handle *handle;    // READ, LIST
    uint64_t offset, left, total;  // READ: where, how much more, how much was sent
    uint64_t listed;               // LIST: tree_next's position
    uint8_t in[WIRE_HEAD_BYTES + WIRE_REQUEST_BYTES_MAX];
    uint8_t out[WIRE_HEAD_BYTES + WIRE_DATA_BYTES_MAX];
};

// talk_init: with somebody who has said nothing yet. t, who and counts outlive it.
void talk_init(struct talk *k, struct tree *t, const struct ctl_who *who,
               struct talk_counts *counts);

// talk_fini: closes what it holds open.
void talk_fini(struct talk *k);

// talk_room: where the client's next bytes go: at most *n of them; 0: it has to wait.
// talk_received: n bytes were put there.
uint8_t *talk_room(struct talk *k, size_t *n);
void talk_received(struct talk *k, size_t n);

// talk_work: does the next piece of work, unless something is still to be sent. True: something was
// done, or there is something to send: ask again; false: nothing to do before more comes.
// *later: a stream has nothing to hand yet; true as well, and others should have their turn.
bool talk_work(struct talk *k, bool *later);

// talk_idle: the stream that is read has had nothing for a while: it is enough to work on it every
// TREE_IDLE_MS.
bool talk_idle(const struct talk *k);

// talk_busy: an answer is being made or sent: it is not the client that everybody waits for.
bool talk_busy(const struct talk *k);
