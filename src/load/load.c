#include "load/load.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "wire/build.h"
#include "wire/parse.h"

enum {
    OUT_MAX = 256,  // packets made in a turn before they go to the port
};

struct waiting {
    uint32_t conn;
    uint32_t sent_ms;
};

struct load {
    struct load_params p;
    struct load_counters c;
    struct load_conn *conns;
    struct wire_from from;  // v4_raw is set for each packet
    uint64_t server_mac_word;
    uint64_t own_mac_shl16;
    enum load_phase phase;
    bool stop_asking;
    uint32_t cursor;  // connections of this phase or round that have been started
    uint32_t round;
    uint32_t open;  // connections not failed
    uint32_t in_flight;
    uint32_t wait_head, wait_tail;  // ring of those that wait, in the order of their last try
    struct waiting wait[LOAD_WAIT_MAX];
    uint64_t now_us;
    uint32_t now_ms;
    uint32_t n_out;
    struct pkt *out[OUT_MAX];
    uint64_t histogram[LOAD_BUCKETS];
    uint8_t payload[LOAD_PAYLOAD_MAX + 8];
};

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

static uint64_t mark_of(uint32_t conn, uint32_t round)
{
    return ((uint64_t)conn << 32 | (round + 1)) * 0x9e3779b97f4a7c15ULL;
}

static void fill(uint8_t *data, uint32_t n, uint64_t mark)
{
    for (uint32_t at = 0; at < n; at += 8) {
        const uint64_t word = mark + at;
        memcpy(data + at, &word, MIN(8u, n - at));
    }
}

struct load *load_new(const struct load_params *p, struct err *err)
{
    if (p->connections == 0 || p->window == 0 || p->window > LOAD_WINDOW_MAX ||
        p->payload < LOAD_PAYLOAD_MIN || p->payload > LOAD_PAYLOAD_MAX) {
        err_set(err, "connections %u (1 or more), window %u (1 to %d), payload %u (%d to %d)",
                p->connections, p->window, LOAD_WINDOW_MAX, p->payload, LOAD_PAYLOAD_MIN,
                LOAD_PAYLOAD_MAX);
        return NULL;
    }
    struct load *l = calloc(1, sizeof(*l));
    if (l != NULL)
        l->conns = calloc(p->connections, sizeof(l->conns[0]));
    if (l == NULL || l->conns == NULL) {
        err_set(err, "no memory for %u connections of %zu bytes", p->connections,
                sizeof(struct load_conn));
        free(l);
        return NULL;
    }
    l->p = *p;
    l->open = p->connections;
    wire_from_init(&l->from, &p->port->mac, p->first_v4);
    l->server_mac_word = wire_mac_word(&p->server_mac);
    l->own_mac_shl16 = wire_mac_word(&p->port->mac) << 16;
    return l;
}

void load_free(struct load *l)
{
    if (l == NULL)
        return;
    free(l->conns);
    free(l);
}

const struct load_counters *load_counters(const struct load *l)
{
    return &l->c;
}

void load_stop_asking(struct load *l)
{
    l->stop_asking = true;
}

static void flush(struct load *l)
{
    struct port *port = l->p.port;
    uint32_t sent = 0;
    while (sent < l->n_out) {
        const uint16_t took =
            port->ops->tx_burst(port, 0, l->out + sent, (uint16_t)(l->n_out - sent));
        if (took == 0)
            break;
        sent += took;
    }
    l->c.tx_packets += sent;
    if (sent < l->n_out) {  // sent again by the timer
        l->c.client_tx_full += l->n_out - sent;
        pkt_free_bulk(l->out + sent, l->n_out - sent);
    }
    l->n_out = 0;
}

static void send_segment(struct load *l, uint32_t i, uint8_t flags, uint32_t payload)
{
    const struct load_conn *c = &l->conns[i];
    if (l->n_out == OUT_MAX)
        flush(l);
    struct pkt *p;
    if (!pkt_alloc_bulk(l->p.pool, &p, 1)) {
        l->c.client_pool_empty++;
        return;
    }
    struct seg_out s = {
        .key = {ip_from_v4(l->p.server_v4), l->p.server_port,
                (uint16_t)(LOAD_PORT_FIRST + i % LOAD_PORTS), 0, 0},
        .seq = c->snd_nxt,
        .ack = c->rcv_nxt,
        .ts_val = l->now_ms,
        .ts_ecr = c->ts_recent,
        .data = {l->payload},
        .data_len = {(uint16_t)payload},
        .wnd = 65535,
        .mss = 1460,
        .flags = flags,
        .opts = l->p.timestamps ? SEG_OPT_TS : 0,
    };
    l->from.v4_raw = raw32(l->p.first_v4 + i / LOAD_PORTS);
    const bool syn = flags & SEG_SYN;
    if (syn) {
        s.opts |= SEG_OPT_MSS | SEG_OPT_WSCALE;
        s.seq--;
        s.ack = 0;
    }
    if (payload != 0)
        fill(l->payload, payload, mark_of(i, c->round));
    const uint32_t head = wire_tcp_head_bytes(&s);
    const uint32_t len =
        syn ? wire_build_tcp4(pkt_data(p), &l->from, l->server_mac_word, &s, head, true, false)
            : wire_build_tcp4(pkt_data(p), &l->from, l->server_mac_word, &s, head, false, false);
    pkt_set_len(p, len);
    l->out[l->n_out++] = p;
}

// The segment that state calls for, and a place in the ring for its repetition.
static void ask(struct load *l, uint32_t i)
{
    struct load_conn *c = &l->conns[i];
    if (c->state == LOAD_OPENING)
        send_segment(l, i, SEG_SYN, 0);
    else if (c->state == LOAD_ASKED)
        send_segment(l, i, SEG_ACK | SEG_PSH, l->p.payload);
    else
        send_segment(l, i, SEG_ACK | SEG_FIN, 0);
    c->sent_ms = l->now_ms;
    const uint32_t slots = ARRAY_LEN(l->wait);
    CHECK(l->wait_tail - l->wait_head < slots);
    l->wait[l->wait_tail++ % slots] = (struct waiting){i, l->now_ms};
}

static void start(struct load *l, uint32_t i, enum load_state state)
{
    struct load_conn *c = &l->conns[i];
    c->state = (uint8_t)state;
    c->tries = 1;
    c->got = 0;
    c->sent_us = (uint32_t)l->now_us;
    l->in_flight++;
    ask(l, i);
}

static void fail(struct load *l, struct load_conn *c)
{
    if (c->state == LOAD_OPENING || c->state == LOAD_ASKED || c->state == LOAD_CLOSING)
        l->in_flight--;
    c->state = LOAD_FAILED;
    l->c.failed++;
    l->open--;
}

static void repeat_late(struct load *l)
{
    const uint32_t slots = ARRAY_LEN(l->wait);
    while (l->wait_head != l->wait_tail) {
        const struct waiting w = l->wait[l->wait_head % slots];
        struct load_conn *c = &l->conns[w.conn];
        const bool waits =
            c->state == LOAD_OPENING || c->state == LOAD_ASKED || c->state == LOAD_CLOSING;
        const bool mine = waits && c->sent_ms == w.sent_ms;
        if (mine && l->now_ms - w.sent_ms < LOAD_TIMEOUT_MS)
            return;
        l->wait_head++;
        if (!mine)
            continue;
        if (c->tries++ == LOAD_TRIES_MAX) {
            fail(l, c);
            continue;
        }
        l->c.repeated++;
        c->got = 0;
        ask(l, w.conn);
    }
}

static void count_latency(struct load *l, uint32_t us)
{
    const uint32_t v = us + 16, top = 31 - (uint32_t)__builtin_clz(v);
    const uint32_t bucket = (top - 4) * 16 + (v >> (top - 4) & 15);
    l->histogram[MIN(bucket, (uint32_t)LOAD_BUCKETS - 1)]++;
}

double load_percentile_us(const struct load *l, double part)
{
    uint64_t all = 0, sum = 0;
    for (uint32_t b = 0; b < LOAD_BUCKETS; b++)
        all += l->histogram[b];
    for (uint32_t b = 0; b < LOAD_BUCKETS; b++) {
        sum += l->histogram[b];
        if (sum != 0 && (double)sum >= part * (double)all)
            return (double)((16ULL + b % 16) << (b / 16)) - 16;
    }
    return 0;
}

static void opening_input(struct load *l, uint32_t i, struct load_conn *c, const struct seg_in *s)
{
    if ((s->flags & (SEG_SYN | SEG_ACK)) != (SEG_SYN | SEG_ACK) || s->ack != c->snd_nxt) {
        l->c.duplicates++;
        return;
    }
    c->rcv_nxt = s->seq + 1;
    c->ts_recent = s->ts_val;
    c->state = LOAD_IDLE;
    l->in_flight--;
    l->c.opened++;
    send_segment(l, i, SEG_ACK, 0);
}

// The answer, in one or several segments, in order; what comes again is acknowledged again.
static void answer_input(struct load *l, uint32_t i, struct load_conn *c, const struct seg_in *s,
                         const uint8_t *data)
{
    uint8_t expected[LOAD_PAYLOAD_MAX + 8];
    if (c->state != LOAD_ASKED || s->seq != c->rcv_nxt || c->got + s->data_len > l->p.payload) {
        l->c.duplicates++;
        send_segment(l, i, SEG_ACK, 0);
        return;
    }
    fill(expected, l->p.payload, mark_of(i, c->round));
    if (memcmp(expected + c->got, data, s->data_len) != 0)
        l->c.wrong++;
    c->got = (uint16_t)(c->got + s->data_len);
    c->rcv_nxt += s->data_len;
    if (time_before(c->ts_recent, s->ts_val))
        c->ts_recent = s->ts_val;
    if (c->got != l->p.payload)
        return;
    c->snd_nxt += l->p.payload;
    if (s->ack != c->snd_nxt)
        l->c.wrong++;
    c->round++;
    c->state = LOAD_IDLE;
    l->in_flight--;
    l->c.answered++;
    count_latency(l, (uint32_t)l->now_us - c->sent_us);
    send_segment(l, i, SEG_ACK, 0);
}

static void closing_input(struct load *l, uint32_t i, struct load_conn *c, const struct seg_in *s)
{
    if (!(s->flags & SEG_FIN) || s->seq + s->data_len != c->rcv_nxt)
        return;
    c->rcv_nxt++;
    c->snd_nxt++;
    c->state = LOAD_DONE;
    l->in_flight--;
    l->c.closed++;
    send_segment(l, i, SEG_ACK, 0);
}

static void segment_input(struct load *l, uint32_t i, const struct seg_in *s, const uint8_t *data)
{
    struct load_conn *c = &l->conns[i];
    if (s->flags & SEG_RST) {
        if (c->state != LOAD_FAILED && c->state != LOAD_DONE)
            fail(l, c);
        return;
    }
    if (c->state == LOAD_OPENING)
        opening_input(l, i, c, s);
    else if (s->flags & SEG_SYN)
        send_segment(l, i, SEG_ACK, 0);  // its ACK was lost
    else if (s->data_len != 0)
        answer_input(l, i, c, s, data);
    else if (c->state == LOAD_CLOSING)
        closing_input(l, i, c, s);
    else if (s->flags & SEG_FIN)
        send_segment(l, i, SEG_ACK, 0);
}

// Parses a frame; *conn is whose it is. False: nobody's.
static bool frame_input(const struct load *l, const struct pkt *p, struct seg_in *s, uint32_t *conn)
{
    const uint8_t *frame = pkt_data(p);
    if (!wire_fast_tcp4(frame, pkt_len(p), l->own_mac_shl16, s)) {
        struct wire_ip4 ip;
        if (pkt_len(p) < 14 || load_be16(frame + 12) != 0x0800 ||
            wire_parse_ip4(frame, pkt_len(p), true, &ip) != DROP_NONE ||
            wire_parse_tcp(frame, &ip, true, s) != DROP_NONE)
            return false;
    } else if (!wire_ip4_verify(frame + 14) ||
               !wire_tcp4_verify(frame, (uint32_t)s->data_off + s->data_len - 34)) {
        return false;
    }
    const uint32_t host = load_be32(frame + 30) - l->p.first_v4;
    const uint32_t port = (uint32_t)s->key.local_port - LOAD_PORT_FIRST;
    const uint64_t i = (uint64_t)host * LOAD_PORTS + port;
    *conn = (uint32_t)i;
    return port < LOAD_PORTS && i < l->p.connections && s->key.remote_port == l->p.server_port &&
           ip_to_v4(&s->key.remote) == l->p.server_v4;
}

// The server announces itself; its gateway is a static neighbour, so nothing needs an answer.
static bool is_arp(const struct pkt *p)
{
    return pkt_len(p) >= 14 && load_be16(pkt_data(p) + 12) == 0x0806;
}

static uint32_t receive(struct load *l)
{
    struct pkt *in[BURST_MAX];
    struct seg_in segs[BURST_MAX];
    uint32_t conn[BURST_MAX];
    const uint16_t n = l->p.port->ops->rx_burst(l->p.port, 0, in, BURST_MAX);
    for (uint16_t i = 0; i < n; i++)
        prefetch0(pkt_data(in[i]));
    for (uint16_t i = 0; i < n; i++) {
        if (frame_input(l, in[i], &segs[i], &conn[i]))
            prefetch0_w(&l->conns[conn[i]]);
        else
            conn[i] = UINT32_MAX;
    }
    for (uint16_t i = 0; i < n; i++) {
        if (conn[i] == UINT32_MAX)
            l->c.strangers += !is_arp(in[i]);
        else
            segment_input(l, conn[i], &segs[i], pkt_data(in[i]) + segs[i].data_off);
    }
    l->c.rx_packets += n;
    if (n != 0)
        pkt_free_bulk(in, n);
    return n;
}

static uint32_t choose(const struct load *l, uint32_t at)
{
    if (l->p.order == LOAD_IN_TURN)
        return at;
    return load_permute(at, l->p.connections, l->p.seed + l->round);
}

// Starts connections of this phase, a burst at a time, with their records fetched in the pass
// before.
static void start_some(struct load *l)
{
    enum { AT_ONCE = 64 };
    static const enum load_state from[] = {LOAD_CLOSED, LOAD_IDLE, LOAD_IDLE};
    static const enum load_state to[] = {LOAD_OPENING, LOAD_ASKED, LOAD_CLOSING};
    uint32_t pick[AT_ONCE];
    uint32_t n = MIN(l->p.window - MIN(l->in_flight, l->p.window), (uint32_t)AT_ONCE);
    n = MIN(n, l->p.connections - l->cursor);
    n = MIN(n, (uint32_t)LOAD_WAIT_MAX - (l->wait_tail - l->wait_head));
    for (uint32_t k = 0; k < n; k++) {
        pick[k] = l->phase == LOAD_ASK ? choose(l, l->cursor + k) : l->cursor + k;
        prefetch0_w(&l->conns[pick[k]]);
    }
    for (uint32_t k = 0; k < n; k++) {
        struct load_conn *c = &l->conns[pick[k]];
        if (c->state == LOAD_ASKED)
            break;  // still in the round before: wait for it
        l->cursor++;
        if (c->state != from[l->phase])
            continue;
        if (l->phase == LOAD_OPEN)
            c->snd_nxt = (uint32_t)mark_of(pick[k], UINT32_MAX - 1) + 1;
        start(l, pick[k], to[l->phase]);
    }
}

static void next_phase(struct load *l)
{
    if (l->phase == LOAD_ASK && l->stop_asking && l->in_flight == 0) {
        l->phase = l->p.close ? LOAD_CLOSE : LOAD_END;
        l->cursor = 0;
        return;
    }
    if (l->cursor < l->p.connections)
        return;
    if (l->phase == LOAD_ASK && (l->p.rounds == 0 || l->round + 1 < l->p.rounds)) {
        l->cursor = 0;  // the next round follows without a pause
        l->round++;
        return;
    }
    if (l->in_flight != 0)
        return;
    l->cursor = 0;
    l->phase = l->phase == LOAD_ASK && !l->p.close ? LOAD_END : l->phase + 1;
}

enum load_phase load_turn(struct load *l, uint64_t now_us)
{
    l->now_us = now_us;
    l->now_ms = (uint32_t)(now_us / 1000) + 1;
    receive(l);
    repeat_late(l);
    if (l->phase != LOAD_END && !(l->phase == LOAD_ASK && l->stop_asking))
        start_some(l);
    if (l->n_out != 0)
        flush(l);
    if (l->phase != LOAD_END)
        next_phase(l);
    return l->phase;
}
