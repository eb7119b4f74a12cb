// SPDX-License-Identifier: BSD-3-Clause
#include "doctor/doctor_cpus.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/topology.h"

enum { WORDS = DOCTOR_CPUS_MAX / 64, MASK_WORDS = DOCTOR_CPUS_MAX / 32, MASK_DIGITS = 8 };

void doctor_cpus_add(struct doctor_cpus *set, unsigned cpu)
{
    if (cpu < DOCTOR_CPUS_MAX)
        set->bits[cpu / 64] |= UINT64_C(1) << (cpu % 64);
}

bool doctor_cpus_has(const struct doctor_cpus *set, unsigned cpu)
{
    return cpu < DOCTOR_CPUS_MAX && (set->bits[cpu / 64] >> (cpu % 64) & 1) != 0;
}

unsigned doctor_cpus_count(const struct doctor_cpus *set)
{
    unsigned n = 0;
    for (unsigned i = 0; i < WORDS; i++)
        n += (unsigned)__builtin_popcountll(set->bits[i]);
    return n;
}

struct doctor_cpus doctor_cpus_and(const struct doctor_cpus *a, const struct doctor_cpus *b)
{
    struct doctor_cpus r;
    for (unsigned i = 0; i < WORDS; i++)
        r.bits[i] = a->bits[i] & b->bits[i];
    return r;
}

struct doctor_cpus doctor_cpus_less(const struct doctor_cpus *a, const struct doctor_cpus *b)
{
    struct doctor_cpus r;
    for (unsigned i = 0; i < WORDS; i++)
        r.bits[i] = a->bits[i] & ~b->bits[i];
    return r;
}

struct doctor_cpus doctor_cpus_or(const struct doctor_cpus *a, const struct doctor_cpus *b)
{
    struct doctor_cpus r;
    for (unsigned i = 0; i < WORDS; i++)
        r.bits[i] = a->bits[i] | b->bits[i];
    return r;
}

bool doctor_cpus_parse_list(struct doctor_cpus *set, const char *text)
{
    unsigned long from, to;
    int more;
    *set = (struct doctor_cpus){0};
    while ((more = topology_list_next(&text, &from, &to)) == 1) {
        if (to >= DOCTOR_CPUS_MAX)
            return false;
        for (unsigned long cpu = from; cpu <= to; cpu++)
            doctor_cpus_add(set, (unsigned)cpu);
    }
    return more == 0;
}

static int digit_of(char c)
{
    return isdigit((unsigned char)c)    ? c - '0'
           : isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10
                                        : -1;
}

// From the end: each digit is four CPUs, commas separate words.
bool doctor_cpus_parse_mask(struct doctor_cpus *set, const char *text)
{
    size_t len = strcspn(text, "\n");
    unsigned cpu = 0;
    *set = (struct doctor_cpus){0};
    while (len-- > 0) {
        if (text[len] == ',')
            continue;
        const int digit = digit_of(text[len]);
        if (digit < 0 || (digit != 0 && cpu >= DOCTOR_CPUS_MAX))
            return false;
        for (unsigned bit = 0; bit < 4; bit++)
            if (digit >> bit & 1)
                doctor_cpus_add(set, cpu + bit);
        cpu += 4;
    }
    return true;
}

const char *doctor_cpus_list(const struct doctor_cpus *set, char out[DOCTOR_CPUS_TEXT_BYTES])
{
    size_t used = 0;
    out[0] = '\0';
    for (unsigned cpu = 0; cpu < DOCTOR_CPUS_MAX; cpu++) {
        unsigned to = cpu;
        if (!doctor_cpus_has(set, cpu))
            continue;
        while (doctor_cpus_has(set, to + 1))
            to++;
        const char *comma = used == 0 ? "" : ",";
        const size_t room = DOCTOR_CPUS_TEXT_BYTES - used;
        used += (size_t)(to == cpu ? snprintf(out + used, room, "%s%u", comma, cpu)
                                   : snprintf(out + used, room, "%s%u-%u", comma, cpu, to));
        cpu = to;
    }
    return out;
}

const char *doctor_cpus_mask(const struct doctor_cpus *set, char out[DOCTOR_CPUS_TEXT_BYTES])
{
    size_t used = 0;
    for (unsigned word = MASK_WORDS; word-- > 0;) {
        const uint32_t bits = (uint32_t)(set->bits[word / 2] >> (word % 2 * 32));
        if (used == 0 && bits == 0 && word != 0)
            continue;
        used += (size_t)(used == 0 ? snprintf(out, DOCTOR_CPUS_TEXT_BYTES, "%x", bits)
                                   : snprintf(out + used, DOCTOR_CPUS_TEXT_BYTES - used, ",%0*x",
                                              MASK_DIGITS, bits));
    }
    return out;
}
