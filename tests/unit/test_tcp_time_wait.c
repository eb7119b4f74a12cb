// SPDX-License-Identifier: BSD-3-Clause
// TIME-WAIT records: what each segment does to one, against the rules written down once more; and
// their rings, place by place.
#include <signal.h>
#include <sys/mman.h>

#include "check.h"
#include "tcp_pair.h"

enum { SND_NXT = 5000, RCV_NXT = 9000, RECENT = 100, ALL = 64 };

static struct ip_addr remote_of(bool v6)
{
    const struct ip_addr ip6 = {{0x20, 0x01, 0x0d, 0xb8, [15] = 2}};  // RFC 3849
    return v6 ? ip6 : ip_from_v4(0x0a000002);
}

static struct flow_key key_of(bool v6, uint16_t port)
{
    return (struct flow_key){remote_of(v6), 0, 0, port, PAIR_PORT};
}

// The place of the record; NULL: there is none.
static struct time_wait *record_of(struct raw *r, bool v6, uint16_t port)
{
    const struct flow_key key = key_of(v6, port);
    const uint32_t handle = tcp_owner(&r->e.tcp, &key);
    if (handle == FLOW_NONE)
        return NULL;
    assert_int_equal(flow_index_kind(handle), v6 ? FLOW_TIME_WAIT6 : FLOW_TIME_WAIT);
    return time_wait_at(v6 ? &r->e.tcp.tw6 : &r->e.tcp.tw4, flow_index_ix(handle));
}

// As a connection that ends now. NULL: it left no record.
static struct time_wait *enter(struct raw *r, bool v6, uint16_t port, bool has_ts)
{
    struct tcp *t = &r->e.tcp;
    const struct flow_key key = key_of(v6, port);
    const uint32_t handle = flow_index(FLOW_BLOCK, 0);
    struct block b = {.key = key,
                      .snd_nxt = SND_NXT,
                      .rcv_nxt = RCV_NXT,
                      .rcv_adv = RCV_NXT + 1000,
                      .ts_recent = RECENT,
                      .flags = has_ts ? BF_TS : 0,
                      .mss = 1460};
    assert_true(flow_insert(t->table, flow_hash(t->table, &key), handle));
    tcp_time_wait_enter(t, &key, &b, handle);
    r->remote = key.remote;
    r->port = port;
    return record_of(r, v6, port);
}

static struct raw *begin(uint32_t places)
{
    struct raw *r = raw_new(&(struct pair_sizes){.tw = places});
    raw_turn(r, 1000);
    return r;
}

static void end(struct raw *r)
{
    while (!tcp_flush(&r->e.tcp, ALL))
        ;
    raw_free(r, true);
}

// ---- segments

// What a segment may have, in all its combinations.
struct given {
    unsigned has_ts, seg_ts, val, seq, ack, flag, data, late;
};

enum { N_VAL = 3, N_SEQ = 3, N_ACK = 2, N_FLAG = 4, N_LATE = 2 };

// The next combination; false: that was the last.
static bool next(struct given *g)
{
    const struct {
        unsigned *n, of;
    } digits[] = {{&g->has_ts, 2},  {&g->seg_ts, 2},    {&g->val, N_VAL}, {&g->seq, N_SEQ},
                  {&g->ack, N_ACK}, {&g->flag, N_FLAG}, {&g->data, 2},    {&g->late, N_LATE}};
    for (unsigned i = 0; i < ARRAY_LEN(digits); i++) {
        if (++*digits[i].n < digits[i].of)
            return true;
        *digits[i].n = 0;
    }
    return false;
}

static const uint8_t flags_of[N_FLAG] = {SEG_ACK, SEG_ACK | SEG_FIN, SEG_ACK | SEG_SYN,
                                         SEG_ACK | SEG_FIN | SEG_SYN};

// The numbers of `g`: the timestamp and the sequence number before, at and behind what is awaited.
static struct seg_in *segment(struct raw *r, const struct given *g)
{
    const bool fin = (flags_of[g->flag] & SEG_FIN) != 0;
    const uint16_t len = g->data ? 10 : 0;
    const uint32_t seq = RCV_NXT - len - fin + g->seq - 1;
    struct seg_in *s = raw_seg(r, flags_of[g->flag], seq, SND_NXT - g->ack, 0, len);
    if (g->seg_ts) {
        s->opts |= SEG_OPT_TS;
        s->ts_val = RECENT + g->val - 1;
    }
    return s;
}

// Nothing to tell: in order and empty. Seldom: empty, or with SYN.
static bool is_answered(const struct given *g)
{
    const bool fin = (flags_of[g->flag] & SEG_FIN) != 0, syn = (flags_of[g->flag] & SEG_SYN) != 0;
    if (!g->data && !fin && !syn && g->seq == 1)
        return false;
    return (!syn && (g->data || fin)) || g->late;
}

// RFC 9293 3.10.7.4: a repeated FIN that is answered, and nothing else, makes the time begin again.
// RFC 7323 5: not one that is older than what came last.
static bool begins_again(const struct given *g)
{
    return (flags_of[g->flag] & SEG_FIN) && g->seq == 1 && g->ack == 0 && is_answered(g) &&
           (!g->has_ts || (g->seg_ts && g->val >= 1));
}

static void each_segment_is_answered_and_begins_the_time_again_as_the_rules_say(void **state)
{
    struct raw *r = begin(2);
    struct given g = {.has_ts = 0};
    unsigned began = 0, answered = 0;
    do {
        struct time_wait *w = enter(r, false, 1000, g.has_ts);
        w->answered_ms = (uint16_t)(r->e.tcp.now.ms + 1 - (g.late ? 500 : 499));
        const uint32_t expires_ms = w->expires_ms;
        segment(r, &g);
        raw_turn(r, 1);
        const bool again = begins_again(&g), answers = is_answered(&g);
        w = record_of(r, false, 1000);  // at the young end now, if its time began again
        assert_int_equal(r->e.tcp.n_out, answers);
        assert_int_equal(w->expires_ms, expires_ms + (again ? 1 : 0));
        if (g.has_ts)
            assert_int_equal(w->ts_recent, RECENT + (again ? g.val - 1 : 0));
        if (answers) {
            assert_int_equal(r->e.out[0].flags, SEG_ACK);
            assert_int_equal(r->e.out[0].seq, SND_NXT);
            assert_int_equal(r->e.out[0].ack, RCV_NXT);
            assert_int_equal(r->e.out[0].opts, g.has_ts ? SEG_OPT_TS : 0);
        }
        began += again;
        answered += answers;
        assert_int_equal(tcp_time_wait_flush(&r->e.tcp, ALL), 1);
    } while (next(&g));
    assert_true(began > 10 && answered > 100);
    assert_int_equal(r->e.stats.c.owners_again, 0);  // each was found at once
    end(r);
}

// Linux's tcp_timewait_state_process(), and RFC 1337 3, fix F1.
static void a_reset_ends_a_record_only_with_the_awaited_number_and_no_older_time(void **state)
{
    struct raw *r = begin(2);
    for (unsigned rfc1337 = 0; rfc1337 < 2; rfc1337++) {
        struct given g = {.has_ts = 0};
        r->e.tcp.cfg.rfc1337 = rfc1337 != 0;
        do {
            enter(r, false, 1000, g.has_ts);
            const uint64_t resets = r->e.stats.c.time_wait_reset;
            struct seg_in *s = segment(r, &g);
            s->flags |= SEG_RST;
            const bool ends = !rfc1337 && s->seq == RCV_NXT &&
                              (!g.has_ts || !g.seg_ts || s->ts_val - RECENT <= 1);
            raw_turn(r, 1);
            assert_int_equal(r->e.tcp.n_out, 0);
            assert_int_equal(record_of(r, false, 1000) == NULL, ends);
            assert_int_equal(r->e.stats.c.time_wait_reset - resets, ends);
            assert_int_equal(r->e.stats.c.time_wait_now, !ends);
            assert_int_equal(tcp_time_wait_flush(&r->e.tcp, ALL), !ends);
        } while (next(&g));
    }
    end(r);
}

// RFC 6191 2, RFC 1122 4.2.2.13.
static bool is_younger(const struct given *g, bool timestamps)
{
    if (g->has_ts && g->seg_ts && g->val != 1)
        return g->val > 1;
    return g->seq > 1 || (!g->has_ts && g->seg_ts && timestamps);
}

static void a_syn_opens_a_new_connection_if_it_is_younger_beyond_doubt(void **state)
{
    struct raw *r = begin(2);
    for (unsigned timestamps = 0; timestamps < 2; timestamps++) {
        struct given g = {.has_ts = 0};
        r->e.tcp.cfg.timestamps = timestamps != 0;
        do {
            enter(r, false, 1000, g.has_ts);
            struct seg_in *s = segment(r, &g);
            s->flags = SEG_SYN;
            s->seq = RCV_NXT + g.seq - 1;
            raw_turn(r, 1);
            const bool younger = is_younger(&g, timestamps != 0);
            assert_int_equal(r->e.tcp.n_out, 1);
            assert_int_equal(r->e.out[0].flags, younger ? SEG_SYN | SEG_ACK : SEG_ACK);
            assert_int_equal(r->e.stats.c.time_wait_now, !younger);
            end_check_pools(&r->e);
            while (!tcp_flush(&r->e.tcp, ALL))
                ;
            raw_turn(r, 1);
        } while (next(&g));
    }
    end(r);
}

// The record of a connection that we opened: nobody listens at its port.
static void a_younger_syn_where_nobody_listens_is_acknowledged(void **state)
{
    struct raw *r = begin(2);
    struct time_wait *w = enter(r, false, 1000, false);
    r->e.tcp.services[0].n_ports = 0;
    raw_seg(r, SEG_SYN, RCV_NXT + 1000, 0, 0, 0);
    raw_turn(r, 1);
    assert_int_equal(r->e.tcp.n_out, 1);
    assert_int_equal(r->e.out[0].flags, SEG_ACK);
    assert_true(w->live);
    r->e.tcp.services[0].n_ports = 1;
    end(r);
}

static void without_room_for_an_answer_the_time_begins_again_all_the_same(void **state)
{
    struct raw *r = begin(2);
    const struct time_wait *w = enter(r, false, 1000, false);
    const uint32_t expires_ms = w->expires_ms;
    r->e.out_room = 0;
    raw_seg(r, SEG_ACK | SEG_FIN, RCV_NXT - 1, SND_NXT, 0, 0);
    raw_turn(r, 10);
    assert_int_equal(w->expires_ms, expires_ms + 10);
    assert_int_equal(r->e.stats.drops[DROP_time_wait], 1);
    r->e.out_room = TCP_OUT_MAX;
    end(r);
}

// ---- what an active open asks

static void a_record_yields_to_an_open_if_timestamps_tell_old_segments(void **state)
{
    struct raw *r = begin(2);
    struct tcp *t = &r->e.tcp;
    for (unsigned i = 0; i < 8; i++) {
        const bool v6 = i & 1, has_ts = i & 2;
        const uint32_t above = SND_NXT + UINT16_MAX + 2;
        enter(r, v6, 1000, has_ts);
        t->cfg.timestamps = (i & 4) != 0;
        const struct flow_key key = key_of(v6, 1000);
        const uint32_t handle = tcp_owner(t, &key);
        const uint32_t isns[] = {above - 1, above, above + 1, above + (1u << 30)};
        for (unsigned k = 0; k < ARRAY_LEN(isns); k++) {
            uint32_t isn = isns[k];
            assert_int_equal(tcp_time_wait_yields(t, handle, &isn), has_ts && t->cfg.timestamps);
            assert_int_equal(isn, k == 0 ? above : isns[k]);
        }
        assert_int_equal(tcp_time_wait_flush(t, ALL), 1);
    }
    uint32_t isn = 7;
    assert_false(tcp_time_wait_yields(t, flow_index(FLOW_BLOCK, 0), &isn));
    assert_false(tcp_time_wait_yields(t, flow_index(FLOW_SYN, 0), &isn));
    assert_int_equal(isn, 7);
    end(r);
}

// ---- whose a handle is

// One field of the key after the other differs: the handle's owner is somebody else.
static void expect_owner(const struct tcp *t, uint32_t handle, const struct flow_key *key, bool is)
{
    const struct ip_addr other = ip_is_v4(&key->remote) ? ip_from_v4(0x0a000009) : remote_of(false);
    struct flow_key keys[] = {*key, *key, *key, *key, *key};
    keys[1].remote = other;
    keys[2].remote_port++;
    keys[3].local_port++;
    keys[4].local_ix++;
    for (unsigned i = 0; i < ARRAY_LEN(keys); i++)
        assert_int_equal(tcp_owner_is(t, handle, &keys[i]), is && i == 0);
}

static void a_handle_belongs_to_its_key_alone_and_as_long_as_it_lives(void **state)
{
    struct raw *r = begin(4);
    struct tcp *t = &r->e.tcp;
    for (unsigned v6 = 0; v6 < 2; v6++) {
        const struct flow_key key = key_of(v6, 1000);
        struct time_wait *w = enter(r, v6, 1000, false);
        const uint32_t handle = tcp_owner(t, &key);
        expect_owner(t, handle, &key, true);
        w->live = false;
        expect_owner(t, handle, &key, false);
        w->live = true;
    }
    tcp_time_wait_flush(t, ALL);
    r->port = 2000;
    r->remote = remote_of(false);
    raw_seg(r, SEG_SYN, 77, 0, 0, 0);
    raw_turn(r, 1);
    const struct flow_key key = key_of(false, 2000);
    const uint32_t half = tcp_owner(t, &key);
    assert_int_equal(flow_index_kind(half), FLOW_SYN);
    expect_owner(t, half, &key, true);
    raw_seg(r, SEG_ACK, 78, r->e.out[0].seq + 1, 0, 0);
    raw_turn(r, 1);
    expect_owner(t, half, &key, false);  // it is a block now
    const uint32_t whole = tcp_owner(t, &key);
    assert_int_equal(flow_index_kind(whole), FLOW_BLOCK);
    expect_owner(t, whole, &key, true);
    raw_seg(r, SEG_RST, 78, 0, 0, 0);
    raw_turn(r, 1);
    expect_owner(t, whole, &key, false);
    end(r);
}

// ---- the rings

// So many over each family, a millisecond apart.
static void fill(struct raw *r, unsigned n4, unsigned n6)
{
    for (unsigned i = 0; i < n4; i++) {
        enter(r, false, (uint16_t)(1000 + i), false);
        raw_turn(r, 1);
    }
    for (unsigned i = 0; i < n6; i++) {
        enter(r, true, (uint16_t)(1000 + i), false);
        raw_turn(r, 1);
    }
}

static void forgetting_takes_no_more_than_it_may_of_both_families(void **state)
{
    struct raw *r = begin(8);
    struct tcp *t = &r->e.tcp;
    fill(r, 3, 2);
    const unsigned most[] = {0, 2, 2, 10, 10}, gone[] = {0, 2, 2, 1, 0};
    uint64_t left = 5;
    for (unsigned i = 0; i < ARRAY_LEN(most); i++) {
        assert_int_equal(tcp_time_wait_flush(t, most[i]), gone[i]);
        left -= gone[i];
        assert_int_equal(r->e.stats.c.time_wait_now, left);
        assert_int_equal(t->tw4.used + t->tw6.used, left);
    }
    assert_null(end_leaks(&r->e));
    end(r);
}

static void no_more_end_at_once_than_may_and_none_before_its_time(void **state)
{
    struct raw *r = begin(4);
    struct tcp *t = &r->e.tcp;
    for (unsigned round = 0; round < 4; round++) {  // from each place of the ring
        fill(r, 3, 3);
        const uint32_t last_ms = record_of(r, true, 1002)->expires_ms;
        t->now.ms = last_ms - 1;
        const unsigned most[] = {0, 2, ALL, ALL}, ended[] = {0, 4, 1, 0};
        uint64_t left = 6;
        for (unsigned i = 0; i < ARRAY_LEN(most); i++) {
            assert_int_equal(tcp_time_wait_expire(t, most[i]), ended[i]);
            left -= ended[i];
            assert_int_equal(r->e.stats.c.time_wait_now, left);
        }
        assert_non_null(record_of(r, true, 1002));
        t->now.ms = last_ms;
        assert_int_equal(tcp_time_wait_expire(t, ALL), 1);
        assert_int_equal(tcp_time_wait_expire(t, ALL), 0);
        assert_int_equal(r->e.stats.c.time_wait_expired, 6 * (round + 1));
        assert_int_equal(r->e.stats.c.time_wait_evicted, 0);
        raw_turn(r, 70000);
    }
    end(r);
}

static void the_next_end_is_the_first_of_both_families(void **state)
{
    for (unsigned n4 = 0; n4 < 3; n4++)
        for (unsigned n6 = 0; n6 < 3; n6++)
            for (unsigned later = 0; later < 2; later++) {
                struct raw *r = begin(4);
                if (later)
                    fill(r, 0, n6);
                fill(r, n4, later ? 0 : n6);
                const uint32_t at4 = n4 != 0 ? record_of(r, false, 1000)->expires_ms : 0;
                const uint32_t at6 = n6 != 0 ? record_of(r, true, 1000)->expires_ms : 0;
                assert_int_equal(tcp_time_wait_next_ms(&r->e.tcp), tcp_earlier(at4, at6));
                end(r);
            }
}

// It has no business at the old end, but its place is given back there only.
static void a_record_that_was_reset_or_began_again_is_due_at_once(void **state)
{
    struct raw *r = begin(4);
    struct tcp *t = &r->e.tcp;
    for (unsigned how = 0; how < 3; how++) {  // reset; began again; both
        fill(r, 1, 0);
        if (how != 0)
            raw_seg(r, SEG_ACK | SEG_FIN, RCV_NXT - 1, SND_NXT, 0, 0);
        if (how != 1)
            raw_seg(r, SEG_RST, RCV_NXT, 0, 0, 0);
        // As end_turn(), whose expiry would come first.
        for (uint32_t i = 0; i < r->n; i++) {
            struct tcp_verdict v;
            tcp_input(t, &r->segs[i], r->data[i], tcp_owner(t, &r->segs[i].key), &v);
        }
        r->n = 0;
        assert_int_equal(tcp_time_wait_next_ms(t), t->now.ms);
        assert_int_equal(t->tw4.used, 1);
        const uint64_t expired = r->e.stats.c.time_wait_expired;
        assert_int_equal(tcp_time_wait_expire(t, ALL), 1);
        assert_int_equal(r->e.stats.c.time_wait_now, how == 1);
        assert_int_equal(t->tw4.used, how == 1);
        assert_int_equal(r->e.stats.c.time_wait_expired, expired);
        if (how == 1)
            assert_int_equal(tcp_time_wait_next_ms(t), t->now.ms + t->cfg.time_wait_ms);
        raw_turn(r, 70000);
    }
    raw_free(r, false);
}

// ---- the move to the young end, stopped at its first store to the original

enum { PAGE = 4096 };

static const struct time_wait_ring *moved_in;
static unsigned stores, live_at_store;

// The page of the original is not writable: the first store there comes here, and is made again.
static void on_store(int signal_number)
{
    (void)signal_number;
    stores++;
    for (uint32_t ix = 0; ix < moved_in->capacity; ix++)
        live_at_store += time_wait_at(moved_in, ix)->live;
    mprotect(moved_in->records, PAGE, PROT_READ | PROT_WRITE);
}

// A process may be killed there: the record must not be in neither place.
static void a_record_that_moves_is_live_in_one_place_at_least(void **state)
{
    for (unsigned v6 = 0; v6 < 2; v6++) {
        struct raw *r = begin(4);
        struct tcp *t = &r->e.tcp;
        struct time_wait_ring *g = v6 ? &t->tw6 : &t->tw4, before = *g;
        struct sigaction act = {.sa_handler = on_store}, was;
        g->capacity = 2 * PAGE / g->record_bytes;
        g->records =
            mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert_ptr_not_equal(g->records, MAP_FAILED);
        struct time_wait *w = enter(r, v6, 1000, false);
        w->again = 1;
        w->expires_ms++;
        g->used = g->capacity - 1;  // dead ones, so that the young end is on the other page
        moved_in = g;
        stores = live_at_store = 0;
        assert_int_equal(sigaction(SIGSEGV, &act, &was), 0);
        assert_int_equal(mprotect(g->records, PAGE, PROT_READ), 0);
        assert_int_equal(tcp_time_wait_expire(t, 1), 1);
        assert_int_equal(sigaction(SIGSEGV, &was, NULL), 0);
        assert_int_equal(stores, 1);
        assert_int_equal(live_at_store, 2);
        assert_ptr_equal(record_of(r, v6, 1000), time_wait_at(g, g->capacity - 1));
        assert_int_equal(record_of(r, v6, 1000)->again, 0);
        assert_int_equal(w->live, 0);
        while (!tcp_flush(t, ALL))
            ;
        munmap(g->records, 2 * PAGE);
        *g = before;
        raw_free(r, true);
    }
}

// One whose time began again ends when that is over, though it never came to the young end.
static void a_time_that_began_again_and_is_over_ends_the_record_at_once(void **state)
{
    struct raw *r = begin(4);
    struct tcp *t = &r->e.tcp;
    struct time_wait *w = enter(r, false, 1000, false);
    w->again = 1;
    t->now.ms = w->expires_ms;
    assert_int_equal(tcp_time_wait_expire(t, ALL), 1);
    assert_int_equal(r->e.stats.c.time_wait_now, 0);
    assert_int_equal(r->e.stats.c.time_wait_expired, 1);
    end(r);
}

static void without_places_for_its_family_a_connection_leaves_no_record(void **state)
{
    struct raw *r = begin(4);
    const uint32_t places = r->e.tcp.tw6.capacity;
    r->e.tcp.tw6.capacity = 0;
    assert_null(enter(r, true, 1000, false));
    assert_int_equal(r->e.stats.c.time_wait_evicted, 1);
    assert_int_equal(r->e.stats.c.time_wait_now, 0);
    assert_non_null(enter(r, false, 1000, false));
    r->e.tcp.tw6.capacity = places;
    end(r);
}

// A dead record at the old end is nobody's loss.
static void the_place_of_a_record_that_was_reset_is_taken_and_not_counted(void **state)
{
    struct raw *r = begin(3);
    struct tcp *t = &r->e.tcp;
    for (unsigned i = 0; i < 9; i++) {
        struct tcp_verdict v;
        enter(r, false, (uint16_t)(1000 + i), false);
        const struct seg_in *s = raw_seg(r, SEG_RST, RCV_NXT, 0, 0, 0);
        r->n = 0;
        tcp_input(t, s, NULL, tcp_owner(t, &s->key), &v);
        assert_int_equal(v.drop, DROP_NONE);
    }
    assert_int_equal(r->e.stats.c.time_wait_evicted, 0);
    assert_int_equal(r->e.stats.c.time_wait_reset, 9);
    assert_int_equal(t->tw4.used, 3);
    raw_free(r, false);
}

// All that is left of it is the record: each place of the ring, as the oldest and as the youngest.
static void records_go_round_the_ring_and_the_oldest_goes_first(void **state)
{
    struct raw *r = begin(3);
    for (unsigned v6 = 0; v6 < 2; v6++)
        for (unsigned i = 0; i < 10; i++) {
            enter(r, v6, (uint16_t)(2000 + i), false);
            for (unsigned k = 0; k <= i; k++)
                assert_int_equal(record_of(r, v6, (uint16_t)(2000 + k)) != NULL, k + 3 > i);
            end_check_pools(&r->e);
        }
    assert_int_equal(r->e.stats.c.time_wait_evicted, 14);
    assert_int_equal(r->e.stats.c.time_wait_now, 6);
    end(r);
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(each_segment_is_answered_and_begins_the_time_again_as_the_rules_say),
        T(a_reset_ends_a_record_only_with_the_awaited_number_and_no_older_time),
        T(a_syn_opens_a_new_connection_if_it_is_younger_beyond_doubt),
        T(a_younger_syn_where_nobody_listens_is_acknowledged),
        T(without_room_for_an_answer_the_time_begins_again_all_the_same),
        T(a_record_yields_to_an_open_if_timestamps_tell_old_segments),
        T(a_handle_belongs_to_its_key_alone_and_as_long_as_it_lives),
        T(forgetting_takes_no_more_than_it_may_of_both_families),
        T(no_more_end_at_once_than_may_and_none_before_its_time),
        T(the_next_end_is_the_first_of_both_families),
        T(a_record_that_was_reset_or_began_again_is_due_at_once),
        T(a_record_that_moves_is_live_in_one_place_at_least),
        T(a_time_that_began_again_and_is_over_ends_the_record_at_once),
        T(without_places_for_its_family_a_connection_leaves_no_record),
        T(the_place_of_a_record_that_was_reset_is_taken_and_not_counted),
        T(records_go_round_the_ring_and_the_oldest_goes_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
