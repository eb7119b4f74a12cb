// SPDX-License-Identifier: BSD-3-Clause
#include "load/load_stream.h"

#include <stdlib.h>
#include <string.h>

struct load_streams *load_streams_new(const struct load *l)
{
    struct load_streams *s = calloc(1, sizeof(*s));
    if (s == NULL)
        return NULL;
    s->each = calloc(l->p.connections, sizeof(s->each[0]));
    s->due = calloc(l->p.connections, sizeof(s->due[0]));
    if (s->each == NULL || s->due == NULL) {
        load_streams_free(s);
        return NULL;
    }
    load_pattern_fill(s->pattern);
    return s;
}

void load_streams_free(struct load_streams *s)
{
    if (s == NULL)
        return;
    free(s->each);
    free(s->due);
    free(s);
}

void load_stream_opened(struct load *l, uint32_t i, const struct seg_in *s)
{
    struct load_stream *b = &l->streams->each[i];
    const uint32_t mss = s->opts & SEG_OPT_MSS ? s->mss : 536;  // RFC 9293 3.7.1
    *b = (struct load_stream){.due = b->due};  // it may have been open before: p.reopen
    b->mss = (uint16_t)(MIN(mss, load_mss(l)) - (l->p.timestamps ? TCP_TS_BYTES : 0));
    b->wnd = s->wnd;  // the window of a SYN is not scaled
    b->wscale = s->opts & SEG_OPT_WSCALE ? s->wscale : 0;
    b->sack = (s->opts & SEG_OPT_SACK_PERM) != 0;
    b->next = b->max = b->recover = l->conns[i].snd_nxt;
    b->cwnd = LOAD_STREAM_CWND_SEGS * b->mss;
    b->ssthresh = LOAD_STREAM_CWND_MAX;
    // A stream has a timeout of its own. The entry of the SYN may still be among the tries
    // (load_wait.c), and must not send a request into the stream.
    l->conns[i].tries = 0;
}

// Sends one segment of connection i at `seq`, with len bytes of the pattern from `at` on.
static void send_one(struct load *l, uint32_t i, uint32_t seq, uint32_t at, uint32_t len)
{
    const struct load_conn *c = &l->conns[i];
    const struct load_stream *b = &l->streams->each[i];
    struct seq_range sack[SEG_SACK_MAX];
    struct pkt *p = load_packet(l);
    if (p == NULL)
        return;
    struct seg_out s = {
        .key = {l->p.server, 0, 0, l->p.server_port, load_port(i)},
        .seq = seq,
        .ack = c->rcv_nxt,
        .ts_val = l->now_ms,
        .ts_ecr = c->ts_recent,
        .data = {l->streams->pattern + at},
        .data_len = {(uint16_t)len},
        .wnd = load_wnd(l),
        .flags = SEG_ACK,
        .opts = l->p.timestamps ? SEG_OPT_TS : 0,
    };
    if (b->n_held != 0 && b->sack && len == 0) {  // a full segment has no room for the option
        const unsigned most = SEG_SACK_MAX - l->p.timestamps;
        sack[s.n_sack++] = b->held[b->newest];  // RFC 2018 4: the block that changed comes first
        for (unsigned k = 0; k < b->n_held && s.n_sack < most; k++)
            if (k != b->newest)
                sack[s.n_sack++] = b->held[k];
        s.opts |= SEG_OPT_SACK;
        s.sack = sack;
    }
    load_build(l, p, load_host(i), &s);
}

static void acknowledge(struct load *l, uint32_t i)
{
    struct load_stream *b = &l->streams->each[i];
    const uint32_t end = load_snd_end(&l->conns[i]);  // after the client's FIN
    b->unacked = 0;
    send_one(l, i, time_before(end, b->max) ? b->max : end, 0, 0);
    l->c.stream_acks++;
}

static void acknowledge_later(struct load *l, uint32_t i)
{
    struct load_stream *b = &l->streams->each[i];
    b->unacked += b->unacked != UINT8_MAX;
    if (!b->due)
        l->streams->due[l->streams->n_due++] = i;
    b->due = true;
}

// Compares data that begins `ahead` bytes after RCV.NXT with the pattern.
static void compare(struct load *l, const struct load_stream *b, uint32_t ahead,
                    const uint8_t *data, uint32_t len)
{
    const uint32_t at = load_pattern_step(b->at, ahead);
    l->c.wrong += len > LOAD_PATTERN_MORE || memcmp(data, l->streams->pattern + at, len) != 0;
}

// Starts the retransmission timeout of connection i again.
static void set_deadline(struct load *l, struct load_stream *b)
{
    const uint32_t ms = l->rto_ms << MIN(b->tries, (uint8_t)LOAD_LEVELS);
    b->deadline_ms = l->now_ms + MIN(ms, (uint32_t)LOAD_RTO_MAX_MS);
}

// The connection waits for nothing if all is acknowledged and has come back.
static void rest(struct load *l, struct load_conn *c, const struct load_stream *b)
{
    if (c->state != LOAD_ASKED || b->max != c->snd_nxt || b->owed != 0)
        return;
    c->state = LOAD_IDLE;
    l->in_flight--;
}

// Advances RCV.NXT by n bytes.
static void advance(struct load *l, struct load_conn *c, struct load_stream *b, uint32_t n)
{
    c->rcv_nxt += n;
    b->at = load_pattern_step(b->at, n);
    l->c.stream_bytes += n;
    if (l->p.stream != LOAD_BOTH)
        return;
    b->owed -= n;
    b->tries = 0;
    set_deadline(l, b);
    rest(l, c, b);
}

// Advances RCV.NXT over the held ranges that are now in order.
static void join(struct load *l, struct load_conn *c, struct load_stream *b)
{
    unsigned k = 0;
    while (k < b->n_held && !time_before(c->rcv_nxt, b->held[k].start)) {
        if (time_before(c->rcv_nxt, b->held[k].end))
            advance(l, c, b, b->held[k].end - c->rcv_nxt);
        k++;
    }
    b->n_held = (uint8_t)(b->n_held - k);
    memmove(b->held, b->held + k, b->n_held * sizeof(b->held[0]));
    b->newest = 0;
}

// Stores the range [start, end) after a hole. False: all LOAD_STREAM_HELD_MAX ranges are used.
static bool hold(struct load_stream *b, uint32_t start, uint32_t end)
{
    unsigned from = 0;
    while (from < b->n_held && time_before(b->held[from].end, start))
        from++;
    unsigned to = from;
    while (to < b->n_held && !time_before(end, b->held[to].start)) {
        if (time_before(b->held[to].start, start))
            start = b->held[to].start;
        if (time_before(end, b->held[to].end))
            end = b->held[to].end;
        to++;
    }
    if (to == from && b->n_held == LOAD_STREAM_HELD_MAX)
        return false;
    memmove(b->held + from + 1, b->held + to, (b->n_held - to) * sizeof(b->held[0]));
    b->n_held = (uint8_t)(b->n_held + 1 - (to - from));
    b->held[from] = (struct seq_range){start, end};
    b->newest = (uint8_t)from;
    return true;
}

// Processes a segment that does not begin at RCV.NXT: duplicate, partly new, or after a hole.
static NOINLINE void piece_input(struct load *l, uint32_t i, const struct seg_in *s,
                                 const uint8_t *data)
{
    struct load_conn *c = &l->conns[i];
    struct load_stream *b = &l->streams->each[i];
    const int32_t ahead = (int32_t)(s->seq - c->rcv_nxt);
    const uint32_t old = ahead < 0 ? (uint32_t)-ahead : 0;
    if (old >= s->data_len || ahead > (int32_t)l->p.stream_window) {
        l->c.duplicates++;
    } else if (ahead <= 0) {
        compare(l, b, 0, data + old, s->data_len - old);
        advance(l, c, b, s->data_len - old);
        join(l, c, b);
    } else {
        compare(l, b, (uint32_t)ahead, data, s->data_len);
        l->c.stream_early++;
        if (!hold(b, s->seq, s->seq + s->data_len))
            l->c.duplicates++;
    }
    acknowledge(l, i);
}

static void data_input(struct load *l, uint32_t i, const struct seg_in *s, const uint8_t *data)
{
    struct load_conn *c = &l->conns[i];
    struct load_stream *b = &l->streams->each[i];
    l->c.stream_segs++;
    if (unlikely(s->seq != c->rcv_nxt || b->n_held != 0)) {
        piece_input(l, i, s, data);
        return;
    }
    compare(l, b, 0, data, s->data_len);
    advance(l, c, b, s->data_len);
    acknowledge_later(l, i);
}

static void send_data(struct load *l, uint32_t i, uint32_t seq)
{
    struct load_stream *b = &l->streams->each[i];
    const uint32_t una = l->conns[i].snd_nxt;
    l->c.retransmitted += time_before(seq, b->max);
    l->c.stream_segs += l->p.stream == LOAD_UP;
    send_one(l, i, seq, load_pattern_step(b->una_at, seq - una), b->mss);
    b->unacked = 0;  // the segment has acknowledged what came
    if (!time_before(b->max, seq + b->mss))
        return;
    b->owed += l->p.stream == LOAD_BOTH ? seq + b->mss - b->max : 0;
    b->max = seq + b->mss;
}

// RFC 5681 equation (4): ssthresh is half of the flight size.
static void shrink(struct load_stream *b, uint32_t una)
{
    b->ssthresh = MAX((b->max - una) / 2, 2u * b->mss);
    b->recover = b->max;
}

// RFC 6582 3.2 step 2: the third duplicate ACK starts fast retransmit, unless it belongs to an
// earlier recovery.
static void duplicate_ack(struct load *l, uint32_t i)
{
    struct load_stream *b = &l->streams->each[i];
    const uint32_t una = l->conns[i].snd_nxt;
    b->dups += b->dups != UINT8_MAX;
    if (b->dups != 3 || b->recovering || time_before(una, b->recover))
        return;
    shrink(b, una);
    b->cwnd = b->ssthresh;
    b->recovering = true;
    send_data(l, i, una);
}

// Updates the congestion window after n bytes were acknowledged.
static void grow(struct load *l, uint32_t i, uint32_t n)
{
    struct load_stream *b = &l->streams->each[i];
    const uint32_t una = l->conns[i].snd_nxt;
    b->dups = 0;
    if (b->recovering && time_before(una, b->recover)) {
        send_data(l, i, una);  // RFC 6582 3.2 step 3: partial ACK: retransmit the next hole
        return;
    }
    b->recovering = false;
    b->cwnd += b->cwnd < b->ssthresh ? n : (uint32_t)((uint64_t)n * b->mss / b->cwnd);
    b->cwnd = MIN(b->cwnd, (uint32_t)LOAD_STREAM_CWND_MAX);
}

static void ack_input(struct load *l, uint32_t i, const struct seg_in *s)
{
    struct load_conn *c = &l->conns[i];
    struct load_stream *b = &l->streams->each[i];
    const uint32_t n = s->ack - c->snd_nxt, wnd = (uint32_t)s->wnd << b->wscale;
    if ((int32_t)n < 0 || time_before(b->max, s->ack)) {
        l->c.duplicates += (int32_t)n < 0;
        l->c.wrong += (int32_t)n >= 0;
        return;
    }
    const bool same = n == 0 && s->data_len == 0 && wnd == b->wnd && wnd >= b->mss &&
                      b->max != c->snd_nxt;  // RFC 5681 2: a duplicate
    if (b->wnd < b->mss && wnd >= b->mss)
        b->next = c->snd_nxt;  // the window probe was not accepted
    b->wnd = wnd;
    b->tries = 0;  // the peer answers
    if (same)
        duplicate_ack(l, i);
    if (n == 0)
        return;
    c->snd_nxt = s->ack;
    b->una_at = load_pattern_step(b->una_at, n);
    if (time_before(b->next, s->ack))
        b->next = s->ack;
    set_deadline(l, b);
    l->c.stream_bytes += l->p.stream == LOAD_UP ? n : 0;
    grow(l, i, n);
    rest(l, c, b);
}

// Whether the data of s may be there: of a server that returns bytes, not more than it was sent.
static bool may_come(const struct load *l, uint32_t i, const struct seg_in *s)
{
    const int32_t ahead = (int32_t)(s->seq + s->data_len - l->conns[i].rcv_nxt);
    return l->p.stream == LOAD_DOWN || ahead <= (int32_t)l->streams->each[i].owed;
}

void load_stream_input(struct load *l, uint32_t i, const struct seg_in *s, const uint8_t *data)
{
    const uint8_t state = l->conns[i].state;
    if (l->p.stream != LOAD_DOWN && (state == LOAD_IDLE || state == LOAD_ASKED))
        ack_input(l, i, s);
    if (s->data_len == 0)
        return;
    if (likely(may_come(l, i, s))) {
        data_input(l, i, s, data);
    } else {
        l->c.wrong++;
        load_fail(l, i);
    }
}

// Goes back to the first unacknowledged byte.
static void timed_out(struct load *l, uint32_t i)
{
    const struct load_conn *c = &l->conns[i];
    struct load_stream *b = &l->streams->each[i];
    if (++b->tries > LOAD_TRIES_MAX) {
        load_fail(l, i);
        return;
    }
    if (b->wnd >= b->mss) {
        shrink(b, c->snd_nxt);
        b->cwnd = b->mss;
    }
    b->next = c->snd_nxt;
    b->dups = 0;
    b->recovering = false;
    set_deadline(l, b);
}

// The number of bytes that may be in flight.
static uint32_t room(const struct load_stream *b)
{
    return MIN(b->wnd, b->cwnd + (uint32_t)b->dups * b->mss);
}

// Sends up to n segments that connection i may send now. Returns how many.
static uint32_t pump(struct load *l, uint32_t i, uint32_t n, bool new_data)
{
    struct load_conn *c = &l->conns[i];
    struct load_stream *b = &l->streams->each[i];
    bool probe = false;
    if (c->state != LOAD_IDLE && c->state != LOAD_ASKED)
        return 0;
    if (c->state == LOAD_ASKED || b->wnd < b->mss) {
        probe = !time_before(l->now_ms, b->deadline_ms);  // of a zero window, RFC 9293 3.8.6.1
        if (probe)
            timed_out(l, i);
        if (c->state == LOAD_FAILED)
            return 0;
    }
    uint32_t sent = 0;
    while (sent < n && (probe || b->next - c->snd_nxt + b->mss <= room(b)) &&
           (new_data || time_before(b->next, b->max))) {
        if (c->state == LOAD_IDLE) {
            c->state = LOAD_ASKED;
            l->in_flight++;
            set_deadline(l, b);
        }
        send_data(l, i, b->next);
        b->next += b->mss;
        probe = false;
        sent++;
    }
    return sent;
}

// Opens connection i again if the server has reset it.
static void open_again(struct load *l, uint32_t i)
{
    if (l->conns[i].state == LOAD_FAILED && load_wait_room(l) != 0)
        load_start(l, i, LOAD_OPENING, l->now_ns);
}

static void open_some(struct load *l)
{
    struct load_streams *v = l->streams;
    for (uint32_t k = 0; k < MIN(l->p.connections, (uint32_t)BURST_MAX); k++) {
        v->reopen = v->reopen + 1 < l->p.connections ? v->reopen + 1 : 0;
        open_again(l, v->reopen);
    }
}

static void send_some(struct load *l, bool new_data)
{
    struct load_streams *v = l->streams;
    uint32_t left = MIN((uint32_t)BURST_MAX, (uint32_t)LOAD_OUT_MAX - l->n_out);
    for (uint32_t k = 0; k < l->p.connections && left != 0; k++) {
        v->cursor = v->cursor + 1 < l->p.connections ? v->cursor + 1 : 0;
        left -= pump(l, v->cursor, MIN(left, (uint32_t)LOAD_STREAM_TURN_SEGS), new_data);
    }
}

// Acknowledges two or more segments at once, and a single one only if no packet was received in
// this turn.
static void acknowledge_due(struct load *l, bool all)
{
    struct load_streams *v = l->streams;
    uint32_t left = 0;
    for (uint32_t k = 0; k < v->n_due; k++) {
        const uint32_t i = v->due[k];
        struct load_stream *b = &v->each[i];
        if (b->unacked != 0 && b->unacked < LOAD_STREAM_ACK_SEGS && !all) {
            v->due[left++] = i;
            continue;
        }
        b->due = false;
        if (b->unacked != 0)
            acknowledge(l, i);
    }
    v->n_due = left;
}

void load_stream_turn(struct load *l, uint32_t n, bool new_data)
{
    acknowledge_due(l, n == 0);
    if (l->p.reopen && new_data)
        open_some(l);
    if (l->p.stream != LOAD_DOWN)
        send_some(l, new_data);
}
