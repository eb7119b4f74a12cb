// SPDX-License-Identifier: BSD-3-Clause
// Options of one connection, in its extension record.
#include <errno.h>

#include "tcp/tcp_internal.h"
#include "wire/proto.h"

enum {
    OWN_LIMIT_MIN = 2048,  // of a queue: smaller values are taken as this (Linux's SOCK_MIN_RCVBUF)
};

static bool has(const struct ext_own *o, enum own_option option)
{
    return o != NULL && (o->set >> option & 1) != 0;
}

// The service's, or the configuration's.
static uint32_t common_value(const struct tcp *t, const struct block *b, enum own_option option)
{
    const struct tcp_service *sv = &t->services[b->service];
    switch (option) {
    case OWN_RCV_LIMIT:
        return t->rcv_limits[b->window_class];
    case OWN_SND_LIMIT:
        return tcp_snd_tuned(t, b);
    case OWN_USER_TIMEOUT:
        return sv->user_timeout_ms;
    case OWN_KEEPALIVE_INTERVAL:
        return sv->keepalive_interval_ms;
    case OWN_KEEPALIVE_PROBES:
        return sv->keepalive_probes;
    case OWN_LINGER2:
        return t->cfg.fin_wait2_ms;
    case OWN_WINDOW_CLAMP:
        return TCP_WINDOW_MAX;
    case OWN_MSS:
        return tcp_own_mss(t, &b->key);
    case OWN_SYN_RETRIES:
        return t->cfg.syn_retries;
    case OWN_TTL:
        return ip_is_v4(&b->key.remote) ? IP4_TTL : IP6_HOPS;
    case OWN_DF:
        return OWN_DF_ON;
    case OWN_CONGESTION:
        return sv->congestion;
    default:
        return 0;
    }
}

static uint32_t own_value(const struct ext_own *o, enum own_option option)
{
    switch (option) {
    case OWN_RCV_LIMIT:
        return o->rcv_limit;
    case OWN_SND_LIMIT:
        return o->snd_limit;
    case OWN_USER_TIMEOUT:
        return o->user_timeout_ms;
    case OWN_KEEPALIVE_INTERVAL:
        return o->keepalive_interval_ms;
    case OWN_KEEPALIVE_PROBES:
        return o->keepalive_probes;
    case OWN_LINGER2:
        return o->linger2_ms;
    case OWN_WINDOW_CLAMP:
        return o->window_clamp;
    case OWN_MSS:
        return o->mss;
    case OWN_SYN_RETRIES:
        return o->syn_retries;
    case OWN_TTL:
        return o->ttl;
    case OWN_TOS:
        return o->tos;
    case OWN_DF:
        return o->df;
    case OWN_CONGESTION:
        return o->congestion;
    default:
        return 1;
    }
}

uint32_t tcp_own_value(const struct tcp *t, const struct block *b, enum own_option option)
{
    const struct ext_own *o = tcp_own(t, b);
    return has(o, option) ? own_value(o, option) : common_value(t, b, option);
}

// in_range: *value is one that the option can have; moved to the nearest where Linux does.
static bool in_range(enum own_option option, uint32_t *value)
{
    switch (option) {
    case OWN_RCV_LIMIT:
    case OWN_SND_LIMIT:
    case OWN_WINDOW_CLAMP:
        *value = MIN(MAX(*value, (uint32_t)OWN_LIMIT_MIN), (uint32_t)TCP_WINDOW_MAX);
        return true;
    case OWN_USER_TIMEOUT:
    case OWN_KEEPALIVE_INTERVAL:
        return *value <= 1u << 30;
    case OWN_LINGER2:
        return *value <= 1u << 30 || *value == UINT32_MAX;
    case OWN_MSS:
        return *value >= TCP_MSS_MIN && *value <= UINT16_MAX;
    case OWN_KEEPALIVE_PROBES:
    case OWN_SYN_RETRIES:
        return *value <= 127;
    case OWN_TTL:
    case OWN_TOS:
        return *value <= UINT8_MAX;
    case OWN_DF:
        return *value <= OWN_DF_PROBE;
    case OWN_CORK:
    case OWN_MORE:
    case OWN_DEAF:
        return *value <= 1;
    case OWN_CONGESTION:
        return *value <= TCP_NEWRENO;
    default:
        return false;
    }
}

static void put(struct ext_own *o, enum own_option option, uint32_t value)
{
    switch (option) {
    case OWN_RCV_LIMIT:
        o->rcv_limit = value;
        break;
    case OWN_SND_LIMIT:
        o->snd_limit = value;
        break;
    case OWN_USER_TIMEOUT:
        o->user_timeout_ms = value;
        break;
    case OWN_KEEPALIVE_INTERVAL:
        o->keepalive_interval_ms = value;
        break;
    case OWN_KEEPALIVE_PROBES:
        o->keepalive_probes = (uint8_t)value;
        break;
    case OWN_LINGER2:
        o->linger2_ms = value;
        break;
    case OWN_WINDOW_CLAMP:
        o->window_clamp = value;
        break;
    case OWN_MSS:
        o->mss = (uint16_t)value;
        break;
    case OWN_SYN_RETRIES:
        o->syn_retries = (uint8_t)value;
        break;
    case OWN_TTL:
        o->ttl = (uint8_t)value;
        break;
    case OWN_TOS:
        o->tos = (uint8_t)(value & ~3u);  // those two bits are ECN's
        break;
    case OWN_DF:
        o->df = (uint8_t)value;
        break;
    case OWN_CONGESTION:
        o->congestion = (uint8_t)value;
        break;
    default:
        break;
    }
    o->set |= (uint16_t)(1u << option);
}

// What the new value changes at once.
static void changed(struct tcp *t, uint32_t ix, enum own_option option)
{
    struct block *b = &t->blocks[ix];
    if (b->state == TCP_FREE || b->state == TCP_CLOSED || b->state == TCP_TIME_WAIT)
        return;  // not begun yet, or over
    switch (option) {
    case OWN_RCV_LIMIT:
    case OWN_WINDOW_CLAMP:
        if (b->state != TCP_SYN_SENT && b->state != TCP_SYN_RECEIVED)
            tcp_window_update(t, ix);
        break;
    case OWN_KEEPALIVE_INTERVAL:
    case OWN_KEEPALIVE_PROBES:
        tcp_set_far(t, ix);
        break;
    case OWN_CORK:
    case OWN_MORE:
        tcp_dirty(t, ix);
        break;
    default:
        break;
    }
}

void tcp_own_forget(struct tcp *t, uint32_t ix, enum own_option option)
{
    struct block *b = &t->blocks[ix];
    struct ext_own *o = tcp_own(t, b);
    if (!has(o, option))
        return;
    o->set &= (uint16_t) ~(1u << option);
    tcp_ext_release(t, b);
    changed(t, ix, option);
}

// may_change: the service's value of the option is another one later (tcp_tune.h): to have chosen
// the present one is a choice.
static bool may_change(const struct tcp *t, const struct block *b, enum own_option option)
{
    const struct tcp_service *sv = &t->services[b->service];
    switch (option) {
    case OWN_CONGESTION:
        return true;
    case OWN_RCV_LIMIT:
        return t->rcv_limits[b->window_class] != sv->rcv_limit;
    case OWN_SND_LIMIT:
        return sv->snd_initial != 0 && sv->snd_initial < sv->snd_limit;
    default:
        return false;
    }
}

int tcp_own_set(struct tcp *t, uint32_t ix, enum own_option option, uint32_t value)
{
    struct block *b = &t->blocks[ix];
    const bool zero_counts = option >= OWN_TOS;
    if (value == 0 && !zero_counts) {
        tcp_own_forget(t, ix, option);
        return 0;
    }
    if (!in_range(option, &value))
        return -EINVAL;
    if (value == common_value(t, b, option) && !may_change(t, b, option)) {
        tcp_own_forget(t, ix, option);
        return 0;
    }
    struct ext *e = tcp_ext_get_own(t, b);
    if (e == NULL)
        return -ENOBUFS;
    put(&e->own, option, value);
    changed(t, ix, option);
    return 0;
}

uint32_t tcp_packet_bytes(const struct block *b)
{
    return (ip_is_v4(&b->key.remote) ? IP4_BYTES : IP6_BYTES) + TCP_BYTES +
           (b->flags & BF_TS ? TCP_TS_BYTES : 0u) + b->mss;
}

uint16_t tcp_announced_mss(const struct tcp *t, const struct block *b)
{
    return tcp_block_mss(t, b);
}

void tcp_own_ip(const struct tcp *t, const struct block *b, struct seg_out *o)
{
    const struct ext_own *own = tcp_own(t, b);
    if (own == NULL || (own->set & (1u << OWN_TTL | 1u << OWN_TOS | 1u << OWN_DF)) == 0)
        return;
    o->opts |= SEG_OPT_IP;
    o->ttl = has(own, OWN_TTL) ? own->ttl : 0;
    o->may_split = has(own, OWN_DF) && own->df == OWN_DF_OFF;
    if (has(own, OWN_TOS))
        o->tos |= own->tos;
}

int tcp_timeout_error(const struct tcp *t, const struct block *b)
{
    const int soft = tcp_soft_error(t, b);
    return soft != 0 ? soft : ETIMEDOUT;
}
