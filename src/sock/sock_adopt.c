// SPDX-License-Identifier: BSD-3-Clause
#include "sock/sock_adopt.h"

#include <string.h>

#include "tcp/tcp.h"
#include "tcp/tcp_adopt.h"

void sock_states_note(struct sock_states *st, const struct c10m_service *services, unsigned n)
{
    uint32_t unknown = 0;
    for (unsigned i = 0; i < n; i++) {
        st->version[i] = services[i].app->state_version;
        unknown |= services[i].app->adopts ? 0 : 1u << i;
    }
    shared_u32_store_release(&st->unknown, unknown);  // after the versions
}

struct sock_change sock_states_begin(struct sock_states *st, const struct c10m_service *services,
                                     unsigned n)
{
    const uint32_t unknown = shared_u32_load(&st->unknown);
    struct sock_change c = {.other = 0, .unknown = unknown};
    for (unsigned i = 0; i < n; i++)
        if (services[i].app->adopts &&
            ((unknown >> i & 1) != 0 || st->version[i] != services[i].app->state_version))
            c.other |= 1u << i;
    shared_u32_store(&st->unknown, unknown | c.other);
    __asm__ volatile("" ::: "memory");  // this process may be killed at the next store
    return c;
}

void sock_states_end(struct sock_states *st, const struct c10m_service *services, unsigned n)
{
    sock_states_note(st, services, n);
}

// is_told: whether its application has written state, and will see it again. It has closed an
// orphan, and has not seen a connection whose handshake is not complete.
static bool is_told(const struct block *b)
{
    return b->state != TCP_FREE && (b->flags & BF_IN_APP) != 0;
}

// convert: on a copy, so that state is of one version or of the other.
static bool convert(const struct c10m_service *s, uint32_t version, struct block *b)
{
    uint8_t copy[C10M_STATE_BYTES] __attribute__((aligned(64)));
    memcpy(copy, b->app, sizeof(copy));
    if (s->app->adopt == NULL || !s->app->adopt(s, version, copy))
        return false;
    memcpy(b->app, copy, sizeof(copy));
    return true;
}

static bool converts(struct sock *k, const struct sock_states *st, struct sock_change change,
                     struct block *b)
{
    return (change.unknown >> b->service & 1) == 0 &&
           convert(&k->services[b->service], st->version[b->service], b);
}

static unsigned convert_all(struct sock *k, const struct sock_states *st, struct sock_change change)
{
    unsigned refused = 0;
    for (uint32_t ix = 0; change.other != 0 && ix < k->tcp->block_pool->count; ix++) {
        struct block *b = &k->tcp->blocks[ix];
        if (!is_told(b) || (change.other >> b->service & 1) == 0 || converts(k, st, change, b))
            continue;
        tcp_adopt_refuse(k->tcp, ix);
        refused++;
    }
    return refused;
}

// that_look: services whose applications look at each connection, one bit each.
static uint32_t that_look(const struct sock *k)
{
    uint32_t services = 0;
    for (uint32_t i = 0; i < k->tcp->n_services; i++)
        if (k->services[i].app->adopts && k->services[i].app->adopted != NULL)
            services |= 1u << i;
    return services;
}

static bool goes_on(struct sock *k, uint32_t ix)
{
    struct c10m_conn c = {k, &k->tcp->blocks[ix], ix, 0};
    const bool yes = k->services[c.b->service].app->adopted(&c);
    k->n_others = 0;
    return yes;
}

// look_all: c10m_find() does not find what was refused before. An application refuses both of two
// connections that need each other, or none.
static unsigned look_all(struct sock *k)
{
    const uint32_t services = that_look(k);
    unsigned refused = 0;
    for (uint32_t ix = 0; services != 0 && ix < k->tcp->block_pool->count; ix++) {
        const struct block *b = &k->tcp->blocks[ix];
        if (!is_told(b) || (services >> b->service & 1) == 0 || goes_on(k, ix))
            continue;
        tcp_adopt_refuse(k->tcp, ix);
        refused++;
    }
    return refused;
}

unsigned sock_adopt(struct sock *k, const struct sock_states *st, struct sock_change change)
{
    const unsigned refused = convert_all(k, st, change);
    return refused + look_all(k);
}
