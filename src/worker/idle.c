// SPDX-License-Identifier: BSD-3-Clause
#include "worker/idle.h"

#include <poll.h>
#include <rte_power_intrinsics.h>
#include <rte_ring.h>
#include <unistd.h>

#include "tcp/tcp_timers.h"
#include "worker/linux_box.h"
#include "worker/worker.h"

// ---- how long

// in_hand: whether the worker itself has something to go on with.
static bool in_hand(const struct worker *w)
{
    const struct tcp *t = &w->tcp;
    return (w->ordered | w->n_lost | t->n_dirty | t->lanes.waiting | w->sock.n_readable |
            w->sock.resets) != 0;
}

static uint32_t next_timer_ms(const struct tcp *t)
{
    const uint32_t wheel = wheel_next_ms(t->wheel), tw = tcp_time_wait_next_ms(t);
    return tw != 0 && time_before(tw, wheel) ? tw : wheel;
}

uint64_t idle_limit_us(const struct worker *w)
{
    const struct clock_now now = w->tcp.now;
    const uint32_t next = next_timer_ms(&w->tcp);
    if (in_hand(w) || !time_before(now.ms, next))
        return 0;
    return (uint64_t)(next - now.ms) * 1000 - now.us % 1000;
}

// ---- pause, and wait in the CPU

// tsc_in: so many microseconds after the turn.
static uint64_t tsc_in(const struct worker *w, uint64_t us)
{
    return w->tsc_end + (us << 32) / w->clock.us_per_tick_q32;
}

static void pause_for(const struct worker *w, uint64_t us)
{
    const uint64_t end = tsc_in(w, us);
    if (w->idle_wait.has_tpause)
        rte_power_pause(end);
    while (tsc_read() < end)
        _mm_pause();
}

// take_watch: false: the port cannot tell, or has a packet.
static bool take_watch(const struct worker *w, uint64_t limit_us)
{
    struct rte_power_monitor_cond line;
    const struct worker_port *wp = &w->ports[0];
    if (!port_wait_line(wp->port, wp->queue, &line))
        return false;
    rte_power_monitor(&line, tsc_in(w, MIN(limit_us, (uint64_t)IDLE_MONITOR_MAX_US)));
    return true;
}

static void take_pause(struct worker *w, uint64_t limit_us)
{
    struct idle *d = &w->idle_wait;
    d->pause_us =
        d->pause_us == 0 ? IDLE_PAUSE_MIN_US : MIN(2 * d->pause_us, (uint32_t)IDLE_PAUSE_MAX_US);
    pause_for(w, MIN(limit_us, (uint64_t)d->pause_us));
}

// ---- sleep

// fds_of: the descriptors of all ports behind that of `wake`. Returns how many there are; 0: a port
// has to be polled.
static unsigned fds_of(const struct worker *w, struct pollfd *fds)
{
    int list[IDLE_FDS_MAX];
    unsigned n = 0;
    for (unsigned p = 0; p < w->n_ports; p++) {
        const int more =
            port_wait_fds(w->ports[p].port, w->ports[p].queue, list + n, IDLE_FDS_MAX - n);
        if (more < 0)
            return 0;
        n += (unsigned)more;
    }
    fds[0] = (struct pollfd){.fd = w->idle_wait.wake.fd, .events = POLLIN};
    for (unsigned i = 0; i < n; i++)
        fds[1 + i] = (struct pollfd){.fd = list[i], .events = POLLIN};
    return 1 + n;
}

// has_unsent: no descriptor tells that a port has room again.
static bool has_unsent(const struct worker *w)
{
    for (unsigned p = 0; p < w->n_ports; p++)
        if (w->ports[p].tx.n != 0)
            return true;
    return false;
}

static bool has_messages(const struct worker *w)
{
    for (unsigned i = 0; i < w->n_boxed; i++)
        if (rte_ring_count(w->boxes[w->boxed[i]].in) != 0)
            return true;
    for (unsigned p = 0; p < w->n_ports && w->linux_pool != NULL; p++)
        if (w->linux_boxes[p] != NULL && w->linux_boxes[p]->from != NULL &&
            rte_ring_count(w->linux_boxes[p]->from) != 0)
            return true;
    return false;
}

// is_told: whether another thread has something for the worker, by what wakes it.
static bool is_told(const struct worker *w)
{
    return shared_u32_load(&w->order) != WORKER_RUN ||
           shared_u32_load(&w->box.asked) != shared_u32_load(&w->box.done) ||
           shared_ptr_load(&w->captures_ordered) != shared_ptr_load(&w->captures_seen) ||
           has_messages(w);
}

// count_wake: why the sleep has ended. That it lasted its full time is no reason.
static void count_wake(struct worker *w, const struct pollfd *fds, int ready, bool timer)
{
    struct core_counters *c = &w->stats->c;
    uint64_t said;
    if (ready <= 0) {
        c->idle_wakes_timer += ready == 0 && timer;
        return;
    }
    if (fds[0].revents != 0) {
        c->idle_wakes_order += read(fds[0].fd, &said, sizeof(said)) == sizeof(said);
        ready--;
    }
    c->idle_wakes_packet += ready != 0;
}

// woken: whoever waited for housekeeping has waited long enough. No packet has waited longer than
// for the waking: the queues were empty before.
static void woken(struct worker *w)
{
    const uint64_t now_us = worker_now(&w->clock, tsc_read()).us;
    w->turn = ALIGN_UP(w->turn, (uint64_t)WORKER_HOUSE_TURNS);
    for (unsigned p = 0; p < w->n_ports; p++)
        w->ports[p].backlog.emptied_us = now_us;
}

// take_sleep: false: it did not sleep.
static bool take_sleep(struct worker *w, uint64_t limit_us)
{
    struct idle *d = &w->idle_wait;
    struct pollfd fds[1 + IDLE_FDS_MAX];
    if (limit_us < IDLE_LEAD_US + IDLE_SLEEP_MIN_US || has_unsent(w))
        return false;
    const bool timer = limit_us - IDLE_LEAD_US < IDLE_SLEEP_MAX_US;
    const uint64_t us = timer ? limit_us - IDLE_LEAD_US : IDLE_SLEEP_MAX_US;
    const struct timespec most = {.tv_nsec = (long)us * 1000};
    shared_u32_store(&d->wake.asleep, 1);
    _mm_mfence();  // pairs with that of wake_worker()
    const unsigned n = is_told(w) ? 0 : fds_of(w, fds);
    if (n != 0)
        count_wake(w, fds, ppoll(fds, n, &most, NULL), timer);
    shared_u32_store(&d->wake.asleep, 0);
    if (n == 0)
        return false;
    w->stats->c.idle_sleeps++;
    woken(w);
    return true;
}

// ---- when

static void begin(struct worker *w)
{
    struct idle *d = &w->idle_wait;
    d->busy_seen = w->stats->c.turns_busy;
    d->since_us = w->tcp.now.us;
    d->looks = 1;
    d->pause_us = 0;
}

// account: the next turn begins where the wait has ended.
static void account(struct worker *w)
{
    struct core_counters *c = &w->stats->c;
    const uint64_t from = w->tsc_end, to = tsc_read();
    w->stats->cycles[STAGE_idle] += to - from;
    w->tsc_end = to;
    c->idle_waits++;
    c->idle_wait_micros += worker_now(&w->clock, to).us - worker_now(&w->clock, from).us;
}

// take_longer: a wait that something ends, where there is one.
static bool take_longer(struct worker *w, uint64_t limit_us)
{
    switch (w->idle_wait.mode) {
    case IDLE_MONITOR:
        return take_watch(w, limit_us);
    case IDLE_INTERRUPT:
        return take_sleep(w, limit_us);
    default:
        return false;
    }
}

NOINLINE void idle_turn(struct worker *w)
{
    struct idle *d = &w->idle_wait;
    if (d->busy_seen != w->stats->c.turns_busy) {
        begin(w);
        return;
    }
    if (++d->looks < w->n_ports || w->tcp.now.us - d->since_us < d->after_us)
        return;
    const uint64_t limit_us = idle_limit_us(w);
    if (limit_us == 0)
        return;
    if (!take_longer(w, limit_us))
        take_pause(w, limit_us);
    d->looks = 0;
    account(w);
}
