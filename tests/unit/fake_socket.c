// SPDX-License-Identifier: BSD-3-Clause
#include "unit/fake_socket.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RING_MAX = 4096, WORKERS_MAX = 4, UDP_MAX = 64 };

struct c10m_core {
    unsigned id;
};

struct c10m_service {
    const struct c10m_app *app;
    void *data;
};

struct ring {
    void *at[RING_MAX];
    uint32_t head, tail, room;
};

static struct {
    struct c10m_service s;
    unsigned workers, counters, forgotten, joined;
    uint64_t now_us;  // how much has arrived
    struct c10m_core cores[WORKERS_MAX];
    struct ring down[WORKERS_MAX], up[WORKERS_MAX];
    struct c10m_conn conns[FAKE_CONNS_MAX];
    uint64_t handles;
    struct {
        bool used;
        unsigned worker;
        struct c10m_listening at;
        unsigned waiting;  // that nobody accepted
    } listeners[FAKE_LISTENERS_MAX];
    struct {
        bool used;
        unsigned worker;
        struct c10m_name at;
    } udp[UDP_MAX];
} f;

#define MUST(cond)                                                                                 \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "%s:%d: contract broken: %s\n", __FILE__, __LINE__, #cond);            \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

// ---- rings

static bool push(struct ring *r, void *m)
{
    if (r->tail - r->head == r->room)
        return false;
    r->at[r->tail++ % RING_MAX] = m;
    return true;
}

static void *pull(struct ring *r)
{
    return r->head == r->tail ? NULL : r->at[r->head++ % RING_MAX];
}

struct c10m_service *fake_start(const struct c10m_app *app, unsigned workers, uint32_t ring)
{
    memset(&f, 0, sizeof(f));
    f.s.app = app;
    f.workers = workers;
    for (unsigned w = 0; w < workers; w++) {
        f.cores[w].id = w;
        f.down[w].room = f.up[w].room = ring;
    }
    return &f.s;
}

void fake_end(void)
{
    memset(&f, 0, sizeof(f));
}

static void end_conn(struct c10m_conn *c)
{
    if (!c->closed && f.s.app->close != NULL)
        f.s.app->close(c, c->aborted ? C10M_ABORTED : C10M_CLOSED);
    c->used = false;
}

// What follows a callback: an abort, or the end of what was read to its end.
static void settle(void)
{
    for (unsigned i = 0; i < FAKE_CONNS_MAX; i++) {
        struct c10m_conn *c = &f.conns[i];
        const bool over = c->error != 0 || (c->shut && c->peer_fin && c->acked == c->out);
        if (c->used && (c->closed || c->aborted || (over && c->n_in == 0)))
            end_conn(c);
    }
}

void fake_turn(void)
{
    for (unsigned w = 0; w < f.workers; w++) {
        void *m;
        while ((m = pull(&f.down[w])) != NULL) {
            f.s.app->message(&f.cores[w], &f.s, m);
            settle();
        }
    }
}

bool c10m_post(struct c10m_service *s, unsigned worker, void *msg)
{
    MUST(s == &f.s && worker < f.workers && msg != NULL);
    return push(&f.down[worker], msg);
}

bool c10m_answer(struct c10m_core *w, struct c10m_service *s, void *msg)
{
    MUST(s == &f.s && msg != NULL);
    return push(&f.up[w->id], msg);
}

unsigned c10m_take(struct c10m_service *s, unsigned worker, void **msgs, unsigned max)
{
    unsigned n = 0;
    MUST(s == &f.s && worker < f.workers);
    while (n < max && (msgs[n] = pull(&f.up[worker])) != NULL)
        n++;
    return n;
}

bool c10m_thread_stopping(const struct c10m_service *s)
{
    (void)s;
    return true;
}

// ---- the service and its cores

void *c10m_service_data(const struct c10m_service *s)
{
    return s->data;
}

void c10m_service_set_data(struct c10m_service *s, void *data)
{
    s->data = data;
}

const char *c10m_service_param(const struct c10m_service *s, const char *key)
{
    (void)s;
    return strcmp(key, "socket") == 0 ? "/nowhere" : strcmp(key, "sockets_max") == 0 ? "16" : NULL;
}

unsigned c10m_workers(const struct c10m_service *s)
{
    (void)s;
    return f.workers;
}

int c10m_counter(struct c10m_service *s, const char *name, const char *help)
{
    MUST(s == &f.s && name[0] != '\0' && help[0] != '\0');
    return (int)f.counters++;
}

void c10m_core_count(struct c10m_core *w, const struct c10m_service *s, int counter, uint64_t n)
{
    MUST(s == &f.s && w->id < f.workers && counter >= 0 && (unsigned)counter < f.counters && n > 0);
}

struct c10m_service *c10m_service_of(struct c10m_conn *c)
{
    (void)c;
    return &f.s;
}

struct c10m_core *c10m_core_of(struct c10m_conn *c)
{
    return &f.cores[c->worker];
}

unsigned c10m_core_id(const struct c10m_core *w)
{
    return w->id;
}

uint64_t c10m_core_now_us(const struct c10m_core *w)
{
    (void)w;
    return f.now_us;
}

bool c10m_draining(const struct c10m_conn *c)
{
    (void)c;
    return false;
}

uint64_t c10m_unix_us(const struct c10m_conn *c)
{
    (void)c;
    return f.now_us;
}

uint32_t c10m_waited_us(const struct c10m_conn *c)
{
    return 0;
}

uint32_t c10m_overloaded_us(const struct c10m_conn *c)
{
    return 0;
}

uint64_t c10m_now_us(const struct c10m_conn *c)
{
    (void)c;
    return f.now_us;
}

uint32_t c10m_time_wait_ms(const struct c10m_service *s)
{
    (void)s;
    return FAKE_TIME_WAIT_MS;
}

bool c10m_is_local(const struct c10m_service *s, const uint8_t addr[16])
{
    (void)s;
    return addr[15] == 1;
}

bool c10m_is_broadcast(const struct c10m_service *s, const uint8_t addr[16])
{
    (void)s;
    return addr[15] == 0xff;
}

unsigned c10m_home(const struct c10m_service *s, const struct c10m_name *from,
                   const struct c10m_name *to)
{
    (void)s;
    return (unsigned)(from->port + to->port) % f.workers;
}

unsigned c10m_home_by(const struct c10m_service *s, const struct c10m_opening *o)
{
    return c10m_home(s, &o->from, &o->to);
}

// ---- connections

static void *live(const struct c10m_conn *c)
{
    MUST(c != NULL && c->used);
    return (void *)(uintptr_t)c;
}

void *c10m_state(struct c10m_conn *c)
{
    live(c);
    return c->state;
}

uint64_t c10m_handle(const struct c10m_conn *c)
{
    live(c);
    return c->handle;
}

struct c10m_conn *c10m_at(struct c10m_core *w, uint64_t handle)
{
    for (unsigned i = 0; i < FAKE_CONNS_MAX; i++) {
        struct c10m_conn *c = &f.conns[i];
        if (!c->used || c->handle != handle || c->closed)
            continue;
        MUST(c->worker == w->id);
        return c;
    }
    return NULL;
}

static struct c10m_conn *conn_new(unsigned worker)
{
    for (unsigned i = 0; i < FAKE_CONNS_MAX; i++) {
        struct c10m_conn *c = &f.conns[i];
        if (c->used)
            continue;
        memset(c, 0, sizeof(*c));
        c->used = true;
        c->handle = ++f.handles;
        c->worker = worker;
        c->listener = -1;
        c->room_max = 1 << 16;
        return c;
    }
    return NULL;
}

int c10m_open(struct c10m_core *w, struct c10m_service *s, const struct c10m_opening *o,
              struct c10m_conn **made)
{
    MUST(s == &f.s);
    if (o->to.port == 0)
        return -EINVAL;
    if (o->to.addr[15] == 9)
        return -ENETUNREACH;
    struct c10m_conn *c = conn_new(w->id);
    if (c == NULL)
        return -ENOBUFS;
    c->local = o->from;
    if (c->local.port == 0)
        c->local.port = (uint16_t)(40000 + c->handle % 10000);
    c->peer = o->to;
    *made = c;
    return 0;
}

void c10m_local(const struct c10m_conn *c, struct c10m_name *name)
{
    live(c);
    *name = c->local;
}

void c10m_peer(const struct c10m_conn *c, uint8_t addr[16], uint16_t *port)
{
    live(c);
    memcpy(addr, c->peer.addr, 16);
    *port = c->peer.port;
}

size_t c10m_send_room(const struct c10m_conn *c)
{
    live(c);
    return c->shut || !c->up ? 0 : c->room_max - (c->out - c->acked);
}

uint64_t c10m_send_queued(const struct c10m_conn *c)
{
    live(c);
    return c->out - c->acked;
}

uint32_t c10m_send_taken(const struct c10m_conn *c)
{
    live(c);
    return c->acked;
}

size_t c10m_send(struct c10m_conn *c, const void *data, size_t len)
{
    const size_t room = c10m_send_room(c);
    volatile uint8_t sum = 0;
    for (size_t i = 0; i < len; i++)  // all of it has to be there
        sum = (uint8_t)(sum + ((const uint8_t *)data)[i]);
    const size_t n = len < room ? len : room;
    c->out += (uint32_t)n;
    c->want_write |= n < len;
    return n;
}

void c10m_end_record(struct c10m_conn *c)
{
    live(c);
    c->record = c->out;
}

void c10m_want_writable(struct c10m_conn *c)
{
    live(c);
    c->want_write = true;
}

uint32_t c10m_receive_queued(const struct c10m_conn *c)
{
    live(c);
    return c->n_in;
}

size_t c10m_peek(const struct c10m_conn *c, size_t off, void *buf, size_t n)
{
    live(c);
    MUST(off == 0);
    const size_t some = n < c->n_in ? n : c->n_in;
    if (buf != NULL)
        memcpy(buf, c->in, some);
    return some;
}

size_t c10m_read(struct c10m_conn *c, void *buf, size_t n)
{
    const size_t some = c10m_peek(c, 0, buf, n);
    memmove(c->in, c->in + some, c->n_in - some);
    c->n_in -= (uint32_t)some;
    return some;
}

bool c10m_peer_closed(const struct c10m_conn *c)
{
    live(c);
    return c->peer_fin;
}

int c10m_error(const struct c10m_conn *c)
{
    live(c);
    return c->error;
}

int c10m_take_soft_error(struct c10m_conn *c)
{
    live(c);
    return 0;
}

void c10m_close(struct c10m_conn *c)
{
    live(c);
    c->closed = true;
}

void c10m_shutdown(struct c10m_conn *c)
{
    live(c);
    c->shut = true;
}

int c10m_shut_read(struct c10m_conn *c)
{
    live(c);
    return c->no_record ? -ENOBUFS : 0;
}

void c10m_abort(struct c10m_conn *c)
{
    live(c);
    c->aborted = true;
}

int c10m_set_option(struct c10m_conn *c, enum c10m_option option, uint32_t value)
{
    (void)value;
    live(c);
    MUST(option <= C10M_OPT_CONGESTION);
    return 0;
}

void c10m_get_info(const struct c10m_conn *c, struct c10m_info *info)
{
    live(c);
    *info = (struct c10m_info){.state = 1, .notsent_bytes = c->out - c->acked};
}

bool c10m_abort_all(struct c10m_core *w, struct c10m_service *s)
{
    bool none = true;
    MUST(s == &f.s);
    for (unsigned i = 0; i < FAKE_CONNS_MAX; i++) {
        if (!f.conns[i].used || f.conns[i].worker != w->id)
            continue;
        f.conns[i].aborted = true;
        none = false;
    }
    return none;
}

bool c10m_forget(struct c10m_core *w)
{
    (void)w;
    f.forgotten++;
    return true;
}

// ---- listeners

int c10m_listen(struct c10m_core *w, struct c10m_service *s, const struct c10m_listening *l)
{
    MUST(s == &f.s);
    if (l->at.port == 0)
        return -EINVAL;
    if (l->at.port == 666 && w->id + 1 == f.workers)  // the last worker has somebody else there
        return -EADDRINUSE;
    for (int i = 0; i < FAKE_LISTENERS_MAX; i++) {
        if (f.listeners[i].used)
            continue;
        f.listeners[i].used = true;
        f.listeners[i].waiting = 0;
        f.listeners[i].worker = w->id;
        f.listeners[i].at = *l;
        return i;
    }
    return -ENOBUFS;
}

int c10m_listen_set(struct c10m_core *w, int id, const struct c10m_listening *l)
{
    MUST(id >= 0 && id < FAKE_LISTENERS_MAX && f.listeners[id].worker == w->id);
    f.listeners[id].at = *l;
    return f.listeners[id].used ? 0 : -EBADF;
}

void c10m_unlisten(struct c10m_core *w, int id)
{
    MUST(id >= 0 && id < FAKE_LISTENERS_MAX && f.listeners[id].worker == w->id);
    f.listeners[id].used = false;
}

int c10m_listener(const struct c10m_conn *c)
{
    live(c);
    return c->listener;
}

void c10m_accepted(struct c10m_core *w, int id)
{
    MUST(w->id < f.workers && id >= 0 && id < FAKE_LISTENERS_MAX);
    f.listeners[id].waiting -= f.listeners[id].waiting != 0;  // its number may be another's by now
}

// ---- datagrams

int c10m_udp_open(struct c10m_core *w, struct c10m_service *s, const struct c10m_name *at,
                  bool v6only)
{
    (void)v6only;
    MUST(s == &f.s && at->port != 0);
    if (at->port == 666 && w->id + 1 == f.workers)
        return -EADDRINUSE;
    for (int i = 0; i < UDP_MAX; i++) {
        if (f.udp[i].used)
            continue;
        f.udp[i].used = true;
        f.udp[i].worker = w->id;
        f.udp[i].at = *at;
        return i;
    }
    return -ENOBUFS;
}

int c10m_udp_open_on(struct c10m_core *w, struct c10m_service *s, const struct c10m_name *at,
                     bool v6only, unsigned device)
{
    MUST(device <= 1);
    return c10m_udp_open(w, s, at, v6only);
}

int c10m_echo_open(struct c10m_core *w, struct c10m_service *s, const struct c10m_name *at,
                   unsigned device)
{
    return c10m_udp_open_on(w, s, at, true, device);
}

void c10m_udp_close(struct c10m_core *w, int port)
{
    MUST(port >= 0 && port < UDP_MAX && f.udp[port].used && f.udp[port].worker == w->id);
    f.udp[port].used = false;
}

int c10m_udp_peer(struct c10m_core *w, int port, const struct c10m_name *peer)
{
    (void)peer;
    MUST(port >= 0 && port < UDP_MAX && f.udp[port].used && f.udp[port].worker == w->id);
    return 0;
}

int c10m_udp_send(struct c10m_core *w, struct c10m_service *s, const struct c10m_packet *p)
{
    MUST(s == &f.s && w->id < f.workers);
    if (p->from.port == 0 || p->to.port == 0)
        return -EINVAL;
    return p->len > 1472 ? -EMSGSIZE : 0;
}

uint16_t c10m_udp_mtu(struct c10m_core *w, const struct c10m_name *to)
{
    MUST(w->id < f.workers);
    return to->addr[15] == 9 ? 0 : 1500;
}

uint16_t c10m_udp_path(struct c10m_core *w, const struct c10m_name *to, unsigned device,
                       struct c10m_name *from)
{
    MUST(w->id < f.workers && device <= 1);
    if (to->addr[15] == 9)
        return 0;
    memcpy(from->addr, to->addr, sizeof(from->addr));
    from->addr[15] = 1;
    return 1500;
}

int c10m_group_join(struct c10m_core *w, unsigned device, const uint8_t group[16])
{
    MUST(w->id < f.workers && device == 1);
    return group[15] == 66 && w->id + 1 == f.workers ? -ENOBUFS : (f.joined++, 0);
}

int c10m_group_leave(struct c10m_core *w, unsigned device, const uint8_t group[16])
{
    MUST(w->id < f.workers && device == 1 && f.joined != 0 && group[15] != 0);
    f.joined--;
    return 0;
}

unsigned fake_joined(void)
{
    return f.joined;
}

// ---- devices: one

unsigned c10m_device_find(const struct c10m_service *s, const char *name)
{
    MUST(s == &f.s);
    return strcmp(name, "p0") == 0 || strcmp(name, "caseA") == 0 ? 1 : 0;
}

const char *c10m_device_name(const struct c10m_service *s, unsigned device)
{
    MUST(s == &f.s);
    return device == 1 ? "p0" : NULL;
}

unsigned c10m_device_of(const struct c10m_service *s, const uint8_t addr[16])
{
    MUST(s == &f.s);
    return addr[15] == 1 ? 1 : 0;
}

unsigned c10m_device_to(const struct c10m_service *s, const struct c10m_name *to, unsigned device,
                        struct c10m_name *from)
{
    MUST(s == &f.s && device <= 1);
    if (to->addr[15] == 9)
        return 0;
    if (from != NULL) {
        memcpy(from->addr, to->addr, sizeof(from->addr));
        from->addr[15] = 1;
    }
    return 1;
}

// ---- the network

struct c10m_conn *fake_conn(unsigned i)
{
    return i < FAKE_CONNS_MAX && f.conns[i].used ? &f.conns[i] : NULL;
}

unsigned fake_posted(void)
{
    unsigned n = 0;
    for (unsigned w = 0; w < f.workers; w++)
        n += f.down[w].tail - f.down[w].head;
    return n;
}

unsigned fake_waiting(void)
{
    unsigned n = 0;
    for (int i = 0; i < FAKE_LISTENERS_MAX; i++)
        n += f.listeners[i].used ? f.listeners[i].waiting : 0;
    return n;
}

unsigned fake_listeners(void)
{
    unsigned n = 0;
    for (unsigned i = 0; i < FAKE_LISTENERS_MAX; i++)
        n += f.listeners[i].used;
    return n;
}

uint32_t fake_backlog(void)
{
    for (unsigned i = 0; i < FAKE_LISTENERS_MAX; i++)
        if (f.listeners[i].used)
            return f.listeners[i].at.backlog;
    return 0;
}

uint16_t fake_listening_port(unsigned i)
{
    return f.listeners[i % FAKE_LISTENERS_MAX].used ? f.listeners[i % FAKE_LISTENERS_MAX].at.at.port
                                                    : 0;
}

unsigned fake_udp_ports(void)
{
    unsigned n = 0;
    for (unsigned i = 0; i < UDP_MAX; i++)
        n += f.udp[i].used;
    return n;
}

unsigned fake_forgotten(void)
{
    return f.forgotten;
}

struct c10m_conn *fake_arrive(unsigned worker, uint16_t port)
{
    f.now_us++;
    for (int i = 0; i < FAKE_LISTENERS_MAX; i++) {
        if (!f.listeners[i].used || f.listeners[i].worker != worker ||
            f.listeners[i].at.at.port != port)
            continue;
        struct c10m_conn *c = conn_new(worker);
        if (c == NULL)
            return NULL;
        c->listener = i;
        f.listeners[i].waiting++;
        c->local = f.listeners[i].at.at;
        c->peer = c->local;
        c->peer.port = (uint16_t)(50000 + c->handle % 10000);
        c->up = true;
        f.s.app->open(c);
        settle();
        return c->used ? c : NULL;
    }
    return NULL;
}

void fake_established(struct c10m_conn *c)
{
    if (c->up)
        return;
    c->up = true;
    f.s.app->open(c);
    settle();
}

uint32_t fake_data(struct c10m_conn *c, const void *data, uint32_t n)
{
    const uint32_t room = FAKE_QUEUE_BYTES - c->n_in, some = n < room ? n : room;
    if (!c->up || c->peer_fin || c->error != 0 || some == 0)
        return 0;
    memcpy(c->in + c->n_in, data, some);
    c->n_in += some;
    f.s.app->readable(c);
    settle();
    return some;
}

void fake_fin(struct c10m_conn *c)
{
    if (!c->up || c->peer_fin || c->error != 0)
        return;
    c->peer_fin = true;
    f.s.app->readable(c);
    settle();
}

void fake_lost_by(struct c10m_conn *c, int error)
{
    if (c->error != 0)
        return;
    c->error = error;
    if (c->n_in != 0)
        f.s.app->readable(c);
    settle();
}

void fake_ack(struct c10m_conn *c)
{
    const bool wants = c->want_write;
    if (!c->up || c->error != 0)
        return;
    c->acked = c->out;
    c->want_write = false;
    if (c->shut)
        f.s.app->drained(c);
    else if (wants)
        f.s.app->writable(c);
    settle();
}

bool fake_datagram(unsigned worker, uint16_t to_port, const void *data, size_t n)
{
    f.now_us++;
    for (int i = 0; i < UDP_MAX; i++) {
        if (!f.udp[i].used || f.udp[i].worker != worker || f.udp[i].at.port != to_port)
            continue;
        struct c10m_packet p = {.from = f.udp[i].at, .to = f.udp[i].at, .data = data, .len = n};
        p.from.port = 5353;
        p.from.addr[15] = 2;
        return f.s.app->packet(&f.cores[worker], &f.s, &p);
    }
    return false;
}

void fake_datagram_error(unsigned worker, uint16_t from_port, int error)
{
    struct c10m_packet p = {.from = {.port = from_port}, .to = {.port = 5353}};
    memset(p.from.addr + 10, 0xff, 2);
    memcpy(p.to.addr, p.from.addr, 16);
    p.to.addr[15] = 2;
    const struct c10m_packet_error e = {.error = error, .hard = true};
    f.s.app->packet_error(&f.cores[worker], &f.s, &p, &e);
}
