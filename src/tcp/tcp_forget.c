// SPDX-License-Identifier: BSD-3-Clause
#include "tcp/tcp_internal.h"
#include "tcp/tcp_view.h"

bool tcp_forget(struct tcp *t, unsigned max)
{
    unsigned n = tcp_time_wait_forget(t, max);
    for (; n < max && t->forget_ix < tcp_view_used(t->syn_pool); n++)
        tcp_syn_forget(t, t->forget_ix++);
    if (n == max)
        return false;
    t->forget_ix = 0;
    t->cookies_until_us = 0;
    limit_rest(&t->resets);
    return true;
}
