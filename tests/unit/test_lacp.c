// SPDX-License-Identifier: BSD-3-Clause
// LACP between two systems whose links are cables that the test pulls; time is the test's.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>  // wants the four before it
// clang-format on

#include <string.h>

#include "base/rng.h"
#include "drivers/lacp.h"
#include "unit/seed.h"

enum { STEP_MS = 100, MEMBERS = 2, SPEED = 10000, MAX_SYSTEMS = 3 };

static const struct mac_addr macs[MAX_SYSTEMS] = {
    {{2, 0, 0, 0, 0, 1}}, {{2, 0, 0, 0, 0, 2}}, {{2, 0, 0, 0, 0, 3}}};

// end: what member m of `a` is cabled to: member `to` of system `of`; of -1: nothing.
struct net {
    struct lacp systems[MAX_SYSTEMS];
    struct {
        int of;
        unsigned to;
    } cable[MEMBERS];
    bool silent[MAX_SYSTEMS][MEMBERS];  // that member of that system sends nothing any more
    uint32_t speed[MEMBERS];
    uint64_t ms;
};

static struct net two_systems(bool fast_a, bool fast_b)
{
    struct net n = {.ms = 1000000};
    for (unsigned s = 0; s < MAX_SYSTEMS; s++)
        lacp_init(&n.systems[s], MEMBERS, &macs[s], s == 0 ? fast_a : fast_b);
    for (unsigned m = 0; m < MEMBERS; m++) {
        n.cable[m].of = 1;
        n.cable[m].to = m;
        n.speed[m] = SPEED;
    }
    return n;
}

// carry: sends what member m of system `from` has to send to the other end of its cable.
static void carry(struct net *n, unsigned from, unsigned m, unsigned to, unsigned to_m)
{
    uint8_t frame[LACP_FRAME_BYTES];
    if (lacp_to_send(&n->systems[from], m, n->ms, &macs[from], frame) && !n->silent[from][m])
        lacp_receive(&n->systems[to], to_m, frame, sizeof(frame), n->ms);
}

static void step(struct net *n)
{
    n->ms += STEP_MS;
    for (unsigned m = 0; m < MEMBERS; m++) {
        const int of = n->cable[m].of;
        lacp_link(&n->systems[0], m, of >= 0, n->speed[m], n->ms);
        for (int s = 1; s < MAX_SYSTEMS; s++)
            if (of == s)
                lacp_link(&n->systems[s], n->cable[m].to, true, SPEED, n->ms);
    }
    for (unsigned s = 0; s < MAX_SYSTEMS; s++)
        lacp_run(&n->systems[s], n->ms);
    for (unsigned m = 0; m < MEMBERS; m++)
        if (n->cable[m].of >= 0) {
            const unsigned of = (unsigned)n->cable[m].of, to = n->cable[m].to;
            carry(n, 0, m, of, to);
            carry(n, of, to, 0, m);
        }
}

static void run(struct net *n, uint64_t ms)
{
    for (uint64_t end = n->ms + ms; n->ms < end;)
        step(n);
}

static void two_systems_agree_within_a_second(void **state)
{
    static const bool rates[][2] = {{false, false}, {true, true}, {true, false}, {false, true}};
    for (unsigned i = 0; i < ARRAY_LEN(rates); i++) {
        struct net n = two_systems(rates[i][0], rates[i][1]);
        run(&n, 1000);
        for (unsigned s = 0; s < 2; s++) {
            assert_int_equal(lacp_distributing(&n.systems[s]), 3);
            assert_int_equal(lacp_collecting(&n.systems[s]), 3);
            assert_false(n.systems[s].alone);
        }
    }
}

// Frames may come from the moment at which the partner may send them: it does so when it hears that
// this end is in sync.
static void a_member_receives_before_it_sends(void **state)
{
    struct net n = two_systems(false, false);
    bool before = false;
    for (unsigned i = 0; i < 10; i++) {
        const uint32_t told = n.systems[1].members[0].partner.state & LACP_SYNC;
        if (told != 0)
            assert_int_equal(lacp_collecting(&n.systems[0]) & 1, 1);
        before |= lacp_collecting(&n.systems[0]) != 0 && lacp_distributing(&n.systems[0]) == 0;
        step(&n);
    }
    assert_true(before);
}

static void a_silent_partner_is_given_up_after_three_periods(void **state)
{
    static const struct {
        bool fast;
        uint64_t ms;
    } rows[] = {{true, 3 * LACP_FAST_MS}, {false, 3 * LACP_SLOW_MS}};
    for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
        struct net n = two_systems(rows[i].fast, true);
        run(&n, 5000);
        n.silent[1][0] = true;
        const uint64_t from = n.systems[0].members[0].rx_ends_ms - rows[i].ms;
        run(&n, from + rows[i].ms - STEP_MS - n.ms);
        assert_int_equal(lacp_distributing(&n.systems[0]), 3);
        run(&n, 2 * STEP_MS);
        assert_int_equal(lacp_distributing(&n.systems[0]), 2);
        // What the partner still sends by this link is taken, until it is told that nobody is
        // known.
        assert_int_equal(lacp_collecting(&n.systems[0]), 3);
        run(&n, LACP_TIMEOUTS * LACP_FAST_MS);
        assert_int_equal(lacp_distributing(&n.systems[1]), 2);
        assert_int_equal(lacp_collecting(&n.systems[0]), 2);
    }
}

static void a_member_without_a_link_leaves_at_once(void **state)
{
    struct net n = two_systems(false, false);
    run(&n, 5000);
    n.cable[0].of = -1;
    step(&n);
    assert_int_equal(lacp_distributing(&n.systems[0]), 2);
    assert_int_equal(lacp_collecting(&n.systems[0]), 2);
    n.cable[0].of = 1;
    run(&n, 1000);
    assert_int_equal(lacp_distributing(&n.systems[0]), 3);
}

static void without_a_partner_one_member_is_used(void **state)
{
    struct net n = two_systems(false, false);
    n.silent[1][0] = n.silent[1][1] = true;
    run(&n, 2900);
    assert_int_equal(lacp_distributing(&n.systems[0]), 0);
    run(&n, 300);
    assert_true(n.systems[0].alone);
    assert_int_equal(lacp_distributing(&n.systems[0]), 1);
    assert_int_equal(lacp_collecting(&n.systems[0]), 1);
    // It loses its link: the next one.
    n.cable[0].of = -1;
    step(&n);
    assert_int_equal(lacp_distributing(&n.systems[0]), 2);
    // A partner comes.
    n.cable[0].of = 1;
    n.silent[1][0] = n.silent[1][1] = false;
    run(&n, 31000);  // it sends slowly: it had not been told that anybody listens
    assert_false(n.systems[0].alone);
    assert_int_equal(lacp_distributing(&n.systems[0]), 3);
}

static void of_two_partners_one_is_used_until_it_is_silent(void **state)
{
    struct net n = two_systems(true, true);
    run(&n, 1000);
    n.cable[1].of = 2;  // to another switch, while the first one stays
    n.cable[1].to = 1;
    run(&n, 5000);
    assert_int_equal(lacp_distributing(&n.systems[0]), 1);
    assert_int_equal(lacp_collecting(&n.systems[0]), 1);
    n.silent[1][0] = true;
    run(&n, 4500);
    assert_int_equal(lacp_distributing(&n.systems[0]), 2);
    n.silent[1][0] = false;  // and stays with that one when the first is back
    run(&n, 10000);
    assert_int_equal(lacp_distributing(&n.systems[0]), 2);
}

static void members_of_another_speed_are_left_out(void **state)
{
    struct net n = two_systems(false, false);
    n.speed[1] = SPEED / 10;
    run(&n, 5000);
    assert_int_equal(lacp_collecting(&n.systems[0]), 1);
    assert_int_equal(lacp_distributing(&n.systems[0]), 1);
}

// Else every host behind the cable would get the frames of this one twice.
static void a_cable_between_two_members_joins_nothing(void **state)
{
    struct lacp l;
    uint8_t frame[LACP_FRAME_BYTES];
    lacp_init(&l, MEMBERS, &macs[0], true);
    for (uint64_t ms = 1000; ms < 20000; ms += STEP_MS) {
        for (unsigned m = 0; m < MEMBERS; m++)
            lacp_link(&l, m, true, SPEED, ms);
        lacp_run(&l, ms);
        for (unsigned m = 0; m < MEMBERS; m++)
            if (lacp_to_send(&l, m, ms, &macs[0], frame))
                lacp_receive(&l, 1 - m, frame, sizeof(frame), ms);
        assert_int_equal(lacp_distributing(&l), 0);
    }
}

static void lacpdus_are_sent_as_often_as_the_partner_wants(void **state)
{
    struct net n = two_systems(true, false);
    run(&n, 10000);
    const uint64_t to_fast = n.systems[1].members[0].sent, to_slow = n.systems[0].members[0].sent;
    run(&n, 60000);
    assert_in_range(n.systems[1].members[0].sent - to_fast, 59, 61);
    assert_in_range(n.systems[0].members[0].sent - to_slow, 2, 3);
}

// A partner whose every LACPDU says something else wants an answer to each.
static void a_lying_partner_gets_three_lacpdus_a_second(void **state)
{
    struct lacp l;
    struct rng r = test_rng("lacp");
    uint8_t frame[LACP_FRAME_BYTES];
    uint64_t sent = 0;
    lacp_init(&l, 1, &macs[0], true);
    lacp_link(&l, 0, true, SPEED, 1000);
    for (uint64_t ms = 1000; ms < 101000; ms += STEP_MS) {
        for (unsigned i = 0; i < 20; i++) {
            for (unsigned k = 0; k < sizeof(frame); k++)
                frame[k] = (uint8_t)rng_u64(&r);
            frame[14] = 1;
            frame[16] = 1;
            frame[17] = frame[37] = 20;
            frame[36] = 2;
            lacp_receive(&l, 0, frame, sizeof(frame), ms);
            lacp_run(&l, ms);
        }
        while (lacp_to_send(&l, 0, ms, &macs[0], frame))
            sent++;
    }
    assert_in_range(sent, 1, 100 * LACP_SENDS_MAX);
}

// As of a partner that was restarted, or hears another port at the other end.
static void a_partner_that_means_another_port_is_not_in_sync(void **state)
{
    enum { THEIR_PARTNER_AT = 36, PORT_AT = 15 };
    struct net n = two_systems(true, true);
    uint8_t frame[LACP_FRAME_BYTES];
    run(&n, 5000);
    n.systems[1].members[0].ntt = true;
    assert_true(lacp_to_send(&n.systems[1], 0, n.ms + LACP_FAST_MS, &macs[1], frame));
    frame[THEIR_PARTNER_AT + PORT_AT] ^= 4;
    lacp_receive(&n.systems[0], 0, frame, sizeof(frame), n.ms);
    lacp_run(&n.systems[0], n.ms);
    assert_int_equal(lacp_distributing(&n.systems[0]), 2);
    frame[THEIR_PARTNER_AT + PORT_AT] ^= 4;
    lacp_receive(&n.systems[0], 0, frame, sizeof(frame), n.ms);
    lacp_run(&n.systems[0], n.ms);
    assert_int_equal(lacp_distributing(&n.systems[0]), 3);
}

static void frames_that_are_no_lacpdus_change_nothing(void **state)
{
    struct net n = two_systems(true, true);
    uint8_t frame[LACP_FRAME_BYTES];
    run(&n, 5000);
    struct lacp before = n.systems[0];
    static const struct {
        unsigned at;
        uint8_t is;
    } bad[] = {{14, 3}, {16, 9}, {17, 19}, {36, 1}, {37, 255}};
    lacp_farewell(&n.systems[1], 0, &macs[1], frame);
    for (unsigned len = 0; len < LACP_FRAME_BYTES; len++)
        lacp_receive(&n.systems[0], 0, frame, len, n.ms);
    for (unsigned i = 0; i < ARRAY_LEN(bad); i++) {
        const uint8_t was = frame[bad[i].at];
        frame[bad[i].at] = bad[i].is;
        lacp_receive(&n.systems[0], 0, frame, sizeof(frame), n.ms);
        frame[bad[i].at] = was;
    }
    assert_int_equal(n.systems[0].members[0].bad, LACP_FRAME_BYTES + ARRAY_LEN(bad));
    before.members[0].bad = n.systems[0].members[0].bad;
    assert_memory_equal(&before, &n.systems[0], sizeof(before));
}

static void a_farewell_takes_the_member_out_at_once(void **state)
{
    struct net n = two_systems(false, false);
    uint8_t frame[LACP_FRAME_BYTES];
    run(&n, 5000);
    lacp_farewell(&n.systems[0], 1, &macs[0], frame);
    lacp_receive(&n.systems[1], 1, frame, sizeof(frame), n.ms);
    lacp_run(&n.systems[1], n.ms);
    assert_int_equal(lacp_distributing(&n.systems[1]), 1);
}

static void a_marker_is_answered_and_its_answer_is_not(void **state)
{
    uint8_t frame[LACP_FRAME_BYTES] = {1, 2, 3};
    frame[14] = 2;
    frame[16] = 1;
    frame[20] = 0x77;
    assert_false(lacp_is_marker(frame, sizeof(frame) - 1, &macs[0]));
    assert_true(lacp_is_marker(frame, sizeof(frame), &macs[0]));
    assert_int_equal(frame[16], 2);
    assert_int_equal(frame[20], 0x77);
    assert_memory_equal(frame + 6, macs[0].b, 6);
    assert_false(lacp_is_marker(frame, sizeof(frame), &macs[0]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_systems_agree_within_a_second),
        cmocka_unit_test(a_member_receives_before_it_sends),
        cmocka_unit_test(a_silent_partner_is_given_up_after_three_periods),
        cmocka_unit_test(a_member_without_a_link_leaves_at_once),
        cmocka_unit_test(without_a_partner_one_member_is_used),
        cmocka_unit_test(of_two_partners_one_is_used_until_it_is_silent),
        cmocka_unit_test(members_of_another_speed_are_left_out),
        cmocka_unit_test(a_cable_between_two_members_joins_nothing),
        cmocka_unit_test(lacpdus_are_sent_as_often_as_the_partner_wants),
        cmocka_unit_test(a_lying_partner_gets_three_lacpdus_a_second),
        cmocka_unit_test(a_partner_that_means_another_port_is_not_in_sync),
        cmocka_unit_test(frames_that_are_no_lacpdus_change_nothing),
        cmocka_unit_test(a_farewell_takes_the_member_out_at_once),
        cmocka_unit_test(a_marker_is_answered_and_its_answer_is_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
