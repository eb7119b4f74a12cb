// SPDX-License-Identifier: BSD-3-Clause
// Datagrams on the worker. The worker copies each received datagram to a buffer of its pool and
// sends it to the thread, which finds the socket. Datagrams to be sent come from the thread.
#include <errno.h>
#include <string.h>

#include "app/agent/agent_worker.h"

void datagram_back(struct agent_worker *g, struct datagram *d)
{
    struct datagram **pool = d->large ? &g->free_large : &g->free_datagrams;
    d->next = *pool;
    *pool = d;
}

static struct datagram *new_datagram(struct agent_worker *g, const struct c10m_packet *p)
{
    struct datagram **pool = p->len > AGENT_DATAGRAM_BYTES ? &g->free_large : &g->free_datagrams;
    struct datagram *d = *pool;
    if (p->len > AGENT_LARGE_BYTES || d == NULL) {
        count(g, d == NULL ? COUNT_datagrams_full : COUNT_datagrams_long);
        return NULL;
    }
    *pool = d->next;
    d->msg = (struct agent_msg){.command = CMD_DATAGRAM,
                                .worker = (uint8_t)g->id,
                                .owner = d,
                                .begun_us = c10m_core_now_us(g->w)};
    d->from = p->from;
    d->to = p->to;
    d->ttl = p->ttl;
    d->tos = p->tos;
    d->device = p->device;
    d->icmp = p->icmp;
    d->error = 0;
    d->bytes = (uint32_t)p->len;
    if (p->len != 0)
        memcpy(d->data, p->data, p->len);
    return d;
}

bool agent_packet(struct c10m_core *w, struct c10m_service *s, const struct c10m_packet *p)
{
    struct agent_worker *g = worker_of(w, s);
    struct datagram *d = new_datagram(g, p);
    if (d != NULL)
        answer(g, &d->msg);
    return d != NULL;
}

void agent_packet_error(struct c10m_core *w, struct c10m_service *s, const struct c10m_packet *p,
                        const struct c10m_packet_error *error)
{
    struct agent_worker *g = worker_of(w, s);
    const struct c10m_packet names = {
        .from = p->from, .to = p->to, .device = p->device, .icmp = p->icmp};
    struct datagram *d = error->hard ? new_datagram(g, &names) : NULL;
    if (d == NULL)
        return;
    d->error = error->error;
    answer(g, &d->msg);
}

// Has no answer: it is itself the answer to CMD_DATAGRAM.
void cmd_datagram_back(struct agent_worker *g, struct agent_msg *m)
{
    struct datagram *d = m->owner;
    if (m->ret == -ENOBUFS || m->ret == -ENOENT)
        count(g, m->ret == -ENOBUFS ? COUNT_datagrams_over : COUNT_datagrams_nobody);
    datagram_back(g, d);
}

void cmd_udp_open(struct agent_worker *g, struct agent_msg *m)
{
    m->ret = m->udp.icmp ? c10m_echo_open(g->w, g->s, &m->udp.at, m->udp.device)
                         : c10m_udp_open_on(g->w, g->s, &m->udp.at, m->udp.v6only, m->udp.device);
    if (m->ret >= 0)
        g->udp_open[m->ret] = true;
    answer(g, m);
}

static void close_port(struct agent_worker *g, int id)
{
    if (id < 0 || !g->udp_open[id])
        return;
    c10m_udp_close(g->w, id);
    g->udp_open[id] = false;
}

void cmd_udp_close(struct agent_worker *g, struct agent_msg *m)
{
    close_port(g, m->udp.id);
    m->ret = 0;
    answer(g, m);
}

void cmd_udp_send(struct agent_worker *g, struct agent_msg *m)
{
    m->ret = c10m_udp_send(g->w, g->s, &m->packet);
    answer(g, m);
}

void cmd_udp_peer(struct agent_worker *g, struct agent_msg *m)
{
    m->ret = m->udp.id < 0 ? -EBADF
                           : c10m_udp_peer(g->w, m->udp.id, m->udp.has_peer ? &m->udp.peer : NULL);
    answer(g, m);
}

void cmd_udp_mtu(struct agent_worker *g, struct agent_msg *m)
{
    m->ret = c10m_udp_path(g->w, &m->udp.at, m->udp.device, &m->udp.peer);
    answer(g, m);
}

void cmd_join(struct agent_worker *g, struct agent_msg *m)
{
    m->ret = c10m_group_join(g->w, m->group.device, m->group.addr);
    if (m->ret == -ENOBUFS)
        count(g, COUNT_groups_full);
    answer(g, m);
}

void cmd_leave(struct agent_worker *g, struct agent_msg *m)
{
    m->ret = m->group.id < 0 ? 0 : c10m_group_leave(g->w, m->group.device, m->group.addr);
    answer(g, m);
}

void udp_end(struct agent_worker *g)
{
    for (int i = 0; i < C10M_UDP_PORTS_MAX; i++)
        close_port(g, i);
}
