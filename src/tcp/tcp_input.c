// SPDX-License-Identifier: BSD-3-Clause
#include "tcp/tcp_closing_fast.h"
#include "tcp/tcp_new_flows.h"
#include "tcp/tcp_segment_fast.h"

// no_owner: neither a connection nor a listener has the key (RFC 9293 3.10.7.1). Where Linux gets
// the segment, it still claims the RST that a segment of a connection would claim (tcp_stranger()).
static void no_owner(struct tcp *t, const struct seg_in *s, struct tcp_verdict *v)
{
    if (unlikely(tcp_is_for_linux(t, &s->key))) {
        if (!(s->flags & SEG_RST))
            tcp_claim_reset(t, &s->key);
        v->drop = TCP_FOR_LINUX;
        return;
    }
    if ((s->flags & SEG_RST) || !tcp_reply_reset(t, s))
        v->drop = DROP_tcp_no_owner;
}

static void without_connection(struct tcp *t, const struct seg_in *s, uint64_t hash,
                               const uint8_t *data, struct tcp_verdict *v)
{
    const int listener = tcp_listener(t, &s->key);
    if (listener >= 0 && (s->flags & (SEG_SYN | SEG_ACK | SEG_RST)) == SEG_ACK &&
        tcp_listen_ack(t, listener, s, data, v))
        return;
    if (listener < 0 || (s->flags & (SEG_ACK | SEG_RST)))
        no_owner(t, s, v);
    else if ((s->flags & (SEG_SYN | SEG_FIN)) == SEG_SYN)
        tcp_listen_input(t, listener, s, hash, v);
    else
        v->drop = DROP_tcp_bad_flags;  // RFC 9293 3.10.7.2, fourth; SYN with FIN as Linux
}

// owns: tcp_owner_is() with its common cases inline.
static inline bool owns(const struct tcp *t, uint32_t found, const struct flow_key *key)
{
    const uint32_t ix = flow_index_ix(found);
    if (likely(flow_index_kind(found) == FLOW_BLOCK)) {
        const struct block *b = &t->blocks[ix];
        return flow_key_equal(&b->key, key) & (b->state != TCP_FREE);
    }
    if (flow_index_kind(found) == FLOW_SYN)
        return (t->syns[ix].live != 0) & flow_key_equal(&t->syns[ix].key, key);
    return tcp_owner_is(t, found, key);
}

// child_of: the block that this burst made of the half-open connection, or BLOCK_NONE if there is
// none or if it has ended.
static uint32_t child_of(const struct tcp *t, uint32_t found, const struct flow_key *key)
{
    const struct syn_record *r = &t->syns[flow_index_ix(found)];
    if (flow_index_kind(found) != FLOW_SYN || r->live || !flow_key_equal(&r->key, key) ||
        r->child == BLOCK_NONE)
        return BLOCK_NONE;
    return owns(t, flow_index(FLOW_BLOCK, r->child), key) ? r->child : BLOCK_NONE;
}

// owner_now: the current owner of the key. An earlier segment of the same burst may have opened,
// replaced or closed the connection that the flow table found.
static uint32_t owner_now(struct tcp *t, const struct flow_key *key, uint64_t hash, uint32_t found)
{
    if (likely(found != FLOW_NONE)) {
        if (likely(owns(t, found, key)))
            return found;
        const uint32_t child = child_of(t, found, key);
        if (child != BLOCK_NONE)
            return flow_index(FLOW_BLOCK, child);
    } else if (likely(!new_flows_may_have(t, hash))) {
        return FLOW_NONE;
    }
    t->stats->c.owners_again++;
    return tcp_owner(t, key);
}

bool tcp_input_common(struct tcp *t, const struct seg_in *s, uint32_t found, struct tcp_verdict *v)
{
    const uint32_t ix = flow_index_ix(found);
    struct block *b = &t->blocks[ix];
    if (unlikely(flow_index_kind(found) != FLOW_BLOCK || !flow_key_equal(&b->key, &s->key)))
        return false;
    return tcp_segment_fast(t, b, ix, s, v, BF_EXT);
}

// of_block: a segment of a connection: tries the fast versions first, then runs the full one.
static inline void of_block(struct tcp *t, uint32_t ix, const struct seg_in *s, const uint8_t *data,
                            struct tcp_verdict *v)
{
    v->block = ix;
    const bool closing = t->blocks[ix].state != TCP_ESTABLISHED || (s->flags & SEG_FIN);
    if (closing ? !tcp_closing_fast(t, ix, s, v) : !tcp_segment_fast_ext(t, ix, s, v))
        tcp_segment_full(t, ix, s, data, v);
}

void tcp_input(struct tcp *t, const struct seg_in *s, const uint8_t *data, uint32_t found,
               struct tcp_verdict *v)
{
    tcp_input_hashed(t, s, flow_hash(t->table, &s->key), data, found, v);
}

// listener_at: the listener for the key, whatever the state of its service, or -1.
static int listener_at(const struct tcp *t, const struct flow_key *key)
{
    const uint16_t local = unlikely(t->same != NULL) ? t->same[key->local_ix] : key->local_ix;
    for (uint32_t i = 0; i < t->n_services; i++) {
        const struct tcp_service *sv = &t->services[i];
        if (sv->local_ix != UINT16_MAX && sv->local_ix != local)
            continue;
        for (unsigned k = 0; k < sv->n_ports; k++)
            if (sv->ports[k] == key->local_port)
                return (int)i;
    }
    if (likely(t->listens == NULL || t->listens->used == 0))
        return -1;
    const unsigned device =
        unlikely(t->listens->of_devices != 0) ? t->lanes.of_local[local] + 1u : 0;
    const uint16_t at =
        tcp_listen_find(t->listens, key->local_port, local, ip_is_v4(&key->remote), device);
    return at == TCP_LISTEN_NONE ? -1 : t->listens->at[at - 1].service | (int)at << 8;
}

bool tcp_is_for_linux(const struct tcp *t, const struct flow_key *key)
{
    return t->linux_lanes != 0 && (t->linux_lanes >> t->lanes.of_local[key->local_ix] & 1) != 0 &&
           listener_at(t, key) < 0;
}

// listens: whether a SYN would be answered by a SYN-ACK.
static bool listens(const struct tcp *t, const struct flow_key *key)
{
    const int listener = listener_at(t, key);
    return listener >= 0 && t->services[listener_service(listener)].state == TCP_SERVICE_OPEN;
}

// within_window: whether two sequence numbers differ by at most the largest window of this scale.
static inline bool within_window(uint32_t a, uint32_t b, uint8_t scale)
{
    const uint32_t wnd = (uint32_t)UINT16_MAX << scale;
    return a - b + wnd <= 2 * wnd;
}

// is_of_peer: whether the sequence numbers of the segment are plausible, so that an off-path
// attacker is unlikely to have sent it.
static bool is_of_peer(const struct block *b, const struct seg_in *s)
{
    return b->state != TCP_SYN_SENT && (s->flags & SEG_ACK) &&
           within_window(s->seq, b->rcv_nxt, b->rcv_wscale) &&
           within_window(s->ack, b->snd_una, b->snd_wscale);
}

static bool is_of_time_wait(const struct tcp *t, uint32_t handle, const struct seg_in *s)
{
    const bool v4 = flow_index_kind(handle) == FLOW_TIME_WAIT;
    const struct time_wait *w = time_wait_at(v4 ? &t->tw4 : &t->tw6, flow_index_ix(handle));
    return (s->flags & SEG_ACK) && within_window(s->seq, w->rcv_nxt, 0) &&
           within_window(s->ack, w->snd_nxt, 0);
}

void tcp_stranger(struct tcp *t, const struct seg_in *s, uint64_t asked)
{
    if (t->resets_asked == asked && !(s->flags & SEG_RST) &&
        ((s->flags & SEG_ACK) || !listens(t, &s->key)))
        tcp_claim_reset(t, &s->key);
}

// yield_key: if the block's connection is over and only unread data is left, a SYN from the same
// port goes to the listener, as on Linux. The block stays, but loses its flow table entry. Returns
// whether it did.
static bool yield_key(struct tcp *t, uint32_t ix, const struct seg_in *s, uint64_t hash)
{
    struct block *b = &t->blocks[ix];
    if (likely(b->state != TCP_CLOSED) || (s->flags & (SEG_SYN | SEG_ACK | SEG_RST)) != SEG_SYN ||
        !listens(t, &s->key))
        return false;
    CHECK(flow_remove(t->table, hash, flow_index(FLOW_BLOCK, ix)));
    b->key.zero = BLOCK_HAS_NO_ENTRY;
    return true;
}

void tcp_input_hashed(struct tcp *t, const struct seg_in *s, uint64_t hash, const uint8_t *data,
                      uint32_t found, struct tcp_verdict *v)
{
    const uint64_t asked = t->resets_asked;
    v->block = BLOCK_NONE;
    v->events = 0;
    v->drop = DROP_NONE;
    found = owner_now(t, &s->key, hash, found);
    if (found == FLOW_NONE) {
        without_connection(t, s, hash, data, v);
        return;
    }
    const uint32_t ix = flow_index_ix(found);
    switch (flow_index_kind(found)) {
    case FLOW_BLOCK:
        if (unlikely(yield_key(t, ix, s, hash))) {
            without_connection(t, s, hash, data, v);
            break;
        }
        of_block(t, ix, s, data, v);
        if (unlikely(v->drop != DROP_NONE) && !is_of_peer(&t->blocks[ix], s))
            tcp_stranger(t, s, asked);
        break;
    case FLOW_SYN:
        if (likely(tcp_handshake_fast(t, ix, s, hash, v)))
            break;
        if (unlikely(tcp_syn_end_if_gone(t, ix)))
            without_connection(t, s, hash, data, v);
        else
            tcp_handshake_full(t, ix, s, data, v);
        if (unlikely(s->flags & SEG_SYN))
            tcp_stranger(t, s, asked);
        break;
    default:
        if (!is_of_time_wait(t, found, s))
            tcp_stranger(t, s, asked);
        tcp_time_wait_input(t, found, s, v);
        break;
    }
}

int tcp_listener(const struct tcp *t, const struct flow_key *key)
{
    const int listener = listener_at(t, key);
    if (likely(listener < 0 || t->services[listener_service(listener)].state == TCP_SERVICE_OPEN))
        return listener;
    t->stats->c.service_refused++;
    return -1;
}
