// SPDX-License-Identifier: BSD-3-Clause
#include "tcp_pair.h"

#include <stdlib.h>
#include <string.h>

struct conn_state {
    uint64_t sent, received;
};

static struct role *role_of(struct c10m_conn *c)
{
    return c10m_service_data(c10m_service_of(c));
}

static void pump(struct c10m_conn *c)
{
    struct role *r = role_of(c);
    struct conn_state *s = c10m_state(c);
    uint8_t bytes[4096];
    while (s->sent < r->source) {
        const size_t want = MIN(r->source - s->sent, sizeof(bytes));
        role_fill(bytes, s->sent, want);
        const size_t n = c10m_send(c, bytes, want);
        s->sent += n;
        r->sent += n;
        if (n < want)
            return;
    }
    if (r->shut)
        c10m_shutdown(c);
}

static void on_open(struct c10m_conn *c)
{
    struct role *r = role_of(c);
    r->opened++;
    if (r->pause_open)
        c10m_pause(c);
    if (r->timer_ms != 0)
        c10m_set_timer(c, r->timer_ms);
    if (r->connects && c->b->key.local_port == PAIR_PORT) {
        struct c10m_conn *made;
        r->connects_failed += c10m_connect(c, c->b->key.remote.b, PAIR_PORT, &made) != 0;
    }
    if (r->source != 0 || r->shut)
        pump(c);
}

static size_t on_data(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    struct role *r = role_of(c);
    struct conn_state *s = c10m_state(c);
    if (r->hold)
        return 0;
    if (r->echo)
        len = c10m_send(c, data, len);
    if (!role_matches(data, s->received, len))
        r->wrong = true;
    s->received += len;
    r->received += len;
    if (r->pause_ms != 0) {
        c10m_pause(c);
        c10m_set_timer(c, r->pause_ms);
    }
    return len;
}

static void on_unread(struct c10m_conn *c)
{
    role_of(c)->unread++;
}

static void on_end(struct c10m_conn *c)
{
    struct role *r = role_of(c);
    r->ended++;
    r->received_at_end = r->received;
    if (r->shut_on_end)
        c10m_shutdown(c);
}

static void on_writable(struct c10m_conn *c)
{
    struct role *r = role_of(c);
    r->writable++;
    if (r->echo)
        c10m_resume(c);
    else
        pump(c);
}

static void on_timer(struct c10m_conn *c)
{
    struct role *r = role_of(c);
    r->timers++;
    if (r->abort_on_timer)
        c10m_abort(c);
    if (r->resume_on_timer || r->pause_ms != 0)
        c10m_resume(c);
}

static void on_close(struct c10m_conn *c, enum c10m_close why)
{
    struct role *r = role_of(c);
    r->closed++;
    r->why = why;
}

static const struct c10m_app app = {
    .name = "role",
    .open = on_open,
    .data = on_data,
    .unread = on_unread,
    .end = on_end,
    .writable = on_writable,
    .timer = on_timer,
    .close = on_close,
};

static void *zeroed(size_t bytes)
{
    void *p = aligned_alloc(CACHE_LINE, ALIGN_UP(bytes + 1, CACHE_LINE));
    CHECK(p != NULL);
    memset(p, 0, ALIGN_UP(bytes + 1, CACHE_LINE));
    return p;
}

static void *held(struct end *e, size_t bytes)
{
    void *p = zeroed(bytes);
    CHECK(e->n_held < END_HELD_MAX);
    e->held[e->n_held].at = p;
    e->held[e->n_held++].bytes = ALIGN_UP(bytes + 1, CACHE_LINE);
    return p;
}

static void init_pools(struct end *e, const struct pair_sizes *z)
{
    struct tcp *t = &e->tcp;
    const struct siphash_key secret = {0x0706050403020100 + e->v4, 0x0f0e0d0c0b0a0908};
    e->mem[0] = held(e, flow_footprint(z->blocks + z->syns + 2 * z->tw) + 4096);
    t->table = held(e, sizeof(*t->table));
    flow_init(t->table, e->mem[0], z->blocks + z->syns + 2 * z->tw, secret);
    t->blocks = held(e, z->blocks * sizeof(struct block));
    t->block_pool = index_pool_init(held(e, index_pool_footprint(z->blocks)), z->blocks);
    t->wheel = wheel_init(held(e, wheel_footprint(z->wheel)), z->wheel, 0);
    t->xmit_runs = held(e, (z->blocks + 63) / 64 * 8);
    t->rounds = held(e, z->blocks * sizeof(*t->rounds));
    t->syns = held(e, z->syns * sizeof(struct syn_record));
    t->syn_pool = index_pool_init(held(e, index_pool_footprint(z->syns)), z->syns);
    t->exts = held(e, z->exts * sizeof(struct ext));
    t->ext_pool = index_pool_init(held(e, index_pool_footprint(z->exts)), z->exts);
    tcp_time_wait_init(t, held(e, z->tw * sizeof(struct time_wait)), z->tw,
                       held(e, z->tw * sizeof(struct time_wait6)), z->tw);
    const uint32_t flights = z->no_flights != 0 ? 0 : z->flights;
    e->mem[2] = held(e, flight_footprint(flights));
    flight_pool_init(&t->flights, e->mem[2], flights);
    e->mem[1] = held(e, buf_footprint(z->bufs, 64));
    buf_init(&t->bufs, e->mem[1], z->bufs, 64);
    const struct keys keys = keys_from(secret);
    tcp_set_keys(t, &keys);
    t->prefixes = prefixes_init(held(e, sizeof(*t->prefixes)), keys.of[SECRET_PREFIXES]);
}

void end_init(struct end *e, uint32_t v4, const struct pair_sizes *sizes)
{
    memset(e, 0, sizeof(*e));
    struct pair_sizes z = sizes != NULL ? *sizes : (struct pair_sizes){0};
    z.blocks = z.blocks != 0 ? z.blocks : 16;
    z.syns = z.syns != 0 ? z.syns : 16;
    z.exts = z.exts != 0 ? z.exts : 16;
    z.flights = z.flights != 0 ? z.flights : 16;
    z.tw = z.tw != 0 ? z.tw : 16;
    z.bufs = z.bufs != 0 ? z.bufs : 2048;
    z.wheel = z.wheel != 0 ? z.wheel : 1024;
    e->sizes = z;
    e->v4 = v4;
    e->out_room = TCP_OUT_MAX;
    struct tcp *t = &e->tcp;
    init_pools(e, &z);
    t->stats = &e->stats;
    t->dirty_head = t->dirty_tail = BLOCK_NONE;
    t->out = e->out;
    t->sacks_in = (const struct seq_range(*)[SEG_SACK_MAX])e->sacks_in;
    t->sacks_out = e->sacks_out;
    t->pieces_out = e->pieces_out;
    t->places = e->places;
    t->cfg = tcp_config_default();
    t->cfg.quick_ack = false;  // unless a test is about it
    t->cfg.pacing_rtt_ms = 0;  // the same
    t->n_services = 1;
    t->services[0] = (struct tcp_service){.ports = {PAIR_PORT},
                                          .n_ports = 1,
                                          .local_ix = UINT16_MAX,
                                          .congestion = TCP_NEWRENO,  // the same
                                          .rcv_limit = 65536,
                                          .snd_limit = 65536,
                                          .keepalive_interval_ms = 75000,
                                          .keepalive_probes = 9,
                                          .connections_max = z.blocks};
    e->services[0] = (struct c10m_service){.name = "role", .app = &app, .data = &e->role};
    e->sock.tcp = t;
    e->sock.services = e->services;
    e->sock.scratch = held(e, SOCK_OFFER_MAX);
    e->shadows = held(e, z.blocks * sizeof(e->shadows[0]));
}

const char *end_leaks(const struct end *e)
{
    const struct tcp *t = &e->tcp;
    const char *leak = tcp_check_leaks(t);
    if (leak != NULL)
        return leak;
    if (t->services[0].connections != 0 || t->stats->c.connections_now != 0 ||
        t->stats->c.syn_records_now != 0 || t->stats->c.ext_records_now != 0 ||
        t->stats->c.flight_logs_now != 0 || t->stats->c.flight_logs_large_now != 0 ||
        t->stats->c.established_now != 0 || t->stats->c.connections6_now != 0)
        return "gauges";
    return stat_balance(&e->stats) != 0 ? "packets" : NULL;
}

void end_fini(struct end *e, bool clean)
{
    struct tcp *t = &e->tcp;
    const char *leak = end_leaks(e);
    if (leak == NULL)
        leak = tcp_check_prefixes(t);
    if (clean && leak != NULL)
        check_failed(__FILE__, __LINE__, leak);
    for (unsigned i = 0; i < e->n_held; i++)
        free(e->held[i].at);
}

// count: the ways to end that src/worker/loop.c counts.
static void count(struct end *e, const struct tcp_verdict *v)
{
    e->stats.c.rx_packets++;
    if (v->drop != DROP_NONE)
        e->stats.drops[v->drop]++;
    else if (v->events & TCP_EV_KEPT)
        e->stats.c.kept++;
    else if (v->block != BLOCK_NONE)
        e->stats.c.delivered++;
    else
        e->stats.c.answered++;
}

static void timers(struct end *e)
{
    struct tcp *t = &e->tcp;
    uint32_t expired[TCP_EXPIRE_MAX];
    const uint32_t n = wheel_expire(t->wheel, t->now.ms, expired, TCP_EXPIRE_MAX);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t ix = flow_index_ix(expired[i]), kind = flow_index_kind(expired[i]);
        if (kind == WAKE_XMIT && !tcp_xmit_runs(t, ix))
            continue;
        if (kind == WAKE_SYN) {
            tcp_syn_timer(t, ix);
            continue;
        }
        const uint16_t events = tcp_timer(t, ix, (enum tcp_wake)kind);
        const struct tcp_verdict v = {.block = ix, .chain = BUF_NONE, .events = events};
        if (events != 0)
            sock_event(&e->sock, &v, NULL);
    }
}

// in_hand: as account_stage() of src/worker/accounting.h.
static void in_hand(struct end *e, bool burst)
{
    __asm__ volatile("" ::: "memory");
    e->burst_in_hand = burst;
    __asm__ volatile("" ::: "memory");
}

static void check_blocks(struct end *e)
{
    char what[TCP_CHECK_BYTES];
    for (uint32_t ix = 0; ix < e->sizes.blocks && !e->planted; ix++)
        if (!tcp_check_block(&e->tcp, ix, &e->shadows[ix], what))
            check_failed(__FILE__, __LINE__, what);
}

void end_check_pools(const struct end *e)
{
    char what[TCP_CHECK_BYTES];
    if (!e->planted && !tcp_check_pools(&e->tcp, e->sizes.blocks, what))
        check_failed(__FILE__, __LINE__, what);
}

void end_turn(struct end *e, uint64_t now_us, const struct seg_in *s, const uint8_t *const *data,
              uint32_t n)
{
    struct tcp *t = &e->tcp;
    struct tcp_verdict *v = e->verdicts;
    uint32_t *found = e->found;
    CHECK(n <= BURST_MAX);
    e->n_burst = n;
    t->now = clock_at_us(now_us);
    tcp_set_limits(t);  // tests change them
    t->n_out = 0;
    t->out_room = e->out_room;
    tcp_burst(t);
    for (uint32_t i = 0; i < n; i++) {
        unsigned at = 0;
        found[i] = flow_next(t->table, flow_hash(t->table, &s[i].key), &at);
    }
    memset(v, 0, n * sizeof(v[0]));
    in_hand(e, true);
    for (uint32_t i = 0; i < n; i++) {
        tcp_input(t, &s[i], data[i], found[i], &v[i]);
        count(e, &v[i]);
    }
    for (uint32_t i = 0; i < n; i++)
        if (v[i].events != 0)
            sock_event(&e->sock, &v[i], data[i] + (v[i].data_off - s[i].data_off));
    if (e->calls != NULL)
        e->calls(e->calls_arg);
    in_hand(e, false);
    timers(e);
    sock_tell(&e->sock);
    tcp_time_wait_expire(t, 64);
    tcp_touch(t, BLOCK_NONE);
    tcp_output_dirty(t);
    index_pool_turn_end(t->block_pool);
    index_pool_turn_end(t->syn_pool);
    tcp_sweep(t);
    tcp_shed(t);
    check_blocks(e);
}

uint32_t end_connect_from(struct end *e, uint16_t from, uint32_t v4, uint16_t port)
{
    const struct flow_key key = {ip_from_v4(v4), 0, 0, port, from};
    uint32_t ix;
    CHECK(tcp_open(&e->tcp, &key, 0, &ix) == 0);
    e->tcp.blocks[ix].flags |= BF_IN_APP;
    return ix;
}

uint32_t end_connect(struct end *e, uint32_t v4, uint16_t port)
{
    return end_connect_from(e, 0, v4, port);
}

struct pair *pair_new(uint64_t seed)
{
    return pair_new_sized(seed, NULL);
}

struct pair *pair_new_sized(uint64_t seed, const struct pair_sizes *sizes)
{
    struct pair *p = aligned_alloc(CACHE_LINE, ALIGN_UP(sizeof(*p), CACHE_LINE));
    CHECK(p != NULL);
    memset(p, 0, offsetof(struct pair, flight));
    p->rng.state = seed;
    p->delay_us = 500;
    p->now_us = 1000 * 1000;
    for (unsigned i = 0; i < 2; i++)
        end_init(&p->e[i], 0x0a000001 + i, sizes);
    return p;
}

void pair_free(struct pair *p, bool clean)
{
    for (unsigned i = 0; i < 2; i++)
        end_fini(&p->e[i], clean);
    for (uint32_t i = 0; i < p->n_flight; i++)
        free(p->flight[i].data);
    free(p);
}

// run_at: the bytes of o's data from i on that lie side by side, *n of them.
static const uint8_t *run_at(const struct seg_out *o, uint32_t i, uint32_t *n)
{
    if (i < o->data_len[0]) {
        *n = o->data_len[0] - i;
        return o->data[0] + i;
    }
    i -= o->data_len[0];
    if (!(o->opts & SEG_OPT_PIECES)) {
        *n = o->data_len[1] - i;
        return o->data[1] + i;
    }
    const struct seg_piece *piece = (const void *)o->data[1];
    for (; i >= piece->len; piece++)
        i -= piece->len;
    *n = piece->len - i;
    return piece->at + i;
}

uint8_t seg_out_byte(const struct seg_out *o, uint32_t i)
{
    uint32_t n;
    return *run_at(o, i, &n);
}

// The bytes of o's data from `at` on.
static void copy_data(const struct seg_out *o, uint32_t at, uint32_t n, uint8_t *to)
{
    for (uint32_t part; n != 0; at += part, to += part, n -= part) {
        const uint8_t *from = run_at(o, at, &part);
        part = MIN(part, n);
        memcpy(to, from, part);
    }
}

// n bytes of o's data from `at` on, as a segment.
static void put(struct pair *p, const struct seg_out *o, unsigned from, uint32_t at, uint16_t len)
{
    CHECK(p->n_flight < PAIR_FLIGHT_MAX);
    const bool last = at + len == (uint32_t)o->data_len[0] + o->data_len[1];
    struct pair_packet *k = &p->flight[p->n_flight++];
    *k = (struct pair_packet){.at_us = p->now_us + p->delay_us, .order = p->order++, .to = !from};
    if (rng_below(&p->rng, 1000) < p->reorder_pm)
        k->at_us += rng_below(&p->rng, 4 * p->delay_us + 1);
    k->data = malloc(len + 1u);
    CHECK(k->data != NULL);
    copy_data(o, at, len, k->data);
    k->s = (struct seg_in){
        .key = {ip_from_v4(p->e[from].v4), 0, 0, o->key.local_port, o->key.remote_port},
        .seq = o->seq + at,
        .ack = o->ack,
        .ts_val = o->ts_val,
        .ts_ecr = o->ts_ecr,
        .wnd = o->wnd,
        .mss = o->mss,
        .data_off = 54,
        .data_len = len,
        .flags = last ? o->flags : o->flags & (uint8_t)~SEG_PSH,
        .opts = o->opts & (uint8_t)~SEG_OPT_PIECES,
        .sack_count = o->opts & SEG_OPT_SACK ? o->n_sack : 0,
        .wscale = o->wscale,
        .ecn = o->tos & 3};
    if (at != 0)
        k->s.flags &= (uint8_t)~SEG_CWR;  // as ports cut large segments
    if (k->s.ecn != 0 && rng_below(&p->rng, 1000) < p->mark_pm)
        k->s.ecn = 3;
    for (uint32_t i = 0; i < k->s.sack_count; i++)
        k->sacks[i] = o->sack[i];
}

static void over_the_link(struct pair *p, const struct seg_out *o, unsigned from, uint32_t at,
                          uint16_t len)
{
    const uint32_t end = o->seq + at + len;
    const bool again = len != 0 && p->sent_end[from] != 0 && seq_leq(end, p->sent_end[from]);
    if (len != 0 && !again)
        p->sent_end[from] = end;
    if (rng_below(&p->rng, 1000) < p->loss_pm) {
        p->again_lost[from] += again;
        return;
    }
    put(p, o, from, at, len);
    if (rng_below(&p->rng, 1000) < p->dup_pm)
        put(p, o, from, at, len);
}

static void send_out(struct pair *p, unsigned from)
{
    for (uint32_t i = 0; i < p->e[from].tcp.n_out; i++) {
        const struct seg_out *o = &p->e[from].out[i];
        const uint32_t all = (uint32_t)o->data_len[0] + o->data_len[1];
        const uint32_t each = all > SEG_WHOLE_MAX && o->mss != 0 ? o->mss : all;
        uint32_t at = 0;
        do {
            over_the_link(p, o, from, at, (uint16_t)MIN(each, all - at));
            at += each;
        } while (at < all);
    }
}

// The earliest packet for `to` that has arrived, moved out of the link; false: none.
static bool take(struct pair *p, unsigned to, struct pair_packet *out)
{
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < p->n_flight; i++) {
        const struct pair_packet *k = &p->flight[i];
        if (k->to != to || k->at_us > p->now_us)
            continue;
        if (best == UINT32_MAX || k->at_us < p->flight[best].at_us ||
            (k->at_us == p->flight[best].at_us && k->order < p->flight[best].order))
            best = i;
    }
    if (best == UINT32_MAX)
        return false;
    *out = p->flight[best];
    p->flight[best] = p->flight[--p->n_flight];
    return true;
}

static void side(struct pair *p, unsigned to)
{
    struct pair_packet k[BURST_MAX];
    struct seg_in s[BURST_MAX];
    const uint8_t *data[BURST_MAX];
    uint32_t n = 0;
    while (n < BURST_MAX && take(p, to, &k[n])) {
        s[n] = k[n].s;
        s[n].pkt_ix = (uint16_t)n;
        memcpy(p->e[to].sacks_in[n], k[n].sacks, sizeof(k[n].sacks));
        data[n] = k[n].data;
        n++;
    }
    if (p->turn != NULL)
        p->turn(p, to, s, data, n);
    end_turn(&p->e[to], p->now_us, s, data, n);
    end_check_pools(&p->e[to]);
    send_out(p, to);
    for (uint32_t i = 0; i < n; i++)
        free(k[i].data);
}

enum { TURN_US = 200 };

static bool is_dirty(const struct pair *p)
{
    return p->e[0].tcp.dirty_head != BLOCK_NONE || p->e[1].tcp.dirty_head != BLOCK_NONE;
}

static bool quiet(const struct pair *p)
{
    return p->n_flight == 0 && !is_dirty(p);
}

// time_wait_ends_us: when the first TIME-WAIT record of t ends; UINT64_MAX: there is none.
static uint64_t time_wait_ends_us(const struct pair *p, const struct tcp *t)
{
    const uint32_t at_ms = tcp_time_wait_next_ms(t);
    const int32_t away_ms = (int32_t)(at_ms - clock_at_us(p->now_us).ms);
    return at_ms == 0 ? UINT64_MAX : (p->now_us / 1000 + (uint32_t)MAX(away_ms, 0)) * 1000;
}

// next_us: when something can happen at the earliest, at most end_us.
static uint64_t next_us(const struct pair *p, uint64_t end_us)
{
    uint64_t to = end_us;
    for (unsigned i = 0; i < 2; i++) {
        const uint64_t at = (uint64_t)wheel_next_ms(p->e[i].tcp.wheel) * 1000;
        if (p->e[i].tcp.wheel->entries != 0 && at < to)
            to = at;
        to = MIN(to, time_wait_ends_us(p, &p->e[i].tcp));
    }
    for (uint32_t i = 0; i < p->n_flight; i++)
        to = MIN(to, p->flight[i].at_us);
    return to;
}

// skip: turns in which nothing can happen.
static void skip(struct pair *p, uint64_t end_us)
{
    const uint64_t to = next_us(p, end_us);
    if (to <= p->now_us + TURN_US)
        return;
    if (p->n_flight == 0)
        p->now_us = to - TURN_US;
    else
        p->now_us += (to - p->now_us - 1) / TURN_US * TURN_US;
}

static void step(struct pair *p, uint64_t end_us)
{
    p->now_us += TURN_US;
    for (unsigned i = 0; i < 2; i++)
        side(p, i);
    if (!is_dirty(p))
        skip(p, end_us);
}

void pair_run_for(struct pair *p, uint64_t ms)
{
    const uint64_t end_us = p->now_us + ms * 1000;
    while (p->now_us < end_us)
        step(p, end_us);
}

void pair_run(struct pair *p, uint64_t ms)
{
    const uint64_t end_us = p->now_us + ms * 1000;
    while (p->now_us < end_us) {
        step(p, end_us);
        if (quiet(p) && end_leaks(&p->e[0]) == NULL && end_leaks(&p->e[1]) == NULL)
            return;
    }
}

bool raw_ip6, raw_one_mss;

struct raw *raw_new(const struct pair_sizes *sizes)
{
    const struct ip_addr ip6 = {{0x20, 0x01, 0x0d, 0xb8, [15] = 2}};
    struct raw *r = aligned_alloc(CACHE_LINE, ALIGN_UP(sizeof(*r), CACHE_LINE));
    CHECK(r != NULL);
    memset(r, 0, offsetof(struct raw, data));
    end_init(&r->e, 0x0a000001, sizes);
    r->now_us = 1000 * 1000;
    r->seq = 1000;
    r->wnd = 65535;
    r->mss = 1460;
    r->port = PAIR_RAW_PORT;
    r->remote = raw_ip6 ? ip6 : ip_from_v4(0x0a000002);
    if (raw_one_mss)
        r->e.tcp.cfg.mss6 = r->e.tcp.cfg.mss;
    return r;
}

void raw_free(struct raw *r, bool clean)
{
    end_fini(&r->e, clean);
    free(r);
}

struct seg_in *raw_seg(struct raw *r, uint8_t flags, uint32_t seq, uint32_t ack, uint64_t first,
                       uint16_t len)
{
    CHECK(r->n < BURST_MAX && len <= sizeof(r->data[0]));
    struct seg_in *s = &r->segs[r->n];
    *s = (struct seg_in){.key = {r->remote, 0, 0, r->port, PAIR_PORT},
                         .seq = seq,
                         .ack = ack,
                         .wnd = r->wnd,
                         .data_off = 54,
                         .data_len = len,
                         .pkt_ix = (uint16_t)r->n,
                         .flags = flags};
    if (r->ts) {
        s->opts |= SEG_OPT_TS;
        s->ts_val = r->ts_val;
        s->ts_ecr = r->ts_ecr;
    }
    for (uint16_t i = 0; i < len; i++)
        r->data[r->n][i] = role_byte(first + i);
    r->n++;
    return s;
}

void raw_sack(struct raw *r, uint32_t start, uint32_t end)
{
    struct seg_in *s = &r->segs[r->n - 1];
    CHECK(r->n != 0 && s->sack_count < SEG_SACK_MAX);
    r->e.sacks_in[s->pkt_ix][s->sack_count++] = (struct seq_range){start, end};
    s->opts |= SEG_OPT_SACK;
}

void raw_turn(struct raw *r, uint32_t ms)
{
    const uint8_t *data[BURST_MAX];
    for (uint32_t i = 0; i < r->n; i++)
        data[i] = r->data[i];
    r->now_us += (uint64_t)ms * 1000;
    end_turn(&r->e, r->now_us, r->segs, data, r->n);
    r->n = 0;
}

void raw_send(struct raw *r, uint8_t flags, uint64_t first, uint16_t len)
{
    raw_seg(r, flags, r->seq, r->ack, first, len);
    r->seq += len + ((flags & SEG_SYN) != 0) + ((flags & SEG_FIN) != 0);
    raw_turn(r, 0);
}

void raw_open(struct raw *r)
{
    struct seg_in *s = raw_seg(r, SEG_SYN, r->seq, 0, 0, 0);
    s->opts |= SEG_OPT_MSS | (r->sack ? SEG_OPT_SACK_PERM : 0);
    s->mss = r->mss;
    r->seq++;
    raw_turn(r, 1);
    CHECK(r->e.tcp.n_out == 1 && r->e.out[0].flags == (SEG_SYN | SEG_ACK));
    r->ack = r->e.out[0].seq + 1;
    if (r->ts)
        r->ts_ecr = r->e.out[0].ts_val;
    raw_send(r, SEG_ACK, 0, 0);
    CHECK(raw_block(r) != NULL);
}

uint32_t raw_wait(struct raw *r, uint32_t max)
{
    for (uint32_t ms = 1; ms <= max; ms++) {
        raw_turn(r, 1);
        if (r->e.tcp.n_out != 0)
            return ms;
    }
    return UINT32_MAX;
}

struct block *raw_block(struct raw *r)
{
    for (uint32_t i = 0; i < r->e.sizes.blocks; i++)
        if (r->e.tcp.blocks[i].state != TCP_FREE)
            return &r->e.tcp.blocks[i];
    return NULL;
}

struct time_wait *raw_time_wait(const struct raw *r)
{
    return time_wait_at(ip_is_v4(&r->remote) ? &r->e.tcp.tw4 : &r->e.tcp.tw6, 0);
}
