// SPDX-License-Identifier: BSD-3-Clause
#include "unit/fake_stack.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "c10m/reload.h"
#include "c10m/socket.h"

enum { COUNTERS_MAX = 32, CONNS_MAX = 16 };

struct c10m_image {
    uint8_t *bytes;
    uint64_t len;
    struct c10m_image *next;
};

struct c10m_images {
    struct c10m_service *service;
    struct c10m_image *first;
    uint64_t bytes;
};

struct c10m_service {
    const struct c10m_app *app;
    const char *const *params;
    void *data;
    bool ready, reads, stopping;  // reads: `read` of its reload runs
    unsigned counters, workers, logs_refused;
    const char *counter_names[COUNTERS_MAX];
    uint64_t counts[COUNTERS_MAX];
    struct c10m_images *images;  // of c10m_image_reserve()
    unsigned image_sets;         // that are not freed
    bool has_left;               // images of a process before
    uint64_t image_bytes_max;    // of each set
    unsigned memory_lacks;       // so many images find no memory first
    bool tells_aborts;
    unsigned connects_refused;
    int refuse_rc;
    struct c10m_conn *connected;
    uint64_t handles;
    unsigned warnings;
    char warning[512];
    struct c10m_conn *conns[CONNS_MAX];  // that can be found
    bool inside;                         // a callback of any of them
};

static uint64_t next_image_limit = UINT64_MAX;
static unsigned next_workers = 1;

#define MUST(cond)                                                                                 \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "%s:%d: contract of app.h broken: %s\n", __FILE__, __LINE__, #cond);   \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

static void bytes_add(struct fake_bytes *b, const void *from, size_t len)
{
    if (b->len + len > b->room) {
        b->room = (b->len + len) * 2;
        b->at = realloc(b->at, b->room);
        MUST(b->at != NULL);
    }
    if (len != 0)
        memcpy(b->at + b->len, from, len);
    b->len += len;
}

struct c10m_service *fake_service_new(const struct c10m_app *app, const char *const *params,
                                      char *err, size_t err_bytes)
{
    struct c10m_service *s = calloc(1, sizeof(*s));
    MUST(s != NULL);
    s->app = app;
    s->params = params;
    s->image_bytes_max = next_image_limit;
    next_image_limit = UINT64_MAX;
    s->workers = next_workers;
    next_workers = 1;
    err[0] = '\0';
    if (app->init != NULL && app->init(s, err, err_bytes) != 0) {
        MUST(err[0] != '\0' && s->data == NULL);
        s->app = NULL;
        fake_service_free(s);
        return NULL;
    }
    s->ready = true;
    return s;
}

void fake_service_free(struct c10m_service *s)
{
    if (s->app != NULL && s->app->fini != NULL)
        s->app->fini(s);
    c10m_images_free(s->images);
    MUST(s->image_sets == 0);
    free(s);
}

void fake_image_limit(uint64_t bytes)
{
    next_image_limit = bytes;
}

void fake_workers(unsigned n)
{
    next_workers = n;
}

uint64_t fake_counter(const struct c10m_service *s, const char *name)
{
    for (unsigned i = 0; i < s->counters; i++)
        if (strcmp(s->counter_names[i], name) == 0)
            return s->counts[i];
    fprintf(stderr, "no counter %s\n", name);
    abort();
}

static bool alive(const struct c10m_conn *c)
{
    return !c->aborted && !c->closed;
}

// All callbacks but `data` of one connection begin and end here.
static void enter(struct c10m_conn *c)
{
    MUST(!c->service->inside && !c->closed);
    c->inside = c->service->inside = true;
}

static void leave(struct c10m_conn *c)
{
    c->inside = c->service->inside = false;
    for (unsigned i = 0; i < CONNS_MAX; i++)
        if (c->service->conns[i] != NULL)
            c->service->conns[i]->inside = false;
}

static void tell_close(struct c10m_conn *c, enum c10m_close why)
{
    enter(c);
    if (c->service->app->close != NULL)
        c->service->app->close(c, why);
    leave(c);
    c->closed = true;
}

// One offer of what is queued. False: nothing to offer, or not wanted.
static bool offer(struct c10m_conn *c)
{
    if (c->paused || c->in.len == 0 || !alive(c))
        return false;
    size_t n = c->in.len < C10M_DATA_CONTIG_BYTES ? c->in.len : C10M_DATA_CONTIG_BYTES;
    uint8_t *copy = malloc(n);
    MUST(copy != NULL);
    memcpy(copy, c->in.at, n);
    enter(c);
    c->data_calls++;
    size_t used = c->service->app->data(c, copy, n);
    leave(c);
    free(copy);
    MUST(used <= n);
    c->in.len -= used;
    memmove(c->in.at, c->in.at + used, c->in.len);
    return used == n;
}

// What follows a callback for its connection: data that was asked for again, and the end once
// nothing is left before it.
static void settle(struct c10m_conn *c)
{
    do {
        c->paused &= !c->resume;
        c->resume = false;
        while (offer(c))
            ;
    } while (c->resume);
    if (!c->peer_ended || c->end_told || c->in.len != 0 || !alive(c))
        return;
    c->end_told = true;
    enter(c);
    if (c->service->app->end != NULL)
        c->service->app->end(c);
    else
        c10m_shutdown(c);
    leave(c);
}

// And for those that it reached.
static void settle_others(struct c10m_service *s)
{
    bool again = true;
    while (again) {
        again = false;
        for (unsigned i = 0; i < CONNS_MAX; i++) {
            struct c10m_conn *o = s->conns[i];
            if (o == NULL || o->closed)
                continue;
            if (o->aborted && s->tells_aborts) {
                tell_close(o, C10M_ABORTED);
                again = true;
            } else if (o->resume) {
                settle(o);
                again = true;
            }
        }
    }
}

static void call(struct c10m_conn *c, void (*callback)(struct c10m_conn *))
{
    if (callback == NULL || !alive(c))
        return;
    enter(c);
    callback(c);
    leave(c);
    if (c->resume)
        settle(c);
    settle_others(c->service);
}

static struct c10m_conn *conn_new(struct c10m_service *s)
{
    static const uint8_t peer[16] = {[10] = 0xff, [11] = 0xff, 192, 0, 2, 7};
    struct c10m_conn *c = aligned_alloc(64, sizeof(*c));
    MUST(c != NULL);
    memset(c, 0, sizeof(*c));
    c->service = s;
    c->send_room = SIZE_MAX;
    c->handle = ++s->handles;
    memcpy(c->peer_addr, peer, sizeof(peer));
    c->peer_port = 40000;
    for (unsigned i = 0; i < CONNS_MAX; i++)
        if (s->conns[i] == NULL) {
            s->conns[i] = c;
            return c;
        }
    return c;  // the tests of pairs have few
}

struct c10m_conn *fake_open(struct c10m_service *s)
{
    return fake_open_at(s, SIZE_MAX, 0);
}

struct c10m_conn *fake_open_narrow(struct c10m_service *s, size_t send_room)
{
    return fake_open_at(s, send_room, 0);
}

struct c10m_conn *fake_open_at(struct c10m_service *s, size_t send_room, uint64_t now_us)
{
    struct c10m_conn *c = conn_new(s);
    c->send_room = send_room;
    c->now_us = now_us;
    call(c, s->app->open);
    return c;
}

static void forget(struct c10m_conn *c)
{
    for (unsigned i = 0; i < CONNS_MAX; i++)
        if (c->service->conns[i] == c)
            c->service->conns[i] = NULL;
}

static void move_in(struct c10m_conn *c, struct c10m_service *s)
{
    unsigned i = 0;
    while (i < CONNS_MAX && s->conns[i] != NULL)
        i++;
    MUST(i < CONNS_MAX);
    s->conns[i] = c;
    c->service = s;
}

void fake_move(struct c10m_conn *c, struct c10m_service *s)
{
    forget(c);
    move_in(c, s);
    s->handles = s->handles > c->handle ? s->handles : c->handle;
}

bool fake_adopted(struct c10m_conn *c)
{
    c->inside = true;
    const bool yes = c->service->app->adopted == NULL || c->service->app->adopted(c);
    for (unsigned i = 0; i < CONNS_MAX; i++)
        if (c->service->conns[i] != NULL)
            c->service->conns[i]->inside = false;
    c->closed = !yes;
    return yes;
}

void fake_close(struct c10m_conn *c)
{
    if (!c->closed)
        fake_lost(c, c->aborted ? C10M_ABORTED : C10M_CLOSED);
    forget(c);
    free(c->in.at);
    free(c->out.at);
    free(c);
}

void fake_feed(struct c10m_conn *c, const void *bytes, size_t len, size_t piece)
{
    const uint8_t *p = bytes;
    MUST(!c->peer_ended);
    while (len != 0 && alive(c)) {
        size_t n = piece == 0 || piece > len ? len : piece;
        const size_t pages = c->in.len / C10M_UNREAD_BYTES;
        bytes_add(&c->in, p, n);
        if (c->paused && c->in.len / C10M_UNREAD_BYTES != pages)
            call(c, c->service->app->unread);
        settle(c);
        settle_others(c->service);
        p += n;
        len -= n;
    }
}

void fake_end(struct c10m_conn *c)
{
    c->peer_ended = true;
    settle(c);
    settle_others(c->service);
}

void fake_tells_aborts(struct c10m_service *s)
{
    s->tells_aborts = true;
}

void fake_refuse_connects(struct c10m_service *s, unsigned n, int rc)
{
    s->connects_refused = n;
    s->refuse_rc = rc;
}

struct c10m_conn *fake_connected(struct c10m_service *s)
{
    struct c10m_conn *c = s->connected;
    s->connected = NULL;
    return c;
}

void fake_answer(struct c10m_conn *c)
{
    MUST(c->connecting);
    c->connecting = false;
    call(c, c->service->app->open);
}

void fake_lost(struct c10m_conn *c, enum c10m_close why)
{
    tell_close(c, why);
    settle_others(c->service);
}

uint64_t c10m_handle(const struct c10m_conn *c)
{
    return c->handle;
}

struct c10m_conn *c10m_find(struct c10m_conn *from, uint64_t handle)
{
    MUST(from->inside && handle != 0);
    for (unsigned i = 0; i < CONNS_MAX; i++) {
        struct c10m_conn *c = from->service->conns[i];
        if (c == NULL || c->handle != handle || c->closed)
            continue;
        c->inside = true;
        return c;
    }
    return NULL;
}

int c10m_connect(struct c10m_conn *from, const uint8_t addr[16], uint16_t port,
                 struct c10m_conn **made)
{
    struct c10m_service *s = from->service;
    MUST(from->inside && port != 0);
    if (s->connects_refused != 0) {
        s->connects_refused--;
        return s->refuse_rc;
    }
    struct c10m_conn *c = s->connected = conn_new(s);
    c->connecting = c->inside = true;
    c->now_us = from->now_us;
    memcpy(c->peer_addr, addr, sizeof(c->peer_addr));
    c->peer_port = port;
    if (made != NULL)
        *made = c;
    return 0;
}

size_t fake_ack(struct c10m_conn *c, size_t bytes)
{
    size_t queued = c->out.len - c->acked, n = bytes < queued ? bytes : queued;
    c->acked += n;
    if (c->cut_short && (n != 0 || queued == 0)) {
        c->cut_short = false;
        call(c, c->service->app->writable);
    }
    return n;
}

void fake_drain(struct c10m_conn *c)
{
    MUST(c->send_room != 0);
    while (fake_ack(c, SIZE_MAX) != 0 || c->cut_short)
        ;
}

void fake_service_drains(struct c10m_conn *c)
{
    c->draining = true;
    call(c, c->service->app->drain);
}

void fake_advance(struct c10m_conn *c, uint64_t ms)
{
    uint64_t until_us = c->now_us + ms * 1000;
    while (c->timer_us != 0 && c->timer_us <= until_us && alive(c)) {
        c->now_us = c->timer_us;
        c->timer_us = 0;
        call(c, c->service->app->timer);
    }
    c->now_us = until_us;
}

void *c10m_state(struct c10m_conn *c)
{
    return c->state;
}

struct c10m_service *c10m_service_of(struct c10m_conn *c)
{
    return c->service;
}

unsigned c10m_workers(const struct c10m_service *s)
{
    return s->workers;
}

unsigned c10m_worker(const struct c10m_conn *c)
{
    MUST(c->worker < c->service->workers);
    return c->worker;
}

void *c10m_service_data(const struct c10m_service *s)
{
    return s->data;
}

void c10m_service_set_data(struct c10m_service *s, void *data)
{
    MUST(!s->ready);
    s->data = data;
}

const char *c10m_service_param(const struct c10m_service *s, const char *key)
{
    for (const char *const *p = s->params; p != NULL && *p != NULL; p += 2)
        if (strcmp(p[0], key) == 0)
            return p[1];
    return NULL;
}

size_t c10m_send_room(const struct c10m_conn *c)
{
    size_t queued = c->out.len - c->acked;
    return c->shut || c->aborted || queued >= c->send_room ? 0 : c->send_room - queued;
}

size_t c10m_send(struct c10m_conn *c, const void *data, size_t len)
{
    MUST(c->inside && !c->shut && !c->connecting);
    size_t room = c10m_send_room(c), n = len < room ? len : room;
    bytes_add(&c->out, data, n);
    c->cut_short |= n < len;
    return n;
}

void c10m_want_writable(struct c10m_conn *c)
{
    MUST(c->inside);
    c->cut_short = true;
}

bool c10m_send_ref(struct c10m_conn *c, const struct c10m_image *image, uint64_t off, uint64_t len)
{
    MUST(c->inside && !c->shut && len != 0 && len <= C10M_SEND_REF_BYTES_MAX && off <= image->len &&
         len <= image->len - off);
    // As the stack does: a reference may go beyond the limit, but not begin there.
    size_t queued = c->out.len - c->acked;
    if (c->refs_refused != 0 || queued >= c->send_room) {
        c->refs_refused -= c->refs_refused != 0;
        c->cut_short = true;
        return false;
    }
    bytes_add(&c->out, image->bytes + off, len);
    return true;
}

uint64_t c10m_send_queued(const struct c10m_conn *c)
{
    return c->out.len - c->acked;
}

uint32_t c10m_send_taken(const struct c10m_conn *c)
{
    return UINT32_MAX - 500 + (uint32_t)c->acked;
}

uint32_t c10m_receive_queued(const struct c10m_conn *c)
{
    return (uint32_t)c->in.len;
}

void c10m_shutdown(struct c10m_conn *c)
{
    c->shut = true;
}

void c10m_abort(struct c10m_conn *c)
{
    MUST(c->inside);
    c->aborted = true;
}

void c10m_pause(struct c10m_conn *c)
{
    MUST(c->inside);
    c->paused = true;
    c->resume = false;
}

void c10m_resume(struct c10m_conn *c)
{
    MUST(c->inside);
    c->resume = true;
}

void c10m_set_timer(struct c10m_conn *c, uint32_t ms)
{
    MUST(c->inside && ms <= 1 << 30);
    c->timer_us = ms == 0 ? 0 : c->now_us + (uint64_t)ms * 1000;
    c->timer_sets++;
}

bool c10m_draining(const struct c10m_conn *c)
{
    MUST(c->inside);
    return c->draining;
}

uint64_t fake_unix_us = 1795439648ull * 1000000 + 999;

uint64_t c10m_unix_us(const struct c10m_conn *c)
{
    (void)c;
    return fake_unix_us;
}

uint32_t c10m_waited_us(const struct c10m_conn *c)
{
    return c->waited_us;
}

uint32_t c10m_overloaded_us(const struct c10m_conn *c)
{
    return c->overloaded_us;
}

uint64_t c10m_now_us(const struct c10m_conn *c)
{
    return c->now_us;
}

void c10m_warn(const struct c10m_service *s, const char *format, ...)
{
    struct c10m_service *own = (struct c10m_service *)(uintptr_t)s;
    va_list ap;
    MUST(!s->ready || s->reads);
    va_start(ap, format);
    vsnprintf(own->warning, sizeof(own->warning), format, ap);
    va_end(ap);
    own->warnings++;
}

unsigned fake_warnings(const struct c10m_service *s, const char **last)
{
    *last = s->warning;
    return s->warnings;
}

struct c10m_images *c10m_images_new(struct c10m_service *s)
{
    MUST(!s->ready || s->reads);
    struct c10m_images *set = calloc(1, sizeof(*set));
    MUST(set != NULL);
    set->service = s;
    s->image_sets++;
    return set;
}

struct c10m_images *c10m_images_left(struct c10m_service *s)
{
    if (!s->has_left)
        return NULL;
    s->has_left = false;
    struct c10m_images *set = calloc(1, sizeof(*set));
    MUST(set != NULL);
    set->service = s;
    set->bytes = FAKE_LEFT_BYTES;
    s->image_sets++;
    return set;
}

uint64_t c10m_images_bytes(const struct c10m_images *set)
{
    return set->bytes;
}

void fake_images_left(struct c10m_service *s)
{
    s->has_left = true;
}

// The bytes are overwritten, as if they had been unmapped.
void c10m_images_free(struct c10m_images *set)
{
    if (set == NULL)
        return;
    set->service->image_sets--;
    for (struct c10m_image *i = set->first, *next; i != NULL; i = next) {
        next = i->next;
        free(i->bytes);
        free(i);
    }
    free(set);
}

const struct c10m_image *c10m_images_reserve(struct c10m_images *set, uint64_t len, uint8_t **room)
{
    struct c10m_service *s = set->service;
    MUST((!s->ready || s->reads) && len != 0);
    if (s->memory_lacks != 0 || len > s->image_bytes_max - set->bytes) {
        errno = s->memory_lacks != 0 ? ENOMEM : ENOSPC;
        s->memory_lacks -= s->memory_lacks != 0;
        return NULL;
    }
    struct c10m_image *image = calloc(1, sizeof(*image));
    MUST(image != NULL && (image->bytes = malloc(len)) != NULL);
    image->len = len;
    image->next = set->first;
    set->first = image;
    set->bytes += len;
    *room = image->bytes;
    return image;
}

unsigned fake_image_sets(const struct c10m_service *s)
{
    return s->image_sets;
}

void fake_memory_lacks(struct c10m_service *s, unsigned n)
{
    s->memory_lacks = n;
}

bool c10m_reload_stopping(const struct c10m_service *s)
{
    return s->stopping;
}

void fake_stopping(struct c10m_service *s, bool stopping)
{
    s->stopping = stopping;
}

static void tell_shown(struct c10m_service *s)
{
    for (unsigned i = 0; i < CONNS_MAX; i++)
        if (s->conns[i] != NULL && alive(s->conns[i]))
            call(s->conns[i], s->app->reload->shown);
}

unsigned fake_release(struct c10m_service *s)
{
    unsigned n = 0;
    for (void *old; (old = s->app->reload->unused(s)) != NULL; n++)
        s->app->reload->release(s, old);
    return n;
}

static int read_files(struct c10m_service *s, void **made, char *text, size_t bytes)
{
    text[0] = '\0';
    s->reads = true;
    const int rc = s->app->reload->read(s, made, text, bytes);
    s->reads = false;
    MUST(rc == 0 || text[0] != '\0');
    return rc;
}

int fake_reload(struct c10m_service *s, char *text, size_t bytes)
{
    void *made = NULL;
    int rc = read_files(s, &made, text, bytes);
    if (rc == C10M_RELOAD_LATER) {
        tell_shown(s);
        fake_release(s);
        rc = read_files(s, &made, text, bytes);
    }
    if (rc != 0)
        return rc;
    s->app->reload->show(s, made, text, bytes);
    tell_shown(s);
    return 0;
}

const struct c10m_image *c10m_image_reserve(struct c10m_service *s, uint64_t len, uint8_t **room)
{
    MUST(!s->ready);
    if (s->images == NULL)
        s->images = c10m_images_new(s);
    return c10m_images_reserve(s->images, len, room);
}

const struct c10m_image *c10m_image_create(struct c10m_service *s, const void *data, uint64_t len)
{
    uint8_t *room;
    const struct c10m_image *image = c10m_image_reserve(s, len, &room);
    if (image != NULL)
        memcpy(room, data, len);
    return image;
}

const uint8_t *c10m_image_bytes(const struct c10m_image *image, uint64_t *len)
{
    *len = image->len;
    return image->bytes;
}

int c10m_counter(struct c10m_service *s, const char *name, const char *help)
{
    MUST(!s->ready && help[0] != '\0');
    if (s->counters == COUNTERS_MAX)
        return -1;
    s->counter_names[s->counters] = name;
    return (int)s->counters++;
}

void c10m_count(struct c10m_conn *c, int counter, uint64_t n)
{
    MUST(c->inside && counter >= 0 && (unsigned)counter < c->service->counters);
    c->service->counts[counter] += n;
}

void c10m_request_begin(struct c10m_conn *c)
{
    MUST(c->inside && c->service->app->marks_requests && !c->in_request);
    c->in_request = true;
}

void c10m_request_end(struct c10m_conn *c)  // an error may be answered before a request is whole
{
    MUST(c->inside);
    c->in_request = false;
}

bool c10m_log(struct c10m_conn *c, const void *record, size_t len)
{
    MUST(c->inside && len != 0 && len <= C10M_LOG_BYTES_MAX && c->service->app->log != NULL);
    if (c->service->logs_refused != 0) {
        c->service->logs_refused--;
        return false;
    }
    uint8_t *copy = malloc(len);
    MUST(copy != NULL);
    memcpy(copy, record, len);
    MUST(c->service->app->log(c->service, copy, len) == 0);
    free(copy);
    return true;
}

void c10m_peer(const struct c10m_conn *c, uint8_t addr[16], uint16_t *port)
{
    if (addr != NULL)
        memcpy(addr, c->peer_addr, 16);
    if (port != NULL)
        *port = c->peer_port;
}

void fake_refuse_logs(struct c10m_service *s, unsigned n)
{
    s->logs_refused = n;
}

unsigned fake_log_end(struct c10m_service *s)
{
    return s->app->log(s, NULL, 0);
}
