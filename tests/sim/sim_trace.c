// SPDX-License-Identifier: BSD-3-Clause
// pcapng (draft-ietf-opsawg-pcapng): one section, an interface a host, times in nanoseconds.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim.h"

struct sim_trace {
    int fd;
    size_t used;
    uint8_t bytes[1 << 20];
};

static void flush(struct sim_trace *t)
{
    for (size_t at = 0; at < t->used;) {
        const ssize_t n = write(t->fd, t->bytes + at, t->used - at);
        if (n <= 0)
            break;
        at += (size_t)n;
    }
    t->used = 0;
}

static void put(struct sim_trace *t, const void *p, size_t n)
{
    memcpy(t->bytes + t->used, p, n);
    t->used += n;
}

static void put32(struct sim_trace *t, uint32_t v)
{
    put(t, &v, sizeof(v));
}

static void put_padded(struct sim_trace *t, const void *p, uint32_t n)
{
    static const uint8_t zero[4];
    put(t, p, n);
    put(t, zero, ALIGN_UP(n, 4u) - n);
}

static void put_option(struct sim_trace *t, uint16_t code, const void *p, uint16_t n)
{
    put(t, &code, 2);
    put(t, &n, 2);
    put_padded(t, p, n);
}

// begin: type and room for the length; end: both lengths.
static size_t begin(struct sim_trace *t, uint32_t type)
{
    if (t->used + 8192 > sizeof(t->bytes))
        flush(t);
    const size_t at = t->used;
    put32(t, type);
    put32(t, 0);
    return at;
}

static void end(struct sim_trace *t, size_t at)
{
    const uint32_t len = (uint32_t)(t->used - at) + 4;
    put32(t, len);
    memcpy(t->bytes + at + 4, &len, sizeof(len));
}

struct sim_trace *sim_trace_open(const char *path, unsigned hosts)
{
    struct sim_trace *t = calloc(1, sizeof(*t));
    if (t == NULL || (t->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)) < 0) {
        perror(path);
        exit(2);
    }
    size_t at = begin(t, 0x0a0d0d0a);
    put32(t, 0x1a2b3c4d);
    put32(t, 1);
    put32(t, UINT32_MAX);
    put32(t, UINT32_MAX);
    end(t, at);
    for (unsigned i = 0; i < hosts; i++) {
        char name[16];
        const uint8_t ns = 9;
        const int n = snprintf(name, sizeof(name), "host%u", i);
        at = begin(t, 1);
        put32(t, 1);  // Ethernet
        put32(t, 0);
        put_option(t, 2, name, (uint16_t)n);
        put_option(t, 9, &ns, 1);
        put32(t, 0);
        end(t, at);
    }
    return t;
}

void sim_trace_frame(struct sim_trace *t, uint64_t ns, unsigned host, bool received,
                     const struct pkt *p, const char *comment)
{
    const uint32_t direction = received ? 1 : 2, len = pkt_len(p);
    const size_t at = begin(t, 6);
    put32(t, host);
    put32(t, (uint32_t)(ns >> 32));
    put32(t, (uint32_t)ns);
    put32(t, len);
    put32(t, len);
    put_padded(t, pkt_data(p), len);
    put_option(t, 2, &direction, 4);
    if (comment != NULL)
        put_option(t, 1, comment, (uint16_t)strlen(comment));
    put32(t, 0);
    end(t, at);
}

void sim_trace_close(struct sim_trace *t)
{
    if (t == NULL)
        return;
    flush(t);
    close(t->fd);
    free(t);
}
