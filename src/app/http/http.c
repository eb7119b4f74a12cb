// http.c: the life of a connection of the http application. Parameters of its service:
//
//   root                  the directory to serve (site.h); no default
//   header_bytes_max      longest head of a request: 256..16384, default 8192; over: 414 or 431
//   header_timeout_ms     from a head's first byte to its last, default 10000; over: 408
//   keepalive_timeout_ms  without a request, or without taking a byte of an answer, default 60000
//   files_max, bytes_max  most files and most bytes below the root, default 65536 and 2^30
//
//             first byte            head complete           all queued, connection stays
//   NEW, IDLE ----------> HEADING ------------------> SENDING -------------------------> IDLE
//     |    \__________________________________________^  |  last response: shut down
//     | idle time                                        v
//     +---------------------------------------------> LINGER: what still comes is thrown away
//
// One response is in the making at a time; requests behind it wait unconsumed.
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "app/apps.h"
#include "app/http/counters.h"
#include "app/http/parse.h"
#include "app/http/path.h"
#include "app/http/site.h"

static_assert((int)HTTP_HEAD_BYTES_MAX <= (int)C10M_DATA_CONTIG_BYTES,
              "a head is parsed where it lies, as one range");

// After the last response the peer's bytes are read on this long, so that no reset overtakes the
// response (RFC 9112 section 9.6).
enum { LINGER_MS = 5000 };

struct http_params {
    uint64_t header_bytes_max;
    uint64_t header_timeout_ms;
    uint64_t keepalive_timeout_ms;
    uint64_t files_max;
    uint64_t bytes_max;
};

struct http_service {
    struct http_params params;
    uint64_t wall_us;  // wall clock where c10m_now_us is 0
    struct http_site site;
    int counters[HTTP_COUNTERS_N];
};

enum phase { NEW, HEADING, SENDING, IDLE, LINGER };

enum conn_flag {
    LAST = 1 << 0,       // this response is the last one
    ENDED = 1 << 1,      // the peer has sent its FIN
    HEAD_ONLY = 1 << 2,  // the response has no body
    KEEP_1_0 = 1 << 3,   // HTTP/1.0 wants to hear that the connection stays
};

// http_conn: the application's line of the block.
struct http_conn {
    uint64_t deadline_us;  // when the present phase has lasted too long
    uint64_t timer_us;     // when the stack's timer comes: not after the deadline; 0: not set
    uint64_t queued_seen;  // c10m_send_queued() when the deadline was last missed
    struct http_request request;
    uint8_t phase;
    uint8_t flags;
    uint32_t reply;   // SENDING: which
    uint32_t date_s;  // SENDING: the Date it began with, so that it can be written again
    uint32_t sent;    // SENDING: how much of what is copied has been taken
};
static_assert(sizeof(struct http_conn) <= C10M_STATE_BYTES,
              "more lines cost memory per connection");

static struct http_service *service_of(struct c10m_conn *c)
{
    return c10m_service_data(c10m_service_of(c));
}

static void count(struct c10m_conn *c, const struct http_service *s, unsigned counter, uint64_t n)
{
    c10m_count(c, s->counters[counter], n);
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

static void start_linger(struct c10m_conn *c, struct http_conn *st, uint64_t now_us)
{
    c10m_shutdown(c);
    st->phase = LINGER;
    set_deadline(c, st, now_us, LINGER_MS);
}

static enum http_connection what_to_say(const struct http_conn *st)
{
    if (st->flags & LAST)
        return HTTP_SAY_CLOSE;
    return st->flags & KEEP_1_0 ? HTTP_SAY_KEEP_ALIVE : HTTP_SAY_NOTHING;
}

// Queues what is left of the response. False: not all of it, `writable` follows.
static bool push(struct c10m_conn *c, struct http_conn *st, const struct http_reply *r)
{
    char text[HTTP_REPLY_BYTES_MAX];
    bool head_only = st->flags & HEAD_ONLY;
    size_t len = http_reply_write(r, st->date_s, what_to_say(st), head_only, text);
    st->sent += (uint32_t)c10m_send(c, text + st->sent, len - st->sent);
    if (__builtin_expect(st->sent < len, 0))
        return false;
    return head_only || http_reply_is_inline(r) || c10m_send_ref(c, r->image, 0, r->body_bytes);
}

static void finish(struct c10m_conn *c, struct http_conn *st, const struct http_service *s,
                   uint64_t now_us)
{
    const struct http_reply *r = &s->site.replies[st->reply];
    count(c, s, r->class_counter, 1);
    if (!(st->flags & HEAD_ONLY))
        count(c, s, HTTP_N_BODY_BYTES, r->body_bytes);
    st->queued_seen = 0;
    if (__builtin_expect(st->flags & (LAST | ENDED), 0)) {
        start_linger(c, st, now_us);
        return;
    }
    st->phase = IDLE;
    st->request = (struct http_request){0};
    set_deadline(c, st, now_us, s->params.keepalive_timeout_ms);
}

static void respond(struct c10m_conn *c, struct http_conn *st, const struct http_service *s,
                    uint32_t reply, uint64_t now_us)
{
    st->phase = SENDING;
    st->reply = reply;
    st->date_s = (uint32_t)((s->wall_us + now_us) / 1000000);
    st->sent = 0;
    if (__builtin_expect(push(c, st, &s->site.replies[reply]), 1)) {
        finish(c, st, s, now_us);
        return;
    }
    count(c, s, HTTP_N_SHORT, 1);
    set_deadline(c, st, now_us, s->params.keepalive_timeout_ms);
}

// The head deserves no better; where the next request starts is not known.
static void respond_error(struct c10m_conn *c, struct http_conn *st, const struct http_service *s,
                          unsigned status, uint64_t now_us)
{
    bool head_only = st->request.target_bytes != 0 && st->request.method == HTTP_HEAD;
    st->flags |= LAST | (head_only ? HEAD_ONLY : 0);
    respond(c, st, s, http_site_fixed(status), now_us);
}

// The status of a target that is no key of the site as it stands, or the reply in *reply and 0.
static unsigned look_up_slowly(const struct http_site *site, const uint8_t *target, size_t len,
                               uint32_t *reply)
{
    char key[HTTP_HEAD_BYTES_MAX];
    int key_bytes = http_path(target, len, key);
    if (key_bytes < 0)
        return 400;
    *reply = http_site_find(site, key, (size_t)key_bytes);
    return *reply == HTTP_REPLY_NONE ? 404 : 0;
}

// The reply to a request that is none for a file.
static unsigned other_method(const struct http_site *site, const struct http_request *r,
                             const uint8_t *target)
{
    uint32_t ignored;
    if (r->method == HTTP_NOT_ALLOWED)
        return 405;
    if (r->target_bytes == 1 && target[0] == '*')
        return 204;
    return look_up_slowly(site, target, r->target_bytes, &ignored) == 400 ? 400 : 204;
}

static void answer(struct c10m_conn *c, struct http_conn *st, const struct http_service *s,
                   const uint8_t *target, uint64_t now_us)
{
    const struct http_request *r = &st->request;
    unsigned status = 0;
    uint32_t reply = HTTP_REPLY_NONE;
    count(c, s, HTTP_N_REQUESTS, 1);
    if (__builtin_expect(r->method <= HTTP_HEAD, 1)) {
        reply = http_site_find(&s->site, target, r->target_bytes);
        if (__builtin_expect(reply == HTTP_REPLY_NONE, 0))
            status = look_up_slowly(&s->site, target, r->target_bytes, &reply);
    } else {
        status = other_method(&s->site, r, target);
    }
    if (status == 400) {
        respond_error(c, st, s, status, now_us);
        return;
    }
    if (status != 0)
        reply = http_site_fixed(status);
    st->flags =
        (uint8_t)((http_keep_alive(r) ? 0 : LAST) | (r->method == HTTP_HEAD ? HEAD_ONLY : 0) |
                  (r->flags & HTTP_MINOR_0 ? KEEP_1_0 : 0));
    respond(c, st, s, reply, now_us);
}

static void http_open(struct c10m_conn *c)
{
    struct http_conn *st = c10m_state(c);
    set_deadline(c, st, c10m_now_us(c), service_of(c)->params.header_timeout_ms);
}

static size_t http_data(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    struct http_conn *st = c10m_state(c);
    const struct http_service *s = service_of(c);
    uint64_t now_us = c10m_now_us(c);
    for (size_t used = 0; used < len;) {
        if (__builtin_expect(st->phase == LINGER || (st->flags & LAST), 0))
            return len;
        if (st->phase == SENDING)
            return used;
        const uint8_t *head = data + used;
        int verdict = http_parse(&st->request, head, len - used, s->params.header_bytes_max);
        if (__builtin_expect(verdict == HTTP_MORE, 0)) {
            if (st->phase != HEADING) {
                st->phase = HEADING;
                set_deadline(c, st, now_us, s->params.header_timeout_ms);
            }
            return used;
        }
        if (__builtin_expect(verdict != HTTP_DONE, 0)) {
            respond_error(c, st, s, (unsigned)verdict, now_us);
            return len;
        }
        used += st->request.at;
        answer(c, st, s, head + st->request.target_off, now_us);
    }
    return len;
}

static void http_end(struct c10m_conn *c)
{
    struct http_conn *st = c10m_state(c);
    st->flags |= ENDED;
    if (st->phase != SENDING && st->phase != LINGER)
        start_linger(c, st, c10m_now_us(c));
}

static void http_writable(struct c10m_conn *c)
{
    struct http_conn *st = c10m_state(c);
    const struct http_service *s = service_of(c);
    if (st->phase != SENDING)
        return;
    if (push(c, st, &s->site.replies[st->reply])) {
        finish(c, st, s, c10m_now_us(c));
        c10m_resume(c);  // requests that waited behind this response
        return;
    }
    set_deadline(c, st, c10m_now_us(c), s->params.keepalive_timeout_ms);
}

// The deadline has passed while the phase was the same all along.
static void expired(struct c10m_conn *c, struct http_conn *st, const struct http_service *s,
                    uint64_t now_us)
{
    if (st->phase == HEADING) {
        count(c, s, HTTP_N_HEADER_TIMEOUTS, 1);
        respond_error(c, st, s, 408, now_us);
        c10m_resume(c);  // what there is of the head is thrown away
        return;
    }
    uint64_t queued = c10m_send_queued(c);
    if (queued != 0 && queued != st->queued_seen) {  // still taking a long answer
        st->queued_seen = queued;
        set_deadline(c, st, now_us, s->params.keepalive_timeout_ms);
    } else if (queued == 0 && (st->phase == NEW || st->phase == IDLE)) {
        count(c, s, HTTP_N_IDLE, 1);
        start_linger(c, st, now_us);
    } else if (queued != 0 || st->phase == SENDING || !(st->flags & ENDED)) {
        count(c, s, HTTP_N_STALLED, 1);
        c10m_abort(c);
    }  // else only the last ACK is missing: TCP's own timers see to that
}

static void http_timer(struct c10m_conn *c)
{
    struct http_conn *st = c10m_state(c);
    uint64_t now_us = c10m_now_us(c);
    st->timer_us = 0;
    if (now_us >= st->deadline_us)
        expired(c, st, service_of(c), now_us);
    else
        set_deadline(c, st, now_us, (st->deadline_us - now_us + 999) / 1000);
}

static int read_params(const struct c10m_service *s, struct http_params *p, char *err,
                       size_t err_bytes)
{
    const struct {
        const char *key;
        uint64_t *value, min, max, default_value;
    } rows[] = {
        {"header_bytes_max", &p->header_bytes_max, HTTP_HEAD_BYTES_MIN, HTTP_HEAD_BYTES_MAX, 8192},
        {"header_timeout_ms", &p->header_timeout_ms, 1, 1 << 30, 10000},
        {"keepalive_timeout_ms", &p->keepalive_timeout_ms, 1, 1 << 30, 60000},
        {"files_max", &p->files_max, 1, 1 << 24, 65536},
        {"bytes_max", &p->bytes_max, 1, UINT64_C(1) << 40, UINT64_C(1) << 30},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *text = c10m_service_param(s, rows[i].key);
        *rows[i].value = rows[i].default_value;
        if (text == NULL)
            continue;
        char *end;
        errno = 0;
        unsigned long long n = strtoull(text, &end, 10);
        if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || n < rows[i].min ||
            n > rows[i].max) {
            snprintf(err, err_bytes, "%s = %s: expected a whole number from %llu to %llu",
                     rows[i].key, text, (unsigned long long)rows[i].min,
                     (unsigned long long)rows[i].max);
            return -1;
        }
        *rows[i].value = n;
    }
    return 0;
}

static int register_counters(struct c10m_service *s, struct http_service *service, char *err,
                             size_t err_bytes)
{
    static const struct {
        const char *name, *help;
    } rows[] = {
#define HTTP_COUNTER_ROW(number, name, help) {name, help},
        HTTP_COUNTERS(HTTP_COUNTER_ROW)
#undef HTTP_COUNTER_ROW
    };
    for (int i = 0; i < HTTP_COUNTERS_N; i++) {
        service->counters[i] = c10m_counter(s, rows[i].name, rows[i].help);
        if (service->counters[i] < 0) {
            snprintf(err, err_bytes, "no room for the counter %s", rows[i].name);
            return -1;
        }
    }
    return 0;
}

static uint64_t wall_clock_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static int init_service(struct c10m_service *s, struct http_service *service, char *err,
                        size_t err_bytes)
{
    if (read_params(s, &service->params, err, err_bytes) != 0 ||
        register_counters(s, service, err, err_bytes) != 0)
        return -1;
    const char *root = c10m_service_param(s, "root");
    if (root == NULL || root[0] == '\0') {
        snprintf(err, err_bytes, "root: missing: the directory to serve");
        return -1;
    }
    struct http_site_limits limits = {
        .files_max = service->params.files_max,
        .bytes_max = service->params.bytes_max,
        .now_s = wall_clock_us() / 1000000,
    };
    if (http_site_load(&service->site, s, root, &limits, err, err_bytes) != 0)
        return -1;
    service->wall_us = wall_clock_us();
    return 0;
}

static int http_init(struct c10m_service *s, char *err, size_t err_bytes)
{
    struct http_service *service = calloc(1, sizeof(*service));
    if (service == NULL) {
        snprintf(err, err_bytes, "no memory");
        return -1;
    }
    if (init_service(s, service, err, err_bytes) != 0) {
        http_site_free(&service->site);
        free(service);
        return -1;
    }
    c10m_service_set_data(s, service);
    return 0;
}

static void http_fini(struct c10m_service *s)
{
    struct http_service *service = c10m_service_data(s);
    if (service == NULL)
        return;
    http_site_free(&service->site);
    free(service);
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
};
