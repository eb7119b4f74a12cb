// http.c: the life of a connection of the http application.
//
//             first byte            head complete           all queued, connection stays
//   NEW, IDLE ----------> HEADING ------------------> SENDING -------------------------> IDLE
//     |    \__________________________________________^  ^ |  last response: shut down
//     | idle time               with content: READING ___/  v
//     +---------------------------------------------> LINGER: what still comes is thrown away
//
// One response is in the making at a time; requests behind it wait unconsumed. A request's content
// is read to its end before it is answered, so that its errors are: only a client that waits for
// 100 (Continue) and need not send it is answered before, and closed.
#include "app/apps.h"
#include "app/http/choose.h"
#include "app/http/conn.h"
#include "app/http/fields.h"
#include "app/http/show.h"

// After the last response the peer's bytes are read on this long, so that no reset overtakes the
// response (RFC 9112 section 9.6).
enum { LINGER_MS = 5000 };

static struct http_service *service_of(struct c10m_conn *c)
{
    return c10m_service_data(c10m_service_of(c));
}

static void count(struct c10m_conn *c, const struct http_service *s, unsigned counter, uint64_t n)
{
    c10m_count(c, s->counters[counter], n);
}

static uint64_t unix_s(const struct http_service *s, uint64_t now_us)
{
    return (s->wall_us + now_us) / 1000000;
}

// Moves the deadline. A later one costs nothing: the timer finds it when it comes.
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

// Until the watch ends: write_timeout_ms, and less than two units of the clock more. 0: it has.
static uint64_t watch_left_us(const struct http_conn *st, const struct http_service *s,
                              uint64_t now_us)
{
    const uint32_t units = (uint32_t)(s->params.write_timeout_ms * 1000 / HTTP_WATCH_US) + 1;
    const uint32_t gone = (uint16_t)(watch_clock(now_us) - st->watched);
    return gone >= units ? 0 : (uint64_t)(units - gone) * HTTP_WATCH_US;
}

// From now on the peer has write_timeout_ms to take write_bytes_min of what is queued, or all.
static void watch(const struct c10m_conn *c, struct http_conn *st, const struct http_service *s,
                  uint64_t now_us)
{
    const uint64_t queued = c10m_send_queued(c), least = s->params.write_bytes_min;
    st->watched = watch_clock(now_us);
    st->taken_goal = c10m_send_taken(c) + (uint32_t)(queued < least ? queued : least);
}

// What is queued, and how it is taken: looked at whenever the timer comes, whatever the phase, so
// that a client that goes on asking goes on being watched. False: too little for too long.
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

static struct http_hold *hold_of(struct c10m_conn *c, const struct http_conn *st,
                                 const struct http_service *s)
{
    return http_hold_at(&s->pools, c10m_worker(c), st->hold);
}

// False: all are in use.
static bool take_hold(struct c10m_conn *c, struct http_conn *st, struct http_service *s)
{
    st->hold = http_hold_take(&s->pools, c10m_worker(c));
    return st->hold != 0;
}

static void give_hold(struct c10m_conn *c, struct http_conn *st, struct http_service *s)
{
    if (__builtin_expect(st->hold != 0, 0))
        http_hold_give(&s->pools, c10m_worker(c), st->hold);
    st->hold = 0;
}

// What the connection has queued, in the worker's sum. False: there is no room for it.
static bool hold_queued(struct c10m_conn *c, struct http_conn *st, struct http_service *s,
                        size_t bytes)
{
    const size_t units = (bytes + HTTP_UNIT_BYTES - 1) / HTTP_UNIT_BYTES;
    if (units <= st->held)
        return true;
    if (!http_units_take(&s->pools, c10m_worker(c), (uint32_t)units - st->held))
        return false;
    st->held = (uint16_t)units;
    return true;
}

static void give_queued(struct c10m_conn *c, struct http_conn *st, struct http_service *s)
{
    if (__builtin_expect(st->held != 0, 0))
        http_units_give(&s->pools, c10m_worker(c), st->held);
    st->held = 0;
}

static void count_answer(struct c10m_conn *c, const struct http_conn *st,
                         const struct http_service *s)
{
    static const enum http_counter classes[] = {HTTP_N_2XX, HTTP_N_3XX, HTTP_N_4XX, HTTP_N_5XX};
    const struct http_reply *r = &s->site.replies[st->reply];
    if (__builtin_expect(st->kind == HTTP_WHOLE && r->status == 200, 1)) {
        count(c, s, HTTP_N_2XX, 1);
        count(c, s, HTTP_N_BODY_BYTES, st->flags & HTTP_HEAD_ONLY ? 0 : r->body_bytes);
        return;
    }
    count(c, s, classes[http_answer_status(st, s) / 100 - 2], 1);
    count(c, s, HTTP_N_BODY_BYTES, http_answer_bytes(c, st, s));
}

static void finish(struct c10m_conn *c, struct http_conn *st, struct http_service *s,
                   uint64_t now_us)
{
    if (__builtin_expect(st->flags & HTTP_INTERIM, 0)) {
        st->flags &= (uint16_t)~HTTP_INTERIM;
        st->phase = HTTP_READING;
        set_deadline(c, st, now_us, s->params.body_timeout_ms);
        return;
    }
    count_answer(c, st, s);
    give_hold(c, st, s);
    if (__builtin_expect(st->flags & (HTTP_LAST | HTTP_ENDED | HTTP_CUT | HTTP_DRAINED), 0)) {
        start_linger(c, st, now_us);
        return;
    }
    st->phase = HTTP_IDLE;
    st->request = (struct http_request){0};
    set_deadline(c, st, now_us, s->answered_ms);
}

// Keeps what the log wants of a request whose answer comes when these bytes are gone.
static void keep_for_log(struct c10m_conn *c, const struct http_conn *st,
                         const struct http_service *s, struct http_text head)
{
    struct http_hold *h = hold_of(c, st, s);
    struct http_text none = {NULL, 0};
    http_log_fill(h->log, c, head, s->log_combined ? http_fields_of(&st->request, head.s) : none);
    h->logged = 1;
}

// head: of the request, n 0: it is not at hand.
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
        http_log_fill(r, c, head, fields);
    }
    r->unix_s = st->date_s;
    r->status = (uint16_t)http_answer_status(st, s);
    r->bytes = http_answer_bytes(c, st, s);
    if (!c10m_log(c, r, http_log_bytes(r)))
        count(c, s, HTTP_N_LOG_DROPPED, 1);
}

// Begins to send what st->kind, reply and flags say. head: of the request, for the log; n 0: not at
// hand.
static void respond(struct c10m_conn *c, struct http_conn *st, struct http_service *s,
                    struct http_text head, uint64_t now_us)
{
    st->phase = HTTP_SENDING;
    st->date_s = (uint32_t)unix_s(s, now_us);
    st->sent = 0;
    st->piece = 0;
    if (__builtin_expect(s->log != NULL, 0) && !(st->flags & HTTP_INTERIM))
        log_answer(c, st, s, head);
    if (__builtin_expect(http_send(c, st, s), 1)) {
        finish(c, st, s, now_us);
        return;
    }
    count(c, s, HTTP_N_SHORT, 1);
    if (st->watched == 0)
        watch(c, st, s, now_us);
    set_deadline(c, st, now_us, s->params.write_timeout_ms);
}

static void respond_status(struct c10m_conn *c, struct http_conn *st, struct http_service *s,
                           unsigned status, struct http_text head, uint64_t now_us)
{
    st->kind = HTTP_WHOLE;
    st->reply = http_site_fixed(status);
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

// The request deserves no better; where the next one starts is not known.
static void respond_error(struct c10m_conn *c, struct http_conn *st, struct http_service *s,
                          unsigned status, struct http_text head, uint64_t now_us)
{
    bool head_only = st->request.target_bytes != 0 && st->request.method == HTTP_HEAD;
    st->flags |= HTTP_LAST | (head_only ? HTTP_HEAD_ONLY : 0);
    count_error(c, s, status);
    respond_status(c, st, s, status, head, now_us);
}

// Keeps of a choice what its answer needs. False: that is a hold, and there is none.
static bool keep_choice(struct c10m_conn *c, struct http_conn *st, struct http_service *s,
                        const struct http_choice *choice, struct http_text head)
{
    bool content = st->request.flags & HTTP_BODY;
    st->kind = (uint8_t)choice->kind;
    st->reply = choice->reply;
    if (choice->kind == HTTP_PART)
        st->range = choice->ranges[0];
    if (!content && choice->kind != HTTP_PARTS && choice->kind < HTTP_ANSWER_CONTENT)
        return true;
    if (!take_hold(c, st, s))
        return false;
    struct http_hold *h = hold_of(c, st, s);
    h->n_ranges = choice->n_ranges;
    memcpy(h->ranges, choice->ranges, choice->n_ranges * sizeof(h->ranges[0]));
    if (choice->kind == HTTP_ANSWER_FIELDS) {
        struct http_text fields = http_fields_of(&st->request, head.s);
        h->filled = (uint32_t)(fields.n - 2);
        memcpy(h->bytes, fields.s, h->filled);
    }
    if (content)
        http_body_begin(&h->body, st->request.flags & HTTP_CODING,
                        st->request.flags & HTTP_CODING
                            ? 0
                            : http_content_length(http_fields_of(&st->request, head.s)));
    return true;
}

// What is due now: the answer, or the content first.
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

static void answer_less_common(struct c10m_conn *c, struct http_conn *st, struct http_service *s,
                               struct http_text head, uint64_t now_us)
{
    const struct http_request *r = &st->request;
    struct http_choice choice;
    http_choose(s, r, head.s, unix_s(s, now_us), &choice);
    unsigned status = choice.bad ? 400 : http_content_status(s, r, head.s, &choice);
    if (status == 0 && !keep_choice(c, st, s, &choice, head)) {
        count(c, s, HTTP_N_NO_HOLD, 1);
        status = 503;
    }
    if (status == 0) {
        go_on(c, st, s, head, now_us);
    } else if (status == 400 || (r->flags & HTTP_BODY)) {
        respond_error(c, st, s, status, head, now_us);
    } else {
        respond_status(c, st, s, status, head, now_us);
    }
}

// Whether the reply is the same for every request that is not less common.
static bool is_for_all(const struct http_reply *reply, const struct http_request *r)
{
    return reply->special <= HTTP_FILE && (reply->gzip == 0 || !(r->flags & HTTP_ENCODING));
}

static void answer(struct c10m_conn *c, struct http_conn *st, struct http_service *s,
                   struct http_text head, uint64_t now_us)
{
    const struct http_request *r = &st->request;
    count(c, s, HTTP_N_REQUESTS, 1);
    st->flags = (uint16_t)((http_keep_alive(r) && !c10m_draining(c) ? 0 : HTTP_LAST) |
                           (r->method == HTTP_HEAD ? HTTP_HEAD_ONLY : 0) |
                           (r->flags & HTTP_MINOR_0 ? HTTP_KEEP_1_0 : 0));
    if (__builtin_expect(r->method <= HTTP_HEAD && !(r->flags & HTTP_LESS_COMMON), 1)) {
        uint32_t reply = http_site_find(&s->site, head.s + r->target_off, r->target_bytes);
        if (__builtin_expect(reply != HTTP_REPLY_NONE && is_for_all(&s->site.replies[reply], r),
                             1)) {
            st->kind = HTTP_WHOLE;
            st->reply = reply;
            respond(c, st, s, head, now_us);
            return;
        }
    }
    answer_less_common(c, st, s, head, now_us);
}

// Reads on in the request's content; returns how much of it was consumed.
static size_t read_content(struct c10m_conn *c, struct http_conn *st, struct http_service *s,
                           const uint8_t *data, size_t len, uint64_t now_us)
{
    const struct http_body_limits limits = {s->params.body_bytes_max, s->params.header_bytes_max};
    struct http_hold *h = hold_of(c, st, s);
    const struct http_text gone = {NULL, 0};
    size_t done = 0;
    int verdict = HTTP_MORE;
    while (verdict == HTTP_MORE && done < len) {
        size_t used;
        struct http_text run;
        verdict = http_body_read(&h->body, &limits, data + done, len - done, &used, &run);
        done += used;
        count(c, s, HTTP_N_CONTENT_BYTES, run.n);
        if (st->kind == HTTP_ANSWER_CONTENT) {
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

// What waits behind a response in work, bytes of it offered: returns how many are thrown away.
static size_t wait_behind(struct c10m_conn *c, struct http_conn *st, struct http_service *s,
                          size_t bytes)
{
    if (st->flags & (HTTP_LAST | HTTP_CUT))
        return bytes;
    const size_t queued = c10m_receive_queued(c);
    if (hold_queued(c, st, s, queued > bytes ? queued : bytes))
        return 0;
    count(c, s, HTTP_N_NOT_HELD, 1);
    give_queued(c, st, s);
    st->flags |= HTTP_CUT;
    if (st->flags & HTTP_INTERIM)  // that was content which the peer was told to send
        c10m_abort(c);
    return bytes;
}

// The head is not complete: it waits, or there is no room for it.
static bool wait_for_head(struct c10m_conn *c, struct http_conn *st, struct http_service *s,
                          struct http_text head, uint64_t now_us)
{
    if (st->phase != HTTP_HEADING) {
        st->phase = HTTP_HEADING;
        set_deadline(c, st, now_us, s->params.header_timeout_ms);
    }
    if (hold_queued(c, st, s, head.n))
        return true;
    count(c, s, HTTP_N_NOT_HELD, 1);
    give_queued(c, st, s);
    st->request.at = 0;  // not a head: its fields are not looked at again
    respond_error(c, st, s, 503, head, now_us);
    return false;
}

static void http_open(struct c10m_conn *c)
{
    struct http_conn *st = c10m_state(c);
    set_deadline(c, st, c10m_now_us(c), service_of(c)->params.header_timeout_ms);
}

static size_t http_data(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    struct http_conn *st = c10m_state(c);
    struct http_service *s = service_of(c);
    uint64_t now_us = c10m_now_us(c);
    for (size_t used = 0; used < len;) {
        if (__builtin_expect(st->phase == HTTP_LINGER, 0))
            return len;
        if (st->phase == HTTP_SENDING)
            return used + wait_behind(c, st, s, len - used);
        if (__builtin_expect(st->phase == HTTP_READING, 0)) {
            used += read_content(c, st, s, data + used, len - used, now_us);
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
            st->request.at = 0;  // not a head: its fields are not looked at again
            respond_error(c, st, s, (unsigned)verdict, (struct http_text){head, len - used},
                          now_us);
            return len;
        }
        used += st->request.at;
        answer(c, st, s, (struct http_text){head, st->request.at}, now_us);
    }
    return len;
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
    if (!http_send(c, st, s))
        return;
    finish(c, st, s, c10m_now_us(c));
    c10m_resume(c);  // what waited behind this response
}

// Idle for answered_ms, which may be less than the time that it has.
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

// To the deadline, or to where the watch ends if that is earlier.
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

// The deadline has passed while the phase was the same all along.
static void expired(struct c10m_conn *c, struct http_conn *st, struct http_service *s,
                    uint64_t now_us)
{
    if (st->phase == HTTP_HEADING || st->phase == HTTP_READING) {
        bool heading = st->phase == HTTP_HEADING;
        count(c, s, heading ? HTTP_N_HEADER_TIMEOUTS : HTTP_N_BODY_TIMEOUTS, 1);
        give_queued(c, st, s);
        respond_error(c, st, s, 408, (struct http_text){NULL, 0}, now_us);
        c10m_resume(c);  // what there is of the head is thrown away
        return;
    }
    if (c10m_send_queued(c) != 0) {
        st->deadline_us = now_us + s->answered_ms * 1000;
        set_timer(c, st, s, now_us);
    } else if (st->phase == HTTP_NEW || st->phase == HTTP_IDLE) {
        rested(c, st, s, now_us);
    } else if (st->phase == HTTP_SENDING || !(st->flags & HTTP_ENDED)) {
        reset(c, s);
    }  // else only the last ACK is missing: TCP's own timers see to that
}

static void http_timer(struct c10m_conn *c)
{
    struct http_conn *st = c10m_state(c);
    struct http_service *s = service_of(c);
    uint64_t now_us = c10m_now_us(c);
    st->timer_us = 0;
    if (!takes_enough(c, st, s, now_us))
        reset(c, s);
    else if (now_us >= st->deadline_us)
        expired(c, st, s, now_us);
    else
        set_timer(c, st, s, now_us);
}

// An idle connection ends now, one at work after the reply; one that is new has a request coming,
// whose reply is the last.
static void http_drain(struct c10m_conn *c)
{
    struct http_conn *st = c10m_state(c);
    if (st->phase == HTTP_IDLE)
        start_linger(c, st, c10m_now_us(c));
    else if (st->phase == HTTP_SENDING || st->phase == HTTP_READING)
        st->flags |= HTTP_DRAINED;
}

static void http_close(struct c10m_conn *c, enum c10m_close why)
{
    (void)why;
    give_hold(c, c10m_state(c), service_of(c));
    give_queued(c, c10m_state(c), service_of(c));
}

const struct c10m_app app_http = {
    .name = "http",
    .init = http_init,
    .fini = http_fini,
    .open = http_open,
    .data = http_data,
    .end = http_end,
    .writable = http_writable,
    .timer = http_timer,
    .close = http_close,
    .log = http_log,
    .drain = http_drain,
    .tree = http_tree,
};
