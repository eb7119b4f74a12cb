// SPDX-License-Identifier: BSD-3-Clause
// Options of one connection, in its extension record.
#include <errno.h>

#include "tcp/tcp_internal.h"
#include "wire/proto.h"

enum {
    SOCKOPT_LIMIT_MIN =
        2048,  // of a queue: smaller values become this one (Linux's SOCK_MIN_RCVBUF)
};

static bool has(const struct ext_sockopts *o, enum sockopt option)
{
    return o != NULL && (o->set >> option & 1) != 0;
}

// common_value: the value of the service, or that of the configuration.
static uint32_t common_value(const struct tcp *t, const struct block *b, enum sockopt option)
{
    const struct tcp_service *sv = &t->services[b->service];
    switch (option) {
    case SOCKOPT_RCV_LIMIT:
        return t->rcv_limits[b->window_class];
    case SOCKOPT_SND_LIMIT:
        return tcp_snd_tuned(t, b);
    case SOCKOPT_USER_TIMEOUT:
        return sv->user_timeout_ms;
    case SOCKOPT_KEEPALIVE_INTERVAL:
        return sv->keepalive_interval_ms;
    case SOCKOPT_KEEPALIVE_PROBES:
        return sv->keepalive_probes;
    case SOCKOPT_LINGER2:
        return t->cfg.fin_wait2_ms;
    case SOCKOPT_WINDOW_CLAMP:
        return TCP_WINDOW_MAX;
    case SOCKOPT_MSS:
        return tcp_local_mss(t, &b->key);
    case SOCKOPT_SYN_RETRIES:
        return t->cfg.syn_retries;
    case SOCKOPT_TTL:
        return ip_is_v4(&b->key.remote) ? IP4_TTL : IP6_HOPS;
    case SOCKOPT_DF:
        return SOCKOPT_DF_ON;
    case SOCKOPT_CONGESTION:
        return sv->congestion;
    default:
        return 0;
    }
}

static uint32_t value_of(const struct ext_sockopts *o, enum sockopt option)
{
    switch (option) {
    case SOCKOPT_RCV_LIMIT:
        return o->rcv_limit;
    case SOCKOPT_SND_LIMIT:
        return o->snd_limit;
    case SOCKOPT_USER_TIMEOUT:
        return o->user_timeout_ms;
    case SOCKOPT_KEEPALIVE_INTERVAL:
        return o->keepalive_interval_ms;
    case SOCKOPT_KEEPALIVE_PROBES:
        return o->keepalive_probes;
    case SOCKOPT_LINGER2:
        return o->linger2_ms;
    case SOCKOPT_WINDOW_CLAMP:
        return o->window_clamp;
    case SOCKOPT_MSS:
        return o->mss;
    case SOCKOPT_SYN_RETRIES:
        return o->syn_retries;
    case SOCKOPT_TTL:
        return o->ttl;
    case SOCKOPT_TOS:
        return o->tos;
    case SOCKOPT_DF:
        return o->df;
    case SOCKOPT_CONGESTION:
        return o->congestion;
    default:
        return 1;
    }
}

uint32_t tcp_sockopt_value(const struct tcp *t, const struct block *b, enum sockopt option)
{
    const struct ext_sockopts *o = tcp_sockopts(t, b);
    return has(o, option) ? value_of(o, option) : common_value(t, b, option);
}

// in_range: whether *value is valid for the option. Where Linux does so, moves it to the nearest
// valid value.
static bool in_range(enum sockopt option, uint32_t *value)
{
    switch (option) {
    case SOCKOPT_RCV_LIMIT:
    case SOCKOPT_SND_LIMIT:
    case SOCKOPT_WINDOW_CLAMP:
        *value = MIN(MAX(*value, (uint32_t)SOCKOPT_LIMIT_MIN), (uint32_t)TCP_WINDOW_MAX);
        return true;
    case SOCKOPT_USER_TIMEOUT:
    case SOCKOPT_KEEPALIVE_INTERVAL:
        return *value <= 1u << 30;
    case SOCKOPT_LINGER2:
        return *value <= 1u << 30 || *value == UINT32_MAX;
    case SOCKOPT_MSS:
        return *value >= TCP_MSS_MIN && *value <= UINT16_MAX;
    case SOCKOPT_KEEPALIVE_PROBES:
    case SOCKOPT_SYN_RETRIES:
        return *value <= 127;
    case SOCKOPT_TTL:
    case SOCKOPT_TOS:
        return *value <= UINT8_MAX;
    case SOCKOPT_DF:
        return *value <= SOCKOPT_DF_PROBE;
    case SOCKOPT_CORK:
    case SOCKOPT_MORE:
    case SOCKOPT_DEAF:
        return *value <= 1;
    case SOCKOPT_CONGESTION:
        return *value <= TCP_NEWRENO;
    default:
        return false;
    }
}

static void put(struct ext_sockopts *o, enum sockopt option, uint32_t value)
{
    switch (option) {
    case SOCKOPT_RCV_LIMIT:
        o->rcv_limit = value;
        break;
    case SOCKOPT_SND_LIMIT:
        o->snd_limit = value;
        break;
    case SOCKOPT_USER_TIMEOUT:
        o->user_timeout_ms = value;
        break;
    case SOCKOPT_KEEPALIVE_INTERVAL:
        o->keepalive_interval_ms = value;
        break;
    case SOCKOPT_KEEPALIVE_PROBES:
        o->keepalive_probes = (uint8_t)value;
        break;
    case SOCKOPT_LINGER2:
        o->linger2_ms = value;
        break;
    case SOCKOPT_WINDOW_CLAMP:
        o->window_clamp = value;
        break;
    case SOCKOPT_MSS:
        o->mss = (uint16_t)value;
        break;
    case SOCKOPT_SYN_RETRIES:
        o->syn_retries = (uint8_t)value;
        break;
    case SOCKOPT_TTL:
        o->ttl = (uint8_t)value;
        break;
    case SOCKOPT_TOS:
        o->tos = (uint8_t)(value & ~3u);  // the two low bits are the ECN field
        break;
    case SOCKOPT_DF:
        o->df = (uint8_t)value;
        break;
    case SOCKOPT_CONGESTION:
        o->congestion = (uint8_t)value;
        break;
    default:
        break;
    }
    o->set |= (uint16_t)(1u << option);
}

// changed: what takes effect at once after a new value.
static void changed(struct tcp *t, uint32_t ix, enum sockopt option)
{
    struct block *b = &t->blocks[ix];
    if (b->state == TCP_FREE || b->state == TCP_CLOSED || b->state == TCP_TIME_WAIT)
        return;  // not open yet, or over
    switch (option) {
    case SOCKOPT_RCV_LIMIT:
    case SOCKOPT_WINDOW_CLAMP:
        if (b->state != TCP_SYN_SENT && b->state != TCP_SYN_RECEIVED)
            tcp_window_update(t, ix);
        break;
    case SOCKOPT_KEEPALIVE_INTERVAL:
    case SOCKOPT_KEEPALIVE_PROBES:
        tcp_arm_slow(t, ix);
        break;
    case SOCKOPT_CORK:
    case SOCKOPT_MORE:
        tcp_dirty(t, ix);
        break;
    default:
        break;
    }
}

void tcp_sockopt_unset(struct tcp *t, uint32_t ix, enum sockopt option)
{
    struct block *b = &t->blocks[ix];
    struct ext_sockopts *o = tcp_sockopts(t, b);
    if (!has(o, option))
        return;
    o->set &= (uint16_t) ~(1u << option);
    tcp_ext_release(t, b);
    changed(t, ix, option);
}

// may_change: whether the service's value of the option can change later (tcp_tune.h). Then it must
// be stored even if it equals the present value.
static bool may_change(const struct tcp *t, const struct block *b, enum sockopt option)
{
    const struct tcp_service *sv = &t->services[b->service];
    switch (option) {
    case SOCKOPT_CONGESTION:
        return true;
    case SOCKOPT_RCV_LIMIT:
        return t->rcv_limits[b->window_class] != sv->rcv_limit;
    case SOCKOPT_SND_LIMIT:
        return sv->snd_initial != 0 && sv->snd_initial < sv->snd_limit;
    default:
        return false;
    }
}

int tcp_sockopt_set(struct tcp *t, uint32_t ix, enum sockopt option, uint32_t value)
{
    struct block *b = &t->blocks[ix];
    const bool zero_counts = option >= SOCKOPT_TOS;
    if (value == 0 && !zero_counts) {
        tcp_sockopt_unset(t, ix, option);
        return 0;
    }
    if (!in_range(option, &value))
        return -EINVAL;
    if (value == common_value(t, b, option) && !may_change(t, b, option)) {
        tcp_sockopt_unset(t, ix, option);
        return 0;
    }
    struct ext *e = tcp_ext_get_own(t, b);
    if (e == NULL)
        return -ENOBUFS;
    put(&e->sockopts, option, value);
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

void tcp_sockopt_ip(const struct tcp *t, const struct block *b, struct seg_out *o)
{
    const struct ext_sockopts *own = tcp_sockopts(t, b);
    if (own == NULL || (own->set & (1u << SOCKOPT_TTL | 1u << SOCKOPT_TOS | 1u << SOCKOPT_DF)) == 0)
        return;
    o->opts |= SEG_OPT_IP;
    o->ttl = has(own, SOCKOPT_TTL) ? own->ttl : 0;
    o->may_split = has(own, SOCKOPT_DF) && own->df == SOCKOPT_DF_OFF;
    if (has(own, SOCKOPT_TOS))
        o->tos |= own->tos;
}

int tcp_timeout_error(const struct tcp *t, const struct block *b)
{
    const int soft = tcp_soft_error(t, b);
    return soft != 0 ? soft : ETIMEDOUT;
}
