// SPDX-License-Identifier: BSD-3-Clause
// Connections that another process left in memory: what is whole goes on, what is not is refused.
#include <string.h>

#include "adopt_world.h"
#include "tcp/tcp_ooo.h"
#include "tcp_lose.h"

// adopt: the process of e ends, and the next one adopts what it left.
static struct tcp_adopted adopt(struct end *e)
{
    const struct tcp_adopt_params p = {.n_locals = 1, .services = 1};
    struct tcp *t = &e->tcp;
    struct tcp_adopted out;
    void *scratch = calloc(1, tcp_adopt_footprint(t));
    tcp_lose(t, e->sizes.wheel);
    tcp_adopt(t, &p, scratch, &out);
    free(scratch);
    memset(e->shadows, 0, e->sizes.blocks * sizeof(e->shadows[0]));
    return out;
}

static void connections_go_on_whenever_a_process_ends(void **state)
{
    (void)state;
    assert_go_on(test_rng(__func__), adopt);
}

// ---- damage, one word at a time

// one_conn: a connection whose data lies unread, out of order and unacknowledged, with a log.
static struct raw *one_conn(void)
{
    struct raw *r = raw_new(NULL);
    r->sack = true;
    r->e.role = (struct role){.hold = true, .source = 20000};
    raw_open(r);
    raw_send(r, SEG_ACK, 0, 1000);
    raw_seg(r, SEG_ACK, r->seq + 5000, r->ack, 6000, 1000);
    raw_seg(r, SEG_ACK, r->seq + 9000, r->ack, 10000, 1000);
    raw_turn(r, 1);
    return r;
}

struct parts {
    struct tcp *t;
    struct block *b;
    struct ext *e;
    struct buf *first;  // to send
    struct buf *unread;
    struct flight *log;
};

static struct parts parts_of(struct raw *r)
{
    struct tcp *t = &r->e.tcp;
    struct block *b = raw_block(r);
    assert_true(b->has_flight && (b->flags & BF_EXT) && b->rcvq_head != BUF_NONE);
    struct ext *e = &t->exts[b->ext];
    assert_int_equal(e->ooo_runs, 2);
    return (struct parts){t,
                          b,
                          e,
                          &t->bufs.bufs[b->snd_head],
                          &t->bufs.bufs[b->rcvq_head],
                          flight_at(&t->flights, b->flight)};
}

// make_page_ref: the only page of data out of order lies in a reference, which has no room.
static void make_page_ref(const struct parts *p)
{
    struct buf *bufs = p->t->bufs.bufs;
    const uint32_t from = p->e->ooo_head, to = p->t->bufs.data_count;
    bufs[to] = bufs[from];
    p->e->ooo_head = to;
    for (unsigned i = 0; i < p->e->ooo_runs; i++)
        if (ooo_runs(&p->t->bufs, p->e)[i].last == from)
            ooo_runs(&p->t->bufs, p->e)[i].last = to;
}

// X(REFUSAL, what is written)
#define DAMAGES(X)                                                                                 \
    X(STATE, p.b->state = TCP_STATE_COUNT)                                                         \
    X(STATE, p.b->state = 10)                                                                      \
    X(STATE, p.b->service = 1)                                                                     \
    X(KEY, p.b->key.local_ix = 1)                                                                  \
    X(KEY, p.b->key.zero = 2)                                                                      \
    X(KEY, p.b->key.zero = BLOCK_HAS_NO_ENTRY)                                                     \
    X(NUMBERS, p.b->flags |= BF_FIN_QUEUED)                                                        \
    X(NUMBERS, p.b->state = TCP_FIN_WAIT_1)                                                        \
    X(NUMBERS, (p.b->state = TCP_FIN_WAIT_2, p.b->flags |= BF_FIN_QUEUED))                         \
    X(NUMBERS, p.b->flags |= BF_PROBE)                                                             \
    X(NUMBERS, p.b->snd_end += 1u << 31)                                                           \
    X(NUMBERS, p.b->snd_una = p.b->snd_nxt + 1)                                                    \
    X(NUMBERS, p.b->snd_nxt = p.b->snd_max + 1)                                                    \
    X(NUMBERS, p.b->snd_max = p.b->snd_end + 1)                                                    \
    X(NUMBERS, p.b->snd_wscale = 15)                                                               \
    X(NUMBERS, p.b->rcv_wscale = 15)                                                               \
    X(NUMBERS, p.b->mss = 0)                                                                       \
    X(NUMBERS, p.b->mss = 9000)                                                                    \
    X(NUMBERS, p.b->rcv_nxt = p.b->rcv_adv + 1)                                                    \
    X(NUMBERS, p.b->ext = EXT_NONE)                                                                \
    X(SEND_QUEUE, p.b->snd_end++)                                                                  \
    X(SEND_QUEUE, p.b->snd_head = p.t->bufs.count)                                                 \
    X(SEND_QUEUE, p.b->snd_tail = p.b->snd_head)                                                   \
    X(SEND_QUEUE, p.first->next = p.b->snd_head)                                                   \
    X(SEND_QUEUE, p.first->len--)                                                                  \
    X(SEND_QUEUE, p.first->len = BUF_BYTES + 1)                                                    \
    X(SEND_QUEUE, p.first->at--)                                                                   \
    X(SEND_QUEUE, p.first->at = NULL)                                                              \
    X(SEND_QUEUE, p.first->seq += 1u << 31)                                                        \
    X(SEND_QUEUE, p.b->snd_head = p.first->next)                                                   \
    X(RECEIVE_QUEUE, p.b->rcvq_bytes++)                                                            \
    X(RECEIVE_QUEUE, p.b->rcvq_tail = BUF_NONE)                                                    \
    X(RECEIVE_QUEUE, p.unread->next = p.b->snd_head)                                               \
    X(RECEIVE_QUEUE, p.unread->at += BUF_BYTES)                                                    \
    X(EXTENSION, p.b->ext = p.t->ext_pool->count)                                                  \
    X(EXTENSION, p.e->n_sacked = EXT_SACKED_MAX + 1)                                               \
    X(EXTENSION, p.e->n_held = EXT_HELD_MAX + 1)                                                   \
    X(EXTENSION, p.e->recovery = RECOVERY_SACK + 1)                                                \
    X(EXTENSION, p.e->sockopts.congestion = TCP_NEWRENO + 1)                                       \
    X(OUT_OF_ORDER, p.e->ooo_table = p.b->rcvq_head)                                               \
    X(OUT_OF_ORDER, p.e->ooo_runs = 0)                                                             \
    X(OUT_OF_ORDER, p.e->ooo_runs = 1)                                                             \
    X(OUT_OF_ORDER, p.e->ooo_runs = 3)                                                             \
    X(OUT_OF_ORDER, p.e->ooo_bufs++)                                                               \
    X(OUT_OF_ORDER, p.e->ooo_head = p.b->snd_tail)                                                 \
    X(OUT_OF_ORDER, make_page_ref(&p))                                                             \
    X(OUT_OF_ORDER, p.e->ooo_head = BUF_NONE)                                                      \
    X(OUT_OF_ORDER, ooo_runs(&p.t->bufs, p.e)[1].start = p.b->rcv_nxt)                             \
    X(OUT_OF_ORDER, ooo_runs(&p.t->bufs, p.e)[1].end = p.b->rcv_adv + 1)                           \
    X(OUT_OF_ORDER, p.e->held[0].end++)                                                            \
    X(FLIGHT, p.b->flight = p.t->flights.small_free->count)                                        \
    X(FLIGHT, p.b->flight |= FLIGHT_LARGE)                                                         \
    X(FLIGHT, p.log->n = 0)                                                                        \
    X(FLIGHT, p.log->cap++)                                                                        \
    X(FLIGHT, p.log->first = p.log->cap)                                                           \
    X(FLIGHT, p.log->una--)                                                                        \
    X(FLIGHT, p.log->lost++)                                                                       \
    X(FLIGHT, p.log->state = FLIGHT_LOSS + 1)                                                      \
    X(FLIGHT, p.log->run[p.log->first].flags = FLIGHT_SACKED)                                      \
    X(FLIGHT, p.log->run[p.log->first].sent_us = (uint32_t)p.t->now.us + 1)                        \
    X(FLIGHT, p.b->agreed &= (uint8_t)~BA_SACK)                                                    \
    X(FLIGHT, p.b->flags |= BF_TIMED)                                                              \
    X(FLIGHT, p.log->run[p.log->first].flags = FLIGHT_SACKED | FLIGHT_LOST)                        \
    X(TIMER, p.b->rto_at_ms = p.t->now.ms + (1u << 30))

static void damage(unsigned which, struct parts p)
{
    unsigned i = 0;
#define CASE(refusal, write)                                                                       \
    if (i++ == which)                                                                              \
        write;
    DAMAGES(CASE)
#undef CASE
}

static const struct {
    enum tcp_refusal why;
    const char *what;
} damages[] = {
#define ROW(refusal, write) {TCP_REFUSED_##refusal, #write},
    DAMAGES(ROW)
#undef ROW
};

static void each_damage_is_refused_by_its_name_and_leaves_nothing_held(void **state)
{
    (void)state;
    for (unsigned i = 0; i < ARRAY_LEN(damages); i++) {
        struct raw *r = one_conn();
        damage(i, parts_of(r));
        const struct tcp_adopted out = adopt(&r->e);
        if (out.refused[damages[i].why] != 1 || out.connections != 0)
            fail_msg("%s: %u adopted, %u refused for other reasons", damages[i].what,
                     out.connections, refused(&out));
        assert_whole(&r->e);
        assert_int_equal(r->e.tcp.bufs.n_free_data, r->e.tcp.bufs.data_count);
        assert_int_equal(index_pool_in_use(r->e.tcp.block_pool), 0);
        raw_free(r, false);
    }
}

static void undamaged_it_is_adopted(void **state)
{
    struct raw *r = one_conn();
    (void)state;
    parts_of(r);
    const struct tcp_adopted out = adopt(&r->e);
    assert_int_equal(out.connections, 1);
    assert_int_equal(refused(&out), 0);
    raw_free(r, false);
}

static void who_names_the_buffers_of_another_is_refused_alone(void **state)
{
    struct pair *p = busy(1, 4);
    struct tcp *t = &p->e[A].tcp;
    (void)state;
    pair_run_for(p, 20);
    assert_true(t->blocks[0].state == TCP_ESTABLISHED && t->blocks[1].state == TCP_ESTABLISHED);
    t->blocks[1].snd_head = t->blocks[0].snd_head;
    const struct tcp_adopted out = adopt(&p->e[A]);
    assert_int_equal(out.connections, 3);
    assert_int_equal(out.refused[TCP_REFUSED_SEND_QUEUE], 1);
    assert_whole(&p->e[A]);
    pair_free(p, false);
}

static void two_connections_with_one_key_are_one(void **state)
{
    struct pair *p = busy(2, 4);
    struct tcp *t = &p->e[A].tcp;
    (void)state;
    pair_run_for(p, 20);
    t->blocks[1].key = t->blocks[0].key;
    const struct tcp_adopted out = adopt(&p->e[A]);
    assert_int_equal(out.connections, 3);
    assert_int_equal(out.refused[TCP_REFUSED_KEY], 1);
    assert_whole(&p->e[A]);
    pair_free(p, false);
}

static void a_refused_one_leaves_its_generation(void **state)
{
    struct raw *r = one_conn();
    struct block *b = raw_block(r);
    const uint16_t generation = b->generation;
    (void)state;
    b->mss = 0;
    adopt(&r->e);
    assert_int_equal(b->state, TCP_FREE);
    assert_int_equal(b->generation, generation);
    raw_free(r, false);
}

// Its peer has the SYN-ACK, and may wait for a response to what came with the SYN.
static void one_in_hand_whose_handshake_is_not_complete_is_reset_too(void **state)
{
    struct raw *r = raw_new(NULL);
    struct block *b;
    (void)state;
    raw_turn(r, 1);
    const uint32_t ix = end_connect_from(&r->e, PAIR_PORT, ip_to_v4(&r->remote), r->port);
    raw_turn(r, 1);
    raw_seg(r, SEG_SYN, r->seq, 0, 0, 0);  // both open at the same time
    raw_turn(r, 1);
    b = &r->e.tcp.blocks[ix];
    assert_int_equal(b->state, TCP_SYN_RECEIVED);
    assert_true(tcp_adopt_drop(b));
    adopt(&r->e);
    raw_turn(r, 2);
    assert_int_equal(r->e.tcp.n_out, 1);
    assert_int_equal(r->e.out[0].flags & SEG_RST, SEG_RST);
    assert_int_equal(b->state, TCP_FREE);
    raw_free(r, true);
}

// ---- TIME-WAIT records: the ring is what its records tell

enum { PLACES = 16 };

static struct flow_key waiting_key(bool v6, uint16_t port)
{
    const struct ip_addr ip6 = {{0x20, 0x01, 0x0d, 0xb8, [15] = 2}};  // RFC 3849
    return (struct flow_key){v6 ? ip6 : ip_from_v4(0x0a000002), 0, 0, port, PAIR_PORT};
}

// waiting: the record of the connection from this port; NULL: there is none.
static struct time_wait *waiting(struct end *e, bool v6, uint16_t port)
{
    const struct flow_key key = waiting_key(v6, port);
    const uint32_t handle = tcp_owner(&e->tcp, &key);
    return handle == FLOW_NONE
               ? NULL
               : time_wait_at(v6 ? &e->tcp.tw6 : &e->tcp.tw4, flow_index_ix(handle));
}

// wait: a connection from this port ends now.
static void wait(struct end *e, bool v6, uint16_t port)
{
    struct tcp *t = &e->tcp;
    const struct flow_key key = waiting_key(v6, port);
    const uint32_t handle = flow_index(FLOW_BLOCK, 0);
    struct block b = {.key = key, .snd_nxt = 1000u * port, .rcv_nxt = 9000, .mss = 1460};
    assert_true(flow_insert(t->table, flow_hash(t->table, &key), handle));
    tcp_time_wait_enter(t, &key, &b, handle);
}

static void end_waiting(struct end *e, bool v6, uint16_t port)
{
    struct tcp *t = &e->tcp;
    struct time_wait *w = waiting(e, v6, port);
    const struct flow_key key = waiting_key(v6, port);
    assert_true(flow_remove(t->table, flow_hash(t->table, &key), tcp_owner(t, &key)));
    record_live(&w->live, false);
    t->stats->c.time_wait_now--;
}

// restart_waiting: as a repeated FIN does.
static void restart_waiting(struct end *e, bool v6, uint16_t port)
{
    struct time_wait *w = waiting(e, v6, port);
    w->expires_ms = deadline(e->tcp.now.ms, e->tcp.cfg.time_wait_ms);
    w->again = 1;
}

// wear: a ring in use for some time: it begins anywhere, and has records that ended early, that
// were restarted, and several of one millisecond. Returns the next port.
static uint16_t wear(struct raw *r, struct rng *rng, bool v6)
{
    const uint32_t step_ms = 1 + r->e.tcp.cfg.time_wait_ms / PLACES;
    uint16_t port = 1;
    for (unsigned i = rng_below(rng, 200); i-- > 0;) {
        const uint16_t some = (uint16_t)(port - MIN(port - 1u, rng_below(rng, PLACES)));
        const unsigned what = rng_below(rng, 8);
        if (what < 4)
            wait(&r->e, v6, port++);
        else if (what == 4 && waiting(&r->e, v6, some) != NULL)
            end_waiting(&r->e, v6, some);
        else if (what == 5 && waiting(&r->e, v6, some) != NULL)
            restart_waiting(&r->e, v6, some);
        else
            raw_turn(r, 1 + rng_below(rng, step_ms));
    }
    return port;
}

static void assert_same_records(struct end *e, bool v6, uint16_t ports,
                                const struct time_wait *before)
{
    for (uint16_t port = 1; port < ports; port++) {
        const struct time_wait *w = waiting(e, v6, port);
        assert_int_equal(w != NULL, before[port].live);
        if (w != NULL)
            assert_memory_equal(w, &before[port], sizeof(*w));
    }
}

// assert_ring: it has as many places as records, and the first to end is its oldest.
static void assert_ring(struct end *e, bool v6, uint32_t records)
{
    const struct time_wait_ring *g = v6 ? &e->tcp.tw6 : &e->tcp.tw4;
    assert_int_equal(g->used, records);
    for (uint32_t i = 0; i < records; i++) {
        const struct time_wait *w = time_wait_at(g, (g->head + i) % g->capacity);
        assert_true(w->live);
        assert_false(time_before(w->expires_ms, time_wait_at(g, g->head)->expires_ms));
    }
}

static void ring_goes_on(struct rng *rng, bool v6)
{
    struct raw *r = raw_new(&(struct pair_sizes){.tw = PLACES});
    static struct time_wait before[256];
    raw_turn(r, 1000);
    const uint16_t ports = wear(r, rng, v6);
    uint32_t records = 0;
    for (uint16_t port = 1; port < ports; port++) {
        const struct time_wait *w = waiting(&r->e, v6, port);
        before[port] = w != NULL ? *w : (struct time_wait){.live = 0};
        records += w != NULL;
    }
    const struct tcp_adopted out = adopt(&r->e);
    assert_int_equal(out.time_wait, records);
    assert_int_equal(out.time_wait_refused, 0);
    assert_same_records(&r->e, v6, ports, before);
    assert_ring(&r->e, v6, records);
    assert_whole(&r->e);
    const uint64_t evicted = r->e.stats.c.time_wait_evicted;
    for (uint32_t i = records; i < PLACES; i++)
        wait(&r->e, v6, (uint16_t)(ports + i));
    assert_int_equal(r->e.stats.c.time_wait_evicted, evicted);
    raw_turn(r, r->e.tcp.cfg.time_wait_ms + 1);
    raw_turn(r, r->e.tcp.cfg.time_wait_ms + 1);
    assert_int_equal(r->e.stats.c.time_wait_now, 0);
    raw_free(r, true);
}

static void every_record_in_time_wait_goes_on_wherever_its_ring_began(void **state)
{
    struct rng rng = test_rng(__func__);
    (void)state;
    for (unsigned i = 0; i < 2000; i++)
        ring_goes_on(&rng, i % 2 != 0);
}

// Some end in one millisecond, over the end of the array: none of them may wait for the others.
static void records_of_one_millisecond_keep_their_order(void **state)
{
    struct raw *r = raw_new(&(struct pair_sizes){.tw = PLACES});
    struct tcp *t = &r->e.tcp;
    (void)state;
    raw_turn(r, 1000);
    for (uint16_t port = 1; port <= PLACES - 2; port++)
        wait(&r->e, false, port);
    raw_turn(r, t->cfg.time_wait_ms);
    assert_int_equal(t->tw4.used, 0);
    for (uint16_t port = 1; port <= 4; port++)
        wait(&r->e, false, port);
    raw_turn(r, t->cfg.time_wait_ms - 1);
    wait(&r->e, false, 5);
    adopt(&r->e);
    assert_int_equal(t->tw4.head, PLACES - 2);
    raw_turn(r, 1);
    assert_int_equal(r->e.stats.c.time_wait_now, 1);
    assert_non_null(waiting(&r->e, false, 5));
    while (!tcp_flush(t, PLACES))
        ;
    raw_free(r, true);
}

// The log, the tree and the metrics show them as they are.
static void reasons_have_names_in_lower_case(void **state)
{
    (void)state;
    assert_string_equal(tcp_refusal_name(TCP_REFUSED_IN_HAND), "in_hand");
    for (unsigned r = 0; r < TCP_REFUSAL_COUNT; r++) {
        const char *name = tcp_refusal_name((enum tcp_refusal)r);
        assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyz_"), strlen(name));
    }
}

// A process killed in tcp_time_wait_move() leaves two: one goes on, and none is refused.
static void of_a_record_and_its_copy_one_goes_on(void **state)
{
    (void)state;
    for (unsigned v6 = 0; v6 < 2; v6++)
        for (uint16_t port = 1; port <= 5; port++) {
            struct raw *r = raw_new(&(struct pair_sizes){.tw = PLACES});
            struct tcp *t = &r->e.tcp;
            const struct time_wait_ring *g = v6 ? &t->tw6 : &t->tw4;
            raw_turn(r, 1000);
            for (uint16_t i = 1; i <= 5; i++) {
                wait(&r->e, v6, i);
                raw_turn(r, 1);
            }
            memcpy(time_wait_at(g, 5), waiting(&r->e, v6, port), g->record_bytes);
            waiting(&r->e, v6, port)->again = 1;  // as the original of to_young_end()
            const struct tcp_adopted out = adopt(&r->e);
            assert_int_equal(out.time_wait, 5);
            assert_int_equal(out.time_wait_refused, 0);
            assert_int_equal(g->used, 5);
            for (uint16_t i = 1; i <= 5; i++)
                assert_non_null(waiting(&r->e, v6, i));
            assert_whole(&r->e);
            while (!tcp_flush(t, PLACES))
                ;
            raw_free(r, true);
        }
}

static void of_records_that_are_broken_each_is_counted(void **state)
{
    struct raw *r = raw_new(&(struct pair_sizes){.tw = PLACES});
    struct tcp *t = &r->e.tcp;
    (void)state;
    raw_turn(r, 1000);
    for (uint16_t port = 1; port <= 5; port++)
        wait(&r->e, port % 2 != 0, port);
    waiting(&r->e, true, 1)->local_ix = 1;
    waiting(&r->e, true, 3)->is_v6 = 0;
    waiting(&r->e, false, 2)->expires_ms = t->now.ms + (1u << 30);
    const struct tcp_adopted out = adopt(&r->e);
    assert_int_equal(out.time_wait, 2);
    assert_int_equal(out.time_wait_refused, 3);
    assert_whole(&r->e);
    while (!tcp_flush(t, PLACES))
        ;
    raw_free(r, true);
}

static void whatever_was_written_nothing_is_held_twice_or_lost(void **state)
{
    struct rng rng = test_rng(__func__);
    (void)state;
    for (unsigned i = 0; i < 400; i++) {
        struct pair *p = busy(rng_u64(&rng), 6);
        pair_run_for(p, 5 + rng_below(&rng, 60));
        for (unsigned k = 0; k < 4; k++) {
            scribble(&rng, &p->e[A]);
            adopt(&p->e[A]);
            assert_whole(&p->e[A]);
            p->e[A].planted = true;
            pair_run_for(p, 100);
        }
        pair_free(p, false);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(connections_go_on_whenever_a_process_ends),
        cmocka_unit_test(undamaged_it_is_adopted),
        cmocka_unit_test(each_damage_is_refused_by_its_name_and_leaves_nothing_held),
        cmocka_unit_test(who_names_the_buffers_of_another_is_refused_alone),
        cmocka_unit_test(two_connections_with_one_key_are_one),
        cmocka_unit_test(a_refused_one_leaves_its_generation),
        cmocka_unit_test(one_in_hand_whose_handshake_is_not_complete_is_reset_too),
        cmocka_unit_test(every_record_in_time_wait_goes_on_wherever_its_ring_began),
        cmocka_unit_test(records_of_one_millisecond_keep_their_order),
        cmocka_unit_test(reasons_have_names_in_lower_case),
        cmocka_unit_test(of_a_record_and_its_copy_one_goes_on),
        cmocka_unit_test(of_records_that_are_broken_each_is_counted),
        cmocka_unit_test(whatever_was_written_nothing_is_held_twice_or_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
