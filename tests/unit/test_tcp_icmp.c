// SPDX-License-Identifier: BSD-3-Clause
// ICMP errors about TCP segments: which are believed, and what they change.
#include "check.h"
#include "tcp_pair.h"

static struct icmp_event event(const struct flow_key *key, enum icmp_kind kind, uint32_t seq)
{
    return (struct icmp_event){.key = *key, .seq = seq, .kind = (uint8_t)kind};
}

// hear: the event as loop.c's take_icmp() handles it.
static struct tcp_verdict hear(struct raw *r, const struct icmp_event *e)
{
    struct tcp_verdict v;
    tcp_icmp(&r->e.tcp, e, &v);
    if (v.events != 0)
        sock_event(&r->e.sock, &v, NULL);
    return v;
}

// connecting: an active open whose SYN has left; *syn is that segment.
static struct raw *connecting(struct seg_out *syn)
{
    struct raw *r = raw_new(NULL);
    end_connect(&r->e, 0x0a000002, 80);
    raw_turn(r, 1);
    assert_int_equal(r->e.tcp.n_out, 1);
    *syn = r->e.out[0];
    return r;
}

// sending: established, with a window of ten full segments in flight.
static struct raw *sending(bool ts)
{
    struct raw *r = raw_new(NULL);
    r->e.role.source = 14600;
    r->ts = ts;
    raw_open(r);
    assert_int_equal(r->e.tcp.n_out, 10);
    return r;
}

static void end(struct raw *r)
{
    struct block *b = raw_block(r);
    if (b != NULL) {
        raw_seg(r, SEG_RST, b->rcv_nxt, 0, 0, 0)->key = b->key;
        raw_turn(r, 1);
    }
    for (int i = 0; i < 3000 && end_leaks(&r->e) != NULL; i++)
        raw_turn(r, 50);
    raw_free(r, true);
}

static struct icmp_event too_big(const struct raw *r, uint16_t mtu)
{
    const struct block *b = raw_block((struct raw *)r);
    struct icmp_event e = event(&b->key, ICMP_TOO_BIG, b->snd_una);
    e.mtu = mtu;
    return e;
}

static void a_hard_error_ends_an_open(void **state)
{
    struct seg_out syn;
    struct raw *r = connecting(&syn);
    const struct icmp_event e = event(&syn.key, ICMP_HARD, syn.seq);
    assert_int_equal(hear(r, &e).drop, DROP_NONE);
    assert_int_equal(r->e.role.closed, 1);
    assert_int_equal(r->e.role.why, C10M_UNREACHABLE);
    assert_int_equal(r->e.stats.c.icmp_opens_ended, 1);
    raw_turn(r, 1);
    assert_int_equal(r->e.tcp.n_out, 0);
    end(r);
}

static void a_soft_error_lets_the_open_go_on(void **state)
{
    const enum icmp_kind soft[] = {ICMP_SOFT, ICMP_TOO_BIG, ICMP_SOFT};
    struct seg_out syn;
    struct raw *r = connecting(&syn);
    for (unsigned i = 0; i < ARRAY_LEN(soft); i++) {
        const struct icmp_event e = event(&syn.key, soft[i], syn.seq);
        assert_int_equal(hear(r, &e).drop, DROP_NONE);
    }
    assert_int_equal(r->e.stats.c.icmp_noted, ARRAY_LEN(soft));
    raw_seg(r, SEG_SYN | SEG_ACK, r->seq, syn.seq + 1, 0, 0)->key = syn.key;
    raw_turn(r, 1);
    assert_int_equal(r->e.role.opened, 1);
    assert_int_equal(r->e.role.closed, 0);
    r->seq++;
    end(r);
}

static void an_error_that_quotes_another_number_is_not_believed(void **state)
{
    struct seg_out syn;
    struct raw *r = connecting(&syn);
    const uint32_t wrong[] = {syn.seq - 1, syn.seq + 1, syn.seq + 0x80000000, 0};
    for (unsigned i = 0; i < ARRAY_LEN(wrong); i++) {
        const struct icmp_event e = event(&syn.key, ICMP_HARD, wrong[i]);
        assert_int_equal(hear(r, &e).drop, DROP_icmp_sequence);
    }
    assert_int_equal(r->e.role.closed, 0);
    end(r);
}

static void an_error_about_nobodys_segment_is_dropped(void **state)
{
    struct seg_out syn;
    struct raw *r = connecting(&syn);
    struct icmp_event e = event(&syn.key, ICMP_HARD, syn.seq);
    e.key.remote_port++;
    assert_int_equal(hear(r, &e).drop, DROP_icmp_no_owner);
    e.key.remote_port--;
    e.key.local_ix++;
    assert_int_equal(hear(r, &e).drop, DROP_icmp_no_owner);
    assert_int_equal(r->e.role.closed, 0);
    end(r);
}

static void no_error_ends_an_established_connection(void **state)
{
    struct raw *r = sending(false);
    for (unsigned kind = ICMP_SOFT; kind <= ICMP_TOO_BIG; kind++)
        for (unsigned mtu = 1500; mtu <= UINT16_MAX; mtu++) {
            struct icmp_event e =
                event(&raw_block(r)->key, (enum icmp_kind)kind, raw_block(r)->snd_una);
            e.mtu = (uint16_t)mtu;
            assert_int_equal(hear(r, &e).drop, DROP_NONE);
        }
    assert_int_equal(r->e.stats.c.icmp_noted, 3 * (UINT16_MAX + 1 - 1500));
    assert_int_equal(raw_block(r)->mss, 1460);
    assert_int_equal(raw_block(r)->state, TCP_ESTABLISHED);
    raw_turn(r, 1);
    assert_int_equal(r->e.tcp.n_out, 0);
    end(r);
}

static void an_idle_connection_believes_nothing(void **state)
{
    struct raw *r = raw_new(NULL);
    raw_open(r);
    const struct icmp_event e = too_big(r, 1000);
    assert_int_equal(hear(r, &e).drop, DROP_icmp_sequence);
    assert_int_equal(raw_block(r)->mss, 1460);
    end(r);
}

static void both_ends_of_the_flight_are_exact(void **state)
{
    struct raw *r = sending(false);
    struct icmp_event e = too_big(r, 1500);
    const uint32_t una = e.seq;
    e.seq = una - 1;
    assert_int_equal(hear(r, &e).drop, DROP_icmp_sequence);
    e.seq = una + 14600;
    assert_int_equal(hear(r, &e).drop, DROP_icmp_sequence);
    e.seq = una + 14599;
    assert_int_equal(hear(r, &e).drop, DROP_NONE);
    end(r);
}

static void a_half_open_connection_outlives_errors(void **state)
{
    struct raw *r = raw_new(NULL);
    raw_seg(r, SEG_SYN, r->seq, 0, 0, 0);
    raw_turn(r, 1);
    const struct seg_out syn_ack = r->e.out[0];
    struct icmp_event e = event(&syn_ack.key, ICMP_HARD, syn_ack.seq);
    assert_int_equal(hear(r, &e).drop, DROP_NONE);
    assert_int_equal(r->e.stats.c.icmp_noted, 1);
    e.seq++;
    assert_int_equal(hear(r, &e).drop, DROP_icmp_sequence);
    raw_seg(r, SEG_ACK, r->seq + 1, syn_ack.seq + 1, 0, 0);
    raw_turn(r, 1);
    assert_int_equal(r->e.role.opened, 1);
    end(r);
}

// What was in flight leaves again at once, smaller, in order, and nothing twice.
static void a_packet_too_big_sends_the_flight_again_in_smaller_segments(void **state)
{
    for (unsigned ts = 0; ts < 2; ts++) {
        struct raw *r = sending(ts != 0);
        const uint32_t una = raw_block(r)->snd_una, max = raw_block(r)->snd_max;
        const struct icmp_event e = too_big(r, 1000);
        assert_int_equal(hear(r, &e).drop, DROP_NONE);
        assert_int_equal(r->e.stats.c.icmp_mss_lowered, 1);
        raw_turn(r, 0);
        uint32_t at = una;
        assert_int_equal(r->e.tcp.n_out, 10);  // the initial window
        for (uint32_t i = 0; i < r->e.tcp.n_out; i++) {
            const struct seg_out *o = &r->e.out[i];
            const uint32_t len = (uint32_t)o->data_len[0] + o->data_len[1];
            assert_int_equal(o->seq, at);
            assert_int_equal(len, 1000 - 40 - (ts ? 12 : 0));
            at += len;
        }
        assert_int_equal(raw_block(r)->snd_max, max);
        struct icmp_event again = e;  // of the window's other segments
        again.seq += 1460;
        assert_int_equal(hear(r, &again).drop, DROP_NONE);
        raw_turn(r, 0);
        assert_int_equal(r->e.tcp.n_out, 0);
        assert_int_equal(r->e.stats.c.icmp_mss_lowered, 1);
        r->ack = at;
        r->ts_val++;
        raw_send(r, SEG_ACK, 0, 0);
        while (r->e.tcp.n_out != 0) {  // the rest
            for (uint32_t i = 0; i < r->e.tcp.n_out; i++)
                at += (uint32_t)r->e.out[i].data_len[0] + r->e.out[i].data_len[1];
            r->ack = at;
            raw_send(r, SEG_ACK, 0, 0);
        }
        assert_int_equal(at - una, 14600);
        end(r);
    }
}

static void the_segment_size_stays_within_its_bounds(void **state)
{
    static const uint16_t lies[] = {1, 67, 68, 296, 551, 552};
    for (unsigned i = 0; i < ARRAY_LEN(lies); i++) {
        struct raw *r = sending(false);
        const struct icmp_event e = too_big(r, lies[i]);
        assert_int_equal(hear(r, &e).drop, DROP_NONE);
        assert_int_equal(raw_block(r)->mss, TCP_PMTU_MIN - 40);
        end(r);
    }
    static const uint16_t greater[] = {1500, 1501, 9000, UINT16_MAX};
    struct raw *r = sending(false);
    for (unsigned i = 0; i < ARRAY_LEN(greater); i++) {
        const struct icmp_event e = too_big(r, greater[i]);
        assert_int_equal(hear(r, &e).drop, DROP_NONE);
        assert_int_equal(raw_block(r)->mss, 1460);
    }
    assert_int_equal(r->e.stats.c.icmp_mss_lowered, 0);
    end(r);
}

static void over_ipv6_no_size_below_1280_is_believed(void **state)
{
    static const struct {
        uint16_t said, packet;
    } rows[] = {{1, 1280}, {1279, 1280}, {1280, 1280}, {1281, 1281}, {1400, 1400}, {1499, 1499}};
    raw_ip6 = true;
    for (unsigned i = 0; i < ARRAY_LEN(rows); i++)
        for (unsigned ts = 0; ts < 2; ts++) {
            struct raw *r = sending(ts != 0);
            const uint16_t before = raw_block(r)->mss;
            const struct icmp_event e = too_big(r, rows[i].said);
            assert_int_equal(hear(r, &e).drop, DROP_NONE);
            assert_int_equal(raw_block(r)->mss,
                             MIN(rows[i].packet - 40 - 20 - (ts ? 12 : 0), before));
            end(r);
        }
    struct raw *r = sending(false);
    const struct icmp_event e = too_big(r, 1500);
    assert_int_equal(hear(r, &e).drop, DROP_NONE);
    assert_int_equal(r->e.stats.c.icmp_mss_lowered, 0);
    end(r);
    raw_ip6 = false;
}

static void a_router_that_does_not_say_its_mtu_gets_the_next_plateau(void **state)
{
    struct raw *r = sending(false);
    const uint16_t want[] = {1492 - 40, 1006 - 40, TCP_PMTU_MIN - 40, TCP_PMTU_MIN - 40};
    for (unsigned i = 0; i < ARRAY_LEN(want); i++) {
        const struct icmp_event e = too_big(r, 0);
        assert_int_equal(hear(r, &e).drop, DROP_NONE);
        assert_int_equal(raw_block(r)->mss, want[i]);
        raw_turn(r, 1);
    }
    assert_int_equal(r->e.stats.c.icmp_mss_lowered, 3);
    end(r);
}

static void an_mss_below_the_bound_is_not_raised(void **state)
{
    struct raw *r = raw_new(NULL);
    r->e.role.source = 2000;
    struct seg_in *s = raw_seg(r, SEG_SYN, r->seq++, 0, 0, 0);
    s->opts |= SEG_OPT_MSS;
    s->mss = 200;
    raw_turn(r, 1);
    r->ack = r->e.out[0].seq + 1;
    raw_send(r, SEG_ACK, 0, 0);
    assert_int_equal(raw_block(r)->mss, 200);
    const struct icmp_event e = too_big(r, 68);
    assert_int_equal(hear(r, &e).drop, DROP_NONE);
    assert_int_equal(raw_block(r)->mss, 200);
    end(r);
}

static void a_packet_too_big_during_recovery_loses_no_byte(void **state)
{
    struct raw *r = sending(false);
    const uint32_t una = raw_block(r)->snd_una;
    for (int i = 0; i < 3; i++)
        raw_seg(r, SEG_ACK, r->seq, r->ack, 0, 0);
    raw_turn(r, 1);
    assert_int_equal(r->e.stats.c.fast_retransmits, 1);
    const struct icmp_event e = too_big(r, 600);
    assert_int_equal(hear(r, &e).drop, DROP_NONE);
    raw_turn(r, 0);
    uint32_t at = una;
    for (int turn = 0; turn < 100 && r->e.tcp.n_out != 0; turn++) {
        for (uint32_t i = 0; i < r->e.tcp.n_out; i++) {
            assert_int_equal(r->e.out[i].seq, at);
            at += (uint32_t)r->e.out[i].data_len[0] + r->e.out[i].data_len[1];
        }
        r->ack = at;
        raw_send(r, SEG_ACK, 0, 0);
    }
    assert_int_equal(at - una, 14600);
    end(r);
}

static void errors_after_the_end_reach_nobody(void **state)
{
    struct raw *r = raw_new(NULL);
    r->e.role.shut = true;
    raw_open(r);
    const struct flow_key key = raw_block(r)->key;
    r->ack++;
    raw_send(r, SEG_ACK | SEG_FIN, 0, 0);
    assert_int_equal(r->e.stats.c.time_wait_now, 1);
    const struct icmp_event e = event(&key, ICMP_HARD, r->ack - 1);
    assert_int_equal(hear(r, &e).drop, DROP_icmp_no_owner);
    assert_int_equal(r->e.stats.c.time_wait_now, 1);
    end(r);
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_hard_error_ends_an_open),
        T(a_soft_error_lets_the_open_go_on),
        T(an_error_that_quotes_another_number_is_not_believed),
        T(an_error_about_nobodys_segment_is_dropped),
        T(no_error_ends_an_established_connection),
        T(an_idle_connection_believes_nothing),
        T(both_ends_of_the_flight_are_exact),
        T(a_half_open_connection_outlives_errors),
        T(a_packet_too_big_sends_the_flight_again_in_smaller_segments),
        T(the_segment_size_stays_within_its_bounds),
        T(over_ipv6_no_size_below_1280_is_believed),
        T(a_router_that_does_not_say_its_mtu_gets_the_next_plateau),
        T(an_mss_below_the_bound_is_not_raised),
        T(a_packet_too_big_during_recovery_loses_no_byte),
        T(errors_after_the_end_reach_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
