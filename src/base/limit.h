// SPDX-License-Identifier: BSD-3-Clause
// limit.h: rate limits of answers to strangers, from which nobody can learn what others did.
//
// The attack: a host that can forge source addresses (RFC 2827 is not everywhere) sends questions
// in the name of others until a shared limit is reached, and then asks in its own name. Whether it
// gets an answer tells how many of the other questions used one up ("Off-path TCP exploits: global
// rate limit considered dangerous", 2016; "DNS cache poisoning attack reloaded", 2020,
// CVE-2020-25705). Therefore:
//
//   Each source has a limit of its own, which is checked first: a token bucket (GCRA, ITU-T I.371)
//     with a LIMIT_SHARE-th of the common rate.
//   The common limit is redrawn at random times: in each period of half a second to one and a half
//     seconds it is a random half to one and a half times the average. No tokens are carried over.
//   A question takes the same tokens from both, whatever the answer is (callers ensure that:
//     tcp_stranger() in tcp/tcp_input.c).
//
// A source is what source_of() returns. LIMIT_SETS * LIMIT_WAYS sources are known. A new one
// replaces the one that was idle longest and starts with a full bucket; the common limit still
// applies. One owner; time is an argument; random numbers come from the key.
#pragma once
#include "base/addr.h"
#include "base/siphash.h"

enum {
    LIMIT_SETS = 256,
    LIMIT_WAYS = 4,
    LIMIT_SHARE = 4,        // a source has a quarter of the rate,
    LIMIT_BURST = 4,        // and a quarter of a second's worth as its burst
    LIMIT_PERIOD_MS = 500,  // the shortest period; the longest is three times that
};

struct limit_source {
    uint64_t who;
    uint64_t next_us;  // when its next token is due
};

static_assert(LIMIT_WAYS * sizeof(struct limit_source) == CACHE_LINE, "a set is one line");

struct limit {
    struct siphash_key key;
    uint64_t draws;      // random numbers drawn so far
    uint64_t period_us;  // when the current period ends
    uint32_t left;       // tokens of all sources left in it
    struct limit_source set[LIMIT_SETS][LIMIT_WAYS] CACHE_ALIGNED;
};

// limit_init: all limits full. The key is used for this limit only.
void limit_init(struct limit *l, struct siphash_key key);

// limit_rest: fills all limits again.
void limit_rest(struct limit *l);

// limit_take: takes a token for an answer to the source `who`. False, and nothing is taken: the
// rate of the source or the common rate is exceeded. per_s: the common rate on average; 0: no
// answers. Cost: one keyed hash and one cache line.
bool limit_take(struct limit *l, uint32_t per_s, uint64_t who, uint64_t now_us);

// limit_draw: a random number below n, n > 0, that nobody can predict.
uint32_t limit_draw(struct limit *l, uint32_t n);
