// SPDX-License-Identifier: BSD-3-Clause
// The process of a host ends between two turns, and another one adopts its connections: everything
// that finds or wakes them is lost, and its memory stays.
#include <stdlib.h>

#include "server/server_memory.h"
#include "sim.h"
#include "tcp/tcp_adopt.h"
#include "tcp_lose.h"

static bool is_image(void *arg, uint8_t service, const uint8_t *at, uint32_t len)
{
    const uintptr_t from = (uintptr_t)sim_pattern, a = (uintptr_t)at;
    return a >= from && a <= from + sizeof(sim_pattern) && len <= from + sizeof(sim_pattern) - a;
}

void sim_adopt(struct sim_host *h)
{
    struct tcp *t = &h->w->tcp;
    const struct tcp_adopt_params p = {.n_locals = 1, .services = UINT32_MAX, .is_image = is_image};
    struct tcp_adopted out;
    const uint64_t connections = t->stats->c.connections_now;
    const uint64_t half_open = t->stats->c.syn_records_now, waiting = t->stats->c.time_wait_now;
    void *scratch = calloc(1, tcp_adopt_footprint(t));
    CHECK(scratch != NULL);
    tcp_lose(t, server_timers(h->plan->connections, h->plan->syn_received));
    tcp_adopt(t, &p, scratch, &out);
    free(scratch);
    for (unsigned r = 0; r < TCP_REFUSAL_COUNT; r++)
        SIM_CHECK(out.refused[r] == 0, "host %u: %u connections not adopted: %s", h->id,
                  out.refused[r], tcp_refusal_name(r));
    SIM_CHECK(
        out.connections == connections && out.half_open == half_open && out.time_wait == waiting &&
            out.half_open_refused + out.time_wait_refused == 0,
        "host %u: %u of %llu connections, %u of %llu half-open, %u of %llu in TIME-WAIT, %u and "
        "%u records refused",
        h->id, out.connections, (unsigned long long)connections, out.half_open,
        (unsigned long long)half_open, out.time_wait, (unsigned long long)waiting,
        out.half_open_refused, out.time_wait_refused);
    sim_check_all(h);
}
