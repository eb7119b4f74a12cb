// SPDX-License-Identifier: BSD-3-Clause
// The applications: each side of each connection does what its plan says, and knows what it must
// see. Byte i of what a side sends is sim_pattern[(base + i) % SIM_PATTERN].
#include <errno.h>
#include <string.h>

#include "c10m/socket.h"
#include "sim.h"
#include "sock/sock_internal.h"

// What lies in the block: which side this is.
struct state {
    uint32_t conn_1;  // plus one: all zero is a connection that has just been opened
    uint32_t side;
};

// A connection that nobody opens: an old ACK, repeated by the network, still proves a SYN cookie.
enum { GHOST = UINT32_MAX };

static bool is_ghost(const struct c10m_conn *c)
{
    return ((const struct state *)c->b->app)->conn_1 == GHOST;
}

static struct sim_host *host_of(struct c10m_conn *c)
{
    return c10m_service_data(c10m_service_of(c));
}

static struct sim_conn *conn_of(const struct c10m_conn *c)
{
    const struct state *s = (const struct state *)c->b->app;
    CHECK(s->conn_1 != 0);
    return &sim_world->plan->conns[s->conn_1 - 1];
}

static struct sim_side *side_of(const struct c10m_conn *c, struct sim_side **peer)
{
    struct sim_conn *k = conn_of(c);
    const uint32_t i = ((const struct state *)c->b->app)->side;
    if (peer != NULL)
        *peer = &k->side[!i];
    return &k->side[i];
}

static unsigned number_of(const struct c10m_conn *c)
{
    return ((const struct state *)c->b->app)->conn_1 - 1;
}

// The name of a connection: the two ends, the one that opened it first.
static uint64_t key_of(unsigned from, uint16_t from_port, unsigned to, uint16_t to_port)
{
    return (uint64_t)from << 48 | (uint64_t)from_port << 32 | (uint64_t)to << 16 | to_port;
}

static uint32_t *place(uint64_t key)
{
    struct sim_world *w = sim_world;
    uint32_t at = (uint32_t)((key * 0x9e3779b97f4a7c15ULL) >> 40) % SIM_MAP;
    while (w->map[at] != UINT32_MAX && w->plan->conns[w->map[at]].key != key)
        at = (at + 1) % SIM_MAP;
    return &w->map[at];
}

static void attach(struct sim_host *h, uint32_t ix, uint32_t conn, unsigned side)
{
    struct sim_side *s = &sim_world->plan->conns[conn].side[side];
    struct block *b = &h->w->tcp.blocks[ix];
    const struct state st = {conn + 1, side};
    memcpy(b->app, &st, sizeof(st));
    s->block = ix;
}

static void open_conn(struct sim_world *w, uint32_t conn, uint16_t local_port)
{
    struct sim_conn *k = &w->plan->conns[conn];
    k->key = key_of(k->side[0].host, local_port, k->side[1].host, k->port);
    *place(k->key) = conn;
    k->started = true;
    w->open_sides++;
    w->last_event_ns = w->now_ns;
}

// From local port `from`; 0: any.
static bool connect_from(struct sim_world *w, uint32_t conn, unsigned side, uint16_t port,
                         uint16_t from)
{
    struct sim_side *s = &w->plan->conns[conn].side[side];
    struct sim_host *h = w->hosts[s->host];
    struct tcp *t = &h->w->tcp;
    const struct flow_key key = {sim_addr(w->plan, w->plan->conns[conn].side[!side].host), 0, 0,
                                 port, from};
    uint32_t ix;
    t->now = clock_at_us(sim_host_us(h, w->now_ns));
    if (tcp_open(t, &key, 0, &ix) != 0)
        return false;
    t->blocks[ix].flags |= BF_IN_APP;
    attach(h, ix, conn, side);
    return true;
}

// Both ends open to each other: each from the port that the other opens to.
static bool start_both(struct sim_world *w, uint32_t conn)
{
    enum { FIRST = 32768, COUNT = 28232 };
    struct sim_conn *k = &w->plan->conns[conn];
    uint16_t ports[2];
    for (unsigned i = 0; i < 2; i++)
        ports[i] = (uint16_t)(FIRST + (2 * conn + i) % COUNT);
    if (!connect_from(w, conn, 0, ports[1], ports[0]))
        return false;
    k->port = ports[1];
    open_conn(w, conn, ports[0]);
    if (connect_from(w, conn, 1, ports[0], ports[1])) {
        w->open_sides++;
        k->side[1].active = true;
    }
    return true;
}

bool sim_app_start(struct sim_world *w, uint32_t conn)
{
    struct sim_conn *k = &w->plan->conns[conn];
    if (sim_is_dead(w, k->side[0].host) || (k->simultaneous && sim_is_dead(w, k->side[1].host)))
        return false;
    if (k->simultaneous)
        return start_both(w, conn);
    if (!connect_from(w, conn, 0, k->port, 0)) {
        k->failed = true;
        return false;
    }
    open_conn(w, conn, w->hosts[k->side[0].host]->w->tcp.blocks[k->side[0].block].key.local_port);
    return true;
}

// A connection out of a callback. Its block is the one that was not there before.
static void open_in_turn(struct c10m_conn *c, uint32_t conn)
{
    struct sim_world *w = sim_world;
    struct sim_conn *k = &w->plan->conns[conn];
    struct sim_host *h = host_of(c);
    struct tcp *t = c->k->tcp;
    if (w->o->conns_off[conn / 64] >> conn % 64 & 1)
        return;
    k->side[0].host = (uint8_t)h->id;
    k->side[1].host = (uint8_t)((h->id + 1) % w->plan->n_hosts);
    const struct ip_addr to = sim_addr(w->plan, k->side[1].host);
    if (c10m_connect(c, to.b, k->port, NULL) != 0) {
        k->failed = true;
        return;
    }
    for (uint32_t ix = 0; ix < h->w->block_count; ix++) {
        const struct block *b = &t->blocks[ix];
        const struct state *s = (const struct state *)b->app;
        if (b->state == TCP_SYN_SENT && s->conn_1 == 0) {
            attach(h, ix, conn, 0);
            open_conn(w, conn, b->key.local_port);
            return;
        }
    }
    sim_fail("c10m_connect: said it opened a connection, and none is there");
}

static uint32_t ms_until(const struct sim_side *s, uint64_t now_us)
{
    uint64_t at = UINT64_MAX;
    if (s->life_ms != 0)
        at = s->opened_us + s->life_ms * 1000ull;
    if (s->wake_us != 0)
        at = MIN(at, s->wake_us);
    if (at == UINT64_MAX)
        return 0;
    return at <= now_us ? 1 : (uint32_t)((at - now_us + 999) / 1000);
}

static void set_timer(struct c10m_conn *c, const struct sim_side *s)
{
    c10m_set_timer(c, ms_until(s, c10m_now_us(c)));
}

static void wake_in(struct c10m_conn *c, struct sim_side *s, uint32_t ms)
{
    const uint64_t at = c10m_now_us(c) + ms * 1000ull;
    if (s->wake_us == 0 || at < s->wake_us)
        s->wake_us = at;
    set_timer(c, s);
}

static bool may_abort(struct c10m_conn *c, struct sim_side *s)
{
    if (s->sent + s->received < s->abort_at)
        return false;
    s->aborting = true;
    c10m_abort(c);
    return true;
}

// What the side may have sent by now.
static uint64_t allowance(const struct sim_side *s)
{
    uint64_t most = s->to_send;
    if (s->send == SEND_ROUNDS)
        most = (s->received / s->round_in + s->active) * s->round_out;
    else if (s->send == SEND_TRICKLE)
        most = (s->ticks + 1) * s->chunk;
    return MIN(most, s->to_send);
}

static bool send_some(struct c10m_conn *c, struct sim_side *s, uint64_t want)
{
    static const struct c10m_image image = {sim_pattern, sizeof(sim_pattern), NULL};
    const uint64_t off = (s->base + s->sent) % SIM_PATTERN;
    const uint32_t n = (uint32_t)MIN(want, (uint64_t)MIN(s->chunk, (uint32_t)SIM_PATTERN_MORE));
    if (s->by_ref) {
        if (!c10m_send_ref(c, &image, off, n))
            return false;
        s->sent += n;
        return true;
    }
    const size_t took = c10m_send(c, sim_pattern + off, n);
    SIM_CHECK(took <= n, "c10m_send took %zu of %u bytes", took, n);
    s->sent += took;
    return took == n;
}

// Who reads by itself may be done with a connection before TCP is, and hears no more of it.
static bool lets_go(struct c10m_conn *c, struct sim_side *s)
{
    struct sim_world *w = sim_world;
    const bool early = number_of(c) % 8 == 0;  // whatever may still come
    if (!host_of(c)->plan->pulls || number_of(c) % 2 != 0 || !(s->ended || early) ||
        s->close == CLOSE_HOLD)
        return false;
    s->shut = s->closed = true;
    s->why = C10M_CLOSED;
    sim_cover.orphans++;
    w->open_sides--;
    w->last_event_ns = w->now_ns;
    c10m_close(c);
    return true;
}

static void pump(struct c10m_conn *c, struct sim_side *s)
{
    if (!s->opened || s->shut || s->aborting || s->closed || may_abort(c, s))
        return;
    while (s->sent < allowance(s))
        if (!send_some(c, s, allowance(s) - s->sent))
            return;  // `writable` follows
    const bool all = s->sent == s->to_send;
    if (all && lets_go(c, s))
        return;
    if ((s->close == CLOSE_SENT && all) || (s->close == CLOSE_END && s->ended)) {
        s->shut = true;
        c10m_shutdown(c);
    } else if (s->send == SEND_TRICKLE && !all) {
        wake_in(c, s, s->trickle_ms);
    }
}

// Which connection is it that has just been opened to us?
static void meet(struct c10m_conn *c)
{
    struct sim_world *w = sim_world;
    const struct block *b = c->b;
    const unsigned from = b->key.remote.b[15] - 1u, to = host_of(c)->id;
    const uint32_t conn = *place(key_of(from, b->key.remote_port, to, b->key.local_port));
    // A forged SYN, and an old ACK that happens to acknowledge our answer, open one as well.
    const bool ghosts = host_of(c)->plan->tcp.syn_cookies != TCP_COOKIES_OFF || w->plan->forged;
    if (ghosts && (conn == UINT32_MAX || w->plan->conns[conn].side[1].opened)) {
        ((struct state *)c->b->app)->conn_1 = GHOST;
        sim_cover.ghosts++;
        c10m_abort(c);
        return;
    }
    if (conn == UINT32_MAX)
        sim_fail("host %u was opened by port %u of host %u, which has not done it", to,
                 b->key.remote_port, from);
    struct sim_side *s = &w->plan->conns[conn].side[1];
    SIM_CHECK(!s->opened, "connection %u was opened twice", conn);
    attach(host_of(c), c->ix, conn, 1);
    w->open_sides++;
}

// Of who reads by himself some have options of their own, as programs with sockets set them.
static void set_options(struct c10m_conn *c)
{
    const unsigned n = number_of(c);
    if (!host_of(c)->plan->pulls || n % 3 == 0)
        return;
    int rc = c10m_set_option(c, C10M_OPT_TTL, 1 + n % 200);
    if (n % 3 == 1)
        rc |= c10m_set_option(c, C10M_OPT_SND_LIMIT, 4000 + n % 5000) |
              c10m_set_option(c, C10M_OPT_RCV_LIMIT, 3000 + n % 7000);
    if (n % 5 == 0)
        rc |= c10m_set_option(c, C10M_OPT_CORK, 1);
    SIM_CHECK(rc == 0 || rc < 0, "connection %u: options: %d", n, rc);
}

static void on_open(struct c10m_conn *c)
{
    struct sim_world *w = sim_world;
    if (((const struct state *)c->b->app)->conn_1 == 0)
        meet(c);
    if (is_ghost(c))
        return;
    struct sim_side *s = side_of(c, NULL);
    SIM_CHECK(!s->opened && !s->closed, "connection %u: told `open` twice", number_of(c));
    s->opened = true;
    s->opened_us = c10m_now_us(c);
    s->base = (uint32_t)(number_of(c) * 2654435761u + s->active * 40503u) % SIM_PATTERN;
    w->result->conns_opened++;
    w->last_event_ns = w->now_ns;
    if (s->nodelay)
        c10m_set_option(c, C10M_OPT_NODELAY, 1);
    if (s->keepalive_ms != 0)
        c10m_set_option(c, C10M_OPT_KEEPALIVE_MS, s->keepalive_ms);
    else if (host_of(c)->plan->pulls)  // half closed, it would wait for a dead peer forever
        c10m_set_option(c, C10M_OPT_KEEPALIVE_MS, 20000);
    set_options(c);
    if (s->pause_early && s->pause_ms != 0) {
        s->paused = true;
        c10m_pause(c);
        wake_in(c, s, s->pause_ms);
    }
    set_timer(c, s);
    const struct sim_conn *k = conn_of(c);
    if (k->then != UINT32_MAX && s == &k->side[1])
        open_in_turn(c, k->then);
    pump(c, s);
}

static size_t on_data(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    SIM_CHECK(!is_ghost(c), "data for a connection that was aborted at once");
    struct sim_side *peer, *s = side_of(c, &peer);
    SIM_CHECK(s->opened && !s->closed, "connection %u: data before `open`", number_of(c));
    SIM_CHECK(!s->ended, "connection %u: data after `end`", number_of(c));
    SIM_CHECK(!s->paused, "connection %u: data while it is paused", number_of(c));
    SIM_CHECK(len != 0 && s->received + len <= peer->sent,
              "connection %u: byte %llu was received, %llu were sent", number_of(c),
              (unsigned long long)(s->received + len), (unsigned long long)peer->sent);
    const uint32_t base = (uint32_t)((peer->base + s->received) % SIM_PATTERN);
    if (unlikely(memcmp(data, sim_pattern + base, len) != 0)) {
        size_t at = 0;
        while (data[at] == sim_pattern[base + at])
            at++;
        sim_fail("connection %u, side %d, port %u from %u: byte %llu is wrong", number_of(c),
                 (int)(s - conn_of(c)->side), c->b->key.local_port, c->b->key.remote_port,
                 (unsigned long long)(s->received + at));
    }
    if (s->take_max != 0 && len > s->take_max) {
        len = s->take_max;
        wake_in(c, s, s->pause_ms + 1);
    }
    s->received += len;
    sim_world->last_event_ns = sim_world->now_ns;
    s->taken_since_pause += len;
    if (s->pause_ms != 0 && s->taken_since_pause >= s->pause_bytes) {
        s->taken_since_pause = 0;
        s->paused = true;
        c10m_pause(c);
        wake_in(c, s, s->pause_ms);
    }
    if (s->send == SEND_ROUNDS)
        pump(c, s);
    else
        may_abort(c, s);
    return len;
}

// In pieces, the front of which may be taken only.
static void on_readable(struct c10m_conn *c)
{
    uint8_t bytes[4096];
    const struct sim_side *s = side_of(c, NULL);
    SIM_CHECK(!is_ghost(c), "data for a connection that was aborted at once");
    while (!s->paused && !s->closed && !s->aborting) {
        const size_t n = c10m_peek(c, 0, bytes, sizeof(bytes));
        const size_t took = n != 0 ? on_data(c, bytes, n) : 0;
        if (s->closed)
            return;
        SIM_CHECK(c10m_read(c, NULL, took) == took, "c10m_read: not what c10m_peek showed");
        if (took < n || n == 0)
            return;
    }
}

static void on_end(struct c10m_conn *c)
{
    struct sim_side *peer, *s = side_of(c, &peer);
    SIM_CHECK(!s->ended, "connection %u: told `end` twice", number_of(c));
    SIM_CHECK(peer->shut, "connection %u: `end`, but the peer has not shut down", number_of(c));
    SIM_CHECK(s->received == peer->sent, "connection %u: `end` after %llu of %llu bytes",
              number_of(c), (unsigned long long)s->received, (unsigned long long)peer->sent);
    s->ended = true;
    if (s->send == SEND_ROUNDS)
        s->to_send = MIN(s->to_send, allowance(s));
    pump(c, s);
}

static void on_writable(struct c10m_conn *c)
{
    pump(c, side_of(c, NULL));
}

static void on_timer(struct c10m_conn *c)
{
    struct sim_side *s = side_of(c, NULL);
    const uint64_t now = c10m_now_us(c);
    SIM_CHECK(s->opened && !s->closed, "connection %u: a timer before `open`", number_of(c));
    if (s->life_ms != 0 && now >= s->opened_us + s->life_ms * 1000ull) {
        s->aborting = true;
        c10m_abort(c);
        return;
    }
    if (s->wake_us != 0 && now >= s->wake_us) {
        s->wake_us = 0;
        s->ticks++;
        s->paused = false;
        if (host_of(c)->plan->pulls)
            on_readable(c);
        else
            c10m_resume(c);
        pump(c, s);
    }
    set_timer(c, s);
}

static const char *const why_names[] = {"closed",  "reset",       "timed out",
                                        "aborted", "unreachable", "refused"};

static bool wrong_end(const struct sim_world *w, const struct sim_conn *k, const struct sim_side *s,
                      const struct sim_side *peer, enum c10m_close why)
{
    const bool faults_end = !w->plan->gentle;
    // What a peer has not seen or sees no more, it resets.
    const bool peer_gone = !peer->opened || peer->closed || peer->aborting;
    switch (why) {
    case C10M_CLOSED:
        return !(s->opened && s->shut && s->ended && s->received == peer->sent && peer->shut);
    case C10M_ABORTED:
        return !s->aborting;
    case C10M_RESET:
        // Not opened: in SYN-RECEIVED, after a SYN that crossed ours or was forged.
        return (!s->opened && !k->simultaneous && !faults_end) || (!peer_gone && !faults_end);
    case C10M_TIMED_OUT:  // also FIN-WAIT-2, with a peer that does not close
        return !peer_gone && !faults_end && !s->shut;
    case C10M_UNREACHABLE:
        return s->opened || !s->active || (!faults_end && k->port != SIM_PORT_FEW);
    case C10M_REFUSED:
        return s->opened || !s->active ||
               (!faults_end && k->port != SIM_PORT_CLOSED && k->port != SIM_PORT_DRAINING &&
                !k->simultaneous);
    }
    return true;
}

static void on_close(struct c10m_conn *c, enum c10m_close why)
{
    if (is_ghost(c))
        return;
    struct sim_world *w = sim_world;
    struct sim_side *peer, *s = side_of(c, &peer);
    const struct sim_conn *k = conn_of(c);
    SIM_CHECK(!s->closed, "connection %u: told `close` twice", number_of(c));
    if (wrong_end(w, k, s, peer, why))
        sim_fail("connection %u, side %d: %s; sent %llu, received %llu%s%s%s; the peer: sent %llu, "
                 "received %llu%s%s%s",
                 number_of(c), (int)(s - k->side), why_names[why], (unsigned long long)s->sent,
                 (unsigned long long)s->received, s->opened ? ", opened" : "",
                 s->shut ? ", shut" : "", s->ended ? ", ended" : "", (unsigned long long)peer->sent,
                 (unsigned long long)peer->received, peer->opened ? ", opened" : "",
                 peer->shut ? ", shut" : "", peer->closed ? ", closed" : "");
    s->closed = true;
    s->why = (uint8_t)why;
    sim_cover.closes[why]++;
    w->open_sides--;
    w->last_event_ns = w->now_ns;
}

static const struct c10m_app pushed = {.name = "sim",
                                       .open = on_open,
                                       .data = on_data,
                                       .end = on_end,
                                       .writable = on_writable,
                                       .timer = on_timer,
                                       .close = on_close};

static const struct c10m_app puller = {.name = "sim puller",
                                       .open = on_open,
                                       .readable = on_readable,
                                       .end = on_end,
                                       .writable = on_writable,
                                       .timer = on_timer,
                                       .close = on_close};

const struct c10m_app *sim_app_of(const struct sim_host_plan *h)
{
    return h->pulls ? &puller : &pushed;
}

const struct sim_side *sim_peer_side(const struct sim_host *h, const struct block *b)
{
    const struct state *st = (const struct state *)b->app;
    if (st->conn_1 == 0 || st->conn_1 == GHOST)
        return NULL;
    return &h->world->plan->conns[st->conn_1 - 1].side[!st->side];
}

const struct block *sim_peer_block(const struct sim_host *h, const struct block *b)
{
    const struct state *st = (const struct state *)b->app;
    const struct sim_side *peer = sim_peer_side(h, b);
    if (peer == NULL || !peer->opened || peer->closed)
        return NULL;
    const struct block *other = &h->world->hosts[peer->host]->w->tcp.blocks[peer->block];
    const struct state is = {st->conn_1, !st->side};
    return memcmp(other->app, &is, sizeof(is)) == 0 ? other : NULL;
}

void sim_app_begin(struct sim_world *w)
{
    memset(w->map, 0xff, sizeof(w->map));
}

// Its sides never hear of anything again, and nobody hears of them.
void sim_app_die(struct sim_world *w, unsigned host)
{
    for (uint32_t i = 0; i < w->plan->n_conns; i++)
        for (unsigned k = 0; k < 2; k++) {
            struct sim_side *s = &w->plan->conns[i].side[k];
            const bool there = s->opened || (w->plan->conns[i].started && s->active);
            if (s->host != host || s->closed || !there)
                continue;
            s->closed = s->dead = true;
            w->open_sides--;
        }
    w->died = true;
    w->last_event_ns = w->now_ns;
}

// Nobody is left who waits for anything.
void sim_app_finish(const struct sim_world *w)
{
    for (uint32_t i = 0; i < w->plan->n_conns; i++) {
        const struct sim_conn *k = &w->plan->conns[i];
        for (unsigned s = 0; s < 2; s++)
            SIM_CHECK(!(k->side[s].opened && !k->side[s].closed),
                      "connection %u, side %u: its end was never told", i, s);
        for (unsigned s = 0; s < 2; s++)
            SIM_CHECK(!k->started || !k->side[s].active || k->side[s].closed,
                      "connection %u, side %u: the end of its opening was never told", i, s);
    }
}
