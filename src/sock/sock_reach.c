// SPDX-License-Identifier: BSD-3-Clause
// Calls that use another connection than the one whose callback is running.
#include <errno.h>
#include <string.h>

#include "mem/block.h"
#include "sock/sock_internal.h"

// index_bits: how many bits of a handle hold the block's index + 1.
static unsigned index_bits(const struct tcp *t)
{
    return 32 - (unsigned)__builtin_clz(t->block_pool->count);
}

// handle_of: a handle consists of the block's generation and the block's index + 1. A peer chooses
// neither. A handle repeats only after the bits that hold the generation have overflowed, and a
// block begins at most one life a turn. With ten million blocks the generation has 40 bits: at
// 100,000 turns a second, they overflow after four months of continuous reuse of one block. With
// 65,535 blocks it has all 48 bits.
static uint64_t handle_of(const struct tcp *t, uint32_t ix)
{
    return tcp_life(t, ix) << index_bits(t) | (ix + 1);
}

uint64_t c10m_handle(const struct c10m_conn *c)
{
    return handle_of(c->k->tcp, c->ix);
}

// root_of: the connection whose event is being handled. `from` may be a connection that its
// callback reached.
static struct c10m_conn *root_of(struct c10m_conn *from)
{
    struct sock *k = from->k;
    if (k->n_others == 0)
        k->root = from;
    return k->root;
}

// reach: block ix as a connection. During one event each connection has one struct c10m_conn.
// Returns NULL if C10M_OTHERS_MAX others are in use.
static struct c10m_conn *reach(struct sock *k, uint32_t ix)
{
    struct c10m_conn *root = k->root, *c = root;
    for (unsigned i = 0; c->ix != ix; i++) {
        if (i == C10M_OTHERS_MAX)
            return NULL;
        c = &k->others[i];
        if (i == k->n_others) {
            *c = (struct c10m_conn){k, &k->tcp->blocks[ix], ix, 0};
            k->n_others++;
        }
    }
    root->due |= DUE_OTHERS;
    c->due |= DUE_SETTLE;
    return c;
}

// named: the index of the block to which the handle refers, or BLOCK_NONE.
static uint32_t named(const struct tcp *t, uint64_t handle)
{
    const uint32_t ix = (uint32_t)(handle & ((UINT64_C(1) << index_bits(t)) - 1)) - 1;
    if (ix >= t->block_pool->count || t->blocks[ix].state == TCP_FREE ||
        block_is_refused(&t->blocks[ix]))
        return BLOCK_NONE;
    return handle_of(t, ix) != handle ? BLOCK_NONE : ix;
}

struct c10m_conn *c10m_find(struct c10m_conn *from, uint64_t handle)
{
    const uint32_t ix = named(from->k->tcp, handle);
    if (ix == BLOCK_NONE || ix == from->ix)
        return ix == BLOCK_NONE ? NULL : from;
    root_of(from);
    return reach(from->k, ix);
}

struct c10m_conn *c10m_at(struct c10m_core *w, uint64_t handle)
{
    struct sock *k = sock_of(w);
    const uint32_t ix = named(k->tcp, handle);
    return ix == BLOCK_NONE ? NULL : reach(k, ix);
}

struct c10m_core *c10m_core_of(struct c10m_conn *c)
{
    root_of(c);
    return &c->k->core;
}

uint64_t c10m_core_now_us(const struct c10m_core *w)
{
    return sock_of(w)->tcp->now.us;
}

void c10m_core_count(struct c10m_core *w, const struct c10m_service *s, int counter, uint64_t n)
{
    if (counter >= 0 && counter < SOCK_COUNTERS_MAX)
        sock_of(w)->counters[s->ix][counter] += n;
}

// local_for: the index of a local address of the remote address's family, or -1.
static int local_for(const struct c10m_conn *from, const struct ip_addr *remote)
{
    const struct sock *k = from->k;
    const unsigned own = from->b->key.local_ix;
    if (ip_is_v4(remote) == ip_is_v4(&from->b->key.remote))
        return (int)own;
    for (unsigned i = 0; i < k->n_locals; i++)
        if (!ip_is_any(&k->locals[i]) && ip_is_v4(remote) == ip_is_v4(&k->locals[i]))
            return (int)i;
    return -1;
}

int c10m_connect(struct c10m_conn *from, const uint8_t addr[16], uint16_t port,
                 struct c10m_conn **made)
{
    struct ip_addr remote;
    memcpy(remote.b, addr, sizeof(remote.b));
    const int local = local_for(from, &remote);
    if (local < 0)
        return -ENETUNREACH;
    root_of(from);
    const struct flow_key key = {remote, (uint16_t)local, 0, port, 0};
    return sock_open(from->k, c10m_service_of(from), &key, made);
}

int sock_open(struct sock *k, struct c10m_service *s, const struct flow_key *key,
              struct c10m_conn **made)
{
    uint32_t ix;
    if (made != NULL && k->n_others == C10M_OTHERS_MAX)
        return -ENOBUFS;
    const int rc = tcp_open(k->tcp, key, s->ix, &ix);
    if (rc != 0)
        return rc;
    // A process that ends in between leaves one that is not believed, or that is in hand
    // (worker/hand.h): its application has not written its state yet.
    if (made != NULL)
        *made = reach(k, ix);
    __asm__ volatile("" ::: "memory");
    k->tcp->blocks[ix].flags |= BF_IN_APP;
    return 0;
}

void c10m_local(const struct c10m_conn *c, struct c10m_name *name)
{
    const uint16_t ix = c->b->key.local_ix;
    *name = (struct c10m_name){.port = c->b->key.local_port};
    if (ix < c->k->n_locals)
        memcpy(name->addr, c->k->shown[ix].b, sizeof(name->addr));
}

bool c10m_abort_all(struct c10m_core *w, struct c10m_service *s)
{
    struct sock *k = sock_of(w);
    if (k->tcp->services[s->ix].connections == 0)
        return true;
    k->resets |= 1u << s->ix;
    return false;
}
