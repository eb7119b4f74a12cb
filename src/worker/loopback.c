// SPDX-License-Identifier: BSD-3-Clause
#include "worker/loopback.h"

struct ip_addr server_loopback(bool v6)
{
    return v6 ? (struct ip_addr){{[15] = 1}} : ip_from_v4(0x7f000001);
}

int worker_loopback_local(const struct worker *w, const struct ip_addr *a)
{
    for (unsigned i = 0; i < w->sock.n_locals; i++)
        if (w->port_of_local[i] == w->loopback_port && ip_equal(&w->sock.locals[i], a))
            return (int)i;
    return -1;
}
