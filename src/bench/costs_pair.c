// SPDX-License-Identifier: BSD-3-Clause
// Costs of the communication between two threads.
#include <pthread.h>
#include <rte_pause.h>
#include <rte_ring.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench/costs.h"

enum { ROUNDS = 9, ROUNDS_QUICK = 2, TRIPS = 20000, TRIPS_QUICK = 2000, SLOTS = 64 };

static uint32_t trips(bool quick)
{
    return quick ? TRIPS_QUICK : TRIPS;
}

static bool start_on(pthread_t *t, unsigned cpu, void *(*fn)(void *), void *arg)
{
    pthread_attr_t a;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    pthread_attr_init(&a);
    const bool ok = pthread_attr_setaffinity_np(&a, sizeof(set), &set) == 0 &&
                    pthread_create(t, &a, fn, arg) == 0;
    pthread_attr_destroy(&a);
    return ok;
}

// pair: data shared by the two threads; the first thread measures. go: both threads have started.
struct pair {
    void (*first)(struct pair *p), (*second)(struct pair *p);
    uint32_t trips;
    uint64_t cycles;      // cycles of all trips, of the first thread
    int there, back;      // event counters
    struct rte_ring *to;  // rings
    struct rte_ring *from;
    uint32_t arrived CACHE_ALIGNED;
    uint32_t failed;
    uint64_t shared CACHE_ALIGNED;
    uint32_t ping CACHE_ALIGNED;  // written by the first thread
    uint32_t pong CACHE_ALIGNED;  // written by the second thread
};

// Waits until both threads have started. `failed`: one of them could not start.
static bool meet(struct pair *p)
{
    __atomic_fetch_add(&p->arrived, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&p->arrived, __ATOMIC_ACQUIRE) < 2) {
        if (__atomic_load_n(&p->failed, __ATOMIC_ACQUIRE))
            return false;
        sched_yield();
    }
    return true;
}

static void *run_first(void *arg)
{
    struct pair *p = arg;
    if (!meet(p))
        return NULL;
    const uint64_t start = tsc_read();
    p->first(p);
    p->cycles = tsc_read() - start;
    return NULL;
}

static void *run_second(void *arg)
{
    struct pair *p = arg;
    if (meet(p))
        p->second(p);
    return NULL;
}

// Returns the cycles per trip, or -1.
static double run_pair(struct pair *p, unsigned cpu_a, unsigned cpu_b)
{
    pthread_t a, b;
    p->arrived = p->failed = 0;
    if (!start_on(&a, cpu_a, run_first, p))
        return -1;
    const bool both = start_on(&b, cpu_b, run_second, p);
    if (!both)
        __atomic_store_n(&p->failed, 1, __ATOMIC_RELEASE);
    else
        pthread_join(b, NULL);
    pthread_join(a, NULL);
    return both ? (double)p->cycles / p->trips : -1;
}

static double lowest(struct pair *p, unsigned cpu_a, unsigned cpu_b, bool quick)
{
    double best = -1;
    for (unsigned r = 0; r < (quick ? ROUNDS_QUICK : ROUNDS); r++) {
        const double d = run_pair(p, cpu_a, cpu_b);
        if (d < 0)
            return -1;
        best = best < 0 ? d : MIN(best, d);
    }
    return best;
}

static void post(int fd)
{
    const uint64_t one = 1;
    CHECK(write(fd, &one, sizeof(one)) == sizeof(one));
}

static void await(int fd)
{
    uint64_t n;
    CHECK(read(fd, &n, sizeof(n)) == sizeof(n));
}

static void switch_first(struct pair *p)
{
    for (uint32_t i = 0; i < p->trips; i++) {
        post(p->there);
        await(p->back);
    }
}

static void switch_second(struct pair *p)
{
    for (uint32_t i = 0; i < p->trips; i++) {
        await(p->there);
        post(p->back);
    }
}

// The system calls in one thread, without a switch.
static double calls_alone(int fd, uint32_t times)
{
    uint64_t best = UINT64_MAX;
    for (unsigned r = 0; r < ROUNDS; r++) {
        const uint64_t start = tsc_read();
        for (uint32_t i = 0; i < times; i++) {
            post(fd);
            await(fd);
        }
        best = MIN(best, tsc_read() - start);
    }
    return (double)best / times;
}

double cost_switch_cycles(unsigned cpu, bool quick)
{
    struct pair p = {.first = switch_first,
                     .second = switch_second,
                     .trips = trips(quick) / 10,
                     .there = eventfd(0, EFD_CLOEXEC),
                     .back = eventfd(0, EFD_CLOEXEC)};
    double cycles = -1;
    if (p.there >= 0 && p.back >= 0)
        cycles = lowest(&p, cpu, cpu, quick);
    if (cycles >= 0)  // a round trip: two switches, two writes, two reads
        cycles = MAX(cycles / 2 - calls_alone(p.there, p.trips), 0);
    if (p.there >= 0)
        close(p.there);
    if (p.back >= 0)
        close(p.back);
    return cycles;
}

static void give(struct rte_ring *r, uintptr_t v)
{
    while (rte_ring_sp_enqueue(r, (void *)v) != 0)
        rte_pause();
}

static uintptr_t take(struct rte_ring *r)
{
    void *v;
    while (rte_ring_sc_dequeue(r, &v) != 0)
        rte_pause();
    return (uintptr_t)v;
}

static void hop_first(struct pair *p)
{
    for (uintptr_t i = 1; i <= p->trips; i++) {
        give(p->to, i);
        CHECK(take(p->from) == i);
    }
}

static void hop_second(struct pair *p)
{
    for (uintptr_t i = 1; i <= p->trips; i++)
        give(p->from, take(p->to));
}

static struct rte_ring *new_ring(void)
{
    struct rte_ring *r =
        aligned_alloc(CACHE_LINE, ALIGN_UP((size_t)rte_ring_get_memsize(SLOTS), CACHE_LINE));
    CHECK(r != NULL);
    CHECK(rte_ring_init(r, "hop", SLOTS, RING_F_SP_ENQ | RING_F_SC_DEQ) == 0);
    return r;
}

double cost_hop_cycles(unsigned cpu_a, unsigned cpu_b, bool quick)
{
    struct pair p = {.first = hop_first,
                     .second = hop_second,
                     .trips = trips(quick),
                     .to = new_ring(),
                     .from = new_ring()};
    const double cycles = lowest(&p, cpu_a, cpu_b, quick);
    free(p.to);
    free(p.from);
    return cycles < 0 ? cycles : cycles / 2;
}

static void add(struct pair *p)
{
    for (uint32_t i = 0; i < p->trips; i++)
        __atomic_fetch_add(&p->shared, 1, __ATOMIC_SEQ_CST);
}

double cost_atomic_shared_cycles(unsigned cpu_a, unsigned cpu_b, bool quick)
{
    struct pair p = {.first = add, .second = add, .trips = trips(quick)};
    return lowest(&p, cpu_a, cpu_b, quick);
}

static void see(const uint32_t *word, uint32_t value)
{
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value)
        rte_pause();
}

static void line_first(struct pair *p)
{
    for (uint32_t i = 1; i <= p->trips; i++) {
        __atomic_store_n(&p->ping, i, __ATOMIC_RELEASE);
        see(&p->pong, i);
    }
}

static void line_second(struct pair *p)
{
    for (uint32_t i = 1; i <= p->trips; i++) {
        see(&p->ping, i);
        __atomic_store_n(&p->pong, i, __ATOMIC_RELEASE);
    }
}

bool cost_line_trips(unsigned cpu_a, unsigned cpu_b, double *cycles, unsigned n)
{
    struct pair p = {.first = line_first, .second = line_second, .trips = TRIPS_QUICK};
    for (unsigned i = 0; i < n; i++) {
        p.ping = p.pong = 0;
        if ((cycles[i] = run_pair(&p, cpu_a, cpu_b)) < 0)
            return false;
    }
    return true;
}
