// SPDX-License-Identifier: BSD-3-Clause
// backlog.h: how long the packets of a burst have waited in the receive queue of their port, at
// most. Packets have no time of arrival, so this is deduced:
//   - A burst that is smaller than the largest one so far has emptied the queue. What comes later
//     has arrived later.
//   - If the driver tells how many packets wait (port_ops.rx_waiting), what comes after so many has
//     arrived after the count. So a worker that always has something to do, but soon, is not
//     behind.
// Worker only.
#pragma once
#include "pkt/port.h"

struct backlog {
    uint16_t burst_full;  // the largest burst so far: one of this size may leave packets behind
    bool counts;          // the driver tells how many packets wait
    bool nearly_full;     // the queue had room for a 16th of it at most, and was half full since
    uint32_t counted;     // of the last count, how many were not received yet
    uint64_t counted_us;  // when that was
    uint64_t looked_us;   // when the driver was last asked, for nearly_full
    uint64_t emptied_us;  // when a burst was last smaller: then it emptied the queue
    uint64_t after_us;    // what is received from now on arrived after it, if later than emptied_us
    uint64_t full_us;     // when the first full burst after full_after_us came
    uint64_t full_after_us;  // emptied_us, as it was then
    uint64_t last_us;        // when the last full burst came, and how long after the one before
    uint64_t turn_us;
};

// backlog_full: a burst of n packets as large as any was received. Sets *full_us to how long all
// bursts have been full: less than the result if the worker stood still meanwhile, because the host
// had taken its core, or a callback was slow once. Such packets have waited, but there are not more
// than it can handle. Returns for how long the packets may have waited, in microseconds.
uint32_t backlog_full(struct backlog *b, struct port *p, uint16_t queue, uint32_t n,
                      uint64_t now_us, uint32_t *full_us);
