// SPDX-License-Identifier: BSD-3-Clause
// Options and state of one connection.
#include <errno.h>

#include "c10m/socket.h"
#include "mem/block.h"
#include "mem/flight.h"
#include "sock/sock_internal.h"

// sockopt_of: TCP's number of an option that a connection can store, or SOCKOPT_COUNT.
static enum sockopt sockopt_of(enum c10m_option option)
{
    switch (option) {
    case C10M_OPT_KEEPALIVE_INTERVAL_MS:
        return SOCKOPT_KEEPALIVE_INTERVAL;
    case C10M_OPT_KEEPALIVE_PROBES:
        return SOCKOPT_KEEPALIVE_PROBES;
    case C10M_OPT_USER_TIMEOUT_MS:
        return SOCKOPT_USER_TIMEOUT;
    case C10M_OPT_RCV_LIMIT:
        return SOCKOPT_RCV_LIMIT;
    case C10M_OPT_SND_LIMIT:
        return SOCKOPT_SND_LIMIT;
    case C10M_OPT_WINDOW_CLAMP:
        return SOCKOPT_WINDOW_CLAMP;
    case C10M_OPT_MAXSEG:
        return SOCKOPT_MSS;
    case C10M_OPT_SYN_RETRIES:
        return SOCKOPT_SYN_RETRIES;
    case C10M_OPT_LINGER2_MS:
        return SOCKOPT_LINGER2;
    case C10M_OPT_TTL:
        return SOCKOPT_TTL;
    case C10M_OPT_TOS:
        return SOCKOPT_TOS;
    case C10M_OPT_DF:
        return SOCKOPT_DF;
    case C10M_OPT_CORK:
        return SOCKOPT_CORK;
    case C10M_OPT_MORE:
        return SOCKOPT_MORE;
    case C10M_OPT_CONGESTION:
        return SOCKOPT_CONGESTION;
    default:
        return SOCKOPT_COUNT;
    }
}

// set_nodelay: setting NODELAY also sends at once what a cork holds back, as Linux's TCP_NAGLE_PUSH
// does.
static int set_nodelay(struct c10m_conn *c, bool nodelay)
{
    if (nodelay)
        c->b->flags |= BF_NODELAY;
    else
        c->b->flags &= (uint16_t)~BF_NODELAY;
    if (nodelay && (c->b->flags & BF_PROBE) && c->b->snd_wnd != 0)
        c->b->rto_at_ms = 0;
    tcp_dirty(c->k->tcp, c->ix);
    return 0;
}

static int set_keepalive(struct c10m_conn *c, uint32_t ms)
{
    if (ms > 1u << 30)
        return -EINVAL;
    c->b->keepalive_ms = ms;
    c->b->last_rx_ms = c->k->tcp->now.ms;
    if (c->b->probes != 0)
        c->b->stuck_at_ms = 0;
    c->b->probes = 0;
    tcp_arm_slow(c->k->tcp, c->ix);
    return 0;
}

static bool is_over(const struct block *b)
{
    return b->state == TCP_CLOSED || b->state == TCP_TIME_WAIT;
}

int c10m_set_option(struct c10m_conn *c, enum c10m_option option, uint32_t value)
{
    const enum sockopt own = sockopt_of(option);
    const bool over = is_over(c->b);
    switch (option) {
    case C10M_OPT_NODELAY:
        return over ? 0 : set_nodelay(c, value != 0);
    case C10M_OPT_KEEPALIVE_MS:
        return over ? 0 : set_keepalive(c, value);
    case C10M_OPT_QUICKACK:
        if (!over)
            tcp_quick_ack_now(c->k->tcp, c->ix, value != 0);
        return 0;
    case C10M_OPT_CONGESTION:
        if (value > C10M_NEWRENO)
            return -EINVAL;
        break;
    default:
        break;
    }
    return own == SOCKOPT_COUNT ? -EINVAL : tcp_sockopt_set(c->k->tcp, c->ix, own, value);
}

uint32_t c10m_get_option(const struct c10m_conn *c, enum c10m_option option)
{
    const struct block *b = c->b;
    const enum sockopt own = sockopt_of(option);
    switch (option) {
    case C10M_OPT_NODELAY:
        return (b->flags & BF_NODELAY) != 0;
    case C10M_OPT_KEEPALIVE_MS:
        return b->keepalive_ms;
    case C10M_OPT_QUICKACK:
        return b->quickack_left != 0;
    case C10M_OPT_MAXSEG:
        if (b->state != TCP_SYN_SENT)
            return b->mss;
        break;
    default:
        break;
    }
    return own == SOCKOPT_COUNT ? 0 : tcp_sockopt_value(c->k->tcp, b, own);
}

static uint8_t options_of(const struct block *b)
{
    return (uint8_t)((b->flags & BF_TS ? C10M_INFO_TIMESTAMPS : 0) |
                     (b->agreed & BA_SACK ? C10M_INFO_SACK : 0) |
                     (b->agreed & BA_WSCALE || b->rcv_wscale != 0 ? C10M_INFO_WSCALE : 0) |
                     (b->agreed & BA_ECN ? C10M_INFO_ECN : 0));
}

static uint8_t ca_state_of(const struct block *b, const struct ext *e, const struct flight *f)
{
    if ((b->backoff != 0 && !(b->flags & BF_PROBE)) || (f != NULL && f->state == FLIGHT_LOSS))
        return C10M_CA_LOSS;
    if ((e != NULL && e->recovery != RECOVERY_NONE) || (f != NULL && f->state == FLIGHT_RECOVERY))
        return C10M_CA_RECOVERY;
    if ((b->agreed & BA_REDUCED) && b->recover - b->snd_una <= b->snd_max - b->snd_una)
        return C10M_CA_CWR;
    const bool sacked = (e != NULL && e->n_sacked != 0) || (f != NULL && f->sacked != 0);
    return b->dupacks != 0 || sacked ? C10M_CA_DISORDER : C10M_CA_OPEN;
}

static uint32_t segments(uint32_t bytes, uint32_t mss)
{
    return (bytes + mss - 1) / mss;
}

// tell_timeout: for a connection without a flight log. After a retransmission timeout, all data
// that was in flight counts as lost, and all data sent since counts as retransmitted.
static void tell_timeout(struct c10m_info *info, const struct block *b, uint32_t mss)
{
    info->retrans = info->unacked;
    info->unacked = info->lost = segments(b->snd_max - b->snd_una, mss);
}

// tell_flight: the state of the segments in flight, from the flight log or else from the SACK
// scoreboard.
static void tell_flight(struct c10m_info *info, const struct ext *e, const struct flight *f,
                        uint32_t mss)
{
    uint32_t sacked = 0, again = 0;
    for (unsigned i = 0; f == NULL && e != NULL && i < e->n_sacked; i++)
        sacked += e->sacked[i].end - e->sacked[i].start;
    uint32_t at = f != NULL ? f->una : 0;
    for (unsigned i = 0; f != NULL && i < f->n; i++) {
        const struct flight_run *r = &f->run[f->first + i];
        if ((r->flags & (FLIGHT_AGAIN | FLIGHT_LOST | FLIGHT_SACKED)) == FLIGHT_AGAIN)
            again += r->end - at;
        at = r->end;
    }
    info->sacked = segments(f != NULL ? f->sacked : sacked, mss);
    info->lost = f != NULL ? segments(f->lost, mss) : 0;
    info->retrans = segments(again, mss);
    info->min_rtt_us = f != NULL ? f->min_rtt_us : 0;
}

void c10m_get_info(const struct c10m_conn *c, struct c10m_info *info)
{
    const struct tcp *t = c->k->tcp;
    const struct block *b = c->b;
    const struct ext *e = b->flags & BF_EXT ? &t->exts[b->ext] : NULL;
    const struct flight *f = b->has_flight ? flight_at(&t->flights, b->flight) : NULL;
    const bool syn = b->state == TCP_SYN_SENT || b->state == TCP_SYN_RECEIVED;
    const uint32_t mss = MAX(b->mss, (uint16_t)1), flight = b->snd_nxt - b->snd_una;
    *info = (struct c10m_info){
        .state = b->state,
        .ca_state = ca_state_of(b, e, f),
        .retransmits = b->flags & BF_PROBE ? 0 : b->retries,
        .probes = b->state == TCP_CLOSED ? 0
                  : b->flags & BF_PROBE  ? b->retries
                                         : b->probes,
        .backoff = b->backoff,
        .options = syn ? 0 : options_of(b),
        .snd_wscale = b->snd_wscale,
        .rcv_wscale = b->rcv_wscale,
        .rto_us = tcp_timeout_ms(t, b) * 1000,
        .ato_us = t->cfg.delayed_ack_ms * 1000,
        .snd_mss = b->mss,
        .advmss = tcp_announced_mss(t, b),
        .unacked = segments(flight, mss),
        .pmtu = tcp_packet_bytes(b),
        .rtt_us = b->srtt_us / 8,
        .rttvar_us = b->rttvar_us / 4,
        .snd_ssthresh = b->ssthresh == TCP_WINDOW_MAX ? UINT32_MAX : b->ssthresh / mss,
        .snd_cwnd = b->cwnd / mss,
        .rcv_space = tcp_rcv_limit(t, b),
        .rcv_wnd = b->rcv_adv - b->rcv_nxt,
        .snd_wnd = b->snd_wnd,
        .total_retrans = e != NULL ? e->sockopts.total_retrans : 0,
        .notsent_bytes = seq_lt(b->snd_nxt, b->snd_end) ? b->snd_end - b->snd_nxt : 0,
        .unacked_bytes = flight,
        .unread_bytes = b->rcvq_bytes,
    };
    tell_flight(info, e, f, mss);
    if (f == NULL && b->backoff != 0 && !(b->flags & BF_PROBE) && !syn)
        tell_timeout(info, b, mss);
}
