// SPDX-License-Identifier: BSD-3-Clause
#include "base/limit.h"

void limit_init(struct limit *l, struct siphash_key key)
{
    *l = (struct limit){.key = key};
}

void limit_rest(struct limit *l)
{
    memset(l->set, 0, sizeof(l->set));
    l->period_us = 0;
}

// The second word separates the two uses of the key: 1 for random numbers, 0 for the set of a
// source (place_of).
uint32_t limit_draw(struct limit *l, uint32_t n)
{
    return (uint32_t)((siphash_u64x2(&l->key, l->draws++, 1) >> 32) * n >> 32);
}

// place_of: the entry of `who` in its set. If there is none, `who` gets the entry whose next_us is
// the earliest.
static struct limit_source *place_of(struct limit *l, uint64_t who)
{
    struct limit_source *set = l->set[siphash_u64x2(&l->key, who, 0) % LIMIT_SETS], *rested = set;
    for (unsigned i = 0; i < LIMIT_WAYS; i++) {
        if (set[i].who == who)
            return &set[i];
        if (set[i].next_us < rested->next_us)
            rested = &set[i];
    }
    *rested = (struct limit_source){.who = who};
    return rested;
}

// draw_period: begins a new period of the common limit if the last one is over. Its length and its
// limit are random, so that a remote host cannot predict them.
static void draw_period(struct limit *l, uint32_t per_s, uint64_t now_us)
{
    if (now_us < l->period_us)
        return;
    l->period_us = now_us + LIMIT_PERIOD_MS * 1000 + limit_draw(l, 2 * LIMIT_PERIOD_MS * 1000);
    l->left = (per_s + 1) / 2 + limit_draw(l, per_s);
}

bool limit_take(struct limit *l, uint32_t per_s, uint64_t who, uint64_t now_us)
{
    if (per_s == 0)
        return false;
    struct limit_source *s = place_of(l, who);
    const uint64_t interval_us = (uint64_t)LIMIT_SHARE * 1000000 / per_s;
    const uint64_t burst = MAX(per_s / (LIMIT_SHARE * LIMIT_BURST), 1u);
    const uint64_t at_us = MAX(s->next_us, now_us);
    if (at_us - now_us > (burst - 1) * interval_us)
        return false;
    draw_period(l, per_s, now_us);
    if (l->left == 0)
        return false;
    l->left--;
    s->next_us = at_us + interval_us;
    return true;
}
