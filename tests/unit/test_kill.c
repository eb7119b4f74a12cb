// SPDX-License-Identifier: BSD-3-Clause
// A process that ends at any store of a turn, and the next one that adopts its connections: only
// those in hand are lost, every other one is whole, and its application and TCP agree about every
// byte (worker/hand.h, tcp/tcp_adopt.h). TCP, sockets and the application of end A are compiled
// with a hook before each store (store_hook.h). A turn runs once: at a store where its process
// ends, an heir (heir.h) adopts what is there, and is undone.
//
// KILL_S: for how many seconds (default 4). KILLS: until so many kills instead. A seed that fails
// is printed with how to repeat it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "heir.h"
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
    SPREADS = 8,  // of the stores of a turn one in 1, 2, 4... 128 kills
    KILLS_LEAST = 500,
    GOES_ON = 512,  // one of so many kills is followed to the end
    SUMMED = 4096,  // of one of so many it is verified that all stores of the heir are undone
    SCRATCH_BYTES = 4096,
    END_MS = 900 * 1000,
};

static struct worker worker;      // whose fields hand_list() reads
static struct heir *heir;         // of the end that is killed
static struct block was[BLOCKS];  // its blocks before the turn
static struct pair *world;        // NULL: the end has no other
static uint64_t lost_before;      // connections of both ends that had failed before the turn
static uint64_t shed_before;      // of end B
static uint32_t spread;           // of this turn
static struct rng rng;
static uint64_t n_kills, n_in_hand, n_turns, n_followed, n_lost;
static uint64_t n_records;    // half-open and TIME-WAIT records that were refused
static unsigned n_begun;      // connections of this world
static double end_s;          // when it is time to stop
static uint64_t kills_asked;  // 0: until end_s
static bool plenty;           // it has memory for all of them: none fails
static bool cookies;          // end A sends SYN cookies always
static bool gave_up;          // a failed claim of this kill
static bool unkilled;         // this process goes on without a kill, to the end

static void found_wrong(const char *what)
{
    fprintf(stderr, "killed before store %llu of turn %llu: %s\n", (unsigned long long)store_hook_n,
            (unsigned long long)n_turns, what);
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
    return kills_asked != 0 ? n_kills >= kills_asked : now_s() >= end_s && n_kills >= KILLS_LEAST;
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

static void check_agreed(const struct tcp *t)
{
    char what[128];
    for (uint32_t ix = 0; ix < BLOCKS; ix++) {
        const struct block *b = &t->blocks[ix];
        if (!is_told(&was[ix]) || !is_told(b) || b->generation != was[ix].generation)
            continue;
        const struct agreed x = agreed_of(&was[ix]), y = agreed_of(b);
        if (x.sent == y.sent && x.received == y.received)
            continue;
        snprintf(what, sizeof(what), "block %u, state %u: %d bytes sent, %d received too many", ix,
                 b->state, (int)(y.sent - x.sent), (int)(y.received - x.received));
        found_wrong(what);
    }
}

// drop_hand: as adoption_prepare() of src/server/adoption.c.
static unsigned drop_hand(struct end *e)
{
    uint32_t hand[HAND_MAX];
    unsigned dropped = 0;
    worker.tcp.touched = e->tcp.touched;
    worker.tcp.pruned = e->tcp.pruned;
    worker.sock.n_others = e->sock.n_others;
    memcpy(worker.sock.others, e->sock.others, sizeof(worker.sock.others));
    worker.rx.n_segs = e->n_burst;
    memcpy(worker.found, e->found, sizeof(e->found));
    memcpy(worker.verdicts, e->verdicts, sizeof(e->verdicts));
    shared_u32_store(&worker.at, e->burst_in_hand ? STAGE_tcp_input : STAGE_timers);
    const unsigned n = hand_list(&worker, BLOCKS, hand);
    for (unsigned i = 0; i < n; i++)
        dropped += tcp_adopt_drop(&e->tcp.blocks[hand[i]]);
    return dropped;
}

static void next_process(struct end *e, struct wheel *wheel)
{
    e->sock.n_others = e->sock.n_readable = 0;
    e->tcp.touched = BLOCK_NONE;
    e->tcp.pruned = 0;
    e->tcp.n_out = 0;
    e->burst_in_hand = false;
    e->n_burst = 0;
    memset(&e->stats, 0, sizeof(e->stats));
    memset(e->shadows, 0, BLOCKS * sizeof(e->shadows[0]));
    tcp_lose_to(&e->tcp, wheel);
}

// check_told: what the last burst opened, and nobody has told the application, ends.
static void check_told(const struct tcp *t)
{
    for (uint32_t ix = 0; ix < BLOCKS; ix++) {
        const struct block *b = &t->blocks[ix];
        if ((b->state == TCP_ESTABLISHED || b->state == TCP_SYN_SENT) &&
            (b->flags & (BF_IN_APP | BF_FIN_QUEUED | BF_ABORT)) == 0)
            found_wrong("a connection goes on that its application does not know");
    }
}

static void check_refused(struct tcp_adopted *out)
{
    char what[TCP_CHECK_BYTES];
    for (unsigned r = 0; r < TCP_REFUSAL_COUNT; r++) {
        if (out->refused[r] == 0 || r == TCP_REFUSED_IN_HAND)
            continue;
        snprintf(what, sizeof(what), "%u connections that were not in hand are refused: %s",
                 out->refused[r], tcp_refusal_name(r));
        found_wrong(what);
    }
    // The record that was being written is neither.
    const unsigned records = out->half_open_refused + out->time_wait_refused;
    if (records > 1)
        found_wrong("several records are refused");
    n_records += records;
}

// adopt: t takes over what is left of e. Returns how many connections were in hand.
static unsigned adopt(struct tcp *t, unsigned dropped)
{
    static uint64_t scratch[SCRATCH_BYTES / 8];
    const struct tcp_adopt_params p = {.n_locals = 1, .services = 1};
    struct tcp_adopted out;
    char what[TCP_CHECK_BYTES];
    const size_t bytes = tcp_adopt_footprint(t);
    assert_true(bytes <= sizeof(scratch));
    memset(scratch, 0, bytes);
    tcp_adopt(t, &p, scratch, &out);
    check_refused(&out);
    check_told(t);
    if (!tcp_check_pools(t, BLOCKS, what) || !tcp_check_wheel(t, BLOCKS, what))
        found_wrong(what);
    return dropped + out.refused[TCP_REFUSED_IN_HAND];  // opened in this burst, not reported yet
}

// adopt_here: end e is the next process itself, with a new wheel.
static unsigned adopt_here(struct end *e, struct wheel *wheel)
{
    const unsigned dropped = drop_hand(e);
    next_process(e, wheel);
    return adopt(&e->tcp, dropped);
}

// ---- a world

// lost_otherwise: connections that failed, or were reset because buffers were scarce.
static uint64_t lost_otherwise(const struct end *e)
{
    return e->stats.c.conns_failed + e->stats.c.conns_shed;
}

// ended_well: everything that was opened, had not failed before the kill, and was not in hand, has
// carried all its bytes, both ways. If memory is short, which one fails is chance; with SYN cookies
// it is, too: data that overtakes the ACK of the handshake is answered with a RST. With few
// half-open records there are cookies, and with few TIME-WAIT records no answer to a repeated FIN.
static bool ended_well(const struct pair *p, unsigned dropped, uint64_t lost)
{
    const struct end *a = &p->e[A], *b = &p->e[B];
    lost += dropped + a->stats.c.conns_shed + b->stats.c.conns_shed - shed_before;
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

// end_of_child: this process, a child, goes on to the end of the world, and says how it was.
static _Noreturn void end_of_child(unsigned dropped, bool tell)
{
    world->turn = NULL;
    pair_run(world, END_MS);
    const bool well = ended_well(world, dropped, lost_before);
    if (!well && tell) {
        fprintf(stderr, "%u begun, %u in hand\n", n_begun, dropped);
        tell_end(&world->e[A]);
        tell_end(&world->e[B]);
    }
    _exit(well ? 0 : 1);
}

static bool is_well(pid_t child)
{
    int status;
    waitpid(child, &status, 0);
    return status == 0;
}

// ends_well: tried in a process of its own, which is killed here. tell: if not, says how it ended.
static bool ends_well(bool tell)
{
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) {
        store_hook_watch(NULL, 0, 0, NULL);
        end_of_child(adopt_here(&world->e[A], heir->end.tcp.wheel), tell);
    }
    return is_well(pid);
}

// ends_well_unkilled: the same without the kill. Returns in the child, too, with `unkilled`.
static bool ends_well_unkilled(void)
{
    fflush(NULL);
    const pid_t pid = fork();
    if (pid != 0)
        return is_well(pid);
    store_hook_watch(NULL, 0, 0, NULL);
    unkilled = true;
    return false;
}

// follow: without a kill the world may end no better, because memory is short.
static void follow(void)
{
    n_followed++;
    if (ends_well(false) || !ends_well_unkilled())
        return;
    ends_well(true);
    found_wrong("the world does not end as it should");
}

// ---- kills

// adopted_by_heir: what is left at this store. Returns how many connections were in hand.
static unsigned adopted_by_heir(void)
{
    const bool summed = rng_below(&rng, SUMMED) == 0;
    const uint64_t sum = summed ? heir_sum(heir) : 0;
    heir_keep(heir);
    const unsigned dropped = adopt(&heir->end.tcp, drop_hand(heir->of));
    check_agreed(&heir->end.tcp);
    store_hook_undo();
    if (summed && heir_sum(heir) != sum)
        found_wrong("the heir stores where there is no hook");
    return dropped;
}

static uint64_t kill_here(void)
{
    const unsigned dropped = adopted_by_heir();
    n_kills++;
    n_in_hand += dropped;
    n_lost = MAX(n_lost, dropped);
    if (!gave_up && world != NULL && rng_below(&rng, GOES_ON) == 0)
        follow();
    if (gave_up || unkilled)
        store_hook_watch(NULL, 0, 0, NULL);
    return rng_below(&rng, 2 * spread - 1);
}

// watch: in the next turn of the end of the heir, at now_us, processes end.
static void watch(uint64_t now_us)
{
    n_turns++;
    memcpy(was, heir->of->tcp.blocks, sizeof(was));
    heir_start(heir, now_us);
    store_hook_watch(heir->lasting, heir->n_lasting, rng_below(&rng, spread), kill_here);
}

static void kill_turn(struct pair *p, unsigned to, const struct seg_in *s,
                      const uint8_t *const *data, uint32_t n)
{
    (void)s;
    (void)data;
    (void)n;
    store_hook_watch(NULL, 0, 0, NULL);
    if (unkilled)
        end_of_child(0, false);
    if (to != A || gave_up || is_over())
        return;
    lost_before = lost_otherwise(&p->e[A]) + lost_otherwise(&p->e[B]);
    shed_before = p->e[B].stats.c.conns_shed;
    spread = 1u << rng_below(&rng, SPREADS);
    watch(p->now_us);
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
                                 .syns = plenty ? CONNECTIONS : 1 + rng_below(&r, 16),
                                 .tw = plenty ? CONNECTIONS : 1 + rng_below(&r, 16),
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
    heir = heir_new(&p->e[A]);
    world = p;
    p->turn = kill_turn;
    for (n_begun = 0; n_begun < CONNECTIONS && !gave_up;) {
        const unsigned i = n_begun++;
        end_connect(&p->e[i % 2], p->e[!(i % 2)].v4, PAIR_PORT);
        pair_run_for(p, rng_below(&r, 5));
    }
    if (!gave_up)
        pair_run_for(p, 200 + rng_below(&r, 800));
    store_hook_watch(NULL, 0, 0, NULL);
    world = NULL;
    heir_free(heir);
    pair_free(p, false);
}

static void tell(uint64_t worlds, double seconds)
{
    printf("%llu kills in %llu turns of %llu worlds, %.0f a second, %llu followed to the end; in "
           "hand %.2f of them on average, %llu at most; %llu records refused\n",
           (unsigned long long)n_kills, (unsigned long long)n_turns, (unsigned long long)worlds,
           (double)n_kills / seconds, (unsigned long long)n_followed,
           (double)n_in_hand / (double)MAX(n_kills, 1), (unsigned long long)n_lost,
           (unsigned long long)n_records);
}

// Each world has a seed of its own, one more than the one before: C10M_SEED begins with any.
static void wherever_a_process_ends_only_what_is_in_hand_is_lost(void **state)
{
    const char *kills = getenv("KILLS"), *seconds = getenv("KILL_S");
    const double begun_s = now_s();
    const uint64_t seed = test_rng(__func__).state;
    uint64_t worlds = 0;
    (void)state;
    end_s = begun_s + (seconds != NULL ? atof(seconds) : 4);
    kills_asked = kills != NULL ? strtoull(kills, NULL, 0) : 0;
    for (gave_up = false; !gave_up && !is_over(); worlds++)
        random_world(seed + worlds);
    tell(worlds, now_s() - begun_s);
    if (gave_up)
        fail_msg("C10M_SEED=%llu repeats it", (unsigned long long)(seed + worlds - 1));
    assert_true(n_turns > 0);
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
    r->sack = true;
    raw_open(r);
    for (uint32_t i = 1; i < WINDOW_PAGES; i++) {  // as much as there is room for
        send_ahead(r, i);
        raw_turn(r, 1);
    }
    r->port++;
    raw_open(r);
    send_ahead(r, 1);
    const uint64_t pruned = a->stats.c.ooo_pruned;
    gave_up = false;
    spread = 1;
    heir = heir_new(a);
    watch(r->now_us + 1000);
    raw_turn(r, 1);
    store_hook_watch(NULL, 0, 0, NULL);
    assert_true(a->stats.c.ooo_pruned > pruned);  // else this world is not what the test is about
    assert_false(gave_up);
    heir_free(heir);
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
static bool left_as_it_was(const struct tcp *t, uint32_t ix)
{
    const struct block *a = &was[ix], *b = &t->blocks[ix];
    if (!(a->flags & BF_IN_APP) || b->state == TCP_FREE)
        return true;
    if (memcmp(&a->key, &b->key, sizeof(b->key)) != 0)
        return false;
    if (block_is_refused(b))
        return b->snd_max == a->snd_max && b->snd_head == BUF_NONE && b->rcvq_head == BUF_NONE;
    return b->state == a->state && memcmp(a->app, b->app, sizeof(b->app)) == 0;
}

static uint64_t end_refusing(void)
{
    struct tcp *t = &heir->end.tcp;
    heir_keep(heir);
    adopt(t, drop_hand(heir->of));
    for (uint32_t ix = 0; ix < BLOCKS; ix++)
        if (!left_as_it_was(t, ix))
            found_wrong("a connection is neither refused nor as it was");
    store_hook_undo();
    return 0;
}

static void wherever_a_process_ends_that_refuses_each_is_refused_or_as_it_was(void **state)
{
    const struct pair_sizes z = {.blocks = BLOCKS};
    struct sock_states st = {.version = {1}};
    struct rng seeds = test_rng(__func__);
    (void)state;
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
    memcpy(was, a->tcp.blocks, sizeof(was));
    gave_up = false;
    adopt_here(a, wheel_init(a->tcp.wheel, a->sizes.wheel, a->tcp.now.ms));
    heir = heir_new(a);
    heir_start(heir, p->now_us);
    store_hook_watch(heir->lasting, heir->n_lasting, 0, end_refusing);
    refuse_all(a, &st);
    assert_false(gave_up);
    assert_in_range(store_hook_n, 2 * CONNECTIONS, 10000);  // the optimizer joins some
    store_hook_watch(NULL, 0, 0, NULL);
    heir_free(heir);
    pair_free(p, false);
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
