// SPDX-License-Identifier: BSD-3-Clause
// Between the script's segments and the stack's: relative and absolute numbers, options, data.
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "pkt_machine.h"
#include "tcp/tcp_fast_open.h"
#include "wire/build.h"
#include "wire/parse.h"

enum { TCP_OFF = ETH_BYTES + IP4_BYTES };

static uint32_t ms_since_start(const struct pkt_machine *m, uint64_t at_us)
{
    return (uint32_t)((at_us / 1000) - (m->start_us / 1000));
}

static void own_cookie(const struct pkt_machine *m, const struct pkt_conn *c, uint32_t cookie[2])
{
    const struct seq_range own = tcp_fast_open_cookie(&m->e.tcp, &c->key.remote);
    cookie[0] = own.start;
    cookie[1] = own.end;
}

// The options as they go on the wire: relative numbers made absolute; with the variant, a
// timestamp.
static uint32_t put_options(struct pkt_machine *m, const struct pkt_conn *c,
                            const struct pkt_seg *g, uint64_t at_us, uint8_t out[40])
{
    struct pkt_opts o = g->opts;
    if (m->how.timestamps && pkt_opts_find(&o, PKT_TS) == NULL && o.n < PKT_OPTS_MAX) {
        const uint32_t val = 1 + ms_since_start(m, at_us);
        o.o[o.n++] = (struct pkt_opt){.kind = PKT_TS, .a = val, .b = c->ts_seen};
    }
    for (unsigned i = 0; i < o.n; i++) {
        struct pkt_opt *p = &o.o[i];
        if (p->kind == PKT_MSS && m->how.timestamps && !p->own)
            p->a += TCP_TS_BYTES;
        if (p->any_b)
            p->b = c->ts_seen;
        if (p->kind == PKT_FAST_OPEN && p->own)
            own_cookie(m, c, p->sack[0]);
        if (p->kind == PKT_TS && (g->flags & SEG_ACK))  // without ACK it says nothing
            p->b += c->ts_base;
        for (unsigned k = 0; k < p->n_sacks && p->kind == PKT_SACK; k++) {
            p->sack[k][0] += c->our_isn;
            p->sack[k][1] += c->our_isn;
        }
    }
    return pkt_opts_write(&o, tcp_local_mss(&m->e.tcp, &c->key), out);
}

bool pkt_in(struct pkt_machine *m)
{
    struct pkt_conn *c = &m->conns[m->conn];
    const struct pkt_seg *g = &m->line->seg;
    if (m->n_in == BURST_MAX)
        return pkt_fail(m, "more than %d segments in one burst", BURST_MAX);
    uint8_t options[40];
    const uint32_t n_options = put_options(m, c, g, m->last_us, options);
    if (n_options == UINT32_MAX)
        return pkt_fail(m, "options of more than 40 bytes");
    const uint32_t head = TCP_BYTES + n_options;
    uint8_t *frame = calloc(1, TCP_OFF + head + g->len + 1), *tcp = frame + TCP_OFF;
    CHECK(frame != NULL);
    if (g->has_win)
        c->win = g->win;
    store_be16(tcp, c->key.remote_port);
    store_be16(tcp + 2, c->key.local_port);
    store_be32(tcp + 4, g->seq + c->peer_isn);
    store_be32(tcp + 8, g->flags & SEG_ACK ? g->ack + c->our_isn : 0);
    tcp[12] = (uint8_t)(head << 2);
    tcp[13] = g->flags;
    store_be16(tcp + 14, c->win);
    store_be16(tcp + 18, g->urg);
    memcpy(tcp + TCP_BYTES, options, n_options);
    const uint32_t first = g->seq + ((g->flags & SEG_SYN) != 0) - 1;
    for (uint32_t i = 0; i < g->len; i++)
        tcp[head + i] = pkt_byte(first + i, g->payload);

    struct seg_in *s = &m->in[m->n_in];
    const struct wire_ip4 ip = {.l4_off = TCP_OFF,
                                .l4_len = (uint16_t)(head + g->len),
                                .proto = IP_PROTO_TCP,
                                .tos = g->ecn};
    *s = (struct seg_in){.seq = 0};
    const enum drop_reason drop = wire_parse_tcp(frame, &ip, false, s);
    if (drop != DROP_NONE) {  // ended at the border
        m->e.stats.c.rx_packets++;
        m->e.stats.drops[drop]++;
        free(frame);
        return true;
    }
    s->key = c->key;
    s->pkt_ix = (uint16_t)m->n_in;
    if (s->opts & (SEG_OPT_SACK | SEG_OPT_FAST_OPEN))
        wire_read_sack(frame, s, m->e.sacks_in[m->n_in]);
    m->frames[m->n_in] = frame;
    m->data[m->n_in++] = frame + s->data_off;
    return true;
}

bool pkt_icmp(struct pkt_machine *m)
{
    static const char *const kinds[] = {
        [ICMP_SOFT] = "soft", [ICMP_HARD] = "hard", [ICMP_TOO_BIG] = "too_big"};
    const struct pkt_conn *c = &m->conns[m->conn];
    unsigned i = 0;
    while (i < ARRAY_LEN(kinds) && strcmp(kinds[i], m->line->word[0]) != 0)
        i++;
    if (i == ARRAY_LEN(kinds))
        return pkt_fail(m, "no ICMP error is called '%s'", m->line->word[0]);
    const int error = m->line->word[1][0] != 0 ? pkt_errno(m->line->word[1]) : 0;
    if (m->line->word[1][0] != 0 && error == 0)
        return pkt_fail(m, "no error is called '%s'", m->line->word[1]);
    const struct icmp_event e = {.key = c->key,
                                 .seq = (uint32_t)m->line->n[0] + c->our_isn,
                                 .mtu = (uint16_t)m->line->n[1],
                                 .kind = (uint8_t)i,
                                 .error = (uint8_t)error};
    struct tcp_verdict v;
    m->e.tcp.now = clock_at_us(m->now_us);
    tcp_icmp(&m->e.tcp, &e, &v);
    if (v.events != 0)
        sock_event(&m->e.sock, &v, NULL);
    m->e.stats.c.rx_packets++;
    if (v.drop != DROP_NONE)
        m->e.stats.drops[v.drop]++;
    else
        m->e.stats.c.delivered++;
    return true;
}

static unsigned conn_of(const struct pkt_machine *m, const struct flow_key *key)
{
    unsigned i = 0;
    while (i < PKT_CONNS_MAX && !flow_key_equal(&m->conns[i].key, key))
        i++;
    return i;
}

static bool data_is_right(const struct seg_out *o, uint32_t first)
{
    for (uint32_t i = 0; i < (uint32_t)o->data_len[0] + o->data_len[1]; i++)
        if (seg_out_byte(o, i) != pkt_byte(first + i, 0))
            return false;
    return true;
}

// A cookie that is ours for this peer is called so.
static void name_cookie(const struct pkt_machine *m, const struct pkt_conn *c, struct pkt_opt *p)
{
    uint32_t own[2];
    own_cookie(m, c, own);
    p->own = p->n_sacks == 1 && memcmp(own, p->sack[0], sizeof(own)) == 0;
    if (p->own)
        p->sack[0][0] = p->sack[0][1] = 0;
}

static void relative_options(const struct pkt_machine *m, struct pkt_conn *c,
                             const struct seg_out *o, struct pkt_opts *to)
{
    uint8_t bytes[40];
    pkt_opts_read(bytes, wire_put_tcp_options(bytes, o), to);
    for (unsigned i = 0; i < to->n; i++) {
        struct pkt_opt *p = &to->o[i];
        if (p->kind == PKT_TS)
            c->ts_seen = p->a -= c->ts_base;
        if (p->kind == PKT_FAST_OPEN)
            name_cookie(m, c, p);
        for (unsigned k = 0; k < p->n_sacks && p->kind == PKT_SACK; k++) {
            p->sack[k][0] -= c->peer_isn;
            p->sack[k][1] -= c->peer_isn;
        }
    }
}

// pkt_capture: appends what left in this turn to what the script has to look at.
void pkt_capture(struct pkt_machine *m)
{
    static struct pkt_conn nobody;
    for (uint32_t i = 0; i < m->e.tcp.n_out; i++) {
        const struct seg_out *o = &m->e.out[i];
        const unsigned conn = conn_of(m, &o->key);
        struct pkt_conn *c = conn < PKT_CONNS_MAX ? &m->conns[conn] : &nobody;
        if (m->n_left == m->left_room) {
            m->left_room = m->left_room * 2 + 64;
            m->left = realloc(m->left, m->left_room * sizeof(*m->left));
            CHECK(m->left != NULL);
        }
        if ((o->flags & SEG_SYN) && !c->has_isn) {
            c->has_isn = true;
            c->our_isn = o->seq;
        }
        struct pkt_left *l = &m->left[m->n_left++];
        *l = (struct pkt_left){.at_us = m->now_us, .conn = conn};
        l->seg.flags = o->flags;
        l->seg.ecn = o->tos & 3;
        l->seg.has_win = true;
        l->seg.win = o->wnd;
        l->seg.seq = o->seq - c->our_isn;
        l->seg.ack = o->ack - c->peer_isn;
        l->seg.len = (uint32_t)o->data_len[0] + o->data_len[1];
        l->wrong_data = !data_is_right(o, l->seg.seq - 1);
        relative_options(m, c, o, &l->seg.opts);
    }
}
