// SPDX-License-Identifier: BSD-3-Clause
#include "tcp/tcp_fast_open.h"

enum {
    // A cookie is valid in the period in which it was made, 2^34 us or 4.8 h, and in the next.
    PERIOD_BITS = 34,
    RESET_TURN_MS = 60 * 1000,
};

static struct seq_range cookie_of(const struct tcp *t, const struct ip_addr *remote,
                                  uint32_t period)
{
    const struct {
        struct ip_addr remote;
        uint32_t period;
    } in = {*remote, period};
    static_assert(sizeof(in) == 20, "no padding, and a length that no other input of the key has");
    const uint64_t mac = siphash_bytes(&t->fast_open_key, &in, sizeof(in));
    return (struct seq_range){(uint32_t)(mac >> 32), (uint32_t)mac};
}

static uint32_t period_of(const struct tcp *t)
{
    return (uint32_t)(t->now.us >> PERIOD_BITS);
}

struct seq_range tcp_fast_open_cookie(const struct tcp *t, const struct ip_addr *remote)
{
    return cookie_of(t, remote, period_of(t));
}

static bool is_valid(const struct tcp *t, const struct seg_in *s)
{
    if (s->sack_count != 1)
        return false;
    const struct seq_range got = t->sacks_in[s->pkt_ix][0];
    bool valid = false;
    for (uint32_t age = 0; age < 2; age++) {
        const struct seq_range c = cookie_of(t, &s->key.remote, period_of(t) - age);
        valid |= ((c.start ^ got.start) | (c.end ^ got.end)) == 0;
    }
    return valid;
}

// age_resets: begins a new interval of 60 s for the counted resets.
static void age_resets(const struct tcp *t, struct tcp_service *sv)
{
    const uint32_t ago_ms = t->now.ms - sv->fast_open_reset_ms;
    if (ago_ms < RESET_TURN_MS)
        return;
    sv->fast_open_reset[1] = ago_ms < 2 * RESET_TURN_MS ? sv->fast_open_reset[0] : 0;
    sv->fast_open_reset[0] = 0;
    sv->fast_open_reset_ms = t->now.ms - ago_ms % RESET_TURN_MS;
}

static bool is_full(const struct tcp_service *sv)
{
    return sv->fast_open_now + sv->fast_open_reset[0] + sv->fast_open_reset[1] >= sv->fast_open;
}

enum fast_open tcp_fast_open_judge(struct tcp *t, int listener, const struct seg_in *s)
{
    struct tcp_service *sv = &t->services[listener_service(listener)];
    const bool asks = s->sack_off == 0;
    if (sv->fast_open == 0 || listener_place(listener) != TCP_LISTEN_NONE || tcp_cookies_awaited(t))
        return FAST_OPEN_NONE;
    t->stats->c.fast_open_requests += asks;
    age_resets(t, sv);
    if (is_full(sv)) {
        t->stats->c.fast_open_overflows++;
        return FAST_OPEN_NONE;
    }
    if (asks)
        return FAST_OPEN_OFFER;
    if (!is_valid(t, s)) {
        t->stats->c.fast_opens_failed++;
        return FAST_OPEN_OFFER;
    }
    const bool room = t->bufs.n_free_data >= TCP_BUFS_RESERVE;
    return s->data_len != 0 && room ? FAST_OPEN_ACCEPT : FAST_OPEN_NONE;
}

void tcp_fast_open_offer(const struct tcp *t, struct seg_out *o)
{
    struct seq_range *to = t->sacks_out[o - t->out];
    to[0] = tcp_fast_open_cookie(t, &o->key.remote);
    o->sack = to;
    o->opts |= SEG_OPT_FAST_OPEN;
}

void tcp_fast_open_begun(struct tcp *t, const struct block *b)
{
    t->services[b->service].fast_open_now++;
    t->stats->c.fast_opens++;
}

void tcp_fast_open_ended(struct tcp *t, const struct block *b, bool reset)
{
    struct tcp_service *sv = &t->services[b->service];
    sv->fast_open_now--;
    if (!reset)
        return;
    age_resets(t, sv);
    sv->fast_open_reset[0]++;
}
