// SPDX-License-Identifier: BSD-3-Clause
#include "pkt_exec.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "pkt_machine.h"
#include "tcp/tcp_shed.h"

enum {
    ROUNDS_MAX = 64,            // turns at one time, while something leaves in each
    LOOK_AHEAD_US = 300000000,  // to say when a missing segment would have come
    SETTLE_US = 2000000000,     // everything is over by then
};

const struct pkt_line *volatile pkt_at;

bool pkt_fail(struct pkt_machine *m, const char *format, ...)
{
    va_list args;
    if (m->error[0] != 0)
        return false;
    const int n = snprintf(m->error, PKT_ERROR_MAX, "%s:%u: ", m->line->file, m->line->line);
    va_start(args, format);
    vsnprintf(m->error + n, (size_t)(PKT_ERROR_MAX - n), format, args);
    va_end(args);
    return false;
}

const char *pkt_time(uint64_t us, char *text)
{
    int n = snprintf(text, 32, "+%llu.%06llu", (unsigned long long)us / 1000000,
                     (unsigned long long)us % 1000000);
    while (text[n - 1] == '0')
        text[--n] = 0;
    if (text[n - 1] == '.')
        text[n - 1] = 0;
    return text;
}

struct block *pkt_block(struct pkt_machine *m)
{
    struct tcp *t = &m->e.tcp;
    const uint32_t handle = tcp_owner(t, &m->conns[m->conn].key);
    if (handle == FLOW_NONE || flow_index_kind(handle) != FLOW_BLOCK)
        return NULL;
    return &t->blocks[flow_index_ix(handle)];
}

static uint64_t at_us(const struct pkt_machine *m, uint32_t ms)
{
    const int64_t away = (int32_t)(ms - (uint32_t)(m->now_us / 1000));
    return away <= 0 ? m->now_us : (m->now_us / 1000 + (uint64_t)away) * 1000;
}

uint64_t pkt_next(const struct pkt_machine *m)
{
    const struct tcp *t = &m->e.tcp;
    uint64_t next = UINT64_MAX;
    if (t->dirty_head != BLOCK_NONE)  // the turn had no room for it
        next = m->now_us + 1000;
    if (t->wheel->entries != 0)
        next = MIN(next, at_us(m, wheel_next_ms(t->wheel)));
    if (tcp_shed_next_ms(t) != 0)
        next = MIN(next, at_us(m, tcp_shed_next_ms(t)));
    if (tcp_time_wait_next_ms(t) != 0)
        next = MIN(next, at_us(m, tcp_time_wait_next_ms(t)));
    return next;
}

bool pkt_turn(struct pkt_machine *m, uint64_t at)
{
    m->now_us = at;
    m->pending = false;
    end_turn(&m->e, at, m->in, m->data, m->n_in);
    pkt_capture(m);
    for (unsigned i = 0; i < m->n_in; i++)
        free(m->frames[i]);
    m->n_in = 0;
    for (int i = 0; i < ROUNDS_MAX && m->e.tcp.n_out != 0 && m->e.tcp.dirty_head != BLOCK_NONE;
         i++) {
        end_turn(&m->e, at, NULL, NULL, 0);
        pkt_capture(m);
    }
    return m->error[0] == 0;
}

bool pkt_run_to(struct pkt_machine *m, uint64_t at, bool inclusive)
{
    int here = 0;
    for (uint64_t next; (next = pkt_next(m)) < at + inclusive;) {
        // What comes out of the wheel early may come out several times at one time.
        here = next == m->now_us ? here + 1 : 0;
        if (!pkt_turn(m, here > ROUNDS_MAX ? next + 1000 : next))
            return false;
    }
    m->now_us = MAX(m->now_us, at);
    return true;
}

static bool flush(struct pkt_machine *m)
{
    return !m->pending || pkt_turn(m, m->now_us);
}

static const char *left_print(const struct pkt_machine *m, const struct pkt_left *l, char *text)
{
    char seg[PKT_TEXT_MAX], at[32];
    const int n =
        snprintf(text, PKT_TEXT_MAX, "%s > %s", pkt_time(l->at_us - MIN(m->last_us, l->at_us), at),
                 pkt_seg_print(&l->seg, seg));
    if (l->wrong_data)
        snprintf(text + n, PKT_TEXT_MAX - (size_t)n, " # with bytes that nobody wrote");
    else if (l->conn != m->conn)
        snprintf(text + n, PKT_TEXT_MAX - (size_t)n, " # of connection %u", l->conn + 1);
    return text;
}

// Everything that left has been looked at.
static bool nothing_left(struct pkt_machine *m)
{
    char text[PKT_TEXT_MAX];
    if (m->left_head == m->n_left)
        return true;
    return pkt_fail(m, "expected no segment before this line, got\n    %s",
                    left_print(m, &m->left[m->left_head], text));
}

// With the variant: each segment has a timestamp, of now, and the script does not speak of it.
static bool strip_timestamp(const struct pkt_machine *m, const struct pkt_left *l,
                            struct pkt_seg *expected, struct pkt_seg *got)
{
    const struct pkt_opt *ts = pkt_opts_find(&got->opts, PKT_TS);
    const uint32_t now = (uint32_t)(l->at_us / 1000 - m->start_us / 1000);
    if (expected->opts.any || pkt_opts_find(&expected->opts, PKT_TS) != NULL)
        return true;
    if (ts == NULL && !(got->flags & SEG_RST))
        return false;
    if (ts != NULL && (ts->a != now || ((got->flags & SEG_ACK) && ts->b == 0)))
        return false;
    pkt_opts_strip(&got->opts, PKT_TS);
    pkt_opts_strip(&got->opts, PKT_NOP);
    pkt_opts_strip(&expected->opts, PKT_NOP);
    return true;
}

static bool matches(const struct pkt_machine *m, const struct pkt_left *l)
{
    struct pkt_seg expected = m->line->seg, got = l->seg;
    if (l->conn != m->conn || l->wrong_data)
        return false;
    if (m->how.timestamps && !strip_timestamp(m, l, &expected, &got))
        return false;
    return pkt_seg_matches(&expected, &got, tcp_local_mss(&m->e.tcp, &m->conns[m->conn].key));
}

static const char *expected_print(const struct pkt_machine *m, char *text)
{
    char seg[PKT_TEXT_MAX], from[32], to[32];
    const struct pkt_line *l = m->line;
    pkt_time(l->at_us[0], from);
    pkt_time(l->at_us[1], to);
    snprintf(text, PKT_TEXT_MAX, "%s%s%s > %s", from, l->at_us[0] != l->at_us[1] ? "~" : "",
             l->at_us[0] != l->at_us[1] ? to + 1 : "", pkt_seg_print(&l->seg, seg));
    return text;
}

static bool segment_left(struct pkt_machine *m)
{
    const struct pkt_line *line = m->line;
    char expected[PKT_TEXT_MAX], got[PKT_TEXT_MAX];
    const uint64_t from = m->last_us + line->at_us[0], to = m->last_us + line->at_us[1];
    const uint64_t late = to + m->tolerance_us;
    for (uint64_t next; m->left_head == m->n_left && (next = pkt_next(m)) <= late + LOOK_AHEAD_US;)
        if (!pkt_run_to(m, next, true))
            return false;
    expected_print(m, expected);
    if (m->left_head == m->n_left)
        return pkt_fail(m, "expected\n    %s\n  got no segment", expected);
    const struct pkt_left *l = &m->left[m->left_head++];
    if (l->at_us + m->tolerance_us < from || l->at_us > late || !matches(m, l))
        return pkt_fail(m, "expected\n    %s\n  got\n    %s", expected, left_print(m, l, got));
    m->last_us = l->at_us;
    return true;
}

static bool add_call(struct pkt_machine *m)
{
    if (m->n_calls == PKT_CALLS_MAX)
        return pkt_fail(m, "more than %d calls in one turn", PKT_CALLS_MAX);
    m->calls[m->n_calls].line = m->line;
    m->calls[m->n_calls++].conn = m->conn;
    m->pending = true;
    return true;
}

static bool begin_again(struct pkt_machine *m, struct pkt_conn *c)
{
    if (c->n_read != c->n_expected)
        return pkt_fail(m, "expected all data to be looked at, got more");
    c->peer_isn += (uint32_t)m->line->n[0];
    c->has_isn = false;
    c->written = 0;
    c->n_read = c->n_expected = 0;
    return true;
}

static bool act(struct pkt_machine *m)
{
    switch (m->line->verb) {
    case PKT_IN:
        m->pending = true;
        return pkt_in(m);
    case PKT_ICMP:
        m->pending = true;
        return pkt_icmp(m);
    case PKT_CALL:
        return add_call(m);
    case PKT_CONN:
        if (m->line->n[0] < 1 || m->line->n[0] > PKT_CONNS_MAX)
            return pkt_fail(m, "connections are 1 to %d", PKT_CONNS_MAX);
        pkt_conn_use(m, (unsigned)m->line->n[0], (uint16_t)m->line->n[1]);
        return true;
    case PKT_REUSE:
        return begin_again(m, &m->conns[m->conn]);
    case PKT_OUT_ROOM:
        m->e.out_room = MIN((uint32_t)m->line->n[0], (uint32_t)TCP_OUT_MAX);
        return true;
    case PKT_EXPECT:
        return flush(m) && pkt_expect(m);
    default:
        return true;
    }
}

// A line with a time of its own begins a turn at it; what has none belongs to the turn before.
static bool one_line(struct pkt_machine *m)
{
    const struct pkt_line *l = m->line;
    if (l->verb == PKT_OUT)
        return flush(m) && segment_left(m);
    if (l->timed) {
        const bool acts = l->verb == PKT_IN || l->verb == PKT_ICMP || l->verb == PKT_CALL;
        m->last_us += l->at_us[0];
        if (!flush(m) || !nothing_left(m) || !pkt_run_to(m, m->last_us, !acts) || !nothing_left(m))
            return false;
    }
    return act(m);
}

// What the script did not speak of.
static bool nothing_unsaid(struct pkt_machine *m)
{
    if (!nothing_left(m))
        return false;
    for (unsigned i = 0; i < PKT_CONNS_MAX; i++) {
        const struct pkt_conn *c = &m->conns[i];
        if (c->closed != 0)
            return pkt_fail(m, "expected no close of connection %u, got one", i + 1);
        if (c->writable != 0)
            return pkt_fail(m, "expected no writable of connection %u, got one", i + 1);
        if (c->ended != 0)
            return pkt_fail(m, "expected no end of connection %u, got one", i + 1);
        for (size_t k = c->n_expected; k < c->n_read; k++)
            if (c->read[k] != pkt_byte((uint32_t)k, 0))
                return pkt_fail(m, "expected data of payload 0, got another byte number %zu", k);
    }
    return true;
}

// The end of all: whatever is left is aborted, and nothing may stay behind.
static bool nothing_leaked(struct pkt_machine *m)
{
    uint32_t cursor = 0;
    pkt_watching = false;
    m->e.out_room = m->e.tcp.out_room = TCP_OUT_MAX;
    m->e.tcp.n_out = 0;
    m->e.tcp.now = clock_at_us(m->now_us);
    sock_abort_all(&m->e.sock, UINT32_MAX, &cursor, m->e.sizes.blocks, UINT32_MAX);
    for (uint64_t next; (next = pkt_next(m)) < m->last_us + SETTLE_US;)
        if (end_leaks(&m->e) == NULL || !pkt_run_to(m, MAX(next, m->now_us + 1), true))
            break;
    const char *leak = end_leaks(&m->e);
    return leak == NULL || pkt_fail(m, "expected nothing to stay behind, got %s", leak);
}

static bool run(struct pkt_machine *m)
{
    for (unsigned i = 0; i < m->script->n; i++) {
        pkt_at = m->line = &m->script->lines[i];
        if (!one_line(m) || m->error[0] != 0)
            return false;
    }
    return flush(m) && nothing_unsaid(m) && nothing_leaked(m);
}

bool pkt_exec(const struct pkt_script *s, const struct pkt_how *how, char *error)
{
    struct pkt_machine *m = aligned_alloc(CACHE_LINE, ALIGN_UP(sizeof(*m), CACHE_LINE));
    CHECK(m != NULL);
    memset(m, 0, sizeof(*m));
    m->script = s;
    m->how = *how;
    m->error = error;
    error[0] = 0;
    pkt_watching = true;
    const bool ok = pkt_setup(m) && run(m);
    if (m->e.tcp.table != NULL)
        end_fini(&m->e, false);
    for (unsigned i = 0; i < m->n_in; i++)
        free(m->frames[i]);
    for (unsigned i = 0; i < PKT_CONNS_MAX; i++)
        free(m->conns[i].read);
    free(m->left);
    free(m);
    pkt_at = NULL;
    return ok;
}
