// SPDX-License-Identifier: BSD-3-Clause
// ICMP errors about our segments: which of them are accepted, and their effects.
#include <errno.h>

#include "tcp/tcp_fast_open.h"
#include "tcp/tcp_flight.h"
#include "wire/proto.h"

static uint32_t options_bytes(const struct block *b)
{
    return b->flags & BF_TS ? TCP_TS_BYTES : 0;
}

// plateau_below: the MTU to assume if the router does not report one: the next plateau below the
// size of our packets (RFC 1191 7.1). Plateaus below TCP_PMTU_MIN are omitted.
static uint32_t plateau_below(uint32_t packet_bytes)
{
    static const uint16_t plateaus[] = {32000, 17914, 8166, 4352, 2002, 1492, 1006};
    for (unsigned i = 0; i < ARRAY_LEN(plateaus); i++)
        if (plateaus[i] < packet_bytes)
            return plateaus[i];
    return TCP_PMTU_MIN;
}

// send_again: resends the data in flight in segments of the new size, from a small window (RFC 1191
// 6.4). This is no congestion, so ssthresh stays. It happens once for all segments of a window,
// because the errors about the other segments find the smaller size already set.
static void send_again(struct tcp *t, struct block *b, uint32_t ix)
{
    if (b->has_flight) {
        tcp_flight_resize(t, b);
        b->agreed &= (uint8_t)~BA_REDUCED;
        b->rto_at_ms = 0;
    } else if (b->snd_nxt != b->snd_una) {
        b->recover = b->snd_max;
        b->agreed &= (uint8_t)~BA_REDUCED;
        b->snd_nxt = b->snd_una;
        b->snd_cur = b->snd_head;
        b->rto_at_ms = 0;
        b->dupacks = 0;
        b->flags &= (uint16_t)~BF_TIMED;  // Karn's rule, RFC 6298 3
        if (b->flags & BF_EXT) {
            t->exts[b->ext].recovery = RECOVERY_NONE;  // the SACKed ranges stay valid
            tcp_ext_release(t, b);
        }
    }
    b->cwnd = MIN(b->cwnd, t->cfg.initial_window * (uint32_t)b->mss);
    tcp_dirty(t, ix);
}

// believes_size: a connection can disable path MTU discovery, but not over IPv6, where routers do
// not fragment.
static bool believes_size(const struct tcp *t, const struct block *b)
{
    const uint32_t df = tcp_sockopt_value(t, b, SOCKOPT_DF);
    return df == SOCKOPT_DF_ON || (df == SOCKOPT_DF_OFF && !ip_is_v4(&b->key.remote));
}

// lower_mss: returns whether the segments of the connection became smaller.
static bool lower_mss(struct tcp *t, struct block *b, uint32_t ix, uint16_t mtu)
{
    const bool v4 = ip_is_v4(&b->key.remote);
    const uint32_t least = v4 ? (uint32_t)TCP_PMTU_MIN : IP6_MTU_MIN;  // RFC 8201 4
    const uint32_t head = (v4 ? IP4_BYTES : IP6_BYTES) + TCP_BYTES + options_bytes(b),
                   now = head + b->mss;
    const uint32_t to = MAX(mtu != 0 ? mtu : plateau_below(now), least);
    if (to >= now)
        return false;
    b->mss = (uint16_t)(to - head);
    send_again(t, b, ix);
    return true;
}

void tcp_black_hole(struct tcp *t, struct block *b)
{
    const uint32_t options = options_bytes(b), v4 = b->mss + options > 1024 ? 1024 : 512;
    const uint32_t most =
        (ip_is_v4(&b->key.remote) ? v4 : IP6_MTU_MIN - IP6_BYTES - TCP_BYTES) - options;
    if (MIN(MIN(b->snd_max - b->snd_una, b->snd_wnd), (uint32_t)b->mss) <= most)
        return;
    b->mss = (uint16_t)most;
    t->stats->c.mtu_probe_failed++;
}

static bool is_opening(const struct block *b)
{
    return b->state == TCP_SYN_SENT || b->state == TCP_SYN_RECEIVED;
}

// ends_open: a hard error ends an active open (RFC 1122 4.2.3.9). With an application that pulls,
// each error ends it for which Linux's connect() fails.
static bool ends_open(const struct tcp *t, const struct block *b, const struct icmp_event *e)
{
    if (t->services[b->service].pulls)
        return is_opening(b) && !tcp_is_pending(b) && e->kind != ICMP_TOO_BIG && e->error != 0;
    return b->state == TCP_SYN_SENT && e->kind == ICMP_HARD;
}

// note_soft: stores a soft error (RFC 1122 4.2.3.9). If the connection then times out without any
// acknowledgment, the stored error is the reported reason (Linux's sk_err_soft).
static void note_soft(struct tcp *t, struct block *b, const struct icmp_event *e)
{
    if (!t->services[b->service].pulls || is_opening(b) || e->kind == ICMP_TOO_BIG || e->error == 0)
        return;
    struct ext *x = tcp_ext_get_spared(t, b, &t->stats->c.ext_records_missed);
    if (x != NULL)
        x->sockopts.soft_error = e->error;
}

int tcp_soft_error(const struct tcp *t, const struct block *b)
{
    return b->flags & BF_EXT ? t->exts[b->ext].sockopts.soft_error : 0;
}

void tcp_clear_soft_error(struct tcp *t, struct block *b)
{
    t->exts[b->ext].sockopts.soft_error = 0;
    tcp_ext_release(t, b);
}

// to_block: handles an error about a segment of block b.
static void to_block(struct tcp *t, struct block *b, uint32_t ix, const struct icmp_event *e,
                     struct tcp_verdict *v)
{
    if (b->state == TCP_CLOSED || b->state == TCP_TIME_WAIT) {
        v->drop = DROP_icmp_no_owner;
        return;
    }
    if (e->seq - b->snd_una >= b->snd_max - b->snd_una) {
        v->drop = DROP_icmp_sequence;
        return;
    }
    v->block = ix;
    tcp_touch(t, ix);
    if (ends_open(t, b, e)) {
        t->stats->c.icmp_opens_ended++;
        tcp_end_error(t, b, TCP_CLOSE_UNREACHABLE, e->error != 0 ? e->error : EHOSTUNREACH);
        v->events = TCP_EV_CLOSED;
    } else if (!is_opening(b) && e->kind == ICMP_TOO_BIG && believes_size(t, b) &&
               lower_mss(t, b, ix, e->mtu)) {
        t->stats->c.icmp_mss_lowered++;
    } else {
        note_soft(t, b, e);
        t->stats->c.icmp_noted++;
    }
}

void tcp_icmp(struct tcp *t, const struct icmp_event *e, struct tcp_verdict *v)
{
    *v = (struct tcp_verdict){.block = BLOCK_NONE, .chain = BUF_NONE};
    const uint32_t found = tcp_owner(t, &e->key), ix = flow_index_ix(found);
    if (found == FLOW_NONE || flow_is_time_wait(found))
        v->drop = DROP_icmp_no_owner;
    else if (flow_index_kind(found) == FLOW_BLOCK)
        to_block(t, &t->blocks[ix], ix, e, v);
    else if (e->seq != t->syns[ix].iss)
        v->drop = DROP_icmp_sequence;
    else
        t->stats->c
            .icmp_noted++;  // the SYN-ACK leaves again, a few times, and then the record ends
}
