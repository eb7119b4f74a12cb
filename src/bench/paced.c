// SPDX-License-Identifier: BSD-3-Clause
#include "bench/paced.h"

#include <rte_cycles.h>
#include <rte_pause.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "wire/cksum.h"

enum {
    AT_IP = 14,
    AT_TCP = 34,
    AT_DATA = 54,
    IP_BYTES = 20,
    TCP_BYTES = 20,
    FLAGS_ACK = 0x10,
    FLAGS_PSH = 0x08,
    CALIBRATIONS = 64,
    STEPS_TRIED = 1000,
    BEHIND_MAX = 4 * BURST_MAX,  // most requests that are due and not sent
};

struct conn {
    uint32_t snd_nxt, rcv_nxt;
    bool asked;
    bool unacked;    // the last reply is not acknowledged
    uint32_t epoch;  // epoch of the client at the request
    uint64_t due_tsc;
};

struct serving {
    struct worker *w;
    uint32_t stop CACHE_ALIGNED;
};

struct paced {
    struct paced_params p;
    struct conn *conns;
    uint32_t next;         // connection of the next request
    uint32_t outstanding;  // requests without reply
    // replies to requests of earlier epochs may have been delayed by the client
    uint32_t epoch;
    uint64_t late;  // how often the client was late
    uint64_t hz, sent, lost, last_tsc, start_tsc;
    struct serving serving;
    struct latency latency;  // of the present slice
    uint8_t header[AT_DATA];
};

// ---- on the server's core

static int serve(void *arg)
{
    struct serving *s = arg;
    struct worker *w = s->w;
    shared_u32_store(&w->tid, (uint32_t)gettid());
    for (w->tsc_end = tsc_read(); !__atomic_load_n(&s->stop, __ATOMIC_RELAXED);)
        worker_turn(w, worker_now(&w->clock, w->tsc_end), w->tsc_end);
    return 0;
}

// Work of constant duration: a chain of dependent multiplications.
static NOINLINE uint64_t steps(uint64_t n, uint64_t x)
{
    while (n-- > 0)
        x = x * 0x9e3779b97f4a7c15ull + 1;
    return x;
}

struct idling {
    uint64_t n;  // steps per pass
    uint64_t cycles, seed;
    struct latency *out;
    uint64_t end_tsc;
};

static uint64_t quickest(uint64_t n, uint64_t *seed)
{
    uint64_t least = UINT64_MAX;
    for (unsigned i = 0; i < CALIBRATIONS; i++) {
        const uint64_t start = tsc_read();
        *seed = steps(n, *seed);
        least = MIN(least, tsc_read() - start);
    }
    return least;
}

static int idle(void *arg)
{
    struct idling *it = arg;
    const uint64_t a = quickest(STEPS_TRIED, &it->seed), b = quickest(2 * STEPS_TRIED, &it->seed);
    it->n = it->cycles * STEPS_TRIED / MAX(b - a, 1u);
    uint64_t tsc = tsc_read();
    while (tsc < it->end_tsc) {
        it->seed = steps(it->n, it->seed);
        const uint64_t now = tsc_read();
        latency_add(it->out, now - tsc, 1);
        it->out->max_cycles = MAX(it->out->max_cycles, now - tsc);
        tsc = now;
    }
    return 0;
}

// ---- on the client's core

static uint64_t mark_of(uint32_t conn, uint32_t seq)
{
    return ((uint64_t)conn << 32 | seq) * 0x9e3779b97f4a7c15ull;
}

static void make_header(struct paced *p)
{
    uint8_t *h = p->header;
    memcpy(h, p->p.w->ports[0].port->mac.b, 6);
    memcpy(h + 6, p->p.port->mac.b, 6);
    store_be16(h + 12, 0x0800);
    h[AT_IP] = 0x45;
    store_be16(h + AT_IP + 6, 0x4000);  // do not fragment
    h[AT_IP + 8] = 64;
    h[AT_IP + 9] = 6;
    store_be32(h + AT_IP + 16, p->p.server_v4);
    store_be16(h + AT_TCP + 2, p->p.server_port);
    h[AT_TCP + 12] = (TCP_BYTES / 4) << 4;
    store_be16(h + AT_TCP + 14, 65535);
}

static struct feed_conn address_of(const struct paced *p, uint32_t i)
{
    const struct feed_params fp = {.client_v4 = p->p.client_v4};
    return feed_conn_at(&fp, i);
}

static void put(const struct paced *p, struct pkt *pkt, uint32_t i, uint32_t payload)
{
    const struct conn *c = &p->conns[i];
    const struct feed_conn addr = address_of(p, i);
    uint8_t *h = pkt_data(pkt);
    memcpy(h, p->header, AT_DATA);
    store_be16(h + AT_IP + 2, (uint16_t)(IP_BYTES + TCP_BYTES + payload));
    store_be32(h + AT_IP + 12, addr.remote_v4);
    store_raw16(h + AT_IP + 10, (uint16_t)~cksum_fold(cksum_add(0, h + AT_IP, IP_BYTES)));
    store_be16(h + AT_TCP, addr.remote_port);
    store_be32(h + AT_TCP + 4, c->snd_nxt);
    store_be32(h + AT_TCP + 8, c->rcv_nxt);
    h[AT_TCP + 13] = payload != 0 ? FLAGS_ACK | FLAGS_PSH : FLAGS_ACK;
    const uint64_t mark = mark_of(i, c->snd_nxt);
    for (uint32_t at = 0; at < payload; at += sizeof(mark))
        memcpy(h + AT_DATA + at, &mark, sizeof(mark));
    const uint64_t pseudo = cksum_pseudo4(load_raw32(h + AT_IP + 12), load_raw32(h + AT_IP + 16), 6,
                                          (uint16_t)(TCP_BYTES + payload));
    store_raw16(h + AT_TCP + 16,
                (uint16_t)~cksum_fold(cksum_add(pseudo, h + AT_TCP, TCP_BYTES + payload)));
    pkt_set_len(pkt, AT_DATA + payload);
}

// Sends up to BURST_MAX requests that are due. A request is lost if its connection still waits for
// a reply, or if the ring is full.
static int ask(struct paced *p, uint64_t n_due, double cycles_each, uint64_t now, struct err *err)
{
    struct pkt *out[BURST_MAX];
    uint32_t who[BURST_MAX], n = 0;
    const uint32_t wanted = (uint32_t)MIN(n_due, (uint64_t)BURST_MAX);
    if (!pkt_alloc_bulk(p->p.pool, out, wanted))
        return err_set(err, "the client's pool has less than %u free packets", wanted);
    for (uint32_t i = 0; i < wanted; i++) {
        struct conn *c = &p->conns[p->next];
        if (!c->asked) {
            put(p, out[n], p->next, PACED_PAYLOAD);
            c->due_tsc = now;
            if (cycles_each != 0)
                c->due_tsc =
                    p->start_tsc + (uint64_t)((double)(p->sent + p->lost + i) * cycles_each);
            who[n++] = p->next;
        }
        p->next = p->next + 1 == p->p.connections ? 0 : p->next + 1;
    }
    const uint32_t took = n == 0 ? 0 : p->p.port->ops->tx_burst(p->p.port, 0, out, (uint16_t)n);
    pkt_free_bulk(out + took, wanted - took);
    for (uint32_t i = 0; i < took; i++) {
        struct conn *c = &p->conns[who[i]];
        c->snd_nxt += PACED_PAYLOAD;
        c->asked = true;
        c->unacked = false;
        c->epoch = p->epoch;
    }
    p->outstanding += took;
    p->sent += took;
    p->lost += wanted - took;
    return 0;
}

// Returns 0, or -1 for a wrong reply. Ignores other packets, such as ARP at the start and
// retransmitted replies.
static int check_reply(struct paced *p, const struct pkt *pkt, uint64_t now, struct err *err)
{
    const uint8_t *h = pkt_data(pkt);
    if (pkt_len(pkt) != AT_DATA + PACED_PAYLOAD || h[AT_IP + 9] != 6)
        return 0;
    const uint32_t host = load_be32(h + AT_IP + 16) - p->p.client_v4;
    const uint32_t port = (uint32_t)load_be16(h + AT_TCP + 2) - FEED_PORT_FIRST;
    const uint64_t i = (uint64_t)host * FEED_PORTS + port;
    if (port >= FEED_PORTS || i >= p->p.connections)
        return err_set(err, "a reply on an unknown connection");
    struct conn *c = &p->conns[i];
    if (!c->asked || load_be32(h + AT_TCP + 4) != c->rcv_nxt)
        return 0;
    uint64_t mark;
    memcpy(&mark, h + AT_DATA, sizeof(mark));
    if (mark != mark_of((uint32_t)i, c->snd_nxt - PACED_PAYLOAD) ||
        memcmp(h + AT_DATA, h + AT_DATA + sizeof(mark), PACED_PAYLOAD - sizeof(mark)) != 0 ||
        load_be32(h + AT_TCP + 8) != c->snd_nxt)
        return err_set(err, "connection %u: the reply does not match the request", (unsigned)i);
    c->rcv_nxt += PACED_PAYLOAD;
    c->asked = false;
    c->unacked = true;
    p->outstanding--;
    if (c->epoch == p->epoch) {
        const uint64_t took = now - MIN(now, c->due_tsc);
        latency_add(&p->latency, took, 1);
        p->latency.max_cycles = MAX(p->latency.max_cycles, took);
    }
    return 0;
}

static int take(struct paced *p, struct err *err)
{
    struct pkt *in[BURST_MAX];
    const uint16_t n = p->p.port->ops->rx_burst(p->p.port, 0, in, BURST_MAX);
    const uint64_t now = tsc_read();
    int rc = 0;
    for (uint16_t i = 0; i < n && rc == 0; i++)
        rc = check_reply(p, in[i], now, err);
    pkt_free_bulk(in, n);
    return rc;
}

// If the client was interrupted, its clock stood still in the meantime.
static void mind_the_gap(struct paced *p, uint64_t now)
{
    const uint64_t gap = now - p->last_tsc;
    p->last_tsc = now;
    if (gap < PACED_LATE_US * p->hz / 1000000)
        return;
    p->start_tsc += gap;
    p->epoch++;
    p->late++;
}

// Limits the requests that are due if the client cannot reach the rate, because this backlog is not
// caused by the server.
static uint64_t backlog(struct paced *p, uint64_t now, double cycles_each)
{
    const uint64_t due = (uint64_t)((double)(now - p->start_tsc) / cycles_each);
    const uint64_t done = p->sent + p->lost;
    if (due <= done)
        return 0;
    if (due - done <= BEHIND_MAX)
        return due - done;
    p->start_tsc += (uint64_t)((double)(due - done - BEHIND_MAX) * cycles_each);
    return BEHIND_MAX;
}

// before: the counters at the beginning of a slice.
struct before {
    uint64_t end_tsc, sent, lost, stalls, late;
    struct latency turns;
    bool disturbed;  // whether the previous slice was disturbed
};

static void begin_slice(struct paced *p, struct before *b)
{
    b->end_tsc = tsc_read() + PACED_SLICE_US * p->hz / 1000000;
    b->sent = p->sent;
    b->lost = p->lost;
    b->late = p->late;
    b->stalls = stat_load(&p->p.w->stats->c.turns_over_100us);
    latency_snapshot(&b->turns, &p->p.w->busy);
    memset(&p->latency, 0, sizeof(p->latency));
}

static void add(struct paced_sum *to, const struct paced_sum *from)
{
    to->slices++;
    to->sent += from->sent;
    to->lost += from->lost;
    latency_sum(&to->latency, &from->latency);
    latency_sum(&to->turns, &from->turns);
}

static void end_slice(struct paced *p, struct before *b, struct paced_result *r)
{
    static struct paced_sum one;
    one.sent = p->sent - b->sent;
    one.lost = p->lost - b->lost;
    one.latency = p->latency;
    latency_snapshot(&one.turns, &p->p.w->busy);
    latency_since(&one.turns, &b->turns);
    const bool disturbed =
        p->late != b->late || stat_load(&p->p.w->stats->c.turns_over_100us) != b->stalls;
    add(&r->all, &one);
    if (!disturbed && !b->disturbed)
        add(&r->calm, &one);
    b->disturbed = disturbed;
    p->p.between(p->p.arg);
    const uint64_t now = tsc_read();
    p->start_tsc += now - p->last_tsc;  // exclude the time between slices
    p->last_tsc = now;
    p->epoch++;
    begin_slice(p, b);
}

static int ask_all(struct paced *p, double rate, double seconds, struct paced_result *r,
                   struct err *err)
{
    static struct before b;
    const double each = rate == 0 ? 0 : (double)p->hz / rate;
    const uint64_t length = (uint64_t)(seconds * (double)p->hz);
    int rc = 0;
    p->sent = p->lost = 0;
    p->start_tsc = p->last_tsc = tsc_read();
    b.disturbed = true;  // the first slice warms up
    begin_slice(p, &b);
    while (rc == 0 && p->last_tsc - p->start_tsc < length && !interrupted()) {
        const uint64_t now = tsc_read();
        mind_the_gap(p, now);
        const bool idle_conn = !p->conns[p->next].asked;
        const uint64_t due = rate != 0 ? backlog(p, now, each) : idle_conn ? BURST_MAX : 0;
        if (due != 0)
            rc = ask(p, due, each, now, err);
        if (rc == 0)
            rc = take(p, err);
        if (now >= b.end_tsc)
            end_slice(p, &b, r);
    }
    r->seconds = (double)(p->last_tsc - p->start_tsc) / (double)p->hz;
    return rc == 0 && interrupted() ? err_set(err, "interrupted") : rc;
}

// Waits for outstanding replies and acknowledges all, so that the server has no data in flight.
static int settle(struct paced *p, struct err *err)
{
    const uint64_t end = tsc_read() + FEED_TIMEOUT_S * p->hz;
    int rc = 0;
    while (rc == 0 && p->outstanding != 0 && tsc_read() < end)
        rc = take(p, err);
    if (rc == 0 && p->outstanding != 0)
        rc = err_set(err, "%u requests got no reply within %d s", p->outstanding, FEED_TIMEOUT_S);
    for (uint32_t i = 0; rc == 0 && i < p->p.connections;) {
        struct pkt *pkt;
        if (!p->conns[i].unacked) {
            i++;
            continue;
        }
        if (!pkt_alloc_bulk(p->p.pool, &pkt, 1))
            return err_set(err, "the client's pool is empty");
        put(p, pkt, i, 0);
        if (p->p.port->ops->tx_burst(p->p.port, 0, &pkt, 1) == 1) {
            p->conns[i].unacked = false;
            continue;
        }
        pkt_free(pkt);
        rc = tsc_read() < end ? take(p, err)
                              : err_set(err, "the server does not receive any more packets");
    }
    return rc;
}

static void count_server(const struct paced *p, const struct core_stats *before,
                         struct paced_result *r)
{
    static struct core_stats now;
    stat_snapshot(&now, p->p.w->stats);
    uint64_t all = 0;
    for (unsigned i = 0; i < STAGE_COUNT; i++)
        all += now.cycles[i] - before->cycles[i];
    const uint64_t idle_cycles = now.cycles[STAGE_idle] - before->cycles[STAGE_idle];
    const double packets = (double)MAX(now.c.rx_packets - before->c.rx_packets, 1u);
    r->busy_share = 1 - (double)idle_cycles / (double)MAX(all, 1u);
    r->cycles = (double)(all - idle_cycles) / packets;
    r->burst = packets / (double)MAX(now.c.turns_busy - before->c.turns_busy, 1u);
}

int paced_run(struct paced *p, double rate, double seconds, struct paced_result *r, struct err *err)
{
    static struct core_stats before;
    static struct latency idle_before;
    memset(r, 0, sizeof(*r));
    p->serving.stop = 0;
    p->epoch = 0;
    p->late = 0;
    for (uint32_t i = 0; i < p->p.connections; i++)
        p->conns[i].epoch = 0;
    if (eal_worker_launch(0, serve, &p->serving, err) != 0)
        return -1;
    for (const uint64_t turns = stat_load(&p->p.w->stats->c.turns);
         stat_load(&p->p.w->stats->c.turns) == turns;)
        rte_pause();
    p->p.begun(p->p.arg);
    stat_snapshot(&before, p->p.w->stats);
    latency_snapshot(&idle_before, &p->p.w->idle);
    int rc = ask_all(p, rate, seconds, r, err);
    count_server(p, &before, r);
    latency_snapshot(&r->idle, &p->p.w->idle);
    latency_since(&r->idle, &idle_before);
    r->rate = (double)p->sent / r->seconds;
    r->client_late = p->late;
    if (rc == 0)
        rc = settle(p, err);
    __atomic_store_n(&p->serving.stop, 1, __ATOMIC_RELAXED);
    eal_worker_join(0);
    return rc;
}

int paced_idle(struct paced *p, uint64_t cycles, double seconds, struct latency *out,
               struct err *err)
{
    struct idling it = {
        .cycles = cycles, .out = out, .end_tsc = tsc_read() + (uint64_t)(seconds * (double)p->hz)};
    if (eal_worker_launch(0, idle, &it, err) != 0)
        return -1;
    eal_worker_join(0);
    return 0;
}

struct paced *paced_new(const struct paced_params *params)
{
    struct paced *p = aligned_alloc(CACHE_LINE, ALIGN_UP(sizeof(*p), CACHE_LINE));
    if (p == NULL)
        return NULL;
    memset(p, 0, sizeof(*p));
    p->p = *params;
    p->hz = rte_get_tsc_hz();
    p->serving.w = params->w;
    p->conns = calloc(params->connections, sizeof(p->conns[0]));
    if (p->conns == NULL) {
        free(p);
        return NULL;
    }
    for (uint32_t i = 0; i < params->connections; i++)
        p->conns[i] = (struct conn){.snd_nxt = FEED_ISS + 1, .rcv_nxt = FEED_ISS + 1};
    make_header(p);
    struct pkt *early;  // provides packets for the first replies
    if (p->p.port->ops->rx_burst(p->p.port, 0, &early, 1) != 0)
        pkt_free(early);
    return p;
}

void paced_free(struct paced *p)
{
    if (p == NULL)
        return;
    free(p->conns);
    free(p);
}
