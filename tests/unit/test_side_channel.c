// SPDX-License-Identifier: BSD-3-Clause
// test_side_channel.c: limits of answers to strangers tell nobody which connections there are
// (base/limit.h).
#include "seed.h"
#include "side_channel.h"
#include "tcp_pair.h"

enum {
    VICTIM = 0x0a000002,  // who has a connection, or has none
    MINE = 0xc6336401,    // 198.51.100.1 and on: the attacker's own
    OTHERS = 0xcb007101,  // 203.0.113.1 and on: others in whose name he sends
    VICTIM_PORT = 40000,
    CLOSED_PORT = 2,    // of the server
    CHALLENGERS = 160,  // the attacker's own connections
};

struct game {
    struct raw *r;
    bool v6;
    unsigned fill;   // segments in others' names before the guess
    bool as_victim;  // all of them in the victim's
    unsigned own;    // his own questions after it, each from an address of its own
    uint32_t seqs[CHALLENGERS];
};

static struct ip_addr address(const struct game *g, uint32_t v4)
{
    if (!g->v6)
        return ip_from_v4(v4);
    struct ip_addr a = {{0x20, 0x01, 0x0d, 0xb8}};  // each in a /64 of its own
    for (unsigned i = 0; i < 4; i++)
        a.b[4 + i] = (uint8_t)(v4 >> (24 - 8 * i));
    a.b[15] = 1;
    return a;
}

static bool is_mine(const struct game *g, const struct ip_addr *a)
{
    for (unsigned i = 0; i < CHALLENGERS; i++) {
        const struct ip_addr mine = address(g, MINE + i);
        if (ip_equal(a, &mine))
            return true;
    }
    return false;
}

// What was queued is handled; returns how many answers leave to the attacker.
static unsigned flush(struct game *g, uint32_t ms)
{
    unsigned n = 0;
    raw_turn(g->r, ms);
    for (uint32_t i = 0; i < g->r->e.tcp.n_out; i++)
        n += is_mine(g, &g->r->e.out[i].key.remote);
    return n;
}

// One segment from `from`, in a burst with others.
static unsigned give(struct game *g, struct rng *rng, uint32_t from, uint16_t from_port,
                     uint16_t port, uint8_t flags, uint32_t seq)
{
    raw_seg(g->r, flags, seq, (uint32_t)rng_u64(rng), 0, 0)->key =
        (struct flow_key){address(g, from), 0, 0, from_port, port};
    return g->r->n == BURST_MAX ? flush(g, 0) : 0;
}

static struct game game_new(bool v6)
{
    struct game g = {.v6 = v6};
    raw_ip6 = v6;
    g.r = raw_new(&(struct pair_sizes){.blocks = CHALLENGERS + 1, .syns = 64, .wheel = 4096});
    g.r->remote = address(&g, VICTIM);
    g.r->port = VICTIM_PORT;
    raw_open(g.r);
    return g;
}

static void game_end(struct game *g)
{
    raw_free(g->r, false);
    raw_ip6 = false;
}

// He fills the common limit of RSTs, guesses the victim's port, and asks for RSTs himself. The bit:
// there is a connection with the port that he guesses.
static unsigned reset_attempt(void *arg, struct rng *rng, bool bit)
{
    struct game *g = arg;
    const uint16_t guess = bit ? VICTIM_PORT : VICTIM_PORT + 1;
    unsigned answers = 0;
    flush(g, 2000 + rng_below(rng, 1000));
    for (unsigned i = 0; i < g->fill; i++)
        give(g, rng, g->as_victim ? VICTIM : OTHERS + i, 1024, CLOSED_PORT, SEG_ACK,
             (uint32_t)rng_u64(rng));
    give(g, rng, VICTIM, guess, PAIR_PORT, SEG_ACK, (uint32_t)rng_u64(rng));
    for (unsigned i = 0; i < g->own; i++)
        answers += give(g, rng, MINE + i, 1024, CLOSED_PORT, SEG_ACK, (uint32_t)rng_u64(rng));
    return answers + flush(g, 0);
}

// Fills up to just below what the limit was, is on an average, and may be.
static void resets_tell_nothing(bool v6)
{
    static const unsigned fills[] = {0, 48, 49, 99, 500, 999};
    struct rng rng = test_rng(v6 ? "side channel, RST, IPv6" : "side channel, RST, IPv4");
    struct game g = game_new(v6);
    for (unsigned i = 0; i < 2 * ARRAY_LEN(fills); i++) {
        g.fill = fills[i / 2];
        g.as_victim = i % 2 == 0;
        g.own = 1 + rng_below(&rng, 64);
        if (i % 4 < 2)
            g.own = 1;
        const struct side_channel o = {
            .name = "RSTs", .repeats = 3, .attempt = reset_attempt, .arg = &g};
        side_channel_fails(&o, &rng);
    }
    game_end(&g);
}

static void resets_tell_nobody_of_a_connection_over_ipv4(void **state)
{
    resets_tell_nothing(false);
}

static void resets_tell_nobody_of_a_connection_over_ipv6(void **state)
{
    resets_tell_nothing(true);
}

// Whatever forged segment comes to a connection or to none, exactly the same is taken.
static void same_taken(bool v6)
{
    static const uint8_t flags[] = {
        SEG_ACK, SEG_ACK | SEG_FIN, SEG_ACK | SEG_PSH, SEG_SYN | SEG_ACK,
        SEG_RST, SEG_RST | SEG_ACK, SEG_FIN,           0};
    struct rng rng = test_rng("side channel, taken");
    struct game with = game_new(v6), without = game_new(v6);
    const struct limit *a = &with.r->e.tcp.resets, *b = &without.r->e.tcp.resets;
    const uint64_t before = a->draws;
    for (unsigned i = 0; i < 20000; i++) {
        const uint8_t f = flags[rng_below(&rng, ARRAY_LEN(flags))];
        const uint32_t seq = (uint32_t)rng_u64(&rng), ack = (uint32_t)rng_u64(&rng);
        const uint32_t ms = rng_below(&rng, 100);
        const uint16_t len = rng_below(&rng, 2) ? 1000 : 0;
        if (seq - raw_block(with.r)->rcv_nxt + UINT16_MAX <= 2 * UINT16_MAX)
            continue;  // a good guess may be the peer's
        raw_seg(with.r, f, seq, ack, 0, len);
        raw_seg(without.r, f, seq, ack, 0, len)->key.remote_port++;
        raw_turn(with.r, ms);
        raw_turn(without.r, ms);
        assert_memory_equal(a, b, sizeof(*a));
    }
    assert_true(a->draws > before);
    game_end(&with);
    game_end(&without);
}

static void the_same_is_taken_with_a_connection_and_without(void **state)
{
    same_taken(false);
    same_taken(true);
}

// He has connections of his own on which he provokes a challenge each, after a guess in the
// victim's name that provokes one if it is right (Cao et al., 2016).
static unsigned challenge_attempt(void *arg, struct rng *rng, bool bit)
{
    struct game *g = arg;
    unsigned answers = 0;
    flush(g, 1000 + rng_below(rng, 1000));
    give(g, rng, VICTIM, bit ? VICTIM_PORT : VICTIM_PORT + 1, PAIR_PORT, SEG_RST, g->r->seq + 5);
    for (unsigned i = 0; i < CHALLENGERS; i++)
        answers += give(g, rng, MINE + i, 1024, PAIR_PORT, SEG_RST, g->seqs[i] + 5);
    return answers + flush(g, 0);
}

static void open_own(struct game *g, struct rng *rng, unsigned i)
{
    struct raw *r = g->r;
    g->seqs[i] = (uint32_t)rng_u64(rng);
    give(g, rng, MINE + i, 1024, PAIR_PORT, SEG_SYN, g->seqs[i]++);
    flush(g, 0);
    const uint32_t ack = r->e.out[0].seq + 1;
    raw_seg(r, SEG_ACK, g->seqs[i], ack, 0, 0)->key =
        (struct flow_key){address(g, MINE + i), 0, 0, 1024, PAIR_PORT};
    raw_turn(r, 0);
}

static void challenges_tell_nothing(bool v6)
{
    struct rng rng =
        test_rng(v6 ? "side channel, challenges, IPv6" : "side channel, challenges, IPv4");
    struct game g = game_new(v6);
    for (unsigned i = 0; i < CHALLENGERS; i++)
        open_own(&g, &rng, i);
    assert_int_equal(g.r->e.role.opened, CHALLENGERS + 1);
    // The least of so many counts was 49 after a right guess and 50 after a wrong one.
    const struct side_channel o = {
        .name = "challenges", .repeats = 120, .attempt = challenge_attempt, .arg = &g};
    side_channel_fails(&o, &rng);
    assert_int_equal(challenge_attempt(&g, &rng, true), CHALLENGERS);  // each has its own limit
    game_end(&g);
}

static void challenges_tell_nobody_of_a_connection_over_ipv4(void **state)
{
    challenges_tell_nothing(false);
}

static void challenges_tell_nobody_of_a_connection_over_ipv6(void **state)
{
    challenges_tell_nothing(true);
}

// Which SYN is the first without a record is not the same twice.
static void the_last_records_are_kept_back_by_chance(void **state)
{
    enum { SYNS = 2048 };
    unsigned kept[4], distinct = 0;
    for (unsigned k = 0; k < ARRAY_LEN(kept); k++) {
        struct raw *r = raw_new(&(struct pair_sizes){.syns = SYNS, .wheel = 4 * SYNS});
        r->e.tcp.resets.draws = k;  // as later in the life of one server
        for (unsigned i = 0; i < SYNS; i++) {
            raw_seg(r, SEG_SYN, i, 0, 0, 0)->key =
                (struct flow_key){ip_from_v4(OTHERS + i), 0, 0, 1024, PAIR_PORT};
            if (r->n == BURST_MAX)
                raw_turn(r, 0);
        }
        kept[k] = (unsigned)r->e.stats.c.syn_records_now;
        assert_in_range(kept[k], SYNS - SYNS / 8, SYNS);
        assert_int_equal(kept[k] + r->e.stats.c.syncookies_sent, SYNS);
        for (unsigned i = 0; i < k; i++)
            distinct += kept[i] != kept[k];
        raw_free(r, false);
    }
    assert_true(distinct != 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resets_tell_nobody_of_a_connection_over_ipv4),
        cmocka_unit_test(resets_tell_nobody_of_a_connection_over_ipv6),
        cmocka_unit_test(the_same_is_taken_with_a_connection_and_without),
        cmocka_unit_test(challenges_tell_nobody_of_a_connection_over_ipv4),
        cmocka_unit_test(challenges_tell_nobody_of_a_connection_over_ipv6),
        cmocka_unit_test(the_last_records_are_kept_back_by_chance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
