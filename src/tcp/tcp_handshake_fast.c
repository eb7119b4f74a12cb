// SPDX-License-Identifier: BSD-3-Clause
// The fast version for the common third segment of a handshake. The half-open connection becomes a
// block in one step, and the data of the segment is delivered with it. The result is that of
// tcp_handshake_full() and tcp_segment_full(). The segment must be in order, the port must be a
// configured one without limits for each source, and the SYN-ACK must have been sent once.
#include "tcp/tcp_internal.h"
#include "tcp/tcp_share.h"

static_assert(TCP_SERVICE_DRAINING >> 1 == 0 && TCP_SERVICE_CLOSED >> 1 != 0,
              "is_plain() tests for TCP_SERVICE_CLOSED by a shift");

// is_plain: whether the fast version applies. wnd: the window that the SYN-ACK announced.
static inline bool is_plain(const struct tcp *t, const struct syn_record *r, const struct seg_in *s,
                            uint32_t wnd)
{
    const struct tcp_service *sv = &t->services[r->service];
    const uint32_t reasons =
        ((s->flags & (uint8_t)~SEG_PSH) ^ SEG_ACK) |  // SYN, RST, FIN, URG, ECE or CWR; or no ACK
        (s->seq ^ (r->irs + 1)) |                     // not the first byte after the SYN
        (s->ack ^ (r->iss + 1)) |                     // does not acknowledge the SYN-ACK
        ((r->opts ^ s->opts) & SEG_OPT_TS) |          // timestamp missing, or not negotiated
        (s->opts & SEG_OPT_SACK) |                    // SACK blocks
        s->ecn |                                      // an ECN code point in the IP header
        r->ecn |                                      // ECN was negotiated
        (r->sends ^ 1u) |                             // the SYN-ACK was sent more than once
        (r->listen ^ TCP_LISTEN_NONE) |               // a listener that was opened at run time
        sv->source_max |                              // connections are counted for each source
        (sv->state >> 1);                             // the service is closed
    if (reasons != 0)
        return false;
    if (s->data_len > wnd)  // data beyond the window
        return false;
    if (sv->connections >= sv->connections_max)  // the service is full
        return false;
    if (unlikely(tcp_is_pressed(t)) &&  // its prefix or its service has its share
        tcp_share_drop(t, r->service, &r->key.remote) != DROP_NONE)
        return false;
    if ((s->opts & SEG_OPT_TS) && time_before(s->ts_val, r->ts_recent))  // PAWS, RFC 7323 5.3 R1
        return false;
    if (s->data_len != 0 && t->bufs.n_free_data < TCP_BUFS_RESERVE)  // too few free buffers
        return false;
    return true;
}

static inline uint16_t mss_of(const struct tcp *t, const struct syn_record *r)
{
    const uint32_t peer = r->mss != 0 ? r->mss : tcp_default_mss(&r->key);
    const uint32_t mss = MIN(MAX(peer, (uint32_t)TCP_MSS_MIN), (uint32_t)tcp_local_mss(t, &r->key));
    return (uint16_t)(mss - (r->opts & SEG_OPT_TS ? 12 : 0));  // RFC 6691
}

// fill_block: sets the fields as tcp_block_new() and the full handshake do. Fields that outlive a
// connection keep their values.
static inline void fill_block(const struct tcp *t, struct block *b, const struct syn_record *r,
                              const struct seg_in *s, uint32_t wnd)
{
    const struct tcp_service *sv = &t->services[r->service];
    const bool scales = (r->opts & SEG_OPT_WSCALE) != 0, ts = (r->opts & SEG_OPT_TS) != 0;
    const uint32_t us = (uint32_t)t->now.us, rtt_us = MIN(MAX(us - r->sent_us, 1u), 60000000u);
    const uint16_t mss = mss_of(t, r);
    const uint32_t una = r->iss + 1, next = r->irs + 1;
    *b = (struct block){
        .key = r->key,
        .rcv_nxt = next,
        .rcv_adv = next + wnd,
        .snd_una = una,
        .snd_nxt = una,
        .snd_wnd = (uint32_t)s->wnd << (scales ? r->wscale : 0),
        .ts_recent = ts ? s->ts_val : 0,
        .ts_recent_ms = ts ? t->now.ms : 0,
        .flags = (uint16_t)((b->flags & BF_DIRTY) | (ts ? BF_TS : 0) |
                            (sv->nodelay ? BF_NODELAY : 0) | (sv->pulls ? BF_PAUSED : 0)),
        .service = r->service & 31,
        .snd_wscale = scales ? r->wscale : 0,
        .rcv_wscale = scales ? t->cfg.window_scale : 0,
        .mss = mss,
        .dirty_next = b->dirty_next,
        .snd_end = una,
        .snd_max = una,
        .snd_head = BUF_NONE,
        .snd_tail = BUF_NONE,
        .snd_wl1 = s->seq,
        .cwnd = t->cfg.initial_window * mss,
        .srtt_us = rtt_us * 8,
        .rttvar_us = rtt_us * 2,
        .rtt_us = us,
        .wheel_xmit_ms = b->wheel_xmit_ms,
        .wheel_slow_ms = b->wheel_slow_ms,
        .wheel_movable = b->wheel_movable,
        .agreed = (uint8_t)((r->opts & SEG_OPT_SACK_PERM ? BA_SACK : 0) | (scales ? BA_WSCALE : 0)),
        .ssthresh = TCP_WINDOW_MAX,
        .snd_cur = BUF_NONE,
        .rcvq_head = BUF_NONE,
        .rcvq_tail = BUF_NONE,
        .ext = EXT_NONE,
        .keepalive_ms = sv->keepalive_ms,
        .last_rx_ms = t->now.ms,
        .last_progress = next + una,
        .oow_16ms = (uint16_t)((t->now.ms - t->cfg.invalid_ack_ms) / 16 - 1),
        .generation = (uint16_t)(b->generation + 1),
        .recover = r->iss,
    };
    tcp_note_window(b);
}

static inline void deliver_text(struct tcp *t, struct block *b, uint32_t ix, const struct seg_in *s,
                                struct tcp_verdict *v)
{
    b->rcv_nxt += s->data_len;
    b->unacked_segs = 1;
    b->flags |= BF_ACK_DELAYED;
    v->data_off = s->data_off;
    v->data_len = s->data_len;
    v->events |= TCP_EV_DATA;
    tcp_dirty_block(t, b, ix);
}

bool tcp_handshake_fast(struct tcp *t, uint32_t syn_ix, const struct seg_in *s, uint64_t hash,
                        struct tcp_verdict *v)
{
    const struct syn_record *r = &t->syns[syn_ix];
    const uint32_t wnd = MIN(t->rcv_limits[r->service], UINT16_MAX);
    if (unlikely(!is_plain(t, r, s, wnd)))
        return false;
    const uint32_t ix = index_pool_get(t->block_pool);
    if (unlikely(ix == INDEX_NONE))
        return false;
    struct block *b = &t->blocks[ix];
    CHECK(flow_replace(t->table, hash, flow_index(FLOW_SYN, syn_ix), flow_index(FLOW_BLOCK, ix)));
    fill_block(t, b, r, s, wnd);
    tcp_next_round(t, b, ix);
    tcp_share_enter(t, b);
    t->services[r->service].connections++;
    t->stats->c.connections_now++;
    t->stats->c.connections6_now += !ip_is_v4(&r->key.remote);
    t->stats->c.conns_opened_passive++;
    t->stats->c.segs_opening++;
    tcp_establish(t, b, STEP_PASSIVE_DONE);
    if (unlikely(b->keepalive_ms != 0))
        tcp_arm_slow(t, ix);
    tcp_syn_became(t, syn_ix, ix);
    v->block = ix;
    v->events |= TCP_EV_OPEN;
    if (s->data_len != 0)
        deliver_text(t, b, ix, s, v);
    return true;
}
