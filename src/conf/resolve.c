// SPDX-License-Identifier: BSD-3-Clause
#include <stdio.h>
#include <string.h>

#include "base/siphash.h"
#include "conf/conf_load.h"
#include "conf/lists.h"
#include "tables/driver_table.h"

static void cpus_add(struct conf_cpus *to, unsigned id)
{
    to->id[to->n++] = (uint16_t)id;
}

// resolve_linux: takes the first two cores, or the first one of fewer than four cores. Cores that
// were configured for the workers are left out.
static void resolve_linux(struct conf_cpu *cpu, const struct conf_cpus *host)
{
    unsigned want = host->n < 4 ? 1 : 2;
    for (unsigned i = 0; i < host->n && cpu->linux_cpus.n < want; i++)
        if (host->n == 1 || !cpus_has(&cpu->workers, host->id[i]))
            cpus_add(&cpu->linux_cpus, host->id[i]);
}

static void resolve_workers(struct conf_cpu *cpu, const struct conf_cpus *host)
{
    for (unsigned i = 0; i < host->n && cpu->workers.n < CONF_WORKERS_MAX; i++)
        if (host->n == 1 || !cpus_has(&cpu->linux_cpus, host->id[i]))
            cpus_add(&cpu->workers, host->id[i]);
}

static void resolve_cpu(struct load *l)
{
    const struct conf_cpus *host = &l->host->cpus;
    const struct key *linux_key = KEY_AT(cpu, linux_cpus), *workers_key = KEY_AT(cpu, workers);
    struct conf_cpu *cpu = &l->c->cpu;
    struct text t;
    text_init(&t, CONF_LINE_BYTES);
    cpus_print(host, "", &t);
    if (cpu->linux_cpus.n == 0)
        resolve_linux(cpu, host);
    if (cpu->linux_cpus.n == 0 && key_good(l, workers_key, 0))
        fail_key(l, workers_key, 0,
                 "expected at least one of the %u cores (%s) left to linux, got all of them",
                 host->n, text_str(&t));
    if (cpu->workers.n == 0)
        resolve_workers(cpu, host);
    if (cpu->workers.n == 0 && key_good(l, linux_key, 0))
        fail_key(l, linux_key, 0,
                 "expected at least one of the %u cores (%s) left to workers, got all of them",
                 host->n, text_str(&t));
    text_free(&t);
}

static uint32_t clamp(uint32_t value, uint32_t least, uint32_t most)
{
    return MIN(MAX(value, least), most);
}

// connections = max stays 0 here. src/server, which knows how many pages are free, replaces it.
static void resolve_memory(struct conf_memory *m)
{
    const uint32_t n = m->connections == 0 ? UINT32_MAX : m->connections;
    if (m->time_wait == 0)
        m->time_wait = clamp(n, 1024, 1000000);
    if (m->syn_received == 0)
        m->syn_received = clamp(n, 1024, 262144);
    if (m->extension_records == 0 && m->connections != 0)
        m->extension_records = MIN(n, MAX(n / 64, 16384));
    if (m->flight_logs == 0)
        m->flight_logs = m->extension_records;
}

// Half of a worker's buffers is left for answers and for data that applications read at once.
static void resolve_held(struct conf *c)
{
    enum { BUFFER_BYTES = 2048, HELD_MIN = 16384 };
    uint64_t n = 0, half = (uint64_t)c->memory.buffers * BUFFER_BYTES / 2;
    for (unsigned i = 0; i < c->n_services; i++)
        n += strcmp(c->services[i].app, "http") == 0;
    for (unsigned i = 0; i < c->n_services; i++)
        if (strcmp(c->services[i].app, "http") == 0 && c->services[i].header_bytes_held == 0)
            c->services[i].header_bytes_held = MAX(half / n, (uint64_t)HELD_MIN);
}

// A connection on a path with a large bandwidth-delay product needs megabytes. An eighth of the
// buffers as the limit keeps one connection from using all buffers of its worker.
static void resolve_buffers(struct conf *c)
{
    enum { BUFFER_BYTES = 2048, LEAST = 64 << 10, MOST = 4 << 20 };
    const uint64_t room = (uint64_t)c->memory.buffers * BUFFER_BYTES;
    const uint32_t each = (uint32_t)MIN(MIN(MAX(room / 8, (uint64_t)LEAST), (uint64_t)MOST), room);
    for (unsigned i = 0; i < c->n_services; i++) {
        struct conf_service *s = &c->services[i];
        if (s->send_buffer == 0)
            s->send_buffer = each;
        if (s->receive_buffer == 0)
            s->receive_buffer = each;
    }
}

// below_run_dir: prepends run_dir to a path that does not begin with /.
static void below_run_dir(struct load *l, const struct key *k, char path[CONF_PATH_BYTES])
{
    char whole[2 * CONF_PATH_BYTES];
    if (path[0] == '/' || path[0] == '\0' || !key_good(l, k, 0))
        return;
    snprintf(whole, sizeof(whole), "%s/%s", l->c->control.run_dir, path);
    if (strlen(whole) >= CONF_PATH_BYTES)
        fail_key(l, k, 0, "expected a path of at most %d characters including run_dir, got \"%s\"",
                 CONF_PATH_BYTES - 1, whole);
    else
        strcpy(path, whole);
}

// name_from: /run/web gives web, and /srv/a/run gives srv-a-run. A name that would be too long is
// cut and ends with a hash of the path.
static void name_from(const char *run_dir, char name[CONF_NAME_BYTES])
{
    enum { KEPT = CONF_NAME_BYTES - 1 - 8 - 1 };
    static const char usual[] = "/run/";
    static const struct siphash_key key = {0xc10a, 0x4a3e};
    const char *from = run_dir;
    size_t n = 0;
    if (strncmp(from, usual, sizeof(usual) - 1) == 0)
        from += sizeof(usual) - 1;
    from += strspn(from, "/");
    for (; from[n] != '\0' && strcmp(from + n, "/") != 0 && n < CONF_NAME_BYTES - 1; n++) {
        const bool plain = is_name((const char[]){from[n], '\0'});
        name[n] = from[n] == '/' ? '-' : plain ? from[n] : '_';
    }
    name[n] = '\0';
    if (n == 0)
        strcpy(name, "c10m");
    if (n == CONF_NAME_BYTES - 1 && from[n] != '\0')
        snprintf(name + KEPT, CONF_NAME_BYTES - KEPT, "-%08x",
                 (unsigned)siphash_bytes(&key, run_dir, strlen(run_dir)));
}

static void resolve_control(struct load *l)
{
    struct conf_control *c = &l->c->control;
    if (!key_good(l, KEY_AT(control, run_dir), 0))
        return;
    if (c->name[0] == '\0' && key_good(l, KEY_AT(control, name), 0))
        name_from(c->run_dir, c->name);
    below_run_dir(l, KEY_AT(control, mount), c->mount);
    below_run_dir(l, KEY_AT(memory, hugetlbfs), l->c->memory.hugetlbfs);
}

void resolve_auto(struct load *l)
{
    resolve_control(l);
    resolve_cpu(l);
    resolve_memory(&l->c->memory);
    resolve_held(l->c);
    resolve_buffers(l->c);
    for (unsigned i = 0; i < l->c->n_ports; i++)
        if (l->c->ports[i].queues == 0)
            l->c->ports[i].queues = clamp(conf_workers(l->c), 1, CONF_QUEUES_MAX);
}

static void resolve_members(struct conf *c)
{
    for (unsigned i = 0; i < c->n_ports; i++) {
        const int bond = port_bond(c, i);
        if (bond >= 0)
            c->ports[i].mtu = c->ports[bond].mtu;
    }
}

void resolve_mtus(struct load *l)
{
    resolve_members(l->c);
    for (unsigned i = 0; i < l->c->n_ports; i++) {
        struct conf_port *p = &l->c->ports[i];
        const int parent = driver_has_parent(p->driver) ? port_find(l->c, p->parent) : -1;
        if (parent >= 0 && !key_given(l, KEY_AT(port, mtu), i))
            p->mtu = l->c->ports[parent].mtu;
    }
}
