// SPDX-License-Identifier: BSD-3-Clause
// conversation.h: the protocol of one client of the control socket, without the socket: it gets the
// client's bytes, accesses the tree, and returns bytes for the client. Control thread only.
//
//     HELLO --hello--> IDLE --READ, LIST--> READ, LIST --end, error--> IDLE      OVER: the rest of
//       \________________\___ protocol error _____________________ output is sent, then the end
//
// Every call does a bounded amount of work: it answers a short request, or makes one frame of a
// longer answer. The rest waits until the client has received the earlier output.
#pragma once
#include "ctl/local/frames.h"
#include "ctl/local/tree_walk.h"

enum talk_state { TALK_HELLO, TALK_IDLE, TALK_READ, TALK_LIST, TALK_OVER };

// talk_counts: counters of all conversations, since start.
struct talk_counts {
    uint64_t requests;   // requests of all types
    uint64_t writes;     // writes that were accepted
    uint64_t denied;     // refused by mode, owner and group
    uint64_t failed;     // answered with any other error
    uint64_t malformed;  // conversations ended by a protocol error
    uint64_t read_bytes;
};

// talk: in[0..in_n): received bytes not processed yet; out[out_at..out_n): bytes to be sent.
struct talk {
    struct tree_session session;
    const struct ctl_who *who;
    struct talk_counts *counts;
    enum talk_state state;
    size_t in_n, out_at, out_n;
    struct tree_handle *handle;    // READ, LIST
    uint64_t offset, left, total;  // READ: offset, bytes left, bytes sent
    uint64_t listed;               // LIST: position of tree_next()
    uint8_t in[WIRE_HEAD_BYTES + WIRE_REQUEST_BYTES_MAX];
    uint8_t out[WIRE_HEAD_BYTES + WIRE_DATA_BYTES_MAX];
};

// talk_init: starts a conversation before HELLO. t, who and counts must outlive it.
void talk_init(struct talk *k, struct tree *t, const struct ctl_who *who,
               struct talk_counts *counts);

// talk_fini: closes its open entry.
void talk_fini(struct talk *k);

// talk_room: the place for the client's next bytes, at most *n; 0: do not read from the client now.
// talk_received: n bytes were stored there.
uint8_t *talk_room(struct talk *k, size_t *n);
void talk_received(struct talk *k, size_t n);

// talk_work: does the next piece of work if there is no output to be sent. Returns true: work was
// done, or there is output: call again; false: more input is needed. *later: a stream has no data
// yet; then the result is true, and other clients should be served first.
bool talk_work(struct talk *k, bool *later);

// talk_idle: whether the stream being read had no data for some time, so that a call every
// TREE_IDLE_MS is sufficient.
bool talk_idle(const struct talk *k);

// talk_busy: whether an answer is being made or sent, so that the server does not wait for the
// client.
bool talk_busy(const struct talk *k);
