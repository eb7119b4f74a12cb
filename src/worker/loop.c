// SPDX-License-Identifier: BSD-3-Clause
// The loop. Each stage is one pass over the arrays that the previous stage has filled, and
// prefetches what the next stage reads. Stages do not call each other. The last two stages are in
// sending.c.
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include "stat/trace_points.h"
#include "worker/accounting.h"
#include "worker/capture.h"
#include "worker/datagrams.h"
#include "worker/handoff.h"
#include "worker/linux_box.h"
#include "worker/messages.h"
#include "worker/sending.h"
#include "worker/stopping.h"
#include "worker/turn_trace.h"

struct clock_now worker_now(const struct worker_clock *c, uint64_t tsc)
{
    const unsigned __int128 us = (unsigned __int128)(tsc - c->start_tsc) * c->us_per_tick_q32;
    return clock_at_us((uint64_t)(us >> 32));
}

uint64_t worker_tsc_hz(const struct worker *w)
{
    return (uint64_t)(((unsigned __int128)1000000 << 32) / w->clock.us_per_tick_q32);
}

static NOINLINE void note_full(struct worker *w, struct worker_port *wp)
{
    struct tcp *t = &w->tcp;
    t->behind_us = backlog_full(&wp->backlog, wp->port, wp->queue, w->n_rx, t->now.us, &t->full_us);
    t->queue_full = wp->backlog.nearly_full;
    w->highest.behind_us = MAX(w->highest.behind_us, t->behind_us);
}

// note_backlog: how long what is in this burst has waited. A device may give less than BURST_MAX
// packets at once.
static inline void note_backlog(struct worker *w, struct worker_port *wp)
{
    if (unlikely(w->n_rx >= wp->backlog.burst_full)) {
        note_full(w, wp);
        return;
    }
    w->tcp.behind_us = 0;
    wp->backlog.emptied_us = w->tcp.now.us;
}

static inline void stage_rx(struct worker *w)
{
    struct worker_port *wp = &w->ports[w->rx_port];
    w->n_rx = wp->port->ops->rx_burst(wp->port, wp->queue, w->pkts, BURST_MAX);
    note_backlog(w, wp);
    if (unlikely(w->captures != NULL))
        capture_burst(w->captures, w->rx_port, CAPTURE_IN, w->pkts, w->n_rx);
    w->tcp.n_out = 0;
    if (likely(w->n_ports == 1))
        w->tcp.out_room = MIN((uint32_t)TCP_OUT_MAX, sending_room(&w->ports[0]));
    else
        sending_rooms(w);
    account_stage(w, STAGE_rx);
}

// hand_whole: a reassembled packet belongs to the worker that its ports determine, and only the
// first fragment has ports. The packet is fragmented again and handed to that worker.
static void hand_whole(struct worker *w, struct worker_port *wp, uint32_t i, unsigned home)
{
    enum { PARTS = 64 };  // packets of PKT_ROOM bytes or more
    struct pkt *parts[PARTS];
    const uint32_t n = net_hand_over(wp->net, w->pkts[i], parts, PARTS);
    if (n == 0) {
        stat_drop(w->stats, DROP_fragment_room, 1);
        return;
    }
    handoff_hand(wp->port, wp->queue, home, parts, n);
    w->stats->c.reassembly_handed++;
    w->stats->c.kept++;
}

// input_whole: processes the packets that this burst completed.
static NOINLINE void input_whole(struct worker *w, struct worker_port *wp)
{
    for (uint32_t k = 0; k < w->rx.n_whole; k++) {
        const uint32_t i = w->rx.whole[k];
        const int home =
            handoff_whole(wp->port, wp->queue, pkt_data(w->pkts[i]), pkt_whole_len(w->pkts[i]));
        if (home == HANDOFF_HERE)
            net_input_whole(wp->net, w->tcp.now, w->pkts, i, &w->rx, &wp->tx);
        else
            hand_whole(w, wp, i, (unsigned)home);
    }
    w->rx.n_whole = 0;
}

// input_others: packets that this burst completed, then those for Linux, as some of them may be.
static NOINLINE void input_others(struct worker *w, struct worker_port *wp)
{
    if (w->rx.n_whole != 0)
        input_whole(w, wp);
    linux_box_net(w);
}

static inline void stage_net_input(struct worker *w)
{
    struct worker_port *wp = &w->ports[w->rx_port];
    w->rx.n_segs = 0;
    w->rx.n_icmp = w->rx.n_udp = 0;
    if (w->n_rx != 0) {
        net_input(wp->net, w->tcp.now, w->pkts, w->n_rx, &w->rx, &wp->tx);
        if (unlikely((w->rx.n_whole | w->rx.n_linux) != 0))
            input_others(w, wp);
        w->stats->c.rx_packets += w->n_rx;
    }
    account_stage(w, STAGE_net_input);
}

// fetch: prefetches the lines of block `found` that segment s accesses, except the application's.
static inline void fetch(const struct worker *w, const struct seg_in *s, uint32_t found)
{
    const uint32_t ix = flow_index_ix(found);
    if (unlikely(flow_index_kind(found) != FLOW_BLOCK))  // also if it is FLOW_NONE
        return;
    prefetch0_w(&w->tcp.blocks[ix]);
    prefetch0_w(&w->tcp.blocks[ix].snd_end);
    prefetch0_w(&w->tcp.xmit_runs[ix / 64]);
    if (unlikely(s->flags & (SEG_FIN | SEG_RST)))  // in-order segments do not access this line
        prefetch0_w(&w->tcp.blocks[ix].ssthresh);
}

// stage_flow_find: looks up the owner of each segment; tcp_input() compares the key. Hashes,
// look-ups and prefetches are separate loops. In one loop, look-ups would wait for the prefetches.
static NOINLINE void stage_flow_find(struct worker *w)
{
    const uint32_t n = w->rx.n_segs;
    const struct flow_table *ft = w->tcp.table;
    tcp_burst(&w->tcp);
    flow_hash_burst(ft, &w->rx.segs[0].key, sizeof(w->rx.segs[0]), n, w->hashes);
    flow_find_burst(ft, w->hashes, n, w->found);
    for (uint32_t i = 0; i < n; i++)
        fetch(w, &w->rx.segs[i], w->found[i]);
    account_stage(w, STAGE_flow_find);
}

// count_other: counts a segment that was not delivered: for Linux, dropped, kept or answered.
static NOINLINE void count_other(struct worker *w, const struct seg_in *s,
                                 const struct tcp_verdict *v)
{
    if (unlikely(v->drop == TCP_FOR_LINUX))
        linux_box_segment(w, w->pkts[s->pkt_ix]);
    else if (v->drop != DROP_NONE)
        stat_drop(w->stats, v->drop, 1);
    else if (v->events & TCP_EV_KEPT)
        w->stats->c.kept++;
    else
        w->stats->c.answered++;
}

static inline const uint8_t *frame(const struct worker *w, const struct seg_in *s)
{
    return pkt_data(w->pkts[s->pkt_ix]);
}

// segment_slow: processes segment i, which is not a common one. Returns whether it was delivered to
// a connection.
static NOINLINE bool segment_slow(struct worker *w, uint32_t i)
{
    const struct seg_in *s = &w->rx.segs[i];
    struct tcp_verdict *v = &w->verdicts[i];
    const uint64_t asked = w->tcp.resets_asked;
    tcp_input_hashed(&w->tcp, s, w->hashes[i], frame(w, s) + s->data_off, w->found[i], v);
    if (unlikely(w->tcp.linux_lanes != 0) && w->tcp.resets_asked != asked &&
        v->drop != TCP_FOR_LINUX)
        linux_box_stranger(w, s, w->pkts[s->pkt_ix]);
    w->stats->c.segs_slow++;
    w->stats->c.segs_slow_told += v->events != 0;
    w->stats->c.pure_acks_slow +=
        s->data_len == 0 && (s->flags & (SEG_FIN | SEG_SYN | SEG_RST | SEG_ACK)) == SEG_ACK;
    if (tcp_delivered(v))
        return true;
    count_other(w, s, v);
    return false;
}

static NOINLINE void stage_tcp_input(struct worker *w)
{
    const uint32_t n = w->rx.n_segs;
    uint32_t delivered = n, events = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct tcp_verdict *v = &w->verdicts[i];
        if (unlikely(!tcp_input_common(&w->tcp, &w->rx.segs[i], w->found[i], v)))
            delivered -= !segment_slow(w, i);
        if (v->events != 0) {
            w->events[events++] = (uint8_t)i;
            prefetch0_w(w->tcp.blocks[v->block].app);
        }
    }
    w->n_events = events;
    w->stats->c.segs_told += events;
    w->stats->c.delivered += delivered;
    account_stage(w, STAGE_tcp_input);
}

// deliver_icmp: ICMP errors are processed after the segments of their burst, because a segment may
// acknowledge the data that an error quotes.
static void deliver_icmp(struct worker *w)
{
    for (uint32_t i = 0; i < w->rx.n_icmp; i++) {
        struct tcp_verdict v;
        tcp_icmp(&w->tcp, &w->rx.icmp[i], &v);
        if (v.drop == DROP_icmp_no_owner && w->linux_boxes[w->rx_port] != NULL)
            linux_box_give(w, w->rx_port, w->pkts[w->rx.icmp[i].pkt_ix], NET_LINUX_REST);
        else if (v.drop != DROP_NONE)
            stat_drop(w->stats, v.drop, 1);
        else
            w->stats->c.delivered++;
        if (v.events != 0)
            sock_event(&w->sock, &v, NULL);
    }
}

// answer_datagram: passes a datagram to its application, if a packet for the answer is free.
// Returns whether it was answered.
static bool answer_datagram(struct worker *w, const struct udp_in *u)
{
    struct worker_port *wp = &w->ports[w->rx_port];
    struct core_counters *c = &w->stats->c;
    struct c10m_service *s = &w->sock.services[u->service];
    uint32_t room = 0;
    struct pkt *asked = w->pkts[u->pkt_ix], *p = net_udp_begin(wp->net, u, &wp->tx, &room);
    if (p == NULL) {
        stat_drop(w->stats, DROP_answer_room, 1);
        return false;
    }
    const struct c10m_datagram d = {
        pkt_data(asked) + u->data_off,  u->data_len, net_udp_payload(u, p), room, w->tcp.now.us,
        w->sock.wall_us + w->tcp.now.us};
    shared_u8_store(&w->sock.serving, u->service);
    const int n = s->app->datagram(s, &d);
    CHECK(n <= (int)room);
    if (n < 0 || u->src_port == 0) {
        pkt_free(p);
        c->delivered++;
        return false;
    }
    if (!net_udp_send(wp->net, w->tcp.now, u, asked, p, (uint32_t)n, &wp->tx)) {
        stat_drop(w->stats, DROP_answer_room, 1);
        return false;
    }
    c->tx_udp++;
    c->tx_udp6 += !ip_is_v4(&u->src);
    c->answered++;
    return true;
}

static void deliver_datagram(struct worker *w, const struct udp_in *u)
{
    const bool answered = answer_datagram(w, u);
    if (unlikely(w->traced))
        trace_datagram(w->trace, u->service, answered);
}

// deliver_lost: reports segments whose next hop did not answer. These were never received packets.
static void deliver_lost(struct worker *w)
{
    for (uint32_t i = 0; i < w->n_lost; i++) {
        struct tcp_verdict v;
        tcp_icmp(&w->tcp, &w->lost[i], &v);
        if (v.events != 0)
            sock_event(&w->sock, &v, NULL);
    }
    w->n_lost = 0;
}

static NOINLINE void deliver_others(struct worker *w)
{
    deliver_icmp(w);
    deliver_lost(w);
    for (uint32_t i = 0; i < w->rx.n_udp; i++) {
        const struct udp_in *u = &w->rx.udp[i];
        if (u->kind == UDP_SERVED)
            deliver_datagram(w, u);
        else
            worker_udp_deliver(w, u);
    }
    worker_messages(w);
    if (w->ordered != 0)
        worker_order(w);
    tcp_touch(&w->tcp, BLOCK_NONE);
}

static NOINLINE void stage_app(struct worker *w)
{
    for (uint32_t k = 0; k < w->n_events; k++) {
        const uint32_t i = w->events[k];
        const struct tcp_verdict *v = &w->verdicts[i];
        sock_event(&w->sock, v, frame(w, &w->rx.segs[i]) + v->data_off);
    }
    if (unlikely((w->rx.n_icmp | w->rx.n_udp | w->n_boxed | w->n_lost | w->ordered) != 0))
        deliver_others(w);
    shared_u8_store(&w->sock.serving, SOCK_SERVING_NONE);
    account_stage(w, STAGE_app);
}

static inline void stage_timers(struct worker *w)
{
    struct tcp *t = &w->tcp;
    w->n_expired = wheel_expire(t->wheel, t->now.ms, w->expired, TCP_EXPIRE_MAX);
    for (uint32_t i = 0; i < w->n_expired; i++)
        prefetch0(&t->xmit_runs[flow_index_ix(w->expired[i]) / 64]);
    // Most xmit deadlines were canceled. Their entries are dropped without an access to the block.
    uint32_t n = 0;
    for (uint32_t i = 0; i < w->n_expired; i++) {
        const uint32_t handle = w->expired[i], ix = flow_index_ix(handle);
        const bool xmit = flow_index_kind(handle) == (enum flow_kind)WAKE_XMIT;
        if (xmit && !tcp_xmit_runs(t, ix))
            continue;
        if (flow_index_kind(handle) != (enum flow_kind)WAKE_SYN) {
            prefetch0_w(&t->blocks[ix]);
            prefetch0_w(&t->blocks[ix].snd_end);
            if (!xmit)  // keepalive, linger and the application's timer use this line
                prefetch0_w(&t->blocks[ix].ssthresh);
        }
        w->expired[n++] = handle;
    }
    t->stats->c.timers_void += w->n_expired - n;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t ix = flow_index_ix(w->expired[i]);
        if (flow_index_kind(w->expired[i]) == (enum flow_kind)WAKE_SYN) {
            tcp_syn_timer(t, ix);
            continue;
        }
        const uint16_t events = tcp_timer(t, ix, (enum tcp_wake)flow_index_kind(w->expired[i]));
        if (unlikely(events != 0)) {
            const struct tcp_verdict v = {.block = ix, .chain = BUF_NONE, .events = events};
            sock_event(&w->sock, &v, NULL);
        }
    }
    if (unlikely(w->sock.n_readable != 0))
        sock_tell(&w->sock);
    if ((t->tw4.used | t->tw6.used) != 0)
        tcp_time_wait_expire(t, WORKER_TW_EXPIRE_MAX);
    shared_u8_store(&w->sock.serving, SOCK_SERVING_NONE);
    tcp_touch(&w->tcp, BLOCK_NONE);
    account_stage(w, STAGE_timers);
}

static NOINLINE void stage_tcp_output(struct worker *w)
{
    if (unlikely(w->tcp.lanes.separate))
        tcp_lanes_drain(&w->tcp);
    else
        tcp_output_dirty(&w->tcp);
    account_stage(w, STAGE_tcp_output);
}

// change_captures: when captures_seen is another list, the control thread may free the previous
// list and its sinks. The release store orders the last use before it.
static NOINLINE void change_captures(struct worker *w, const struct capture_list *to)
{
    for (unsigned p = 0; p < w->n_ports && w->captures == NULL; p++)
        w->ports[p].captured = 0;  // the value is outdated after a time without captures
    w->captures = to->n != 0 ? to : NULL;
    shared_ptr_store_release(&w->captures_seen, to);  // pairs with acked()
}

// announce_again: announces the addresses when the control thread asks for it, because a link came
// up. If the packets have no room, for example because the device does not send yet, it tries again
// later.
static void announce_again(struct worker *w, unsigned p)
{
    struct worker_port *wp = &w->ports[p];
    const uint32_t asked = shared_u32_load(&w->announce_asked[p]);
    if (likely(asked == wp->announced) || wp->tx.room - wp->tx.n < NET_ANNOUNCE_MAX)
        return;
    net_announce(wp->net, w->tcp.now, &wp->tx);
    wp->announced = asked;
}

static void tick(struct worker *w)
{
    account_highest(w);
    for (unsigned p = 0; p < w->n_ports; p++) {
        struct worker_port *wp = &w->ports[p];
        announce_again(w, p);
        net_tick(wp->net, w->tcp.now, &wp->tx);
        if (w->n_lost == 0)
            w->n_lost = net_lost(wp->net, w->lost);
    }
    if (unlikely(w->linux_pool != NULL))
        linux_box_send(w);
    tcp_sweep(&w->tcp);
    tcp_shed(&w->tcp);
    const struct capture_list *captures =
        shared_ptr_load_acquire(&w->captures_ordered);  // pairs with publish()
    if (unlikely(captures != shared_ptr_load(&w->captures_seen)))
        change_captures(w, captures);
    const bool all = turn_trace_look(w) || shared_u32_load(&w->watched) != 0;
    w->timed_mask = unlikely(all) ? 0 : WORKER_TIMED_TURNS - 1;
    // Acquire: pairs with the release store in orders.c after the order is written.
    w->ordered = shared_u32_load_acquire(&w->box.asked) != shared_u32_load(&w->box.done);
    w->sock.wall_us = shared_u64_load(w->wall_us);
    account_gauges(w);
}

static inline void housekeeping(struct worker *w)
{
    index_pool_turn_end(w->tcp.block_pool);
    index_pool_turn_end(w->tcp.syn_pool);
    if (++w->rx_port == w->n_ports)
        w->rx_port = 0;
    if (w->turn++ % WORKER_HOUSE_TURNS == 0)
        tick(w);
    account_stage(w, STAGE_housekeeping);
}

bool worker_turn(struct worker *w, struct clock_now now, uint64_t tsc)
{
    w->marks[0] = tsc;
    w->tcp.now = now;
    shared_u32_store(&w->at, STAGE_rx);
    stage_rx(w);
    stage_net_input(w);
    stage_flow_find(w);
    stage_tcp_input(w);
    stage_app(w);
    stage_timers(w);
    stage_tcp_output(w);
    stage_net_output(w);
    stage_tx(w);
    housekeeping(w);
    return account_turn(w);
}

// place: of the worker whose thread t is; in a signal handler.
static void place(const struct own_thread *t, char *text, size_t n)
{
    const struct worker *w = (const void *)((const char *)t - offsetof(struct worker, thread));
    const uint32_t at = shared_u32_load(&w->at);
    const uint8_t serving = shared_u8_load(&w->sock.serving);
    const char *stage = at < STAGE_COUNT ? stat_stage_names[at].name : "?";
    if (serving < w->tcp.n_services)
        snprintf(text, n, "worker on CPU %u, stage %s of service %s, application %s", w->cpu, stage,
                 w->sock.services[serving].name, w->sock.services[serving].app->name);
    else
        snprintf(text, n, "worker on CPU %u, stage %s", w->cpu, stage);
}

static void begin(struct worker *w)
{
    w->thread.place = place;
    for (unsigned p = 0; p < w->n_ports; p++)
        net_announce(w->ports[p].net, worker_now(&w->clock, tsc_read()), &w->ports[p].tx);
    own_thread_begin(&w->thread);
    shared_u32_store(&w->tid, (uint32_t)gettid());
    shared_u32_store_release(&w->state, WORKER_RUNNING);
}

static int end(struct worker *w)
{
    if (shared_u32_load(&w->order) == WORKER_KEEP)
        stopping_keep(w);
    else
        stopping_reset_all(w);
    own_thread_end();
    shared_u32_store_release(&w->state, WORKER_STOPPED);
    return 0;
}

static inline bool ordered_to_run(const struct worker *w)
{
    return likely(shared_u32_load(&w->order) == WORKER_RUN);
}

bool worker_turn_now(struct worker *w)
{
    const uint64_t tsc = tsc_read();
    return worker_turn(w, worker_now(&w->clock, tsc), tsc);
}

static inline void idle(struct worker *w)
{
    if (unlikely(w->idle_wait.mode != IDLE_POLL))
        idle_turn(w);
}

int worker_run(void *worker)
{
    struct worker *w = worker;
    begin(w);
    for (w->tsc_end = tsc_read(); ordered_to_run(w);)
        if (!worker_turn(w, worker_now(&w->clock, w->tsc_end), w->tsc_end))
            idle(w);
    return end(w);
}

int worker_run_shared(void *worker)
{
    struct worker *w = worker;
    begin(w);
    while (ordered_to_run(w)) {
        if (!worker_turn_now(w))
            idle(w);
        sched_yield();
    }
    return end(w);
}
