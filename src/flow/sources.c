// SPDX-License-Identifier: BSD-3-Clause
#include "flow/sources.h"

#include <string.h>

struct place {
    uint64_t who;
    uint32_t connections : SOURCE_COUNT_BITS;
    uint32_t service : SOURCE_SERVICE_BITS;
    uint32_t next;  // the next place of the chain, or of the list of free places
};
static_assert(sizeof(struct place) == 16, "with its bucket at most 24 bytes for each connection");

struct sources {
    struct siphash_key secret;
    uint32_t mask;
    uint32_t free;  // the first free place
    uint32_t now;
    uint32_t *bucket;     // mask + 1 elements
    struct place *place;  // element 0 is unused
};

static uint32_t buckets_of(uint32_t connections)
{
    uint32_t n = 1;
    while (n < connections && n < 1u << 31)
        n *= 2;
    return n;
}

static size_t head_bytes(void)
{
    return ALIGN_UP(sizeof(struct sources), CACHE_LINE);
}

size_t sources_footprint(uint32_t connections)
{
    CHECK(connections >= 1 && connections < 1u << SOURCE_COUNT_BITS);
    return ALIGN_UP(head_bytes() + ((size_t)connections + 1) * sizeof(struct place) +
                        (size_t)buckets_of(connections) * sizeof(uint32_t),
                    CACHE_LINE);
}

struct sources *sources_init(void *mem, uint32_t connections, struct siphash_key secret)
{
    struct sources *s = mem;
    memset(mem, 0, sources_footprint(connections));
    s->secret = secret;
    s->mask = buckets_of(connections) - 1;
    s->place = (struct place *)(void *)((uint8_t *)mem + head_bytes());
    s->bucket = (uint32_t *)(void *)&s->place[(size_t)connections + 1];
    for (uint32_t i = 1; i < connections; i++)
        s->place[i].next = i + 1;
    s->free = 1;
    return s;
}

static uint32_t *chain_of(const struct sources *s, uint64_t who, uint8_t service)
{
    return &s->bucket[siphash_u64x2(&s->secret, who, service) & s->mask];
}

static uint32_t find(const struct sources *s, uint64_t who, uint8_t service)
{
    uint32_t i = *chain_of(s, who, service);
    while (i != SOURCE_NONE && (s->place[i].who != who || s->place[i].service != service))
        i = s->place[i].next;
    return i;
}

uint32_t sources_count(const struct sources *s, uint64_t who, uint8_t service)
{
    return s->place[find(s, who, service)].connections;
}

static uint32_t make(struct sources *s, uint64_t who, uint8_t service)
{
    const uint32_t i = s->free;
    uint32_t *chain = chain_of(s, who, service);
    CHECK(i != SOURCE_NONE);
    s->free = s->place[i].next;
    s->place[i] = (struct place){.who = who, .service = service, .next = *chain};
    *chain = i;
    s->now++;
    return i;
}

uint32_t sources_enter(struct sources *s, uint64_t who, uint8_t service)
{
    uint32_t i = find(s, who, service);
    if (i == SOURCE_NONE)
        i = make(s, who, service);
    s->place[i].connections++;
    return i;
}

void sources_leave(struct sources *s, uint32_t place)
{
    struct place *p = &s->place[place];
    CHECK(place != SOURCE_NONE && p->connections != 0);
    if (--p->connections != 0)
        return;
    uint32_t *link = chain_of(s, p->who, p->service);
    while (*link != place)
        link = &s->place[*link].next;
    *link = p->next;
    p->next = s->free;
    s->free = place;
    s->now--;
}

uint32_t sources_now(const struct sources *s)
{
    return s->now;
}
