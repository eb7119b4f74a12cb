// test_limits.c: how many connections a service and one source address may have open, and who goes
// when buffers are scarce.
#include <stdlib.h>

#include "check.h"
#include "tcp_pair.h"

enum { ATTACKER = 0x0a000002, OTHER = 0x0a000003, SYNS_MAX = 16 };

// shake: opens as far as `from`'s SYN gets an answer; *ack is what the handshake's end
// acknowledges.
static bool half_open(struct raw *r, uint32_t from, uint16_t port, uint32_t *ack)
{
    raw_seg(r, SEG_SYN, 100, 0, 0, 0)->key =
        (struct flow_key){ip_from_v4(from), 0, 0, port, PAIR_PORT};
    raw_turn(r, 1);
    if (r->e.tcp.n_out == 0)
        return false;
    assert_int_equal(r->e.out[0].flags, SEG_SYN | SEG_ACK);
    *ack = r->e.out[0].seq + 1;
    return true;
}

static void send_from(struct raw *r, uint32_t from, uint16_t port, uint8_t flags, uint32_t ack)
{
    raw_seg(r, flags, 101, ack, 0, 0)->key =
        (struct flow_key){ip_from_v4(from), 0, 0, port, PAIR_PORT};
    raw_turn(r, 1);
}

static bool open_from(struct raw *r, uint32_t from, uint16_t port)
{
    uint32_t ack = 0;
    const unsigned opened = r->e.role.opened;
    if (!half_open(r, from, port, &ack))
        return false;
    send_from(r, from, port, SEG_ACK, ack);
    return r->e.role.opened > opened;
}

static struct raw *limited(uint32_t service_max, uint32_t source_max)
{
    struct raw *r = raw_new(NULL);
    struct tcp *t = &r->e.tcp;
    t->services[0].connections_max = service_max;
    t->services[0].source_max = source_max;
    if (source_max != 0)
        t->sources = sources_init(aligned_alloc(CACHE_LINE, sources_footprint(r->e.sizes.blocks)),
                                  r->e.sizes.blocks, t->secret);
    return r;
}

static uint64_t drops(const struct raw *r, enum drop_reason reason)
{
    return r->e.stats.drops[reason];
}

// done: every connection is reset, every half-open one ends in time; nothing is left.
static void done(struct raw *r)
{
    struct tcp *t = &r->e.tcp;
    for (uint32_t i = 0; i < r->e.sizes.blocks; i++) {
        if (t->blocks[i].state == TCP_FREE)
            continue;
        raw_seg(r, SEG_RST, 101, 0, 0, 0)->key = t->blocks[i].key;
        raw_turn(r, 1);
    }
    for (int i = 0; i < 200000 && end_leaks(&r->e) != NULL; i++)
        raw_turn(r, 1);
    assert_int_equal(r->e.stats.c.sources_now, 0);
    free(t->sources);
    raw_free(r, true);
}

static void an_address_at_its_limit_opens_no_more_and_others_do(void **state)
{
    struct raw *r = limited(16, 3);
    for (uint16_t i = 0; i < 3; i++)
        assert_true(open_from(r, ATTACKER, (uint16_t)(1000 + i)));
    for (uint16_t i = 0; i < 5; i++)
        assert_false(open_from(r, ATTACKER, (uint16_t)(2000 + i)));
    assert_int_equal(drops(r, DROP_source_connections), 5);
    assert_true(open_from(r, OTHER, 1000));
    assert_int_equal(r->e.stats.c.sources_now, 2);
    done(r);
}

static void a_place_is_free_again_when_a_connection_ends(void **state)
{
    struct raw *r = limited(16, 1);
    for (uint16_t i = 0; i < 50; i++) {
        assert_true(open_from(r, ATTACKER, (uint16_t)(1000 + i)));
        assert_false(open_from(r, ATTACKER, 5000));
        send_from(r, ATTACKER, (uint16_t)(1000 + i), SEG_RST, 0);
    }
    assert_int_equal(drops(r, DROP_source_connections), 50);
    done(r);
}

// Handshakes that began below the limit end above it: those are reset, and leave no record.
static void handshakes_that_end_above_the_limit_are_reset(void **state)
{
    struct raw *r = limited(16, 2);
    uint32_t ack[5];
    for (uint16_t i = 0; i < 5; i++)
        assert_true(half_open(r, ATTACKER, (uint16_t)(1000 + i), &ack[i]));
    for (uint16_t i = 0; i < 5; i++) {
        send_from(r, ATTACKER, (uint16_t)(1000 + i), SEG_ACK, ack[i]);
        if (i < 2)
            continue;
        assert_int_equal(r->e.tcp.n_out, 1);
        assert_int_equal(r->e.out[0].flags & SEG_RST, SEG_RST);
        assert_int_equal(r->e.out[0].seq, ack[i]);
    }
    assert_int_equal(r->e.role.opened, 2);
    assert_int_equal(r->e.stats.c.syn_records_now, 0);
    assert_int_equal(drops(r, DROP_source_connections), 3);
    done(r);
}

// The record goes with the first of them: what follows in the same burst finds nobody, and neither
// a second end of the record nor a block.
static void a_burst_that_ends_a_handshake_above_the_limit_ends_it_once(void **state)
{
    struct raw *r = limited(16, 1);
    const struct flow_key key = {ip_from_v4(ATTACKER), 0, 0, 1001, PAIR_PORT};
    uint32_t ack = 0;
    assert_true(half_open(r, ATTACKER, key.remote_port, &ack));
    assert_true(open_from(r, ATTACKER, 1000));
    const uint32_t free_before = r->e.tcp.syn_pool->n_free;
    for (int i = 0; i < 3; i++)
        raw_seg(r, SEG_ACK, 101, ack, 0, i == 0 ? 0 : 10)->key = key;
    raw_turn(r, 1);
    assert_int_equal(r->e.tcp.n_out, 3);  // a reset each
    for (int i = 0; i < 3; i++)
        assert_int_equal(r->e.out[i].flags & SEG_RST, SEG_RST);
    assert_int_equal(drops(r, DROP_source_connections), 1);
    assert_int_equal(r->e.stats.c.syn_records_now, 0);
    assert_int_equal(r->e.tcp.syn_pool->n_free, free_before + 1);
    assert_int_equal(r->e.role.opened, 1);
    done(r);
}

// SYNs can be sent in anyone's name: they take nothing from his share.
static void half_open_connections_do_not_count(void **state)
{
    struct raw *r = limited(16, 1);
    uint32_t ack = 0;
    for (uint16_t i = 0; i < SYNS_MAX - 1; i++)
        assert_true(half_open(r, OTHER, (uint16_t)(1000 + i), &ack));
    assert_true(open_from(r, OTHER, 999));
    done(r);
}

static void one_services_limit_does_not_count_anothers_connections(void **state)
{
    struct raw *r = limited(16, 1);
    struct tcp *t = &r->e.tcp;
    t->n_services = 2;
    t->services[1] = t->services[0];
    t->services[1].ports[0] = PAIR_PORT + 1;
    r->e.services[1] = r->e.services[0];
    assert_true(open_from(r, ATTACKER, 1000));
    assert_int_equal(sources_count(t->sources, ATTACKER, 0), 1);
    assert_int_equal(sources_count(t->sources, ATTACKER, 1), 0);
    raw_seg(r, SEG_SYN, 100, 0, 0, 0)->key =
        (struct flow_key){ip_from_v4(ATTACKER), 0, 0, 1001, PAIR_PORT + 1};
    raw_turn(r, 1);
    assert_int_equal(r->e.tcp.n_out, 1);
    done(r);
}

static void a_service_at_its_limit_answers_no_syn_and_counts(void **state)
{
    struct raw *r = limited(2, 0);
    assert_true(open_from(r, ATTACKER, 1000));
    assert_true(open_from(r, OTHER, 1000));
    assert_false(open_from(r, OTHER, 1001));
    assert_int_equal(drops(r, DROP_service_connections), 1);
    send_from(r, ATTACKER, 1000, SEG_RST, 0);
    assert_true(open_from(r, OTHER, 1001));
    done(r);
}

static void a_handshake_that_ends_above_the_services_limit_waits_for_room(void **state)
{
    struct raw *r = limited(1, 0);
    uint32_t a = 0, b = 0;
    assert_true(half_open(r, ATTACKER, 1000, &a));
    assert_true(half_open(r, OTHER, 1000, &b));
    send_from(r, ATTACKER, 1000, SEG_ACK, a);
    send_from(r, OTHER, 1000, SEG_ACK, b);
    assert_int_equal(r->e.role.opened, 1);
    assert_int_equal(r->e.tcp.n_out, 0);
    assert_int_equal(drops(r, DROP_service_connections), 1);
    send_from(r, ATTACKER, 1000, SEG_RST, 0);
    send_from(r, OTHER, 1000, SEG_ACK, b);
    assert_int_equal(r->e.role.opened, 2);
    done(r);
}

// hoarder: a peer that takes nothing of what waits for it, with n_free buffers left for others.
static struct raw *hoarder(uint32_t n_free, uint32_t held[1024], uint32_t *n)
{
    struct raw *r = raw_new(&(struct pair_sizes){.bufs = 1024});
    r->wnd = 0;
    r->e.role.source = 1000;
    raw_open(r);
    while (r->e.tcp.bufs.n_free_data > n_free)
        held[(*n)++] = buf_get(&r->e.tcp.bufs);
    return r;
}

static void release(struct raw *r, const uint32_t held[1024], uint32_t n)
{
    while (n != 0)
        buf_put(&r->e.tcp.bufs, held[--n]);
}

enum { SCARCE = TCP_BUFS_RESERVE + 1024 / TCP_SCARCE_SHARE };

static void who_takes_nothing_is_reset_while_buffers_are_scarce(void **state)
{
    for (unsigned answers = 0; answers < 2; answers++) {  // probes, or is not there at all
        uint32_t held[1024], n = 0, probes = 0, ms = 0;
        struct raw *r = hoarder(SCARCE - 1, held, &n);
        for (;;) {
            ms += raw_wait(r, 10000);
            if (r->e.out[0].flags & SEG_RST)
                break;
            probes++;
            if (answers)
                raw_send(r, SEG_ACK, 0, 0);
        }
        assert_int_equal(probes, TCP_SHED_BACKOFF);
        assert_in_range(ms, 2900, 3200);
        assert_int_equal(r->e.stats.c.conns_shed, 1);
        assert_int_equal(r->e.role.closed, 1);
        assert_int_equal(r->e.role.why, C10M_TIMED_OUT);
        release(r, held, n);
        raw_turn(r, 1);
        raw_free(r, true);
    }
}

static void who_takes_nothing_stays_while_there_are_buffers(void **state)
{
    uint32_t held[1024], n = 0;
    struct raw *r = hoarder(SCARCE, held, &n);
    r->e.tcp.cfg.rto_max_ms = 1000;
    for (unsigned i = 0; i < 300; i++) {  // more than a count of 8 bits holds
        assert_true(raw_wait(r, 10000) != UINT32_MAX);
        raw_send(r, SEG_ACK, 0, 0);
    }
    assert_int_equal(r->e.stats.c.conns_shed, 0);
    r->wnd = 5000;
    raw_send(r, SEG_ACK, 0, 0);
    assert_int_equal(r->e.out[0].data_len[0], 1000);
    release(r, held, n);
    raw_seg(r, SEG_RST, r->seq, 0, 0, 0);
    raw_turn(r, 1);
    raw_free(r, true);
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(an_address_at_its_limit_opens_no_more_and_others_do),
        T(a_place_is_free_again_when_a_connection_ends),
        T(handshakes_that_end_above_the_limit_are_reset),
        T(a_burst_that_ends_a_handshake_above_the_limit_ends_it_once),
        T(half_open_connections_do_not_count),
        T(one_services_limit_does_not_count_anothers_connections),
        T(a_service_at_its_limit_answers_no_syn_and_counts),
        T(a_handshake_that_ends_above_the_services_limit_waits_for_room),
        T(who_takes_nothing_is_reset_while_buffers_are_scarce),
        T(who_takes_nothing_stays_while_there_are_buffers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
