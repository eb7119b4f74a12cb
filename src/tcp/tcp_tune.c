// SPDX-License-Identifier: BSD-3-Clause
#include "tcp/tcp_tune.h"

static_assert(TCP_SERVICES_MAX == 1 << 5 && TCP_GROWN_MAX == (1 << 3) - 1,
              "the block has five bits for the service and three for the growth");

enum {
    ROUND_MS_MIN = 4,  // shorter round trips are measured together, because the clock is coarse
    RTT_UNKNOWN_US = 100000,  // assumed before the first measurement
};

void tcp_set_limits(struct tcp *t)
{
    for (uint32_t i = 0; i < t->n_services; i++) {
        const struct tcp_service *s = &t->services[i];
        uint64_t limit = s->rcv_initial != 0 ? s->rcv_initial : s->rcv_limit;
        for (uint32_t grown = 0; grown <= TCP_GROWN_MAX; grown++, limit *= 2)
            t->rcv_limits[grown * TCP_SERVICES_MAX + i] =
                grown == TCP_GROWN_MAX ? s->rcv_limit : (uint32_t)MIN(limit, s->rcv_limit);
    }
}

static bool is_scarce(const struct tcp *t)
{
    return t->bufs.n_free_data < t->bufs.data_count / 2;
}

uint32_t tcp_snd_tuned(const struct tcp *t, const struct block *b)
{
    const struct tcp_service *s = &t->services[b->service];
    const uint32_t first = s->snd_initial != 0 ? s->snd_initial : s->snd_limit;
    if (b->cwnd <= first / 2 || is_scarce(t))
        return MIN(first, s->snd_limit);
    return (uint32_t)MIN(2ull * b->cwnd, s->snd_limit);
}

// tcp_tune_receive: a round begins at last_rx_ms with last_progress. The keepalive timer sets both
// as well, to a later begin. The current burst belongs to the next round; otherwise a round would
// count the bursts at both of its ends.
void tcp_tune_receive(struct tcp *t, struct block *b)
{
    const uint32_t limit = t->rcv_limits[b->window_class];
    const uint32_t rtt_us = b->srtt_us != 0 ? b->srtt_us >> 3 : RTT_UNKNOWN_US;
    const uint32_t round_ms = t->now.ms - b->last_rx_ms;
    if (limit >= t->services[b->service].rcv_limit ||
        round_ms < MAX(rtt_us / 1000, (uint32_t)ROUND_MS_MIN))
        return;
    const uint32_t progress = tcp_progress(b) - (uint32_t)b->unacked_segs * b->mss;
    const int32_t came = (int32_t)(progress - b->last_progress);
    const uint64_t per_rtt = (uint64_t)MAX(came, 0) * rtt_us / (round_ms * 1000ull);
    b->last_rx_ms = t->now.ms;
    b->last_progress = progress;
    // 3: twice the data of a round trip, times 1.5, because the measurement is a round trip old.
    while (b->rcv_grown < TCP_GROWN_MAX && per_rtt * 3 > t->rcv_limits[b->window_class] &&
           b->rcvq_bytes <= limit / 2 && !is_scarce(t))
        b->rcv_grown = (b->rcv_grown + 1) & TCP_GROWN_MAX;
}
