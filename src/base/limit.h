// SPDX-License-Identifier: BSD-3-Clause
// limit.h: how many answers strangers get, so that nobody learns from what is missing.
//
// Whoever can send in the name of others (RFC 2827 is not everywhere) asks in their name until a
// limit that all share is reached, and then asks in his own: whether he gets an answer says how
// many of the others' questions took one ("Off-path TCP exploits: global rate limit considered
// dangerous", 2016; "DNS cache poisoning attack reloaded", 2020, CVE-2020-25705). Therefore
//
//   each source has a limit of its own, looked at first: a bucket that refills (GCRA, ITU-T I.371),
//     a LIMIT_SHARE-th of the whole and so much of a second at once;
//   the common one is drawn anew at times that are drawn: in each period, half a second to one and
//     a half, half to one and a half times what it would be. Nothing is carried over;
//   who asks takes the same from both, whatever is found (the callers' part:
//     tcp_stranger() in tcp/tcp_input.c).
//
// A source is what source_of() says. LIMIT_SETS times LIMIT_WAYS of them are known; one more takes
// the place of the one that has rested longest, and begins anew, as does who comes back: the common
// limit holds then. One owner; time is an argument, chance comes out of the key.
#pragma once
#include "base/addr.h"
#include "base/siphash.h"

enum {
    LIMIT_SETS = 256,
    LIMIT_WAYS = 4,
    LIMIT_SHARE = 4,        // a source has a fourth of the rate,
    LIMIT_BURST = 4,        // and a fourth of a second's worth of that at once
    LIMIT_PERIOD_MS = 500,  // at least; at most three times that
};

struct limit_source {
    uint64_t who;
    uint64_t next_us;  // when its next answer is due
};

static_assert(LIMIT_WAYS * sizeof(struct limit_source) == CACHE_LINE, "a set is one line");

struct limit {
    struct siphash_key key;
    uint64_t draws;      // numbers drawn with the key
    uint64_t period_us;  // when the present period ends
    uint32_t left;       // answers to all of it
    struct limit_source set[LIMIT_SETS][LIMIT_WAYS] CACHE_ALIGNED;
};

// limit_init: rested; the key is for this limit alone.
void limit_init(struct limit *l, struct siphash_key key);

// limit_rest: as if nobody had asked.
void limit_rest(struct limit *l);

// limit_take: an answer to `who`, a source, if one may leave: false, and nothing was taken, over
// the source's rate or the common one, per_s on an average; 0: never. Cost: one keyed hash and one
// line of memory.
bool limit_take(struct limit *l, uint32_t per_s, uint64_t who, uint64_t now_us);

// limit_draw: a number below n, n > 0, that nobody knows beforehand.
uint32_t limit_draw(struct limit *l, uint32_t n);
