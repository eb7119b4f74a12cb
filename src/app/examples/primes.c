// SPDX-License-Identifier: BSD-3-Clause
#include "primes.h"

#include <stdio.h>

void primes_begin(struct primes *p, uint32_t wanted)
{
    p->wanted = wanted;
    p->found = 0;
    p->next = 2;
}

// One stage: removes the multiples of `prime` from the burst. Returns how many numbers remain.
static unsigned stage(uint32_t prime, uint32_t *burst, unsigned n)
{
    unsigned left = 0;
    for (unsigned i = 0; i < n; i++) {
        burst[left] = burst[i];
        left += burst[i] % prime != 0;
    }
    return left;
}

// The first number that has passed all stages is a prime, and sieves the others.
static unsigned add_stage(struct primes *p, uint32_t *burst, unsigned n)
{
    p->stages[p->found++] = (uint16_t)burst[0];
    return stage(burst[0], burst, n);
}

bool primes_step(struct primes *p)
{
    uint32_t burst[PRIMES_BURST];
    unsigned n = PRIMES_BURST;
    for (unsigned i = 0; i < n; i++)
        burst[i] = p->next++;
    for (uint32_t i = 0; i < p->found && n != 0; i++)
        n = stage(p->stages[i], burst, n);
    while (n != 0 && p->found < p->wanted)
        n = add_stage(p, burst, n);
    return p->found == p->wanted;
}

size_t primes_text(const struct primes *p, char out[PRIMES_TEXT_BYTES])
{
    size_t n = 0;
    for (uint32_t i = 0; i < p->found; i++)
        n += (size_t)snprintf(out + n, PRIMES_TEXT_BYTES - n, "%u\n", p->stages[i]);
    return n;
}
