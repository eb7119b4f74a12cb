// SPDX-License-Identifier: BSD-3-Clause
#include "tcp/tcp_listen.h"

#include <errno.h>

#include "tcp/tcp_internal.h"

enum { PLACE_BITS = 10 };
static_assert(TCP_LISTENINGS_MAX == 1 << PLACE_BITS, "an id consists of a generation and a place");
static_assert(sizeof(struct listening) == 32, "the table is 34 KB");
static_assert((int)TCP_LOCALS_MAX <= (int)TCP_LISTEN_DEVICE_LOCALS &&
                  (TCP_LANES_MAX + 1) * TCP_LISTEN_DEVICE_LOCALS < UINT16_MAX / 2,
              "a scope and a device share one number");

static uint16_t *head_of(struct listen_table *l, uint16_t port, uint16_t scope)
{
    // The application chooses port and scope, so no peer can cause long chains.
    const uint32_t h = (uint32_t)(port * 0x9e37u + scope) * 0x9e3779b1u;
    return &l->heads[h >> (32 - PLACE_BITS)];
}

static uint16_t find(const struct listen_table *l, uint16_t port, uint16_t scope)
{
    uint16_t at = *head_of((struct listen_table *)(uintptr_t)l, port, scope);
    while (at != 0 && (l->at[at - 1].port != port || l->at[at - 1].scope != scope))
        at = l->at[at - 1].next;
    return at;
}

static uint16_t find_of(const struct listen_table *l, uint16_t port, uint16_t scope,
                        unsigned device)
{
    return find(l, port, tcp_listen_scope(scope, device));
}

// find_by_device: used if a listener is bound to a device. A match of the address counts more than
// a match of the device (Linux's compute_score()).
static uint16_t find_by_device(const struct listen_table *l, uint16_t port, uint16_t local_ix,
                               uint16_t family, unsigned device)
{
    uint16_t at = find_of(l, port, local_ix, device);
    if (at == TCP_LISTEN_NONE)
        at = find(l, port, local_ix);
    if (at == TCP_LISTEN_NONE)
        at = find_of(l, port, family, device);
    return at != TCP_LISTEN_NONE ? at : find_of(l, port, TCP_LISTEN_ANY, device);
}

uint16_t tcp_listen_find(const struct listen_table *l, uint16_t port, uint16_t local_ix, bool v4,
                         unsigned device)
{
    const uint16_t family = v4 ? TCP_LISTEN_V4 : TCP_LISTEN_V6;
    uint16_t at = unlikely(l->of_devices != 0) ? find_by_device(l, port, local_ix, family, device)
                                               : find(l, port, local_ix);
    if (at == TCP_LISTEN_NONE)
        at = find(l, port, family);
    return at != TCP_LISTEN_NONE ? at : find(l, port, TCP_LISTEN_ANY);
}

int tcp_listen_id(const struct listen_table *l, uint16_t listen)
{
    return (int)l->at[listen - 1].life << PLACE_BITS | (listen - 1);
}

static struct listening *named(const struct tcp *t, int id)
{
    if (t->listens == NULL || id < 0)
        return NULL;
    struct listening *g = &t->listens->at[id & (TCP_LISTENINGS_MAX - 1)];
    return g->live && g->life == id >> PLACE_BITS ? g : NULL;
}

struct listening *listening_of(const struct tcp *t, const struct syn_record *r)
{
    if (likely(r->listen == TCP_LISTEN_NONE))
        return NULL;
    struct listening *g = &t->listens->at[r->listen - 1];
    return g->live && g->life == r->listen_life ? g : NULL;
}

bool listening_gone(const struct tcp *t, const struct syn_record *r)
{
    return r->listen != TCP_LISTEN_NONE && listening_of(t, r) == NULL;
}

// timeouts_in: how many timeouts of the SYN-ACK begin within s seconds (Linux's secs_to_retrans()).
static uint8_t timeouts_in(const struct tcp_config *cfg, uint32_t s)
{
    const uint64_t ms = (uint64_t)s * 1000;
    uint64_t wait = MAX(cfg->rto_initial_ms, 1u), period = wait;
    uint32_t n = s != 0;
    for (; ms > period && n < UINT8_MAX; n++) {
        wait = MIN(wait * 2, (uint64_t)cfg->rto_max_ms);
        period += wait;
    }
    return (uint8_t)n;
}

// is_configured: whether a configured service has the port at an address of that scope. A service
// for all addresses has it at each of them.
static bool is_configured(const struct tcp *t, const struct tcp_listen_ask *ask)
{
    for (uint32_t i = 0; i < t->n_services; i++) {
        const struct tcp_service *sv = &t->services[i];
        if (sv->local_ix != UINT16_MAX && ask->scope < TCP_LOCALS_MAX && sv->local_ix != ask->scope)
            continue;
        for (unsigned k = 0; k < sv->n_ports; k++)
            if (sv->ports[k] == ask->port)
                return true;
    }
    return false;
}

static uint16_t alloc_place(struct listen_table *l)
{
    const uint16_t at = l->free_head;
    if (at != 0) {
        l->free_head = l->at[at - 1].next;
        return at;
    }
    return l->unused == TCP_LISTENINGS_MAX ? 0 : ++l->unused;
}

static void set_limits(const struct tcp *t, struct listening *g, const struct tcp_listen_ask *ask)
{
    g->backlog = ask->backlog;
    g->defer = timeouts_in(&t->cfg, ask->defer_s);
    g->retries = ask->retries;
    g->rcv_limit = ask->rcv_limit;
    g->mss_max = ask->mss_max != 0 ? MAX(ask->mss_max, (uint16_t)TCP_MSS_MIN) : 0;
    g->ttl = ask->ttl;
    g->tos = ask->tos;
}

int tcp_listen(struct tcp *t, const struct tcp_listen_ask *ask)
{
    struct listen_table *l = t->listens;
    if (l == NULL)
        return -ENOBUFS;
    const uint16_t scope = tcp_listen_scope(ask->scope, ask->device);
    if (find(l, ask->port, scope) != 0 || is_configured(t, ask))
        return -EADDRINUSE;
    const uint16_t at = alloc_place(l);
    if (at == 0)
        return -ENOBUFS;
    struct listening *g = &l->at[at - 1];
    uint16_t *head = head_of(l, ask->port, scope);
    *g = (struct listening){.port = ask->port,
                            .scope = scope,
                            .next = *head,
                            .life = (uint16_t)(g->life + 1),
                            .service = ask->service};
    set_limits(t, g, ask);
    record_live(&g->live, true);
    *head = at;
    l->used++;
    l->of_devices += ask->device != 0;
    return tcp_listen_id(l, at);
}

int tcp_listen_set(struct tcp *t, int id, const struct tcp_listen_ask *ask)
{
    struct listening *g = named(t, id);
    if (g == NULL)
        return -EBADF;
    set_limits(t, g, ask);
    return 0;
}

bool tcp_unlisten(struct tcp *t, int id)
{
    struct listen_table *l = t->listens;
    struct listening *g = named(t, id);
    if (g == NULL)
        return false;
    const uint16_t at = (uint16_t)(g - l->at + 1);
    uint16_t *link = head_of(l, g->port, g->scope);
    while (*link != at)
        link = &l->at[*link - 1].next;
    *link = g->next;
    record_live(&g->live, false);
    g->next = l->free_head;
    l->free_head = at;
    l->used--;
    l->of_devices -= g->scope != tcp_listen_plain(g->scope);
    return true;
}

void tcp_accepted(struct tcp *t, int id)
{
    struct listening *g = named(t, id);
    if (g != NULL && g->waiting != 0)
        g->waiting--;
}
