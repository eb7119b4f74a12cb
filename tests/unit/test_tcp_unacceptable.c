// SPDX-License-Identifier: BSD-3-Clause
// test_tcp_unacceptable.c: what a segment may change before it is accepted. Random blocks in every
// state meet random segments; one that RFC 9293 3.10.7, RFC 7323 5.3 or RFC 5961 refuses leaves
// each bit of the block, and of its extension record, as it was, but for these:
//
//   oow_16ms                when the connection answered such a segment last
//   rcv_adv, unacked_segs,  what an acknowledgment that leaves says, and pays off
//   BF_ACK_NOW, BF_ACK_DELAYED, BF_DELACK_ARMED
//
// What is refused is written down here a second time, in signed 64-bit numbers.
#include <stdlib.h>

#include "check.h"
#include "seed.h"
#include "tcp_pair.h"

enum { ROUNDS = 400000, REFUSED_MIN = 100000 };

struct scene {
    struct raw *r;
    struct rng rng;
    struct block clean;  // the block as the handshake left it
    struct ext ext;
};

static uint32_t some(struct scene *c)
{
    return (uint32_t)(rng_u64(&c->rng) >> 32);
}

static bool coin(struct scene *c)
{
    return rng_below(&c->rng, 2) != 0;
}

// near: `at`, or a number around it, or any.
static uint32_t near_to(struct scene *c, uint32_t at, uint32_t span)
{
    switch (rng_below(&c->rng, 4)) {
    case 0:
        return at;
    case 1:
        return at + rng_below(&c->rng, 5) - 2;
    case 2:
        return at + rng_below(&c->rng, span | 1) - span / 2;
    default:
        return some(c);
    }
}

// A block of any state and any numbers. What it queues and holds is not looked at before a segment
// is accepted, and stays empty.
static struct block any_block(struct scene *c)
{
    static const uint8_t states[] = {TCP_SYN_SENT,   TCP_SYN_RECEIVED, TCP_ESTABLISHED,
                                     TCP_FIN_WAIT_1, TCP_FIN_WAIT_2,   TCP_CLOSE_WAIT,
                                     TCP_CLOSING,    TCP_LAST_ACK,     TCP_TIME_WAIT};
    struct block b = c->clean;
    b.state = states[rng_below(&c->rng, sizeof(states))];
    b.flags = (uint16_t)((some(c) & (BF_TS | BF_ACK_NOW | BF_ACK_DELAYED | BF_PROBE)) |
                         (coin(c) ? BF_IN_APP : 0) | (c->clean.flags & BF_EXT));
    if (b.state > TCP_ESTABLISHED && b.state != TCP_CLOSE_WAIT)
        b.flags |= BF_FIN_QUEUED;
    b.agreed = (uint8_t)(some(c) & (BA_SACK | BA_ECN | BA_WSCALE));
    b.snd_wscale = (uint8_t)rng_below(&c->rng, 15);
    b.rcv_wscale = 7;
    b.rcv_nxt = some(c);
    b.rcv_adv = b.rcv_nxt + (rng_below(&c->rng, 8) == 0 ? 0 : rng_below(&c->rng, 65536) << 7);
    b.snd_una = b.snd_nxt = b.snd_max = some(c);
    if (coin(c))
        b.snd_nxt = b.snd_max += 1 + rng_below(&c->rng, 100000);
    b.snd_end = b.snd_max;
    b.snd_wl1 = coin(c) ? b.rcv_nxt - 1 : some(c);
    b.snd_wnd = some(c) >> rng_below(&c->rng, 32);
    b.ts_recent = some(c);
    b.ts_recent_ms = c->r->e.tcp.now.ms - (coin(c) ? 5 : TCP_PAWS_MS + 1000u);
    b.probes = (uint8_t)rng_below(&c->rng, 3);
    b.retries = (uint8_t)rng_below(&c->rng, 3);
    b.backoff = (uint8_t)rng_below(&c->rng, 3);
    b.unacked_segs = (uint8_t)rng_below(&c->rng, 3);
    b.dupacks = rng_below(&c->rng, 5) & DUPACKS_MAX;
    b.rto_at_ms = some(c);
    b.stuck_at_ms = some(c);
    b.oow_16ms = (uint16_t)some(c);
    return b;
}

static struct seg_in any_segment(struct scene *c, const struct block *b)
{
    static const uint16_t lengths[] = {0, 0, 1, 100, 1460};
    struct seg_in s = {.key = b->key, .data_off = 54};
    s.flags = (uint8_t)(some(c) & (SEG_FIN | SEG_SYN | SEG_RST | SEG_PSH | SEG_ACK | SEG_ECE));
    if (coin(c))
        s.flags = SEG_ACK;
    s.data_len = lengths[rng_below(&c->rng, ARRAY_LEN(lengths))];
    s.seq = near_to(c, coin(c) ? b->rcv_nxt : b->rcv_adv, 1 << 23);
    s.ack = near_to(c, coin(c) ? b->snd_una : b->snd_max, 1 << 23);
    s.wnd = (uint16_t)some(c);
    if (rng_below(&c->rng, 4) != 0) {
        s.opts = SEG_OPT_TS;
        s.ts_val = near_to(c, b->ts_recent, 1 << 20);
        s.ts_ecr = some(c);
    }
    return s;
}

// RFC 9293 3.10.7.4, first. A FIN alone takes no room.
static bool in_window(const struct block *b, const struct seg_in *s)
{
    const int64_t wnd = b->rcv_adv - b->rcv_nxt, from = (int32_t)(s->seq - b->rcv_nxt);
    const int64_t len = s->data_len + ((s->flags & SEG_SYN) != 0) + ((s->flags & SEG_FIN) != 0);
    const int64_t last = from + len - 1;
    if (len == 0 || (wnd == 0 && s->data_len == 0 && !(s->flags & SEG_SYN)))
        return from == 0 || (from > 0 && from < wnd);
    return (from >= 0 && from < wnd) || (last >= 0 && last < wnd);
}

// RFC 7323 5.3 R1.
static bool is_old(const struct tcp *t, const struct block *b, const struct seg_in *s)
{
    if (!(b->flags & BF_TS) || (s->flags & SEG_RST))
        return false;
    return !(s->opts & SEG_OPT_TS) ||
           ((int32_t)(s->ts_val - b->ts_recent) < 0 && t->now.ms - b->ts_recent_ms <= TCP_PAWS_MS);
}

static bool ack_is_good(const struct block *b, const struct seg_in *s)
{
    const int64_t acked = (int32_t)(s->ack - b->snd_una), sent = b->snd_max - b->snd_una;
    const int64_t oldest = (int64_t)UINT16_MAX << b->snd_wscale;  // RFC 5961 5.2
    if (b->state == TCP_SYN_RECEIVED)
        return acked > 0 && acked <= sent;
    return acked >= -oldest && acked <= sent;
}

// RFC 9293 3.10.7.3.
static bool refused_in_syn_sent(const struct block *b, const struct seg_in *s)
{
    const bool acks = (s->flags & SEG_ACK) && b->snd_max != b->snd_una && s->ack == b->snd_max;
    if ((s->flags & SEG_ACK) && !acks)
        return true;
    return s->flags & SEG_RST ? !acks : !(s->flags & SEG_SYN);
}

static bool refused(const struct tcp *t, const struct block *b, const struct seg_in *s)
{
    const uint8_t kind = s->flags & (SEG_SYN | SEG_ACK | SEG_RST);
    if (b->state == TCP_SYN_SENT)
        return refused_in_syn_sent(b, s);
    if (is_old(t, b, s))
        return true;
    if (b->state == TCP_SYN_RECEIVED) {
        const bool pending = b->rcv_nxt - b->snd_wl1 != 1;  // by RFC 7413
        if (pending && kind == SEG_SYN && s->seq == b->snd_wl1)
            return false;  // its SYN again
        if (!pending && kind == (SEG_SYN | SEG_ACK) && s->seq == b->rcv_nxt - 1)
            return !ack_is_good(b, s);  // the SYN-ACK of a simultaneous open
    }
    if (!in_window(b, s))  // of what a closed window refuses the acknowledgment counts
        return b->rcv_adv != b->rcv_nxt || s->seq != b->rcv_nxt || kind != SEG_ACK ||
               !ack_is_good(b, s);
    if (s->flags & SEG_RST)
        return s->seq != b->rcv_nxt;
    return kind != SEG_ACK || !ack_is_good(b, s);
}

// What may differ is taken over from `to`.
static void allow(struct block *from, const struct block *to, bool answered)
{
    const uint16_t paid = BF_ACK_NOW | BF_ACK_DELAYED | BF_DELACK_ARMED;
    from->oow_16ms = to->oow_16ms;
    if (!answered)
        return;
    assert_true(seq_leq(from->rcv_adv, to->rcv_adv));
    from->rcv_adv = to->rcv_adv;
    from->unacked_segs = 0;
    from->flags &= (uint16_t)~paid;
}

static void fail_of(const struct block *was, const struct block *is, const struct seg_in *s)
{
    const uint8_t *a = (const uint8_t *)was, *b = (const uint8_t *)is;
    for (size_t i = 0; i < sizeof(*was); i++)
        if (a[i] != b[i])
            fail_msg("byte %zu of the block: %02x became %02x; state %u flags %02x seq %+d ack %+d "
                     "len %u, window %u",
                     i, a[i], b[i], was->state, s->flags, (int32_t)(s->seq - was->rcv_nxt),
                     (int32_t)(s->ack - was->snd_una), s->data_len, was->rcv_adv - was->rcv_nxt);
}

// meet: whether the segment was one that is refused.
static bool meet(struct scene *c)
{
    static const uint8_t data[2048];
    struct tcp *t = &c->r->e.tcp;
    struct block *b = raw_block(c->r), before = any_block(c);
    const struct seg_in s = any_segment(c, &before);
    struct tcp_verdict v;
    if (!refused(t, &before, &s))
        return false;
    *b = before;
    t->exts[0] = c->ext;
    t->n_out = 0;
    tcp_burst(t);
    tcp_input(t, &s, data, tcp_owner(t, &s.key), &v);
    assert_int_equal(v.events, 0);
    const bool acked = t->n_out != 0 && !(t->out[0].flags & (SEG_RST | SEG_SYN));
    allow(&before, b, acked);
    if (memcmp(&before, b, sizeof(before)) != 0)
        fail_of(&before, b, &s);
    assert_memory_equal(&t->exts[0], &c->ext, sizeof(c->ext));
    return true;
}

static void refused_segments_change_nothing(const char *name, bool v6, bool trouble)
{
    struct scene c = {.rng = test_rng(name)};
    unsigned refusals = 0;
    raw_ip6 = v6;
    c.r = raw_new(NULL);
    c.r->e.tcp.cfg.rst_per_s = 1000000000;
    raw_open(c.r);
    struct block *b = raw_block(c.r);
    assert_ptr_equal(b, &c.r->e.tcp.blocks[0]);
    if (trouble)
        assert_ptr_equal(tcp_ext_get(&c.r->e.tcp, b), &c.r->e.tcp.exts[0]);
    c.clean = *b;
    c.ext = c.r->e.tcp.exts[0];
    for (unsigned i = 0; i < ROUNDS; i++)
        refusals += meet(&c);
    assert_true(refusals >= REFUSED_MIN);
    raw_free(c.r, false);
    raw_ip6 = false;
}

static void over_ipv4_nothing_changes_before_a_segment_is_accepted(void **state)
{
    refused_segments_change_nothing("unaccepted, IPv4", false, false);
    refused_segments_change_nothing("unaccepted, IPv4, with a record", false, true);
}

static void over_ipv6_nothing_changes_before_a_segment_is_accepted(void **state)
{
    refused_segments_change_nothing("unaccepted, IPv6", true, false);
    refused_segments_change_nothing("unaccepted, IPv6, with a record", true, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(over_ipv4_nothing_changes_before_a_segment_is_accepted),
        cmocka_unit_test(over_ipv6_nothing_changes_before_a_segment_is_accepted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
