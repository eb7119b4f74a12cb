// SPDX-License-Identifier: BSD-3-Clause
// primes.h: a sieve of chained stages. Each prime is a stage that lets pass what it does not
// divide. What passes the last stage is the next prime, and becomes a stage itself.
//
//     2, 3, 4, 5 ...  ->  [ 2 ]  ->  [ 3 ]  ->  [ 5 ]  ->  ...  ->  a new stage
//
// The numbers go through the chain in bursts: one stage handles a burst before the next one sees
// it, as in the worker's own loop. Pure; one sieve belongs to one thread.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PRIMES_MAX = 1000,         // stages; the last prime is 7919
    PRIMES_BURST = 64,         // numbers that enter in one step
    PRIMES_TEXT_BYTES = 4900,  // 1,000 lines: 9 * 1 + 90 * 3 + ... see the test
};

struct primes {
    uint32_t wanted;  // stages, at most PRIMES_MAX
    uint32_t found;
    uint32_t next;  // the first number of the next burst
    uint16_t stages[PRIMES_MAX];
};

// primes_begin: a sieve for the first `wanted` primes (1..PRIMES_MAX).
void primes_begin(struct primes *p, uint32_t wanted);

// primes_step: sends one burst through the stages: at most PRIMES_BURST * PRIMES_MAX divisions.
// Returns whether all wanted primes are found.
bool primes_step(struct primes *p);

// primes_text: one line for each prime, in out. Returns the number of bytes.
size_t primes_text(const struct primes *p, char out[PRIMES_TEXT_BYTES]);
