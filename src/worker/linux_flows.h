// SPDX-License-Identifier: BSD-3-Clause
// linux_flows.h: a table of the TCP connections in which Linux has sent data. Their segments have
// their own rate (NET_LINUX_FLOW), which a flood of other packets does not use up. A host that
// forges its address cannot add a connection: Linux sends data only after a handshake.
//
// The thread of the port (server/linux_port.h) writes the table, workers read it. Each word is read
// and written independently.
#pragma once
#include "base/shared.h"
#include "base/siphash.h"

enum {
    LINUX_FLOW_SETS = 512,
    LINUX_FLOW_WAYS = 8,    // a set is one line; the connection silent for longest makes room
    LINUX_FLOW_REST_S = 1,  // shortest time between two writes of an entry
};

// linux_flows: a word is 40 bits of the hash, and above them the second it was noted last; 0: free.
struct linux_flows {
    struct siphash_key key;
    struct shared_u64 words[LINUX_FLOW_SETS][LINUX_FLOW_WAYS] CACHE_ALIGNED;
};

// linux_flow: the connection of a TCP segment in a frame. hash 0: it is no TCP segment, or one with
// options of IP. data: it has payload. flags: of TCP.
struct linux_flow {
    uint64_t hash;
    uint8_t flags;
    bool data;
};

// linux_flow_of: of a frame of len bytes. sent: by Linux, else received.
struct linux_flow linux_flow_of(const struct linux_flows *f, const uint8_t *frame, uint32_t len,
                                bool sent);

// linux_flow_known: whether the connection is in the table.
bool linux_flow_known(const struct linux_flows *f, uint64_t hash);

// linux_flow_sent: notes a segment that Linux sent in second now_s: one with data enters the
// connection, others keep it young.
void linux_flow_sent(struct linux_flows *f, const struct linux_flow *flow, uint32_t now_s);
