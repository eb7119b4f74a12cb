// SPDX-License-Identifier: BSD-3-Clause
// Options whose value the worker of the connection has: TCP_INFO in Linux's layout, TCP_MAXSEG,
// IP_MTU.
#include <errno.h>
#include <linux/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "app/agent/agent_opt.h"

enum {
    NO_SSTHRESH = 0x7fffffff,
    LINUX_LISTEN = 10,
    LINUX_CLOSE = 7,
    FIRST_REORDERING = 3,  // duplicate ACKs; Linux's initial value (tcp_reordering)
};

// info: struct tcp_info of the C library's headers, and the fields that newer kernels have added.
struct info {
    struct tcp_info t;
    uint32_t rcv_wnd, rehash;
    uint16_t total_rto, total_rto_recoveries;
    uint32_t total_rto_time;
};
_Static_assert(sizeof(struct info) == 248, "Linux 6.7's struct tcp_info");

static void fill(struct info *info, const struct agent_msg *m)
{
    struct tcp_info *t = &info->t;
    const struct c10m_info *i = &m->info.stack;
    t->tcpi_state = i->state;
    t->tcpi_ca_state = i->ca_state;
    t->tcpi_retransmits = i->retransmits;
    t->tcpi_probes = i->probes;
    t->tcpi_backoff = i->backoff;
    t->tcpi_options = i->options;
    t->tcpi_snd_wscale = i->snd_wscale & 0xf;
    t->tcpi_rcv_wscale = i->rcv_wscale & 0xf;
    t->tcpi_rto = i->rto_us;
    t->tcpi_ato = i->ato_us;
    t->tcpi_snd_mss = i->snd_mss;
    t->tcpi_rcv_mss = i->snd_mss;
    t->tcpi_advmss = i->advmss;
    t->tcpi_unacked = i->unacked;
    t->tcpi_sacked = i->sacked;
    t->tcpi_lost = i->lost;
    t->tcpi_retrans = i->retrans;
    t->tcpi_pmtu = i->pmtu;
    t->tcpi_rtt = i->rtt_us;
    t->tcpi_rttvar = i->rttvar_us;
    t->tcpi_snd_ssthresh = i->snd_ssthresh == UINT32_MAX ? NO_SSTHRESH : i->snd_ssthresh;
    t->tcpi_snd_cwnd = i->snd_cwnd;
    t->tcpi_rcv_space = i->rcv_space;
    t->tcpi_total_retrans = i->total_retrans;
    t->tcpi_notsent_bytes = i->notsent_bytes;
    t->tcpi_snd_wnd = i->snd_wnd;
    info->rcv_wnd = i->rcv_wnd;
    t->tcpi_reordering = FIRST_REORDERING;
    t->tcpi_last_data_sent = m->info.sent_ms;
    t->tcpi_last_data_recv = m->info.received_ms;
    t->tcpi_last_ack_recv = m->info.acked_ms;
    t->tcpi_bytes_acked = m->info.bytes_acked;
    t->tcpi_bytes_received = m->info.bytes_received;
}

// For a listener, unacked and sacked are the length and the limit of the accept queue, as on Linux.
static void fill_idle(struct tcp_info *t, const struct socket *k)
{
    t->tcpi_state = k->state == TCP_LISTENING ? LINUX_LISTEN : LINUX_CLOSE;
    if (k->state != TCP_LISTENING)
        return;
    t->tcpi_unacked = k->n_arrived;
    t->tcpi_sacked = k->backlog;
}

static void return_info(struct agent *a, struct call *c, const struct agent_msg *m)
{
    struct info t;
    memset(&t, 0, sizeof(t));
    if (m != NULL)
        fill(&t, m);
    else
        fill_idle(&t.t, c->socket);
    option_return(a, c, &t, sizeof(t));
}

static void info_done(struct agent *a, struct agent_msg *m)
{
    struct call *c = m->owner;
    c->lent--;
    socket_update(c->socket, m);
    if (c->r->a[0] != IPPROTO_TCP)
        option_return_int(a, c, (int)m->info.stack.pmtu);
    else if (c->r->a[1] == TCP_MAXSEG)
        option_return_int(a, c, (int)m->info.stack.snd_mss);
    else
        return_info(a, c, m);
}

static void mtu_done(struct agent *a, struct agent_msg *m)
{
    struct call *c = m->owner;
    c->lent--;
    if (m->ret > 0)
        option_return_int(a, c, (int)m->ret);
    else
        call_return(a, c, -ENOTCONN);
}

void get_info(struct agent *a, struct call *c)
{
    const struct socket *k = c->socket;
    if (k->state == TCP_ATTACHED) {
        call_post(a, c, CMD_INFO, info_done);
    } else if (c->r->a[0] == IPPROTO_TCP) {
        return_info(a, c, NULL);
    } else if (k->is_connected) {
        c->msg.udp.at = k->peer;
        c->msg.udp.device = k->device;
        c->lent++;
        post(a, udp_worker(a, k, &k->peer), &c->msg, CMD_UDP_MTU, mtu_done, c);
    } else {
        call_return(a, c, -ENOTCONN);
    }
}
