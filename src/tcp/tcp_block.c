// SPDX-License-Identifier: BSD-3-Clause
// Opening and closing of blocks; entries of blocks in the flow table.
#include <errno.h>
#include <string.h>

#include "tcp/tcp_flight.h"
#include "tcp/tcp_new_flows.h"
#include "tcp/tcp_ooo.h"
#include "wire/raw.h"

struct tcp_config tcp_config_default(void)
{
    return (struct tcp_config){
        .rto_min_ms = 200,
        .rto_max_ms = 120000,
        .rto_initial_ms = 1000,
        .syn_retries = 6,
        .synack_retries = 5,
        .retries1 = 3,
        .retries = 15,
        .time_wait_ms = 60000,
        .delayed_ack_ms = 40,
        .fin_wait2_ms = 60000,
        .rst_per_s = 1000,
        .invalid_ack_ms = 500,
        .initial_window = 10,
        .pacing_rtt_ms = 5,
        .accept_wait_us = UINT32_MAX,
        .window_scale = 7,
        .ecn = TCP_ECN_ACCEPT,
        .black_hole_detection = true,
        .syn_cookies = TCP_COOKIES_AUTO,
        .ack_merge = true,
        .quick_ack = true,
        .timestamps = true,
        .sack = true,
        .mss = 1460,
        .mss6 = 1440,
    };
}

static bool time_wait_is(const struct time_wait *w, const struct flow_key *key)
{
    const struct ip_addr remote = time_wait_remote(w);
    return w->live && ip_equal(&remote, &key->remote) && w->remote_port == key->remote_port &&
           w->local_port == key->local_port && w->local_ix == key->local_ix;
}

bool tcp_owner_is(const struct tcp *t, uint32_t handle, const struct flow_key *key)
{
    const uint32_t ix = flow_index_ix(handle);
    switch (flow_index_kind(handle)) {
    case FLOW_BLOCK:
        return t->blocks[ix].state != TCP_FREE && flow_key_equal(&t->blocks[ix].key, key);
    case FLOW_SYN:
        return t->syns[ix].live && flow_key_equal(&t->syns[ix].key, key);
    case FLOW_TIME_WAIT:
        return time_wait_is(time_wait_at(&t->tw4, ix), key);
    default:
        return time_wait_is(time_wait_at(&t->tw6, ix), key);
    }
}

uint32_t tcp_owner(const struct tcp *t, const struct flow_key *key)
{
    return tcp_owner_by(t, key, flow_hash(t->table, key));
}

uint32_t tcp_owner_by(const struct tcp *t, const struct flow_key *key, uint64_t hash)
{
    unsigned at = 0;
    uint32_t handle;
    do
        handle = flow_next(t->table, hash, &at);
    while (handle != FLOW_NONE && !tcp_owner_is(t, handle, key));
    return handle;
}

void tcp_set_keys(struct tcp *t, const struct keys *keys)
{
    t->numbers_key = keys->of[SECRET_NUMBERS];
    t->cookies_key = keys->of[SECRET_COOKIES];
    t->fast_open_key = keys->of[SECRET_FAST_OPEN];
    t->ports_key = keys->of[SECRET_PORTS];
    t->ts_key = addr_hash_key_from(keys->of[SECRET_TIMESTAMPS]);
    limit_init(&t->resets, keys->of[SECRET_RESETS]);
    t->ooo_key = keys->of[SECRET_OUT_OF_ORDER];
}

uint32_t tcp_isn_hash(const struct tcp *t, const struct flow_key *key)
{
    const uint64_t *w = (const uint64_t *)key;
    return (uint32_t)siphash_u64x3(&t->numbers_key, w[0], w[1], w[2]);
}

uint32_t tcp_isn(const struct tcp *t, const struct flow_key *key)
{
    return (uint32_t)(t->now.us / 4) + tcp_isn_hash(t, key);
}

void tcp_set_mss(const struct tcp *t, struct block *b, uint16_t peer_mss)
{
    uint32_t mss = peer_mss != 0 ? peer_mss : tcp_default_mss(&b->key);
    mss = MIN(MAX(mss, (uint32_t)TCP_MSS_MIN), (uint32_t)tcp_block_mss(t, b));
    b->mss = (uint16_t)(mss - (b->flags & BF_TS ? 12 : 0));  // RFC 6691: less the options
}

uint32_t tcp_block_new(struct tcp *t, const struct flow_key *key, uint8_t service, uint32_t old)
{
    const uint32_t ix = index_pool_get(t->block_pool);
    if (ix == INDEX_NONE)
        return BLOCK_NONE;
    struct block *b = &t->blocks[ix];
    const uint64_t hash = flow_hash(t->table, key);
    const uint32_t handle = flow_index(FLOW_BLOCK, ix);
    if (old != FLOW_NONE) {
        CHECK(flow_replace(t->table, hash, old, handle));
    } else if (!flow_insert(t->table, hash, handle)) {
        index_pool_put(t->block_pool, ix);
        return BLOCK_NONE;
    } else {
        new_flows_add(t, hash);
    }
    // These fields outlive the connection: wheel entries, dirty list, generation.
    const uint32_t xmit = b->wheel_xmit_ms, slow = b->wheel_slow_ms, movable = b->wheel_movable;
    const uint32_t dirty_next = b->dirty_next;
    const uint16_t dirty = b->flags & BF_DIRTY, generation = b->generation;
    memset(b, 0, sizeof(*b));
    b->key = *key;
    b->wheel_xmit_ms = xmit;
    b->wheel_slow_ms = slow;
    b->wheel_movable = movable;
    b->dirty_next = dirty_next;
    b->flags = dirty;
    b->generation = (uint16_t)(generation + 1);
    tcp_next_round(t, b, ix);
    b->service = service;
    b->snd_head = b->snd_tail = b->snd_cur = BUF_NONE;
    b->rcvq_head = b->rcvq_tail = BUF_NONE;
    b->ext = EXT_NONE;
    b->ssthresh = TCP_WINDOW_MAX;
    struct tcp_service *sv = &t->services[service];
    sv->connections++;
    t->stats->c.connections_now++;
    t->stats->c.connections6_now += !ip_is_v4(&key->remote);
    if (sv->nodelay)
        b->flags |= BF_NODELAY;
    if (sv->pulls)
        b->flags |= BF_PAUSED;
    b->keepalive_ms = sv->keepalive_ms;
    b->last_rx_ms = t->now.ms;
    b->rtt_us = (uint32_t)t->now.us;
    b->oow_16ms = (uint16_t)((t->now.ms - t->cfg.invalid_ack_ms) / 16 - 1);
    return ix;
}

void tcp_block_give_back(struct tcp *t, struct block *b)
{
    buf_put_chain(&t->bufs, b->snd_head);
    buf_put_chain(&t->bufs, b->rcvq_head);
    if (b->flags & BF_EXT) {
        struct ext *e = &t->exts[b->ext];
        tcp_ooo_drop(t, e);
        *e = (struct ext){.ooo_head = BUF_NONE, .hold.source = e->hold.source};
        tcp_ext_release(t, b);
    }
    tcp_flight_close(t, b);
}

void tcp_free(struct tcp *t, uint32_t ix)
{
    struct block *b = &t->blocks[ix];
    const uint32_t handle = flow_index(FLOW_BLOCK, ix);
    if (b->state == TCP_TIME_WAIT)
        tcp_time_wait_enter(t, &b->key, b, handle);
    else if (b->key.zero != BLOCK_HAS_NO_ENTRY)
        CHECK(flow_remove(t->table, flow_hash(t->table, &b->key), handle));
    tcp_block_give_back(t, b);
    if (unlikely(b->source != SOURCE_NONE)) {
        sources_leave(t->sources, b->source);
        b->source = SOURCE_NONE;
        t->stats->c.sources_now = sources_now(t->sources);
    }
    if (likely(b->in_prefix)) {
        prefixes_leave(t->prefixes, &b->key.remote);
        b->in_prefix = false;
    }
    tcp_set_state(b, STEP_RELEASE);
    t->stats->c.orphans_now -= is_orphan(b);
    b->flags &= BF_DIRTY;
    t->services[b->service].connections--;
    t->stats->c.connections_now--;
    t->stats->c.connections6_now -= !ip_is_v4(&b->key.remote);
    t->stats->c.conns_closed++;
    if (likely(!tcp_lanes_hold(t, b)))
        index_pool_put_deferred(t->block_pool, ix);
}

void tcp_begin_close(struct tcp *t, struct block *b, uint32_t ix)
{
    tcp_set_state(b, STEP_CLOSE);
    t->stats->c.established_now--;
    tcp_dirty(t, ix);
}

void tcp_close(struct tcp *t, uint32_t ix)
{
    struct block *b = &t->blocks[ix];
    if (b->flags & BF_FIN_QUEUED)
        return;
    switch (b->state) {
    case TCP_ESTABLISHED:
    case TCP_CLOSE_WAIT:
        b->flags |= BF_FIN_QUEUED;
        tcp_begin_close(t, b, ix);
        break;
    case TCP_SYN_RECEIVED:  // the FIN is sent after the handshake (RFC 9293 3.10.4)
        b->flags |= BF_FIN_QUEUED;
        break;
    case TCP_SYN_SENT:
        tcp_abort(t, ix);
        break;
    default:
        break;
    }
}

void tcp_abort(struct tcp *t, uint32_t ix)
{
    struct block *b = &t->blocks[ix];
    if (b->state == TCP_CLOSED) {  // an orderly close, but the application did not read everything
        if (b->close_why == TCP_CLOSE_CLOSED)
            b->close_why = TCP_CLOSE_ABORTED;
        return;
    }
    if (b->state != TCP_SYN_SENT && b->state != TCP_TIME_WAIT)
        tcp_send_reset(t, b);
    t->stats->c.aborts_by_app++;
    tcp_end(t, b, TCP_CLOSE_ABORTED);
}

unsigned tcp_home(const struct tcp_homes *h, const struct flow_key *key)
{
    return h == NULL ? 0 : tcp_home_at(h, key, &h->local[key->local_ix]);
}

unsigned tcp_home_at(const struct tcp_homes *h, const struct flow_key *key,
                     const struct ip_addr *local)
{
    const uint8_t *from = key->remote.b, *to = local->b;
    const uint16_t from_port = __builtin_bswap16(key->remote_port);
    const uint16_t to_port = __builtin_bswap16(key->local_port);
    const uint32_t hash =
        ip_is_v4(&key->remote)
            ? toeplitz_v4(&h->hash, load_raw32(from + 12), load_raw32(to + 12), from_port, to_port)
            : toeplitz_v6(&h->hash, from, to, from_port, to_port);
    return toeplitz_home(hash, h->entries[key->local_ix], h->workers);
}

// is_home: whether RSS directs the packets of this connection to this worker.
static bool is_home(const struct tcp *t, const struct flow_key *key)
{
    return t->homes == NULL || tcp_home(t->homes, key) == t->homes->self;
}

enum {
    PORT_FIRST = 32768,  // as Linux's ip_local_port_range
    PORT_COUNT = 28232,
    // How many ports are tried for one connection. If nine of ten ports belong to open connections,
    // one search of 800 fails.
    PORT_LOOKS_MAX = 64,
    PORT_LOOKS_FREE = 4,  // after this many tries, a port in TIME-WAIT is accepted
};

static uint16_t draw_port(struct tcp *t)
{
    const uint64_t drawn = siphash_u64x2(&t->ports_key, t->ports_drawn++, 0) >> 32;
    return (uint16_t)(PORT_FIRST + (drawn * PORT_COUNT >> 32));
}

// choose_port: chooses an unpredictable port, independent of earlier ones (RFC 6056 3.3.2). It
// prefers a free port. Else it takes a port in TIME-WAIT whose record may be replaced, because
// timestamps distinguish old segments (RFC 6191 2). *old: that record, or FLOW_NONE.
static bool choose_port(struct tcp *t, struct flow_key *key, uint32_t *old)
{
    // RSS directs one of `workers` ports to this worker.
    const unsigned draws = PORT_LOOKS_MAX * (t->homes == NULL ? 1 : t->homes->workers);
    uint32_t spare = FLOW_NONE;
    uint16_t spare_port = 0;
    unsigned looks = 0;
    for (unsigned i = 0; i < draws && (spare == FLOW_NONE || looks < PORT_LOOKS_FREE); i++) {
        key->local_port = draw_port(t);
        if (!is_home(t, key))
            continue;
        uint32_t isn = 0;
        const uint32_t owner = tcp_owner(t, key);
        if (owner == FLOW_NONE)
            return true;
        if (spare == FLOW_NONE && tcp_time_wait_yields(t, owner, &isn)) {
            spare = owner;
            spare_port = key->local_port;
        }
        looks++;
    }
    key->local_port = spare_port;
    *old = spare;
    t->stats->c.ports_refused += spare == FLOW_NONE;
    return spare != FLOW_NONE;
}

int tcp_open(struct tcp *t, const struct flow_key *key, uint8_t service, uint32_t *ix)
{
    struct flow_key k = *key;
    uint32_t old = FLOW_NONE;
    if (k.local_port != 0 ? !is_home(t, &k) : !choose_port(t, &k, &old))
        return -EADDRNOTAVAIL;
    if (key->local_port != 0)
        old = tcp_owner(t, &k);
    uint32_t isn = tcp_isn(t, &k);
    if (old != FLOW_NONE && !tcp_time_wait_yields(t, old, &isn))
        return -EADDRNOTAVAIL;
    *ix = tcp_block_new(t, &k, service, old);
    if (*ix == BLOCK_NONE)
        return -ENOBUFS;
    if (old != FLOW_NONE)
        tcp_time_wait_yield(t, old);
    struct block *b = &t->blocks[*ix];
    b->snd_una = b->snd_nxt = b->snd_max = b->recover = isn;
    b->snd_end = b->snd_una + 1;
    b->mss = tcp_default_mss(&k);
    tcp_set_state(b, STEP_ACTIVE_OPEN);
    tcp_dirty(t, *ix);
    t->stats->c.conns_opened_active++;
    return 0;
}

int tcp_connect(struct tcp *t, const struct ip_addr *remote, uint16_t remote_port,
                uint16_t local_ix, uint8_t service, uint32_t *ix)
{
    const struct flow_key key = {*remote, local_ix, 0, remote_port, 0};
    return tcp_open(t, &key, service, ix);
}

void tcp_window_update(struct tcp *t, uint32_t ix)
{
    struct block *b = &t->blocks[ix];
    const uint32_t limit = tcp_rcv_limit(t, b), field_max = (uint32_t)UINT16_MAX << b->rcv_wscale;
    const uint32_t room = b->rcvq_bytes < limit ? limit - b->rcvq_bytes : 0;
    // The window edge that the peer sees: without window scaling the field has 16 bits.
    const uint32_t gain = b->rcv_nxt + MIN(room, field_max) - b->rcv_adv;
    if ((int32_t)gain > 0 && gain >= MIN(MIN(limit, field_max) / 2, 2u * b->mss)) {
        t->stats->c.window_opened += (b->agreed & BA_SHUT) != 0;
        b->agreed &= (uint8_t)~BA_SHUT;
        b->flags |= BF_ACK_NOW;
        tcp_dirty(t, ix);
    }
}
