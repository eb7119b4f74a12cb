// SPDX-License-Identifier: BSD-3-Clause
#include <string.h>

#include "load/load_stream.h"

// A value that makes every request of every connection different.
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

void load_flush(struct load *l)
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
    l->n_out -= sent;
    l->c.client_tx_full += l->n_out != 0;
    memmove(l->out, l->out + sent, l->n_out * sizeof(l->out[0]));
}

struct pkt *load_packet(struct load *l)
{
    if (l->n_out == LOAD_OUT_MAX)
        load_flush(l);
    if (l->n_out == LOAD_OUT_MAX) {  // the timeout will retransmit the segment
        l->c.client_tx_lost++;
        return NULL;
    }
    struct pkt *p;
    if (!pkt_alloc_bulk(l->p.pool, &p, 1)) {
        l->c.client_pool_empty++;
        return NULL;
    }
    l->out[l->n_out++] = p;
    return p;
}

void load_flood_syn(struct load *l, uint32_t host, uint16_t port, uint32_t seq)
{
    struct pkt *p = load_packet(l);
    if (p == NULL)
        return;
    struct seg_out s = {
        .key = {l->p.server, 0, 0, l->p.server_port, port},
        .seq = seq,
        .ts_val = l->now_ms,
        .wnd = 65535,
        .mss = load_mss(l),
        .flags = SEG_SYN,
        .opts = SEG_OPT_MSS | SEG_OPT_WSCALE | (l->p.timestamps ? SEG_OPT_TS : 0),
    };
    load_build(l, p, host, &s);
}

static uint32_t ask_bytes(const struct load *l)
{
    return l->http != NULL ? l->http->request_bytes : l->p.payload;
}

// The sequence number of a pure ACK. While the answer to a request arrives, it is the one after the
// request; otherwise the segment would not be acceptable to the server (RFC 9293 3.10.7.4, first).
static uint32_t ack_number(const struct load *l, const struct load_conn *c)
{
    const bool taken = c->state == LOAD_ASKED && c->got != 0;
    return load_snd_end(c) + (taken ? ask_bytes(l) : 0);
}

static void send_segment(struct load *l, uint32_t i, uint8_t flags, uint32_t payload)
{
    const struct load_conn *c = &l->conns[i];
    struct pkt *p = load_packet(l);
    if (p == NULL)
        return;
    struct seg_out s = {
        .key = {l->p.server, 0, 0, l->p.server_port, load_port(i)},
        .seq = flags & (SEG_SYN | SEG_FIN | SEG_RST) ? c->snd_nxt
               : payload != 0                        ? load_snd_end(c)
                                                     : ack_number(l, c),
        .ack = c->rcv_nxt,
        .ts_val = l->now_ms,
        .ts_ecr = c->ts_recent,
        .data = {l->http != NULL ? (const uint8_t *)l->http->request : l->payload},
        .data_len = {(uint16_t)payload},
        .wnd = flags & SEG_SYN ? 65535 : load_wnd(l),
        .mss = load_mss(l),
        .flags = flags,
        .opts = l->p.timestamps ? SEG_OPT_TS : 0,
    };
    if (flags & SEG_SYN) {
        s.opts |= SEG_OPT_MSS | SEG_OPT_WSCALE;
        if (l->streams != NULL) {
            s.opts |= SEG_OPT_SACK_PERM;
            s.wscale = LOAD_WSCALE;
        }
        s.seq--;
        s.ack = s.ts_ecr = 0;
    }
    if (payload != 0 && l->http == NULL)
        fill(l->payload, payload, mark_of(i, c->round));
    load_build(l, p, load_host(i), &s);
}

static void send_ack(struct load *l, uint32_t i)
{
    send_segment(l, i, SEG_ACK, 0);
}

// Whether this state retransmits a segment until it is answered.
static bool sends(uint8_t state)
{
    return load_waits(state) && state != LOAD_ENDING && state != LOAD_FIN_WAIT2;
}

bool load_ask(struct load *l, uint32_t i)
{
    struct load_conn *c = &l->conns[i];
    if (c->state == LOAD_OPENING)
        send_segment(l, i, SEG_SYN, 0);
    else if (c->state == LOAD_ASKED)
        send_segment(l, i, SEG_ACK | SEG_PSH, ask_bytes(l));
    else if (c->state == LOAD_CLOSING && c->tries == 1)
        send_ack(l, i);  // the FIN was already sent in FIN_WAIT
    else if (sends(c->state))
        send_segment(l, i, SEG_ACK | SEG_FIN, 0);
    c->sent_ms = l->now_ms;
    load_wait_add(l, i);
    return sends(c->state);
}

// All changes of a state are made here, because in_flight depends on the states.
static void set_state(struct load *l, struct load_conn *c, enum load_state state)
{
    l->in_flight += (uint32_t)load_waits(state) - (uint32_t)load_waits(c->state);
    c->state = (uint8_t)state;
}

// Sets connection i to a state that waits, and sends its segment for the first time.
static void step(struct load *l, uint32_t i, enum load_state state)
{
    struct load_conn *c = &l->conns[i];
    set_state(l, c, state);
    c->tries = 1;
    c->got = 0;
    c->wrong = false;
    l->c.asked += state == LOAD_ASKED;
    load_ask(l, i);
}

// The initial sequence number. When an address and port are used again, it is far above the last
// one, so that the server accepts the SYN in TIME-WAIT (RFC 1122 4.2.2.13); with timestamps, RFC
// 6191 is sufficient.
static uint32_t first_number(const struct load_conn *c, uint32_t i)
{
    enum { ABOVE = 1 << 17 };
    return c->state == LOAD_CLOSED ? (uint32_t)mark_of(i, UINT32_MAX - 1) + 1 : c->snd_nxt + ABOVE;
}

void load_start(struct load *l, uint32_t i, enum load_state state, uint64_t since_ns)
{
    struct load_conn *c = &l->conns[i];
    if (state == LOAD_OPENING)
        c->snd_nxt = first_number(c, i);
    c->sent_ns = since_ns & LOAD_NS_MASK;
    step(l, i, state);
}

// RFC 7323 4.3: TSecr is the latest timestamp of a segment at or before the last acknowledged
// sequence number, so that the server measures its round-trip times correctly.
static void note_timestamp(struct load_conn *c, const struct seg_in *s)
{
    if (s->opts & SEG_OPT_TS && time_before(c->ts_recent, s->ts_val) &&
        !time_before(c->rcv_nxt, s->seq))
        c->ts_recent = s->ts_val;
}

static uint64_t took_ns(const struct load *l, const struct load_conn *c)
{
    return (l->now_ns - c->sent_ns) & LOAD_NS_MASK;
}

// Updates the RTO from a segment sent at sent_ns, which was answered.
static void measure(struct load *l, const struct load_conn *c)
{
    load_wait_answered(l, c, (uint32_t)(took_ns(l, c) / 1000));
}

void load_fail(struct load *l, uint32_t i)
{
    set_state(l, &l->conns[i], LOAD_FAILED);
    l->c.failed++;
}

// Its RST has the number after the request, which the server has unless it was lost: then the
// server answers with a challenge ACK, which is answered by RST.
void load_abandon(struct load *l, uint32_t i)
{
    struct load_conn *c = &l->conns[i];
    if (c->state == LOAD_ASKED) {
        c->snd_nxt += ask_bytes(l);
        send_segment(l, i, SEG_RST | SEG_ACK, 0);
    }
    set_state(l, c, LOAD_FAILED);
    l->c.given_up++;
}

// The connection has ended in order: LOAD_TIME_WAIT if the client has TIME-WAIT, LOAD_DONE if the
// server has it.
static void over(struct load *l, uint32_t i, enum load_state state)
{
    struct load_conn *c = &l->conns[i];
    set_state(l, c, state);
    c->sent_ms = l->now_ms;
    if (!load_is_full(l, i)) {
        l->c.closed++;
        return;
    }
    l->c.full_done++;
    load_histogram_add(&l->full_time, took_ns(l, c));
}

// Sends RST to a server whose connection is still open (RFC 9293 3.10.7.1: SEQ = SEG.ACK).
static void reset_peer(struct load *l, uint32_t i, const struct seg_in *s)
{
    l->conns[i].snd_nxt = s->ack;
    send_segment(l, i, SEG_RST | SEG_ACK, 0);
}

// RFC 9293 3.10.7.3: in SYN-SENT, an RST is valid only if it acknowledges the SYN. RFC 5961 3.2: in
// other states, only if its sequence number is RCV.NXT.
static void reset_input(struct load *l, uint32_t i, struct load_conn *c, const struct seg_in *s)
{
    const bool opening = c->state == LOAD_OPENING;
    if (load_is_over(c->state) || (opening && (!(s->flags & SEG_ACK) || s->ack != c->snd_nxt))) {
        l->c.duplicates++;  // RFC 1337: an RST does not end TIME-WAIT
    } else if (!opening && s->seq != c->rcv_nxt) {
        l->c.duplicates++;
        if (!time_before(s->seq, c->rcv_nxt))
            send_ack(l, i);
    } else if (c->state == LOAD_LAST_ACK || c->state == LOAD_CLOSING) {
        over(l, i, LOAD_DONE);  // both sides have sent FIN (RFC 9293 3.10.7.4, second)
    } else {
        load_fail(l, i);
    }
}

// RFC 9293 3.10.7.3: the server still has a connection of an earlier run and answers the SYN with
// its ACK. An RST ends it, and the retransmitted SYN opens a new one. Connection i has the same
// initial sequence number in each run, so the ACK of a connection that has sent no data also
// acknowledges this SYN.
static void reset_earlier(struct load *l, uint32_t i, struct load_conn *c, const struct seg_in *s)
{
    const uint32_t snd_nxt = c->snd_nxt;
    reset_peer(l, i, s);
    c->snd_nxt = snd_nxt;
}

static void opening_input(struct load *l, uint32_t i, struct load_conn *c, const struct seg_in *s)
{
    if ((s->flags & (SEG_SYN | SEG_ACK)) != (SEG_SYN | SEG_ACK)) {
        l->c.duplicates++;
        if (s->flags & SEG_ACK)
            reset_earlier(l, i, c, s);
        return;
    }
    if (s->ack != c->snd_nxt) {
        l->c.wrong++;
        return;
    }
    c->rcv_nxt = s->seq + 1;
    c->ts_recent = s->ts_val;
    measure(l, c);
    set_state(l, c, LOAD_IDLE);
    if (l->streams != NULL)
        load_stream_opened(l, i, s);
    send_ack(l, i);
    if (!load_is_full(l, i)) {
        l->c.opened++;
        return;
    }
    l->c.full_opened++;
    step(l, i, LOAD_ASKED);
}

// Data without a request, or an unexpected FIN.
static void unasked_input(struct load *l, uint32_t i, const struct seg_in *s)
{
    load_fail(l, i);
    reset_peer(l, i, s);
}

// Starts to close a full connection. The FIN also acknowledges the answer.
static void answered_full(struct load *l, uint32_t i, const struct seg_in *s)
{
    if (load_full_lives(l, i)) {
        set_state(l, &l->conns[i], LOAD_IDLE);
        send_ack(l, i);
        return;
    }
    if (l->p.closer == LOAD_BY_CLIENT) {
        step(l, i, LOAD_FIN_WAIT);
        return;
    }
    if (!(s->flags & SEG_FIN))
        send_ack(l, i);
    step(l, i, LOAD_ENDING);
}

static void note_silence(struct load *l)
{
    if (l->answered_us != 0)
        l->c.silence_us = MAX(l->c.silence_us, l->now_us - l->answered_us);
    l->answered_us = l->now_us;
}

// The server has answered 503 in one segment: it is no work done, but an answer.
static void refused(struct load *l, uint32_t i, struct load_conn *c, const struct seg_in *s)
{
    c->snd_nxt += ask_bytes(l);
    c->round++;
    l->c.answered++;
    l->c.refused++;
    if (load_is_full(l, i)) {
        answered_full(l, i, s);
        return;
    }
    measure(l, c);
    set_state(l, c, LOAD_IDLE);
    send_ack(l, i);
}

static bool is_refusal(const struct load *l, const struct load_conn *c, const uint8_t *data,
                       uint32_t n)
{
    return l->p.give_up_ms != 0 && l->http != NULL && l->http->learned && c->got == 0 &&
           c->state == LOAD_ASKED && load_http_is_refusal(data, n);
}

static void answer_complete(struct load *l, uint32_t i, struct load_conn *c, const struct seg_in *s)
{
    c->snd_nxt += ask_bytes(l);
    c->got = 0;
    l->c.wrong += c->wrong || s->ack != c->snd_nxt;
    c->round++;
    l->c.answered++;
    if (load_is_full(l, i)) {
        load_in_time(l, c->sent_ns);
        answered_full(l, i, s);
        return;
    }
    note_silence(l);
    measure(l, c);
    load_histogram_add(&l->latency, took_ns(l, c));
    if (unlikely(l->from_ns != NULL)) {
        load_histogram_add(&l->corrected, l->now_ns - l->from_ns[i]);
        load_in_time(l, l->from_ns[i]);
    }
    set_state(l, c, LOAD_IDLE);
    send_ack(l, i);
}

// Compares n bytes of the answer on connection i. False: the answer is too long, or not a valid
// response.
static bool compare(struct load *l, uint32_t i, struct load_conn *c, const uint8_t *data,
                    uint32_t n)
{
    if (l->http != NULL && !l->http->learned)
        return load_http_learn(l->http, c->got, data, n);
    if (c->got + n > load_answer_bytes(l))
        return false;
    if (l->http != NULL) {
        c->wrong |= !load_http_same(l->http, c->got, data, n);
        return true;
    }
    uint8_t expected[LOAD_PAYLOAD_MAX + 8];
    fill(expected, l->p.payload, mark_of(i, c->round));
    c->wrong |= memcmp(expected + c->got, data, n) != 0;
    return true;
}

// Processes data of the answer, which may have several segments, in order. Duplicates are
// acknowledged again. False: ignore a FIN of this segment.
static bool data_input(struct load *l, uint32_t i, struct load_conn *c, const struct seg_in *s,
                       const uint8_t *data)
{
    const uint32_t old = c->rcv_nxt - s->seq;  // bytes received before
    if (old >= s->data_len) {
        l->c.duplicates++;
        send_ack(l, i);
        return old == s->data_len;
    }
    const uint32_t fresh = s->data_len - old;
    if (unlikely(is_refusal(l, c, data + old, fresh))) {
        c->rcv_nxt += fresh;
        refused(l, i, c, s);
        return true;
    }
    if (c->state != LOAD_ASKED || !compare(l, i, c, data + old, fresh)) {
        l->c.wrong++;
        unasked_input(l, i, s);
        return false;
    }
    c->got = (uint16_t)(c->got + fresh);
    c->rcv_nxt += fresh;
    if (c->got == load_answer_bytes(l))
        answer_complete(l, i, c, s);
    else
        send_ack(l, i);  // the server may wait for this ACK before it sends the rest
    return true;
}

// The client's FIN is acknowledged (RFC 9293 3.10.7.4, fifth), usually by the server's FIN.
static void fin_acked(struct load *l, uint32_t i, struct load_conn *c, const struct seg_in *s)
{
    c->snd_nxt++;
    if (c->state == LOAD_LAST_ACK || c->state == LOAD_CLOSING)
        over(l, i, c->state == LOAD_CLOSING ? LOAD_TIME_WAIT : LOAD_DONE);
    else if (s->flags & SEG_FIN && s->data_len == 0 && s->seq == c->rcv_nxt)
        set_state(l, c, LOAD_FIN_WAIT2);
    else
        step(l, i, LOAD_FIN_WAIT2);
}

static void fin_input(struct load *l, uint32_t i, struct load_conn *c, const struct seg_in *s)
{
    if (s->seq + s->data_len != c->rcv_nxt) {
        l->c.duplicates++;
        if (c->state != LOAD_DONE && s->seq + s->data_len + 1 == c->rcv_nxt)
            send_ack(l, i);  // retransmitted FIN
        return;
    }
    if (c->state == LOAD_CLOSING || c->state == LOAD_LAST_ACK) {  // a second FIN
        l->c.wrong++;
    } else if (c->state == LOAD_ENDING) {
        c->rcv_nxt++;
        step(l, i, LOAD_LAST_ACK);
    } else if (c->state == LOAD_FIN_WAIT) {  // simultaneous close
        c->rcv_nxt++;
        step(l, i, LOAD_CLOSING);
    } else if (c->state == LOAD_FIN_WAIT2) {
        c->rcv_nxt++;
        over(l, i, LOAD_TIME_WAIT);
        send_ack(l, i);
    } else {
        unasked_input(l, i, s);
    }
}

// A segment of a closed connection: the client's last ACK was lost. In LOAD_DONE the segment is
// ignored, because the server has already received everything.
static void over_input(struct load *l, uint32_t i, struct load_conn *c, const struct seg_in *s)
{
    l->c.duplicates++;
    if (c->state == LOAD_DONE || (s->data_len == 0 && !(s->flags & (SEG_FIN | SEG_SYN))))
        return;
    note_timestamp(c, s);
    c->sent_ms = l->now_ms;  // restart 2 MSL
    send_ack(l, i);
}

// A segment without data whose sequence number is not RCV.NXT: a keepalive probe (RFC 1122 4.2.3.6)
// or a reordered ACK.
static void odd_input(struct load *l, uint32_t i, const struct load_conn *c, const struct seg_in *s)
{
    if (s->seq + 1 != c->rcv_nxt) {
        l->c.duplicates++;
        return;
    }
    l->c.probes++;
    send_ack(l, i);
}

// Processes acknowledgment, data and FIN of an open connection.
static void open_input(struct load *l, uint32_t i, struct load_conn *c, const struct seg_in *s,
                       const uint8_t *data)
{
    bool go_on = true;
    note_timestamp(c, s);
    if (load_fin_out(c->state) && s->flags & SEG_ACK && s->ack == c->snd_nxt + 1)
        fin_acked(l, i, c, s);
    if (load_is_over(c->state))
        return;
    if (l->streams != NULL)
        load_stream_input(l, i, s, data);
    else if (s->data_len != 0)
        go_on = data_input(l, i, c, s, data);
    else if (unlikely(s->seq != c->rcv_nxt && !(s->flags & SEG_FIN)))
        odd_input(l, i, c, s);
    if (go_on && s->flags & SEG_FIN)
        fin_input(l, i, c, s);
}

void load_segment_input(struct load *l, uint32_t i, const struct seg_in *s, const uint8_t *data)
{
    struct load_conn *c = &l->conns[i];
    if (unlikely(s->flags & SEG_RST)) {
        reset_input(l, i, c, s);
    } else if (c->state == LOAD_OPENING) {
        opening_input(l, i, c, s);
    } else if (c->state == LOAD_CLOSED) {
        l->c.strangers++;
    } else if (unlikely(c->state == LOAD_FAILED)) {
        if (s->data_len != 0 || s->flags & (SEG_SYN | SEG_FIN) || l->p.give_up_ms != 0)
            reset_peer(l, i, s);
    } else if (unlikely(c->state == LOAD_TIME_WAIT || c->state == LOAD_DONE)) {
        over_input(l, i, c, s);
    } else if (unlikely(s->flags & SEG_SYN)) {
        l->c.duplicates++;  // the ACK of the SYN-ACK was lost
        note_timestamp(c, s);
        send_ack(l, i);
    } else {
        open_input(l, i, c, s, data);
    }
}
