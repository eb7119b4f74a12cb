// SPDX-License-Identifier: BSD-3-Clause
// Socket options that have no row in agent_opt.c, and the conversion of all options for the stack.
#include <errno.h>
#include <limits.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "app/agent/agent_opt.h"

enum {
    BUFFER_MAX = 4194304,  // net.core.rmem_max, wmem_max
    RCVBUF_MIN = 2304,
    SNDBUF_MIN = 4608,
    UDP_BUFFER = 212992,      // net.core.rmem_default
    RMEM_MAX = 33554432,      // net.ipv4.tcp_rmem[2]
    STACK_BUFFER_MIN = 2048,  // minimum of the stack's limits for a connection
    JIFFY_US = 4000,          // Linux stores timeouts in jiffies (HZ = 250)
    RTO_FIRST_S = 1,
    RTO_MAX_S = 120,
    CLAMP_MIN = RCVBUF_MIN / 2,
    MSS_MIN = 88,
    MSS_DEFAULT = 536,
    WINDOW_MAX = 32767,
    LINGER2_S_MAX = 120,
    FIN_WAIT2_S = 60,
    KEEP_IDLE_S = 7200,
    KEEP_INTERVAL_S = 75,
    KEEP_COUNT = 9,
    SYN_COUNT = 6,
    HOPS = 64,
    ECN_BITS = 3,
    TIMEO_NEW_RCV = 66,  // SO_RCVTIMEO_NEW, SO_SNDTIMEO_NEW
    TIMEO_NEW_SND = 67,
    OVER_AT_ONCE = 1,  // us: replaces a negative timeout, which expires at once
};

static const char *const congestions[] = {[C10M_CUBIC] = "cubic", [C10M_NEWRENO] = "reno"};

void options_default(const struct agent *a, struct socket *k)
{
    const bool tcp = k->f.kind == FILE_TCP;
    k->o = (struct socket_options){
        .lowat = 1,
        .rcvbuf = tcp ? a->rcvbuf : UDP_BUFFER,
        .sndbuf = tcp ? a->sndbuf : UDP_BUFFER,
        .keep_idle_s = KEEP_IDLE_S,
        .keep_interval_s = KEEP_INTERVAL_S,
        .keep_count = KEEP_COUNT,
        .syn_count = SYN_COUNT,
        .quickack = true,
        .ttl = -1,
        .hops = -1,
        .mtu_discover = IP_PMTUDISC_WANT,
        .mtu_discover6 = IPV6_PMTUDISC_WANT,
        .congestion = C10M_CUBIC,
        .mc_loop = true,
        .mc6_all = true,
        .mc6_loop = 1,
        .mc_all = 1,
        .mc_ttl = 1,
        .mc6_hops = 1,
    };
}

static uint32_t stack_buffer(int linux_bytes)
{
    return linux_bytes / 2 < STACK_BUFFER_MIN ? STACK_BUFFER_MIN : (uint32_t)linux_bytes / 2;
}

static bool over_v6(const struct socket *k)
{
    return k->domain == AF_INET6 && !name_is_v4(&k->peer);
}

static uint32_t linger2_ms(int seconds)
{
    if (seconds < 0)
        return UINT32_MAX;  // no FIN-WAIT-2
    return (uint32_t)(seconds == 0 ? FIN_WAIT2_S : seconds) * 1000;
}

// The value of C10M_OPT_DF for IP_MTU_DISCOVER. Datagrams have DF set if it is not 0.
static uint8_t df_of(int discover)
{
    switch (discover) {
    case IP_PMTUDISC_WANT:
    case IP_PMTUDISC_DO:
        return 1;
    case IP_PMTUDISC_PROBE:
        return 2;
    default:
        return 0;
    }
}

// Linux's ip_sk_ignore_df() and ip6_sk_ignore_df().
bool option_whole(const struct socket *k)
{
    const int discover = over_v6(k) ? k->o.mtu_discover6 : k->o.mtu_discover;
    return discover >= IP_PMTUDISC_DO && discover != IP_PMTUDISC_OMIT;
}

// Linux doubles SO_RCVBUF and SO_SNDBUF for its own overhead; the limits of the stack are half of
// these values.
void options_of(const struct agent *a, const struct socket *k, struct agent_options *o)
{
    const struct socket_options *s = &k->o;
    const int hops = over_v6(k) ? s->hops : s->ttl;
    const int discover = over_v6(k) ? s->mtu_discover6 : s->mtu_discover;
    (void)a;
    *o = (struct agent_options){
        .rcv_limit = stack_buffer(s->rcvbuf),
        .snd_limit = stack_buffer(s->sndbuf),
        .lowat = (uint32_t)s->lowat,
        .notsent_lowat = s->notsent_lowat,
        .keepalive_ms = s->keepalive ? (uint32_t)s->keep_idle_s * 1000 : 0,
        .keepalive_interval_ms = (uint32_t)s->keep_interval_s * 1000,
        .keepalive_probes = (uint32_t)s->keep_count,
        .user_timeout_ms = s->user_timeout_ms,
        .linger2_ms = linger2_ms(s->linger2_s),
        .window_clamp = (uint32_t)s->window_clamp,
        .maxseg = (uint16_t)s->maxseg,
        .nodelay = s->nodelay,
        .cork = s->cork,
        .quickack = s->quickack,
        .quickack_turn = s->quickack_turn,
        .nodelay_turn = s->nodelay_turn,
        .syn_retries = (uint8_t)s->syn_count,
        .congestion = s->congestion,
        .ttl = (uint8_t)(hops < 0 ? HOPS : hops),
        .tos = (uint8_t)(over_v6(k) ? s->tclass : s->tos),
        .df = df_of(discover),
    };
}

void connection_defaults(const struct agent *a, struct agent_options *o)
{
    struct socket k = {.f.kind = FILE_TCP, .domain = AF_INET};
    options_default(a, &k);
    options_of(a, &k, o);
}

// ---- set

static int buffer_of(int value, int least)
{
    const int bounded = value > BUFFER_MAX || value < 0 ? BUFFER_MAX : value;
    return bounded * 2 < least ? least : bounded * 2;
}

static int set_linger(struct call *c)
{
    struct linger l;
    if (c->r->data_bytes < sizeof(l))
        return -EINVAL;
    memcpy(&l, c->r->data, sizeof(l));
    c->socket->o.linger = l.l_onoff != 0;
    if (l.l_onoff != 0)
        c->socket->o.linger_s = l.l_linger < 0 ? INT_MAX : l.l_linger;
    return 0;
}

static int set_timeout(const struct call *c, uint64_t *us)
{
    struct timeval t;
    if (c->r->data_bytes < sizeof(t))
        return -EINVAL;
    memcpy(&t, c->r->data, sizeof(t));
    if (t.tv_usec < 0 || t.tv_usec >= 1000000)
        return -EDOM;
    *us = 0;
    if (t.tv_sec < 0)
        *us = OVER_AT_ONCE;
    else if (t.tv_sec < INT_MAX)
        *us = (uint64_t)t.tv_sec * 1000000 +
              ((uint64_t)t.tv_usec + JIFFY_US - 1) / JIFFY_US * JIFFY_US;
    return 0;
}

static int set_lowat(struct socket *k, int value)
{
    const int cap = k->o.rcvbuf_set ? k->o.rcvbuf / 2 : RMEM_MAX / 2;
    const int want = value < 0 ? INT_MAX : value;
    k->o.lowat = want == 0 ? 1 : want < cap || k->f.kind == FILE_UDP ? want : cap;
    return 0;
}

static int set_socket(struct call *c, int value, bool *apply)
{
    struct socket *k = c->socket;
    switch (c->r->a[1]) {
    case SO_LINGER:
        return set_linger(c);
    case SO_RCVTIMEO:
    case TIMEO_NEW_RCV:
        return set_timeout(c, &k->o.rcv_timeout_us);
    case SO_SNDTIMEO:
    case TIMEO_NEW_SND:
        return set_timeout(c, &k->o.snd_timeout_us);
    case SO_RCVBUF:
        k->o.rcvbuf = buffer_of(value, RCVBUF_MIN);
        k->o.rcvbuf_set = *apply = true;
        return 0;
    case SO_SNDBUF:
        k->o.sndbuf = buffer_of(value, SNDBUF_MIN);
        k->o.sndbuf_set = *apply = true;
        return 0;
    case SO_RCVLOWAT:
        *apply = true;
        return set_lowat(k, value);
    default:
        return -ENOPROTOOPT;
    }
}

int set_congestion(struct call *c)
{
    char name[16] = "";
    const uint32_t n = c->r->data_bytes;
    if (n < 1)
        return -EINVAL;
    memcpy(name, c->r->data, n < sizeof(name) ? n : sizeof(name) - 1);
    for (unsigned i = 0; i < sizeof(congestions) / sizeof(congestions[0]); i++) {
        if (strcmp(name, congestions[i]) != 0)
            continue;
        c->socket->o.congestion = (uint8_t)i;
        return 0;
    }
    return -ENOENT;
}

// Linux stores TCP_DEFER_ACCEPT as a number of SYN-ACK retransmissions, which rounds the time up.
static int deferred_s(int seconds)
{
    int period = RTO_FIRST_S, timeout = RTO_FIRST_S;
    if (seconds <= 0)
        return 0;
    for (int n = 1; seconds > period && n < UINT8_MAX; n++) {
        timeout = timeout * 2 > RTO_MAX_S ? RTO_MAX_S : timeout * 2;
        period += timeout;
    }
    return period;
}

static int set_clamp(struct socket *k, int value)
{
    if (value == 0 && k->state != TCP_IDLE)
        return -EINVAL;
    k->o.window_clamp = value == 0 || value > CLAMP_MIN ? value : CLAMP_MIN;
    return 0;
}

static int set_tcp(struct call *c, int value, bool *apply)
{
    struct socket *k = c->socket;
    *apply = true;
    switch (c->r->a[1]) {
    case TCP_MAXSEG:
        if (value != 0 && (value < MSS_MIN || value > WINDOW_MAX))
            return -EINVAL;
        k->o.maxseg = value;
        return 0;
    case TCP_QUICKACK:
        k->o.quickack = value != 0;
        k->o.quickack_turn++;
        return 0;
    case TCP_LINGER2:
        k->o.linger2_s = value < 0 ? -1 : value > LINGER2_S_MAX ? LINGER2_S_MAX : value;
        return 0;
    case TCP_DEFER_ACCEPT:
        k->o.defer_s = deferred_s(value);
        *apply = k->state == TCP_LISTENING;
        return 0;
    case TCP_WINDOW_CLAMP:
        return set_clamp(k, value);
    default:
        return -ENOPROTOOPT;
    }
}

// On TCP sockets the ECN bits cannot be set.
static int tos_of(const struct socket *k, int value, int before)
{
    return k->f.kind == FILE_TCP ? (value & 0xff & ~ECN_BITS) | (before & ECN_BITS) : value & 0xff;
}

static int set_ip(struct call *c, int value, bool *apply)
{
    struct socket *k = c->socket;
    *apply = true;
    switch (c->r->a[1]) {
    case IP_TTL:
        if (value != -1 && (value < 1 || value > UINT8_MAX))
            return -EINVAL;
        k->o.ttl = value;
        return 0;
    case IP_TOS:
        k->o.tos = tos_of(k, value, k->o.tos);
        return 0;
    case IP_MULTICAST_TTL:
        if (k->f.kind == FILE_TCP || value < -1 || value > UINT8_MAX)
            return -EINVAL;
        k->o.mc_ttl = value == -1 ? 1 : value;
        return 0;
    default:
        return -ENOPROTOOPT;
    }
}

static int set_ipv6(const struct agent *a, struct call *c, int value, bool *apply)
{
    struct socket *k = c->socket;
    switch (c->r->a[1]) {
    case IPV6_V6ONLY:
        if (k->bound)
            return -EINVAL;
        k->o.v6only = value != 0;
        return 0;
    case IPV6_UNICAST_HOPS:
        if (value < -1 || value > UINT8_MAX)
            return -EINVAL;
        k->o.hops = value;
        *apply = true;
        return 0;
    case IPV6_MULTICAST_HOPS:
        if (k->f.kind == FILE_TCP || value < -1 || value > UINT8_MAX)
            return k->f.kind == FILE_TCP ? -ENOPROTOOPT : -EINVAL;
        k->o.mc6_hops = value == -1 ? 1 : value;
        return 0;
    case IPV6_MULTICAST_IF:
        if (k->f.kind == FILE_TCP)
            return -ENOPROTOOPT;
        if (value != 0 && c10m_device_name(a->s, (unsigned)value) == NULL)
            return -ENODEV;
        if (k->device != 0 && value != 0 && k->device != (unsigned)value)
            return -EINVAL;
        k->o.mc6_device = value;
        return 0;
    case IPV6_TCLASS:
        if (value < -1 || value > UINT8_MAX)
            return -EINVAL;
        k->o.tclass = tos_of(k, value == -1 ? 0 : value, k->o.tclass);
        *apply = true;
        return 0;
    default:
        return -ENOPROTOOPT;
    }
}

int set_special(struct agent *a, struct call *c, int value, bool *apply)
{
    switch (c->r->a[0]) {
    case SOL_SOCKET:
        return set_socket(c, value, apply);
    case SOL_TCP:
        return set_tcp(c, value, apply);
    case IPPROTO_IP:
        return set_ip(c, value, apply);
    default:
        return set_ipv6(a, c, value, apply);
    }
}

// ---- get

static void get_timeout(struct agent *a, struct call *c, uint64_t us)
{
    const struct timeval t = {.tv_sec = (time_t)(us / 1000000),
                              .tv_usec = (suseconds_t)(us == OVER_AT_ONCE ? 0 : us % 1000000)};
    option_return(a, c, &t, sizeof(t));
}

static void get_linger(struct agent *a, struct call *c)
{
    const struct socket_options *o = &c->socket->o;
    const struct linger l = {.l_onoff = o->linger, .l_linger = o->linger_s};
    option_return(a, c, &l, sizeof(l));
}

static int protocol_of(const struct socket *k)
{
    if (k->f.kind == FILE_TCP)
        return IPPROTO_TCP;
    if (!k->icmp)
        return IPPROTO_UDP;
    return k->domain == AF_INET ? IPPROTO_ICMP : IPPROTO_ICMPV6;
}

static void get_socket(struct agent *a, struct call *c)
{
    const struct socket *k = c->socket;
    const bool tcp = k->f.kind == FILE_TCP;
    switch (c->r->a[1]) {
    case SO_LINGER:
        get_linger(a, c);
        return;
    case SO_RCVTIMEO:
    case TIMEO_NEW_RCV:
        get_timeout(a, c, k->o.rcv_timeout_us);
        return;
    case SO_SNDTIMEO:
    case TIMEO_NEW_SND:
        get_timeout(a, c, k->o.snd_timeout_us);
        return;
    case SO_RCVBUF:
        option_return_int(a, c, k->o.rcvbuf);
        return;
    case SO_SNDBUF:
        option_return_int(a, c, k->o.sndbuf);
        return;
    case SO_RCVLOWAT:
        option_return_int(a, c, k->o.lowat);
        return;
    case SO_SNDLOWAT:
        option_return_int(a, c, 1);
        return;
    case SO_TYPE:
        option_return_int(a, c, tcp ? SOCK_STREAM : SOCK_DGRAM);
        return;
    case SO_DOMAIN:
        option_return_int(a, c, k->domain);
        return;
    case SO_PROTOCOL:
        option_return_int(a, c, protocol_of(k));
        return;
    case SO_ACCEPTCONN:
        option_return_int(a, c, k->state == TCP_LISTENING);
        return;
    default:
        call_return(a, c, -ENOPROTOOPT);
    }
}

static void get_congestion(struct agent *a, struct call *c)
{
    char name[16] = "";
    memcpy(name, congestions[c->socket->o.congestion],
           strlen(congestions[c->socket->o.congestion]));
    option_return(a, c, name, sizeof(name));
}

static void get_maxseg(struct agent *a, struct call *c)
{
    const struct socket *k = c->socket;
    if (k->state == TCP_ATTACHED)
        get_info(a, c);
    else
        option_return_int(a, c, k->o.maxseg != 0 ? k->o.maxseg : MSS_DEFAULT);
}

static void get_tcp(struct agent *a, struct call *c)
{
    const struct socket_options *o = &c->socket->o;
    switch (c->r->a[1]) {
    case TCP_CONGESTION:
        get_congestion(a, c);
        return;
    case TCP_MAXSEG:
        get_maxseg(a, c);
        return;
    case TCP_INFO:
        get_info(a, c);
        return;
    case TCP_QUICKACK:
        option_return_int(a, c, o->quickack);
        return;
    case TCP_LINGER2:
        option_return_int(a, c, o->linger2_s == 0 ? FIN_WAIT2_S : o->linger2_s);
        return;
    case TCP_DEFER_ACCEPT:
        option_return_int(a, c, o->defer_s);
        return;
    case TCP_WINDOW_CLAMP:
        option_return_int(a, c, o->window_clamp);
        return;
    default:
        call_return(a, c, -ENOPROTOOPT);
    }
}

static void get_ip(struct agent *a, struct call *c)
{
    const struct socket_options *o = &c->socket->o;
    switch (c->r->a[1]) {
    case IP_TTL:
        option_return_int(a, c, o->ttl < 0 ? HOPS : o->ttl);
        return;
    case IP_TOS:
        option_return_int(a, c, o->tos);
        return;
    case IP_MULTICAST_TTL:
        option_return_int(a, c, o->mc_ttl);
        return;
    case IP_MULTICAST_IF:
        option_return(a, c, o->mc_addr, sizeof(o->mc_addr));
        return;
    case IP_MTU:
        get_info(a, c);
        return;
    default:
        call_return(a, c, -ENOPROTOOPT);
    }
}

static void get_ipv6(struct agent *a, struct call *c)
{
    const struct socket_options *o = &c->socket->o;
    switch (c->r->a[1]) {
    case IPV6_V6ONLY:
        option_return_int(a, c, o->v6only);
        return;
    case IPV6_UNICAST_HOPS:
        option_return_int(a, c, o->hops < 0 ? HOPS : o->hops);
        return;
    case IPV6_TCLASS:
        option_return_int(a, c, o->tclass);
        return;
    case IPV6_MULTICAST_HOPS:
        option_return_int(a, c, o->mc6_hops);
        return;
    case IPV6_MULTICAST_IF:
        option_return_int(a, c, o->mc6_device);
        return;
    case IPV6_MTU:
        get_info(a, c);
        return;
    default:
        call_return(a, c, -ENOPROTOOPT);
    }
}

void get_special(struct agent *a, struct call *c)
{
    switch (c->r->a[0]) {
    case SOL_SOCKET:
        get_socket(a, c);
        return;
    case SOL_TCP:
        get_tcp(a, c);
        return;
    case IPPROTO_IP:
        get_ip(a, c);
        return;
    default:
        get_ipv6(a, c);
    }
}
