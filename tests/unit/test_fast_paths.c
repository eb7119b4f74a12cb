// SPDX-License-Identifier: BSD-3-Clause
// Each fast version of a step of the data path against its full version: random blocks near every
// edge, both run on the same memory, every field, queue, pool, counter, wheel entry and segment
// compared. Where the fast one declines it may have changed nothing.
#include <string.h>

#include "check.h"
#include "seed.h"

// The steps are static: their files are part of this one.
#include "sock/sock_api.c"
#include "tcp/tcp_closing_fast.h"
#include "tcp/tcp_input.c"
#include "tcp/tcp_output.c"

enum {
    BLOCKS = 4,
    BUFS = TCP_BUFS_RESERVE + 16,
    REFS = 8,
    ROOMS = 6,  // the buffers that are handed out first: what is copied and compared of the rooms
    CASES = 150000,
    MSS = 1460,
};

static_assert((int)SEND_RESERVE == (int)TCP_BUFS_RESERVE, "one number is near both edges");

// world: all that a step may touch, in one piece but for the pool of buffers.
static struct world {
    struct tcp tcp;
    struct sock sock;
    struct block blocks[BLOCKS];
    struct ext exts[BLOCKS];
    uint64_t xmit_runs[1];
    uint32_t rounds[BLOCKS];
    struct core_stats stats;
    struct seg_out out[TCP_OUT_BLOCK_MAX + 4];
    struct seq_range sacks_out[TCP_OUT_BLOCK_MAX + 4][SEG_SACK_MAX];
    unsigned n_wheel;
    struct wheel_call {
        uint32_t deadline_ms, handle;
    } wheel_calls[8];
    struct tcp_verdict v;
    uint64_t result;
} w;

static uint8_t *pool_mem, *image;
static size_t pool_bytes;
static bool wheel_refuses;
static struct index_pool no_exts;                                // but those that a block has
static struct wheel_chunk places[2 * ARRAY_LEN(w.wheel_calls)];  // one for each entry
static struct wheel empty_wheel = {
    .chunks = places,
    .draining = {WHEEL_EMPTY, WHEEL_EMPTY, WHEEL_EMPTY},
    .recent = WHEEL_EMPTY,
};

// The wheel of this program has no deadline added last and takes notes. The same deadline of the
// same block counts once: one that has passed, or that was refused, is added again.
static unsigned note(uint32_t deadline_ms, uint32_t handle)
{
    const struct wheel_call call = {deadline_ms, handle};
    for (unsigned i = 0; i < w.n_wheel; i++)
        if (memcmp(&w.wheel_calls[i], &call, sizeof(call)) == 0)
            return i;
    CHECK(w.n_wheel < ARRAY_LEN(w.wheel_calls));
    w.wheel_calls[w.n_wheel] = call;
    return w.n_wheel++;
}

uint32_t wheel_add_any(struct wheel *wheel, uint32_t deadline_ms, uint32_t handle)
{
    (void)wheel;
    note(deadline_ms, handle);
    if (wheel_refuses)
        return 0;
    const uint32_t first = w.tcp.now.ms + 1;
    uint32_t at = time_before(deadline_ms, first) ? first : deadline_ms;
    if (at - first >= 4096)
        at &= ~4095u;
    return at != 0 ? at : UINT32_MAX;
}

uint32_t wheel_place(struct wheel *wheel, uint32_t deadline_ms, uint32_t handle)
{
    const uint32_t at = ARRAY_LEN(w.wheel_calls) + note(deadline_ms, handle);
    wheel->chunks[at].at_ms = deadline_ms;
    return wheel_refuses ? WHEEL_EMPTY : at;
}

bool wheel_remove(struct wheel *wheel, uint32_t place, uint32_t handle, uint32_t *moved)
{
    (void)wheel, (void)handle;
    *moved = WHEEL_EMPTY;
    return place != 1;  // that of an entry that has come out
}

struct saved {
    struct world w;
    struct buf bufs[BUFS + REFS];
    uint32_t free_data[BUFS], free_refs[REFS];
    uint8_t rooms[ROOMS * BUF_STRIDE];
};

static struct saved before, after;

static uint8_t *rooms(void)
{
    return buf_room(&w.tcp.bufs, BUFS - ROOMS);
}

static void save(struct saved *s)
{
    s->w = w;
    memcpy(s->bufs, w.tcp.bufs.bufs, sizeof(s->bufs));
    memcpy(s->free_data, w.tcp.bufs.free_data, sizeof(s->free_data));
    memcpy(s->free_refs, w.tcp.bufs.free_refs, sizeof(s->free_refs));
    memcpy(s->rooms, rooms(), sizeof(s->rooms));
}

static void restore(const struct saved *s)
{
    w = s->w;
    memcpy(w.tcp.bufs.bufs, s->bufs, sizeof(s->bufs));
    memcpy(w.tcp.bufs.free_data, s->free_data, sizeof(s->free_data));
    memcpy(w.tcp.bufs.free_refs, s->free_refs, sizeof(s->free_refs));
    memcpy(rooms(), s->rooms, sizeof(s->rooms));
}

#define FIELD(f)                                                                                   \
    {                                                                                              \
#f, offsetof(struct block, f), sizeof(((struct block *)0)->f)                              \
    }

static const struct field {
    const char *name;
    size_t off, bytes;
} fields[] = {
    FIELD(key),           FIELD(rcv_nxt),
    FIELD(rcv_adv),       FIELD(snd_una),
    FIELD(snd_nxt),       FIELD(snd_wnd),
    FIELD(ts_recent),     FIELD(ts_recent_ms),
    FIELD(flags),         FIELD(state),
    FIELD(window_class),  FIELD(snd_wscale),
    FIELD(rcv_wscale),    FIELD(mss),
    FIELD(dirty_next),    FIELD(snd_end),
    FIELD(snd_max),       FIELD(snd_head),
    FIELD(snd_tail),      FIELD(snd_wl1),
    FIELD(cwnd),          FIELD(srtt_us),
    FIELD(rttvar_us),     FIELD(rtt_seq),
    FIELD(rtt_us),        FIELD(rto_at_ms),
    FIELD(wheel_xmit_ms), FIELD(wheel_slow_ms),
    FIELD(wheel_movable), FIELD(rcvq_bytes),
    FIELD(backoff),       FIELD(dupacks_flight),
    FIELD(unacked_segs),  FIELD(probes),
    FIELD(agreed),        FIELD(ssthresh),
    FIELD(delack_at_ms),  FIELD(snd_cur),
    FIELD(rcvq_head),     FIELD(rcvq_tail),
    FIELD(ext),           FIELD(app_timer_at_ms),
    FIELD(linger_at_ms),  FIELD(keepalive_ms),
    FIELD(last_rx_ms),    FIELD(last_progress),
    FIELD(stuck_at_ms),   FIELD(oow_16ms),
    FIELD(quickack_left), FIELD(generation),
    FIELD(retries),       FIELD(app),
    FIELD(recover),
};

// block_differs: the name of the first field that differs.
static const char *block_differs(const struct block *a, const struct block *b)
{
    for (unsigned i = 0; i < ARRAY_LEN(fields); i++)
        if (memcmp((const uint8_t *)a + fields[i].off, (const uint8_t *)b + fields[i].off,
                   fields[i].bytes) != 0)
            return fields[i].name;
    return memcmp(a, b, sizeof(*a)) != 0 ? "block" : NULL;
}

static bool same_segment(const struct seg_out *a, const struct seg_out *b)
{
    if (!flow_key_equal(&a->key, &b->key) || a->seq != b->seq || a->ack != b->ack ||
        a->wnd != b->wnd || a->flags != b->flags || a->head != b->head || a->opts != b->opts ||
        a->tos != b->tos)
        return false;
    if ((a->opts & SEG_OPT_TS) && (a->ts_val != b->ts_val || a->ts_ecr != b->ts_ecr))
        return false;
    for (int i = 0; i < 2; i++)
        if (a->data_len[i] != b->data_len[i] || (a->data_len[i] != 0 && a->data[i] != b->data[i]))
            return false;
    return true;
}

// differs: what the present state has that `s` has not; NULL: nothing.
static const char *differs(const struct saved *s)
{
    for (unsigned i = 0; i < BLOCKS; i++) {
        const char *what = block_differs(&w.blocks[i], &s->w.blocks[i]);
        if (what != NULL)
            return what;
    }
    if (w.tcp.n_out != s->w.tcp.n_out)
        return "number of segments";
    for (uint32_t i = 0; i < w.tcp.n_out; i++)
        if (!same_segment(&w.out[i], &s->w.out[i]))
            return "segment";
    if (memcmp(&w.tcp, &s->w.tcp, sizeof(w.tcp)) != 0)
        return "tcp: lists, tokens, pools";
    if (memcmp(w.exts, s->w.exts, sizeof(w.exts)) != 0 || w.xmit_runs[0] != s->w.xmit_runs[0])
        return "extension or xmit bit";
    if (memcmp(&w.stats, &s->w.stats, sizeof(w.stats)) != 0)
        return "counter";
    if (w.n_wheel != s->w.n_wheel ||
        memcmp(w.wheel_calls, s->w.wheel_calls, w.n_wheel * sizeof(w.wheel_calls[0])) != 0)
        return "wheel entry";
    if (memcmp(w.tcp.bufs.bufs, s->bufs, sizeof(s->bufs)) != 0)
        return "buffer";
    if (memcmp(w.tcp.bufs.free_data, s->free_data, sizeof(s->free_data)) != 0 ||
        memcmp(w.tcp.bufs.free_refs, s->free_refs, sizeof(s->free_refs)) != 0)
        return "pool of buffers";
    return memcmp(rooms(), s->rooms, sizeof(s->rooms)) != 0 ? "room of a buffer" : NULL;
}

static bool one_in(struct rng *r, uint32_t n)
{
    return rng_below(r, n) == 0;
}

// at_edge: one of the sequence numbers and times where 32 bits wrap or change their sign, or any.
static uint32_t at_edge(struct rng *r)
{
    static const uint32_t edge[] = {0, 1, 0x7fffffff, 0x80000000, 0xffffffff};
    if (one_in(r, 3))
        return (uint32_t)rng_u64(r);
    return edge[rng_below(r, ARRAY_LEN(edge))] + rng_below(r, 4097) - 2048;
}

static void make_world(struct rng *r)
{
    memset(&w, 0, sizeof(w));
    memset(w.out, 0xa5, sizeof(w.out));
    struct tcp *t = &w.tcp;
    buf_init(&t->bufs, pool_mem, BUFS, REFS);
    // The highest index is handed out first, so that what is compared lies at the end.
    for (uint32_t i = 0; i < BUFS; i++)
        t->bufs.free_data[i] = i;
    t->blocks = w.blocks;
    t->exts = w.exts;
    t->ext_pool = &no_exts;
    t->xmit_runs = w.xmit_runs;
    t->rounds = w.rounds;
    t->wheel = &empty_wheel;
    t->stats = &w.stats;
    t->out = w.out;
    t->sacks_out = w.sacks_out;
    const struct keys keys = keys_from((struct siphash_key){rng_u64(r), rng_u64(r)});
    tcp_set_keys(t, &keys);
    t->now.ms = at_edge(r);
    t->now.us = ((uint64_t)rng_below(r, 1000) << 32 | t->now.ms) * 1000 + rng_below(r, 1000);
    t->now.ms = (uint32_t)(t->now.us / 1000);
    t->cfg = tcp_config_default();
    t->cfg.ack_merge = !one_in(r, 4);
    t->dirty_head = t->dirty_tail = BLOCK_NONE;
    t->n_services = 1;
    t->services[0].rcv_limit = one_in(r, 3) ? rng_below(r, 5000) : 65536;
    t->services[0].snd_limit = one_in(r, 3) ? 1 + rng_below(r, 5000) : 65536;
    tcp_set_limits(t);
    t->n_out = rng_below(r, 3);
    t->out_room = t->n_out + (one_in(r, 4) ? 1 : TCP_OUT_BLOCK_MAX);
    w.sock.tcp = t;
    w.v = (struct tcp_verdict){.block = 77, .chain = BUF_NONE, .events = 0xffff, .drop = 99};
    wheel_refuses = one_in(r, 16);
    empty_wheel.refused = wheel_refuses;
    empty_wheel.at_ms = t->now.ms + one_in(r, 2);
}

// put_queue: a send queue that holds bytes [snd_una, snd_end), in own buffers and references.
static void put_queue(struct rng *r, struct block *b)
{
    struct buf_pool *p = &w.tcp.bufs;
    uint32_t seq = b->snd_una, left = b->snd_end - b->snd_una;
    b->snd_head = b->snd_tail = b->snd_cur = BUF_NONE;
    unsigned n = 0;
    while (left != 0) {
        const bool last = ++n == 4, ref = last || one_in(r, 3);
        const uint32_t ix = ref ? buf_get_ref(p, image, 0) : buf_get(p);
        struct buf *f = &p->bufs[ix];
        const uint32_t skip = ref ? 0 : one_in(r, 3) ? rng_below(r, 100) : 0;
        uint32_t len = last ? left : one_in(r, 3) ? 1 + rng_below(r, left) : left;
        if (!ref)
            len = MIN(len, BUF_BYTES - skip);
        f->at += skip;
        f->seq = seq;
        f->len = len;
        if (b->snd_head == BUF_NONE)
            b->snd_head = ix;
        else
            p->bufs[b->snd_tail].next = ix;
        b->snd_tail = ix;
        seq += len;
        left -= len;
    }
    // The hint: at or before snd_nxt; with one buffer or none it may be stale.
    if (b->snd_head == b->snd_tail) {
        b->snd_cur = one_in(r, 2) ? BUF_NONE : rng_below(r, BUFS);
        return;
    }
    b->snd_cur = b->snd_head;
    while (!one_in(r, 3)) {
        const uint32_t next = p->bufs[b->snd_cur].next;
        if (next == BUF_NONE || seq_lt(b->snd_nxt, p->bufs[next].seq))
            break;
        b->snd_cur = next;
    }
}

// amount: a number of bytes near those that matter.
static uint32_t amount(struct rng *r, uint32_t mss)
{
    const uint32_t edge[] = {0, 0, 0, 1, mss - 1, mss, mss + 1, 2 * mss, 2048, 2049, 10 * mss};
    return one_in(r, 4) ? rng_below(r, 5000) : edge[rng_below(r, ARRAY_LEN(edge))];
}

static void put_sending(struct rng *r, struct block *b)
{
    const bool fin = b->flags & BF_FIN_QUEUED, plain = one_in(r, 2);
    b->snd_una = at_edge(r);
    b->snd_nxt = b->snd_una + amount(r, b->mss);
    b->snd_max = b->snd_nxt + (!plain && one_in(r, 2) ? amount(r, b->mss) : 0);
    b->snd_end = b->snd_max + (one_in(r, 2) ? amount(r, b->mss) : 0);
    if (plain && one_in(r, 2)) {  // one small answer
        b->snd_nxt = b->snd_max = b->snd_una;
        b->snd_end = b->snd_una + 1 + rng_below(r, b->mss);
    }
    if (fin && one_in(r, 2) && b->snd_end == b->snd_max) {  // the FIN has left
        b->snd_max++;
        if (b->snd_nxt == b->snd_end && one_in(r, 2))
            b->snd_nxt++;
    }
    put_queue(r, b);
    const uint32_t flight = b->snd_max - b->snd_una, queued = b->snd_end - b->snd_una;
    const uint32_t windows[] = {0, 1, b->mss, 2 * b->mss, flight, queued, queued + b->mss, 1 << 20};
    b->snd_wnd = windows[rng_below(r, ARRAY_LEN(windows))];
    b->cwnd = plain ? queued + 10 * b->mss
                    : MAX(windows[rng_below(r, ARRAY_LEN(windows))], (uint32_t)b->mss) -
                          one_in(r, 4) + one_in(r, 4);
    b->ssthresh = one_in(r, 2) ? TCP_WINDOW_MAX : 2u * b->mss + rng_below(r, 30000);
    b->rtt_seq = b->snd_una + rng_below(r, flight + 2);
    b->rtt_us = (uint32_t)w.tcp.now.us - rng_below(r, 1u << 20);
    b->srtt_us = one_in(r, 3) ? 0 : 8 * rng_below(r, 1u << 20);
    b->rttvar_us = one_in(r, 3) ? 0 : rng_below(r, 1u << 20);
    b->backoff = !plain && one_in(r, 3) ? (uint8_t)rng_below(r, 22) : 0;
    b->retries = b->backoff;
    b->dupacks = (!plain && one_in(r, 3) ? rng_below(r, 5) : 0) & DUPACKS_MAX;
}

// some_ms: a deadline near now, seldom one that has passed; never 0.
static uint32_t some_ms(struct rng *r)
{
    const uint32_t at = w.tcp.now.ms + rng_below(r, 3000) - 300;
    return at != 0 ? at : 1;
}

static void put_timers(struct rng *r, struct block *b, uint32_t ix)
{
    if (b->snd_max != b->snd_una || (b->flags & BF_PROBE))
        b->rto_at_ms = some_ms(r);
    if (b->flags & BF_DELACK_ARMED)
        b->delack_at_ms = some_ms(r);
    if (b->rto_at_ms != 0 || (b->flags & BF_DELACK_ARMED)) {
        xmit_set(&w.tcp, ix);
        b->wheel_xmit_ms = one_in(r, 8) ? 0 : some_ms(r);
    } else {
        if (one_in(r, 2))
            xmit_set(&w.tcp, ix);
        b->wheel_xmit_ms = one_in(r, 2) ? some_ms(r) : 0;
    }
    if (one_in(r, 2)) {  // the wheel's entry is never behind the deadline; none: it was refused
        b->app_timer_at_ms = some_ms(r);
        b->keepalive_ms = 7200000;
        b->last_rx_ms = w.tcp.now.ms;
        b->wheel_slow_ms = one_in(r, 4) ? 0 : b->app_timer_at_ms - rng_below(r, 200);
    } else {
        b->wheel_slow_ms = one_in(r, 2) ? some_ms(r) : 0;
    }
    for (unsigned i = 0; i < ARRAY_LEN(w.wheel_calls); i++)
        places[i].at_ms = some_ms(r);
    b->wheel_movable = one_in(r, 2) ? 1 + rng_below(r, ARRAY_LEN(w.wheel_calls)) : 0;
}

static void put_receiving(struct rng *r, struct block *b)
{
    b->rcv_nxt = at_edge(r);
    b->rcv_wscale = (uint8_t)(one_in(r, 3) ? 0 : 7);
    b->snd_wscale = (uint8_t)rng_below(r, 15);
    b->rcv_adv = b->rcv_nxt + (one_in(r, 4) ? amount(r, b->mss) : 65536);
    b->rcvq_bytes = one_in(r, 3) ? amount(r, b->mss) : 0;
    b->unacked_segs = (uint8_t)(one_in(r, 2) ? 0 : rng_below(r, 3));
    b->snd_wl1 = b->rcv_nxt - rng_below(r, 3);
    b->wnd_max_log = 30;  // only the steps of the RFC look for larger ones
    b->ts_recent = at_edge(r);
    b->ts_recent_ms = w.tcp.now.ms - rng_below(r, 100000);
}

static const struct flow_key remote = {
    {{[10] = 255, [11] = 255, [12] = 10, [15] = 2}}, .remote_port = 40000, .local_port = 80};

// make_block: block 1, in a state that a connection can be in: its flags, then what follows of
// them.
static struct block *make_block(struct rng *r)
{
    static const uint8_t states[] = {TCP_ESTABLISHED, TCP_ESTABLISHED, TCP_ESTABLISHED,
                                     TCP_CLOSE_WAIT,  TCP_FIN_WAIT_1,  TCP_LAST_ACK,
                                     TCP_CLOSING};
    make_world(r);
    const uint32_t ix = 1;
    struct block *b = &w.blocks[ix];
    b->key = remote;
    b->state = one_in(r, 2) ? TCP_ESTABLISHED : states[rng_below(r, ARRAY_LEN(states))];
    b->rcvq_head = b->rcvq_tail = BUF_NONE;
    b->dirty_next = BLOCK_NONE;
    b->ext = EXT_NONE;
    const uint16_t may = BF_TS | BF_NODELAY | BF_TIMED | BF_WANT_WRITE | BF_PAUSED | BF_IN_APP;
    b->flags = (uint16_t)rng_u64(r) & may;
    if (!one_in(r, 4))
        b->flags &= (uint16_t)~BF_WANT_WRITE;
    if (b->flags & BF_TS)
        b->flags &= (uint16_t)~BF_TIMED;
    if (b->state == TCP_FIN_WAIT_1 || b->state == TCP_LAST_ACK || b->state == TCP_CLOSING)
        b->flags |= BF_FIN_QUEUED;
    b->mss = b->flags & BF_TS ? MSS - 12 : MSS;
    if (one_in(r, 3))
        b->agreed = BA_ECN | (rng_below(r, 8) * BA_ECE & (BA_ECE | BA_CWR | BA_REDUCED));
    put_receiving(r, b);
    if (one_in(r, 3))
        b->flags |= b->unacked_segs != 0 ? BF_ACK_DELAYED : BF_ACK_NOW;
    if ((b->flags & BF_ACK_DELAYED) && one_in(r, 2))
        b->flags |= BF_DELACK_ARMED;
    put_sending(r, b);
    if (b->snd_max == b->snd_una && b->snd_end != b->snd_una && one_in(r, 4)) {
        b->flags |= BF_PROBE;
        b->snd_nxt = b->snd_una;
    }
    if (one_in(r, 8)) {
        b->flags |= BF_EXT;
        b->ext = 2;
        w.exts[2] = (struct ext){.ooo_head = BUF_NONE};
        if (one_in(r, 2)) {
            w.exts[2].recovery = RECOVERY_NEWRENO;
            b->recover = b->snd_max;
        } else if (one_in(r, 2)) {
            w.exts[2].cc =
                (struct ext_cc){.flags = CC_LIVE, .used_ms = w.tcp.now.ms, .idle_at_ms = 1};
        } else {
            w.exts[2].sockopts = (struct ext_sockopts){.set = 1 << SOCKOPT_TTL, .ttl = 9};
        }
    }
    // An acknowledgment that is due, or whose delay does not run yet, has a turn to come.
    const uint16_t ack = b->flags & (BF_ACK_NOW | BF_ACK_DELAYED | BF_DELACK_ARMED);
    if (one_in(r, 4) || (ack != 0 && ack != (BF_ACK_DELAYED | BF_DELACK_ARMED))) {
        if (one_in(r, 2))
            tcp_dirty(&w.tcp, 0);
        tcp_dirty(&w.tcp, ix);
        if (one_in(r, 2))
            tcp_dirty(&w.tcp, 3);
    }
    put_timers(r, b, ix);
    if (one_in(r, 4)) {  // few buffers are left: at the edge of the reserve
        struct buf_pool *p = &w.tcp.bufs;
        const uint32_t n = TCP_BUFS_RESERVE + rng_below(r, 4) - 1;
        memmove(p->free_data, p->free_data + (p->n_free_data - n), n * sizeof(p->free_data[0]));
        p->n_free_data = n;
    }
    return b;
}

// taken: how often the fast version applied; a test where it does not says nothing.
static void enough(const char *what, uint32_t taken)
{
    if (taken < CASES / 50)
        fail_msg("%s applied in %u of %u cases only", what, taken, CASES);
}

#define SAME(i, s)                                                                                 \
    do {                                                                                           \
        const char *what_ = differs(s);                                                            \
        if (what_ != NULL)                                                                         \
            fail_msg("case %u: %s", i, what_);                                                     \
    } while (0)

static void a_send_of_all_that_waits_equals_the_general_one(void **state)
{
    struct rng rng = test_rng(__func__);
    uint32_t taken = 0, with_fin = 0, bare_fin = 0;
    for (uint32_t i = 0; i < CASES; i++) {
        make_block(&rng);
        save(&before);
        if (!output_fast(&w.tcp, &w.blocks[1], 1)) {
            SAME(i, &before);
            continue;
        }
        taken++;
        const struct seg_out *o = &w.out[w.tcp.n_out - 1];
        with_fin += (o->flags & SEG_FIN) != 0;
        bare_fin += (o->flags & SEG_FIN) && o->data_len[0] == 0;
        save(&after);
        restore(&before);
        w.blocks[1].flags &= (uint16_t)~BF_DIRTY;  // as tcp_output() does
        // More could be sent but for the room: only the general version, which asks the room alone,
        // says so of a connection that has nothing left.
        if (output_full(&w.tcp, &w.blocks[1], 1))
            assert_int_equal(w.tcp.n_out, w.tcp.out_room);
        SAME(i, &after);
    }
    enough("output_fast", taken);
    enough("output_fast with a FIN", 4 * with_fin);
    enough("output_fast with a bare FIN", 40 * bare_fin);
}

static void an_acknowledgment_of_everything_equals_the_general_one(void **state)
{
    struct rng rng = test_rng(__func__);
    uint32_t taken = 0;
    for (uint32_t i = 0; i < CASES; i++) {
        struct block *b = make_block(&rng);
        const uint32_t flight = b->snd_max - b->snd_una;
        if (flight == 0)
            continue;
        const uint32_t acked = one_in(&rng, 2) ? flight : 1 + rng_below(&rng, flight);
        const uint32_t ack = b->snd_una + acked;
        const bool ts = b->flags & BF_TS;
        const uint32_t ecr =
            one_in(&rng, 8) ? 0 : tcp_ts_now(&w.tcp, &b->key) - rng_below(&rng, 130000);
        save(&before);
        if (!tcp_acked_fast(&w.tcp, b, (uint32_t)(b - w.tcp.blocks), ack, ts, ecr)) {
            SAME(i, &before);
            continue;
        }
        taken++;
        save(&after);
        restore(&before);
        tcp_acked_full(&w.tcp, b, ack, ts, ecr);
        SAME(i, &after);
    }
    enough("tcp_acked_fast", taken);
}

static void make_segment(struct rng *r, const struct block *b, struct seg_in *s)
{
    static const uint8_t flags[] = {SEG_ACK,           SEG_ACK,           SEG_ACK | SEG_PSH,
                                    SEG_ACK | SEG_FIN, SEG_ACK | SEG_URG, SEG_SYN,
                                    SEG_RST,           SEG_ACK | SEG_ECE, SEG_ACK | SEG_CWR};
    const uint32_t flight = b->snd_max - b->snd_una;
    memset(s, 0, sizeof(*s));
    s->key = b->key;
    if (one_in(r, 30))
        s->key.remote_port++;
    s->seq = b->rcv_nxt + (one_in(r, 8) ? rng_below(r, 5) - 2 : 0);
    s->ack = b->snd_una + (one_in(r, 3) ? 0 : one_in(r, 2) ? flight : rng_below(r, flight + 2));
    if (one_in(r, 16))
        s->ack = b->snd_una + rng_below(r, 7) - 3;
    s->flags = one_in(r, 2) ? SEG_ACK : flags[rng_below(r, ARRAY_LEN(flags))];
    s->data_len = (uint16_t)(one_in(r, 2) ? 0 : MIN(amount(r, b->mss), 2000u));
    s->data_off = 54;
    s->ecn = (uint8_t)(one_in(r, 3) ? rng_below(r, 4) : 0);
    s->wnd = (uint16_t)(one_in(r, 4) ? 0 : rng_u64(r));
    if (!one_in(r, 16) == ((b->flags & BF_TS) != 0)) {
        s->opts = SEG_OPT_TS;
        s->ts_val = b->ts_recent + rng_below(r, 8) - (one_in(r, 4) ? 4 : 0);
        s->ts_ecr = one_in(r, 8) ? 0 : tcp_ts_now(&w.tcp, &b->key) - rng_below(r, 130000);
    }
    s->opts |= one_in(r, 16) ? SEG_OPT_SACK : 0;
}

static const uint8_t payload[2048];

static void common_input_equals_the_general_one(void **state)
{
    struct rng rng = test_rng(__func__);
    uint32_t taken = 0;
    for (uint32_t i = 0; i < CASES; i++) {
        const struct block *b = make_block(&rng);
        struct seg_in s;
        make_segment(&rng, b, &s);
        const uint32_t found = flow_index(one_in(&rng, 30) ? FLOW_SYN : FLOW_BLOCK, 1);
        save(&before);
        const bool common = tcp_input_common(&w.tcp, &s, found, &w.v);
        if (!common) {
            SAME(i, &before);
            continue;
        }
        taken++;
        save(&after);
        restore(&before);
        tcp_input_hashed(&w.tcp, &s, 0, payload, found, &w.v);
        SAME(i, &after);
        assert_int_equal(w.v.block, after.w.v.block);
        assert_int_equal(w.v.events, after.w.v.events);
        assert_int_equal(w.v.drop, after.w.v.drop);
        if (w.v.events & TCP_EV_DATA) {
            assert_int_equal(w.v.data_off, after.w.v.data_off);
            assert_int_equal(w.v.data_len, after.w.v.data_len);
        }
    }
    enough("tcp_input_common", taken);
}

// turn_end: what follows a segment in its turn: the application hears of room, what may leave does.
static void turn_end(struct block *b)
{
    if (w.v.events & TCP_EV_SENT)
        b->flags &= (uint16_t)~BF_WANT_WRITE;
    if (b->flags & BF_DIRTY)
        tcp_output(&w.tcp, 1);
}

// Header prediction against the RFC's steps, both followed by what the connection then sends. The
// steps differ in what nobody can see: they mark more blocks dirty, say SENT to an application that
// does not wait, count a probe of the keepalive timer as answered earlier, and keep ACK_DELAYED
// beside ACK_NOW. And they do not take a smaller window from a segment with the number of the last
// update (RFC 9293 3.10.7.4: either will do, the peer may not shrink it).
static void header_prediction_equals_the_steps_of_the_rfc(void **state)
{
    struct rng rng = test_rng(__func__);
    uint32_t taken = 0, with_record = 0;
    for (uint32_t i = 0; i < CASES; i++) {
        struct block *b = make_block(&rng);
        w.tcp.cfg.ack_merge = true;
        struct seg_in s;
        make_segment(&rng, b, &s);
        const uint32_t wnd = (uint32_t)s.wnd << b->snd_wscale;
        const bool shrinks = s.ack == b->snd_una && b->snd_wl1 == s.seq && wnd < b->snd_wnd;
        if (shrinks || !flow_key_equal(&s.key, &b->key))
            continue;
        w.v.events = w.v.drop = 0;
        save(&before);
        if (!tcp_segment_fast_ext(&w.tcp, 1, &s, &w.v))
            continue;
        taken++;
        with_record += (before.w.blocks[1].flags & BF_EXT) != 0;
        assert_false(s.opts & SEG_OPT_SACK);
        const bool fast_dirty = b->flags & BF_DIRTY;
        turn_end(b);
        save(&after);
        restore(&before);
        tcp_segment_full(&w.tcp, 1, &s, payload, &w.v);
        assert_true((b->flags & BF_DIRTY) || !fast_dirty);
        const bool waits = before.w.blocks[1].flags & BF_WANT_WRITE;
        const uint16_t told = w.v.events & (waits ? 0xffff : ~TCP_EV_SENT);
        turn_end(b);
        assert_int_equal(told, after.w.v.events);
        assert_int_equal(w.v.drop, after.w.v.drop);
        if (!fast_dirty) {  // it looked at the timers once more
            w.n_wheel = after.w.n_wheel;
            memcpy(w.wheel_calls, after.w.wheel_calls, sizeof(w.wheel_calls));
            b->wheel_xmit_ms = after.w.blocks[1].wheel_xmit_ms;
            b->wheel_slow_ms = after.w.blocks[1].wheel_slow_ms;
            b->wheel_movable = after.w.blocks[1].wheel_movable;
        }
        if (b->flags & BF_ACK_NOW)
            b->flags &= (uint16_t)~BF_ACK_DELAYED;
        b->probes = after.w.blocks[1].probes;
        b->flags = (uint16_t)((b->flags & ~BF_DIRTY) | (after.w.blocks[1].flags & BF_DIRTY));
        w.blocks[0].dirty_next = after.w.blocks[0].dirty_next;
        b->dirty_next = after.w.blocks[1].dirty_next;
        w.blocks[3].dirty_next = after.w.blocks[3].dirty_next;
        w.tcp.dirty_head = after.w.tcp.dirty_head;
        w.tcp.dirty_tail = after.w.tcp.dirty_tail;
        w.tcp.n_dirty = after.w.tcp.n_dirty;
        SAME(i, &after);
    }
    enough("tcp_segment_fast", taken);
    enough("tcp_segment_fast_ext, with a record that is calm", 4 * with_record);
}

// make_closing: the block as its end finds it: all has left, and our FIN with it if it is queued.
static void make_closing(struct rng *r, struct block *b)
{
    static const uint8_t states[] = {TCP_ESTABLISHED, TCP_FIN_WAIT_1, TCP_FIN_WAIT_2, TCP_CLOSING,
                                     TCP_LAST_ACK};
    b->state = states[rng_below(r, ARRAY_LEN(states))];
    const bool fin = b->state != TCP_ESTABLISHED, over = b->state == TCP_FIN_WAIT_2;
    b->flags &= (uint16_t) ~(BF_PROBE | BF_FIN_QUEUED);
    if (fin)
        b->flags |= BF_FIN_QUEUED;
    buf_put_chain(&w.tcp.bufs, b->snd_head);
    b->snd_una = at_edge(r);
    b->snd_end = b->snd_una + (over || one_in(r, 2) ? 0 : 1 + rng_below(r, b->mss));
    put_queue(r, b);
    b->snd_nxt = b->snd_max = b->snd_end + fin;
    if (over)
        b->snd_una = b->snd_max;
    const uint32_t flight = b->snd_max - b->snd_una;
    b->cwnd = one_in(r, 4) ? flight + b->mss + rng_below(r, 3) - 1 : 10u * b->mss;
    b->rto_at_ms = flight != 0 ? some_ms(r) : 0;
    if (flight != 0)
        xmit_set(&w.tcp, 1);
    b->backoff = b->retries = one_in(r, 16);
    b->dupacks_flight = one_in(r, 16);
    b->probes = one_in(r, 16);
    w.tcp.services[0].pulls = one_in(r, 4);
}

// The segment of an end in order, or one that misses it by one thing.
static void make_end(struct rng *r, const struct block *b, struct seg_in *s)
{
    make_segment(r, b, s);
    s->key = b->key;
    if (one_in(r, 4))
        return;
    s->seq = b->rcv_nxt;
    s->ack = b->snd_max;
    s->data_len = 0;
    s->flags = one_in(r, 2) ? SEG_ACK : SEG_ACK | SEG_FIN;
    s->opts &= SEG_OPT_TS;
    switch (rng_below(r, 16)) {
    case 0:
        s->seq += one_in(r, 2) ? 1 : -1u;
        break;
    case 1:
        s->ack += one_in(r, 2) ? 1 : -1u;
        break;
    case 2:
        s->data_len = 1;
        break;
    case 3:
        s->flags |= (uint8_t)(1u << rng_below(r, 8));
        break;
    case 4:
        s->opts ^= one_in(r, 2) ? SEG_OPT_TS : SEG_OPT_SACK;
        break;
    case 5:
        s->ts_val = b->ts_recent - 1;
        break;
    default:
        break;
    }
}

// misses: why a segment may not take the fast path, in words of its own. NULL: it may.
static const char *misses(const struct block *b, const struct seg_in *s)
{
    if (s->seq != b->rcv_nxt)
        return "out of order";
    if (s->ack != b->snd_max)
        return "an old ACK, or one of nothing that was sent";
    if (s->data_len != 0)
        return "data";
    if (s->flags & (SEG_SYN | SEG_RST))
        return "SYN or RST";
    if (s->flags & (SEG_URG | SEG_ECE | SEG_CWR))
        return "URG or ECN";
    if (s->opts & SEG_OPT_SACK)
        return "SACK";
    if (((s->opts & SEG_OPT_TS) != 0) != ((b->flags & BF_TS) != 0))
        return "timestamp missing or unasked for";
    if ((b->flags & BF_TS) && time_before(s->ts_val, b->ts_recent))
        return "PAWS";
    return b->flags & BF_EXT ? "a record" : NULL;
}

// What the steps leave behind and nobody can see any more: that FIN-WAIT-2 began on the way to
// TIME-WAIT, a look at the timers of a block that nothing waits for, and a congestion window, with
// the record that CUBIC asks for to let it grow, for data that can never come behind our FIN.
static void forget_the_way(struct block *b, const struct block *as)
{
    b->cwnd = as->cwnd;
    b->ssthresh = as->ssthresh;
    b->linger_at_ms = as->linger_at_ms;
    b->wheel_movable = as->wheel_movable;
    b->wheel_slow_ms = as->wheel_slow_ms;
    b->wheel_xmit_ms = as->wheel_xmit_ms;
    b->probes = as->probes;
    w.stats.c.cc_records_missed = after.w.stats.c.cc_records_missed;
    w.n_wheel = after.w.n_wheel;
    memcpy(w.wheel_calls, after.w.wheel_calls, sizeof(w.wheel_calls));
}

static void same_lists(struct block *b)
{
    b->flags = (uint16_t)((b->flags & ~BF_DIRTY) | (after.w.blocks[1].flags & BF_DIRTY));
    for (unsigned i = 0; i < BLOCKS; i++)
        w.blocks[i].dirty_next = after.w.blocks[i].dirty_next;
    w.tcp.dirty_head = after.w.tcp.dirty_head;
    w.tcp.dirty_tail = after.w.tcp.dirty_tail;
    w.tcp.n_dirty = after.w.tcp.n_dirty;
}

static void a_fast_end_equals_the_steps_of_the_rfc(void **state)
{
    struct rng rng = test_rng(__func__);
    uint32_t taken[TCP_STATE_COUNT] = {0};
    for (uint32_t i = 0; i < CASES; i++) {
        struct block *b = make_block(&rng);
        if (!one_in(&rng, 8))
            make_closing(&rng, b);
        struct seg_in s;
        make_end(&rng, b, &s);
        const enum tcp_state was = b->state;
        const uint32_t wnd = (uint32_t)s.wnd << b->snd_wscale;
        const bool shrinks = s.ack == b->snd_una && b->snd_wl1 == s.seq && wnd < b->snd_wnd;
        w.v = (struct tcp_verdict){.block = 1, .chain = BUF_NONE};
        save(&before);
        const char *why = misses(b, &s);
        if (!tcp_closing_fast(&w.tcp, 1, &s, &w.v)) {
            SAME(i, &before);
            continue;
        }
        if (why != NULL)
            fail_msg("case %u took the fast path: %s", i, why);
        if (shrinks)
            continue;
        taken[was]++;
        assert_int_equal(w.stats.c.segs_closing, 1);
        w.stats.c.segs_closing = 0;
        turn_end(b);
        save(&after);
        restore(&before);
        tcp_segment_full(&w.tcp, 1, &s, payload, &w.v);
        assert_int_equal(w.v.block, after.w.v.block);
        assert_int_equal(w.v.events, after.w.v.events);
        assert_int_equal(w.v.drop, after.w.v.drop);
        turn_end(b);
        if (was != TCP_ESTABLISHED)
            forget_the_way(b, &after.w.blocks[1]);
        same_lists(b);
        SAME(i, &after);
    }
    enough("tcp_closing_fast in ESTABLISHED", taken[TCP_ESTABLISHED]);
    enough("tcp_closing_fast in FIN-WAIT-1", taken[TCP_FIN_WAIT_1]);
    enough("tcp_closing_fast in FIN-WAIT-2", taken[TCP_FIN_WAIT_2]);
    enough("tcp_closing_fast in CLOSING", taken[TCP_CLOSING]);
    enough("tcp_closing_fast in LAST-ACK", taken[TCP_LAST_ACK]);
}

static void the_first_send_equals_the_general_one(void **state)
{
    struct rng rng = test_rng(__func__);
    uint32_t taken = 0;
    static uint8_t data[6000];
    for (uint32_t i = 0; i < sizeof(data); i++)
        data[i] = (uint8_t)rng_u64(&rng);
    for (uint32_t i = 0; i < CASES; i++) {
        struct block *b = make_block(&rng);
        if (one_in(&rng, 2)) {  // nothing waits
            buf_put_chain(&w.tcp.bufs, b->snd_head);
            b->snd_una = b->snd_nxt = b->snd_max = b->snd_end;
            b->snd_head = b->snd_tail = BUF_NONE;
            b->flags &= (uint16_t)~BF_FIN_QUEUED;
        }
        if (one_in(&rng, 8))
            b->flags |= BF_ABORT;
        struct c10m_conn c = {&w.sock, b, 1, false};
        const uint32_t from = rng_below(&rng, 64);
        const size_t len = MIN(amount(&rng, b->mss), 5000u);
        save(&before);
        if (!send_fast(&c, data + from, len)) {
            SAME(i, &before);
            continue;
        }
        taken++;
        save(&after);
        restore(&before);
        assert_int_equal(send_full(&c, data + from, len), len);
        // Behind the data a room may hold anything.
        const uint32_t ix = b->snd_head;
        assert_memory_equal(buf_room(&w.tcp.bufs, ix),
                            after.rooms + (buf_room(&w.tcp.bufs, ix) - rooms()), len);
        memcpy(rooms(), after.rooms, sizeof(after.rooms));
        SAME(i, &after);
    }
    enough("send_fast", taken);
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
    pool_bytes = ALIGN_UP(buf_footprint(BUFS, REFS), CACHE_LINE);
    pool_mem = aligned_alloc(CACHE_LINE, pool_bytes);
    image = calloc(1, 1 << 20);
    CHECK(pool_mem != NULL && image != NULL);
    memset(pool_mem, 0, pool_bytes);
    const struct CMUnitTest tests[] = {
        T(a_send_of_all_that_waits_equals_the_general_one),
        T(an_acknowledgment_of_everything_equals_the_general_one),
        T(common_input_equals_the_general_one),
        T(header_prediction_equals_the_steps_of_the_rfc),
        T(a_fast_end_equals_the_steps_of_the_rfc),
        T(the_first_send_equals_the_general_one),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(pool_mem);
    free(image);
    return failed;
}
