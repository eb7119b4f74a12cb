// SPDX-License-Identifier: BSD-3-Clause
// side_channel.h: the game of an attacker beside the path, who wants to know a secret bit: whether
// there is a connection, whether a port is open. He sends in others' names and in his own, and
// counts the answers that he gets himself, as often as he likes in a round. Half of the rounds he
// is told the bit, and learns from it; in the other half he says what it is. Whatever he counts he
// may use the mean, the least or the most of a round, below or above a threshold: the best of these
// in the first half. By chance he is right in half of the rounds.
#pragma once
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "check.h"

enum { SIDE_CHANNEL_ROUNDS = 120, SIDE_CHANNEL_STATISTICS = 3 };

struct side_channel {
    const char *name;
    unsigned repeats;  // of one attempt in a round
    // attempt: what he gets to see of one attempt with the bit as given.
    unsigned (*attempt)(void *arg, struct rng *rng, bool bit);
    void *arg;
};

struct side_channel_round {
    bool bit;
    double seen[SIDE_CHANNEL_STATISTICS];
};

static inline struct side_channel_round side_channel_play(const struct side_channel *o,
                                                          struct rng *rng)
{
    struct side_channel_round r = {.bit = rng_below(rng, 2) != 0, .seen = {0, INFINITY, -INFINITY}};
    for (unsigned i = 0; i < o->repeats; i++) {
        const double n = o->attempt(o->arg, rng, r.bit);
        r.seen[0] += n;
        r.seen[1] = fmin(r.seen[1], n);
        r.seen[2] = fmax(r.seen[2], n);
    }
    return r;
}

// How many of n rounds he is right in, who says 1 above the threshold (or below it).
static inline unsigned side_channel_right(const struct side_channel_round *r, unsigned n,
                                          unsigned statistic, double threshold, bool above)
{
    unsigned right = 0;
    for (unsigned i = 0; i < n; i++)
        right += ((r[i].seen[statistic] > threshold) == above) == r[i].bit;
    return right;
}

// side_channel_rate: in what part of the rounds he is right that he was not told of.
static inline double side_channel_rate(const struct side_channel *o, struct rng *rng)
{
    static struct side_channel_round told[SIDE_CHANNEL_ROUNDS], asked[SIDE_CHANNEL_ROUNDS];
    unsigned best = 0, statistic = 0;
    double threshold = 0;
    bool above = true;
    for (unsigned i = 0; i < SIDE_CHANNEL_ROUNDS; i++) {
        told[i] = side_channel_play(o, rng);
        asked[i] = side_channel_play(o, rng);
    }
    for (unsigned k = 0; k < SIDE_CHANNEL_STATISTICS; k++) {
        for (unsigned i = 0; i < 2 * SIDE_CHANNEL_ROUNDS; i++) {
            const double at = told[i / 2].seen[k];
            const unsigned right = side_channel_right(told, SIDE_CHANNEL_ROUNDS, k, at, i % 2);
            if (right > best) {
                best = right;
                statistic = k;
                threshold = at;
                above = i % 2;
            }
        }
    }
    return (double)side_channel_right(asked, SIDE_CHANNEL_ROUNDS, statistic, threshold, above) /
           SIDE_CHANNEL_ROUNDS;
}

// side_channel_fails: fails the test if he does better than chance: by more than five of its
// standard deviations, which happens once in three million runs.
static inline void side_channel_fails(const struct side_channel *o, struct rng *rng)
{
    const double rate = side_channel_rate(o, rng);
    fprintf(stderr, "%s: right in %.0f %% of %d rounds\n", o->name, 100 * rate,
            SIDE_CHANNEL_ROUNDS);
    if (rate > 0.5 + 5 * 0.5 / sqrt(SIDE_CHANNEL_ROUNDS))
        fail_msg("%s: an attacker beside the path learns the secret", o->name);
}
