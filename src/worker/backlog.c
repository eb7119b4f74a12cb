// SPDX-License-Identifier: BSD-3-Clause
#include "worker/backlog.h"

// A turn that is so much longer than the one before was a stop, and no work.
enum { STOP_TURNS = 8, STOP_US = 50000 };

enum { LOOK_US = 1000 };  // a NIC's driver looks at each fourth of the descriptors

// look: how many packets wait behind this burst of n; -1: the driver cannot tell.
static int look(struct backlog *b, struct port *p, uint16_t queue, uint32_t n, uint64_t now_us)
{
    uint32_t slots = 0;
    const int waiting = port_rx_waiting(p, queue, &slots);
    b->counts = waiting >= 0;
    const uint32_t full = b->nearly_full ? slots / 2 : slots - slots / 16;
    b->nearly_full = b->counts && slots != 0 && (uint32_t)waiting + n >= full;
    b->looked_us = now_us;
    return waiting;
}

// count: what waits now. None: what comes later arrives later.
static void count(struct backlog *b, int waiting, uint64_t now_us)
{
    b->counted = (uint32_t)MAX(waiting, 0);
    b->counted_us = now_us;
    if (waiting == 0)
        b->after_us = now_us;
}

// received: n packets of those that were counted. If all have come, the next ones arrived later.
static void received(struct backlog *b, struct port *p, uint16_t queue, uint32_t n, uint64_t now_us)
{
    b->counted -= MIN(b->counted, n);
    if (b->counted == 0) {
        if (b->counts)
            b->after_us = b->counted_us;
        count(b, look(b, p, queue, n, now_us), now_us);
    } else if (now_us - b->looked_us >= LOOK_US) {
        look(b, p, queue, n, now_us);
    }
}

// is_first: whether this is the first full burst since the queue was empty, or since a stop.
static bool is_first(struct backlog *b, uint64_t now_us)
{
    const uint64_t turn_us = now_us - b->last_us, before_us = b->turn_us;
    b->last_us = now_us;
    b->turn_us = turn_us;
    return b->full_after_us != b->emptied_us || b->full_us == 0 ||
           turn_us > STOP_TURNS * before_us + STOP_US;
}

uint32_t backlog_full(struct backlog *b, struct port *p, uint16_t queue, uint32_t n,
                      uint64_t now_us, uint32_t *full_us)
{
    b->burst_full = (uint16_t)MAX(n, (uint32_t)BURST_MAX / 2);
    if (b->emptied_us == 0)  // the first burst of all
        b->emptied_us = now_us;
    const uint64_t waited_us = now_us - MAX(b->emptied_us, b->after_us);
    const bool again = b->full_after_us == b->emptied_us;
    if (is_first(b, now_us)) {
        b->full_after_us = b->emptied_us;
        b->full_us = now_us;
    }
    if (again) {
        received(b, p, queue, n, now_us);
    } else {
        b->nearly_full = false;  // it was empty meanwhile
        count(b, look(b, p, queue, n, now_us), now_us);
    }
    *full_us = (uint32_t)MIN(now_us - b->full_us, UINT32_MAX);
    return (uint32_t)MIN(waited_us, UINT32_MAX - 1);
}
