// SPDX-License-Identifier: BSD-3-Clause
#include "ctl/dump/dump_capture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "base/clock.h"
#include "c10m/tree.h"
#include "pkt/port.h"
#include "wire/pcapng.h"

// capture: buf[at..n) has not been passed to the reader yet.
struct capture {
    struct server *server;
    struct capture_reader *reader;
    enum capture_state state;
    bool stopped;
    uint64_t frames, frames_max;
    uint32_t snap_bytes, ports;
    uint64_t begin_ns, end_ns;
    uint64_t state_ms;  // start of the present state
    size_t at, n;
    char filter[DUMP_FILTER_BYTES_MAX + 1];
    uint8_t interface_of[CAPTURE_PORTS_MAX];
    uint8_t buf[DUMP_BUFFER_BYTES];
};

static uint64_t clock_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

struct capture *capture_new(struct server *s, const struct capture_params *p, struct err *e)
{
    const struct capture_reader_params params = {.program = p->program,
                                                 .snap_bytes = p->snap_bytes,
                                                 .ports = p->ports,
                                                 .directions = p->directions,
                                                 .ring_bytes = p->ring_bytes};
    struct capture *c = calloc(1, sizeof(*c));
    if (c == NULL) {
        err_set(e, "no memory");
        return NULL;
    }
    c->server = s;
    c->frames_max = p->frames_max == 0 ? UINT64_MAX : p->frames_max;
    c->snap_bytes = p->snap_bytes;
    c->ports = p->ports;
    if (p->filter != NULL)
        strncpy(c->filter, p->filter, DUMP_FILTER_BYTES_MAX);
    c->reader = capture_reader_new(s, &params, e);
    if (c->reader == NULL) {
        free(c);
        return NULL;
    }
    return c;
}

void capture_free(struct capture *c)
{
    if (c == NULL)
        return;
    capture_reader_free(c->reader);
    free(c);
}

uint64_t capture_frames(const struct capture *c)
{
    return c->frames;
}

bool capture_began(const struct capture *c)
{
    return c->state != CAPTURE_IDLE;
}

struct capture_ring_counts capture_counts(const struct capture *c)
{
    struct capture_ring_counts sum = {0};
    for (unsigned p = 0; p < CAPTURE_PORTS_MAX; p++) {
        const struct capture_ring_counts of = capture_reader_counts(c->reader, p);
        sum.seen += of.seen;
        sum.matched += of.matched;
        sum.dropped += of.dropped;
    }
    return sum;
}

static void enter(struct capture *c, enum capture_state state)
{
    c->state = state;
    c->state_ms = clock_ms();
}

// Whether a worker was waited for long enough; it may hang in a turn.
static bool waited(const struct capture *c)
{
    return capture_reader_acked(c->reader) || clock_ms() - c->state_ms >= DUMP_WAIT_MS;
}

static void put_head(struct capture *c)
{
    struct utsname u;
    char os[2 * sizeof(u.sysname)] = "Linux", hardware[sizeof(u.machine)] = "";
    if (uname(&u) == 0) {
        strcpy(hardware, u.machine);
        memcpy(os, u.sysname, strlen(u.sysname) + 1);
        strcat(os, " ");
        strcat(os, u.release);
    }
    c->n = pcapng_section_put(c->buf, sizeof(c->buf), hardware, os, "c10m dump");
    unsigned n = 0;
    for (unsigned p = 0; p < server_params_of(c->server)->n_ports; p++) {
        if ((c->ports >> p & 1) == 0)
            continue;
        const struct port *port = server_port(c->server, p);
        const struct pcapng_interface i = {
            .name = port->name, .filter = c->filter, .snap_bytes = c->snap_bytes, .mac = port->mac};
        c->interface_of[p] = (uint8_t)n++;
        c->n += pcapng_interface_put(c->buf + c->n, sizeof(c->buf) - c->n, &i);
    }
}

// put_frames: copies frames from the rings to the buffer, as many as fit. Returns how many.
static unsigned put_frames(struct capture *c)
{
    struct capture_frame f;
    unsigned n = 0;
    for (;
         n < DUMP_FRAMES_A_CALL && c->frames < c->frames_max && capture_reader_peek(c->reader, &f);
         n++) {
        if (f.bytes + PCAPNG_PACKET_BYTES > sizeof(c->buf) - c->n)
            break;
        const struct pcapng_packet p = {.ns = capture_reader_ns(c->reader, f.tsc),
                                        .interface = c->interface_of[f.port],
                                        .bytes = f.bytes,
                                        .orig_bytes = f.orig_bytes,
                                        .queue = f.worker,
                                        .out = f.direction == CAPTURE_OUT};
        capture_reader_take(c->reader, pcapng_packet_begin(c->buf + c->n, &p));
        c->n += pcapng_packet_end(c->buf + c->n, &p);
        c->frames++;
    }
    return n;
}

// Statistics as in libpcap: frames given to the filter, accepted by it, dropped after it.
static void put_statistics(struct capture *c)
{
    const uint64_t now = capture_reader_ns(c->reader, tsc_read());
    for (unsigned p = 0; p < server_params_of(c->server)->n_ports; p++) {
        const struct capture_ring_counts of = capture_reader_counts(c->reader, p);
        const struct pcapng_statistics s = {.ns = now,
                                            .begin_ns = c->begin_ns,
                                            .end_ns = c->end_ns,
                                            .interface = c->interface_of[p],
                                            .received = of.seen,
                                            .accepted = of.matched,
                                            .dropped = of.dropped};
        if ((c->ports >> p & 1) != 0)
            c->n += pcapng_statistics_put(c->buf + c->n, sizeof(c->buf) - c->n, &s);
    }
}

static void end_run(struct capture *c)
{
    c->end_ns = capture_reader_ns(c->reader, tsc_read());
    capture_reader_detach(c->reader);
    enter(c, CAPTURE_DRAIN);
}

// step: does one piece of work. Returns a result of next(), or -1: the buffer has data, or the
// state has changed.
static int step(struct capture *c)
{
    switch (c->state) {
    case CAPTURE_IDLE:
        enter(c, CAPTURE_ATTACH);
        return 1;
    case CAPTURE_ATTACH:
        if (capture_reader_attach(c->reader))
            enter(c, CAPTURE_AWAIT);
        return 1;
    case CAPTURE_AWAIT:
        if (!waited(c))
            return TREE_LATER;
        c->begin_ns = capture_reader_ns(c->reader, tsc_read());
        enter(c, CAPTURE_RUN);
        put_head(c);
        return 1;
    case CAPTURE_RUN:
        if (put_frames(c) == 0 && !c->stopped && c->frames < c->frames_max)
            return TREE_LATER;
        if (c->stopped || c->frames >= c->frames_max)
            end_run(c);
        return 1;
    case CAPTURE_DRAIN:
        if (put_frames(c) != 0)
            return 1;
        if (!waited(c))
            return TREE_LATER;
        if (put_frames(c) != 0)  // frames copied before the worker released the ring
            return 1;
        put_statistics(c);
        enter(c, CAPTURE_END);
        return 1;
    case CAPTURE_END:
        break;
    }
    return 0;
}

int capture_next(struct capture *c, struct tree_out *out)
{
    int rc = 1;
    if (c->at == c->n) {
        c->at = c->n = 0;
        rc = step(c);
    }
    const size_t n = MIN(c->n - c->at, tree_room(out));
    if (n == 0)
        return rc;
    tree_put(out, c->buf + c->at, n);
    c->at += n;
    return 1;
}

void capture_stop(struct capture *c)
{
    c->stopped = true;
}
