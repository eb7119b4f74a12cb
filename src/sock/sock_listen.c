// SPDX-License-Identifier: BSD-3-Clause
// Changes of the listening ports while the server runs: translates addresses for TCP.
#include <errno.h>
#include <string.h>

#include "c10m/socket.h"
#include "sock/sock_internal.h"

static_assert((int)C10M_LISTENING_MAX == (int)TCP_LISTENINGS_MAX, "one limit");

int sock_local(const struct sock *k, const uint8_t addr[16])
{
    for (unsigned i = 0; i < k->n_locals; i++)
        if (memcmp(k->locals[i].b, addr, 16) == 0)
            return ip_is_any(&k->locals[i]) ? -1 : (int)i;  // a place without an address
    return -1;
}

static int scope_of(const struct sock *k, const struct c10m_listening *l)
{
    struct ip_addr at;
    memcpy(at.b, l->at.addr, sizeof(at.b));
    if (ip_is_zero(&at))
        return l->v6only ? TCP_LISTEN_V6 : TCP_LISTEN_ANY;
    return ip_is_v4(&at) && ip_to_v4(&at) == 0 ? TCP_LISTEN_V4 : sock_local(k, at.b);
}

static struct tcp_listen_ask ask_of(const struct c10m_listening *l)
{
    return (struct tcp_listen_ask){.port = l->at.port,
                                   .device = (uint8_t)l->device,
                                   .retries = l->syn_retries,
                                   .backlog = l->backlog,
                                   .defer_s = l->defer_s,
                                   .rcv_limit = l->rcv_limit,
                                   .mss_max = l->maxseg,
                                   .ttl = l->ttl,
                                   .tos = l->tos};
}

int c10m_listen(struct c10m_core *w, struct c10m_service *s, const struct c10m_listening *l)
{
    struct sock *k = sock_of(w);
    struct tcp_listen_ask ask = ask_of(l);
    const int scope = scope_of(k, l);
    if (ask.port == 0 || l->device > TCP_LANES_MAX)
        return -EINVAL;
    if (scope < 0)
        return -EADDRNOTAVAIL;
    ask.scope = (uint16_t)scope;
    ask.service = s->ix;
    return tcp_listen(k->tcp, &ask);
}

int c10m_listen_set(struct c10m_core *w, int id, const struct c10m_listening *l)
{
    const struct tcp_listen_ask ask = ask_of(l);
    return tcp_listen_set(sock_of(w)->tcp, id, &ask);
}

void c10m_unlisten(struct c10m_core *w, int id)
{
    tcp_unlisten(sock_of(w)->tcp, id);
}

int c10m_listener(const struct c10m_conn *c)
{
    return c->k->opened == c->ix ? c->k->opened_by : -1;
}

void c10m_accepted(struct c10m_core *w, int id)
{
    tcp_accepted(sock_of(w)->tcp, id);
}
