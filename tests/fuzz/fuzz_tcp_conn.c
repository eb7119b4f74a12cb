// SPDX-License-Identifier: BSD-3-Clause
// One TCP with its socket layer against segments, times and application calls made of the input's
// bytes: fields lie near the valid ones, so that most of them reach the state machine. The port's
// MTU is 1,500 or 9,000 bytes. After each turn the simulator's invariants are checked
// (tcp_check.h), and what leaves; at the end every connection is aborted and every pool must be
// full again.
#include <stdlib.h>
#include <string.h>

#include "tcp/tcp_fast_open.h"
#include "tcp_pair.h"
#include "wire/proto.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

// input: of the fuzzer. Lengths and offsets are a byte of it times these: a port with jumbo frames
// has segments that are longer than a buffer, in both directions.
struct input {
    const uint8_t *at;
    size_t left;
    uint16_t mss, len_unit, mss_unit;
};

enum { JUMBO_MSS = 8960, JUMBO_MSS6 = 8940, JUMBO = 10 };
static_assert(UINT8_MAX * 35 <= RAW_DATA_MAX, "the longest segment");

static uint8_t byte(struct input *in)
{
    if (in->left == 0)
        return 0;
    in->left--;
    return *in->at++;
}

// near: one of the numbers that matter around base, or a wild one.
static uint32_t near(struct input *in, uint32_t base, uint32_t edge)
{
    const uint8_t how = byte(in);
    switch (how >> 5) {
    case 0:
    case 1:
    case 2:
        return base;
    case 3:
        return base + (how & 31);
    case 4:
        return base - (how & 31);
    case 5:
        return edge - (how & 15);
    case 6:
        return base + (how & 31u) * 100;
    default:
        return base + ((uint32_t)how << 24 | (uint32_t)byte(in) << 16);
    }
}

// blocks: up to four SACK blocks near full segments of what was sent.
static void blocks(struct raw *r, struct input *in, uint32_t una, uint32_t max)
{
    for (unsigned n = byte(in) % (SEG_SACK_MAX + 1); n != 0; n--) {
        const uint8_t at = byte(in);
        const uint32_t start = near(in, una + (at & 15) * (uint32_t)in->mss, max);
        raw_sack(r, start, near(in, start + (at >> 4) * (uint32_t)in->mss, max));
    }
}

// Asks for a cookie, or has the right one (RFC 7413).
static void fast_open(struct raw *r, struct seg_in *s, bool has)
{
    s->opts |= SEG_OPT_FAST_OPEN;
    s->sack_count = has;
    s->sack_off = has ? TCP_BYTES + 2 : 0;
    r->e.sacks_in[s->pkt_ix][0] = tcp_fast_open_cookie(&r->e.tcp, &s->key.remote);
}

static void segment(struct raw *r, struct input *in)
{
    static const uint8_t flags[8] = {SEG_ACK, SEG_ACK, SEG_ACK | SEG_PSH, SEG_ACK | SEG_FIN,
                                     SEG_SYN, SEG_RST, SEG_SYN | SEG_ACK, SEG_ACK | SEG_URG};
    const uint8_t what = byte(in);
    const struct block *b = raw_block(r);
    const struct syn_record *syn = r->e.tcp.syns;
    uint32_t rcv = r->seq, adv = r->seq, una = 0, max = 0;
    if (b != NULL) {
        rcv = b->rcv_nxt, adv = b->rcv_adv, una = b->snd_una, max = b->snd_max;
    } else if (syn->live) {
        rcv = adv = syn->irs + 1, una = max = syn->iss + 1;
    } else if (raw_time_wait(r)->live) {
        rcv = adv = raw_time_wait(r)->rcv_nxt, una = max = raw_time_wait(r)->snd_nxt;
    }
    const uint32_t seq = near(in, rcv, adv), ack = near(in, max, una);
    const uint16_t len = what & 8 ? (uint16_t)(byte(in) * in->len_unit) : 0;
    r->ts = what & 16;
    r->ts_val = (uint32_t)(r->now_us / 1000) - (what & 32 ? byte(in) : 0);
    r->wnd = what & 64 ? (uint16_t)(byte(in) << 4) : 65535;
    struct seg_in *s = raw_seg(r, what & 128 ? byte(in) : flags[what & 7], seq, ack, seq, len);
    if (b != NULL) {
        s->key = b->key;
        s->key.zero = 0;  // as on the wire, also if the block has given its entry away
    }
    if (s->flags & SEG_SYN) {
        s->opts |= SEG_OPT_MSS | SEG_OPT_WSCALE;
        s->mss = (uint16_t)(byte(in) * in->mss_unit);
        const uint8_t scale = byte(in);
        s->wscale = scale % 15;
        s->opts |= scale & 128 ? SEG_OPT_SACK_PERM : 0;
        if ((scale & 64) && !(s->flags & SEG_ACK))
            fast_open(r, s, scale & 32);
    } else if (b != NULL && (b->agreed & BA_SACK)) {
        blocks(r, in, una, max);
    }
}

static void call(struct raw *r, struct input *in)
{
    struct role *role = &r->e.role;
    const uint8_t what = byte(in);
    const struct block *b = raw_block(r);
    role->pause_ms = what & 1 ? 7 : 0;
    role->echo = what & 2;
    role->shut_on_end = what & 4;
    role->hold = what & 8;
    role->shut = what & 16;
    role->source = what & 32 ? 5000 : 0;
    role->abort_on_timer = (what & 192) == 192;
    role->resume_on_timer = true;
    role->timer_ms = 50;
    if (b == NULL && byte(in) < 64)
        end_connect(&r->e, 0x0a000002, 80);
    else if (b != NULL && byte(in) < 32)
        tcp_close(&r->e.tcp, (uint32_t)(b - r->e.tcp.blocks));
}

// piece_bytes: of all pieces of o; they are no fewer than o says.
static uint32_t piece_bytes(const struct seg_out *o)
{
    const struct seg_piece *p = (const void *)o->data[1];
    uint32_t all = 0;
    for (unsigned i = 0; i < SEG_PIECES_MAX && p[i].len != 0; i++)
        all += p[i].len;
    return all;
}

// check_out: a segment that leaves fits in a packet of the port, and its bytes are there.
static void check_out(const struct raw *r, const struct seg_out *o)
{
    const uint32_t bytes = (uint32_t)o->data_len[0] + o->data_len[1];
    const struct tcp_config *c = &r->e.tcp.cfg;
    CHECK(bytes <= (ip_is_v4(&o->key.remote) ? c->mss : c->mss6));
    CHECK(!(o->opts & SEG_OPT_PIECES) || piece_bytes(o) == o->data_len[1]);
    volatile uint8_t seen = 0;
    for (uint32_t i = 0; i < bytes; i++)
        seen = seg_out_byte(o, i);
    (void)seen;
}

static void turn(struct raw *r, uint32_t ms)
{
    raw_turn(r, ms);
    end_check_pools(&r->e);
    for (uint32_t i = 0; i < r->e.tcp.n_out; i++)
        check_out(r, &r->e.out[i]);
}

// set_mtu: of the port. A high half of `more` that no input of the corpus had before.
static void set_mtu(struct raw *r, struct input *in, uint8_t more)
{
    in->mss = 1460, in->len_unit = in->mss_unit = 8;
    if (more >> 4 != JUMBO)
        return;
    r->e.tcp.cfg.mss = r->mss = in->mss = JUMBO_MSS;
    r->e.tcp.cfg.mss6 = JUMBO_MSS6;
    in->len_unit = 35, in->mss_unit = 36;
}

static void wind_up(struct raw *r)
{
    uint32_t cursor = 0;
    turn(r, 1);
    sock_abort_all(&r->e.sock, UINT32_MAX, &cursor, r->e.sizes.blocks, UINT32_MAX);
    r->e.out_room = TCP_OUT_MAX;
    for (int i = 0; i < 2000 && end_leaks(&r->e) != NULL; i++)
        turn(r, 500);
    raw_free(r, true);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct input in = {.at = data, .left = MIN(n, (size_t)4096)};
    const uint8_t more = n != 0 ? data[n - 1] : 0;  // the last byte: what this target learned later
    raw_ip6 = more & 1;
    struct raw *r = raw_new(&(struct pair_sizes){
        .blocks = 4, .syns = 2, .exts = 2, .tw = 2, .bufs = 340, .wheel = 64, .flights = 3});
    set_mtu(r, &in, more);
    const uint8_t mode = byte(&in);
    r->seq = mode & 1 ? 0xfffffff0 : 1000;
    r->ts = mode & 2;
    r->ts_val = 1000;
    r->e.tcp.cfg.ack_merge = mode & 4;
    r->e.tcp.services[0].rcv_limit = mode & 8 ? 2000 : 65536;
    r->e.tcp.services[0].keepalive_ms = mode & 16 ? 1000 : 0;
    r->sack = mode & 64;
    r->e.role.source = mode & 128 ? 60000 : 0;
    if (more & 2)
        r->e.tcp.cfg.syn_cookies = TCP_COOKIES_ALWAYS;
    r->e.tcp.cfg.quick_ack = more & 4;
    r->e.tcp.services[0].fast_open = more & 8 ? 2 : 0;
    if (mode & 32)
        raw_open(r);
    while (in.left != 0) {
        const uint8_t what = byte(&in);
        if (what < 160 && r->n < BURST_MAX)
            segment(r, &in);
        else if (what < 200)
            call(r, &in);
        else if (what < 250)
            turn(r, what < 240 ? what - 200u : (what - 239u) * 1000);
        else
            r->e.out_room = what & 1 ? TCP_OUT_MAX : what - 250u;
    }
    wind_up(r);
    return 0;
}
