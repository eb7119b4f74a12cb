// SPDX-License-Identifier: BSD-3-Clause
#include "load/load.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "load/load_stream.h"
#include "load/load_udp.h"

enum { LARGE_PAGE = 2 << 20 };

uint32_t load_permute(uint32_t i, uint32_t n, uint64_t key)
{
    unsigned half = 1;
    while ((1ULL << (2 * half)) < n)
        half++;
    const uint32_t mask = (1u << half) - 1;
    do {
        uint32_t left = i >> half, right = i & mask;
        for (unsigned r = 0; r < 4; r++) {
            const uint64_t f = (right + key + r) * 0x9e3779b97f4a7c15ULL;
            const uint32_t next = (left ^ (uint32_t)(f >> 40)) & mask;
            left = right;
            right = next;
        }
        i = left << half | right;
    } while (i >= n);
    return i;
}

static int check_params(const struct load_params *p, struct err *err)
{
    if (p->connections == 0 || p->connections > LOAD_CONNECTIONS_MAX)
        return err_set(err, "connections %u: expected 1 to %d", p->connections,
                       LOAD_CONNECTIONS_MAX);
    if (p->window == 0 || p->window > LOAD_WINDOW_MAX)
        return err_set(err, "window %u: expected 1 to %d", p->window, LOAD_WINDOW_MAX);
    if (p->tuples > p->connections || p->rate > LOAD_RATE_MAX)
        return err_set(err, "tuples %u, rate %u: expected at most %u and %d", p->tuples, p->rate,
                       p->connections, LOAD_RATE_MAX);
    if (p->give_up_ms > LOAD_GIVE_UP_MS_MAX || (p->give_up_ms != 0 && p->rate == 0))
        return err_set(err, "give_up_ms %u: expected at most %d, and a rate", p->give_up_ms,
                       LOAD_GIVE_UP_MS_MAX);
    if (p->payload < LOAD_PAYLOAD_MIN || p->payload > LOAD_PAYLOAD_MAX)
        return err_set(err, "payload %u: expected %d to %d", p->payload, LOAD_PAYLOAD_MIN,
                       LOAD_PAYLOAD_MAX);
    return 0;
}

// Allocates the memory that only some loads need. Returns 0, or -1 without memory.
static int make_ways(struct load *l)
{
    const struct load_params *p = &l->p;
    if (p->stream != LOAD_NO_STREAM && (l->streams = load_streams_new(l)) == NULL)
        return -1;
    if (p->http_path != NULL && (l->http = load_http_new(p->http_path)) == NULL)
        return -1;
    if (p->udp && (l->udp = load_udp_new()) == NULL)
        return -1;
    if (!p->udp && p->tuples == 0 && p->rate != 0 &&
        (l->from_ns = calloc(p->connections, sizeof(l->from_ns[0]))) == NULL)
        return -1;
    return 0;
}

// The memory is touched now and uses transparent hugepages if the kernel has them, so that page
// faults and TLB misses of the client do not appear in the measurements of the server.
static struct load_conn *records(uint32_t n)
{
    const size_t bytes = ALIGN_UP((size_t)n * sizeof(struct load_conn), (size_t)LARGE_PAGE);
    struct load_conn *c = aligned_alloc(LARGE_PAGE, bytes);
    if (c == NULL)
        return NULL;
    madvise(c, bytes, MADV_HUGEPAGE);
    memset(c, 0, bytes);
    return c;
}

// Zeroed, with an alignment that calloc() does not guarantee.
static struct load *load_zeroed(void)
{
    struct load *l = aligned_alloc(_Alignof(struct load), sizeof(*l));
    if (l != NULL)
        memset(l, 0, sizeof(*l));
    return l;
}

struct load *load_new(const struct load_params *p, struct err *err)
{
    if (check_params(p, err) != 0)
        return NULL;
    struct load *l = load_zeroed();
    if (l != NULL)
        l->conns = records(p->connections);
    if (l == NULL || l->conns == NULL || load_wait_init(l) != 0) {
        err_set(err, "no memory for %u connections of %zu bytes", p->connections,
                sizeof(struct load_conn));
        load_free(l);
        return NULL;
    }
    l->p = *p;
    if (make_ways(l) != 0) {
        err_set(err, "no memory for the load of %u connections", p->connections);
        load_free(l);
        return NULL;
    }
    l->held = p->connections - p->tuples;
    if (load_full_init(l) != 0 || load_give_up_init(l) != 0) {
        err_set(err, "no memory for the times of %u connections", p->tuples);
        load_free(l);
        return NULL;
    }
    l->full.next = l->held;
    l->full.rng = p->seed;
    l->v6 = !ip_is_v4(&p->server);
    l->first_low = ip_to_v4(&p->first);
    wire_from_init(&l->from, &p->port->mac, l->first_low);
    wire_from6_init(&l->from6, &p->port->mac, &p->first);
    l->hop_mac_word = wire_mac_word(&p->hop_mac);
    wire_common_init(&l->common, &p->port->mac, NULL);
    return l;
}

void load_free(struct load *l)
{
    if (l == NULL)
        return;
    pkt_free_bulk(l->out, l->n_out);
    load_wait_free(l);
    load_streams_free(l->streams);
    load_udp_free(l->udp);
    free(l->http);
    free(l->from_ns);
    free(l->full.lives);
    free(l->full.begun);
    free(l->conns);
    free(l);
}

void load_stop_asking(struct load *l)
{
    if (l->phase == LOAD_FULL && !l->stop_asking)
        load_full_stop(l);
    if (!l->stop_asking)
        l->stopped_ns = l->now_ns;
    l->stop_asking = true;
}

// Returns the number of packets received.
static uint32_t receive(struct load *l)
{
    struct pkt *in[BURST_MAX];
    struct seg_in segs[BURST_MAX];
    uint32_t conn[BURST_MAX];
    // A packet may cause up to two answers. Packets without room for them stay in the port.
    const uint16_t room = (uint16_t)MIN((LOAD_OUT_MAX - l->n_out) / 2, (uint32_t)BURST_MAX);
    const uint16_t n = room == 0 ? 0 : l->p.port->ops->rx_burst(l->p.port, 0, in, room);
    for (uint16_t i = 0; i < n; i++)
        prefetch0(pkt_data(in[i]));
    for (uint16_t i = 0; i < n; i++) {
        conn[i] = load_frame_input(l, in[i], &segs[i]);
        if (conn[i] != UINT32_MAX)
            prefetch0_w(&l->conns[conn[i]]);
    }
    for (uint16_t i = 0; i < n; i++)
        if (conn[i] != UINT32_MAX)
            load_segment_input(l, conn[i], &segs[i], pkt_data(in[i]) + segs[i].data_off);
    l->c.rx_packets += n;
    if (n != 0)
        pkt_free_bulk(in, n);
    return n;
}

uint32_t load_choose(const struct load *l, uint32_t at)
{
    if (l->p.order == LOAD_IN_TURN)
        return at;
    return load_permute(at, l->held, l->p.seed + l->round);
}

// Starts a burst of connections of this phase. A first pass prefetches their records.
static void start_some(struct load *l)
{
    enum { AT_ONCE = 64 };
    static const enum load_state from[] = {
        [LOAD_OPEN] = LOAD_CLOSED, [LOAD_ASK] = LOAD_IDLE, [LOAD_CLOSE] = LOAD_IDLE};
    static const enum load_state to[] = {
        [LOAD_OPEN] = LOAD_OPENING, [LOAD_ASK] = LOAD_ASKED, [LOAD_CLOSE] = LOAD_FIN_WAIT};
    uint32_t pick[AT_ONCE];
    uint32_t n = MIN(load_asks_more(l), (uint32_t)AT_ONCE);
    n = MIN(n, l->held - l->cursor);
    n = MIN(n, load_wait_room(l));
    n = MIN(n, LOAD_OUT_MAX - l->n_out);  // if the port is full, queued packets are sent first
    for (uint32_t k = 0; k < n; k++) {
        pick[k] = l->phase == LOAD_ASK ? load_choose(l, l->cursor + k) : l->cursor + k;
        prefetch0_w(&l->conns[pick[k]]);
    }
    for (uint32_t k = 0; k < n; k++) {
        struct load_conn *c = &l->conns[pick[k]];
        if (c->state == LOAD_ASKED)
            break;  // still in the previous round: wait for its answer
        l->cursor++;
        if (c->state != from[l->phase])
            continue;
        load_start(l, pick[k], to[l->phase], l->now_ns);
    }
}

// Enters a phase.
static void enter(struct load *l, enum load_phase phase)
{
    l->phase = phase;
    l->cursor = 0;
    if (phase == LOAD_FULL)
        l->full.from_ns = l->now_ns;
}

static enum load_phase after(const struct load *l)
{
    switch (l->phase) {
    case LOAD_OPEN:
        return l->p.tuples != 0 ? LOAD_FULL : LOAD_ASK;
    case LOAD_FULL:
        return l->held != 0 ? LOAD_ASK : LOAD_END;
    case LOAD_ASK:
        return l->p.close ? LOAD_CLOSE : LOAD_END;
    default:
        return LOAD_END;
    }
}

static void next_phase(struct load *l)
{
    if (l->phase == LOAD_FULL) {
        if (!l->stop_asking || !load_full_ended(l))
            return;
        l->stop_asking = false;
        l->p.rounds = 1;
        enter(l, after(l));
        return;
    }
    if (l->phase == LOAD_ASK && l->stop_asking)
        load_give_up_rest(l);
    if (l->phase == LOAD_ASK && l->stop_asking && l->in_flight == 0) {
        enter(l, after(l));
        return;
    }
    if (l->cursor < l->held)
        return;
    if (l->phase == LOAD_ASK && (l->p.rounds == 0 || l->round + 1 < l->p.rounds)) {
        l->cursor = 0;  // start the next round at once
        l->round++;
        return;
    }
    if (l->in_flight == 0)
        enter(l, after(l));
}

static void set_clock(struct load *l, uint64_t now_ns)
{
    uint64_t step = l->turned ? now_ns - l->real_ns : 0;
    if (unlikely(step > LOAD_STALL_US * UINT64_C(1000))) {
        l->c.client_stalls++;
        l->c.client_stalled_us += step / 1000;
        step = 0;
    }
    if (l->busy)
        l->c.client_busy_ns += step;
    l->turned = true;
    l->real_ns = now_ns;
    l->now_ns += step;
    l->now_us = l->now_ns / 1000;
    l->now_ms = (uint32_t)(l->now_us / 1000) + 1;
}

enum load_phase load_turn(struct load *l, uint64_t now_ns)
{
    set_clock(l, now_ns);
    if (l->udp != NULL)
        return load_udp_turn(l);
    const uint64_t sent = l->c.tx_packets;
    const uint32_t n = receive(l);
    load_wait_expire(l);
    if (l->streams != NULL)
        load_stream_turn(l, n, l->phase == LOAD_ASK && !l->stop_asking);
    if (unlikely(!load_ready(l)))
        load_ask_hop(l);
    else if (l->phase == LOAD_FULL)
        load_full_turn(l);
    else if (l->phase == LOAD_ASK && l->from_ns != NULL && !l->stop_asking)
        load_start_scheduled(l);
    else if (l->phase != LOAD_END &&
             !(l->phase == LOAD_ASK && (l->stop_asking || l->streams != NULL)))
        start_some(l);
    if (l->n_out != 0)
        load_flush(l);
    l->busy = n != 0 || l->c.tx_packets != sent;
    if (l->phase != LOAD_END && load_ready(l))
        next_phase(l);
    return l->phase;
}
