// SPDX-License-Identifier: BSD-3-Clause
// http.c: the phases of a connection of the http application.
//
//             first byte            head complete           all queued, connection stays
//   NEW, IDLE ----------> HEADING ------------------> SENDING -------------------------> IDLE
//     |    \__________________________________________^  ^ |  last response: shut down
//     | idle time               with content: READING ___/  v
//     +---------------------------------------------> LINGER: received bytes are discarded
//
// A connection sends one response at a time. Later requests stay unconsumed, and the connection is
// paused. The content of a request is read to its end before the response, so that errors in the
// content can be reported. Exception: if a client waits for 100 (Continue) and the content is not
// needed, the response is sent at once and the connection is closed. Content that no response needs
// is read with the state of the connection alone, so that slow senders occupy no hold.
//
// In another process ([control] adopt) connections go on whose response, if there is one, is queued
// completely: its images outlive the process, but not the tables of the site, holds, and the
// clients of PROXY headers.
#include "app/apps.h"
#include "app/http/choose.h"
#include "app/http/conn.h"
#include "app/http/fields.h"
#include "app/http/show.h"
#include "c10m/trace.h"

// After the last response, received bytes are discarded for this time, so that no RST arrives
// before the response (RFC 9112 section 9.6).
enum { LINGER_MS = 5000 };

static struct http_service *service_of(struct c10m_conn *c)
{
    return c10m_service_data(c10m_service_of(c));
}

static void count(struct c10m_conn *c, const struct http_service *s, unsigned counter, uint64_t n)
{
    c10m_count(c, s->counters[counter], n);
}

static uint64_t unix_s(const struct c10m_conn *c)
{
    return c10m_unix_us(c) / 1000000;
}

// Sets the deadline. If it moves to a later time, the timer is not changed: http_timer() sees the
// new deadline when it expires.
static void set_deadline(struct c10m_conn *c, struct http_conn *st, uint64_t now_us, uint64_t ms)
{
    st->deadline_us = now_us + ms * 1000;
    if (st->timer_us != 0 && st->timer_us <= st->deadline_us)
        return;
    st->timer_us = st->deadline_us;
    c10m_set_timer(c, (uint32_t)ms);
}

static uint16_t watch_clock(uint64_t now_us)
{
    const uint16_t at = (uint16_t)(now_us / HTTP_WATCH_US);
    return at != 0 ? at : 1;
}

// The time left of the write timeout, in us: write_timeout_ms plus less than two HTTP_WATCH_US. 0:
// it has expired.
static uint64_t watch_left_us(const struct http_conn *st, const struct http_service *s,
                              uint64_t now_us)
{
    const uint32_t units = (uint32_t)(s->params.write_timeout_ms * 1000 / HTTP_WATCH_US) + 1;
    const uint32_t gone = (uint16_t)(watch_clock(now_us) - st->watched);
    return gone >= units ? 0 : (uint64_t)(units - gone) * HTTP_WATCH_US;
}

// Starts the write timeout: within write_timeout_ms the peer must acknowledge write_bytes_min of
// the queued bytes, or all of them.
static void watch(const struct c10m_conn *c, struct http_conn *st, const struct http_service *s,
                  uint64_t now_us)
{
    const uint64_t queued = c10m_send_queued(c), least = s->params.write_bytes_min;
    st->watched = watch_clock(now_us);
    st->taken_goal = c10m_send_taken(c) + (uint32_t)(queued < least ? queued : least);
}

// Checks the write timeout. http_timer() calls it in every phase, so that sending further requests
// does not stop the timeout. False: the timeout has expired.
static bool takes_enough(const struct c10m_conn *c, struct http_conn *st,
                         const struct http_service *s, uint64_t now_us)
{
    if (c10m_send_queued(c) == 0)
        st->watched = 0;
    else if (st->watched == 0 || (int32_t)(c10m_send_taken(c) - st->taken_goal) >= 0)
        watch(c, st, s, now_us);
    else
        return watch_left_us(st, s, now_us) != 0;
    return true;
}

static void start_linger(struct c10m_conn *c, struct http_conn *st, uint64_t now_us)
{
    c10m_shutdown(c);
    st->phase = HTTP_LINGER;
    set_deadline(c, st, now_us, LINGER_MS);
}

// The source that is charged: the client of the PROXY header, or the peer.
static __attribute__((noinline)) uint32_t source_of(struct c10m_conn *c, const struct http_conn *st,
                                                    const struct http_service *s)
{
    uint8_t peer[16];
    const struct http_client *client = NULL;
    if (st->flags & HTTP_PROXIED)
        client = http_clients_find(&s->clients, c10m_worker(c), c10m_handle(c));
    c10m_peer(c, peer, NULL);
    return http_source(&s->pools, client != NULL ? client->addr : peer);
}

static struct http_hold *hold_of(struct c10m_conn *c, const struct http_conn *st,
                                 const struct http_service *s)
{
    return http_hold_at(&s->pools, c10m_worker(c), st->hold);
}

// False: all holds are in use, or the source has its share.
static bool reserve_hold(struct c10m_conn *c, struct http_conn *st, struct http_service *s)
{
    const unsigned worker = c10m_worker(c);
    const uint32_t source = source_of(c, st, s);
    st->hold = http_hold_take(&s->pools, worker, source);
    count(c, s, HTTP_N_SHARE, st->hold == 0 && http_holds_shared(&s->pools, worker, source));
    return st->hold != 0;
}

static void give_hold(struct c10m_conn *c, struct http_conn *st, struct http_service *s)
{
    if (__builtin_expect(st->hold != 0, 0))
        http_hold_give(&s->pools, c10m_worker(c), st->hold);
    st->hold = 0;
}

static enum http_use use_of(const struct http_conn *st)
{
    return st->flags & HTTP_BEHIND ? HTTP_BEHIND_ANSWER : HTTP_OF_HEAD;
}

static void give_queued(struct c10m_conn *c, struct http_conn *st, struct http_service *s)
{
    if (__builtin_expect(st->held == 0, 1))
        return;
    http_units_give(&s->pools, c10m_worker(c), source_of(c, st, s), use_of(st), st->held);
    st->held = 0;
    st->flags &= (uint16_t)~HTTP_BEHIND;
}

// Counts `bytes` unread bytes of the connection in the worker's units. False: no units are left.
static bool hold_queued(struct c10m_conn *c, struct http_conn *st, struct http_service *s,
                        enum http_use use, size_t bytes)
{
    const size_t units = (bytes + HTTP_UNIT_BYTES - 1) / HTTP_UNIT_BYTES;
    if (units <= st->held)
        return true;
    const unsigned worker = c10m_worker(c);
    const uint32_t source = source_of(c, st, s), more = (uint32_t)units - st->held;
    if (!http_units_take(&s->pools, worker, source, use, more)) {
        count(c, s, HTTP_N_SHARE, http_units_shared(&s->pools, worker, source, more));
        return false;
    }
    st->held = (uint16_t)units;
    st->flags |= use == HTTP_BEHIND_ANSWER ? HTTP_BEHIND : 0;
    return true;
}

static __attribute__((noinline)) void
count_other_answer(struct c10m_conn *c, const struct http_conn *st, const struct http_service *s)
{
    static const enum http_counter classes[] = {HTTP_N_2XX, HTTP_N_3XX, HTTP_N_4XX, HTTP_N_5XX};
    count(c, s, classes[http_answer_status(st, s) / 100 - 2], 1);
    count(c, s, HTTP_N_BODY_BYTES, http_answer_bytes(c, st, s));
}

// r: the reply from which the response was made.
static inline void count_answer(struct c10m_conn *c, const struct http_conn *st,
                                const struct http_service *s, const struct http_reply *r)
{
    c10m_request_end(c);
    if (__builtin_expect(st->kind != HTTP_WHOLE || r->status != 200, 0)) {
        count_other_answer(c, st, s);
        return;
    }
    count(c, s, HTTP_N_2XX, 1);
    count(c, s, HTTP_N_BODY_BYTES, st->flags & HTTP_HEAD_ONLY ? 0 : r->body_bytes);
}

// finish() after 100 (Continue) or after the last response.
static __attribute__((noinline)) void finish_otherwise(struct c10m_conn *c, struct http_conn *st,
                                                       struct http_service *s,
                                                       const struct http_reply *r, uint64_t now_us)
{
    if (st->flags & HTTP_INTERIM) {
        st->flags &= (uint16_t)~HTTP_INTERIM;
        st->phase = HTTP_READING;
        set_deadline(c, st, now_us, s->params.body_timeout_ms);
        return;
    }
    count_answer(c, st, s, r);
    give_hold(c, st, s);
    start_linger(c, st, now_us);
}

// Called when the whole response, which was made from r, is queued.
static inline __attribute__((always_inline)) void finish(struct c10m_conn *c, struct http_conn *st,
                                                         struct http_service *s,
                                                         const struct http_reply *r,
                                                         uint64_t now_us)
{
    enum { OTHERWISE = HTTP_INTERIM | HTTP_LAST | HTTP_ENDED | HTTP_CUT | HTTP_DRAINED };
    if (__builtin_expect(st->flags & OTHERWISE, 0)) {
        finish_otherwise(c, st, s, r, now_us);
        return;
    }
    count_answer(c, st, s, r);
    give_hold(c, st, s);
    st->phase = HTTP_IDLE;
    st->request = (struct http_request){0};
    set_deadline(c, st, now_us, s->answered_ms);
}

// Fills a log record from a request. The peer is the client of the PROXY header, if there is one.
static void fill_record(struct c10m_conn *c, const struct http_conn *st,
                        const struct http_service *s, struct http_log_record *r,
                        struct http_text head, struct http_text fields)
{
    http_log_fill(r, c, head, fields);
    if (!(st->flags & HTTP_PROXIED))
        return;
    const struct http_client *client =
        http_clients_find(&s->clients, c10m_worker(c), c10m_handle(c));
    if (client != NULL)
        memcpy(r->peer, client->addr, sizeof(r->peer));
}

// Stores the log record in the hold, because the head will have been consumed when the response is
// sent.
static void keep_for_log(struct c10m_conn *c, const struct http_conn *st,
                         const struct http_service *s, struct http_text head)
{
    struct http_hold *h = hold_of(c, st, s);
    struct http_text none = {NULL, 0};
    fill_record(c, st, s, h->log, head,
                s->log_combined ? http_fields_of(&st->request, head.s) : none);
    h->logged = 1;
}

// head: the head of the request; n 0: it is not available.
static __attribute__((noinline)) void log_answer(struct c10m_conn *c, const struct http_conn *st,
                                                 const struct http_service *s,
                                                 struct http_text head)
{
    struct http_log_record own, *r = &own;
    struct http_text fields = {NULL, 0};
    if (st->hold != 0 && hold_of(c, st, s)->logged) {
        r = hold_of(c, st, s)->log;
    } else {
        if (s->log_combined && head.n != 0 && head.n == st->request.at)
            fields = http_fields_of(&st->request, head.s);
        fill_record(c, st, s, r, head, fields);
    }
    r->unix_s = st->date_s;
    r->status = (uint16_t)http_answer_status(st, s);
    r->bytes = http_answer_bytes(c, st, s);
    if (!c10m_log(c, r, http_log_bytes(r)))
        count(c, s, HTTP_N_LOG_DROPPED, 1);
}

// Starts the response of st->kind, st->reply and st->flags. head: the head of the request, for the
// log; n 0: it is not available.
static void respond(struct c10m_conn *c, struct http_conn *st, struct http_service *s,
                    struct http_text head, uint64_t now_us)
{
    st->phase = HTTP_SENDING;
    st->date_s = (uint32_t)unix_s(c);
    st->sent = 0;
    st->piece = 0;
    if (__builtin_expect(s->log != NULL, 0) && !(st->flags & HTTP_INTERIM))
        log_answer(c, st, s, head);
    const struct http_reply *r = http_reply_of(st, s);
    if (__builtin_expect(http_send(c, st, s, r), 1)) {
        finish(c, st, s, r, now_us);
        return;
    }
    count(c, s, HTTP_N_SHORT, 1);
    if (st->watched == 0)
        watch(c, st, s, now_us);
    set_deadline(c, st, now_us, s->params.write_timeout_ms);
}

static void respond_status(struct c10m_conn *c, struct http_conn *st, struct http_service *s,
                           const struct http_host *host, unsigned status, struct http_text head,
                           uint64_t now_us)
{
    st->kind = HTTP_WHOLE;
    st->reply = http_site_fixed(host, status);
    respond(c, st, s, head, now_us);
}

static void count_error(struct c10m_conn *c, const struct http_service *s, unsigned status)
{
    if (status == 400)
        count(c, s, HTTP_N_REFUSED, 1);
    else if (status == 413)
        count(c, s, HTTP_N_BODY_TOO_LONG, 1);
    else if (status == 414 || status == 431)
        count(c, s, HTTP_N_HEAD_TOO_LONG, 1);
}

// Sends an error and closes, because the start of the next request is unknown.
static void refuse(struct c10m_conn *c, struct http_conn *st, struct http_service *s,
                   const struct http_host *host, unsigned status, struct http_text head,
                   uint64_t now_us)
{
    bool head_only = st->request.target_bytes != 0 && st->request.method == HTTP_HEAD;
    st->flags |= HTTP_LAST | (head_only ? HTTP_HEAD_ONLY : 0);
    count_error(c, s, status);
    respond_status(c, st, s, host, status, head, now_us);
}

// As refuse(), if the host of the request is unknown or not stored.
static void respond_error(struct c10m_conn *c, struct http_conn *st, struct http_service *s,
                          unsigned status, struct http_text head, uint64_t now_us)
{
    refuse(c, st, s, &http_site_of(st, s)->hosts[0], status, head, now_us);
}

// The state of the parser of the request's content.
static struct http_body *body_of(struct c10m_conn *c, struct http_conn *st,
                                 const struct http_service *s)
{
    return st->hold != 0 ? &hold_of(c, st, s)->body : &st->body;
}

// Copies the parts of the choice that the response needs to the hold.
static void fill_hold(struct http_hold *h, const struct http_conn *st,
                      const struct http_choice *choice, struct http_text head)
{
    struct http_text kept = choice->rest, query = choice->query;
    h->n_ranges = choice->n_ranges;
    memcpy(h->ranges, choice->ranges, choice->n_ranges * sizeof(h->ranges[0]));
    if (choice->kind == HTTP_ANSWER_FIELDS) {
        kept = http_fields_of(&st->request, head.s);
        kept.n -= 2;
    }
    if (kept.n != 0)
        memcpy(h->bytes, kept.s, kept.n);
    if (query.n != 0)
        memcpy(h->bytes + kept.n, query.s, query.n);
    h->filled = (uint32_t)(kept.n + query.n);
}

// Stores the parts of the choice that the response needs. False: it needs a hold, and none is free.
// Content that is discarded needs no hold; its log record uses one only if more than half of the
// holds are free.
static bool keep_choice(struct c10m_conn *c, struct http_conn *st, struct http_service *s,
                        const struct http_choice *choice, struct http_text head)
{
    bool content = st->request.flags & HTTP_BODY;
    st->kind = (uint8_t)choice->kind;
    st->reply = choice->reply;
    if (choice->kind == HTTP_PART)
        st->range = choice->ranges[0];
    if (choice->kind == HTTP_PARTS || choice->kind >= HTTP_ANSWER_CONTENT) {
        if (!reserve_hold(c, st, s))
            return false;
        fill_hold(hold_of(c, st, s), st, choice, head);
    } else if (content && s->log != NULL) {
        st->hold = http_hold_take_spare(&s->pools, c10m_worker(c), source_of(c, st, s));
        count(c, s, HTTP_N_LOG_BARE, st->hold == 0);
    }
    const bool chunked = st->request.flags & HTTP_CODING;
    if (content)
        http_body_begin(
            body_of(c, st, s), chunked,
            chunked ? 0 : (uint32_t)http_content_length(http_fields_of(&st->request, head.s)));
    return true;
}

// Sends the response, or reads the content first.
static void go_on(struct c10m_conn *c, struct http_conn *st, struct http_service *s,
                  struct http_text head, uint64_t now_us)
{
    const struct http_request *r = &st->request;
    if (s->log != NULL && st->hold != 0)
        keep_for_log(c, st, s, head);
    bool waits = (r->flags & (HTTP_EXPECT | HTTP_MINOR_0)) == HTTP_EXPECT;
    if (!(r->flags & HTTP_BODY)) {
        respond(c, st, s, head, now_us);
    } else if (!waits) {
        st->phase = HTTP_READING;
        set_deadline(c, st, now_us, s->params.body_timeout_ms);
    } else if (st->kind == HTTP_ANSWER_CONTENT) {
        st->flags |= HTTP_INTERIM;
        respond(c, st, s, head, now_us);
    } else {
        st->flags |= HTTP_LAST;
        respond(c, st, s, head, now_us);
    }
}

static __attribute__((noinline)) void answer_less_common(struct c10m_conn *c, struct http_conn *st,
                                                         struct http_service *s,
                                                         const struct http_host *host,
                                                         struct http_text head, uint64_t now_us)
{
    const struct http_request *r = &st->request;
    struct http_choice choice;
    const struct http_whose whose = {http_site_of(st, s), host};
    http_choose(s, &whose, r, head.s, unix_s(c), &choice);
    unsigned status = choice.bad ? 400 : http_content_status(s, r, head.s, &choice);
    if (status == 0 && !keep_choice(c, st, s, &choice, head)) {
        count(c, s, HTTP_N_NO_HOLD, 1);
        status = 503;
    }
    if (status == 0) {
        go_on(c, st, s, head, now_us);
    } else if (status == 400 || (r->flags & HTTP_BODY)) {
        refuse(c, st, s, host, status, head, now_us);
    } else {
        respond_status(c, st, s, host, status, head, now_us);
    }
}

// Whether the reply is the same for every request without HTTP_LESS_COMMON.
static bool is_for_all(const struct http_reply *reply, const struct http_request *r)
{
    return reply->special <= HTTP_FILE &&
           ((reply->gzip | reply->br) == 0 || !(r->flags & HTTP_ENCODING));
}

// uses_reply: whether the connection sends, or has chosen, a response of its site.
static bool uses_reply(const struct http_conn *st)
{
    return st->phase == HTTP_READING || st->phase == HTTP_SENDING;
}

// The connection stops using the site of earlier responses when they are acknowledged, and then
// changes to the served site. For a request it changes before that, and uses two sites; never
// three.
static __attribute__((noinline)) void change_site(struct c10m_conn *c, struct http_conn *st,
                                                  struct http_service *s, bool for_request)
{
    const unsigned worker = c10m_worker(c), now = http_sites_now(&s->sites);
    const bool queued = c10m_send_queued(c) != 0;
    unsigned place = http_place_of(st), before = http_before_of(st);
    if (before != place && !queued) {
        http_sites_let_go(&s->sites, worker, before);
        before = place;
    }
    if (place != now && before == place && !uses_reply(st) && (for_request || !queued)) {
        http_sites_hold(&s->sites, worker, now);
        if (!queued)
            http_sites_let_go(&s->sites, worker, place);
        before = queued ? place : now;
        place = now;
    }
    st->flags = (uint16_t)((st->flags & ~HTTP_BOTH_MASK) | place << HTTP_PLACE_BIT |
                           before << HTTP_BEFORE_BIT);
}

// change_site() before a request. If the connection still sends from two earlier sites, the
// response is the last one: the next request, on another connection, gets the served site.
static __attribute__((noinline)) void change_site_for(struct c10m_conn *c, struct http_conn *st,
                                                      struct http_service *s)
{
    change_site(c, st, s, true);
    if (http_place_of(st) != http_sites_now(&s->sites))
        st->flags |= HTTP_LAST;
}

static bool has_old_site(const struct http_conn *st, const struct http_service *s)
{
    return (st->flags & HTTP_BOTH_MASK) != http_sites_both(&s->sites);
}

// is_late: whether the request may have waited too long to be worth an answer.
static bool is_late(const struct c10m_conn *c, const struct http_service *s)
{
    if (c10m_waited_us(c) == 0)
        return false;
    return s->params.max_wait_ms == HTTP_WAIT_AUTO
               ? c10m_overloaded_us(c) / 1000 >= HTTP_WAIT_AUTO_MS
               : c10m_waited_us(c) / 1000 >= s->params.max_wait_ms;
}

// refuse_late: 503 with Retry-After; the connection stays open, unless content follows.
static __attribute__((noinline)) void refuse_late(struct c10m_conn *c, struct http_conn *st,
                                                  struct http_service *s,
                                                  const struct http_host *host,
                                                  struct http_text head, uint64_t now_us)
{
    count(c, s, HTTP_N_WAITED, 1);
    if (st->request.flags & HTTP_BODY)
        refuse(c, st, s, host, 503, head, now_us);
    else
        respond_status(c, st, s, host, 503, head, now_us);
}

static void answer(struct c10m_conn *c, struct http_conn *st, struct http_service *s,
                   struct http_text head, uint64_t now_us)
{
    const struct http_request *r = &st->request;
    count(c, s, HTTP_N_REQUESTS, 1);
    c10m_request_begin(c);
    if (__builtin_expect(has_old_site(st, s), 0))
        change_site_for(c, st, s);
    const struct http_site *site = http_site_of(st, s);
    const struct http_host *host = &site->hosts[0];
    if (__builtin_expect(site->n_hosts > 1, 0))
        host = http_site_host(site, r, head.s);
    unsigned flags = st->flags & (HTTP_BOTH_MASK | HTTP_PROXIED | HTTP_LAST);
    if (__builtin_expect(r->flags & (HTTP_MINOR_0 | HTTP_CLOSE), 0))
        flags |=
            (http_keep_alive(r) ? 0 : HTTP_LAST) | (r->flags & HTTP_MINOR_0 ? HTTP_KEEP_1_0 : 0);
    if (r->method == HTTP_HEAD)
        flags |= HTTP_HEAD_ONLY;
    if (c10m_draining(c))
        flags |= HTTP_LAST;
    st->flags = (uint16_t)flags;
    if (__builtin_expect(is_late(c, s), 0)) {
        refuse_late(c, st, s, host, head, now_us);
        return;
    }
    if (__builtin_expect(r->method <= HTTP_HEAD && !(r->flags & HTTP_LESS_COMMON), 1)) {
        uint32_t reply = http_site_find(site, host, head.s + r->target_off, r->target_bytes);
        if (__builtin_expect(reply != HTTP_REPLY_NONE && is_for_all(&site->replies[reply], r), 1)) {
            st->kind = HTTP_WHOLE;
            st->reply = reply;
            respond(c, st, s, head, now_us);
            return;
        }
    }
    answer_less_common(c, st, s, host, head, now_us);
}

// Continues to read the request's content. Returns the number of bytes consumed.
static size_t read_content(struct c10m_conn *c, struct http_conn *st, struct http_service *s,
                           const uint8_t *data, size_t len, uint64_t now_us)
{
    const struct http_body_limits limits = {(uint32_t)s->params.body_bytes_max,
                                            (uint32_t)s->params.header_bytes_max};
    struct http_body *body = body_of(c, st, s);
    const struct http_text gone = {NULL, 0};
    size_t done = 0;
    int verdict = HTTP_MORE;
    while (verdict == HTTP_MORE && done < len) {
        size_t used;
        struct http_text run;
        verdict = http_body_read(body, &limits, data + done, len - done, &used, &run);
        done += used;
        count(c, s, HTTP_N_CONTENT_BYTES, run.n);
        if (st->kind == HTTP_ANSWER_CONTENT) {
            struct http_hold *h = hold_of(c, st, s);
            memcpy(h->bytes + h->filled, run.s, run.n);
            h->filled += (uint32_t)run.n;
        }
    }
    if (verdict == HTTP_DONE)
        respond(c, st, s, gone, now_us);
    else if (verdict != HTTP_MORE)
        respond_error(c, st, s, (unsigned)verdict, gone, now_us);
    return done;
}

// Counts `bytes` unread bytes after the present request, plus those that may arrive before the next
// http_unread(). False: no units are left.
static bool hold_behind(struct c10m_conn *c, struct http_conn *st, struct http_service *s,
                        size_t bytes)
{
    return hold_queued(c, st, s, HTTP_BEHIND_ANSWER,
                       (bytes / C10M_UNREAD_BYTES + 1) * C10M_UNREAD_BYTES);
}

// No units are left for the bytes after the present request: they are discarded.
static void cut_behind(struct c10m_conn *c, struct http_conn *st, struct http_service *s)
{
    count(c, s, HTTP_N_NOT_HELD, 1);
    give_queued(c, st, s);
    st->flags |= HTTP_CUT;
    if (st->flags & HTTP_INTERIM)  // these bytes are content that the peer was asked to send
        c10m_abort(c);
}

// `bytes` bytes have arrived after the present request. Returns how many are discarded. The others
// stay queued until the response is sent; the pause avoids a call for each further segment.
static size_t wait_behind(struct c10m_conn *c, struct http_conn *st, struct http_service *s,
                          size_t bytes)
{
    if (st->flags & (HTTP_LAST | HTTP_CUT))
        return bytes;
    const size_t queued = c10m_receive_queued(c);
    if (hold_behind(c, st, s, queued > bytes ? queued : bytes)) {
        c10m_pause(c);
        return 0;
    }
    cut_behind(c, st, s);
    return bytes;
}

// The head is incomplete: it stays queued. False: no units are left; 503 was sent.
static bool wait_for_head(struct c10m_conn *c, struct http_conn *st, struct http_service *s,
                          struct http_text head, uint64_t now_us)
{
    if (st->phase != HTTP_HEADING) {
        st->phase = HTTP_HEADING;
        set_deadline(c, st, now_us, s->params.header_timeout_ms);
    }
    if (hold_queued(c, st, s, HTTP_OF_HEAD, head.n))
        return true;
    count(c, s, HTTP_N_NOT_HELD, 1);
    give_queued(c, st, s);
    st->request.at = 0;  // no valid head: its fields are not parsed
    respond_error(c, st, s, 503, head, now_us);
    return false;
}

static bool prefix_has(const struct http_peers *p, const uint8_t addr[16])
{
    const unsigned whole = p->bits / 8, rest = p->bits % 8;
    return memcmp(p->addr, addr, whole) == 0 &&
           (rest == 0 || (p->addr[whole] ^ addr[whole]) >> (8 - rest) == 0);
}

// Whether the peer may send a PROXY header (proxy_from).
static bool is_trusted(const struct c10m_conn *c, const struct http_service *s)
{
    uint8_t addr[16];
    c10m_peer(c, addr, NULL);
    for (unsigned i = 0; i < s->n_from; i++)
        if (prefix_has(&s->from[i], addr))
            return true;
    return s->n_from == 0;
}

// Resets the connection: a peer that violates the PROXY protocol gets no response.
static size_t refuse_preface(struct c10m_conn *c, struct http_conn *st, struct http_service *s,
                             unsigned counter, size_t len)
{
    count(c, s, counter, 1);
    give_queued(c, st, s);
    st->phase = HTTP_LINGER;
    c10m_abort(c);
    return len;
}

// Returns the number of bytes consumed.
static size_t read_preface(struct c10m_conn *c, struct http_conn *st, struct http_service *s,
                           const uint8_t *data, size_t len, uint64_t now_us)
{
    struct http_client client;
    size_t used = 0;
    const enum http_preface verdict =
        is_trusted(c, s) ? http_preface_read(data, len, &used, &client) : HTTP_PREFACE_BAD;
    if (verdict == HTTP_PREFACE_BAD)
        return refuse_preface(c, st, s, HTTP_N_PREFACE_BAD, len);
    if (verdict == HTTP_PREFACE_MORE)
        return hold_queued(c, st, s, HTTP_OF_HEAD, len)
                   ? 0
                   : refuse_preface(c, st, s, HTTP_N_NOT_HELD, len);
    give_queued(c, st, s);
    if (client.known && !http_clients_add(&s->clients, c10m_worker(c), c10m_handle(c), &client))
        return refuse_preface(c, st, s, HTTP_N_PREFACE_FULL, len);
    count(c, s, HTTP_N_PREFACE, 1);
    st->flags |= client.known ? HTTP_PROXIED : 0;
    st->phase = HTTP_NEW;
    set_deadline(c, st, now_us, s->params.header_timeout_ms);
    return used;
}

static void http_open(struct c10m_conn *c)
{
    struct http_conn *st = c10m_state(c);
    struct http_service *s = service_of(c);
    st->flags = (uint16_t)http_sites_both(&s->sites);
    st->phase = s->proxied ? HTTP_PREFACE : HTTP_NEW;
    http_sites_hold(&s->sites, c10m_worker(c), http_place_of(st));
    set_deadline(c, st, c10m_now_us(c), s->params.header_timeout_ms);
}

// Processes bytes that are not the head of a request. Returns how many were consumed; 0: the rest
// stays queued.
static __attribute__((noinline)) size_t consume_other(struct c10m_conn *c, struct http_conn *st,
                                                      struct http_service *s, const uint8_t *data,
                                                      size_t len, uint64_t now_us)
{
    switch (st->phase) {
    case HTTP_PREFACE:
        return read_preface(c, st, s, data, len, now_us);
    case HTTP_READING:
        return read_content(c, st, s, data, len, now_us);
    case HTTP_SENDING:
        return wait_behind(c, st, s, len);
    default:
        return len;
    }
}

static size_t http_data(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    struct http_conn *st = c10m_state(c);
    struct http_service *s = service_of(c);
    uint64_t now_us = c10m_now_us(c);
    for (size_t used = 0; used < len;) {
        if (__builtin_expect(st->phase >= HTTP_PREFACE, 0)) {
            const size_t n = consume_other(c, st, s, data + used, len - used, now_us);
            used += n;
            if (n == 0)
                return used;
            continue;
        }
        const uint8_t *head = data + used;
        int verdict = http_parse(&st->request, head, len - used, s->params.header_bytes_max);
        if (__builtin_expect(verdict == HTTP_MORE, 0)) {
            struct http_text begun = {head, len - used};
            return wait_for_head(c, st, s, begun, now_us) ? used : len;
        }
        give_queued(c, st, s);
        if (__builtin_expect(verdict != HTTP_DONE, 0)) {
            st->request.at = 0;  // no valid head: its fields are not parsed
            respond_error(c, st, s, (unsigned)verdict, (struct http_text){head, len - used},
                          now_us);
            return len;
        }
        used += st->request.at;
        answer(c, st, s, (struct http_text){head, st->request.at}, now_us);
    }
    return len;
}

static void http_unread(struct c10m_conn *c)
{
    struct http_conn *st = c10m_state(c);
    struct http_service *s = service_of(c);
    if (hold_behind(c, st, s, c10m_receive_queued(c)))
        return;
    cut_behind(c, st, s);
    c10m_resume(c);
}

static void http_end(struct c10m_conn *c)
{
    struct http_conn *st = c10m_state(c);
    st->flags |= HTTP_ENDED;
    give_queued(c, st, service_of(c));
    if (st->phase != HTTP_SENDING && st->phase != HTTP_LINGER)
        start_linger(c, st, c10m_now_us(c));
}

static void http_writable(struct c10m_conn *c)
{
    struct http_conn *st = c10m_state(c);
    struct http_service *s = service_of(c);
    if (st->phase != HTTP_SENDING)
        return;
    const struct http_reply *r = http_reply_of(st, s);
    if (!http_send(c, st, s, r))
        return;
    finish(c, st, s, r, c10m_now_us(c));
    give_queued(c, st, s);
    c10m_resume(c);  // continue with the bytes after this request
}

// The connection was idle for answered_ms, which may be less than keepalive_timeout_ms.
static void rested(struct c10m_conn *c, struct http_conn *st, struct http_service *s,
                   uint64_t now_us)
{
    const uint64_t rest_ms = s->params.keepalive_timeout_ms - s->answered_ms;
    if (st->phase == HTTP_IDLE && rest_ms != 0 && !(st->flags & HTTP_RESTED)) {
        st->flags |= HTTP_RESTED;
        set_deadline(c, st, now_us, rest_ms);
        return;
    }
    count(c, s, HTTP_N_IDLE, 1);
    start_linger(c, st, now_us);
}

// Sets the timer to the deadline, or to the end of the write timeout if that is earlier.
static void set_timer(struct c10m_conn *c, struct http_conn *st, const struct http_service *s,
                      uint64_t now_us)
{
    st->timer_us = st->deadline_us;
    if (st->watched != 0) {
        const uint64_t end_us = now_us + watch_left_us(st, s, now_us);
        st->timer_us = end_us < st->timer_us ? end_us : st->timer_us;
    }
    c10m_set_timer(c, (uint32_t)((st->timer_us - now_us + 999) / 1000));
}

static void reset(struct c10m_conn *c, const struct http_service *s)
{
    count(c, s, HTTP_N_STALLED, 1);
    c10m_abort(c);
}

// The deadline of the present phase has passed.
static void expired(struct c10m_conn *c, struct http_conn *st, struct http_service *s,
                    uint64_t now_us)
{
    if (st->phase == HTTP_PREFACE) {
        refuse_preface(c, st, s, HTTP_N_PREFACE_BAD, 0);
        return;
    }
    if (st->phase == HTTP_HEADING || st->phase == HTTP_READING) {
        bool heading = st->phase == HTTP_HEADING;
        count(c, s, heading ? HTTP_N_HEADER_TIMEOUTS : HTTP_N_BODY_TIMEOUTS, 1);
        give_queued(c, st, s);
        respond_error(c, st, s, 408, (struct http_text){NULL, 0}, now_us);
        c10m_resume(c);  // discards the queued part of the head
        return;
    }
    if (c10m_send_queued(c) != 0) {
        st->deadline_us = now_us + s->answered_ms * 1000;
        set_timer(c, st, s, now_us);
    } else if (st->phase == HTTP_NEW || st->phase == HTTP_IDLE) {
        rested(c, st, s, now_us);
    } else if (st->phase == HTTP_SENDING || !(st->flags & HTTP_ENDED)) {
        reset(c, s);
    }  // else only the last ACK is missing, which TCP's timers handle
}

static void http_timer(struct c10m_conn *c)
{
    struct http_conn *st = c10m_state(c);
    struct http_service *s = service_of(c);
    uint64_t now_us = c10m_now_us(c);
    st->timer_us = 0;
    if (has_old_site(st, s))
        change_site(c, st, s, false);
    if (!takes_enough(c, st, s, now_us))
        reset(c, s);
    else if (now_us >= st->deadline_us)
        expired(c, st, s, now_us);
    else
        set_timer(c, st, s, now_us);
}

// An idle connection is closed at once, a busy one after its response. On a new connection one
// request is still answered.
static void http_drain(struct c10m_conn *c)
{
    struct http_conn *st = c10m_state(c);
    if (st->phase == HTTP_IDLE)
        start_linger(c, st, c10m_now_us(c));
    else if (st->phase == HTTP_SENDING || st->phase == HTTP_READING)
        st->flags |= HTTP_DRAINED;
}

// A site was replaced, or its connections are to be reset.
static void http_shown(struct c10m_conn *c)
{
    struct http_conn *st = c10m_state(c);
    struct http_service *s = service_of(c);
    change_site(c, st, s, false);
    if (!http_sites_expels(&s->sites, http_place_of(st)) &&
        !http_sites_expels(&s->sites, http_before_of(st)))
        return;
    count(c, s, HTTP_N_EXPELLED, 1);
    c10m_abort(c);
}

static void http_close(struct c10m_conn *c, enum c10m_close why)
{
    struct http_conn *st = c10m_state(c);
    struct http_service *s = service_of(c);
    (void)why;
    give_hold(c, st, s);
    give_queued(c, st, s);
    http_sites_let_go(&s->sites, c10m_worker(c), http_place_of(st));
    if (http_before_of(st) != http_place_of(st))
        http_sites_let_go(&s->sites, c10m_worker(c), http_before_of(st));
    if (st->flags & HTTP_PROXIED)
        http_clients_remove(&s->clients, c10m_worker(c), c10m_handle(c));
}

// Counts the unread bytes of a connection of the process before in this one. False: no units are
// left.
static bool hold_again(struct c10m_conn *c, struct http_conn *st, struct http_service *s)
{
    return st->held == 0 ||
           http_units_take(&s->pools, c10m_worker(c), source_of(c, st, s), use_of(st), st->held);
}

// Whether a connection of the process before goes on in this one. Its next response is of the
// present site; what is queued may be of an image of the process before.
static bool http_adopted(struct c10m_conn *c)
{
    struct http_conn *st = c10m_state(c);
    struct http_service *s = service_of(c);
    if (uses_reply(st) || st->hold != 0 || (st->flags & HTTP_PROXIED) || !hold_again(c, st, s))
        return false;
    const unsigned worker = c10m_worker(c), now = http_sites_now(&s->sites);
    unsigned before = c10m_send_queued(c) != 0 ? http_left_place(c10m_service_of(c), s) : now;
    before = before == HTTP_PLACES ? now : before;
    st->flags = (uint16_t)((st->flags & ~HTTP_BOTH_MASK) | now << HTTP_PLACE_BIT |
                           before << HTTP_BEFORE_BIT);
    http_sites_hold(&s->sites, worker, now);
    if (before != now)
        http_sites_hold(&s->sites, worker, before);
    return true;
}

static const struct c10m_reload reload = {
    .read = http_reload_read,
    .show = http_reload_show,
    .shown = http_shown,
    .unused = http_reload_unused,
    .release = http_reload_release,
};

const struct c10m_app app_http = {
    .name = "http",
    .marks_requests = true,
    .adopts = true,
    .moves = true,
    .state_version = HTTP_STATE_VERSION,
    .init = http_init,
    .fini = http_fini,
    .open = http_open,
    .data = http_data,
    .unread = http_unread,
    .end = http_end,
    .writable = http_writable,
    .timer = http_timer,
    .close = http_close,
    .log = http_log,
    .drain = http_drain,
    .reload = &reload,
    .tree = http_tree,
    .adopted = http_adopted,
};
