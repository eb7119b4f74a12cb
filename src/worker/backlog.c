// SPDX-License-Identifier: BSD-3-Clause
#include "worker/backlog.h"

// count: how many packets wait behind this burst. None: what comes later arrives later.
static void count(struct backlog *b, struct port *p, uint16_t queue, uint64_t now_us)
{
    const struct port_ops *ops = p->ops;  // another one at any time (port_replug)
    const int n = ops->rx_waiting == NULL ? -1 : ops->rx_waiting(p, queue);
    b->counts = n >= 0;
    b->counted = (uint32_t)MAX(n, 0);
    b->counted_us = now_us;
    if (n == 0)
        b->after_us = now_us;
}

// received: n packets of those that were counted. If all have come, the next ones arrived later.
static void received(struct backlog *b, struct port *p, uint16_t queue, uint32_t n, uint64_t now_us)
{
    b->counted -= MIN(b->counted, n);
    if (b->counted != 0)
        return;
    if (b->counts)
        b->after_us = b->counted_us;
    count(b, p, queue, now_us);
}

uint32_t backlog_full(struct backlog *b, struct port *p, uint16_t queue, uint32_t n,
                      uint64_t now_us, uint32_t *full_us)
{
    b->burst_full = (uint16_t)MAX(n, (uint32_t)BURST_MAX / 2);
    if (b->emptied_us == 0)  // the first burst of all
        b->emptied_us = now_us;
    const uint64_t waited_us = now_us - MAX(b->emptied_us, b->after_us);
    if (b->full_after_us != b->emptied_us || b->full_us == 0) {  // the first full one
        b->full_after_us = b->emptied_us;
        b->full_us = now_us;
        count(b, p, queue, now_us);
    } else {
        received(b, p, queue, n, now_us);
    }
    *full_us = (uint32_t)MIN(now_us - b->full_us, UINT32_MAX);
    return (uint32_t)MIN(waited_us, UINT32_MAX - 1);
}
