// SPDX-License-Identifier: BSD-3-Clause
#include "tcp/tcp_hystart.h"

#include "tcp/tcp.h"

// RFC 9406 4.3.
enum {
    MIN_RTT_THRESH_US = 4000,
    MAX_RTT_THRESH_US = 16000,
    MIN_RTT_DIVISOR = 8,
    N_RTT_SAMPLE = 8,
    CSS_ROUNDS = 5,
};

#define INFINITE UINT32_MAX

static void begin_round(struct hystart *h, uint32_t snd_nxt)
{
    h->last_us = h->now_us;
    h->now_us = INFINITE;
    h->samples = 0;
    h->round_end = snd_nxt;
}

void hystart_begin(struct hystart *h, uint32_t snd_nxt)
{
    *h = (struct hystart){.now_us = INFINITE};
    begin_round(h, snd_nxt);
}

static bool has_risen(const struct hystart *h)
{
    if (h->samples < N_RTT_SAMPLE || h->now_us == INFINITE || h->last_us == INFINITE)
        return false;
    const uint32_t thresh_us = MIN(MAX(h->last_us / MIN_RTT_DIVISOR, (uint32_t)MIN_RTT_THRESH_US),
                                   (uint32_t)MAX_RTT_THRESH_US);
    return h->now_us >= h->last_us + thresh_us;
}

static void note_sample(struct hystart *h, uint32_t rtt_us)
{
    h->now_us = MIN(h->now_us, rtt_us);
    h->samples = (uint8_t)MIN(h->samples + 1, N_RTT_SAMPLE);
}

enum hystart_says hystart_acked(struct hystart *h, bool *css, uint32_t una, uint32_t snd_nxt,
                                uint32_t rtt_us)
{
    bool over = false;
    if (rtt_us != 0)
        note_sample(h, rtt_us);
    if (!*css && has_risen(h)) {
        h->baseline_us = h->now_us;
        h->css_rounds = 0;
        *css = true;
    } else if (*css && h->samples >= N_RTT_SAMPLE && h->now_us < h->baseline_us) {
        *css = false;
    }
    if (!seq_lt(una, h->round_end)) {
        begin_round(h, snd_nxt);
        over = *css && ++h->css_rounds >= CSS_ROUNDS;
    }
    if (over)
        return HYSTART_LEAVE;
    return *css ? HYSTART_SLOW : HYSTART_GROW;
}
