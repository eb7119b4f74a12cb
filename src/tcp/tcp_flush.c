// SPDX-License-Identifier: BSD-3-Clause
#include "tcp/tcp_internal.h"
#include "tcp/tcp_view.h"

bool tcp_flush(struct tcp *t, unsigned max)
{
    unsigned n = tcp_time_wait_flush(t, max);
    for (; n < max && t->flush_ix < tcp_view_used(t->syn_pool); n++)
        tcp_syn_drop(t, t->flush_ix++);
    if (n == max)
        return false;
    t->flush_ix = 0;
    t->cookies_until_us = 0;
    limit_rest(&t->resets);
    return true;
}
