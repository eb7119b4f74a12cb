// SPDX-License-Identifier: BSD-3-Clause
// A process that ends at any store of a turn, and the next one that adopts its connections: only
// those in hand are lost, every other one is whole, and its application and TCP agree about every
// byte (worker/hand.h, tcp/tcp_adopt.h). TCP, sockets and the application of end A are compiled
// with a hook before each store (store_hook.h).
//
// KILL_S: for how many seconds (default 4). A seed that fails is printed with how to repeat it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "seed.h"
#include "sock/sock.h"
#include "sock/sock_adopt.h"
#include "store_hook.h"
#include "tcp/tcp_adopt.h"
#include "tcp_lose.h"
#include "tcp_pair.h"
#include "worker/hand.h"

enum {
    A,
    B,
    CONNECTIONS = 10,
    BLOCKS = 24,
    KILLS_A_TURN_MAX = 12,
    KILLS_LEAST = 500,
    GOES_ON = 128,  // one of so many kills is followed to the end
    END_MS = 900 * 1000,
};

// before: end A as it was before the turn.
static struct {
    struct end end;
    uint8_t *bytes;
    size_t room;
    uint64_t b_shed;  // of end B
} before;

static struct worker *worker;  // whose fields hand_list() reads
static struct rng rng;
static uint64_t n_kills, n_in_hand, n_turns, n_followed, n_lost;
static uint64_t n_records;  // half-open and TIME-WAIT records that were refused
static unsigned n_begun;    // connections of this world
static double end_s;        // when it is time to stop
static bool plenty;         // it has memory for all of them: none fails
static bool cookies;        // end A sends SYN cookies always
static bool gave_up;        // a failed claim of this kill

static void found_wrong(const char *what, uint64_t store, uint64_t stores)
{
    fprintf(stderr, "killed before store %llu of %llu: %s\n", (unsigned long long)store,
            (unsigned long long)stores, what);
    gave_up = true;
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

// is_over: a slow machine takes longer.
static bool is_over(void)
{
    return now_s() >= end_s && n_kills >= KILLS_LEAST;
}

// ---- the memory of end A

static void keep(const struct end *e)
{
    size_t at = 0;
    before.end = *e;
    for (unsigned i = 0; i < e->n_held; at += e->held[i++].bytes) {
        assert_true(at + e->held[i].bytes <= before.room);
        memcpy(before.bytes + at, e->held[i].at, e->held[i].bytes);
    }
}

static void restore(struct end *e)
{
    size_t at = 0;
    *e = before.end;
    for (unsigned i = 0; i < e->n_held; at += e->held[i++].bytes)
        memcpy(e->held[i].at, before.bytes + at, e->held[i].bytes);
}

static size_t bytes_of(const struct end *e)
{
    size_t n = 0;
    for (unsigned i = 0; i < e->n_held; i++)
        n += e->held[i].bytes;
    return n;
}

// kept: the place in `before` of memory of end A.
static const void *kept(const struct end *e, const void *p)
{
    size_t at = 0;
    for (unsigned i = 0; i < e->n_held; at += e->held[i++].bytes)
        if (p == e->held[i].at)
            return before.bytes + at;
    fail_msg("not of the end");
    return NULL;
}

// ---- what must hold after a kill

// agrees: how far TCP and the application are, against each other. What both count moves together;
// FIN has a number and no byte.
struct agreed {
    uint32_t sent, received;
};

static struct agreed agreed_of(const struct block *b)
{
    uint64_t app[2];  // sent, received (tcp_pair.c)
    memcpy(app, b->app, sizeof(app));
    const bool fin = b->state == TCP_CLOSE_WAIT || b->state == TCP_LAST_ACK ||
                     b->state == TCP_CLOSING || b->state == TCP_TIME_WAIT ||
                     (b->state == TCP_CLOSED && (b->flags & BF_PEER_FIN));
    return (struct agreed){b->snd_end - (uint32_t)app[0],
                           b->rcv_nxt - fin - b->rcvq_bytes - (uint32_t)app[1]};
}

// is_told: its application knows of it, and TCP has not ended it.
static bool is_told(const struct block *b)
{
    return b->state != TCP_FREE && b->state != TCP_CLOSED && b->state != TCP_SYN_SENT &&
           b->state != TCP_SYN_RECEIVED && (b->flags & BF_IN_APP) != 0;
}

static void check_agreed(const struct end *e, uint64_t store, uint64_t stores)
{
    const struct block *was = kept(e, e->tcp.blocks);
    char what[128];
    for (uint32_t ix = 0; ix < BLOCKS; ix++) {
        const struct block *b = &e->tcp.blocks[ix];
        if (!is_told(&was[ix]) || !is_told(b) || b->generation != was[ix].generation)
            continue;
        const struct agreed x = agreed_of(&was[ix]), y = agreed_of(b);
        if (x.sent == y.sent && x.received == y.received)
            continue;
        snprintf(what, sizeof(what), "block %u, state %u: %d bytes sent, %d received too many", ix,
                 b->state, (int)(y.sent - x.sent), (int)(y.received - x.received));
        found_wrong(what, store, stores);
    }
}

// drop_hand: as adoption_prepare() of src/server/adoption.c.
static unsigned drop_hand(struct end *e)
{
    uint32_t hand[HAND_MAX];
    unsigned dropped = 0;
    worker->tcp.touched = e->tcp.touched;
    worker->tcp.pruned = e->tcp.pruned;
    worker->sock.n_others = e->sock.n_others;
    memcpy(worker->sock.others, e->sock.others, sizeof(worker->sock.others));
    worker->rx.n_segs = e->n_burst;
    memcpy(worker->found, e->found, sizeof(e->found));
    memcpy(worker->verdicts, e->verdicts, sizeof(e->verdicts));
    shared_u32_store(&worker->at, e->burst_in_hand ? STAGE_tcp_input : STAGE_timers);
    const unsigned n = hand_list(worker, BLOCKS, hand);
    for (unsigned i = 0; i < n; i++)
        dropped += tcp_adopt_drop(&e->tcp.blocks[hand[i]]);
    return dropped;
}

static void next_process(struct end *e)
{
    e->sock.n_others = e->sock.n_readable = 0;
    e->tcp.touched = BLOCK_NONE;
    e->tcp.pruned = 0;
    e->tcp.n_out = 0;
    e->burst_in_hand = false;
    e->n_burst = 0;
    memset(&e->stats, 0, sizeof(e->stats));
    memset(e->shadows, 0, BLOCKS * sizeof(e->shadows[0]));
    tcp_lose(&e->tcp, e->sizes.wheel);
}

// adopt: returns how many connections were in hand.
static unsigned adopt(struct end *e, uint64_t store, uint64_t stores)
{
    const struct tcp_adopt_params p = {.n_locals = 1, .services = 1};
    struct tcp_adopted out;
    char what[TCP_CHECK_BYTES];
    unsigned dropped = drop_hand(e);
    next_process(e);
    void *scratch = calloc(1, tcp_adopt_footprint(&e->tcp));
    tcp_adopt(&e->tcp, &p, scratch, &out);
    free(scratch);
    dropped += out.refused[TCP_REFUSED_IN_HAND];  // opened in this burst, and not reported yet
    out.refused[TCP_REFUSED_IN_HAND] = 0;
    for (unsigned r = 0; r < TCP_REFUSAL_COUNT; r++) {
        snprintf(what, sizeof(what), "%u connections that were not in hand are refused: %s",
                 out.refused[r], tcp_refusal_name(r));
        if (out.refused[r] != 0)
            found_wrong(what, store, stores);
    }
    // The record that was being written is neither.
    const unsigned records = out.half_open_refused + out.time_wait_refused;
    if (records > 1)
        found_wrong("several records are refused", store, stores);
    n_records += records;
    if (!tcp_check_pools(&e->tcp, BLOCKS, what) || !tcp_check_wheel(&e->tcp, BLOCKS, what))
        found_wrong(what, store, stores);
    return dropped;
}

// ---- a world

// lost_otherwise: connections that failed, or were reset because buffers were scarce.
static uint64_t lost_otherwise(const struct end *e)
{
    return e->stats.c.conns_failed + e->stats.c.conns_shed;
}

// ended_well: everything that was opened, had not failed before the kill, and was not in hand, has
// carried all its bytes, both ways. If memory is short, which one fails is chance; with SYN cookies
// it is, too: data that overtakes the ACK of the handshake is answered with a RST.
static bool ended_well(const struct pair *p, unsigned dropped, uint64_t lost)
{
    const struct end *a = &p->e[A], *b = &p->e[B];
    lost += dropped + a->stats.c.conns_shed + b->stats.c.conns_shed - before.b_shed;
    const uint64_t whole = n_begun - MIN(n_begun, lost);
    const bool clean =
        !a->role.wrong && !b->role.wrong && end_leaks(a) == NULL && end_leaks(b) == NULL;
    return clean && (!plenty || cookies ||
                     (a->role.received >= whole * b->role.source &&
                      b->role.received >= whole * a->role.source));
}

static void tell_end(const struct end *e)
{
    const char *left = end_leaks(e);
    fprintf(stderr, "address %x: %swrong, received %llu, of each %llu bytes, left: %s\n", e->v4,
            e->role.wrong ? "" : "not ", (unsigned long long)e->role.received,
            (unsigned long long)e->role.source, left != NULL ? left : "nothing");
    fprintf(stderr, "  opened %u, closed %u; failed %llu, resets %llu, shed %llu, RSTs sent %llu\n",
            e->role.opened, e->role.closed, (unsigned long long)e->stats.c.conns_failed,
            (unsigned long long)e->stats.c.established_resets,
            (unsigned long long)e->stats.c.conns_shed, (unsigned long long)e->stats.c.rst_sent);
    for (uint32_t ix = 0; ix < BLOCKS; ix++)
        if (e->tcp.blocks[ix].state != TCP_FREE)
            fprintf(stderr, "  block %u, state %u, flags %x\n", ix, e->tcp.blocks[ix].state,
                    e->tcp.blocks[ix].flags);
}

// ends_well: tried in a process of its own, in which both ends go on to the end. tell: if not, says
// how they ended.
static bool ends_well(struct pair *p, unsigned dropped, bool tell)
{
    const uint64_t lost = lost_otherwise(&before.end) + lost_otherwise(&p->e[B]);
    before.b_shed = p->e[B].stats.c.conns_shed;
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) {
        p->turn = NULL;
        pair_run(p, END_MS);
        const bool well = ended_well(p, dropped, lost);
        if (!well && tell) {
            fprintf(stderr, "%u begun, %u in hand\n", n_begun, dropped);
            tell_end(&p->e[A]);
            tell_end(&p->e[B]);
        }
        _exit(well ? 0 : 1);
    }
    int status;
    waitpid(pid, &status, 0);
    return status == 0;
}

// turn: of end A: segments s of n.
struct turn {
    uint64_t now_us;
    const struct seg_in *s;
    const uint8_t *const *data;
    uint32_t n;
};

static uint64_t stores_of(struct end *a, const struct turn *u)
{
    store_hook_n = 0;
    end_turn(a, u->now_us, u->s, u->data, u->n);
    const uint64_t stores = store_hook_n;
    restore(a);
    return stores;
}

// kill_in: ends the process before that store of the turn; the next one adopts. Returns how many
// connections were in hand.
static unsigned kill_in(struct end *a, const struct turn *u, uint64_t store, uint64_t stores)
{
    store_hook_n = 0;
    store_hook_end = store;
    if (setjmp(store_hook_dead) == 0) {
        end_turn(a, u->now_us, u->s, u->data, u->n);
        found_wrong("the turn has fewer stores than before", store, stores);
    }
    store_hook_end = 0;
    const unsigned dropped = adopt(a, store, stores);
    check_agreed(a, store, stores);
    n_kills++;
    n_in_hand += dropped;
    n_lost = MAX(n_lost, dropped);
    return dropped;
}

static void kill_at(struct pair *p, const struct turn *u, uint64_t store, uint64_t stores,
                    bool followed)
{
    struct end *a = &p->e[A];
    const unsigned dropped = kill_in(a, u, store, stores);
    if (!gave_up && followed) {
        n_followed++;
        if (!ends_well(p, dropped, true))
            found_wrong("the world does not end as it should", store, stores);
    }
    restore(a);
}

static void kill_turn(struct pair *p, unsigned to, const struct seg_in *s,
                      const uint8_t *const *data, uint32_t n)
{
    const struct turn u = {p->now_us, s, data, n};
    struct end *a = &p->e[A];
    if (to != A || gave_up || is_over())
        return;
    keep(a);
    const uint64_t stores = stores_of(a, &u);
    n_turns++;
    const uint64_t kills = MIN(stores, (uint64_t)KILLS_A_TURN_MAX);
    uint64_t followed = rng_below(&rng, GOES_ON);
    if (followed < kills && !ends_well(p, 0, false))
        followed = UINT64_MAX;  // without a kill neither, because memory is short
    for (uint64_t i = 0; i < kills && !gave_up; i++)
        kill_at(p, &u, kills == stores ? i + 1 : 1 + rng_below(&rng, (uint32_t)stores), stores,
                i == followed);
}

static uint32_t one_of(struct rng *r, uint32_t often, uint32_t else_below)
{
    return rng_below(r, 2) == 0 ? often : rng_below(r, else_below);
}

static void random_role(struct role *r, struct rng *from)
{
    *r = (struct role){.source = 1000 + rng_below(from, 60000), .shut = true};
    r->timer_ms = one_of(from, 0, 50);
    r->pause_ms = one_of(from, 0, 20);
    r->resume_on_timer = true;
    r->pause_open = r->timer_ms != 0 && rng_below(from, 4) == 0;
}

static void random_world(uint64_t seed)
{
    struct rng r = {.state = seed};
    plenty = rng_below(&r, 2) != 0;
    const struct pair_sizes z = {.blocks = BLOCKS,
                                 .bufs = plenty ? 800 : 325 + rng_below(&r, 100),
                                 .exts = 1 + rng_below(&r, 16),
                                 .flights = 1 + rng_below(&r, 16),
                                 .syns = 1 + rng_below(&r, 16),
                                 .tw = 1 + rng_below(&r, 16),
                                 .wheel = 256};
    struct pair *p = pair_new_sized(rng_u64(&r), &z);
    rng.state = rng_u64(&r);
    p->loss_pm = rng_below(&r, 60);  // with more, some give up after a minute without data
    p->dup_pm = rng_below(&r, 50);
    p->reorder_pm = rng_below(&r, 300);
    for (unsigned i = 0; i < 2; i++)
        random_role(&p->e[i].role, &r);
    p->e[A].role.connects = !plenty && rng_below(&r, 2) == 0;
    cookies = rng_below(&r, 4) == 0;
    if (cookies)
        p->e[A].tcp.cfg.syn_cookies = TCP_COOKIES_ALWAYS;
    if (rng_below(&r, 2) == 0)
        p->e[A].tcp.services[0].congestion = TCP_CUBIC;
    before.room = bytes_of(&p->e[A]);
    before.bytes = malloc(before.room);
    assert_non_null(before.bytes);
    p->turn = kill_turn;
    for (n_begun = 0; n_begun < CONNECTIONS && !gave_up;) {
        const unsigned i = n_begun++;
        end_connect(&p->e[i % 2], p->e[!(i % 2)].v4, PAIR_PORT);
        pair_run_for(p, rng_below(&r, 5));
    }
    if (!gave_up)
        pair_run_for(p, 200 + rng_below(&r, 800));
    p->turn = NULL;
    free(before.bytes);
    pair_free(p, false);
}

static void wherever_a_process_ends_only_what_is_in_hand_is_lost(void **state)
{
    const char *asked = getenv("KILL_S");
    end_s = now_s() + (asked != NULL ? atof(asked) : 4);
    struct rng seeds = test_rng(__func__);
    uint64_t seed = 0, worlds = 0;
    (void)state;
    worker = calloc(1, sizeof(*worker));
    assert_non_null(worker);
    for (gave_up = false; !gave_up && !is_over(); worlds++) {
        seed = rng_u64(&seeds);
        random_world(seed);
    }
    free(worker);
    printf("%llu kills in %llu turns of %llu worlds, %llu followed to the end; in hand %.2f of "
           "them on average, %llu at most; %llu records refused\n",
           (unsigned long long)n_kills, (unsigned long long)n_turns, (unsigned long long)worlds,
           (unsigned long long)n_followed, (double)n_in_hand / (double)MAX(n_kills, 1),
           (unsigned long long)n_lost, (unsigned long long)n_records);
    if (gave_up)
        fail_msg("world %llu of this seed", (unsigned long long)worlds);
    assert_true(n_kills >= KILLS_LEAST && n_turns > 0);
}

// ---- a connection that is not of the burst gives up out-of-order data for one that is

enum { WINDOW_PAGES = 31 };

// send_ahead: a segment out of order, so many pages ahead, for the next turn.
static void send_ahead(struct raw *r, uint32_t pages)
{
    raw_seg(r, SEG_ACK, r->seq + pages * BUF_BYTES, r->ack, pages * BUF_BYTES, 100);
}

static void wherever_it_ends_who_gives_up_data_for_others_is_in_hand(void **state)
{
    // Little more than what is kept for in-order data.
    struct raw *r = raw_new(&(struct pair_sizes){.blocks = BLOCKS, .bufs = 400});
    struct end *a = &r->e;
    (void)state;
    worker = calloc(1, sizeof(*worker));
    assert_non_null(worker);
    r->sack = true;
    raw_open(r);
    for (uint32_t i = 1; i < WINDOW_PAGES; i++) {  // as much as there is room for
        send_ahead(r, i);
        raw_turn(r, 1);
    }
    r->port++;
    raw_open(r);
    send_ahead(r, 1);
    const uint8_t *const data[] = {r->data[0]};
    const struct turn u = {r->now_us + 1000, r->segs, data, 1};
    before.room = bytes_of(a);
    before.bytes = malloc(before.room);
    assert_non_null(before.bytes);
    keep(a);
    const uint64_t pruned = a->stats.c.ooo_pruned;
    end_turn(a, u.now_us, u.s, u.data, u.n);
    assert_true(a->stats.c.ooo_pruned > pruned);  // else this world is not what the test is about
    restore(a);
    const uint64_t stores = stores_of(a, &u);
    gave_up = false;
    for (uint64_t i = 1; i <= stores && !gave_up; i++) {
        kill_in(a, &u, i, stores);
        restore(a);
    }
    assert_false(gave_up);
    free(before.bytes);
    free(worker);
    raw_free(r, false);
}

// ---- a process that ends while it refuses what its application does not continue

static bool refuse(const struct c10m_service *s, uint32_t version, void *state)
{
    (void)s;
    (void)version;
    (void)state;
    return false;
}

static void refuse_all(struct end *e, const struct sock_states *st)
{
    const struct sock_change all = {.other = 1};
    sock_adopt(&e->sock, st, all);
}

// left_as_it_was: whether connection ix is refused for ever, or nothing of it has changed.
static bool left_as_it_was(const struct end *e, uint32_t ix)
{
    const struct block *was = (const struct block *)kept(e, e->tcp.blocks) + ix,
                       *b = &e->tcp.blocks[ix];
    if (!(was->flags & BF_IN_APP) || b->state == TCP_FREE)
        return true;
    if (memcmp(&was->key, &b->key, sizeof(b->key)) != 0)
        return false;
    if (block_is_refused(b))
        return b->snd_max == was->snd_max && b->snd_head == BUF_NONE && b->rcvq_head == BUF_NONE;
    return b->state == was->state && memcmp(was->app, b->app, sizeof(b->app)) == 0;
}

static void end_refusing_at(struct end *a, const struct sock_states *st, uint64_t store,
                            uint64_t stores)
{
    adopt(a, store, stores);
    store_hook_n = 0;
    store_hook_end = store;
    if (setjmp(store_hook_dead) == 0) {
        refuse_all(a, st);
        found_wrong("the refusal has fewer stores than before", store, stores);
    }
    store_hook_end = 0;
    adopt(a, store, stores);
    for (uint32_t ix = 0; ix < BLOCKS; ix++)
        if (!left_as_it_was(a, ix))
            found_wrong("a connection is neither refused nor as it was", store, stores);
    restore(a);
}

static void wherever_a_process_ends_that_refuses_each_is_refused_or_as_it_was(void **state)
{
    const struct pair_sizes z = {.blocks = BLOCKS};
    struct sock_states st = {.version = {1}};
    struct rng seeds = test_rng(__func__);
    (void)state;
    worker = calloc(1, sizeof(*worker));
    assert_non_null(worker);
    struct pair *p = pair_new_sized(rng_u64(&seeds), &z);
    struct end *a = &p->e[A];
    p->loss_pm = 30;
    p->reorder_pm = 200;
    for (unsigned i = 0; i < 2; i++)
        p->e[i].role = (struct role){.source = 60000, .pause_ms = 5, .shut = true};
    for (unsigned i = 0; i < CONNECTIONS; i++) {
        end_connect(&p->e[i % 2], p->e[!(i % 2)].v4, PAIR_PORT);
        pair_run_for(p, 5);
    }
    struct c10m_app app = *a->services[0].app;
    app.adopts = true;
    app.state_version = 2;
    app.adopt = refuse;
    a->services[0].app = &app;
    before.room = bytes_of(a);
    before.bytes = malloc(before.room);
    assert_non_null(before.bytes);
    keep(a);
    gave_up = false;
    adopt(a, 0, 0);
    store_hook_n = 0;
    refuse_all(a, &st);
    const uint64_t stores = store_hook_n;
    restore(a);
    for (uint64_t i = 1; i <= stores && !gave_up; i++)
        end_refusing_at(a, &st, i, stores);
    assert_true(!gave_up && stores > 100);
    free(before.bytes);
    pair_free(p, false);
    free(worker);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wherever_a_process_ends_only_what_is_in_hand_is_lost),
        cmocka_unit_test(wherever_it_ends_who_gives_up_data_for_others_is_in_hand),
        cmocka_unit_test(wherever_a_process_ends_that_refuses_each_is_refused_or_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
