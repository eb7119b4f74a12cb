// SPDX-License-Identifier: BSD-3-Clause
// The plan of a seed: everything that is drawn before the first frame.
#include <string.h>

#include "sim.h"

const char *const sim_fault_names[FAULT_COUNT] = {
    "loss", "burst",    "reorder", "duplicate", "corrupt", "queue",   "mtu", "blackhole",
    "ecn",  "blackout", "split",   "forge",     "stall",   "tx_full", "lie", "adopt",
};

enum {
    SHARE_V6 = 35,      // percent of the seeds
    MOST_SMALL = 2034,  // the largest MTU whose frames fit packets that are not jumbo ones
};

enum shape { SHAPE_BULK, SHAPE_MIXED, SHAPE_CHURN, SHAPE_SCARCE, SHAPE_STORM };

static const char *const shape_names[] = {"bulk", "mixed", "churn", "scarce", "storm"};

// Of eight seeds in a row: what share of them has which shape.
static const uint8_t shape_of[8] = {SHAPE_BULK,  SHAPE_MIXED,  SHAPE_CHURN, SHAPE_BULK,
                                    SHAPE_STORM, SHAPE_SCARCE, SHAPE_MIXED, SHAPE_STORM};

struct draw {
    struct rng r;
    struct sim_plan *p;
    enum shape shape;
};

static uint32_t between(struct draw *d, uint32_t lo, uint32_t hi)
{
    return lo + rng_below(&d->r, hi - lo + 1);
}

static bool percent(struct draw *d, uint32_t n)
{
    return rng_below(&d->r, 100) < n;
}

// As many numbers of each size: lo << (0..doublings), and what lies between.
static uint64_t sized(struct draw *d, uint64_t lo, uint32_t doublings)
{
    const uint64_t base = lo << rng_below(&d->r, doublings + 1);
    return base + (rng_u64(&d->r) >> 32) * base / UINT32_MAX;
}

static uint32_t one_of(struct draw *d, const uint32_t *list, uint32_t n)
{
    return list[rng_below(&d->r, n)];
}

#define ONE_OF(d, ...)                                                                             \
    one_of(d, (const uint32_t[]){__VA_ARGS__}, ARRAY_LEN(((const uint32_t[]){__VA_ARGS__})))

static void draw_tcp(struct draw *d, struct tcp_config *c)
{
    *c = tcp_config_default();
    c->timestamps = percent(d, 60);
    c->sack = percent(d, 75);
    c->window_scale = (uint8_t)ONE_OF(d, 0, 2, 4, 7, 7, 9, 14);
    c->ack_merge = percent(d, 70);
    c->delayed_ack_ms = ONE_OF(d, 1, 10, 40, 40, 200, 500);
    c->rto_min_ms = ONE_OF(d, 10, 50, 200, 200, 1000);
    c->rto_max_ms = ONE_OF(d, 2000, 10000, 60000, 120000);
    c->rto_initial_ms = ONE_OF(d, 200, 1000, 1000, 3000);
    c->initial_window = ONE_OF(d, 1, 2, 4, 10, 10, 32);
    c->pacing_rtt_ms = ONE_OF(d, 0, 1, 5, 5, 50);
    c->time_wait_ms = ONE_OF(d, 100, 1000, 10000, 60000);
    c->fin_wait2_ms = ONE_OF(d, 500, 5000, 60000);
    c->large = percent(d, 30);
    // With cookies, data that overtakes the handshake's last ACK is answered by a RST: as in Linux.
    c->syn_cookies = (uint8_t)ONE_OF(d, TCP_COOKIES_OFF, TCP_COOKIES_AUTO, TCP_COOKIES_AUTO,
                                     d->p->gentle ? TCP_COOKIES_AUTO : TCP_COOKIES_ALWAYS);
    c->ecn = (uint8_t)ONE_OF(d, TCP_ECN_OFF, TCP_ECN_ACCEPT, TCP_ECN_ON, TCP_ECN_ON);
    if (d->p->gentle)
        return;
    c->syn_retries = ONE_OF(d, 1, 3, 6);
    c->synack_retries = ONE_OF(d, 0, 2, 5);
    c->retries = ONE_OF(d, 2, 5, 15);
    c->retries1 = ONE_OF(d, 1, 3, 3);
    c->black_hole_detection = percent(d, 70);
    ONE_OF(d, 10, 1000, 1000);  // of a limit that is no more: seeds mean what they did
    c->rst_per_s = ONE_OF(d, 10, 1000, 1000, 100000);
}

static void draw_clock(struct draw *d, struct sim_host_plan *h)
{
    // Milliseconds wrap at 2^32, and the sign of their differences at 2^31.
    const uint64_t around = percent(d, 50) ? 1ull << 32 : 1ull << 31;
    h->clock_us = percent(d, 40) ? 1000000 : (around - between(d, 0, 60000)) * 1000;
}

static void draw_scarce(struct draw *d, struct sim_host_plan *h)
{
    h->connections = (uint32_t)sized(d, 2, 5);
    h->buffers = 324 + (uint32_t)sized(d, 4, 6);
    h->extensions = (uint32_t)sized(d, 1, 4);
    h->flight_logs = (uint32_t)sized(d, 1, 4);
    h->syn_received = (uint32_t)sized(d, 1, 4);
    h->time_wait = (uint32_t)sized(d, 1, 4);
    h->rcv_limit = (uint32_t)sized(d, 1024, 5);
    h->snd_limit = (uint32_t)sized(d, 512, 6);
}

static void draw_host(struct draw *d, struct sim_host_plan *h, uint16_t mtu)
{
    *h = (struct sim_host_plan){.mtu = mtu,
                                .connections = 1024,
                                .buffers = 4096,
                                .extensions = 1024,
                                .flight_logs = 1024,
                                .syn_received = 512,
                                .time_wait = 4096,
                                .nodelay = percent(d, 50),
                                .statics = percent(d, 50),
                                .few_max = between(d, 1, 4)};
    draw_tcp(d, &h->tcp);
    draw_clock(d, h);
    h->rcv_limit = (uint32_t)sized(d, 4096, 6);
    h->snd_limit = (uint32_t)sized(d, 4096, 6);
    h->rcv_initial = percent(d, 50) ? 0 : (uint32_t)sized(d, 2048, 5);
    h->snd_initial = percent(d, 50) ? 0 : (uint32_t)sized(d, 2048, 5);
    h->congestion = (uint8_t)ONE_OF(d, TCP_CUBIC, TCP_CUBIC, TCP_NEWRENO);
    h->keepalive_ms = percent(d, 20) ? ONE_OF(d, 50, 1000, 20000) : 0;
    h->keepalive_interval_ms = ONE_OF(d, 200, 1000, 75000);
    // A peer answers old numbers every 500 ms only (invalid_ack_ms): of nine probes in 1.8 s three.
    if (d->p->gentle)
        h->keepalive_interval_ms = MAX(h->keepalive_interval_ms, 1000);
    h->keepalive_probes = d->p->gentle ? 9 : between(d, 1, 9);
    h->user_timeout_ms = d->p->gentle || percent(d, 80) ? 0 : (uint32_t)sized(d, 500, 7);
    h->gap_ns = (uint32_t)sized(d, 2000, 8);
    if (d->shape == SHAPE_BULK) {
        h->rcv_limit = 65536 << rng_below(&d->r, 3);
        h->snd_limit = 65536 << rng_below(&d->r, 3);
        h->gap_ns = between(d, 20000, 100000);
        h->tcp.ack_merge = percent(d, 90);
    } else if (d->shape == SHAPE_SCARCE) {
        draw_scarce(d, h);
    }
    if (d->shape == SHAPE_BULK)
        return;
    h->tx_full_ppm = percent(d, 30) ? between(d, 1, 50000) : 0;
    h->stall_ppm = percent(d, 30) ? between(d, 1, 5000) : 0;
    h->stall_ns = (uint32_t)sized(d, 100000, 11);
}

static void draw_ppm(struct draw *d, struct sim_link_plan *l, enum sim_fault f, uint32_t percents,
                     uint32_t lo, uint32_t doublings)
{
    l->ppm[f] = percent(d, percents) ? (uint32_t)sized(d, lo, doublings) : 0;
}

static void draw_outages(struct draw *d, struct sim_link_plan *l)
{
    l->n_outages = between(d, 1, SIM_OUTAGES_MAX);
    for (unsigned i = 0; i < l->n_outages; i++) {
        const uint64_t from = sized(d, 1000000, 14), len = sized(d, 1000000, 15);
        l->outages[i].from_ns = from;
        l->outages[i].to_ns = from + len;
    }
}

static uint16_t mtu_min(const struct draw *d)
{
    return d->p->v6 ? 1280 : 576;  // RFC 8200 5; RFC 791: what every host takes whole
}

static void draw_heavy(struct draw *d, struct sim_link_plan *l, uint16_t mtu)
{
    draw_ppm(d, l, FAULT_LOSS, 70, 1000, 7);
    draw_ppm(d, l, FAULT_REORDER, 70, 1000, 8);
    draw_ppm(d, l, FAULT_DUPLICATE, 60, 1000, 7);
    draw_ppm(d, l, FAULT_CORRUPT, 50, 500, 6);
    draw_ppm(d, l, FAULT_SPLIT, 50, 1000, 7);
    if (d->p->forged)
        draw_ppm(d, l, FAULT_FORGE, 80, 1000, 8);
    draw_ppm(d, l, FAULT_ECN, 40, 1000, 8);
    if (percent(d, 40)) {
        l->burst_enter_ppm = (uint32_t)sized(d, 500, 5);
        l->burst_leave_ppm = (uint32_t)sized(d, 20000, 4);
    }
    if (percent(d, 25)) {
        l->mtu = (uint16_t)between(d, mtu_min(d), mtu);
        l->mtu_from_ms = percent(d, 50) ? 0 : between(d, 1, 2000);
        l->ppm[FAULT_BLACKHOLE] = percent(d, 30);
    }
    if (percent(d, 25))
        draw_outages(d, l);
}

static void draw_light(struct draw *d, struct sim_link_plan *l)
{
    const bool bulk = d->shape == SHAPE_BULK;
    draw_ppm(d, l, FAULT_LOSS, 40, bulk ? 2 : 100, 7);
    draw_ppm(d, l, FAULT_REORDER, 30, bulk ? 2 : 100, bulk ? 6 : 8);
    draw_ppm(d, l, FAULT_DUPLICATE, 30, bulk ? 2 : 100, 7);
    draw_ppm(d, l, FAULT_CORRUPT, 20, bulk ? 1 : 50, 7);
    draw_ppm(d, l, FAULT_SPLIT, 20, bulk ? 2 : 100, 7);
    draw_ppm(d, l, FAULT_ECN, 30, 100, 8);
}

static void draw_link(struct draw *d, struct sim_link_plan *l, uint16_t mtu)
{
    memset(l, 0, sizeof(*l));
    l->delay_ns = (uint32_t)sized(d, 5000, 12);
    l->late_ns = (uint32_t)sized(d, 10000, percent(d, 20) ? 16 : 8);
    l->mbit_per_s = percent(d, 30) ? 0 : (uint32_t)sized(d, 10, 11);
    l->queue_ns = (uint32_t)sized(d, 200000, 8);
    if (d->shape == SHAPE_BULK) {
        l->delay_ns = (uint32_t)sized(d, 2000, 6);
        l->mbit_per_s = percent(d, 30) ? 0 : between(d, 5000, 40000);
        l->queue_ns = (uint32_t)sized(d, 1000000, 3);
    }
    if (percent(d, 20))
        l->jitter_ns = l->delay_ns;
    if (d->p->gentle)
        draw_light(d, l);
    else
        draw_heavy(d, l, mtu);
}

static void draw_manner(struct draw *d, struct sim_side *s, const struct sim_host_plan *h)
{
    s->to_send = percent(d, 20) ? 0 : sized(d, 1, 17);
    s->send = SEND_ALL;
    s->chunk = (uint32_t)sized(d, 1, 17);
    if (percent(d, 25)) {
        s->send = SEND_TRICKLE;
        s->chunk = (uint32_t)sized(d, 1, 8);
        s->trickle_ms = (uint32_t)sized(d, 1, 7);
        s->to_send = sized(d, 1, 10);
    }
    s->by_ref = percent(d, 30);
    s->nodelay = percent(d, 30);
    s->close = (uint8_t)ONE_OF(d, CLOSE_SENT, CLOSE_SENT, CLOSE_END, CLOSE_HOLD);
    s->life_ms = (uint32_t)sized(d, 200, 8);
    s->keepalive_ms = percent(d, 20) ? ONE_OF(d, 20, 200, 5000) : 0;
    if (percent(d, 25)) {  // a slow reader
        s->pause_ms = (uint32_t)sized(d, 1, 8);
        s->pause_bytes = (uint32_t)sized(d, 1, 14);
        s->pause_early = percent(d, 40);
    }
    if (percent(d, 20))
        s->take_max = (uint32_t)sized(d, 1, 12);
    if (percent(d, 12))
        s->abort_at = sized(d, 1, 14) - 1;
}

// Requests and answers: sizes of a round are the same at both sides.
static void draw_rounds(struct draw *d, struct sim_conn *k)
{
    struct sim_side *a = &k->side[0], *b = &k->side[1];
    const uint32_t request = (uint32_t)sized(d, 1, 11), answer = (uint32_t)sized(d, 1, 14);
    const uint64_t rounds = sized(d, 1, 6);
    a->send = b->send = SEND_ROUNDS;
    a->round_out = b->round_in = request;
    a->round_in = b->round_out = answer;
    a->to_send = rounds * request;
    b->to_send = rounds * answer;
    a->close = percent(d, 50) ? CLOSE_SENT : CLOSE_END;
    b->close = a->close == CLOSE_SENT ? CLOSE_END : CLOSE_SENT;
    for (unsigned i = 0; i < 2; i++) {
        k->side[i].chunk = UINT16_MAX;
        k->side[i].life_ms = (uint32_t)sized(d, 1000, 8);
    }
}

static void draw_bulk(struct draw *d, struct sim_conn *k, uint64_t bytes)
{
    for (unsigned i = 0; i < 2; i++) {
        struct sim_side *s = &k->side[i];
        s->send = SEND_ALL;
        s->to_send =
            percent(d, 60) ? bytes / 2 + rng_below(&d->r, (uint32_t)bytes) : sized(d, 1, 12);
        s->by_ref = percent(d, 60);
        s->chunk = s->by_ref ? SIM_PATTERN_MORE : (uint32_t)sized(d, 4096, 4);
        s->close = percent(d, 70) ? CLOSE_SENT : CLOSE_END;
        if (percent(d, 20)) {
            s->pause_ms = 1;
            s->pause_bytes = (uint32_t)sized(d, 1 << 20, 3);
        }
    }
    if (k->side[0].close == CLOSE_END && k->side[1].close == CLOSE_END)
        k->side[0].close = CLOSE_SENT;
}

static uint16_t draw_port(struct draw *d)
{
    const uint32_t n = rng_below(&d->r, 100);
    return n < 84 ? SIM_PORT : n < 94 ? SIM_PORT_FEW : n < 97 ? SIM_PORT_DRAINING : SIM_PORT_CLOSED;
}

static void draw_conn(struct draw *d, uint32_t ix, uint64_t bulk_bytes, uint64_t span_ns)
{
    struct sim_plan *p = d->p;
    struct sim_conn *k = &p->conns[ix];
    memset(k, 0, sizeof(*k));
    const unsigned a = rng_below(&d->r, p->n_hosts);
    const unsigned b = (a + 1 + rng_below(&d->r, p->n_hosts - 1)) % p->n_hosts;
    k->side[0].host = (uint8_t)a;
    k->side[1].host = (uint8_t)b;
    k->side[0].active = true;
    k->then = UINT32_MAX;
    k->port = d->shape == SHAPE_BULK ? SIM_PORT : draw_port(d);
    k->start_ns = (uint64_t)(((unsigned __int128)rng_u64(&d->r) * span_ns) >> 64);
    for (unsigned i = 0; i < 2; i++)
        k->side[i].abort_at = UINT64_MAX;
    if (d->shape == SHAPE_BULK && ix % 8 != 7) {
        draw_bulk(d, k, bulk_bytes);
        return;
    }
    for (unsigned i = 0; i < 2; i++)
        draw_manner(d, &k->side[i], &p->hosts[k->side[i].host]);
    if (percent(d, 25))
        draw_rounds(d, k);
    k->simultaneous = percent(d, 6);
}

// Some are opened by the application of another, whose passive side calls c10m_connect.
static void draw_chains(struct draw *d)
{
    struct sim_plan *p = d->p;
    for (uint32_t i = 0; i + 1 < p->n_conns; i += 2)
        if (percent(d, 15) && !p->conns[i].simultaneous && !p->conns[i + 1].simultaneous) {
            p->conns[i].then = i + 1;
            p->conns[i + 1].start_ns = UINT64_MAX;
        }
}

static void draw_conns(struct draw *d)
{
    struct sim_plan *p = d->p;
    uint64_t span_ns = 0, bytes = 0;
    switch (d->shape) {
    case SHAPE_BULK:
        p->n_conns = between(d, 4, 20);
        span_ns = 20000000;
        bytes = (MIN((uint64_t)p->hosts[0].mtu, MOST_SMALL) - 40) * 1500000 / p->n_conns;
        break;
    case SHAPE_MIXED:
        p->n_conns = between(d, 50, 400);
        span_ns = sized(d, 100000000, 5);
        break;
    case SHAPE_CHURN:
        p->n_conns = between(d, 500, 3000);
        span_ns = sized(d, 500000000, 6);
        break;
    default:
        p->n_conns = between(d, 50, 400);
        span_ns = sized(d, 100000000, 6);
        break;
    }
    for (uint32_t i = 0; i < p->n_conns; i++)
        draw_conn(d, i, bytes, span_ns);
    draw_chains(d);
    p->heal_ns = span_ns + sized(d, 1000000000, 5);
}

// Who spoke to a host that is dead has only the stack's timeouts, for some of its connections.
static void draw_death(struct draw *d)
{
    struct sim_plan *p = d->p;
    p->dead_ns = sized(d, 50000000, 8);
    for (uint32_t i = 0; i < p->n_conns; i++)
        for (unsigned k = 0; k < 2; k++) {
            struct sim_side *s = &p->conns[i].side[k];
            if (p->conns[i].side[!k].host + 1u != p->n_hosts || percent(d, 50))
                continue;
            s->life_ms = 0;
            // Who closes has R2 and FIN-WAIT-2's end; who waits has keepalive.
            const bool closes = s->close == CLOSE_SENT && s->send == SEND_ALL;
            s->keepalive_ms = closes ? 0 : ONE_OF(d, 200, 1000, 5000);
        }
}

// Peers that lie all the time, or now and then. Drawn last: the other faults of a seed stay.
static void draw_lies(struct draw *d)
{
    struct sim_plan *p = d->p;
    for (unsigned i = 0; i < p->n_hosts; i++) {
        if (!percent(d, 30))
            continue;
        const uint32_t ppm = percent(d, 50) ? 1000000 : (uint32_t)sized(d, 1000, 9);
        p->hosts[i].lies = (uint8_t)between(d, 1, (1 << LIE_COUNT) - 1);
        for (unsigned k = 0; k < p->n_hosts; k++)
            p->links[i][k].ppm[FAULT_LIE] = ppm;
    }
}

// Processes that end and begin again. Drawn last, as lies are.
static void draw_adoptions(struct draw *d)
{
    for (unsigned i = 0; i < d->p->n_hosts; i++)
        d->p->hosts[i].adopt_ppm = percent(d, 40) ? (uint32_t)sized(d, 100, 7) : 0;
}

bool sim_plan_is_jumbo(uint64_t seed)
{
    return seed % 13 == 7;
}

void sim_plan_make(struct sim_plan *p, uint64_t seed)
{
    struct draw draw = {{seed * 0x9e3779b97f4a7c15ULL + 1}, p, shape_of[seed % 8]}, *d = &draw;
    memset(p, 0, sizeof(*p));
    p->shape = shape_names[d->shape];
    p->gentle = d->shape == SHAPE_BULK || d->shape == SHAPE_MIXED;
    p->forged = !p->gentle && percent(d, 60);
    p->n_hosts = d->shape == SHAPE_BULK || percent(d, 60) ? 2 : between(d, 3, SIM_HOSTS_MAX);
    p->v6 = percent(d, SHARE_V6);
    uint16_t mtu = p->v6 ? (uint16_t)ONE_OF(d, 1500, 1500, 1280, MOST_SMALL)
                         : (uint16_t)ONE_OF(d, 1500, 1500, 1500, 576, 640, 1000, MOST_SMALL);
    if (sim_plan_is_jumbo(seed))  // whatever was drawn, so that other seeds draw the same as before
        mtu = PORT_MTU_MAX;
    for (unsigned i = 0; i < p->n_hosts; i++) {
        draw_host(d, &p->hosts[i], percent(d, 80) ? mtu : (uint16_t)between(d, mtu_min(d), mtu));
        p->hosts[i].pulls = (seed + i) % 3 == 1;
        for (unsigned k = 0; k < p->n_hosts; k++)
            draw_link(d, &p->links[i][k], mtu);
    }
    draw_conns(d);
    p->dead_ns = UINT64_MAX;
    if (!p->gentle && percent(d, 20))
        draw_death(d);
    if (p->forged)
        draw_lies(d);
    draw_adoptions(d);
}
