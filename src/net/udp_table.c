// SPDX-License-Identifier: BSD-3-Clause
#include "net/udp_table.h"

#include <errno.h>
#include <string.h>

#include "wire/proto.h"
#include "wire/raw.h"

enum { VIEW_TRIES = 64 };

void udp_table_init(struct udp_table *t, struct siphash_key secret)
{
    memset(t, 0, sizeof(*t));
    memset(t->first, 0xff, sizeof(t->first));
    t->secret = secret;
    for (uint16_t i = 0; i < UDP_PORTS_MAX; i++)
        t->open[i].next = i + 1 < UDP_PORTS_MAX ? (uint16_t)(i + 1) : (uint16_t)UDP_NONE;
}

// entry_set: the only writer of the fields that other threads read. The fence and the last store
// pair with the two loads of seq in udp_table_view().
static void entry_set(struct udp_open *o, const struct udp_open *to)
{
    const uint32_t seq = o->seq;
    __atomic_store_n(&o->seq, seq + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    o->at = to->at;
    o->peer = to->peer;
    o->port = to->port;
    o->peer_port = to->peer_port;
    o->service = to->service;
    o->device = to->device;
    o->icmp = to->icmp;
    o->v6only = to->v6only;
    o->open = to->open;
    __atomic_store_n(&o->seq, seq + 2, __ATOMIC_RELEASE);
}

bool udp_table_view(const struct udp_table *t, uint16_t ix, struct udp_open *out)
{
    const struct udp_open *o = &t->open[ix];
    for (unsigned i = 0; i < VIEW_TRIES; i++) {
        const uint32_t seq = __atomic_load_n(&o->seq, __ATOMIC_ACQUIRE);
        memcpy(out, o, sizeof(*out));
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (__atomic_load_n(&o->seq, __ATOMIC_RELAXED) == seq && seq % 2 == 0)
            return out->open;
    }
    return false;
}

bool udp_table_shows(const struct udp_table *t, const struct ip_addr *at, uint16_t port)
{
    struct udp_open o;
    uint16_t ix = __atomic_load_n(&t->first[port], __ATOMIC_RELAXED);
    for (unsigned i = 0; i < UDP_PORTS_MAX && ix != UDP_NONE; i++) {
        if (udp_table_view(t, ix, &o) && !o.icmp && o.port == port && ip_equal(&o.at, at))
            return true;
        ix = __atomic_load_n(&t->open[ix].next, __ATOMIC_RELAXED);
    }
    return false;
}

int udp_table_open(struct udp_table *t, const struct udp_open *e)
{
    for (uint16_t i = t->first[e->port]; i != UDP_NONE; i = t->open[i].next)
        if (ip_equal(&t->open[i].at, &e->at) && t->open[i].v6only == e->v6only &&
            t->open[i].device == e->device && t->open[i].icmp == e->icmp)
            return -EADDRINUSE;
    if (t->n_open == UDP_PORTS_MAX)
        return -ENOBUFS;
    const uint16_t ix = t->free;
    struct udp_open *o = &t->open[ix], to = *e;
    to.open = true;
    t->free = o->next;
    t->n_open++;
    entry_set(o, &to);
    o->next = t->first[e->port];
    t->first[e->port] = ix;
    return ix;
}

void udp_table_filter(struct udp_table *t, uint16_t ix, const struct ip_addr *peer, uint16_t port)
{
    struct udp_open to = t->open[ix];
    to.peer = *peer;
    to.peer_port = port;
    entry_set(&t->open[ix], &to);
}

void udp_table_close(struct udp_table *t, uint16_t ix)
{
    struct udp_open *o = &t->open[ix], closed = *o;
    uint16_t *at = &t->first[o->port];
    while (*at != ix)
        at = &t->open[*at].next;
    *at = o->next;
    closed.open = false;
    entry_set(o, &closed);
    o->next = t->free;
    t->free = ix;
    t->n_open--;
}

// fit: how specifically the entry's local address matches dst: 0 if not at all, EXACT if equal.
static unsigned fit(const struct udp_open *o, const struct ip_addr *dst)
{
    enum { NO, OF_BOTH, OF_FAMILY, EXACT = 8 };
    const bool v4 = ip_is_v4(dst);
    if (ip_equal(&o->at, dst))
        return EXACT;
    if (ip_is_zero(&o->at))
        return !v4 ? OF_FAMILY : o->v6only ? NO : OF_BOTH;
    return v4 && ip_is_v4(&o->at) && ip_to_v4(&o->at) == 0 ? OF_FAMILY : NO;
}

uint16_t udp_table_find(const struct udp_table *t, const struct ip_addr *dst, uint16_t port,
                        const struct ip_addr *src, uint16_t src_port, unsigned device)
{
    enum { OF_THIS_DEVICE = 4, OF_THIS_PEER = 16 };  // a matching peer outranks all else
    unsigned best = 0;
    uint16_t found = UDP_NONE;
    for (uint16_t i = t->first[port]; i != UDP_NONE; i = t->open[i].next) {
        const struct udp_open *o = &t->open[i];
        unsigned rank = o->icmp ? 0 : fit(o, dst);
        if (rank != 0 && o->device != 0)
            rank = o->device == device ? rank + OF_THIS_DEVICE : 0;
        if (rank != 0 && o->peer_port != 0)
            rank = o->peer_port == src_port && ip_equal(&o->peer, src) ? rank + OF_THIS_PEER : 0;
        if (rank > best) {
            best = rank;
            found = i;
        }
    }
    return found;
}

uint16_t udp_table_find_echo(const struct udp_table *t, const struct ip_addr *dst, uint16_t id,
                             unsigned device)
{
    for (uint16_t i = t->first[id]; i != UDP_NONE; i = t->open[i].next) {
        const struct udp_open *o = &t->open[i];
        if (o->icmp && fit(o, dst) != 0 && (o->device == 0 || o->device == device))
            return i;
    }
    return UDP_NONE;
}

static uint32_t set_of(const struct udp_table *t, const struct ip_addr *to)
{
    const uint64_t h = siphash_u64x2(&t->secret, load_raw64(to->b), load_raw64(to->b + 8));
    return (uint32_t)h % (UDP_PATHS / UDP_PATH_WAYS) * UDP_PATH_WAYS;
}

// count: p is to be the entry of `to`.
static void count(const struct udp_path *p, const struct ip_addr *to, uint64_t now_ms,
                  struct core_counters *c)
{
    c->udp_paths_lowered++;
    c->udp_paths_evicted += p->until_ms > now_ms && !ip_equal(&p->to, to);
}

void udp_path_lower(struct udp_table *t, const struct ip_addr *to, uint16_t mtu, uint64_t now_ms,
                    struct core_counters *c)
{
    struct udp_path *set = &t->paths[set_of(t, to)], *p = set;
    for (unsigned w = 0; w < UDP_PATH_WAYS; w++) {
        if (set[w].until_ms != 0 && ip_equal(&set[w].to, to)) {
            if (set[w].until_ms > now_ms && mtu > set[w].mtu)
                return;  // RFC 1191 6.3: only time raises it
            p = &set[w];
            break;
        }
        if (set[w].until_ms < p->until_ms)
            p = &set[w];
    }
    const uint16_t least = ip_is_v4(to) ? UDP_PMTU_MIN4 : IP6_MTU_MIN;
    count(p, to, now_ms, c);
    *p = (struct udp_path){*to, now_ms + UDP_PATH_MS, MAX(mtu, least)};
    t->narrow_until_ms = p->until_ms;
}

uint16_t udp_path_mtu(const struct udp_table *t, const struct ip_addr *to, uint16_t mtu,
                      uint64_t now_ms)
{
    if (likely(now_ms >= t->narrow_until_ms))
        return mtu;
    const struct udp_path *set = &t->paths[set_of(t, to)];
    for (unsigned w = 0; w < UDP_PATH_WAYS; w++)
        if (set[w].until_ms > now_ms && ip_equal(&set[w].to, to))
            return MIN(mtu, set[w].mtu);
    return mtu;
}

void udp_paths_forget(struct udp_table *t)
{
    memset(t->paths, 0, sizeof(t->paths));
    t->narrow_until_ms = 0;
}
