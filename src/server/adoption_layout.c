// SPDX-License-Identifier: BSD-3-Clause
#include "server/adoption_layout.h"

#include <stdio.h>
#include <string.h>

#include "server/adoption_state.h"
#include "tcp/tcp_time_wait.h"

#define REGION_BYTES_MAX (UINT64_C(1) << 42)  // sums of all do not wrap

static const char WORKERS[] = "[cpu] workers ";
static const char NETS[] = "] memory of neighbors ";

// ---- lines

static int read_region(struct layout *l, const struct region *names, const char *line)
{
    char name[LAYOUT_NAME_BYTES];
    unsigned long long bytes;
    unsigned count;
    if (sscanf(line, "memory %63s %u %llu", name, &count, &bytes) != 3)
        return -1;
    for (unsigned i = 0; i < REGION_COUNT; i++) {
        if (strcmp(name, names[i].name) != 0)
            continue;
        if (l->region[i].bytes != 0 || bytes > REGION_BYTES_MAX)
            return -1;
        l->region[i] = (struct layout_region){l->worker_bytes, bytes, count};
        l->worker_bytes += ALIGN_UP(bytes, CACHE_LINE);
        return 0;
    }
    return -1;
}

static int read_service(struct layout *l, const char *line)
{
    if (l->n_services == TCP_SERVICES_MAX ||
        sscanf(line, "[service %63[^]]] app %63s", l->service[l->n_services].name,
               l->service[l->n_services].app) != 2)
        return -1;
    l->n_services++;
    return 0;
}

static int read_port(struct layout *l, const char *line)
{
    if (strstr(line, NETS) != NULL)
        return 0;
    if (l->n_locals == TCP_LOCALS_MAX ||
        sscanf(line, "[port %63[^]]] address %63s", l->local[l->n_locals].port,
               l->local[l->n_locals].addr) != 2)
        return -1;
    l->n_locals++;
    return 0;
}

static int read_line(struct layout *l, const struct region *names, const char *line)
{
    if (strncmp(line, WORKERS, sizeof(WORKERS) - 1) == 0)
        return sscanf(line + sizeof(WORKERS) - 1, "%u", &l->n_workers) == 1 ? 0 : -1;
    if (adoption_worker_line(line))
        return adoption_worker_read(&l->worker, line);
    if (strncmp(line, "memory ", 7) == 0)
        return read_region(l, names, line);
    if (strncmp(line, "[service ", 9) == 0)
        return read_service(l, line);
    return strncmp(line, "[port ", 6) == 0 ? read_port(l, line) : -1;
}

// types_bytes: how many bytes of the text are before "worker ": versions and sizes of types.
static size_t types_bytes(const char *text)
{
    const char *end = strstr(text, "\nworker ");
    return end == NULL ? strlen(text) : (size_t)(end + 1 - text);
}

// ---- sizes

// bytes_of: of a record, which the converter has otherwise.
static uint64_t bytes_of(const struct adoption_record *r, size_t now)
{
    return r->to != NULL ? r->bytes : now;
}

// needs: bytes that `count` things of region r take, at least.
static uint64_t needs(const struct adoption_converter *from, enum region_id r, uint64_t count)
{
    static const struct adoption_converter none;
    const struct adoption_converter *c = from != NULL ? from : &none;
    switch (r) {
    case REGION_BLOCKS:
        return count * bytes_of(&c->block, sizeof(struct block));
    case REGION_SYN_RECORDS:
        return count * bytes_of(&c->syn, sizeof(struct syn_record));
    case REGION_TIME_WAIT:
        return count * bytes_of(&c->time_wait, sizeof(struct time_wait));
    case REGION_TIME_WAIT6:
        return count * bytes_of(&c->time_wait6, sizeof(struct time_wait6));
    case REGION_EXTENSIONS:
        return count * bytes_of(&c->ext, sizeof(struct ext));
    case REGION_FLIGHTS:
        return flight_footprint((uint32_t)count);
    case REGION_BUFFERS:
        return buf_footprint((uint32_t)count, (uint32_t)count * REFS_PER_BUFFER);
    default:
        return 0;
    }
}

// sizes: of the structures that a text's types name.
struct sizes {
    size_t block, ext, flight, flight_small, flight_large, buf, buf_stride, syn, time_wait,
        time_wait6;
};

static bool read_sizes(struct sizes *s, const char *text)
{
    const char *line = strstr(text, "block ");
    return line != NULL &&
           sscanf(line,
                  "block %zu ext %zu flight %zu %zu %zu buf %zu %zu syn %zu time_wait %zu %zu",
                  &s->block, &s->ext, &s->flight, &s->flight_small, &s->flight_large, &s->buf,
                  &s->buf_stride, &s->syn, &s->time_wait, &s->time_wait6) == 10;
}

// fits_types: whether the converter has the sizes that the types tell, and what has no converter
// has those of this program.
static bool fits_types(const struct adoption_converter *c, const char *text, const char *own)
{
    struct sizes a, b;
    return read_sizes(&a, text) && read_sizes(&b, own) && a.block == bytes_of(&c->block, b.block) &&
           a.ext == bytes_of(&c->ext, b.ext) && a.syn == bytes_of(&c->syn, b.syn) &&
           a.time_wait == bytes_of(&c->time_wait, b.time_wait) &&
           a.time_wait6 == bytes_of(&c->time_wait6, b.time_wait6) && a.flight == b.flight &&
           a.flight_small == b.flight_small && a.flight_large == b.flight_large && a.buf == b.buf &&
           a.buf_stride == b.buf_stride;
}

static int check_sizes(const struct layout *l, const struct region *names, struct err *why)
{
    static const enum region_id all[] = {REGION_BLOCKS,  REGION_SYN_RECORDS, REGION_EXTENSIONS,
                                         REGION_FLIGHTS, REGION_BUFFERS,     REGION_WORKER};
    if (l->n_workers == 0 || l->n_workers > SERVER_WORKERS_MAX)
        return err_set(why, "%s%u", WORKERS, l->n_workers);
    for (unsigned i = 0; i < ARRAY_LEN(all); i++)
        if (l->region[all[i]].bytes == 0)
            return err_set(why, "no memory %s", names[all[i]].name);
    for (unsigned i = 0; i < REGION_COUNT; i++)
        if (l->region[i].bytes != 0 && needs(l->from, i, l->region[i].count) > l->region[i].bytes)
            return err_set(why, "memory %s is too short", names[i].name);
    return adoption_worker_complete(&l->worker, l->region[REGION_WORKER].bytes)
               ? 0
               : err_set(why, "another version of the program");
}

static int read_lines(struct layout *l, const char *text, const struct region *names,
                      struct err *why)
{
    for (const char *at = text, *end; *at != '\0'; at = end) {
        char line[256];
        end = strchrnul(at, '\n');
        snprintf(line, sizeof(line), "%.*s", (int)(end - at), at);
        if (read_line(l, names, line) != 0)
            return err_set(why, "%s", line);
        end += *end == '\n';
    }
    return 0;
}

int layout_read(struct layout *l, const char *text, const struct server_params *p, const char *own,
                struct err *why)
{
    struct region names[REGION_COUNT];
    const size_t types = types_bytes(text);
    server_regions(p, names);
    *l = (struct layout){.n_workers = 0};
    if (types != types_bytes(own) || memcmp(text, own, types) != 0) {
        l->from = adoption_converter_of(text, types);
        if (l->from == NULL || !fits_types(l->from, text, own))
            return err_set(why, "another version of the program");
    }
    return read_lines(l, text + types, names, why) == 0 ? check_sizes(l, names, why) : -1;
}

static uint64_t converted(const struct adoption_record *r, const struct layout *l,
                          enum region_id id, size_t now)
{
    return r->to != NULL ? (uint64_t)l->region[id].count * now : 0;
}

uint64_t layout_converted_bytes(const struct layout *l)
{
    const struct adoption_converter *c = l->from;
    if (c == NULL)
        return 0;
    return l->n_workers *
           (converted(&c->block, l, REGION_BLOCKS, sizeof(struct block)) +
            converted(&c->ext, l, REGION_EXTENSIONS, sizeof(struct ext)) +
            converted(&c->syn, l, REGION_SYN_RECORDS, sizeof(struct syn_record)) +
            converted(&c->time_wait, l, REGION_TIME_WAIT, sizeof(struct time_wait)) +
            converted(&c->time_wait6, l, REGION_TIME_WAIT6, sizeof(struct time_wait6)));
}

// next_net: the next line about the neighbors of a port from *at on, and its length. NULL: none.
static const char *next_net(const char **at, size_t *n)
{
    while (**at != '\0') {
        const char *line = *at, *end = strchrnul(line, '\n');
        *n = (size_t)(end - line);
        *at = end + (*end == '\n');
        if (memmem(line, *n, NETS, sizeof(NETS) - 1) != NULL)
            return line;
    }
    return NULL;
}

bool layout_same_nets(const char *a, const char *b)
{
    size_t n, m;
    for (;;) {
        const char *x = next_net(&a, &n), *y = next_net(&b, &m);
        if (x == NULL || y == NULL)
            return x == y;
        if (n != m || memcmp(x, y, n) != 0)
            return false;
    }
}

uint8_t *layout_at(const struct layout *l, unsigned w, uint8_t *arena, enum region_id r)
{
    if (l->region[r].bytes == 0)
        return NULL;
    return arena + ADOPTION_STATE_BYTES + w * l->worker_bytes + l->region[r].offset;
}

void layout_left(const struct layout *l, unsigned w, uint8_t *arena, struct tcp_left *out)
{
    const struct layout_region *r = l->region;
    *out = (struct tcp_left){
        .blocks = (struct block *)layout_at(l, w, arena, REGION_BLOCKS),
        .syns = (struct syn_record *)layout_at(l, w, arena, REGION_SYN_RECORDS),
        .time_wait = (struct time_wait *)layout_at(l, w, arena, REGION_TIME_WAIT),
        .time_wait6 = (struct time_wait6 *)layout_at(l, w, arena, REGION_TIME_WAIT6),
        .exts = (struct ext *)layout_at(l, w, arena, REGION_EXTENSIONS),
        .flights = layout_at(l, w, arena, REGION_FLIGHTS),
        .buffers = layout_at(l, w, arena, REGION_BUFFERS),
        .n_blocks = r[REGION_BLOCKS].count,
        .n_syns = r[REGION_SYN_RECORDS].count,
        .n_time_wait = r[REGION_TIME_WAIT].bytes == 0 ? 0 : r[REGION_TIME_WAIT].count,
        .n_time_wait6 = r[REGION_TIME_WAIT6].bytes == 0 ? 0 : r[REGION_TIME_WAIT6].count,
        .n_exts = r[REGION_EXTENSIONS].count,
        .n_flights = r[REGION_FLIGHTS].bytes == 0 ? 0 : r[REGION_FLIGHTS].count,
        .n_buffers = r[REGION_BUFFERS].count,
        .n_refs = r[REGION_BUFFERS].count * REFS_PER_BUFFER};
}
