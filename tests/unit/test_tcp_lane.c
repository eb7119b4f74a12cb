// SPDX-License-Identifier: BSD-3-Clause
// Lanes: which blocks may send in a turn, and how many of each lane, where one has less room than
// the turn may make.
#include "check.h"
#include "tcp_pair.h"

enum { LANES = 2, MANY = 2 * TCP_LANES_SORT_MAX };

static const uint8_t of_local[] = {0, 1};

// A TCP with two lanes, and room for so many segments of each in the turn that begins.
static struct raw *begin(uint32_t room0, uint32_t room1)
{
    struct raw *r = raw_new(&(struct pair_sizes){.blocks = MANY + 8});
    struct tcp *t = &r->e.tcp;
    raw_turn(r, 1000);
    tcp_lanes_init(t, of_local, LANES);
    tcp_lanes_begin(t, (const uint32_t[]){room0, room1});
    t->n_out = 0;
    return r;
}

// n connections of that lane, which are dirty; each has an acknowledgment to send, or nothing.
static void connect(struct raw *r, uint16_t lane, unsigned n, bool sends)
{
    struct tcp *t = &r->e.tcp;
    for (unsigned i = 0; i < n; i++) {
        const struct flow_key key = {ip_from_v4(0x0a000002), lane, 0,
                                     (uint16_t)(1000 + index_pool_in_use(t->block_pool)), 80};
        const uint32_t ix = tcp_block_new(t, &key, 0, FLOW_NONE);
        assert_int_not_equal(ix, BLOCK_NONE);
        struct block *b = &t->blocks[ix];
        tcp_set_state(b, STEP_PASSIVE_DONE);
        b->mss = 1460;
        b->flags |= sends ? BF_ACK_NOW : 0;
        tcp_dirty(t, ix);
    }
}

static unsigned sent_by(const struct raw *r, uint16_t lane)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < r->e.tcp.n_out; i++)
        n += r->e.tcp.out[i].key.local_ix == lane;
    return n;
}

static void next_turn(struct raw *r, uint32_t room0, uint32_t room1)
{
    r->e.tcp.n_out = 0;
    tcp_lanes_begin(&r->e.tcp, (const uint32_t[]){room0, room1});
}

static void lanes_are_apart_if_one_has_less_room_than_a_turn_may_make(void **state)
{
    static const uint32_t rooms[][3] = {{TCP_OUT_MAX, TCP_OUT_MAX, 0},
                                        {TCP_OUT_MAX - 1, TCP_OUT_MAX, 0},
                                        {TCP_OUT_MAX, TCP_OUT_MAX - 1, 0}};
    struct raw *r = begin(TCP_OUT_MAX, TCP_OUT_MAX);
    for (unsigned i = 0; i < ARRAY_LEN(rooms); i++) {
        tcp_lanes_begin(&r->e.tcp, rooms[i]);
        assert_int_equal(r->e.tcp.lanes.separate, i != 0);
        assert_int_equal(r->e.tcp.lanes.at[LANES].room, 0);
    }
    raw_free(r, false);
}

static void each_lane_sends_what_it_has_room_for_and_the_others_wait(void **state)
{
    struct raw *r = begin(3, 5);
    struct tcp_lanes *l = &r->e.tcp.lanes;
    connect(r, 0, 10, true);
    connect(r, 1, 6, true);
    tcp_lanes_drain(&r->e.tcp);
    assert_int_equal(sent_by(r, 0), 3);
    assert_int_equal(sent_by(r, 1), 5);
    assert_int_equal(l->waiting, 8);
    assert_int_equal(l->at[0].n, 7);
    assert_int_equal(l->at[1].n, 1);
    assert_int_equal(r->e.stats.c.tx_waits, 2);
    next_turn(r, TCP_OUT_MAX, TCP_OUT_MAX);
    assert_true(l->separate);  // for some wait yet
    tcp_lanes_drain(&r->e.tcp);
    assert_int_equal(sent_by(r, 0), 7);
    assert_int_equal(sent_by(r, 1), 1);
    assert_int_equal(l->waiting, 0);
    assert_int_equal(r->e.stats.c.tx_waits, 2);
    assert_int_equal(r->e.tcp.n_dirty, 0);
    next_turn(r, TCP_OUT_MAX, TCP_OUT_MAX);
    assert_false(l->separate);
    raw_free(r, false);
}

static void a_turn_is_shared_equally_and_what_one_leaves_is_the_others(void **state)
{
    struct raw *r = begin(TCP_OUT_MAX, TCP_OUT_MAX - 1);
    struct tcp_lanes *l = &r->e.tcp.lanes;
    connect(r, 0, 200, true);
    connect(r, 1, 200, true);
    tcp_lanes_drain(&r->e.tcp);
    assert_int_equal(sent_by(r, 0), TCP_OUT_MAX / 2);
    assert_int_equal(sent_by(r, 1), TCP_OUT_MAX / 2);
    assert_int_equal(l->at[0].n, 200 - TCP_OUT_MAX / 2);
    assert_int_equal(l->at[1].n, 200 - TCP_OUT_MAX / 2);
    assert_int_equal(r->e.stats.c.tx_waits, 0);  // neither is full
    next_turn(r, TCP_OUT_MAX, 10);
    connect(r, 0, 400, true);
    tcp_lanes_drain(&r->e.tcp);
    assert_int_equal(sent_by(r, 1), 10);
    assert_int_equal(sent_by(r, 0), TCP_OUT_MAX - 10);
    assert_int_equal(r->e.stats.c.tx_waits, 1);
    raw_free(r, false);
}

static void a_turn_sorts_and_visits_so_many_blocks_and_not_one_more(void **state)
{
    struct raw *r = begin(TCP_OUT_MAX - 1, TCP_OUT_MAX);
    struct tcp *t = &r->e.tcp;
    connect(r, 0, MANY + 8, false);
    tcp_lanes_sort(t);
    assert_int_equal(t->lanes.waiting, TCP_LANES_SORT_MAX);
    tcp_lanes_sort(t);
    assert_int_equal(t->lanes.waiting, 2 * TCP_LANES_SORT_MAX);
    tcp_lanes_drain(t);  // sorts the rest, and comes by twice
    assert_int_equal(t->lanes.waiting, MANY + 8 - 2 * TCP_OUT_MAX);
    assert_int_equal(t->n_dirty, t->lanes.waiting);
    assert_int_equal(t->n_out, 0);
    raw_free(r, false);
}

static void a_block_that_is_freed_is_held_while_it_may_wait_in_a_list(void **state)
{
    struct raw *r = begin(0, TCP_OUT_MAX);
    struct tcp *t = &r->e.tcp;
    struct block dirty = {.flags = BF_DIRTY}, clean = {.flags = 0};
    assert_false(tcp_lanes_hold(t, &dirty));  // none waits
    connect(r, 0, 1, true);
    tcp_lanes_sort(t);
    assert_false(tcp_lanes_hold(t, &clean));
    assert_int_equal(clean.flags, 0);
    assert_int_equal(t->lanes.held, 0);
    assert_true(tcp_lanes_hold(t, &dirty));
    assert_int_equal(dirty.flags, BF_DIRTY | BF_HELD);
    assert_int_equal(t->lanes.held, 1);
    raw_free(r, false);
}

// Free blocks in the list of a lane that takes nothing come back a few a turn.
static void free_blocks_of_a_full_lane_are_given_back_some_a_turn(void **state)
{
    enum { WAITING = 20, FREED = 10 };
    struct raw *r = begin(0, TCP_OUT_MAX);
    struct tcp *t = &r->e.tcp;
    connect(r, 0, WAITING, true);
    tcp_lanes_sort(t);
    for (uint32_t ix = t->lanes.at[0].head, n = 0; n < FREED; n++) {
        const uint32_t next = t->blocks[ix].dirty_next;
        tcp_set_state(&t->blocks[ix], STEP_END);
        tcp_free(t, ix);
        ix = next;
    }
    assert_int_equal(t->lanes.held, FREED);
    tcp_lanes_drain(t);
    assert_int_equal(t->lanes.held, FREED - TCP_LANES_FREE_MAX);
    assert_int_equal(t->lanes.waiting, WAITING - TCP_LANES_FREE_MAX);
    next_turn(r, 0, TCP_OUT_MAX);
    tcp_lanes_drain(t);
    assert_int_equal(t->lanes.held, 0);
    assert_int_equal(t->lanes.waiting, WAITING - FREED);
    const uint32_t head = t->lanes.at[0].head;
    next_turn(r, 0, TCP_OUT_MAX);
    tcp_lanes_drain(t);  // no free one: none is looked at
    assert_int_equal(t->lanes.at[0].head, head);
    assert_int_equal(t->n_out, 0);
    index_pool_turn_end(t->block_pool);
    assert_int_equal(index_pool_in_use(t->block_pool), WAITING - FREED);
    raw_free(r, false);
}

static void what_takes_a_place_beside_tcp_is_counted_in_its_lane(void **state)
{
    struct raw *r = begin(2, 3);
    struct tcp *t = &r->e.tcp;
    tcp_lane_take(t, 1);
    assert_int_equal(tcp_lane_room(t, 0), 2);
    assert_int_equal(tcp_lane_room(t, 1), 2);
    for (unsigned i = 0; i < 5; i++)
        tcp_lane_take(t, 1);
    assert_int_equal(tcp_lane_room(t, 1), 0);
    next_turn(r, TCP_OUT_MAX, TCP_OUT_MAX);
    tcp_lane_take(t, 1);
    assert_int_equal(t->out_room, TCP_OUT_MAX - 1);
    assert_int_equal(tcp_lane_room(t, 1), TCP_OUT_MAX);
    raw_free(r, false);
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(lanes_are_apart_if_one_has_less_room_than_a_turn_may_make),
        T(each_lane_sends_what_it_has_room_for_and_the_others_wait),
        T(a_turn_is_shared_equally_and_what_one_leaves_is_the_others),
        T(a_turn_sorts_and_visits_so_many_blocks_and_not_one_more),
        T(a_block_that_is_freed_is_held_while_it_may_wait_in_a_list),
        T(free_blocks_of_a_full_lane_are_given_back_some_a_turn),
        T(what_takes_a_place_beside_tcp_is_counted_in_its_lane),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
